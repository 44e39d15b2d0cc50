//! Drives the generated parser: one item at a time, again after every repair.

use super::ast::{CommentKind, File, Item, ItemKind};
use super::expected::Expected;
use super::grammar::ItemParser;
use super::items::{Part, split};
use super::lexer::{Lexed, Spanned, lex};
use super::repair::{Outcome, Repair};
use super::source_text::SourceText;
use super::state::State;
use super::{brackets, mistakes};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, Span};
use lalrpop_util::ParseError;
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// How often the tokens of one item are changed before it is given up.
const MAX_REPAIRS: usize = 32;

/// The tree of a file and what is wrong with it.
///
/// Never fails: what does not parse is an `Error` node and has a diagnostic with a code of the 01 group.
#[must_use]
pub fn parse(file: FileId, text: &str) -> (File, Diagnostics) {
    if u32::try_from(text.len()).is_err() {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::new(Code::E0109, Span::new(file, 0, 0), "a file may hold at most 4 GiB"));
        return (File { id: file, items: Vec::new(), comments: Vec::new(), damaged_names: Vec::new() }, diagnostics);
    }
    let source = SourceText { file, text };
    let Lexed { tokens, comments, mut diagnostics, mut scars } = lex(file, text);
    let mut damaged = BTreeSet::new();
    let docs: Vec<(u32, &str)> = comments
        .iter()
        .filter(|comment| comment.kind == CommentKind::Doc)
        .map(|comment| {
            let next = tokens.get(tokens.partition_point(|token| token.start < comment.span.end));
            let line = source.slice(comment.span.start + 3, comment.span.end);
            (next.map_or(u32::MAX, |token| token.start), line.strip_prefix(' ').unwrap_or(line))
        })
        .collect();
    let brackets = brackets::balance(source, &tokens);
    scars.extend(brackets.scars);
    diagnostics.extend(brackets.diagnostics);
    damaged.extend(brackets.damaged);
    let tokens = brackets.tokens;
    let tokens = mistakes::replace(source, &tokens, &mut diagnostics, &mut damaged);
    let parts = split(source, &tokens, &mut diagnostics);
    let too_deep = diagnostics.iter().any(|diagnostic| diagnostic.code == Code::E0110);
    let mut run =
        Run { source, tokens: &tokens, docs: &docs, scars: &scars, diagnostics, damaged, too_deep, reported: Vec::new() };
    let items = parts.into_iter().map(|part| run.part(part)).collect();
    for dropped in brackets.dropped_braces {
        run.dropped_brace(dropped);
    }
    let damaged_names = run.damaged.into_iter().collect();
    (File { id: file, items, comments, damaged_names }, run.diagnostics)
}

struct Run<'text> {
    source: SourceText<'text>,
    tokens: &'text [Spanned],
    docs: &'text [(u32, &'text str)],
    scars: &'text [u32],
    diagnostics: Diagnostics,
    damaged: BTreeSet<String>,
    too_deep: bool,
    /// The items in which the parser stopped.
    reported: Vec<Span>,
}

impl Run<'_> {
    fn part(&mut self, part: Part) -> Item {
        match part {
            Part::Item(range) => self.item(&range),
            Part::Junk(range) => self.broken(&range),
        }
    }

    /// A brace was dropped: an error, unless the item was found to miss the opening one.
    fn dropped_brace(&mut self, diagnostic: Diagnostic) {
        let at = diagnostic.primary.span.start;
        let item = self.reported.iter().any(|span| (span.start..=span.end).contains(&at));
        if !item {
            self.diagnostics.push(diagnostic);
        }
    }

    /// An error in place of tokens that are no item.
    fn broken(&mut self, range: &Range<usize>) -> Item {
        let tokens = self.tokens.get(range.clone()).unwrap_or(&[]);
        self.source.damage(tokens, &mut self.damaged);
        let span = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => self.source.between(*first, *last),
            _ => Span::new(self.source.file, 0, 0),
        };
        Item { docs: Vec::new(), attributes: Vec::new(), kind: ItemKind::Error, span }
    }

    fn item(&mut self, range: &Range<usize>) -> Item {
        let tokens = self.tokens.get(range.clone()).unwrap_or(&[]).to_vec();
        let next = self.tokens.get(range.end).copied();
        let whole = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => self.source.between(*first, *last),
            _ => Span::new(self.source.file, 0, 0),
        };
        let mut repair =
            Repair { source: self.source, tokens, next, damaged: &mut self.damaged, scars: self.scars, renamed: Vec::new() };
        for _ in 0..MAX_REPAIRS {
            let mut state = State {
                file: self.source.file,
                text: self.source.text,
                docs: self.docs,
                scars: self.scars,
                diagnostics: Diagnostics::new(),
                too_deep: self.too_deep,
                blocks: HashMap::new(),
            };
            let error = match run_once(&mut state, &repair.tokens) {
                Ok(item) => {
                    self.too_deep = state.too_deep;
                    self.diagnostics.extend(state.diagnostics);
                    return item;
                }
                Err(error) => error,
            };
            if self.reported.last() != Some(&whole) {
                self.reported.push(whole);
            }
            match repair.repair(error.at, &Expected(&error.expected)) {
                Outcome::Reported(diagnostic) => self.diagnostics.push(diagnostic),
                Outcome::Widened => {}
                Outcome::GiveUp(diagnostic) => {
                    self.diagnostics.extend(diagnostic);
                    break;
                }
            }
        }
        self.broken(range)
    }
}

/// Where the parser stopped: in front of which token, and what it would have accepted.
struct Stop {
    at: usize,
    expected: Vec<String>,
}

fn run_once(state: &mut State<'_>, tokens: &[Spanned]) -> Result<Item, Stop> {
    let taken = Cell::new(0usize);
    let stream = tokens.iter().map(|token| {
        taken.set(taken.get() + 1);
        (token.start, token.token, token.end)
    });
    ItemParser::new().parse(state, stream).map_err(|error| match error {
        ParseError::UnrecognizedEof { expected, .. } => Stop { at: tokens.len(), expected },
        ParseError::UnrecognizedToken { expected, .. } => Stop { at: taken.get().saturating_sub(1), expected },
        // the item ended before its tokens did
        ParseError::ExtraToken { .. } | ParseError::InvalidToken { .. } | ParseError::User { .. } => {
            Stop { at: taken.get().saturating_sub(1), expected: Vec::new() }
        }
    })
}
