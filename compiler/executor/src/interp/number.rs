//! What the arithmetic steps compute; the same values as `cdp_core::ir::eval`, by the machine's own instructions.

use super::locals::{get, put};
use crate::code::Kind;
use crate::fault::{FaultKind, Step};
use crate::math;
use cdp_core::builtins::Rounding;
use cdp_core::ir::BinaryOp;
use cdp_core::ir::eval;
use cdp_core::types::{Float, Int};

/// An integer as it lies in a frame.
pub(super) trait Integer: Copy + Ord + Into<i128> {
    const NAME: &'static str;
    fn read(slots: &[u8], offset: u32) -> Self;
    fn write(self, slots: &mut [u8], offset: u32);
    fn add(self, other: Self) -> Option<Self>;
    fn sub(self, other: Self) -> Option<Self>;
    fn mul(self, other: Self) -> Option<Self>;
    /// `None` for overflow; the divisor is not zero.
    fn div(self, other: Self) -> Option<Self>;
    fn rem(self, other: Self) -> Option<Self>;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}

macro_rules! integers {
    ($($type:ident $add:ident $sub:ident $mul:ident $some:expr;)*) => {
        $(impl Integer for $type {
            const NAME: &'static str = stringify!($type);
            #[inline(always)]
            fn read(slots: &[u8], offset: u32) -> Self {
                Self::from_le_bytes(get(slots, offset))
            }
            #[inline(always)]
            fn write(self, slots: &mut [u8], offset: u32) {
                put(slots, offset, self.to_le_bytes());
            }
            #[inline(always)]
            fn add(self, other: Self) -> Option<Self> {
                $some(self.$add(other))
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Option<Self> {
                $some(self.$sub(other))
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Option<Self> {
                $some(self.$mul(other))
            }
            #[inline(always)]
            fn div(self, other: Self) -> Option<Self> {
                self.checked_div(other)
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Option<Self> {
                self.checked_rem(other)
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
        })*
    };
}

integers! {
    i8 checked_add checked_sub checked_mul std::convert::identity;
    i16 checked_add checked_sub checked_mul std::convert::identity;
    i32 checked_add checked_sub checked_mul std::convert::identity;
    i64 checked_add checked_sub checked_mul std::convert::identity;
    u8 wrapping_add wrapping_sub wrapping_mul Some;
    u16 wrapping_add wrapping_sub wrapping_mul Some;
    u32 wrapping_add wrapping_sub wrapping_mul Some;
    u64 wrapping_add wrapping_sub wrapping_mul Some;
}

#[inline(always)]
pub(super) fn integer<T: Integer>(slots: &mut [u8], op: BinaryOp, d: u32, a: u32, b: u32) -> Step {
    let (left, right) = (T::read(slots, a), T::read(slots, b));
    let holds = match op {
        BinaryOp::Eq => left == right,
        BinaryOp::Ne => left != right,
        BinaryOp::Lt => left < right,
        BinaryOp::Le => left <= right,
        BinaryOp::Gt => left > right,
        BinaryOp::Ge => left >= right,
        _ => {
            let value = match op {
                BinaryOp::Add => left.add(right),
                BinaryOp::Sub => left.sub(right),
                BinaryOp::Mul => left.mul(right),
                BinaryOp::And => Some(left.and(right)),
                BinaryOp::Or => Some(left.or(right)),
                BinaryOp::Xor => Some(left.xor(right)),
                BinaryOp::Div if !right.is_zero() => left.div(right),
                BinaryOp::Rem if !right.is_zero() => left.rem(right),
                _ => None,
            };
            let Some(value) = value else { return Err(arithmetic_fault(op, T::NAME, left.into(), right.into())) };
            value.write(slots, d);
            return Ok(());
        }
    };
    put(slots, d, [u8::from(holds)]);
    Ok(())
}

#[cold]
fn arithmetic_fault(op: BinaryOp, ty: &'static str, left: i128, right: i128) -> Box<FaultKind> {
    let operator = op.symbol();
    Box::new(if matches!(op, BinaryOp::Div | BinaryOp::Rem) && right == 0 {
        FaultKind::DivisionByZero { operator, left }
    } else {
        FaultKind::Overflow { operator, left: Some(left), right, ty }
    })
}

#[inline(always)]
fn compare<T: PartialOrd>(slots: &mut [u8], op: BinaryOp, d: u32, left: T, right: T) {
    let holds = match op {
        BinaryOp::Eq => left == right,
        BinaryOp::Ne => left != right,
        BinaryOp::Lt => left < right,
        BinaryOp::Le => left <= right,
        BinaryOp::Gt => left > right,
        BinaryOp::Ge => left >= right,
        _ => false,
    };
    put(slots, d, [u8::from(holds)]);
}

macro_rules! float_op {
    ($name:ident $type:ty, $write:ident) => {
        #[inline(always)]
        pub(super) fn $name(slots: &mut [u8], op: BinaryOp, d: u32, a: u32, b: u32) {
            let (left, right) = (<$type>::from_le_bytes(get(slots, a)), <$type>::from_le_bytes(get(slots, b)));
            let value = match op {
                BinaryOp::Add => left + right,
                BinaryOp::Sub => left - right,
                BinaryOp::Mul => left * right,
                BinaryOp::Div => left / right,
                BinaryOp::Rem => left % right,
                _ => return compare(slots, op, d, left, right),
            };
            $write(slots, d, value);
        }
    };
}

float_op!(float32 f32, write_f32);
float_op!(float64 f64, write_f64);

/// A result that is not a number is the one that NVIDIA GPUs give.
#[inline(always)]
fn write_f32(slots: &mut [u8], d: u32, value: f32) {
    let bits = if value.is_nan() { eval::nan(Float::F32) as u32 } else { value.to_bits() };
    put(slots, d, bits.to_le_bytes());
}

#[inline(always)]
fn write_f64(slots: &mut [u8], d: u32, value: f64) {
    let bits = if value.is_nan() { eval::nan(Float::F64) } else { value.to_bits() };
    put(slots, d, bits.to_le_bytes());
}

/// Halves are computed in `f64` and rounded once: 53 bits are more than twice as many as a half has.
pub(super) fn half(slots: &mut [u8], float: Float, op: BinaryOp, d: u32, a: u32, b: u32) {
    let (left, right) = (read_float(slots, float, a), read_float(slots, float, b));
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div => left / right,
        BinaryOp::Rem => left % right,
        _ => return compare(slots, op, d, left, right),
    };
    write_float(slots, float, d, value);
}

pub(super) fn shift(slots: &mut [u8], int: Int, op: BinaryOp, d: u32, a: u32, b: u32) -> Step {
    let amount = i64::from_le_bytes(get(slots, b));
    if amount < 0 || amount >= i64::from(int.bits()) {
        return Err(Box::new(FaultKind::Shift { amount, ty: int.name() }));
    }
    let value = read_int(slots, int, a);
    let result = match op {
        BinaryOp::Shl => value << amount,
        // an unsigned 64-bit value must not be shifted with its sign
        _ if int == Int::U64 => (value.cast_unsigned() >> amount).cast_signed(),
        _ => value >> amount,
    };
    write_bits(slots, int.bits() / 8, d, result.cast_unsigned());
    Ok(())
}

pub(super) fn negate(slots: &mut [u8], int: Int, d: u32, a: u32) -> Step {
    let value = read_int(slots, int, a);
    if int.signed() && value == i64::MIN >> (64 - int.bits()) {
        return Err(Box::new(FaultKind::Overflow { operator: "-", left: None, right: i128::from(value), ty: int.name() }));
    }
    write_bits(slots, int.bits() / 8, d, value.wrapping_neg().cast_unsigned());
    Ok(())
}

pub(super) fn negate_float(slots: &mut [u8], float: Float, d: u32, a: u32) {
    let size = float.bits() / 8;
    let bits = read_bits(slots, size, a);
    write_bits(slots, size, d, bits ^ (1 << (float.bits() - 1)));
}

pub(super) fn invert(slots: &mut [u8], int: Int, d: u32, a: u32) {
    let size = int.bits() / 8;
    let bits = read_bits(slots, size, a);
    write_bits(slots, size, d, !bits);
}

/// `a * b + c`, rounded once.
pub(super) fn fma32(slots: &mut [u8], d: u32, a: u32, b: u32, c: u32) {
    let read = |offset| f32::from_le_bytes(get(slots, offset));
    let value = read(a).mul_add(read(b), read(c));
    write_f32(slots, d, value);
}

pub(super) fn fma64(slots: &mut [u8], d: u32, a: u32, b: u32, c: u32) {
    let read = |offset| f64::from_le_bytes(get(slots, offset));
    let value = read(a).mul_add(read(b), read(c));
    write_f64(slots, d, value);
}

/// An integer extended by its sign; a `u64` keeps its bits.
#[inline(always)]
pub(crate) fn read_int(slots: &[u8], int: Int, offset: u32) -> i64 {
    match int {
        Int::I8 => i64::from(i8::read(slots, offset)),
        Int::I16 => i64::from(i16::read(slots, offset)),
        Int::I32 => i64::from(i32::read(slots, offset)),
        Int::I64 => i64::read(slots, offset),
        Int::U8 => i64::from(u8::read(slots, offset)),
        Int::U16 => i64::from(u16::read(slots, offset)),
        Int::U32 => i64::from(u32::read(slots, offset)),
        Int::U64 => u64::read(slots, offset).cast_signed(),
    }
}

/// The bits of a scalar of `size` bytes, upper bits zero.
#[inline(always)]
pub(crate) fn read_bits(slots: &[u8], size: u32, offset: u32) -> u64 {
    match size {
        1 => u64::from(u8::read(slots, offset)),
        2 => u64::from(u16::read(slots, offset)),
        4 => u64::from(u32::read(slots, offset)),
        _ => u64::read(slots, offset),
    }
}

/// The lower bits into a scalar of `size` bytes.
#[inline(always)]
pub(crate) fn write_bits(slots: &mut [u8], size: u32, offset: u32, bits: u64) {
    match size {
        1 => put(slots, offset, (bits as u8).to_le_bytes()),
        2 => put(slots, offset, (bits as u16).to_le_bytes()),
        4 => put(slots, offset, (bits as u32).to_le_bytes()),
        _ => put(slots, offset, bits.to_le_bytes()),
    }
}

pub(super) fn read_float(slots: &[u8], float: Float, offset: u32) -> f64 {
    match float {
        Float::F32 => f64::from(f32::from_le_bytes(get(slots, offset))),
        Float::F64 => f64::from_le_bytes(get(slots, offset)),
        Float::F16 | Float::Bf16 => float.value(read_bits(slots, 2, offset)),
    }
}

fn write_float(slots: &mut [u8], float: Float, offset: u32, value: f64) {
    write_bits(slots, float.bits() / 8, offset, eval::round(float, value));
}

pub(super) fn cast_int(slots: &mut [u8], from: Int, to: Int, d: u32, a: u32) {
    let value = read_int(slots, from, a);
    write_bits(slots, to.bits() / 8, d, value.cast_unsigned());
}

pub(super) fn int_to_float(slots: &mut [u8], from: Int, to: Float, d: u32, a: u32) {
    let value = read_int(slots, from, a);
    let unsigned = value.cast_unsigned();
    let wide = from == Int::U64;
    match to {
        Float::F32 => write_f32(slots, d, if wide { unsigned as f32 } else { value as f32 }),
        Float::F64 => write_f64(slots, d, if wide { unsigned as f64 } else { value as f64 }),
        Float::F16 | Float::Bf16 => {
            // bits beyond what f64 holds are gathered into the last one, so that the second rounding sees that they are there
            let magnitude = if wide { unsigned } else { value.unsigned_abs() };
            let excess = (64 - magnitude.leading_zeros()).saturating_sub(53);
            let sticky = u64::from(magnitude & ((1 << excess) - 1) != 0);
            let gathered = (((magnitude >> excess) | sticky) << excess) as f64;
            write_float(slots, to, d, if !wide && value < 0 { -gathered } else { gathered });
        }
    }
}

pub(super) fn float_to_int(slots: &mut [u8], from: Float, to: Int, d: u32, a: u32) {
    let value = read_float(slots, from, a);
    let bits = match to {
        Int::I8 => i64::from(value as i8).cast_unsigned(),
        Int::I16 => i64::from(value as i16).cast_unsigned(),
        Int::I32 => i64::from(value as i32).cast_unsigned(),
        Int::I64 => (value as i64).cast_unsigned(),
        Int::U8 => u64::from(value as u8),
        Int::U16 => u64::from(value as u16),
        Int::U32 => u64::from(value as u32),
        Int::U64 => value as u64,
    };
    write_bits(slots, to.bits() / 8, d, bits);
}

pub(super) fn cast_float(slots: &mut [u8], from: Float, to: Float, d: u32, a: u32) {
    let value = read_float(slots, from, a);
    write_float(slots, to, d, value);
}

/// Out of line: few programs use it, and the loop of steps stays small.
#[inline(never)]
pub(super) fn cast_rounded(slots: &mut [u8], (from, to): (Kind, Kind), rounding: Rounding, d: u32, a: u32) {
    let bits = read_bits(slots, from.size(), a);
    // verified modules have such conversions between numbers only, and those are all defined
    let result = math::rounded(from, to, rounding, bits).unwrap_or(0);
    write_bits(slots, to.size(), d, result);
}

#[cfg(test)]
mod tests;
