//! Whole programs, at every level, for old and new GPUs.

use crate::support::{Setup, compile, link};
use std::path::{Path, PathBuf};

/// The run tests of the conformance suite that are one file.
fn programs() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests/run");
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "cdp"))
        .map(|path| (path.clone(), std::fs::read_to_string(&path).unwrap()))
        .filter(|(_, source)| !source.contains("\nimport \"") && !source.starts_with("import \""))
        .collect();
    all.sort();
    assert!(all.len() > 20, "the conformance suite is gone");
    all
}

#[test]
fn conformance_programs_assemble_and_link() {
    // each GPU and each level meets a quarter of the programs; unoptimised code, which is the most varied, meets all
    let archs = ["sm_75", "sm_80", "sm_100", "sm_120"];
    for (index, (path, source)) in programs().iter().enumerate() {
        eprintln!("{}", path.display());
        compile(source, &Setup::new("sm_90").level(0));
        let arch = archs[index % archs.len()];
        let arch = match arch {
            "sm_75" | "sm_80" if source.contains("__cluster") => "sm_100",
            "sm_75" if source.contains("__reduce_") => "sm_80",
            _ => arch,
        };
        let level = u8::try_from(3 - index / archs.len() % 3).unwrap();
        let output = compile(source, &Setup::new(arch).level(level));
        if output.needs_device_runtime {
            link(&output.ptx, arch);
        }
    }
}
