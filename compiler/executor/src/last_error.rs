//! What a thread, of the host or of a grid, knows of the errors of its calls (cdp2 rule R18): the last one, and those that it has not looked
//! at. The calls that ask for them are answered here, for both sides.

use crate::code::RuntimeCall;
use crate::fault::{Fault, FaultKind};
use crate::interp::locals::Locals;
use crate::interp::read_bits;
use crate::program::{error_name, error_text};
use cdp_core::builtins::RuntimeFn;
use cdp_core::source::Span;

/// Errors of one thread's calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastError {
    /// What `cudaGetLastError` gives.
    last: i32,
    /// Errors that nobody has looked at.
    pub unseen: Vec<Fault>,
}

impl LastError {
    /// A call's result: for the program, for `cudaGetLastError`, and for a report if nobody ever looks.
    pub(crate) fn result(
        &mut self,
        (dst, observed): (Option<u32>, bool),
        error: i32,
        span: Span,
        locals: &mut Locals<'_>,
        what: impl FnOnce() -> String,
    ) {
        locals.set_error(dst, error);
        if error != 0 {
            self.last = error;
            if !observed {
                self.nobody_looked(what(), error, span);
            }
        }
    }

    /// An error that nobody can have looked at.
    pub(crate) fn nobody_looked(&mut self, what: String, error: i32, span: Span) {
        self.unseen.push(Fault::at(FaultKind::Cuda { what, error, because: "and nobody looked" }, span));
    }

    /// Answers a call that asks for errors or for what they are called; whether it is one.
    pub(crate) fn answer(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>) -> bool {
        let argument = |locals: &Locals<'_>| {
            let bits = call.args.first().map_or(0, |slot| read_bits(locals.slots, slot.size, slot.offset));
            (bits as u32).cast_signed()
        };
        match call.call {
            RuntimeFn::GetLastError | RuntimeFn::PeekAtLastError => {
                if self.last != 0 {
                    self.unseen.clear();
                }
                locals.set_error(call.dst, self.last);
                if call.call == RuntimeFn::GetLastError {
                    self.last = 0;
                }
            }
            RuntimeFn::GetErrorString | RuntimeFn::GetErrorName => {
                let error = argument(locals);
                let text = if call.call == RuntimeFn::GetErrorName { error_name(error) } else { error_text(error) };
                if let Some(dst) = call.dst {
                    locals.set_u64(dst, text);
                }
            }
            _ => return false,
        }
        true
    }
}
