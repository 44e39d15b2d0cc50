//! Programs and what nvcc made, in one cubin; nvcc needs no GPU.

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
