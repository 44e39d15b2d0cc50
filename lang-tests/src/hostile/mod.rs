//! What must hold for any input whatsoever: no panic, no endless run, places inside the text, and the promises of each phase.
//!
//! One function a phase; each panics where its promise is broken, in words that say which. They are run by `tests/hostile.rs` over inputs that
//! [`mutate`] makes, and by the fuzzer in `fuzz/` over inputs that it finds itself; `tests/kept.rs` tries again those that were worth keeping.

#![allow(clippy::panic, reason = "a broken promise is a failed test")]

pub mod mutate;
pub mod target;

use cdp_core::builtins::Cdp;
use cdp_core::diag::Diagnostic;
use cdp_core::diag::render::{HumanOptions, human, json, short};
use cdp_core::ir::{self, Module};
use cdp_core::lower::{self, LowerOptions};
use cdp_core::pass::{self, LaunchOptions};
use cdp_core::source::{FileId, SourceMap, Span};
use cdp_core::{imports, rules, sema, syntax, verify};

/// The longest input that is worth trying: longer ones only cost time.
const MAX_BYTES: usize = 64 << 10;

/// Tokens follow each other, none empty, all inside the text and on characters' borders.
pub fn tokens(text: &str) {
    let (spans, diagnostics) = syntax::tokens(FileId(0), text);
    let mut end = 0;
    for span in spans {
        inside(text, span, "a token");
        assert!(span.start >= end && span.end > span.start, "token {span:?} begins before the end of the one before it, {end}");
        end = span.end;
    }
    placed(text, &diagnostics.finish());
}

/// Parsing gives a tree whose items are inside the text, and diagnostics that are.
pub fn tree(text: &str) {
    let (file, diagnostics) = syntax::parse(FileId(0), text);
    for item in &file.items {
        inside(text, item.span, "an item");
    }
    placed(text, &diagnostics.finish());
}

/// What parses has a layout: with the same tokens, that parses, and that formatting leaves alone.
pub fn format(text: &str) {
    let Ok(once) = syntax::format(FileId(0), text) else { return };
    let (_, diagnostics) = syntax::parse(FileId(0), &once);
    assert!(!diagnostics.has_errors(), "formatted text does not parse:\n{once}");
    let words = |text: &str| -> Vec<String> {
        let (spans, _) = syntax::tokens(FileId(0), text);
        spans.iter().map(|span| text.get(span.range()).unwrap_or_default().trim_end().to_owned()).collect()
    };
    assert_eq!(words(text), words(&once), "formatting changed the tokens");
    let twice = syntax::format(FileId(0), &once).unwrap_or_default();
    assert_eq!(once, twice, "formatting twice differs from formatting once");
}

/// The front end and the passes before code generation: what is accepted is a module that the verifier accepts, before and after, and whose text
/// form reads back; what is not is shown in every form.
pub fn program(text: &str) -> Option<Module> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut sources = SourceMap::new();
    let file = sources.add("input.cdp", text);
    let mut nothing = |_: &str, _: &str| Err("there is no other file".to_owned());
    let (trees, mut found) = imports::parse_all(&mut sources, file, &mut nothing);
    let (program, more) = sema::check(&trees, &sources, sema::Options::default());
    found.extend(more);
    let mut module = None;
    if !found.has_errors() {
        let (lowered, more) = lower::lower(program, &LowerOptions::default());
        found.extend(more);
        module = (!found.has_errors()).then_some(lowered);
    }
    if let Some(module) = &module {
        sound(module, "lowering");
        reads_back(module);
        let mut levels = rules::Levels::new();
        trees.iter().for_each(|tree| levels.read(tree));
        found.extend(rules::check(module, &levels, Cdp::Cdp2));
        let mut lowered = module.clone();
        pass::const_fold(&mut lowered);
        sound(&lowered, "constant folding");
        pass::simplify(&mut lowered);
        sound(&lowered, "simplification");
        found.extend(pass::check_launch_hints(&lowered));
        let (_, more) = pass::lower_launches(&mut lowered, &LaunchOptions::default());
        found.extend(more);
        sound(&lowered, "the lowering of launches");
        reads_back(&lowered);
    }
    let found = found.finish();
    placed(text, &found);
    let _ = human(&sources, &found, &HumanOptions::default());
    let _ = short(&sources, &found);
    let _ = json(&sources, &found);
    module
}

/// IR text is read or refused; what is read is printed as text that reads as the same module, and the verifier takes or refuses it.
pub fn ir_text(text: &str) {
    let Ok(module) = ir::parse(text) else { return };
    reads_back(&module);
    if verify::verify(&module).is_ok() {
        let _ = rules::check(&module, &rules::Levels::new(), Cdp::Cdp2);
    }
}

fn sound(module: &Module, stage: &str) {
    if let Err(errors) = verify::verify(module) {
        let list: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{stage} made a module that the verifier refuses:\n{}\n{}", list.join("\n"), ir::print(module));
    }
}

fn reads_back(module: &Module) {
    let text = ir::print(module);
    match ir::parse(&text) {
        Ok(again) => assert_eq!(text, ir::print(&again), "IR text changes when it is read and printed"),
        Err(error) => panic!("printed IR is not read: {error}\n{text}"),
    }
}

/// Every place of every diagnostic is in the text.
fn placed(text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let edits = diagnostic.helps.iter().filter_map(|help| help.edit.as_ref().map(|(span, _)| *span));
        let labels = diagnostic.secondary.iter().map(|label| label.span);
        for span in edits.chain(labels).chain([diagnostic.primary.span]) {
            inside(text, span, &diagnostic.message);
        }
    }
}

fn inside(text: &str, span: Span, what: &str) {
    assert!(
        text.get(span.range()).is_some(),
        "{span:?} of {what} is not in the text of {} bytes, or splits a character",
        text.len()
    );
}
