//! The symbols of PTX (PTX ISA, "Linking Directives"): what is `.visible` or `.weak` is defined for others, what is `.extern` and used is needed.

use std::collections::HashSet;

use super::symbols::{Definition, Symbols, What};

/// The text, where the bytes are PTX: without the NULs at the end, and with its directives `.version` and `.target`.
pub(super) fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let text = std::str::from_utf8(bytes.get(..end)?).ok()?;
    (text.contains(".version") && text.contains(".target")).then_some(text)
}

/// The number of the architecture that it names; 0 where it names none.
pub(super) fn target(text: &str) -> u32 {
    let after = text.split_once(".target").map_or("", |(_, after)| after);
    let digits = after.split_once("sm_").map_or("", |(_, digits)| digits);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// What a statement outside of bodies says.
#[derive(Debug, Default)]
struct Statement<'a> {
    words: Vec<&'a str>,
    /// It has a body or a first value.
    defines: bool,
}

/// What it defines and needs.
pub(super) fn symbols(text: &str) -> Symbols {
    let mut used: HashSet<&str> = HashSet::new();
    let mut statements = Vec::new();
    let mut current = Statement::default();
    // whether the braces are a body: a first value's end with a semicolon
    let (mut depth, mut body) = (0_usize, false);
    for word in Words(text) {
        match word {
            "{" => {
                if depth == 0 {
                    body = !current.words.contains(&"=");
                    current.defines = true;
                }
                depth += 1;
            }
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && body {
                    statements.push(std::mem::take(&mut current));
                }
            }
            _ if depth > 0 => {
                used.insert(word);
            }
            ";" => statements.push(std::mem::take(&mut current)),
            _ => {
                // an address as a first value
                if current.words.contains(&"=") {
                    used.insert(word);
                }
                current.words.push(word);
            }
        }
    }
    let mut symbols = Symbols::default();
    let mut external = Vec::new();
    for statement in &statements {
        let Some((name, what)) = subject(&statement.words) else { continue };
        let has = |directive| statement.words.iter().take_while(|word| **word != name).any(|word| *word == directive);
        let variable = matches!(what, What::Variable { .. });
        if has(".extern") {
            external.push(name);
        } else if (has(".visible") || has(".weak") || has(".common")) && (statement.defines || variable) {
            let weak = !has(".visible");
            symbols.defined.push(Definition { name: name.to_owned(), weak, what });
        }
    }
    for name in external {
        let defined = symbols.defined.iter().any(|definition| definition.name == name);
        if used.contains(name) && !defined && !symbols.needed.iter().any(|needed| needed == name) {
            symbols.needed.push(name.to_owned());
        }
    }
    symbols
}

/// What a statement is about: the name, and what it is.
fn subject<'a>(words: &[&'a str]) -> Option<(&'a str, What)> {
    for (index, word) in words.iter().enumerate() {
        let rest = words.get(index + 1..).unwrap_or_default();
        match *word {
            ".entry" => return rest.first().map(|name| (*name, What::Kernel)),
            ".func" => {
                // `.func (.param .b32 r) name (…)`
                let name = match rest.split_first() {
                    Some((&"(", inside)) => inside.iter().position(|word| *word == ")").and_then(|end| inside.get(end + 1)),
                    _ => rest.iter().find(|word| !word.starts_with('.')),
                };
                return name.map(|name| (*name, What::Function));
            }
            ".global" | ".const" => return variable(rest),
            _ => {}
        }
    }
    None
}

/// `.align 4 .b8 name[16]`, behind the space.
fn variable<'a>(words: &[&'a str]) -> Option<(&'a str, What)> {
    let mut element = None;
    let mut lanes = 1;
    let mut words = words.iter();
    let name = loop {
        match *words.next()? {
            ".align" => {
                words.next()?;
            }
            ".attribute" => {
                let _ = words.by_ref().find(|word| **word == ")");
            }
            ".v2" => lanes = 2,
            ".v4" => lanes = 4,
            word if word.starts_with('.') => element = width(word).or(element),
            name => break name,
        }
    };
    let mut size = element.map(|bytes: u64| bytes * lanes);
    while let Some(&"[") = words.as_slice().first() {
        words.next();
        // `[]`: as long as what it is set to
        let count = words.next().and_then(|count| count.parse::<u64>().ok());
        size = size.zip(count).and_then(|(size, count)| size.checked_mul(count));
        words.next();
    }
    Some((name, What::Variable { size }))
}

/// Bytes of a fundamental type: `.b8`, `.f64`.
fn width(word: &str) -> Option<u64> {
    let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
    match (word.get(1..2), digits.parse::<u64>()) {
        (Some("b" | "u" | "s" | "f"), Ok(bits @ (8 | 16 | 32 | 64 | 128))) => Some(bits / 8),
        _ => None,
    }
}

/// Names, directives and numbers, and every other character by itself; without comments and strings.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start();
            let skipped = if let Some(comment) = self.0.strip_prefix("//") {
                comment.split_once('\n').map_or("", |(_, rest)| rest)
            } else if let Some(comment) = self.0.strip_prefix("/*") {
                comment.split_once("*/").map_or("", |(_, rest)| rest)
            } else if let Some(string) = self.0.strip_prefix('"') {
                string.split_once('"').map_or("", |(_, rest)| rest)
            } else {
                break;
            };
            self.0 = skipped;
        }
        let first = self.0.chars().next()?;
        let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        let end = if in_word(first) { self.0.find(|c| !in_word(c)).unwrap_or(self.0.len()) } else { first.len_utf8() };
        let (word, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        .version 8.0 // .visible .entry not_this()
        .target sm_80, debug
        .address_size 64
        /* .extern .func nor_this; */
        .file 1 "a { b.cu"
        .extern .func (.param .b32 r) plus ( .param .b32 a, .param .b32 b );
        .extern .func unused (.param .b32 a);
        .extern .entry theirs ( .param .u64 p );
        .extern .global .align 4 .b8 counter[16];
        .visible .global .align 8 .v2 .f32 pairs[3][5] = { 0f00000000, 0f00000000 };
        .weak .const .align 4 .u32 limit = 4;
        .visible .global .attribute(.managed) .align 8 .u64 table[2] = { counter, plus };
        .global .align 4 .u32 own;
        .func inner() { ret; }
        .visible .func later (.param .b32 a);
        .visible .func (.param .b32 r) later (.param .b32 a) { { ret; } }
        .weak .func .noreturn stop() { trap; }
        .visible .entry k(.param .u64 p) .maxntid 128, 1, 1 { call theirs, (p); ret; }
    "#;

    #[test]
    fn what_is_defined_and_needed() {
        let found = symbols(TEXT);
        let defined: Vec<_> = found.defined.iter().map(|d| (d.name.as_str(), d.weak, d.what)).collect();
        assert_eq!(
            defined,
            [
                ("pairs", false, What::Variable { size: Some(120) }),
                ("limit", true, What::Variable { size: Some(4) }),
                ("table", false, What::Variable { size: Some(16) }),
                ("later", false, What::Function),
                ("stop", true, What::Function),
                ("k", false, What::Kernel),
            ]
        );
        assert_eq!(found.needed, ["plus", "theirs", "counter"]);
        assert_eq!(target(TEXT), 80);
        assert!(text(TEXT.as_bytes()).is_some() && text(b"no").is_none() && text(b"\0").is_none());
    }

    #[test]
    fn odd_text_does_no_harm() {
        for text in [
            "",
            "}",
            "{",
            ".entry",
            ".func (",
            ".global",
            ".visible .global .b8 x[",
            "\"",
            "/*",
            ".weak .func ( a ) ;",
            "ü{ü};",
        ] {
            let _ = symbols(text);
            let _ = target(text);
        }
        for end in 0..TEXT.len() {
            let _ = symbols(TEXT.get(..end).unwrap_or_default());
        }
    }
}
