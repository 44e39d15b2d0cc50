//! Operators and conversions of other languages.

use super::Pass;
use super::c_like::{declarator, is_type_word};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{closing, find_outside};
use crate::syntax::token::Token;

impl Pass<'_, '_> {
    pub(super) fn increment_in_front(&mut self, token: Spanned) {
        let end = self.statement_end();
        let place = self.source.words(self.tokens.get(self.at + 1..end).unwrap_or(&[]));
        let last = self.tokens.get(end - 1).copied().unwrap_or(token);
        let span = self.source.between(token, last);
        self.report_increment(token, span, &format!("{place} {} 1", compound(token.token)));
        self.at += 1;
        self.copy_to(end);
        self.emit(Token::PlusEqual, token);
        self.emit(Token::Error, token);
    }

    pub(super) fn increment_behind(&mut self, token: Spanned) -> bool {
        let ends = self.peek(1).is_some_and(|next| matches!(next.token, Token::Semicolon | Token::BraceClose));
        if !ends || !self.previous().is_some_and(Token::ends_expression) {
            return false;
        }
        self.report_increment(token, self.source.span(token), &format!(" {} 1", compound(token.token)));
        self.emit(Token::PlusEqual, token);
        self.emit(Token::Error, token);
        self.at += 1;
        true
    }

    pub(super) fn report_increment(&mut self, token: Spanned, span: Span, replacement: &str) {
        let word = self.source.word(token);
        self.diagnostics.push(Diagnostic::new(Code::E0117, self.source.span(token), format!("there is no `{word}`")).fix(
            "write",
            span,
            replacement,
        ));
    }

    pub(super) fn inclusive_range(&mut self, token: Spanned) {
        let span = self.source.span(token);
        let rest = self.tokens.get(self.at + 1..).unwrap_or(&[]);
        let stop = find_outside(rest, 0, &[Token::BraceOpen, Token::Step, Token::Semicolon]).unwrap_or(0);
        let end = rest.get(..stop).unwrap_or(&[]);
        let diagnostic = Diagnostic::new(Code::E0129, span, "a range does not include its end");
        self.diagnostics.push(match end.last() {
            Some(last) => {
                let text = self.source.words(end);
                // operators that bind weaker than `+`
                let weak = [Token::ShiftLeft, Token::ShiftRight, Token::And, Token::Or, Token::Caret];
                let parens = end.iter().any(|token| weak.contains(&token.token));
                let text = if parens { format!("({text})") } else { text.to_owned() };
                diagnostic.fix("write", self.source.between(token, *last), format!("..{text} + 1"))
            }
            None => diagnostic.help("write `a..b + 1`"),
        });
        self.emit(Token::DotDot, token);
        self.at += 1;
    }

    /// `and`, `or`, `not`.
    pub(super) fn word_operator(&mut self, token: Spanned) -> bool {
        let word = self.source.word(token);
        let infix = self.previous().is_some_and(|previous| previous.ends_expression() && previous != Token::BraceClose);
        let Some(next) = self.peek(1) else { return false };
        let operand = next.token.is_name()
            || matches!(next.token, Token::ParenOpen | Token::Not | Token::True | Token::False | Token::Number | Token::Star);
        let (ours, symbol) = match word {
            "and" if infix && operand => (Token::AndAnd, "&&"),
            "or" if infix && operand => (Token::OrOr, "||"),
            "not" if !infix && (next.token.is_name() || matches!(next.token, Token::True | Token::False)) => (Token::Not, "!"),
            _ => return false,
        };
        let span = self.source.span(token);
        self.diagnostics
            .push(Diagnostic::new(Code::E0121, span, format!("there is no operator `{word}`")).fix("write", span, symbol));
        self.emit(ours, token);
        self.at += 1;
        true
    }

    /// `(float)x`, `(int*)p`
    pub(super) fn cast(&mut self, open: Spanned) -> bool {
        let stands_alone = self.previous().is_none_or(|previous| {
            !previous.ends_expression()
                && !matches!(
                    previous,
                    Token::LaunchClose
                        | Token::If
                        | Token::While
                        | Token::Switch
                        | Token::SizeOf
                        | Token::AlignOf
                        | Token::OffsetOf
                )
        });
        let close = closing(self.tokens, self.at);
        let inside = self.tokens.get(self.at + 1..close).unwrap_or(&[]);
        let names = inside.iter().take_while(|t| t.token.is_name() || t.token == Token::Const).count();
        let stars = inside.iter().skip(names).take_while(|t| t.token == Token::Star).count();
        if !stands_alone || names == 0 || names + stars != inside.len() {
            return false;
        }
        let Some(next) = self.tokens.get(close + 1).copied() else { return false };
        let simple = next.token.is_name() || matches!(next.token, Token::Number | Token::Char | Token::True | Token::False);
        let known = inside.iter().any(|t| is_type_word(self.source.word(*t)));
        let prefix =
            matches!(next.token, Token::ParenOpen | Token::Minus | Token::Star | Token::And | Token::Not | Token::Tilde);
        if !(simple || (prefix && (known || stars > 0))) || (self.starts_statement() && !known) {
            return false;
        }
        let mut typed = inside.to_vec();
        // a declarator needs a name
        typed.push(Spanned { token: Token::Name, ..open });
        let ty = declarator(self.source, &typed)
            .map(|d| d.as_ours(self.source))
            .and_then(|text| text.split_once(": ").map(|(_, ty)| ty.to_owned()))
            .unwrap_or_else(|| self.source.words(inside).to_owned());
        let whole = self.source.between(open, self.tokens.get(close).copied().unwrap_or(open));
        let diagnostic = Diagnostic::new(Code::E0118, whole, "a conversion stands behind its value");
        let followed = self.tokens.get(close + 2).is_some_and(|t| {
            matches!(
                t.token,
                Token::ParenOpen | Token::BracketOpen | Token::Dot | Token::Arrow | Token::LaunchOpen | Token::PathSeparator
            )
        });
        self.diagnostics.push(if simple && !followed {
            let span = self.source.between(open, next);
            diagnostic.fix("write", span, format!("{} as {ty}", self.source.word(next)))
        } else {
            diagnostic.help(format!("write `value as {ty}`"))
        });
        // of unknown type, whatever the operand is
        self.emit(Token::Error, open);
        self.emit(Token::Star, open);
        self.at = close + 1;
        true
    }
}

fn compound(token: Token) -> &'static str {
    if token == Token::PlusPlus { "+=" } else { "-=" }
}
