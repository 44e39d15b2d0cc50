//! `cdpc fmt`: the one layout of source text.

use std::path::{Path, PathBuf};

use crate::artefact::{self, Artefact, Target};
use crate::driver;
use crate::failure::{Failure, PROGRAM, Result};
use crate::input;
use crate::report::Reporter;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sources and folders; `-` formats standard input to standard output
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Change nothing, name the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

/// # Errors
/// A file that cannot be read or parsed; with `--check`, one that is not formatted. Every file is looked at.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let mut worst = None;
    for path in input::programs(&args.paths)? {
        if let Err(failure) = one(&path, args.check, reporter) {
            if matches!(failure, Failure::Unread) {
                return Err(failure);
            }
            worst = worst.max(Some(failure.exit_code()));
            reporter.failure(&failure);
        }
    }
    worst.map_or(Ok(()), |code| Err(Failure::Told(code)))
}

fn one(path: &Path, check: bool, reporter: &Reporter) -> Result<()> {
    let source = input::read(path)?;
    let stdin = path == Path::new("-");
    let name = source.name.clone();
    let before = source.text.clone();
    let after = driver::format(source, reporter)?;
    if check {
        if before != after {
            terminal::print(format!("{name}\n"))?;
            return Err(Failure::Told(PROGRAM));
        }
        return Ok(());
    }
    if stdin {
        return terminal::print(after);
    }
    if before == after {
        return Ok(());
    }
    artefact::write_all(&[Artefact { target: Target::File(path.to_path_buf()), bytes: after.into_bytes() }])
}
