//! Habits from C++, Python and Rust that can be recognised before parsing: each is reported once, in words that teach, and replaced by
//! tokens that parse, so that the rest of the file is looked at as usual.

use super::c_like::{declarator, is_type_word};
use super::lexer::Spanned;
use super::source_text::{SourceText, closing, find_outside};
use super::token::Token;
use crate::diag::{Code, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

pub(super) struct Pass<'text, 'out> {
    pub(super) source: SourceText<'text>,
    pub(super) tokens: &'out [Spanned],
    pub(super) diagnostics: &'out mut Diagnostics,
    pub(super) damaged: &'out mut BTreeSet<String>,
    pub(super) out: Vec<Spanned>,
    pub(super) at: usize,
    /// The open brackets.
    open: Vec<Open>,
    /// The first token of the statement.
    first: Option<Token>,
    /// Whether the last brace that was closed belonged to an expression.
    closed_expression: bool,
    /// The keyword of the item that the tokens outside of braces belong to.
    item: Option<Token>,
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
    };
    while pass.at < tokens.len() {
        pass.step();
    }
    pass.out
}

impl Pass<'_, '_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<Spanned> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub(super) fn peek_is(&self, ahead: usize, token: Token) -> bool {
        self.peek(ahead).is_some_and(|found| found.token == token)
    }

    fn previous(&self) -> Option<Token> {
        self.out.last().map(|token| token.token)
    }

    pub(super) fn emit(&mut self, token: Token, at: Spanned) {
        self.out.push(Spanned { token, ..at });
    }

    /// Passes tokens on as they are, up to the index `end`.
    pub(super) fn copy_to(&mut self, end: usize) {
        let tokens = self.tokens;
        for token in tokens.get(self.at..end).unwrap_or(&[]) {
            self.bracket(token.token);
        }
        self.out.extend_from_slice(self.tokens.get(self.at..end).unwrap_or(&[]));
        self.at = end;
    }

    /// Drops tokens up to the index `end`; no one will complain about their names.
    pub(super) fn drop_to(&mut self, end: usize) {
        self.source.damage(self.tokens.get(self.at..end).unwrap_or(&[]), self.damaged);
        self.at = end;
    }

    /// The index of the `;` that ends the statement, or of the brace that ends the block.
    pub(super) fn statement_end(&self) -> usize {
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

    /// Mistakes at the start of a statement.
    fn statement(&mut self, token: Spanned) -> bool {
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
            Token::Name | Token::Const | Token::Extern | Token::Struct => self.c_declaration(token),
            _ => false,
        }
    }

    fn extra_semicolon(&mut self, token: Spanned) {
        let span = self.source.span(token);
        self.diagnostics.push(Diagnostic::new(Code::E0130, span, "this `;` ends nothing").fix("remove it", span, ""));
        self.at += 1;
    }

    fn let_mut(&mut self, token: Spanned) -> bool {
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

    fn c_declaration(&mut self, first: Spanned) -> bool {
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
        let Some(last) = rest.get(declarator.length - 1).copied() else { return false };
        let span = self.source.between(first, last);
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
        let replacement = format!("{keyword} {}", declarator.as_ours(self.source));
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

    fn increment_in_front(&mut self, token: Spanned) {
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

    fn increment_behind(&mut self, token: Spanned) -> bool {
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

    fn report_increment(&mut self, token: Spanned, span: crate::source::Span, replacement: &str) {
        let word = self.source.word(token);
        self.diagnostics.push(Diagnostic::new(Code::E0117, self.source.span(token), format!("there is no `{word}`")).fix(
            "write",
            span,
            replacement,
        ));
    }

    fn inclusive_range(&mut self, token: Spanned) {
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
    fn word_operator(&mut self, token: Spanned) -> bool {
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
    fn cast(&mut self, open: Spanned) -> bool {
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

    /// `switch` whose cases have a colon.
    fn switch(&mut self, _token: Spanned) -> bool {
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

    /// `fn max<T>(…)`, at the keyword.
    fn angle_generics(&mut self) -> bool {
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
    fn report_order(&mut self, fields: bool, part: &[Spanned], ours: &str, end: usize) {
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
    fn members(&mut self, fields: bool) {
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

fn compound(token: Token) -> &'static str {
    if token == Token::PlusPlus { "+=" } else { "-=" }
}
