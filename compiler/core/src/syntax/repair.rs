//! What to say and to change where the parser stops, so that it can go on.
//!
//! The parser runs over one item; where it stops, one [`Diagnostic`] is made and the tokens are changed, then it starts again. Either a
//! missing token is put in, or the smallest surrounding stretch is replaced by [`Token::Error`]: the inside of a bracket, a statement, a
//! member. Where that does not help, the next larger one, silently.

use super::expected::{Expected, is_keyword};
use super::lexer::Spanned;
use super::source_text::{SourceText, closing, enclosing, find_outside};
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

    /// A keyword that is declared as a name, and its later uses.
    fn keyword_as_name(&mut self, at: usize, expected: &Expected<'_>) -> Option<Outcome> {
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

    fn previous(&self, at: usize) -> Option<Spanned> {
        at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied()
    }

    fn insert_at(&mut self, at: usize, tokens: &[Token]) {
        let end = self.previous(at).map_or(0, |previous| previous.end);
        self.tokens.splice(at..at, tokens.iter().map(|token| Spanned { token: *token, start: end, end }));
    }

    /// Mistakes that putting in or changing a token mends.
    fn insert(&mut self, at: usize, expected: &Expected<'_>) -> Option<Diagnostic> {
        let found = self.tokens.get(at).copied();
        let previous = self.previous(at)?;
        if let Some(diagnostic) = self.condition(at, expected) {
            return Some(diagnostic);
        }
        if let Some(diagnostic) = self.value_of_if(at, expected) {
            return Some(diagnostic);
        }
        if expected.has(";") && self.ends_statement(at, previous) {
            let diagnostic = self.missing_semicolon(at, previous);
            self.insert_at(at, &[Token::Semicolon]);
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
            return Some(
                Diagnostic::new(Code::E0122, span, "`=` assigns, `==` compares")
                    .label("a condition has no assignment")
                    .fix("write", span, "=="),
            );
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

    fn ends_statement(&self, at: usize, previous: Spanned) -> bool {
        let Some(found) = self.tokens.get(at) else { return true };
        found.token == Token::BraceClose
            || (found.token.starts_statement() && found.token != Token::Shared)
            || (self.source.breaks_line(previous.end, found.start)
                && !matches!(
                    found.token,
                    Token::Equal | Token::Question | Token::Colon | Token::ParenClose | Token::BracketClose
                ))
    }

    fn missing_semicolon(&self, at: usize, previous: Spanned) -> Diagnostic {
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
                diagnostic.fix("a function gives its value back with `return`", whole, format!("return {text};"))
            }
            _ => diagnostic.fix("write", span, ";"),
        }
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

    /// Replaces the smallest stretch around `at` that the parser can do without.
    fn replace_around(&mut self, at: usize) -> bool {
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
    fn widen(&mut self, at: usize) -> Outcome {
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
