//! From source to PTX, and PTX through NVIDIA's assembler and linker.

use cdp_backend::{Libdevice, Options, Output, Target};
use cdp_core::pass::{LaunchAbi, LaunchOptions};
use cdp_core::source::SourceMap;
use cdp_core::{ir, lower, pass, sema, syntax, verify};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a test compiles with.
#[derive(Clone, Debug)]
pub struct Setup {
    pub arch: &'static str,
    pub options: Options,
    pub abi: LaunchAbi,
}

impl Setup {
    pub fn new(arch: &'static str) -> Self {
        let mut options = Options::new(Target::new(arch).unwrap(), "test.cdp".to_owned());
        options.libdevice = toolkit().map_or(Libdevice::Missing, |t| Libdevice::File(t.join("nvvm/libdevice/libdevice.10.bc")));
        Self { arch, options, abi: LaunchAbi::Auto }
    }

    pub fn level(mut self, level: u8) -> Self {
        self.options.opt_level = level;
        self
    }
}

/// The module as code generation gets it.
pub fn front(source: &str, setup: &Setup) -> (ir::Module, SourceMap) {
    let mut sources = SourceMap::new();
    let file = sources.add("test.cdp", source);
    let (tree, errors) = syntax::parse(file, source);
    assert!(!errors.has_errors(), "{:#?}", errors.finish());
    let (program, errors) = sema::check(&[tree], &sources, sema::Options::default());
    assert!(!errors.has_errors(), "{:#?}", errors.finish());
    let (mut module, errors) = lower::lower(program, &lower::LowerOptions::default());
    assert!(!errors.has_errors(), "{:#?}", errors.finish());
    pass::const_fold(&mut module);
    pass::simplify(&mut module);
    let launch = LaunchOptions { abi: setup.abi, width: setup.options.width, ..LaunchOptions::default() };
    let (_, errors) = pass::lower_launches(&mut module, &launch);
    assert!(!errors.has_errors(), "{:#?}", errors.finish());
    if let Err(errors) = verify::verify(&module) {
        panic!("{errors:#?}");
    }
    (module, sources)
}

/// Compiles, and has the assembler accept the PTX.
pub fn compile(source: &str, setup: &Setup) -> Output {
    let (module, sources) = front(source, setup);
    let output = cdp_backend::compile(&module, &sources, &setup.options).unwrap_or_else(|error| panic!("{error}"));
    assemble(&output.ptx, setup.arch);
    output
}

/// PTX for `sm_90` at `-O3`.
pub fn ptx(source: &str) -> String {
    compile(source, &Setup::new("sm_90")).ptx
}

/// Where a CUDA toolkit is: `CDPC_CUDA`, the one that `make setup` fetched, or one whose `ptxas` is on the path.
pub fn toolkit() -> Option<PathBuf> {
    let named = std::env::var_os("CDPC_CUDA").map(PathBuf::from);
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cuda/nvidia/cu13");
    let installed = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path)
            .find(|folder| folder.join("ptxas").is_file())
            .and_then(|bin| Some(bin.parent()?.to_owned()))
    });
    named.into_iter().chain([fetched]).chain(installed).find(|folder| folder.join("bin/ptxas").is_file())
}

/// Has the assembler accept PTX; gives the cubin's path in a folder of its own.
pub fn assemble(ptx: &str, arch: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("test.ptx"), folder.path().join("test.cubin"));
    std::fs::write(&input, ptx).unwrap();
    let toolkit = toolkit().expect("a CUDA toolkit: run `make setup`, or set CDPC_CUDA");
    let arch = format!("-arch={arch}");
    run(Command::new(toolkit.join("bin/ptxas")).args([&arch, "-c", "-o"]).arg(&output).arg(&input), ptx);
    (folder, output)
}

/// Has the linker join PTX, assembled, with the device runtime.
pub fn link(ptx: &str, arch: &str) {
    let (folder, cubin) = assemble(ptx, arch);
    let toolkit = toolkit().unwrap();
    let arch = format!("-arch={arch}");
    let library = toolkit.join("lib/libcudadevrt.a");
    let output = folder.path().join("linked.cubin");
    run(Command::new(toolkit.join("bin/nvlink")).args([&arch, "-o"]).arg(&output).arg(&cubin).arg(&library), ptx);
}

fn run(command: &mut Command, ptx: &str) {
    let done = command.output().unwrap();
    let log = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{log}\n{}", numbered(ptx));
    // the depth of a recursion is nothing that a linker can know
    let warned = log.lines().any(|line| line.contains("warning") && !line.contains("cannot be statically determined"));
    assert!(!warned, "{log}\n{}", numbered(ptx));
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(number, line)| format!("{:4} {line}\n", number + 1)).collect()
}

/// Asserts that PTX holds each of these, in any order.
#[track_caller]
pub fn holds(ptx: &str, parts: &[&str]) {
    for part in parts {
        assert!(ptx.contains(part), "`{part}` is not in\n{ptx}");
    }
}

/// Asserts that PTX holds none of these.
#[track_caller]
pub fn lacks(ptx: &str, parts: &[&str]) {
    for part in parts {
        assert!(!ptx.contains(part), "`{part}` is in\n{ptx}");
    }
}
