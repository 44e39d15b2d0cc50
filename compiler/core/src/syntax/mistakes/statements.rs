//! Declarations, cases and semicolons of other languages.

use super::Pass;
use super::c_like::{declarator, starts_line};
use crate::diag::{Code, Diagnostic};
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{closing, find_outside};
use crate::syntax::token::Token;

impl Pass<'_, '_> {
    /// Mistakes at the start of a statement.
    pub(super) fn statement(&mut self, token: Spanned) -> bool {
        match token.token {
            Token::Semicolon => {
                self.extra_semicolon(token);
                true
            }
            Token::Let | Token::Var => self.let_mut(token),
            Token::PlusPlus | Token::MinusMinus => {
                self.increment_in_front(token);
                true
            }
            Token::Name if self.source.word(token) == "match" && self.match_statement(token) => true,
            Token::Name if self.source.word(token) == "do" && self.do_while(token) => true,
            Token::Name | Token::Const | Token::Extern | Token::Struct => self.c_declaration(token),
            _ => false,
        }
    }

    /// `match value { 1 => …, _ => … }`
    fn match_statement(&mut self, token: Spanned) -> bool {
        let Some(open) = find_outside(self.tokens, self.at, &[Token::BraceOpen, Token::Semicolon, Token::Equal]) else {
            return false;
        };
        let value = self.tokens.get(self.at + 1..open).filter(|value| !value.is_empty());
        let (Some(value), true) = (value, self.tokens.get(open).is_some_and(|found| found.token == Token::BraceOpen)) else {
            return false;
        };
        let span = self.source.span(token);
        let value = self.source.words(value);
        self.diagnostics.push(
            Diagnostic::new(Code::E0112, span, "there is no `match`; `switch` chooses by an integer or enumeration")
                .help(format!("write `switch {value} {{ case 1 {{ … }} case 2, 3 {{ … }} default {{ … }} }}`")),
        );
        self.drop_to(closing(self.tokens, open) + 1);
        if self.peek_is(0, Token::Semicolon) {
            self.at += 1;
        }
        true
    }

    /// `do { … } while condition;`: a loop whose body the rest of the checks sees.
    fn do_while(&mut self, token: Spanned) -> bool {
        if !self.peek_is(1, Token::BraceOpen) {
            return false;
        }
        let close = closing(self.tokens, self.at + 1);
        let is_while = self.tokens.get(close + 1).is_some_and(|found| found.token == Token::While);
        let Some(end) = find_outside(self.tokens, close + 1, &[Token::Semicolon]).filter(|_| is_while) else { return false };
        // C wants parentheses around it: they are ours, then
        let first = close + 2;
        let opens = self.tokens.get(first).is_some_and(|found| found.token == Token::ParenOpen);
        let range = if opens && closing(self.tokens, first) + 1 == end { first + 1..end - 1 } else { first..end };
        let condition = self.source.words(self.tokens.get(range).unwrap_or(&[]));
        let span = self.source.span(token);
        self.diagnostics.push(
            Diagnostic::new(Code::E0112, span, "there is no `do`; a loop that tests at its end leaves with `break`")
                .help(format!("write `loop {{ …; if !({condition}) {{ break; }} }}`")),
        );
        self.first = Some(Token::Loop);
        self.emit(Token::Loop, token);
        self.at += 1;
        // as if the condition stood in a statement of its own in the body's place
        self.pending_do.push((close, end));
        true
    }

    pub(super) fn extra_semicolon(&mut self, token: Spanned) {
        let span = self.source.span(token);
        self.diagnostics.push(Diagnostic::new(Code::E0130, span, "this `;` ends nothing").fix("remove it", span, ""));
        self.at += 1;
    }

    pub(super) fn let_mut(&mut self, token: Spanned) -> bool {
        let Some(word) = self.peek(1).filter(|word| word.token == Token::Name && self.source.word(*word) == "mut") else {
            return false;
        };
        if !self.peek(2).is_some_and(|name| name.token.is_name()) {
            return false;
        }
        let span = self.source.between(token, word);
        self.diagnostics.push(
            Diagnostic::new(Code::E0114, span, "a variable that changes is declared with `var`").fix("write", span, "var"),
        );
        self.emit(Token::Var, token);
        self.at += 2;
        true
    }

    pub(super) fn c_declaration(&mut self, first: Spanned) -> bool {
        let rest = self.tokens.get(self.at..).unwrap_or(&[]);
        let Some(declarator) = declarator(self.source, rest) else { return false };
        let behind = rest.get(declarator.length).map(|token| token.token);
        let fits = match behind {
            Some(Token::Equal) => true,
            Some(Token::Semicolon | Token::Comma | Token::ParenOpen | Token::BraceOpen) => declarator.is_certain(),
            _ => false,
        };
        // `const N = 1;` is ours
        if !fits {
            return false;
        }
        if let Some(star) = starts_line(self.source, rest.get(..declarator.length).unwrap_or(&[])) {
            return self.forgotten_semicolon(star);
        }
        let Some(last) = rest.get(declarator.length - 1).copied() else { return false };
        // `dim3 grid(1, 2);`: a value built by a call
        let call = (behind == Some(Token::ParenOpen)).then(|| rest.get(closing(rest, declarator.length)).copied()).flatten();
        let span = self.source.between(first, call.unwrap_or(last));
        let keyword = if declarator.is_shared() {
            "shared"
        } else if declarator.is_const() {
            "let"
        } else {
            "var"
        };
        let message = if declarator.is_shared() {
            "shared memory is declared with `shared`, its type behind the name"
        } else {
            "a variable is declared with `let` or `var`, its type behind the name"
        };
        let replacement = call
            .and_then(|_| rest.get(declarator.length..=closing(rest, declarator.length)))
            .and_then(|arguments| declarator.with_value(self.source, self.source.words(arguments)))
            .unwrap_or_else(|| declarator.as_ours(self.source));
        let replacement = format!("{keyword} {replacement}");
        self.diagnostics.push(Diagnostic::new(Code::E0114, span, message).fix("write", span, replacement));
        let shared = declarator.is_shared();
        let name = declarator.name;
        self.drop_to(self.at + declarator.length);
        self.emit(if shared { Token::Shared } else { Token::Var }, first);
        self.out.push(name);
        self.emit(Token::Colon, last);
        self.emit(Token::Error, first);
        if behind == Some(Token::Equal) && !shared && !self.peek_is(1, Token::BraceOpen) {
            self.copy_to(self.at + 1);
        } else {
            let end = self.statement_end();
            self.drop_to(end);
        }
        true
    }

    /// `x`, and on the next line `*p = 1;`, the index of whose star this is.
    fn forgotten_semicolon(&mut self, star: usize) -> bool {
        let Some(previous) = self.peek(star - 1) else { return false };
        let span = self.source.span(previous).after();
        self.diagnostics.push(Diagnostic::new(Code::E0111, span, "expected `;`").label("missing here").fix("write", span, ";"));
        self.copy_to(self.at + star);
        self.emit(Token::Semicolon, Spanned { start: previous.end, end: previous.end, ..previous });
        true
    }

    /// `switch` whose cases have a colon.
    pub(super) fn switch(&mut self, _token: Spanned) -> bool {
        let Some(open) = find_outside(self.tokens, self.at, &[Token::BraceOpen, Token::Semicolon]) else { return false };
        let close = closing(self.tokens, open);
        let mut at = open + 1;
        while let Some(label) = find_outside(self.tokens, at, &[Token::Case, Token::Default]) {
            let end = find_outside(self.tokens, label, &[Token::Colon, Token::BraceOpen]);
            if let Some(colon) = end.and_then(|end| self.tokens.get(end)).filter(|end| end.token == Token::Colon) {
                let label = self.tokens.get(label).copied().unwrap_or(*colon);
                let span = self.source.between(label, *colon);
                let words = self.source.slice(span.start, colon.start).trim_end();
                self.diagnostics.push(
                    Diagnostic::new(Code::E0128, span, "a case has a block")
                        .label("no colon here")
                        .help(format!("write `{words} {{ … }}`"))
                        .note("a case never falls through into the next one, so that it needs no `break`"),
                );
                self.copy_to(open + 1);
                self.drop_to(close);
                self.copy_to(close + 1);
                return true;
            }
            at = label + 1;
        }
        false
    }
}
