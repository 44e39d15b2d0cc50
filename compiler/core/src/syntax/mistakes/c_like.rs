//! Declarations in the order of C, read well enough to show how they are written here.

use crate::syntax::lexer::Spanned;
use crate::syntax::source_text::{SourceText, closing};
use crate::syntax::token::Token;

/// `const float* __restrict__ x[4]`, taken apart.
pub(super) struct Declarator<'text> {
    /// The words in front of the name, without `const`.
    words: Vec<&'text str>,
    is_const: bool,
    stars: usize,
    /// Inside the square brackets behind the name, in order.
    dimensions: Vec<&'text str>,
    /// The name.
    pub(super) name: Spanned,
    /// How many tokens it takes.
    pub(super) length: usize,
}

/// The type of ours that C's words name.
fn translated(words: &str) -> Option<&'static str> {
    Some(match words {
        "int" | "signed" | "signed int" | "int32_t" => "i32",
        "unsigned" | "unsigned int" | "uint" | "uint32_t" => "u32",
        "long" | "long long" | "long int" | "long long int" | "int64_t" | "ptrdiff_t" => "i64",
        "unsigned long" | "unsigned long long" | "size_t" | "uint64_t" => "u64",
        "short" | "short int" | "int16_t" => "i16",
        "unsigned short" | "ushort" | "uint16_t" => "u16",
        "char" | "signed char" | "int8_t" => "i8",
        "unsigned char" | "uchar" | "uint8_t" | "void" => "u8",
        "float" => "f32",
        "double" => "f64",
        "half" | "__half" => "f16",
        "__nv_bfloat16" => "bf16",
        "bool" => "bool",
        "float2" => "f32x2",
        "float3" => "f32x3",
        "float4" => "f32x4",
        "double2" => "f64x2",
        "int2" => "i32x2",
        "int3" => "i32x3",
        "int4" => "i32x4",
        "uint2" => "u32x2",
        "uint3" => "u32x3",
        "uint4" => "u32x4",
        _ => return None,
    })
}

/// The numeric types of ours.
const OURS: [&str; 12] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"];

/// Whether a word is the name of a type in C++ or here.
pub(super) fn is_type_word(word: &str) -> bool {
    translated(word).is_some()
        || OURS.contains(&word)
        || matches!(word, "dim3" | "cudaError_t" | "cudaStream_t" | "cudaEvent_t" | "auto")
}

/// Words of C++ that say where or how something lives rather than what it is.
pub(super) fn is_storage_word(word: &str) -> bool {
    matches!(
        word,
        "static"
            | "volatile"
            | "register"
            | "inline"
            | "constexpr"
            | "__shared__"
            | "__constant__"
            | "__device__"
            | "__host__"
            | "__global__"
            | "__managed__"
            | "__forceinline__"
            | "__restrict__"
            | "restrict"
            | "typename"
            | "mutable"
    )
}

/// Reads a declarator at the start of `tokens`: at least one word of a type, perhaps stars, a name.
pub(super) fn declarator<'text>(source: SourceText<'text>, tokens: &[Spanned]) -> Option<Declarator<'text>> {
    let prefix = tokens
        .iter()
        .take_while(|t| t.token.is_name() || matches!(t.token, Token::Const | Token::Star | Token::Extern | Token::Struct))
        .count();
    let name_at = prefix.checked_sub(1)?;
    let name = *tokens.get(name_at).filter(|t| t.token.is_name())?;
    let type_tokens = tokens.get(..name_at)?;
    let mut words = Vec::new();
    let mut stars = 0;
    let mut is_const = false;
    for token in type_tokens {
        match token.token {
            Token::Const => is_const = true,
            Token::Star if words.is_empty() => return None,
            Token::Star => stars += 1,
            Token::Extern | Token::Struct => {}
            _ if stars > 0 && !is_storage_word(source.word(*token)) => return None,
            _ => words.push(source.word(*token)),
        }
    }
    // a statement of another language is no declaration
    if words.first().is_none_or(|word| matches!(*word, "match" | "do" | "goto" | "try" | "throw" | "delete")) {
        return None;
    }
    // two statements without a semicolon between them are none either; with a star between the names there is nothing else that the
    // words can be, wherever they break, but for a star that begins a line: see `starts_line`
    let broken = source.breaks_line(tokens.first()?.start, name.end);
    if broken && stars == 0 {
        return None;
    }
    let mut length = prefix;
    let mut dimensions = Vec::new();
    while tokens.get(length).is_some_and(|t| t.token == Token::BracketOpen) {
        let close = closing(tokens, length);
        dimensions.push(source.words(tokens.get(length + 1..close)?));
        length = close + 1;
    }
    Some(Declarator { words, is_const, stars, dimensions, name, length })
}

/// Whether the first star of a declarator begins a line: then it is an assignment through a pointer, behind a statement without its semicolon.
pub(super) fn starts_line(source: SourceText<'_>, tokens: &[Spanned]) -> Option<usize> {
    let star = tokens.iter().position(|token| token.token == Token::Star)?;
    let before = tokens.get(star.checked_sub(1)?)?;
    source.breaks_line(before.end, tokens.get(star)?.start).then_some(star)
}

impl Declarator<'_> {
    /// Whether one of the words can only be meant for C++.
    pub(super) fn is_certain(&self) -> bool {
        self.stars == 0 || self.words.iter().any(|word| is_type_word(word) || is_storage_word(word))
    }

    /// Whether `__shared__` stands in front.
    pub(super) fn is_shared(&self) -> bool {
        self.words.contains(&"__shared__")
    }

    /// `x: *global const f32`, without the type for `auto`.
    pub(super) fn as_ours(&self, source: SourceText<'_>) -> String {
        let name = source.word(self.name);
        if let [word] = self.words.as_slice()
            && is_type_word(name)
            && !is_type_word(word)
        {
            // only the colon is missing
            return format!("{word}: {}", translated(name).unwrap_or(name));
        }
        match self.type_text() {
            Some(ty) => format!("{name}: {ty}"),
            None => name.to_owned(),
        }
    }

    /// `x = dim3(1, 2)` for `dim3 x(1, 2)`, `x: f32 = (0.5)` for `float x(0.5)`: the value is given in parentheses.
    pub(super) fn with_value(&self, source: SourceText<'_>, arguments: &str) -> Option<String> {
        let (ty, name) = (self.type_text()?, source.word(self.name));
        let scalar = OURS.contains(&ty.as_str()) || ty == "bool";
        Some(if scalar { format!("{name}: {ty} = {arguments}") } else { format!("{name} = {ty}{arguments}") })
    }

    /// Whether the value never changes.
    pub(super) fn is_const(&self) -> bool {
        self.is_const && self.stars == 0
    }

    fn type_text(&self) -> Option<String> {
        let words: Vec<&str> = self.words.iter().copied().filter(|word| !is_storage_word(word)).collect();
        let joined = words.join(" ");
        if joined == "auto" || joined.is_empty() {
            return None;
        }
        let base = translated(&joined).unwrap_or_else(|| words.last().copied().unwrap_or(""));
        let mut text = base.to_owned();
        for level in 0..self.stars {
            let pointee = if level == 0 && self.is_const { "const " } else { "" };
            text = format!("*global {pointee}{text}");
        }
        for dimension in self.dimensions.iter().rev() {
            text = if dimension.is_empty() { format!("[{text}]") } else { format!("[{text}; {dimension}]") };
        }
        Some(text)
    }
}

/// The parameters of a C++ function as they are written here, as far as they can be read.
pub(in crate::syntax) fn parameters(source: SourceText<'_>, tokens: &[Spanned]) -> String {
    let mut texts = Vec::new();
    for part in tokens.split(|t| t.token == Token::Comma) {
        match declarator(source, part) {
            Some(declarator) => texts.push(declarator.as_ours(source)),
            None if part.is_empty() || source.words(part) == "void" => {}
            None => texts.push("…".to_owned()),
        }
    }
    texts.join(", ")
}

/// The result type of a C++ function, ` -> f32`; empty for `void` and for what cannot be read.
pub(in crate::syntax) fn result(source: SourceText<'_>, tokens: &[Spanned]) -> String {
    declarator(source, tokens)
        .filter(|d| d.stars > 0 || !d.words.contains(&"void"))
        .and_then(|d| d.type_text())
        .map_or_else(String::new, |ty| format!(" -> {ty}"))
}
