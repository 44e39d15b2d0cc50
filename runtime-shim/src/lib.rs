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
//! - [`cubin`]: what a cubin says of its kernels.
//! - [`manifest`], [`layout_check`]: what the compiler says of them, and the comparison.
//! - [`gpu`]: the driver, thinly wrapped.
//! - [`session`]: all of it together, in three calls.
//! - [`isolate`]: a run in a process of its own.
//!
//! `examples/host.rs` is a complete host program.

pub mod arch;
pub mod cubin;
pub mod error;
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
pub use gpu::{Context, DeviceBuffer, DevicePtr, Dim3, Event, LaunchConfig, Stream};
pub use link::{Cubin, Input, LinkOptions, Linker};
pub use manifest::{Limits, Manifest};
pub use session::arg::{Arg, Bytes};
pub use session::{LoadOptions, Module, Runtime, RuntimeOptions};
pub use toolkit::{Component, Search, Toolkit};
