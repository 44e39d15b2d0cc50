//! Diagnostics with their source, drawn by codespan.

use crate::diag::{Diagnostic, Help, Severity};
use crate::source::{FileId, SourceFile, SourceMap, Span};
use codespan_reporting::diagnostic as drawn;
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, Chars, Config, termcolor};
use std::fmt::Write as _;
use std::ops::Range;

/// How [`human`] draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HumanOptions {
    /// With ANSI colours.
    pub color: bool,
    /// With plain ASCII in place of box-drawing characters.
    pub ascii: bool,
}

/// Lines longer than this are not drawn.
const MAX_LINE: usize = 400;
/// How many lines of a suggestion are shown.
const MAX_SUGGESTED_LINES: usize = 8;

/// Every diagnostic with its code, message, labelled source, helps (an edit as the lines it gives) and notes; each followed by an empty
/// line.
///
/// A diagnostic whose file is not in the map is drawn without source.
#[must_use]
pub fn human(sources: &SourceMap, list: &[Diagnostic], options: &HumanOptions) -> String {
    let chars = if options.ascii { Chars::ascii() } else { Chars::box_drawing() };
    let config = Config { chars, ..Config::default() };
    let files = Adapter(sources);
    let mut buffer = if options.color { termcolor::Buffer::ansi() } else { termcolor::Buffer::no_color() };
    for diagnostic in list {
        // a buffer in memory takes every write, and all spans were checked
        let _ = term::emit_to_write_style(&mut buffer, &config, &files, &draw(sources, diagnostic));
    }
    String::from_utf8_lossy(buffer.as_slice()).into_owned()
}

fn draw(sources: &SourceMap, diagnostic: &Diagnostic) -> drawn::Diagnostic<FileId> {
    let severity = match diagnostic.severity {
        Severity::Error => drawn::Severity::Error,
        Severity::Warning => drawn::Severity::Warning,
        Severity::Note => drawn::Severity::Note,
    };
    let mut labels = Vec::new();
    let mut notes = Vec::new();
    let places = std::iter::once((drawn::LabelStyle::Primary, &diagnostic.primary))
        .chain(diagnostic.secondary.iter().map(|label| (drawn::LabelStyle::Secondary, label)));
    for (style, label) in places {
        let Some(file) = sources.get(label.span.file) else { continue };
        let range = fitting(file, label.span);
        if drawable(file, &range) {
            labels.push(drawn::Label::new(style, label.span.file, range).with_message(&label.text));
        } else {
            let at = sources.line_column(label.span);
            let text = if label.text.is_empty() { String::new() } else { format!(": {}", label.text) };
            notes.push(format!("at {}:{}:{}{text}", file.name, at.line, at.column));
        }
    }
    notes.extend(diagnostic.helps.iter().map(|help| advice(sources, help)));
    notes.extend(diagnostic.notes.iter().map(|note| format!("note: {note}")));
    drawn::Diagnostic::new(severity)
        .with_code(diagnostic.code.id())
        .with_message(&diagnostic.message)
        .with_labels(labels)
        .with_notes(notes)
}

/// The span as a range of the file's text, cut to whole characters.
fn fitting(file: &SourceFile, span: Span) -> Range<usize> {
    let down = |at: u32| {
        let mut at = (at as usize).min(file.text.len());
        while !file.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = down(span.start);
    start..down(span.end).max(start)
}

fn drawable(file: &SourceFile, range: &Range<usize>) -> bool {
    let line = |at: usize| file.line_index(u32::try_from(at).unwrap_or(u32::MAX));
    (line(range.start)..=line(range.end)).all(|index| file.line_text(index).len() <= MAX_LINE)
}

/// `help: text` and below it the lines that the edit gives, with their numbers.
fn advice(sources: &SourceMap, help: &Help) -> String {
    let mut text = format!("help: {}", help.text);
    let Some((span, replacement)) = &help.edit else { return text };
    let Some(file) = sources.get(span.file) else { return text };
    let range = fitting(file, *span);
    let index = |at: usize| file.line_index(u32::try_from(at).unwrap_or(u32::MAX));
    let (first, last) = (index(range.start), index(range.end));
    let begin = file.line_range(first).map_or(0, |line| line.start);
    let end = file.line_range(last).map_or(file.text.len(), |line| line.end);
    let before = file.text.get(begin..range.start).unwrap_or("");
    let after = file.text.get(range.end..end).unwrap_or("");
    let changed = format!("{before}{replacement}{after}");
    let lines: Vec<&str> = changed.lines().map(str::trim_end).collect();
    if lines.iter().any(|line| line.len() > MAX_LINE) || lines.iter().all(|line| line.is_empty()) {
        if !replacement.is_empty() && replacement.len() <= MAX_LINE {
            let _ = write!(text, ": `{replacement}`");
        }
        return text;
    }
    let width = (first + lines.len()).to_string().len();
    for (offset, line) in lines.iter().take(MAX_SUGGESTED_LINES).enumerate() {
        let _ = write!(text, "\n{:>width$} + {line}", first + offset + 1);
    }
    if lines.len() > MAX_SUGGESTED_LINES {
        let _ = write!(text, "\n{:>width$} + …", "");
    }
    text
}

/// The source map as codespan wants to see it.
struct Adapter<'map>(&'map SourceMap);

impl<'map> Files<'map> for Adapter<'map> {
    type FileId = FileId;
    type Name = &'map str;
    type Source = &'map str;

    fn name(&'map self, id: FileId) -> Result<&'map str, Error> {
        self.0.get(id).map(|file| file.name.as_str()).ok_or(Error::FileMissing)
    }

    fn source(&'map self, id: FileId) -> Result<&'map str, Error> {
        self.0.get(id).map(|file| file.text.as_str()).ok_or(Error::FileMissing)
    }

    fn line_index(&'map self, id: FileId, byte_index: usize) -> Result<usize, Error> {
        let file = self.0.get(id).ok_or(Error::FileMissing)?;
        Ok(file.line_index(u32::try_from(byte_index).unwrap_or(u32::MAX)))
    }

    fn line_range(&'map self, id: FileId, line_index: usize) -> Result<Range<usize>, Error> {
        let file = self.0.get(id).ok_or(Error::FileMissing)?;
        file.line_range(line_index).ok_or(Error::LineTooLarge { given: line_index, max: file.line_count().saturating_sub(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    fn shown(name: &str, text: &str, build: impl Fn(FileId) -> Diagnostic, options: HumanOptions) -> String {
        let mut sources = SourceMap::new();
        let id = sources.add(name, text);
        human(&sources, &[build(id)], &options)
    }

    #[test]
    fn labels_helps_and_notes() {
        let build = |id| {
            let span = Span::new(id, 20, 24);
            Diagnostic::new(Code::E0105, span, "a number has no suffix `f`")
                .label("not a type")
                .also(Span::new(id, 13, 14), "for this")
                .fix("suffixes name the type", span, "1.0f32")
                .help("or leave it out")
                .note("section 1")
        };
        let text =
            shown("a.cdp", "fn f() { let x    = 1.0f; }\n", build, HumanOptions { ascii: true, ..HumanOptions::default() });
        let expected = "\
error[E0105]: a number has no suffix `f`
  --> a.cdp:1:21
  |
1 | fn f() { let x    = 1.0f; }
  |              -      ^^^^ not a type
  |              |       
  |              for this
  |
  = help: suffixes name the type
    1 + fn f() { let x    = 1.0f32; }
  = help: or leave it out
  = note: section 1

";
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_is_optional() {
        let build = |id| Diagnostic::new(Code::E0112, Span::new(id, 0, 1), "m");
        assert!(!shown("a", "x", build, HumanOptions::default()).contains('\u{1b}'));
        assert!(shown("a", "x", build, HumanOptions { color: true, ascii: false }).contains('\u{1b}'));
    }

    #[test]
    fn foreign_files_and_spans_that_do_not_fit() {
        let foreign = |_| Diagnostic::new(Code::E0112, Span::new(FileId(7), 3, 9), "elsewhere");
        assert_eq!(shown("a", "x", foreign, HumanOptions::default()), "error[E0112]: elsewhere\n\n");
        let inside_a_character =
            |id| Diagnostic::new(Code::E0112, Span::new(id, 1, 900), "m").fix("write", Span::new(id, 1, 900), "y");
        assert!(shown("a", "ä\nb", inside_a_character, HumanOptions::default()).contains("a:1:1"));
    }

    #[test]
    fn long_lines_are_not_drawn() {
        let text = "x".repeat(100_000);
        let build = |id| Diagnostic::new(Code::E0112, Span::new(id, 5, 6), "m").label("here");
        let shown = shown("a.cdp", &text, build, HumanOptions::default());
        assert!(shown.contains("at a.cdp:1:6: here"), "{shown}");
        assert!(shown.len() < 200);
    }

    #[test]
    fn deleting_a_line_shows_no_empty_suggestion() {
        let build = |id| {
            Diagnostic::new(Code::E0130, Span::new(id, 0, 1), "this `;` ends nothing").fix("remove it", Span::new(id, 0, 1), "")
        };
        assert!(shown("a", ";\n", build, HumanOptions::default()).ends_with("= help: remove it\n\n"));
    }
}
