//! Two tests a case: its PTX is the golden one, and ptxas takes it.

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_golden::assemble::{assemble, assemble_merged};
use ptx_golden::case::{Case, cases};
use ptx_golden::compile::ptx;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = match cases() {
        Ok(cases) => trials(&cases),
        Err(error) => vec![trial("cases".to_owned(), move || Err(error))],
    };
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(cases: &[Case]) -> Vec<Trial> {
    let names: BTreeSet<String> = cases.iter().map(|case| case.name.clone()).collect();
    let mut trials = vec![trial("rule/no_orphans".to_owned(), move || no_orphans(&names))];
    for case in cases {
        let (golden, assembled) = (case.clone(), case.clone());
        trials.push(trial(format!("golden/{}", case.name), move || is_golden(&golden)));
        trials.push(trial(format!("ptxas/{}", case.name), move || is_assembled(&assembled)));
    }
    trials
}

fn trial(name: String, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name, move || check().map_err(Failed::from))
}

/// The snapshot holds the source, which has the options in its first line, and the PTX; `make bless` rewrites it.
fn is_golden(case: &Case) -> Result<(), String> {
    let ptx = shown(&ptx(case)?, &case.options.functions)?;
    let text = format!("{}\n---------- PTX\n{}", case.text, ptx);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(case.name.as_str(), text));
    Ok(())
}

/// The functions of these names, or everything.
fn shown(ptx: &str, functions: &[String]) -> Result<String, String> {
    if functions.is_empty() {
        return Ok(ptx.to_owned());
    }
    let mut text = String::new();
    for name in functions {
        let is_start = |line: &str| line.contains(&format!(" {name}(")) && !line.starts_with(['\t', '/']);
        let mut lines = ptx.lines().skip_while(|line| !is_start(line)).peekable();
        lines.peek().ok_or_else(|| format!("there is no function `{name}` in the PTX"))?;
        for line in lines {
            text.push_str(line);
            text.push('\n');
            if line == "}" {
                break;
            }
        }
    }
    Ok(text)
}

fn is_assembled(case: &Case) -> Result<(), String> {
    if case.options.launch_merging {
        return assemble_merged(&case.name, &ptx(case)?, case.options.target.name());
    }
    assemble(&case.name, &ptx(case)?, case.options.target.name(), case.options.width, case.options.cdp)
}

/// Every snapshot belongs to a case.
fn no_orphans(names: &BTreeSet<String>) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("snapshots");
    let mut orphans = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let name = entry.map_err(|error| error.to_string())?.file_name().to_string_lossy().into_owned();
        let known = name.strip_suffix(".snap").is_some_and(|stem| names.contains(stem));
        if !known {
            orphans.push(name);
        }
    }
    if orphans.is_empty() {
        Ok(())
    } else {
        Err(format!("no case belongs to these; delete them from {}: {}", folder.display(), orphans.join(", ")))
    }
}
