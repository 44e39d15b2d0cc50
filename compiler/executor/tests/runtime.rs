//! Calls of the CUDA runtime, on both sides.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::trace::Stream;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options};
use support::printed;

/// A body that runs in a kernel of one thread and again in host code, on a buffer `x` of 64 bytes each time.
fn both(body: &str, expected: &str) {
    let device = format!(
        "kernel empty() {{ }}\nkernel k(x: *global u8) {{\n{body}\n}}\nkernel show(x: *global u8) {{ for i in 0..64 {{ printf(\"%x\", x[i]); }} printf(\"\\n\"); }}\nhost fn main() {{ let x = device(u8, 64); for i in 0..64 {{ x[i] = (i % 16) as u8; }} k<<<1, 1>>>(x); show<<<1, 1>>>(x); cudaDeviceSynchronize(); }}\n"
    );
    assert_eq!(printed(&device), format!("{expected}\n"), "on the device");
    let host = format!(
        "kernel empty() {{ }}\nhost fn main() {{ let x = device(u8, 64); for i in 0..64 {{ x[i] = (i % 16) as u8; }}\n{body}\ncudaDeviceSynchronize(); for i in 0..64 {{ printf(\"%x\", x[i]); }} printf(\"\\n\"); }}\n"
    );
    assert_eq!(printed(&host), format!("{expected}\n"), "on the host");
}

#[test]
fn fills_and_copies() {
    both(
        "let e = cudaMemsetAsync(x + 4, 0x10a, 8, 0);\nif e != cudaSuccess { printf(\"%d\", e as i32); }",
        "0123aaaaaaaacdef0123456789abcdef0123456789abcdef0123456789abcdef",
    );
    both(
        "let e = cudaMemset2DAsync(x, 16, 0, 2, 3, 0);\nif e != cudaSuccess { printf(\"%d\", e as i32); }",
        "0023456789abcdef0023456789abcdef0023456789abcdef0123456789abcdef",
    );
    both(
        "let e = cudaMemcpy2DAsync(x + 16, 16, x + 4, 4, 4, 2, cudaMemcpyDeviceToDevice, 0);\nif e != cudaSuccess { printf(\"%d\", e as i32); }",
        "0123456789abcdef4567456789abcdef89ab456789abcdef0123456789abcdef",
    );
    both(
        "let e = cudaMemset2DAsync(x, 1, 0, 2, 3, 0);\nif e != cudaErrorInvalidPitchValue { printf(\"%d\", e as i32); }",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    );
    both(
        "let e = cudaMemsetAsync(x, 1, 0, 0);\nif e != cudaSuccess { printf(\"%d\", e as i32); }",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    );
}

#[test]
fn what_a_kernel_needs() {
    let body = "var a: cudaFuncAttributes;\nlet e = cudaFuncGetAttributes(&a, tile);\nvar blocks: i32 = 0;\nlet f = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tile, 128, 0);\nprintf(\"%d %d %d %d %d\\n\", e as i32, f as i32, a.sharedSizeBytes as i32, a.maxThreadsPerBlock, blocks);";
    let text = format!(
        "@launch_bounds(256) kernel tile(x: *global i32) {{ shared s: [i32; 256]; s[threadIdx.x] = 1; x[0] = s[threadIdx.x]; }}\nkernel k() {{\n{body}\n}}\nhost fn main() {{\n{body}\nk<<<1, 1>>>(); cudaDeviceSynchronize(); }}\n"
    );
    assert_eq!(printed(&text), "0 0 1024 256 16\n0 0 1024 256 16\n");
}

/// Number, parent, kernel, stream, what it was submitted behind.
type Row<'a> = (u32, Option<u32>, &'a str, Stream, &'a [u32]);

#[test]
fn a_trace_tells_what_ran_when() {
    use std::sync::Arc;
    let text = "kernel leaf() { }\nkernel last() { }\nkernel root() { let a = leaf<<<1, 32>>>(); let b = last<<<1, 1, 0, cudaStreamTailLaunch>>>(); let c = leaf<<<2, 1>>>(); assert(a == b && b == c); }\nhost fn main() { root<<<1, 1>>>(); root<<<1, 1>>>(); cudaDeviceSynchronize(); leaf<<<1, 1>>>(); }\n";
    let compiled = support::compile(text);
    let options = CpuOptions { trace: true, ..CpuOptions::default() };
    let mut device = CpuDevice::new(Arc::clone(&compiled.program), options);
    let mut output = Vec::new();
    let outcome =
        HostProgram::new(&compiled.program, &mut device, &mut output, Options::default()).run_function("main").unwrap();
    assert!(outcome.is_ok());
    let trace = device.take_trace();
    let nodes: Vec<Row<'_>> = trace
        .nodes
        .iter()
        .map(|node| (node.id, node.parent, node.kernel.as_str(), node.stream, node.after.as_slice()))
        .collect();
    let expected: [Row<'_>; 9] = [
        (0, None, "root", Stream::Default, &[]),
        (1, None, "root", Stream::Default, &[0]),
        (2, Some(0), "leaf", Stream::Null, &[]),
        (3, Some(0), "last", Stream::Tail, &[]),
        (4, Some(0), "leaf", Stream::Null, &[2]),
        (5, Some(1), "leaf", Stream::Null, &[]),
        (6, Some(1), "last", Stream::Tail, &[]),
        (7, Some(1), "leaf", Stream::Null, &[5]),
        (8, None, "leaf", Stream::Default, &[]),
    ];
    assert_eq!(nodes, expected);
    // where each was launched, and by whom
    let line = |id: usize| compiled.sources.line_column(trace.nodes[id].span).line;
    assert_eq!([line(0), line(3), line(8)], [4, 3, 4]);
    assert_eq!(trace.nodes[0].by, None);
    assert_eq!(trace.nodes[3].by.map(|by| (by.thread, by.block)), Some(([0; 3], [0; 3])));
    let at = |id: usize| &trace.nodes[id];
    assert!(at(0).ended <= at(2).started && at(4).ended <= at(3).started && at(0).complete <= at(1).started);
    assert!(
        trace
            .nodes
            .iter()
            .all(|node| Some(node.submitted) <= node.started && node.started <= node.ended && node.ended <= node.complete)
    );
    assert!(device.take_trace().nodes.is_empty());
}
