//! Running host code: on the reference executor, or on a GPU.

use std::sync::Arc;
use std::time::Duration;

use cdp_core::diag::Diagnostic;
use cdp_core::ir::{FunctionKind, Module};
use cdp_executor::{Device, HostProgram, Options, Outcome, Program, Schedule, Trace};
use cdp_runtime::Manifest;

use crate::device::Choice;
use crate::driver::Build;
use crate::failure::{Failure, Message, Result};
use crate::gpu::GpuDevice;
use crate::protocol::Printed;
use crate::reference::Executor;
use crate::report::Reporter;
use crate::terminal;

/// The names of a module's tests, in order.
pub fn tests(module: &Module) -> Vec<String> {
    let name = |kind: &FunctionKind| match kind {
        FunctionKind::Test { name } => Some(name.clone()),
        _ => None,
    };
    module.functions.iter().filter_map(|function| name(&function.kind)).collect()
}

/// A program ready to run, any number of times. Every run gets a device of its own, so that none sees what another left.
pub struct Runner {
    program: Arc<Program>,
    target: Target,
}

enum Target {
    Cpu(Executor),
    Gpu(Box<Loadable>),
}

/// What a GPU loads, and which.
struct Loadable {
    number: i32,
    cubin: Vec<u8>,
    manifest: Manifest,
    counts_prints: bool,
}

/// A device that nothing has run on yet.
pub enum Fresh<'a> {
    /// The reference executor, which makes one for each schedule.
    Cpu(&'a Executor),
    /// A GPU with the module loaded.
    Gpu(Box<GpuDevice>),
}

/// What came of a run.
#[derive(Debug, Default)]
pub struct Ran {
    /// Whether everything was right.
    pub passed: bool,
    /// What went wrong at places of the source.
    pub diagnostics: Vec<Diagnostic>,
    /// What was never given back.
    pub leaks: Vec<Diagnostic>,
    /// What else is known about it.
    pub messages: Vec<Message>,
    /// What is no mistake by itself.
    pub notes: Vec<Message>,
    /// What device code printed, where that is counted.
    pub printed: Option<Printed>,
    /// Whether nothing more can run in this process.
    pub device_lost: bool,
    /// Whether Ctrl-C ended it.
    pub stopped: bool,
    /// How many schedules it ran under; 0 where it did once.
    pub schedules: usize,
    /// Of many schedules, the first that it failed under, with its place.
    pub failed_under: Option<(usize, Schedule)>,
    /// What ran when, where that was asked for.
    pub trace: Option<Trace>,
}

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `host fn main`
    Main,
    /// The test with this place among the tests.
    Test(usize),
}

impl Entry {
    /// `host fn main`, or a test by its name, of which a part is enough that no other has.
    ///
    /// # Errors
    /// When there is no such test, or more than one.
    pub fn named(test: Option<&str>, module: &Module) -> Result<Self> {
        let Some(wanted) = test else { return Ok(Self::Main) };
        let names = tests(module);
        if let Some(place) = names.iter().position(|name| name == wanted) {
            return Ok(Self::Test(place));
        }
        let like: Vec<usize> = (0..).zip(&names).filter(|(_, name)| name.contains(wanted)).map(|(place, _)| place).collect();
        match like.as_slice() {
            [place] => Ok(Self::Test(*place)),
            [] if names.is_empty() => Err(Failure::usage("there are no tests in this file")),
            [] => Err(Failure::usage(format!("there is no test `{wanted}`")).help(format!("there are: {}", names.join("; ")))),
            _ => {
                let names: Vec<&str> = like.iter().filter_map(|place| names.get(*place)).map(String::as_str).collect();
                Err(Failure::usage(format!("`{wanted}` is in the name of more than one test")).help(names.join("; ")))
            }
        }
    }
}

impl Runner {
    /// Compiles for the device.
    ///
    /// # Errors
    /// Those of code generation and linking.
    pub fn new(device: Choice, executor: Executor, build: &Build<'_>) -> Result<Self> {
        // host code is the same either way
        let program = match device {
            Choice::Gpu(_) => Program::new(build.module()),
            Choice::Cpu | Choice::Auto => Program::new(&*build.runnable()?),
        };
        let target = match device {
            Choice::Gpu(number) => {
                let code = build.generate_to_run()?;
                let linked = build.link(&code)?;
                let counts_prints = code.counts_prints;
                Target::Gpu(Box::new(Loadable { number, cubin: linked.cubin, manifest: code.manifest, counts_prints }))
            }
            Choice::Cpu | Choice::Auto => {
                build.check()?;
                Target::Cpu(executor)
            }
        };
        Ok(Self { program: Arc::new(program), target })
    }

    /// A new device.
    ///
    /// # Errors
    /// No driver, no GPU, code that it cannot run.
    pub fn device(&self) -> Result<Fresh<'_>> {
        Ok(match &self.target {
            Target::Cpu(executor) => Fresh::Cpu(executor),
            Target::Gpu(code) => {
                let device = GpuDevice::new(code.number, code.cubin.clone(), code.manifest.clone(), code.counts_prints)?;
                Fresh::Gpu(Box::new(device))
            }
        })
    }

    /// Runs on a device of its own.
    ///
    /// # Errors
    /// When there is nothing of this name.
    pub fn run(&self, entry: Entry, device: Fresh<'_>) -> Result<Ran> {
        match device {
            Fresh::Cpu(executor) => {
                let ran = executor.run(&self.program, &|host: &mut HostProgram<'_>| self.begin(entry, host));
                ran.ok_or_else(|| nothing(entry))
            }
            Fresh::Gpu(mut device) => {
                let outcome = self.start(entry, &mut *device)?;
                let mut ran = Ran::of(outcome);
                if let Some(fault) = device.fault() {
                    ran.device_lost = true;
                    ran.blame(fault);
                } else if let Some(detail) = device.take_detail().filter(|_| !ran.passed) {
                    ran.blame(&detail);
                }
                match device.printed() {
                    Ok(printed) => ran.printed = printed,
                    Err(fault) => {
                        ran.device_lost = true;
                        ran.blame(&fault);
                    }
                }
                Ok(ran)
            }
        }
    }

    /// How long what a test starts on a GPU takes: the median of so many runs on one device, after one that does not count, from a launch of
    /// the host to the end of what it waits for.
    ///
    /// # Errors
    /// When it fails, or there is no GPU.
    pub fn time(&self, test: usize, runs: u32) -> Result<Duration> {
        let Fresh::Gpu(mut device) = self.device()? else { return Err(Failure::bug("only a GPU is measured")) };
        let mut times = Vec::new();
        for _ in 0..=runs {
            let outcome = self.start(Entry::Test(test), &mut *device)?;
            let busy = device.take_busy();
            let fault = device.fault().map(Message::from);
            if let Some(message) = fault {
                return Err(Failure::program(message.text));
            }
            if !outcome.is_ok() {
                let name = self.program.tests().nth(test).map_or("", |(_, name)| name);
                return Err(Failure::program(format!("the test `{name}` fails, so that its time says nothing")).help(
                    "a test that is measured runs several times on one device: it must not rest on first values of variables",
                ));
            }
            times.push(busy);
        }
        let counted = times.get_mut(1..).unwrap_or_default();
        counted.sort_unstable();
        Ok(counted.get(counted.len() / 2).copied().unwrap_or_default())
    }

    fn start(&self, entry: Entry, device: &mut dyn Device) -> Result<Outcome> {
        let mut output = terminal::writer();
        let mut host = HostProgram::new(&self.program, device, &mut output, Options::default());
        self.begin(entry, &mut host).ok_or_else(|| nothing(entry))
    }

    fn begin(&self, entry: Entry, host: &mut HostProgram<'_>) -> Option<Outcome> {
        match entry {
            Entry::Main => host.run_function("main"),
            Entry::Test(place) => self.program.tests().nth(place).map(|(id, _)| id).and_then(|id| host.run_test(id)),
        }
    }
}

fn nothing(entry: Entry) -> Failure {
    match entry {
        Entry::Main => Failure::program("there is no `host fn main()` without parameters to run")
            .help("add one; `cdpc test` runs all tests, `cdpc run --test NAME` runs one"),
        Entry::Test(place) => Failure::bug(format!("there is no test {place}")),
    }
}

impl Ran {
    /// What an outcome says.
    pub fn of(outcome: Outcome) -> Self {
        Self { passed: outcome.is_ok(), diagnostics: outcome.diagnostics, leaks: outcome.leaks, ..Self::default() }
    }

    fn blame(&mut self, error: &cdp_runtime::Error) {
        self.passed = false;
        self.messages.push(Message::from(error));
    }

    /// Everything there is to say, with what was never given back if `leaks` says so.
    pub fn render(&self, build: &Build<'_>, reporter: &Reporter, leaks: bool) -> String {
        let leaks = self.leaks.iter().filter(|_| leaks && self.passed);
        let all: Vec<Diagnostic> = self.diagnostics.iter().chain(leaks).cloned().collect();
        let mut text = reporter.render(build.sources(), &all);
        for (severity, messages) in [("error", &self.messages), ("note", &self.notes)] {
            for message in messages {
                text.push_str(&reporter.render_message(severity, message));
            }
        }
        text
    }
}
