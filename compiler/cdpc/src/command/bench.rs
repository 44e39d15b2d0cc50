//! `cdpc bench --tune`: tries what `@merge` and `@inline_below` can say of each launch, on a GPU, with the program's own tests.

use std::path::PathBuf;
use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use cdp_core::ir::{LaunchHints, Merge};
use cdp_runtime::isolate::{self, Channel, Ending};

use crate::artefact::{self, Artefact, Target};
use crate::command::run::itself;
use crate::device::Choice;
use crate::driver::Build;
use crate::execute::{self, Runner};
use crate::failure::{Failure, Result};
use crate::options::{Cdp, Compile, Reference, Switch};
use crate::reference::Executor;
use crate::report::Reporter;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source; with it objects, libraries, fatbins, cubins and PTX to link it with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Measure what the attributes of launches can say, each launch by itself, and show the best
    #[arg(long, required = true)]
    tune: bool,
    /// Write the best attributes into the source
    #[arg(long)]
    write: bool,
    /// Only tests whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Runs that count, after one that does not
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// What to run on: `gpu` or `gpu:N`
    #[arg(long, value_name = "DEVICE", default_value = "gpu")]
    device: Choice,
    /// Measure once, with what `--say` says, and print nanoseconds; not for people
    #[arg(long, hide = true)]
    trial: bool,
    /// An attribute of one statement; not for people
    #[arg(long, hide = true, value_name = "START:WAY")]
    say: Vec<Said>,
    #[command(flatten)]
    compile: Compile,
}

/// Sizes of children in place that are tried.
const BELOW: [u32; 4] = [33, 129, 513, 2049];
/// Blocks of buckets that are tried.
const BUCKETS: [u32; 3] = [16, 128, 1024];
/// What is not this much faster is not worth an attribute.
const WORTH: f64 = 0.97;
/// A try may take so long, and so many times what the program takes as it is: launches that overflow the pool take very long to fail.
const LEAST_LIMIT: Duration = Duration::from_secs(10);
const SLOWER: u32 = 4;

/// A way to run a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Off,
    Buckets(u32),
    InPlace(u32),
}

impl Way {
    /// What can be said of a launch that keeps its stream: whether its order may be given up only the author knows.
    fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Off).chain(BUCKETS.map(Self::Buckets)).chain(BELOW.map(Self::InPlace))
    }

    const fn hints(self) -> LaunchHints {
        match self {
            Self::Off => LaunchHints { merge: Some(Merge::Off), inline_below: None },
            Self::Buckets(blocks) => LaunchHints { merge: Some(Merge::Buckets(blocks)), inline_below: None },
            Self::InPlace(below) => LaunchHints { merge: None, inline_below: Some(below) },
        }
    }

    fn attribute(self) -> String {
        match self {
            Self::Off => "@merge(off)".to_owned(),
            Self::Buckets(blocks) => format!("@merge(buckets({blocks}))"),
            Self::InPlace(below) => format!("@inline_below({below})"),
        }
    }
}

/// The attribute of one statement, as one process tells another: where the statement starts, `:`, and `off`, a number of threads, or
/// `buckets` and a number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    statement: u32,
    way: Way,
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.way {
            Way::Off => write!(f, "{}:off", self.statement),
            Way::Buckets(blocks) => write!(f, "{}:buckets{blocks}", self.statement),
            Way::InPlace(below) => write!(f, "{}:{below}", self.statement),
        }
    }
}

impl FromStr for Said {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(statement, way)| {
            let way = match way.strip_prefix("buckets") {
                Some(blocks) => Way::Buckets(blocks.parse().ok()?),
                None if way == "off" => Way::Off,
                None => Way::InPlace(way.parse().ok()?),
            };
            Some(Self { statement: statement.parse().ok()?, way })
        });
        parsed.ok_or_else(|| "known are `START:off`, `START:bucketsBLOCKS` and `START:THREADS`".to_owned())
    }
}

/// # Errors
/// Those of the source, the toolkit and the device; a test that fails.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    if args.compile.meaning.cdp == Cdp::One {
        return Err(Failure::usage("`cdpc bench --tune` does not go with `--cdp=1`")
            .note("what is tried are ways of merging, and launches of CDP1 are not merged"));
    }
    let device = args.device.resolve(None)?;
    if !device.is_gpu() {
        return Err(Failure::usage("launches are measured on a GPU").help("`--device gpu`, on a machine that has one"));
    }
    let mut compile = device.compile(&args.compile)?;
    // what is tried are ways of merging
    compile.launch_merging = Some(Switch::On);
    let mut build = Build::begin(&args.files, &compile, reporter, true)?;
    let names = execute::tests(build.module());
    let wanted = |name: &String| args.filter.as_ref().is_none_or(|text| name.contains(text));
    let tests: Vec<usize> = (0..).zip(&names).filter(|(_, name)| wanted(name)).map(|(place, _)| place).collect();
    if tests.is_empty() {
        return Err(Failure::usage("there is no test to measure").help("`test \"name\" { … }` in the source says what counts"));
    }
    if args.trial {
        for said in &args.say {
            build.set_hints(said.statement, said.way.hints());
        }
        let time = measure(&build, &args.compile, device, &tests, args.runs)?;
        // a line of its own and the last one, whatever the program printed
        cdp_runtime::gpu::flush_output();
        return terminal::print(format!("\n{}\n", time.as_nanos()));
    }
    tune(args, &mut build, device, tests.len())
}

/// Every launch in turn.
fn tune(args: &Args, build: &mut Build<'_>, device: Choice, tests: usize) -> Result<()> {
    let bench = Bench { args, device };
    let (mut best, took) = match bench.time(&[], None)? {
        Tried::Time(time, took) => (time, took),
        Tried::Failed(why) => return Err(Failure::program(format!("the program cannot be measured as it is: {why}"))),
        Tried::TooLong => return Err(Failure::bug("a measurement without a limit took too long")),
    };
    let limit = LEAST_LIMIT.max(took * SLOWER);
    let noun = if tests == 1 { "test" } else { "tests" };
    terminal::print(format!("{tests} {noun}, as it is: {}\n", show(best)))?;
    let mut chosen: Vec<Said> = Vec::new();
    for site in build.tunable_launches() {
        let at = build.sources().line_column(site.launch);
        let code = build.sources().text(site.launch).lines().next().unwrap_or_default().to_owned();
        terminal::print(format!("{}:{}: {code}\n", at.line, at.column))?;
        let mut found = None;
        for way in Way::all() {
            build.set_hints(site.statement, way.hints());
            if !build.hints_hold() {
                continue;
            }
            let said = Said { statement: site.statement, way };
            let tried = bench.time(&[chosen.as_slice(), &[said]].concat(), Some(limit))?;
            let text = match &tried {
                Tried::Time(time, _) => show(*time),
                Tried::Failed(why) => format!("fails: {why}"),
                Tried::TooLong => format!("stopped after {} s", limit.as_secs()),
            };
            terminal::print(format!("  {:<24} {text}\n", way.attribute()))?;
            if let Tried::Time(time, _) = tried
                && time.as_secs_f64() < best.as_secs_f64() * WORTH
            {
                best = time;
                found = Some(said);
            }
        }
        build.set_hints(site.statement, found.map_or_else(LaunchHints::default, |said| said.way.hints()));
        let said = found.map_or_else(|| "  best as it is\n".to_owned(), |said| format!("  best: {}\n", said.way.attribute()));
        terminal::print(said)?;
        chosen.extend(found);
    }
    terminal::print(format!("with the best of each: {}\n", show(best)))?;
    if args.write && !chosen.is_empty() {
        write(build, &chosen)?;
    }
    Ok(())
}

fn show(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// From launches of the host to the end of what they started: the medians of all tests, added up.
fn measure(build: &Build<'_>, compile: &Compile, device: Choice, tests: &[usize], runs: u32) -> Result<Duration> {
    let watch = std::sync::Arc::default();
    let (reference, cdp) = (Reference::default(), compile.meaning.cdp.into());
    let executor = Executor { reference, trace: false, threads: 1, watch, cdp };
    let runner = Runner::new(device, executor, build)?;
    let mut sum = Duration::ZERO;
    for test in tests {
        sum += runner.time(*test, runs)?;
    }
    Ok(sum)
}

/// Tries, each in a process of its own, which a fault or a limit may end.
struct Bench<'a> {
    args: &'a Args,
    device: Choice,
}

/// What came of a try.
enum Tried {
    /// What was measured, and how long the process took.
    Time(Duration, Duration),
    Failed(String),
    TooLong,
}

impl Bench<'_> {
    fn time(&self, said: &[Said], limit: Option<Duration>) -> Result<Tried> {
        let mut command = itself()?;
        command.args(["bench", "--tune", "--trial"]).args(&self.args.files).args(self.args.compile.arguments());
        command.arg(format!("--device={}", self.device)).arg(format!("--runs={}", self.args.runs));
        command.args(self.args.filter.iter().map(|text| format!("--filter={text}")));
        command.args(said.iter().map(|said| format!("--say={said}"))).stdin(Stdio::null());
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let outcome = isolate::run(command, limit, |channel, bytes| match channel {
            Channel::Output => output.extend_from_slice(bytes),
            Channel::Error => errors.extend_from_slice(bytes),
        })?;
        if outcome.ending == Ending::TimedOut {
            return Ok(Tried::TooLong);
        }
        // what the program itself prints comes before
        let time = String::from_utf8_lossy(&output).lines().last().and_then(|line| line.parse().ok());
        Ok(match time.filter(|_| outcome.is_success()) {
            Some(nanoseconds) => Tried::Time(Duration::from_nanos(nanoseconds), outcome.duration),
            None => {
                let said = String::from_utf8_lossy(&errors);
                let first =
                    said.lines().find_map(|line| line.strip_prefix("error").map(|rest| rest.trim_start_matches([':', ' '])));
                Tried::Failed(first.unwrap_or("it ended without a word").to_owned())
            }
        })
    }
}

/// Puts the attributes in front of the statements.
fn write(build: &Build<'_>, chosen: &[Said]) -> Result<()> {
    let source = build.source_text();
    let mut edits: Vec<(usize, String)> = Vec::new();
    for Said { statement, way } in chosen {
        let at = *statement as usize;
        let line = source.get(..at).map_or(0, |before| before.rfind('\n').map_or(0, |end| end + 1));
        let indent: String = source.get(line..at).unwrap_or_default().chars().take_while(|c| c.is_whitespace()).collect();
        edits.push((at, format!("{}\n{indent}", way.attribute())));
    }
    edits.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut text = source.to_owned();
    for (at, attribute) in &edits {
        text.insert_str(*at, attribute);
    }
    let path = build.source_path();
    artefact::write_all(&[Artefact { target: Target::File(path.to_path_buf()), bytes: text.into_bytes() }])?;
    let noun = if edits.len() == 1 { "attribute" } else { "attributes" };
    terminal::print(format!("{}: {} {noun}\n", build.source_name(), edits.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_again() {
        for way in Way::all() {
            let said = Said { statement: 12, way };
            assert_eq!(said.to_string().parse(), Ok(said));
        }
        assert!("12".parse::<Said>().is_err() && "x:off".parse::<Said>().is_err() && "1:on".parse::<Said>().is_err());
    }
}
