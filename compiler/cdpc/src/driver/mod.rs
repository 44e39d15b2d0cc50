//! From a source to a cubin, one function a stage. Values flow one way; each stage shows its own diagnostics and stops the rest with them.
//!
//! - [`front`]: source to IR, and the IR as it is compiled
//! - [`build`]: IR to PTX to a cubin
//! - [`object`]: PTX to relocatable objects
//! - [`tune`]: launches that attributes are tried on
//! - [`linked`]: what is wrong with a link, at the declarations that it is about

mod build;
mod front;
mod linked;
mod object;
mod tune;

pub use build::{Build, Generated, Linked};
pub use front::{Checked, Front, Lowered, Wrong, at_launches, format};
