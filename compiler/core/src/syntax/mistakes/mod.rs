//! Habits from C++, Python and Rust that can be recognised before parsing: each is reported once, in words that teach, and replaced by
//! tokens that parse, so that the rest of the file is looked at as usual.
//!
//! - `statements`: declarations, cases, semicolons; `expressions`: operators and conversions; `members`: parameters and fields;
//!   `c_for`: heads of `for`.
//! - `c_like`: reads declarations in the order of C.

mod c_for;
pub(super) mod c_like;
mod expressions;
mod members;
mod statements;

use super::lexer::Spanned;
use super::source_text::{SourceText, find_outside};
use super::token::Token;
use crate::diag::Diagnostics;
use std::collections::BTreeSet;

/// The pass over the tokens of a file.
struct Pass<'text, 'out> {
    source: SourceText<'text>,
    tokens: &'out [Spanned],
    diagnostics: &'out mut Diagnostics,
    damaged: &'out mut BTreeSet<String>,
    out: Vec<Spanned>,
    at: usize,
    /// The open brackets.
    open: Vec<Open>,
    /// The first token of the statement.
    first: Option<Token>,
    /// Whether the last brace that was closed belonged to an expression.
    closed_expression: bool,
    /// The keyword of the item that the tokens outside of braces belong to.
    item: Option<Token>,
    /// The closing braces of bodies of `do`, and the `;` behind each one's condition.
    pending_do: Vec<(usize, usize)>,
}

/// What an open bracket holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Parentheses, square or launch brackets.
    List,
    /// A branch of an `if` expression.
    Branch,
    /// Statements, cases, fields.
    Block,
}

/// The tokens, whose brackets must be paired, with known mistakes replaced.
pub(super) fn replace(
    source: SourceText<'_>,
    tokens: &[Spanned],
    diagnostics: &mut Diagnostics,
    damaged: &mut BTreeSet<String>,
) -> Vec<Spanned> {
    let out = Vec::with_capacity(tokens.len());
    let mut pass = Pass {
        source,
        tokens,
        diagnostics,
        damaged,
        out,
        at: 0,
        open: Vec::new(),
        first: None,
        closed_expression: false,
        item: None,
        pending_do: Vec::new(),
    };
    while pass.at < tokens.len() {
        pass.step();
    }
    pass.out
}

impl Pass<'_, '_> {
    fn peek(&self, ahead: usize) -> Option<Spanned> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn peek_is(&self, ahead: usize, token: Token) -> bool {
        self.peek(ahead).is_some_and(|found| found.token == token)
    }

    fn previous(&self) -> Option<Token> {
        self.out.last().map(|token| token.token)
    }

    fn emit(&mut self, token: Token, at: Spanned) {
        self.out.push(Spanned { token, ..at });
    }

    /// Passes tokens on as they are, up to the index `end`.
    fn copy_to(&mut self, end: usize) {
        let tokens = self.tokens;
        for token in tokens.get(self.at..end).unwrap_or(&[]) {
            self.bracket(token.token);
        }
        self.out.extend_from_slice(self.tokens.get(self.at..end).unwrap_or(&[]));
        self.at = end;
    }

    /// Drops tokens up to the index `end`; no one will complain about their names.
    fn drop_to(&mut self, end: usize) {
        self.source.damage(self.tokens.get(self.at..end).unwrap_or(&[]), self.damaged);
        self.at = end;
    }

    /// The index of the `;` that ends the statement, or of the brace that ends the block.
    fn statement_end(&self) -> usize {
        find_outside(self.tokens, self.at, &[Token::Semicolon, Token::BraceClose]).unwrap_or(self.tokens.len())
    }

    /// Whether a `;` between items has nothing to end.
    fn ends_nothing(&self) -> bool {
        match self.previous() {
            None | Some(Token::Semicolon) => true,
            Some(Token::BraceClose) => !self.closed_expression,
            _ => false,
        }
    }

    fn starts_statement(&self) -> bool {
        let behind = match self.previous() {
            Some(Token::Semicolon | Token::BraceOpen) => true,
            Some(Token::BraceClose) => !self.closed_expression,
            _ => false,
        };
        behind && self.open.last() == Some(&Open::Block) && !matches!(self.item, Some(Token::Struct | Token::Enum))
    }

    /// Keeps account of the open brackets.
    fn bracket(&mut self, token: Token) {
        if token.is_open() {
            const HEADS: [Token; 9] = [
                Token::If,
                Token::Else,
                Token::While,
                Token::For,
                Token::Loop,
                Token::Switch,
                Token::Case,
                Token::Default,
                Token::BraceOpen,
            ];
            let kind = match self.open.last() {
                _ if token != Token::BraceOpen => Open::List,
                None if self.item.is_some() => Open::Block,
                None => Open::Branch,
                Some(Open::Block) if self.first.is_none_or(|first| HEADS.contains(&first)) => Open::Block,
                Some(_) => Open::Branch,
            };
            self.open.push(kind);
            if kind == Open::Block {
                self.first = None;
            }
        } else if token.is_close() {
            let kind = self.open.pop();
            if token == Token::BraceClose {
                self.closed_expression = kind == Some(Open::Branch);
                if kind == Some(Open::Block) {
                    self.first = None;
                }
            }
        }
    }

    fn step(&mut self) {
        let Some(token) = self.peek(0) else { return };
        if self.starts_statement() {
            self.first = Some(token.token);
            if self.statement(token) {
                return;
            }
        }
        if self.pending_do.last().is_some_and(|(close, _)| *close == self.at) {
            let end = self.pending_do.pop().map_or(self.at, |(_, end)| end);
            self.copy_to(self.at + 1);
            self.drop_to(end + 1);
            return;
        }
        match token.token {
            Token::BraceOpen if self.open.is_empty() && self.item == Some(Token::Struct) => {
                self.copy_to(self.at + 1);
                self.members(true);
                return;
            }
            Token::BraceClose if self.open.len() == 1 => self.item = None,
            Token::Struct | Token::Enum | Token::Fn | Token::Kernel | Token::Test if self.open.is_empty() => {
                self.item = Some(token.token);
                if token.token != Token::Test && self.angle_generics() {
                    return;
                }
            }
            Token::ParenOpen if self.open.is_empty() && matches!(self.item, Some(Token::Fn | Token::Kernel)) => {
                self.copy_to(self.at + 1);
                self.members(false);
                return;
            }
            Token::Semicolon if self.open.is_empty() && self.ends_nothing() => {
                self.extra_semicolon(token);
                return;
            }
            Token::Semicolon if self.open.is_empty() => self.item = None,
            Token::ParenOpen if self.cast(token) => return,
            Token::DotDotEqual => return self.inclusive_range(token),
            Token::For if self.peek_is(1, Token::ParenOpen) => return self.for_with_parentheses(token),
            Token::Switch if self.switch(token) => return,
            Token::PlusPlus | Token::MinusMinus if self.increment_behind(token) => return,
            Token::Name if self.word_operator(token) => return,
            _ => {}
        }
        self.copy_to(self.at + 1);
    }
}
