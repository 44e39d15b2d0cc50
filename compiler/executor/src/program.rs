//! A decoded module.

use crate::code::{Code, Effect, Op};
use crate::decode;
use cdp_core::builtins::{RuntimeFn, cuda_error_name, cuda_error_text};
use cdp_core::ir::{FunctionKind, Module};
use cdp_core::source::Span;
use cdp_core::types::{Space, TypeTable};
use std::borrow::Cow;

/// A module, decoded once, that any number of hosts and devices run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) functions: Vec<Code>,
    pub(crate) globals: Vec<Variable>,
    pub(crate) strings: Vec<String>,
    /// For messages.
    pub(crate) types: TypeTable,
}

/// A variable outside functions, or a shared one.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    pub symbol: String,
    pub space: Space,
    /// In bytes; 0 for dynamic shared memory.
    pub size: u64,
    pub align: u32,
    /// As many bytes as `size`.
    pub init: Vec<u8>,
    /// The element of an array, or the type itself: its name and size in bytes.
    pub element: (String, u64),
    /// `[T]`
    pub dynamic: bool,
    pub span: Span,
}

/// A string's value: what kind it is above, which one below.
const LITERAL: u64 = 1 << 32;
const ERROR_NAME: u64 = 2 << 32;
const ERROR_TEXT: u64 = 3 << 32;

pub(crate) const fn literal(index: u32) -> u64 {
    LITERAL | index as u64
}

pub(crate) const fn error_name(error: i32) -> u64 {
    ERROR_NAME | error.cast_unsigned() as u64
}

pub(crate) const fn error_text(error: i32) -> u64 {
    ERROR_TEXT | error.cast_unsigned() as u64
}

impl Program {
    /// Decodes a module before `lower_launches`, which must have been verified. What makes no sense becomes an error when it runs.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        decode::module(module)
    }

    /// The tests in order: the number to run each by, and its name.
    pub fn tests(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().zip(0u32..).filter_map(|(code, id)| match &code.kind {
            FunctionKind::Test { name } => Some((id, name.as_str())),
            _ => None,
        })
    }

    /// The host function of this name.
    #[must_use]
    pub fn host_function(&self, name: &str) -> Option<u32> {
        self.functions
            .iter()
            .zip(0u32..)
            .find(|(code, _)| code.kind == FunctionKind::Host && code.name == name)
            .map(|(_, id)| id)
    }

    pub(crate) fn code(&self, function: u32) -> Option<&Code> {
        self.functions.get(function as usize)
    }

    /// The source of a step, by its number in the whole program.
    pub(crate) fn site(&self, site: u32) -> Span {
        let place = self.functions.partition_point(|code| code.first_site <= site).checked_sub(1);
        let code = place.and_then(|place| self.functions.get(place));
        code.map_or_else(Span::default, |code| code.span_before((site - code.first_site) as usize))
    }

    /// The runtime call that a step is, by its number in the whole program.
    pub(crate) fn call(&self, site: u32) -> Option<RuntimeFn> {
        let place = self.functions.partition_point(|code| code.first_site <= site).checked_sub(1)?;
        let code = self.functions.get(place)?;
        let step = (site - code.first_site).checked_sub(1)? as usize;
        let Op::Effect { table } = code.ops.get(step)? else { return None };
        match code.effects.get(*table as usize)? {
            Effect::Runtime(call) => Some(call.call),
            _ => None,
        }
    }

    /// The text of a string's value; empty for null.
    pub(crate) fn string(&self, value: u64) -> Cow<'_, str> {
        let low = value as u32;
        match value & !0xffff_ffff {
            LITERAL => self.strings.get(low as usize).map_or(Cow::Borrowed(""), |text| Cow::Borrowed(text.as_str())),
            ERROR_NAME => Cow::Borrowed(cuda_error_name(low.cast_signed())),
            ERROR_TEXT => Cow::Owned(cuda_error_text(low.cast_signed())),
            _ => Cow::Borrowed(""),
        }
    }
}
