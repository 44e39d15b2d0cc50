//! Passes over the IR.
//!
//! - `simplify`: constant branches folded, unreachable blocks removed

mod simplify;

pub use simplify::{remove_unreachable, simplify, simplify_function};
