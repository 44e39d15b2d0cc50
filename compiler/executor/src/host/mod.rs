//! `host fn` and `test` bodies.
//!
//! - this file: running one, and what came of it
//! - `memory`: device memory as host code reads and writes it
//! - `texture`: arrays, texture and surface objects
//! - `world`: launches, runtime calls, `printf`, `assert`
//!
//! Host code runs in order, one statement after the other. Its variables lie on a stack of its own; `*global` pointers are device
//! addresses. Reading or writing device memory goes through the runtime, as `cudaMemcpy` would: it takes its turn in the default stream
//! and waits for what was launched there before. So a read after a launch sees what the kernel wrote, unless the kernel runs in a
//! non-blocking stream, which must be waited for first.
//!
//! Errors that a CUDA call returns are for the program to look at: in the call's result, or with `cudaGetLastError()` later. An error
//! that nobody looked at makes the run fail at its end.

mod memory;
mod texture;
mod world;

use crate::control::Control;
use crate::device::Device;
use crate::fault::{Fault, FaultKind};
use crate::interp::{self, StackLimits, Stop, Thread};
use crate::program::Program;
use cdp_core::diag::Diagnostic;
use std::io::Write;
use std::sync::Arc;
use world::World;

/// Limits of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many steps host code may take; none for as many as it likes.
    pub max_steps: Option<u64>,
    /// How deep its calls may nest.
    pub max_call_depth: usize,
    /// For whoever watches the run.
    pub control: Option<Arc<Control>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_steps: None, max_call_depth: 10_000, control: None }
    }
}

/// Steps between two looks at what is going on outside.
const TURN: u64 = 1_000_000;

/// Host stacks beyond this are a recursion that does not end.
const MAX_STACK: usize = 1 << 30;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It ended, and every error was looked at.
    Ok,
    /// An `assert` of host code failed.
    Failed,
    /// A program error, in host or device code, or a CUDA error that nobody looked at.
    RuntimeError,
}

/// What came of a run: the status, and a diagnostic for everything that went wrong, the cause first.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In one word.
    pub status: Status,
    /// Why.
    pub diagnostics: Vec<Diagnostic>,
    /// What was never given back, of a run that went well: no mistake by itself.
    pub leaks: Vec<Diagnostic>,
}

impl Outcome {
    /// Whether it may be called a success: exit code 0, otherwise 1.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }
}

/// Host code over a device. Every run starts afresh but for what the device keeps: the values of `global var`s. For runs that share nothing,
/// take a new device for each.
pub struct HostProgram<'a> {
    program: &'a Program,
    device: &'a mut dyn Device,
    output: &'a mut dyn Write,
    options: Options,
}

impl std::fmt::Debug for HostProgram<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostProgram").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<'a> HostProgram<'a> {
    /// `output` gets what `printf` prints, on the host and, where [`Device::take_output`] gives it, on the device. It is flushed before
    /// every call that waits for the device, and at the end.
    pub fn new(program: &'a Program, device: &'a mut dyn Device, output: &'a mut dyn Write, options: Options) -> Self {
        Self { program, device, output, options }
    }

    /// Runs the host function of this name, which takes no parameters; none when there is none.
    pub fn run_function(&mut self, name: &str) -> Option<Outcome> {
        let id = self.program.host_function(name)?;
        self.program.code(id).filter(|code| code.params.is_empty())?;
        Some(self.run(id))
    }

    /// Runs the test with this number of [`Program::tests`]; none when there is none.
    pub fn run_test(&mut self, id: u32) -> Option<Outcome> {
        self.program.tests().find(|(test, _)| *test == id)?;
        Some(self.run(id))
    }

    fn run(&mut self, function: u32) -> Outcome {
        let mut thread = Thread::default();
        thread.start(self.program, function, 0);
        let mut world = World::new(self.program, &mut *self.device, &mut *self.output);
        let limits = StackLimits { calls: self.options.max_call_depth, bytes: MAX_STACK };
        let mut left = self.options.max_steps.unwrap_or(u64::MAX);
        let fault = loop {
            let turn = TURN.min(left);
            let mut steps = turn;
            let stop = interp::run(self.program, &mut thread, &mut world, limits, &mut steps);
            left -= turn - steps;
            let stopped = self.options.control.as_ref().is_some_and(|control| {
                control.add_steps(turn - steps);
                control.is_stopped()
            });
            match stop {
                Ok(Stop::Ended | Stop::Abandoned) => break None,
                Ok(Stop::OutOfSteps) if stopped => break Some(thread.fault(self.program, FaultKind::Stopped)),
                Ok(Stop::OutOfSteps) if left > 0 => {}
                Ok(Stop::OutOfSteps) => {
                    break Some(thread.fault(self.program, FaultKind::Steps(self.options.max_steps.unwrap_or(u64::MAX))));
                }
                Ok(Stop::Waits) => {
                    let text = "host code waits for other threads".to_owned();
                    break Some(thread.fault(self.program, FaultKind::Unsupported(text)));
                }
                Err(fault) => break Some(fault),
            }
        };
        world.finish(fault)
    }
}

/// Puts together what went wrong: in device code, in host code, and errors that nobody looked at.
fn outcome(device: Vec<Diagnostic>, fault: Option<&Fault>, unseen: &[Fault]) -> Outcome {
    let explained = !device.is_empty();
    let mut status = if explained { Status::RuntimeError } else { Status::Ok };
    let mut diagnostics = device;
    // an error that a fault in device code left behind is not a second mistake
    let follows =
        |fault: &Fault| explained && matches!(fault.kind, FaultKind::Cuda { error, .. } if world::spoils_context(error));
    if let Some(fault) = fault
        && !follows(fault)
    {
        let failed = fault.kind.is_assertion() && status == Status::Ok;
        status = if failed { Status::Failed } else { Status::RuntimeError };
        diagnostics.push(fault.diagnostic(None));
    }
    for unseen in unseen.iter().filter(|unseen| !follows(unseen)) {
        status = if status == Status::Failed { Status::Failed } else { Status::RuntimeError };
        diagnostics.push(unseen.diagnostic(None));
    }
    Outcome { status, diagnostics, leaks: Vec::new() }
}

#[cfg(test)]
mod tests;
