//! What can go wrong.

use std::fmt;

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A GPU architecture that LLVM does not know; holds its name.
    UnknownTarget(String),
    /// An instruction or type was asked for that does not fit its operands: a mistake of the caller.
    Shape(String),
    /// LLVM's verifier refused the module; its report.
    Verify(String),
    /// Bitcode that is none, or that cannot be linked; LLVM's report.
    Bitcode(String),
    /// LLVM's optimiser or code generator gave up; its report.
    Llvm(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTarget(name) => write!(f, "no such GPU architecture: {name}"),
            Self::Shape(what) => write!(f, "malformed instruction: {what}"),
            Self::Verify(report) => write!(f, "LLVM's verifier refused the module: {report}"),
            Self::Bitcode(report) => write!(f, "cannot link bitcode: {report}"),
            Self::Llvm(report) => write!(f, "LLVM failed: {report}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<inkwell::builder::BuilderError> for Error {
    fn from(error: inkwell::builder::BuilderError) -> Self {
        Self::Shape(error.to_string())
    }
}

/// Shorthand for a mistake of the caller.
pub fn shape<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Shape(what.into()))
}
