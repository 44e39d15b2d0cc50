//! The programs of the conformance suite run on the reference device.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use cdp_executor::{Schedule, Status};
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/run");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cdp"));
    paths.sort();
    paths
}

/// Runs every program; what failed. The text that `main` prints is compared where `printed` says so.
fn failures(schedule: Schedule, printed: bool, races: bool) -> String {
    let paths = programs();
    assert!(paths.len() >= 8);
    let mut failed = String::new();
    for path in paths {
        let compiled = match support::compile_file(&path) {
            Ok(compiled) => compiled,
            Err(rendering) => {
                failed.push_str(&rendering);
                continue;
            }
        };
        for entry in compiled.entries() {
            let start = std::time::Instant::now();
            let ran = compiled.run_scheduled(&entry, Some(20_000_000_000), schedule, races);
            if std::env::var_os("CDP_TIMES").is_some() {
                let name = path.file_name().unwrap().display();
                println!("{:>8.3}s {:>12} steps {name} / {entry}", start.elapsed().as_secs_f64(), ran.steps);
            }
            if ran.outcome.status != Status::Ok {
                failed.push_str(&format!("{} / {entry}:\n{}\n", path.display(), ran.rendering));
            }
            let expected = std::fs::read_to_string(path.with_extension("stdout"));
            if entry == "main" && printed && expected.is_ok_and(|expected| ran.output != expected) {
                failed.push_str(&format!("{}: printed\n{}\n", path.display(), ran.output));
            }
        }
    }
    failed
}

#[test]
fn every_program_passes() {
    let failed = failures(Schedule::Late, true, false);
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn every_program_passes_with_children_at_once() {
    let failed = failures(Schedule::Eager, false, false);
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn every_program_passes_in_drawn_orders() {
    for seed in 1..=2 {
        let failed = failures(Schedule::Random { seed }, false, false);
        assert!(failed.is_empty(), "seed {seed}: {failed}");
    }
}

#[test]
fn no_program_of_the_suite_races() {
    let failed = failures(Schedule::Late, true, true);
    assert!(failed.is_empty(), "{failed}");
}
