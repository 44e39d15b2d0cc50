//! `cdpc check`: errors and warnings only, and the edits that mend them.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::artefact::{self, Artefact, Target};
use crate::driver::Front;
use crate::failure::{Failure, Result};
use crate::fix::{self, Fixed};
use crate::input::{self, Source};
use crate::options::Meaning;
use crate::report::Reporter;
use crate::terminal;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Sources and folders; `-` for standard input
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Carry out the edits that the messages propose, and show what is left; `-` goes to standard output
    #[arg(long)]
    fix: bool,
    /// With `--fix`: show the edits as a diff, and write no file
    #[arg(long, requires = "fix")]
    dry_run: bool,
    /// What the sources mean beyond their text
    #[command(flatten)]
    meaning: Meaning,
}

/// # Errors
/// Those of the sources; every file is checked before the first one counts.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let mut worst = None;
    for path in input::programs(&args.paths)? {
        let result = input::read(&path)
            .and_then(|source| if args.fix { fixed(source, &path, args) } else { Ok(source) })
            .and_then(|source| Front::new(source, &args.meaning, reporter))
            .and_then(|front| front.check(reporter));
        if let Err(failure) = result {
            let code = failure.exit_code();
            worst = worst.max(Some(code));
            reporter.failure(&failure);
        }
    }
    worst.map_or(Ok(()), |code| Err(Failure::Told(code)))
}

/// The source after the edits that its messages propose, written where it came from.
fn fixed(source: Source, path: &Path, args: &Args) -> Result<Source> {
    let Fixed { text, count } = fix::fix(&source, &args.meaning)?;
    if args.dry_run {
        let difference = TextDiff::from_lines(&source.text, &text);
        terminal::print(difference.unified_diff().header(&source.name, &source.name).to_string())?;
    } else if path == Path::new("-") {
        terminal::print(&text)?;
    } else if count > 0 {
        artefact::write_all(&[Artefact { target: Target::File(path.to_path_buf()), bytes: text.clone().into_bytes() }])?;
        let edits = if count == 1 { "1 edit".to_owned() } else { format!("{count} edits") };
        terminal::print(format!("{}: {edits}\n", source.name))?;
    }
    Ok(Source { text, ..source })
}
