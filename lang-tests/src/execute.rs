//! The `test` blocks of a program on the reference device, under several of the orders that the language allows: as they are, and with launches merged.

use crate::compile::Outcome;
use cdp_core::diag::Diagnostic;
use cdp_core::diag::render::{HumanOptions, human};
use cdp_core::ir::Module;
use cdp_core::pass::{self, MergeOptions};
use cdp_core::verify;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program, Schedule};
use std::fmt::Write as _;
use std::sync::Arc;

/// A program of this suite that takes more steps does not end.
const MAX_STEPS: u64 = 4_000_000_000;

/// Bytes for pushed launches: little, so that it runs out now and then.
const MERGE_MEMORY: u64 = 1 << 18;

/// Grids of fewer threads may be run in place.
const INLINE_BELOW: u32 = 1 << 16;

/// Orders that the language allows. A sound program behaves alike under all of them, and a mistake is found under all of them; races are
/// looked for under each.
pub const SCHEDULES: [Schedule; 7] = [
    Schedule::Late,
    Schedule::Eager,
    Schedule::Random { seed: 1 },
    Schedule::Random { seed: 2 },
    Schedule::Random { seed: 3 },
    Schedule::Random { seed: 4 },
    Schedule::Random { seed: 5 },
];

/// What became of a program's tests under one schedule.
#[derive(Debug, Default)]
pub struct Ran {
    /// What was printed, test after test.
    pub printed: String,
    /// Everything that was reported.
    pub reports: Vec<Diagnostic>,
    /// Which tests did not pass, with what they printed and what was reported; empty when all passed.
    pub failures: String,
}

/// What a program printed under the first schedule, test after test.
///
/// # Errors
/// When it has no tests, or some fail under one of the schedules: which and why.
pub fn run_tests(compiled: &Outcome) -> Result<String, String> {
    let module = compiled.module.as_ref().ok_or_else(|| compiled.rendering())?;
    let printed = run_all(compiled, module)?;
    for inline_below in [0, INLINE_BELOW] {
        let mut merged = module.clone();
        pass::const_fold(&mut merged);
        pass::simplify(&mut merged);
        let options = MergeOptions { memory: MERGE_MEMORY, inline_below, ..MergeOptions::default() }.on_executor();
        let found = pass::merge_launches(&mut merged, &options);
        let changed = found.sites.iter().any(|site| site.result.is_ok())
            || found.in_place.iter().any(|site| site.below.is_ok())
            || found.loops.iter().any(|site| site.result.is_ok());
        let as_before = inline_below > 0 && found.in_place.iter().all(|site| site.asked);
        if changed && !as_before {
            verify::verify(&merged).map_err(|errors| format!("the verifier refuses what merging made: {errors:?}"))?;
            let with = format!("with launches merged, grids below {inline_below} threads in place");
            run_all(compiled, &merged).map_err(|failures| format!("{failures}, {with}"))?;
        }
    }
    Ok(printed)
}

/// Under every schedule; gives what was printed under the first.
fn run_all(compiled: &Outcome, module: &Module) -> Result<String, String> {
    let program = Arc::new(Program::new(module));
    let mut printed = String::new();
    for (index, schedule) in SCHEDULES.into_iter().enumerate() {
        let ran = run_module(compiled, &program, schedule)?;
        if !ran.failures.is_empty() {
            return Err(format!("{}under {schedule:?}", ran.failures));
        }
        if index == 0 {
            printed = ran.printed;
        }
    }
    Ok(printed)
}

/// Runs a program's tests, each on a device of its own.
///
/// # Errors
/// When it does not compile, or has no tests.
pub fn run_under(compiled: &Outcome, schedule: Schedule) -> Result<Ran, String> {
    let module = compiled.module.as_ref().ok_or_else(|| compiled.rendering())?;
    run_module(compiled, &Arc::new(Program::new(module)), schedule)
}

fn run_module(compiled: &Outcome, program: &Arc<Program>, schedule: Schedule) -> Result<Ran, String> {
    let tests: Vec<(u32, String)> = program.tests().map(|(id, name)| (id, name.to_owned())).collect();
    if tests.is_empty() {
        return Err("the program needs a `test`".to_owned());
    }
    let mut printed = Vec::new();
    let mut ran = Ran::default();
    for (id, name) in tests {
        let mut device = CpuDevice::new(
            Arc::clone(program),
            CpuOptions { max_steps: Some(MAX_STEPS), schedule, races: true, ..CpuOptions::default() },
        );
        let options = Options { max_steps: Some(MAX_STEPS), ..Options::default() };
        let before = printed.len();
        let outcome = HostProgram::new(program, &mut device, &mut printed, options).run_test(id);
        let Some(outcome) = outcome.filter(|outcome| !outcome.is_ok() || !outcome.diagnostics.is_empty()) else { continue };
        let output = String::from_utf8_lossy(printed.get(before..).unwrap_or_default());
        let why = human(&compiled.sources, &outcome.diagnostics, &HumanOptions::default());
        let _ = writeln!(ran.failures, "test \"{name}\" failed\n{output}{why}");
        ran.reports.extend(outcome.diagnostics);
    }
    ran.printed = String::from_utf8_lossy(&printed).into_owned();
    Ok(ran)
}
