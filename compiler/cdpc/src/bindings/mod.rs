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

use cdp_runtime::manifest::{Kernel, Limits, Manifest};

/// The kernels that the source declares; lowering may have added others, whose names no language can write.
fn kernels(manifest: &Manifest) -> impl Iterator<Item = &Kernel> {
    manifest.kernels.iter().filter(|kernel| !kernel.symbol.starts_with("cdpc$"))
}

/// The limits that the module wants, by the driver's names.
fn limits(manifest: &Manifest) -> impl Iterator<Item = (&'static str, usize)> {
    let Limits { pending_launches, printf_fifo, malloc_heap, stack } = manifest.limits;
    let wanted = [
        ("CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT", pending_launches),
        ("CU_LIMIT_PRINTF_FIFO_SIZE", printf_fifo),
        ("CU_LIMIT_MALLOC_HEAP_SIZE", malloc_heap),
        ("CU_LIMIT_STACK_SIZE", stack),
    ];
    wanted.into_iter().filter_map(|(name, value)| Some((name, value?)))
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
