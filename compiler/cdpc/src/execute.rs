//! Running host code: on the reference executor, or on a GPU.

use std::sync::Arc;

use cdp_core::diag::Diagnostic;
use cdp_core::ir::{FunctionKind, Module};
use cdp_executor::cpu::CpuOptions;
use cdp_executor::{CpuDevice, Device, HostProgram, Options, Outcome, Program};
use cdp_runtime::Manifest;

use crate::device::Choice;
use crate::driver::Build;
use crate::failure::{Failure, Message, Result};
use crate::gpu::GpuDevice;
use crate::options::Reference;
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
    Cpu(CpuOptions),
    Gpu(Box<Loadable>),
}

/// What a GPU loads, and which.
struct Loadable {
    number: i32,
    cubin: Vec<u8>,
    manifest: Manifest,
}

/// A device that nothing has run on yet.
pub enum Fresh {
    /// The reference executor.
    Cpu(Box<CpuDevice>),
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
    /// What else is known about it.
    pub messages: Vec<Message>,
    /// Whether nothing more can run in this process.
    pub device_lost: bool,
}

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `host fn main`
    Main,
    /// The test with this place among the tests.
    Test(usize),
}

impl Runner {
    /// Compiles for the device.
    ///
    /// # Errors
    /// Those of code generation and linking.
    pub fn new(device: Choice, reference: &Reference, build: &Build<'_>) -> Result<Self> {
        let target = match device {
            Choice::Gpu(number) => {
                let code = build.generate(false)?;
                let linked = build.link(&code)?;
                Target::Gpu(Box::new(Loadable { number, cubin: linked.cubin, manifest: code.manifest }))
            }
            Choice::Cpu | Choice::Auto => {
                build.check()?;
                Target::Cpu(reference.options())
            }
        };
        Ok(Self { program: Arc::new(Program::new(build.module())), target })
    }

    /// A new device.
    ///
    /// # Errors
    /// No driver, no GPU, code that it cannot run.
    pub fn device(&self) -> Result<Fresh> {
        Ok(match &self.target {
            Target::Cpu(options) => Fresh::Cpu(Box::new(CpuDevice::new(Arc::clone(&self.program), options.clone()))),
            Target::Gpu(code) => Fresh::Gpu(Box::new(GpuDevice::new(code.number, code.cubin.clone(), code.manifest.clone())?)),
        })
    }

    /// Runs on a device of its own.
    ///
    /// # Errors
    /// When there is nothing of this name.
    pub fn run(&self, entry: Entry, device: Fresh) -> Result<Ran> {
        match device {
            Fresh::Cpu(mut device) => Ok(Ran::of(self.start(entry, &mut *device)?)),
            Fresh::Gpu(mut device) => {
                let outcome = self.start(entry, &mut *device)?;
                let mut ran = Ran::of(outcome);
                if let Some(fault) = device.fault() {
                    ran.device_lost = true;
                    ran.blame(fault);
                } else if let Some(detail) = device.take_detail().filter(|_| !ran.passed) {
                    ran.blame(&detail);
                }
                if let Err(lost) = device.check_output() {
                    ran.blame(&lost);
                }
                Ok(ran)
            }
        }
    }

    fn start(&self, entry: Entry, device: &mut dyn Device) -> Result<Outcome> {
        let mut output = terminal::writer();
        let mut host = HostProgram::new(&self.program, device, &mut output, Options::default());
        let outcome = match entry {
            Entry::Main => host.run_function("main"),
            Entry::Test(place) => self.program.tests().nth(place).map(|(id, _)| id).and_then(|id| host.run_test(id)),
        };
        outcome.ok_or_else(|| match entry {
            Entry::Main => Failure::program("there is no `host fn main()` without parameters to run")
                .help("add one, or run the tests with `cdpc test`"),
            Entry::Test(place) => Failure::bug(format!("there is no test {place}")),
        })
    }
}

impl Ran {
    fn of(outcome: Outcome) -> Self {
        Self { passed: outcome.is_ok(), diagnostics: outcome.diagnostics, ..Self::default() }
    }

    fn blame(&mut self, error: &cdp_runtime::Error) {
        self.passed = false;
        self.messages.push(Message::from(error));
    }

    /// Everything there is to say.
    pub fn render(&self, build: &Build<'_>, reporter: &Reporter) -> String {
        let mut text = reporter.render(build.sources(), &self.diagnostics);
        for message in &self.messages {
            text.push_str(&reporter.render_message("error", message));
        }
        text
    }
}
