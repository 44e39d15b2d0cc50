//! The text form of the IR: `--emit=ir`, and what tests are written in.
//!
//! [`print()`] writes everything that a module is made of, and [`parse`] reads it back to an equal module, type ids and spans included. What
//! a module looks like:
//!
//! ```text
//! type 23 = *global f32
//! struct Row align 16 @ 0:7..10 { begin: i32 @ 0:13..18, len: i32 @ 0:25..28 }
//! enum Color: i32 @ 0:40..45 { red = 0, green = 1 }
//! var $total#0: u32 in global exported = u32 0 @ 0:60..65
//! kernel &scale#0 params 2 -> void exported @ 0:80..85 {
//!   %x#0: *global f32 @ 0:86..87
//!   %n#1: i32 @ 0:90..91
//!   %2: u32 @ 0:99..110
//! bb0:
//!   %2 = register threadIdx.x @ 0:99..110
//!   store *%x#0, f32 1.5 @ 0:112..120
//!   return @ 0:121..122
//! }
//! ```
//!
//! - Locals are `%name#3`, variables `$name#3`, functions `&name#3`; the number counts, the name is for readers. A name that is no
//!   identifier stands in quotes behind.
//! - A constant is its type and its value: `i32 -1`, `f32 0.5`, `bool true`, `dim3 {1, 1, 1}`, `zero`, or bits in hexadecimal.
//! - `@ file:start..end` is a span; left out, it is that of nothing, `0:0..0`.
//! - `type N =` lists the types beyond the built-in ones by id. Left out, types get their ids as they come.
//! - Structures and enumerations are named; where a name is no identifier it is quoted, and where it is not unique it is followed by
//!   its number, `Row#3` for structures, `Row#e3` for enumerations.
//!
//! - `print`: writing; `lex`: tokens; `parse`, `parse_types`, `parse_statement`: reading

mod lex;
mod parse;
mod parse_statement;
mod parse_types;
mod print;
mod print_statement;
#[cfg(test)]
mod tests;

pub use parse::{ParseError, parse};
pub use print::print;

use crate::builtins::{CacheHint, MemoryScope, Rounding};
use crate::ir::{Access, BinaryOp, CastKind, Merge, UnaryOp};

/// Types, and constants, may lie in each other this deep.
const MOST_DEPTH: u32 = 64;

const UNARY: [(&str, UnaryOp); 2] = [("neg", UnaryOp::Neg), ("not", UnaryOp::Not)];

const BINARY: [(&str, BinaryOp); 16] = [
    ("add", BinaryOp::Add),
    ("sub", BinaryOp::Sub),
    ("mul", BinaryOp::Mul),
    ("div", BinaryOp::Div),
    ("rem", BinaryOp::Rem),
    ("and", BinaryOp::And),
    ("or", BinaryOp::Or),
    ("xor", BinaryOp::Xor),
    ("shl", BinaryOp::Shl),
    ("shr", BinaryOp::Shr),
    ("eq", BinaryOp::Eq),
    ("ne", BinaryOp::Ne),
    ("lt", BinaryOp::Lt),
    ("le", BinaryOp::Le),
    ("gt", BinaryOp::Gt),
    ("ge", BinaryOp::Ge),
];

const CASTS: [(&str, CastKind); 15] = [
    ("int", CastKind::Int),
    ("int_to_float", CastKind::IntToFloat),
    ("float_to_int", CastKind::FloatToInt),
    ("float", CastKind::Float),
    ("to_bool", CastKind::ToBool),
    ("pointer", CastKind::Pointer),
    ("to_generic", CastKind::ToGeneric),
    ("from_generic", CastKind::FromGeneric),
    ("pointer_to_int", CastKind::PointerToInt),
    ("int_to_pointer", CastKind::IntToPointer),
    ("rounded_rn", CastKind::Rounded(Rounding::Nearest)),
    ("rounded_rz", CastKind::Rounded(Rounding::Zero)),
    ("rounded_ru", CastKind::Rounded(Rounding::Up)),
    ("rounded_rd", CastKind::Rounded(Rounding::Down)),
    ("bits", CastKind::Bits),
];

const SCOPES: [(&str, MemoryScope); 4] = [
    ("block", MemoryScope::Block),
    ("cluster", MemoryScope::Cluster),
    ("device", MemoryScope::Device),
    ("system", MemoryScope::System),
];

/// With a number behind it, `buckets` is another one.
const MERGES: [(&str, Merge); 2] = [("grid", Merge::Grid), ("off", Merge::Off)];

const ACCESSES: [(&str, Access); 13] = [
    ("plain", Access::Plain),
    ("volatile", Access::Volatile),
    ("relaxed", Access::Relaxed),
    ("noncoherent", Access::NonCoherent),
    ("load_ca", Access::Hinted(CacheHint::LoadAll)),
    ("load_cg", Access::Hinted(CacheHint::LoadGlobal)),
    ("load_cs", Access::Hinted(CacheHint::LoadStreaming)),
    ("load_lu", Access::Hinted(CacheHint::LoadLastUse)),
    ("load_cv", Access::Hinted(CacheHint::LoadVolatile)),
    ("store_wb", Access::Hinted(CacheHint::StoreBack)),
    ("store_cg", Access::Hinted(CacheHint::StoreGlobal)),
    ("store_cs", Access::Hinted(CacheHint::StoreStreaming)),
    ("store_wt", Access::Hinted(CacheHint::StoreThrough)),
];

/// The word for a value in one of the tables above.
fn word<T: PartialEq>(table: &'static [(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, entry)| entry == value).map_or("?", |(word, _)| word)
}

/// The value for a word in one of the tables above.
fn meaning<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(entry, _)| *entry == word).map(|(_, value)| *value)
}

/// Whether a name can stand without quotes.
fn is_identifier(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
}
