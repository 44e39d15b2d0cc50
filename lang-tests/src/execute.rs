//! The `test` blocks of a program on the reference device.

use crate::compile::Outcome;
use cdp_core::diag::render::{HumanOptions, human};
use cdp_executor::cpu::Schedule;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program};
use std::fmt::Write as _;
use std::sync::Arc;

/// A program of this suite that takes more steps does not end.
const MAX_STEPS: u64 = 4_000_000_000;

/// Orders that the language allows: a program behaves alike under all of them, or it has a mistake. Races are looked for under the first,
/// which finds those of every order.
const SCHEDULES: [Schedule; 4] = [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 1 }, Schedule::Random { seed: 2 }];

/// What a program printed under the first schedule, test after test.
///
/// # Errors
/// When it has no tests, or some fail under one of the schedules: which and why.
pub fn run_tests(compiled: &Outcome) -> Result<String, String> {
    let mut printed = String::new();
    for (index, schedule) in SCHEDULES.into_iter().enumerate() {
        let output = run_under(compiled, schedule).map_err(|failures| format!("{failures}under {schedule:?}"))?;
        if index == 0 {
            printed = output;
        }
    }
    Ok(printed)
}

fn run_under(compiled: &Outcome, schedule: Schedule) -> Result<String, String> {
    let module = compiled.module.as_ref().ok_or_else(|| compiled.rendering())?;
    let program = Arc::new(Program::new(module));
    let tests: Vec<(u32, String)> = program.tests().map(|(id, name)| (id, name.to_owned())).collect();
    if tests.is_empty() {
        return Err("a program of run/ needs a `test`".to_owned());
    }
    let mut printed = Vec::new();
    let mut failures = String::new();
    for (id, name) in tests {
        // a device of its own: tests share nothing
        let mut device = CpuDevice::new(
            Arc::clone(&program),
            CpuOptions { max_steps: Some(MAX_STEPS), schedule, races: schedule == Schedule::Late, ..CpuOptions::default() },
        );
        let options = Options { max_steps: Some(MAX_STEPS), ..Options::default() };
        let before = printed.len();
        let outcome = HostProgram::new(&program, &mut device, &mut printed, options).run_test(id);
        let Some(outcome) = outcome.filter(|outcome| !outcome.is_ok()) else { continue };
        let output = String::from_utf8_lossy(printed.get(before..).unwrap_or_default());
        let why = human(&compiled.sources, &outcome.diagnostics, &HumanOptions::default());
        let _ = writeln!(failures, "test \"{name}\" failed\n{output}{why}");
    }
    if failures.is_empty() { Ok(String::from_utf8_lossy(&printed).into_owned()) } else { Err(failures) }
}
