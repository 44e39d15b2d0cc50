//! Conversions.

use crate::Error;
use crate::function::Emit;
use crate::types::{Class, space};
use cdp_core::ir::{CastKind, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, TypeId};
use nvptx_builder::{Compare, FloatCompare, IntOp, IntType, Space, Type, Value};

/// From this capability on, PTX converts integers to bfloat16 in one rounding.
const DIRECT_BFLOAT: u32 = 90;

impl<'c> Emit<'_, '_, 'c> {
    /// The operand converted to `ty`.
    pub fn cast(&self, kind: CastKind, operand: &Operand, ty: TypeId, span: Span) -> Result<Value<'c>, Error> {
        let (from, to) = (self.emitter.class(self.type_of(operand)), self.emitter.class(ty));
        let value = self.value(operand, span)?;
        let builder = self.emitter.builder;
        match (kind, from, to) {
            (CastKind::Int, Class::Bool, Class::Bool) => Ok(value),
            (CastKind::Int, _, Class::Bool) | (CastKind::ToBool, _, _) => self.to_bool(value, span),
            (CastKind::Int, Class::Bool, Class::Int(to)) => Ok(self.body.int_cast(value, builder.int(to.bits())?, false)?),
            (CastKind::Int, Class::Int(from), Class::Int(to)) => {
                Ok(self.body.int_cast(value, builder.int(to.bits())?, from.signed())?)
            }
            (CastKind::IntToFloat, Class::Bool, Class::Float(float)) => self.int_to_float(value, Int::U8, float, span),
            (CastKind::IntToFloat, Class::Int(int), Class::Float(float)) => self.int_to_float(value, int, float, span),
            (CastKind::FloatToInt, Class::Float(float), Class::Int(int)) => {
                let wide = if float.bits() == 16 { self.body.float_cast(value, builder.float())? } else { value };
                Ok(self.body.float_to_int(wide, builder.int(int.bits())?, int.signed())?)
            }
            (CastKind::Float, Class::Float(from), Class::Float(to)) => {
                // between the two formats of 16 bits through 32, which holds both exactly
                let wide = if from.bits() == 16 && to.bits() == 16 { self.body.float_cast(value, builder.float())? } else { value };
                self.to_float_type(wide, to, span)
            }
            (CastKind::Pointer, Class::Pointer, Class::Pointer) => Ok(self.body.address_cast(value, self.emitter.pointer_space(ty))?),
            (CastKind::ToGeneric, Class::Pointer, _) => Ok(self.body.address_cast(value, Space::Generic)?),
            (CastKind::FromGeneric, Class::Pointer, Class::Pointer) => {
                let Some((to, _, _)) = self.emitter.ir.types.pointee(ty) else { return self.misfit(kind, operand, ty, span) };
                Ok(self.body.address_cast(value, space(to))?)
            }
            (CastKind::Pointer | CastKind::PointerToInt, Class::Pointer, Class::Int(_) | Class::Handle(_)) => {
                let bits = self.body.address_bits(value, builder.size_type())?;
                Ok(self.body.int_cast(bits, self.int_type(ty, span)?, false)?)
            }
            (CastKind::Pointer | CastKind::IntToPointer, Class::Handle(_) | Class::Int(_), Class::Pointer) => {
                let signed = matches!(from, Class::Int(int) if int.signed());
                let bits = self.body.int_cast(value, builder.size_type(), signed)?;
                Ok(self.body.address_from_bits(bits, self.emitter.pointer_space(ty))?)
            }
            (
                CastKind::Pointer | CastKind::PointerToInt | CastKind::IntToPointer,
                Class::Handle(_) | Class::Int(_),
                Class::Handle(_) | Class::Int(_),
            ) => {
                let signed = matches!(from, Class::Int(int) if int.signed());
                Ok(self.body.int_cast(value, self.int_type(ty, span)?, signed)?)
            }
            _ => self.misfit(kind, operand, ty, span),
        }
    }

    fn misfit<T>(&self, kind: CastKind, operand: &Operand, ty: TypeId, span: Span) -> Result<T, Error> {
        let types = &self.emitter.ir.types;
        let (from, to) = (types.display(self.type_of(operand)), types.display(ty));
        self.emitter.malformed(format!("`{kind:?}` from `{from}` to `{to}`"), span)
    }

    fn int_type(&self, ty: TypeId, span: Span) -> Result<IntType<'c>, Error> {
        match self.emitter.register_type(ty, span)? {
            Type::IntType(int) => Ok(int),
            _ => self.emitter.malformed("an integer was wanted", span),
        }
    }

    /// `value != 0`; NaN is true.
    fn to_bool(&self, value: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        let zero = self.emitter.builder.zero(value.get_type());
        match value {
            Value::IntValue(_) | Value::PointerValue(_) => Ok(self.body.compare(Compare::NotEqual, value, zero)?),
            Value::FloatValue(_) => Ok(self.body.float_compare(FloatCompare::NotEqual, value, zero)?),
            _ => self.emitter.malformed("a truth value of an aggregate", span),
        }
    }

    /// A float rounded to a type that is not wider in one rounding, or widened.
    pub fn to_float_type(&self, value: Value<'c>, to: Float, span: Span) -> Result<Value<'c>, Error> {
        match self.emitter.float_type(to) {
            Type::FloatType(ty) => Ok(self.body.float_cast(value, ty)?),
            _ => self.emitter.malformed("a float was wanted", span),
        }
    }

    fn int_to_float(&self, value: Value<'c>, int: Int, to: Float, span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let signed = int.signed();
        let Type::FloatType(ty) = self.emitter.float_type(to) else { return self.emitter.malformed("a float was wanted", span) };
        // what exists is wider than one bit
        let value = if int.bits() < 32 { self.body.int_cast(value, builder.int(32)?, signed)? } else { value };
        if to != Float::Bf16 || self.emitter.options.target.capability() >= DIRECT_BFLOAT {
            return Ok(self.body.int_to_float(value, ty, signed)?);
        }
        // older GPUs would round twice, by way of 32 bits; 64 bits hold all but integers of more than 53 bits exactly, and of those the
        // lowest bits only say whether it is a tie
        let exact = if int.bits() == 64 { self.keep_sticky(value, signed)? } else { value };
        let double = self.body.int_to_float(exact, builder.double(), signed)?;
        Ok(self.body.float_cast(double, ty)?)
    }

    /// A 64-bit integer with its lowest 11 bits replaced by one that says whether any was set, where it has more than 53 bits.
    fn keep_sticky(&self, value: Value<'c>, signed: bool) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let wide = builder.int(64)?;
        let constant = |bits: u64| builder.const_int(wide, bits);
        let low = self.body.int_op(IntOp::And, value, constant(0x7ff))?;
        let any = self.body.compare(Compare::NotEqual, low, constant(0))?;
        let high = self.body.int_op(IntOp::And, value, constant(!0x7ff))?;
        let sticky = self.body.select(any, constant(0x400), constant(0))?;
        let kept = self.body.int_op(IntOp::Or, high, sticky)?;
        let large = if signed {
            let shifted = self.body.int_op(IntOp::Add, value, constant(1 << 53))?;
            self.body.compare(Compare::GreaterUnsigned, shifted, constant(1 << 54))?
        } else {
            self.body.compare(Compare::GreaterUnsigned, value, constant(1 << 53))?
        };
        Ok(self.body.select(large, kept, value)?)
    }
}
