//! From a source to a cubin, one function a stage. Values flow one way; each stage shows its own diagnostics and stops the rest with them.

use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::thread::JoinHandle;

use cdp_core::diag::{Diagnostic, Diagnostics};
use cdp_core::ir::Module;
use cdp_core::lower::{self, LowerOptions};
use cdp_core::source::{FileId, SourceMap};
use cdp_core::syntax::ast;
use cdp_core::{pass, sema, syntax, verify};
use cdp_runtime::manifest::Manifest;
use cdp_runtime::{Arch, CubinInfo, LinkOptions, Linker, Toolkit, layout_check};

use crate::failure::{Failure, Result};
use crate::input::{self, Source};
use crate::options::Compile;
use crate::report::Reporter;

/// A source without errors, as IR.
#[derive(Debug)]
pub struct Front {
    /// The texts.
    pub sources: SourceMap,
    /// The source's file.
    pub file: FileId,
    /// The tree.
    pub tree: ast::File,
    /// The IR, launches whole.
    pub module: Module,
}

/// A source, and what compiling it further needs.
pub struct Build<'a> {
    front: Front,
    reporter: &'a Reporter,
    toolkit: Toolkit,
    arch: Arch,
    /// Opening nvJitLink takes milliseconds, which it does while the source is compiled.
    opening: RefCell<Option<JoinHandle<cdp_runtime::Result<Linker>>>>,
    linker: OnceCell<Linker>,
}

/// What the back end made.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The IR it was made from, as text.
    pub lowered_ir: String,
    /// LLVM's representation after optimisation.
    pub llvm_ir: String,
    /// PTX.
    pub ptx: String,
    /// Kernels, parameters, launch sites.
    pub manifest: Manifest,
}

/// A cubin whose layout is the compiler's.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The ELF file.
    pub cubin: Vec<u8>,
    /// What it says of itself.
    pub info: CubinInfo,
}
