//! Programs and what nvcc made, in one cubin; nvcc needs no GPU.
#![allow(clippy::panic, reason = "a test that cannot go on fails")]

use crate::common::Place;

/// What a program uses of another compiler, and what that uses of the program.
const THEIRS: &str = r#"
extern "C" __global__ void ours(float *x, int n);
extern "C" __device__ int twice(int v);
extern "C" { __device__ int counter = 7; __constant__ float table[4] = { 1, 2, 3, 4 }; }
extern "C" __global__ void theirs(float *x, char c, double d) { x[0] = c + d; }
extern "C" __device__ int plus(int a, int b) { return a + b; }
extern "C" __global__ void starts(float *x, int n) { ours<<<1, 32>>>(x, n); x[1] = twice(n); }
"#;

const OURS: &str = "\
extern kernel theirs(x: *global f32, c: i8, d: f64);
extern fn plus(a: i32, b: i32) -> i32;
extern global var counter: i32;
extern constant table: [f32; 4];
@export fn twice(n: i32) -> i32 { return n * 2; }
kernel ours(x: *global f32, n: i32) {
    x[threadIdx.x] = plus(n, counter) as f32 + table[1];
    if threadIdx.x == 0 { theirs<<<1, 1>>>(x, 2, 0.5); }
}
";

fn place() -> Place {
    let place = Place::new();
    place.write("k.cu", THEIRS).write("a.cdp", OURS);
    place.nvcc("-arch=sm_90 -dc k.cu -o k.o");
    place
}

#[test]
fn declarations_find_what_an_object_defines() {
    let place = place();
    place.run_with_toolkit("build a.cdp k.o -o a.cubin").succeeds();
    assert!(place.exists("a.cubin"));
    // the foreign kernel is compared, too
    place.run_with_toolkit("layout k.o a.cdp").succeeds().prints(&[
        "kernel theirs: 24 bytes",
        "d: f64          16 +8",
        "the same for every",
    ]);
    place.run_with_toolkit("layout --format json a.cdp k.o").succeeds().prints(&["\"external\": true"]);
    place.run_with_toolkit("inspect a.cdp k.o").succeeds().prints(&["launches `theirs`"]);
    place.run_with_toolkit("build a.cdp k.o --emit=dep-info,cubin -o out").succeeds();
    assert!(std::fs::read_to_string(place.path("out.d")).unwrap().starts_with("out.cubin: a.cdp k.o\n"));
}

#[test]
fn without_the_object_each_declaration_is_named() {
    let place = place();
    let ran = place.run_with_toolkit("build a.cdp");
    ran.fails(
        1,
        &["a.cdp:1:15", "`theirs`", "a.cdp:2:11", "`plus`", "`counter`", "`table`", "needed here", "cdpc build a.cdp object.o"],
    );
    assert_eq!(place.files(), ["a.cdp", "k.cu", "k.o"]);
}

#[test]
fn names_of_cpp_are_told() {
    let place = Place::new();
    place.write("m.cu", "__device__ int plus(int a, int b) { return a + b; }");
    place.write("a.cdp", "extern fn plus(a: i32, b: i32) -> i32;\nkernel k(x: *global i32) { x[0] = plus(1, 2); }\n");
    place.nvcc("-arch=sm_90 -dc m.cu -o m.o");
    place
        .run_with_toolkit("build a.cdp m.o")
        .fails(1, &["E0625", "a.cdp:1:11", "`m.o` defines `_Z4plusii`", "`@export(\"_Z4plusii\")`"]);
    place.write(
        "b.cdp",
        "@export(\"_Z4plusii\")\nextern fn plus(a: i32, b: i32) -> i32;\nkernel k(x: *global i32) { x[0] = plus(1, 2); }\n",
    );
    place.run_with_toolkit("build b.cdp m.o").succeeds();
}

#[test]
fn wrong_declarations_are_located() {
    let place = place();
    place.write("kernel.cdp", OURS.replace("c: i8", "c: i32"));
    place
        .run_with_toolkit("build kernel.cdp k.o")
        .fails(1, &["E0634", "kernel.cdp:1:15", "c: i32: declared 4 bytes at 8, defined 1 bytes at 8"]);
    place.write("variable.cdp", OURS.replace("[f32; 4]", "[f32; 8]"));
    let ran = place.run_with_toolkit("build variable.cdp k.o");
    ran.fails(1, &["E0634", "variable.cdp:4:17", "32 bytes in the declaration and 16 in `k.o`"]);
    assert!(!ran.err.contains("@E@"), "{}", ran.err);
    // host code alone launches it, so that no device code names it
    place.write("absent.cdp", "extern kernel absent(x: *global i32);\nhost fn main() { absent<<<1, 1>>>(null); }\n");
    place.write("other.cu", "extern \"C\" __global__ void other(int *x) { x[0] = 1; }");
    place.nvcc("-arch=sm_90 -dc other.cu -o other.o");
    place
        .run_with_toolkit("build absent.cdp other.o")
        .fails(1, &["E0634", "absent.cdp:1:15", "no input defines such a kernel"]);
    place.write("unused.cdp", "extern kernel absent(x: *global i32);\nkernel k() {}\n");
    place.run_with_toolkit("build unused.cdp").succeeds();
}

/// Up to the GPU: code that counts its output has no host code any more.
#[test]
fn what_only_host_code_uses_is_linked_for_a_gpu_too() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "extern kernel theirs(x: *global i32);\nextern global var calls: u32;\n\
         test \"t\" { theirs<<<1, 1>>>(device(i32, 1)); assert(calls == 1); }\n",
    );
    place.write("k.cu", "extern \"C\" { __device__ unsigned long long calls; __global__ void theirs(short *x) { *x = 1; } }");
    place.nvcc("-arch=sm_90 -dc k.cu -o k.o");
    let worker = "worker --device=gpu:0 --arch=sm_90 --token=t --test=t a.cdp k.o";
    place.run_with_toolkit(worker).fails(1, &["E0634", "a.cdp:2:19", "4 bytes in the declaration and 8 in `k.o`"]);
    place.write("other.cu", "extern \"C\" { __device__ unsigned calls; __global__ void other(int *x) { *x = 1; } }");
    place.nvcc("-arch=sm_90 -dc other.cu -o k.o");
    place.run_with_toolkit(worker).fails(1, &["E0634", "a.cdp:1:15", "no input defines such a kernel"]);
}

#[test]
fn definitions_that_clash_are_located() {
    let place = place();
    place.write(
        "two.cdp",
        OURS.replace("extern fn plus(a: i32, b: i32) -> i32;", "@export fn plus(a: i32, b: i32) -> i32 { return a; }"),
    );
    place.run_with_toolkit("build two.cdp k.o").fails(1, &["E0632", "two.cdp:2:12", "`plus` is defined here and in `k.o`"]);
    place.write("p.cu", "extern \"C\" __device__ int plus(int a, int b) { return a; }");
    place.nvcc("-arch=sm_90 -dc p.cu -o p.o");
    place.run_with_toolkit("build a.cdp k.o p.o").fails(1, &["E0632", "a.cdp:2:11", "`plus` is defined in `k.o` and `p.o`"]);
}

#[test]
fn what_cannot_be_linked_says_so() {
    let place = place();
    place.nvcc("-gencode arch=compute_80,code=sm_80 -dc k.cu -o old.o");
    place.run_with_toolkit("build a.cdp old.o").fails(1, &["E0633", "`old.o` has no code for sm_90", "machine code for sm_80"]);
    place.write("bad.o", "nothing").write("whole.cu", "__global__ void k() {} int main() { k<<<1, 1>>>(); }");
    place.run_with_toolkit("build a.cdp bad.o").fails(1, &["E0637", "`bad.o` cannot be linked"]);
    place.nvcc("-arch=sm_90 -c whole.cu -o whole.o");
    place.run_with_toolkit("build a.cdp whole.o").fails(1, &["E0637", "nvcc -dc"]);
    place.run_with_toolkit("build a.cdp gone.o").fails(2, &["gone.o"]);
    place.run("build a.cdp k.o --emit=ptx").fails(2, &["nothing is linked here"]);
    place.run("build a.cdp a.cdp").fails(2, &["one source too many", "cdpc build -c"]);
}

#[test]
fn the_reference_executor_says_that_it_cannot_run_them() {
    let place = place();
    place.write("t.cdp", format!("{OURS}test \"t\" {{ ours<<<1, 32>>>(device(f32, 32), 1); cudaDeviceSynchronize(); }}\n"));
    place.run("test --device cpu t.cdp k.o").fails(1, &["E0735", "runs on a GPU only"]);
}

#[test]
fn the_example_builds_every_way() {
    let place = Place::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/interop");
    let nvcc = crate::common::toolkit().map_or_else(|| "nvcc".into(), |folder| folder.join("bin/nvcc"));
    let mut build = std::process::Command::new(folder.join("build.sh"));
    build.arg(env!("CARGO_BIN_EXE_cdpc")).arg(nvcc).arg("sm_90").arg(place.path("out"));
    build.envs(crate::common::toolkit().map(|folder| ("CDPC_CUDA", folder)));
    crate::common::finish(build.output().unwrap_or_else(|error| panic!("{error}"))).succeeds();
    for name in ["out/interop", "out/dlink.cubin", "out/all.cubin"] {
        assert!(place.exists(name), "{name}");
    }
    let layout = std::fs::read_to_string(place.path("out/layout.txt")).unwrap_or_default();
    for part in
        ["kernel theirs_fill: 24 bytes", "launch of theirs_fill in ours_parent", "the same for every kernel and launch site"]
    {
        assert!(layout.contains(part), "`{part}` in {layout}");
    }
}

#[test]
fn programs_that_are_compiled_by_themselves_link_together() {
    let place = Place::new();
    // both fill memory, with a kernel that each brings along
    place.write(
        "a.cdp",
        "extern kernel child(x: *global i32, n: i64);\nextern fn triple(v: i32) -> i32;\n\
         kernel parent(x: *global i32, n: i64, v: i32) { child<<<1, 1>>>(x, n); x[1] = triple(v); cudaMemsetAsync(x, v, 4, 0); }\n",
    );
    place.write(
        "b.cdp",
        "kernel child(x: *global i32, n: i64) { x[0] = n as i32; cudaMemsetAsync(x, x[0], 4, 0); }\n\
         @export fn triple(v: i32) -> i32 { return 3 * v; }\n",
    );
    place.run_with_toolkit("build -c b.cdp").succeeds();
    place.run_with_toolkit("build --emit=rdc b.cdp").succeeds();
    assert_eq!(place.files(), ["a.cdp", "b.cdp", "b.o", "b.rdc.cubin"]);
    for object in ["b.o", "b.rdc.cubin"] {
        let ran = place.run_with_toolkit(&format!("layout a.cdp {object}"));
        ran.succeeds().prints(&["kernel child: 16 bytes", "n: i64          8 +8", "launch of child in parent"]);
        assert_eq!(ran.err, "");
    }
    // PTX in the object serves a later GPU
    place.run_with_toolkit("build --arch=sm_100 a.cdp b.o -o later.cubin").succeeds();
    place.run_with_toolkit("build -c a.cdp -o a.o").succeeds();
    place.write(
        "main.cu",
        "extern \"C\" __global__ void parent(int *, long long, int);\nint main() { parent<<<1, 1>>>(0, 1, 2); }",
    );
    place.nvcc(&format!("-arch=sm_90 -rdc=true main.cu a.o b.o {} -lcudadevrt -o main", crate::common::libraries()));
    place.run_with_toolkit("build -c a.cdp -o again.o").succeeds();
    assert_eq!(std::fs::read(place.path("a.o")).ok(), std::fs::read(place.path("again.o")).ok());
}

#[test]
fn an_object_passes_every_type_on() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "struct Inner { a: i8, b: f64 }\nstruct Key { @align(16) bits: u64, inner: [Inner; 2], v: f32x3, own: *global Key }\nenum Mode: u8 { A, B = 5 }\n\
         constant table: [i32; 3] = [1, 2, 3];\n@export global var count: u64 = 0;\n\
         kernel int(a: bool, b: i8, c: u16, d: f16, e: bf16, f: f32x2, g: f32x3, h: f64x4, i: Key, j: Mode, k: [u8; 5], l: cudaError_t, m: *global void, n: cudaTextureObject_t, o: dim3) { count = table[0] as u64; }\n\
         kernel none() {}\n",
    );
    place.run_with_toolkit("build -c a.cdp").succeeds();
}

#[test]
fn what_an_object_needs_is_named() {
    let place = place();
    let mut command = place.command("build -c a.cdp");
    command.env("CC", "no-such-compiler").envs(crate::common::toolkit().map(|folder| ("CDPC_CUDA", folder)));
    let output = command.output().unwrap_or_else(|error| panic!("{error}"));
    crate::common::finish(output).fails(2, &["E0638", "`no-such-compiler`", "--emit=rdc"]);
    place.run("build -c a.cdp --cuda /nonexistent").fails(2, &["E0621", "/nonexistent"]);
    place.run("build -c a.cdp k.o").fails(2, &["nothing is linked here"]);
    place.run("build -c a.cdp --emit=ptx").fails(2, &["cannot be used with"]);
    assert_eq!(place.files(), ["a.cdp", "k.cu", "k.o"]);
}

#[test]
fn the_two_dynamic_parallelisms_are_not_mixed() {
    let place = Place::new();
    place.write("a.cdp", "kernel child() {}\nkernel parent() { child<<<1, 1>>>(); }\n");
    let old = |arch| {
        format!(
            ".version 8.0\n.target {arch}\n.address_size 64\n.extern .func (.param .b32 r) cudaGetLastError();\n\
             .visible .entry old() {{ .reg .b32 %r; {{ .param .b32 r; call (r), cudaGetLastError; ld.param.b32 %r, [r]; }} ret; }}\n"
        )
    };
    place.write("old80.ptx", old("sm_80")).write("old90.ptx", old("sm_90"));
    let ran = place.run_with_toolkit("build --arch=sm_80 a.cdp old80.ptx");
    ran.fails(
        1,
        &["E0635", "`old80.ptx` is compiled for CDP1 and `a.cdp` for CDP2", "`cudaGetLastError`", "__cudaCDP2", "812"],
    );
    assert!(!place.exists("a.cubin"));
    // there the plain names are CDP2's
    place.run_with_toolkit("build --arch=sm_90 a.cdp old90.ptx").succeeds();
}
