//! What an atomic operation makes of the old value.

use crate::code::{Atomic, Kind};
use cdp_core::builtins::AtomicOp;
use cdp_core::ir::eval;
use cdp_core::types::Float;

/// The new bits of the whole value, lane by lane.
pub(crate) fn apply(atomic: &Atomic, old: u64, value: u64, desired: u64) -> u64 {
    if atomic.lanes <= 1 {
        return lane(atomic, old, value, desired);
    }
    let bits = atomic.kind.size() * 8;
    let mask = u64::MAX >> (64 - bits);
    (0..atomic.lanes).fold(0, |result, index| {
        let at = index * bits;
        result | (lane(atomic, (old >> at) & mask, (value >> at) & mask, (desired >> at) & mask) << at)
    })
}

/// Bytes that the operation reads and writes.
pub(crate) const fn size(atomic: &Atomic) -> u32 {
    atomic.kind.size() * atomic.lanes
}

/// For `Cas`, `value` is compared and `desired` stored.
fn lane(atomic: &Atomic, old: u64, value: u64, desired: u64) -> u64 {
    match (atomic.op, atomic.kind) {
        (AtomicOp::Exch, _) => value,
        (AtomicOp::Cas, _) => {
            if old == value {
                desired
            } else {
                old
            }
        }
        (op, Kind::Float(float)) => float_lane(op, float, old, value),
        (AtomicOp::Inc, Kind::Int(_)) => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Dec, Kind::Int(_)) => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        (AtomicOp::And, Kind::Int(_)) => old & value,
        (AtomicOp::Or, Kind::Int(_)) => old | value,
        (AtomicOp::Xor, Kind::Int(_)) => old ^ value,
        (op, Kind::Int(int)) => {
            // atomics wrap, signed ones too (CUDA programming guide, atomic functions)
            let (a, b) = (int.value(old), int.value(value));
            int.wrap(match op {
                AtomicOp::Add => a + b,
                AtomicOp::Sub => a - b,
                AtomicOp::Min => a.min(b),
                _ => a.max(b),
            })
        }
    }
}

fn float_lane(op: AtomicOp, float: Float, old: u64, value: u64) -> u64 {
    let (a, b) = (float.value(old), float.value(value));
    match op {
        AtomicOp::Sub => add(float, a, -b),
        AtomicOp::Min => {
            if a <= b || b.is_nan() {
                old
            } else {
                value
            }
        }
        AtomicOp::Max => {
            if a >= b || b.is_nan() {
                old
            } else {
                value
            }
        }
        _ => add(float, a, b),
    }
}

fn add(float: Float, a: f64, b: f64) -> u64 {
    if float == Float::F32 {
        // one rounding: the sum of two f32 in f64 may be rounded itself
        let sum = a as f32 + b as f32;
        return eval::round(float, f64::from(sum));
    }
    eval::round(float, a + b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cdp_core::types::Int;

    fn on(op: AtomicOp, kind: Kind, lanes: u32, old: u64, value: u64, desired: u64) -> u64 {
        apply(
            &Atomic {
                dst: None,
                op,
                scope: cdp_core::builtins::MemoryScope::Device,
                kind,
                lanes,
                pointer: 0,
                operands: [0; 2],
            },
            old,
            value,
            desired,
        )
    }

    #[test]
    fn operations_are_cudas() {
        let u32s = Kind::Int(Int::U32);
        assert_eq!(on(AtomicOp::Inc, u32s, 1, 4, 5, 0), 5);
        assert_eq!(on(AtomicOp::Inc, u32s, 1, 5, 5, 0), 0);
        assert_eq!(on(AtomicOp::Dec, u32s, 1, 0, 5, 0), 5);
        assert_eq!(on(AtomicOp::Dec, u32s, 1, 6, 5, 0), 5);
        assert_eq!(on(AtomicOp::Dec, u32s, 1, 3, 5, 0), 2);
        assert_eq!(on(AtomicOp::Cas, u32s, 1, 3, 3, 9), 9);
        assert_eq!(on(AtomicOp::Cas, u32s, 1, 4, 3, 9), 4);
        assert_eq!(on(AtomicOp::Add, Kind::Int(Int::I32), 1, 0x7fff_ffff, 1, 0), 0x8000_0000);
        assert_eq!(on(AtomicOp::Min, Kind::Int(Int::I32), 1, 0xffff_ffff, 1, 0), 0xffff_ffff);
        assert_eq!(on(AtomicOp::Min, u32s, 1, 0xffff_ffff, 1, 0), 1);
        assert_eq!(on(AtomicOp::Sub, Kind::Int(Int::U64), 1, 0, 1, 0), u64::MAX);
    }

    #[test]
    fn floats_round_once_and_halves_go_in_pairs() {
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(on(AtomicOp::Add, Kind::Float(Float::F32), 1, bits(0.1), bits(0.2), 0), bits(0.1 + 0.2));
        let one = eval::round(Float::F16, 1.0);
        let two = eval::round(Float::F16, 2.0);
        let three = eval::round(Float::F16, 3.0);
        assert_eq!(
            on(AtomicOp::Add, Kind::Float(Float::F16), 2, one | (two << 16), two | (one << 16), 0),
            three | (three << 16)
        );
    }
}
