//! Constants, and first values of variables.

use crate::Error;
use crate::function::Emit;
use crate::module::Emitter;
use crate::place::Address;
use crate::types::{Class, Repr};
use cdp_core::ir::{Const, ConstValue};
use cdp_core::source::Span;
use cdp_core::types::{Scalar, TypeId, TypeTable};
use nvptx_builder::{Type, Value};

/// Larger aggregates are copied from a read-only variable instead of being stored element by element; in bytes.
const COPIED_FROM: u64 = 64;

impl<'c> Emitter<'_, 'c> {
    /// The first value of a variable: numbers as such, all else as bytes, which is how PTX shows them.
    pub fn initialiser(&self, constant: &Const, span: Span) -> Result<Value<'c>, Error> {
        match (self.class(constant.ty), constant.as_bits()) {
            (Class::Int(int), Some(bits)) => Ok(self.builder.const_int(self.builder.int(int.bits())?, bits)),
            (Class::Float(float), Some(bits)) => self.float_bits(self.float_type(float), bits, span),
            _ => Ok(self.builder.const_bytes(&self.bytes_of(constant.ty, &constant.value, span)?)),
        }
    }

    /// A constant in memory.
    pub fn bytes_of(&self, ty: TypeId, value: &ConstValue, span: Span) -> Result<Vec<u8>, Error> {
        let size = usize::try_from(self.layout(ty).size).unwrap_or(usize::MAX);
        let mut bytes = vec![0; size];
        self.write_bytes(ty, value, 0, &mut bytes, span)?;
        Ok(bytes)
    }

    fn write_bytes(&self, ty: TypeId, value: &ConstValue, at: u64, bytes: &mut [u8], span: Span) -> Result<(), Error> {
        match value {
            ConstValue::Zero => Ok(()),
            ConstValue::Bits(bits) => {
                let size = self.layout(ty).size.min(8);
                let start = usize::try_from(at).unwrap_or(usize::MAX);
                for (byte, value) in bytes.iter_mut().skip(start).zip(bits.to_le_bytes()).take(size as usize) {
                    *byte = value;
                }
                Ok(())
            }
            ConstValue::Aggregate(values) => {
                for (index, value) in (0u32..).zip(values) {
                    let element = self.element_type(ty, index, span)?;
                    let offset = self.element_offset(ty, u64::from(index), span)?;
                    self.write_bytes(element, value, at + offset, bytes, span)?;
                }
                Ok(())
            }
            ConstValue::Str(_) => self.malformed("a string in the first value of a variable", span),
        }
    }

    /// The type of a field, lane or element.
    pub fn element_type(&self, ty: TypeId, index: u32, span: Span) -> Result<TypeId, Error> {
        self.ir
            .types
            .element(ty, index)
            .map_or_else(|| self.malformed(format!("element {index} of `{}`", self.ir.types.display(ty)), span), Ok)
    }

    /// Bytes from the start of a value to its field, lane or element.
    pub fn element_offset(&self, ty: TypeId, index: u64, span: Span) -> Result<u64, Error> {
        self.ir
            .types
            .element_offset(ty, index, self.options.width)
            .map_or_else(|| self.malformed(format!("element {index} of `{}`", self.ir.types.display(ty)), span), Ok)
    }

    fn float_bits(&self, ty: Type<'c>, bits: u64, span: Span) -> Result<Value<'c>, Error> {
        match ty {
            Type::FloatType(ty) => Ok(self.builder.const_float(ty, bits)?),
            _ => self.malformed("a float constant of no float type", span),
        }
    }

    /// A constant that is held in a register.
    pub fn register_constant(&self, ty: TypeId, value: &ConstValue, span: Span) -> Result<Value<'c>, Error> {
        let register = self.register_type(ty, span)?;
        match (value, register) {
            (ConstValue::Zero, _) => Ok(self.builder.zero(register)),
            (ConstValue::Bits(bits), Type::IntType(int)) => {
                let bits = if self.class(ty) == Class::Bool { u64::from(*bits != 0) } else { *bits };
                Ok(self.builder.const_int(int, bits))
            }
            (ConstValue::Bits(bits), Type::FloatType(_)) => self.float_bits(register, *bits, span),
            (ConstValue::Bits(0), Type::PointerType(_)) => Ok(self.builder.zero(register)),
            (ConstValue::Str(text), Type::PointerType(_)) => Ok(self.builder.string(text.as_bytes())),
            _ => self.malformed(format!("a constant of type `{}`", self.ir.types.display(ty)), span),
        }
    }
}

impl<'c> Emit<'_, '_, 'c> {
    /// A constant that is held in a register, also those that take an instruction.
    pub fn constant(&self, constant: &Const, span: Span) -> Result<Value<'c>, Error> {
        let emitter = self.emitter;
        match (&constant.value, self.emitter.class(constant.ty)) {
            (ConstValue::Bits(bits), Class::Pointer) if *bits != 0 => {
                let address = emitter.builder.const_int(emitter.builder.size_type(), *bits);
                Ok(self.body.address_from_bits(address, emitter.pointer_space(constant.ty))?)
            }
            (ConstValue::Aggregate(values), Class::Vector(scalar, lanes)) => {
                let mut vector = emitter.builder.zero(emitter.register_type(constant.ty, span)?);
                for (index, value) in (0..lanes).zip(values) {
                    let lane = emitter.register_constant(TypeTable::scalar(scalar), value, span)?;
                    vector = self.body.insert(vector, lane, index)?;
                }
                Ok(vector)
            }
            (value, _) => emitter.register_constant(constant.ty, value, span),
        }
    }

    /// Stores a constant of any type. What nobody writes afterwards is copied in one piece, so that LLVM can read the constant itself; of what
    /// is, the copy stays, and is made of wide pieces.
    pub fn store_constant(
        &self,
        to: Address<'c>,
        ty: TypeId,
        value: &ConstValue,
        written: bool,
        span: Span,
    ) -> Result<(), Error> {
        let emitter = self.emitter;
        let layout = emitter.layout(ty);
        match emitter.repr(ty, span)? {
            Repr::Nothing => Ok(()),
            Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                let value = self.constant(&Const { ty, value: value.clone() }, span)?;
                self.store(to, ty, value, cdp_core::ir::Access::Plain, span)
            }
            Repr::Memory if is_zero(value) => Ok(self.body.clear(to.pointer, to.align, layout.size)?),
            Repr::Memory if layout.size > COPIED_FROM && !has_string(value) => {
                let bytes = emitter.bytes_of(ty, value, span)?;
                let from = emitter.constant_bytes(&bytes, layout.align)?;
                if written {
                    return Ok(self.body.copy(to.pointer, to.align, from, layout.align, layout.size)?);
                }
                Ok(self.body.copy_constant(to.pointer, to.align, from, layout.align, layout.size)?)
            }
            Repr::Memory => {
                let ConstValue::Aggregate(values) = value else {
                    return emitter.malformed(format!("a constant of type `{}`", emitter.ir.types.display(ty)), span);
                };
                for (index, value) in (0u32..).zip(values) {
                    let element = emitter.element_type(ty, index, span)?;
                    let at = self.at_offset(to, emitter.element_offset(ty, u64::from(index), span)?)?;
                    self.store_constant(at, element, value, written, span)?;
                }
                Ok(())
            }
        }
    }
}

fn is_zero(value: &ConstValue) -> bool {
    match value {
        ConstValue::Zero | ConstValue::Bits(0) => true,
        ConstValue::Bits(_) | ConstValue::Str(_) => false,
        ConstValue::Aggregate(values) => values.iter().all(is_zero),
    }
}

fn has_string(value: &ConstValue) -> bool {
    match value {
        ConstValue::Str(_) => true,
        ConstValue::Aggregate(values) => values.iter().any(has_string),
        ConstValue::Zero | ConstValue::Bits(_) => false,
    }
}

/// Whether elements of a vector are floats.
pub const fn is_float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Float(_))
}
