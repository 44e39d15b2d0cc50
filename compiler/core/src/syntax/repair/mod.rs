//! What to say and to change where the parser stops, so that it can go on.
//!
//! The parser runs over one item; where it stops, one [`Diagnostic`] is made and the tokens are changed, then it starts again. Either a
//! missing token is put in, or the smallest surrounding stretch is replaced by [`Token::Error`]: the inside of a bracket, a statement, a
//! member. Where that does not help, the next larger one, silently.
//!
//! - `insert`: puts in and changes; `replace`: leaves out. Here: the words.

mod insert;
mod replace;

use super::expected::{Expected, is_keyword};
use super::lexer::Spanned;
use super::source_text::{SourceText, closing, find_outside};
use super::token::Token;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use std::collections::BTreeSet;

/// The tokens of one item under repair.
pub(super) struct Repair<'text, 'out> {
    pub(super) source: SourceText<'text>,
    pub(super) tokens: Vec<Spanned>,
    /// The token behind the item.
    pub(super) next: Option<Spanned>,
    pub(super) damaged: &'out mut BTreeSet<String>,
    /// Where bytes were reported that became no token, and where brackets were put in or dropped.
    pub(super) scars: &'out [u32],
    /// Keywords that were used as names.
    pub(super) renamed: Vec<Token>,
}

/// What a repair did.
pub(super) enum Outcome {
    /// Reported and changed.
    Reported(Diagnostic),
    /// Changed further for a mistake reported before.
    Widened,
    /// The item cannot be saved.
    GiveUp(Option<Diagnostic>),
}

impl Repair<'_, '_> {
    /// The parser stopped in front of the token at `at`.
    pub(super) fn repair(&mut self, at: usize, expected: &Expected<'_>) -> Outcome {
        let found = self.tokens.get(at).copied();
        // an inserted or replaced token: what was done before was not enough
        let made_up = |token: Spanned| token.token == Token::Error || token.start == token.end;
        if found.is_some_and(made_up) || at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied().is_some_and(made_up) {
            return self.widen(at);
        }
        let (start, end) = self.statement_bytes(at);
        // where a line's end may be the statement's end, what follows is another statement
        let ends_here = expected.has(";") && self.previous(at).is_some_and(|previous| self.ends_statement(at, previous));
        let end = found.filter(|_| ends_here).map_or(end, |found| found.start);
        if self.scars.iter().any(|scar| (start..end).contains(scar)) {
            return if self.replace_around(at) { Outcome::Widened } else { Outcome::GiveUp(None) };
        }
        if let Some(outcome) = self.keyword_as_name(at, expected) {
            return outcome;
        }
        if let Some(diagnostic) = self.insert(at, expected) {
            return Outcome::Reported(diagnostic);
        }
        let diagnostic = self.describe(at, expected);
        if self.replace_around(at) { Outcome::Reported(diagnostic) } else { Outcome::GiveUp(Some(diagnostic)) }
    }

    /// From where to where the statement around the token at `at` reaches, whatever its brackets look like.
    fn statement_bytes(&self, at: usize) -> (u32, u32) {
        let ends = |token: &&Spanned| matches!(token.token, Token::Semicolon | Token::BraceOpen | Token::BraceClose);
        let before = self.tokens.get(..at).unwrap_or(&[]).iter().rev().find(ends);
        let behind = self.tokens.get(at..).unwrap_or(&[]).iter().find(ends).copied().or(self.next);
        (before.map_or(0, |token| token.end), behind.map_or(u32::MAX, |token| token.end))
    }

    fn previous(&self, at: usize) -> Option<Spanned> {
        at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied()
    }

    /// The diagnostic for what no insertion mends.
    fn describe(&self, at: usize, expected: &Expected<'_>) -> Diagnostic {
        let found = self.tokens.get(at).copied().or(self.next);
        let previous = self.previous(at);
        // behind the last token, where there is none to point at
        let span = match (found, previous) {
            (Some(found), _) => self.source.span(found),
            (None, Some(previous)) => self.source.span(previous).after(),
            (None, None) => Span::new(self.source.file, 0, 0),
        };
        let token = found.map(|found| found.token);
        match token {
            Some(Token::Question) => {
                let diagnostic = Diagnostic::new(Code::E0120, span, "there is no `?:`");
                return match self.conditional(at) {
                    Some((whole, text)) => diagnostic.fix("write", whole, text),
                    None => diagnostic.help("write `if condition { a } else { b }`"),
                };
            }
            Some(Token::PlusPlus | Token::MinusMinus) => {
                let word = found.map_or("", |found| self.source.word(found));
                let ours = if token == Some(Token::PlusPlus) { "+=" } else { "-=" };
                return Diagnostic::new(Code::E0117, span, format!("there is no `{word}`"))
                    .help(format!("write `x {ours} 1;` as a statement of its own"));
            }
            _ => {}
        }
        let wanted = expected.describe();
        let message = format!("expected {wanted}, found {}", self.source.found(found));
        let mut diagnostic = Diagnostic::new(Code::E0112, span, message);
        if let Some(previous) = previous.filter(|previous| previous.start < previous.end && wanted != "a statement or `}`") {
            diagnostic = diagnostic.label(format!("{wanted} expected behind `{}`", self.source.word(previous)));
        }
        if let Some(found) = found {
            let word = self.source.word(found);
            if expected.has("name") && is_keyword(found.token, word) && !expected.has(word) {
                diagnostic = diagnostic.help(format!("`{word}` is a word of the language and cannot be a name"));
            }
            if found.token == Token::Equal && expected.has_expression() {
                diagnostic = diagnostic.help("an assignment is a statement of its own and has no value");
            }
            if found.token == Token::Dot && expected.has_expression() {
                diagnostic = diagnostic.help("a number needs a digit in front of its point: `0.5`");
            }
            if found.token == Token::If && expected.has_expression() {
                diagnostic = diagnostic.help("an `if` that is part of a larger expression stands in parentheses");
            }
        }
        diagnostic
    }

    /// The `c ? a : b` around the question mark at `at`, and how it is written here.
    fn conditional(&self, at: usize) -> Option<(Span, String)> {
        let mut start = at;
        let mut depth = 0usize;
        while let Some(before) = self.previous(start) {
            let ends = matches!(
                before.token,
                Token::Equal
                    | Token::PlusEqual
                    | Token::MinusEqual
                    | Token::StarEqual
                    | Token::Return
                    | Token::Comma
                    | Token::Semicolon
            );
            if depth == 0 && (ends || before.token.is_open() || before.token == Token::BraceClose) {
                break;
            }
            if before.token.is_close() {
                depth += 1;
            } else if before.token.is_open() {
                depth -= 1;
            }
            start -= 1;
        }
        let colon = find_outside(&self.tokens, at + 1, &[Token::Colon])?;
        let mut end = colon + 1;
        while let Some(token) = self.tokens.get(end) {
            if matches!(token.token, Token::Semicolon | Token::Comma | Token::Question) || token.token.is_close() {
                break;
            }
            end = if token.token.is_open() { closing(&self.tokens, end) + 1 } else { end + 1 };
        }
        let part = |from: usize, to: usize| self.tokens.get(from..to).filter(|part| !part.is_empty());
        let (condition, yes, no) = (part(start, at)?, part(at + 1, colon)?, part(colon + 1, end)?);
        if self.tokens.get(end).is_some_and(|token| token.token == Token::Question)
            || yes.iter().any(|t| t.token == Token::Question)
        {
            return None;
        }
        let words = |part| self.source.words(part);
        let text = format!("if {} {{ {} }} else {{ {} }}", words(condition), words(yes), words(no));
        Some((self.source.between(*condition.first()?, *no.last()?), text))
    }

    /// The index of the first token of the statement that `at` is in.
    fn statement_start(&self, at: usize) -> usize {
        let mut depth = 0usize;
        for (index, token) in self.tokens.iter().enumerate().take(at).rev() {
            match token.token {
                Token::BraceClose if depth == 0 => {
                    // `} else …` belongs to the `if` in front
                    return index + 1;
                }
                other if other.is_close() => depth += 1,
                other if other.is_open() && depth == 0 => return index + 1,
                other if other.is_open() => depth -= 1,
                Token::Semicolon if depth == 0 => return index + 1,
                _ => {}
            }
        }
        0
    }
}
