//! The head of a `for` in parentheses, as in C.

use super::Pass;
use crate::diag::{Code, Diagnostic};
use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{closing, find_outside};
use crate::syntax::token::Token;

/// `(int i = a; i < b; i += c)`, where it is a counting loop.
struct Counting<'tokens> {
    name: Spanned,
    start: &'tokens [Spanned],
    end: &'tokens [Spanned],
    inclusive: bool,
    step: Option<&'tokens [Spanned]>,
}

impl Pass<'_, '_> {
    /// At a `for` with a parenthesis behind it.
    pub(super) fn for_with_parentheses(&mut self, keyword: Spanned) {
        let tokens = self.tokens;
        let open = self.at + 1;
        let close = closing(tokens, open);
        let inside = tokens.get(open + 1..close).unwrap_or(&[]);
        let head = self.source.between(keyword, tokens.get(close).copied().unwrap_or(keyword));
        if find_outside(inside, 0, &[Token::Semicolon]).is_none() {
            if find_outside(inside, 0, &[Token::In]).is_some() {
                let text = self.source.words(inside);
                self.diagnostics.push(Diagnostic::new(Code::E0112, head, "the head of a `for` has no parentheses").fix(
                    "write",
                    head,
                    format!("for {text}"),
                ));
                self.copy_to(open);
                self.out.extend_from_slice(inside);
                self.at = close + 1;
            } else {
                self.copy_to(open);
            }
            return;
        }
        let diagnostic = Diagnostic::new(Code::E0116, head, "`for` counts through a range");
        let Some(counting) = self.counting(inside) else {
            self.diagnostics
                .push(diagnostic.help("write `for i in a..b step c { … }`, or a `while` where the loop does not count"));
            self.drop_to(close + 1);
            self.emit(Token::While, keyword);
            self.emit(Token::Error, keyword);
            return;
        };
        let source = self.source;
        let end = source.words(counting.end);
        let mut text = format!("for {} in {}..{end}", source.word(counting.name), source.words(counting.start));
        if counting.inclusive {
            text.push_str(" + 1");
        }
        if let Some(step) = counting.step {
            text.push_str(" step ");
            text.push_str(source.words(step));
        }
        self.diagnostics.push(diagnostic.fix("write", head, text));
        self.out.push(keyword);
        self.out.push(counting.name);
        self.emit(Token::In, keyword);
        self.out.extend_from_slice(counting.start);
        self.emit(Token::DotDot, keyword);
        self.out.extend_from_slice(counting.end);
        if let Some(step) = counting.step {
            self.emit(Token::Step, keyword);
            self.out.extend_from_slice(step);
        }
        self.at = close + 1;
    }

    fn counting<'tokens>(&self, inside: &'tokens [Spanned]) -> Option<Counting<'tokens>> {
        let mut parts = inside.split(|token| token.token == Token::Semicolon);
        let (first, condition, last) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let equal = first.iter().position(|token| token.token == Token::Equal)?;
        let name = *first.get(equal.checked_sub(1)?).filter(|token| token.token.is_name())?;
        let start =
            first.get(equal + 1..).filter(|start| !start.is_empty() && !start.iter().any(|t| t.token == Token::Comma))?;
        let same = |token: &Spanned| token.token.is_name() && self.source.word(*token) == self.source.word(name);
        let (inclusive, end) = match condition {
            [left, op, end @ ..] if same(left) && !end.is_empty() => match op.token {
                Token::Less | Token::NotEqual => (false, end),
                Token::LessEqual => (true, end),
                _ => return None,
            },
            _ => return None,
        };
        if end.iter().any(|token| matches!(token.token, Token::AndAnd | Token::OrOr | Token::Comma)) {
            return None;
        }
        let step = match last {
            [left, op] if same(left) && op.token == Token::PlusPlus => None,
            [op, right] if same(right) && op.token == Token::PlusPlus => None,
            [left, op, step @ ..] if same(left) && op.token == Token::PlusEqual && !step.is_empty() => Some(step),
            _ => return None,
        };
        Some(Counting { name, start, end, inclusive, step })
    }
}
