//! The formatter: the same tokens and comments, in the one layout.
//!
//! - `pieces`: tokens and comments in order, each with what its surroundings make of it (infix or prefix, which brackets, where an entry
//!   ends) and the blanks in front of it on one line.
//! - `print`: breaks lines. A line is broken only where it would be wider than [`MAX_WIDTH`]: inside the brackets nearest to the end
//!   that do not fit, or in front of the weakest infix operators.
//!
//! What the author decides: empty lines between entries (one is kept), whether a block stands on one line (while it fits), where
//! comments stand. What the formatter decides: everything else. Nothing is added or removed, not even a comma.

mod pieces;
mod print;

use super::lexer::tokens;
use super::parser::parse;
use crate::diag::Diagnostics;
use crate::source::FileId;
use pieces::Pieces;

/// The widest line, in characters, that is not broken if it can be. Launches are long: a narrower limit breaks most of them.
pub const MAX_WIDTH: usize = 120;

/// The text in the one layout. Formatting it again changes nothing.
///
/// # Errors
/// The diagnostics of [`parse`], with `file` in their spans, when one of them is an error: only source that parses has a layout.
pub fn format(file: FileId, text: &str) -> Result<String, Diagnostics> {
    let (_, diagnostics) = parse(file, text);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let formatted = layout(file, text);
    // what a formatter may never do; if it would, leave the text alone
    Ok(if same_tokens(text, &formatted) { formatted } else { text.to_owned() })
}

/// The layout of source that parses.
pub(super) fn layout(file: FileId, text: &str) -> String {
    print::print(&Pieces::new(file, text))
}

/// Whether two texts have the same tokens and comments, apart from blanks at line ends of comments.
pub(super) fn same_tokens(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        let (spans, _) = tokens(FileId(0), text);
        spans.iter().map(|span| text.get(span.range()).unwrap_or("").trim_end().to_owned()).collect()
    };
    parts(a) == parts(b)
}

#[cfg(test)]
mod tests;
