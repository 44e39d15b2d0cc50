//! The rules that a module must keep, so that back ends need not check anything: after [`verify`] says Ok they return errors for what
//! they do not support, and never panic.
//!
//! - this file: [`verify`] and its errors
//! - `info`: who calls, launches and needs what: [`ModuleInfo`]
//! - `module`: types, variables, constants, functions as wholes; `statement`, `rvalue`, `place`: their parts; `side`: what may stand in
//!   host code and what in device code
//!
//! Any module may be given, also one that makes no sense: the text form can be written by hand.

mod constant;
mod info;
mod module;
mod place;
mod rvalue;
mod side;
mod statement;
#[cfg(test)]
mod tests;

pub use info::{FunctionInfo, LaunchStatement, ModuleInfo};

use crate::ir::{BlockId, Function, FunctionId, Module};
use std::fmt;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// In which function; none for types and variables.
    pub function: Option<FunctionId>,
    /// In which block.
    pub block: Option<BlockId>,
    /// At which statement of the block, from 0; the number of statements stands for the terminator.
    pub statement: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = self.function {
            write!(f, "function {}", function.0)?;
            if let Some(block) = self.block {
                write!(f, ", block {}", block.0)?;
            }
            if let Some(statement) = self.statement {
                write!(f, ", statement {statement}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for VerifyError {}

/// No more errors than this are collected.
const MOST_ERRORS: usize = 100;

/// Checks a module.
///
/// # Errors
/// The rules that it breaks, at most a hundred of them, in the order of the module.
pub fn verify(module: &Module) -> Result<ModuleInfo, Vec<VerifyError>> {
    let mut verifier = Verifier { module, errors: Vec::new(), function: None, block: None, statement: None };
    verifier.types();
    // sizes and elements may be asked for only once the types are known to be finite
    if verifier.errors.is_empty() {
        verifier.globals();
        verifier.functions();
        verifier.symbols();
    }
    if !verifier.errors.is_empty() {
        return Err(verifier.errors);
    }
    let info = ModuleInfo::new(module);
    verifier.sides(&info);
    if verifier.errors.is_empty() { Ok(info) } else { Err(verifier.errors) }
}

/// Where the check is, and what it found.
struct Verifier<'a> {
    module: &'a Module,
    errors: Vec<VerifyError>,
    function: Option<(FunctionId, &'a Function)>,
    block: Option<BlockId>,
    statement: Option<usize>,
}

impl Verifier<'_> {
    fn error(&mut self, message: impl Into<String>) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(VerifyError {
                function: self.function.map(|(id, _)| id),
                block: self.block,
                statement: self.statement,
                message: message.into(),
            });
        }
    }

    fn require(&mut self, holds: bool, message: impl FnOnce(&Self) -> String) -> bool {
        if !holds {
            let message = message(self);
            self.error(message);
        }
        holds
    }
}
