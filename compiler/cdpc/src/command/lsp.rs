//! `cdpc lsp`: the language server.

use crate::failure::Result;
use crate::lsp;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Talk over standard input and output, which is all there is; editors pass it
    #[arg(long)]
    stdio: bool,
}

/// # Errors
/// When the editor does not speak the protocol.
pub fn run(_args: &Args) -> Result<()> {
    lsp::serve()
}
