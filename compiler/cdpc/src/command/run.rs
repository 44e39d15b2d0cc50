//! `cdpc run`: a file's `host fn main`. On a GPU in a process of its own, which a fault may end; on the reference executor in this one.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use cdp_core::source::Span;
use cdp_executor::Trace;

use crate::artefact::{self, Artefact, Target};
use crate::device::Choice;
use crate::driver::Build;
use crate::execute::{Entry, Ran, Runner};
use crate::failure::{BUG, Failure, INTERRUPTED, Message, PROGRAM, Result};
use crate::options::{Compile, LeaksShown, Reference};
use crate::protocol::{self, Event, Marks, Piece, Splitter};
use crate::reference::{Executor, failed_under};
use crate::report::Reporter;
use crate::signal;
use crate::terminal;
use crate::watch::Watch;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, `-` for standard input; with it objects, libraries, fatbins, cubins and PTX to link it with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// What to run on: `gpu`, `gpu:N`, `cpu` (the reference executor), or `auto`: a GPU where one is
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
    /// Run this test in place of `host fn main`
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Write the launch tree with its times, streams and order as JSON; without a path to NAME.trace.json
    #[arg(long, value_name = "json[:PATH]", help_heading = "Reference executor")]
    trace: Option<TraceFile>,
    /// Draw the launch tree as SVG
    #[arg(long, value_name = "PATH", help_heading = "Reference executor")]
    graph: Option<PathBuf>,
    #[command(flatten)]
    leaks: LeaksShown,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    compile: Compile,
}

/// `json` or `json:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TraceFile(Option<PathBuf>);

impl FromStr for TraceFile {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            None if text == "json" => Ok(Self(None)),
            Some(("json", path)) if !path.is_empty() => Ok(Self(Some(path.into()))),
            _ => Err("known are `json` and `json:PATH`".to_owned()),
        }
    }
}

impl Args {
    /// What of the arguments only the reference executor understands.
    fn asked(&self) -> Option<&'static str> {
        let trace = self.trace.as_ref().map(|_| "--trace");
        trace.or_else(|| self.graph.as_ref().map(|_| "--graph")).or_else(|| self.reference.asked())
    }
}

/// # Errors
/// Those of the source, the toolkit, the device and the program.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let device = args.device.resolve(args.asked())?;
    if !device.is_gpu() {
        return here(args, reporter);
    }
    let token = protocol::token();
    let mut command = worker(reporter)?;
    command.args(&args.files).arg(format!("--device={device}")).arg(format!("--token={token}")).args(args.compile.arguments());
    command.arg(format!("--leaks={}", args.leaks.leaks));
    command.args(args.test.iter().map(|name| format!("--test={name}"))).stdout(Stdio::piped());
    // the worker has said what there was to say, but for what is missing in its output
    let mut child = command.spawn().map_err(|error| Failure::file("start", command.get_program().as_ref(), &error))?;
    let lost = child.stdout.take().map_or(Ok(None), |output| pass_on(output, &token, terminal::print));
    // without a reader it ends at its next output
    let status = child.wait().map_err(|error| Failure::file("wait for", command.get_program().as_ref(), &error))?;
    if let Some(lost) = lost? {
        reporter.message("error", &lost);
        return Err(Failure::Told(PROGRAM));
    }
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Told(u8::try_from(code).unwrap_or(BUG))),
        None => Err(Failure::program(format!("the program was ended by {}", signal::of(status)))),
    }
}

/// Gives on what a worker prints, as it comes; and at the end what is to be said where some of it was lost.
fn pass_on(mut output: impl Read, token: &str, mut print: impl FnMut(Vec<u8>) -> Result<()>) -> Result<Option<Message>> {
    let (mut splitter, mut marks, mut printed) = (Splitter::new(token), Marks::default(), None);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match output.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::file("read", Path::new("the program's output"), &error)),
        };
        for piece in splitter.push(buffer.get(..count).unwrap_or_default()) {
            match piece {
                Piece::Output(bytes) => print(marks.remove(&bytes))?,
                Piece::Event(Event::Ran(count)) => printed = count,
                Piece::Event(_) => {}
            }
        }
    }
    print(marks.remove(&splitter.finish()))?;
    let (rest, seen) = marks.end();
    print(rest)?;
    Ok(printed.and_then(|printed: protocol::Printed| printed.lost(seen)))
}

/// On the reference executor.
fn here(args: &Args, reporter: &Reporter) -> Result<()> {
    let build = Build::begin(&args.files, &args.compile, reporter, false)?;
    let watch = Watch::interrupts(|| ())?;
    let executor = Executor {
        reference: args.reference.clone(),
        cdp: args.compile.meaning.cdp.into(),
        trace: args.trace.is_some() || args.graph.is_some(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        watch: std::sync::Arc::clone(&watch),
    };
    let runner = Runner::new(Choice::Cpu, executor, &build)?;
    let device = runner.device()?;
    let entry = Entry::named(args.test.as_deref(), build.module())?;
    let mut ran = watch.with_progress(|| runner.run(entry, device))?;
    if let Some(trace) = ran.trace.take() {
        write_trace(args, &trace, &build)?;
    }
    tell(args, ran, &build, reporter)
}

/// Says what came of it.
fn tell(args: &Args, mut ran: Ran, build: &Build<'_>, reporter: &Reporter) -> Result<()> {
    if let Some(under) = ran.failed_under {
        let test: Vec<String> = args.test.iter().map(|name| format!("--test={name}")).collect();
        let what = ("run", build.source_path(), test.as_slice());
        ran.notes.push(failed_under(under, what, &args.reference, &args.compile.meaning));
    }
    terminal::say(&ran.render(build, reporter, args.leaks.leaks));
    match ran {
        Ran { stopped: true, .. } => Err(Failure::Told(INTERRUPTED)),
        Ran { passed: false, .. } => Err(Failure::Told(PROGRAM)),
        Ran { schedules: 0, .. } => Ok(()),
        Ran { schedules, .. } => {
            terminal::say(&format!("no failure under {schedules} schedules\n"));
            Ok(())
        }
    }
}

/// Also of a run that failed: that is when one wants to see it.
fn write_trace(args: &Args, trace: &Trace, build: &Build<'_>) -> Result<()> {
    let sources = build.sources();
    let place = |span: Span| {
        let at = sources.line_column(span);
        (span != Span::default()).then(|| (sources.name(span.file).to_owned(), at.line, at.column))
    };
    let mut artefacts = Vec::new();
    if let Some(TraceFile(path)) = &args.trace {
        let path = path.clone().unwrap_or_else(|| default_name(build.source_path()));
        artefacts.push(Artefact { target: Target::named(&path), bytes: trace.json(place).into_bytes() });
    }
    if let Some(path) = &args.graph {
        artefacts.push(Artefact { target: Target::named(path), bytes: trace.svg().into_bytes() });
    }
    artefact::write_all(&artefacts)
}

/// `NAME.trace.json` in the current folder.
fn default_name(file: &Path) -> PathBuf {
    let stem = file.file_stem().filter(|stem| *stem != "-").unwrap_or("a".as_ref());
    let mut name = stem.to_owned();
    name.push(".trace.json");
    name.into()
}

/// The start of a worker's command line.
///
/// # Errors
/// When this program's own path cannot be found.
pub fn worker(reporter: &Reporter) -> Result<Command> {
    let mut command = itself()?;
    command.arg("worker").args(reporter.arguments());
    Ok(command)
}

/// A process of this program.
///
/// # Errors
/// When this program's own path cannot be found.
pub fn itself() -> Result<Command> {
    let program = std::env::current_exe().map_err(|error| Failure::usage(format!("cdpc cannot find itself: {error}")))?;
    Ok(Command::new(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Printed, encode};

    /// What arrives of some output, and what is said at the end.
    fn passed_on(output: &[u8], calls: Option<u64>) -> (String, Option<Message>) {
        let mut stream = output.to_vec();
        stream.extend(encode("tok", &Event::Ran(calls.map(|calls| Printed { calls, ring: 1 << 20 }))));
        let mut text = Vec::new();
        let lost = pass_on(stream.as_slice(), "tok", |bytes| {
            text.extend(bytes);
            Ok(())
        });
        (String::from_utf8(text).unwrap(), lost.unwrap())
    }

    #[test]
    fn output_comes_without_marks_and_what_is_missing_is_said() {
        let output = "host\n\u{1e}\u{1f}one\n\u{1e}\u{1f}two".as_bytes();
        assert_eq!(passed_on(output, Some(2)), ("host\none\ntwo".to_owned(), None));
        assert_eq!(passed_on(b"host\x1e", None), ("host\u{1e}".to_owned(), None));
        let (text, lost) = passed_on(output, Some(5));
        assert_eq!(text, "host\none\ntwo");
        assert!(lost.unwrap().text.contains("3 of 5 calls"));
    }
}
