//! Mistakes that putting in or changing a token mends.

use super::{Outcome, Repair};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::expected::{Expected, is_keyword};
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{closing, enclosing, find_outside};
use crate::syntax::token::Token;

impl Repair<'_, '_> {
    /// A keyword that is declared as a name, and its later uses.
    pub(super) fn keyword_as_name(&mut self, at: usize, expected: &Expected<'_>) -> Option<Outcome> {
        let found = self.tokens.get(at).copied()?;
        let word = self.source.word(found);
        if !expected.has("name") || !is_keyword(found.token, word) {
            return None;
        }
        let known = self.renamed.contains(&found.token);
        if !known && expected.has_expression() {
            return None;
        }
        let diagnostic = self.describe(at, expected);
        if let Some(token) = self.tokens.get_mut(at) {
            token.token = Token::Name;
        }
        self.renamed.push(found.token);
        Some(if known { Outcome::Widened } else { Outcome::Reported(diagnostic) })
    }

    fn insert_at(&mut self, at: usize, tokens: &[Token]) {
        let end = self.previous(at).map_or(0, |previous| previous.end);
        self.tokens.splice(at..at, tokens.iter().map(|token| Spanned { token: *token, start: end, end }));
    }

    /// Mistakes that putting in or changing a token mends.
    pub(super) fn insert(&mut self, at: usize, expected: &Expected<'_>) -> Option<Diagnostic> {
        let found = self.tokens.get(at).copied();
        let previous = self.previous(at)?;
        if let Some(diagnostic) = self.condition(at, expected) {
            return Some(diagnostic);
        }
        if let Some(diagnostic) = self.assignment_in_parentheses(at, expected) {
            return Some(diagnostic);
        }
        if let Some(diagnostic) = self.value_of_if(at, expected) {
            return Some(diagnostic);
        }
        if expected.has(";") && self.ends_statement(at, previous) {
            let (diagnostic, returned) = self.missing_semicolon(at, previous);
            self.insert_at(at, &[Token::Semicolon]);
            if let Some(start) = returned {
                self.insert_at(start, &[Token::Return]);
            }
            return Some(diagnostic);
        }
        if previous.token == Token::LaunchClose && expected.has("(") {
            let span = self.source.span(previous);
            let mut tokens = vec![Token::ParenOpen, Token::ParenClose];
            if !found.is_some_and(|found| found.token == Token::Semicolon) {
                tokens.push(Token::Semicolon);
            }
            self.insert_at(at, &tokens);
            return Some(
                Diagnostic::new(Code::E0126, span, "the arguments of the launch are missing").fix("write", span, ">>>()"),
            );
        }
        let found = found?;
        let new_member = self.source.breaks_line(previous.end, found.start);
        let open = enclosing(&self.tokens, at).and_then(|open| self.tokens.get(open)).map(|open| open.token);
        if expected.has(",")
            && open != Some(Token::LaunchOpen)
            && (new_member || (found.token.ends_expression() && !found.token.is_close()))
            && !expected.has("name")
        {
            let span = self.source.span(previous).after();
            self.insert_at(at, &[Token::Comma]);
            return Some(
                Diagnostic::new(Code::E0112, span, format!("expected `,`, found {}", self.source.found(Some(found))))
                    .label("missing here")
                    .fix("write", span, ","),
            );
        }
        None
    }

    /// `if a = b {`, `if (a) b();`
    fn condition(&mut self, at: usize, expected: &Expected<'_>) -> Option<Diagnostic> {
        if !expected.has("{") {
            return None;
        }
        let found = self.tokens.get(at).copied()?;
        let start = self.statement_start(at);
        let keyword = self.tokens.get(start).copied().map(|token| token.token)?;
        let previous = self.previous(at)?;
        let headed = matches!(keyword, Token::If | Token::While | Token::For | Token::Loop | Token::Else)
            || matches!(previous.token, Token::Else);
        if !headed {
            return None;
        }
        if found.token == Token::Equal && matches!(keyword, Token::If | Token::While | Token::Else) {
            let span = self.source.span(found);
            if let Some(token) = self.tokens.get_mut(at) {
                token.token = Token::EqualEqual;
            }
            return Some(assignment_in_condition(span));
        }
        let starts = found.token.is_name()
            || found.token.starts_statement()
            || matches!(found.token, Token::If | Token::Star | Token::Semicolon);
        if !starts || found.token == Token::Semicolon {
            return None;
        }
        let stop = find_outside(&self.tokens, at, &[Token::Semicolon, Token::BraceOpen])?;
        let braces = self.tokens.get(stop).is_some_and(|token| token.token == Token::BraceOpen);
        if braces && !found.token.starts_statement() && found.token != Token::If {
            // `if a b {`: an operator is missing
            return None;
        }
        let end = if braces { closing(&self.tokens, stop) } else { stop };
        let last = self.tokens.get(end).copied()?;
        let body = self.source.between(found, last);
        let text = self.source.slice(body.start, body.end);
        let what = match keyword {
            _ if previous.token == Token::Else => "`else`",
            Token::While => "`while`",
            Token::For => "`for`",
            Token::Loop => "`loop`",
            _ => "`if`",
        };
        let mut replacement = format!("{{ {text} }}");
        let mut replaced = body;
        // the other branch is the same mistake
        if let Some((first, stop)) = self.bare_else(end + 1) {
            let other = self.tokens.get(first..=stop)?;
            replacement.push_str(&format!(" else {{ {} }}", self.source.words(other)));
            replaced = self.source.between(found, *other.last()?);
            self.insert_at(stop + 1, &[Token::BraceClose]);
            self.insert_at(first, &[Token::BraceOpen]);
        }
        let diagnostic =
            Diagnostic::new(Code::E0127, body, format!("the body of {what} is a block")).fix("write", replaced, replacement);
        self.insert_at(end + 1, &[Token::BraceClose]);
        self.insert_at(at, &[Token::BraceOpen]);
        Some(diagnostic)
    }

    /// `if (a = b) {`
    fn assignment_in_parentheses(&mut self, at: usize, expected: &Expected<'_>) -> Option<Diagnostic> {
        let found = self.tokens.get(at).copied().filter(|found| found.token == Token::Equal && expected.has(")"))?;
        let open = enclosing(&self.tokens, at)?;
        let heads = self.tokens.get(open)?.token == Token::ParenOpen
            && matches!(self.previous(open)?.token, Token::If | Token::While | Token::AndAnd | Token::OrOr);
        let first = self.tokens.get(self.statement_start(open))?.token;
        if !heads || !matches!(first, Token::If | Token::While | Token::Else) {
            return None;
        }
        if let Some(token) = self.tokens.get_mut(at) {
            token.token = Token::EqualEqual;
        }
        Some(assignment_in_condition(self.source.span(found)))
    }

    /// The body of an `else` at `at` that is one statement without braces: its first and its last token.
    fn bare_else(&self, at: usize) -> Option<(usize, usize)> {
        let first = at + 1;
        let is_else = self.tokens.get(at)?.token == Token::Else;
        let is_block = matches!(self.tokens.get(first)?.token, Token::BraceOpen | Token::If);
        let stop = find_outside(&self.tokens, first, &[Token::Semicolon, Token::BraceOpen])?;
        (is_else && !is_block && self.tokens.get(stop)?.token == Token::Semicolon).then_some((first, stop))
    }

    /// `if c { a } else { b }` as the last thing of a function: the value needs a `return`.
    fn value_of_if(&mut self, at: usize, expected: &Expected<'_>) -> Option<Diagnostic> {
        if !expected.has(";") || self.tokens.get(at)?.token != Token::BraceClose {
            return None;
        }
        let open = enclosing(&self.tokens, at)?;
        let start = self.statement_start(open);
        let keyword = self.tokens.get(start).copied().filter(|token| token.token == Token::If)?;
        let gives_value = self.tokens.get(..start)?.iter().any(|token| token.token == Token::Arrow);
        // the whole chain, each branch one value
        let mut close = at;
        while self.tokens.get(close + 1).is_some_and(|token| token.token == Token::Else) {
            close = closing(&self.tokens, find_outside(&self.tokens, close + 1, &[Token::BraceOpen])?);
        }
        let has_semicolon = self.tokens.get(close + 1).is_some_and(|token| token.token == Token::Semicolon);
        let last = close + 1 + usize::from(has_semicolon);
        if !gives_value || self.statement_start(at) != open + 1 || close == at || last + 1 != self.tokens.len() {
            return None;
        }
        let place = self.source.span(keyword);
        let before = Span::new(place.file, place.start, place.start);
        if !has_semicolon {
            self.insert_at(close + 1, &[Token::Semicolon]);
        }
        self.tokens.insert(start, Spanned { token: Token::Return, start: keyword.start, end: keyword.start });
        Some(
            Diagnostic::new(Code::E0111, place, "the value of this `if` is not used")
                .label("read as a statement, whose blocks hold statements")
                .fix("a function gives its value back with `return` and `;`", before, "return "),
        )
    }

    pub(super) fn ends_statement(&self, at: usize, previous: Spanned) -> bool {
        let Some(found) = self.tokens.get(at) else { return true };
        found.token == Token::BraceClose
            || (found.token.starts_statement() && found.token != Token::Shared)
            || (self.source.breaks_line(previous.end, found.start)
                && !matches!(
                    found.token,
                    Token::Equal | Token::Question | Token::Colon | Token::ParenClose | Token::BracketClose
                ))
    }

    /// What to say, and the start of a value that the function gives back.
    fn missing_semicolon(&self, at: usize, previous: Spanned) -> (Diagnostic, Option<usize>) {
        let span = self.source.span(previous).after();
        let diagnostic = Diagnostic::new(Code::E0111, span, "expected `;`").label("missing here");
        let start = self.statement_start(at);
        let statement = self.tokens.get(start..at).unwrap_or(&[]);
        let is_last = self.tokens.len() == at + 1;
        let gives_value = enclosing(&self.tokens, at)
            .is_some_and(|open| self.tokens.get(..open).unwrap_or(&[]).iter().any(|token| token.token == Token::Arrow));
        let is_value = statement.first().is_some_and(|first| {
            (first.token.ends_expression() || matches!(first.token, Token::ParenOpen | Token::Minus | Token::Not | Token::Star))
                && find_outside(statement, 0, &[Token::Equal]).is_none()
        });
        match statement.first() {
            Some(first) if is_last && gives_value && is_value => {
                let whole = self.source.between(*first, previous);
                let text = self.source.words(statement);
                let fix = "a function gives its value back with `return`";
                (diagnostic.fix(fix, whole, format!("return {text};")), Some(start))
            }
            _ => (diagnostic.fix("write", span, ";"), None),
        }
    }
}

fn assignment_in_condition(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0122, span, "`=` assigns, `==` compares")
        .label("a condition has no assignment")
        .fix("write", span, "==")
}
