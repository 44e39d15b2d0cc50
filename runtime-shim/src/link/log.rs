//! The assembler's and the linker's words, taken apart.

use std::fmt::Write as _;

/// How much a complaint weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gravity {
    /// The cubin was made all the same.
    Warning,
    /// It was not.
    Error,
}

/// One complaint of the assembler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxProblem {
    /// Line of the PTX, from 1.
    pub line: usize,
    /// How much it weighs.
    pub gravity: Gravity,
    /// Its words.
    pub text: String,
    /// The lines around it with their numbers; empty when the PTX is not at hand.
    pub context: Vec<(usize, String)>,
}

impl PtxProblem {
    /// The complaints in the assembler's log that name a line of `ptx`.
    #[must_use]
    pub fn all(log: &str, ptx: &str) -> Vec<Self> {
        problems(log, ptx)
    }

    /// The complaint with the numbered lines around it, the guilty one marked.
    #[must_use]
    pub fn with_context(&self) -> String {
        let mut out = format!("line {} of the PTX: {}", self.line, self.text);
        for (number, line) in &self.context {
            let mark = if *number == self.line { '>' } else { ' ' };
            let _ = write!(out, "\n  {mark} {number:5} | {line}");
        }
        out
    }
}

/// How many lines to show on either side.
const AROUND: usize = 2;

/// The complaints in `log` that name a line: `ptxas application ptx input, line 10; error   : Unknown modifier '.to'`.
pub(super) fn problems(log: &str, ptx: &str) -> Vec<PtxProblem> {
    let mut problems = Vec::new();
    for entry in log.lines() {
        let Some((_, rest)) = entry.split_once(", line ") else { continue };
        let Some((line, rest)) = rest.split_once(';') else { continue };
        let Some((gravity, text)) = rest.split_once(':') else { continue };
        let Ok(line) = line.trim().parse::<usize>() else { continue };
        let gravity = match gravity.trim() {
            "error" | "fatal" => Gravity::Error,
            "warning" => Gravity::Warning,
            _ => continue,
        };
        problems.push(PtxProblem { line, gravity, text: text.trim().to_owned(), context: context(ptx, line) });
    }
    problems
}

fn context(ptx: &str, line: usize) -> Vec<(usize, String)> {
    let first = line.saturating_sub(AROUND).max(1);
    let numbered = ptx.lines().enumerate().skip(first - 1).take(line.saturating_add(AROUND + 1).saturating_sub(first));
    numbered.map(|(index, text)| (index + 1, text.to_owned())).collect()
}

/// The symbols in `log` that nothing defines: `error   : Undefined reference to 'f' in 'a.ptx'`.
pub(super) fn unresolved(log: &str) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for entry in log.lines() {
        let Some((_, rest)) = entry.split_once("Undefined reference to '") else { continue };
        let Some((symbol, _)) = rest.split_once('\'') else { continue };
        if !symbols.iter().any(|s| s == symbol) {
            symbols.push(symbol.to_owned());
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_keeps_its_line_and_its_surroundings() {
        let log = "ptxas application ptx input, line 3; error   : Unknown modifier '.to'\n\
                   ptxas fatal   : Ptx assembly aborted due to errors\n";
        let found = problems(log, "a\nb\nc\nd\ne\nf");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "Unknown modifier '.to'");
        assert_eq!(found[0].context.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        assert!(found[0].with_context().contains("\n  >     3 | c"));
    }

    #[test]
    fn odd_lines_do_no_harm() {
        for line in ["0", "1", "99999999999999999999", "18446744073709551615", "-1", "x"] {
            let _ = problems(&format!("p, line {line}; error : x"), "a");
        }
        assert!(problems("no line here; error : x", "a").is_empty());
    }

    #[test]
    fn each_symbol_once() {
        let log = "error   : Undefined reference to 'f' in 'a.ptx'\nerror   : Undefined reference to 'g' in 'a.ptx'\n\
                   error   : Undefined reference to 'f' in 'b.ptx'";
        assert_eq!(unresolved(log), ["f", "g"]);
    }
}
