//! Random launch trees: the same values in every schedule and no race; with one edge taken out, always a report.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use cdp_executor::{Schedule, Status};
use std::collections::BTreeMap;
use support::trees::{file, tree};

const SCHEDULES: [Schedule; 5] = [
    Schedule::Late,
    Schedule::Eager,
    Schedule::Random { seed: 11 },
    Schedule::Random { seed: 12 },
    Schedule::Random { seed: 13 },
];

/// A number that is given from outside, or one that takes seconds.
fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `CDP_TREES=1000 CDP_BROKEN_TREES=500 cargo test -p cdp-executor --test trees -- --nocapture`, nightly.
#[test]
fn sound_trees_give_the_same_values_in_every_schedule_and_no_report() {
    let trees = number("CDP_TREES", 200);
    let mut grids = 0;
    for seed in 0..trees {
        let tree = tree(seed, None);
        grids += tree.grids;
        let compiled = support::compile(&tree.program());
        for schedule in SCHEDULES {
            let ran = compiled.run_scheduled("main", Some(100_000_000), schedule, true);
            assert_eq!(ran.outcome.status, Status::Ok, "seed {seed}, {schedule:?}\n{}\n{}", ran.rendering, tree.program());
        }
    }
    println!("{trees} trees of {grids} grids, each in {} orders", SCHEDULES.len());
    assert!(grids as u64 > trees * 4, "{grids} grids");
}

#[test]
fn without_one_edge_something_is_reported() {
    let trees = number("CDP_BROKEN_TREES", 200);
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..trees {
        let edges = tree(seed, None).edges;
        let omit = (seed as usize * 7 + 3) % edges;
        let tree = tree(seed, Some(omit));
        let compiled = support::compile(&tree.program());
        for schedule in SCHEDULES {
            let ran = compiled.run_scheduled("main", Some(100_000_000), schedule, true);
            // a wrong value is chance; without the barrier between two launching threads, one may find no stream or event yet
            let code = ran.outcome.diagnostics.iter().map(|d| d.code.id()).find(|id| ["E0740", "E0741", "E0734"].contains(id));
            let place = format!("seed {seed}, edge {omit} of {edges}, {schedule:?}");
            let code = code.unwrap_or_else(|| panic!("{place}\n{}\n{}", ran.rendering, tree.program()));
            *codes.entry(code).or_default() += 1;
        }
    }
    println!("{trees} trees without one edge, each in {} orders: {codes:?}", SCHEDULES.len());
    assert!(codes["E0740"] > trees * 4, "{codes:?}");
}

#[test]
fn trees_are_made_of_everything() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..500 {
        for feature in tree(seed, None).features {
            *counts.entry(feature).or_default() += 1;
        }
    }
    // 12 types, and 14 ways to launch
    assert_eq!(counts.len(), 26, "{counts:?}");
    assert!(counts.values().all(|count| *count >= 20), "{counts:?}");
}

#[test]
fn a_file_of_trees_is_a_program() {
    let compiled = support::compile(&file(1000..1010));
    let ran = compiled.run("trees 1000 to 1009", None);
    assert_eq!(ran.outcome.status, Status::Ok, "{}{}", ran.output, ran.rendering);
}
