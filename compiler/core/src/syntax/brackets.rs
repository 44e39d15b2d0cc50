//! Makes every bracket have its partner, so that all later recovery can rely on it, and limits their depth.
//!
//! Which bracket is the wrong one is guessed as a reader would: a statement or its `;` never stands inside parentheses, an item at the
//! start of a line never inside a block, and a closing brace is indented as the line of its opening one.

use super::ast::MAX_DEPTH;
use super::lexer::Spanned;
use super::source_text::{Lines, SourceText, closing};
use super::state::too_deep;
use super::token::Token;
use crate::diag::{Code, Diagnostic, Diagnostics};
use std::collections::BTreeSet;

/// An open bracket.
struct Open {
    token: Spanned,
    /// Of the line it stands on.
    indentation: usize,
    /// Whether it is the head of a `for` in the form of C.
    c_for: bool,
    /// Whether an `if` stood in it outside of other brackets, whose braces may follow.
    has_if: bool,
    /// Whether it is a brace that was taken for a parenthesis.
    literal: bool,
}

struct Run<'text, 'out> {
    source: SourceText<'text>,
    lines: Lines<'text>,
    diagnostics: &'out mut Diagnostics,
    damaged: &'out mut BTreeSet<String>,
    out: Vec<Spanned>,
    stack: Vec<Open>,
    /// A brace that was closed by one indented less.
    suspect: Option<Spanned>,
    too_deep: bool,
}

/// The tokens with all brackets paired.
pub(super) fn balance(
    source: SourceText<'_>,
    tokens: &[Spanned],
    diagnostics: &mut Diagnostics,
    damaged: &mut BTreeSet<String>,
) -> Vec<Spanned> {
    let out = Vec::with_capacity(tokens.len());
    let lines = Lines::new(source.text);
    let mut run = Run { source, lines, diagnostics, damaged, out, stack: Vec::new(), suspect: None, too_deep: false };
    let mut at = 0;
    while let Some(token) = tokens.get(at).copied() {
        run.repair_before(token, tokens.get(at + 1..).unwrap_or(&[]));
        if token.token.is_open() {
            if run.stack.len() >= usize::from(MAX_DEPTH) {
                at = run.skip_deep(tokens, at);
                continue;
            }
            run.open(token, tokens.get(at + 1..).unwrap_or(&[]));
        } else if token.token.is_close() {
            run.close(token);
        } else {
            if token.token == Token::If {
                if let Some(top) = run.stack.last_mut() {
                    top.has_if = true;
                }
            }
            run.out.push(token);
        }
        at += 1;
    }
    if let Some(top) = run.stack.last() {
        // a file that is too deep was reported already
        if !run.too_deep {
            let culprit = run.suspect.unwrap_or(top.token);
            run.report_unclosed(culprit, None);
        }
        run.close_down_to(0);
    }
    run.out
}

/// Whether the `]` of `[T; N]` follows.
fn closes_before_statement_end(behind: &[Spanned]) -> bool {
    let mut depth = 0usize;
    for token in behind {
        match token.token {
            Token::BracketClose if depth == 0 => return true,
            Token::Semicolon | Token::BraceOpen | Token::BraceClose if depth == 0 => return false,
            other if other.is_open() => depth += 1,
            other if other.is_close() => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

impl Run<'_, '_> {
    /// Where the token shows that brackets in front of it should have been closed, closes them.
    fn repair_before(&mut self, token: Spanned, behind: &[Spanned]) {
        let next = behind.first().copied();
        let Some(top) = self.stack.last() else { return };
        if self.starts_item(token, next) {
            let culprit = if top.token.token == Token::BraceOpen { self.suspect.unwrap_or(top.token) } else { top.token };
            self.report_unclosed(culprit, Some(token));
            self.close_down_to(0);
            self.suspect = None;
            return;
        }
        if top.token.token == Token::BraceOpen || top.literal {
            return;
        }
        let ends = match token.token {
            Token::Semicolon if top.token.token == Token::BracketOpen => !closes_before_statement_end(behind),
            Token::Semicolon => !top.c_for,
            Token::BraceOpen => !top.has_if && !self.starts_literal(next),
            Token::Shared => self.out.last().is_none_or(|previous| previous.token != Token::Star),
            other => other.starts_statement(),
        };
        if !ends {
            return;
        }
        let culprit = top.token;
        self.report_unclosed(culprit, Some(token));
        let keep = self.stack.iter().rposition(|open| open.token.token == Token::BraceOpen).map_or(0, |at| at + 1);
        self.close_down_to(keep);
        if token.token.starts_statement() {
            let end = self.out.last().map_or(token.start, |last| last.end);
            self.out.push(Spanned { token: Token::Semicolon, start: end, end });
        }
    }

    /// Whether an item starts here, judged by its place at the start of a line.
    fn starts_item(&self, token: Spanned, next: Option<Spanned>) -> bool {
        let followed_by = |wanted| next.is_some_and(|next| next.token == wanted);
        let keyword = match token.token {
            Token::Kernel | Token::Fn | Token::Struct | Token::Enum | Token::Extern => true,
            Token::Host => followed_by(Token::Fn),
            Token::Global => followed_by(Token::Var),
            Token::Test | Token::Import => followed_by(Token::String),
            _ => false,
        };
        // `host` in front of `fn`, `@inline` in front of `fn` start the item
        keyword && self.lines.indentation(token.start) == (0, true)
    }

    fn starts_literal(&self, next: Option<Spanned>) -> bool {
        self.out.last().is_some_and(|name| name.token.is_name()) && next.is_some_and(|next| next.token.is_name())
    }

    fn open(&mut self, token: Spanned, behind: &[Spanned]) {
        let previous = self.out.last().map(|token| token.token);
        let before = self.out.len().checked_sub(2).and_then(|at| self.out.get(at)).map(|token| token.token);
        let literal = token.token == Token::BraceOpen
            && previous.is_some_and(Token::is_name)
            && !matches!(before, Some(Token::Struct | Token::Enum))
            && matches!(behind, [name, colon, ..] if name.token.is_name() && colon.token == Token::Colon);
        let mut emitted = token;
        if literal {
            emitted.token = Token::ParenOpen;
            let name = self.out.last().map_or("", |name| self.source.word(*name));
            self.diagnostics.push(
                Diagnostic::new(Code::E0125, self.source.span(token), "a struct's value is built by a call")
                    .label("no braces here")
                    .help(format!("write `{name}({}: …)`", behind.first().map_or("", |field| self.source.word(*field)))),
            );
        }
        let (indentation, _) = self.lines.indentation(token.start);
        let c_for = token.token == Token::ParenOpen && previous == Some(Token::For);
        self.stack.push(Open { token, indentation, c_for, has_if: false, literal });
        self.out.push(emitted);
    }

    fn close(&mut self, token: Spanned) {
        let Some(top) = self.stack.last() else {
            self.report_extra(token);
            return;
        };
        if top.token.token.closer() == token.token {
            let (indentation, first) = self.lines.indentation(token.start);
            let less = token.token == Token::BraceClose && first && indentation < top.indentation;
            if less && self.suspect.is_none() && self.source.breaks_line(top.token.start, token.start) {
                self.suspect = Some(top.token);
            }
            self.pop(token);
            return;
        }
        let floor = if token.token == Token::BraceClose {
            0
        } else {
            self.stack.iter().rposition(|open| open.token.token == Token::BraceOpen).map_or(0, |at| at + 1)
        };
        let partner = self.stack.iter().rposition(|open| open.token.token.closer() == token.token);
        let culprit = top.token;
        match partner.filter(|at| *at >= floor) {
            Some(partner) => {
                self.report_unclosed(culprit, Some(token));
                self.close_down_to(partner + 1);
                self.pop(token);
            }
            None if culprit.token == Token::BraceOpen => self.report_extra(token),
            None if token.token == Token::BraceClose => {
                // the brace belongs to a block that never opened, since its head ended in this bracket
                self.report_unclosed(culprit, Some(token));
                self.close_down_to(0);
            }
            None => {
                let wanted = culprit.token.closer();
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::E0108,
                        self.source.span(token),
                        format!("{} closes {}", self.source.found(Some(token)), culprit.token.friendly()),
                    )
                    .label(format!("{} expected", wanted.friendly()))
                    .also(self.source.span(culprit), "opened here"),
                );
                self.pop(token);
            }
        }
    }

    /// Ends the innermost bracket with its own closing one, at the place of `token`.
    fn pop(&mut self, token: Spanned) {
        if let Some(open) = self.stack.pop() {
            let closer = if open.literal { Token::ParenClose } else { open.token.token.closer() };
            self.out.push(Spanned { token: closer, ..token });
        }
    }

    /// Ends brackets behind the last token until `keep` are open.
    fn close_down_to(&mut self, keep: usize) {
        while self.stack.len() > keep {
            let end = self.out.last().map_or(0, |last| last.end);
            self.pop(Spanned { token: Token::Error, start: end, end });
        }
    }

    fn report_unclosed(&mut self, open: Spanned, found: Option<Spanned>) {
        let wanted = open.token.closer().friendly();
        let diagnostic =
            Diagnostic::new(Code::E0107, self.source.span(open), format!("this {} is not closed", open.token.friendly()))
                .label("opened here");
        self.diagnostics.push(match found {
            Some(found) => diagnostic.also(self.source.span(found), format!("{wanted} expected before this")),
            None => diagnostic.help(format!("{wanted} is missing before the end of the file")),
        });
    }

    fn report_extra(&mut self, token: Spanned) {
        self.diagnostics.push(
            Diagnostic::new(Code::E0108, self.source.span(token), format!("{} closes nothing", self.source.found(Some(token))))
                .label("no open bracket of this kind"),
        );
    }

    /// Replaces the bracket at `at` and what it holds by an error; gives the index behind it.
    fn skip_deep(&mut self, tokens: &[Spanned], at: usize) -> usize {
        let Some(open) = tokens.get(at).copied() else { return at + 1 };
        if !self.too_deep {
            self.too_deep = true;
            self.diagnostics.push(too_deep(self.source.span(open)));
        }
        let end = closing(tokens, at);
        self.source.damage(tokens.get(at..=end).unwrap_or(&[]), self.damaged);
        let place = |token| Spanned { token, start: open.start, end: open.end };
        let inside: &[Token] = match open.token {
            Token::BraceOpen if self.stack.last().is_some_and(|top| !top.has_if) => &[],
            Token::LaunchOpen => &[Token::Error, Token::Comma, Token::Error],
            _ => &[Token::Error],
        };
        self.out.push(open);
        self.out.extend(inside.iter().map(|token| place(*token)));
        self.out.push(place(open.token.closer()));
        end + 1
    }
}
