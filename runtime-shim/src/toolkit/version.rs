//! Which version a component is, found without loading it where that is possible.

use std::path::Path;
use std::process::Command;

use super::{Component, Found};
use crate::arch::Version;

/// The component's version as text, for showing; `None` where nothing tells.
///
/// The programs are started with `--version`, so this costs some milliseconds for each.
#[must_use]
pub fn of(found: &Found) -> Option<String> {
    match found.component {
        Component::NvJitLink => crate::link::Linker::open(&found.path).ok().map(|linker| linker.version().to_string()),
        Component::CudaDevRt => of_headers(&found.place.root, &found.path).map(|v| v.to_string()),
        // its name is its version, and it has been 10 since CUDA 9
        Component::Libdevice => Some("10".to_owned()),
        Component::Ptxas | Component::Nvlink | Component::Nvdisasm | Component::Cuobjdump | Component::Nvcc => {
            of_program(&found.path)
        }
    }
}

/// The toolkit's version as its runtime header states it: `#define CUDART_VERSION 13000`.
fn of_headers(root: &Path, library: &Path) -> Option<Version> {
    let beside = library.parent().and_then(Path::parent);
    for include in [beside, Some(root)].into_iter().flatten() {
        let Ok(text) = std::fs::read_to_string(include.join("include/cuda_runtime_api.h")) else { continue };
        for line in text.lines() {
            if let Some(number) = line.trim().strip_prefix("#define CUDART_VERSION") {
                return number.trim().parse().ok().map(Version::from_cuda_number);
            }
        }
    }
    None
}

/// `Cuda compilation tools, release 13.0, V13.0.88` gives `13.0.88`.
fn of_program(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().rev().find_map(|word| {
        let version = word.strip_prefix('V')?;
        version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
    })
}
