//! The command line as its users meet it.
//!
//! - `cli`: exit codes, bad input, artefacts, formats
//! - `run`: `run` and `test`
//! - `common`: starting `cdpc` in a folder of its own

#[path = "../common/mod.rs"]
mod common;

mod cli;
mod run;
