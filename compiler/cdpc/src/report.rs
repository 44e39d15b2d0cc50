//! Showing what is wrong: diagnostics of the source and failures without a place, in the format the user asked for.

use std::fmt::Write as _;

use cdp_core::diag::render::{self, HumanOptions};
use cdp_core::diag::{Diagnostic, Severity};
use cdp_core::source::SourceMap;
use serde_json::json;

use crate::failure::{Failure, Message, PROGRAM, Result};
use crate::style::Style;
use crate::terminal::{self, Color, Stream};

/// How errors are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Show {
    /// How errors and warnings are shown
    #[arg(long, global = true, value_name = "FORMAT", default_value = "human", help_heading = "Display")]
    pub error_format: ErrorFormat,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Display")]
    pub color: Color,
}

/// A renderer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ErrorFormat {
    /// With the source, labels and advice
    #[default]
    Human,
    /// One line each: `file:line:column: error[E0401]: …`
    Short,
    /// One JSON object each, a line each
    Json,
    /// One SARIF 2.1.0 log for each source file
    Sarif,
}

/// Shows things on standard error.
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    show: Show,
}

impl Reporter {
    /// As the arguments say.
    pub const fn new(show: Show) -> Self {
        Self { show }
    }

    /// The arguments that make another process show things alike.
    pub fn arguments(&self) -> Vec<String> {
        use clap::ValueEnum as _;
        let name = |value: Option<clap::builder::PossibleValue>| value.map(|v| v.get_name().to_owned()).unwrap_or_default();
        // the other process writes into a pipe and cannot see the terminal
        let color = if self.show.color.wanted(Stream::Err) { Color::Always } else { Color::Never };
        vec![
            format!("--error-format={}", name(self.show.error_format.to_possible_value())),
            format!("--color={}", name(color.to_possible_value())),
        ]
    }

    /// Colours for standard output.
    pub fn style_out(&self) -> Style {
        Style { color: self.show.color.wanted(Stream::Out) }
    }

    /// Colours for standard error.
    pub fn style_err(&self) -> Style {
        Style { color: self.show.color.wanted(Stream::Err) }
    }

    /// Shows diagnostics.
    ///
    /// # Errors
    /// [`Failure::Told`] when one of them is an error.
    pub fn diagnostics(&self, sources: &SourceMap, list: &[Diagnostic]) -> Result<()> {
        if !list.is_empty() || self.show.error_format == ErrorFormat::Sarif {
            terminal::say(&self.text(sources, list));
        }
        if list.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
            return Err(Failure::Told(PROGRAM));
        }
        Ok(())
    }

    /// Diagnostics as text, with how many there are.
    pub fn text(&self, sources: &SourceMap, list: &[Diagnostic]) -> String {
        let summary = if self.show.error_format == ErrorFormat::Human { summary(list) } else { String::new() };
        self.render(sources, list) + &summary
    }

    /// Diagnostics as text.
    pub fn render(&self, sources: &SourceMap, list: &[Diagnostic]) -> String {
        match self.show.error_format {
            ErrorFormat::Human => {
                let options = HumanOptions { color: self.show.color.wanted(Stream::Err), ..HumanOptions::default() };
                render::human(sources, list, &options)
            }
            ErrorFormat::Short => render::short(sources, list),
            ErrorFormat::Json => render::json(sources, list),
            ErrorFormat::Sarif => render::sarif(sources, list),
        }
    }

    /// Shows why a command stopped, unless that was told already.
    pub fn failure(&self, failure: &Failure) {
        let text = self.render_failure(failure);
        if !text.is_empty() {
            terminal::say(&text);
        }
    }

    /// The same as text; empty when it was told already.
    pub fn render_failure(&self, failure: &Failure) -> String {
        match failure {
            Failure::Say { message, .. } => self.render_message("error", message),
            Failure::Told(_) | Failure::Unread => String::new(),
        }
    }

    /// Shows something that is not at a place of the source.
    pub fn message(&self, severity: &str, message: &Message) {
        terminal::say(&self.render_message(severity, message));
    }

    /// The same as text.
    pub fn render_message(&self, severity: &str, message: &Message) -> String {
        match self.show.error_format {
            ErrorFormat::Human => human(severity, message, self.style_err()),
            ErrorFormat::Short => format!("cdpc: {severity}{}: {}\n", code(message), message.text),
            ErrorFormat::Json | ErrorFormat::Sarif => {
                let value = json!({
                    "severity": severity, "code": message.code, "message": message.text,
                    "notes": message.notes, "helps": message.helps.iter().map(|text| json!({ "text": text })).collect::<Vec<_>>(),
                });
                format!("{value}\n")
            }
        }
    }
}

fn code(message: &Message) -> String {
    message.code.as_ref().map_or_else(String::new, |code| format!("[{code}]"))
}

fn human(severity: &str, message: &Message, style: Style) -> String {
    let head = format!("{severity}{}", code(message));
    let head = match severity {
        "error" => style.error(&head),
        "warning" => style.warning(&head),
        _ => style.bold(&head),
    };
    let mut out = format!("{head}{}\n", style.bold(&format!(": {}", message.text)));
    for (kind, texts) in [("note", &message.notes), ("help", &message.helps)] {
        for text in texts {
            // later lines stand under the first one's text
            let _ = writeln!(out, "  = {}: {}", style.bold(kind), text.replace('\n', "\n    "));
        }
    }
    out
}

/// "2 errors and 1 warning", as the last line; nothing for a single finding.
fn summary(list: &[Diagnostic]) -> String {
    let errors = list.iter().filter(|d| d.severity == Severity::Error).count();
    let warnings = list.iter().filter(|d| d.severity == Severity::Warning).count();
    let count = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{number} {what}s")),
    };
    if list.len() < 2 {
        return String::new();
    }
    let parts: Vec<String> = [count(errors, "error"), count(warnings, "warning")].into_iter().flatten().collect();
    format!("{}\n", parts.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_their_lines_together() {
        let message = Message {
            code: Some("E0620".into()),
            text: "nothing there".into(),
            notes: vec!["looked at\n    /a".into()],
            helps: vec!["install it".into()],
        };
        let text = human("error", &message, Style::default());
        assert_eq!(text, "error[E0620]: nothing there\n  = note: looked at\n        /a\n  = help: install it\n");
    }
}
