//! Races are found whatever the schedule, and sound programs give none.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::Schedule;

/// The races of a program, each as the two lines it is between, earlier first in the text.
fn races(text: &str) -> Vec<(u32, u32)> {
    let found = support::races(text);
    assert!(found.iter().all(|(code, ..)| *code == "E0740"), "{found:?}\n{text}");
    found.into_iter().map(|(_, first, second)| (first, second)).collect()
}

/// A parent, launched with one block of 64 threads, and its child; both write `x`, a buffer of 64 elements.
fn family(child: &str, parent: &str) -> Vec<(u32, u32)> {
    races(&format!(
        "kernel child(x: *global i32) {{\n    {child}\n}}\nkernel parent(x: *global i32) {{\n    let t = threadIdx.x as i32;\n    {parent}\n}}\nhost fn main() {{ let x = device(i32, 64); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); }}\n"
    ))
}

#[test]
fn what_the_launching_thread_did_before_is_seen() {
    assert_eq!(family("x[0] += 1;", "if t == 0 { x[0] = 1; child<<<1, 1>>>(x); }"), []);
    assert_eq!(family("x[1] += 1;", "x[t] = t;\n    __syncthreads();\n    if t == 0 { child<<<1, 1>>>(x); }"), []);
}

#[test]
fn another_threads_write_needs_a_barrier_before_the_launch() {
    assert_eq!(family("x[1] += 1;", "x[t] = t;\n    if t == 0 { child<<<1, 1>>>(x); }"), [(2, 6)]);
    // the same warp does not help
    assert_eq!(family("x[1] += 1;", "if t < 2 { x[t] = t; }\n    if t == 0 { child<<<1, 1>>>(x); }"), [(2, 6)]);
    assert_eq!(family("x[1] += 1;", "if t < 32 { x[t] = t; __syncwarp(); }\n    if t == 0 { child<<<1, 1>>>(x); }"), []);
    // a barrier after the launch comes too late
    assert_eq!(
        family("x[1] += 1;", "if t == 0 { child<<<1, 1>>>(x); }\n    __syncthreads();\n    if t == 1 { x[1] = 2; }"),
        [(2, 8)]
    );
}

#[test]
fn a_parent_does_not_see_its_child() {
    assert_eq!(family("x[0] = 1;", "if t == 0 { child<<<1, 1>>>(x);\n    let y = x[0]; x[1] = y; }"), [(2, 7)]);
    assert_eq!(family("let y = x[0]; x[1] = y;", "if t == 0 { child<<<1, 1>>>(x);\n    x[0] = 1; }"), [(2, 7)]);
}

#[test]
fn a_tail_sees_everything() {
    let program = |stream: &str| {
        format!(
            "kernel child(x: *global i32) {{\n    x[threadIdx.x] = 1;\n}}\nkernel sum(x: *global i32) {{\n    var s = 0;\n    for i in 0..64 {{ s += x[i]; }}\n    x[0] = s;\n}}\nkernel parent(x: *global i32) {{\n    if threadIdx.x == 0 {{ child<<<1, 32>>>(x); sum<<<1, 1, 0, {stream}>>>(x); }}\n    x[threadIdx.x + 32] = 2;\n}}\nhost fn main() {{ let x = device(i32, 64); parent<<<1, 32>>>(x); cudaDeviceSynchronize(); }}\n"
        )
    };
    assert_eq!(races(&program("cudaStreamTailLaunch")), []);
    assert_eq!(races(&program("cudaStreamFireAndForget")), [(2, 6), (2, 7), (6, 11)]);
    // the block's NULL stream orders the two children, but not the parent
    assert_eq!(races(&program("cudaStreamDefault")), [(6, 11)]);
}

#[test]
fn siblings_need_a_stream_or_an_event() {
    let program = |body: &str| {
        format!(
            "kernel step(x: *global i32) {{\n    x[0] = x[0] + 1;\n}}\nkernel parent(x: *global i32) {{\n    var a: cudaStream_t;\n    var b: cudaStream_t;\n    var e: cudaEvent_t;\n    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);\n    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);\n    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);\n    {body}\n    cudaEventDestroy(e);\n    cudaStreamDestroy(a);\n    cudaStreamDestroy(b);\n}}\nhost fn main() {{ let x = device(i32, 1); parent<<<1, 1>>>(x); cudaDeviceSynchronize(); }}\n"
        )
    };
    assert_eq!(races(&program("step<<<1, 1, 0, a>>>(x); step<<<1, 1, 0, a>>>(x);")), []);
    assert_eq!(races(&program("step<<<1, 1, 0, a>>>(x); step<<<1, 1, 0, b>>>(x);")), [(2, 2)]);
    assert_eq!(
        races(&program(
            "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);"
        )),
        []
    );
    assert_eq!(
        races(&program(
            "cudaEventRecord(e, a); step<<<1, 1, 0, a>>>(x); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);"
        )),
        [(2, 2)]
    );
    assert_eq!(races(&program("step<<<1, 1>>>(x); step<<<1, 1>>>(x);")), []);
    assert_eq!(
        races(&program("step<<<1, 1, 0, cudaStreamFireAndForget>>>(x); step<<<1, 1, 0, cudaStreamFireAndForget>>>(x);")),
        [(2, 2)]
    );
    assert_eq!(races(&program("step<<<1, 1, 0, cudaStreamTailLaunch>>>(x); step<<<1, 1, 0, cudaStreamTailLaunch>>>(x);")), []);
}

#[test]
fn threads_of_a_block() {
    let block = |body: &str| {
        races(&format!(
            "kernel k(x: *global i32) {{\n    shared s: [i32; 64];\n    let t = threadIdx.x as i32;\n    {body}\n}}\nhost fn main() {{ let x = device(i32, 64); k<<<2, 64>>>(x); cudaDeviceSynchronize(); }}\n"
        ))
    };
    assert_eq!(block("s[t] = t;\n    __syncthreads();\n    let y = s[63 - t];\n    if y < 0 { printf(\"%d\", y); }"), []);
    assert_eq!(block("s[t] = t;\n    let y = s[63 - t];\n    if y < 0 { printf(\"%d\", y); }"), [(4, 5)]);
    assert_eq!(block("s[t] = t;\n    __syncwarp();\n    let y = s[t ^ 1];\n    if y < 0 { printf(\"%d\", y); }"), []);
    assert_eq!(block("s[t] = t;\n    __syncwarp();\n    let y = s[t ^ 32];\n    if y < 0 { printf(\"%d\", y); }"), [(4, 6)]);
    // both blocks write the same element
    assert_eq!(block("if t == 0 { x[0] = 1; }"), [(4, 4)]);
    assert_eq!(block("if t == 0 { atomicAdd(&x[0], 1); }"), []);
    assert_eq!(block("if t == 0 { atomicAdd_block(&x[0], 1); }"), [(4, 4)]);
    assert_eq!(block("atomicAdd_block(&x[blockIdx.x], 1);"), []);
    // reading is no race
    assert_eq!(block("let y = x[0];\n    if y < 0 { printf(\"%d\", y); }"), []);
}

#[test]
fn the_last_block_sees_the_others_through_a_fence() {
    let program = |fence: &str| {
        format!(
            "global var count: u32 = 0;\nkernel k(x: *global i32) {{\n    x[blockIdx.x] = blockIdx.x as i32;\n    {fence}\n    if atomicAdd(&count, 1) == 15 {{\n        var s = 0;\n        for i in 0..16 {{ s += x[i]; }}\n        x[16] = s;\n    }}\n}}\nhost fn main() {{ let x = device(i32, 17); k<<<16, 1>>>(x); cudaDeviceSynchronize(); assert(x[16] == 120); }}\n"
        )
    };
    assert_eq!(races(&program("__threadfence();")), []);
    assert_eq!(races(&program("")), [(3, 7)]);
    assert_eq!(races(&program("__threadfence_block();")), [(3, 7)]);
}

#[test]
fn host_work_in_two_streams() {
    let program = |second: &str| {
        format!(
            "kernel step(x: *global i32) {{\n    x[0] = x[0] + 1;\n}}\nhost fn main() {{\n    let x = device(i32, 1);\n    var a: cudaStream_t;\n    var b: cudaStream_t;\n    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);\n    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);\n    step<<<1, 1, 0, a>>>(x);\n    step<<<1, 1, 0, {second}>>>(x);\n    cudaDeviceSynchronize();\n}}\n"
        )
    };
    assert_eq!(races(&program("a")), []);
    assert_eq!(races(&program("b")), [(2, 2)]);
}

#[test]
fn what_was_never_written_is_reported_once_and_no_race() {
    let text = "kernel k(x: *global i32) {\n    shared s: [i32; 64];\n    let t = threadIdx.x as i32;\n    x[t] = s[t];\n}\nhost fn main() { let x = device(i32, 64); k<<<1, 64>>>(x); cudaDeviceSynchronize(); }\n";
    let ran = support::compile(text).run_scheduled("main", None, Schedule::Late, true);
    let codes: Vec<&str> = ran.outcome.diagnostics.iter().map(|d| d.code.id()).collect();
    assert_eq!(codes, ["E0741"], "{}", ran.rendering);
}

#[test]
fn a_report_shows_both_sides_and_the_missing_edge() {
    let text = "kernel child(x: *global i32) {\n    x[1] += 1;\n}\nkernel parent(x: *global i32) {\n    x[threadIdx.x] = 1;\n    if threadIdx.x == 0 { child<<<1, 1>>>(x); }\n}\nhost fn main() { let x = device(i32, 64); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); }\n";
    let ran = support::compile(text).run_scheduled("main", None, Schedule::Late, true);
    for part in [
        "a write and a read of the same memory race",
        "read here by thread (0, 0, 0) of block (0, 0, 0) of `child`",
        "written here by thread (1, 0, 0) of block (0, 0, 0) of `parent`, and nothing orders the two",
        "`child` was launched here, by thread (0, 0, 0) of block (0, 0, 0)",
        "`__syncthreads()` before the launch",
    ] {
        assert!(ran.rendering.contains(part), "{part}\n{}", ran.rendering);
    }
}

/// A value goes from one thread to a second one and on to a third: the blocks that they are in, and what the first two fence.
fn handed_on([first, second, third]: [u32; 3], fences: [&str; 2]) -> Vec<(u32, u32)> {
    let [one, two] = fences;
    races(&format!(
        "kernel k(x: *global i32) {{\n    if blockIdx.x == {first} && threadIdx.x == 0 {{ x[0] = 7; {one}(); atomicExch(x + 1, 1); }}\n    if blockIdx.x == {second} && threadIdx.x == 32 {{ while atomicAdd(x + 1, 0) == 0 {{}} {two}(); atomicExch(x + 2, 1); }}\n    if blockIdx.x == {third} && threadIdx.x == 64 {{ while atomicAdd(x + 2, 0) == 0 {{}} x[3] = x[0]; }}\n}}\nhost fn main() {{ let x = device(i32, 4); k<<<3, 96>>>(x); cudaDeviceSynchronize(); assert(x[3] == 7); }}\n"
    ))
}

#[test]
fn a_fence_of_the_block_hands_on_within_it_only_and_what_was_learnt_there_goes_on() {
    let (block, device) = ("__threadfence_block", "__threadfence");
    assert_eq!(handed_on([0, 1, 2], [device, device]), []);
    // within the block, then out of it
    assert_eq!(handed_on([0, 0, 1], [block, device]), []);
    assert_eq!(handed_on([0, 1, 1], [device, block]), []);
    // the first or the second one does not leave its block
    assert_eq!(handed_on([0, 1, 1], [block, device]), [(2, 4)]);
    assert_eq!(handed_on([0, 1, 2], [device, block]), [(2, 4)]);
}
