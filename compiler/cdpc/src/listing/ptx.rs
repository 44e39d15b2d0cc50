//! PTX with `.loc` directives, function by function.

use super::{Function, Instruction};

/// The functions that `ptx` defines, with every instruction, label and declaration in their bodies.
pub fn functions(ptx: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut current: Option<Function> = None;
    let mut header: Option<String> = None;
    let mut depth = 0usize;
    let mut line = 0;
    for text in ptx.lines().map(str::trim) {
        if depth == 0 {
            header = match (header.take(), symbol(text)) {
                // a declaration ends in a semicolon before any body
                (_, Some(symbol)) => Some(symbol),
                (waiting, None) if !text.ends_with(';') => waiting,
                _ => None,
            };
        }
        let (opens, closes) = (text.matches('{').count(), text.matches('}').count());
        match &mut current {
            Some(function) => {
                if let Some(location) = text.strip_prefix(".loc") {
                    line = location.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
                } else if !(text.is_empty() || text.starts_with("//") || (depth == 1 && text == "}")) {
                    function.instructions.push(Instruction { line, text: text.replace('\t', " ") });
                }
            }
            None if opens > 0 && header.is_some() => {
                current = header.take().map(|symbol| Function { symbol, instructions: Vec::new() });
                line = 0;
            }
            None => {}
        }
        depth = (depth + opens).saturating_sub(closes);
        if depth == 0 {
            functions.extend(current.take());
        }
    }
    functions
}

/// The symbol of a function whose definition or declaration begins on this line.
fn symbol(text: &str) -> Option<String> {
    let after = if let Some((_, rest)) = text.split_once(".entry ") {
        rest
    } else {
        let (_, rest) = text.split_once(".func")?;
        let rest = rest.trim_start();
        // `.func (.param .b32 func_retval0) name(`
        if rest.starts_with('(') { rest.split_once(')')?.1 } else { rest }
    };
    let name: String =
        after.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')).collect();
    if name.is_empty() { None } else { Some(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.8
.extern .func  (.param .b32 func_retval0) vprintf
(
\t.param .b64 vprintf_param_0
)
;
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
\t// .globl\tk
.visible .entry k(
\t.param .u64 k_param_0
)
{
\t.reg .b32 \t%r<2>;
\t.loc\t1 2 0
\tld.param.u64 \t%rd1, [k_param_0];
\t.loc\t1 3 29, function_name $L__info_string0, inlined_at 1 5 3
\t{ // callseq 0, 0
\tcall.uni f;
\t} // callseq 0
$L__BB0_1:
\tret;
}
.func  (.param .b32 func_retval0) f(
\t.param .b32 f_param_0
)
{
\tret;
}
.file 1 \"a.cdp\"
";

    #[test]
    fn instructions_have_their_lines() {
        let found = functions(PTX);
        assert_eq!(found.iter().map(|f| f.symbol.as_str()).collect::<Vec<_>>(), ["k", "f"]);
        let lines: Vec<_> = found[0].instructions.iter().map(|i| (i.line, i.text.as_str())).collect();
        assert_eq!(
            lines,
            [
                (0, ".reg .b32  %r<2>;"),
                (2, "ld.param.u64  %rd1, [k_param_0];"),
                (3, "{ // callseq 0, 0"),
                (3, "call.uni f;"),
                (3, "} // callseq 0"),
                (3, "$L__BB0_1:"),
                (3, "ret;"),
            ]
        );
        assert_eq!(found[1].of_line(0).collect::<Vec<_>>(), ["ret;"]);
    }
}
