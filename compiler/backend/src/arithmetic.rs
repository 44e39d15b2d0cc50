//! Binary operators. What would be undefined for LLVM is guarded, so that no program's mistake lets it delete a barrier, a launch or a
//! check (`docs/`, "Semantics that are fixed"); constants need no guard.

use crate::Error;
use crate::function::Emit;
use crate::types::Class;
use cdp_core::ir::{BinaryOp, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, Scalar};
use nvptx_builder::{Compare, FloatCompare, IntOp, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// `a op b`
    pub fn binary(&self, op: BinaryOp, a: &Operand, b: &Operand, span: Span) -> Result<Value<'c>, Error> {
        let class = self.emitter.class(self.type_of(a));
        let (left, right) = (self.value(a, span)?, self.value(b, span)?);
        match class {
            Class::Bool => self.bool_binary(op, left, right, span),
            Class::Int(int) => self.int_binary(op, int, left, right, span),
            Class::Float(float) => self.float_binary(op, float, left, right, span),
            Class::Pointer | Class::Handle(_) => Ok(self.body.compare(comparison(op, false, span)?, left, right)?),
            Class::Vector(element, lanes) => self.vector_binary(op, element, lanes, left, right, span),
            Class::Aggregate | Class::Nothing => self
                .emitter
                .malformed(format!("`{}` of `{}`", op.symbol(), self.emitter.ir.types.display(self.type_of(a))), span),
        }
    }

    fn bool_binary(&self, op: BinaryOp, a: Value<'c>, b: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        Ok(match op {
            BinaryOp::And => self.body.int_op(IntOp::And, a, b)?,
            BinaryOp::Or => self.body.int_op(IntOp::Or, a, b)?,
            BinaryOp::Xor => self.body.int_op(IntOp::Xor, a, b)?,
            _ => self.body.compare(comparison(op, false, span)?, a, b)?,
        })
    }

    fn int_binary(&self, op: BinaryOp, int: Int, a: Value<'c>, b: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        let simple = |op| Ok(self.body.int_op(op, a, b)?);
        match op {
            BinaryOp::Add => simple(IntOp::Add),
            BinaryOp::Sub => simple(IntOp::Sub),
            BinaryOp::Mul => simple(IntOp::Mul),
            BinaryOp::And => simple(IntOp::And),
            BinaryOp::Or => simple(IntOp::Or),
            BinaryOp::Xor => simple(IntOp::Xor),
            BinaryOp::Div => self.divide(int, a, b),
            BinaryOp::Rem => self.remainder(int, a, b),
            BinaryOp::Shl => self.shift(IntOp::Shl, int, a, b),
            BinaryOp::Shr if int.signed() => self.shift(IntOp::ShiftRightSigned, int, a, b),
            BinaryOp::Shr => self.shift(IntOp::ShiftRightUnsigned, int, a, b),
            _ => Ok(self.body.compare(comparison(op, int.signed(), span)?, a, b)?),
        }
    }

    /// The amount counts modulo the width.
    fn shift(&self, op: IntOp, int: Int, a: Value<'c>, by: Value<'c>) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let width = builder.int(int.bits())?;
        let amount = self.body.int_cast(by, width, false)?;
        let amount = self.body.int_op(IntOp::And, amount, builder.const_int(width, u64::from(int.bits() - 1)))?;
        Ok(self.body.int_op(op, a, amount)?)
    }

    /// By 0 it gives the dividend; the smallest integer by -1 gives itself.
    fn divide(&self, int: Int, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let width = builder.int(int.bits())?;
        let safe = self.safe_divisor(int, b)?;
        if !int.signed() {
            return Ok(self.body.int_op(IntOp::DivUnsigned, a, safe)?);
        }
        let quotient = self.body.int_op(IntOp::DivSigned, a, safe)?;
        if is_harmless(int, b) {
            return Ok(quotient);
        }
        let negative = self.body.int_op(IntOp::Sub, builder.const_int(width, 0), a)?;
        let by_minus_one = self.body.compare(Compare::Equal, b, builder.const_int(width, u64::MAX))?;
        Ok(self.body.select(by_minus_one, negative, quotient)?)
    }

    /// By 0 and by -1 it gives 0.
    fn remainder(&self, int: Int, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        let safe = self.safe_divisor(int, b)?;
        Ok(self.body.int_op(if int.signed() { IntOp::RemSigned } else { IntOp::RemUnsigned }, a, safe)?)
    }

    /// The divisor, or 1 where the division would be undefined.
    fn safe_divisor(&self, int: Int, b: Value<'c>) -> Result<Value<'c>, Error> {
        if is_harmless(int, b) {
            return Ok(b);
        }
        let builder = self.emitter.builder;
        let width = builder.int(int.bits())?;
        let one = builder.const_int(width, 1);
        let undefined = if int.signed() {
            // 0 and -1 at once
            let shifted = self.body.int_op(IntOp::Add, b, one)?;
            self.body.compare(Compare::LessUnsigned, shifted, builder.const_int(width, 2))?
        } else {
            self.body.compare(Compare::Equal, b, builder.const_int(width, 0))?
        };
        Ok(self.body.select(undefined, one, b)?)
    }

    fn float_binary(&self, op: BinaryOp, float: Float, a: Value<'c>, b: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        let comparison = match op {
            BinaryOp::Add => return Ok(self.body.float_add(a, b)?),
            BinaryOp::Sub => return Ok(self.body.float_sub(a, b)?),
            BinaryOp::Mul => return Ok(self.body.float_mul(a, b)?),
            BinaryOp::Div if float == Float::F32 && self.emitter.options.fast_math => {
                return Ok(self.body.intrinsic_value("llvm.nvvm.div.full.ftz", &[], &[a, b])?);
            }
            BinaryOp::Div => return Ok(self.body.float_div(a, b)?),
            BinaryOp::Rem => return self.float_remainder(float, a, b, span),
            BinaryOp::Eq => FloatCompare::Equal,
            BinaryOp::Ne => FloatCompare::NotEqual,
            BinaryOp::Lt => FloatCompare::Less,
            BinaryOp::Le => FloatCompare::LessEqual,
            BinaryOp::Gt => FloatCompare::Greater,
            BinaryOp::Ge => FloatCompare::GreaterEqual,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => {
                return self.emitter.malformed(format!("`{}` of floats", op.symbol()), span);
            }
        };
        Ok(self.body.float_compare(comparison, a, b)?)
    }

    /// `fmod`; that of 16-bit floats is exact in 32 bits.
    fn float_remainder(&self, float: Float, a: Value<'c>, b: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        let name = if float == Float::F64 { "__nv_fmod" } else { "__nv_fmodf" };
        if !matches!(float, Float::F16 | Float::Bf16) {
            return self.libdevice(name, "%", &[a, b], a.get_type(), span);
        }
        let wide = self.emitter.builder.float();
        let (a, b) = (self.body.float_cast(a, wide)?, self.body.float_cast(b, wide)?);
        let result = self.libdevice(name, "%", &[a, b], wide.into(), span)?;
        self.to_float_type(result, float, span)
    }

    fn vector_binary(
        &self,
        op: BinaryOp,
        element: Scalar,
        lanes: u32,
        a: Value<'c>,
        b: Value<'c>,
        span: Span,
    ) -> Result<Value<'c>, Error> {
        let whole = match (element, op) {
            (Scalar::Float(_), BinaryOp::Add) => Some(self.body.float_add(a, b)?),
            (Scalar::Float(_), BinaryOp::Sub) => Some(self.body.float_sub(a, b)?),
            (Scalar::Float(_), BinaryOp::Mul) => Some(self.body.float_mul(a, b)?),
            (Scalar::Int(_), BinaryOp::Add) => Some(self.body.int_op(IntOp::Add, a, b)?),
            (Scalar::Int(_), BinaryOp::Sub) => Some(self.body.int_op(IntOp::Sub, a, b)?),
            (Scalar::Int(_), BinaryOp::Mul) => Some(self.body.int_op(IntOp::Mul, a, b)?),
            (Scalar::Int(_), BinaryOp::And) => Some(self.body.int_op(IntOp::And, a, b)?),
            (Scalar::Int(_), BinaryOp::Or) => Some(self.body.int_op(IntOp::Or, a, b)?),
            (Scalar::Int(_), BinaryOp::Xor) => Some(self.body.int_op(IntOp::Xor, a, b)?),
            _ => None,
        };
        if let Some(whole) = whole {
            return Ok(whole);
        }
        if op.is_comparison() {
            return self.emitter.malformed(format!("`{}` of vectors", op.symbol()), span);
        }
        let mut vector = self.emitter.builder.zero(a.get_type());
        for lane in 0..lanes {
            let (x, y) = (self.body.extract(a, lane)?, self.body.extract(b, lane)?);
            let value = match element {
                Scalar::Int(int) => self.int_binary(op, int, x, y, span)?,
                Scalar::Float(float) => self.float_binary(op, float, x, y, span)?,
            };
            vector = self.body.insert(vector, value, lane)?;
        }
        Ok(vector)
    }
}

/// Whether a divisor is a constant that no dividend makes undefined.
fn is_harmless(int: Int, divisor: Value<'_>) -> bool {
    match divisor {
        Value::IntValue(value) => {
            value.get_zero_extended_constant().is_some_and(|bits| bits != 0 && !(int.signed() && int.value(bits) == -1))
        }
        _ => false,
    }
}

fn comparison(op: BinaryOp, signed: bool, span: Span) -> Result<Compare, Error> {
    Ok(match (op, signed) {
        (BinaryOp::Eq, _) => Compare::Equal,
        (BinaryOp::Ne, _) => Compare::NotEqual,
        (BinaryOp::Lt, true) => Compare::LessSigned,
        (BinaryOp::Le, true) => Compare::LessEqualSigned,
        (BinaryOp::Gt, true) => Compare::GreaterSigned,
        (BinaryOp::Ge, true) => Compare::GreaterEqualSigned,
        (BinaryOp::Lt, false) => Compare::LessUnsigned,
        (BinaryOp::Le, false) => Compare::LessEqualUnsigned,
        (BinaryOp::Gt, false) => Compare::GreaterUnsigned,
        (BinaryOp::Ge, false) => Compare::GreaterEqualUnsigned,
        _ => return Err(Error::Malformed { what: format!("`{}` of these operands", op.symbol()), span }),
    })
}
