//! Reading modules: variables, functions, constants.

use super::MOST_DEPTH;
use super::lex::{self, Placed, Token};
use crate::ir::{
    Block, BlockId, Const, ConstValue, Function, FunctionKind, Global, Inline, Local, Module, Statement, Terminator,
    TerminatorKind,
};
use crate::source::{FileId, Span};
use crate::types::{Float, Int, Space, Type, TypeId, TypeTable};
use std::collections::HashMap;
use std::fmt;

/// What is wrong in a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// What is wrong, and at which byte.
pub(super) type Result<T> = std::result::Result<T, (String, usize)>;

/// Reads a module. Only its form is checked: run [`crate::verify::verify`] on the result.
///
/// # Errors
/// The first place that is not of the form that [`super::print()`] writes.
pub fn parse(text: &str) -> std::result::Result<Module, ParseError> {
    read(text).map_err(|(message, at)| {
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.get(line_start..).unwrap_or("").chars().count() + 1;
        let small = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        ParseError { line: small(line), column: small(column), message }
    })
}

fn read(text: &str) -> Result<Module> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser { text, tokens, at: 0, module: Module::default(), named_types: HashMap::new() };
    parser.find_named_types()?;
    parser.items()?;
    Ok(parser.module)
}

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Placed<'t>>,
    at: usize,
    pub(super) module: Module,
    /// Structures and enumerations, by name and by the number behind it.
    pub(super) named_types: HashMap<(String, Option<String>), Type>,
}

/// The block that a word names: `bb3`.
pub(super) fn block_number(word: &str) -> Option<u32> {
    word.strip_prefix("bb")?.parse().ok()
}

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> &Token<'t> {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    pub(super) fn rewind(&mut self) {
        self.at = 0;
    }

    /// The byte that the next token starts at.
    pub(super) fn position(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |(_, at)| *at)
    }

    /// Whether the next token is the last one of its line.
    pub(super) fn ends_line(&self) -> bool {
        let next = self.tokens.get(self.at + 1).map_or(self.text.len(), |(_, at)| *at);
        self.text.get(self.position()..next).is_some_and(|between| between.contains('\n'))
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        self.fail_at(self.position(), message)
    }

    pub(super) fn fail_at<T>(&self, at: usize, message: impl Into<String>) -> Result<T> {
        Err((message.into(), at))
    }

    pub(super) fn eat(&mut self, punctuation: &str) -> bool {
        let found = *self.peek() == Token::Punctuation(punctuation);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = *self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, punctuation: &str) -> Result<()> {
        if self.eat(punctuation) { Ok(()) } else { self.fail(format!("`{punctuation}` is expected here")) }
    }

    pub(super) fn word(&mut self) -> Result<&'t str> {
        match self.peek() {
            Token::Word(word) => {
                let word = *word;
                self.skip();
                Ok(word)
            }
            _ => self.fail("a word is expected here"),
        }
    }

    pub(super) fn string(&mut self) -> Result<String> {
        match self.peek().clone() {
            Token::Str(text) => {
                self.skip();
                Ok(text)
            }
            _ => self.fail("a string is expected here"),
        }
    }

    /// A word or a string.
    pub(super) fn name(&mut self) -> Result<String> {
        match self.peek() {
            Token::Str(_) => self.string(),
            _ => self.word().map(str::to_owned),
        }
    }

    /// `%3`, `$3` or `&3`, by sigil: the name in it and the number.
    pub(super) fn numbered(&mut self, sigil: char) -> Result<(String, u32)> {
        match self.peek() {
            Token::Name(found, name, index) if *found == sigil => {
                let result = ((*name).to_owned(), *index);
                self.skip();
                Ok(result)
            }
            _ => self.fail(format!("`{sigil}` and a number are expected here")),
        }
    }

    /// A number without a sign, decimal or hexadecimal.
    pub(super) fn number(&mut self) -> Result<u64> {
        let value = match self.peek() {
            Token::Number(text) => match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            },
            _ => None,
        };
        match value {
            Some(value) => {
                self.skip();
                Ok(value)
            }
            None => self.fail("a number from 0 to 2^64 - 1 is expected here"),
        }
    }

    pub(super) fn index(&mut self) -> Result<u32> {
        let start = self.position();
        let value = self.number()?;
        u32::try_from(value).or_else(|_| self.fail_at(start, "a number below 2^32 is expected here"))
    }

    /// `@ file:start..end`; nothing for the empty span.
    pub(super) fn span(&mut self) -> Result<Span> {
        if !self.eat("@") {
            return Ok(Span::default());
        }
        let at = self.position();
        let Ok(file) = u16::try_from(self.index()?) else { return self.fail_at(at, "file numbers are below 65536") };
        self.expect(":")?;
        let start = self.index()?;
        self.expect("..")?;
        Ok(Span::new(FileId(file), start, self.index()?))
    }

    /// `align 16`
    pub(super) fn align(&mut self) -> Result<u32> {
        if self.eat_word("align") { self.index() } else { Ok(0) }
    }

    fn items(&mut self) -> Result<()> {
        while *self.peek() != Token::End {
            let start = self.position();
            match self.word()? {
                "type" => self.type_line()?,
                "struct" => self.structure()?,
                "enum" => self.enumeration()?,
                "var" => self.global()?,
                "kernel" => self.function(FunctionKind::Kernel)?,
                "fn" => self.function(FunctionKind::Plain)?,
                "host" => self.function(FunctionKind::Host)?,
                "test" => {
                    let name = self.string()?;
                    self.function(FunctionKind::Test { name })?;
                }
                _ => return self.fail_at(start, "`type`, `struct`, `enum`, `var`, or a function is expected here"),
            }
        }
        Ok(())
    }

    /// A numbered name, with a string behind it where it is no identifier, and the symbol. The number must be the next one.
    fn definition(&mut self, sigil: char, count: usize) -> Result<(String, String)> {
        let start = self.position();
        let (mut name, index) = self.numbered(sigil)?;
        if index as usize != count {
            return self.fail_at(start, format!("this must be number {count}"));
        }
        if matches!(self.peek(), Token::Str(_)) {
            name = self.string()?;
        }
        let symbol = if self.eat_word("symbol") { self.string()? } else { name.clone() };
        Ok((name, symbol))
    }

    fn global(&mut self) -> Result<()> {
        let (name, symbol) = self.definition('$', self.module.globals.len())?;
        self.expect(":")?;
        let ty = self.ty()?;
        if !self.eat_word("in") {
            return self.fail("`in` and a memory are expected here");
        }
        let start = self.position();
        let space = match self.word()? {
            "global" => Space::Global,
            "constant" => Space::Constant,
            "shared" => Space::Shared,
            "local" => Space::Local,
            "generic" => Space::Generic,
            _ => return self.fail_at(start, "`global`, `constant` or `shared` is expected here"),
        };
        let align = self.align()?;
        let exported = self.eat_word("exported");
        let external = self.eat_word("external");
        let init = if self.eat("=") { Some(self.constant()?) } else { None };
        let span = self.span()?;
        self.module.globals.push(Global { name, symbol, space, ty, init, align, exported, external, span });
        Ok(())
    }

    fn function(&mut self, kind: FunctionKind) -> Result<()> {
        let (name, symbol) = self.definition('&', self.module.functions.len())?;
        if !self.eat_word("params") {
            return self.fail("`params` and their number are expected here");
        }
        let param_count = self.index()?;
        self.expect("->")?;
        let return_type = self.ty()?;
        let mut function = Function {
            name,
            symbol,
            kind,
            param_count,
            return_type,
            locals: Vec::new(),
            blocks: Vec::new(),
            launch_bounds: None,
            cluster: None,
            inline: Inline::Auto,
            exported: false,
            span: Span::default(),
        };
        if self.eat_word("launch_bounds") {
            let threads = self.index()?;
            self.expect(",")?;
            function.launch_bounds = Some((threads, self.index()?));
        }
        if self.eat_word("cluster") {
            let x = self.index()?;
            self.expect(",")?;
            let y = self.index()?;
            self.expect(",")?;
            function.cluster = Some([x, y, self.index()?]);
        }
        if self.eat_word("inline") {
            function.inline = Inline::Always;
        } else if self.eat_word("noinline") {
            function.inline = Inline::Never;
        }
        function.exported = self.eat_word("exported");
        function.span = self.span()?;
        self.expect("{")?;
        while matches!(self.peek(), Token::Name('%', ..)) {
            let local = self.local(function.locals.len())?;
            function.locals.push(local);
        }
        while !self.eat("}") {
            let block = self.block(function.blocks.len())?;
            function.blocks.push(block);
        }
        self.module.functions.push(function);
        Ok(())
    }

    fn local(&mut self, count: usize) -> Result<Local> {
        let start = self.position();
        let (mut name, index) = self.numbered('%')?;
        if index as usize != count {
            return self.fail_at(start, format!("this must be local {count}"));
        }
        if matches!(self.peek(), Token::Str(_)) {
            name = self.string()?;
        }
        self.expect(":")?;
        let ty = self.ty()?;
        let restrict = self.eat_word("restrict");
        Ok(Local { name, ty, restrict, span: self.span()? })
    }

    /// `bb3`
    pub(super) fn block_name(&mut self) -> Result<BlockId> {
        let index = match self.peek() {
            Token::Word(word) => block_number(word),
            _ => None,
        };
        match index {
            Some(index) => {
                self.skip();
                Ok(BlockId(index))
            }
            None => self.fail("a block such as `bb0` is expected here"),
        }
    }

    fn block(&mut self, count: usize) -> Result<Block> {
        let start = self.position();
        if self.block_name()?.index() != count {
            return self.fail_at(start, format!("this must be block {count}"));
        }
        let unroll = if self.eat_word("unroll") { Some(self.index()?) } else { None };
        self.expect(":")?;
        let mut statements = Vec::new();
        loop {
            if let Some(kind) = self.terminator()? {
                let terminator = Terminator { kind, span: self.span()? };
                return Ok(Block { statements, terminator, unroll });
            }
            let kind = self.statement()?;
            statements.push(Statement { kind, span: self.span()? });
        }
    }

    fn terminator(&mut self) -> Result<Option<TerminatorKind>> {
        let Token::Word(word) = self.peek() else { return Ok(None) };
        let word = *word;
        if !["goto", "branch", "switch", "return", "unreachable"].contains(&word) {
            return Ok(None);
        }
        self.skip();
        Ok(Some(match word {
            "goto" => TerminatorKind::Goto(self.block_name()?),
            "branch" => {
                let condition = self.operand()?;
                self.expect(",")?;
                let then = self.block_name()?;
                self.expect(",")?;
                TerminatorKind::Branch { condition, then, otherwise: self.block_name()? }
            }
            "switch" => self.switch()?,
            "return" => {
                // a span or the next line follows where there is no value
                let has_value = !matches!(self.peek(), Token::Punctuation("@" | "}") | Token::End) && !self.is_block_label();
                TerminatorKind::Return(if has_value { Some(self.operand()?) } else { None })
            }
            _ => TerminatorKind::Unreachable,
        }))
    }

    fn is_block_label(&self) -> bool {
        match self.peek() {
            Token::Word(word) => block_number(word).is_some(),
            _ => false,
        }
    }

    fn switch(&mut self) -> Result<TerminatorKind> {
        let value = self.operand()?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.eat_word("else") {
            let pattern = self.number()?;
            self.expect(":")?;
            cases.push((pattern, self.block_name()?));
            self.expect(",")?;
        }
        self.expect(":")?;
        let default = self.block_name()?;
        self.expect("}")?;
        Ok(TerminatorKind::Switch { value, cases, default })
    }

    /// A type and a value.
    pub(super) fn constant(&mut self) -> Result<Const> {
        let ty = self.ty()?;
        Ok(Const { ty, value: self.value(Some(ty), 0)? })
    }

    fn value(&mut self, ty: Option<TypeId>, depth: u32) -> Result<ConstValue> {
        if depth > MOST_DEPTH {
            return self.fail(format!("constants lie in each other more than {MOST_DEPTH} deep"));
        }
        if self.eat_word("zero") {
            return Ok(ConstValue::Zero);
        }
        if self.eat_word("true") {
            return Ok(ConstValue::Bits(1));
        }
        if self.eat_word("false") {
            return Ok(ConstValue::Bits(0));
        }
        if matches!(self.peek(), Token::Str(_)) {
            return self.string().map(ConstValue::Str);
        }
        if !self.eat("{") {
            return self.bits(ty.unwrap_or(TypeTable::POISON)).map(ConstValue::Bits);
        }
        let mut values = Vec::new();
        while !self.eat("}") {
            let index = u32::try_from(values.len()).unwrap_or(u32::MAX);
            let element = ty.and_then(|ty| self.module.types.element(ty, index));
            values.push(self.value(element, depth + 1)?);
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(ConstValue::Aggregate(values))
    }

    fn bits(&mut self, ty: TypeId) -> Result<u64> {
        if let Some(float) = self.module.types.as_float(ty) {
            return self.float_bits(float);
        }
        match self.module.types.as_int(ty) {
            Some(int) => self.int_bits(int),
            None => self.number(),
        }
    }

    /// An integer by its value, which must fit, or by its bits in hexadecimal.
    pub(super) fn int_bits(&mut self, int: Int) -> Result<u64> {
        let Token::Number(text) = self.peek() else { return self.fail("a number is expected here") };
        if text.starts_with("0x") {
            return self.number();
        }
        let (least, most) = int.range();
        match text.parse::<i128>() {
            Ok(value) if (least..=most).contains(&value) => {
                self.skip();
                Ok(int.wrap(value))
            }
            _ => self.fail(format!("a number from {least} to {most} is expected here")),
        }
    }

    fn float_bits(&mut self, float: Float) -> Result<u64> {
        let Token::Number(text) = self.peek() else { return self.fail("a number is expected here") };
        if text.starts_with("0x") {
            return self.number();
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let sign = if digits.len() < text.len() { 1 << (float.bits() - 1) } else { 0 };
        match crate::ir::eval::round_decimal(float, digits).map(|bits| bits | sign) {
            Some(bits) => {
                self.skip();
                Ok(bits)
            }
            None => self.fail("a floating-point number is expected here"),
        }
    }
}
