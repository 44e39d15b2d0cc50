//! Every phase on inputs that are none of its liking. `CDPC_HOSTILE_CASES` says how many (default 3,000); the same number gives the same inputs.

use cdp_core::ir;
use lang_tests::data::{cases, root};
use lang_tests::hostile::mutate::{Draw, mutated};
use lang_tests::hostile::{format, ir_text, program, tokens, tree};
use std::panic::catch_unwind;

/// A check that panics where a promise is broken.
type Promise = fn(&str);

fn count() -> usize {
    std::env::var("CDPC_HOSTILE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

/// Every source of the suite.
fn seeds() -> Vec<String> {
    let folders = ["run", "check-pass", "check-fail", "defects", "fmt", "bench"];
    let all = folders.iter().flat_map(|folder| cases(folder).unwrap_or_default());
    all.map(|case| case.text).filter(|text| text.len() < 6_000).collect()
}

/// Runs the check, and on a panic says which input it was.
fn check(input: &str, what: Promise) {
    let kept = catch_unwind(|| what(input)).is_ok();
    let path = std::env::temp_dir().join("cdpc-hostile-input.txt");
    if !kept {
        std::fs::write(&path, input).unwrap_or_default();
    }
    assert!(kept, "this input, now in {}, breaks a promise:\n{input}", path.display());
}

#[test]
fn sources() {
    let seeds = seeds();
    assert!(seeds.len() > 150, "the seeds are missing: {} below {}", seeds.len(), root().display());
    let mut draw = Draw::new(1);
    for _ in 0..count() {
        let (text, other) = (draw.one(&seeds).cloned(), draw.one(&seeds).cloned());
        let input = mutated(&mut draw, &text.unwrap_or_default(), &other.unwrap_or_default());
        check(&input, |input| {
            tokens(input);
            tree(input);
            format(input);
            drop(program(input));
        });
    }
}

#[test]
fn intermediate_representation() {
    let texts: Vec<String> = seeds().iter().filter_map(|text| program(text)).map(|module| ir::print(&module)).collect();
    assert!(texts.len() > 50, "only {} seeds compile", texts.len());
    let mut draw = Draw::new(2);
    for _ in 0..count() {
        let (text, other) = (draw.one(&texts).cloned().unwrap_or_default(), draw.one(&texts).cloned().unwrap_or_default());
        check(&lines_changed(&mut draw, &text, &other), ir_text);
    }
}

/// IR has one statement a line: lines and words are exchanged.
fn lines_changed(draw: &mut Draw, text: &str, other: &str) -> String {
    let others: Vec<&str> = other.lines().collect();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw.below(4) {
        let at = draw.below(lines.len());
        let new = draw.one(&others).copied().unwrap_or_default().to_owned();
        match draw.below(5) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 => lines.insert(at, new),
            2 if at < lines.len() => drop(lines.splice(at..=at, [new])),
            _ => {
                if let Some(line) = lines.get_mut(at) {
                    *line = mutated(draw, line, &new);
                }
            }
        }
    }
    lines.join("\n")
}
