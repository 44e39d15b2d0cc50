//! What `run` and `test` have for the reference executor: schedules, traces, Ctrl-C, the order of what is said.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::common::Place;

/// Right with children as late as they may be, and wrong with children at once. Nothing races.
const HASTY: &str = r#"
kernel child(flag: *global i32) { atomicExch(flag, 1); }
kernel parent(flag: *global i32, saw: *global i32) {
    let e = child<<<1, 1>>>(flag);
    assert(e == cudaSuccess);
    saw[0] = atomicAdd(flag, 0);
}
host fn check() {
    let flag = device(i32, 1);
    let saw = device(i32, 1);
    parent<<<1, 1>>>(flag, saw);
    cudaDeviceSynchronize();
    printf("saw %d\n", saw[0]);
    assert(saw[0] == 0, "it's seen");
}
host fn main() { check(); }
test "it's late" { check(); }
"#;

/// The last of four blocks must not be the first to come: so it is in one order of four.
const BLOCKS: &str = r#"
kernel k(count: *global i32, first: *global u32) {
    if atomicAdd(count, 1) == 0 { *first = blockIdx.x; }
}
test "first" {
    let count = device(i32, 1);
    let first = device(u32, 1);
    k<<<4, 1>>>(count, first);
    cudaDeviceSynchronize();
    assert(first[0] != 3);
}
"#;

#[test]
fn the_first_schedule_that_fails_is_reported_and_can_be_run_again() {
    let place = Place::new();
    place.write("a.cdp", HASTY);
    let again = |text: &str| {
        let line = text.lines().find_map(|line| line.split("to see it again: ").nth(1)).unwrap().to_owned();
        let mut command = Command::new("sh");
        let ours = env!("CARGO_BIN_EXE_cdpc");
        command.arg("-c").arg(line.replacen("cdpc", ours, 1)).current_dir(place.path(""));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    };
    let ran = place.run("run --schedules 6 a.cdp");
    ran.fails(1, &["E0720", "it's seen", "this happened with children at once, after 1 schedule without a failure"]);
    // the output is that of the run which failed
    assert_eq!(ran.out, "saw 1\n");
    let (code, text) = again(&ran.err);
    assert!(code == Some(1) && text.contains("it's seen"), "{text}");
    let ran = place.run("test --schedules 6 a.cdp");
    ran.fails(1, &["this happened with children at once", "--filter="]).prints(&["    saw 1\n"]);
    let (code, text) = again(&ran.err);
    assert!(code == Some(1) && text.contains("0 passed, 1 failed, 0 skipped"), "{text}");
    place.run("run --schedules 1 a.cdp").succeeds().prints(&["saw 0\n"]);
}

#[test]
fn drawn_schedules_give_the_same_report_every_time() {
    let place = Place::new();
    place.write("a.cdp", BLOCKS);
    let told = |line: &str| {
        let ran = place.run(line);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        ran.err
    };
    let first = told("test --schedules 40 a.cdp");
    assert!(first.contains("this happened with an order drawn from seed"), "{first}");
    for _ in 0..3 {
        assert_eq!(told("test --schedules 40 a.cdp"), first);
    }
    let seed = first.split("--seed=").nth(1).unwrap().split_whitespace().next().unwrap();
    assert!(told(&format!("test --seed {seed} a.cdp")).contains("E0720"));
    place.run("run --schedules 40 --test first a.cdp").fails(1, &["E0720", "an order drawn from seed"]);
}

#[test]
fn what_the_executor_has_is_refused_on_a_gpu() {
    let place = Place::new();
    place.write("a.cdp", HASTY);
    for option in ["--schedule=late", "--schedules=3", "--seed=1", "--max-steps=9"] {
        for command in ["run", "test"] {
            let name = option.split('=').next().unwrap();
            place.run(&format!("{command} --device gpu {option} a.cdp")).fails(2, &[name, "--device cpu"]);
        }
    }
    place.run("run --device gpu --graph=x.svg a.cdp").fails(2, &["`--graph` is for the reference executor"]);
    place.run("run --device gpu --trace=json a.cdp").fails(2, &["`--trace` is for the reference executor"]);
    place.run("run --trace=xml a.cdp").fails(2, &["json:PATH"]);
    place.run("run --schedules 2 --schedule late a.cdp").fails(2, &["cannot be used with"]);
}

#[test]
fn the_launch_tree_is_written_as_json_and_drawn() {
    let place = Place::new();
    place.write("a.cdp", HASTY);
    place.run("run --trace=json --graph a.svg a.cdp").succeeds().prints(&["saw 0"]);
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("a.trace.json")).unwrap()).unwrap();
    let nodes = json.get("nodes").unwrap().as_array().unwrap();
    let kernels: Vec<&str> = nodes.iter().map(|node| node.get("kernel").unwrap().as_str().unwrap()).collect();
    assert_eq!(kernels, ["parent", "child"]);
    let child = nodes.last().unwrap();
    let number = |key: &str| child.get(key).unwrap().as_u64().unwrap();
    assert_eq!((number("parent"), number("line"), child.get("file").unwrap().as_str()), (0, 4, Some("a.cdp")));
    assert!(number("submitted") < number("started") && number("started") < number("ended"));
    let svg = std::fs::read_to_string(place.path("a.svg")).unwrap();
    assert!(svg.contains("child&lt;&lt;&lt;1, 1&gt;&gt;&gt;") && svg.ends_with("</svg>\n"));
    // of a run that fails, too, and to another place
    place.run("run --schedule eager --trace=json:b.json a.cdp").fails(1, &["E0720"]);
    place.run("run --trace=json:- --test late a.cdp").succeeds().prints(&["{\"unit\": \"steps\""]);
    assert_eq!(place.files(), ["a.cdp", "a.svg", "a.trace.json", "b.json"]);
    place.run("run --graph gone/a.svg a.cdp").fails(2, &["cannot write `gone/a.svg`"]);
}

#[test]
fn one_test_is_run_by_its_name() {
    let place = Place::new();
    place.write(
        "a.cdp",
        "test \"one\" { printf(\"1\\n\"); }\ntest \"one more\" { printf(\"2\\n\"); }\ntest \"two\" { assert(false); }\n",
    );
    assert_eq!(place.run("run --device cpu --test one a.cdp").succeeds().out, "1\n");
    assert_eq!(place.run("run --device cpu --test more a.cdp").succeeds().out, "2\n");
    place.run("run --device cpu --test o a.cdp").fails(2, &["in the name of more than one test", "one more"]);
    place.run("run --device cpu --test three a.cdp").fails(2, &["there is no test `three`", "there are: one; one more; two"]);
    place.run("run --device cpu --test two a.cdp").fails(1, &["E0720"]);
}

/// Does not end. The child is launched by thread (1, 0, 0); the host says when all is on its way.
const ENDLESS: &str = "\
kernel child(x: *global i32) {
    var i = 0u32;
    while x[0] == 0 { i += 1; }
}
kernel parent(x: *global i32) {
    if threadIdx.x == 1 {
        let e = child<<<1, 1>>>(x);
        assert(e == cudaSuccess);
    }
}
host fn main() {
    let x = device(i32, 1);
    parent<<<1, 2>>>(x);
    printf(\"on its way\\n\");
    cudaDeviceSynchronize();
}
test \"endless\" { main(); }
test \"never begun\" { assert(true); }
";

#[test]
fn an_interrupt_says_where_the_program_was() {
    let place = Place::new();
    place.write("a.cdp", ENDLESS);
    let mut child = place.command("run --device cpu a.cdp").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "on its way\n");
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt(child.id());
    let mut told = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    for text in ["E0742", "a.cdp:3:", "thread (0, 0, 0) of block (0, 0, 0) of `child`", "launched here, by thread (1, 0, 0)"] {
        assert!(told.contains(text), "`{text}` is missing in:\n{told}");
    }
}

#[test]
fn an_interrupt_of_tests_says_what_was_running() {
    let place = Place::new();
    place.write("a.cdp", ENDLESS).write("b.cdp", "test \"quick\" { assert(true); }\n");
    let mut child =
        place.command("test --device cpu a.cdp b.cdp").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    // the one that was started only, not the processes that it has started
    interrupt(child.id());
    let (mut out, mut told) = (String::new(), String::new());
    child.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.as_mut().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{out}{told}");
    assert!(out.contains("a.cdp: endless ... stopped (interrupted)"), "{out}");
    assert!(out.contains("b.cdp: quick ... ok") && out.contains("\n1 passed, 0 failed, 0 skipped, 2 stopped\n"), "{out}");
    assert!(told.contains("E0742") && told.contains("a.cdp:3:"), "{told}");
}

fn interrupt(process: u32) {
    let killed = Command::new("kill").arg("-INT").arg(process.to_string()).status();
    assert!(killed.is_ok_and(|status| status.success()));
}

#[test]
fn files_speak_in_their_order() {
    let place = Place::new();
    let busy = "test \"busy\" { var i = 0; while i < 3000000 { i += 1; } printf(\"done\\n\"); }\n";
    place
        .write("1.cdp", busy)
        .write("2.cdp", "test \"a\" { }\n")
        .write("3.cdp", "kernel k() { x = 1; }")
        .write("4.cdp", "test \"b\" { }\n");
    for jobs in ["1", "4"] {
        let ran = place.run(&format!("test --device cpu --jobs {jobs} ."));
        ran.fails(1, &["E0201"]);
        let names: Vec<&str> = ran.out.lines().filter_map(|line| line.split_once(": ")).map(|(_, rest)| rest).collect();
        let starts = ["busy ... ok", "a ... ok", "not tested", "b ... ok"];
        assert!(names.len() == 4 && names.iter().zip(starts).all(|(name, start)| name.starts_with(start)), "{}", ran.out);
    }
}

const LEAKY: &str = "\
kernel leaky(x: *global i32) {
    let p = malloc(16) as *global i32;
    if p == null { return; }
    p[0] = 1;
    x[threadIdx.x] = p[0];
    var s: cudaStream_t;
    assert(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);
    if threadIdx.x == 0 { free(p as *void); cudaStreamDestroy(s); }
}
host fn main() {
    let x = device(i32, 4);
    var kept: *global i32;
    var given: *global i32;
    cudaMalloc(&kept, 400);
    cudaMalloc(&given, 400);
    var e: cudaEvent_t;
    cudaEventCreateWithFlags(&e, cudaEventDefault);
    leaky<<<1, 4>>>(x);
    cudaDeviceSynchronize();
    cudaFree(given);
}
test \"leaky\" { main(); }
";

#[test]
fn what_was_never_given_back_is_noted() {
    let place = Place::new();
    place.write("a.cdp", LEAKY);
    let ran = place.run("run --device cpu a.cdp");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let found: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("note[W0701]: ")).collect();
    assert_eq!(
        found,
        [
            "note[W0701]: memory of `malloc` was never given back, 3 times",
            "note[W0701]: a stream was never given back, 3 times",
            "note[W0701]: memory of `cudaMalloc` was never given back",
            "note[W0701]: an event was never given back",
        ]
    );
    assert!(
        ran.err.contains("a.cdp:2:13") && ran.err.contains("made here; 48 bytes in all") && ran.err.contains("a.cdp:14:5"),
        "{}",
        ran.err
    );
    assert_eq!(place.run("run --device cpu --leaks=false a.cdp").succeeds().err, "");
    assert_eq!(place.run("test --device cpu a.cdp").succeeds().err, "");
    assert!(place.run("test --device cpu --leaks a.cdp").succeeds().err.contains("an event was never given back"));
}
