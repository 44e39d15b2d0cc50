//! Links, loads and launches device code that launches device code: a library for any Rust host, useful with PTX of any origin.
//!
//! It promises: nothing is searched, opened or initialised before it is needed, so that a machine without a toolkit can load a finished
//! cubin and a machine without a GPU can link; a missing toolkit, driver or GPU is an error that says what was looked for; a cubin whose
//! parameter layout is not the compiler's is never launched; hostile bytes give errors.
//!
//! It deliberately does not: know the compiler (what it must know of a module travels as a [`Manifest`]), compile, print, or start processes
//! other than those it is told to.
//!
//! - [`toolkit`]: where the CUDA toolkit's parts are.
//! - [`arch`]: which GPUs can be built for.
//! - [`link`]: PTX to cubin, with nvJitLink.
//! - [`foreign`]: objects, libraries and other code that others compiled, and what their symbols come to.
//! - [`cubin`]: what a cubin says of its kernels.
//! - [`manifest`], [`layout_check`]: what the compiler says of them, and the comparison.
//! - [`gpu`]: the driver, thinly wrapped.
//! - [`session`]: all of it together, in three calls.
//! - [`isolate`]: a run in a process of its own.
//!
//! `examples/host.rs` is a complete host program.

/// The bindings and the cubin that a build script made of `NAME.cdp` with the crate `cdp-build`, as a module: its types, `Kernels`, `MANIFEST`,
/// and `CUBIN`.
///
/// ```ignore
/// cdp_runtime::include_cdp!(rows);
/// ```
#[macro_export]
macro_rules! include_cdp {
    ($name:ident) => {
        #[doc = concat!("Bindings of `", stringify!($name), ".cdp`.")]
        #[allow(missing_docs, reason = "what the source does not document")]
        pub mod $name {
            include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));

            /// The compiled kernels.
            pub const CUBIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".cubin"));
        }
    };
}

pub mod arch;
pub mod cubin;
pub mod error;
pub mod foreign;
pub mod gpu;
pub mod isolate;
pub mod layout_check;
pub mod link;
pub mod manifest;
pub mod session;
pub mod toolkit;

pub use arch::{Arch, Version};
pub use cubin::CubinInfo;
pub use error::{Error, Result};
pub use foreign::Foreign;
pub use gpu::{Context, DeviceBuffer, DevicePtr, Dim3, Event, LaunchConfig, Stream};
pub use link::{Cubin, Input, LinkOptions, Linker};
pub use manifest::{Limits, Manifest};
pub use session::arg::{Arg, Bytes, Kind};
pub use session::value::{self, Value};
pub use session::vector;
pub use session::{LoadOptions, Module, Runtime, RuntimeOptions};
pub use toolkit::{Component, Search, Toolkit};
