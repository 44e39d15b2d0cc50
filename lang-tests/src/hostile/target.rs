//! What the fuzzer's targets do with their bytes, one function for each. Each is called by a program of its own, so that what the others need is not in it.

use super::{format as layout, ir_text as read_ir, program, tokens, tree};
use std::borrow::Cow;

fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// Cuts the input into tokens.
pub fn lexer(input: &[u8]) {
    tokens(&text(input));
}

/// Parses the input.
pub fn parser(input: &[u8]) {
    tree(&text(input));
}

/// Formats the input.
pub fn format(input: &[u8]) {
    layout(&text(input));
}

/// Checks the input as a program, and prepares it for code generation.
pub fn checker(input: &[u8]) {
    drop(program(&text(input)));
}

/// Reads the input as IR.
pub fn ir_text(input: &[u8]) {
    read_ir(&text(input));
}

/// Reads the input as a cubin.
pub fn cubin(input: &[u8]) {
    drop(cdp_runtime::CubinInfo::parse(input));
}
