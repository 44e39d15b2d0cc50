//! `cdpc doctor`: what of the CUDA toolkit, the driver and GPUs is there.

use std::fmt::Write as _;

use cdp_runtime::toolkit::doctor::{self, Finding, State};

use crate::failure::{Failure, Result, USAGE};
use crate::options::ToolkitArgs;
use crate::report::Reporter;
use crate::style::Style;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Fail (exit code 2) unless this can be done here
    #[arg(long, value_enum, default_value = "build")]
    require: Require,
    /// Only the exit code
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    toolkit: ToolkitArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Require {
    /// Build cubins
    Build,
    /// Build cubins and run them on a GPU
    Gpu,
    /// Nothing
    Nothing,
}

/// # Errors
/// When what `--require` names is not there.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let findings = doctor::report(&args.toolkit.search());
    if !args.quiet {
        terminal::print(text(&findings, reporter.style_out()))?;
    }
    let buildable = findings.iter().all(|finding| finding.state != State::Missing);
    let runnable = findings.iter().any(|finding| finding.subject.starts_with("GPU ") && finding.state == State::Good);
    let satisfied = match args.require {
        Require::Build => buildable,
        Require::Gpu => buildable && runnable,
        Require::Nothing => true,
    };
    if satisfied { Ok(()) } else { Err(Failure::Told(USAGE)) }
}

fn text(findings: &[Finding], style: Style) -> String {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
    let mut out = String::new();
    for finding in findings {
        let mark = match finding.state {
            State::Good => style.good("ok     "),
            State::Doubtful => style.warning("doubt  "),
            State::MissingOptional => style.dim("absent "),
            State::Missing => style.error("missing"),
        };
        let subject = format!("{:width$}", finding.subject);
        let _ = write!(out, "{mark}  {}", style.bold(&subject));
        if let Some(version) = &finding.version {
            let _ = write!(out, "  {version}");
        }
        if let Some(path) = &finding.path {
            let _ = write!(out, "  {}", path.display());
        }
        if let Some(place) = &finding.found_by {
            let _ = write!(out, "  ({place})");
        }
        let _ = write!(out, "\n         {:width$}  {}\n", "", style.dim(&finding.detail));
        for path in &finding.looked_at {
            let _ = writeln!(out, "         {:width$}  {}", "", style.dim(&format!("not at {}", path.display())));
        }
    }
    out
}
