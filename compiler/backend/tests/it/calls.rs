//! Calls, printing, assertions, launch bounds.

use crate::support::{Setup, compile, holds, lacks, ptx};

/// C6: direct, in a helper of a helper, recursive; every level.
#[test]
fn calls_keep_the_callees_convention() {
    let source = "
        @noinline fn g(v: i64) -> i64 { return v + 1; }
        @noinline fn h(v: i64) -> i64 { return g(v); }
        fn factorial(n: i32) -> i32 { if n < 2 { return 1; } return n * factorial(n - 1); }
        fn even(n: i32) -> bool { if n == 0 { return true; } return odd(n - 1); }
        fn odd(n: i32) -> bool { if n == 0 { return false; } return even(n - 1); }
        kernel k(o: *global i64, n: i32) { o[0] = g(41); o[1] = h(41); o[2] = factorial(n) as i64; if even(n) { o[3] = 1; } }";
    for level in 0..4 {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        lacks(&text, &["trap"]);
        holds(&text, &[".entry k("]);
    }
    holds(&compile(source, &Setup::new("sm_90").level(0)).ptx, &[".func  (.param .b64 func_retval0) g$f("]);
}

#[test]
fn aggregates_and_vectors_go_through_calls() {
    let source = "
        struct S { a: i8, v: f32x3, w: [i32; 3] }
        @noinline fn make(a: i8, v: f32x3) -> S { return S(a: a, v: v, w: [1, 2, 3]); }
        @noinline fn sum(s: S, f: f32x4) -> f32x3 { return f32x3(s.v.x + f.x, s.v.y + f.w, s.w[1] as f32); }
        @noinline fn flag(b: bool, n: u8) -> bool { return b != (n > 3); }
        kernel k(o: *global f32, f: f32x4, b: bool) { let r = sum(make(3, f32x3(1.0, 2.0, 3.0)), f); o[0] = r.x + r.y + r.z; if flag(b, 9) { o[1] = 1.0; } }";
    for level in 0..4 {
        compile(source, &Setup::new("sm_90").level(level));
    }
}

#[test]
fn exported_functions_are_called_as_nvccs_are() {
    let text = ptx("
        struct P { x: f32, y: f32, z: f32 }
        @export(\"shift\") fn shift(p: P, by: f32x4, n: i8, b: bool) -> P { return P(x: p.x + by.x, y: p.y, z: if b { n as f32 } else { p.z }); }
        @export(\"quad\") fn quad(v: f32x4) -> f32x4 { return v + v; }
        @export(\"narrow\") fn narrow(v: i16) -> i8 { return v as i8; }
        kernel k(o: *global f32) { o[0] = shift(P(x: 1.0, y: 2.0, z: 3.0), f32x4(1.0, 2.0, 3.0, 4.0), 1, true).x; }");
    holds(
        &text,
        &[
            ".visible .func  (.param .align 4 .b8 func_retval0[12]) shift(\n\t.param .align 4 .b8 shift_param_0[12],\n\t.param .align 16 .b8 shift_param_1[16],\n\t.param .b32 shift_param_2,\n\t.param .b32 shift_param_3\n)",
            ".visible .func  (.param .align 16 .b8 func_retval0[16]) quad(\n\t.param .align 16 .b8 quad_param_0[16]\n)",
            ".visible .func  (.param .b32 func_retval0) narrow(\n\t.param .b32 narrow_param_0\n)",
        ],
    );
}

#[test]
fn functions_of_other_modules_are_declared() {
    let text = ptx("
        extern fn outside(x: i32, v: f32x4) -> f32x4;
        extern kernel other(x: *global i32);
        kernel k(o: *global f32x4, x: *global i32) { o[0] = outside(3, o[1]); let e = other<<<1, 1>>>(x); if e != cudaSuccess { x[0] = 1; } }");
    holds(
        &text,
        &[
            ".extern .func  (.param .align 16 .b8 func_retval0[16]) outside\n(\n\t.param .b32 outside_param_0,\n\t.param .align 16 .b8 outside_param_1[16]\n)",
            ".extern .entry other",
        ],
    );
}

#[test]
fn inlining_can_be_asked_for() {
    let source = "
        @inline fn small(v: i32) -> i32 { return v + 3; }
        @noinline fn kept(v: i32) -> i32 { return v * 5; }
        kernel k(o: *global i32) { o[0] = small(o[1]); o[2] = kept(o[3]); }";
    for level in [0, 3] {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        holds(&text, &["kept$f"]);
        lacks(&text, &["small$f"]);
    }
}

#[test]
fn launch_bounds_are_directives() {
    let text = ptx(
        "@launch_bounds(128, 2) kernel a(o: *global i32) { o[0] = 1; } @launch_bounds(256) kernel b(o: *global i32) { o[0] = 1; }",
    );
    holds(&text, &[".maxntid 128\n.minnctapersm 2\n", ".maxntid 256\n"]);
    assert_eq!(text.matches(".minnctapersm").count(), 1);
}

/// C9: each argument at a multiple of its own size.
#[test]
fn printf_packs_its_arguments() {
    let text = ptx("kernel k(a: i32, b: f32, c: i8, d: f64, e: i64, f: bool) {
        printf(\"%d %f %d %f %lld %u\\n\", a, b, c, d, e, f); printf(\"100%%\\n\"); printf(\"%s\\n\", cudaGetErrorName(cudaErrorInvalidValue)); }");
    holds(&text, &[".local .align 8 .b8 \t__local_depot0[48]", "vprintf", "__cudaCDP2GetErrorName", "cvt.f64.f32"]);
    for offset in ["", "+8]", "+16]", "+24]", "+32]", "+40]"] {
        assert!(text.lines().any(|l| l.contains("st.local") && l.contains(offset)), "{offset} in {text}");
    }
}

#[test]
fn assertions_say_where_and_end_the_grid() {
    let text = ptx(
        "kernel checked(o: *global i32, n: i32) {\n    assert(n > 3);\n    assert(n < 99, \"n is %d\", n);\n    o[0] = n;\n}",
    );
    holds(&text, &["__assertfail", ".noreturn", "vprintf"]);
    // "n > 3" and its line
    holds(&text, &["110, 32, 62, 32, 51", "st.param.b32 \t[param2], 2;", "st.param.b32 \t[param2], 3;"]);
}

#[test]
fn switches_and_selects() {
    let source = "kernel k(o: *global i32, n: i32) { switch n { case 0 { o[0] = 5; } case 1, 7 { o[0] = 6; } case -3 { o[0] = 8; } default { o[0] = 9; } } }";
    for level in [0, 3] {
        compile(source, &Setup::new("sm_90").level(level));
    }
}

#[test]
fn unrolling_can_be_asked_for() {
    let full = ptx("kernel k(o: *global i32) { @unroll for i in 1..41 { atomicAdd(&o[i * 3], i); } }");
    assert_eq!(full.matches("atom.global.add").count(), 40, "{full}");
    let four = ptx("kernel k(o: *global i32, n: i32) { @unroll(4) for i in 0..n { atomicAdd(&o[i * 3], i); } }");
    assert!(four.matches("atom.global.add").count() >= 4, "{four}");
    let never = ptx("kernel k(o: *global i32, n: i32) { @unroll(1) for i in 0..n { atomicAdd(&o[i * 3], i); } }");
    assert_eq!(never.matches("atom.global.add").count(), 1, "{never}");
}
