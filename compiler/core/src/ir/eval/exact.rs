//! Arithmetic of floating-point numbers that is exact and then rounded once, in any mode (IEEE 754-2019, 4.3 and 5.4.1).
//!
//! A result is held as an integer times a power of two. Where it has more digits than 128 bits hold, the integer's last bit is 1: with
//! more bits before it than the format keeps, and one more, every mode rounds that as it would round the true result.

use super::float::sign;
use crate::builtins::{RoundedOp, Rounding};
use crate::types::Float;

/// `magnitude * 2^exponent`, negative or not. Magnitudes stay below 2^127.
#[derive(Clone, Copy, Debug)]
struct Number {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

/// The place of the leading bit after [`Number::normal`]: one bit above it is free for a carry.
const TOP: u32 = 125;

impl Number {
    /// A finite number.
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let field = ((bits >> 52) & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let magnitude = if field == 0 { fraction } else { fraction | (1 << 52) };
        Self { negative: value.is_sign_negative(), magnitude: u128::from(magnitude), exponent: field.max(1) - 1075 }
    }

    /// The same number with its leading bit at [`TOP`]; not for zero.
    const fn normal(self) -> Self {
        let by = TOP.wrapping_sub(127 - self.magnitude.leading_zeros()).cast_signed();
        let magnitude = if by < 0 { self.magnitude >> -by } else { self.magnitude << by };
        Self { magnitude, exponent: self.exponent - by, ..self }
    }

    const fn times(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            magnitude: self.magnitude * other.magnitude,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The sum of two numbers that are not zero, of at most 106 bits each.
    fn plus(self, other: Self, rounding: Rounding) -> Self {
        let (a, b) = (self.normal(), other.normal());
        let (large, small) = if (a.exponent, a.magnitude) >= (b.exponent, b.magnitude) { (a, b) } else { (b, a) };
        let distance = (large.exponent - small.exponent).cast_unsigned();
        let kept = small.magnitude.checked_shr(distance).unwrap_or(0);
        let lost = kept.checked_shl(distance).is_none_or(|back| back != small.magnitude);
        let aligned = kept | u128::from(lost);
        if large.negative == small.negative {
            return Self { magnitude: large.magnitude + aligned, ..large };
        }
        let magnitude = large.magnitude - aligned;
        // an exact zero is +0, but -0 when rounding downwards
        let negative = if magnitude == 0 { rounding == Rounding::Down } else { large.negative };
        Self { negative, magnitude, exponent: large.exponent }
    }

    /// The quotient by a number that is not zero.
    const fn over(self, other: Self) -> Self {
        let (a, b) = (self.normal(), other.normal());
        // no digit of a significand of 53 is cut off, and the quotient has more than 60
        let divisor = b.magnitude >> 65;
        let quotient = a.magnitude / divisor;
        let more = a.magnitude % divisor != 0;
        let negative = self.negative != other.negative;
        Self { negative, magnitude: (quotient << 1) | more as u128, exponent: a.exponent - (b.exponent + 65) - 1 }
    }

    /// The square root of a number that is not below zero.
    const fn root(self) -> Self {
        let mut wide = self.normal();
        if wide.exponent % 2 != 0 {
            wide = Self { magnitude: wide.magnitude << 1, exponent: wide.exponent - 1, ..wide };
        }
        let root = wide.magnitude.isqrt();
        let more = root * root != wide.magnitude;
        Self { magnitude: (root << 1) | more as u128, exponent: wide.exponent / 2 - 1, ..wide }
    }
}

/// Bits of the significand with the leading one, and the exponents of the smallest and largest normal number.
const fn format(float: Float) -> (u32, i32, i32) {
    match float {
        Float::F16 => (11, -14, 15),
        Float::Bf16 => (8, -126, 127),
        Float::F32 => (24, -126, 127),
        Float::F64 => (53, -1022, 1023),
    }
}

fn finish(float: Float, rounding: Rounding, number: Number) -> u64 {
    let Number { negative, magnitude, exponent } = number;
    let sign = if negative { sign(float) } else { 0 };
    if magnitude == 0 {
        return sign;
    }
    let (precision, least, most) = format(float);
    let infinity = ((most - least + 2).cast_unsigned() as u64) << (precision - 1);
    let leading = exponent + (127 - magnitude.leading_zeros()).cast_signed();
    let last = leading.max(least) - (precision.cast_signed() - 1);
    let dropped = last - exponent;
    let (kept, rest, half) = if dropped <= 0 {
        (magnitude << -dropped, 0, 1)
    } else if dropped < 128 {
        (magnitude >> dropped, magnitude & ((1 << dropped) - 1), 1 << (dropped - 1))
    } else {
        (0, magnitude, u128::MAX)
    };
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Zero => false,
        Rounding::Up => !negative && rest != 0,
        Rounding::Down => negative && rest != 0,
    };
    // a leading 1 adds itself to the exponent's field, and so does a carry
    let field = (leading.max(least) - least).cast_unsigned() as u64;
    let rounded = (field << (precision - 1)) + kept as u64 + u64::from(up);
    if leading <= most && rounded < infinity {
        return sign | rounded;
    }
    let beyond = match rounding {
        Rounding::Nearest => true,
        Rounding::Zero => false,
        Rounding::Up => !negative,
        Rounding::Down => negative,
    };
    sign | if beyond { infinity } else { infinity - 1 }
}

/// A floating-point number of a format that may be narrower.
pub(super) fn narrow(float: Float, rounding: Rounding, value: f64) -> u64 {
    if value.is_finite() { finish(float, rounding, Number::of(value)) } else { super::round(float, value) }
}

/// An integer of at most 64 bits and a sign.
pub(super) fn from_int(float: Float, rounding: Rounding, value: i128) -> u64 {
    finish(float, rounding, Number { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 })
}

/// 1 / sqrt(x) of an `f32`, rounded to nearest; the root has 36 bits, which do not round an `f64`.
pub(super) fn reciprocal_root(bits: u64) -> u64 {
    let value = Float::F32.value(bits);
    if !value.is_finite() || value <= 0.0 {
        return super::round(Float::F32, 1.0 / value.sqrt());
    }
    let x = Number::of(value);
    // an even exponent, and as many bits above the point as there is room for
    let odd = x.exponent.rem_euclid(2);
    let (magnitude, exponent) = (x.magnitude << odd, x.exponent - odd);
    let inverse = (1u128 << 126) / magnitude;
    let root = inverse.isqrt();
    let more = root * root * magnitude != 1 << 126;
    let number = Number { negative: false, magnitude: (root << 1) | u128::from(more), exponent: -63 - exponent / 2 - 1 };
    finish(Float::F32, Rounding::Nearest, number)
}

/// Arithmetic in one rounding of the stated mode; the arguments are bit patterns of the format. None for another number of arguments.
pub(super) fn arithmetic(float: Float, op: RoundedOp, rounding: Rounding, args: &[u64]) -> Option<u64> {
    let value = |bits: u64| float.value(bits);
    Some(match (op, args) {
        (RoundedOp::Add, &[x, y]) => sum(float, rounding, value(x), value(y)),
        (RoundedOp::Sub, &[x, y]) => sum(float, rounding, value(x), -value(y)),
        (RoundedOp::Mul, &[x, y]) => {
            let (x, y) = (value(x), value(y));
            match x.is_finite() && y.is_finite() {
                true => finish(float, rounding, Number::of(x).times(Number::of(y))),
                false => super::round(float, x * y),
            }
        }
        (RoundedOp::Fma, &[x, y, z]) => fused(float, rounding, value(x), value(y), value(z)),
        (RoundedOp::Div, &[x, y]) => quotient(float, rounding, value(x), value(y)),
        (RoundedOp::Reciprocal, &[x]) => quotient(float, rounding, 1.0, value(x)),
        (RoundedOp::Sqrt, &[x]) => {
            let x = value(x);
            match x.is_finite() && x > 0.0 {
                true => finish(float, rounding, Number::of(x).root()),
                false => super::round(float, x.sqrt()),
            }
        }
        _ => return None,
    })
}

fn sum(float: Float, rounding: Rounding, x: f64, y: f64) -> u64 {
    if !x.is_finite() || !y.is_finite() {
        return super::round(float, x + y);
    }
    add(float, rounding, Number::of(x), Number::of(y))
}

fn add(float: Float, rounding: Rounding, a: Number, b: Number) -> u64 {
    match (a.magnitude == 0, b.magnitude == 0) {
        (true, true) => {
            let negative = if a.negative == b.negative { a.negative } else { rounding == Rounding::Down };
            if negative { sign(float) } else { 0 }
        }
        (true, false) => finish(float, rounding, b),
        (false, true) => finish(float, rounding, a),
        (false, false) => finish(float, rounding, a.plus(b, rounding)),
    }
}

fn fused(float: Float, rounding: Rounding, x: f64, y: f64, z: f64) -> u64 {
    if x.is_finite() && y.is_finite() && z.is_finite() {
        return add(float, rounding, Number::of(x).times(Number::of(y)), Number::of(z));
    }
    // of finite factors the product is no infinity, however large
    let product = if x.is_finite() && y.is_finite() { 0.0 } else { x * y };
    super::round(float, product + z)
}

fn quotient(float: Float, rounding: Rounding, x: f64, y: f64) -> u64 {
    if !x.is_finite() || !y.is_finite() || x == 0.0 || y == 0.0 {
        return super::round(float, x / y);
    }
    finish(float, rounding, Number::of(x).over(Number::of(y)))
}

#[cfg(test)]
mod tests;
