//! Random launch trees, merged and with children in place: the same values as ever, under every schedule, without races.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod support;

use cdp_core::pass::{MergeOptions, const_fold, merge_launches, simplify};
use cdp_core::verify;
use cdp_executor::{Program, Schedule, Status};
use std::sync::Arc;
use support::trees::tree;
use support::{Compiled, compile};

/// Bytes for pushed launches: so few that it runs out, or enough; threads of children that are run in place.
const OPTIONS: [(u64, u32); 3] = [(1 << 16, 0), (1 << 20, 0), (1 << 20, 1 << 16)];
const SCHEDULES: [Schedule; 4] =
    [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 21 }, Schedule::Random { seed: 22 }];

#[test]
fn merged_trees_give_the_same_values_in_every_schedule_and_no_report() {
    let trees = std::env::var("CDP_MERGED_TREES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (mut merged, mut in_place) = (0, 0);
    for seed in 5000..5000 + trees {
        let mut text = tree(seed, None).program();
        if seed % 3 == 1 {
            let in_buckets = |line: &str| match line.contains("cudaStreamFireAndForget>>>") {
                true => line.replacen("assert(", "@merge(buckets(1)) assert(", 1),
                false => line.to_owned(),
            };
            text = text.lines().map(in_buckets).collect::<Vec<_>>().join("\n");
        }
        if seed % 3 == 0 {
            // the sizes of blocks are known only when the launches are made
            text = text.replace(", 0, cudaStreamFireAndForget>>>", " * gridDim.z, 0, cudaStreamFireAndForget>>>");
        }
        let compiled = compile(&text);
        for (memory, inline_below) in OPTIONS {
            let mut module = compiled.module.clone();
            const_fold(&mut module);
            simplify(&mut module);
            let found = merge_launches(&mut module, &MergeOptions { memory, inline_below, ..MergeOptions::default() });
            verify::verify(&module).unwrap_or_else(|errors| panic!("seed {seed}: {errors:#?}"));
            merged += found.sites.iter().filter(|site| site.result.is_ok()).count();
            in_place += found.in_place.len();
            let program = Arc::new(Program::new(&module));
            let run = Compiled { sources: compiled.sources.clone(), module, program, cdp: compiled.cdp };
            for schedule in SCHEDULES {
                let ran = run.run_scheduled("main", Some(100_000_000), schedule, true);
                let place = format!("seed {seed}, {memory} bytes, in place below {inline_below}, {schedule:?}");
                assert_eq!(ran.outcome.status, Status::Ok, "{place}\n{}\n{text}", ran.rendering);
            }
        }
    }
    assert!(merged as u64 > trees && in_place > 0, "{merged} launches merged, {in_place} in place");
}
