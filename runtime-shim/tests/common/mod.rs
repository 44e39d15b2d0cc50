//! What the tests of this crate share. The toolkit is needed, not wished for: a test without one fails.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // helpers of tests may end the test
#![allow(dead_code)] // each test binary uses its part

use std::path::{Path, PathBuf};
use std::process::Command;

use cdp_runtime::{Arch, Component, Cubin, LinkOptions, Linker, Toolkit};

pub const NESTED: &str = include_str!("../../examples/nested.ptx");
pub const NESTED_MANIFEST: &str = include_str!("../../examples/nested.json");
pub const PARAMETERS: &str = include_str!("../ptx/parameters.ptx");
pub const LARGE: &str = include_str!("../ptx/large.ptx");
pub const CONTRACT: &str = include_str!("../ptx/contract.ptx");
pub const LINES: &str = include_str!("../ptx/lines.ptx");

/// The toolkit that any program here would find; `make setup` installs one.
pub fn toolkit() -> Toolkit {
    Toolkit::find()
}

pub fn tool(component: Component) -> PathBuf {
    toolkit().require(component).unwrap_or_else(|error| panic!("{error}\nrun `make setup`")).to_path_buf()
}

pub fn linker() -> Linker {
    Linker::new(toolkit()).unwrap_or_else(|error| panic!("{error}\nrun `make setup`"))
}

pub fn arch(name: &str) -> Arch {
    name.parse().unwrap()
}

pub fn link(ptx: &str, arch: Arch, device_runtime: bool) -> Cubin {
    let options = LinkOptions { device_runtime, ..LinkOptions::new(arch) };
    linker().link_ptx(ptx, &options).unwrap_or_else(|error| panic!("{arch}: {error}"))
}

/// The standard output of a program of the toolkit, run on a file with these bytes.
pub fn dump(component: Component, arguments: &[&str], bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("module.cubin");
    std::fs::write(&file, bytes).unwrap();
    output(Command::new(tool(component)).args(arguments).arg(&file))
}

pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
