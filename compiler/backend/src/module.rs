//! Declarations of functions and variables, and what every part of the back end needs to know.

use crate::names::Symbols;
use crate::reach::{Plan, is_void, param_align};
use crate::types::{Class, Repr, space};
use crate::{Error, Options};
use cdp_core::ir::{Function as IrFunction, FunctionId, Global, GlobalId, Inline, Module};
use cdp_core::source::{FileId, SourceMap, Span};
use cdp_core::types::layout::Layout;
use cdp_core::types::{Space as CdpSpace, Type as CdpType, TypeId};
use nvptx_builder::{
    DebugFile, Extension, Function, FunctionKind, GlobalSpec, InlineHint, ModuleBuilder, Param, ParamKind, Signature, Space,
    Type, Value, Visibility,
};
use std::cell::RefCell;
use std::collections::HashMap;

/// Dynamic shared memory, and shared variables of this size or more, start at a multiple of this.
const SHARED_ALIGN: u32 = 16;

/// How a function's result reaches its caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResultWay {
    /// There is none.
    Nothing,
    /// As a value.
    Register,
    /// In memory that the caller gives, as the first argument.
    Memory,
    /// As bytes in parameter space, the way nvcc's functions do: elements of this type, so many.
    Bytes {
        /// In bytes; 1 to 8.
        element: u32,
        /// How many.
        count: u32,
    },
}

/// A declared function and how it is called.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'c> {
    /// LLVM's function.
    pub function: Function<'c>,
    /// How its result comes back.
    pub result: ResultWay,
    /// Whether it keeps nvcc's conventions.
    pub foreign: bool,
}

/// A module on its way from IR to LLVM.
pub struct Emitter<'a, 'c> {
    /// Where it goes.
    pub builder: &'a ModuleBuilder<'c>,
    /// Where it comes from.
    pub ir: &'a Module,
    /// The texts that spans point into.
    pub sources: &'a SourceMap,
    /// What was asked for.
    pub options: &'a Options,
    plan: &'a Plan,
    functions: HashMap<FunctionId, Declared<'c>>,
    globals: HashMap<GlobalId, Value<'c>>,
    files: RefCell<HashMap<FileId, Option<DebugFile<'c>>>>,
    libdevice: RefCell<Option<(String, Span)>>,
    constants: RefCell<u32>,
}

impl<'a, 'c> Emitter<'a, 'c> {
    /// Declares everything that is emitted.
    pub fn declare(
        builder: &'a ModuleBuilder<'c>,
        ir: &'a Module,
        sources: &'a SourceMap,
        options: &'a Options,
        plan: &'a Plan,
        symbols: &Symbols,
    ) -> Result<Self, Error> {
        let mut emitter = Self {
            builder,
            ir,
            sources,
            options,
            plan,
            functions: HashMap::new(),
            globals: HashMap::new(),
            files: RefCell::default(),
            libdevice: RefCell::default(),
            constants: RefCell::default(),
        };
        for id in &plan.globals {
            if let (Some(global), Some(symbol)) = (ir.global(*id), symbols.globals.get(id)) {
                let address = emitter.declare_global(global, symbol)?;
                emitter.globals.insert(*id, address);
            }
        }
        for id in &plan.functions {
            if let (Some(function), Some(symbol)) = (ir.function(*id), symbols.functions.get(id)) {
                let declared = emitter.declare_function(function, symbol)?;
                emitter.functions.insert(*id, declared);
            }
        }
        Ok(emitter)
    }

    /// Gives every declared function its body.
    pub fn define(&self) -> Result<(), Error> {
        for id in &self.plan.functions {
            if let (Some(function), Some(declared)) = (self.ir.function(*id), self.functions.get(id))
                && !function.blocks.is_empty()
            {
                self.define_function(function, declared)?;
            }
        }
        Ok(())
    }

    /// Size and alignment of a type.
    pub fn layout(&self, ty: TypeId) -> Layout {
        self.ir.types.layout(ty, self.options.width)
    }

    /// A mistake of an earlier phase.
    pub fn malformed<T>(&self, what: impl Into<String>, span: Span) -> Result<T, Error> {
        Err(Error::Malformed { what: what.into(), span })
    }

    /// Whether a generic address may be in the shared memory of another block.
    pub const fn maps_shared(&self) -> bool {
        self.plan.maps_shared
    }

    /// Refuses what has to do with clusters of blocks where the GPU has none (PTX ISA: `.reqnctapercluster` and its kin need `sm_90`).
    pub fn needs_clusters(&self, what: &str, span: Span) -> Result<(), Error> {
        if self.options.target.capability() >= 90 {
            return Ok(());
        }
        Err(Error::Unsupported { what: what.to_owned(), needs: "sm_90", span })
    }

    /// The function that this one was declared as.
    pub fn function(&self, id: FunctionId, span: Span) -> Result<&Declared<'c>, Error> {
        self.functions.get(&id).map_or_else(|| self.malformed("a function that is not emitted", span), Ok)
    }

    /// A variable's address in its own space.
    pub fn global(&self, id: GlobalId, span: Span) -> Result<Value<'c>, Error> {
        self.globals.get(&id).map_or_else(|| self.malformed("a variable that is not emitted", span), |address| Ok(*address))
    }

    /// A file in the line tables.
    pub fn debug_file(&self, file: FileId) -> Option<DebugFile<'c>> {
        *self.files.borrow_mut().entry(file).or_insert_with(|| self.builder.debug_file(self.sources.name(file)))
    }

    /// Remembers the first call that needs libdevice.
    pub fn note_libdevice(&self, function: &str, span: Span) {
        self.libdevice.borrow_mut().get_or_insert_with(|| (function.to_owned(), span));
    }

    /// The first call that needs libdevice.
    pub fn first_libdevice_call(&self) -> (String, Span) {
        self.libdevice.borrow().clone().unwrap_or_default()
    }

    /// A read-only variable for a constant's bytes: its address in the global space.
    pub fn constant_bytes(&self, bytes: &[u8], align: u32) -> Result<Value<'c>, Error> {
        let mut number = self.constants.borrow_mut();
        let init = self.builder.const_bytes(bytes);
        let address = self.builder.global(&GlobalSpec {
            name: &format!("const${number}"),
            space: Space::Global,
            ty: init.get_type(),
            init: Some(init),
            align,
            visibility: Visibility::Internal,
            constant: true,
        })?;
        *number += 1;
        Ok(address)
    }

    fn declare_global(&self, global: &Global, symbol: &str) -> Result<Value<'c>, Error> {
        let layout = self.layout(global.ty);
        let dynamic = matches!(self.ir.types.get(global.ty), CdpType::Unsized { .. });
        // shared arrays are aligned so that neighbouring elements can be read at once
        let wide = dynamic || (global.space == CdpSpace::Shared && layout.size >= u64::from(SHARED_ALIGN));
        let align = layout.align.max(global.align).max(if wide { SHARED_ALIGN } else { 1 });
        let init = match &global.init {
            Some(init) => Some(self.initialiser(init, global.span)?),
            None => None,
        };
        let ty = match init {
            Some(init) => init.get_type(),
            None if dynamic => self.builder.bytes(0)?,
            None => self.variable_type(global.ty)?,
        };
        let exported = global.exported && global.space != CdpSpace::Shared;
        Ok(self.builder.global(&GlobalSpec {
            name: symbol,
            space: space(global.space),
            ty,
            init,
            align,
            visibility: match (dynamic || global.external, exported) {
                (true, _) => Visibility::Extern,
                (false, true) => Visibility::Exported,
                (false, false) => Visibility::Internal,
            },
            constant: global.space == CdpSpace::Constant && !exported,
        })?)
    }

    /// What a variable without a first value is made of.
    fn variable_type(&self, ty: TypeId) -> Result<Type<'c>, Error> {
        match self.class(ty) {
            Class::Int(int) => Ok(self.builder.int(int.bits())?.into()),
            Class::Float(float) => Ok(self.float_type(float)),
            _ => Ok(self.builder.bytes(self.layout(ty).size)?),
        }
    }

    fn declare_function(&self, function: &IrFunction, symbol: &str) -> Result<Declared<'c>, Error> {
        let kernel = function.is_kernel();
        let defined = !function.blocks.is_empty();
        let kind = match (kernel, defined, function.exported) {
            (true, true, _) if function.symbol == cdp_core::pass::FILL_KERNEL => FunctionKind::WeakKernel,
            (true, true, _) => FunctionKind::Kernel,
            (true, false, _) => FunctionKind::ExternKernel,
            (false, false, _) => FunctionKind::Extern,
            (false, true, true) => FunctionKind::Exported,
            (false, true, false) => FunctionKind::Internal,
        };
        let foreign = kind != FunctionKind::Internal;
        let mut params = Vec::new();
        let (result, result_type, result_align) = self.result_way(function, foreign)?;
        if result == ResultWay::Memory {
            let layout = self.layout(function.return_type);
            let kind = ParamKind::Result { size: layout.size, align: layout.align };
            params.push(Param { kind, no_alias: true, read_only: false, extension: Extension::None });
        }
        for local in function.locals.iter().take(function.param_count as usize) {
            if let Some(mut param) = self.param(local.ty, kernel, foreign, local.span)? {
                if let Some((_, _, constant)) = self.ir.types.pointee(local.ty) {
                    param.no_alias = local.restrict;
                    param.read_only = constant && !self.plan.casts_const_away && !self.ir.types.is_volatile(local.ty);
                }
                params.push(param);
            }
        }
        let declared = self.builder.declare(&Signature {
            name: symbol,
            kind,
            result: result_type,
            result_extension: self.extension(function.return_type),
            result_align,
            params,
        })?;
        if kernel && let Some((threads, blocks)) = function.launch_bounds {
            self.builder.set_launch_bounds(declared, threads, blocks);
        }
        if kernel && let Some(cluster) = function.cluster {
            self.needs_clusters("`@cluster`", function.span)?;
            self.builder.set_cluster(declared, cluster);
        }
        if defined && !kernel {
            self.builder.set_inline(
                declared,
                match function.inline {
                    Inline::Auto => InlineHint::Auto,
                    Inline::Always => InlineHint::Always,
                    Inline::Never => InlineHint::Never,
                },
            );
        }
        Ok(Declared { function: declared, result, foreign })
    }

    fn result_way(&self, function: &IrFunction, foreign: bool) -> Result<(ResultWay, Option<Type<'c>>, u32), Error> {
        let ty = function.return_type;
        if is_void(function) {
            return Ok((ResultWay::Nothing, None, 0));
        }
        let layout = self.layout(ty);
        Ok(match self.repr(ty, function.span)? {
            Repr::Nothing => (ResultWay::Nothing, None, 0),
            Repr::Bool => (ResultWay::Register, Some(self.builder.int(8)?.into()), 0),
            Repr::Scalar(ty) => (ResultWay::Register, Some(ty), 0),
            Repr::Vector { element, lanes, .. } if !foreign => {
                (ResultWay::Register, Some(self.builder.vector(element, lanes)?), 0)
            }
            Repr::Memory if !foreign => (ResultWay::Memory, None, 0),
            Repr::Vector { .. } | Repr::Memory => {
                let element = layout.align.min(8);
                let count = u32::try_from(layout.size / u64::from(element)).unwrap_or(u32::MAX);
                let bytes = self.builder.array(self.builder.int(element * 8)?.into(), u64::from(count))?;
                (ResultWay::Bytes { element, count }, Some(bytes), if layout.align > 8 { layout.align } else { 0 })
            }
        })
    }

    /// How a parameter is passed; none for one without a size.
    fn param(&self, ty: TypeId, kernel: bool, foreign: bool, span: Span) -> Result<Option<Param<'c>>, Error> {
        let layout = self.layout(ty);
        let bytes = |size, align| Param::by_value(size, if kernel { param_align(align) } else { align });
        let mut param = match self.repr(ty, span)? {
            Repr::Nothing => return Ok(None),
            Repr::Bool => Param::value(self.builder.int(8)?),
            Repr::Scalar(Type::FloatType(_)) if kernel && layout.size == 2 => Param::value(self.builder.int(16)?),
            Repr::Scalar(ty) => Param::value(ty),
            Repr::Vector { element, lanes, .. } if !foreign => Param::value(self.builder.vector(element, lanes)?),
            Repr::Vector { .. } | Repr::Memory => bytes(layout.size, layout.align),
        };
        if !kernel {
            param.extension = self.extension(ty);
        }
        Ok(Some(param))
    }

    /// How a narrow integer is widened for a call.
    fn extension(&self, ty: TypeId) -> Extension {
        match self.class(ty) {
            Class::Bool => Extension::Zero,
            Class::Int(int) if int.bits() < 32 => {
                if int.signed() {
                    Extension::Sign
                } else {
                    Extension::Zero
                }
            }
            _ => Extension::None,
        }
    }
}
