//! Random launch trees: the same values in every schedule and no race; with one edge taken out, always a race.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_executor::{Schedule, Status};
use support::trees::tree;

const SCHEDULES: [Schedule; 4] =
    [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 11 }, Schedule::Random { seed: 12 }];

/// How many trees: `CDP_TREES`, or a number that takes seconds.
fn trees() -> u64 {
    std::env::var("CDP_TREES").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn sound_trees_give_the_same_values_in_every_schedule_and_no_report() {
    let mut grids = 0;
    for seed in 0..trees() {
        let tree = tree(seed, None);
        grids += tree.grids;
        let compiled = support::compile(&tree.text);
        for schedule in SCHEDULES {
            let ran = compiled.run_scheduled("main", Some(100_000_000), schedule, true);
            assert_eq!(ran.outcome.status, Status::Ok, "seed {seed}, {schedule:?}\n{}\n{}", ran.rendering, tree.text);
            assert_eq!(ran.output, tree.expected, "seed {seed}, {schedule:?}\n{}", tree.text);
        }
    }
    assert!(grids as u64 > trees() * 4, "{grids} grids");
}

#[test]
fn without_one_edge_there_is_always_a_race() {
    let mut tried = 0;
    for seed in 0..trees() {
        let edges = tree(seed, None).edges;
        if edges == 0 {
            continue;
        }
        let omit = (seed as usize * 7 + 3) % edges;
        let tree = tree(seed, Some(omit));
        let compiled = support::compile(&tree.text);
        for schedule in SCHEDULES {
            let ran = compiled.run_scheduled("main", Some(100_000_000), schedule, true);
            let races = ran.outcome.diagnostics.iter().filter(|d| d.code.id() == "E0740").count();
            assert!(races > 0, "seed {seed}, edge {omit} of {edges}, {schedule:?}\n{}\n{}", ran.rendering, tree.text);
        }
        tried += 1;
    }
    assert!(tried > trees() / 2);
}
