//! The error index: the shape of every code's explanation, and its examples.

use crate::compile::compile;
use cdp_core::diag::Code;
use std::path::Path;

/// An explanation's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What must give exactly this code, and what must compile; none for codes that no source shows.
    pub examples: Option<(String, String)>,
}

/// Reads an explanation of the shape `# CODE: title`, text, `Wrong:` with a block, `Right:` with a block, `Guide: …`.
///
/// # Errors
/// When it has another shape.
pub fn read(code: Code) -> Result<Explanation, String> {
    let text = code.explanation();
    let title = format!("# {}: {}\n\n", code.id(), code.title());
    let body = text.strip_prefix(&title).ok_or_else(|| format!("the first line is not `{}`", title.trim_end()))?;
    if !text.ends_with('\n') || text.ends_with("\n\n") {
        return Err("it does not end with one line break".to_owned());
    }
    let (prose, rest) = match body.split_once("\nWrong:\n\n") {
        Some((prose, rest)) => (prose, Some(rest)),
        None => (body, None),
    };
    if prose.split_whitespace().count() < 12 {
        return Err("it explains nothing: a paragraph on what is wrong and why comes first".to_owned());
    }
    let Some(rest) = rest else { return Ok(Explanation { examples: None }) };
    let (wrong, rest) = block(rest)?;
    let rest = rest.strip_prefix("\nRight:\n\n").ok_or("`Right:` does not follow the wrong example")?;
    let (right, rest) = block(rest)?;
    if !(rest.is_empty() || rest.starts_with("\nGuide: section")) {
        return Err(format!("this is neither `Guide: section …` nor the end: {rest}"));
    }
    Ok(Explanation { examples: Some((wrong, right)) })
}

/// A fenced block and what follows it.
fn block(text: &str) -> Result<(String, &str), String> {
    let inner = text.strip_prefix("```cdp\n").ok_or("an example starts with ```cdp")?;
    let (source, rest) = inner.split_once("\n```\n").ok_or("an example ends with ```")?;
    Ok((format!("{source}\n"), rest))
}

/// Checks one code's explanation.
///
/// # Errors
/// When its shape is wrong, the wrong example gives anything but this code, or the right one gives anything.
pub fn check(code: Code) -> Result<(), String> {
    let file = format!("compiler/core/src/diag/codes/{}.md", code.id());
    let Some((wrong, right)) = read(code).map_err(|error| format!("{file}: {error}"))?.examples else {
        return if needs_no_example(code) {
            compiles(code, &file)
        } else {
            Err(format!("{file}: has no `Wrong:` and `Right:`"))
        };
    };
    let outcome = compile(Path::new(""), "wrong.cdp", &wrong)?;
    if outcome.diagnostics.is_empty() || outcome.diagnostics.iter().any(|diagnostic| diagnostic.code != code) {
        return Err(format!("{file}: the wrong example must give {} and nothing else:\n{}", code.id(), outcome.rendering()));
    }
    let outcome = compile(Path::new(""), "right.cdp", &right)?;
    if !outcome.diagnostics.is_empty() {
        return Err(format!("{file}: the right example must compile without a word:\n{}", outcome.rendering()));
    }
    Ok(())
}

/// What only a run shows to be wrong compiles.
fn compiles(code: Code, file: &str) -> Result<(), String> {
    for source in code.explanation().split("```cdp\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let outcome = compile(Path::new(""), "example.cdp", source)?;
        if !outcome.diagnostics.is_empty() {
            return Err(format!("{file}: this example must compile without a word:\n{source}\n{}", outcome.rendering()));
        }
    }
    Ok(())
}

/// Codes that a source alone cannot show: the environment's, the running program's, other files', options', and sizes beyond reason.
fn needs_no_example(code: Code) -> bool {
    let id = code.id();
    id.starts_with("E06") || id.starts_with("E07") || id.starts_with("W07") || matches!(id, "E0109" | "E0227" | "E0413")
}
