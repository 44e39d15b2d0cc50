//! Steps a second: `cargo run --release -p cdp-executor --example speed`.
//!
//! Three programs, each without and with races looked for: flat (arithmetic and loads), barrier-heavy, launch-heavy. A step is a statement of
//! the IR; a line of source is several.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a program for people")]

use cdp_core::lower::{LowerOptions, lower};
use cdp_core::source::SourceMap;
use cdp_core::{sema, syntax};
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program};
use std::sync::Arc;
use std::time::Instant;

const FLAT: &str = "
kernel flat(x: *global f32, n: i32) {
    let i = (blockIdx.x * blockDim.x + threadIdx.x) as i32;
    var sum = 0.0f32;
    for k in 0..2000 { sum += x[(i + k) % n] * 0.5; }
    x[n + i] = sum;
}
host fn main() {
    let n = 8192;
    let x = device(f32, 2 * n);
    flat<<<32, 256>>>(x, n);
    cudaDeviceSynchronize();
}
";

const BARRIERS: &str = "
kernel sums(x: *global i32, rounds: i32) {
    shared part: [i32; 256];
    let t = threadIdx.x as i32;
    var total = 0;
    for r in 0..rounds {
        part[t] = t + r;
        __syncthreads();
        var width = 128;
        while width > 0 {
            if t < width { part[t] += part[t + width]; }
            __syncthreads();
            width /= 2;
        }
        total += part[0];
        __syncthreads();
    }
    x[blockIdx.x as i32 * 256 + t] = total % 1000;
}
host fn main() {
    let x = device(i32, 16 * 256);
    sums<<<16, 256>>>(x, 100);
    cudaDeviceSynchronize();
}
";

const LAUNCHES: &str = "
kernel leaf(x: *global i32, i: i32) { atomicAdd(&x[i % 1024], 1); }
kernel node(x: *global i32, i: i32) {
    for k in 0..100 {
        let e = leaf<<<1, 32, 0, cudaStreamFireAndForget>>>(x, i + k);
        if e != cudaSuccess { return; }
    }
}
host fn main() {
    let x = device(i32, 1024);
    for r in 0..100 { node<<<10, 1>>>(x, r); }
    cudaDeviceSynchronize();
}
";

fn program(text: &str) -> Arc<Program> {
    let mut sources = SourceMap::new();
    let file = sources.add("speed.cdp", text);
    let (tree, parsed) = syntax::parse(file, text);
    let (program, checked) = sema::check(&[tree], &sources, sema::Options::default());
    assert!(!parsed.has_errors() && !checked.has_errors(), "{checked:?}");
    let (module, _) = lower(program, &LowerOptions::default());
    Arc::new(Program::new(&module))
}

fn main() {
    println!("{:<16}{:>12}{:>18}{:>22}", "program", "steps", "million steps/s", "with races, the same");
    for (name, text) in [("flat", FLAT), ("barrier-heavy", BARRIERS), ("launch-heavy", LAUNCHES)] {
        let program = program(text);
        let mut rates = Vec::new();
        let mut steps = 0;
        for races in [false, true] {
            let mut best = 0.0f64;
            for _ in 0..3 {
                let mut device = CpuDevice::new(Arc::clone(&program), CpuOptions { races, ..CpuOptions::default() });
                let mut output = Vec::new();
                let start = Instant::now();
                let outcome =
                    HostProgram::new(&program, &mut device, &mut output, Options::default()).run_function("main").unwrap();
                let seconds = start.elapsed().as_secs_f64();
                assert!(outcome.is_ok(), "{outcome:?}");
                steps = device.steps();
                best = best.max(steps as f64 / seconds / 1e6);
            }
            rates.push(best);
        }
        println!("{name:<16}{steps:>12}{:>18.1}{:>22.1}", rates.first().unwrap(), rates.last().unwrap());
    }
}
