//! Instructions of one function.

use crate::error::shape;
use crate::{Block, Error, Function, ModuleBuilder, Type, Value};
use inkwell::attributes::AttributeLoc;
use inkwell::builder::Builder;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::{BasicMetadataTypeEnum, BasicType, FunctionType};
use inkwell::values::{BasicMetadataValueEnum, CallSiteValue, IntValue, PointerValue, ValueKind};

/// Appends instructions to the blocks of one function.
pub struct Body<'m, 'c> {
    pub(crate) module: &'m ModuleBuilder<'c>,
    pub(crate) builder: Builder<'c>,
    pub(crate) function: Function<'c>,
    entry: Block<'c>,
}

impl<'c> ModuleBuilder<'c> {
    /// Starts the body of a declared function. Instructions go into its first block, in which nothing but variables may be made before
    /// [`Body::enter`].
    pub fn body(&self, function: Function<'c>) -> Body<'_, 'c> {
        let entry = self.context.append_basic_block(function, "entry");
        let builder = self.context.create_builder();
        builder.position_at_end(entry);
        Body { module: self, builder, function, entry }
    }
}

impl<'m, 'c> Body<'m, 'c> {
    /// The module that the function belongs to.
    #[must_use]
    pub const fn module(&self) -> &'m ModuleBuilder<'c> {
        self.module
    }

    /// A parameter's value, or the address of one that is passed as bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is none.
    pub fn param(&self, index: u32) -> Result<Value<'c>, Error> {
        self.function.get_nth_param(index).map_or_else(|| shape(format!("no parameter {index}")), Ok)
    }

    /// Adds an empty block.
    #[must_use]
    pub fn block(&self, name: &str) -> Block<'c> {
        self.module.context.append_basic_block(self.function, name)
    }

    /// Instructions go into this block from now on.
    pub fn switch_to(&self, block: Block<'c>) {
        self.builder.position_at_end(block);
    }

    /// A variable of the function's frame: its generic address. It is made in the first block, wherever instructions go.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM refuses the type.
    pub fn variable(&self, ty: Type<'c>, align: u32, name: &str) -> Result<Value<'c>, Error> {
        let builder = self.module.context.create_builder();
        match self.entry.get_first_instruction() {
            Some(first) => builder.position_before(&first),
            None => builder.position_at_end(self.entry),
        }
        let address = builder.build_alloca(ty, name)?;
        if let Some(instruction) = address.as_instruction() {
            instruction.set_alignment(align.max(1)).map_err(|e| Error::Shape(e.to_string()))?;
        }
        Ok(address.into())
    }

    /// Calls a declared function.
    ///
    /// # Errors
    /// [`Error::Shape`] when the number of arguments differs.
    pub fn call(&self, function: Function<'c>, args: &[Value<'c>]) -> Result<Option<Value<'c>>, Error> {
        if function.count_params() as usize != args.len() {
            return shape(format!("{} arguments for `{}`", args.len(), function.get_name().to_string_lossy()));
        }
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|arg| (*arg).into()).collect();
        let call: CallSiteValue<'c> = self.builder.build_call(function, &args, "")?;
        // LLVM takes a call of another convention than its function's for one that never returns
        call.set_call_convention(function.get_call_conventions());
        // and reads the alignment of bytes passed by value, and how narrow integers are widened, from the call alone
        for place in (0..function.count_params()).map(AttributeLoc::Param).chain([AttributeLoc::Return]) {
            for attribute in function.attributes(place) {
                call.add_attribute(place, attribute);
            }
        }
        Ok(match call.try_as_basic_value() {
            ValueKind::Basic(value) => Some(value),
            ValueKind::Instruction(_) => None,
        })
    }

    /// Calls an intrinsic of LLVM. `overloads` are the types that its name is made with.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM has none of this name.
    pub fn intrinsic(&self, name: &str, overloads: &[Type<'c>], args: &[Value<'c>]) -> Result<Option<Value<'c>>, Error> {
        let intrinsic = Intrinsic::find(name).ok_or_else(|| Error::Shape(format!("no intrinsic `{name}`")))?;
        let function = intrinsic
            .get_declaration(&self.module.module, overloads)
            .ok_or_else(|| Error::Shape(format!("types of intrinsic `{name}`")))?;
        self.call(function, args)
    }

    /// As [`Body::intrinsic`], of one that has a result.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM has none of this name, or it has no result.
    pub fn intrinsic_value(&self, name: &str, overloads: &[Type<'c>], args: &[Value<'c>]) -> Result<Value<'c>, Error> {
        self.intrinsic(name, overloads, args)?.ok_or_else(|| Error::Shape(format!("intrinsic `{name}` has no result")))
    }

    /// Inline PTX with effects. Constraints are LLVM's: `=r,l,r,~{memory}`.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM refuses it.
    pub fn assembly(&self, text: &str, constraints: &str, result: Type<'c>, args: &[Value<'c>]) -> Result<Value<'c>, Error> {
        let ty = result.fn_type(&param_types(args), false);
        self.result_of(self.assemble(ty, text, constraints, true, args)?)
    }

    /// Inline PTX that only computes: it may be moved, merged and dropped.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM refuses it.
    pub fn pure_assembly(
        &self,
        text: &str,
        constraints: &str,
        result: Type<'c>,
        args: &[Value<'c>],
    ) -> Result<Value<'c>, Error> {
        let ty = result.fn_type(&param_types(args), false);
        self.result_of(self.assemble(ty, text, constraints, false, args)?)
    }

    fn result_of(&self, call: CallSiteValue<'c>) -> Result<Value<'c>, Error> {
        match call.try_as_basic_value() {
            ValueKind::Basic(value) => Ok(value),
            ValueKind::Instruction(_) => shape("assembly without a result"),
        }
    }

    /// As [`Body::assembly`], without a result.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM refuses it.
    pub fn assembly_effect(&self, text: &str, constraints: &str, args: &[Value<'c>]) -> Result<(), Error> {
        let ty = self.module.context.void_type().fn_type(&param_types(args), false);
        self.assemble(ty, text, constraints, true, args).map(|_| ())
    }

    fn assemble(
        &self,
        ty: FunctionType<'c>,
        text: &str,
        constraints: &str,
        effects: bool,
        args: &[Value<'c>],
    ) -> Result<CallSiteValue<'c>, Error> {
        let context = self.module.context;
        let address = context.create_inline_asm(ty, text.to_owned(), constraints.to_owned(), effects, false, None, false);
        let args: Vec<BasicMetadataValueEnum<'c>> = args.iter().map(|arg| (*arg).into()).collect();
        Ok(self.builder.build_indirect_call(ty, address, &args, "")?)
    }
}

fn param_types<'c>(args: &[Value<'c>]) -> Vec<BasicMetadataTypeEnum<'c>> {
    args.iter().map(|arg| arg.get_type().into()).collect()
}

/// An integer, or the caller's mistake.
pub fn int(value: Value<'_>) -> Result<IntValue<'_>, Error> {
    IntValue::try_from(value).map_err(|()| Error::Shape(format!("an integer was wanted: {value:?}")))
}

/// An address, or the caller's mistake.
pub fn pointer(value: Value<'_>) -> Result<PointerValue<'_>, Error> {
    PointerValue::try_from(value).map_err(|()| Error::Shape(format!("an address was wanted: {value:?}")))
}
