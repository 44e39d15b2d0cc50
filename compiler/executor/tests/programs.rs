//! The programs of the conformance suite run on the reference device.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use cdp_executor::Status;
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/run");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "cdp"));
    paths.sort();
    paths
}

#[test]
fn every_program_passes() {
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
            let ran = compiled.run(&entry, Some(20_000_000_000));
            if std::env::var_os("CDP_TIMES").is_some() {
                println!(
                    "{:>8.3}s {:>12} steps {} / {entry}",
                    start.elapsed().as_secs_f64(),
                    ran.steps,
                    path.file_name().unwrap().display()
                );
            }
            if ran.outcome.status != Status::Ok {
                failed.push_str(&format!("{} / {entry}:\n{}\n", path.display(), ran.rendering));
            }
            let expected = path.with_extension("stdout");
            if entry == "main"
                && let Ok(expected) = std::fs::read_to_string(expected)
                && ran.output != expected
            {
                failed.push_str(&format!("{}: printed\n{}\n", path.display(), ran.output));
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
}
