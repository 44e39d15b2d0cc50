//! When launches are merged, and what `inspect` says of each.

use crate::common::Place;

const PROGRAM: &str = "
kernel light(x: *global i32) { x[threadIdx.x] = 1; }
kernel heavy(x: *global i32) { for i in 0..x[9] { atomicAdd(&x[i], 1); } }
kernel waits(x: *global i32) { while atomicAdd(x, 1) != 5 {} }
kernel together(x: *global i32) { __syncthreads(); x[0] = 1; }
kernel parent(x: *global i32, n: u32) {
    light<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
    light<<<4, 32, 0, cudaStreamFireAndForget>>>(x);
    @inline_below(50)
    light<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
    heavy<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
    waits<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
    together<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
    heavy<<<n, 32>>>(x);
    @merge(off)
    heavy<<<n, 32, 0, cudaStreamFireAndForget>>>(x);
}
";

const ALLOWED: &str = "--allow=warnings";

#[test]
fn launches_are_merged_from_the_second_level_on() {
    let place = Place::new();
    place.write("a.cdp", PROGRAM);
    let said = |options: &str| {
        let ran = place.run_with_toolkit(&format!("inspect --launches --no-sass {ALLOWED} {options} a.cdp"));
        ran.succeeds();
        ran.out
            .lines()
            .filter_map(|line| line.trim().strip_prefix("| ^ "))
            .filter(|t| !t.starts_with("launches"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let merged = [
        "run in place by the lanes that launch together, or at its end by their block, where that takes few rounds; others:",
        "merged, thread by thread in full blocks",
        "always run in place, by the lanes that launch together",
        "grids of fewer than 50 threads are run in place, by the lanes that launch together; others:",
        "merged, thread by thread in full blocks",
        "run in place by the lanes that launch together, where that takes them few rounds; others:",
        "merged, thread by thread in full blocks",
        "merged, thread by thread in full blocks",
        "merged, block by block",
        "launched as it is: its stream keeps an order; only launches into `cudaStreamFireAndForget` have none, and those with `@merge(grid)`",
        "launched as it is: `@merge(off)` says so",
    ];
    for options in ["", "-O2", "-O0 --launch-merging=on"] {
        assert_eq!(said(options), merged, "{options}");
    }
    for options in ["-O1", "-O0", "--launch-merging=off"] {
        assert!(said(options).is_empty(), "{options}");
    }
}

#[test]
fn blocks_of_any_size_and_buckets_are_named() {
    let place = Place::new();
    let program = "
kernel apart(x: *global i32) { for i in 0..9 { if atomicAdd(&x[i], 1) == 5 { x[9] = i; } } }
kernel together(x: *global i32) { __syncthreads(); x[0] = 1; }
fn launch(x: *global i32, n: u32) { apart<<<1, n, 0, cudaStreamFireAndForget>>>(x); }
kernel coarse(x: *global i32, n: u32) {
    @merge(buckets(64))
    together<<<n, 128>>>(x);
    launch(x, n);
    together<<<1, n, 0, cudaStreamFireAndForget>>>(x);
}
kernel fine(x: *global i32, n: u32) {
    @merge(buckets(8))
    together<<<n, 128>>>(x);
    @merge(buckets(100))
    together<<<n, 128>>>(x);
    launch(x, n);
}
";
    place.write("a.cdp", program);
    let ran = place.run_with_toolkit(&format!("inspect --launches --no-sass --launch-merging=on {ALLOWED} a.cdp"));
    ran.succeeds();
    let said: Vec<_> =
        ran.out.lines().filter_map(|line| line.trim().strip_prefix("| ^ ")).filter(|t| !t.starts_with("launches")).collect();
    let expected = [
        "merged, thread by thread in full blocks, in buckets of 8 or 64 blocks",
        "merged, block by block, in buckets of 64 blocks",
        "launched as it is: the child's threads work together there, so that the size of its blocks must be a constant (a.cdp:3:35, \
         `__syncthreads()`)",
        "merged, thread by thread in full blocks, in buckets of 8 or 64 blocks",
        "merged, block by block, in buckets of 8 blocks",
        "merged, block by block, in buckets of 8 blocks",
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_executor_merges_when_it_is_told_to() {
    let place = Place::new();
    let grids = |options: &str| {
        let ran = place.run_with_toolkit(&format!("run --device cpu --trace=json:- {options} a.cdp"));
        ran.succeeds();
        ran.out.matches("\"kernel\": \"heavy\"").count()
    };
    let main = "host fn main() { let x = device(i32, 32); one<<<1, 1>>>(x, 3); cudaDeviceSynchronize(); }";
    let one = "kernel one(x: *global i32, n: u32) { let e = heavy<<<n, 32, 0, cudaStreamFireAndForget>>>(x); if e != cudaSuccess { x[9] = 1; } }";
    place.write("a.cdp", format!("kernel heavy(x: *global i32) {{ for i in 0..9 {{ atomicAdd(&x[i], 1); }} }} {one} {main}"));
    assert_eq!([grids(""), grids("--launch-merging=off"), grids("--launch-merging=on")], [1, 1, 0]);
}

#[test]
fn loops_are_named_and_why_others_are_none() {
    let place = Place::new();
    let program = |stream: &str| {
        format!(
            "kernel work(x: *global i32) {{ x[threadIdx.x] = 1; }}
kernel rounds(x: *global i32, n: i32) {{
    if n == 0 {{ return; }}
    work<<<n as u32, 32>>>(x);
    rounds<<<1, 1, 0, cudaStreamTailLaunch>>>(x, n - 1);
    {stream}
}}
"
        )
    };
    let said = |program: &str| {
        place.write("a.cdp", program);
        let ran = place.run_with_toolkit(&format!("inspect --launches --no-sass {ALLOWED} a.cdp"));
        ran.succeeds();
        ran.out
    };
    let looped = said(&program(""));
    assert!(looped.contains("^ a round of the loop that its kernel is\n"), "{looped}");
    assert!(looped.contains("^ a loop: one grid runs this kernel and what it launches, round after round\n"), "{looped}");
    assert!(!looped.contains("launched as it is"), "{looped}");
    let other = said(&program("work<<<1, 32, 0, cudaStreamTailLaunch>>>(x);"));
    let why = "^ not a loop: this comes into the tail stream after the kernel itself (a.cdp:6:5, `work<<<1, 32, 0, cudaStreamTailLaunch>>>(x)`)";
    assert!(other.contains(why), "{other}");
}
