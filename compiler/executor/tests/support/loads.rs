//! Programs of three kinds and any size, for measuring what running them costs.

/// A program and how large it is: twice the size is twice the statements and bytes.
pub struct Load {
    pub name: &'static str,
    /// What the program does, for people.
    #[allow(dead_code, reason = "the tests have no use for it")]
    pub about: &'static str,
    pub text: fn(u32) -> String,
}

/// All of them.
pub const LOADS: [Load; 3] = [
    Load { name: "flat", about: "arithmetic and loads from global memory in a loop", text: flat },
    Load { name: "barrier-heavy", about: "sums in shared memory with a barrier after every step", text: barriers },
    Load { name: "launch-heavy", about: "fire-and-forget grids of 32 threads with one atomic operation each", text: launches },
];

/// `size` blocks.
fn flat(size: u32) -> String {
    format!(
        "
kernel flat(x: *global f32, n: i32) {{
    let i = (blockIdx.x * blockDim.x + threadIdx.x) as i32;
    var sum = 0.0f32;
    for k in 0..2000 {{ sum += x[i + k % 64] * 0.5; }}
    x[n + 64 + i] = sum;
}}
host fn main() {{
    let n = {size} * 256;
    let x = device(f32, 2 * n + 64);
    flat<<<{size}, 256>>>(x, n);
    cudaDeviceSynchronize();
}}
"
    )
}

/// `size` blocks.
fn barriers(size: u32) -> String {
    format!(
        "
kernel sums(x: *global i32, rounds: i32) {{
    shared part: [i32; 256];
    let t = threadIdx.x as i32;
    var total = 0;
    for r in 0..rounds {{
        part[t] = t + r;
        __syncthreads();
        var width = 128;
        while width > 0 {{
            if t < width {{ part[t] += part[t + width]; }}
            __syncthreads();
            width /= 2;
        }}
        total += part[0];
        __syncthreads();
    }}
    x[blockIdx.x as i32 * 256 + t] = total % 1000;
}}
host fn main() {{
    let x = device(i32, {size} * 256);
    sums<<<{size}, 256>>>(x, 100);
    cudaDeviceSynchronize();
}}
"
    )
}

/// 1,000 launches in each of `size` rounds.
fn launches(size: u32) -> String {
    format!(
        "
kernel leaf(x: *global i32, i: i32) {{ atomicAdd(&x[i % 1024], 1); }}
kernel node(x: *global i32, i: i32) {{
    for k in 0..100 {{
        let e = leaf<<<1, 32, 0, cudaStreamFireAndForget>>>(x, i + k);
        if e != cudaSuccess {{ return; }}
    }}
}}
host fn main() {{
    let x = device(i32, 1024);
    for r in 0..{size} {{ node<<<10, 1>>>(x, r); }}
    cudaDeviceSynchronize();
}}
"
    )
}
