//! `cdpc worker`: one program of `run` or `test`, in a process of its own. Not for people.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::device::Choice;
use crate::driver::Build;
use crate::execute::{self, Entry, Runner};
use crate::failure::{Failure, INTERRUPTED, PROGRAM, Result};
use crate::options::{Compile, LeaksHidden, Reference};
use crate::protocol::{self, Event};
use crate::reference::{Executor, failed_under};
use crate::report::Reporter;
use crate::terminal;
use crate::watch::{self, Watch};

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, and what it is linked with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to run on
    #[arg(long)]
    device: Choice,
    /// What marks events
    #[arg(long)]
    token: String,
    /// The name of that test
    #[arg(long)]
    test: Option<String>,
    /// The tests to run, by their place in the file; without any, one program: `host fn main` or a test
    #[arg(long, value_delimiter = ',')]
    tests: Vec<usize>,
    /// Schedules at a time
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    leaks: LeaksHidden,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    compile: Compile,
}

/// # Errors
/// Those of the source, the toolkit and the device; for `main` also those of the program.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let watch = watch(args)?;
    let compile = args.device.compile(&args.compile)?;
    let build = Build::begin(&args.files, &compile, reporter, args.device.is_gpu())?;
    let executor = Executor {
        reference: args.reference.clone(),
        cdp: args.compile.meaning.cdp.into(),
        trace: false,
        threads: args.threads,
        watch: Arc::clone(&watch),
    };
    let runner = Runner::new(args.device, executor, &build)?;
    let token = &args.token;
    if args.tests.is_empty() {
        let entry = Entry::named(args.test.as_deref(), build.module())?;
        let ran = runner.run(entry, runner.device()?)?;
        terminal::say(&ran.render(&build, reporter, args.leaks.leaks));
        terminal::print(protocol::encode(token, &Event::Ran(ran.printed)))?;
        return if ran.passed { Ok(()) } else { Err(Failure::Told(PROGRAM)) };
    }
    let names = execute::tests(build.module());
    for &test in &args.tests {
        // before the event: a device that cannot be had is no test's fault
        let device = runner.device()?;
        if watch.is_stopped() {
            return Err(Failure::Told(INTERRUPTED));
        }
        terminal::print(protocol::encode(token, &Event::Begin(test)))?;
        let start = Instant::now();
        let mut ran = runner.run(Entry::Test(test), device)?;
        if let Some(under) = ran.failed_under.filter(|_| !ran.stopped) {
            let filter = format!("--filter={}", names.get(test).map_or("", String::as_str));
            let what = ("test", build.source_path(), &[filter][..]);
            ran.notes.push(failed_under(under, what, &args.reference, &args.compile.meaning));
        }
        let event = Event::End {
            test,
            passed: ran.passed,
            stopped: ran.stopped,
            milliseconds: u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
            told: ran.render(&build, reporter, args.leaks.leaks),
            printed: ran.printed,
        };
        terminal::print(protocol::encode(token, &event))?;
        if ran.device_lost {
            // whoever started this goes on with the rest in a new process
            return Err(Failure::Told(PROGRAM));
        }
    }
    Ok(())
}

/// Stops when whoever started this closes the pipe that is its standard input, or is gone. A GPU cannot be stopped: there the process ends.
fn watch(args: &Args) -> Result<Arc<Watch>> {
    if args.tests.is_empty() {
        return Ok(Arc::default());
    }
    let watch = if args.device.is_gpu() { Arc::default() } else { Watch::interrupts(|| ())? };
    let (mine, gpu) = (Arc::clone(&watch), args.device.is_gpu());
    std::thread::spawn(move || {
        // nothing is ever written into it
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        if gpu {
            watch::end();
        }
        mine.stop();
    });
    Ok(watch)
}
