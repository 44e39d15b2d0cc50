//! Leaving out the smallest stretch that the parser can do without.

use super::{Outcome, Repair};
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{closing, enclosing, find_outside};
use crate::syntax::token::Token;

impl Repair<'_, '_> {
    /// Replaces the smallest stretch around `at` that the parser can do without.
    pub(super) fn replace_around(&mut self, at: usize) -> bool {
        let Some(open) = enclosing(&self.tokens, at) else { return false };
        let Some(bracket) = self.tokens.get(open).map(|token| token.token) else { return false };
        let close = closing(&self.tokens, open);
        if bracket != Token::BraceOpen {
            let in_head = enclosing(&self.tokens, open).is_none() && bracket != Token::AttributeOpen;
            let inside: &[Token] = match bracket {
                // the parameters of a function; those of a type cannot be missing
                Token::ParenOpen if in_head => &[],
                _ if in_head => return false,
                Token::LaunchOpen => &[Token::Error, Token::Comma, Token::Error],
                _ => &[Token::Error],
            };
            self.replace(open + 1, close, inside);
            return true;
        }
        match self.brace_head(open) {
            Some(Token::Struct | Token::Enum) => {
                let start = (open + 1..at)
                    .rev()
                    .find(|index| {
                        self.tokens.get(*index).is_some_and(|t| t.token == Token::Comma)
                            && enclosing(&self.tokens, *index) == Some(open)
                    })
                    .map_or(open + 1, |comma| comma + 1);
                let end = find_outside(&self.tokens, at.max(start), &[Token::Comma]).map_or(close, |comma| comma + 1);
                self.replace(start, end.min(close), &[]);
            }
            Some(Token::Switch) => self.replace(open + 1, close, &[]),
            _ => self.replace_statement(at, close),
        }
        true
    }

    /// The keyword of the construct whose body the brace at `open` starts.
    fn brace_head(&self, open: usize) -> Option<Token> {
        let start = self.statement_start(open);
        let head = self.tokens.get(start..open).unwrap_or(&[]);
        head.iter().map(|token| token.token).find(|token| matches!(token, Token::Struct | Token::Enum | Token::Switch))
    }

    fn replace_statement(&mut self, at: usize, block_end: usize) {
        let start = self.statement_start(at);
        let keyword = self.tokens.get(start).map(|token| token.token);
        let stop = find_outside(&self.tokens, at, &[Token::Semicolon, Token::BraceOpen]).unwrap_or(block_end);
        let braces = self.tokens.get(stop).is_some_and(|token| token.token == Token::BraceOpen);
        if braces {
            // keep the body of what has one
            let head = match keyword {
                Some(Token::If | Token::While) => Some(start + 1),
                Some(Token::For) => {
                    if let Some(token) = self.tokens.get_mut(start) {
                        token.token = Token::While;
                    }
                    Some(start + 1)
                }
                Some(Token::Else) if self.tokens.get(start + 1).is_some_and(|token| token.token == Token::If) => {
                    Some(start + 2)
                }
                _ => None,
            };
            if let Some(head) = head.filter(|head| *head <= at) {
                self.replace(head, stop, &[Token::Error]);
                return;
            }
            let mut end = closing(&self.tokens, stop) + 1;
            if self.tokens.get(end).is_some_and(|token| token.token == Token::Semicolon) {
                end += 1;
            }
            self.replace(start, end, &[Token::Error, Token::Semicolon]);
            return;
        }
        let end = if stop < block_end { stop + 1 } else { block_end };
        self.replace(start, end, &[Token::Error, Token::Semicolon]);
    }

    /// Takes the next larger stretch for a mistake that was reported already.
    pub(super) fn widen(&mut self, at: usize) -> Outcome {
        let Some(open) = enclosing(&self.tokens, at) else { return Outcome::GiveUp(None) };
        let bracket = self.tokens.get(open).map(|token| token.token);
        let changed = if bracket == Some(Token::BraceOpen) {
            // a statement that was replaced in vain, or an expression in braces: the whole block goes
            let Some(outer) = enclosing(&self.tokens, open) else {
                let close = closing(&self.tokens, open);
                self.replace(open + 1, close, &[]);
                return Outcome::Widened;
            };
            let close = closing(&self.tokens, outer);
            match self.tokens.get(outer).map(|token| token.token) {
                Some(Token::BraceOpen) => {
                    self.replace_statement(open, close);
                    true
                }
                _ => self.replace_around(open),
            }
        } else {
            match enclosing(&self.tokens, open) {
                Some(_) => self.replace_around(open),
                None => false,
            }
        };
        if changed { Outcome::Widened } else { Outcome::GiveUp(None) }
    }

    fn replace(&mut self, start: usize, end: usize, with: &[Token]) {
        let end = end.max(start);
        let dropped = self.tokens.get(start..end).unwrap_or(&[]);
        self.source.damage(dropped, self.damaged);
        let (from, to) = match (dropped.first(), dropped.last(), self.previous(start)) {
            (Some(first), Some(last), _) => (first.start, last.end),
            (_, _, Some(previous)) => (previous.end, previous.end),
            _ => (0, 0),
        };
        let place = |token: &Token| Spanned { token: *token, start: from, end: if *token == Token::Error { to } else { from } };
        let with: Vec<Spanned> = with.iter().map(place).collect();
        self.tokens.splice(start..end.min(self.tokens.len()), with);
    }
}
