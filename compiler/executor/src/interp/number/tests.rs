//! The steps and the evaluator of `cdp_core` give the same bits.

use super::*;
use crate::code::{self, Kind, Op};
use cdp_core::ir::eval::{EvalError, eval_binary, eval_cast, eval_unary};
use cdp_core::ir::{CastKind, UnaryOp};
use cdp_core::types::{TypeId, TypeTable};

const OPS: [BinaryOp; 16] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::Gt,
    BinaryOp::Ge,
];

/// Values at every edge of every type, and some between.
fn patterns(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let mut values: Vec<u64> =
        (0..bits).flat_map(|bit| [1u64 << bit, (1u64 << bit) - 1, !(1u64 << bit), (1u64 << bit) + 1]).collect();
    values.extend([0.0f64, -0.0, 1.0, -1.5, 0.1, 1e10, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits));
    values.extend([1.0f32, -2.5, 0.1, 3e38, 1e-45, f32::NAN, f32::INFINITY].map(|x| u64::from(x.to_bits())));
    values.extend([0x3c00, 0x7bff, 0x7c00, 0x7e01, 0x0001, 0x3f80, 0x7f80, 0xffff]);
    let mut state = 1u64;
    for _ in 0..20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        values.push(state ^ (state >> 29));
    }
    values.iter_mut().for_each(|value| *value &= mask);
    values.sort_unstable();
    values.dedup();
    values
}

fn kinds() -> Vec<(Kind, TypeId)> {
    let ints = Int::ALL.map(|int| (Kind::Int(int), TypeTable::int(int)));
    let floats = Float::ALL.map(|float| (Kind::Float(float), TypeTable::float(float)));
    ints.into_iter().chain(floats).collect()
}

/// Runs one step on a frame: operands at 0 and 8, the result at 16.
fn step(op: Op, a: u64, b: u64, result: u32) -> Result<u64, EvalError> {
    let mut slots = [0u8; 24];
    put(&mut slots, 0, a.to_le_bytes());
    put(&mut slots, 8, b.to_le_bytes());
    let done = match op {
        Op::I8(op, d, a, b) => integer::<i8>(&mut slots, op, d, a, b),
        Op::I16(op, d, a, b) => integer::<i16>(&mut slots, op, d, a, b),
        Op::I32(op, d, a, b) => integer::<i32>(&mut slots, op, d, a, b),
        Op::I64(op, d, a, b) => integer::<i64>(&mut slots, op, d, a, b),
        Op::U8(op, d, a, b) => integer::<u8>(&mut slots, op, d, a, b),
        Op::U16(op, d, a, b) => integer::<u16>(&mut slots, op, d, a, b),
        Op::U32(op, d, a, b) => integer::<u32>(&mut slots, op, d, a, b),
        Op::U64(op, d, a, b) => integer::<u64>(&mut slots, op, d, a, b),
        Op::F32(op, d, a, b) => {
            float32(&mut slots, op, d, a, b);
            Ok(())
        }
        Op::F64(op, d, a, b) => {
            float64(&mut slots, op, d, a, b);
            Ok(())
        }
        Op::Half(float, op, d, a, b) => {
            half(&mut slots, float, op, d, a, b);
            Ok(())
        }
        Op::Shift(int, op, d, a, b) => shift(&mut slots, int, op, d, a, b),
        Op::NegInt(int, d, a) => negate(&mut slots, int, d, a),
        Op::NegFloat(float, d, a) => {
            negate_float(&mut slots, float, d, a);
            Ok(())
        }
        Op::NotInt(int, d, a) => {
            invert(&mut slots, int, d, a);
            Ok(())
        }
        other => panic!("{other:?}"),
    };
    match done.map_err(|fault| *fault) {
        Ok(()) => Ok(read_bits(&slots, result, 16)),
        Err(FaultKind::Overflow { .. }) => Err(EvalError::Overflow),
        Err(FaultKind::DivisionByZero { .. }) => Err(EvalError::DivideByZero),
        Err(FaultKind::Shift { .. }) => Err(EvalError::Shift),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn binary_operators_agree_with_the_evaluator() {
    let types = TypeTable::new();
    let mut compared = 0;
    for (kind, ty) in kinds() {
        let values = patterns(kind.size() * 8);
        for op in OPS {
            let is_shift = matches!(op, BinaryOp::Shl | BinaryOp::Shr);
            if eval_binary(&types, op, ty, 1, 1, if is_shift { TypeTable::I64 } else { ty }) == Err(EvalError::Unsupported) {
                continue;
            }
            let size = if op.is_comparison() { 1 } else { kind.size() };
            for a in values.iter().copied() {
                for b in values.iter().step_by(3).copied().chain([0, 1, a]) {
                    let (step_op, right) = match (is_shift, kind) {
                        (true, Kind::Int(int)) => (Op::Shift(int, op, 16, 0, 8), TypeTable::I64),
                        _ => (code::binary(op, kind, 16, 0, 8), ty),
                    };
                    let want = eval_binary(&types, op, ty, a, b, right);
                    assert_eq!(step(step_op, a, b, size), want, "{a:#x} {} {b:#x} of {kind:?}", op.symbol());
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100_000);
}

#[test]
fn unary_operators_agree_with_the_evaluator() {
    let types = TypeTable::new();
    for (kind, ty) in kinds() {
        for op in [UnaryOp::Neg, UnaryOp::Not] {
            let Some(step_op) = code::unary(op, kind, false, 16, 0) else { continue };
            for a in patterns(kind.size() * 8) {
                assert_eq!(step(step_op, a, 0, kind.size()), eval_unary(&types, op, ty, a), "{op:?} {a:#x} of {kind:?}");
            }
        }
    }
}

#[test]
fn conversions_agree_with_the_evaluator() {
    let types = TypeTable::new();
    for (from, from_type) in kinds() {
        for (to, to_type) in kinds() {
            for a in patterns(from.size() * 8) {
                let mut slots = [0u8; 24];
                put(&mut slots, 0, a.to_le_bytes());
                let kind = match (from, to) {
                    (Kind::Int(from), Kind::Int(to)) => {
                        cast_int(&mut slots, from, to, 16, 0);
                        CastKind::Int
                    }
                    (Kind::Int(from), Kind::Float(to)) => {
                        int_to_float(&mut slots, from, to, 16, 0);
                        CastKind::IntToFloat
                    }
                    (Kind::Float(from), Kind::Int(to)) => {
                        float_to_int(&mut slots, from, to, 16, 0);
                        CastKind::FloatToInt
                    }
                    (Kind::Float(from), Kind::Float(to)) => {
                        cast_float(&mut slots, from, to, 16, 0);
                        CastKind::Float
                    }
                };
                let want = eval_cast(&types, kind, from_type, to_type, a);
                assert_eq!(Ok(read_bits(&slots, to.size(), 16)), want, "{a:#x} of {from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn fused_multiply_add_agrees_with_the_evaluator() {
    let types = TypeTable::new();
    let values = patterns(64);
    for (index, a) in values.iter().copied().enumerate() {
        for b in values.iter().skip(index % 7).step_by(7).copied() {
            for c in values.iter().skip(index % 11).step_by(11).copied() {
                let mut slots = [0u8; 32];
                for (offset, value) in [(0, a), (8, b), (16, c)] {
                    put(&mut slots, offset, value.to_le_bytes());
                }
                fma64(&mut slots, 24, 0, 8, 16);
                let fma = cdp_core::builtins::Intrinsic::Fma;
                let want = cdp_core::ir::eval::eval_intrinsic(&types, fma, &[TypeTable::F64; 3], &[a, b, c]);
                assert_eq!(Ok(read_bits(&slots, 8, 24)), want, "{a:#x} {b:#x} {c:#x}");
                fma32(&mut slots, 24, 0, 8, 16);
                let short = [a, b, c].map(|x| x & 0xffff_ffff);
                let want = cdp_core::ir::eval::eval_intrinsic(&types, fma, &[TypeTable::F32; 3], &short);
                assert_eq!(Ok(read_bits(&slots, 4, 24)), want, "{short:x?}");
            }
        }
    }
}
