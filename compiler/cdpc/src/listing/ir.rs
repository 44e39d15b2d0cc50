//! The text form of the IR, function by function; the span behind each statement says which source line it comes from.

use cdp_core::source::{FileId, SourceMap, Span};

use super::{Function, Instruction};

/// The functions of a module's text; what comes from other files than `file` gets no line.
pub fn functions(text: &str, sources: &SourceMap, file: FileId) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let (text, span) = taken_apart(line);
        let number = span.filter(|span| span.file == file).map_or(0, |span| sources.line_column(span).line);
        if line == "}" {
            inside = false;
        } else if inside {
            if let Some(function) = functions.last_mut() {
                // temporaries are many, and say what their statement says again
                if !text.starts_with("  %") || text.contains(" = ") {
                    function.instructions.push(Instruction { line: number, text: text.to_owned() });
                }
            }
        } else if line.ends_with(" {") {
            // a test is called what its text says
            let quoted = text.strip_prefix("test \"").and_then(|rest| rest.split('"').next());
            let named = || text.split('&').nth(1).and_then(|rest| rest.split(['#', ' ']).next());
            let symbol = quoted.or_else(named).unwrap_or("").to_owned();
            if !symbol.is_empty() {
                functions.push(Function { symbol, instructions: vec![Instruction { line: number, text: text.to_owned() }] });
                inside = true;
            }
        }
    }
    functions
}

/// `text @ 0:10..14`, perhaps with a brace behind it.
fn taken_apart(line: &str) -> (&str, Option<Span>) {
    let whole = line.strip_suffix(" {").unwrap_or(line);
    let Some((text, place)) = whole.rsplit_once(" @ ") else { return (line, None) };
    let span = || {
        let (file, range) = place.split_once(':')?;
        let (start, end) = range.split_once("..")?;
        Some(Span::new(FileId(file.parse().ok()?), start.parse().ok()?, end.parse().ok()?))
    };
    match span() {
        Some(span) => (text, Some(span)),
        None => (line, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_lines() {
        let mut sources = SourceMap::new();
        let file = sources.add("a.cdp", "kernel k() {\n    return;\n}\n");
        let text = "type 23 = *global i32\nkernel &k#0 params 0 -> void exported @ 0:7..8 {\n  %1: u32 @ 0:7..8\nbb0:\n  %1 = add u32 1, u32 2 @ 0:17..23\n  return @ 0:17..24\n}\n";
        let found = functions(text, &sources, file);
        let [function] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(function.symbol, "k");
        let lines: Vec<_> = function.instructions.iter().map(|i| (i.line, i.text.trim())).collect();
        assert_eq!(
            lines,
            [(1, "kernel &k#0 params 0 -> void exported"), (0, "bb0:"), (2, "%1 = add u32 1, u32 2"), (2, "return")]
        );
    }
}
