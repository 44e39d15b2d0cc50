//! The builtin functions whose results are exact or correctly rounded.

use super::{EvalError, float, round};
use crate::builtins::Intrinsic;
use crate::ir::BinaryOp;
use crate::types::{Float, Int, TypeId, TypeTable};

/// The value of an intrinsic whose first argument is of the scalar type `ty`; the arguments' other types are what
/// [`Intrinsic::domain`] says.
///
/// # Errors
/// [`EvalError::Unsupported`] for functions that libdevice or an approximate instruction computes, and for foreign types.
pub fn eval_intrinsic(types: &TypeTable, intrinsic: Intrinsic, ty: TypeId, args: &[u64]) -> Result<u64, EvalError> {
    if let Some(format) = types.as_float(ty) {
        return match (format, args) {
            (_, &[x, y, z]) if intrinsic == Intrinsic::Fma => Ok(fma(format, x, y, z)),
            (Float::F32 | Float::F64, &[x, n]) if intrinsic == Intrinsic::Ldexp => Ok(ldexp(format, x, n)),
            (_, &[x]) => float_one(format, intrinsic, x),
            (_, &[x, y]) => float_two(format, intrinsic, x, y),
            _ => Err(EvalError::Unsupported),
        };
    }
    let int = types.as_int(ty).ok_or(EvalError::Unsupported)?;
    match args {
        [x] => int_one(int, intrinsic, *x),
        [x, y] => int_two(int, intrinsic, *x, *y),
        [x, y, z] => int_three(intrinsic, *x as u32, *y as u32, *z as u32),
        _ => Err(EvalError::Unsupported),
    }
}

fn float_one(format: Float, intrinsic: Intrinsic, bits: u64) -> Result<u64, EvalError> {
    let value = format.value(bits);
    let result = match intrinsic {
        Intrinsic::Abs => return Ok(bits & !float::sign(format)),
        Intrinsic::FloatAsInt => return Ok(bits),
        Intrinsic::Isnan => return Ok(u64::from(value.is_nan())),
        Intrinsic::Isinf => return Ok(u64::from(value.is_infinite())),
        Intrinsic::Isfinite => return Ok(u64::from(value.is_finite())),
        Intrinsic::Signbit => return Ok(u64::from(bits & float::sign(format) != 0)),
        // the square root of an f32 taken in f64 rounds to what a single rounding gives
        Intrinsic::Sqrt => value.sqrt(),
        Intrinsic::Floor => value.floor(),
        Intrinsic::Ceil => value.ceil(),
        Intrinsic::Trunc => value.trunc(),
        Intrinsic::Round => value.round(),
        Intrinsic::Rint => value.round_ties_even(),
        Intrinsic::Saturate if value.is_nan() || value <= 0.0 => 0.0,
        Intrinsic::Saturate => value.min(1.0),
        _ => return Err(EvalError::Unsupported),
    };
    Ok(round(format, result))
}

fn float_two(format: Float, intrinsic: Intrinsic, a: u64, b: u64) -> Result<u64, EvalError> {
    let (x, y) = (format.value(a), format.value(b));
    let sign = float::sign(format);
    match intrinsic {
        Intrinsic::Copysign => Ok((a & !sign) | (b & sign)),
        // zero with a sign is below zero without (PTX ISA, min)
        Intrinsic::Min | Intrinsic::Max => {
            let pick_a = if y.is_nan() {
                true
            } else if x.is_nan() {
                false
            } else if x == y {
                (a & sign != 0) == (intrinsic == Intrinsic::Min)
            } else {
                (x < y) == (intrinsic == Intrinsic::Min)
            };
            let bits = if pick_a { a } else { b };
            Ok(if format.value(bits).is_nan() { float::nan(format) } else { bits })
        }
        Intrinsic::Fdim if x.is_nan() || y.is_nan() => Ok(float::nan(format)),
        Intrinsic::Fdim if x > y => super::float_binary(format, BinaryOp::Sub, a, b),
        Intrinsic::Fdim => Ok(0),
        Intrinsic::Fmod => super::float_binary(format, BinaryOp::Rem, a, b),
        Intrinsic::Remainder => Ok(round(format, ieee_remainder(x, y))),
        _ => Err(EvalError::Unsupported),
    }
}

/// x - n y with n the integer nearest to x / y, ties to even; exact.
fn ieee_remainder(x: f64, y: f64) -> f64 {
    if !x.is_finite() || y.is_nan() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    let size = y.abs();
    // modulo 2 |y| keeps the parity of the quotient; where that overflows, |x| is below 2 |y| already
    let twice = size + size;
    let rest = if twice.is_finite() { x.abs() % twice } else { x.abs() };
    // 0 <= rest < 2 |y|; compared by differences, because half of a subnormal is not exact
    let result = if rest < size {
        if rest > size - rest { rest - size } else { rest }
    } else if rest - size >= twice_minus(size, rest) {
        (rest - size) - size
    } else {
        rest - size
    };
    // a remainder of zero has the sign of x
    if x.is_sign_negative() { -result } else { result }
}

/// 2 size - rest, for size <= rest < 2 size, without overflow.
fn twice_minus(size: f64, rest: f64) -> f64 {
    size - (rest - size)
}

fn fma(format: Float, a: u64, b: u64, c: u64) -> u64 {
    let (x, y, z) = (format.value(a), format.value(b), format.value(c));
    match format {
        Float::F64 => round(format, x.mul_add(y, z)),
        Float::F16 | Float::Bf16 | Float::F32 => float::fused(format, x, y, z),
    }
}

fn ldexp(format: Float, bits: u64, n: u64) -> u64 {
    let value = format.value(bits);
    let n = Int::I32.value(n).clamp(-4400, 4400) as i32;
    if format == Float::F32 {
        // exact in f64, then rounded once
        return round(format, scale(value, n.clamp(-400, 400)));
    }
    round(format, scale(value, n))
}

/// value 2^n in f64, rounded once: where the result is subnormal, only the last factor takes it there.
fn scale(mut value: f64, mut n: i32) -> f64 {
    let power = |n: i32| f64::from_bits(((n + 1023).cast_unsigned() as u64) << 52);
    while n > 1023 {
        value *= power(1023);
        n -= 1023;
        if value.is_infinite() || value == 0.0 {
            return value;
        }
    }
    while n < -1022 {
        // 53 bits are held back, so that a value that will end up subnormal is still exact here
        value *= power(-1022 + 53);
        n += 1022 - 53;
        if value == 0.0 || !value.is_finite() {
            return value;
        }
    }
    value * power(n)
}

fn int_one(int: Int, intrinsic: Intrinsic, bits: u64) -> Result<u64, EvalError> {
    let value = int.value(bits);
    let width = int.bits();
    match intrinsic {
        Intrinsic::Abs => Ok(int.wrap(value.abs())),
        Intrinsic::WrappingNeg => Ok(int.wrap(-value)),
        Intrinsic::Popc => Ok(u64::from(bits.count_ones())),
        Intrinsic::Clz => Ok(u64::from((bits << (64 - width)).leading_zeros().min(width))),
        Intrinsic::Ffs => Ok(if bits == 0 { 0 } else { u64::from(bits.trailing_zeros() + 1) }),
        Intrinsic::Brev => Ok(bits.reverse_bits() >> (64 - width)),
        Intrinsic::IntAsFloat => Ok(bits),
        _ => Err(EvalError::Unsupported),
    }
}

fn int_two(int: Int, intrinsic: Intrinsic, a: u64, b: u64) -> Result<u64, EvalError> {
    let (x, y) = (int.value(a), int.value(b));
    match intrinsic {
        Intrinsic::Min => Ok(int.wrap(x.min(y))),
        Intrinsic::Max => Ok(int.wrap(x.max(y))),
        Intrinsic::WrappingAdd => Ok(int.wrap(x + y)),
        Intrinsic::WrappingSub => Ok(int.wrap(x - y)),
        Intrinsic::WrappingMul => Ok(int.wrap(x.wrapping_mul(y))),
        Intrinsic::Mulhi if int.signed() => Ok(int.wrap((x * y) >> int.bits())),
        Intrinsic::Mulhi => Ok(int.wrap(((x.cast_unsigned() * y.cast_unsigned()) >> int.bits()).cast_signed())),
        _ => Err(EvalError::Unsupported),
    }
}

fn int_three(intrinsic: Intrinsic, x: u32, y: u32, z: u32) -> Result<u64, EvalError> {
    match intrinsic {
        Intrinsic::BytePerm => {
            let bytes = (u64::from(y) << 32) | u64::from(x);
            Ok((0..4).fold(0, |result, place| {
                let nibble = (z >> (4 * place)) & 0xf;
                let byte = (bytes >> (8 * (nibble & 7))) & 0xff;
                // the nibble's upper bit asks for the byte's sign, eight times (PTX ISA, prmt)
                let byte = if nibble & 8 == 0 { byte } else { 0xff * (byte >> 7) };
                result | (byte << (8 * place))
            }))
        }
        // arguments lo, hi, n
        Intrinsic::FunnelShiftLeft => Ok(((((u64::from(y) << 32) | u64::from(x)) << (z & 31)) >> 32) & 0xffff_ffff),
        Intrinsic::FunnelShiftRight => Ok((((u64::from(y) << 32) | u64::from(x)) >> (z & 31)) & 0xffff_ffff),
        _ => Err(EvalError::Unsupported),
    }
}
