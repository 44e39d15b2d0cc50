//! `cdpc explain CODE`: the error index.

use std::fmt::Write as _;

use cdp_core::diag::Code;
use cdp_core::rules::Lint;

use crate::failure::{Failure, Result};
use crate::report::Reporter;
use crate::style::Style;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The code, for example `E0401`, or a lint's name; without it all are listed
    code: Option<String>,
}

/// # Errors
/// When there is no such code.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let style = reporter.style_out();
    let Some(wanted) = &args.code else {
        let mut list = String::new();
        for code in Code::ALL {
            let name = Lint::of(*code).map_or_else(String::new, |lint| format!(" (`{}`)", lint.name));
            let _ = writeln!(list, "{}  {}{name}", style.bold(code.id()), code.title());
        }
        return terminal::print(list);
    };
    let Some(code) = Code::from_id(wanted).or_else(|| Lint::from_name(wanted).map(|lint| lint.code)) else {
        return Err(Failure::usage(format!("there is no error code `{wanted}`, nor a lint of that name"))
            .help("`cdpc explain` lists all of them"));
    };
    terminal::print(markdown(code.explanation(), style))
}

/// Markdown as it is, with headings and code set off.
fn markdown(text: &str, style: Style) -> String {
    let mut out = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        let shown = match line.strip_prefix("# ") {
            _ if in_code => format!("    {line}"),
            Some(heading) => style.bold(heading),
            None => line.to_owned(),
        };
        out.push_str(shown.trim_end());
        out.push('\n');
    }
    out
}
