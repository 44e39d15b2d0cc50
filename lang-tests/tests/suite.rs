//! One test a data file, an error code, or a rule of the suite itself.

use cdp_core::diag::Code;
use lang_tests::annotation::{annotations, difference, without_annotations};
use lang_tests::compile::compile;
use lang_tests::data::{Case, cases, compare_blessed, no_orphans};
use lang_tests::execute::run_tests;
use lang_tests::{agree, defect, index};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            let trial = Trial::test("data", move || Err(Failed::from(error)));
            libtest_mimic::run(&arguments, vec![trial]).exit_code()
        }
    }
}

type Check = fn(&Case) -> Result<(), String>;

fn trials() -> Result<Vec<Trial>, String> {
    let mut trials = Vec::new();
    let kinds: [(&str, Check); 3] = [("check-fail", check_fail), ("check-pass", check_pass), ("run", run)];
    for (kind, check) in kinds {
        for case in cases(kind)? {
            trials.push(trial(format!("{kind}/{}", case.name), move || check(&case)));
        }
    }
    for case in cases("defects")? {
        let check = if defect::is_twin(&case) { defect::check_twin } else { defect::check };
        trials.push(trial(format!("defects/{}", case.name), move || check(&case)));
    }
    for code in Code::ALL.iter().copied() {
        trials.push(trial(format!("index/{}", code.id()), move || index::check(code)));
    }
    for case in cases("bench")? {
        let check: Check = if case.text.contains("\ntest \"") { run } else { check_pass };
        trials.push(trial(format!("bench/{}", case.name), move || check(&case)));
    }
    trials.push(trial("rule/reports_have_tests".to_owned(), lang_tests::reports::tests_are_there));
    trials.push(trial("rule/lints_have_cases".to_owned(), lints_have_cases));
    trials.push(trial("rule/allowances_have_reasons".to_owned(), allowances_have_reasons));
    trials.push(trial("rule/every_code_has_a_case".to_owned(), every_code_has_a_case));
    trials.push(trial("rule/executor_and_compiler_agree".to_owned(), agree::check));
    trials.push(trial("rule/page_of_the_executor".to_owned(), agree::page));
    trials.push(trial("rule/defects_of_every_kind".to_owned(), || defect::of_every_kind(&cases("defects")?)));
    trials.push(trial("rule/sections_of_the_guide".to_owned(), lang_tests::guide::sections_exist));
    trials.push(trial("rule/no_orphans".to_owned(), || no_orphans("check-fail", "stderr")));
    trials.push(trial("rule/no_orphans_of_defects".to_owned(), || no_orphans("defects", "stderr")));
    trials.push(trial("rule/no_orphans_of_run".to_owned(), || no_orphans("run", "stdout")));
    Ok(trials)
}

fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || check().map_err(Failed::from))
}

/// The codes and their lines are the annotated ones, and the rendering is the blessed one.
fn check_fail(case: &Case) -> Result<(), String> {
    let expected = annotations(&case.text)?;
    if expected.is_empty() {
        return Err("a case of check-fail needs a `//~ CODE`".to_owned());
    }
    let outcome = compile(case.folder(), &case.file_name(), &without_annotations(&case.text))?;
    let difference = difference(&expected, &outcome.sources, &outcome.diagnostics);
    if !difference.is_empty() {
        return Err(format!("{}:\n{difference}\n{}", case.path.display(), outcome.rendering()));
    }
    compare_blessed(&case.path.with_extension("stderr"), &outcome.rendering())
}

/// Not a word, and a module that the verifier accepts.
fn check_pass(case: &Case) -> Result<(), String> {
    let outcome = compile(case.folder(), &case.file_name(), &case.text)?;
    if outcome.diagnostics.is_empty() { Ok(()) } else { Err(outcome.rendering()) }
}

/// Not a word, a module that the verifier accepts, and tests that pass on the reference device.
fn run(case: &Case) -> Result<(), String> {
    let outcome = compile(case.folder(), &case.file_name(), &case.text)?;
    if !outcome.diagnostics.is_empty() {
        return Err(outcome.rendering());
    }
    let printed = run_tests(&outcome)?;
    let blessed = case.path.with_extension("stdout");
    if blessed.exists() { compare_blessed(&blessed, &printed) } else { Ok(()) }
}

/// A program of the suite that trips a lint says why it does.
fn allowances_have_reasons() -> Result<(), String> {
    let mut wrong = Vec::new();
    for folder in ["run", "check-pass", "bench"] {
        for case in cases(folder)? {
            let bare = case.text.split("@allow(").skip(1).any(|rest| !rest.split(')').next().unwrap_or("").contains('"'));
            wrong.extend(bare.then(|| format!("{folder}/{}", case.name)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("an `@allow` without a reason in {}", wrong.join(", "))) }
}

/// Every lint has two cases that show it, and the suite is as large as it was meant to be.
fn lints_have_cases() -> Result<(), String> {
    let cases = cases("check-fail")?;
    let shown = |code: Code| {
        let shows = |case: &&Case| annotations(&case.text).is_ok_and(|list| list.iter().any(|(_, shown)| *shown == code));
        cases.iter().filter(shows).count()
    };
    let few: Vec<&str> = cdp_core::rules::lints().iter().filter(|lint| shown(lint.code) < 2).map(|lint| lint.name).collect();
    if !few.is_empty() {
        return Err(format!("fewer than two cases of check-fail show {}", few.join(", ")));
    }
    if cases.len() < 150 { Err(format!("{} cases of check-fail are fewer than 150", cases.len())) } else { Ok(()) }
}

/// Every code that a source can show has a case, so that its rendering is blessed.
fn every_code_has_a_case() -> Result<(), String> {
    let mut shown = BTreeSet::new();
    for case in cases("check-fail")? {
        shown.extend(
            annotations(&case.text).map_err(|error| format!("{}: {error}", case.name))?.into_iter().map(|(_, code)| code),
        );
    }
    let by_source = |code: &Code| index::read(*code).is_ok_and(|explanation| explanation.examples.is_some());
    let missing: Vec<&str> =
        Code::ALL.iter().filter(|code| by_source(code) && !shown.contains(code)).map(|code| code.id()).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no case of check-fail shows {}", missing.join(", "))) }
}
