//! Writes generated programs with the numbers that they must give, for a GPU to run: `cargo run --release -p lang-tests --example generate -- FOLDER PROGRAMS
//! [FIRST SEED]`, 50 programs a file. `cdpc test FOLDER --device gpu` runs them.
#![allow(clippy::print_stdout, clippy::panic, reason = "a program for people")]

use lang_tests::compile::compile;
use lang_tests::data::root;
use lang_tests::execute::run_tests;
use lang_tests::generate::program;
use std::path::PathBuf;

const IN_A_FILE: u64 = 50;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("the folder is missing")?);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (count, first) = (number().ok_or("the number of programs is missing")?, number().unwrap_or(0));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for start in (first..first + count).step_by(IN_A_FILE as usize) {
        let texts: Result<Vec<String>, String> = (start..(start + IN_A_FILE).min(first + count)).map(asserted).collect();
        let path = folder.join(format!("generated{start}.cdp"));
        std::fs::write(&path, texts?.join("\n")).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    println!("{count} programs in {}", folder.display());
    Ok(())
}

/// The program of a seed, with the number that the reference executor found.
fn asserted(seed: u64) -> Result<String, String> {
    let printed = run_tests(&compile(root(), "generated.cdp", &program(seed, None))?)?;
    let value = printed.trim().parse().map_err(|error| format!("seed {seed} printed `{printed}`: {error}"))?;
    Ok(program(seed, Some(value)))
}
