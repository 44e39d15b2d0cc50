//! Functions of CUDA that a program cannot call: those that device code has not though host code has them, and those that nobody has here.

use crate::builtins::{Cdp, RuntimeFn};

/// Why device code has not a call of the host's, what it does instead, and where CUDA's programming guide says so.
pub(super) fn on_the_device(call: RuntimeFn, cdp: Cdp) -> Option<(&'static str, &'static str)> {
    Some(match (call, cdp) {
        (RuntimeFn::EventElapsedTime, _) => {
            ("device events measure nothing; read `globaltimer()` or `clock64()`", "4.18.4.2.2")
        }
        (RuntimeFn::DeviceSetLimit, _) => ("limits are set by the host before it launches", "5.6.4.2.1"),
        (RuntimeFn::DeviceReset, _) => ("only the host gives a device back", "4.18.4.2.4"),
        (RuntimeFn::StreamCreate, _) => {
            ("device streams are made with `cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)`", "5.6.4.8")
        }
        (RuntimeFn::EventCreate, _) => {
            ("device events are made with `cudaEventCreateWithFlags(&e, cudaEventDisableTiming)`", "4.18.4.2.2")
        }
        (RuntimeFn::StreamQuery | RuntimeFn::EventQuery, Cdp::Cdp1) => {
            ("device code does not ask, it waits for all that its block has launched: `cudaDeviceSynchronize()`", "4.18.4.2.2")
        }
        (RuntimeFn::StreamQuery, Cdp::Cdp2) => (
            "device streams cannot be asked or waited for: order work with events, read results in a tail launch",
            "4.18.4.2.2",
        ),
        (RuntimeFn::EventQuery, Cdp::Cdp2) => {
            ("device events cannot be asked or waited for: order streams with `cudaStreamWaitEvent`", "4.18.4.2.2")
        }
        (RuntimeFn::Memcpy, _) => {
            ("there is no waiting copy: a thread copies at once with `memcpy`, a stream with `cudaMemcpyAsync`", "5.6.4.6")
        }
        (RuntimeFn::Memcpy2D, _) => ("there is no waiting copy; copy with `cudaMemcpy2DAsync`", "5.6.4.6"),
        (RuntimeFn::Memcpy3D, _) => ("there is no waiting copy; copy with `cudaMemcpy3DAsync`", "5.6.4.6"),
        (RuntimeFn::Memset, _) => {
            ("there is no waiting fill: a thread fills at once with `memset`, a stream with `cudaMemsetAsync`", "5.6.4.6")
        }
        (RuntimeFn::Memset2D, _) => ("there is no waiting fill; fill with `cudaMemset2DAsync`", "5.6.4.6"),
        (RuntimeFn::Memset3D, _) => ("there is no waiting fill; fill with `cudaMemset3DAsync`", "5.6.4.6"),
        (RuntimeFn::MallocPitch, _) => ("choose a pitch, and allocate rows times pitch with `cudaMalloc`", "5.6.4.6"),
        (RuntimeFn::MemGetInfo, _) => {
            ("ask for the size of the heap: `cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize)`", "5.6.4.6")
        }
        _ if call.is_about_textures() => (
            "make it on the host, and pass the texture or surface object to the kernel: it may go on to children",
            "5.6.4.2.2.1.2",
        ),
        _ => return None,
    })
}

/// Functions that are nowhere here, some of them of one meaning, and what to write instead.
const NOWHERE: &[(&[&str], &str)] = &[
    (
        &["cudaSetDevice", "cudaChooseDevice", "cudaInitDevice", "cudaSetDeviceFlags"],
        "leave it out: a program runs on one device, device code too; `--device gpu:N` chooses it",
    ),
    (
        &["cudaDeviceEnablePeerAccess", "cudaDeviceCanAccessPeer", "cudaMemcpyPeer", "cudaMemcpyPeerAsync"],
        "a program runs on one device, which has no peers",
    ),
    (&["cudaGetDeviceProperties"], "ask for one attribute at a time: `cudaDeviceGetAttribute`"),
    (&["cudaDriverGetVersion"], "`cudaRuntimeGetVersion` gives the runtime's; `cdpc doctor` shows the driver"),
    (
        &["cudaDeviceSetCacheConfig", "cudaFuncSetCacheConfig", "cudaDeviceSetSharedMemConfig", "cudaFuncSetSharedMemConfig"],
        "leave it out: the driver chooses the configuration",
    ),
    (
        &["cudaFuncSetAttribute"],
        "leave it out: a launch may ask for all the dynamic shared memory that the device has, `kernel<<<grid, block, bytes>>>(…)`",
    ),
    (
        &["cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC"],
        "launch with `kernel<<<grid, block>>>(…)`; clusters are the kernel's: `@cluster(2)`",
    ),
    (
        &["cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernelMultiDevice"],
        "blocks of a grid cannot wait for each other, unless they are of one cluster; go on in a second kernel",
    ),
    (
        &["cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"],
        "a grid starts when the one before it in its stream is over",
    ),
    (
        &[
            "cudaGraphLaunch",
            "cudaGraphCreate",
            "cudaGraphInstantiate",
            "cudaGraphAddKernelNode",
            "cudaStreamBeginCapture",
            "cudaStreamEndCapture",
            "cudaGetCurrentGraphExec",
        ],
        "there are no graphs, which cannot be mixed with launches by kernels; order work with streams and events",
    ),
    (
        &["cudaLaunchHostFunc", "cudaStreamAddCallback"],
        "wait with `cudaStreamSynchronize`, or ask with `cudaStreamQuery`, and go on in host code",
    ),
    (
        &["cudaStreamCreateWithPriority", "cudaStreamGetPriority", "cudaDeviceGetStreamPriorityRange"],
        "all streams have one priority: `cudaStreamCreateWithFlags`",
    ),
    (
        &["cudaMallocManaged"],
        "host code reads and writes all memory of the device through its `*global` pointers: `let x = device(f32, n);`",
    ),
    (
        &[
            "cudaMallocHost",
            "cudaHostAlloc",
            "cudaFreeHost",
            "cudaHostRegister",
            "cudaHostUnregister",
            "cudaHostGetDevicePointer",
        ],
        "host code reads and writes memory of the device itself, `let x = device(f32, n);`, and copies its own variables, \
         `var x: [f32; 64];`, with `cudaMemcpy`",
    ),
    (&["cudaMallocAsync", "cudaFreeAsync", "cudaMallocFromPoolAsync"], "allocate with `cudaMalloc`, give back with `cudaFree`"),
    (&["cudaMalloc3D"], "allocate with `cudaMallocPitch`, height times depth rows, and describe it: `make_cudaPitchedPtr`"),
    (
        &["cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"],
        "host code writes a `global var` by its name: `v = 1;`; what a `constant` is stands in the source",
    ),
    (
        &["cudaMemcpyFromSymbol", "cudaMemcpyFromSymbolAsync"],
        "host code reads a `global var` or a `constant` by its name: `let x = v;`",
    ),
    (&["cudaGetSymbolAddress"], "take the address of the `global var`: `&v`"),
    (&["cudaGetSymbolSize"], "the size is that of the variable's type: `sizeof(T)`"),
    (&["cudaPointerGetAttributes"], "a pointer's type says which memory it points to: `*global f32`"),
    (&["cudaMemPrefetchAsync", "cudaMemAdvise"], "leave it out: all memory is the device's"),
    (
        &["cudaOccupancyMaxPotentialBlockSizeVariableSMem"],
        "`cudaOccupancyMaxPotentialBlockSize` takes one size of shared memory",
    ),
    (&["cudaThreadSynchronize"], "it is called `cudaDeviceSynchronize`"),
    (&["cudaThreadExit"], "it is called `cudaDeviceReset`"),
    (&["cudaProfilerStart", "cudaProfilerStop"], "leave it out: `cdpc bench` measures a whole program"),
    (&["__shfl"], "the lanes that take part are named: `__shfl_sync(0xffffffff, v, lane)`"),
    (&["__shfl_up"], "the lanes that take part are named: `__shfl_up_sync(0xffffffff, v, delta)`"),
    (&["__shfl_down"], "the lanes that take part are named: `__shfl_down_sync(0xffffffff, v, delta)`"),
    (&["__shfl_xor"], "the lanes that take part are named: `__shfl_xor_sync(0xffffffff, v, mask)`"),
    (&["__any"], "the lanes that take part are named: `__any_sync(0xffffffff, p)`"),
    (&["__all"], "the lanes that take part are named: `__all_sync(0xffffffff, p)`"),
    (&["__ballot"], "the lanes that take part are named: `__ballot_sync(0xffffffff, p)`"),
    (&["__brkpt"], "`__trap()` ends the kernel; `assert(c)` says where"),
    (&["__prof_trigger"], "leave it out"),
    (&["alloca"], "declare an array: `var room: [f32; 16];`; where its length is known at run time only, `malloc`"),
    (&["__builtin_expect", "__builtin_assume_aligned"], "`__builtin_assume(c)` says what holds"),
    (
        &["remquo", "remquof"],
        "`remainder(x, y)` is what is left; the quotient is `rint((x - remainder(x, y)) / y)` where it is small enough to be exact",
    ),
    (
        &["__isConstant"],
        "a pointer's type says it: `*constant T`; of generic ones `__isGlobal` is true of constant memory, too",
    ),
    (&["__isGridConstant"], "parameters are values; no pointer to one can be had"),
    (
        &["__cvta_generic_to_shared", "__cvta_generic_to_global", "__cvta_generic_to_local", "__cvta_generic_to_constant"],
        "convert the pointer: `p as *shared T`",
    ),
    (
        &["__cvta_shared_to_generic", "__cvta_global_to_generic", "__cvta_local_to_generic", "__cvta_constant_to_generic"],
        "a pointer becomes a generic one by itself",
    ),
    (
        &["__pipeline_memcpy_async", "__pipeline_commit", "__pipeline_wait_prior"],
        "copy element by element, and wait with `__syncthreads()`",
    ),
];

/// What to write instead of a function of CUDA that nobody has here.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    NOWHERE.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
}

#[cfg(test)]
mod tests {
    use super::NOWHERE;
    use crate::sema::builtin::is_function;

    #[test]
    fn nothing_is_missing_that_is_there() {
        let mut known = std::collections::HashSet::new();
        for name in NOWHERE.iter().flat_map(|(names, _)| *names) {
            assert!(!is_function(name), "{name} is there");
            assert!(known.insert(name), "{name} is listed twice");
        }
    }
}
