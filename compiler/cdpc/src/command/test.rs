//! `cdpc test`: the `test` blocks of files, each file in a process of its own; a process that dies costs one test only.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cdp_runtime::isolate::{self, Channel, Ending};

use super::run::worker;
use crate::device::Choice;
use crate::driver::Front;
use crate::execute;
use crate::failure::{Failure, PROGRAM, Result, USAGE};
use crate::input;
use crate::options::{Compile, Reference};
use crate::protocol::{Event, Piece, Splitter};
use crate::report::Reporter;
use crate::signal;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sources and folders
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
    /// The exit code of a file that could not be tested at all.
    broken: u8,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.broken = self.broken.max(other.broken);
    }
}

/// # Errors
/// When a test fails, a file does not compile, or nothing is there to run on.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let device = args.device.resolve();
    let files = input::programs(&args.paths)?;
    terminal::print(format!("testing on {}\n", device.describe()?))?;
    let jobs = match args.jobs {
        Some(jobs) => usize::from(jobs),
        None if device.is_gpu() => 1,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let queue = Mutex::new(files.into_iter().collect::<VecDeque<_>>());
    let total = Mutex::new((Count::default(), None));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(path) = lock(&queue).pop_front() {
                    let result = File { args, device, reporter, path: &path }.run();
                    let mut total = lock(&total);
                    match result {
                        Ok(count) => total.0.add(count),
                        Err(failure) => total.1 = Some(failure),
                    }
                }
            });
        }
    });
    let (count, failure) = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = failure {
        return Err(failure);
    }
    terminal::print(format!("\n{} passed, {} failed, {} skipped\n", count.passed, count.failed, count.skipped))?;
    match count {
        Count { broken, .. } if broken > PROGRAM => Err(Failure::Told(broken)),
        Count { failed: 0, broken: 0, passed: 0, .. } => Err(Failure::usage("no test was run")),
        Count { failed: 0, broken: 0, .. } => Ok(()),
        _ => Err(Failure::Told(PROGRAM)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct File<'a> {
    args: &'a Args,
    device: Choice,
    reporter: &'a Reporter,
    path: &'a Path,
}

/// What a worker has said so far.
struct Progress<'a> {
    file: &'a File<'a>,
    names: &'a [String],
    count: Count,
    running: Option<usize>,
    output: Vec<u8>,
    errors: Vec<u8>,
    waiting: Vec<usize>,
    failure: Option<Failure>,
}

impl File<'_> {
    fn run(&self) -> Result<Count> {
        let front =
            match input::read(self.path).and_then(|source| Front::new(source, &self.args.compile.meaning, self.reporter)) {
                Ok(front) => front,
                Err(failure) => {
                    let broken = failure.exit_code();
                    self.reporter.failure(failure);
                    terminal::print(format!("{}: not tested, it has errors\n", self.path.display()))?;
                    return Ok(Count { failed: 1, broken, ..Count::default() });
                }
            };
        let names: Vec<String> = execute::tests(&front.module);
        let wanted = |name: &str| match &self.args.filter {
            Some(text) => name.contains(text.as_str()) || self.path.to_string_lossy().contains(text.as_str()),
            None => true,
        };
        let waiting: Vec<usize> = names.iter().enumerate().filter(|(_, name)| wanted(name)).map(|(index, _)| index).collect();
        let mut progress = Progress {
            file: self,
            names: &names,
            count: Count { skipped: names.len() - waiting.len(), ..Count::default() },
            running: None,
            output: Vec::new(),
            errors: Vec::new(),
            waiting,
            failure: None,
        };
        while !progress.waiting.is_empty() {
            let before = progress.waiting.len();
            let ending = self.start(&mut progress)?;
            progress.ended(ending, before);
            if let Some(failure) = progress.failure.take() {
                return Err(failure);
            }
        }
        Ok(progress.count)
    }

    /// Runs what is waiting until the worker ends.
    fn start(&self, progress: &mut Progress<'_>) -> Result<Ending> {
        let token = token();
        let list: Vec<String> = progress.waiting.iter().map(ToString::to_string).collect();
        let mut command = worker(self.reporter)?;
        command.arg(self.path).arg(format!("--device={}", self.device)).arg(format!("--token={token}"));
        command
            .arg(format!("--tests={}", list.join(",")))
            .args(self.args.compile.arguments())
            .args(self.args.reference.arguments());
        command.stdin(std::process::Stdio::null());
        let mut splitter = Splitter::new(&token);
        let outcome = isolate::run(command, Some(Duration::from_secs(self.args.timeout)), |channel, bytes| match channel {
            Channel::Error => progress.errors.extend_from_slice(bytes),
            Channel::Output => splitter.push(bytes).into_iter().for_each(|piece| progress.take(piece)),
        })?;
        progress.output.extend(splitter.finish());
        Ok(outcome.ending)
    }
}

impl Progress<'_> {
    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Output(bytes) => self.output.extend(bytes),
            Piece::Event(Event::Begin(test)) => {
                self.running = Some(test);
                self.output.clear();
            }
            Piece::Event(Event::End { test, passed, milliseconds, told }) => {
                self.running = None;
                self.result(test, passed, &format!("{milliseconds} ms"), &told);
            }
        }
    }

    fn result(&mut self, test: usize, passed: bool, remark: &str, told: &str) {
        self.waiting.retain(|waiting| *waiting != test);
        let style = self.file.reporter.style_out();
        let verdict = if passed { style.good("ok") } else { style.error("FAILED") };
        let name = self.names.get(test).map_or("", String::as_str);
        let mut text = format!("{}: {name} ... {verdict} ({remark})\n", self.file.path.display());
        if passed {
            self.count.passed += 1;
        } else {
            self.count.failed += 1;
        }
        if !passed || self.file.args.show_output {
            text.push_str(&indented(&String::from_utf8_lossy(&self.output)));
        }
        self.output.clear();
        if let Err(failure) = terminal::print(text) {
            self.failure = Some(failure);
        }
        terminal::say(told);
    }

    /// The worker is gone; of the tests that it was given, `before` were waiting.
    fn ended(&mut self, ending: Ending, before: usize) {
        let how = match ending {
            Ending::Exit(code) => format!("the process exited with {code}"),
            Ending::Signal(signal) => format!("the process was ended by {}", signal::name(signal)),
            Ending::TimedOut => format!("the file's tests took more than {} s", self.file.args.timeout),
        };
        let errors = String::from_utf8_lossy(&std::mem::take(&mut self.errors)).into_owned();
        if let Some(test) = self.running.take() {
            self.result(test, false, &how, &errors);
        } else if self.waiting.len() == before {
            // it never came to a test: the toolkit or the device is at fault, and another try would not help
            terminal::say(&errors);
            let code = if let Ending::Exit(code) = ending { u8::try_from(code).unwrap_or(USAGE) } else { USAGE };
            self.count.failed += before;
            self.count.broken = self.count.broken.max(code.max(PROGRAM));
            self.waiting.clear();
            let text = format!("{}: {before} not tested, {how}\n", self.file.path.display());
            self.failure = terminal::print(text).err();
        } else {
            terminal::say(&errors);
        }
        if ending == Ending::TimedOut {
            // the time is the whole file's
            self.count.failed += self.waiting.len();
            self.waiting.clear();
        }
    }
}

/// Unlike anything that a program prints, without a random number generator: no two processes or moments are the same.
fn token() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("cdpc-{}-{}:", std::process::id(), now.as_nanos())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
