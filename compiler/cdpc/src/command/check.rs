//! `cdpc check`: errors and warnings only.

use std::path::PathBuf;

use crate::driver::Front;
use crate::failure::{Failure, Result};
use crate::input;
use crate::options::Meaning;
use crate::report::Reporter;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sources and folders; `-` for standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// What the sources mean beyond their text
    #[command(flatten)]
    meaning: Meaning,
}

/// # Errors
/// Those of the sources; every file is checked before the first one counts.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let mut worst = None;
    for path in input::programs(&args.paths)? {
        let result = input::read(&path)
            .and_then(|source| Front::new(source, &args.meaning, reporter))
            .and_then(|front| front.check(reporter));
        if let Err(failure) = result {
            let code = failure.exit_code();
            worst = worst.max(Some(code));
            reporter.failure(&failure);
        }
    }
    worst.map_or(Ok(()), |code| Err(Failure::Told(code)))
}
