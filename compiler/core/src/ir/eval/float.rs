//! Rounding to a floating-point format, once.

use crate::types::Float;
use std::cmp::Ordering;

/// The bit pattern that NVIDIA GPUs give for a result that is not a number (PTX ISA, floating-point instructions).
#[must_use]
pub const fn nan(float: Float) -> u64 {
    match float {
        Float::F16 | Float::Bf16 => 0x7fff,
        Float::F32 => 0x7fff_ffff,
        Float::F64 => 0xfff8_0000_0000_0000,
    }
}

/// The sign bit of a format.
pub(super) const fn sign(float: Float) -> u64 {
    1 << (float.bits() - 1)
}

/// The bit pattern nearest to a value, ties to even, in one rounding; [`nan`] for NaN.
///
/// Written out, because conversions of the `half` crate round twice on some machines.
#[must_use]
pub fn round(float: Float, value: f64) -> u64 {
    if value.is_nan() {
        return nan(float);
    }
    match float {
        Float::F64 => value.to_bits(),
        Float::F32 => u64::from((value as f32).to_bits()),
        Float::F16 => narrow(value, 5, 10),
        Float::Bf16 => narrow(value, 8, 7),
    }
}

/// The bit pattern nearest to a decimal number, ties to even, in one rounding: digits, with a point and an exponent where wanted, `_` in
/// between, no sign. None for what is no number.
#[must_use]
pub fn round_decimal(float: Float, text: &str) -> Option<u64> {
    let plain = text.replace('_', "");
    let nearest: f64 = plain.parse().ok()?;
    match float {
        Float::F64 => return Some(nearest.to_bits()),
        Float::F32 => return plain.parse::<f32>().ok().map(|value| u64::from(value.to_bits())),
        Float::F16 | Float::Bf16 => {}
    }
    if nearest.is_infinite() {
        return Some(round(float, nearest));
    }
    // to f64 rounded to odd, whose last bit then says whether it was exact: rounding that to fewer bits is rounding once
    let odd = match decimal(&plain)?.cmp(&decimal(&format!("{nearest:.1100}"))?) {
        Ordering::Equal => nearest,
        Ordering::Greater => f64::from_bits(nearest.to_bits() | 1),
        Ordering::Less => f64::from_bits(nearest.next_down().to_bits() | 1),
    };
    Some(round(float, odd))
}

/// A decimal number as the place of its point, counted from its first digit that is not 0, and its digits from there on, without zeros
/// at the end: such pairs are in the order of the numbers.
fn decimal(text: &str) -> Option<(i64, String)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        // of an exponent that is too long for this only the sign matters
        Some((mantissa, exponent)) => {
            let negative = exponent.starts_with('-');
            let most = if negative { i64::MIN / 2 } else { i64::MAX / 2 };
            (mantissa, exponent.parse().unwrap_or(most))
        }
        None => (text, 0i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits_left = digits.trim_start_matches('0');
    let leading = i64::try_from(digits.len() - digits_left.len()).ok()?;
    let significant = digits_left.trim_end_matches('0');
    if significant.is_empty() {
        return Some((i64::MIN, String::new()));
    }
    let point = i64::try_from(whole.len()).ok()? - leading;
    Some((point.saturating_add(exponent), significant.to_owned()))
}

/// To a format with this many bits of exponent and mantissa.
fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32) -> u64 {
    let bits = value.to_bits();
    let sign = (bits >> 63) << (exponent_bits + mantissa_bits);
    let bias = (1i64 << (exponent_bits - 1)) - 1;
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    let magnitude = bits & (u64::MAX >> 1);
    if magnitude == 0 {
        return sign;
    }
    let exponent = (magnitude >> 52).cast_signed() - 1023;
    if exponent > bias {
        return sign | infinity;
    }
    // a subnormal f64 is far below half of the smallest number of either format, as is anything that is shifted out whole
    let significand = (magnitude & ((1 << 52) - 1)) | (1 << 52);
    let least_exponent = 1 - bias;
    let below_normal = (least_exponent - exponent).max(0);
    let dropped = i64::from(52 - mantissa_bits) + below_normal;
    if dropped > 54 {
        return sign;
    }
    let kept = significand >> dropped;
    let rest = significand & ((1u64 << dropped) - 1);
    let half = 1u64 << (dropped - 1);
    let up = rest > half || (rest == half && kept & 1 == 1);
    let rounded = kept + u64::from(up);
    // `kept` has its leading 1 in place when normal; adding it to the exponent field carries correctly in every case
    let field = if below_normal > 0 { 0 } else { (exponent + bias - 1).cast_unsigned() << mantissa_bits };
    sign | (field + rounded).min(infinity)
}

/// The nearest number of a format to an integer of at most 64 bits and a sign.
#[must_use]
pub fn from_int(float: Float, value: i128) -> u64 {
    match float {
        Float::F64 => (value as f64).to_bits(),
        Float::F32 => u64::from((value as f32).to_bits()),
        Float::F16 | Float::Bf16 => {
            // bits beyond what f64 holds are gathered into its last one, so that the second rounding sees that they are there
            let magnitude = value.unsigned_abs();
            let excess = (128 - magnitude.leading_zeros()).saturating_sub(53);
            let sticky = u128::from(magnitude & ((1u128 << excess) - 1) != 0);
            let gathered = (((magnitude >> excess) | sticky) << excess) as f64;
            round(float, if value < 0 { -gathered } else { gathered })
        }
    }
}

/// `x y + z` of a format narrower than f64, whose products f64 holds exactly, rounded once.
pub(super) fn fused(float: Float, x: f64, y: f64, z: f64) -> u64 {
    let product = x * y;
    let sum = product + z;
    if !sum.is_finite() {
        return round(float, sum);
    }
    // what the addition lost (Knuth's two-sum) decides the last bit, which then stands for everything below it
    let added = sum - product;
    let lost = (product - (sum - added)) + (z - added);
    let bits = sum.to_bits();
    if lost == 0.0 || bits & 1 == 1 {
        return round(float, sum);
    }
    let away = (lost > 0.0) == (sum > 0.0);
    round(float, f64::from_bits(if away { bits + 1 } else { bits - 1 }))
}
