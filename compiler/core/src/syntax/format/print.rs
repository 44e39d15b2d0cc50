//! Lines.

use super::MAX_WIDTH;
use super::pieces::{Holds, Kind, Pieces};
use crate::syntax::ast::CommentKind;
use crate::syntax::token::Token;

const INDENT: usize = 4;
/// The widest gap in front of a comment behind code that is kept, so that comments of several lines stay aligned.
const MAX_GAP: usize = 40;
/// Elements up to this wide are set many a line.
const SHORT_ELEMENT: usize = 14;

/// The whole text.
pub(super) fn print(pieces: &Pieces<'_>) -> String {
    let mut printer = Printer { pieces, out: String::new(), column: 0, indent: 0 };
    printer.entries(0, pieces.list.len(), 0, Holds::Statements);
    if !printer.out.is_empty() {
        printer.out.push('\n');
    }
    printer.out
}

struct Printer<'pieces, 'text> {
    pieces: &'pieces Pieces<'text>,
    out: String,
    /// In characters, from 0.
    column: usize,
    /// Of the current line.
    indent: usize,
}

impl Printer<'_, '_> {
    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(at) => self.column = text.get(at + 1..).unwrap_or("").chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn blanks(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n(' ', count));
        self.column += count;
    }

    fn line(&mut self, indent: usize) {
        self.out.push('\n');
        self.column = 0;
        self.indent = indent;
        self.blanks(indent);
    }

    fn piece(&mut self, index: usize) {
        if let Some(piece) = self.pieces.get(index) {
            self.write(piece.text);
        }
    }

    /// Writes the pieces `start..end` on one line; `space`: with the blank in front of the first.
    fn flat(&mut self, start: usize, end: usize, space: bool) {
        for index in start..end {
            if self.pieces.get(index).is_some_and(|piece| piece.space) && (index > start || space) {
                self.blanks(1);
            }
            self.piece(index);
        }
    }

    fn is_comment(&self, index: usize, kind: CommentKind) -> bool {
        self.pieces.get(index).is_some_and(|piece| piece.kind == Kind::Comment(kind))
    }

    fn any_comment(&self, index: usize) -> bool {
        self.pieces.get(index).is_some_and(|piece| matches!(piece.kind, Kind::Comment(_)))
    }

    fn token(&self, index: usize) -> Option<Token> {
        match self.pieces.get(index)?.kind {
            Kind::Token(token) => Some(token),
            Kind::Comment(_) => None,
        }
    }

    /// Writes the entries `start..end`, each on lines of its own; the first one too, unless it starts the file.
    fn entries(&mut self, start: usize, end: usize, indent: usize, holds: Holds) {
        let mut at = start;
        while at < end {
            let Some(piece) = self.pieces.get(at) else { break };
            let (breaks, gap) = (piece.breaks, piece.gap);
            let starts_file = at == 0;
            let next_on_line = at + 1 < end
                && self.pieces.get(at + 1).is_some_and(|next| next.breaks == 0 && !matches!(next.kind, Kind::Comment(_)));
            let leads =
                self.is_comment(at, CommentKind::Block) && next_on_line && (breaks > 0 || starts_file || holds == Holds::List);
            if self.any_comment(at) && !leads {
                if breaks == 0 && !starts_file {
                    self.blanks(gap.clamp(1, MAX_GAP));
                    self.piece(at);
                } else {
                    self.between_entries(breaks > 1 && at > start, starts_file, indent);
                    self.piece(at);
                }
                at += 1;
                continue;
            }
            let mut last = at;
            while last < end {
                let behind = self.pieces.behind(last);
                if behind >= end || self.pieces.get(behind - 1).is_some_and(|piece| piece.ends_entry) {
                    last = behind.min(end);
                    break;
                }
                last = behind;
            }
            self.between_entries(breaks > 1 && at > start, starts_file, indent);
            self.entry(at, last, indent);
            at = last;
        }
    }

    fn between_entries(&mut self, empty_line: bool, starts_file: bool, indent: usize) {
        if starts_file {
            return;
        }
        if empty_line {
            self.out.push('\n');
        }
        self.line(indent);
    }

    /// The weakest precedence among the infix operators of an entry outside of its brackets. None where an `if` expression
    /// stands among them: its branches are the better place to break.
    fn weakest(&self, start: usize, end: usize) -> Option<u8> {
        let mut weakest = None;
        let mut at = start;
        while at < end {
            let piece = self.pieces.get(at);
            if piece.is_some_and(|piece| piece.holds == Some(Holds::Branch)) {
                return None;
            }
            if let Some(infix) = piece.and_then(|piece| piece.infix) {
                weakest = Some(weakest.map_or(infix, |known: u8| known.min(infix)));
            }
            at = self.pieces.behind(at);
        }
        weakest
    }

    /// How wide the line gets behind `start` before it can next be broken.
    fn tail(&self, start: usize, end: usize, weakest: Option<u8>) -> usize {
        let mut at = start;
        while at < end {
            let Some(piece) = self.pieces.get(at) else { break };
            if weakest.is_some() && piece.infix == weakest {
                return self.pieces.width(start, at);
            }
            if piece.holds.is_some() {
                return self.pieces.width(start, at + 1);
            }
            if piece.forced {
                return self.pieces.width(start, at);
            }
            at += 1;
        }
        self.pieces.width(start, end)
    }

    /// Writes the entry `start..end` at the current place, breaking it where it does not fit.
    fn entry(&mut self, start: usize, end: usize, indent: usize) {
        let weakest = self.weakest(start, end);
        let mut at = start;
        let mut attributes = true;
        let mut broken_by_comment = false;
        while at < end {
            let Some(piece) = self.pieces.get(at) else { break };
            let (space, infix, breaks, holds, close) = (piece.space, piece.infix, piece.breaks, piece.holds, piece.close);
            let (is_comment, forced) = (matches!(piece.kind, Kind::Comment(_)), piece.forced);
            if at > start {
                let behind_attribute = attributes && self.pieces.get(at - 1).is_some_and(|before| before.ends_attribute);
                if broken_by_comment {
                    let base = matches!(self.token(at), Some(Token::Else | Token::BraceOpen | Token::BraceClose));
                    self.line(if base { indent } else { indent + INDENT });
                } else if behind_attribute && breaks > 0 && !is_comment {
                    self.line(indent);
                } else if weakest.is_some() && infix == weakest && !self.fits_to_next(at, end, weakest) {
                    self.line(indent + INDENT);
                } else if space {
                    self.blanks(1);
                }
                attributes &= behind_attribute || self.in_attribute(start, at);
            }
            broken_by_comment = is_comment && forced;
            match holds {
                None => {
                    self.piece(at);
                    at += 1;
                }
                Some(holds) => {
                    self.group(at, close, holds, self.tail(close + 1, end, weakest));
                    at = close.max(at) + 1;
                }
            }
        }
    }

    /// Whether `at` still belongs to the attributes in front of an entry.
    fn in_attribute(&self, start: usize, at: usize) -> bool {
        let mut index = start;
        while index < at {
            if self.token(index) != Some(Token::At) {
                return self.any_comment(index);
            }
            // `@`, the name, its arguments
            index += 2;
            if self.token(index) == Some(Token::AttributeOpen) {
                index = self.pieces.behind(index);
            }
        }
        true
    }

    /// Whether the infix operator at `at` and what follows it up to the next one fit on the line.
    fn fits_to_next(&self, at: usize, end: usize, weakest: Option<u8>) -> bool {
        let mut next = at + 1;
        while next < end {
            let Some(piece) = self.pieces.get(next) else { break };
            if piece.infix == weakest || (piece.forced && piece.holds.is_none()) {
                break;
            }
            if matches!(piece.holds, Some(Holds::Statements | Holds::Fields)) {
                next += 1;
                break;
            }
            next = self.pieces.behind(next);
        }
        self.column + self.pieces.width(at, next) <= MAX_WIDTH
    }

    /// Writes a bracket and what it holds; `tail` is the width of what must stand behind it on the same line.
    fn group(&mut self, open: usize, close: usize, holds: Holds, tail: usize) {
        let space = self.pieces.get(open).is_some_and(|piece| piece.space);
        let width = self.pieces.width(open, close + 1) - usize::from(space);
        let fits = self.pieces.can_be_flat(open, close + 1) && self.column + width + tail <= MAX_WIDTH;
        if fits || close == open + 1 {
            self.flat(open, close + 1, false);
            return;
        }
        let indent = self.indent;
        self.piece(open);
        let inside = open + 1;
        let simple = matches!(holds, Holds::List | Holds::Branch) && self.pieces.can_be_flat(inside, close);
        let inner = indent + INDENT;
        if simple && inner + self.pieces.width(inside, close) <= MAX_WIDTH {
            self.line(inner);
            self.flat(inside, close, false);
        } else if simple && self.all_short(inside, close) {
            self.line(inner);
            self.fill(inside, close, inner);
        } else {
            self.entries(inside, close, inner, holds);
        }
        self.line(indent);
        self.piece(close);
    }

    /// Whether a list has many short elements.
    fn all_short(&self, start: usize, end: usize) -> bool {
        let elements = self.elements(start, end);
        elements.len() > 8 && elements.iter().all(|(from, to)| self.pieces.width(*from, *to) <= SHORT_ELEMENT)
    }

    fn elements(&self, start: usize, end: usize) -> Vec<(usize, usize)> {
        let mut elements = Vec::new();
        let mut from = start;
        let mut at = start;
        while at < end {
            at = self.pieces.behind(at);
            if at >= end || self.pieces.get(at - 1).is_some_and(|piece| piece.ends_entry) {
                elements.push((from, at.min(end)));
                from = at;
            }
        }
        elements
    }

    fn fill(&mut self, start: usize, end: usize, indent: usize) {
        for (from, to) in self.elements(start, end) {
            if from > start {
                if self.column + self.pieces.width(from, to) > MAX_WIDTH {
                    self.line(indent);
                    self.flat(from, to, false);
                    continue;
                }
                self.flat(from, to, true);
            } else {
                self.flat(from, to, false);
            }
        }
    }
}
