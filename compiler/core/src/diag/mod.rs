//! Diagnostics as data.
//!
//! - [`Diagnostic`]: what is wrong, where, and how to mend it; built by every phase, rendered only at the rim.
//! - [`Code`]: the table of codes, each with one Markdown file under `codes/`; a code is never reused.
//! - [`render`]: human (codespan), short, JSON, SARIF.
//!
//! Wording: lower case, no full stop, source fragments in backticks, the smallest span, labels that teach, a help that shows the fix
//! as code, a note that cites the guide's section.

mod code;
pub mod render;

pub use code::Code;

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// No artefact is written.
    Error,
    /// A lint; the program still compiles.
    Warning,
    /// Worth knowing, and no mistake by itself.
    Note,
}

/// A span with what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What, for example "launched here"; may be empty.
    pub text: String,
}

/// A piece of advice, and the edit that carries it out where one is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// The advice.
    pub text: String,
    /// Replace the bytes of the span by the text.
    pub edit: Option<(Span, String)>,
}

/// One mistake of the program, with everything needed to show and mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its entry in the error index.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// One line: what is wrong.
    pub message: String,
    /// The smallest place that is wrong.
    pub primary: Label,
    /// Other places that explain it.
    pub secondary: Vec<Label>,
    /// Ways out.
    pub helps: Vec<Help>,
    /// Background, with the guide's section.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// An error or lint at `span`; the severity follows from the code's letter.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            helps: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Says what the primary place is.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(Help { text: text.into(), edit: None });
        self
    }

    /// Adds advice that a tool can carry out.
    #[must_use]
    pub fn fix(mut self, text: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        self.helps.push(Help { text: text.into(), edit: Some((span, replacement.into())) });
        self
    }

    /// Adds background.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
}

/// A phase's diagnostics. Sorting and dropping of duplicates happen once, in [`Diagnostics::finish`].
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds all of another phase.
    pub fn extend(&mut self, other: impl IntoIterator<Item = Diagnostic>) {
        self.list.extend(other);
    }

    /// Adds background to every one from the `first` on.
    pub fn note_since(&mut self, first: usize, note: &str) {
        for diagnostic in self.list.iter_mut().skip(first) {
            diagnostic.notes.push(note.to_owned());
        }
    }

    /// Adds a place to every one from the `first` on.
    pub fn label_since(&mut self, first: usize, span: Span, text: &str) {
        for diagnostic in self.list.iter_mut().skip(first) {
            diagnostic.secondary.push(Label { span, text: text.to_owned() });
        }
    }

    /// Whether any is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In the order they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// All of them by place, without repetitions.
    #[must_use]
    pub fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by(|a, b| {
            (a.primary.span, a.severity, a.code, &a.message).cmp(&(b.primary.span, b.severity, b.code, &b.message))
        });
        self.list.dedup();
        self.list
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}
