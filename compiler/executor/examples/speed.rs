//! How fast programs run: `cargo run --release -p cdp-executor --example speed`, on a machine that does nothing else.
//!
//! Three kinds of programs, each without and with races looked for, in turns; it prints medians as a table for docs/measurements.md. A step is
//! a statement of the IR; a line of source is several.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a program for people")]

#[path = "../tests/support/loads.rs"]
mod loads;

use cdp_core::lower::{LowerOptions, lower};
use cdp_core::source::SourceMap;
use cdp_core::{sema, syntax};
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program};
use std::sync::Arc;
use std::time::Instant;

/// How often each program runs; the median is what counts.
const ROUNDS: usize = 9;

/// Blocks, or rounds of launches.
const SIZE: u32 = 32;

fn program(text: &str) -> Arc<Program> {
    let mut sources = SourceMap::new();
    let file = sources.add("speed.cdp", text);
    let (tree, parsed) = syntax::parse(file, text);
    let (program, checked) = sema::check(&[tree], &sources, sema::Options::default());
    assert!(!parsed.has_errors() && !checked.has_errors(), "{checked:?}");
    let (module, _) = lower(program, &LowerOptions::default());
    Arc::new(Program::new(&module))
}

/// Steps and seconds of one run.
fn once(program: &Arc<Program>, races: bool) -> (u64, f64) {
    let mut device = CpuDevice::new(Arc::clone(program), CpuOptions { races, ..CpuOptions::default() });
    let mut output = Vec::new();
    let start = Instant::now();
    let outcome = HostProgram::new(program, &mut device, &mut output, Options::default()).run_function("main").unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(outcome.is_ok(), "{outcome:?}");
    (device.steps(), seconds)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let programs: Vec<Arc<Program>> = loads::LOADS.iter().map(|load| program(&(load.text)(SIZE))).collect();
    let mut seconds = vec![[Vec::new(), Vec::new()]; programs.len()];
    let mut steps = vec![0; programs.len()];
    for _ in 0..ROUNDS {
        for (place, program) in programs.iter().enumerate() {
            for races in [false, true] {
                let (taken, time) = once(program, races);
                steps[place] = taken;
                seconds[place][usize::from(races)].push(time);
            }
        }
    }
    println!("| program | what it does | steps | ms | million steps/s | with races, ms | million steps/s | times slower |");
    println!("|---|---|---|---|---|---|---|---|");
    for ((load, steps), [plain, races]) in loads::LOADS.iter().zip(steps).zip(seconds) {
        let (plain, races) = (median(plain), median(races));
        let rate = |seconds: f64| steps as f64 / seconds / 1e6;
        println!(
            "| {} | {} | {steps} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} |",
            load.name,
            load.about,
            plain * 1e3,
            rate(plain),
            races * 1e3,
            rate(races),
            races / plain
        );
    }
}
