//! Parameters and fields in the order of C, compile-time parameters in angle brackets.

use super::Pass;
use super::c_like::declarator;
use crate::diag::{Code, Diagnostic};
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::find_outside;
use crate::syntax::token::Token;

impl Pass<'_, '_> {
    /// `fn max<T>(…)`, at the keyword.
    pub(super) fn angle_generics(&mut self) -> bool {
        let (Some(name), Some(open)) = (self.peek(1), self.peek(2)) else { return false };
        if !name.token.is_name() || open.token != Token::Less {
            return false;
        }
        let stop = [Token::Greater, Token::ParenOpen, Token::BraceOpen, Token::Semicolon];
        let Some(end) = find_outside(self.tokens, self.at + 3, &stop) else { return false };
        let Some(close) = self.tokens.get(end).copied().filter(|t| t.token == Token::Greater) else { return false };
        let span = self.source.between(open, close);
        let params: Vec<String> = self
            .tokens
            .get(self.at + 3..end)
            .unwrap_or(&[])
            .split(|t| t.token == Token::Comma)
            .map(|part| match part {
                [kind, name] if self.source.word(*kind) == "typename" || self.source.word(*kind) == "class" => {
                    self.source.word(*name).to_owned()
                }
                _ => self.source.words(part).to_owned(),
            })
            .collect();
        self.diagnostics.push(Diagnostic::new(Code::E0124, span, "compile-time parameters stand in square brackets").fix(
            "write",
            span,
            format!("[{}]", params.join(", ")),
        ));
        self.copy_to(self.at + 2);
        self.emit(Token::BracketOpen, open);
        self.at += 1;
        self.copy_to(end);
        self.emit(Token::BracketClose, close);
        self.at += 1;
        true
    }

    /// A parameter or field in the order of C, with the others of its list up to the index `end`.
    pub(super) fn report_order(&mut self, fields: bool, part: &[Spanned], ours: &str, end: usize) {
        let (Some(first), Some(last)) = (part.first(), part.last()) else { return };
        let what = if fields { "field" } else { "parameter" };
        let span = self.source.between(*first, *last);
        let diagnostic = Diagnostic::new(Code::E0131, span, format!("the type of a {what} stands behind its name"));
        let list = self.tokens.get(self.at..end).unwrap_or(&[]);
        let separator = |token: &Spanned| matches!(token.token, Token::Comma | Token::Semicolon);
        let one_line = list.first().zip(list.last()).filter(|(from, to)| !self.source.breaks_line(from.start, to.end));
        self.diagnostics.push(match one_line {
            Some((from, to)) => {
                let texts: Vec<String> = list
                    .split(separator)
                    .filter(|part| !part.is_empty())
                    .map(|part| {
                        let ours = declarator(self.source, part).filter(|d| d.length == part.len());
                        ours.map_or_else(|| self.source.words(part).to_owned(), |d| d.as_ours(self.source))
                    })
                    .collect();
                diagnostic.fix("write", self.source.between(*from, *to), texts.join(", "))
            }
            None => diagnostic.fix("write", span, ours),
        });
    }

    /// The parameters or fields behind the bracket just passed on: those in the order of C, and fields separated by `;`.
    pub(super) fn members(&mut self, fields: bool) {
        let end = find_outside(self.tokens, self.at, &[Token::ParenClose, Token::BraceClose]).unwrap_or(self.tokens.len());
        let mut reported = false;
        while self.at < end {
            let separators: &[Token] = if fields { &[Token::Comma, Token::Semicolon] } else { &[Token::Comma] };
            let stop = find_outside(self.tokens, self.at, separators).filter(|stop| *stop < end).unwrap_or(end);
            let part = self.tokens.get(self.at..stop).unwrap_or(&[]);
            match declarator(self.source, part).filter(|d| d.length == part.len()) {
                Some(declarator) => {
                    if !reported {
                        reported = true;
                        self.report_order(fields, part, &declarator.as_ours(self.source), end);
                    }
                    let name = declarator.name;
                    self.drop_to(stop);
                    self.damaged.remove(self.source.word(name));
                    self.out.push(name);
                    self.emit(Token::Colon, name);
                    self.emit(Token::Error, name);
                }
                None => self.copy_to(stop),
            }
            if let Some(separator) = self.peek(0).filter(|_| self.at < end) {
                if separator.token == Token::Semicolon && !reported {
                    reported = true;
                    let span = self.source.span(separator);
                    self.diagnostics
                        .push(Diagnostic::new(Code::E0131, span, "fields are separated by commas").fix("write", span, ","));
                }
                self.emit(Token::Comma, separator);
                self.at += 1;
            }
        }
    }
}
