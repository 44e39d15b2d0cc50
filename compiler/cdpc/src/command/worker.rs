//! `cdpc worker`: one program of `run` or `test`, in a process of its own. Not for people.

use std::path::PathBuf;
use std::time::Instant;

use crate::device::{Choice, Opened};
use crate::driver::Build;
use crate::execute::{self, Ended};
use crate::failure::{Failure, PROGRAM, Result};
use crate::options::Compile;
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
    compile: Compile,
}

/// # Errors
/// Those of the source, the toolkit and the device; for `main` also those of the program.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let compile = args.device.compile(&args.compile)?;
    let build = Build::begin(&args.file, &compile, reporter, args.device.is_gpu())?;
    let mut opened = Opened::new(args.device, &build, &compile)?;
    let Some(token) = &args.token else {
        let main = execute::main(&build)?;
        return match opened.run(&build, main) {
            Ok(()) => Ok(()),
            Err(ended) => Err(told(ended, &build, reporter)),
        };
    };
    let tests = execute::tests(build.module());
    for (index, test) in tests.iter().enumerate().filter(|(index, _)| args.tests.contains(index)) {
        terminal::print(protocol::encode(token, &Event::Begin(index)))?;
        let start = Instant::now();
        let result = opened.run(&build, test.function);
        let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let lost = matches!(&result, Err(ended) if ended.device_lost);
        let told = match &result {
            Ok(()) => String::new(),
            Err(ended) => ended.render(&build, reporter),
        };
        let event = Event::End { test: index, passed: result.is_ok(), milliseconds, told };
        terminal::print(protocol::encode(token, &event))?;
        if lost {
            // whoever started this goes on with the rest in a new process
            return Err(Failure::Told(PROGRAM));
        }
    }
    Ok(())
}

fn told(ended: Ended, build: &Build<'_>, reporter: &Reporter) -> Failure {
    terminal::say(&ended.render(build, reporter));
    Failure::Told(PROGRAM)
}
