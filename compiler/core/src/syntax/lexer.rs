//! Text to tokens and comments.
//!
//! Everything lexical is reported here once: what stands for a value that cannot be known becomes [`Token::Error`], which the
//! grammar takes for an expression, so that one mistake is one error.

use super::ast::{Comment, CommentKind, ExprKind};
use super::literal::{self, NumberProblem};
use super::token::{Token, TokenError};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, Span};
use logos::Logos;

/// A token and its bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What the lexer makes of a file.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub(super) tokens: Vec<Spanned>,
    pub(super) comments: Vec<Comment>,
    pub(super) diagnostics: Diagnostics,
    /// Where bytes were reported that became no token: what the parser finds wrong right there is the same mistake.
    pub(super) scars: Vec<u32>,
}

/// The tokens of a text of at most `u32::MAX` bytes.
pub(super) fn lex(file: FileId, text: &str) -> Lexed {
    let mut run = Run { file, text, out: Lexed::default() };
    let mut lexer = Token::lexer(text);
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        let (start, end) = (narrow(range.start), narrow(range.end));
        match result {
            Ok(Token::LineComment) => {
                let slice = lexer.slice();
                let doc = slice.starts_with("///") && !slice.starts_with("////");
                run.comment(if doc { CommentKind::Doc } else { CommentKind::Line }, start, end);
            }
            Ok(Token::BlockComment) => run.comment(CommentKind::Block, start, end),
            Ok(token) => run.token(token, start, end),
            Err(TokenError::UnknownCharacter) => {
                let word = run.unknown(start, end);
                lexer.bump(word as usize - range.end);
            }
            Err(error) => run.error(error, start, end),
        }
    }
    run.out
}

/// Where the tokens and comments of a text of at most `u32::MAX` bytes are, in order, and what is wrong with them.
#[must_use]
pub fn tokens(file: FileId, text: &str) -> (Vec<Span>, Diagnostics) {
    let lexed = lex(file, text);
    let mut spans: Vec<Span> = lexed.tokens.iter().map(|token| Span::new(file, token.start, token.end)).collect();
    spans.extend(lexed.comments.iter().map(|comment| comment.span));
    spans.sort_unstable_by_key(|span| (span.start, span.end));
    (spans, lexed.diagnostics)
}

fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

struct Run<'text> {
    file: FileId,
    text: &'text str,
    out: Lexed,
}

impl<'text> Run<'text> {
    fn span(&self, start: u32, end: u32) -> Span {
        Span::new(self.file, start, end)
    }

    fn slice(&self, start: u32, end: u32) -> &'text str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.out.diagnostics.push(diagnostic);
    }

    fn push(&mut self, token: Token, start: u32, end: u32) {
        self.out.tokens.push(Spanned { token, start, end });
    }

    fn comment(&mut self, kind: CommentKind, start: u32, end: u32) {
        let span = self.span(start, end);
        self.out.comments.push(Comment { kind, span });
    }

    fn token(&mut self, token: Token, start: u32, end: u32) {
        let previous = self.out.tokens.last().copied();
        let token = match token {
            Token::Number => self.number(start, end),
            Token::String => self.string(start, end),
            Token::Char => self.character(start, end),
            Token::ParenOpen => {
                let at = self.out.tokens.len().checked_sub(2).and_then(|at| self.out.tokens.get(at));
                let attribute = at.is_some_and(|at| at.token == Token::At) && previous.is_some_and(|name| name.token.is_name());
                if attribute { Token::AttributeOpen } else { token }
            }
            Token::Dot if previous.is_some_and(|number| number.token == Token::Number && number.end == start) => {
                return self.point_without_digits(start, end);
            }
            // `1.f`: the rest of what was reported at the point
            Token::Name if previous.is_some_and(|error| error.token == Token::Error && error.end == start) => {
                if let Some(error) = self.out.tokens.last_mut() {
                    error.end = end;
                }
                return;
            }
            token => token,
        };
        self.push(token, start, end);
    }

    /// `1.` in place of `1.0`.
    fn point_without_digits(&mut self, start: u32, end: u32) {
        let Some(number) = self.out.tokens.last_mut() else { return };
        number.token = Token::Error;
        number.end = end;
        let first = number.start;
        let digits = self.slice(first, start);
        let span = self.span(first, end);
        self.report(Diagnostic::new(Code::E0105, span, "a number needs digits behind its point").fix(
            "write",
            span,
            format!("{digits}.0"),
        ));
    }

    fn number(&mut self, start: u32, end: u32) -> Token {
        let text = self.slice(start, end);
        let Err(problem) = literal::number(text) else { return Token::Number };
        let span = self.span(start, end);
        let diagnostic = match problem {
            NumberProblem::NoDigits => {
                Diagnostic::new(Code::E0105, span, format!("`{text}` has no digits")).label("digits missing behind this")
            }
            NumberProblem::Digit(digit, base) => {
                let label = match base {
                    2 => "a binary number has the digits 0 and 1",
                    8 => "an octal number has the digits 0 to 7",
                    _ => "a hexadecimal number has the digits 0 to 9 and a to f",
                };
                Diagnostic::new(Code::E0105, span, format!("`{digit}` is not a digit of base {base}")).label(label)
            }
            NumberProblem::Suffix(suffix) => {
                let diagnostic = Diagnostic::new(Code::E0105, span, format!("a number has no suffix `{suffix}`"));
                let digits = text.get(..text.len().saturating_sub(suffix.len())).unwrap_or(text);
                match literal::c_suffix(&suffix) {
                    Some(ours) => diagnostic.fix("suffixes name the type", span, format!("{digits}{}", ours.name())),
                    None => diagnostic.help("suffixes name the type: `1u32`, `2i64`, `1.5f32`, `2f16`"),
                }
            }
            NumberProblem::FloatWithIntegerSuffix(suffix) => {
                Diagnostic::new(Code::E0105, span, format!("a number with a point or an exponent is no `{}`", suffix.name()))
                    .help("floating-point suffixes are `f16`, `bf16`, `f32` and `f64`")
            }
            NumberProblem::TooLarge => Diagnostic::new(Code::E0106, span, format!("`{text}` does not fit in 64 bits"))
                .label("the largest integer is 18446744073709551615"),
            NumberProblem::FloatTooLarge => Diagnostic::new(Code::E0106, span, format!("`{text}` is larger than every `f64`"))
                .label("the largest `f64` is about 1.8e308"),
        };
        self.report(diagnostic);
        Token::Error
    }

    fn escapes(&mut self, start: u32, end: u32) -> String {
        let mut bad = Vec::new();
        let value = literal::unescape(self.slice(start, end), |range| bad.push(range));
        for range in bad {
            let (from, to) = (start + narrow(range.start), start + narrow(range.end));
            let text = self.slice(from, to);
            let span = self.span(from, to);
            self.report(
                Diagnostic::new(Code::E0104, span, format!("there is no escape sequence `{text}`"))
                    .help("escapes are `\\n \\t \\r \\0 \\\\ \\\" \\'`, `\\x41` up to `\\x7f`, and `\\u{e4}`")
                    .help("a backslash itself is written `\\\\`"),
            );
        }
        value
    }

    fn string(&mut self, start: u32, end: u32) -> Token {
        self.escapes(start, end);
        Token::String
    }

    fn character(&mut self, start: u32, end: u32) -> Token {
        let before = self.out.diagnostics.len();
        let value = self.escapes(start, end);
        if self.out.diagnostics.len() > before {
            return Token::Error;
        }
        let mut chars = value.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if c.is_ascii() => return Token::Char,
            (Some(c), None) => {
                let span = self.span(start, end);
                self.report(
                    Diagnostic::new(Code::E0104, span, "a character literal is one ASCII byte")
                        .label(format!("`{c}` takes {} bytes", c.len_utf8())),
                );
            }
            _ => {
                let span = self.span(start, end);
                let text = self.slice(start + 1, end.saturating_sub(1));
                let diagnostic = Diagnostic::new(Code::E0104, span, "a character literal holds exactly one character");
                self.report(if text.is_empty() {
                    diagnostic.label("empty")
                } else {
                    diagnostic.fix("a text has double quotes", span, format!("\"{}\"", text.replace('"', "\\\"")))
                });
            }
        }
        Token::Error
    }

    /// An unknown character with everything that follows of its word; gives the end.
    fn unknown(&mut self, start: u32, end: u32) -> u32 {
        let rest = self.text.get(end as usize..).unwrap_or("");
        let first = self.slice(start, end).chars().next().unwrap_or('\0');
        if first.is_alphabetic() {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let end = end + narrow(length);
            let start = match self.out.tokens.last().copied() {
                Some(previous) if previous.token.is_name() && previous.end == start => {
                    self.out.tokens.pop();
                    previous.start
                }
                _ => start,
            };
            let word = self.slice(start, end);
            let span = self.span(start, end);
            self.report(
                Diagnostic::new(Code::E0101, span, format!("`{word}` is not a name"))
                    .label("names consist of ASCII letters, digits and `_`"),
            );
            self.push(Token::Name, start, end);
            return end;
        }
        // the operator or text that was meant, so that the parser goes on
        let meant = match first {
            '\u{d7}' => Some(Token::Star),
            '\u{2212}' | '\u{2013}' => Some(Token::Minus),
            '\u{37e}' => Some(Token::Semicolon),
            _ => None,
        };
        if matches!(first, '\u{201c}' | '\u{201d}' | '\u{201e}') {
            let line = rest.lines().next().unwrap_or("");
            let close = line.rfind(['\u{201c}', '\u{201d}', '\u{201e}']).map_or(0, |at| at + 3);
            let inside = line.get(..close).unwrap_or("").trim_end_matches(['\u{201c}', '\u{201d}', '\u{201e}']);
            let end = end + narrow(close);
            let span = self.span(start, end);
            self.report(Diagnostic::new(Code::E0101, span, format!("unknown character {}", described(first))).fix(
                "texts have plain double quotes",
                span,
                format!("\"{inside}\""),
            ));
            self.push(Token::Error, start, end);
            return end;
        }
        let same = |c: char| c == first;
        let end = end + narrow(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        let span = self.span(start, end);
        let diagnostic = Diagnostic::new(Code::E0101, span, format!("unknown character {}", described(first)));
        self.report(match first {
            '\u{2018}' | '\u{2019}' => diagnostic.help("characters have plain single quotes: `'a'`"),
            '\u{d7}' => diagnostic.help("multiplication is `*`"),
            '\u{2212}' | '\u{2013}' => diagnostic.help("subtraction is `-`"),
            '\u{37e}' => diagnostic.help("this looks like `;`, but is a Greek question mark"),
            '\u{a0}' => diagnostic.help("replace it by a plain blank"),
            _ => diagnostic,
        });
        match meant {
            Some(token) => self.push(token, start, end),
            None => self.out.scars.push(start),
        }
        end
    }

    fn error(&mut self, error: TokenError, start: u32, end: u32) {
        let span = self.span(start, end);
        match error {
            TokenError::UnterminatedComment => {
                let open = self.span(start, start + 2);
                self.comment(CommentKind::Block, start, end);
                self.report(
                    Diagnostic::new(Code::E0102, open, "this comment is not closed")
                        .label("opened here")
                        .help("every `/*` needs its own `*/`: comments nest"),
                );
            }
            TokenError::UnterminatedString => {
                self.report(
                    Diagnostic::new(Code::E0103, span, "this string is not closed on its line")
                        .label("`\"` missing")
                        .help("a line break inside a string is written `\\n`"),
                );
                self.push(Token::String, start, end);
            }
            TokenError::UnterminatedChar => {
                self.out.scars.push(start);
                self.report(Diagnostic::new(Code::E0103, span, "this character literal is not closed").label("`'` missing"));
            }
            TokenError::Preprocessor => self.preprocessor(start, end),
            TokenError::UnknownCharacter => {}
        }
    }

    fn preprocessor(&mut self, start: u32, end: u32) {
        let line = self.slice(start, end);
        let span = self.span(start, end);
        let diagnostic = Diagnostic::new(Code::E0115, span, "there is no preprocessor");
        let words: Vec<&str> = line.trim_start_matches(['#', ' ', '\t']).split_whitespace().collect();
        self.report(match words.as_slice() {
            ["include", ..] => {
                diagnostic.help("another file is read with `import \"other.cdp\";`, CUDA's own names are always there")
            }
            ["define", name, value] if !name.contains('(') && matches!(literal::number(value), Ok(ExprKind::Int { .. })) => {
                diagnostic.fix("a constant is an item", span, format!("const {name}: i32 = {value};"))
            }
            ["define", ..] => diagnostic.help("a constant is `const NAME: i32 = 1;`, a macro with arguments is a `fn`"),
            ["pragma", "unroll", ..] => diagnostic.fix("unrolling is an attribute of the loop", span, "@unroll"),
            _ => diagnostic,
        });
    }
}

fn described(c: char) -> String {
    if c.is_control() || c.is_whitespace() { format!("U+{:04X}", u32::from(c)) } else { format!("`{c}`") }
}
