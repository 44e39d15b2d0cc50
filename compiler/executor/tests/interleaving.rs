//! Blocks and grids run side by side where orders are drawn, and one after the other elsewhere; a seed always gives the same run.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::Schedule;
use support::compile;

/// Every thread counts itself in, works for a while, counts itself out, and remembers the most that it saw inside.
const COUNTED: &str = "
global var inside: i32 = 0;
global var most: i32 = 0;
global var sum: i32 = 0;
fn counted() {
    atomicMax(&most, atomicAdd(&inside, 1) + 1);
    for i in 0..60 { atomicAdd(&sum, i); }
    atomicSub(&inside, 1);
}
";

fn program(rest: &str) -> String {
    format!("{COUNTED}{rest}")
}

/// What a program prints under a schedule.
fn printed(text: &str, schedule: Schedule) -> String {
    let ran = compile(text).run_scheduled("main", Some(50_000_000), schedule, true);
    assert!(ran.outcome.is_ok(), "{schedule:?}\n{}", ran.rendering);
    ran.output
}

/// What it prints under many seeds, each different text once.
fn drawn(text: &str) -> Vec<String> {
    let mut all: Vec<String> = (0..24).map(|seed| printed(text, Schedule::Random { seed })).collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn blocks_of_a_grid_run_side_by_side() {
    let text = program(
        "kernel k() { counted(); }\nhost fn main() { k<<<6, 1>>>(); cudaDeviceSynchronize(); printf(\"%d\", most); }\n",
    );
    assert_eq!((printed(&text, Schedule::Late), printed(&text, Schedule::Eager)), ("1".to_owned(), "1".to_owned()));
    let seen = drawn(&text);
    assert!(seen.contains(&"1".to_owned()) && seen.contains(&"4".to_owned()), "{seen:?}");
}

#[test]
fn grids_run_in_the_midst_of_others() {
    let text = program(
        "kernel leaf() { counted(); }\nkernel root() {\n    for i in 0..4 { let e = leaf<<<1, 1, 0, cudaStreamFireAndForget>>>(); assert(e == cudaSuccess); }\n}\nhost fn main() { root<<<1, 1>>>(); cudaDeviceSynchronize(); printf(\"%d\", most); }\n",
    );
    assert_eq!((printed(&text, Schedule::Late), printed(&text, Schedule::Eager)), ("1".to_owned(), "1".to_owned()));
    assert!(drawn(&text).iter().any(|most| most != "1"));
    // but never what is ordered: children of one stream
    let ordered = text.replace(", 0, cudaStreamFireAndForget", "");
    assert_eq!(drawn(&ordered), ["1"]);
}

#[test]
fn every_thread_may_be_the_first_and_the_last() {
    let text = "
global var next: i32 = 0;
kernel k(order: *global i32) { order[atomicAdd(&next, 1)] = (blockIdx.x * 64 + threadIdx.x) as i32; }
host fn main() { let o = device(i32, 128); k<<<2, 64>>>(o); cudaDeviceSynchronize(); printf(\"%d %d\", o[0] / 32, o[127] / 32); }
";
    assert_eq!(printed(text, Schedule::Late), "0 3");
    let seen = drawn(text);
    for warp in ["0", "1", "2", "3"] {
        assert!(seen.iter().any(|pair| pair.starts_with(warp)), "no run began with warp {warp}: {seen:?}");
        assert!(seen.iter().any(|pair| pair.ends_with(warp)), "no run ended with warp {warp}: {seen:?}");
    }
}

#[test]
fn a_seed_gives_the_same_run() {
    let text = program(
        "kernel leaf(i: u32) { counted(); printf(\"%u.%u \", i, threadIdx.x); }\nkernel root() { let e = leaf<<<2, 33, 0, cudaStreamFireAndForget>>>(threadIdx.x); assert(e == cudaSuccess); counted(); }\nhost fn main() { root<<<3, 5>>>(); cudaDeviceSynchronize(); }\n",
    );
    for seed in 0..6 {
        let run = || {
            let ran = compile(&text).run_scheduled("main", None, Schedule::Random { seed }, false);
            (ran.output, ran.steps)
        };
        assert_eq!(run(), run());
    }
    assert_ne!(printed(&text, Schedule::Random { seed: 1 }), printed(&text, Schedule::Random { seed: 2 }));
}

#[test]
fn waiting_for_another_block_is_in_vain_only_if_all_wait() {
    // the second block sets what the first one waits for: right where both run side by side, and reported where they do not
    let text = "
kernel k(flag: *global i32) {
    if blockIdx.x == 1 { atomicExch(flag, 1); }
    else { while atomicAdd(flag, 0) == 0 { } }
}
host fn main() { let flag = device(i32, 1); k<<<2, 1>>>(flag); cudaDeviceSynchronize(); }
";
    let compiled = compile(text);
    let run = |schedule| compiled.run_scheduled("main", Some(50_000_000), schedule, false);
    let codes = |schedule| -> Vec<&str> { run(schedule).outcome.diagnostics.iter().map(|found| found.code.id()).collect() };
    assert_eq!(codes(Schedule::Late), ["E0743"]);
    let all: Vec<Vec<&str>> = (0..24).map(|seed| codes(Schedule::Random { seed })).collect();
    assert!(all.iter().any(Vec::is_empty) && all.iter().any(|found| found == &["E0743"]), "{all:?}");
    // a wait that nobody ends is found also where several blocks wait
    let text = text.replace("blockIdx.x == 1", "blockIdx.x == 7").replace("<<<2, 1>>>", "<<<3, 1>>>");
    let compiled = compile(&text);
    for seed in 0..8 {
        let ran = compiled.run_scheduled("main", Some(50_000_000), Schedule::Random { seed }, false);
        assert_eq!(ran.outcome.diagnostics.iter().map(|found| found.code.id()).collect::<Vec<_>>(), ["E0743"]);
    }
}
