//! The `cdpc` command.
//!
//! The only place with arguments, files, terminals and exit codes; the language itself is in `cdp-core`, code generation in
//! `cdp-backend`, linking and GPUs in `cdp-runtime`.
//!
//! - [`cli`]: the arguments
//! - [`command`]: one module a command
//! - [`driver`]: source to PTX to cubin, one function a stage
//! - [`listing`]: reading back what was generated
//! - [`manifest`], [`bindings`]: what a host must know of a module, as data and as source text of other languages
//! - [`lsp`]: the language server
//! - [`device`], [`gpu`], [`execute`]: what `host fn`s and tests run on, and running them; [`reference`]: in many orders; [`watch`]: progress,
//!   Ctrl-C; [`protocol`]: what a process that runs tests tells
//! - [`input`], [`artefact`], [`report`], [`terminal`]: the rim: reading, writing, showing
//! - [`failure`]: why a command stops, and its exit code
//!
//! Exit codes: 0 fine, 1 the program or its source is at fault, 2 usage or environment, 101 a fault of the compiler.

mod artefact;
mod bindings;
mod cli;
mod command;
mod crash;
mod device;
mod driver;
mod execute;
mod failure;
mod fix;
mod gpu;
mod input;
mod listing;
mod lsp;
mod manifest;
mod options;
mod protocol;
mod reference;
mod report;
mod signal;
mod style;
mod terminal;
mod watch;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    crash::install_hook();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let reporter = report::Reporter::new(cli.show);
    let code = match command::run(cli.command, &reporter) {
        Ok(()) => 0,
        Err(failure) => {
            let code = failure.exit_code();
            reporter.failure(&failure);
            code
        }
    };
    ExitCode::from(code)
}

/// Shows what clap has to say: help and version are no errors.
fn usage(error: &clap::Error) -> ExitCode {
    // nothing can be done about a closed terminal here
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { failure::USAGE } else { 0 })
}
