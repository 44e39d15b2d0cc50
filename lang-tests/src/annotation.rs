//! `//~ CODE` in a source: what is expected where.

use cdp_core::diag::{Code, Diagnostic};
use cdp_core::source::SourceMap;
use std::fmt::Write as _;

/// Codes by line, counted from 1; sorted, with repetitions.
pub type Expected = Vec<(u32, Code)>;

/// The annotations of a text.
///
/// # Errors
/// When one names no code or points above the first line.
pub fn annotations(text: &str) -> Result<Expected, String> {
    let mut expected = Expected::new();
    for (index, line) in text.lines().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let Some((_, note)) = line.split_once("//~") else { continue };
        let up = u32::try_from(note.chars().take_while(|c| *c == '^').count()).unwrap_or(u32::MAX);
        let target = number.checked_sub(up).filter(|line| *line > 0);
        let target = target.ok_or_else(|| format!("line {number}: the annotation points above the file"))?;
        let codes = note.trim_start_matches('^').split_whitespace();
        let before = expected.len();
        for name in codes {
            let code = Code::from_id(name).ok_or_else(|| format!("line {number}: `{name}` is not a code"))?;
            expected.push((target, code));
        }
        if expected.len() == before {
            return Err(format!("line {number}: `//~` without a code"));
        }
    }
    expected.sort();
    Ok(expected)
}

/// The text with its annotations blanked out, so that renderings do not show them; lines and columns stay.
#[must_use]
pub fn without_annotations(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for line in text.lines() {
        result.push_str(line.split_once("//~").map_or(line, |(source, _)| source.trim_end()));
        result.push('\n');
    }
    result
}

/// What is reported but not expected, and expected but not reported, a line each; empty when both agree.
#[must_use]
pub fn difference(expected: &Expected, sources: &SourceMap, reported: &[Diagnostic]) -> String {
    let mut found: Vec<(u32, Code, &str)> = reported
        .iter()
        .map(|diagnostic| (sources.line_column(diagnostic.primary.span).line, diagnostic.code, diagnostic.message.as_str()))
        .collect();
    let mut text = String::new();
    for (line, code) in expected {
        match found.iter().position(|(at, other, _)| at == line && other == code) {
            Some(index) => {
                found.remove(index);
            }
            None => {
                let _ = writeln!(text, "  line {line}: {} is expected, but not reported", code.id());
            }
        }
    }
    for (line, code, message) in found {
        let _ = writeln!(text, "  line {line}: {} is reported, but not expected: {message}", code.id());
    }
    text
}
