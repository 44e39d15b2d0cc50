//! Reading sources: files, standard input, folders of programs.

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use cdp_core::imports::Found;

use crate::failure::{Failure, Result};

/// A source text and its name in diagnostics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As the user wrote it; `<stdin>` for `-`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// What standard input is called.
pub const STDIN: &str = "<stdin>";

/// What is linked in and not compiled, by the ends of names; what a file really is, its bytes say.
const OBJECTS: [&str; 7] = ["o", "obj", "a", "ptx", "cubin", "fatbin", "lib"];

/// Sources and folders, and the objects among them, each in order.
pub fn split(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_object =
        |path: &&PathBuf| path.extension().is_some_and(|end| OBJECTS.iter().any(|known| end == *known)) && !path.is_dir();
    let (objects, sources): (Vec<_>, Vec<_>) = paths.iter().partition(is_object);
    (sources.into_iter().cloned().collect(), objects.into_iter().cloned().collect())
}

/// The source among the paths, and the objects to link it with.
///
/// # Errors
/// When there is no source, or more than one.
pub fn program(paths: &[PathBuf]) -> Result<(PathBuf, Vec<PathBuf>)> {
    let (mut sources, objects) = split(paths);
    match (sources.len(), sources.pop()) {
        (1, Some(source)) => Ok((source, objects)),
        (0, _) | (_, None) => Err(Failure::usage("there is no source among the files").help("name a `.cdp` file, or `-`")),
        (_, Some(second)) => {
            let wrong = Failure::usage(format!(
                "`{}` is one source too many: a program is one file with what it imports",
                second.display()
            ));
            Err(wrong.help("`import` it, or compile it by itself (`cdpc build -c`) and link the object"))
        }
    }
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// When it cannot be read (exit code 2), or is not UTF-8 (exit code 1, with byte offset and line).
pub fn read(path: &Path) -> Result<Source> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::file("read", Path::new("standard input"), &error))?;
        (STDIN.to_owned(), bytes)
    } else {
        if path.is_dir() {
            let wrong = Failure::usage(format!("`{}` is a folder, not a source file", path.display()));
            return Err(wrong.help("name a `.cdp` file; `cdpc test` and `cdpc fmt` take folders"));
        }
        let bytes = fs::read(path).map_err(|error| Failure::file("read", path, &error))?;
        (path.display().to_string(), bytes)
    };
    match String::from_utf8(bytes) {
        // an editor's byte order mark is no part of the program
        Ok(text) => Ok(Source { name, text: text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text) }),
        Err(error) => Err(not_utf8(&name, error.as_bytes(), error.utf8_error().valid_up_to())),
    }
}

/// Reads an imported file: its path is relative to the file that imports it, or to the current folder where that is standard input.
///
/// # Errors
/// Why not, as the end of a sentence.
pub fn import(from: &str, path: &str) -> std::result::Result<Found, String> {
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    let place = folder.join(path);
    match read(&place) {
        // one name for one file, however it was reached, so that it is taken once
        Ok(source) => Ok(Found { name: normal(&place).display().to_string(), text: source.text }),
        Err(Failure::Say { message, .. }) => Err(message.text),
        Err(_) => Err("it cannot be read".to_owned()),
    }
}

/// The path without `.` and, where that is safe, without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) && !out.is_symlink() => {
                out.pop();
            }
            _ => out.push(part),
        }
    }
    out
}

fn not_utf8(name: &str, bytes: &[u8], at: usize) -> Failure {
    let before = bytes.get(..at).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let byte = bytes.get(at).copied().unwrap_or_default();
    let wrong = Failure::program(format!("`{name}` is not UTF-8: byte {at} (0x{byte:02x}), in line {line}"));
    match bytes.get(..2) {
        Some([0xff, 0xfe] | [0xfe, 0xff]) => wrong.help("it looks like UTF-16: save it as UTF-8"),
        _ => wrong.help("save it as UTF-8; outside comments and strings only ASCII is used"),
    }
}

/// The `.cdp` files that `paths` name: files as they are, folders with everything below them, sorted by name.
///
/// # Errors
/// When a folder cannot be read or nothing is found.
pub fn programs(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            walk(path, &mut files)?;
            if files.len() == before {
                return Err(Failure::usage(format!("`{}` holds no `.cdp` file", path.display())));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let fail = |error: std::io::Error| Failure::file("read", folder, &error);
    let mut entries = fs::read_dir(folder).map_err(fail)?.collect::<std::io::Result<Vec<_>>>().map_err(fail)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        // a link to a folder may lead back up; links to files are fine
        if entry.file_type().map_err(fail)?.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "cdp") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_bytes_are_located() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cdp");
        fs::write(&path, b"// a\n// \xff\n").unwrap();
        let Err(Failure::Say { exit, message }) = read(&path) else { panic!("it was read") };
        assert_eq!(exit, 1);
        assert!(message.text.ends_with("byte 8 (0xff), in line 2"), "{}", message.text);
    }

    #[test]
    fn objects_are_told_from_sources() {
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        let found = program(&paths(&["k.o", "a.cdp", "lib.a", "b.ptx"])).unwrap();
        assert_eq!(found, ("a.cdp".into(), paths(&["k.o", "lib.a", "b.ptx"])));
        assert_eq!(program(&paths(&["-", "k.cubin"])).unwrap().0, Path::new("-"));
        assert_eq!(program(&paths(&["odd.name"])).unwrap().0, Path::new("odd.name"));
        for wrong in [&["a.cdp", "b.cdp"][..], &["k.o"], &[]] {
            assert!(matches!(program(&paths(wrong)), Err(Failure::Say { exit: 2, .. })));
        }
    }

    #[test]
    fn folders_are_walked_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.cdp", "a/z.cdp", "a/y.txt", "c.cdp"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = programs(&[dir.path().to_path_buf()]).unwrap();
        let names: Vec<_> = found.iter().map(|p| p.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a/z.cdp", "b.cdp", "c.cdp"]);
    }
}
