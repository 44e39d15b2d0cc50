//! Bindings: what a host program in another language must know of a module, as source text of that language.
//!
//! They are made from the manifest and from nothing else: sizes, offsets and alignments are copied from it, and every generated file has
//! the target language check them again. The same manifest gives the same bytes.
//!
//! - [`model`]: the types of the manifest, read
//! - [`names`]: identifiers that the target language takes, each once
//! - [`header`], [`rust`], [`python`]: one file a language
//! - [`host`]: the host half of an object that nvcc links

mod header;
mod host;
mod model;
mod names;
mod python;
mod rust;

pub use header::header;
pub use host::host;
pub use python::python;
pub use rust::rust;

use cdp_runtime::manifest::{Kernel, Manifest};

/// The kernels that the source declares; lowering may have added others, whose names no language can write.
fn kernels(manifest: &Manifest) -> impl Iterator<Item = &Kernel> {
    manifest.kernels.iter().filter(|kernel| !kernel.symbol.starts_with("cdpc$"))
}

/// What a kernel is called: as in the source, or for an instance of a generic one as in the PTX.
fn kernel_name(kernel: &Kernel) -> &str {
    if kernel.name.contains('[') { &kernel.symbol } else { &kernel.name }
}

/// The file's name without folders, so that the folder in which it was compiled makes no difference.
fn source(manifest: &Manifest) -> &str {
    manifest.source.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Each line behind a prefix; nothing for an empty text.
fn prefixed(prefix: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    text.split('\n').map(|line| format!("{prefix}{line}").trim_end().to_owned() + "\n").collect()
}
