//! Calls of the CUDA runtime, on both sides.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

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
