//! Starting `cdpc` in a folder of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(missing_docs, reason = "the names say it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A kernel that launches a kernel.
pub const NESTED: &str = "\
kernel child(out: *global i32, value: i8) { out[0] = value as i32; }

kernel parent(out: *global i32, value: i8) {
    let err = child<<<1, 1>>>(out, value);
    if err != cudaSuccess { out[1] = err as i32; }
}
";

/// A kernel that launches nothing.
pub const FLAT: &str = "kernel fill(out: *global i32, value: i32) { out[threadIdx.x] = value; }\n";

/// A launch that can never happen.
pub const DEAD_LAUNCH: &str = "\
kernel child(out: *global i32) { out[0] = 1; }
const NEVER: bool = false;
kernel parent(out: *global i32) {
    if NEVER {
        let err = child<<<1, 1>>>(out);
        if err != cudaSuccess { out[1] = 1; }
    }
}
";

/// A folder for one test.
pub struct Place {
    dir: tempfile::TempDir,
}

/// What a run of `cdpc` gave.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(name), bytes).unwrap();
        self
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The names of all files, sorted.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// `cdpc` with arguments that are split at spaces; no toolkit is named by the environment.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cdpc"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null());
        for name in ["CDPC_CUDA", "CUDA_HOME", "CUDA_PATH", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, line: &str) -> Ran {
        finish(self.command(line).output().unwrap())
    }

    /// nvcc of that toolkit, with arguments that are split at spaces; it needs no GPU.
    pub fn nvcc(&self, line: &str) {
        let program = toolkit().map_or_else(|| "nvcc".into(), |folder| folder.join("bin/nvcc"));
        let mut command = Command::new(program);
        command.args(["-ccbin", "gcc"]).args(line.split_whitespace()).current_dir(self.dir.path());
        finish(command.output().unwrap()).succeeds();
    }

    /// `cdpc` with the toolkit that `make setup` has brought, or the installed one.
    pub fn run_with_toolkit(&self, line: &str) -> Ran {
        finish(self.command(line).envs(toolkit().map(|folder| ("CDPC_CUDA", folder))).output().unwrap())
    }
}

pub fn finish(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The option that tells nvcc where the libraries of that toolkit are.
pub fn libraries() -> String {
    toolkit().map(|folder| format!("-L{}", folder.join("lib").display())).unwrap_or_default()
}

/// `.cuda` of this repository; `None` where an installed toolkit is used instead.
pub fn toolkit() -> Option<PathBuf> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cuda/nvidia/cu13");
    ours.is_dir().then(|| ours.canonicalize().unwrap())
}

impl Ran {
    /// Checks the exit code and that each text is on standard error.
    pub fn fails(&self, code: i32, texts: &[&str]) -> &Self {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for text in texts {
            assert!(self.err.contains(text), "`{text}` is missing in:\n{}", self.err);
        }
        self
    }

    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self
    }

    pub fn prints(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.out.contains(text), "`{text}` is missing in:\n{}", self.out);
        }
        self
    }
}
