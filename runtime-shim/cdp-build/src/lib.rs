//! Compiles cdp kernels from a build script.
//!
//! ```no_run
//! // in `main` of build.rs
//! cdp_build::Kernels::new("kernels/rows.cdp").arg("--arch=sm_90").build();
//! ```
//!
//! ```ignore
//! // main.rs
//! cdp_runtime::include_cdp!(rows);
//!
//! let kernels = rows::Kernels::load_cubin(&runtime, rows::CUBIN, &LoadOptions::default())?;
//! ```
//!
//! It promises: the compiler is run anew when the source, a file that it imports, the compiler or an argument has changed, and not otherwise;
//! what goes wrong ends the build with the compiler's own words. It deliberately has no dependency, and knows nothing of kernels: the
//! bindings and the list of files are the compiler's.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A source to compile.
#[derive(Clone, Debug)]
pub struct Kernels {
    source: PathBuf,
    arguments: Vec<OsString>,
    compiler: Option<PathBuf>,
}

/// Why there is nothing to build with, or what the compiler did not like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The environment variable that names the compiler.
const VARIABLE: &str = "CDPC";

impl Kernels {
    /// A source, by its path from the package's folder.
    #[must_use]
    pub fn new(source: impl Into<PathBuf>) -> Self {
        Self { source: source.into(), arguments: Vec::new(), compiler: None }
    }

    /// An argument of `cdpc build`: `--arch=sm_90`, `-DN=4`.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The compiler's path; without it the environment variable CDPC, then `cdpc` in PATH.
    #[must_use]
    pub fn compiler(mut self, path: impl Into<PathBuf>) -> Self {
        self.compiler = Some(path.into());
        self
    }

    /// Compiles within a build script, and ends it where that fails.
    #[allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "how a build script speaks to cargo, and ends")]
    pub fn build(&self) {
        match self.try_build() {
            Ok(directives) => print!("{directives}"),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    }

    /// Compiles to `NAME.rs` and `NAME.cubin` in the folder OUT_DIR; gives the lines by which cargo knows when to do so again.
    ///
    /// # Errors
    /// OUT_DIR is not set, the compiler is not there, or it refuses the source: then with all it says.
    pub fn try_build(&self) -> Result<String, Error> {
        let out = env::var_os("OUT_DIR").ok_or_else(|| Error("OUT_DIR is not set: this is for build scripts".to_owned()))?;
        self.build_into(Path::new(&out))
    }

    fn build_into(&self, out: &Path) -> Result<String, Error> {
        let stem = self.source.file_stem().unwrap_or_default();
        let base = out.join(stem);
        let compiler = self.compiler.clone().or_else(|| env::var_os(VARIABLE).map(PathBuf::from));
        let compiler = compiler.unwrap_or_else(|| PathBuf::from("cdpc"));
        let mut command = Command::new(&compiler);
        command.arg("build").arg("--emit=rust,cubin,dep-info").arg("-o").arg(&base).args(&self.arguments).arg(&self.source);
        let output = command.output().map_err(|error| {
            Error(format!(
                "cannot start `{}`: {error}\ninstall cdpc, or set the environment variable {VARIABLE} to its path",
                compiler.display()
            ))
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error(format!("`{}` refuses `{}`:\n{said}", compiler.display(), self.source.display())));
        }
        let rule = with_ending(&base, ".d");
        let text =
            std::fs::read_to_string(&rule).map_err(|error| Error(format!("cannot read `{}`: {error}", rule.display())))?;
        let mut directives = format!("cargo::rerun-if-env-changed={VARIABLE}\n");
        // a path; a name that is searched in PATH is none that cargo could look at
        if compiler.components().count() > 1 {
            directives.push_str(&format!("cargo::rerun-if-changed={}\n", compiler.display()));
        }
        for file in prerequisites(&text) {
            directives.push_str(&format!("cargo::rerun-if-changed={file}\n"));
        }
        for warning in String::from_utf8_lossy(&output.stderr).lines() {
            directives.push_str(&format!("cargo::warning={warning}\n"));
        }
        Ok(directives)
    }
}

fn with_ending(base: &Path, ending: &str) -> PathBuf {
    let mut name = base.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// The files behind the colon of a Makefile's first rule, unescaped.
fn prerequisites(rule: &str) -> Vec<String> {
    let first = rule.lines().next().unwrap_or_default();
    // the colon of the rule has a blank behind it
    let list = first.split_once(": ").map_or("", |(_, list)| list);
    let mut files = Vec::new();
    let mut file = String::new();
    let mut letters = list.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => file.extend(letters.next()),
            (' ', _) => files.push(std::mem::take(&mut file)),
            _ => file.push(letter),
        }
    }
    files.push(file);
    files.retain(|file| !file.is_empty());
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_cdpc_writes_them() {
        let rule = "out/a.rs out/a.cubin: a.cdp with\\ blank.cdp c$$\\#.cdp\n\nwith\\ blank.cdp:\n";
        assert_eq!(prerequisites(rule), ["a.cdp", "with blank.cdp", "c$#.cdp"]);
        assert_eq!(prerequisites(""), Vec::<String>::new());
    }

    #[cfg(unix)]
    fn compiler(script: &str) -> (tempfile::TempDir, PathBuf) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cdpc");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        (folder, path)
    }

    #[test]
    #[cfg(unix)]
    fn cargo_is_told_what_to_watch() {
        let (folder, path) = compiler("echo \"$4.rs: $6 b.cdp\" > $4.d; echo careful >&2");
        let kernels = Kernels::new("kernels/a.cdp").arg("-DN=4").compiler(&path);
        let told = kernels.build_into(folder.path()).unwrap();
        let path = path.display();
        let expected = format!(
            "cargo::rerun-if-env-changed=CDPC\ncargo::rerun-if-changed={path}\ncargo::rerun-if-changed=kernels/a.cdp\n\
             cargo::rerun-if-changed=b.cdp\ncargo::warning=careful\n"
        );
        assert_eq!(told, expected);
    }

    #[test]
    #[cfg(unix)]
    fn what_goes_wrong_is_said() {
        let (folder, path) = compiler("echo 'error[E0201]' >&2; exit 1");
        let error = Kernels::new("a.cdp").compiler(path).build_into(folder.path()).unwrap_err();
        assert!(error.to_string().contains("refuses `a.cdp`:\nerror[E0201]"), "{error}");
        let error = Kernels::new("a.cdp").compiler("/nonexistent/cdpc").build_into(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains("cannot start `/nonexistent/cdpc`") && error.to_string().contains("CDPC"),
            "{error}"
        );
    }
}
