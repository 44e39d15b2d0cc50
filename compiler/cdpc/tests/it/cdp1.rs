//! `--cdp=1`; nvcc with `-DCUDA_FORCE_CDP1_IF_SUPPORTED` is the oracle, and needs no GPU.
#![allow(clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;

use crate::common::{Place, libraries};

const OURS: &str = "\
extern kernel theirs(x: *global i32);
kernel child(x: *global i32, y: i64, c: i8) { x[0] = y as i32 + c as i32; }
kernel parent(x: *global i32) {
    var s: cudaStream_t;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    child<<<2, 32, 16, s>>>(x, 5, 97);
    if cudaDeviceSynchronize() == cudaSuccess { theirs<<<1, 1>>>(x); }
    x[1] = cudaGetLastError() as i32;
    cudaStreamDestroy(s);
}
";

const THEIRS: &str = r#"
__global__ void child(int *x, long long y, char c) { x[0] = (int)y + c; }
extern "C" __global__ void theirs(int *x) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    child<<<2, 32, 16, s>>>(x, 5, 'a');
#ifdef CUDA_FORCE_CDP1_IF_SUPPORTED
    cudaDeviceSynchronize();
#endif
    x[1] = cudaGetLastError();
    cudaStreamDestroy(s);
}
"#;

const OLD: &str = "-DCUDA_FORCE_CDP1_IF_SUPPORTED -D__CDPRT_SUPPRESS_SYNC_DEPRECATION_WARNING";

fn place() -> Place {
    let place = Place::new();
    place.write("a.cdp", OURS).write("k.cu", THEIRS);
    place
}

/// What a PTX declares of others: name, result and parameters, without blanks and the names of results.
fn declared(ptx: &str) -> Vec<String> {
    let mut list: Vec<String> = ptx
        .split(".extern .func")
        .skip(1)
        .filter_map(|rest| rest.split(';').next())
        .map(|text| {
            text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")").replace(") (", ")(")
        })
        .map(|text| text.replace(" (", "("))
        .collect();
    list.sort();
    list
}

#[test]
fn the_calls_are_those_of_nvcc() {
    let place = place();
    place.nvcc(&format!("-arch=sm_80 -rdc=true {OLD} -ptx k.cu -o k.ptx"));
    place.run_with_toolkit("build --cdp=1 --arch=sm_80 --launch-abi=v2 --emit=ptx a.cdp -o a.ptx").succeeds();
    let text = |name: &str| std::fs::read_to_string(place.path(name)).unwrap_or_else(|error| panic!("{error}"));
    let (ours, theirs) = (declared(&text("a.ptx")), declared(&text("k.ptx")));
    assert!(theirs.iter().any(|one| one.contains("cudaLaunchDeviceV2")), "{theirs:?}");
    for one in &theirs {
        assert!(ours.contains(one), "nvcc declares\n{one}\nand we\n{}", ours.join("\n"));
    }
    assert!(!text("a.ptx").contains("__cudaCDP2"));
}

#[test]
fn objects_of_nvcc_are_of_the_same_version() {
    let place = place();
    place.nvcc(&format!("-arch=sm_80 -dc {OLD} k.cu -o old.o"));
    place.nvcc("-arch=sm_80 -dc k.cu -o new.o");
    place.run_with_toolkit("build --cdp=1 a.cdp old.o -o a.cubin").succeeds();
    assert!(place.exists("a.cubin"));
    let mixed = place.run_with_toolkit("build --cdp=1 a.cdp new.o -o b.cubin");
    mixed.fails(1, &["E0635", "`a.cdp` is compiled for CDP1 and `new.o` for CDP2", "`--cdp=1`"]);
    place.write("waits.cdp", OURS).write(
        "tails.cdp",
        "extern kernel theirs(x: *global i32);\nkernel parent(x: *global i32) { theirs<<<1, 1, 0, cudaStreamTailLaunch>>>(x); }\n",
    );
    let mixed = place.run_with_toolkit("build --arch=sm_80 tails.cdp old.o -o b.cubin");
    mixed.fails(1, &["E0635", "`old.o` is compiled for CDP1 and `tails.cdp` for CDP2"]);
    assert!(!place.exists("b.cubin"));
}

#[test]
fn objects_are_linked_with_those_of_their_version() {
    let place = place();
    place.write("k.cdp", "@export kernel theirs(x: *global i32) { x[2] = 1; cudaDeviceSynchronize(); }\n");
    for file in ["a", "k"] {
        place.run_with_toolkit(&format!("build -c --cdp=1 --arch=sm_86 {file}.cdp -o {file}.o")).succeeds();
    }
    place.run_with_toolkit("build --cdp=1 --arch=sm_86 a.cdp k.o -o a.cubin").succeeds();
    assert!(place.exists("a.cubin"));
    // nvcc takes them, with its own
    place.nvcc(&format!("-arch=sm_86 -dc {OLD} k.cu -o old.o"));
    place.nvcc(&format!("-arch=sm_86 -dlink a.o old.o -o linked.o {} -lcudadevrt", libraries()));
    place.write("n.cdp", "kernel other() {}\n@export kernel theirs(x: *global i32) { other<<<1, 1>>>(); }\n");
    place.run_with_toolkit("build -c --arch=sm_86 n.cdp -o n.o").succeeds();
    place.run_with_toolkit("build --cdp=1 --arch=sm_86 a.cdp n.o -o c.cubin").fails(1, &["E0635", "CDP1", "CDP2"]);
    assert!(!place.exists("c.cubin"));
}

#[test]
fn architectures_and_toolkits() {
    const ALONE: &str = "kernel child() {}\nkernel parent() { child<<<1, 1>>>(); cudaDeviceSynchronize(); }\n";
    let place = Place::new();
    place.write("a.cdp", ALONE);
    for arch in ["sm_75", "sm_86", "sm_89"] {
        place.run_with_toolkit(&format!("build --cdp=1 --arch={arch} a.cdp -o {arch}.cubin")).succeeds();
    }
    place.run_with_toolkit("build --cdp=1 --arch=sm_90 a.cdp").fails(2, &["E0636", "sm_90 has no CDP1", "--device cpu"]);
    place.run_with_toolkit("build a.cdp").fails(1, &["E0405", "--cdp=1"]);
    place.run_with_toolkit("build --cdp=1 --launch-merging=on a.cdp").fails(2, &["--launch-merging", "tail"]);
    place.run_with_toolkit("bench --cdp=1 --tune a.cdp").fails(2, &["`cdpc bench --tune` does not go with `--cdp=1`"]);
    // of what is too old for CUDA 13 there is PTX, and a cubin with a toolkit of CUDA 12
    place.run_with_toolkit("build --cdp=1 --arch=sm_72 --emit=ptx a.cdp -o a.ptx").succeeds();
    place.run_with_toolkit("build --cdp=1 --arch=sm_70 a.cdp").fails(2, &["E0622", "CUDA 12", "make setup-cuda12"]);
    let cuda12 = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cuda/cu12");
    assert!(cuda12.is_dir(), "{} is missing: run `scripts/setup.sh tests`", cuda12.display());
    for (number, options) in ["--cdp=1 --arch=sm_70", "--cdp=1 --arch=sm_80"].into_iter().enumerate() {
        let line = format!("build {options} a.cdp -o {number}.cubin --cuda {}", cuda12.display());
        place.run(&line).succeeds();
        assert!(place.exists(&format!("{number}.cubin")));
    }
}

#[test]
fn the_reference_executor_waits() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "kernel child(x: *global i32) { x[0] = 7; }\n\
         kernel parent(x: *global i32) { child<<<1, 1>>>(x); cudaDeviceSynchronize(); x[1] = x[0] + 1; }\n\
         test \"waits\" { let x = device(i32, 2); parent<<<1, 1>>>(x); cudaDeviceSynchronize(); assert(x[1] == 8); }\n\
         host fn main() { let x = device(i32, 2); parent<<<1, 1>>>(x); cudaDeviceSynchronize(); printf(\"%d\\n\", x[1]); }\n",
    );
    place.run("run --cdp=1 --device cpu a.cdp").succeeds().prints(&["8"]);
    place.run("test --cdp=1 --device cpu --schedules=20 a.cdp").succeeds();
    place.run("run --device cpu a.cdp").fails(1, &["E0405"]);
}
