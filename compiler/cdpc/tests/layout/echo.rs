//! Programs in which every byte of every parameter comes back: host-launched and device-launched, over a device or the executor.
//!
//! Each scalar in the parameters holds bits that follow from its number; `kN` writes the bits of all of them to `out`, and the host
//! computes them again. `kN` is launched by the host, and by `qN`, which got the same parameters from the host.

use super::common::Place;
use super::print::{Language, parameters, structs};
use super::signature::{Random, SCALARS, Signature, Type};
use super::{BATCH, number};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Signatures in one file.
const PER_FILE: usize = 50;

/// The bits of a scalar by its number, and of floats only what is finite and survives on every machine.
const PRELUDE: &str = "\
fn bits(n: u32) -> u64 {
    var x = (n as u64 + 1) * 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 32);
}
fn v_i8(n: u32) -> i8 { return bits(n) as i8; }
fn v_i16(n: u32) -> i16 { return bits(n) as i16; }
fn v_i32(n: u32) -> i32 { return bits(n) as i32; }
fn v_i64(n: u32) -> i64 { return bits(n) as i64; }
fn v_u8(n: u32) -> u8 { return bits(n) as u8; }
fn v_u16(n: u32) -> u16 { return bits(n) as u16; }
fn v_u32(n: u32) -> u32 { return bits(n) as u32; }
fn v_u64(n: u32) -> u64 { return bits(n); }
fn v_near(n: u32) -> u64 { return bits(n) & 0xffffff; }
fn v_bool(n: u32) -> bool { return (bits(n) & 1) != 0; }
fn v_f32(n: u32) -> f32 { return __int_as_float((bits(n) & 0xff7fffff) as u32 as i32); }
fn v_f64(n: u32) -> f64 { return __int_as_float((bits(n) & 0xffefffffffffffff) as i64); }
fn v_f16(n: u32) -> f16 { return (((bits(n) & 0xfff) as i32 - 2048) as f32) as f16; }
fn v_bf16(n: u32) -> bf16 { return __int_as_float(((bits(n) & 0xff7f) << 16) as u32 as i32) as bf16; }
fn b_i8(x: i8) -> u64 { return x as u64; }
fn b_i16(x: i16) -> u64 { return x as u64; }
fn b_i32(x: i32) -> u64 { return x as u64; }
fn b_i64(x: i64) -> u64 { return x as u64; }
fn b_u8(x: u8) -> u64 { return x as u64; }
fn b_u16(x: u16) -> u64 { return x as u64; }
fn b_u32(x: u32) -> u64 { return x as u64; }
fn b_u64(x: u64) -> u64 { return x; }
fn b_bool(x: bool) -> u64 { return if x { 1 as u64 } else { 0 as u64 }; }
fn b_f32(x: f32) -> u64 { return __float_as_int(x) as u64; }
fn b_f64(x: f64) -> u64 { return __float_as_int(x) as u64; }
fn b_f16(x: f16) -> u64 { return __float_as_int(x as f32) as u64; }
fn b_bf16(x: bf16) -> u64 { return __float_as_int(x as f32) as u64; }
";

/// One scalar of the parameters.
struct Leaf {
    /// `p3.f1[2].x`
    path: String,
    /// How its bits are had from its value.
    bits: String,
    /// The value that it is to have.
    value: String,
}

/// What is needed to write a test of one signature.
#[derive(Default)]
struct Leaves {
    all: Vec<Leaf>,
    /// The number of the next scalar in this file.
    next: usize,
}

impl Leaves {
    /// Appends a value's scalars; gives the expression that makes the value.
    fn add(&mut self, ty: &Type, path: &str, name: &str) -> String {
        match ty {
            Type::Scalar(scalar) => self.leaf(path, &format!("v_{}", scalar.name), &format!("b_{}({path})", scalar.name)),
            Type::Pointer { space, to } => {
                // an address near the output that nothing may lie at: it is never followed
                let address = self.leaf(path, "out as u64 + v_near", &format!("{path} as u64"));
                format!("({address}) as {space}{}", to.name)
            }
            Type::Vector(element, lanes) => {
                let lane = |lane: &str| (format!("{path}.{lane}"), element.name);
                let args: Vec<String> = ["x", "y", "z", "w"][..*lanes as usize]
                    .iter()
                    .map(|l| lane(l))
                    .map(|(path, ty)| self.leaf(&path, &format!("v_{ty}"), &format!("b_{ty}({path})")))
                    .collect();
                format!("{}x{lanes}({})", element.name, args.join(", "))
            }
            Type::Array(element, len) => {
                let values: Vec<String> = (0..*len).map(|i| self.add(element, &format!("{path}[{i}]"), name)).collect();
                format!("[{}]", values.join(", "))
            }
            Type::Struct { fields, .. } => {
                let field = |(i, ty): (usize, &Type)| {
                    format!("f{i}: {}", self.add(ty, &format!("{path}.f{i}"), &format!("{name}_{i}")))
                };
                let values: Vec<String> = fields.iter().enumerate().map(field).collect();
                format!("{name}({})", values.join(", "))
            }
        }
    }

    fn leaf(&mut self, path: &str, make: &str, bits: &str) -> String {
        let value = format!("{make}({})", self.next);
        self.next += 1;
        self.all.push(Leaf { path: path.to_owned(), bits: bits.to_owned(), value: value.clone() });
        value
    }
}

/// A program that echoes these signatures; `seed` places the pointer to the output among the parameters.
pub fn program(signatures: &[Signature], seed: u64) -> String {
    let mut random = Random(seed);
    let mut out = format!("// {} signatures: every byte of every parameter comes back.\n{PRELUDE}", signatures.len());
    let mut next = 0;
    for (number, signature) in signatures.iter().enumerate() {
        let mut leaves = Leaves { all: Vec::new(), next };
        let mut params = parameters(signature, number, Language::Cdp);
        let mut pass: Vec<String> = (0..params.len()).map(|i| format!("p{i}")).collect();
        let mut args = pass.clone();
        for (i, ty) in signature.params.iter().enumerate() {
            args[i] = leaves.add(ty, &format!("p{i}"), &format!("S{number}_{i}"));
        }
        next = leaves.next;
        let at = random.below(u32::try_from(params.len() + 1).unwrap()) as usize;
        params.insert(at, "out: *global u64".to_owned());
        pass.insert(at, "out".to_owned());
        args.insert(at, "out".to_owned());
        out.push_str(&one(signature, number, &leaves.all, &params.join(", "), &pass.join(", "), &args.join(", ")));
    }
    out
}

fn one(signature: &Signature, number: usize, leaves: &[Leaf], params: &str, pass: &str, args: &str) -> String {
    let mut out = structs(signature, number, Language::Cdp);
    let count = leaves.len();
    let _ = writeln!(out, "kernel k{number}({params}) {{");
    for (i, leaf) in leaves.iter().enumerate() {
        let _ = writeln!(out, "    out[{i}] = {};", leaf.bits);
    }
    let _ = writeln!(out, "    out[{count}] = 1;\n}}");
    let _ = writeln!(out, "kernel q{number}({params}) {{");
    let _ = writeln!(out, "    let e = k{number}<<<1, 1>>>({pass});");
    let _ = writeln!(out, "    if e != cudaSuccess {{ out[{count}] = 100 + (e as u64); }}\n}}");
    let _ = writeln!(out, "host fn check{number}(out: *global u64) {{");
    let _ = writeln!(out, "    assert(out[{count}] == 1, \"no echo: %llu\", out[{count}]);");
    for (i, leaf) in leaves.iter().enumerate() {
        let expected = match leaf.bits.split_once('(') {
            Some((function, _)) => format!("{function}({})", leaf.value),
            // pointers
            None => leaf.value.clone(),
        };
        let path = &leaf.path;
        let _ = writeln!(out, "    assert(out[{i}] == {expected}, \"{path} is %llx\", out[{i}]);");
    }
    let _ = writeln!(out, "}}");
    for (launcher, who) in [('k', "the host"), ('q', "a kernel")] {
        let _ = writeln!(out, "test \"signature {number} launched by {who}\" {{");
        let _ = writeln!(out, "    let out = device(u64, {});", count + 1);
        let _ = writeln!(out, "    {launcher}{number}<<<1, 1>>>({args});");
        let _ = writeln!(out, "    cudaDeviceSynchronize();\n    check{number}(out);\n}}");
    }
    out
}

/// Other signatures than those of the comparison.
fn signatures(count: usize) -> Vec<Signature> {
    let mut random = Random(number("CDPC_LAYOUT_SEED", 2026) ^ 0xec40);
    (0..count).map(|_| Signature::random(&mut random)).collect()
}

#[test]
fn every_byte_comes_back_in_the_executor() {
    let place = Place::new();
    place.write("echo.cdp", program(&signatures(PER_FILE), 1));
    let ran = place.run("test --device cpu echo.cdp");
    ran.succeeds();
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains(&format!("{}", 2 * PER_FILE)), "{all}");
}

#[test]
fn a_byte_that_does_not_come_back_is_seen() {
    let place = Place::new();
    let good = program(&signatures(2), 1);
    let bad = good.replacen("    out[0] = ", "    out[0] = 1 + ", 1);
    assert_ne!(good, bad);
    place.write("echo.cdp", bad);
    place.run("test --device cpu echo.cdp").fails(1, &[]);
}

/// 300 signatures in files for a GPU: `cdpc test --device gpu --launch-abi v1 DIR`, and v2.
#[test]
fn programs_for_a_gpu() {
    let Some(folder) = std::env::var_os("CDPC_ECHO_DIR").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    let all = signatures(usize::try_from(number("CDPC_ECHO_CASES", 300)).unwrap());
    for (file, part) in all.chunks(PER_FILE).enumerate() {
        std::fs::write(folder.join(format!("echo_{file}.cdp")), program(part, file as u64)).unwrap();
    }
}

#[test]
fn the_prelude_knows_every_scalar() {
    const { assert!(BATCH >= PER_FILE) };
    for scalar in SCALARS {
        for function in [format!("fn v_{}(", scalar.name), format!("fn b_{}(", scalar.name)] {
            assert!(PRELUDE.contains(&function), "{function}");
        }
    }
}
