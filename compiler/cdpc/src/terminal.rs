//! Standard output and standard error. Nothing else in this crate touches them.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;

use crate::failure::{Failure, Result};

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// Where a person reads: on a terminal, unless NO_COLOR is set or TERM is `dumb`
    #[default]
    Auto,
    /// Also into files and pipes
    Always,
    /// Nowhere
    Never,
}

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

impl Color {
    /// Whether to colour what goes to `stream`.
    pub fn wanted(self, stream: Stream) -> bool {
        let terminal = match stream {
            Stream::Out => io::stdout().is_terminal(),
            Stream::Err => io::stderr().is_terminal(),
        };
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
        }
    }
}

/// Writes to standard output: what the user asked for.
///
/// # Errors
/// When it cannot be written whole, for example to a full disk. A reader that went away is [`Failure::Unread`].
pub fn print(bytes: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes.as_ref()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::Unread),
        Err(error) => Err(Failure::file("write", Path::new("standard output"), &error)),
    }
}

/// Standard output for a program that runs here; whoever writes flushes.
pub fn writer() -> impl io::Write {
    io::BufWriter::new(io::stdout())
}

/// Writes to standard error: what there is to say. That it cannot be said is nowhere to be said.
pub fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
