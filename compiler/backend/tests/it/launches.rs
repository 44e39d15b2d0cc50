//! Device-side launches in PTX (CUDA programming guide 4.18.6).

use crate::support::{Setup, compile, holds, lacks, link};
use cdp_core::pass::LaunchAbi;

const PARENT: &str = "
    kernel child(a: i8, x: *global i32, b: f32x4) { x[0] = a as i32 + b.x as i32; }
    kernel parent(x: *global i32, n: u32) {
        var s: cudaStream_t;
        if cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) != cudaSuccess { return; }
        let t = if n > 7 { s } else { cudaStreamTailLaunch };
        let e = child<<<n, dim3(8, 4, 1), 256, t>>>(1, x, f32x4(1.0, 2.0, 3.0, 4.0));
        if e != cudaSuccess { x[1] = e as i32; }
    }
    kernel quiet(x: *global i32) { child<<<1, 32>>>(2, x, f32x4(1.0, 2.0, 3.0, 4.0)); }";

#[test]
fn both_interfaces_are_declared_as_the_guide_does() {
    let mut setup = Setup::new("sm_90");
    let text = compile(PARENT, &setup).ptx;
    let v1 = [
        ".extern .func  (.param .b64 func_retval0) __cudaCDP2GetParameterBuffer\n(\n\t.param .b64 __cudaCDP2GetParameterBuffer_param_0,\n\t.param .b64 __cudaCDP2GetParameterBuffer_param_1\n)",
        ".extern .func  (.param .b32 func_retval0) __cudaCDP2LaunchDevice\n(\n\t.param .b64 __cudaCDP2LaunchDevice_param_0,\n\t.param .b64 __cudaCDP2LaunchDevice_param_1,\n\t.param .align 4 .b8 __cudaCDP2LaunchDevice_param_2[12],\n\t.param .align 4 .b8 __cudaCDP2LaunchDevice_param_3[12],\n\t.param .b32 __cudaCDP2LaunchDevice_param_4,\n\t.param .b64 __cudaCDP2LaunchDevice_param_5\n)",
    ];
    let v2 = [
        ".extern .func  (.param .b64 func_retval0) __cudaCDP2GetParameterBufferV2\n(\n\t.param .b64 __cudaCDP2GetParameterBufferV2_param_0,\n\t.param .align 4 .b8 __cudaCDP2GetParameterBufferV2_param_1[12],\n\t.param .align 4 .b8 __cudaCDP2GetParameterBufferV2_param_2[12],\n\t.param .b32 __cudaCDP2GetParameterBufferV2_param_3\n)",
        ".extern .func  (.param .b32 func_retval0) __cudaCDP2LaunchDeviceV2\n(\n\t.param .b64 __cudaCDP2LaunchDeviceV2_param_0,\n\t.param .b64 __cudaCDP2LaunchDeviceV2_param_1\n)",
    ];
    holds(&text, &v1);
    holds(&text, &v2);
    setup.abi = LaunchAbi::V2;
    let text = compile(PARENT, &setup).ptx;
    holds(&text, &v2);
    lacks(&text, &["__cudaCDP2LaunchDevice\n"]);
}

/// R31: each argument at its offset, no padding at the end.
#[test]
fn arguments_lie_at_the_childs_offsets() {
    let text = compile(PARENT, &Setup::new("sm_90")).ptx;
    let parent = text.split(".entry parent(").nth(1).unwrap();
    let stores: Vec<&str> =
        parent.lines().map(str::trim).filter(|line| line.starts_with("st.") && !line.contains("param")).collect();
    assert!(stores.iter().any(|s| s.starts_with("st.b8") && s.contains("], 1")), "{stores:?}");
    assert!(stores.iter().any(|s| s.starts_with("st.b64") && s.contains("+8]")), "{stores:?}");
    assert!(stores.iter().any(|s| s.starts_with("st.v4.b32") && s.contains("+16]")), "{stores:?}");
}

#[test]
fn launches_link_for_every_gpu_and_level() {
    for (arch, level) in [("sm_75", 0), ("sm_80", 3), ("sm_90", 0), ("sm_90", 3), ("sm_100", 3), ("sm_120", 1)] {
        let output = compile(PARENT, &Setup::new(arch).level(level));
        assert!(output.needs_device_runtime);
        assert!(output.ptx.contains("\n// link with libcudadevrt\n"));
        link(&output.ptx, arch);
    }
}

/// C4: no need of the library when no launch can run.
#[test]
fn dead_launches_need_no_device_runtime() {
    let source = "
        const LAUNCH: bool = false;
        kernel child(x: *global i32) { x[0] = 1; }
        kernel parent(x: *global i32) { if LAUNCH { child<<<1, 1>>>(x); } x[1] = 2; }";
    for level in [0, 3] {
        let output = compile(source, &Setup::new("sm_90").level(level));
        assert!(!output.needs_device_runtime);
        lacks(&output.ptx, &["cudadevrt", "__cudaCDP2"]);
    }
}

#[test]
fn the_runtimes_calls_are_declared() {
    let source = "
        kernel child(x: *global i32) { x[0] = 1; }
        kernel parent(x: *global i32) {
            var s: cudaStream_t; var e: cudaEvent_t; var n: i32;
            var err = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            err = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
            err = cudaEventRecord(e, s); err = cudaStreamWaitEvent(s, e, 0);
            err = cudaGetDevice(&n); x[2] = n;
            var p: *global i32;
            err = cudaMalloc(&p, 64);
            err = cudaMemcpyAsync(p, x, 16, cudaMemcpyDeviceToDevice, s);
            err = cudaFree(p); err = cudaEventDestroy(e); err = cudaStreamDestroy(s);
            child<<<1, 1, 0, s>>>(x);
            if cudaGetLastError() != cudaSuccess { printf(\"%s\\n\", cudaGetErrorString(err)); }
        }";
    for level in [0, 3] {
        let output = compile(source, &Setup::new("sm_90").level(level));
        link(&output.ptx, "sm_90");
        holds(&output.ptx, &["__cudaCDP2Malloc", "__cudaCDP2MemcpyAsync", "__cudaCDP2EventRecord", "__cudaCDP2GetErrorString"]);
    }
}

#[test]
fn the_heap_is_the_drivers() {
    let output = compile(
        "kernel k(o: *global i32) { let p = malloc(16) as *global i32; if p as u64 != 0 { p[0] = 1; o[0] = p[0]; free(p); } }",
        &Setup::new("sm_90"),
    );
    assert!(!output.needs_device_runtime);
}

#[test]
fn recursive_launches_name_their_own_kernel() {
    let output = compile(
        "kernel again(x: *global i32, depth: i32) { x[depth] = 1; if depth < 5 { again<<<1, 1, 0, cudaStreamTailLaunch>>>(x, depth + 1); } }",
        &Setup::new("sm_90"),
    );
    link(&output.ptx, "sm_90");
}
