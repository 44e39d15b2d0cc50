//! One line a diagnostic.

use super::severity_name;
use crate::diag::Diagnostic;
use crate::source::SourceMap;
use std::fmt::Write as _;

/// `file:line:column: error[E0401]: message`, one a line; without a place for a diagnostic whose file is not in the map.
#[must_use]
pub fn short(sources: &SourceMap, list: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in list {
        let span = diagnostic.primary.span;
        if sources.get(span.file).is_some() {
            let at = sources.line_column(span);
            let _ = write!(out, "{}:{}:{}: ", sources.name(span.file), at.line, at.column);
        }
        let _ = writeln!(out, "{}[{}]: {}", severity_name(diagnostic.severity), diagnostic.code.id(), diagnostic.message);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;
    use crate::source::{FileId, Span};

    #[test]
    fn a_line_each() {
        let mut sources = SourceMap::new();
        let id = sources.add("a.cdp", "fn f() {\n    x\n}\n");
        let placed = Diagnostic::new(Code::E0111, Span::new(id, 14, 14), "expected `;`");
        let nowhere = Diagnostic::new(Code::E0109, Span::new(FileId(9), 0, 0), "a file may hold at most 4 GiB");
        assert_eq!(
            short(&sources, &[placed, nowhere]),
            "a.cdp:2:6: error[E0111]: expected `;`\nerror[E0109]: a file may hold at most 4 GiB\n"
        );
    }
}
