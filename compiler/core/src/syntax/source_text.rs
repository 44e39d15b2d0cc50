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

    /// How many blanks the line of this byte starts with (a tab counts one), and whether nothing else stands in front of it.
    pub(super) fn indentation(self, at: u32) -> (usize, bool) {
        let before = self.slice(0, at);
        let line = before.rfind('\n').map_or(before, |end| before.get(end + 1..).unwrap_or(""));
        let rest = line.trim_start_matches([' ', '\t', '\u{feff}']);
        (line.len() - rest.len(), rest.is_empty())
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
