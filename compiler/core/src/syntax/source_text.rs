//! Looking from tokens back to the text: spans, words, lines.

use super::lexer::Spanned;
use super::token::Token;
use crate::source::{FileId, Span};
use std::collections::BTreeSet;

/// The file that tokens are read from.
#[derive(Clone, Copy)]
pub(super) struct SourceText<'text> {
    pub(super) file: FileId,
    pub(super) text: &'text str,
}

impl<'text> SourceText<'text> {
    pub(super) fn span(self, token: Spanned) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// From the first byte of `first` to the last one of `last`.
    pub(super) fn between(self, first: Spanned, last: Spanned) -> Span {
        Span::new(self.file, first.start, last.end.max(first.start))
    }

    pub(super) fn slice(self, start: u32, end: u32) -> &'text str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// The token as written.
    pub(super) fn word(self, token: Spanned) -> &'text str {
        self.slice(token.start, token.end)
    }

    /// From the first token to the last as written; empty without tokens.
    pub(super) fn words(self, tokens: &[Spanned]) -> &'text str {
        match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => self.slice(first.start, last.end),
            _ => "",
        }
    }

    /// Whether a line ends between two places.
    pub(super) fn breaks_line(self, from: u32, to: u32) -> bool {
        self.slice(from, to).contains('\n')
    }

    /// How a found token is called in a message: `` `x` ``, `` `{` ``, a string.
    pub(super) fn found(self, token: Option<Spanned>) -> String {
        match token {
            None => "the end of the file".to_owned(),
            Some(token) if matches!(token.token, Token::String | Token::Error) || token.start == token.end => {
                token.token.friendly().to_owned()
            }
            Some(token) => format!("`{}`", self.word(token)),
        }
    }

    /// Adds the names among tokens that recovery drops.
    pub(super) fn damage(self, tokens: &[Spanned], names: &mut BTreeSet<String>) {
        names.extend(tokens.iter().filter(|t| t.token.is_name()).map(|t| self.word(*t).to_owned()));
    }
}

/// Where the lines of a text start.
pub(super) struct Lines<'text> {
    text: &'text str,
    starts: Vec<u32>,
}

impl<'text> Lines<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.filter_map(|(at, _)| u32::try_from(at + 1).ok())).collect();
        Self { text, starts }
    }

    /// How many blanks the line of this byte starts with (a tab counts one), and whether nothing else stands in front of it.
    pub(super) fn indentation(&self, at: u32) -> (usize, bool) {
        let line = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0) as usize;
        let before = self.text.get(start..at as usize).unwrap_or("").trim_start_matches('\u{feff}');
        let blanks = before.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        (blanks, blanks == before.len())
    }
}

/// The index of the bracket that closes the one at `open`; the last index in source that is not balanced.
pub(super) fn closing(tokens: &[Spanned], open: usize) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.token.is_open() {
            depth += 1;
        } else if token.token.is_close() {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return index;
            }
        }
    }
    tokens.len().saturating_sub(1)
}

/// The index of the innermost bracket that is open in front of the token at `at`.
pub(super) fn enclosing(tokens: &[Spanned], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().take(at).rev() {
        if token.token.is_close() {
            depth += 1;
        } else if token.token.is_open() {
            if depth == 0 {
                return Some(index);
            }
            depth -= 1;
        }
    }
    None
}

/// The first index from `from` on where one of `wanted` stands outside of all brackets opened since; stops at a bracket that closes
/// one opened before.
pub(super) fn find_outside(tokens: &[Spanned], from: usize, wanted: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(from) {
        if depth == 0 && wanted.contains(&token.token) {
            return Some(index);
        }
        if token.token.is_open() {
            depth += 1;
        } else if token.token.is_close() {
            if depth == 0 {
                return None;
            }
            depth -= 1;
        }
    }
    None
}
