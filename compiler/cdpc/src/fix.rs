//! Carrying out the edits that diagnostics propose: `cdpc check --fix`.

use std::collections::HashMap;

use cdp_core::diag::{Code, Diagnostic, Severity};
use cdp_core::source::{FileId, Span};

use crate::driver::Front;
use crate::failure::Result;
use crate::input::Source;
use crate::options::Meaning;

/// A text after its edits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// All of it.
    pub text: String,
    /// How many edits were carried out.
    pub count: usize,
}

/// An edit of a text: bytes from, to, and what stands there instead.
type Edit = (usize, usize, String);

/// One edit may make the next one possible; so many times at most.
const MOST_ROUNDS: usize = 16;

/// Carries out the edits for what is wrong with a source, as long as each leaves less wrong and nothing new. Of edits that overlap the first one is
/// carried out; the others have their turn in the next round. Imported files stay as they are.
///
/// # Errors
/// A fault of the compiler.
pub fn fix(source: &Source, meaning: &Meaning) -> Result<Fixed> {
    let look = |text: &str| examine(Source { name: source.name.clone(), text: text.to_owned() }, meaning);
    let mut fixed = Fixed { text: source.text.clone(), count: 0 };
    let mut found = look(&fixed.text)?;
    for _ in 0..MOST_ROUNDS {
        let edits = edits(&found, &fixed.text);
        if edits.is_empty() {
            break;
        }
        let all = applied(&fixed.text, &edits);
        let then = look(&all)?;
        if is_better(&found, &then) {
            fixed = Fixed { text: all, count: fixed.count + edits.len() };
            found = then;
            continue;
        }
        // one of them does harm: each by itself, from the last on, so that the places of the others stay
        let before = fixed.count;
        for edit in edits.iter().rev() {
            let text = applied(&fixed.text, std::slice::from_ref(edit));
            let then = look(&text)?;
            if is_better(&found, &then) {
                fixed = Fixed { text, count: fixed.count + 1 };
                found = then;
            }
        }
        if fixed.count == before {
            break;
        }
    }
    Ok(fixed)
}

fn examine(source: Source, meaning: &Meaning) -> Result<Vec<Diagnostic>> {
    Ok(match Front::open(source, meaning)? {
        Ok(front) => front.findings(),
        Err(wrong) => wrong.found,
    })
}

/// Edits that change what a program computes are for the author.
const fn is_safe(code: Code) -> bool {
    !matches!(code, Code::E0203)
}

/// The edits of the source's own file, in order, none overlapping another.
fn edits(found: &[Diagnostic], text: &str) -> Vec<Edit> {
    let own = FileId::default();
    let first = |diagnostic: &Diagnostic| diagnostic.helps.iter().find_map(|help| help.edit.clone());
    let proposed = found.iter().filter(|diagnostic| is_safe(diagnostic.code)).filter_map(first);
    let mut edits: Vec<Edit> = proposed
        .filter(|(span, _)| span.file == own)
        .map(|(Span { start, end, .. }, replacement)| (start as usize, end as usize, replacement))
        .filter(|(start, end, _)| text.get(*start..*end).is_some())
        .collect();
    edits.sort();
    let mut kept: Vec<Edit> = Vec::new();
    for edit in edits {
        let clear = kept.last().is_none_or(|last| edit.0 >= last.1 && edit.0 != last.0);
        if clear {
            kept.push(edit);
        }
    }
    kept
}

/// The text with edits in ascending order.
fn applied(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, replacement) in edits {
        result.push_str(text.get(at..*start).unwrap_or_default());
        result.push_str(replacement);
        at = *end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

/// In which phase of the compiler an error is found: later ones look only at what the earlier ones have passed.
fn phase(code: Code) -> usize {
    let id = code.id();
    match id {
        _ if id.starts_with("E01") => 0,
        "E0215" | "E0216" => 2,
        _ if id.starts_with('W') || matches!(code, Code::E0510 | Code::E0511) => 3,
        _ => 1,
    }
}

/// How many errors each phase has, and how many warnings there are.
fn measure(found: &[Diagnostic]) -> [usize; 5] {
    let mut counts = [0; 5];
    for diagnostic in found {
        let place = if diagnostic.severity == Severity::Error { phase(diagnostic.code) } else { 4 };
        if let Some(count) = counts.get_mut(place) {
            *count += 1;
        }
    }
    counts
}

/// Whether less is wrong than before, and no error is new but for those of a phase that did not come to its turn before.
fn is_better(before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let counts = measure(before);
    let reached = match counts {
        [0, 0, 0, ..] => 3,
        [0, 0, _, ..] => 2,
        _ => 1,
    };
    let errors = |list: &[Diagnostic]| {
        let mut errors: HashMap<(Code, String), usize> = HashMap::new();
        for diagnostic in list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error) {
            *errors.entry((diagnostic.code, diagnostic.message.clone())).or_default() += 1;
        }
        errors
    };
    let known = errors(before);
    let is_new = |(error, count): (&(Code, String), &usize)| {
        phase(error.0) <= reached && *count > known.get(error).copied().unwrap_or(0)
    };
    measure(after) < counts && !errors(after).iter().any(is_new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(text: &str) -> Fixed {
        let meaning = Meaning::default();
        let source = |text: &str| Source { name: "a.cdp".to_owned(), text: text.to_owned() };
        let once = fix(&source(text), &meaning).unwrap();
        let twice = fix(&source(&once.text), &meaning).unwrap();
        assert_eq!((&twice.text, twice.count), (&once.text, 0), "a second time changes nothing");
        once
    }

    #[test]
    fn several_mistakes_of_several_phases() {
        let text = "kernel child(x: *global i32, y: *global i32) { y[threadIdx.x] = x[thredIdx.x] }
kernel parent(x: *global i32, y: *global i32) {
    x[threadIdx.x] = 1;
    if threadIdx.x == 0 { chid<<<1, 256>>>(x, y); }
}
";
        let wanted =
            text.replace("thredIdx.x] }", "threadIdx.x]; }").replace("chid", "child").replace("= 1;", "= 1; __syncthreads();");
        assert_eq!(fixed(text), Fixed { text: wanted, count: 4 });
    }

    #[test]
    fn flags_that_the_device_wants() {
        let text = "kernel k(x: *global i32) {
    var s: cudaStream_t;
    var e: cudaEvent_t;
    cudaStreamCreateWithFlags(&s, 0);
    cudaEventCreateWithFlags(&e, cudaEventDefault);
    cudaStreamDestroy(s);
    cudaEventDestroy(e);
}
";
        let wanted = text.replace("&s, 0", "&s, cudaStreamNonBlocking").replace("cudaEventDefault", "cudaEventDisableTiming");
        assert_eq!(fixed(text), Fixed { text: wanted, count: 2 });
    }

    #[test]
    fn what_has_no_safe_edit_stays() {
        for text in [
            "fn f(a: i32, b: u32) -> i32 { return a + b; }\n",
            "kernel k(x: *global i32) { x[0] = nothing_like_it; }\n",
            "kernel k(x: *global i32) { x[0] = 1; }\n",
            "",
        ] {
            assert_eq!(fixed(text), Fixed { text: text.to_owned(), count: 0 });
        }
    }

    #[test]
    fn edits_that_overlap_wait() {
        let edit = |start, end, text: &str| (start, end, text.to_owned());
        assert_eq!(applied("abcdef", &[edit(1, 3, "X"), edit(3, 3, "Y"), edit(5, 6, "")]), "aXYde");
        let own = |start, end| {
            Diagnostic::new(Code::E0101, Span::new(FileId(0), start, end), "m").fix(
                "write",
                Span::new(FileId(0), start, end),
                "!",
            )
        };
        let imported = Diagnostic::new(Code::E0101, Span::new(FileId(1), 4, 5), "m").fix("w", Span::new(FileId(1), 4, 5), "!");
        let kept = edits(&[own(0, 3), own(2, 4), own(0, 3), own(3, 3), imported], "abcdef");
        assert_eq!(kept, [edit(0, 3, "!"), edit(3, 3, "!")]);
    }
}
