//! What orders two accesses and what does not, in variations: each program is run in every order, and the lines marked `//~` are those
//! that the reports show as their two sides; without a mark nothing is reported.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::Schedule;
use std::collections::BTreeSet;

const SCHEDULES: [Schedule; 6] = [
    Schedule::Late,
    Schedule::Eager,
    Schedule::Random { seed: 1 },
    Schedule::Random { seed: 2 },
    Schedule::Random { seed: 3 },
    Schedule::Random { seed: 4 },
];

/// Runs a program whose `parent` has one block of 64 threads, unless the text has a `main` of its own.
#[track_caller]
fn check(text: &str) {
    let main = "host fn main() { let x = device(i32, 256); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); }\n";
    let text = if text.contains("host fn main") { text.to_owned() } else { format!("{text}\n{main}") };
    let marked = text.lines().enumerate().filter(|(_, line)| line.contains("//~"));
    let expected: BTreeSet<u32> = marked.map(|(index, _)| index as u32 + 1).collect();
    let compiled = support::compile(&text);
    for schedule in SCHEDULES {
        let ran = compiled.run_scheduled("main", Some(50_000_000), schedule, true);
        let line = |span| compiled.sources.line_column(span).line;
        let mut found = BTreeSet::new();
        for report in &ran.outcome.diagnostics {
            assert_eq!(report.code.id(), "E0740", "{schedule:?}\n{}", ran.rendering);
            found.insert(line(report.primary.span));
            found.insert(line(report.secondary[0].span));
        }
        assert_eq!(found, expected, "{schedule:?}\n{}\n{text}", ran.rendering);
    }
}

/// A parent with streams and an event, run by one thread.
fn streams(kernels: &str, body: &str) -> String {
    format!(
        "{kernels}
kernel parent(x: *global i32) {{
    if threadIdx.x != 0 {{ return; }}
    var a: cudaStream_t;
    var b: cudaStream_t;
    var c: cudaStream_t;
    var e: cudaEvent_t;
    var f: cudaEvent_t;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&c, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&f, cudaEventDisableTiming);
    {body}
}}"
    )
}

const STEP: &str = "kernel step(x: *global i32) { x[0] = x[0] + 1; }";
const STEP_RACES: &str = "kernel step(x: *global i32) { x[0] = x[0] + 1; } //~";

#[test]
fn widths_and_overlaps() {
    // the last byte of eight
    check(
        "kernel child(x: *global i32) { (x as *global u8)[15] = 1; } //~
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    let y = (x as *global u64)[1]; x[40] = y as i32; //~
}",
    );
    // the byte behind it
    check(
        "kernel child(x: *global i32) { (x as *global u8)[16] = 1; }
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    let y = (x as *global u64)[1]; x[40] = y as i32;
}",
    );
    // neighbouring bytes of one word, by parent and child
    check(
        "kernel child(x: *global i32) { (x as *global i8)[2] = 1; }
kernel parent(x: *global i32) {
    child<<<1, 1>>>(x);
    if threadIdx.x < 2 { (x as *global i8)[threadIdx.x] = 1; }
    if threadIdx.x == 5 { (x as *global i16)[2] = 1; }
}
host fn main() { let x = device(i32, 4); parent<<<1, 1>>>(x); cudaDeviceSynchronize(); }",
    );
    // three lanes are twelve bytes
    check(
        "kernel child(x: *global i32) { x[3] = 1; }
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    (x as *global i32x3)[0] = i32x3(7);
}",
    );
    check(
        "kernel child(x: *global i32) { x[2] = 1; } //~
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    (x as *global i32x3)[0] = i32x3(7); //~
}",
    );
    // a wide access after many narrow ones, and the other way round
    check(
        "kernel bytes(x: *global i32) { (x as *global u8)[threadIdx.x] = 1; } //~
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    bytes<<<1, 64>>>(x);
    (x as *global f64x2)[3] = f64x2(0.0); //~
}",
    );
}

#[test]
fn fills_and_copies_touch_their_rows_only() {
    let program = |mark: &str, index: u32| {
        format!(
            "kernel parent(x: *global i32) {{
    if threadIdx.x != 0 {{ return; }}
    let error = cudaMemset2DAsync(x, 16, 0, 8, 4, cudaStreamDefault); {mark}
    assert(error == cudaSuccess);
    x[{index}] = 5; {mark}
}}"
        )
    };
    check(&program("", 2));
    check(&program("//~", 5));
    check(&program("", 18));
    // what is copied from must stay as it is, too
    check(
        "kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    let error = cudaMemcpyAsync(x + 64, x, 64, cudaMemcpyDeviceToDevice, cudaStreamDefault); //~
    assert(error == cudaSuccess);
    x[15] = 5; //~
}",
    );
    check(
        "kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    let error = cudaMemcpyAsync(x + 64, x, 64, cudaMemcpyDeviceToDevice, cudaStreamDefault);
    assert(error == cudaSuccess);
    x[16] = x[15];
}",
    );
    // a copy in the tail comes after everything
    check(
        "kernel child(x: *global i32) { x[0] = 1; }
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    let error = cudaMemcpyAsync(x + 64, x, 64, cudaMemcpyDeviceToDevice, cudaStreamTailLaunch);
    assert(error == cudaSuccess);
    x[1] = 2;
}",
    );
}

#[test]
fn atomic_operations() {
    let program = |child: &str, parent: &str| {
        format!(
            "kernel child(x: *global i32) {{
    {child}
}}
kernel parent(x: *global i32) {{
    if threadIdx.x != 0 {{ return; }}
    child<<<1, 1>>>(x);
    {parent}
}}"
        )
    };
    check(&program("atomicAdd(x, 1);", "atomicMax(x, 7);"));
    check(&program("atomicAdd_system(x, 1);", "atomicAdd(x, 7);"));
    // the scope of a block does not reach the child
    check(&program("atomicAdd(x, 1); //~", "atomicAdd_block(x, 1); //~"));
    check(&program("x[0] = 1; //~", "atomicAdd(x, 1); //~"));
    check(&program("let y = x[0]; x[9] = y; //~", "atomicAdd(x, 1); //~"));
    // neighbours
    check(&program("atomicAdd(x, 1);", "x[1] = 1;"));
    // of two widths, which are not atomic with each other (PTX ISA, memory consistency model)
    check(&program("atomicAdd(x as *global u64, 1); //~", "atomicAdd(x, 1); //~"));
    check(&program("atomicAdd(x as *global u64, 1); //~", "atomicAdd(x + 1, 1); //~"));
    check(&program("atomicAdd(x as *global u64, 1);", "atomicAdd(x + 2, 1);"));
}

#[test]
fn a_plain_read_before_an_atomic_operation_is_not_forgotten() {
    // the read of one block and the atomic operation of another, whichever comes first
    check(
        "kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    let y = x[0]; //~
    x[1 + blockIdx.x] = y;
    atomicAdd(x, 1); //~
}
host fn main() { let x = device(i32, 8); parent<<<2, 1>>>(x); cudaDeviceSynchronize(); }",
    );
    // so does a loop that starts with a guess
    check(
        "kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    var old = x[0]; //~
    loop {
        let seen = atomicCAS(x, old, old + 3); //~
        if seen == old { break; }
        old = seen;
    }
}
host fn main() { let x = device(i32, 1); parent<<<4, 1>>>(x); cudaDeviceSynchronize(); }",
    );
    check(
        "kernel parent(x: *global i32) {
    var old = atomicAdd(x, 0);
    loop {
        let seen = atomicCAS(x, old, old + 3);
        if seen == old { break; }
        old = seen;
    }
}
host fn main() { let x = device(i32, 1); parent<<<4, 32>>>(x); cudaDeviceSynchronize(); }",
    );
}

#[test]
fn fences() {
    let program = |writer: &str, reader: &str| {
        format!(
            "kernel writer(x: *global i32) {{
    {writer}
}}
kernel reader(x: *global i32) {{
    if atomicAdd(x + 1, 0) != 0 {{
        {reader}
    }}
}}
kernel parent(x: *global i32) {{
    if threadIdx.x != 0 {{ return; }}
    var a: cudaStream_t;
    var b: cudaStream_t;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    writer<<<1, 1, 0, a>>>(x);
    reader<<<1, 1, 0, b>>>(x);
}}
host fn main() {{
    let x = device(i32, 4);
    parent<<<1, 1>>>(x);
    cudaDeviceSynchronize();
}}"
        )
    };
    // whatever the order: where the flag is not seen, nothing is read
    check(&program("x[0] = 7; __threadfence(); atomicExch(x + 1, 1);", "x[2] = x[0];"));
    check(&program("x[0] = 7; __threadfence_system(); atomicExch(x + 1, 1);", "x[2] = x[0];"));
    // a fence of the block, a fence that comes too early, and none: in the order in which the flag is seen
    for writer in [
        "x[0] = 7; __threadfence_block(); atomicExch(x + 1, 1);",
        "__threadfence(); x[0] = 7; atomicExch(x + 1, 1);",
        "x[0] = 7; atomicExch(x + 1, 1); __threadfence();",
    ] {
        let compiled = support::compile(&program(writer, "x[2] = x[0];"));
        let ran = compiled.run_scheduled("main", None, Schedule::Late, true);
        let lines: Vec<u32> = ran
            .outcome
            .diagnostics
            .iter()
            .flat_map(|d| [d.primary.span, d.secondary[0].span])
            .map(|span| compiled.sources.line_column(span).line)
            .collect();
        assert_eq!(lines, [6, 2], "{writer}\n{}", ran.rendering);
    }
}

#[test]
fn what_one_thread_learns_goes_on_with_barriers_and_launches() {
    let program = |rest: &str| {
        format!(
            "global var count: u32 = 0;
kernel child(x: *global i32) {{ x[9] = x[0] + x[3]; }}
kernel parent(x: *global i32) {{
    shared last: bool;
    if threadIdx.x == 0 {{
        x[blockIdx.x] = 1;
        __threadfence();
        last = atomicAdd(&count, 1) == 3;
    }}
    __syncthreads();
    {rest}
}}
host fn main() {{ let x = device(i32, 64); parent<<<4, 64>>>(x); cudaDeviceSynchronize(); }}"
        )
    };
    check(&program("if last && threadIdx.x == 40 { x[9] = x[0] + x[3]; }"));
    check(&program("if last && threadIdx.x == 40 { child<<<1, 1>>>(x); }"));
}

#[test]
fn warps() {
    // shuffles and votes order nothing
    check(
        "kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    x[t] = t; //~
    let y = __shfl_sync(0xffffffff, t, 3);
    x[100 + t] = x[t ^ 1] + y; //~
}",
    );
    check(
        "kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    x[t] = t;
    let n = __syncthreads_count(t > 3);
    x[100 + t] = x[t ^ 33] + n as i32;
}",
    );
    // lanes that the mask does not name
    check(
        "kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    if t >= 32 { return; }
    x[t] = t; //~
    if t < 16 { __syncwarp(0xffff); } else { __syncwarp(0xffff0000); }
    x[100 + t] = x[t ^ 16]; //~
}",
    );
    check(
        "kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    if t >= 32 { return; }
    x[t] = t;
    if t < 16 { __syncwarp(0xffff); } else { __syncwarp(0xffff0000); }
    x[100 + t] = x[t ^ 8];
}",
    );
    // what a lane knows of another is kept apart from what it does itself later
    check(
        "kernel child(x: *global i32) { x[0] = 7; }
kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    if t >= 2 { return; }
    x[10 + t] = x[0];
    __syncwarp(3);
    if t == 0 {
        x[12] = x[0];
        child<<<1, 1>>>(x);
    }
}",
    );
    check(
        "kernel child(x: *global i32) { x[0] = 7; } //~
kernel parent(x: *global i32) {
    let t = threadIdx.x as i32;
    if t >= 2 { return; }
    __syncwarp(3);
    if t == 1 { x[11] = x[0]; } //~
    if t == 0 {
        x[12] = x[0];
        child<<<1, 1>>>(x);
    }
}",
    );
}

#[test]
fn events() {
    // through a third stream
    check(&streams(
        STEP,
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0);
    cudaEventRecord(f, b); cudaStreamWaitEvent(c, f, 0); step<<<1, 1, 0, c>>>(x);",
    ));
    // recorded twice: the later time counts
    check(&streams(
        STEP,
        "cudaEventRecord(e, a); step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);",
    ));
    check(&streams(
        STEP_RACES,
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaEventRecord(e, c); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);",
    ));
    // waited for before it is recorded
    check(&streams(
        STEP_RACES,
        "cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); step<<<1, 1, 0, b>>>(x);",
    ));
    // destroyed once it is waited for
    check(&streams(
        STEP,
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); cudaEventDestroy(e); step<<<1, 1, 0, b>>>(x);",
    ));
    // what waits goes on for the rest of the stream
    check(&streams(
        "kernel step(x: *global i32) { x[0] = x[0] + 1; }\nkernel other(x: *global i32) { x[5] = 1; }",
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); other<<<1, 1, 0, b>>>(x); step<<<1, 1, 0, b>>>(x);",
    ));
    // the block's NULL stream has events like others, and orders no other stream
    check(&streams(
        STEP,
        "step<<<1, 1>>>(x); cudaEventRecord(e, cudaStreamDefault); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);",
    ));
    check(&streams(
        STEP,
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(cudaStreamDefault, e, 0); step<<<1, 1>>>(x);",
    ));
    check(&streams(STEP_RACES, "step<<<1, 1, 0, a>>>(x); step<<<1, 1>>>(x);"));
    // a stream that is destroyed orders nothing with a new one
    check(&streams(
        STEP_RACES,
        "step<<<1, 1, 0, a>>>(x); cudaStreamDestroy(a); cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking); step<<<1, 1, 0, a>>>(x);",
    ));
}

#[test]
fn tails_and_generations() {
    let kernels = |child: &str| {
        format!(
            "kernel leaf(x: *global i32) {{ x[0] = 1; }}
kernel child(x: *global i32) {{ {child} }}
kernel sum(x: *global i32) {{ x[1] = x[0]; }}"
        )
    };
    let families = [
        ("leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(x);", "the tail of a child"),
        ("leaf<<<1, 1, 0, cudaStreamFireAndForget>>>(x);", "a grandchild that nobody waits for"),
        ("leaf<<<1, 1>>>(x);", "a grandchild"),
        ("x[0] = 1;", "a child"),
    ];
    for (child, what) in families {
        let sound = [
            "child<<<1, 1>>>(x); sum<<<1, 1, 0, cudaStreamTailLaunch>>>(x);",
            "child<<<1, 1>>>(x); sum<<<1, 1>>>(x);",
            "sum<<<1, 1, 0, cudaStreamTailLaunch>>>(x); child<<<1, 1, 0, cudaStreamFireAndForget>>>(x);",
            "child<<<1, 1, 0, cudaStreamTailLaunch>>>(x); sum<<<1, 1, 0, cudaStreamTailLaunch>>>(x);",
            "child<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); sum<<<1, 1, 0, b>>>(x);",
        ];
        for body in sound {
            println!("{what}: {body}");
            check(&streams(&kernels(child), body));
        }
    }
    // the same without an order
    check(&streams(
        "kernel leaf(x: *global i32) { x[0] = 1; } //~
kernel child(x: *global i32) { leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(x); }
kernel sum(x: *global i32) { x[1] = x[0]; } //~",
        "child<<<1, 1>>>(x); sum<<<1, 1, 0, a>>>(x);",
    ));
    // every block of a grid is before its tail, and before what follows in the stream
    check(
        "kernel sum(x: *global i32) { for i in 0..8 { x[8] += x[i]; } }
kernel parent(x: *global i32) {
    if blockIdx.x == 0 { sum<<<1, 1, 0, cudaStreamTailLaunch>>>(x); }
    x[blockIdx.x] = 1;
}
host fn main() { let x = device(i32, 9); parent<<<8, 1>>>(x); sum<<<1, 1>>>(x); cudaDeviceSynchronize(); }",
    );
    // a tail's own child is before the next tail, not before the tail itself reads
    check(
        "kernel leaf(x: *global i32) { x[0] = 1; } //~
kernel tail(x: *global i32) { leaf<<<1, 1>>>(x); x[1] = x[0]; } //~
kernel parent(x: *global i32) { if threadIdx.x == 0 { tail<<<1, 1, 0, cudaStreamTailLaunch>>>(x); } }",
    );
}

#[test]
fn two_generations_need_two_barriers() {
    let program = |barrier: &str, mark: &str| {
        format!(
            "kernel leaf(x: *global i32) {{ x[200] = x[31] + x[100]; }} {mark}
kernel child(x: *global i32) {{
    x[100 + threadIdx.x] = 1;
    {barrier}
    if threadIdx.x == 32 {{ leaf<<<1, 1>>>(x); }}
}}
kernel parent(x: *global i32) {{
    x[threadIdx.x] = 1;
    __syncthreads();
    if threadIdx.x == 5 {{ child<<<1, 64>>>(x); }}
}}"
        )
    };
    check(&program("__syncthreads();", ""));
    check(&program("", "//~").replace("x[100 + threadIdx.x] = 1;", "x[100 + threadIdx.x] = 1; //~"));
}

#[test]
fn one_thread_between_two_launches() {
    check(
        "kernel child(x: *global i32, i: i32) { x[i + 1] = x[i]; }
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    x[0] = 1;
    child<<<1, 1>>>(x, 0);
    x[10] = 2;
    child<<<1, 1>>>(x, 10);
    child<<<1, 1>>>(x, 1);
}",
    );
    check(
        "kernel child(x: *global i32, i: i32) { x[i + 1] = x[i]; } //~
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x, 10);
    x[10] = 2; //~
    child<<<1, 1>>>(x, 20);
}",
    );
    // two threads take turns at one stream, with barriers between them
    check(
        "kernel child(x: *global i32, i: i32) { x[i + 1] = x[i] + 1; }
kernel parent(x: *global i32) {
    for i in 0..6 {
        __syncthreads();
        if threadIdx.x as i32 == i * 10 { child<<<1, 1>>>(x, i); }
    }
}
host fn main() { let x = device(i32, 8); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); assert(x[6] == 6); }",
    );
}

#[test]
fn variables_and_memory_of_the_heap() {
    check(
        "global var limit: i32 = 3;
kernel child(x: *global i32) { x[0] = limit; } //~
kernel parent(x: *global i32) {
    if threadIdx.x != 0 { return; }
    child<<<1, 1>>>(x);
    limit = 4; //~
}",
    );
    // given back in a tail, or by another thread behind a barrier
    check(
        "kernel child(p: *global i32) { p[0] = 1; }
kernel done(p: *global i32) { free(p); }
kernel parent(x: *global i32) {
    shared p: *global i32;
    if threadIdx.x == 0 {
        p = malloc(64) as *global i32;
        child<<<1, 1>>>(p);
        done<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
    }
    __syncthreads();
    if threadIdx.x == 0 { p = malloc(256) as *global i32; }
    __syncthreads();
    p[threadIdx.x] = 1;
    __syncthreads();
    if threadIdx.x == 63 { free(p); }
}",
    );
}

#[test]
fn the_host_and_its_streams() {
    let program = |step: &str, body: &str| {
        format!(
            "{step}
host fn main() {{
    let x = device(i32, 4);
    var a: cudaStream_t;
    var b: cudaStream_t;
    var e: cudaEvent_t;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    {body}
    cudaDeviceSynchronize();
}}"
        )
    };
    check(&program(
        STEP,
        "step<<<1, 1, 0, a>>>(x); cudaEventRecord(e, a); cudaStreamWaitEvent(b, e, 0); step<<<1, 1, 0, b>>>(x);",
    ));
    check(&program(STEP, "step<<<1, 1, 0, a>>>(x); cudaStreamSynchronize(a); step<<<1, 1, 0, b>>>(x);"));
    check(&program(STEP_RACES, "step<<<1, 1, 0, a>>>(x); step<<<1, 1, 0, b>>>(x);"));
    // the default stream waits for streams that are made without a flag, and they for it
    let blocking = "var c: cudaStream_t; cudaStreamCreateWithFlags(&c, 0);";
    check(&program(STEP, &format!("{blocking} step<<<1, 1, 0, c>>>(x); step<<<1, 1>>>(x); step<<<1, 1, 0, c>>>(x);")));
    check(&program(STEP_RACES, "step<<<1, 1, 0, a>>>(x); step<<<1, 1>>>(x);"));
}
