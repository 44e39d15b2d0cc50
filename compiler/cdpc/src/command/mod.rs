//! One module a command.

pub mod bench;
pub mod build;
pub mod check;
pub mod doctor;
pub mod explain;
pub mod fmt;
pub mod inspect;
pub mod layout;
pub mod lsp;
pub mod run;
pub mod test;
pub mod worker;

use crate::cli::Command;
use crate::failure::Result;
use crate::report::Reporter;

/// Carries out a command.
///
/// # Errors
/// What stops it; the exit code is the failure's.
pub fn run(command: Command, reporter: &Reporter) -> Result<()> {
    match command {
        Command::Build(args) => build::run(&args, reporter),
        Command::Check(args) => check::run(&args, reporter),
        Command::Inspect(args) => inspect::run(&args, reporter),
        Command::Layout(args) => layout::run(&args, reporter),
        Command::Run(args) => run::run(&args, reporter),
        Command::Test(args) => test::run(&args, reporter),
        Command::Bench(args) => bench::run(&args, reporter),
        Command::Fmt(args) => fmt::run(&args, reporter),
        Command::Explain(args) => explain::run(&args, reporter),
        Command::Doctor(args) => doctor::run(&args, reporter),
        Command::Lsp(args) => lsp::run(&args),
        Command::Worker(args) => worker::run(&args, reporter),
    }
}
