//! The arguments: nvcc's words for what concerns the GPU, rustc's for what concerns the compiler.

use clap::{Parser, Subcommand};

use crate::command;
use crate::report::Show;

/// Compiler for GPU kernels that launch kernels (CUDA Dynamic Parallelism 2)
#[derive(Debug, Parser)]
#[command(
    name = "cdpc",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 fine, 1 the program or its source is at fault, 2 usage or environment, 101 a fault of cdpc.",
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// How errors are shown.
    #[command(flatten)]
    pub show: Show,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One variant a command; each has its module.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile a file to PTX, a cubin, or what lies between
    Build(command::build::Args),
    /// Report errors and warnings, and write nothing
    Check(command::check::Args),
    /// Show each source line with its PTX and machine code
    Inspect(command::inspect::Args),
    /// Show where kernels and launches keep their parameters
    Layout(command::layout::Args),
    /// Run a file's `host fn main`
    Run(command::run::Args),
    /// Run the tests in files and folders
    Test(command::test::Args),
    /// Measure how launches are best run
    Bench(command::bench::Args),
    /// Format files
    Fmt(command::fmt::Args),
    /// Explain an error code
    Explain(command::explain::Args),
    /// Show which parts of the CUDA toolkit, driver and GPU are found, and where
    Doctor(command::doctor::Args),
    /// Serve an editor: diagnostics, hovers, definitions, completion, formatting
    Lsp(command::lsp::Args),
    /// One program of `run` or `test`, in a process of its own
    #[command(hide = true)]
    Worker(command::worker::Args),
}
