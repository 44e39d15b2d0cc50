//! `cdpc worker`: one program of `run` or `test`, in a process of its own. Not for people.

use std::path::PathBuf;
use std::time::Instant;

use crate::device::Choice;
use crate::driver::Build;
use crate::execute::{Entry, Runner};
use crate::failure::{Failure, PROGRAM, Result};
use crate::options::{Compile, Reference};
use crate::protocol::{self, Event};
use crate::report::Reporter;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source
    file: PathBuf,
    /// What to run on
    #[arg(long)]
    device: Choice,
    /// What marks events; without it `host fn main` is run
    #[arg(long)]
    token: Option<String>,
    /// The tests to run, by their place in the file
    #[arg(long, value_delimiter = ',')]
    tests: Vec<usize>,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    compile: Compile,
}

/// # Errors
/// Those of the source, the toolkit and the device; for `main` also those of the program.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let compile = args.device.compile(&args.compile)?;
    let build = Build::begin(&args.file, &compile, reporter, args.device.is_gpu())?;
    let runner = Runner::new(args.device, &args.reference, &build)?;
    let Some(token) = &args.token else {
        let ran = runner.run(Entry::Main, runner.device()?)?;
        terminal::say(&ran.render(&build, reporter));
        return if ran.passed { Ok(()) } else { Err(Failure::Told(PROGRAM)) };
    };
    for &test in &args.tests {
        // before the event: a device that cannot be had is no test's fault
        let device = runner.device()?;
        terminal::print(protocol::encode(token, &Event::Begin(test)))?;
        let start = Instant::now();
        let ran = runner.run(Entry::Test(test), device)?;
        let event = Event::End {
            test,
            passed: ran.passed,
            milliseconds: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
            told: ran.render(&build, reporter),
        };
        terminal::print(protocol::encode(token, &event))?;
        if ran.device_lost {
            // whoever started this goes on with the rest in a new process
            return Err(Failure::Told(PROGRAM));
        }
    }
    Ok(())
}
