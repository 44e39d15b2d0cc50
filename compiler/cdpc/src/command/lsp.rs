//! `cdpc lsp`: the language server.

use crate::failure::Result;
use crate::lsp;
use crate::options::Meaning;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Talk over standard input and output, which is all there is; editors pass it
    #[arg(long)]
    stdio: bool,
    /// What programs mean: as for `cdpc check`
    #[command(flatten)]
    meaning: Meaning,
}

/// # Errors
/// When the editor does not speak the protocol.
pub fn run(args: &Args) -> Result<()> {
    lsp::serve(&args.meaning)
}
