//! Lints and fixes on the command line.

use std::fs;

use crate::common::Place;

/// One lint, one error that an edit mends.
const MISSING: &str = "\
kernel child(x: *global i32, y: *global i32) { y[threadIdx.x] = x[threadIdx.x]; }

kernel parent(x: *global i32, y: *global i32) {
    x[threadIdx.x] = 1;
    if threadIdx.x == 0 { child<<<1, 32>>>(x, y); }
}
";

const TESTED: &str = "
test \"one\" {
    let x = device(i32, 32);
    parent<<<1, 1>>>(x, x);
    cudaDeviceSynchronize();
}

test \"two\" { assert(true); }
";

#[test]
fn levels_decide_over_the_exit_code() {
    let place = Place::new();
    place.write("a.cdp", MISSING);
    let warned = place.run("check a.cdp");
    assert!(warned.code == Some(0) && warned.err.contains("warning[W0502]"), "{}", warned.err);
    place.run("check --deny missing_barrier a.cdp").fails(1, &["error[W0502]", "`missing_barrier` is denied"]);
    place.run("check --deny warnings a.cdp").fails(1, &["error[W0502]"]);
    for quiet in ["check --allow W0502 a.cdp", "check --deny warnings --allow missing_barrier a.cdp"] {
        assert_eq!(place.run(quiet).succeeds().err, "", "{quiet}");
    }
    place.run("build --emit ptx --deny warnings -o out.ptx a.cdp").fails(1, &["error[W0502]"]);
    assert!(!place.exists("out.ptx"), "no artefact is written after an error");
    place.run("check --deny no_such_lint a.cdp").fails(2, &["there is no such lint", "missing_barrier"]);
}

#[test]
fn a_warning_is_shown_once() {
    let place = Place::new();
    // two threads, so that the lint has a reason, and no assertion that could fail
    place.write(
        "a.cdp",
        format!("{MISSING}{}", TESTED.replace("<<<1, 1>>>", "<<<1, 2>>>").replace("(x, x)", "(x, device(i32, 32))")),
    );
    let ran = place.run("test --device cpu --races=false a.cdp");
    assert_eq!(ran.err.matches("W0502").count(), 1, "{}{}", ran.out, ran.err);
    let ran = place.run("test --device cpu --races=false --deny warnings a.cdp");
    assert!(ran.code == Some(1) && ran.err.matches("error[W0502]").count() == 1, "{}{}", ran.out, ran.err);
}

#[test]
fn fixes_are_carried_out() {
    let place = Place::new();
    let wrong = MISSING.replace("{ child<<<", "{ chld<<<");
    place.write("a.cdp", &wrong);
    let shown = place.run("check --fix --dry-run a.cdp");
    shown.succeeds();
    for line in
        ["--- a.cdp", "-    x[threadIdx.x] = 1;", "+    x[threadIdx.x] = 1; __syncthreads();", "{ child<<<1, 32>>>(x, y); }"]
    {
        assert!(shown.out.contains(line), "{}", shown.out);
    }
    assert_eq!(fs::read_to_string(place.path("a.cdp")).unwrap(), wrong, "a dry run writes nothing");
    assert_eq!(place.run("check --fix a.cdp").succeeds().out.trim(), "a.cdp: 2 edits");
    let mended = fs::read_to_string(place.path("a.cdp")).unwrap();
    assert_eq!(mended, MISSING.replace("= 1;", "= 1; __syncthreads();"));
    let again = place.run("check --fix a.cdp");
    again.succeeds();
    assert_eq!((again.out.as_str(), again.err.as_str()), ("", ""));
    assert_eq!(fs::read_to_string(place.path("a.cdp")).unwrap(), mended);
}

#[test]
fn what_is_left_is_shown() {
    let place = Place::new();
    place.write("a.cdp", "kernel k(x: *global i32) { x[thredIdx.x] = nothing_like_it }\n");
    place.run("check --fix a.cdp").fails(1, &["E0201", "nothing_like_it"]);
    let text = fs::read_to_string(place.path("a.cdp")).unwrap();
    assert_eq!(text, "kernel k(x: *global i32) { x[threadIdx.x] = nothing_like_it; }\n");
    place.run("check --dry-run a.cdp").fails(2, &["--fix"]);
}

#[test]
fn lints_are_explained_by_name() {
    let place = Place::new();
    place.run("explain missing_barrier").succeeds().prints(&["W0502: child may not see"]);
    place.run("explain").succeeds().prints(&["W0502  child may not see what other threads wrote (`missing_barrier`)"]);
}
