//! Kernel parameters: kinds, alignments, what the compiler knows of pointers.

use crate::support::{Setup, compile, holds, lacks, ptx};

#[test]
fn every_kind_is_declared_with_its_size() {
    let text = ptx("
        struct Pair { a: i8, b: f64 }
        kernel k(a: bool, b: i8, c: i16, d: i32, e: i64, f: f16, g: bf16, h: f32, i: f64, j: *global i32, l: *i32, m: f32x3, n: f32x4,
                 p: i32x2, q: Pair, s: cudaError_t, t: dim3, u: u64, o: *global f64) {
            o[0] = q.b + m.x as f64 + n.w as f64 + p.y as f64 + t.z as f64 + l[0] as f64 + j[0] as f64;
            o[1] = b as f64 + c as f64 + d as f64 + e as f64 + f as f64 + g as f64 + h as f64 + i;
            if a { o[2] = s as i32 as f64; }
        }");
    holds(
        &text,
        &[
            ".param .u8 k_param_0,",
            ".param .u8 k_param_1,",
            ".param .u16 k_param_2,",
            ".param .u32 k_param_3,",
            ".param .u64 k_param_4,",
            ".param .u16 k_param_5,",
            ".param .u16 k_param_6,",
            ".param .f32 k_param_7,",
            ".param .f64 k_param_8,",
            ".param .u64 .ptr .global .align 1 k_param_9,",
            ".param .u64 .ptr .align 1 k_param_10,",
            ".param .align 4 .b8 k_param_11[12],",
            ".param .align 16 .b8 k_param_12[16],",
            ".param .align 8 .b8 k_param_13[8],",
            ".param .align 8 .b8 k_param_14[16],",
            ".param .u32 k_param_15,",
            ".param .align 4 .b8 k_param_16[12],",
            ".param .u64 k_param_17,",
        ],
    );
    lacks(&text, &[".local"]);
}

/// R32: declared with 16 at most; what needs more in the body is copied.
#[test]
fn parameters_are_aligned_to_16_at_most() {
    let source = "
        @align(64) struct Wide { x: i32, y: i32 }
        fn sum(p: *Wide) -> i32 { return p.x + p.y; }
        kernel read(a: i8, w: Wide, b: i8, o: *global i32) { o[0] = w.x + w.y + a as i32 + b as i32; }
        kernel address(w: Wide, o: *global i32) { var v = w; o[0] = sum(&v); }";
    for level in [0, 3] {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        holds(&text, &[".param .align 16 .b8 read_param_1[64],", ".param .align 16 .b8 address_param_0[64],"]);
        lacks(&text, &[".param .align 64", ".param .align 32"]);
    }
    let text = compile(source, &Setup::new("sm_90")).ptx;
    lacks(&text, &[".local"]);
}

#[test]
fn restrict_const_reads_go_through_the_read_only_cache() {
    let text = ptx("
        kernel plain(x: *global const f32, y: *global f32) { let i = threadIdx.x; y[i] = x[i]; }
        kernel promised(@restrict x: *global const f32, @restrict y: *global f32) { let i = threadIdx.x; y[i] = x[i]; }");
    assert_eq!(text.matches("ld.global.nc.b32").count(), 1, "{text}");
    let (first, second) = text.split_at(text.find(".entry promised").unwrap());
    lacks(first, &[".nc"]);
    holds(second, &["ld.global.nc"]);
}

/// Casting `const` away makes every promise about `const` void.
#[test]
fn const_that_is_cast_away_promises_nothing() {
    let source = "kernel k(@restrict x: *global const i32, @restrict y: *global i32) {
        let w = x as *global i32; w[1] = 5; y[0] = x[1]; y[1] = x[0]; }";
    let (module, _) = crate::support::front(source, &Setup::new("sm_90"));
    assert!(module.kernel("k").is_some());
    lacks(&ptx(source), &["ld.global.nc"]);
}

#[test]
fn large_parameters_raise_the_version() {
    let source = |len: u32| {
        format!("struct Big {{ v: [i32; {len}] }} kernel k(b: Big, i: i32, o: *global i32) {{ o[0] = b.v[i] + b.v[3]; }}")
    };
    let version = |len| compile(&source(len), &Setup::new("sm_80")).ptx;
    holds(&version(1000), &[".version 7.0\n"]);
    holds(&version(2000), &[".version 8.1\n"]);
    holds(&compile(&source(2000), &Setup::new("sm_100")).ptx, &[".version 8.6\n"]);
}

#[test]
fn structures_are_read_where_they_lie() {
    let text = ptx("
        struct Inner { a: i16, b: f32x4 }
        struct Outer { k: i8, inner: Inner, tail: [i64; 3] }
        kernel k(v: Outer, i: i32, o: *global i64) { o[0] = v.tail[i]; o[1] = v.inner.a as i64; o[2] = v.inner.b.z as i64; o[3] = v.k as i64; }");
    holds(&text, &["k_param_0[80]", "[k_param_0+16]", "[k_param_0+40]"]);
    lacks(&text, &[".local"]);
}

#[test]
fn addresses_of_32_bits() {
    use cdp_core::types::layout::PointerWidth;
    let mut setup = Setup::new("sm_90");
    setup.options.width = PointerWidth::W32;
    let source = "
        kernel child(x: *global i32, n: i64) { x[0] = n as i32; }
        kernel parent(x: *global i32) { let e = child<<<1, 1>>>(x, 5); if e != cudaSuccess { x[1] = 1; } }";
    let (module, sources) = crate::support::front(source, &setup);
    // ptxas 13 knows 64 bits only
    let text = cdp_backend::compile(&module, &sources, &setup.options).unwrap().ptx;
    holds(
        &text,
        &[
            ".address_size 32",
            ".param .u32 .ptr .global .align 1 child_param_0",
            ".param .u64 child_param_1",
            ".extern .func  (.param .b32 func_retval0) __cudaCDP2GetParameterBuffer\n(\n\t.param .b32 __cudaCDP2GetParameterBuffer_param_0,\n\t.param .b32",
            ".param .align 4 .b8 __cudaCDP2LaunchDevice_param_2[12]",
        ],
    );
}
