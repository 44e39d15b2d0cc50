//! Layout, address spaces, variables.

use crate::support::{Setup, compile, holds, lacks, ptx};

#[test]
fn vectors_are_read_and_written_whole() {
    let text = ptx("kernel k(a: *global f32x4, b: *global i32x2, c: *global f32x3, d: *global f64x2) {
        a[0] = a[1]; b[0] = b[1]; c[0] = c[1]; d[0] = d[1]; }");
    holds(&text, &["ld.global.v4.b32", "st.global.v4.b32", "ld.global.v2.b32", "st.global.v2.b32", "ld.global.v2.b64"]);
    // three lanes are 12 bytes aligned to 4
    holds(&text, &["+12]", "+16]", "+20]"]);
    lacks(&text, &[".local"]);
}

#[test]
fn indexing_follows_our_layout() {
    let text = ptx("
        struct Mixed { a: i8, b: i64, c: f32x3 }
        kernel k(m: *global Mixed, o: *global f32, i: i32) { o[0] = m[i].c.y; m[i].b = 3; m[2].a = 1; }");
    // 0, 8, 16 to 28, padded to 32; so `c.y` at 20
    holds(&text, &[", 32;", "+20]", "+8]", "+64]"]);
}

#[test]
fn variables_lie_in_their_spaces() {
    let source = "
        global var counter: u32 = 5;
        global var table: [i32; 4] = [1, 2, 3, 4];
        constant weights: [f32; 3] = [1.0, 2.0, 0.5];
        kernel k(o: *global f32, i: i32) {
            shared tile: [f32; 64];
            shared wide: [f64x2; 4];
            tile[i] = weights[i]; wide[i].x = 1.0;
            __syncthreads();
            o[i] = tile[63 - i] + wide[3 - i].x as f32;
            atomicAdd(&counter, 1);
            table[i] += 1;
        }";
    let text = ptx(source);
    holds(
        &text,
        &[
            ".global .align 4 .u32 counter$v = 5;",
            ".global .align 4 .b8 table$v[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4};",
            ".const .align 4 .b8 weights$v[12] = {0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 0, 63};",
            ".shared .align 16 .b8 k_tile$v[256];",
            ".shared .align 16 .b8 k_wide$v[64];",
            "ld.const.b32",
            "st.shared.b32",
            "ld.shared.b32",
            "atom.global.add.u32",
        ],
    );
    lacks(&text, &[".visible .global", ".visible .const", ".local"]);
}

#[test]
fn exported_variables_are_seen_and_not_folded() {
    let text = ptx("
        @export(\"scale\") constant scale: f32 = 2.0;
        @export(\"total\") global var total: i64 = 7;
        kernel k(o: *global f32, i: *global i64) { o[0] = scale; i[0] = total; }");
    holds(
        &text,
        &[".visible .const .align 4 .f32 scale", ".visible .global .align 8 .u64 total = 7;", "ld.const.b32", "ld.global.b64"],
    );
}

#[test]
fn dynamic_shared_memory_has_no_size() {
    let text = ptx("kernel k(o: *global f32) { shared dyn: [f32]; dyn[threadIdx.x] = 1.0; __syncthreads(); o[0] = dyn[3]; }");
    holds(&text, &[".extern .shared .align 16 .b8", "st.shared.b32", "ld.shared.b32"]);
}

#[test]
fn read_only_loads_are_non_coherent() {
    let text = ptx("kernel k(x: *global const f32, y: *global f32, v: *global const i32x4, o: *global i32x4) {
        y[0] = __ldg(&x[4]); o[0] = __ldg(&v[1]); }");
    holds(&text, &["ld.global.nc.b32", "ld.global.nc.v4.b32"]);
}

#[test]
fn bool_is_a_byte() {
    let text = ptx("kernel k(f: *global bool, o: *global i32, b: bool) { f[0] = o[0] > 3; if f[1] && b { o[1] = 1; } }");
    holds(&text, &["st.global.b8", "ld.global.b8", "ld.param.b8"]);
}

#[test]
fn aggregates_are_copied_by_value() {
    let source = "
        struct Body { pos: f32x4, vel: f32x3, id: i32 }
        fn moved(b: Body, t: f32) -> Body { var r = b; r.pos.x += t; r.vel.z = t; return r; }
        kernel k(b: *global Body, i: i32) {
            let old = b[i];
            b[i] = moved(old, 0.5);
            b[i + 1] = old;
        }";
    for level in [0, 1, 3] {
        let text = compile(source, &Setup::new("sm_90").level(level)).ptx;
        if level > 0 {
            lacks(&text, &[".local", ".func"]);
        }
    }
}

#[test]
fn arrays_of_locals_are_indexed_at_run_time() {
    let source = "kernel k(o: *global i32, i: i32) {
        let table: [i32; 24] = [5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8];
        var v: [i32; 4] = [0, 0, 0, 0];
        v[i & 3] = table[i];
        o[0] = v[0] + v[1]; o[1] = v[2]; }";
    for level in [0, 3] {
        compile(source, &Setup::new("sm_90").level(level));
    }
    // a table that nobody writes needs no copy in the frame
    lacks(
        &ptx(
            "kernel k(o: *global i32, i: i32) { let t: [i32; 20] = [5, 4, 3, 2, 1, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4]; o[0] = t[i]; }",
        ),
        &[".local"],
    );
}

#[test]
fn simple_kernels_need_no_frame() {
    let source = "
        struct Row { begin: i32, len: i32 }
        kernel saxpy(n: i32, a: f32, x: *global const f32, y: *global f32) {
            let i = (blockIdx.x * blockDim.x + threadIdx.x) as i32;
            if i < n { y[i] = a * x[i] + y[i]; }
        }
        kernel loops(x: *global f32, r: *global const Row, n: i32) {
            var sum = 0.0f32;
            for i in 0..n { let row = r[i]; for j in row.begin..row.begin + row.len { sum += x[j]; } }
            x[0] = sum;
        }";
    for level in [1, 2, 3] {
        lacks(&compile(source, &Setup::new("sm_90").level(level)).ptx, &[".local", "call"]);
    }
}
