//! The tests of one file.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use cdp_runtime::isolate::{self, Channel, Ending};

use super::ordered::Word;
use super::{Count, Suite};
use crate::command::run::worker;
use crate::driver::{Front, Wrong};
use crate::execute;
use crate::failure::{Failure, INTERRUPTED, PROGRAM, Result, USAGE};
use crate::input;
use crate::protocol::{Event, Marks, Piece, Splitter, token};
use crate::signal;

/// A process that was told to stop has this long to say where it was.
const GRACE: Duration = Duration::from_secs(3);

/// A file to test.
pub struct File<'a> {
    pub suite: &'a Suite<'a>,
    /// Its place among the files.
    pub place: usize,
    pub path: &'a Path,
}

/// What a worker has said so far.
struct Progress<'a> {
    file: &'a File<'a>,
    names: &'a [String],
    count: Count,
    running: Option<usize>,
    output: Vec<u8>,
    marks: Marks,
    errors: Vec<u8>,
    waiting: Vec<usize>,
    /// The time is over.
    late: bool,
    failure: Option<Failure>,
}

impl File<'_> {
    pub fn run(&self) -> Result<Count> {
        let Suite { args, reporter, .. } = self.suite;
        let opened = match input::read(self.path).and_then(|source| Front::open(source, &args.compile.meaning)) {
            Ok(Ok(front)) => Ok(front),
            Ok(Err(Wrong { sources, found })) => Err((reporter.text(&sources, &found), PROGRAM)),
            Err(failure) => Err((reporter.render_failure(&failure), failure.exit_code())),
        };
        let front = match opened {
            Ok(front) => front,
            Err((why, broken)) => {
                self.suite.out.put(self.place, Word::Say(why))?;
                self.print(format!("{}: not tested, it has errors\n", self.path.display()))?;
                return Ok(Count { failed: 1, broken, ..Count::default() });
            }
        };
        let names: Vec<String> = execute::tests(&front.module);
        let wanted = |name: &str| match &args.filter {
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
            marks: Marks::default(),
            errors: Vec::new(),
            waiting,
            late: false,
            failure: None,
        };
        while !progress.waiting.is_empty() && !self.suite.watch.is_stopped() {
            let before = progress.waiting.len();
            let ending = self.start(&mut progress)?;
            progress.ended(ending, before);
            if let Some(failure) = progress.failure.take() {
                return Err(failure);
            }
        }
        progress.count.stopped += progress.waiting.len();
        Ok(progress.count)
    }

    fn print(&self, text: String) -> Result<()> {
        self.suite.out.put(self.place, Word::Print(text))
    }

    /// Runs what is waiting until the worker ends.
    fn start(&self, progress: &mut Progress<'_>) -> Result<Ending> {
        let Suite { args, objects, device, reporter, threads, leashes, .. } = self.suite;
        let token = token();
        let list: Vec<String> = progress.waiting.iter().map(ToString::to_string).collect();
        let mut command = worker(reporter)?;
        command.arg(self.path).args(objects).arg(format!("--device={device}")).arg(format!("--token={token}"));
        command.arg(format!("--tests={}", list.join(","))).arg(format!("--threads={threads}"));
        command.arg(format!("--leaks={}", args.leaks.leaks));
        command.args(args.compile.arguments()).args(args.reference.arguments());
        let (leash, input) = leashes.make().map_err(|error| Failure::usage(format!("no pipe for a process: {error}")))?;
        command.stdin(input);
        let mut splitter = Splitter::new(&token);
        let limit = Duration::from_secs(args.timeout);
        let (done, waiting) = mpsc::channel::<()>();
        let (outcome, late) = std::thread::scope(|scope| {
            let leash = &leash;
            let clock = scope.spawn(move || waiting.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) && leash.cut());
            let outcome = isolate::run(command, Some(limit + GRACE), |channel, bytes| match channel {
                Channel::Error => progress.errors.extend_from_slice(bytes),
                Channel::Output => splitter.push(bytes).into_iter().for_each(|piece| progress.take(piece)),
            });
            drop(done);
            (outcome, clock.join().unwrap_or(false))
        });
        progress.late |= late;
        let rest = progress.marks.remove(&splitter.finish());
        progress.output.extend(rest);
        progress.output.extend(progress.marks.end().0);
        Ok(outcome?.ending)
    }
}

impl Progress<'_> {
    fn take(&mut self, piece: Piece) {
        match piece {
            Piece::Output(bytes) => self.output.extend(self.marks.remove(&bytes)),
            Piece::Event(Event::Begin(test)) => {
                self.running = Some(test);
                self.output.clear();
                self.marks.end();
            }
            Piece::Event(Event::End { test, passed, stopped, milliseconds, mut told, printed }) => {
                self.running = None;
                let (rest, seen) = self.marks.end();
                self.output.extend(rest);
                let lost = printed.and_then(|printed| printed.lost(seen));
                told.extend(lost.iter().map(|lost| self.file.suite.reporter.render_message("error", lost)));
                let remark = if stopped { self.stopped() } else { format!("{milliseconds} ms") };
                self.result(test, passed && lost.is_none(), stopped, &remark, &told);
            }
            // of programs without tests
            Piece::Event(Event::Ran(_)) => {}
        }
    }

    /// Why a test was stopped.
    fn stopped(&self) -> String {
        if self.file.suite.watch.is_stopped() {
            "interrupted".to_owned()
        } else {
            format!("the file's tests took more than {} s", self.file.suite.args.timeout)
        }
    }

    fn put(&mut self, word: Word) {
        if let Err(failure) = self.file.suite.out.put(self.file.place, word) {
            self.failure = Some(failure);
        }
    }

    fn result(&mut self, test: usize, passed: bool, stopped: bool, remark: &str, told: &str) {
        self.waiting.retain(|waiting| *waiting != test);
        let style = self.file.suite.reporter.style_out();
        let interrupted = stopped && self.file.suite.watch.is_stopped();
        let (verdict, count) = match passed {
            true => (style.good("ok"), &mut self.count.passed),
            false if interrupted => (style.warning("stopped"), &mut self.count.stopped),
            false => (style.error("FAILED"), &mut self.count.failed),
        };
        *count += 1;
        let name = self.names.get(test).map_or("", String::as_str);
        let mut text = format!("{}: {name} ... {verdict} ({remark})\n", self.file.path.display());
        if !passed || self.file.suite.args.show_output {
            text.push_str(&indented(&String::from_utf8_lossy(&self.output)));
        }
        self.output.clear();
        self.put(Word::Print(text));
        if !told.is_empty() {
            self.put(Word::Say(told.to_owned()));
        }
    }

    /// The worker is gone; of the tests that it was given, `before` were waiting.
    fn ended(&mut self, ending: Ending, before: usize) {
        let late = self.late || ending == Ending::TimedOut;
        let how = match ending {
            _ if late => format!("the file's tests took more than {} s", self.file.suite.args.timeout),
            Ending::Exit(code) => format!("the process exited with {code}"),
            Ending::Signal(signal) => format!("the process was ended by {}", signal::name(signal)),
            Ending::TimedOut => String::new(),
        };
        let errors = String::from_utf8_lossy(&std::mem::take(&mut self.errors)).into_owned();
        let interrupted = self.file.suite.watch.is_stopped();
        if let Some(test) = self.running.take() {
            self.result(test, false, interrupted, if interrupted { "interrupted" } else { &how }, &errors);
        } else if self.waiting.len() == before && !late && !interrupted {
            // it never came to a test: the toolkit or the device is at fault, and another try would not help
            self.put(Word::Say(errors));
            let code = if let Ending::Exit(code) = ending { u8::try_from(code).unwrap_or(USAGE) } else { USAGE };
            self.count.failed += before;
            self.count.broken = self.count.broken.max(code.max(PROGRAM));
            self.waiting.clear();
            self.put(Word::Print(format!("{}: {before} not tested, {how}\n", self.file.path.display())));
        } else if ending != Ending::Exit(i32::from(INTERRUPTED)) {
            self.put(Word::Say(errors));
        }
        if late {
            // the time is the whole file's
            self.count.failed += self.waiting.len();
            self.waiting.clear();
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
