//! Bindings: generated, compiled by the compilers of their languages, and compared with the manifest.
//!
//! - `header`: gcc and g++; launches against a driver that is not one
//! - `rust`: cargo, with the library that hosts use
//! - `python`: Python, with and without NumPy
//!
//! `CDPC_PYTHON` names another Python than the one in PATH, for example one with NumPy.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::print_stderr, reason = "a test says what it left out")]
#![allow(missing_docs, reason = "the names say it")]

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod common;
#[path = "../layout/print.rs"]
#[allow(dead_code, reason = "shared with the comparison of layouts")]
mod print;
#[path = "../layout/signature.rs"]
#[allow(dead_code, reason = "shared with the comparison of layouts")]
mod signature;

mod header;
mod python;
mod rust;

use cdp_runtime::Manifest;
use common::Place;
use signature::{Random, Signature};
use std::path::{Path, PathBuf};
use std::process::Command;

const EVERY: &str = include_str!("every.cdp");

/// How many random signatures.
const CASES: usize = 60;

fn signatures() -> Vec<Signature> {
    let mut random = Random(0xb1d);
    (0..CASES).map(|_| Signature::random(&mut random)).collect()
}

/// A folder with a source, its bindings of one kind and its manifest.
fn bound(name: &str, source: &str, kind: &str) -> (Place, Manifest) {
    let place = Place::new();
    place.write(&format!("{name}.cdp"), source);
    place.run(&format!("build --emit={kind},layout {name}.cdp")).succeeds();
    let text = std::fs::read_to_string(place.path(&format!("{name}.json"))).unwrap();
    (place, Manifest::from_json(&text).unwrap())
}

fn random_bound(kind: &str) -> (Place, Manifest) {
    bound("random", &print::module(&signatures(), print::Language::Cdp), kind)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a program, which must succeed; gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn generated_files_are_as_they_were() {
    for (kind, ending) in [("header", "h"), ("rust", "rs"), ("python", "py")] {
        let (place, _) = bound("every", EVERY, kind);
        let text = std::fs::read_to_string(place.path(&format!("every.{ending}"))).unwrap();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "." }, {
            insta::assert_snapshot!(format!("every.{ending}"), text);
        });
        // the folder makes no difference, nor does the architecture but for what says so
        let elsewhere = Place::new();
        std::fs::create_dir(elsewhere.path("deeper")).unwrap();
        elsewhere.write("deeper/every.cdp", EVERY);
        let again = elsewhere.run(&format!("build --emit={kind} -o - deeper/every.cdp"));
        assert_eq!(again.succeeds().out.replace("deeper/", ""), text);
    }
}

#[test]
fn the_manifest_has_what_a_host_needs() {
    let (_, manifest) = bound("every", EVERY, "header");
    let structs: Vec<&str> = manifest.structs.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(structs, ["Row", "Pair::[f16]", "Node", "Line", "Pair::[f64x4]"]);
    let node = &manifest.structs[2];
    let offsets: Vec<u64> = node.fields.iter().map(|field| field.offset).collect();
    // gcc and g++ have the same: `header`
    assert_eq!(offsets, [0, 32, 40, 44, 56, 64, 72, 74, 86, 88, 89, 96, 128, 136]);
    assert_eq!((node.size, node.align, node.doc.as_str()), (160, 32, "Points to itself."));
    let scale = manifest.kernel("scale").unwrap();
    assert_eq!((scale.dynamic_shared, scale.doc.as_str()), (true, "Scales."));
    assert_eq!(scale.params[0].doc, "the values,\none a thread");
    assert!(!manifest.kernel("unload").unwrap().dynamic_shared);
    assert_eq!(manifest.global("weights").unwrap().ty, "[[f32; 2]; 2]");
    assert_eq!(manifest.limits.stack, Some(8192));
}

#[test]
fn a_program_without_kernels_has_bindings() {
    for (kind, says) in [("header", "nothing_module"), ("rust", "pub struct Kernels"), ("python", "class Kernels(_Module)")] {
        let place = Place::new();
        place.write("nothing.cdp", "fn f() -> i32 { return 1; }\n");
        place.run(&format!("build --emit={kind} -o - nothing.cdp")).succeeds().prints(&[says]);
    }
}

#[test]
fn the_examples_program_is_right_on_the_executor() {
    let program = repository().join("examples/rows.cdp");
    Place::new().run(&format!("test --device cpu {}", program.display())).succeeds().prints(&["1 passed, 0 failed"]);
}
