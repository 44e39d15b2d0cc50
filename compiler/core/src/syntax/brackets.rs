//! Makes every bracket have its partner, so that all later recovery can rely on it, and limits their depth.
//!
//! Which bracket is the wrong one is guessed as a reader would: a statement or its `;` never stands inside parentheses, an item at the
//! start of a line never inside a block, and a closing brace is indented as the line of its opening one.

use super::ast::MAX_DEPTH;
use super::lexer::Spanned;
use super::source_text::{Lines, SourceText, closing, find_outside};
use super::state::too_deep;
use super::token::Token;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::Span;
use std::collections::BTreeSet;

/// An open bracket.
struct Open {
    token: Spanned,
    /// The first token of the statement it stands in.
    head: Option<Token>,
    /// Of the line it stands on.
    indentation: usize,
    /// Whether it is the head of a `for` in the form of C.
    c_for: bool,
    /// Whether an `if` stood in it outside of other brackets, whose braces may follow.
    has_if: bool,
    /// Whether it is a brace that was taken for a parenthesis.
    literal: bool,
}

/// How far the head of a function, kernel or test was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    None,
    /// Behind the keyword.
    Keyword,
    /// Behind the parameters or the test's name: the body is next, or the result type.
    Complete,
    /// Behind `->`.
    Result,
    /// Behind `struct`.
    Struct,
    /// Behind the name of a struct.
    Fields,
}

/// The tokens of a file with all brackets paired.
#[derive(Default)]
pub(super) struct Balanced {
    pub(super) tokens: Vec<Spanned>,
    pub(super) diagnostics: Diagnostics,
    /// Names in what was dropped.
    pub(super) damaged: BTreeSet<String>,
    /// Where brackets other than braces were put in or dropped: the parser's complaints about the same statement are no news.
    pub(super) scars: Vec<u32>,
    /// Closing braces that were dropped since the opening one seems to be missing, and what to say where the parser does not
    /// miss it.
    pub(super) dropped_braces: Vec<Diagnostic>,
}

struct Run<'text> {
    source: SourceText<'text>,
    lines: Lines<'text>,
    /// Whether a closing brace that is indented more than the line of its opening one is dropped.
    strict: bool,
    stack: Vec<Open>,
    head: Head,
    /// A brace that was closed by one indented less.
    suspect: Option<Spanned>,
    /// Whether a brace was closed that was not open.
    extra_brace: bool,
    too_deep: bool,
    out: Balanced,
}

/// Pairs the brackets. Where a closing brace is left over, a second run looks for the place where the opening one is missing.
pub(super) fn balance(source: SourceText<'_>, tokens: &[Spanned]) -> Balanced {
    let first = run(source, tokens, false);
    if !first.extra_brace {
        return first.out;
    }
    let second = run(source, tokens, true);
    if second.out.diagnostics.len() < first.out.diagnostics.len() { second.out } else { first.out }
}

fn run<'text>(source: SourceText<'text>, tokens: &[Spanned], strict: bool) -> Run<'text> {
    let mut run = Run {
        source,
        lines: Lines::new(source.text),
        strict,
        stack: Vec::new(),
        head: Head::None,
        suspect: None,
        extra_brace: false,
        too_deep: false,
        out: Balanced { tokens: Vec::with_capacity(tokens.len()), ..Balanced::default() },
    };
    let mut at = 0;
    while let Some(token) = tokens.get(at).copied() {
        let behind = tokens.get(at + 1..).unwrap_or(&[]);
        run.repair_before(token, behind);
        run.repair_head(token, behind.first().copied());
        if token.token.is_open() {
            if run.stack.len() >= usize::from(MAX_DEPTH) {
                at = run.skip_deep(tokens, at);
                continue;
            }
            run.open(token, behind);
        } else if token.token.is_close() {
            run.close(token, behind);
        } else {
            if let (Token::If, Some(top)) = (token.token, run.stack.last_mut()) {
                top.has_if = true;
            }
            run.out.tokens.push(token);
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
    run
}

/// Whether `found` belongs to the body of an item whose brace is missing.
fn body_is_missing(head: Head, found: Token, new_line: bool) -> bool {
    match head {
        Head::Fields => found.is_name(),
        Head::Complete | Head::Result => found.starts_statement() || found == Token::If || (new_line && found.is_name()),
        Head::None | Head::Keyword | Head::Struct => false,
    }
}

/// The first token of the statement that is still open behind the last token.
fn statement_head(tokens: &[Spanned]) -> Option<Token> {
    let ends = |token: &Spanned| matches!(token.token, Token::Semicolon | Token::BraceOpen | Token::BraceClose);
    let start = tokens.iter().rposition(ends).map_or(0, |end| end + 1);
    tokens.get(start).map(|token| token.token)
}

/// Whether the bracket that is open in front of `behind` is closed before the statement ends.
fn closes_in_statement(behind: &[Spanned], closer: Token) -> bool {
    let mut depth = 0usize;
    for token in behind {
        match token.token {
            found if depth == 0 && found == closer => return true,
            Token::Semicolon | Token::BraceOpen | Token::BraceClose if depth == 0 => return false,
            other if other.is_open() => depth += 1,
            other if other.is_close() => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

impl Run<'_> {
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
            let previous = self.out.tokens.last().map(|token| token.token);
            let of_if = |head| matches!(head, Some(Token::If | Token::Else));
            if token.token == Token::Else
                && previous == Some(Token::Semicolon)
                && of_if(top.head)
                && !of_if(self.last_statement())
            {
                // an `else` follows a block
                let culprit = top.token;
                self.report_unclosed(culprit, Some(token));
                self.close_down_to(self.stack.len() - 1);
            }
            return;
        }
        let ends = match token.token {
            Token::Semicolon if top.token.token == Token::BracketOpen => !closes_in_statement(behind, Token::BracketClose),
            Token::Semicolon => !top.c_for,
            Token::Arrow => self.stack.len() == 1 && self.head == Head::Keyword,
            Token::BraceOpen => !top.has_if && !self.starts_literal(next),
            Token::Shared => !self.follows_star(),
            other => other.starts_statement(),
        };
        if !ends {
            return;
        }
        let culprit = top.token;
        self.report_unclosed(culprit, Some(token));
        let keep = self.stack.iter().rposition(|open| open.token.token == Token::BraceOpen).map_or(0, |at| at + 1);
        self.close_down_to(keep);
        if token.token == Token::Arrow {
            self.head = Head::Complete;
        }
        if token.token.starts_statement() {
            let end = self.out.tokens.last().map_or(token.start, |last| last.end);
            self.out.tokens.push(Spanned { token: Token::Semicolon, start: end, end });
        }
    }

    /// Puts in the brace that is missing behind the head of a function, kernel or test.
    fn repair_head(&mut self, token: Spanned, next: Option<Spanned>) {
        if !self.stack.is_empty() {
            return;
        }
        let previous = self.out.tokens.last().copied();
        let is_extern = previous.is_some_and(|previous| previous.token == Token::Extern);
        let new_line = previous.is_some_and(|previous| self.source.breaks_line(previous.end, token.start));
        self.head = match (token.token, self.head) {
            (Token::Fn | Token::Kernel, _) => {
                if is_extern {
                    Head::None
                } else {
                    Head::Keyword
                }
            }
            (Token::Test, _) if next.is_some_and(|next| next.token == Token::String) => Head::Keyword,
            (Token::String, Head::Keyword) if previous.is_some_and(|previous| previous.token == Token::Test) => Head::Complete,
            (Token::Struct, _) => Head::Struct,
            (found, Head::Struct) if found.is_name() => Head::Fields,
            (Token::BraceOpen | Token::Semicolon | Token::Less, _) => Head::None,
            (Token::Arrow, Head::Complete) => Head::Result,
            // `-> *shared T`
            (Token::Shared, head) if self.follows_star() => head,
            (found, head) if body_is_missing(head, found, new_line) => {
                let end = previous.map_or(token.start, |previous| previous.end);
                let span = Span::new(self.source.file, end, end);
                let message = format!("expected `{{`, found {}", self.source.found(Some(token)));
                self.out
                    .diagnostics
                    .push(Diagnostic::new(Code::E0112, span, message).label("the body starts here").fix("write", span, " {"));
                self.open(Spanned { token: Token::BraceOpen, start: end, end }, &[]);
                Head::None
            }
            (_, head) => head,
        };
    }

    /// Whether the last token is one that a pointer type, or its space, starts behind.
    fn follows_star(&self) -> bool {
        self.out.tokens.last().is_some_and(|previous| previous.token == Token::Star)
    }

    /// The first token of the statement that the last `;` ended.
    fn last_statement(&self) -> Option<Token> {
        let tokens = self.out.tokens.split_last().map_or(&[] as &[Spanned], |(_, before)| before);
        statement_head(tokens)
    }

    /// Whether an item starts here, judged by its place at the start of a line.
    fn starts_item(&self, token: Spanned, next: Option<Spanned>) -> bool {
        let followed_by = |wanted| next.is_some_and(|next| next.token == wanted);
        let keyword = match token.token {
            Token::Kernel | Token::Fn | Token::Struct | Token::Enum | Token::Extern => true,
            Token::Host => followed_by(Token::Fn),
            Token::Global => followed_by(Token::Var) || followed_by(Token::Volatile),
            Token::Test | Token::Import => followed_by(Token::String),
            _ => false,
        };
        // `host` in front of `fn`, `@inline` in front of `fn` start the item
        keyword && self.lines.indentation(token.start) == (0, true)
    }

    fn starts_literal(&self, next: Option<Spanned>) -> bool {
        self.out.tokens.last().is_some_and(|name| name.token.is_name()) && next.is_some_and(|next| next.token.is_name())
    }

    fn open(&mut self, token: Spanned, behind: &[Spanned]) {
        let previous = self.out.tokens.last().map(|token| token.token);
        let before = self.out.tokens.len().checked_sub(2).and_then(|at| self.out.tokens.get(at)).map(|token| token.token);
        let literal = token.token == Token::BraceOpen
            && !self.stack.is_empty()
            && previous.is_some_and(Token::is_name)
            && !matches!(before, Some(Token::Struct | Token::Enum))
            && matches!(behind, [name, colon, ..] if name.token.is_name() && colon.token == Token::Colon);
        let mut emitted = token;
        if literal {
            emitted.token = Token::ParenOpen;
            let diagnostic = Diagnostic::new(Code::E0125, self.source.span(token), "a struct's value is built by a call")
                .label("no braces here");
            let close = find_outside(behind, 0, &[Token::BraceClose]).and_then(|at| behind.get(at));
            let name = self.out.tokens.last().copied().unwrap_or(token);
            self.out.diagnostics.push(match close {
                Some(close) => {
                    let fields = self.source.slice(token.end, close.start).trim().trim_end_matches(',');
                    let replacement = format!("{}({fields})", self.source.word(name));
                    diagnostic.fix("write", self.source.between(name, *close), replacement)
                }
                None => diagnostic,
            });
        }
        let (indentation, _) = self.lines.indentation(token.start);
        let c_for = token.token == Token::ParenOpen && previous == Some(Token::For);
        let head = if token.token == Token::BraceOpen { statement_head(&self.out.tokens) } else { None };
        self.stack.push(Open { token, head, indentation, c_for, has_if: false, literal });
        self.out.tokens.push(emitted);
    }

    fn close(&mut self, token: Spanned, behind: &[Spanned]) {
        let Some(top) = self.stack.last() else {
            self.report_extra(token);
            return;
        };
        if top.token.token.closer() == token.token {
            self.close_matching(token, behind);
            return;
        }
        let floor = if token.token == Token::BraceClose {
            0
        } else {
            self.stack.iter().rposition(|open| open.token.token == Token::BraceOpen).map_or(0, |at| at + 1)
        };
        let partner = self.stack.iter().rposition(|open| open.token.token.closer() == token.token);
        let culprit = top.token;
        let wanted = culprit.token.closer();
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
            None if closes_in_statement(behind, wanted) => self.report_extra(token),
            None => {
                self.out.scars.push(token.start);
                self.out.diagnostics.push(
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

    /// Closes the innermost bracket with a bracket of its kind.
    fn close_matching(&mut self, token: Spanned, behind: &[Spanned]) {
        let Some(top) = self.stack.last() else { return };
        let (indentation, first) = self.lines.indentation(token.start);
        let several_lines = token.token == Token::BraceClose && self.source.breaks_line(top.token.start, token.start);
        if several_lines && first && indentation < top.indentation && self.suspect.is_none() {
            self.suspect = Some(top.token);
        }
        if self.strict && several_lines && (!first || indentation > top.indentation) {
            let diagnostic = self.extra(token);
            self.out.dropped_braces.push(diagnostic);
            return;
        }
        self.pop(token);
        if self.stack.is_empty() && self.head == Head::Keyword {
            self.head = Head::Complete;
        }
        let arguments = behind.first().is_some_and(|next| next.token == Token::ParenOpen);
        if token.token == Token::LaunchClose && !arguments && closes_in_statement(behind, Token::ParenClose) {
            let span = self.source.span(token);
            self.out.diagnostics.push(
                Diagnostic::new(Code::E0126, span, "the arguments of a launch stand in parentheses").fix("write", span, ">>>("),
            );
            self.open(Spanned { token: Token::ParenOpen, start: token.end, end: token.end }, &[]);
        }
    }

    /// Ends the innermost bracket with its own closing one, at the place of `token`.
    fn pop(&mut self, token: Spanned) {
        if let Some(open) = self.stack.pop() {
            let closer = if open.literal { Token::ParenClose } else { open.token.token.closer() };
            self.out.tokens.push(Spanned { token: closer, ..token });
        }
    }

    /// Ends brackets behind the last token until `keep` are open.
    fn close_down_to(&mut self, keep: usize) {
        while self.stack.len() > keep {
            let end = self.out.tokens.last().map_or(0, |last| last.end);
            self.pop(Spanned { token: Token::Error, start: end, end });
        }
    }

    fn report_unclosed(&mut self, open: Spanned, found: Option<Spanned>) {
        let wanted = open.token.closer().friendly();
        if open.token != Token::BraceOpen {
            self.out.scars.push(open.start);
        }
        let diagnostic =
            Diagnostic::new(Code::E0107, self.source.span(open), format!("this {} is not closed", open.token.friendly()))
                .label("opened here");
        self.out.diagnostics.push(match found {
            Some(found) => diagnostic.also(self.source.span(found), format!("{wanted} expected before this")),
            None => diagnostic.help(format!("{wanted} is missing before the end of the file")),
        });
    }

    fn extra(&self, token: Spanned) -> Diagnostic {
        let message = format!("{} closes nothing", self.source.found(Some(token)));
        Diagnostic::new(Code::E0108, self.source.span(token), message).label("no open bracket of this kind")
    }

    fn report_extra(&mut self, token: Spanned) {
        if token.token == Token::BraceClose {
            self.extra_brace = true;
        } else {
            self.out.scars.push(token.start);
        }
        let diagnostic = self.extra(token);
        self.out.diagnostics.push(diagnostic);
    }

    /// Replaces the bracket at `at` and what it holds by an error; gives the index behind it.
    fn skip_deep(&mut self, tokens: &[Spanned], at: usize) -> usize {
        let Some(open) = tokens.get(at).copied() else { return at + 1 };
        if !self.too_deep {
            self.too_deep = true;
            self.out.diagnostics.push(too_deep(self.source.span(open)));
        }
        let end = closing(tokens, at);
        self.source.damage(tokens.get(at..=end).unwrap_or(&[]), &mut self.out.damaged);
        let place = |token| Spanned { token, start: open.start, end: open.end };
        let inside: &[Token] = match open.token {
            Token::BraceOpen if self.stack.last().is_some_and(|top| !top.has_if) => &[Token::Error, Token::Semicolon],
            Token::LaunchOpen => &[Token::Error, Token::Comma, Token::Error],
            _ => &[Token::Error],
        };
        self.out.tokens.push(open);
        self.out.tokens.extend(inside.iter().map(|token| place(*token)));
        self.out.tokens.push(place(open.token.closer()));
        end + 1
    }
}
