//! One JSON object a line.

use super::severity_name;
use crate::diag::{Diagnostic, Label};
use crate::source::{SourceMap, Span};
use serde::Serialize;

/// A position: `line` and `column` count from 1, the column in characters; `offset` is the byte from 0.
#[derive(Serialize)]
struct Position {
    line: u32,
    column: u32,
    offset: u32,
}

#[derive(Serialize)]
struct Range<'a> {
    file: &'a str,
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct LabelledSpan<'a> {
    primary: bool,
    label: &'a str,
    #[serde(flatten)]
    range: Range<'a>,
}

#[derive(Serialize)]
struct Edit<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    replacement: &'a str,
}

#[derive(Serialize)]
struct HelpText<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    edit: Option<Edit<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    spans: Vec<LabelledSpan<'a>>,
    helps: Vec<HelpText<'a>>,
    notes: &'a [String],
}

/// One object a line, each ending with a line break. Keys are only ever added:
///
/// - `severity`: `"error"` or `"warning"`; `code`: `"E0401"`; `message`: one line
/// - `spans`: the place that is wrong has `"primary": true` and stands first, the others explain it. Each has `label`, `file`, and
///   `start` and `end` with `line`, `column` (from 1, characters) and `offset` (bytes from 0); the end is the first byte behind. Empty
///   where the diagnostic is about no place.
/// - `helps`: each has `text`, and where a tool can carry it out `edit`: `file`, `start`, `end` and the `replacement`
/// - `notes`: texts
#[must_use]
pub fn json(sources: &SourceMap, list: &[Diagnostic]) -> String {
    let mut out = String::new();
    for diagnostic in list {
        let entry = Entry {
            severity: severity_name(diagnostic.severity),
            code: diagnostic.code.id(),
            message: &diagnostic.message,
            spans: std::iter::once((true, &diagnostic.primary))
                .chain(diagnostic.secondary.iter().map(|label| (false, label)))
                .filter(|(_, label)| sources.get(label.span.file).is_some())
                .map(|(primary, label)| labelled(sources, primary, label))
                .collect(),
            helps: diagnostic
                .helps
                .iter()
                .map(|help| HelpText {
                    text: &help.text,
                    edit: help.edit.as_ref().map(|(span, replacement)| Edit { range: range(sources, *span), replacement }),
                })
                .collect(),
            notes: &diagnostic.notes,
        };
        // strings, numbers and lists always serialise
        if let Ok(line) = serde_json::to_string(&entry) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

fn labelled<'a>(sources: &'a SourceMap, primary: bool, label: &'a Label) -> LabelledSpan<'a> {
    LabelledSpan { primary, label: &label.text, range: range(sources, label.span) }
}

fn range(sources: &SourceMap, span: Span) -> Range<'_> {
    let position = |at: Span| {
        let place = sources.line_column(at);
        Position { line: place.line, column: place.column, offset: at.start }
    };
    Range { file: sources.name(span.file), start: position(span), end: position(span.after()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    #[test]
    fn schema() {
        let mut sources = SourceMap::new();
        let id = sources.add("a.cdp", "let x = \"ä\" + 1.0f;\n");
        let span = Span::new(id, 15, 19);
        let diagnostic = Diagnostic::new(Code::E0105, span, "a number has no suffix `f`")
            .label("here")
            .also(Span::new(id, 4, 5), "for this")
            .fix("write", span, "1.0f32")
            .help("or \"none\"")
            .note("guide");
        let text = json(&sources, &[diagnostic]);
        assert_eq!(text.lines().count(), 1);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let expected = serde_json::json!({
            "severity": "error", "code": "E0105", "message": "a number has no suffix `f`",
            "spans": [
                { "primary": true, "label": "here", "file": "a.cdp",
                  "start": { "line": 1, "column": 15, "offset": 15 }, "end": { "line": 1, "column": 19, "offset": 19 } },
                { "primary": false, "label": "for this", "file": "a.cdp",
                  "start": { "line": 1, "column": 5, "offset": 4 }, "end": { "line": 1, "column": 6, "offset": 5 } },
            ],
            "helps": [
                { "text": "write", "edit": { "file": "a.cdp", "replacement": "1.0f32",
                  "start": { "line": 1, "column": 15, "offset": 15 }, "end": { "line": 1, "column": 19, "offset": 19 } } },
                { "text": "or \"none\"" },
            ],
            "notes": ["guide"],
        });
        assert_eq!(value, expected);
    }
}
