//! Why a command stops, and its exit code.

use std::path::Path;

use crate::crash;

/// The program or its source is at fault.
pub const PROGRAM: u8 = 1;
/// The arguments or the machine are at fault.
pub const USAGE: u8 = 2;
/// Somebody pressed Ctrl-C; what shells say of it, 128 and the signal's number.
pub const INTERRUPTED: u8 = 130;
/// The compiler is at fault; what Rust uses for panics too.
pub const BUG: u8 = 101;

/// Why a command stops.
#[derive(Debug)]
pub enum Failure {
    /// Everything was said already.
    Told(u8),
    /// To be said.
    Say {
        /// The exit code.
        exit: u8,
        /// What.
        message: Message,
    },
    /// Whoever read our output went away: not our fault, and no one to tell.
    Unread,
}

/// An error that is not at a place of the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its entry in the error index, where it has one.
    pub code: Option<String>,
    /// One line.
    pub text: String,
    /// The evidence.
    pub notes: Vec<String>,
    /// Ways out.
    pub helps: Vec<String>,
}

/// The result of a command or a stage.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Arguments that do not go together, a file that cannot be used, a machine that lacks something.
    pub fn usage(text: impl Into<String>) -> Self {
        Self::Say { exit: USAGE, message: Message { text: text.into(), ..Message::default() } }
    }

    /// The same for a file.
    pub fn file(action: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::usage(format!("cannot {action} `{}`: {}", path.display(), reason(error)))
    }

    /// The program did something wrong when it ran.
    pub fn program(text: impl Into<String>) -> Self {
        Self::Say { exit: PROGRAM, message: Message { text: text.into(), ..Message::default() } }
    }

    /// The compiler did something wrong.
    pub fn bug(text: impl Into<String>) -> Self {
        let message = Message { text: text.into(), helps: vec![crash::PLEASE_REPORT.to_owned()], ..Message::default() };
        Self::Say { exit: BUG, message }
    }

    /// Adds a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        if let Self::Say { message, .. } = &mut self {
            message.helps.push(help.into());
        }
        self
    }

    /// Adds evidence.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        if let Self::Say { message, .. } = &mut self {
            message.notes.push(note.into());
        }
        self
    }

    /// What the process exits with.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Told(code) | Self::Say { exit: code, .. } => *code,
            Self::Unread => 0,
        }
    }
}

impl From<cdp_runtime::Error> for Failure {
    fn from(error: cdp_runtime::Error) -> Self {
        let exit = if error.is_compiler_bug() {
            BUG
        } else if error.is_environment() {
            USAGE
        } else {
            PROGRAM
        };
        Self::Say { exit, message: Message::from(&error) }
    }
}

impl From<&cdp_runtime::Error> for Message {
    fn from(error: &cdp_runtime::Error) -> Self {
        Self { code: Some(error.code().to_owned()), text: error.message(), notes: error.notes(), helps: error.helps() }
    }
}

/// What the system says, without Rust's "(os error 2)".
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = plain.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_speaks_lower_case_without_numbers() {
        assert_eq!(reason(&std::io::Error::from_raw_os_error(2)), "no such file or directory");
        assert_eq!(reason(&std::io::Error::other("x")), "x");
    }

    #[test]
    fn each_kind_has_its_exit_code() {
        assert_eq!(Failure::usage("a").exit_code(), 2);
        assert_eq!(Failure::program("a").exit_code(), 1);
        assert_eq!(Failure::bug("a").exit_code(), 101);
        assert_eq!(Failure::Unread.exit_code(), 0);
    }
}
