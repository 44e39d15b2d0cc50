//! The data files, and blessed outputs beside them.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the data is.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A data file.
#[derive(Clone, Debug)]
pub struct Case {
    /// Relative to the folder of its kind, without the extension: `launch/device_join`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// Every `.cdp` file below a folder of the suite, sorted; but for its folder `imports`, which holds what cases import.
///
/// # Errors
/// When something cannot be read, or nothing is there.
pub fn cases(folder: &str) -> Result<Vec<Case>, String> {
    let top = root().join(folder);
    let mut result = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                // what cases import is no case of its own
                if path.file_name().is_none_or(|name| name != "imports" || folder != top) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "cdp") {
                let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let relative = path.strip_prefix(&top).unwrap_or(&path).with_extension("");
                let name = relative.to_string_lossy().replace('\\', "/");
                result.push(Case { name, path, text });
            }
        }
    }
    if result.is_empty() {
        return Err(format!("{} holds no case", top.display()));
    }
    result.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(result)
}

impl Case {
    /// The folder that the file is in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(root())
    }

    /// The file's name without its folder, which diagnostics show.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Whether outputs are to be taken as the expected ones (`CDPC_BLESS=1`, `make bless`).
#[must_use]
pub fn blessing() -> bool {
    std::env::var_os("CDPC_BLESS").is_some_and(|value| value == "1")
}

/// Compares an output with the blessed file, or writes the file when blessing.
///
/// # Errors
/// When they differ, or the file cannot be read or written.
pub fn compare_blessed(path: &Path, output: &str) -> Result<(), String> {
    if blessing() {
        return fs::write(path, output).map_err(|error| format!("{}: {error}", path.display()));
    }
    let blessed = fs::read_to_string(path).map_err(|error| {
        format!(
            "{}: {error}\nto take the present output as the expected one: CDPC_BLESS=1 cargo test -p lang-tests",
            path.display()
        )
    })?;
    if blessed == output {
        return Ok(());
    }
    let mut text = format!("the output differs from {}\n", path.display());
    for line in differing_lines(&blessed, output) {
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str("if the new output is right: CDPC_BLESS=1 cargo test -p lang-tests (or `make bless`), then read the diff");
    Err(text)
}

/// The lines between the common beginning and the common end: `-` blessed, `+` new.
fn differing_lines(blessed: &str, output: &str) -> Vec<String> {
    let old: Vec<&str> = blessed.lines().collect();
    let new: Vec<&str> = output.lines().collect();
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let part = |lines: &[&str], sign: char| -> Vec<String> {
        lines.iter().skip(start).take(lines.len() - start - end).map(|line| format!("  {sign} {line}")).collect()
    };
    let mut result = part(&old, '-');
    result.extend(part(&new, '+'));
    result
}

/// Blessed files whose source is gone.
///
/// # Errors
/// When there is one, or a folder cannot be read.
pub fn no_orphans(folder: &str, extension: &str) -> Result<(), String> {
    let mut folders = vec![root().join(folder)];
    let mut orphans = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) && !path.with_extension("cdp").exists() {
                orphans.push(path.display().to_string());
            }
        }
    }
    if orphans.is_empty() { Ok(()) } else { Err(format!("no source belongs to these; delete them:\n{}", orphans.join("\n"))) }
}
