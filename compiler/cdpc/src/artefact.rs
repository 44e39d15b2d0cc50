//! Artefacts are written whole: into a temporary file beside the target, which is then renamed. A reader never sees half of one, and
//! a failure leaves the old one as it was.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::terminal;

/// Where an artefact goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `-`
    Stdout,
    /// A file.
    File(PathBuf),
}

impl Target {
    /// As the user names it: `-` is standard output.
    pub fn named(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdout } else { Self::File(path.to_owned()) }
    }
}

/// One artefact.
#[derive(Clone, Debug)]
pub struct Artefact {
    /// Where.
    pub target: Target,
    /// What.
    pub bytes: Vec<u8>,
}

/// Writes all of them, or none that is half: every one is on disk before the first gets its name.
///
/// # Errors
/// When one cannot be written; the targets that were there before are then as they were, but for a rename that fails in the middle.
pub fn write_all(artefacts: &[Artefact]) -> Result<()> {
    let mut waiting = Vec::new();
    for artefact in artefacts {
        if let Target::File(path) = &artefact.target {
            waiting.extend(prepare(path, &artefact.bytes).map_err(|error| Failure::file("write", path, &error))?);
        }
    }
    for Ready { file, place } in waiting {
        file.persist(&place).map_err(|error| Failure::file("write", &place, &error.error))?;
    }
    for artefact in artefacts.iter().filter(|artefact| artefact.target == Target::Stdout) {
        terminal::print(&artefact.bytes)?;
    }
    Ok(())
}

/// A temporary file with all its bytes, and the file that it will be.
struct Ready {
    file: tempfile::NamedTempFile,
    place: PathBuf,
}

/// The temporary file; `None` when the target is no plain file (a device, a pipe) and was written at once.
fn prepare(path: &Path, bytes: &[u8]) -> io::Result<Option<Ready>> {
    let present = fs::metadata(path);
    if let Ok(meta) = &present
        && !meta.is_file()
    {
        if meta.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        // renaming over /dev/stdout or a named pipe would replace it by a file
        File::options().write(true).open(path)?.write_all(bytes)?;
        return Ok(None);
    }
    // a link keeps pointing where it points
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::Builder::new().prefix(".cdpc-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    set_permissions(file.as_file(), present.ok())?;
    Ok(Some(Ready { file, place }))
}

/// Those of the file that is replaced, or what the user's mask gives new files; temporary files are private.
#[cfg(unix)]
fn set_permissions(file: &File, present: Option<fs::Metadata>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = match present {
        Some(meta) => meta.permissions(),
        None => fs::Permissions::from_mode(0o666 & !mask()),
    };
    file.set_permissions(permissions)
}

/// The umask, which the system tells without being changed in /proc only.
#[cfg(unix)]
fn mask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok()).unwrap_or(0o022)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: PathBuf, bytes: &[u8]) -> Artefact {
        Artefact { target: Target::File(path), bytes: bytes.to_vec() }
    }

    #[test]
    fn none_is_written_when_one_cannot_be() {
        let dir = tempfile::tempdir().unwrap();
        let good = dir.path().join("a.ptx");
        fs::write(&good, "old").unwrap();
        let result = write_all(&[file(good.clone(), b"new"), file(dir.path().join("gone/b.ptx"), b"new")]);
        assert!(matches!(result, Err(Failure::Say { exit: 2, .. })));
        assert_eq!(fs::read(&good).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        write_all(&[file(good.clone(), b"new")]).unwrap();
        assert_eq!(fs::read(&good).unwrap(), b"new");
    }

    #[test]
    #[cfg(unix)]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_all(&[file(link.clone(), b"new")]).unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
