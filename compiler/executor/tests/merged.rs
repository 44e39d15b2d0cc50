//! What `pass::merge_launches` makes, run here: the same results as without it, under every schedule, without races, by few grids.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_core::ir::{Const, ConstValue, Module};
use cdp_core::pass::{MergeOptions, const_fold, merge_launches, simplify};
use cdp_core::verify;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program, Schedule, Status};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{Compiled, compile};

/// Bytes for pushed launches: enough for the programs here, and much less than usual.
const MEMORY: u64 = 1 << 20;

fn merged(text: &str, memory: u64, prepare: impl Fn(&mut Module)) -> Compiled {
    let compiled = compile(text);
    let mut module = compiled.module.clone();
    const_fold(&mut module);
    simplify(&mut module);
    // loops of several blocks, a part of which begins
    let options = MergeOptions { memory, inline_below: 0, loop_threads: 8 * 8, ..MergeOptions::default() };
    merge_launches(&mut module, &options);
    prepare(&mut module);
    verify::verify(&module).unwrap_or_else(|errors| panic!("{errors:#?}"));
    Compiled { program: Arc::new(Program::new(&module)), module, ..compiled }
}

/// Runs `main` merged, under every schedule, looking for races under the first; gives how often each kernel ran then.
fn grids(text: &str, memory: u64) -> BTreeMap<String, usize> {
    prepared(text, memory, |_| {})
}

/// The same, with other first values of what merged launches run on.
fn prepared(text: &str, memory: u64, prepare: impl Fn(&mut Module)) -> BTreeMap<String, usize> {
    let compiled = merged(text, memory, prepare);
    let mut counts = BTreeMap::new();
    for schedule in [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 5 }, Schedule::Random { seed: 6 }] {
        let late = schedule == Schedule::Late;
        let options = CpuOptions { schedule, races: late, trace: true, ..CpuOptions::default() };
        let mut device = CpuDevice::new(Arc::clone(&compiled.program), options);
        let mut output = Vec::new();
        let mut host = HostProgram::new(&compiled.program, &mut device, &mut output, Options::default());
        let outcome = host.run_function("main").unwrap();
        let diagnostics = &outcome.diagnostics;
        assert_eq!(outcome.status, Status::Ok, "{schedule:?}: {diagnostics:#?}");
        assert!(diagnostics.is_empty(), "{schedule:?}: {diagnostics:#?}");
        if late {
            for node in device.take_trace().nodes {
                *counts.entry(node.kernel).or_default() += 1;
            }
        }
    }
    counts
}

fn count(counts: &BTreeMap<String, usize>, kernel: &str) -> usize {
    counts.get(kernel).copied().unwrap_or(0)
}

const FAN_OUT: &str = "
    kernel child(x: *global u32, at: u32, n: u32) {
        let i = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        let all = gridDim.x * gridDim.y * gridDim.z;
        if all != n { atomicAdd(&x[0], 1000000); }
        atomicAdd(&x[at + i], threadIdx.y * blockDim.x + threadIdx.x + 1);
    }
    kernel parent(x: *global u32, failed: *global i32) {
        let t = blockIdx.x * blockDim.x + threadIdx.x;
        let grid = dim3(1 + t % 3, 1 + t % 2, 1 + t % 5);
        let n = grid.x * grid.y * grid.z;
        let e = child<<<grid, BLOCK, 0, cudaStreamFireAndForget>>>(x, 1 + t * 30, n);
        if e != cudaSuccess { atomicAdd(failed, 1); }
    }
    host fn main() {
        let x = device(u32, 1 + 200 * 30);
        let failed = device(i32, 1);
        parent<<<4, 50>>>(x, failed);
        cudaDeviceSynchronize();
        assert(failed[0] == 0 && x[0] == 0);
        for t in 0..200 {
            let n = (1 + t % 3) * (1 + t % 2) * (1 + t % 5);
            for i in 0..30 {
                let wanted: u32 = if i < n { SUM } else { 0 };
                assert(x[1 + t * 30 + i] == wanted, \"%d, %d: %u\", t, i, x[1 + t * 30 + i]);
            }
        }
    }";

#[test]
fn two_hundred_grids_of_three_dimensions_become_one() {
    for (block, sum) in [("dim3(8, 2, 1)", "136"), ("96", "4656")] {
        let counts = grids(&FAN_OUT.replace("BLOCK", block).replace("SUM", sum), MEMORY);
        assert_eq!((count(&counts, "child"), count(&counts, "parent")), (0, 1), "{counts:?}");
        assert_eq!(count(&counts, "cdpc$merged_0"), 1, "{counts:?}");
    }
}

/// Lanes of one warp that push different kernels at the same time do not count for each other.
#[test]
fn two_kernels_in_the_arms_of_an_if() {
    let text = "
        kernel one(x: *global u32) { atomicAdd(&x[0], 1); }
        kernel two(x: *global u32) { atomicAdd(&x[1], 1); }
        fn start(x: *global u32) {
            var err = cudaSuccess;
            if threadIdx.x % 4 == 1 {
                err = one<<<1, 128, 0, cudaStreamFireAndForget>>>(x);
            } else {
                err = two<<<3, 128, 0, cudaStreamFireAndForget>>>(x);
            }
            if err != cudaSuccess { atomicAdd(&x[2], 1); }
        }
        kernel parent(x: *global u32) { start(x); }
        host fn main() {
            let x = device(u32, 3);
            parent<<<2, 32>>>(x);
            cudaDeviceSynchronize();
            assert(x[0] == 16 * 128 && x[1] == 48 * 3 * 128 && x[2] == 0, \"%u %u\", x[0], x[1]);
        }";
    let counts = grids(text, MEMORY);
    assert_eq!((count(&counts, "one"), count(&counts, "two")), (0, 0), "{counts:?}");
}

const TREE: &str = "
    kernel node(depth: i32, r: *global i32) {
        BARRIER
        atomicAdd(r, 1);
        if depth > 0 {
            let err = node<<<1, 2, 0, cudaStreamFireAndForget>>>(depth - 1, r);
            if err != cudaSuccess { atomicExch(&r[1], err as i32); }
        }
    }
    host fn main() {
        let r = device(i32, 2);
        node<<<1, 2>>>(6, r);
        cudaDeviceSynchronize();
        assert(r[0] == 254 && r[1] == 0, \"%d %d\", r[0], r[1]);
    }";

#[test]
fn a_recursion_takes_one_grid_for_each_generation_or_stays_in_one() {
    // without a barrier children are laid side by side, and small generations are rounds of one grid
    for (barrier, kernel, merged) in [("", "cdpc$staying_0", 1), ("__syncthreads();", "cdpc$merged_0", 6)] {
        let counts = grids(&TREE.replace("BARRIER", barrier), MEMORY);
        assert_eq!(count(&counts, kernel), merged, "{counts:?}");
        assert_eq!(count(&counts, "node"), 1, "{counts:?}");
    }
}

const BUCKETS: &str = "
    kernel child(x: *global u32, at: u32) {
        for part in 0..2u32 { if threadIdx.x == part { atomicAdd(&x[at], 1); } }
    }
    kernel parent(x: *global u32, failed: *global i32) {
        let t = blockIdx.x * blockDim.x + threadIdx.x;
        if t % 4 == 3 { return; }
        @merge(WAY)
        let e = child<<<1, 2>>>(x, t);
        if e != cudaSuccess { atomicAdd(failed, 1); return; }
        x[1000 + t] = 1;
    }
    host fn main() {
        assert(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, POOL) == cudaSuccess);
        let x = device(u32, 2000);
        let failed = device(i32, 1);
        for round in 0..ROUNDS { parent<<<40, 4>>>(x, failed); }
        cudaDeviceSynchronize();
        assert(failed[0] == 0);
        for t in 0..160 {
            let wanted: u32 = if t % 4 == 3 { 0 } else { 2 * ROUNDS };
            assert(x[t] == wanted, \"%d: %u\", t, x[t]);
        }
    }";

fn in_buckets(way: &str, pool: u32, rounds: u32) -> String {
    let numbers = BUCKETS.replace("POOL", &pool.to_string()).replace("ROUNDS", &rounds.to_string());
    numbers.replace("WAY", way)
}

#[test]
fn a_bucket_takes_one_grid() {
    let expected = |counts: &BTreeMap<String, usize>, merged: usize| {
        assert_eq!((count(counts, "parent"), count(counts, "child")), (2, 0), "{counts:?}");
        assert_eq!(count(counts, "cdpc$drain_root"), 2, "{counts:?}");
        assert_eq!(count(counts, "cdpc$merged_0"), 2 * merged, "{counts:?}");
    };
    expected(&grids(&in_buckets("grid", 2048, 2), MEMORY), 1);
    expected(&grids(&in_buckets("buckets(9)", 2048, 2), MEMORY), 5);
    // all blocks in one: the grid's own
    expected(&grids(&in_buckets("buckets(40)", 2048, 2), MEMORY), 1);
    expected(&grids(&in_buckets("buckets(65536)", 2048, 2), MEMORY), 1);
}

/// The global of merged launches with this name, set to what it starts with.
fn set(module: &mut Module, name: &str, value: ConstValue) {
    let global = module.globals.iter_mut().find(|global| global.name == name).unwrap();
    global.init = Some(Const { ty: global.ty, value });
}

#[test]
fn buckets_whose_threads_are_not_all_counted_are_done_at_the_end() {
    // in the first grid there too many have left each of them
    let counts = prepared(&in_buckets("buckets(9)", 2048, 2), MEMORY, |module| {
        let part = ConstValue::Aggregate([1000, 0, 0].map(ConstValue::Bits).to_vec());
        let grid = ConstValue::Aggregate(vec![ConstValue::Bits(5), ConstValue::Aggregate(vec![part; 128])]);
        set(module, "cdpc$parts", ConstValue::Aggregate(vec![grid; 512]));
    });
    assert_eq!(count(&counts, "cdpc$drain_root"), 2, "{counts:?}");
    assert_eq!((count(&counts, "child"), count(&counts, "cdpc$merged_0")), (0, 10), "{counts:?}");
}

#[test]
fn buckets_without_a_context_use_the_grids() {
    let counts = prepared(&in_buckets("buckets(9)", 2048, 2), MEMORY, |module| {
        set(module, "cdpc$others", ConstValue::Aggregate([0, 256, 0].map(ConstValue::Bits).to_vec()));
    });
    assert_eq!((count(&counts, "child"), count(&counts, "cdpc$merged_0")), (0, 2), "{counts:?}");
    assert_eq!(count(&counts, "cdpc$drain_root"), 2, "{counts:?}");
}

/// Late, no place in the launch pool is free again before the parent has ended.
#[test]
fn buckets_that_cannot_be_started_are_done_at_the_end() {
    let counts = grids(&in_buckets("buckets(1)", 32, 1), MEMORY);
    assert_eq!((count(&counts, "child"), count(&counts, "cdpc$merged_0")), (0, 40), "{counts:?}");
    assert_eq!(count(&counts, "cdpc$drain_root"), 1, "{counts:?}");
}

/// A loop over grids of 2 to 12 blocks, with a tail in each round.
const LOOP: &str = "
    struct State { done: u32, seen: u32, rounds: u32, failed: u32 }
    kernel work(s: *global State, by: u32) { atomicAdd(&s.done, by); }
    kernel look(s: *global State) { if threadIdx.x == 0 { s.seen += s.done; } }
    kernel rounds(s: *global State, n: u32) {
        s.rounds += 1;
        if n == 0 { return; }
        let first = work<<<4 * n, 8>>>(s, n);
        let tail = look<<<1, 8, 0, cudaStreamTailLaunch>>>(s);
        let again = rounds<<<1, 1, 0, cudaStreamTailLaunch>>>(s, n - 1);
        if first != cudaSuccess || tail != cudaSuccess || again != cudaSuccess { s.failed += 1; }
    }
    host fn main() {
        let s = device(State, 1);
        rounds<<<1, 1>>>(s, 3);
        cudaDeviceSynchronize();
        assert(s[0].failed == 0 && s[0].rounds == 4);
        assert(s[0].done == 32 * (9 + 4 + 1), \"%u\", s[0].done);
        assert(s[0].seen == 32 * (9 + 13 + 14), \"%u\", s[0].seen);
    }";

#[test]
fn loops_of_tail_launches_are_two_grids() {
    let counts = grids(LOOP, MEMORY);
    // one of two blocks, and one of all eight when there were twelve to run
    let all: usize = counts.iter().filter(|(kernel, _)| kernel.contains("loop")).map(|(_, count)| count).sum();
    assert_eq!((all, count(&counts, "work"), count(&counts, "look"), count(&counts, "rounds")), (2, 0, 0, 1), "{counts:?}");
}
