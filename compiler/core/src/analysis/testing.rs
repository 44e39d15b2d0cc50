//! Helpers for the tests of analyses: verified modules from IR text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail where it stands")]

use crate::ir::{Function, Module, parse};

/// A module from its text form; it must keep the rules of the IR.
pub(crate) fn module(text: &str) -> Module {
    let module = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    if let Err(errors) = crate::verify::verify(&module) {
        panic!("{errors:?}\n{text}");
    }
    module
}

/// A function of such a module.
pub(crate) fn function(text: &str, name: &str) -> Function {
    module(text).functions.into_iter().find(|function| function.name == name).unwrap()
}
