//! Why there is no PTX.

use cdp_core::diag::{Code, Diagnostic};
use cdp_core::source::Span;
use std::fmt;

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A kernel, or what is exported, keeps its name in PTX, and cannot have this one.
    Name {
        /// The name.
        name: String,
        /// Its name in the source.
        span: Span,
        /// Why not.
        reason: String,
    },
    /// Something that the GPU does not have.
    Unsupported {
        /// What.
        what: String,
        /// The oldest GPU that has it, for example "sm_80".
        needs: &'static str,
        /// The statement.
        span: Span,
    },
    /// A mathematical function is needed and its library is not there, or is no such library.
    Libdevice {
        /// The first function that was needed.
        function: String,
        /// Where it was called.
        span: Span,
        /// What is wrong with the library.
        reason: String,
    },
    /// The IR is not what a verified module's is: a mistake of this compiler.
    Malformed {
        /// What was found.
        what: String,
        /// Where.
        span: Span,
    },
    /// LLVM refused or failed: a mistake of this compiler or of LLVM.
    Llvm(nvptx_builder::Error),
}

impl Error {
    /// The place in the source, where there is one.
    #[must_use]
    pub const fn span(&self) -> Option<Span> {
        match self {
            Self::Name { span, .. }
            | Self::Unsupported { span, .. }
            | Self::Libdevice { span, .. }
            | Self::Malformed { span, .. } => Some(*span),
            Self::Llvm(_) => None,
        }
    }

    /// The error as one of the program; none where it is the surroundings' or the compiler's.
    #[must_use]
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            Self::Name { name, span, reason } => Some(
                Diagnostic::new(Code::E0601, *span, format!("`{name}` cannot be a symbol in PTX"))
                    .label(reason.clone())
                    .help("another symbol can be given by `@export(\"symbol\")`"),
            ),
            Self::Unsupported { span, needs, .. } => {
                let diagnostic = Diagnostic::new(Code::E0602, *span, self.to_string());
                let help = format!("compile for such a GPU: `--arch={needs}`");
                Some(diagnostic.label(format!("needs `{needs}` or newer")).help(help))
            }
            Self::Libdevice { .. } | Self::Malformed { .. } | Self::Llvm(_) => None,
        }
    }

    /// Whether it is a mistake of the compiler, not of the program or its surroundings.
    #[must_use]
    pub const fn is_bug(&self) -> bool {
        matches!(self, Self::Malformed { .. } | Self::Llvm(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { name, reason, .. } => write!(f, "`{name}` cannot be a symbol in PTX: {reason}"),
            Self::Unsupported { what, needs, .. } => write!(f, "{what} needs `{needs}` or newer"),
            Self::Libdevice { function, reason, .. } => write!(f, "`{function}` needs libdevice: {reason}"),
            Self::Malformed { what, .. } => write!(f, "malformed IR: {what}"),
            Self::Llvm(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<nvptx_builder::Error> for Error {
    fn from(error: nvptx_builder::Error) -> Self {
        Self::Llvm(error)
    }
}
