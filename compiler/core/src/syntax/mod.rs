//! From text to tree.
//!
//! - [`ast`]: the syntax tree.

pub mod ast;
