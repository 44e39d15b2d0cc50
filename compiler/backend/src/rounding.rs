//! Arithmetic and conversions that say how they round: PTX has an instruction for each.

use crate::Error;
use crate::function::Emit;
use cdp_core::builtins::{RoundedOp, Rounding};
use cdp_core::types::{Float, Int};
use nvptx_builder::Value;

impl<'c> Emit<'_, '_, 'c> {
    /// Arithmetic of `f32` or `f64`. An instruction with a mode is never fused with another one (PTX ISA, `add`, `mul`).
    pub fn rounded(&self, op: RoundedOp, rounding: Rounding, float: Float, args: &[Value<'c>]) -> Result<Value<'c>, Error> {
        let name = match op {
            RoundedOp::Add | RoundedOp::Sub => "add",
            RoundedOp::Mul => "mul",
            RoundedOp::Fma => "fma",
            RoundedOp::Div => "div",
            RoundedOp::Reciprocal => "rcp",
            RoundedOp::Sqrt => "sqrt",
        };
        let name = format!("llvm.nvvm.{name}.{}{}", mode(rounding), self.single_or_double(float));
        let negated;
        let args = match (op, args) {
            (RoundedOp::Sub, [a, b]) => {
                negated = [*a, self.body.float_neg(*b)?];
                &negated
            }
            _ => args,
        };
        Ok(self.body.intrinsic_value(&name, &[], args)?)
    }

    /// A number of `f32` or `f64` as an integer of 32 or 64 bits, as `cvt` does it.
    pub fn rounded_to_int(&self, value: Value<'c>, from: Float, to: Int, rounding: Rounding) -> Result<Value<'c>, Error> {
        let letter = if from == Float::F32 { "f" } else { "d" };
        let name = format!("llvm.nvvm.{letter}2{}.{}{}", integer(to), mode(rounding), self.flush(from));
        Ok(self.body.intrinsic_value(&name, &[], &[value])?)
    }

    /// An integer of 32 or 64 bits as a number of `f32` or `f64`.
    pub fn rounded_to_float(&self, value: Value<'c>, from: Int, to: Float, rounding: Rounding) -> Result<Value<'c>, Error> {
        let letter = if to == Float::F32 { "f" } else { "d" };
        Ok(self.body.intrinsic_value(&format!("llvm.nvvm.{}2{letter}.{}", integer(from), mode(rounding)), &[], &[value])?)
    }

    /// An `f64` as an `f32`.
    pub fn rounded_to_single(&self, value: Value<'c>, rounding: Rounding) -> Result<Value<'c>, Error> {
        let name = format!("llvm.nvvm.d2f.{}{}", mode(rounding), self.flush(Float::F32));
        Ok(self.body.intrinsic_value(&name, &[], &[value])?)
    }

    fn single_or_double(&self, float: Float) -> String {
        if float == Float::F32 { format!("{}.f", self.flush(float)) } else { ".d".to_owned() }
    }

    /// `.ftz` where subnormal numbers of the format are flushed to zero.
    fn flush(&self, float: Float) -> &'static str {
        let options = self.emitter.options;
        if float == Float::F32 && (options.ftz || options.fast_math) { ".ftz" } else { "" }
    }
}

const fn mode(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::Nearest => "rn",
        Rounding::Zero => "rz",
        Rounding::Up => "rp",
        Rounding::Down => "rm",
    }
}

const fn integer(int: Int) -> &'static str {
    match (int.bits(), int.signed()) {
        (64, true) => "ll",
        (64, false) => "ull",
        (_, true) => "i",
        (_, false) => "ui",
    }
}
