//! PTX to relocatable objects: the assembler of the toolkit, and the host's C compiler for the half that a host links with. Neither is a
//! library that the toolkit has for every host, so they are run as programs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use cdp_runtime::foreign::fatbin::{self, Entry, Form};
use cdp_runtime::link::{PtxProblem, function_registers};
use cdp_runtime::{Component, CubinInfo, Error};

use super::build::{Build, Generated};
use crate::bindings;
use crate::failure::{Failure, Result};

impl Build<'_> {
    /// Relocatable machine code, as `ptxas -c` makes it.
    ///
    /// # Errors
    /// No assembler, or PTX that it refuses.
    pub fn relocatable(&self, code: &Generated) -> Result<Vec<u8>> {
        let assembler = self.toolkit().require(Component::Ptxas)?;
        let folder = folder()?;
        let (source, target) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
        write(&source, code.ptx.as_bytes())?;
        let mut command = Command::new(assembler);
        command.arg("-c").arg(format!("-arch={}", self.arch())).arg(format!("-O{}", self.level())).arg("--fmad=false");
        command.args(function_registers(&code.ptx).map(|count| format!("--device-function-maxrregcount={count}")));
        command.args(self.lineinfo().then_some("-lineinfo")).arg(&source).arg("-o").arg(&target);
        let output = command.stdin(Stdio::null()).output().map_err(|error| Failure::file("start", assembler, &error))?;
        if !output.status.success() {
            let log = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            let problems = PtxProblem::all(&log, &code.ptx);
            return Err(Error::Assembler { arch: self.arch(), problems, log, saved: None }.into());
        }
        let bytes = fs::read(&target).map_err(|error| Failure::file("read", &target, &error))?;
        self.check_layout(code, &CubinInfo::parse(&bytes)?)?;
        Ok(bytes)
    }

    /// A host object as `nvcc -dc` makes it: the machine code, with the PTX for later GPUs, and what hosts link with.
    ///
    /// # Errors
    /// As [`Build::relocatable`]; no C compiler.
    pub fn object(&self, code: &Generated) -> Result<Vec<u8>> {
        let sm = self.arch().sm;
        let container = fatbin::write(&[
            Entry { form: Form::Cubin, sm, bytes: self.relocatable(code)? },
            Entry { form: Form::Ptx, sm, bytes: code.ptx.clone().into_bytes() },
        ]);
        let folder = folder()?;
        let path = |name: &str| folder.path().join(name);
        let (device, source, target) = (path("a.fatbin"), path("a.c"), path("a.o"));
        write(&device, &container)?;
        let id = identifier(self.source_name(), &code.ptx);
        write(&source, bindings::host(&code.manifest, &device.display().to_string(), &id)?.as_bytes())?;
        let program = std::env::var("CC").ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "cc".to_owned());
        let failed = |reason: String| Failure::from(Error::HostCompiler { program: program.clone(), reason });
        let mut words = program.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or("cc"));
        command.args(words).args(["-c", "-O2", "-fPIC", "-w", "-o"]).arg(&target).arg(&source);
        let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        fs::read(&target).map_err(|error| Failure::file("read", &target, &error))
    }
}

fn folder() -> Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("cdpc-").tempdir().map_err(|error| Failure::file("write", &std::env::temp_dir(), &error))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| Failure::file("write", path, &error))
}

/// What tells an object from all others of a program: its source's name, for people, and a hash of its code (FNV-1a), so that the same source
/// gives the same object.
fn identifier(source: &str, ptx: &str) -> String {
    let hash =
        ptx.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let stem = Path::new(source).file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("cdpc_{hash:016x}_{stem}")
}
