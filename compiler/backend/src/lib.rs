//! From IR to PTX.
//!
//! This crate promises: for a module that passed [`cdp_core::verify`] and whose launches are lowered, PTX or an [`Error`], never a panic;
//! the same bytes for the same module and options on every machine; memory laid out by [`cdp_core::types::layout`] and by nothing else;
//! and arithmetic as the language fixes it (`docs/`, "Semantics that are fixed"), whatever the level of optimisation. It deliberately
//! reads no files but libdevice where it is given by path, runs no other program, and emits only what kernels and exported functions
//! reach.
//!
//! - this file: options, output, the order of the steps
//! - `reach`: what is emitted
//! - `names`: symbols that cannot collide
//! - `types`: types as LLVM's, and how values of them are held
//! - `constant`: constants, first values of variables
//! - `module`: declarations of functions and variables
//! - `storage`: which locals are registers
//! - `function`: one function's blocks, statements and terminators
//! - `place`: addresses, loads, stores, copies
//! - `value`, `arithmetic`, `cast`, `intrinsic`: pure computations; `rounding`: those that say how they round; `packed`: those of several
//!   numbers in one word
//! - `call`, `effect`, `print`: calls, atomics and warp operations, `printf` and `assert`
//! - `header`: the comment that PTX starts with

mod arithmetic;
mod call;
mod cast;
mod constant;
mod effect;
mod error;
mod function;
mod header;
mod intrinsic;
mod module;
mod names;
mod packed;
mod place;
mod print;
mod reach;
mod rounding;
mod storage;
mod texture;
mod types;
mod value;

pub use error::Error;
pub use nvptx_builder::Target;

use cdp_core::builtins::Cdp;
use cdp_core::ir::Module;
use cdp_core::source::SourceMap;
use cdp_core::types::layout::PointerWidth;
use nvptx_builder::{AddressWidth, Context, ModuleBuilder, ModuleOptions, session};
use std::path::PathBuf;

/// Where NVIDIA's mathematics library comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Libdevice {
    /// There is none: a program that needs it is refused.
    #[default]
    Missing,
    /// A file, read when a program needs it: the toolkit's `nvvm/libdevice/libdevice.10.bc`.
    File(PathBuf),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// What to make.
#[derive(Clone, Debug)]
pub struct Options {
    /// The GPU.
    pub target: Target,
    /// 0 to 3.
    pub opt_level: u8,
    /// Line tables, so that profilers and debuggers show the source.
    pub lineinfo: bool,
    /// Single-precision denormals are flushed to zero.
    pub ftz: bool,
    /// Approximate single-precision division, square root and elementary functions; implies `ftz`.
    pub fast_math: bool,
    /// How wide an address is.
    pub width: PointerWidth,
    /// The dynamic parallelism whose symbols are called.
    pub cdp: Cdp,
    /// NVIDIA's mathematics library.
    pub libdevice: Libdevice,
    /// The source's name, for the comment at the start and for line tables; as the user gave it.
    pub source_name: String,
    /// Whether [`Output::llvm_ir`] and [`Output::llvm_ir_optimised`] are wanted.
    pub emit_llvm_ir: bool,
}

impl Options {
    /// `-O3`, 64 bits, IEEE arithmetic, no libdevice.
    #[must_use]
    pub const fn new(target: Target, source_name: String) -> Self {
        Self {
            target,
            opt_level: 3,
            lineinfo: false,
            ftz: false,
            fast_math: false,
            width: PointerWidth::W64,
            cdp: Cdp::Cdp2,
            libdevice: Libdevice::Missing,
            source_name,
            emit_llvm_ir: false,
        }
    }
}

/// What was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The PTX.
    pub ptx: String,
    /// LLVM's text before optimisation; empty unless asked for.
    pub llvm_ir: String,
    /// LLVM's text after optimisation; empty unless asked for.
    pub llvm_ir_optimised: String,
    /// Whether the PTX must be linked with libcudadevrt (cdp2 rule R24).
    pub needs_device_runtime: bool,
    /// The kernels' symbols, in the order of the source.
    pub kernels: Vec<String>,
}

/// Makes PTX of a module that is verified and whose launches are lowered.
///
/// # Errors
/// See [`Error`]: a kernel's name that PTX cannot have, a feature that the GPU lacks, a missing libdevice; and mistakes of this compiler.
pub fn compile(module: &Module, sources: &SourceMap, options: &Options) -> Result<Output, Error> {
    let plan = reach::plan(module);
    let symbols = names::assign(module, &plan)?;
    session::run(|context| emit(context, module, sources, options, &plan, &symbols))
}

fn emit(
    context: &Context,
    module: &Module,
    sources: &SourceMap,
    options: &Options,
    plan: &reach::Plan,
    symbols: &names::Symbols,
) -> Result<Output, Error> {
    let builder = ModuleBuilder::new(
        context,
        &options.source_name,
        ModuleOptions {
            target: options.target,
            width: match options.width {
                PointerWidth::W32 => AddressWidth::W32,
                PointerWidth::W64 => AddressWidth::W64,
            },
            optimise: options.opt_level,
            flush_denormals: options.ftz || options.fast_math,
            ptx_version: plan.ptx_version(module, options.width),
            lines: options.lineinfo.then(|| options.source_name.clone()),
        },
    )?;
    let emitter = module::Emitter::declare(&builder, module, sources, options, plan, symbols)?;
    emitter.define()?;
    builder.verify()?;
    let mut output = Output::default();
    if options.emit_llvm_ir {
        output.llvm_ir = builder.text();
    }
    if builder.needs_libdevice() {
        link_libdevice(&builder, options, &emitter)?;
    }
    builder.optimise()?;
    if options.emit_llvm_ir {
        output.llvm_ir_optimised = builder.text();
    }
    output.needs_device_runtime = !builder.used_externals(device_runtime_prefix(options.cdp)).is_empty();
    output.kernels = plan.kernels(module).map(|kernel| kernel.symbol.clone()).collect();
    output.ptx = header::comment(options, output.needs_device_runtime) + &builder.ptx()?;
    Ok(output)
}

/// How the device runtime's symbols begin, and nobody else's that code can have: see [`names`].
const fn device_runtime_prefix(cdp: Cdp) -> &'static str {
    match cdp {
        Cdp::Cdp1 => "cuda",
        Cdp::Cdp2 => "__cudaCDP2",
    }
}

fn link_libdevice(builder: &ModuleBuilder<'_>, options: &Options, emitter: &module::Emitter<'_, '_>) -> Result<(), Error> {
    let missing = |reason: String| {
        let (function, span) = emitter.first_libdevice_call();
        Error::Libdevice { function, span, reason }
    };
    let read;
    let bytes = match &options.libdevice {
        Libdevice::Missing => return Err(missing("no CUDA toolkit was found".to_owned())),
        Libdevice::Bytes(bytes) => bytes,
        Libdevice::File(path) => {
            read = std::fs::read(path).map_err(|error| missing(format!("`{}`: {error}", path.display())))?;
            &read
        }
    };
    builder.link_libdevice(bytes, !options.fast_math).map_err(|error| missing(error.to_string()))
}
