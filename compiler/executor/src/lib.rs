//! Runs the IR on the CPU: host code, and the reference semantics of kernels.
//!
//! It promises: the bits that the language says, for integers and IEEE arithmetic; the same run for the same program and options; every
//! mistake reported as data, a [`cdp_core::diag::Diagnostic`] at its place in the source. It deliberately does not print, read files, or
//! know any GPU: host code reaches device memory and kernels through the [`Device`] trait, which [`CpuDevice`] implements here and the
//! command line implements over a GPU.
//!
//! It runs modules before `pass::lower_launches`: a launch is one statement.
//!
//! - `decode`: IR to compact steps, whose operands are offsets into a byte frame
//! - `interp`: the steps of one thread; no step allocates
//! - [`host`]: `host fn` and `test` bodies
//! - [`cpu`]: grids, blocks, warps, streams, the launch pool
//! - `printf`: [`mod@format`]
//! - [`trace`]: what ran when
//! - `control`: watching and stopping a run
//! - [`texture`]: arrays, textures and surfaces
//! - `transfer`, [`occupancy`]: copies and fills; what a kernel needs
//! - `math`: builtin functions; `address`: whose memory an address is in
//! - [`passed`]: parameters of launches
//! - `written`: which bytes of memory have a value
//! - [`fault`]: what can go wrong; [`errors`]: the errors that devices give; `last_error`: those that a thread has not looked
//!   at; [`leaks`]: what was never given back

pub mod address;
mod atomic;
mod code;
mod control;
pub mod cpu;
mod decode;
pub mod device;
pub mod errors;
pub mod fault;
pub mod format;
pub mod host;
mod interp;
mod last_error;
pub mod leaks;
mod math;
pub mod occupancy;
pub mod passed;
mod print;
mod program;
mod special;
pub mod texture;
pub mod trace;
mod transfer;
mod written;

pub use control::Control;
pub use cpu::{CpuDevice, CpuOptions, Schedule};
pub use device::{CudaError, Device, KernelLaunch};
pub use host::{HostProgram, Options, Outcome, Status};
pub use program::Program;
pub use trace::Trace;
