//! The GPU, through cudarc's binding of the driver API. Nothing here panics when the driver is missing: [`Driver::open`] looks first.
//!
//! - [`driver`]: is there a driver, which version, which GPUs.
//! - [`context`]: the primary context of one GPU; memory, limits, synchronisation.
//! - [`memory`]: [`DevicePtr`] and [`DeviceBuffer`].
//! - [`module`]: a loaded cubin, its kernels and variables; launching.
//! - [`stream`]: host streams and events.
//! - [`space`]: memory by address, for hosts that compute with addresses.
//! - [`array`]: arrays of the texture units; [`texture`]: texture and surface objects.
//! - [`explain`]: what an error number means and what usually causes it.
//!
//! Device `printf` writes into a ring in GPU memory that the driver empties, to the standard output of the process, at synchronisation; a
//! full ring overwrites its oldest part and says nothing. The driver offers no way to ask whether that happened. The ring's size can be set
//! ([`context::LIMITS`]); whoever must know whether output was lost counts the calls on the device, as `cdpc run` and `cdpc test` do.

#![allow(unsafe_code)] // the C library's own buffers

pub mod array;
pub mod context;
pub mod driver;
pub mod explain;
pub mod memory;
pub mod module;
pub mod space;
pub mod stream;
pub mod texture;

pub use array::{Array, ArrayShape};
pub use context::Context;
pub use driver::{Device, Driver};
pub use memory::{DeviceBuffer, DevicePtr};
pub use module::{Dim3, Function, LaunchConfig, LoadedModule};
pub use space::AddressSpace;
pub use stream::{Event, Stream};
pub use texture::{Surface, Texture};

/// Has what the driver printed leave the C library's buffers, so that it stands before what is printed from here on by other means. A terminal
/// gets every line at once anyway; a file or a pipe would get it when the process ends.
pub fn flush_output() {
    unsafe extern "C" {
        fn fflush(stream: *mut std::ffi::c_void) -> std::ffi::c_int;
    }
    // SAFETY: null stands for all output streams (C11 7.21.5.2).
    unsafe { fflush(std::ptr::null_mut()) };
}
