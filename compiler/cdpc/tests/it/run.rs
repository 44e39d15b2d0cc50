//! `run` and `test`: output, verdicts, exit codes; on the reference executor, which is everywhere.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::common::{Place, finish};

const PROGRAM: &str = r#"
kernel fill(out: *global i32, value: i32) {
    out[threadIdx.x] = value;
    printf("device %d\n", value);
}

fn deep(n: i32) -> i32 { return if n == 0 { 0 } else { deep(n - 1) + 1 }; }

test "passes" {
    let x = device(i32, 4);
    fill<<<1, 1>>>(x, 7);
    cudaDeviceSynchronize();
    assert(x[0] == 7);
}

test "wrong value" {
    let x = device(i32, 4);
    fill<<<1, 1>>>(x, 7);
    cudaDeviceSynchronize();
    assert(x[0] == 8, "it is %d", x[0]);
}

test "out of bounds" {
    let x = device(i32, 4);
    fill<<<1, 5>>>(x, 7);
    cudaDeviceSynchronize();
}

test "too deep" { assert(deep(1000000) == 1000000); }

test "unseen error" {
    let x = device(i32, 4);
    var threads = 5000u32;
    fill<<<1, threads>>>(x, 7);
}

test "after all that" { assert(true); }

host fn main() { printf("from main\n"); }
"#;

#[test]
fn tests_are_counted_and_failures_shown() {
    let place = Place::new();
    place.write("a.cdp", PROGRAM);
    let ran = place.run("test --device cpu a.cdp");
    ran.fails(
        1,
        &[
            "E0720",
            "assertion failed: it is 7",
            "E0724",
            "index 4 is outside the buffer `x`",
            "E0731",
            "E0732",
            "`cudaErrorInvalidConfiguration`, and nobody looked",
        ],
    );
    ran.prints(&[
        "testing on the reference executor\n",
        "a.cdp: passes ... ok (",
        "a.cdp: wrong value ... FAILED (",
        "    device 7\n",
        "a.cdp: unseen error ... FAILED (",
        "a.cdp: after all that ... ok (",
        "\n2 passed, 4 failed, 0 skipped\n",
    ]);
    // the output of a test that passes is its own affair
    let passed = ran.out.split("a.cdp: wrong value").next().unwrap();
    assert!(!passed.contains("device 7"), "{passed}");
}

#[test]
fn the_reference_executor_takes_orders() {
    let place = Place::new();
    let racy = "kernel child(x: *global i32) { x[0] = 1; }\n\
        kernel parent(x: *global i32, y: *global i32) { child<<<1, 1>>>(x); y[0] = x[0]; }\n\
        test \"t\" { let x = device(i32, 1); let y = device(i32, 1); parent<<<1, 1>>>(x, y); cudaDeviceSynchronize(); printf(\"saw %d\\n\", y[0]); }\n";
    place.write("a.cdp", racy);
    for order in ["late", "eager", "random --seed 5"] {
        let line = format!("test --device cpu --schedule {order} a.cdp");
        place.run(&line).fails(1, &["E0740", "of `child`", "of `parent`"]);
    }
    // what a race makes of a program depends on the order
    place.run("test --device cpu --show-output --races=false --schedule late a.cdp").succeeds().prints(&["saw 0"]);
    place.run("test --device cpu --show-output --races=false --schedule eager a.cdp").succeeds().prints(&["saw 1"]);
    place.run("test --device cpu --max-steps 3 a.cdp").fails(1, &["steps"]);
}

#[test]
fn constants_come_from_the_command_line() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "const N: i32 = 4;\nhost fn main() { printf(\"%d %d\\n\", N, EXTRA); }\ntest \"t\" { assert(N == 9); }\n",
    );
    place.run("run --device cpu -D EXTRA=1<<3 a.cdp").succeeds().prints(&["4 8"]);
    place.run("run --device cpu -DN=7 -DEXTRA a.cdp").succeeds().prints(&["7 1"]);
    place.run("test --device cpu -DN=9 -DEXTRA a.cdp").succeeds().prints(&["1 passed"]);
    place.run("check a.cdp").fails(1, &["E0201", "EXTRA"]);
    place.run("check -D EXTRA=1.5 -D N=3000000000 a.cdp").fails(1, &["E0212", "-D N:1"]);
    place.run("build --emit=dep-info -o - -DEXTRA a.cdp").succeeds().prints(&["a.cubin: a.cdp\n"]);
}

#[test]
fn filters_choose_by_name_and_file() {
    let place = Place::new();
    place.write("a.cdp", PROGRAM).write("other.cdp", "test \"one\" { assert(true); }\ntest \"two\" { assert(true); }\n");
    place.run("test --device cpu --filter passes .").succeeds().prints(&["1 passed, 0 failed, 7 skipped\n"]);
    place.run("test --device cpu --filter other .").succeeds().prints(&["2 passed, 0 failed, 6 skipped\n"]);
    place.run("test --device cpu --filter nothing .").fails(2, &["no test was run"]);
    let shown = place.run("test --device cpu --filter passes --show-output a.cdp");
    shown.succeeds().prints(&["passes ... ok", "    device 7\n"]);
}

#[test]
fn a_file_with_errors_costs_only_itself() {
    let place = Place::new();
    place.write("a.cdp", "kernel k() { x = 1; }").write("b.cdp", "test \"fine\" { assert(true); }");
    let ran = place.run("test --device cpu --jobs 1 a.cdp b.cdp");
    ran.fails(1, &["E0201"]).prints(&[
        "a.cdp: not tested, it has errors",
        "b.cdp: fine ... ok",
        "1 passed, 1 failed, 0 skipped",
    ]);
}

#[test]
fn a_test_that_does_not_end_is_ended() {
    let place = Place::new();
    place.write("a.cdp", "test \"for ever\" { var i = 0u32; loop { i += 1; } }\ntest \"never begun\" { assert(true); }\n");
    let ran = place.run("test --device cpu --timeout 1 a.cdp");
    ran.fails(1, &[]).prints(&["for ever ... FAILED (the file's tests took more than 1 s)", "0 passed, 2 failed, 0 skipped"]);
}

#[test]
fn main_is_run() {
    let place = Place::new();
    place
        .write("a.cdp", PROGRAM)
        .write("none.cdp", "host fn other() { }")
        .write("bad.cdp", "host fn main() { assert(1 == 2); }");
    let ran = place.run("run --device cpu a.cdp");
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "from main\n", ""));
    place.run("run --device cpu none.cdp").fails(1, &["there is no `host fn main()`"]);
    place.run("run --device cpu bad.cdp").fails(1, &["E0720", "bad.cdp:1:18"]);
    place.run("run --device cpu --error-format short bad.cdp").fails(1, &["bad.cdp:1:18: error[E0720]: "]);
}

#[test]
fn standard_input_is_run() {
    let place = Place::new();
    let mut command = place.command("run --device cpu -");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(PROGRAM.as_bytes()).unwrap();
    let ran = finish(child.wait_with_output().unwrap());
    assert_eq!(ran.succeeds().out, "from main\n");
}

#[test]
fn a_gpu_that_is_not_there_exits_with_2() {
    let place = Place::new();
    place.write("a.cdp", PROGRAM);
    // a number that no machine has, so that the same happens on a machine with GPUs
    for line in ["run --device gpu:999 a.cdp", "test --device gpu:999 a.cdp", "bench --tune --device gpu:999 a.cdp"] {
        let ran = place.run_with_toolkit(line);
        ran.fails(2, &["error[E070"]);
        assert!(ran.err.contains("libcuda.so.1") || ran.err.contains("GPU 999"), "{}", ran.err);
    }
}

#[test]
fn imports_are_relative_to_the_importing_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("lib")).unwrap();
    place.write("lib/one.cdp", "import \"two.cdp\";\nfn one() -> i32 { return two() - 1; }\n");
    place.write("lib/two.cdp", "import \"../a.cdp\";\nfn two() -> i32 { return 2; }\n");
    place.write("a.cdp", "import \"lib/one.cdp\";\ntest \"sum\" { assert(one() + two() == 3); }\n");
    place.run("test --device cpu a.cdp").succeeds().prints(&["1 passed, 0 failed"]);
    place.write("b.cdp", "import \"gone.cdp\";\n");
    place.run("check b.cdp").fails(1, &["E0227", "gone.cdp"]);
    place.run("build --emit=dep-info -o - a.cdp").succeeds().prints(&["a.cubin: a.cdp lib/one.cdp lib/two.cdp\n"]);
}

/// In a terminal, which `script` makes; `make test` installs it.
#[cfg(target_os = "linux")]
#[test]
fn a_long_run_says_how_far_it_is_in_one_line() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "kernel k(o: *global i32) { o[0] = 1; }\nhost fn main() {\n    let o = device(i32, 1);\n    k<<<1, 1>>>(o);\n    while seconds() < 3.5 {}\n    printf(\"%d\\n\", o[0]);\n}\n",
    );
    let line = format!("{} run --device cpu a.cdp", env!("CARGO_BIN_EXE_cdpc"));
    let ran = Command::new("script")
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .current_dir(place.path(""))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .expect("`script` makes the terminal: Debian's package bsdutils has it");
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{shown}");
    let (status, rest) = shown.split_once("\r\x1b[K").unwrap_or_else(|| panic!("no line was erased: {shown:?}"));
    assert!(status.contains(" steps (") && status.contains(" a second), 0 grids"), "{shown:?}");
    // what the program prints stands in a line of its own, behind the last erasure
    assert!(rest.ends_with("\r\x1b[K1\r\n"), "{shown:?}");
}
