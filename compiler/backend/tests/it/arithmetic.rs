//! Arithmetic as the language fixes it, at every level.

use crate::support::{Setup, compile, holds, lacks, ptx};

const FLOATS: &str = "
    kernel single(o: *global f32, a: f32, b: f32) { let p = a * b; let q = p + a; o[0] = q - b; o[1] = q / b; o[2] = sqrt(q); }
    kernel double(o: *global f64, a: f64, b: f64) { let p = a * b; let q = p + a; o[0] = q - b; o[1] = q / b; o[2] = sqrt(q); }
    kernel halves(o: *global f16, a: f16, b: f16) { let p = a * b; let q = p + a; o[0] = q - b; }
    kernel brains(o: *global bf16, a: bf16, b: bf16) { let p = a * b; let q = p + a; o[0] = q - b; }
    kernel lanes(o: *global f32x4, a: f32x4, b: f32x4) { let p = a * b; o[0] = p + a; }
";

#[test]
fn nothing_is_fused_that_the_source_does_not_fuse() {
    for level in [0, 3] {
        let text = compile(FLOATS, &Setup::new("sm_90").level(level)).ptx;
        holds(&text, &["mul.rn.f32", "add.rn.f32", "sub.rn.f32", "div.rn.f32", "sqrt.rn.f32"]);
        holds(&text, &["mul.rn.f64", "add.rn.f64", "sub.rn.f64", "div.rn.f64", "sqrt.rn.f64"]);
        holds(&text, &["mul.rn.f16", "add.rn.f16", "sub.rn.f16", "mul.rn.bf16", "add.rn.bf16", "sub.rn.bf16"]);
        // without a rounding, ptxas may fuse
        lacks(&text, &["mul.f32", "add.f32", "sub.f32", "mul.f64", "add.f64", "mul.f16 ", "add.f16 ", "fma", "mad.f", ".ftz"]);
    }
}

#[test]
fn packed_arithmetic_of_new_gpus_is_not_fused_either() {
    let text = compile(FLOATS, &Setup::new("sm_100")).ptx;
    lacks(&text, &["fma", "mul.f32", "add.f32", "add.f32x2", "mul.f32x2"]);
}

#[test]
fn one_expression_is_fused_explicitly() {
    for level in [0, 3] {
        let source = "kernel k(o: *global f32, d: *global f64, a: f32, b: f32, c: f32) {
            o[0] = a * b + c; d[0] = (a as f64) * (b as f64) - (c as f64); }";
        let text = compile(source, &Setup::new("sm_80").level(level)).ptx;
        holds(&text, &["fma.rn.f32", "fma.rn.f64"]);
        lacks(&text, &["mul.rn", "add.rn"]);
    }
}

#[test]
fn fast_math_and_ftz_are_what_nvcc_means_by_them() {
    let source = "kernel k(o: *global f32, a: f32, b: f32) { o[0] = a / b; o[1] = sqrt(a); o[2] = sin(a); o[3] = a + b; }";
    let mut setup = Setup::new("sm_90");
    setup.options.ftz = true;
    let text = compile(source, &setup).ptx;
    holds(&text, &["div.rn.ftz.f32", "sqrt.rn.ftz.f32", "add.rn.ftz.f32", " --ftz\n"]);
    setup.options.ftz = false;
    setup.options.fast_math = true;
    let text = compile(source, &setup).ptx;
    holds(&text, &["div.full.ftz.f32", "sqrt.approx.ftz.f32", "sin.approx.ftz.f32", "add.rn.ftz.f32", " --fast-math\n"]);
}

/// A division, a remainder or a shift of the program's values must not let LLVM drop what follows a mistake.
#[test]
fn mistakes_delete_nothing() {
    let source = "
        kernel by_zero(o: *global i32, a: i32) {
            let zero = a - a;
            o[0] = a / zero; o[1] = a % zero;
            __syncthreads();
            o[2] = 7;
        }
        kernel smallest(o: *global i64, n: i32) {
            let least = (1 as i64) << 63;
            o[0] = least / ((n - n - 1) as i64);
            __syncthreads();
            o[1] = 8;
        }
        kernel shifted(o: *global i32, n: i32) {
            let far = n - n + 40;
            o[0] = n << far; o[1] = n >> far;
            __syncthreads();
            o[2] = 9;
        }";
    for level in [0, 3] {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        assert_eq!(text.matches("barrier.sync").count() + text.matches("bar.sync").count(), 3, "{text}");
        lacks(&text, &["trap"]);
    }
}

/// What was never written has some value, but LLVM may not conclude that the code that reads it cannot run.
#[test]
fn reading_what_was_never_written_deletes_nothing() {
    let source = "
        fn first(p: *const i32) -> i32 { return *p; }
        kernel small(o: *global i32, n: i32) { var a: [i32; 4]; a[0] = n; if a[1] > 3 { __syncthreads(); } __syncthreads(); o[0] = 1; }
        kernel large(o: *global i32, n: i32) { var a: [i32; 99]; a[0] = n; if a[1] > 3 { __syncthreads(); } __syncthreads(); o[0] = 1; }
        kernel held(o: *global i32) { var a: [i32; 99]; if first(&a[1]) > 3 { __syncthreads(); } __syncthreads(); o[0] = 1; }
        kernel both(o: *global i32) { shared s: [i32; 4]; if s[1] > 3 { __syncthreads(); } __syncthreads(); o[0] = 1; }
        kernel heap(o: *global i32) { let p = malloc(8) as *global i32; if p[0] > 3 { __syncthreads(); } __syncthreads(); o[0] = 1; }";
    for level in [0, 3] {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        for kernel in text.split(".visible .entry ").skip(1) {
            holds(kernel, &["bar.sync", "st.global.b32"]);
            lacks(kernel, &["trap", "exit"]);
        }
        holds(text.split(".entry both").nth(1).unwrap(), &["ld.shared.b32"]);
    }
}

#[test]
fn divisions_by_constants_have_no_guard() {
    let text = ptx("kernel k(o: *global i32, a: i32) { o[0] = a / 7; o[1] = a % 16; o[2] = a << 5; }");
    lacks(&text, &["selp", "setp", "div", "rem"]);
}

#[test]
fn float_to_integer_saturates() {
    let source = "kernel k(o: *global i32, w: *global i64, n: *global i8, u: *global u64, f: f32, d: f64) {
        o[0] = f as i32; w[0] = f as i64; w[1] = d as i64; n[0] = f as i8; o[1] = d as i32; u[0] = f as u64; u[1] = d as u64; }";
    let text = ptx(source);
    holds(
        &text,
        &["cvt.rzi.s32.f32", "cvt.rzi.s64.f32", "cvt.rzi.s64.f64", "cvt.rzi.s32.f64", "cvt.rzi.u64.f32", "cvt.rzi.u64.f64"],
    );
    // NaN is 0 wherever cvt does not make it so: one test each of f and d
    assert!(text.matches("setp.nan").count() >= 2, "{text}");
}

#[test]
fn integers_become_bfloat_in_one_rounding_on_old_gpus() {
    let source = "kernel k(o: *global bf16, a: i32, b: i64, c: u64) { o[0] = a as bf16; o[1] = b as bf16; o[2] = c as bf16; }";
    holds(&ptx(source), &["cvt.rn.bf16.s32", "cvt.rn.bf16.s64", "cvt.rn.bf16.u64"]);
    let old = compile(source, &Setup::new("sm_80")).ptx;
    // 24 bits, of which the last says whether more followed: exact in 32 bits, so that only bfloat rounds
    assert_eq!(old.matches("clz.b64").count(), 3, "{old}");
    lacks(&old, &["cvt.rn.f32.s32", "cvt.rn.f32.s64"]);
}

#[test]
fn bfloat_is_computed_everywhere() {
    let source =
        "kernel k(o: *global bf16, a: bf16, b: bf16, c: bf16) { o[0] = fma(a, b, c); o[1] = a / b; o[2] = min(a, b); }";
    for arch in ["sm_75", "sm_80", "sm_90", "sm_120"] {
        compile(source, &Setup::new(arch));
    }
    holds(&compile(source, &Setup::new("sm_75")).ptx, &["fma.rm.f64", "fma.rp.f64", "fma.rz.f64"]);
    holds(&compile(source, &Setup::new("sm_80")).ptx, &["fma.rn.bf16", "min.bf16"]);
}

#[test]
fn min_and_max_prefer_numbers() {
    let text = ptx("kernel k(o: *global f32, d: *global f64, i: *global i32, u: *global u32, a: f32, b: f32) {
        o[0] = min(a, b); d[0] = max(a as f64, b as f64); i[0] = min(i[1], i[2]); u[0] = max(u[1], u[2]); }");
    holds(&text, &["min.f32", "max.f64", "min.s32", "max.u32"]);
    lacks(&text, &["min.NaN", "max.NaN"]);
}

#[test]
fn truth_of_a_float_includes_nan() {
    holds(&ptx("kernel k(o: *global bool, a: f32) { o[0] = a as bool; }"), &["setp.neu.f32"]);
}

#[test]
fn bit_operations_are_instructions() {
    let text = ptx("kernel k(o: *global u32, a: u32, b: u32, c: u32) {
        o[0] = __popc(a) as u32; o[1] = __clz(a) as u32; o[2] = __brev(a); o[3] = __byte_perm(a, b, c);
        o[4] = __umulhi(a, b); o[5] = __funnelshift_l(a, b, c); o[6] = __funnelshift_r(a, b, c); o[7] = __ffs(a) as u32; }");
    holds(&text, &["popc.b32", "clz.b32", "brev.b32", "prmt.b32", "mul.hi.u32", "shf.l.wrap.b32", "shf.r.wrap.b32"]);
}

#[test]
fn mathematics_comes_from_libdevice_and_is_inlined() {
    let text = ptx(
        "kernel k(o: *global f32, d: *global f64, a: f32, b: f64) { o[0] = exp(a); o[1] = pow(a, 2.5); d[0] = log(b); d[1] = erf(b); }",
    );
    lacks(&text, &["__nv_", "__nvvm_reflect", ".extern"]);
    holds(&text, &["ex2.approx"]);
}

/// As by nvcc's `-prec-sqrt=true`, also inside libdevice.
#[test]
fn roots_inside_libdevice_are_precise() {
    let source = "kernel k(o: *global f32, a: f32, b: f32) { o[0] = hypot(a, b); o[1] = acosh(a); }";
    let mut setup = Setup::new("sm_90");
    let text = compile(source, &setup).ptx;
    holds(&text, &["sqrt.rn.f32"]);
    lacks(&text, &["\tsqrt.approx"]);
    setup.options.fast_math = true;
    let text = compile(source, &setup).ptx;
    holds(&text, &["sqrt.approx.ftz.f32"]);
    lacks(&text, &["\tsqrt.rn"]);
}

#[test]
fn every_function_of_libdevice_is_found() {
    use cdp_core::builtins::{Domain, Intrinsic};
    let mut source = String::from("kernel k(o: *global f32, d: *global f64, a: f32, b: f64, n: i32) {\n");
    let mut lines = 0;
    for intrinsic in Intrinsic::ALL {
        let (f, d) = match (intrinsic.domain(), intrinsic.arity()) {
            // instructions, under another name for f64
            _ if matches!(intrinsic, Intrinsic::Rounded(..)) => continue,
            (Domain::Float | Domain::AnyFloat, 1) => ("(a)", "(b)"),
            (Domain::Float | Domain::AnyFloat, 2) => ("(a, a)", "(b, b)"),
            (Domain::Float | Domain::AnyFloat, 3) => ("(a, a, a)", "(b, b, b)"),
            (Domain::Float | Domain::AnyFloat, 4) => ("(a, a, a, a)", "(b, b, b, b)"),
            (Domain::IntFloat, _) => ("(n, a)", "(n, b)"),
            (Domain::FloatToInt, _) => ("(a) as f32", "(b) as f64"),
            (Domain::FloatInt, _) => ("(a, n)", "(b, n)"),
            (Domain::F32, 1) => ("(a)", ""),
            (Domain::F32, 2) => ("(a, a)", ""),
            _ => continue,
        };
        source += &format!("o[{lines}] = {}{f};\n", intrinsic.name());
        if !d.is_empty() {
            source += &format!("d[{lines}] = {}{d};\n", intrinsic.name());
        }
        lines += 1;
    }
    assert!(lines > 50);
    source += "}\n";
    for level in [0, 2] {
        let mut setup = Setup::new("sm_90").level(level);
        lacks(&compile(&source, &setup).ptx, &["call.uni (retval0), __nv_", ".extern"]);
        setup.options.fast_math = true;
        compile(&source, &setup);
    }
}
