//! `cdpc run`: a file's `host fn main`.

use std::path::PathBuf;
use std::process::Command;

use crate::device::Choice;
use crate::failure::{BUG, Failure, Result};
use crate::options::{Compile, Reference};
use crate::report::Reporter;
use crate::signal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, `-` for standard input
    file: PathBuf,
    /// What to run on: `gpu`, `gpu:N`, `cpu` (the reference executor), or `auto`: a GPU where one is
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    compile: Compile,
}

/// # Errors
/// Those of the source, the toolkit, the device and the program.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let device = args.device.resolve();
    let mut command = worker(reporter)?;
    command.arg(&args.file).arg(format!("--device={device}")).args(args.compile.arguments()).args(args.reference.arguments());
    // the worker writes to this process's own output, and has said what there was to say
    let status = command.status().map_err(|error| Failure::file("start", command.get_program().as_ref(), &error))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Told(u8::try_from(code).unwrap_or(BUG))),
        None => Err(Failure::program(format!("the program was ended by {}", signal::of(status)))),
    }
}

/// The start of a worker's command line.
///
/// # Errors
/// When this program's own path cannot be found.
pub fn worker(reporter: &Reporter) -> Result<Command> {
    let program = std::env::current_exe().map_err(|error| Failure::usage(format!("cdpc cannot find itself: {error}")))?;
    let mut command = Command::new(program);
    command.arg("worker").args(reporter.arguments());
    Ok(command)
}
