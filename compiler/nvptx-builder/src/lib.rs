//! What LLVM's NVPTX target and the CUDA device runtime look like to a compiler.
//!
//! This crate promises: a module with kernels that keep PTX's rules (parameters, alignments, address spaces, launch bounds), the
//! declarations that device-side launches need (CUDA programming guide 4.18.6), optimisation as strong as `opt -O3`, and PTX whose
//! `.version` is no higher than its target and contents need. LLVM's verifier runs before code generation, and what LLVM reports, even
//! what it calls fatal, comes back as an [`Error`]. It deliberately knows nothing of any source language.
//!
//! - [`target`]: the GPUs, and LLVM's target machine for each
//! - [`session`]: running LLVM so that its fatal errors are values
//! - [`ModuleBuilder`] (`module`): types, constants, variables, finished modules
//! - [`Signature`] (`signature`): functions and their parameters
//! - [`Body`] (`body`, `arithmetic`, `memory`, `control`): instructions
//! - `atomic`, `special`: atomics with scopes; registers, barriers, warp operations
//! - `runtime`: the device runtime, `printf`, `assert`, `malloc`
//! - `libdevice`: NVIDIA's mathematics library, linked by need
//! - `debug`: line tables
//! - `emit`: optimisation and PTX

mod arithmetic;
mod atomic;
mod body;
mod control;
mod debug;
mod emit;
mod error;
mod libdevice;
mod memory;
mod module;
mod runtime;
pub mod session;
mod signature;
mod special;
pub mod target;
mod texture;

pub use arithmetic::{Compare, FloatCompare, IntOp};
pub use atomic::{AtomicOp, Scope};
pub use body::Body;
pub use debug::{DebugFile, DebugScope};
pub use error::Error;
pub use inkwell::basic_block::BasicBlock as Block;
pub use inkwell::context::Context;
pub use inkwell::types::BasicTypeEnum as Type;
pub use inkwell::types::{FloatType, IntType};
pub use inkwell::values::BasicValueEnum as Value;
pub use inkwell::values::FunctionValue as Function;
pub use module::{GlobalSpec, ModuleBuilder, ModuleOptions, Space, Visibility};
pub use runtime::{DIM3_ALIGN, DIM3_LANES};
pub use signature::{Extension, FunctionKind, InlineHint, Param, ParamKind, Signature};
pub use special::{BarrierKind, ClusterBarrier, FenceScope, Shuffle, SpecialRegister, WarpReduce, WarpVote};
pub use target::{AddressWidth, Target};
pub use texture::{Boundary, Lookup, Texel};
