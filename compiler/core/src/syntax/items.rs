//! Divides the tokens of a file into items, and says what stands there where none does.

use super::lexer::Spanned;
use super::mistakes::c_like::{parameters, result};
use super::source_text::{SourceText, closing, find_outside};
use super::token::Token;
use crate::diag::{Code, Diagnostic, Diagnostics};
use std::ops::Range;

/// A stretch of tokens outside of all brackets.
pub(super) enum Part {
    /// An item, perhaps broken.
    Item(Range<usize>),
    /// Something else, reported.
    Junk(Range<usize>),
}

/// The parts of a file in order; together they cover all tokens, whose brackets must be paired.
pub(super) fn split(source: SourceText<'_>, tokens: &[Spanned], diagnostics: &mut Diagnostics) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let keyword = behind_prefix(tokens, at);
        let start = at;
        if let Some(keyword) = keyword {
            // the braces of a value are those of an `if`
            let has_body = !matches!(token_at(tokens, keyword), Some(Token::Const | Token::Constant | Token::Var));
            at = end_of(tokens, keyword + 1, has_body);
            parts.push(Part::Item(start..at));
        } else {
            at = end_of(tokens, at + 1, true);
            report(source, tokens.get(start..at).unwrap_or(&[]), diagnostics);
            parts.push(Part::Junk(start..at));
        }
    }
    parts
}

fn token_at(tokens: &[Spanned], at: usize) -> Option<Token> {
    tokens.get(at).map(|token| token.token)
}

/// The index of the item's keyword, if an item starts at `at`: behind attributes and words such as `extern`.
fn behind_prefix(tokens: &[Spanned], mut at: usize) -> Option<usize> {
    loop {
        match token_at(tokens, at)? {
            Token::At => {
                at += 2;
                if token_at(tokens, at) == Some(Token::AttributeOpen) {
                    at = closing(tokens, at) + 1;
                }
            }
            Token::Extern if token_at(tokens, at + 1) != Some(Token::String) => at += 1,
            Token::Host if token_at(tokens, at + 1) == Some(Token::Fn) => at += 1,
            Token::Global => return variable_keyword(tokens, at),
            Token::Fn | Token::Kernel | Token::Struct | Token::Enum | Token::Const | Token::Constant => return Some(at),
            // `test` and `import` are names elsewhere, but no item starts with a name
            Token::Test | Token::Import => return Some(at),
            _ => return None,
        }
    }
}

/// The `var` of a `global var` or `global volatile var`.
fn variable_keyword(tokens: &[Spanned], at: usize) -> Option<usize> {
    let var = if token_at(tokens, at + 1) == Some(Token::Volatile) { at + 2 } else { at + 1 };
    (token_at(tokens, var) == Some(Token::Var)).then_some(var)
}

/// Whether an item starts at `at` although the one before has not ended.
fn interrupts(tokens: &[Spanned], at: usize) -> bool {
    let previous = at.checked_sub(1).and_then(|at| token_at(tokens, at));
    match token_at(tokens, at) {
        Some(Token::Fn | Token::Kernel | Token::Struct | Token::Enum | Token::At | Token::Extern) => true,
        Some(Token::Host) => token_at(tokens, at + 1) == Some(Token::Fn),
        Some(Token::Test | Token::Import) => token_at(tokens, at + 1) == Some(Token::String),
        Some(Token::Global) => previous != Some(Token::Star) && variable_keyword(tokens, at).is_some(),
        // not the ones of a pointer type
        Some(Token::Const | Token::Constant) => {
            use Token::{Constant, Global, Local, Shared, Star, Volatile};
            !matches!(previous, Some(Star | Global | Shared | Local | Constant | Volatile))
        }
        _ => false,
    }
}

/// The index behind the item whose keyword stands in front of `at`.
fn end_of(tokens: &[Spanned], mut at: usize, has_body: bool) -> usize {
    while let Some(token) = token_at(tokens, at) {
        match token {
            Token::Semicolon => return at + 1,
            Token::BraceOpen if has_body => return closing(tokens, at) + 1,
            _ if interrupts(tokens, at) => return at,
            _ if token.is_open() => at = closing(tokens, at) + 1,
            _ => at += 1,
        }
    }
    tokens.len()
}

fn report(source: SourceText<'_>, tokens: &[Spanned], diagnostics: &mut Diagnostics) {
    let Some(first) = tokens.first().copied() else { return };
    let word = source.word(first);
    let span = source.span(first);
    let parens = tokens.iter().position(|token| token.token == Token::ParenOpen);
    let name = parens.and_then(|at| at.checked_sub(1)).and_then(|at| tokens.get(at));
    let signature = |keyword: &str, with_result: bool| {
        let (Some(parens), Some(name)) = (parens, name) else { return format!("{keyword} name(…) {{ … }}") };
        let params = parameters(source, tokens.get(parens + 1..closing(tokens, parens)).unwrap_or(&[]));
        let before: Vec<Spanned> = tokens.get(..parens).unwrap_or(&[]).to_vec();
        let result = if with_result { result(source, &before) } else { String::new() };
        format!("{keyword} {}({params}){result} {{ … }}", source.word(*name))
    };
    let is_function = parens.is_some() && find_outside(tokens, 0, &[Token::Equal]).is_none();
    let has = |wanted: &str| tokens.iter().take(parens.unwrap_or(tokens.len())).any(|token| source.word(*token) == wanted);
    let cpp = |message: &str, help: String| Diagnostic::new(Code::E0115, span, message).help(help);
    let diagnostic = match word {
        _ if has("__global__") => {
            cpp("a kernel is declared with `kernel`", format!("write `{}`", signature("kernel", false)))
        }
        _ if first.token == Token::Extern => {
            cpp("functions of other objects are declared with `extern fn` and `extern kernel`", "one declaration each, ending with `;`".to_owned())
        }
        "template" => cpp(
            "there are no templates",
            "compile-time parameters stand in square brackets: `fn max[T](a: T, b: T) -> T { … }`".to_owned(),
        ),
        "typedef" | "using" => cpp("a type has one name only", "declare a `struct`, or use the type's own name".to_owned()),
        "namespace" | "class" | "union" | "static_assert" => {
            cpp(&format!("there is no `{word}`"), "items are functions, kernels, structs, enums, constants and variables".to_owned())
        }
        "__constant__" => {
            cpp("constant memory is declared with `constant`", "write `constant name: [f32; 4] = [1.0, 2.0, 3.0, 4.0];`".to_owned())
        }
        "__shared__" => cpp(
            "shared memory is declared inside a kernel or function",
            "write `shared tile: [f32; 256];` in its body".to_owned(),
        ),
        "__device__" | "__managed__" if !is_function => {
            cpp("a device variable is declared with `global var`", "write `global var name: i32 = 0;`".to_owned())
        }
        "__host__" if is_function && !has("__device__") => {
            cpp("a host function is declared with `host fn`", format!("write `{}`", signature("host fn", true)))
        }
        _ if is_function && (has("__device__") || has("main") || (first.token == Token::Name && tokens.last().is_some_and(|t| t.token == Token::BraceClose) && name.is_some_and(|n| n.start != first.start))) => {
            let keyword = if has("main") { "host fn" } else { "fn" };
            cpp(&format!("a function is declared with `{keyword}`"), format!("write `{}`", signature(keyword, !has("main"))))
        }
        "let" => Diagnostic::new(Code::E0113, span, "a `let` stands inside a function").fix("a value of the whole file is a constant", span, "const"),
        "var" => Diagnostic::new(Code::E0113, span, "a `var` stands inside a function")
            .fix("a variable of the whole file lives in global memory", span, "global var"),
        "}" => Diagnostic::new(Code::E0108, span, "`}` closes nothing"),
        _ => Diagnostic::new(Code::E0113, span, format!("expected an item, found {}", source.found(Some(first)))).help(
            "items start with `kernel`, `fn`, `host fn`, `struct`, `enum`, `const`, `constant`, `global var`, `extern`, `import` or `test`",
        ),
    };
    diagnostics.push(diagnostic);
}
