//! The command line as its users meet it.
//!
//! - `cli`: exit codes, bad input, artefacts, formats
//! - `cdp1`: `--cdp=1`
//! - `irregular`: the benchmarks of launch merging
//! - `link`: programs and what nvcc made
//! - `lints`: levels of lints, `check --fix`
//! - `run`: `run` and `test`; `executor`: what they have for the reference executor: schedules, traces, Ctrl-C
//! - `lsp`: `cdpc lsp`, as an editor talks to it
//! - `page`: the page of `inspect --html`, in a browser
//! - `common`: starting `cdpc` in a folder of its own

#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod common;

mod cdp1;
mod cli;
mod executor;
mod irregular;
mod link;
mod lints;
mod lsp;
mod merging;
mod page;
mod run;
