//! Arithmetic and conversions. Nothing here carries an LLVM flag that would make wrapping, a NaN or a fused rounding undefined or
//! allowed, but where it says so.

use crate::body::{int, pointer};
use crate::error::shape;
use crate::{Body, Error, Space, Type, Value};
use inkwell::types::{FloatType, IntType};
use inkwell::values::InstructionOpcode as Op;
use inkwell::{FloatPredicate, IntPredicate};

/// Integer operations, on scalars and vectors; they wrap.
#[allow(missing_docs, reason = "the names are LLVM's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntOp {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    /// The amount must be less than the width.
    Shl,
    /// The amount must be less than the width.
    ShiftRightSigned,
    /// The amount must be less than the width.
    ShiftRightUnsigned,
    /// The divisor must not be 0, nor -1 where the dividend is the smallest integer.
    DivSigned,
    /// The divisor must not be 0.
    DivUnsigned,
    /// As for `DivSigned`.
    RemSigned,
    /// The divisor must not be 0.
    RemUnsigned,
}

/// Comparisons of integers and addresses.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    NotEqual,
    LessSigned,
    LessEqualSigned,
    GreaterSigned,
    GreaterEqualSigned,
    LessUnsigned,
    LessEqualUnsigned,
    GreaterUnsigned,
    GreaterEqualUnsigned,
}

/// Comparisons of floats. All but `NotEqual` and `Unordered` are false when an operand is NaN.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatCompare {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Whether an operand is NaN.
    Unordered,
}

impl<'c> Body<'_, 'c> {
    /// An integer operation on two operands of one type.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn int_op(&self, op: IntOp, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        let opcode = match op {
            IntOp::Add => Op::Add,
            IntOp::Sub => Op::Sub,
            IntOp::Mul => Op::Mul,
            IntOp::And => Op::And,
            IntOp::Or => Op::Or,
            IntOp::Xor => Op::Xor,
            IntOp::Shl => Op::Shl,
            IntOp::ShiftRightSigned => Op::AShr,
            IntOp::ShiftRightUnsigned => Op::LShr,
            IntOp::DivSigned => Op::SDiv,
            IntOp::DivUnsigned => Op::UDiv,
            IntOp::RemSigned => Op::SRem,
            IntOp::RemUnsigned => Op::URem,
        };
        self.same_type(a, b)?;
        Ok(self.builder.build_binop(opcode, a, b, "")?)
    }

    /// Addition, subtraction, multiplication or division of floats, rounded to nearest, never fused.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn float_add(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.float_op(Op::FAdd, a, b)
    }

    /// `a - b`, rounded to nearest, never fused.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn float_sub(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.float_op(Op::FSub, a, b)
    }

    /// `a * b`, rounded to nearest, never fused.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn float_mul(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.float_op(Op::FMul, a, b)
    }

    /// `a / b`, rounded to nearest.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn float_div(&self, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.float_op(Op::FDiv, a, b)
    }

    fn float_op(&self, op: Op, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.same_type(a, b)?;
        Ok(self.builder.build_binop(op, a, b, "")?)
    }

    /// `-a`: flips the sign bit, of NaN too.
    ///
    /// # Errors
    /// [`Error::Shape`] for no float.
    pub fn float_neg(&self, a: Value<'c>) -> Result<Value<'c>, Error> {
        match a {
            Value::FloatValue(a) => Ok(self.builder.build_float_neg(a, "")?.into()),
            Value::VectorValue(a) => Ok(self.builder.build_float_neg(a, "")?.into()),
            _ => shape("negation of no float"),
        }
    }

    /// Compares integers or addresses of one type.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ or are others.
    pub fn compare(&self, op: Compare, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        let predicate = match op {
            Compare::Equal => IntPredicate::EQ,
            Compare::NotEqual => IntPredicate::NE,
            Compare::LessSigned => IntPredicate::SLT,
            Compare::LessEqualSigned => IntPredicate::SLE,
            Compare::GreaterSigned => IntPredicate::SGT,
            Compare::GreaterEqualSigned => IntPredicate::SGE,
            Compare::LessUnsigned => IntPredicate::ULT,
            Compare::LessEqualUnsigned => IntPredicate::ULE,
            Compare::GreaterUnsigned => IntPredicate::UGT,
            Compare::GreaterEqualUnsigned => IntPredicate::UGE,
        };
        self.same_type(a, b)?;
        let (a, b) = match (a, b) {
            (Value::PointerValue(_), Value::PointerValue(_)) => {
                let size = self.module.size_type();
                (int(self.address_bits(a, size)?)?, int(self.address_bits(b, size)?)?)
            }
            _ => (int(a)?, int(b)?),
        };
        Ok(self.builder.build_int_compare(predicate, a, b, "")?.into())
    }

    /// Compares floats of one type. Where `f32` is flushed, subnormal `bf16` counts as zero, too: PTX has no flushing comparison of `bf16`, and
    /// LLVM asks for one.
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ or are others.
    pub fn float_compare(&self, op: FloatCompare, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        let predicate = match op {
            FloatCompare::Equal => FloatPredicate::OEQ,
            FloatCompare::NotEqual => FloatPredicate::UNE,
            FloatCompare::Less => FloatPredicate::OLT,
            FloatCompare::LessEqual => FloatPredicate::OLE,
            FloatCompare::Greater => FloatPredicate::OGT,
            FloatCompare::GreaterEqual => FloatPredicate::OGE,
            FloatCompare::Unordered => FloatPredicate::UNO,
        };
        self.same_type(a, b)?;
        match (self.comparable(a)?, self.comparable(b)?) {
            (Value::FloatValue(a), Value::FloatValue(b)) => Ok(self.builder.build_float_compare(predicate, a, b, "")?.into()),
            _ => shape("a float comparison of no floats"),
        }
    }

    /// The value, or a `bf16` as `f32` where LLVM would compare it by an instruction that there is not. It sees through an extension, so that
    /// one is written in PTX.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn comparable(&self, value: Value<'c>) -> Result<Value<'c>, Error> {
        /// From this capability on, LLVM compares `bf16` as such.
        const COMPARES_BFLOAT: u32 = 90;
        let options = &self.module.options;
        let is_bfloat = value.get_type() == self.module.context.bf16_type().into();
        if !is_bfloat || !options.flush_denormals || options.target.capability() < COMPARES_BFLOAT {
            return Ok(value);
        }
        let bits = self.bits_as(value, self.module.int(16)?.into())?;
        self.pure_assembly("cvt.f32.bf16 $0, $1;", "=f,h", self.module.context.f32_type().into(), &[bits])
    }

    /// `condition ? a : b`
    ///
    /// # Errors
    /// [`Error::Shape`] when the types differ.
    pub fn select(&self, condition: Value<'c>, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>, Error> {
        self.same_type(a, b)?;
        Ok(self.builder.build_select(int(condition)?, a, b, "")?)
    }

    /// An integer of another width: cut off, or extended by its sign or by zeros.
    ///
    /// # Errors
    /// [`Error::Shape`] for no integer.
    pub fn int_cast(&self, value: Value<'c>, to: IntType<'c>, signed: bool) -> Result<Value<'c>, Error> {
        let from = int(value)?;
        let (old, new) = (from.get_type().get_bit_width(), to.get_bit_width());
        let op = match old.cmp(&new) {
            std::cmp::Ordering::Equal => return Ok(value),
            std::cmp::Ordering::Greater => Op::Trunc,
            std::cmp::Ordering::Less if signed => Op::SExt,
            std::cmp::Ordering::Less => Op::ZExt,
        };
        Ok(self.builder.build_cast(op, from, to, "")?)
    }

    /// The float nearest to an integer, ties to even.
    ///
    /// # Errors
    /// [`Error::Shape`] for no integer.
    pub fn int_to_float(&self, value: Value<'c>, to: FloatType<'c>, signed: bool) -> Result<Value<'c>, Error> {
        Ok(self.builder.build_cast(if signed { Op::SIToFP } else { Op::UIToFP }, int(value)?, to, "")?)
    }

    /// A float of another width or format, nearest, ties to even.
    ///
    /// # Errors
    /// [`Error::Shape`] for no float, and between the two formats of 16 bits.
    pub fn float_cast(&self, value: Value<'c>, to: FloatType<'c>) -> Result<Value<'c>, Error> {
        let Value::FloatValue(from) = value else { return shape("a float conversion of no float") };
        if from.get_type() == to {
            return Ok(value);
        }
        let op = match from.get_type().get_bit_width().cmp(&to.get_bit_width()) {
            std::cmp::Ordering::Less => Op::FPExt,
            std::cmp::Ordering::Greater => Op::FPTrunc,
            std::cmp::Ordering::Equal => return shape("a conversion between half and bfloat16"),
        };
        Ok(self.builder.build_cast(op, from, to, "")?)
    }

    /// A float towards zero as an integer: saturates, NaN gives 0.
    ///
    /// # Errors
    /// [`Error::Shape`] for no float.
    pub fn float_to_int(&self, value: Value<'c>, to: IntType<'c>, signed: bool) -> Result<Value<'c>, Error> {
        let Value::FloatValue(from) = value else { return shape("a conversion to integer of no float") };
        // PTX's cvt.rzi saturates by itself to 32 and 64 bits (PTX ISA, "cvt"); NaN is 0 only from f32 to 32 bits
        let width = from.get_type().get_bit_width();
        let direct = match (width, to.get_bit_width(), signed) {
            (32, 32, true) => Some("llvm.nvvm.f2i.rz"),
            (32, 32, false) => Some("llvm.nvvm.f2ui.rz"),
            (32, 64, true) => Some("llvm.nvvm.f2ll.rz"),
            (32, 64, false) => Some("llvm.nvvm.f2ull.rz"),
            (64, 32, true) => Some("llvm.nvvm.d2i.rz"),
            (64, 32, false) => Some("llvm.nvvm.d2ui.rz"),
            (64, 64, true) => Some("llvm.nvvm.d2ll.rz"),
            (64, 64, false) => Some("llvm.nvvm.d2ull.rz"),
            _ => None,
        };
        let Some(name) = direct else {
            let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
            return self.intrinsic_value(name, &[to.into(), from.get_type().into()], &[value]);
        };
        let result = self.intrinsic_value(name, &[], &[value])?;
        if width == 32 && to.get_bit_width() == 32 {
            return Ok(result);
        }
        let nan = self.float_compare(FloatCompare::Unordered, value, value)?;
        self.select(nan, self.module.const_int(to, 0), result)
    }

    /// The same bits as another type of the same width.
    ///
    /// # Errors
    /// [`Error::Shape`] when LLVM refuses it.
    pub fn bits_as(&self, value: Value<'c>, to: Type<'c>) -> Result<Value<'c>, Error> {
        if value.get_type() == to {
            return Ok(value);
        }
        Ok(self.builder.build_bit_cast(value, to, "")?)
    }

    /// An address in another space. Between two spaces neither of which is generic it goes through generic.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn address_cast(&self, value: Value<'c>, to: Space) -> Result<Value<'c>, Error> {
        let from = pointer(value)?;
        let to = self.module.pointer(to);
        let generic = self.module.pointer(Space::Generic);
        if from.get_type() == to {
            return Ok(value);
        }
        if from.get_type() != generic && to != generic {
            let middle = self.builder.build_address_space_cast(from, generic, "")?;
            return Ok(self.builder.build_address_space_cast(middle, to, "")?.into());
        }
        Ok(self.builder.build_address_space_cast(from, to, "")?.into())
    }

    /// An address's bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn address_bits(&self, value: Value<'c>, to: IntType<'c>) -> Result<Value<'c>, Error> {
        Ok(self.builder.build_ptr_to_int(pointer(value)?, to, "")?.into())
    }

    /// An address from its bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for no integer.
    pub fn address_from_bits(&self, value: Value<'c>, space: Space) -> Result<Value<'c>, Error> {
        Ok(self.builder.build_int_to_ptr(int(value)?, self.module.pointer(space), "")?.into())
    }

    fn same_type(&self, a: Value<'c>, b: Value<'c>) -> Result<(), Error> {
        if a.get_type() == b.get_type() { Ok(()) } else { shape(format!("{} and {}", a.get_type(), b.get_type())) }
    }
}
