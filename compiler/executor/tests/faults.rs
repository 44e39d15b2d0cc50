//! Mistakes that a GPU hides, each reported at its place.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use cdp_executor::Status;
use support::{found, printed, run};

/// A kernel of one thread with a buffer `x` of ten elements, and the host code that runs it.
fn kernel(body: &str) -> String {
    format!(
        "kernel k(x: *global i32, zero: i32) {{\n{body}\n}}\nhost fn main() {{ let x = device(i32, 10); k<<<1, 1>>>(x, 0); cudaDeviceSynchronize(); }}\n"
    )
}

/// The faults of a kernel's body, which starts at line 2.
fn check(body: &str, expected: &[&str]) {
    let text = kernel(body);
    assert_eq!(found(&text), expected, "{}", run(&text).rendering);
}

#[test]
fn out_of_bounds() {
    check("x[9] = 1;", &[]);
    check("x[zero + 10] = 1;", &["E0724@2 x[zero + 10] = 1;"]);
    check("x[zero - 1] = 1;", &["E0724@2 x[zero - 1] = 1;"]);
    check("let y = x[zero + 12]; x[0] = y;", &["E0724@2 x[zero + 12]"]);
    check("shared s: [i32; 4];\ns[zero + 4] = 1;", &["E0724@3 s[zero + 4] = 1;"]);
    check("shared s: [i32; 4];\nlet p = &s[0];\np[zero + 4] = 1;", &["E0724@4 p[zero + 4] = 1;"]);
    check("var a: [i32; 3] = [1, 2, 3];\nx[0] = a[zero + 3];", &["E0724@3 a[zero + 3]"]);
}

#[test]
fn the_buffer_is_named_with_its_size() {
    let ran = run(&kernel("x[zero + 12] = 1;"));
    assert!(ran.rendering.contains("index 12 is outside the buffer `x` of 10 elements of `i32`"), "{}", ran.rendering);
    assert!(ran.rendering.contains("made here"), "{}", ran.rendering);
    assert!(ran.rendering.contains("thread (0, 0, 0) of block (0, 0, 0) of `k`"), "{}", ran.rendering);
    assert_eq!(ran.outcome.status, Status::RuntimeError);
}

#[test]
fn null_misaligned_and_constant() {
    check("let p = zero as u64 as *global i32;\n*p = 1;", &["E0725@3 *p = 1;"]);
    check("let p = (x as u64 + 2) as *global i32;\n*p = 1;", &["E0726@3 *p = 1;"]);
}

#[test]
fn arithmetic() {
    check("x[0] = 2147483647 - zero;\nx[0] += 1;", &["E0721@3 x[0] += 1;"]);
    check("x[0] = 7 / zero;", &["E0722@2 7 / zero"]);
    check("x[0] = 1 << (zero + 32);", &["E0723@2 1 << (zero + 32)"]);
    check("x[0] = -(-2147483647 - 1 + zero);", &["E0721@2 -(-2147483647 - 1 + zero)"]);
    check("x[0] = wrapping_add(2147483647, 1 - zero);", &[]);
}

#[test]
fn device_memory_given_back() {
    check("let p = malloc(64) as *global i32;\np[0] = 1;\nfree(p as *void);\np[1] = 2;", &["E0728@5 p[1] = 2;"]);
    check("let p = malloc(64);\nfree(p);\nfree(p);", &["E0728@4 free(p)"]);
}

#[test]
fn reads_of_what_was_never_written() {
    check("let p = malloc(64) as *global i32;\np[0] = 1;\nx[0] = p[0];\nx[1] = p[1];", &["E0741@5 p[1]"]);
    check("shared s: [i32; 4];\ns[zero] = 1;\nx[0] = s[0];\nx[1] = s[zero + 1];", &["E0741@5 s[zero + 1]"]);
    check("shared s: [i32; 4];\natomicAdd(&s[zero], 1);", &["E0741@3 atomicAdd(&s[zero], 1)"]);
    check("x[0] = x[1];", &[]);
}

#[test]
fn barriers_that_not_every_thread_reaches() {
    let block = |body: &str| {
        format!(
            "kernel k(x: *global i32) {{\n{body}\n}}\nhost fn main() {{ let x = device(i32, 64); k<<<1, 64>>>(x); cudaDeviceSynchronize(); }}\n"
        )
    };
    let text = block("if threadIdx.x == 5 { return; }\n__syncthreads();");
    assert_eq!(found(&text), ["E0733@3 __syncthreads()"]);
    assert!(run(&text).rendering.contains("thread (5, 0, 0), which has ended"), "{}", run(&text).rendering);
    let text = block("if threadIdx.x < 32 { __syncthreads(); } else { let n = __syncthreads_count(true); x[0] = n; }");
    assert!(found(&text).first().is_some_and(|fault| fault.starts_with("E0733")), "{:?}", found(&text));
    // a warp operation whose mask names a lane that waits elsewhere
    let text = block("if threadIdx.x == 3 { __syncthreads(); } else { __syncwarp(); __syncthreads(); }");
    assert_eq!(found(&text), ["E0733@2 __syncwarp()"]);
    let text = block("if threadIdx.x % 32 == 3 { __syncwarp(8); } else { __syncwarp(0xfffffff7); }\n__syncthreads();");
    assert_eq!(found(&text), Vec::<String>::new());
    let text = block("if threadIdx.x % 32 == 3 { __syncwarp(4); }");
    assert_eq!(found(&text), ["E0733@2 __syncwarp(4)"]);
}

#[test]
fn a_fault_shows_the_launches_that_led_there() {
    let ran = run(
        "kernel child(x: *global i32, i: i32) {\n    x[i] = 1;\n}\nkernel parent(x: *global i32) {\n    let e = child<<<1, 1>>>(x, threadIdx.x as i32 + 8);\n    if e != cudaSuccess { x[0] = 0; }\n}\nhost fn main() {\n    let x = device(i32, 10);\n    parent<<<1, 4>>>(x);\n    cudaDeviceSynchronize();\n}\n",
    );
    assert_eq!(ran.outcome.diagnostics.len(), 1, "{}", ran.rendering);
    assert!(ran.rendering.contains("`child` was launched here, by thread (2, 0, 0) of block (0, 0, 0)"), "{}", ran.rendering);
}

#[test]
fn nothing_runs_after_a_fault_and_the_host_sees_the_error() {
    let output = run(
        "kernel bad(x: *global i32, i: i32) { x[i] = 1; }\nkernel good(x: *global i32) { x[0] = 7; printf(\"never\\n\"); }\nhost fn main() {\n    let x = device(i32, 1);\n    bad<<<1, 1>>>(x, 5);\n    let first = cudaDeviceSynchronize();\n    good<<<1, 1>>>(x);\n    let second = cudaGetLastError();\n    printf(\"%s %s\\n\", cudaGetErrorName(first), cudaGetErrorName(second));\n}\n",
    );
    assert_eq!(output.output, "cudaErrorIllegalAddress cudaErrorIllegalAddress\n");
    assert_eq!(output.outcome.diagnostics.len(), 1, "{}", output.rendering);
    assert_eq!(output.outcome.status, Status::RuntimeError);
}

#[test]
fn device_assertions() {
    check("assert(zero == 0, \"fine\");", &[]);
    let text = kernel("assert(zero == 1, \"zero is %d\", zero);");
    assert_eq!(found(&text), ["E0720@2 assert(zero == 1, \"zero is %d\", zero)"]);
    assert!(run(&text).rendering.contains("zero is 0"));
}

#[test]
fn handles() {
    let grid = |body: &str| {
        format!(
            "kernel child() {{ }}\nkernel k(keep: *global cudaStream_t, round: i32) {{\n{body}\n}}\nhost fn main() {{ let keep = device(cudaStream_t, 1); k<<<1, 1>>>(keep, 0); k<<<1, 1>>>(keep, 1); cudaDeviceSynchronize(); }}\n"
        )
    };
    let text = grid(
        "var s: cudaStream_t;\ncudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);\ncudaStreamDestroy(s);\nchild<<<1, 1, 0, s>>>();",
    );
    assert_eq!(found(&text), ["E0734@6 child<<<1, 1, 0, s>>>()"]);
    let text = grid(
        "if round == 0 { cudaStreamCreateWithFlags(keep, cudaStreamNonBlocking); }\nelse { child<<<1, 1, 0, keep[0]>>>(); }",
    );
    assert_eq!(found(&text), ["E0734@4 child<<<1, 1, 0, keep[0]>>>()"]);
}

#[test]
fn launch_errors_that_nobody_looks_at() {
    let text = |body: &str| {
        format!(
            "kernel child(n: i32) {{ }}\nkernel k(n: u32) {{\n{body}\n}}\nhost fn main() {{ k<<<2, 4>>>(0); cudaDeviceSynchronize(); }}\n"
        )
    };
    let unseen = text("child<<<n, 1>>>(1);");
    assert_eq!(found(&unseen), ["E0732@3 child<<<n, 1>>>(1)"]);
    assert!(run(&unseen).rendering.contains("this happened 8 times"), "{}", run(&unseen).rendering);
    assert_eq!(
        found(&text("let e = child<<<n, 1>>>(1);\nif e != cudaSuccess { printf(\"%d\\n\", e as i32); }")),
        Vec::<String>::new()
    );
    assert_eq!(
        found(&text("child<<<n, 1>>>(1);\nlet e = cudaGetLastError();\nif e != cudaSuccess { return; }")),
        Vec::<String>::new()
    );
    assert_eq!(found(&text("child<<<n + 1, 1>>>(1);")), Vec::<String>::new());
}

#[test]
fn configurations_are_refused_as_on_the_card() {
    let output = printed(
        "kernel child() { }\n@launch_bounds(64) kernel bounded() { }\nkernel k(zero: u32) {\n    let a = child<<<zero, 1>>>();\n    let b = child<<<1, zero + 1025>>>();\n    let c = child<<<1, dim3(1, 1, zero + 65)>>>();\n    let d = child<<<dim3(1, zero + 65536, 1), 1>>>();\n    let e = child<<<1, 1, zero + 49153>>>();\n    let f = bounded<<<1, zero + 65>>>();\n    let g = bounded<<<1, 64, 49152>>>();\n    printf(\"%d %d %d %d %d %d %d\\n\", a as i32, b as i32, c as i32, d as i32, e as i32, f as i32, g as i32);\n}\nhost fn main() { k<<<1, 1>>>(0); cudaDeviceSynchronize(); }\n",
    );
    assert_eq!(output, "9 9 9 9 9 9 0\n");
}

#[test]
fn the_pool_is_full_after_its_size_and_a_spin_is_found() {
    let output = printed(
        "kernel child() { }\nkernel k() {\n    var full = 0;\n    for i in 0..3000 { let e = child<<<1, 1, 0, cudaStreamFireAndForget>>>(); if e == cudaErrorLaunchPendingCountExceeded { full += 1; } }\n    printf(\"%d\\n\", full);\n}\nhost fn main() { k<<<1, 1>>>(); cudaDeviceSynchronize(); }\n",
    );
    assert_eq!(output, "952\n");
    let text = "kernel child(flag: *global i32) { atomicExch(flag, 1); }\nkernel k(flag: *global i32) {\n    let e = child<<<1, 1>>>(flag);\n    if e != cudaSuccess { return; }\n    while atomicAdd(flag, 0) == 0 { }\n}\nhost fn main() { let flag = device(i32, 1); k<<<1, 1>>>(flag); cudaDeviceSynchronize(); }\n";
    assert!(found(text)[0].starts_with("E0743@5"), "{:?}", found(text));
    // what takes long is no spin
    let text = "kernel k(x: *global i32, n: i32) {\n    var s = 0;\n    for i in 0..n { s = (s + x[i % 4] + i) % 1000; }\n    x[0] = s;\n}\nhost fn main() { let x = device(i32, 4); k<<<1, 2>>>(x, 1000000); cudaDeviceSynchronize(); }\n";
    assert_eq!(found(text), Vec::<String>::new());
    // nor is waiting for another thread of the block
    let text = "kernel k(flag: *global i32) {\n    if threadIdx.x == 0 { for i in 0..300000 { if i < 0 { flag[0] = i; } } atomicExch(flag, 1); }\n    else { while atomicAdd(flag, 0) == 0 { } }\n}\nhost fn main() { let flag = device(i32, 1); k<<<1, 4>>>(flag); cudaDeviceSynchronize(); }\n";
    assert_eq!(found(text), Vec::<String>::new());
    // but waiting for another block is
    let text = "kernel k(flag: *global i32) {\n    if blockIdx.x == 1 { atomicExch(flag, 1); }\n    else { while atomicAdd(flag, 0) == 0 { } }\n}\nhost fn main() { let flag = device(i32, 1); k<<<2, 4>>>(flag); cudaDeviceSynchronize(); }\n";
    assert!(found(text)[0].starts_with("E0743@3"), "{:?}", found(text));
}

#[test]
fn private_memory_does_not_go_to_a_child() {
    // through a helper that hides the space, as analysis may not see it
    let text = "struct Box { p: *i32 }\nkernel child(b: Box) { *b.p = 1; }\nkernel k(n: i32, x: *global i32) {\n    shared s: [i32; 4];\n    var q: *i32 = x;\n    if n > 0 { q = &s[0]; }\n    let e = child<<<1, 1>>>(Box(p: q));\n    if e != cudaSuccess { return; }\n}\nhost fn main() { let x = device(i32, 1); k<<<1, 1>>>(1, x); cudaDeviceSynchronize(); }\n";
    let faults = found(text);
    assert!(faults[0].starts_with("E0729@7"), "{faults:?}");
}

#[test]
fn host_mistakes() {
    let host = |body: &str| format!("host fn main() {{\n{body}\n}}\n");
    assert_eq!(found(&host("let x = device(i32, 3);\nlet i = 3;\nx[i] = 1;")), ["E0724@4 x[i] = 1;"]);
    assert_eq!(
        found(&host("let x = device(i32, 3);\nassert(x[0] == 1, \"x is %d\", x[0]);")),
        ["E0720@3 assert(x[0] == 1, \"x is %d\", x[0])"]
    );
    assert_eq!(run(&host("assert(1 + 1 == 3);")).outcome.status, Status::Failed);
    assert_eq!(
        found(&host("var p: *global i32;\ncudaMalloc(&p, 16);\np[3] = 1;\ncudaFree(p);\np[0] = 2;")),
        ["E0728@6 p[0] = 2;"]
    );
}

#[test]
fn a_run_can_be_stopped_from_outside() {
    use cdp_executor::{Control, CpuDevice, CpuOptions, HostProgram, Options};
    use std::sync::Arc;
    let on_the_device =
        kernel("var i = 0i64; while zero == 0 { zero2(); i += 1; }").replace("kernel k", "fn zero2() { }\nkernel k");
    let on_the_host = "host fn main() {\nvar i = 0;\nwhile i < 10 { i = 1; }\n}\n".to_owned();
    for (text, line) in [(on_the_device, 3), (on_the_host, 3)] {
        let compiled = support::compile(&text);
        let control = Arc::new(Control::default());
        let watcher = Arc::clone(&control);
        let stopper = std::thread::spawn(move || {
            while watcher.steps() < 100_000 {
                std::thread::yield_now();
            }
            watcher.stop();
        });
        let options = CpuOptions { control: Some(Arc::clone(&control)), ..CpuOptions::default() };
        let mut device = CpuDevice::new(Arc::clone(&compiled.program), options);
        let mut output = Vec::new();
        let options = Options { control: Some(control), ..Options::default() };
        let outcome = HostProgram::new(&compiled.program, &mut device, &mut output, options).run_function("main").unwrap();
        stopper.join().unwrap();
        let [diagnostic] = outcome.diagnostics.as_slice() else { panic!("{outcome:?}") };
        assert_eq!(diagnostic.code.id(), "E0742");
        assert_eq!(compiled.sources.line_column(diagnostic.primary.span).line, line);
    }
}

#[test]
fn a_loop_with_a_counter_that_waits_for_a_child_is_told_so() {
    // the counter makes every state a new one, so that only the limit on steps ends the loop
    let text = "kernel child(flag: *global i32) { atomicExch(flag, 1); }\nkernel k(flag: *global i32) {\n    let e = child<<<1, 1>>>(flag);\n    if e != cudaSuccess { return; }\n    var tries = 0u32;\n    while atomicAdd(flag, 0) == 0 { tries += 1; }\n}\nhost fn main() { let flag = device(i32, 1); k<<<1, 1>>>(flag); cudaDeviceSynchronize(); }\n";
    let ran = support::compile(text).run("main", Some(3_000_000));
    assert!(ran.rendering.contains("E0730") && ran.rendering.contains("it waits in vain (E0743)"), "{}", ran.rendering);
    // work that changes memory waits for nothing
    let busy = text.replace("tries += 1;", "tries += 1; atomicAdd(flag + 1, 1);").replace("device(i32, 1)", "device(i32, 2)");
    let ran = support::compile(&busy).run("main", Some(3_000_000));
    assert!(ran.rendering.contains("E0730") && !ran.rendering.contains("in vain"), "{}", ran.rendering);
}
