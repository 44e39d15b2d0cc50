//! The programs of the conformance suite run on the reference device without looking for races, which is code of its own; the suite itself
//! runs them with it, and compares what they print.
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

/// Runs every program; what failed.
fn failures(schedule: Schedule) -> String {
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
            let ran = compiled.run_scheduled(&entry, Some(20_000_000_000), schedule, false);
            if std::env::var_os("CDP_TIMES").is_some() {
                let name = path.file_name().unwrap().display();
                println!("{:>8.3}s {:>12} steps {name} / {entry}", start.elapsed().as_secs_f64(), ran.steps);
            }
            if ran.outcome.status != Status::Ok {
                failed.push_str(&format!("{} / {entry}:\n{}\n", path.display(), ran.rendering));
            }
        }
    }
    failed
}

#[test]
fn every_program_passes() {
    let failed = failures(Schedule::Late);
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn every_program_passes_with_children_at_once() {
    let failed = failures(Schedule::Eager);
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn every_program_passes_in_drawn_orders() {
    for seed in 1..=2 {
        let failed = failures(Schedule::Random { seed });
        assert!(failed.is_empty(), "seed {seed}: {failed}");
    }
}
