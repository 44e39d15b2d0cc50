//! Symbols that cannot collide.

use crate::support::{Setup, compile, front, holds};
use cdp_backend::Error;

#[test]
fn names_of_instructions_registers_and_libraries_are_harmless() {
    let words = "add mov ld st entry func reg param target version ret call bra tid ctaid pred b32 align main memcpy r0 p1 texref exit trap";
    let mut source = String::new();
    for word in words.split(' ') {
        source += &format!("@noinline fn after_{word}(v: i32) -> i32 {{ return v + 1; }}\n");
        source += &format!("kernel {word}(x: *global i32) {{ x[0] = after_{word}(x[1]); {word}<<<1, 1>>>(x); }}\n");
    }
    // functions and variables may be named as anything
    source += "@noinline fn vprintf(v: i32) -> i32 { return v; }\n";
    source += "@noinline fn __nv_sinf(v: i32) -> i32 { return v; }\n";
    source += "global var WARP_SZ: i32 = 3;\n";
    source += "kernel uses(x: *global i32, f: *global f32) { x[0] = vprintf(__nv_sinf(WARP_SZ)); f[0] = sin(f[1]); printf(\"%d\\n\", x[0]); }\n";
    for level in [0, 3] {
        let text = compile(&source, &Setup::new("sm_90").level(level)).ptx;
        holds(&text, &[".entry add(", ".entry mov(", ".entry ld("]);
    }
}

#[test]
fn impossible_kernel_names_are_refused() {
    for name in ["WARP_SZ", "__nv_powf", "cudaMallocThing", "__cudaCDP2Malloc", "vprintf", "free", "param0", "retval3"] {
        let setup = Setup::new("sm_90");
        let source = format!("@export(\"{name}\") kernel k(x: *global i32) {{ x[0] = 1; }}");
        let (module, sources) = front(&source, &setup);
        match cdp_backend::compile(&module, &sources, &setup.options) {
            Err(Error::Name { name: named, .. }) => assert_eq!(named, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_kernel_that_is_named_as_anothers_parameter_is_refused() {
    let setup = Setup::new("sm_90");
    let source = "kernel a(x: *global i32) { x[0] = 1; } kernel a_param_0(x: *global i32) { x[0] = 1; }";
    let (module, sources) = front(source, &setup);
    let error = cdp_backend::compile(&module, &sources, &setup.options).unwrap_err();
    assert_eq!(error.to_string(), "`a_param_0` cannot be a symbol in PTX: the parameters of `a` have such names in PTX");
}

#[test]
fn only_what_is_reached_is_emitted() {
    let text = compile(
        "fn unused(v: i32) -> i32 { return v; } global var idle: i32 = 1; host fn main() { printf(\"%d\\n\", unused(3)); }
         test \"t\" { assert(unused(1) == 1); } kernel k(x: *global i32) { x[0] = 1; }",
        &Setup::new("sm_90"),
    );
    crate::support::lacks(&text.ptx, &["unused", "idle", "main", "vprintf"]);
    assert_eq!(text.kernels, ["k"]);
}

#[test]
fn identical_kernels_stay_two() {
    let text =
        compile("kernel a(x: *global i32) { x[0] = 1; } kernel b(x: *global i32) { x[0] = 1; }", &Setup::new("sm_90")).ptx;
    holds(&text, &[".visible .entry a(", ".visible .entry b("]);
}
