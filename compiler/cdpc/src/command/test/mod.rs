//! `cdpc test`: the `test` blocks of files, each file in a process of its own; a process that dies costs one test only.
//!
//! - this file: the arguments, all files, the count
//! - `file`: the tests of one file
//! - `leash`: stopping a process
//! - `ordered`: what files say, in the order of the files

mod file;
mod leash;
mod ordered;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::device::Choice;
use crate::failure::{Failure, INTERRUPTED, PROGRAM, Result};
use crate::input;
use crate::options::{Compile, LeaksHidden, Reference};
use crate::report::Reporter;
use crate::terminal;
use crate::watch::{self, Watch, lock};
use file::File;
use leash::Leashes;
use ordered::Ordered;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sources and folders; with them objects, libraries, fatbins, cubins and PTX that every source is linked with
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only tests whose name or file contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// What to run on: `gpu`, `gpu:N`, `cpu` (the reference executor), or `auto`: a GPU where one is
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
    /// The most seconds that the tests of one file may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Files at a time; by default one on a GPU, and as many as there are cores on the reference executor
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Show the output of tests that pass, too
    #[arg(long)]
    show_output: bool,
    #[command(flatten)]
    leaks: LeaksHidden,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    compile: Compile,
}

/// What became of the tests.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Ended by Ctrl-C, or never begun because of it.
    stopped: usize,
    /// The exit code of a file that could not be tested at all.
    broken: u8,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.stopped += other.stopped;
        self.broken = self.broken.max(other.broken);
    }
}

/// What all files share.
struct Suite<'a> {
    args: &'a Args,
    /// What every source is linked with.
    objects: Vec<PathBuf>,
    device: Choice,
    reporter: &'a Reporter,
    /// Schedules at a time, in each file.
    threads: usize,
    watch: Arc<Watch>,
    leashes: Arc<Leashes>,
    out: Ordered,
}

/// A line on the terminal says how far it is after this.
const LONG: Duration = Duration::from_secs(2);

/// # Errors
/// When a test fails, a file does not compile, or nothing is there to run on.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let device = args.device.resolve(args.reference.asked())?;
    let (sources, objects) = input::split(&args.paths);
    let files = input::programs(&sources)?;
    terminal::print(format!("testing on {}\n", device.describe()?))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = match args.jobs {
        Some(jobs) => usize::from(jobs),
        None if device.is_gpu() => 1,
        None => cores,
    };
    let jobs = jobs.clamp(1, files.len().max(1));
    let leashes = Arc::new(Leashes::default());
    let cut = Arc::clone(&leashes);
    let watch = Watch::interrupts(move || cut.cut_all())?;
    let out = Ordered::default();
    let suite = Suite { args, objects, device, reporter, threads: (cores / jobs).max(1), watch, leashes, out };
    let count = suite.files(&files, jobs)?;
    let Count { passed, failed, skipped, stopped, broken } = count;
    let also = if stopped > 0 { format!(", {stopped} stopped") } else { String::new() };
    terminal::print(format!("\n{passed} passed, {failed} failed, {skipped} skipped{also}\n"))?;
    if suite.watch.is_stopped() {
        return Err(Failure::Told(INTERRUPTED));
    }
    match count {
        _ if broken > PROGRAM => Err(Failure::Told(broken)),
        Count { failed: 0, broken: 0, passed: 0, .. } => Err(Failure::usage("no test was run")),
        Count { failed: 0, broken: 0, .. } => Ok(()),
        _ => Err(Failure::Told(PROGRAM)),
    }
}

impl Suite<'_> {
    /// Tests all files, so many at a time.
    fn files(&self, files: &[PathBuf], jobs: usize) -> Result<Count> {
        let next = AtomicUsize::new(0);
        let done = AtomicUsize::new(0);
        let total = Mutex::new((Count::default(), None));
        let work = || {
            while let Some((place, path)) = Some(next.fetch_add(1, Ordering::SeqCst)).and_then(|at| Some((at, files.get(at)?)))
            {
                let result = File { suite: self, place, path }.run();
                done.fetch_add(1, Ordering::SeqCst);
                let said = self.out.done(place);
                let mut total = lock(&total);
                match result {
                    Ok(count) => total.0.add(count),
                    Err(failure) => total.1 = Some(failure),
                }
                if let Err(failure) = said {
                    total.1 = Some(failure);
                }
                if total.1.is_some() {
                    // whoever reads is gone, or processes cannot be started
                    return;
                }
            }
        };
        let progress = |elapsed: Duration| {
            let Count { passed, failed, .. } = lock(&total).0;
            let done = done.load(Ordering::SeqCst);
            let text = format!("{done} of {} files, {passed} passed, {failed} failed, {} s", files.len(), elapsed.as_secs());
            (elapsed >= LONG).then_some(text)
        };
        watch::ticking(progress, || {
            std::thread::scope(|scope| {
                for _ in 0..jobs {
                    scope.spawn(work);
                }
            });
        });
        let (count, failure) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(count), Err)
    }
}
