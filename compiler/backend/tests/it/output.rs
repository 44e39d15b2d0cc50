//! The PTX as a text: header, version, line tables, determinism; and what is refused.

use crate::support::{Setup, compile, front, holds, lacks};
use cdp_backend::{Error, Libdevice, Target};

const SOURCE: &str = "fn twice(v: f32) -> f32 {\n    return v + v;\n}\nkernel k(x: *global f32) {\n    let i = threadIdx.x;\n    x[i] = twice(x[i]);\n    if x[i] > 1.0 {\n        printf(\"%f\\n\", x[i]);\n    }\n}\n";

#[test]
fn the_header_says_what_it_is() {
    let text = compile(SOURCE, &Setup::new("sm_80").level(2)).ptx;
    let expected = format!(
        "// test.cdp: cdpc {} --arch sm_80 -O2\n\n.version 7.0\n.target sm_80\n.address_size 64\n",
        env!("CARGO_PKG_VERSION")
    );
    assert!(text.starts_with(&expected), "{text}");
    lacks(&text, &["LLVM", ".globl", "/work", "/tmp"]);
}

/// C11: the lowest version that target and features need.
#[test]
fn the_version_is_the_targets_own() {
    for target in Target::all() {
        let mut setup = Setup::new("sm_90");
        setup.options.target = target;
        let (module, sources) = front(SOURCE, &setup);
        let text = cdp_backend::compile(&module, &sources, &setup.options).unwrap().ptx;
        let version = target.ptx_version();
        holds(&text, &[&format!(".version {}.{}\n.target {}\n", version / 10, version % 10, target.name())]);
    }
    assert!(Target::new("sm_20").is_err());
    assert!(Target::new("").is_err());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let setup = Setup::new("sm_90");
    let first = compile(SOURCE, &setup);
    for _ in 0..3 {
        assert_eq!(compile(SOURCE, &setup), first);
    }
}

#[test]
fn line_tables_survive_optimisation() {
    for level in [0, 3] {
        let mut setup = Setup::new("sm_90").level(level);
        setup.options.lineinfo = true;
        let text = compile(SOURCE, &setup).ptx;
        // the printf of line 8, and the addition of line 2, inlined into line 6
        holds(&text, &[".file\t1 \"test.cdp\"", ".loc\t1 8 "]);
        holds(&text, &[".loc\t1 2 ", ".loc\t1 6 "]);
        lacks(&text, &[", debug", ".debug_info", ".section"]);
    }
    lacks(&compile(SOURCE, &Setup::new("sm_90")).ptx, &["\t.loc\t", "\t.file"]);
}

#[test]
fn llvm_text_is_given_when_asked_for() {
    let mut setup = Setup::new("sm_90");
    assert!(compile(SOURCE, &setup).llvm_ir.is_empty());
    setup.options.emit_llvm_ir = true;
    let output = compile(SOURCE, &setup);
    holds(&output.llvm_ir, &["define ptx_kernel void @k(", "@\"twice$f\"", "nvptx64-nvidia-cuda"]);
    holds(&output.llvm_ir_optimised, &["define ptx_kernel void @k("]);
    lacks(&output.llvm_ir_optimised, &["@\"twice$f\""]);
}

#[test]
fn a_missing_libdevice_is_an_error_only_where_it_is_needed() {
    let mut setup = Setup::new("sm_90");
    setup.options.libdevice = Libdevice::File("/nonexistent/libdevice.bc".into());
    compile(SOURCE, &setup);
    let source = "kernel k(x: *global f32) {\n    x[0] = tanh(x[1]);\n}";
    let (module, sources) = front(source, &setup);
    for (libdevice, reason) in [
        (Libdevice::Missing, "no CUDA toolkit"),
        (Libdevice::File("/nonexistent/libdevice.bc".into()), "`/nonexistent/libdevice.bc`"),
        (Libdevice::Bytes(b"not bitcode at all".to_vec()), "not LLVM bitcode"),
        (Libdevice::Bytes(Vec::new()), "bitcode"),
    ] {
        setup.options.libdevice = libdevice;
        let error = cdp_backend::compile(&module, &sources, &setup.options).unwrap_err();
        let Error::Libdevice { function, span, .. } = &error else { panic!("{error}") };
        assert_eq!(function, "tanh");
        assert_eq!(sources.line_column(*span).line, 2);
        assert!(error.to_string().contains(reason), "{error}");
    }
    // a later compilation is none the worse
    compile(SOURCE, &Setup::new("sm_90"));
}

/// Launches that nobody lowered, and other things that no verified module has, are errors.
#[test]
fn what_is_malformed_is_an_error() {
    use cdp_core::source::SourceMap;
    use cdp_core::{lower, sema, syntax};
    let source = "kernel child(x: *global i32) { x[0] = 1; } kernel parent(x: *global i32) { child<<<1, 1>>>(x); }";
    let mut sources = SourceMap::new();
    let file = sources.add("test.cdp", source);
    let (tree, _) = syntax::parse(file, source);
    let (program, _) = sema::check(&[tree], &sources, sema::Options::default());
    let (module, _) = lower::lower(program, &lower::LowerOptions::default());
    let error = cdp_backend::compile(&module, &sources, &Setup::new("sm_90").options).unwrap_err();
    assert!(error.is_bug());
    assert_eq!(error.to_string(), "malformed IR: a launch that was not lowered");
}

/// A measurement: `cargo test --release -p cdp-backend -- --ignored --nocapture compile_times`.
#[test]
#[ignore = "measures, and needs an idle machine"]
fn compile_times() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/run");
    for name in ["nested_hello", "quicksort", "mandelbrot", "math_functions"] {
        let source = std::fs::read_to_string(folder.join(name).with_extension("cdp")).unwrap();
        let setup = Setup::new("sm_90");
        let (module, sources) = front(&source, &setup);
        let mut times: Vec<_> = (0..21)
            .map(|_| {
                let start = std::time::Instant::now();
                cdp_backend::compile(&module, &sources, &setup.options).unwrap();
                start.elapsed()
            })
            .collect();
        let first = times[0];
        times.sort();
        eprintln!("{name}: first {first:?}, median {:?}, least {:?}", times[10], times[0]);
    }
}

/// What `cdpc run` makes of it: a counter that the driver finds, an addition for each call, and a mark in each text.
#[test]
fn printing_is_counted_where_that_is_asked_for() {
    let setup = Setup::new("sm_90");
    let source = SOURCE.replace("kernel k", "host fn main() { printf(\"host\"); }\nkernel k");
    let (mut module, sources) = front(&source, &setup);
    assert!(cdp_core::pass::count_prints(&mut module));
    let text = cdp_backend::compile(&module, &sources, &setup.options).unwrap().ptx;
    holds(&text, &[".visible .global .align 8 .u64 cdpc$printed;", "[cdpc$printed], 1;", "{30, 31, 37, 102, 10}"]);
    crate::support::assemble(&text, setup.arch);
}
