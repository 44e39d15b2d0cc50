//! From text to tree, and from text to better-looking text.
//!
//! - [`ast`]: the syntax tree.
//! - `token`, `lexer`, `literal`: text to tokens and comments; everything lexical is reported there.
//! - `brackets`: pairs every bracket and limits their depth, so that recovery can rely on both.
//! - `mistakes`: habits from other languages, reported and replaced by tokens that parse.
//! - `items`: one stretch of tokens an item. `parser` runs the generated parser (`grammar.lalrpop`, `state` holds its actions) over
//!   each; where it stops, `repair` says why in the words of `expected`, changes the tokens, and it starts again.
//! - [`format`]: the formatter.
//!
//! [`parse`] never fails: it gives a tree and diagnostics. What could not be parsed is an `Error` node.

pub mod ast;
mod brackets;
mod expected;
pub mod format;
mod items;
mod lexer;
mod literal;
mod mistakes;
mod parser;
mod repair;
mod source_text;
mod state;
mod token;

#[cfg(test)]
mod tests;

pub use format::format;
pub use lexer::tokens;
pub use parser::parse;
pub(crate) use state::several_indices;

/// Every keyword, those that are keywords in their own place only among them.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    let quoted = token::Token::ALL.iter().filter_map(|token| token.friendly().strip_prefix('`')?.strip_suffix('`'));
    quoted.filter(|word| word.chars().all(|c| c.is_ascii_alphabetic()))
}

lalrpop_util::lalrpop_mod!(
    #[allow(
        clippy::all,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        clippy::expect_used,
        missing_docs,
        unused,
        reason = "generated"
    )]
    grammar,
    "/grammar.rs"
);
