//! Standard output and standard error. Nothing else in this crate touches them.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// What stands on the terminal beside results: a line that says what is going on, and goes away before anything else is written.
#[derive(Debug)]
struct Status {
    shown: bool,
    /// Whether output has ended its last line: a status line would else stand behind half of one.
    at_line_start: bool,
}

static STATUS: Mutex<Status> = Mutex::new(Status { shown: false, at_line_start: true });

impl Status {
    /// Locked: nothing else is written meanwhile.
    fn lock() -> MutexGuard<'static, Self> {
        STATUS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.at_line_start = *last == b'\n';
        }
    }
}

/// Whether a status line can be seen, and erased again.
pub fn has_status() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Shows what is going on, in place of what was shown before; nothing when the text is empty.
pub fn status(text: &str) {
    let mut status = Status::lock();
    if status.at_line_start && has_status() {
        status.clear();
        if !text.is_empty() {
            let _ = io::stderr().lock().write_all(text.as_bytes());
            status.shown = true;
        }
    }
}

/// Writes to standard output: what the user asked for.
///
/// # Errors
/// When it cannot be written whole, for example to a full disk. A reader that went away is [`Failure::Unread`].
pub fn print(bytes: impl AsRef<[u8]>) -> Result<()> {
    let bytes = bytes.as_ref();
    let mut status = Status::lock();
    status.clear();
    status.wrote(bytes);
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::Unread),
        Err(error) => Err(Failure::file("write", Path::new("standard output"), &error)),
    }
}

/// Standard output for a program that runs here; whoever writes flushes.
pub fn writer() -> impl io::Write {
    io::BufWriter::new(Program)
}

/// Standard output, as a program writes it.
struct Program;

impl io::Write for Program {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // what a GPU's kernels printed before
        cdp_runtime::gpu::flush_output();
        let mut status = Status::lock();
        status.clear();
        let count = io::stdout().lock().write(bytes)?;
        status.wrote(bytes.get(..count).unwrap_or(bytes));
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().lock().flush()
    }
}

/// Writes to standard error: what there is to say. That it cannot be said is nowhere to be said.
pub fn say(text: &str) {
    let mut status = Status::lock();
    status.clear();
    status.wrote(text.as_bytes());
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
