//! - `tree`: which tree a text has.
//! - `recovery`: which errors broken text has.
//! - `properties`, `generate`: what holds for all text.

mod generate;
mod properties;
mod recovery;
mod tree;

use super::ast::File;
use super::parse;
use crate::source::{FileId, SourceMap};

/// The codes of a text's diagnostics with their lines, by place.
fn errors(text: &str) -> Vec<(u32, &'static str)> {
    let mut sources = SourceMap::new();
    let id = sources.add("test.cdp", text);
    let diagnostics = parse(id, text).1.finish();
    diagnostics.iter().map(|diagnostic| (sources.line_column(diagnostic.primary.span).line, diagnostic.code.id())).collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    errors(text).into_iter().map(|(_, code)| code).collect()
}

fn clean(text: &str) -> File {
    let (file, diagnostics) = parse(FileId(0), text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    file
}
