//! Tokens and comments with what their surroundings make of them.

use crate::source::FileId;
use crate::syntax::ast::CommentKind;
use crate::syntax::lexer::lex;
use crate::syntax::token::Token;

/// A token or a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Token(Token),
    Comment(CommentKind),
}

/// What a bracket holds, or the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Statements, cases, or the items of the file: an entry ends with `;` or a block.
    Statements,
    /// Fields or members: an entry ends with `,`.
    Fields,
    /// Arguments, parameters, elements: an entry ends with `,`.
    List,
    /// The branch of an `if` expression.
    Branch,
}

/// One piece of the file.
#[derive(Clone, Debug)]
pub(super) struct Piece<'text> {
    pub(super) kind: Kind,
    pub(super) text: &'text str,
    /// In characters; 0 for a comment of several lines.
    pub(super) width: usize,
    /// How many line ends stand in front of it.
    pub(super) breaks: usize,
    /// How many blanks stand in front of it, where no line end does.
    pub(super) gap: usize,
    /// Whether a blank stands in front of it on one line.
    pub(super) space: bool,
    /// Of an opening bracket: what it holds.
    pub(super) holds: Option<Holds>,
    /// Of an opening bracket: the index of the closing one.
    pub(super) close: usize,
    /// Whether an entry ends with it.
    pub(super) ends_entry: bool,
    /// The precedence of an infix operator, from 1 for the weakest.
    pub(super) infix: Option<u8>,
    /// Whether an attribute in front of an entry ends with it.
    pub(super) ends_attribute: bool,
    /// Whether it cannot stand inside a line: a comment to the line's end, or a block of several lines.
    pub(super) forced: bool,
}

/// All pieces of a file, with running totals.
pub(super) struct Pieces<'text> {
    pub(super) list: Vec<Piece<'text>>,
    /// The width of the pieces before, blanks included.
    widths: Vec<usize>,
    /// How many of the pieces before are forced.
    forced: Vec<usize>,
}

impl<'text> Pieces<'text> {
    pub(super) fn new(file: FileId, text: &'text str) -> Self {
        let mut list = read(file, text);
        classify(&mut list);
        space(&mut list);
        let mut widths = vec![0];
        let mut forced = vec![0];
        for piece in &list {
            widths.push(widths.last().unwrap_or(&0) + piece.width + usize::from(piece.space));
            forced.push(forced.last().unwrap_or(&0) + usize::from(piece.forced));
        }
        Self { list, widths, forced }
    }

    /// The width of the pieces `start..end` on one line, with the blank in front.
    pub(super) fn width(&self, start: usize, end: usize) -> usize {
        let at = |index: usize| self.widths.get(index).copied().unwrap_or(0);
        at(end.max(start)) - at(start)
    }

    /// Whether the pieces `start..end` can stand on one line.
    pub(super) fn can_be_flat(&self, start: usize, end: usize) -> bool {
        let at = |index: usize| self.forced.get(index).copied().unwrap_or(0);
        at(end.max(start)) == at(start)
    }

    pub(super) fn get(&self, index: usize) -> Option<&Piece<'text>> {
        self.list.get(index)
    }

    /// The index behind the bracket that opens at `index`, or behind the piece.
    pub(super) fn behind(&self, index: usize) -> usize {
        match self.get(index) {
            Some(piece) if piece.holds.is_some() => piece.close.max(index) + 1,
            _ => index + 1,
        }
    }
}

fn read(file: FileId, text: &str) -> Vec<Piece<'_>> {
    let lexed = lex(file, text);
    let tokens = lexed.tokens.iter().map(|t| (t.start, t.end, Kind::Token(t.token)));
    let comments = lexed.comments.iter().map(|c| (c.span.start, c.span.end, Kind::Comment(c.kind)));
    let mut all: Vec<(u32, u32, Kind)> = tokens.chain(comments).collect();
    all.sort_unstable_by_key(|(start, ..)| *start);
    let mut end = 0u32;
    all.iter()
        .map(|(from, to, kind)| {
            let between = text.get(end as usize..*from as usize).unwrap_or("");
            end = *to;
            let word = text.get(*from as usize..*to as usize).unwrap_or("");
            let word = if matches!(kind, Kind::Comment(_)) { word.trim_end() } else { word };
            let breaks = between.matches('\n').count();
            let several_lines = word.contains('\n');
            let to_line_end = matches!(kind, Kind::Comment(CommentKind::Line | CommentKind::Doc));
            Piece {
                kind: *kind,
                text: word,
                width: if several_lines { 0 } else { word.chars().count() },
                breaks,
                gap: if breaks == 0 { between.chars().count() } else { 0 },
                space: false,
                holds: None,
                close: 0,
                ends_entry: false,
                infix: None,
                ends_attribute: false,
                forced: to_line_end || several_lines,
            }
        })
        .collect()
}

/// An open bracket, or the file.
struct Context {
    holds: Holds,
    /// The index of the opening bracket.
    open: usize,
    /// The first token of the entry behind its attributes.
    head: Option<Token>,
    /// How far the attributes in front of the entry were read.
    attribute: Attribute,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attribute {
    None,
    /// Behind `@`.
    At,
    /// Behind `@name`.
    Name,
}

/// Whether the braces of an entry with this first token are blocks.
fn has_blocks(head: Option<Token>) -> bool {
    matches!(
        head,
        Some(
            Token::If
                | Token::Else
                | Token::While
                | Token::For
                | Token::Loop
                | Token::Switch
                | Token::Case
                | Token::Default
                | Token::BraceOpen
                | Token::Struct
                | Token::Enum
                | Token::Fn
                | Token::Kernel
                | Token::Host
                | Token::Test
                | Token::Extern
        )
    )
}

fn precedence(token: Token) -> Option<u8> {
    Some(match token {
        Token::OrOr => 1,
        Token::AndAnd => 2,
        Token::EqualEqual | Token::NotEqual | Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => 3,
        Token::Or => 4,
        Token::Caret => 5,
        Token::And => 6,
        Token::ShiftLeft | Token::ShiftRight => 7,
        Token::Plus | Token::Minus => 8,
        Token::Star | Token::Slash | Token::Percent => 9,
        _ => return None,
    })
}

fn classify(list: &mut [Piece<'_>]) {
    let mut stack = vec![Context { holds: Holds::Statements, open: 0, head: None, attribute: Attribute::None }];
    let mut previous: Option<Token> = None;
    for index in 0..list.len() {
        let Some(Kind::Token(token)) = list.get(index).map(|piece| piece.kind) else { continue };
        let next_is_else = list
            .iter()
            .skip(index + 1)
            .find_map(|piece| if let Kind::Token(token) = piece.kind { Some(token) } else { None })
            .is_some_and(|next| next == Token::Else);
        let Some(context) = stack.last_mut() else { break };
        let mut ends_entry = false;
        let mut ends_attribute = false;
        if context.head.is_none() && context.holds != Holds::Branch {
            let next_opens = list.get(index + 1).is_some_and(|next| next.kind == Kind::Token(Token::AttributeOpen));
            context.attribute = match (token, context.attribute) {
                (Token::At, _) => Attribute::At,
                (_, Attribute::At) => {
                    ends_attribute = !next_opens;
                    Attribute::Name
                }
                (Token::AttributeOpen, Attribute::Name) => Attribute::Name,
                _ if token.is_close() => context.attribute,
                _ => {
                    context.head = Some(token);
                    Attribute::None
                }
            };
        }
        if token.is_open() {
            let holds = match (token, context.holds) {
                (Token::BraceOpen, Holds::Statements) if matches!(context.head, Some(Token::Struct | Token::Enum)) => {
                    Holds::Fields
                }
                (Token::BraceOpen, Holds::Statements) if has_blocks(context.head) => Holds::Statements,
                (Token::BraceOpen, _) => Holds::Branch,
                _ => Holds::List,
            };
            if let Some(piece) = list.get_mut(index) {
                piece.holds = Some(holds);
            }
            stack.push(Context { holds, open: index, head: None, attribute: Attribute::None });
        } else if token.is_close() {
            if let Some(closed) = stack.pop() {
                let empty = closed.open + 1 == index;
                let broken = list.get(closed.open + 1).is_some_and(|piece| piece.breaks > 0)
                    || list.get(index).is_some_and(|piece| piece.breaks > 0);
                if let Some(open) = list.get_mut(closed.open) {
                    open.close = index;
                    let block = matches!(closed.holds, Holds::Statements | Holds::Fields);
                    open.forced = block && broken && !empty && open.kind == Kind::Token(Token::BraceOpen);
                    ends_attribute = open.kind == Kind::Token(Token::AttributeOpen);
                }
                let in_statements = stack.last().is_some_and(|context| context.holds == Holds::Statements);
                ends_entry = in_statements && matches!(closed.holds, Holds::Statements | Holds::Fields) && !next_is_else;
            }
        } else {
            ends_entry = match context.holds {
                Holds::Statements => token == Token::Semicolon,
                Holds::Fields | Holds::List => token == Token::Comma,
                Holds::Branch => false,
            };
        }
        if let (true, Some(context)) = (ends_entry, stack.last_mut()) {
            context.head = None;
            context.attribute = Attribute::None;
        }
        if let Some(piece) = list.get_mut(index) {
            piece.ends_entry = ends_entry;
            piece.ends_attribute = ends_attribute;
            piece.infix = precedence(token).filter(|_| previous.is_some_and(Token::ends_expression));
        }
        previous = Some(token);
    }
}

/// Decides where blanks stand.
fn space(list: &mut [Piece<'_>]) {
    let mut prefix = false;
    let mut statement_start = true;
    for index in 0..list.len() {
        let Some(piece) = list.get(index) else { break };
        let previous = index.checked_sub(1).and_then(|before| list.get(before));
        let after_prefix = prefix;
        let (space, is_prefix) = match (previous, piece.kind) {
            (None, _) => (false, false),
            (Some(previous), Kind::Comment(_)) => (!matches!(previous.kind, Kind::Token(token) if is_tight_open(token)), false),
            (Some(previous), Kind::Token(token)) => {
                let is_prefix = piece.infix.is_none()
                    && matches!(token, Token::Star | Token::Minus | Token::And | Token::Not | Token::Tilde);
                let space = match previous.kind {
                    Kind::Comment(_) => !is_tight_close(token),
                    Kind::Token(before) if matches!(token, Token::DotDot) || before == Token::DotDot => {
                        // `0..n`, but `x as i32 .. n`: as the author has it, on both sides alike
                        range_is_spaced(list, index)
                    }
                    Kind::Token(before) => between(before, token, after_prefix && !statement_start),
                };
                (space, is_prefix)
            }
        };
        if let Kind::Token(token) = piece.kind {
            prefix = is_prefix || (previous.is_none() && matches!(token, Token::Star | Token::Minus | Token::And | Token::Not));
            statement_start = false;
        }
        if let Some(piece) = list.get_mut(index) {
            piece.space = space;
        }
    }
}

/// Whether the author set blanks around the range operator at or in front of `index`.
fn range_is_spaced(list: &[Piece<'_>], index: usize) -> bool {
    let at = |index: usize| list.get(index).is_some_and(|piece| piece.kind == Kind::Token(Token::DotDot));
    let operator = if at(index) { index } else { index.saturating_sub(1) };
    let blank = |index: usize| list.get(index).is_some_and(|piece| piece.gap + piece.breaks > 0);
    blank(operator) || blank(operator + 1)
}

const fn is_tight_open(token: Token) -> bool {
    matches!(token, Token::ParenOpen | Token::AttributeOpen | Token::BracketOpen | Token::LaunchOpen)
}

const fn is_tight_close(token: Token) -> bool {
    matches!(token, Token::ParenClose | Token::BracketClose | Token::LaunchClose | Token::Comma | Token::Semicolon)
}

/// Whether a blank stands between two tokens; `after_prefix`: the first is a prefix operator.
fn between(before: Token, token: Token, after_prefix: bool) -> bool {
    // two signs must not grow together
    let merges =
        matches!((before, token), (Token::Minus, Token::Minus | Token::MinusMinus) | (Token::And, Token::And | Token::AndAnd));
    if merges {
        return true;
    }
    if after_prefix || is_tight_open(before) || is_tight_close(token) {
        return matches!(before, Token::Comma | Token::Semicolon);
    }
    match (before, token) {
        (Token::At | Token::Dot | Token::PathSeparator, _)
        | (_, Token::Dot | Token::PathSeparator | Token::Colon | Token::AttributeOpen) => false,
        (Token::BraceOpen, Token::BraceClose) => false,
        (_, Token::LaunchOpen) | (Token::LaunchClose, Token::ParenOpen) => false,
        // a call, an index; but `return (x)`, `case [`
        (_, Token::ParenOpen | Token::BracketOpen) => !follows_directly(before),
        _ => true,
    }
}

/// Whether a parenthesis or square bracket behind this token belongs to it.
const fn follows_directly(before: Token) -> bool {
    (before.ends_expression() && !matches!(before, Token::BraceClose))
        || matches!(before, Token::SizeOf | Token::AlignOf | Token::OffsetOf)
}
