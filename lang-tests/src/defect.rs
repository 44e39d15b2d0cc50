//! Programs with one mistake that shows only when they run, each with a twin without it.
//!
//! `defects/**/NAME.cdp` has the mistake, `NAME.ok.cdp` differs from it by what mends it. `//~ E0740` stands behind every line that the
//! report must show; the place that it points at must be one of them. `//~? E0720` behind a line allows a report there, which some orders
//! give as well: an assertion on a value that a race spoils. The first line `// schedules: late` names the only orders in which the
//! mistake can show; the line behind it says why.

use crate::annotation::{annotations, without_annotations};
use crate::compile::{Outcome, compile};
use crate::data::{Case, compare_blessed};
use crate::execute::{Ran, SCHEDULES, run_under};
use cdp_core::diag::{Code, Diagnostic};
use cdp_core::source::SourceMap;
use cdp_executor::Schedule;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A twin differs in no more lines than this, comments not counted.
const MOST_DIFFERENT: usize = 10;

/// A line and the code reported there.
type Place = (u32, Code);

/// Where the twin of a defect is.
#[must_use]
pub fn twin(case: &Case) -> PathBuf {
    case.path.with_extension("ok.cdp")
}

/// Whether a case is a twin.
#[must_use]
pub fn is_twin(case: &Case) -> bool {
    case.path.to_string_lossy().ends_with(".ok.cdp")
}

/// The mistake is reported where the annotations say, in every order in which it can show; the rendering of the first order is the blessed one.
///
/// # Errors
/// When that is not so, or the twin is missing or another program.
pub fn check(case: &Case) -> Result<(), String> {
    let (firm, lenient) = split_annotations(&case.text);
    let expected = annotations(&firm)?;
    let allowed = annotations(&lenient)?;
    if expected.is_empty() {
        return Err("a defect needs a `//~ CODE`".to_owned());
    }
    differs_by_a_fix(case)?;
    let text = without_annotations(&case.text);
    let compiled = compile(case.folder(), &case.file_name(), &text)?;
    let schedules = schedules(&text)?;
    for schedule in SCHEDULES {
        let ran = run_under(&compiled, schedule)?;
        if !schedules.contains(&name(schedule)) && ran.reports.is_empty() {
            continue;
        }
        let wrong = differences(&expected, &allowed, &compiled.sources, &ran.reports);
        if !wrong.is_empty() {
            return Err(format!("{}, {schedule:?}:\n{wrong}\n{}", case.path.display(), ran.failures));
        }
    }
    compare_blessed(&case.path.with_extension("stderr"), &first_rendering(&compiled, &schedules)?)
}

/// A twin says nothing and passes, in every order.
///
/// # Errors
/// When it does not.
pub fn check_twin(case: &Case) -> Result<(), String> {
    let defect = PathBuf::from(case.path.to_string_lossy().replace(".ok.cdp", ".cdp"));
    if !defect.exists() {
        return Err(format!("{}: there is no defect that it mends", case.path.display()));
    }
    let compiled = compile(case.folder(), &case.file_name(), &case.text)?;
    for schedule in SCHEDULES {
        let ran = run_under(&compiled, schedule)?;
        if !ran.failures.is_empty() {
            return Err(format!("{}, {schedule:?}:\n{}", case.path.display(), ran.failures));
        }
    }
    Ok(())
}

/// So many of a kind there are at least; those that only some orders show are not counted.
const KINDS: [(&str, usize); 6] =
    [("parent_and_child", 10), ("siblings", 6), ("barriers", 4), ("pointers", 6), ("handles", 6), ("others", 8)];

/// There are enough defects of each kind that show in every order.
///
/// # Errors
/// When there are too few of one.
pub fn of_every_kind(cases: &[Case]) -> Result<(), String> {
    for (kind, least) in KINDS {
        let in_every_order =
            |case: &&Case| !is_twin(case) && case.name.starts_with(kind) && !case.text.starts_with("// schedules:");
        let count = cases.iter().filter(in_every_order).count();
        if count < least {
            return Err(format!("{kind} has {count} defects, {least} are wanted"));
        }
    }
    Ok(())
}

fn name(schedule: Schedule) -> &'static str {
    match schedule {
        Schedule::Late => "late",
        Schedule::Eager => "eager",
        Schedule::Random { .. } => "random",
    }
}

/// The orders in which a defect must show: all, unless the first line names some.
fn schedules(text: &str) -> Result<Vec<&'static str>, String> {
    let all = ["late", "eager", "random"];
    let Some(list) = text.lines().next().and_then(|line| line.strip_prefix("// schedules:")) else { return Ok(all.to_vec()) };
    let named = |word: &str| all.into_iter().find(|known| *known == word).ok_or_else(|| format!("`{word}` is no schedule"));
    let list: Vec<&str> = list.split_whitespace().map(named).collect::<Result<_, _>>()?;
    if list.is_empty() { Err("`// schedules:` names no schedule".to_owned()) } else { Ok(list) }
}

fn first_rendering(compiled: &Outcome, schedules: &[&str]) -> Result<String, String> {
    let first = SCHEDULES.into_iter().find(|schedule| schedules.contains(&name(*schedule)));
    let Ran { failures, .. } = run_under(compiled, first.unwrap_or_default())?;
    Ok(failures)
}

/// The text with the firm annotations alone, and with the lenient ones alone.
fn split_annotations(text: &str) -> (String, String) {
    let mut parts = (String::new(), String::new());
    for line in text.lines() {
        let lenient = line.contains("//~?");
        let (with, without) = if lenient { (&mut parts.1, &mut parts.0) } else { (&mut parts.0, &mut parts.1) };
        with.push_str(&line.replace("//~?", "//~"));
        without.push_str(line.split("//~").next().unwrap_or_default());
        parts.0.push('\n');
        parts.1.push('\n');
    }
    parts
}

/// What is reported elsewhere or not at all, a line each; empty when all is as expected.
fn differences(expected: &[Place], allowed: &[Place], sources: &SourceMap, reports: &[Diagnostic]) -> String {
    let line = |span| sources.line_column(span).line;
    let mut text = String::new();
    let mut shown: Vec<Place> = Vec::new();
    for report in reports {
        let place = (line(report.primary.span), report.code);
        if expected.contains(&place) {
            shown.push(place);
            shown.extend(report.secondary.iter().map(|label| (line(label.span), report.code)));
        } else if !allowed.contains(&place) {
            let _ = writeln!(text, "  line {}: {} is reported, but not expected: {}", place.0, place.1.id(), report.message);
        }
    }
    for (line, code) in expected.iter().filter(|place| !shown.contains(place)) {
        let _ = writeln!(text, "  line {line}: {} is expected, but not shown", code.id());
    }
    text
}

/// The twin is there, and differs in a few lines.
fn differs_by_a_fix(case: &Case) -> Result<(), String> {
    let path = twin(case);
    let twin = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let code = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    let (wrong, right) = (code(&case.text), code(&twin));
    let only = |a: &[String], b: &[String]| a.iter().filter(|line| !b.contains(line)).count();
    let differing = only(&wrong, &right) + only(&right, &wrong) + wrong.len().abs_diff(right.len());
    if wrong == right {
        return Err(format!("{} is the same program", path.display()));
    }
    if differing > MOST_DIFFERENT {
        return Err(format!("{} is another program: {differing} lines differ", path.display()));
    }
    Ok(())
}
