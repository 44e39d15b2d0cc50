//! What the operations of the IR compute, on bit patterns: the one evaluator behind `sema`'s constants, the constant-folding pass and
//! the reference executor.
//!
//! Every function is pure, exact and the same on every machine. Scalars only: vectors go lane by lane, pointers only through
//! comparisons and casts that keep their bits. A bit pattern is as [`super::ConstValue::Bits`] has it: wrapped to the type's width,
//! upper bits zero. A result that is not a number is the one that NVIDIA GPUs give ([`float::nan`]).
//!
//! - this file: operators and casts
//! - `intrinsic`: the builtin functions whose results are exact
//! - `float`: rounding to a format, once; `exact`: in any mode

mod exact;
mod float;
mod intrinsic;
mod packed;

pub use float::{from_int, nan, round, round_decimal};
pub use intrinsic::eval_intrinsic;

use super::{BinaryOp, CastKind, UnaryOp};
use crate::builtins::Rounding;
use crate::types::{Float, Int, Type, TypeId, TypeTable};

/// Why an operation has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvalError {
    /// A signed integer result does not fit its type: an error of the program.
    Overflow,
    /// Integer division or remainder by zero: an error of the program.
    DivideByZero,
    /// A shift by less than zero or by the width or more: an error of the program.
    Shift,
    /// Not defined for these types, or not exact, such as `sin`: nothing is wrong with the program.
    Unsupported,
}

/// `op x` of a scalar type.
///
/// # Errors
/// [`EvalError::Overflow`] for `-x` of the smallest signed integer; [`EvalError::Unsupported`] for a type without the operator.
pub fn eval_unary(types: &TypeTable, op: UnaryOp, ty: TypeId, bits: u64) -> Result<u64, EvalError> {
    if let Some(float) = types.as_float(ty) {
        return match op {
            UnaryOp::Neg => Ok(bits ^ float::sign(float)),
            UnaryOp::Not => Err(EvalError::Unsupported),
        };
    }
    let int = types.as_int(ty).ok_or(EvalError::Unsupported)?;
    match op {
        UnaryOp::Not if ty == TypeTable::BOOL => Ok(bits ^ 1),
        UnaryOp::Not => Ok(int.wrap(!int.value(bits))),
        UnaryOp::Neg if int.signed() => in_range(int, -int.value(bits)),
        UnaryOp::Neg => Ok(int.wrap(-int.value(bits))),
    }
}

/// `a op b`: both operands of the scalar type `ty`, but for shifts, whose right operand is of the integer type `right`. A comparison
/// gives 0 or 1.
///
/// # Errors
/// What the language calls an error of the program; [`EvalError::Unsupported`] for types without the operator. The remainder overflows
/// where the division does.
pub fn eval_binary(types: &TypeTable, op: BinaryOp, ty: TypeId, a: u64, b: u64, right: TypeId) -> Result<u64, EvalError> {
    if let Some(float) = types.as_float(ty) {
        return float_binary(float, op, a, b);
    }
    if let Some(int) = types.as_int(ty) {
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            let right = types.as_int(right).ok_or(EvalError::Unsupported)?;
            return shift(int, op, a, right.value(b));
        }
        return int_binary(int, op, a, b);
    }
    if types.get(ty).is_address() { compare(op, a.partial_cmp(&b)) } else { Err(EvalError::Unsupported) }
}

/// The conversion of a scalar of type `from` to the scalar type `to`.
///
/// # Errors
/// [`EvalError::Unsupported`] where the kind does not fit the types, and for conversions between address spaces, which only a machine
/// can do.
pub fn eval_cast(types: &TypeTable, kind: CastKind, from: TypeId, to: TypeId, bits: u64) -> Result<u64, EvalError> {
    let source_int = types.as_int(from).ok_or(EvalError::Unsupported);
    let source_float = types.as_float(from).ok_or(EvalError::Unsupported);
    let target_int = types.as_int(to).ok_or(EvalError::Unsupported);
    let target_float = types.as_float(to).ok_or(EvalError::Unsupported);
    match kind {
        CastKind::Int => Ok(target_int?.wrap(source_int?.value(bits))),
        CastKind::IntToFloat => Ok(float::from_int(target_float?, source_int?.value(bits))),
        CastKind::FloatToInt => Ok(float_to_int(target_int?, source_float?.value(bits))),
        CastKind::Float => Ok(round(target_float?, source_float?.value(bits))),
        CastKind::ToBool => match source_float {
            Ok(float) => Ok(u64::from(bits & !float::sign(float) != 0)),
            Err(_) => source_int.map(|int| u64::from(int.wrap(int.value(bits)) != 0)),
        },
        CastKind::Pointer => Ok(bits),
        CastKind::PointerToInt => target_int.map(|int| int.wrap(i128::from(bits))),
        CastKind::IntToPointer => source_int.map(|int| int.wrap(int.value(bits))),
        CastKind::Rounded(rounding) => match (types.get(from), types.get(to)) {
            (Type::Float(source), Type::Int(int)) => Ok(rounded_to_int(*source, *int, rounding, source.value(bits))),
            (Type::Int(source), Type::Float(float)) => Ok(exact::from_int(*float, rounding, source.value(bits))),
            (Type::Float(source), Type::Float(float)) => Ok(exact::narrow(*float, rounding, source.value(bits))),
            _ => Err(EvalError::Unsupported),
        },
        CastKind::ToGeneric | CastKind::FromGeneric | CastKind::Bits => Err(EvalError::Unsupported),
    }
}

/// Towards zero, saturating; NaN gives 0.
fn float_to_int(int: Int, value: f64) -> u64 {
    let (least, most) = int.range();
    // a Rust cast saturates and takes NaN to 0; every narrower range lies within i128's
    int.wrap((value as i128).clamp(least, most))
}

/// As stated, saturating; NaN gives 0, or the upper bit alone where a side has 64 bits (PTX ISA, `cvt`).
fn rounded_to_int(from: Float, int: Int, rounding: Rounding, value: f64) -> u64 {
    if value.is_nan() {
        let wide = from == Float::F64 || int.bits() == 64;
        return if wide { 1 << (int.bits() - 1) } else { 0 };
    }
    float_to_int(
        int,
        match rounding {
            Rounding::Nearest => value.round_ties_even(),
            Rounding::Zero => value.trunc(),
            Rounding::Up => value.ceil(),
            Rounding::Down => value.floor(),
        },
    )
}

fn in_range(int: Int, value: i128) -> Result<u64, EvalError> {
    let (least, most) = int.range();
    if (least..=most).contains(&value) { Ok(int.wrap(value)) } else { Err(EvalError::Overflow) }
}

fn int_binary(int: Int, op: BinaryOp, a: u64, b: u64) -> Result<u64, EvalError> {
    let (x, y) = (int.value(a), int.value(b));
    // products of two 64-bit numbers fit 128 bits, but for those of two large unsigned ones, which wrap anyway
    let arithmetic = |value: i128| if int.signed() { in_range(int, value) } else { Ok(int.wrap(value)) };
    match op {
        BinaryOp::Add => arithmetic(x + y),
        BinaryOp::Sub => arithmetic(x - y),
        BinaryOp::Mul => arithmetic(x.wrapping_mul(y)),
        BinaryOp::Div => arithmetic(x.checked_div(y).ok_or(EvalError::DivideByZero)?),
        BinaryOp::Rem => {
            let remainder = x.checked_rem(y).ok_or(EvalError::DivideByZero)?;
            arithmetic(x / y)?;
            Ok(int.wrap(remainder))
        }
        BinaryOp::And => Ok(int.wrap(x & y)),
        BinaryOp::Or => Ok(int.wrap(x | y)),
        BinaryOp::Xor => Ok(int.wrap(x ^ y)),
        BinaryOp::Shl | BinaryOp::Shr => Err(EvalError::Unsupported),
        _ => compare(op, x.partial_cmp(&y)),
    }
}

fn shift(int: Int, op: BinaryOp, bits: u64, by: i128) -> Result<u64, EvalError> {
    if by < 0 || by >= i128::from(int.bits()) {
        return Err(EvalError::Shift);
    }
    let value = int.value(bits);
    Ok(int.wrap(if op == BinaryOp::Shl { value << by } else { value >> by }))
}

fn compare(op: BinaryOp, order: Option<std::cmp::Ordering>) -> Result<u64, EvalError> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let holds = match op {
        BinaryOp::Eq => order == Some(Equal),
        BinaryOp::Ne => order != Some(Equal),
        BinaryOp::Lt => order == Some(Less),
        BinaryOp::Le => matches!(order, Some(Less | Equal)),
        BinaryOp::Gt => order == Some(Greater),
        BinaryOp::Ge => matches!(order, Some(Greater | Equal)),
        _ => return Err(EvalError::Unsupported),
    };
    Ok(u64::from(holds))
}

fn float_binary(float: Float, op: BinaryOp, a: u64, b: u64) -> Result<u64, EvalError> {
    if op.is_comparison() {
        return compare(op, float.value(a).partial_cmp(&float.value(b)));
    }
    // a sum, product or quotient of halves in f64 rounds to the half that a single rounding gives: 53 bits are more than twice as
    // many as a half has, and nothing that halves make is subnormal there
    match float {
        Float::F32 => {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            let value = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                BinaryOp::Rem => x % y,
                _ => return Err(EvalError::Unsupported),
            };
            Ok(round(float, f64::from(value)))
        }
        Float::F16 | Float::Bf16 | Float::F64 => {
            let (x, y) = (float.value(a), float.value(b));
            let value = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                BinaryOp::Rem => x % y,
                _ => return Err(EvalError::Unsupported),
            };
            Ok(round(float, value))
        }
    }
}

#[cfg(test)]
mod tests;
