//! What running a program costs grows with the statements that it runs and the bytes that it touches, and no faster: twice the size is
//! twice the steps, the comparisons of accesses and the allocations. Counted, not timed: the answer is the same on every machine.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "support/loads.rs"]
mod loads;
mod support;

use allocation_counter::measure;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Schedule};
use std::sync::Arc;

/// What one run costs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    steps: u64,
    /// Earlier accesses that later ones were compared with.
    compared: u64,
    allocations: u64,
    bytes: u64,
}

fn cost(text: &str, schedule: Schedule, races: bool) -> Cost {
    let compiled = support::compile(text);
    let (mut steps, mut compared) = (0, 0);
    let counted = measure(|| {
        let options = CpuOptions { schedule, races, ..CpuOptions::default() };
        let mut device = CpuDevice::new(Arc::clone(&compiled.program), options);
        let mut output = Vec::new();
        let outcome =
            HostProgram::new(&compiled.program, &mut device, &mut output, Options::default()).run_function("main").unwrap();
        assert!(outcome.is_ok(), "{outcome:?}");
        (steps, compared) = (device.steps(), device.compared());
    });
    Cost { steps, compared, allocations: counted.count_total, bytes: counted.bytes_total }
}

/// The costs of a program at three sizes, each twice the one before, grow by the same for each unit of size.
fn check(name: &str, text: impl Fn(u32) -> String, size: u32, schedule: Schedule, races: bool) {
    let [one, two, four] = [size, 2 * size, 4 * size].map(|size| cost(&text(size), schedule, races));
    let all = format!("{name}, races {races}, {schedule:?}: {one:?}\n{two:?}\n{four:?}");
    for (what, of) in [
        ("steps", (|cost: &Cost| cost.steps) as fn(&Cost) -> u64),
        ("comparisons", |cost| cost.compared),
        ("allocations", |cost| cost.allocations),
        ("bytes", |cost| cost.bytes),
    ] {
        let [one, two, four] = [of(&one), of(&two), of(&four)];
        // the second step is twice as large as the first; tables that grow by doubling may be a little ahead
        let (first, second) = (two.saturating_sub(one), four.saturating_sub(two));
        assert!(second as f64 <= 2.0 * first as f64 * 1.25 + 4096.0, "{what} do not grow in proportion: {all}");
    }
    let [first, second] = [two.steps - one.steps, four.steps - two.steps];
    assert!(second.abs_diff(2 * first) <= first / 10, "steps: {all}");
}

#[test]
fn every_kind_of_program_costs_in_proportion() {
    for load in &loads::LOADS {
        for races in [false, true] {
            check(load.name, load.text, 2, Schedule::Late, races);
        }
    }
}

/// Name, text at a size, and the smallest size.
type Program<'a> = (&'a str, &'a dyn Fn(u32) -> String, u32);

#[test]
fn readers_writers_and_waiters_cost_in_proportion() {
    // every thread reads what one wrote; bytes of words; many streams; many events; a long chain of tails; memory that comes and goes
    let shared_read = |size: u32| {
        format!(
            "kernel k(x: *global i32, o: *global i32) {{ let i = (blockIdx.x * 64 + threadIdx.x) as i32; o[i] = x[0] + x[i % 8]; }}\nhost fn main() {{ let x = device(i32, 8); let o = device(i32, {size} * 64); k<<<{size}, 64>>>(x, o); cudaDeviceSynchronize(); }}\n"
        )
    };
    let bytes = |size: u32| {
        format!(
            "kernel k(x: *global u8, o: *global u32) {{ let i = (blockIdx.x * 64 + threadIdx.x) as i32; for b in 0..4 {{ x[4 * i + b] = b as u8; }} o[i] = (x as *global u32)[i]; }}\nhost fn main() {{ let x = device(u8, {size} * 256); let o = device(u32, {size} * 64); k<<<{size}, 64>>>(x, o); cudaDeviceSynchronize(); }}\n"
        )
    };
    let streams = |size: u32| {
        format!(
            "kernel leaf(x: *global i32) {{ x[0] += 1; }}\nkernel k(x: *global i32) {{ for i in 0..{size} {{ var s: cudaStream_t; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); let e = leaf<<<1, 1, 0, s>>>(x + i); assert(e == cudaSuccess); cudaStreamDestroy(s); }} }}\nhost fn main() {{ let x = device(i32, {size}); k<<<1, 1>>>(x); cudaDeviceSynchronize(); }}\n"
        )
    };
    let tails = |size: u32| {
        format!(
            "kernel k(x: *global i32, n: i32) {{ x[0] += 1; if n > 0 {{ let e = k<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1); assert(e == cudaSuccess); }} }}\nhost fn main() {{ let x = device(i32, 1); k<<<1, 1>>>(x, {size}); cudaDeviceSynchronize(); }}\n"
        )
    };
    let heap = |size: u32| {
        format!(
            "kernel k(o: *global i32) {{ for i in 0..{size} {{ let p = malloc(64) as *global i32; if p == null {{ return; }} p[0] = i; o[threadIdx.x] = p[0]; free(p as *void); }} }}\nhost fn main() {{ let o = device(i32, 8); k<<<1, 8>>>(o); cudaDeviceSynchronize(); }}\n"
        )
    };
    let programs: [Program<'_>; 5] = [
        ("shared read", &shared_read, 40),
        ("bytes", &bytes, 40),
        ("streams", &streams, 250),
        ("tails", &tails, 400),
        ("heap", &heap, 100),
    ];
    for (name, text, size) in programs {
        for races in [false, true] {
            check(name, text, size, Schedule::Late, races);
        }
        check(name, text, size, Schedule::Eager, true);
    }
}
