//! A module under construction: types, constants, variables.

#![allow(unsafe_code, reason = "inkwell has no cast from a bit pattern to a float constant")]

use crate::error::shape;
use crate::target::triple;
use crate::{AddressWidth, Error, Target, Type, Value, debug};
use inkwell::AddressSpace;
use inkwell::GlobalVisibility;
use inkwell::context::Context;
use inkwell::llvm_sys::core::LLVMConstBitCast;
use inkwell::module::{Linkage, Module};
use inkwell::targets::{TargetMachine, TargetTriple};
use inkwell::types::{AsTypeRef, BasicType, FloatType, IntType, PointerType};
use inkwell::values::{AsValueRef, BasicValue, FloatValue, GlobalValue, PointerValue};
use std::cell::RefCell;
use std::collections::HashMap;

/// PTX's state spaces by LLVM's numbers (LLVM NVPTX usage guide, "Address Spaces").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Space {
    /// Any of the others.
    #[default]
    Generic = 0,
    /// `.global`
    Global = 1,
    /// `.shared`
    Shared = 3,
    /// `.const`
    Constant = 4,
    /// `.local`
    Local = 5,
}

/// What a module is made for.
#[derive(Clone, Debug)]
pub struct ModuleOptions {
    /// The GPU.
    pub target: Target,
    /// How wide addresses are.
    pub width: AddressWidth,
    /// 0 to 3.
    pub optimise: u8,
    /// Single-precision denormals are flushed to zero.
    pub flush_denormals: bool,
    /// The lowest PTX version (major * 10 + minor) that the module's contents need; 0 for the target's own.
    pub ptx_version: u32,
    /// The name of the main source file: makes line tables.
    pub lines: Option<String>,
}

/// Who sees a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// This module.
    Internal,
    /// Other modules and the host, which may also write it.
    Exported,
    /// It is defined elsewhere.
    Extern,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct GlobalSpec<'a, 'c> {
    /// Its symbol.
    pub name: &'a str,
    /// Where it lies: global, shared or constant.
    pub space: Space,
    /// What it is made of.
    pub ty: Type<'c>,
    /// Its first value; zero without one. Shared variables have none.
    pub init: Option<Value<'c>>,
    /// In bytes.
    pub align: u32,
    /// Who sees it.
    pub visibility: Visibility,
    /// Whether it never changes.
    pub constant: bool,
}

/// A module under construction.
pub struct ModuleBuilder<'c> {
    pub(crate) context: &'c Context,
    // dropped before the module that it describes
    pub(crate) lines: Option<debug::Lines<'c>>,
    pub(crate) module: Module<'c>,
    pub(crate) machine: TargetMachine,
    pub(crate) options: ModuleOptions,
    strings: RefCell<HashMap<Vec<u8>, PointerValue<'c>>>,
}

impl<'c> ModuleBuilder<'c> {
    /// An empty module. `name` goes into LLVM's text only.
    ///
    /// # Errors
    /// [`Error::Llvm`] when LLVM has no such machine.
    pub fn new(context: &'c Context, name: &str, options: ModuleOptions) -> Result<Self, Error> {
        let machine = options.target.machine(options.width, options.optimise, options.ptx_version)?;
        let module = context.create_module(name);
        module.set_source_file_name(name);
        module.set_triple(&TargetTriple::create(triple(options.width)));
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let lines = options.lines.as_ref().map(|file| debug::Lines::new(&module, file, options.optimise > 0));
        let builder = Self { context, lines, module, machine, options, strings: RefCell::default() };
        if builder.options.flush_denormals {
            // read by the pass that answers libdevice's __nvvm_reflect("__CUDA_FTZ")
            let one = context.i32_type().const_int(1, false);
            builder.module.add_basic_value_flag("nvvm-reflect-ftz", inkwell::module::FlagBehavior::Override, one);
        }
        Ok(builder)
    }

    /// What the module is made for.
    #[must_use]
    pub const fn options(&self) -> &ModuleOptions {
        &self.options
    }

    /// An integer of 1 to 64 bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for another width.
    pub fn int(&self, bits: u32) -> Result<IntType<'c>, Error> {
        Ok(match bits {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            64 => self.context.i64_type(),
            _ => return shape(format!("an integer of {bits} bits")),
        })
    }

    /// An integer as wide as an address.
    #[must_use]
    pub fn size_type(&self) -> IntType<'c> {
        match self.options.width {
            AddressWidth::W32 => self.context.i32_type(),
            AddressWidth::W64 => self.context.i64_type(),
        }
    }

    /// IEEE binary16.
    #[must_use]
    pub fn half(&self) -> FloatType<'c> {
        self.context.f16_type()
    }

    /// bfloat16
    #[must_use]
    pub fn bfloat(&self) -> FloatType<'c> {
        self.context.bf16_type()
    }

    /// IEEE binary32.
    #[must_use]
    pub fn float(&self) -> FloatType<'c> {
        self.context.f32_type()
    }

    /// IEEE binary64.
    #[must_use]
    pub fn double(&self) -> FloatType<'c> {
        self.context.f64_type()
    }

    /// An address in a space.
    #[must_use]
    pub fn pointer(&self, space: Space) -> PointerType<'c> {
        self.context.ptr_type(AddressSpace::from(space as u16))
    }

    /// `[size x i8]`
    ///
    /// # Errors
    /// [`Error::Shape`] from 4 GiB on.
    pub fn bytes(&self, size: u64) -> Result<Type<'c>, Error> {
        let size = u32::try_from(size).map_err(|_| Error::Shape(format!("{size} bytes in one object")))?;
        Ok(self.context.i8_type().array_type(size).into())
    }

    /// `[len x element]`
    ///
    /// # Errors
    /// [`Error::Shape`] from 2^32 elements on.
    pub fn array(&self, element: Type<'c>, len: u64) -> Result<Type<'c>, Error> {
        let len = u32::try_from(len).map_err(|_| Error::Shape(format!("{len} elements in one array")))?;
        Ok(element.array_type(len).into())
    }

    /// `<lanes x element>`, of integers or floats.
    ///
    /// # Errors
    /// [`Error::Shape`] for other elements.
    pub fn vector(&self, element: Type<'c>, lanes: u32) -> Result<Type<'c>, Error> {
        match element {
            Type::IntType(ty) => Ok(ty.vec_type(lanes).into()),
            Type::FloatType(ty) => Ok(ty.vec_type(lanes).into()),
            _ => shape("a vector of neither integers nor floats"),
        }
    }

    /// A structure with C layout.
    #[must_use]
    pub fn structure(&self, fields: &[Type<'c>]) -> Type<'c> {
        self.context.struct_type(fields, false).into()
    }

    /// An integer constant; the upper bits of `value` are dropped.
    #[must_use]
    pub fn const_int(&self, ty: IntType<'c>, value: u64) -> Value<'c> {
        ty.const_int(value, false).into()
    }

    /// A floating-point constant by its bit pattern, so that every NaN is kept.
    ///
    /// # Errors
    /// [`Error::Shape`] for a type of another width than 16, 32 and 64 bits.
    pub fn const_float(&self, ty: FloatType<'c>, bits: u64) -> Result<Value<'c>, Error> {
        let int = self.int(ty.get_bit_width())?.const_int(bits, false);
        // SAFETY: integer and float are constants' types of one context and one width, and LLVM folds the cast to a float.
        Ok(unsafe { FloatValue::new(LLVMConstBitCast(int.as_value_ref(), ty.as_type_ref())) }.into())
    }

    /// Zero, false, null, or an aggregate of these.
    #[must_use]
    pub fn zero(&self, ty: Type<'c>) -> Value<'c> {
        ty.const_zero()
    }

    /// A constant array of bytes.
    #[must_use]
    pub fn const_bytes(&self, bytes: &[u8]) -> Value<'c> {
        self.context.const_string(bytes, false).into()
    }

    /// Adds a variable; its address in its own space.
    ///
    /// # Errors
    /// [`Error::Shape`] when a variable of that name is there.
    pub fn global(&self, spec: &GlobalSpec<'_, 'c>) -> Result<Value<'c>, Error> {
        if self.module.get_global(spec.name).is_some() || self.module.get_function(spec.name).is_some() {
            return shape(format!("two symbols `{}`", spec.name));
        }
        let global: GlobalValue<'c> = self.module.add_global(spec.ty, Some(AddressSpace::from(spec.space as u16)), spec.name);
        global.set_alignment(spec.align.max(1));
        global.set_constant(spec.constant);
        match spec.visibility {
            Visibility::Internal => {
                global.set_linkage(Linkage::Internal);
                // what shared memory starts as is unknown, not undefined
                global.set_externally_initialized(spec.space == Space::Shared);
            }
            Visibility::Exported => {
                global.set_linkage(Linkage::External);
                global.set_visibility(GlobalVisibility::Default);
                // the host or another module may write it before a kernel runs
                global.set_externally_initialized(spec.space != Space::Shared);
            }
            Visibility::Extern => global.set_linkage(Linkage::External),
        }
        match (spec.visibility, spec.space, spec.init) {
            (Visibility::Extern, ..) => {}
            (_, Space::Shared, _) => global.set_initializer(&undefined(spec.ty)),
            (_, _, Some(init)) => global.set_initializer(&init),
            (_, _, None) => global.set_initializer(&spec.ty.const_zero()),
        }
        Ok(global.as_pointer_value().into())
    }

    /// The generic address of a string that ends in zero; equal strings are one.
    pub fn string(&self, text: &[u8]) -> Value<'c> {
        if let Some(known) = self.strings.borrow().get(text) {
            return (*known).into();
        }
        let mut strings = self.strings.borrow_mut();
        let init = self.context.const_string(text, true);
        let name = format!("str${}", strings.len());
        let global = self.module.add_global(init.get_type(), Some(AddressSpace::from(Space::Global as u16)), &name);
        global.set_linkage(Linkage::Internal);
        global.set_constant(true);
        global.set_unnamed_addr(true);
        global.set_alignment(1);
        global.set_initializer(&init);
        let address = global.as_pointer_value().const_address_space_cast(self.pointer(Space::Generic));
        strings.insert(text.to_vec(), address);
        address.into()
    }

    /// LLVM's text of the module.
    #[must_use]
    pub fn text(&self) -> String {
        self.module.print_to_string().to_string()
    }
}

/// A value that says nothing, which is what shared memory starts as.
fn undefined(ty: Type<'_>) -> Value<'_> {
    match ty {
        Type::ArrayType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::FloatType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::IntType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::PointerType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::StructType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::VectorType(ty) => ty.get_undef().as_basic_value_enum(),
        Type::ScalableVectorType(ty) => ty.get_undef().as_basic_value_enum(),
    }
}
