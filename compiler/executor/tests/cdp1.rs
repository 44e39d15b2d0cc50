//! CDP1: threads that wait for the children of their block.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::Schedule;
use support::{compile, races};

const HEAD: &str = "// options: --cdp=1\n";

/// A parent of one block of 64 threads, and its child; both know `x`, a buffer of 64 elements. What races, as lines.
fn family(child: &str, parent: &str) -> Vec<(u32, u32)> {
    let found = races(&format!(
        "{HEAD}kernel child(x: *global i32) {{\n    {child}\n}}\nkernel parent(x: *global i32) {{\n    let t = threadIdx.x as i32;\n    {parent}\n}}\nhost fn main() {{ let x = device(i32, 64); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); }}\n"
    ));
    assert!(found.iter().all(|(code, ..)| *code == "E0740"), "{found:?}");
    found.into_iter().map(|(_, first, second)| (first, second)).collect()
}

/// What `main` prints, the same under many schedules.
fn printed(text: &str) -> String {
    let compiled = compile(&format!("{HEAD}{text}"));
    let drawn = (0..30).map(|seed| Schedule::Random { seed });
    let mut outputs = [Schedule::Late, Schedule::Eager].into_iter().chain(drawn).map(|schedule| {
        let ran = compiled.run_scheduled("main", Some(50_000_000), schedule, true);
        assert!(ran.outcome.diagnostics.is_empty(), "{schedule:?}\n{}", ran.rendering);
        ran.output
    });
    let first = outputs.next().unwrap();
    assert!(outputs.all(|output| output == first), "{first}");
    first
}

#[test]
fn whoever_waits_sees_what_its_children_did() {
    assert_eq!(family("x[0] = 1;", "if t == 0 { child<<<1, 1>>>(x); cudaDeviceSynchronize();\n    x[0] += 1; }"), []);
    // nothing waits, or too early
    assert_eq!(family("x[0] = 1;", "if t == 0 { child<<<1, 1>>>(x);\n    x[0] += 1; }"), [(3, 8)]);
    assert_eq!(family("x[0] = 1;", "if t == 0 { cudaDeviceSynchronize(); child<<<1, 1>>>(x);\n    x[0] += 1; }"), [(3, 8)]);
    // what is launched later is not waited for
    let later = "if t == 0 { child<<<1, 1>>>(x); cudaDeviceSynchronize(); child<<<1, 1>>>(x);\n    x[0] += 1; }";
    assert_eq!(family("x[0] = 1;", later), [(3, 8)]);
    let twice = "if t == 0 { child<<<1, 1>>>(x); cudaDeviceSynchronize();\n    x[0] += 1; child<<<1, 1>>>(x); cudaDeviceSynchronize();\n    x[0] += 1; }";
    assert_eq!(family("x[0] += 1;", twice), []);
}

#[test]
fn other_threads_learn_of_it_at_a_barrier() {
    let wait = "if t == 0 { child<<<1, 1>>>(x); cudaDeviceSynchronize(); }";
    assert_eq!(family("x[1] = 1;", &format!("{wait}\n    __syncthreads();\n    x[t] += 1;")), []);
    assert_eq!(family("x[1] = 1;", &format!("{wait}\n    if t == 1 {{ x[1] += 1; }}")), [(3, 8)]);
}

#[test]
fn a_thread_waits_for_children_of_others_that_a_barrier_tells_it_of() {
    let launch = "if t == 1 { child<<<1, 1>>>(x); }";
    let wait = "if t == 0 { cudaDeviceSynchronize();\n    x[0] += 1; }";
    assert_eq!(family("x[0] = 1;", &format!("{launch}\n    __syncthreads();\n    {wait}")), []);
    assert_eq!(family("x[0] = 1;", &format!("{launch}\n    {wait}")), [(3, 9)]);
    // another thread's waiting is no news by itself
    let both = "if t == 1 { child<<<1, 1>>>(x); cudaDeviceSynchronize(); }\n    if t == 0 { cudaDeviceSynchronize();\n    x[0] += 1; }";
    assert_eq!(family("x[0] = 1;", both), [(3, 9)]);
}

#[test]
fn a_block_does_not_wait_for_the_children_of_another() {
    let text = format!(
        "{HEAD}kernel child(x: *global i32) {{\n    x[0] = 1;\n}}\nkernel parent(x: *global i32) {{\n    if blockIdx.x == 0 {{ child<<<1, 1>>>(x); }} else {{ cudaDeviceSynchronize();\n    x[0] += 1; }}\n}}\nhost fn main() {{ let x = device(i32, 1); parent<<<2, 1>>>(x); cudaDeviceSynchronize(); }}\n"
    );
    let found = races(&text);
    assert_eq!(found.iter().map(|(_, first, second)| (*first, *second)).collect::<Vec<_>>(), [(3, 7)]);
}

#[test]
fn descendants_and_copies_are_waited_for() {
    let text = "kernel leaf(x: *global i32) { x[threadIdx.x] += 1; }
        kernel middle(x: *global i32) { leaf<<<1, 32>>>(x); }
        kernel parent(x: *global i32, y: *global i32) {
            var s: cudaStream_t;
            cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            for i in 0..3 { middle<<<1, 1>>>(x); }
            cudaMemcpyAsync(y + 32, y, 128, cudaMemcpyDeviceToDevice, s);
            assert(cudaDeviceSynchronize() == cudaSuccess);
            cudaStreamDestroy(s);
            var sum = 0;
            for i in 0..32 { sum += x[i] + y[32 + i]; }
            y[0] = sum;
        }
        host fn main() {
            let x = device(i32, 32);
            let y = device(i32, 64);
            for i in 0..32 { y[i] = i; }
            parent<<<1, 1>>>(x, y);
            cudaDeviceSynchronize();
            printf(\"%d\\n\", y[0]);
        }";
    assert_eq!(printed(text), "592\n");
}

/// A chain of grids, each of which waits for the next.
const CHAIN: &str = "kernel chain(x: *global i32, n: i32) {
        if n == 0 { return; }
        let launched = chain<<<1, 1>>>(x + 1, n - 1);
        let waited = cudaDeviceSynchronize();
        x[0] = launched as i32 * 100 + waited as i32;
    }
    host fn main() {
        LIMIT
        let x = device(i32, 40);
        chain<<<1, 1>>>(x, DEPTH);
        cudaDeviceSynchronize();
        for i in 0..DEPTH { printf(\"%d \", x[i]); }
    }";

#[test]
fn only_so_many_levels_may_wait() {
    let run = |limit: &str, depth: &str| printed(&CHAIN.replace("LIMIT", limit).replace("DEPTH", depth));
    assert_eq!(run("", "4"), "0 0 68 68 ");
    assert_eq!(run("cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 3);", "4"), "0 0 0 68 ");
    let deepest = run("cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 24);", "30");
    let levels: Vec<&str> = deepest.split_whitespace().collect();
    // the 24th level launches nothing; what it would have launched never ran
    assert!(levels[..23].iter().all(|level| *level == "0"), "{deepest}");
    assert_eq!(levels[23..25], ["6500", "0"]);
}

#[test]
fn a_child_that_fails_ends_everything() {
    let text = format!(
        "{HEAD}kernel child(x: *global i32) {{ x[64] = 1; }}\nkernel parent(x: *global i32) {{ child<<<1, 1>>>(x); cudaDeviceSynchronize(); printf(\"never\"); }}\nhost fn main() {{ let x = device(i32, 64); parent<<<1, 1>>>(x); cudaDeviceSynchronize(); }}\n"
    );
    for schedule in [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 3 }] {
        let ran = compile(&text).run_scheduled("main", Some(1_000_000), schedule, true);
        assert!(ran.rendering.contains("error[E0724]") && ran.output.is_empty(), "{}{}", ran.rendering, ran.output);
    }
}

#[test]
fn without_it_the_limit_does_not_exist() {
    let text = "host fn main() { var n: u64; printf(\"%d %d\", cudaDeviceGetLimit(&n, cudaLimitDevRuntimeSyncDepth), cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 4)); }";
    assert_eq!(compile(text).run("main", None).output, "215 215");
    assert_eq!(printed(text), "0 0");
}

/// CDP1 has no tail launches that a report could speak of.
#[test]
fn advice_is_of_waiting_and_streams() {
    let programs = [
        ("E0740", "cudaDeviceSynchronize()", "if t == 0 { child<<<1, 1>>>(x); x[0] += 1; }"),
        (
            "E0740",
            "cudaDeviceSynchronize()",
            "var s: cudaStream_t; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); if t == 0 { child<<<1, 1>>>(x); child<<<1, 1, 0, s>>>(x); } cudaStreamDestroy(s);",
        ),
        (
            "E0728",
            "cudaDeviceSynchronize()",
            "if t == 0 { var own: *global i32 = null; if cudaMalloc(&own, 64) != cudaSuccess { return; } child<<<1, 1>>>(own); cudaFree(own); }",
        ),
        ("E0743", "cudaDeviceSynchronize()", "if t == 0 { child<<<1, 1>>>(x); while atomicAdd(&x[0], 0) == 0 {} }"),
    ];
    for (code, advice, parent) in programs {
        let compiled = compile(&format!(
            "{HEAD}kernel child(x: *global i32) {{ atomicExch(x, 0); x[0] = 1; }}\nkernel parent(x: *global i32) {{ let t = threadIdx.x as i32; {parent} }}\nhost fn main() {{ let x = device(i32, 64); parent<<<1, 64>>>(x); cudaDeviceSynchronize(); }}\n"
        ));
        let ran = compiled.run_scheduled("main", Some(50_000_000), Schedule::Late, true);
        assert!(ran.rendering.contains(code) && ran.rendering.contains(advice), "{code}: {}", ran.rendering);
        assert!(!ran.rendering.to_lowercase().contains("tail"), "{}", ran.rendering);
    }
}
