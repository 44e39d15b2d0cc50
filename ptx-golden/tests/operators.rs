//! Every operator on every type, for GPUs of each generation and with every floating-point option: ptxas takes the PTX, and 16-bit floats in
//! pairs are computed in pairs where the GPU can.

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_golden::assemble::assemble_for;
use ptx_golden::case::{Case, Options};
use ptx_golden::compile::ptx;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

const ARCHS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];
const OPTIONS: [&str; 4] = ["", "--ftz", "--fast-math", "--fmad=false"];
const INTS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for arch in ARCHS {
        for words in OPTIONS {
            let name = format!("operators/{arch}{}", words.replace("--", "/"));
            trials.push(Trial::test(name, move || check(arch, words).map_err(Failed::from)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn check(arch: &str, words: &str) -> Result<(), String> {
    let mut failures = String::new();
    for (name, text) in sources(arch) {
        let options = Options::read(&format!("--arch={arch} {words}"))?;
        let case = Case { name: name.clone(), text, options: options.clone() };
        let result = ptx(&case).and_then(|ptx| {
            assemble_for(&name, &ptx, arch)?;
            packed(&name, &options, &ptx)
        });
        if let Err(error) = result {
            let short: Vec<&str> = error.lines().take(12).collect();
            let _ = writeln!(failures, "{name}: {}", short.join("\n"));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures) }
}

/// Pairs of halves are one instruction each: `f16x2` on every GPU here, `bf16x2` from where PTX has it (PTX ISA, "Half Precision Floating Point
/// Instructions").
fn packed(name: &str, options: &Options, ptx: &str) -> Result<(), String> {
    let number = options.target.capability();
    let wanted: &[&str] = match name {
        "f16x2" | "bf16x2" if !options.fmad && (name == "f16x2" || number >= 90) => &["add", "sub", "mul"],
        "f16x2" => &["add", "sub", "mul", "fma"],
        "bf16x2" if number >= 90 => &["add", "sub", "mul", "fma"],
        "bf16x2" if number >= 80 => &["fma"],
        _ => return Ok(()),
    };
    let missing: Vec<&&str> = wanted
        .iter()
        .filter(|op| {
            !ptx.lines().any(|line| {
                let word = line.split_whitespace().next().unwrap_or("");
                word.starts_with(**op) && word.ends_with(&format!(".{name}"))
            })
        })
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no packed {missing:?}:\n{ptx}")) }
}

/// Programs with a kernel for each type; pairs of halves have their own.
fn sources(arch: &str) -> BTreeMap<String, String> {
    let mut programs: BTreeMap<String, String> = BTreeMap::new();
    for (scalars, is_float) in [(INTS.as_slice(), false), (FLOATS.as_slice(), true)] {
        let kind = if is_float { "floats" } else { "integers" };
        for scalar in scalars {
            programs.entry(kind.to_owned()).or_default().push_str(&scalar_source(scalar, is_float, arch));
            for lanes in 2..=4 {
                let vector = format!("{scalar}x{lanes}");
                let program =
                    if matches!(vector.as_str(), "f16x2" | "bf16x2") { vector.clone() } else { format!("{kind}_vectors") };
                programs.entry(program).or_default().push_str(&vector_source(scalar, &vector, is_float));
            }
        }
    }
    programs
}

/// A kernel whose statements each store one result.
struct Kernel {
    text: String,
    results: u32,
}

impl Kernel {
    fn new(ty: &str) -> Self {
        let text = format!(
            "kernel on_{ty}(x: *global const {ty}, n: *global const i32, o: *global {ty}, c: *global bool) {{\n    let a = x[0];\n    let b = x[1];\n    let d = x[2];\n"
        );
        Self { text, results: 0 }
    }

    fn store(&mut self, value: &str) {
        let _ = writeln!(self.text, "    o[{}] = {value};", self.results);
        self.results += 1;
    }

    fn test(&mut self, value: &str) {
        let _ = writeln!(self.text, "    c[{}] = {value};", self.results);
        self.results += 1;
    }

    fn end(mut self) -> String {
        self.text.push_str("}\n");
        self.text
    }
}

/// What scalars and vectors have in common.
fn arithmetic(kernel: &mut Kernel, is_float: bool, signed: bool) {
    for op in ["+", "-", "*", "/", "%"] {
        kernel.store(&format!("a {op} b"));
        let _ = writeln!(kernel.text, "    o[{}] {op}= d;", kernel.results);
    }
    for fused in ["a * b + d", "d + a * b", "a * b - d", "d - a * b", "a * b + a * d"] {
        kernel.store(fused);
    }
    if is_float || signed {
        kernel.store("-a");
    }
    if !is_float {
        for op in ["&", "|", "^"] {
            kernel.store(&format!("a {op} b"));
            let _ = writeln!(kernel.text, "    o[{}] {op}= d;", kernel.results);
        }
        kernel.store("!a");
    }
}

fn scalar_source(scalar: &str, is_float: bool, arch: &str) -> String {
    let mut kernel = Kernel::new(scalar);
    let signed = scalar.starts_with('i');
    arithmetic(&mut kernel, is_float, signed);
    if !is_float {
        kernel.store("a << n[0]");
        kernel.store("a >> n[1]");
    }
    for op in ["==", "!=", "<", "<=", ">", ">="] {
        kernel.test(&format!("a {op} b"));
        kernel.store(&format!("if a {op} d {{ a }} else {{ b }}"));
        kernel.test(&format!("a {op} b && b {op} d"));
        let _ = writeln!(kernel.text, "    if a * b {op} d {{ o[{}] = d; }}", kernel.results);
    }
    for function in ["min(a, b)", "max(a, b)", "min(a, max(b, d))"] {
        kernel.store(function);
    }
    if is_float || signed {
        kernel.store("abs(a)");
    }
    if is_float {
        kernel.store("fma(a, b, d)");
    }
    for other in INTS.iter().chain(&FLOATS) {
        kernel.store(&format!("(a as {other}) as {scalar}"));
        kernel.store(&format!("n[2] as {other} as {scalar}"));
    }
    kernel.test("a as bool");
    kernel.store("(n[3] > 0) as %".replace('%', scalar).as_str());
    let communicates = matches!(scalar, "i32" | "u32" | "i64" | "u64") || is_float;
    if communicates {
        kernel.store("__shfl_xor_sync(0xffffffff, a, 1)");
        kernel.store("atomicAdd(&o[100], a)");
    }
    if matches!(scalar, "i32" | "u32") && arch != "sm_75" {
        kernel.store("__reduce_add_sync(0xffffffff, a)");
    }
    kernel.end()
}

fn vector_source(scalar: &str, vector: &str, is_float: bool) -> String {
    let mut kernel = Kernel::new(vector);
    arithmetic(&mut kernel, is_float, scalar.starts_with('i'));
    kernel.store("a + a.x");
    kernel.store(&format!("{vector}(b.y) * d"));
    kernel.test("a.x < b.y");
    kernel.store("if n[0] > 0 { a } else { b }");
    if matches!(vector, "f16x2" | "bf16x2") {
        kernel.store("__shfl_xor_sync(0xffffffff, a, 1)");
        kernel.store("atomicAdd(&o[100], a)");
    }
    kernel.end()
}
