//! Functions and their parameters.

use crate::error::shape;
use crate::{Error, Function, ModuleBuilder, Space, Type};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{AnyType, AnyTypeEnum, BasicMetadataTypeEnum, BasicType};

/// LLVM's number of the calling convention `ptx_kernel`.
const PTX_KERNEL: u32 = 71;

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.visible .entry`. Always external: LLVM gives the parameters of an internal kernel another alignment.
    Kernel,
    /// `.weak .entry`: of all modules that are linked and have it, one is kept.
    WeakKernel,
    /// `.func`, seen by this module.
    Internal,
    /// `.visible .func`
    Exported,
    /// `.extern .func`
    Extern,
    /// `.extern .entry`
    ExternKernel,
}

/// How a narrow integer reaches a device function: PTX passes it in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extension {
    /// It is wide enough, or no integer.
    #[default]
    None,
    /// By its sign.
    Sign,
    /// By zeros.
    Zero,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind<'c> {
    /// As itself. In a kernel: an integer of 8 to 64 bits, `float`, `double` or an address; PTX knows no others.
    Value(Type<'c>),
    /// Bytes in parameter space; the function sees a generic address of them.
    ByValue {
        /// In bytes.
        size: u64,
        /// In bytes.
        align: u32,
    },
    /// The address where a device function leaves its result; the first parameter.
    Result {
        /// In bytes.
        size: u64,
        /// In bytes.
        align: u32,
    },
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param<'c> {
    /// How it is passed.
    pub kind: ParamKind<'c>,
    /// An address: what it reaches is reached through no other.
    pub no_alias: bool,
    /// An address: nothing is written through it.
    pub read_only: bool,
    /// A narrow integer of a device function.
    pub extension: Extension,
}

impl<'c> Param<'c> {
    /// A parameter passed as itself.
    #[must_use]
    pub fn value(ty: impl Into<Type<'c>>) -> Self {
        Self { kind: ParamKind::Value(ty.into()), no_alias: false, read_only: false, extension: Extension::None }
    }

    /// A parameter passed as bytes.
    #[must_use]
    pub const fn by_value(size: u64, align: u32) -> Self {
        Self { kind: ParamKind::ByValue { size, align }, no_alias: false, read_only: false, extension: Extension::None }
    }
}

/// A function to declare.
#[derive(Clone, Debug)]
pub struct Signature<'a, 'c> {
    /// Its symbol.
    pub name: &'a str,
    /// What it is.
    pub kind: FunctionKind,
    /// None for `void`, and always for kernels.
    pub result: Option<Type<'c>>,
    /// Of a narrow integer result.
    pub result_extension: Extension,
    /// Alignment in bytes of a structure result in parameter space; 0 for LLVM's own.
    pub result_align: u32,
    /// In order.
    pub params: Vec<Param<'c>>,
}

/// Whether calls are replaced by the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InlineHint {
    /// The optimiser decides.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl<'c> ModuleBuilder<'c> {
    /// Declares a function. It gets a body from [`ModuleBuilder::body`].
    ///
    /// # Errors
    /// [`Error::Shape`] when the name is taken, or a kernel has a result or a parameter that PTX does not know.
    pub fn declare(&self, signature: &Signature<'_, 'c>) -> Result<Function<'c>, Error> {
        let name = signature.name;
        if self.module.get_function(name).is_some() || self.module.get_global(name).is_some() {
            return shape(format!("two symbols `{name}`"));
        }
        let kernel = matches!(signature.kind, FunctionKind::Kernel | FunctionKind::WeakKernel | FunctionKind::ExternKernel);
        if kernel {
            check_kernel(signature)?;
        }
        let params: Vec<BasicMetadataTypeEnum<'c>> = signature
            .params
            .iter()
            .map(|param| match param.kind {
                ParamKind::Value(ty) => ty.into(),
                ParamKind::ByValue { .. } | ParamKind::Result { .. } => self.pointer(Space::Generic).into(),
            })
            .collect();
        let ty = match signature.result {
            Some(result) => result.fn_type(&params, false),
            None => self.context.void_type().fn_type(&params, false),
        };
        let linkage = match signature.kind {
            FunctionKind::Internal => Linkage::Internal,
            FunctionKind::WeakKernel => Linkage::WeakODR,
            _ => Linkage::External,
        };
        let function = self.module.add_function(name, ty, Some(linkage));
        if kernel {
            function.set_call_conventions(PTX_KERNEL);
        }
        for (index, param) in (0u32..).zip(&signature.params) {
            self.param_attributes(function, AttributeLoc::Param(index), param)?;
        }
        self.extend(function, AttributeLoc::Return, signature.result_extension);
        if signature.result_align > 0 {
            self.attribute(function, AttributeLoc::Return, "alignstack", u64::from(signature.result_align));
        }
        self.function_attributes(function);
        Ok(function)
    }

    /// `.maxntid` and, unless `min_blocks` is 0, `.minnctapersm`.
    pub fn set_launch_bounds(&self, kernel: Function<'c>, max_threads: u32, min_blocks: u32) {
        let set = |key: &str, value: u32| {
            kernel.add_attribute(AttributeLoc::Function, self.context.create_string_attribute(key, &value.to_string()));
        };
        set("nvvm.maxntid", max_threads);
        if min_blocks > 0 {
            set("nvvm.minctasm", min_blocks);
        }
    }

    /// `.explicitcluster` and `.reqnctapercluster`: so many blocks of a grid run at the same time and reach each other's shared memory.
    pub fn set_cluster(&self, kernel: Function<'c>, [x, y, z]: [u32; 3]) {
        let value = format!("{x},{y},{z}");
        kernel.add_attribute(AttributeLoc::Function, self.context.create_string_attribute("nvvm.cluster_dim", &value));
    }

    /// Says whether calls of a function are replaced by its body.
    pub fn set_inline(&self, function: Function<'c>, hint: InlineHint) {
        match hint {
            InlineHint::Auto => {}
            InlineHint::Always => self.attribute(function, AttributeLoc::Function, "alwaysinline", 0),
            InlineHint::Never => self.attribute(function, AttributeLoc::Function, "noinline", 0),
        }
    }

    /// Says that a function never returns.
    pub fn set_no_return(&self, function: Function<'c>) {
        self.attribute(function, AttributeLoc::Function, "noreturn", 0);
    }

    fn param_attributes(&self, function: Function<'c>, place: AttributeLoc, param: &Param<'c>) -> Result<(), Error> {
        match param.kind {
            ParamKind::Value(_) => {}
            ParamKind::ByValue { size, align } => {
                self.type_attribute(function, place, "byval", self.bytes(size)?);
                self.attribute(function, place, "align", u64::from(align));
            }
            ParamKind::Result { size, align } => {
                self.type_attribute(function, place, "sret", self.bytes(size)?);
                self.attribute(function, place, "align", u64::from(align));
            }
        }
        if param.no_alias {
            self.attribute(function, place, "noalias", 0);
        }
        if param.read_only {
            self.attribute(function, place, "readonly", 0);
        }
        self.extend(function, place, param.extension);
        Ok(())
    }

    /// Attributes that every function has: no exceptions; calls may not be made to depend on more conditions, because a barrier may lie
    /// behind them; and how denormals are treated.
    pub(crate) fn function_attributes(&self, function: Function<'c>) {
        self.attribute(function, AttributeLoc::Function, "nounwind", 0);
        self.attribute(function, AttributeLoc::Function, "convergent", 0);
        if self.options.flush_denormals {
            let mode = self.context.create_string_attribute("denormal-fp-math-f32", "preserve-sign,preserve-sign");
            function.add_attribute(AttributeLoc::Function, mode);
        }
    }

    fn extend(&self, function: Function<'c>, place: AttributeLoc, extension: Extension) {
        match extension {
            Extension::None => {}
            Extension::Sign => self.attribute(function, place, "signext", 0),
            Extension::Zero => self.attribute(function, place, "zeroext", 0),
        }
    }

    pub(crate) fn attribute(&self, function: Function<'c>, place: AttributeLoc, name: &str, value: u64) {
        let kind = Attribute::get_named_enum_kind_id(name);
        function.add_attribute(place, self.context.create_enum_attribute(kind, value));
    }

    fn type_attribute(&self, function: Function<'c>, place: AttributeLoc, name: &str, ty: Type<'c>) {
        let kind = Attribute::get_named_enum_kind_id(name);
        let ty: AnyTypeEnum<'c> = ty.as_any_type_enum();
        function.add_attribute(place, self.context.create_type_attribute(kind, ty));
    }
}

/// PTX knows few kinds of kernel parameters, and LLVM aborts or misplaces where it is given others.
fn check_kernel(signature: &Signature<'_, '_>) -> Result<(), Error> {
    if signature.result.is_some() {
        return shape(format!("kernel `{}` has a result", signature.name));
    }
    for param in &signature.params {
        let fits = match param.kind {
            ParamKind::Value(Type::IntType(ty)) => matches!(ty.get_bit_width(), 8 | 16 | 32 | 64),
            ParamKind::Value(Type::FloatType(ty)) => matches!(ty.get_bit_width(), 32 | 64),
            ParamKind::Value(Type::PointerType(_)) => true,
            ParamKind::Value(_) | ParamKind::Result { .. } => false,
            ParamKind::ByValue { size, align } => size > 0 && align.is_power_of_two() && align <= 16,
        };
        if !fits {
            return shape(format!("kernel `{}` has a parameter {:?}", signature.name, param.kind));
        }
    }
    Ok(())
}
