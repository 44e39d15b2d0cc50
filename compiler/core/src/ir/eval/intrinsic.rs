//! The builtin functions whose results are exact or correctly rounded.

use super::packed::packed;
use super::{EvalError, exact, float, round};
use crate::builtins::{Intrinsic, Rounding};
use crate::ir::BinaryOp;
use crate::types::{Float, Int, TypeId, TypeTable};

/// The value of an intrinsic; `of` are the scalar types of its arguments, which [`Intrinsic::domain`] allows.
///
/// # Errors
/// [`EvalError::Unsupported`] for functions that libdevice or an approximate instruction computes, and for foreign types.
pub fn eval_intrinsic(types: &TypeTable, intrinsic: Intrinsic, of: &[TypeId], args: &[u64]) -> Result<u64, EvalError> {
    let first = of.first().copied().unwrap_or(TypeTable::POISON);
    if let Some(format) = types.as_float(first) {
        return match (intrinsic, format, args) {
            (Intrinsic::Rounded(op, rounding), Float::F32 | Float::F64, _) => {
                exact::arithmetic(format, op, rounding, args).ok_or(EvalError::Unsupported)
            }
            (Intrinsic::Fma, _, &[x, y, z]) => Ok(fma(format, x, y, z)),
            (Intrinsic::Ldexp, Float::F32 | Float::F64, &[x, n]) => Ok(ldexp(format, x, n)),
            (_, _, &[x]) => float_one(format, intrinsic, x),
            (_, _, &[x, y]) => float_two(format, intrinsic, x, y),
            _ => Err(EvalError::Unsupported),
        };
    }
    let int = types.as_int(first).ok_or(EvalError::Unsupported)?;
    match args {
        [x, rest @ ..] if let Intrinsic::Packed(op, lanes) = intrinsic => {
            Ok(u64::from(packed(op, lanes, *x as u32, rest.first().map_or(0, |y| *y as u32))))
        }
        [x] => int_one(int, intrinsic, *x),
        [x, y] => int_two(int, intrinsic, *x, *y),
        [x, y, z] => match (intrinsic, of) {
            (Intrinsic::Dp4a | Intrinsic::Dp2aLow | Intrinsic::Dp2aHigh, [_, second, _]) => {
                let second = types.as_int(*second).ok_or(EvalError::Unsupported)?;
                Ok(products(intrinsic, (int, *x as u32), (second, *y as u32), *z as u32))
            }
            (Intrinsic::Sad, _) => Ok(u64::from((*z as u32).wrapping_add(int.value(*x).abs_diff(int.value(*y)) as u32))),
            _ => int_three(intrinsic, *x as u32, *y as u32, *z as u32),
        },
        _ => Err(EvalError::Unsupported),
    }
}

/// What `dp4a` and `dp2a` of PTX give: products of packed numbers, summed modulo 2 to the 32nd.
fn products(intrinsic: Intrinsic, (x_is, x): (Int, u32), (y_is, y): (Int, u32), z: u32) -> u64 {
    let part = |int: Int, word: u32, index: u32, bits: u32| {
        let value = word << (32 - bits * (index + 1));
        if int.signed() { (value.cast_signed() >> (32 - bits)).cast_unsigned() } else { value >> (32 - bits) }
    };
    let (count, x_bits, skipped) = match intrinsic {
        Intrinsic::Dp2aLow => (2, 16, 0),
        Intrinsic::Dp2aHigh => (2, 16, 2),
        _ => (4, 8, 0),
    };
    let sum = (0..count).fold(z, |sum, index| {
        let (a, b) = (part(x_is, x, index, x_bits), part(y_is, y, index + skipped, 8));
        sum.wrapping_add(a.wrapping_mul(b))
    });
    u64::from(sum)
}

fn float_one(format: Float, intrinsic: Intrinsic, bits: u64) -> Result<u64, EvalError> {
    let value = format.value(bits);
    let result = match intrinsic {
        Intrinsic::Abs => return Ok(bits & !float::sign(format)),
        Intrinsic::FloatAsInt | Intrinsic::FloatAsUint => return Ok(bits),
        Intrinsic::DoubleToHigh => return Ok(bits >> 32),
        Intrinsic::DoubleToLow => return Ok(bits & 0xffff_ffff),
        Intrinsic::RsqrtNearest => return Ok(exact::reciprocal_root(bits)),
        Intrinsic::Ilogb => return Ok(Int::I32.wrap(ilogb(value))),
        Intrinsic::Llround => return Ok(super::rounded_to_int(format, Int::I64, Rounding::Zero, value.round())),
        Intrinsic::Llrint => return Ok(super::rounded_to_int(format, Int::I64, Rounding::Nearest, value)),
        Intrinsic::Logb => match value {
            _ if value.is_nan() => value,
            0.0 => f64::NEG_INFINITY,
            _ if value.is_infinite() => f64::INFINITY,
            _ => ilogb(value) as f64,
        },
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

/// The exponent of a finite number; -2147483648 of 0 and NaN, 2147483647 of infinities.
const fn ilogb(value: f64) -> i128 {
    let bits = value.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i128;
    let fraction = bits & ((1 << 52) - 1);
    match field {
        0x7ff if fraction == 0 => i32::MAX as i128,
        0x7ff => i32::MIN as i128,
        0 if fraction == 0 => i32::MIN as i128,
        0 => -1011 - fraction.leading_zeros() as i128,
        _ => field - 1023,
    }
}

/// The bit pattern next to `a` on the way to `b`.
fn next_after(format: Float, a: u64, b: u64) -> u64 {
    let (x, y) = (format.value(a), format.value(b));
    let sign = float::sign(format);
    if x.is_nan() || y.is_nan() {
        float::nan(format)
    } else if x == y {
        b
    } else if x == 0.0 {
        (b & sign) | 1
    } else if (x < y) == (x > 0.0) {
        a + 1
    } else {
        a - 1
    }
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
        Intrinsic::Nextafter => Ok(next_after(format, a, b)),
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
        Intrinsic::Mul24 => {
            let low = |value: i128| if int.signed() { i128::from(((value as i32) << 8) >> 8) } else { value & 0xff_ffff };
            Ok(int.wrap(low(x) * low(y)))
        }
        Intrinsic::AverageDown => Ok(int.wrap((x + y) >> 1)),
        Intrinsic::AverageUp => Ok(int.wrap((x + y + 1) >> 1)),
        Intrinsic::HilointToDouble => Ok((a << 32) | (b & 0xffff_ffff)),
        Intrinsic::Mulhi if int.signed() => Ok(int.wrap((x * y) >> int.bits())),
        Intrinsic::Mulhi => Ok(int.wrap(((x.cast_unsigned() * y.cast_unsigned()) >> int.bits()).cast_signed())),
        _ => Err(EvalError::Unsupported),
    }
}

fn int_three(intrinsic: Intrinsic, x: u32, y: u32, z: u32) -> Result<u64, EvalError> {
    let both = (u64::from(y) << 32) | u64::from(x);
    match intrinsic {
        Intrinsic::BytePerm => {
            Ok((0..4).fold(0, |result, place| {
                let nibble = (z >> (4 * place)) & 0xf;
                let byte = (both >> (8 * (nibble & 7))) & 0xff;
                // the nibble's upper bit asks for the byte's sign, eight times (PTX ISA, prmt)
                let byte = if nibble & 8 == 0 { byte } else { 0xff * (byte >> 7) };
                result | (byte << (8 * place))
            }))
        }
        // arguments lo, hi, n
        Intrinsic::FunnelShiftLeft => Ok((both << (z & 31)) >> 32),
        Intrinsic::FunnelShiftRight => Ok((both >> (z & 31)) & 0xffff_ffff),
        Intrinsic::FunnelShiftLeftClamp => Ok((both << z.min(32)) >> 32),
        Intrinsic::FunnelShiftRightClamp => Ok((both >> z.min(32)) & 0xffff_ffff),
        Intrinsic::FindSet => Ok(u64::from(find_set(x, y, z.cast_signed()))),
        _ => Err(EvalError::Unsupported),
    }
}

/// What `fns.b32` of PTX gives.
fn find_set(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |place: &u32| (mask >> place) & 1 == 1;
    let nth = |n: u32| usize::try_from(n - 1).unwrap_or(usize::MAX);
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(nth(offset.unsigned_abs())),
        _ => (0..=base).rev().filter(set).nth(nth(offset.unsigned_abs())),
    };
    found.unwrap_or(u32::MAX)
}
