//! Conversions.

use crate::Error;
use crate::function::Emit;
use crate::types::{Class, space};
use cdp_core::ir::{CastKind, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, TypeId};
use nvptx_builder::{Compare, FloatCompare, FloatType, IntOp, IntType, Space, Type, Value};

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
                let value = self.body.comparable(value)?;
                let wide = if float.bits() == 16 { self.body.float_cast(value, builder.float())? } else { value };
                Ok(self.body.float_to_int(wide, builder.int(int.bits())?, int.signed())?)
            }
            (CastKind::Float, Class::Float(from), Class::Float(to)) => {
                // between the two formats of 16 bits through 32, which holds both exactly
                let wide =
                    if from.bits() == 16 && to.bits() == 16 { self.body.float_cast(value, builder.float())? } else { value };
                self.to_float_type(wide, to, span)
            }
            (CastKind::Rounded(rounding), Class::Float(from), Class::Int(to)) => self.rounded_to_int(value, from, to, rounding),
            (CastKind::Rounded(rounding), Class::Int(from), Class::Float(to)) => {
                self.rounded_to_float(value, from, to, rounding)
            }
            (CastKind::Rounded(rounding), Class::Float(Float::F64), Class::Float(Float::F32)) => {
                self.rounded_to_single(value, rounding)
            }
            (CastKind::Bits, Class::Vector(..), Class::Int(int)) => {
                Ok(self.body.bits_as(value, builder.int(int.bits())?.into())?)
            }
            (CastKind::Pointer, Class::Pointer, Class::Pointer) => {
                Ok(self.body.address_cast(value, self.emitter.pointer_space(ty))?)
            }
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
        let Type::FloatType(ty) = self.emitter.float_type(to) else {
            return self.emitter.malformed("a float was wanted", span);
        };
        // what exists is wider than one bit
        let value = if int.bits() < 32 { self.body.int_cast(value, builder.int(32)?, signed)? } else { value };
        if to != Float::Bf16 || self.emitter.options.target.capability() >= DIRECT_BFLOAT {
            return Ok(self.body.int_to_float(value, ty, signed)?);
        }
        let wide = self.body.int_cast(value, builder.int(64)?, signed)?;
        self.int_to_bfloat(wide, signed, ty)
    }

    /// A 64-bit integer as bfloat16 in one rounding, where PTX would make two, by way of 32 bits: its first 24 bits, of which the last also
    /// says whether any followed, are exact there, and are more than enough to round 8 by.
    fn int_to_bfloat(&self, value: Value<'c>, signed: bool, ty: FloatType<'c>) -> Result<Value<'c>, Error> {
        let (body, builder) = (&self.body, self.emitter.builder);
        let (wide, word) = (builder.int(64)?, builder.int(32)?);
        let (zero, one) = (builder.const_int(wide, 0), builder.const_int(wide, 1));
        let negative = body.compare(Compare::LessSigned, value, zero)?;
        let size = match signed {
            true => body.select(negative, body.int_op(IntOp::Sub, zero, value)?, value)?,
            false => value,
        };
        let leading = body.intrinsic_value("llvm.ctlz", &[wide.into()], &[size, builder.const_int(builder.int(1)?, 0)])?;
        // 40 less the leading zeros, but not less than 0: how many bits do not fit
        let short = body.compare(Compare::GreaterUnsigned, leading, builder.const_int(wide, 40))?;
        let excess = body.int_op(IntOp::Sub, builder.const_int(wide, 40), leading)?;
        let excess = body.select(short, zero, excess)?;
        let kept = body.int_op(IntOp::ShiftRightUnsigned, size, excess)?;
        let back = body.int_op(IntOp::Shl, kept, excess)?;
        let lost = body.compare(Compare::NotEqual, back, size)?;
        let odd = body.int_op(IntOp::Or, kept, body.select(lost, one, zero)?)?;
        let float = body.int_to_float(body.int_cast(odd, word, false)?, builder.float(), false)?;
        // times 2 to the power of what was cut off, which is exact
        let exponent = body.int_op(IntOp::Add, body.int_cast(excess, word, false)?, builder.const_int(word, 127))?;
        let power = body.int_op(IntOp::Shl, exponent, builder.const_int(word, 23))?;
        let float = body.float_mul(float, body.bits_as(power, builder.float().into())?)?;
        let float = if signed { body.select(negative, body.float_neg(float)?, float)? } else { float };
        Ok(body.float_cast(float, ty)?)
    }
}
