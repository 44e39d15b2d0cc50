//! Writes random launch trees, for any device to run.
//!
//! - `cargo run -p cdp-executor --example launch_tree -- SEED` prints one as a program
//! - `… -- SEED EDGE` prints it without that edge, which races
//! - `… -- FOLDER TREES PER_FILE` writes so many into files, each with one test: `cdpc test FOLDER` runs them
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a program for people"
)]

#[path = "../tests/support/trees.rs"]
mod trees;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok());
    match (arguments.first(), number(0), number(1)) {
        (_, Some(seed), None) => {
            let tree = trees::tree(seed, None);
            let features: Vec<&str> = tree.features.iter().copied().collect();
            println!("// seed {seed}: {} grids, {} edges; {}\n{}", tree.grids, tree.edges, features.join(", "), tree.program());
        }
        (_, Some(seed), Some(edge)) => {
            let edges = trees::tree(seed, None).edges;
            let omit = edge as usize % edges;
            println!("// seed {seed}, without edge {omit} of {edges}\n{}", trees::tree(seed, Some(omit)).program());
        }
        (Some(folder), None, Some(count)) => {
            let per_file = number(2).unwrap_or(50).max(1);
            if let Err(error) = write(Path::new(folder), count, per_file) {
                eprintln!("{folder}: {error}");
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("launch_tree SEED [EDGE], or launch_tree FOLDER TREES [PER_FILE]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn write(folder: &Path, count: u64, per_file: u64) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for first in (0..count).step_by(per_file as usize) {
        let text = trees::file(first..(first + per_file).min(count));
        std::fs::write(folder.join(format!("trees_{first:05}.cdp")), text)?;
    }
    Ok(())
}
