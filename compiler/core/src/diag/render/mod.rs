//! Renderers of diagnostics: values in, text out; the caller prints.
//!
//! - [`human`]: with the source, for people (codespan).
//! - [`short`]: one line each, for editors' error lists.
//! - [`json`]: one object a line, with every position; the schema is in its documentation.
//! - [`sarif`]: one SARIF 2.1.0 log, for code-scanning services.

mod human;
mod json;
mod sarif;
mod short;

pub use human::{HumanOptions, human};
pub use json::json;
pub use sarif::sarif;
pub use short::short;

use super::Severity;

/// The word for a severity, which is the same in every format.
const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
