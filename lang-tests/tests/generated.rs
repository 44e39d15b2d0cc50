//! Generated programs on the reference executor: sound under every order, and the same number before and after the passes. `CDPC_GENERATED_CASES` says how
//! many (default 60).
#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use cdp_core::pass;
use lang_tests::compile::{Outcome, compile};
use lang_tests::data::root;
use lang_tests::execute::run_tests;
use lang_tests::generate::program;

fn compiled(seed: u64) -> Outcome {
    let text = program(seed, None);
    let outcome = compile(root(), "generated.cdp", &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
    assert!(outcome.module.is_some() && outcome.diagnostics.is_empty(), "seed {seed}:\n{}\n{text}", outcome.rendering());
    outcome
}

#[test]
fn generated_programs_are_sound_and_passes_keep_their_meaning() {
    let count = std::env::var("CDPC_GENERATED_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    for seed in 0..count {
        let before = compiled(seed);
        let number = run_tests(&before).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", program(seed, None)));
        let mut after = before;
        if let Some(module) = &mut after.module {
            pass::const_fold(module);
            pass::simplify(module);
        }
        let same =
            run_tests(&after).unwrap_or_else(|error| panic!("seed {seed}, after the passes: {error}\n{}", program(seed, None)));
        assert_eq!(number, same, "the passes changed what program {seed} prints:\n{}", program(seed, None));
    }
}
