use super::*;
use crate::builtins::Intrinsic;
use crate::types::TypeTable as T;

fn types() -> TypeTable {
    TypeTable::new()
}

fn binary(op: BinaryOp, ty: TypeId, a: u64, b: u64) -> Result<u64, EvalError> {
    eval_binary(&types(), op, ty, a, b, ty)
}

fn cast(kind: CastKind, from: TypeId, to: TypeId, bits: u64) -> u64 {
    eval_cast(&types(), kind, from, to, bits).unwrap()
}

fn intrinsic(which: Intrinsic, ty: TypeId, args: &[u64]) -> u64 {
    eval_intrinsic(&types(), which, &vec![ty; args.len()], args).unwrap()
}

fn f32_bits(value: f32) -> u64 {
    u64::from(value.to_bits())
}

#[test]
fn signed_overflow_is_an_error_and_unsigned_arithmetic_wraps() {
    let most = i32::MAX.cast_unsigned().into();
    let least = i32::MIN.cast_unsigned().into();
    assert_eq!(binary(BinaryOp::Add, T::I32, most, 1), Err(EvalError::Overflow));
    assert_eq!(binary(BinaryOp::Sub, T::I32, least, 1), Err(EvalError::Overflow));
    assert_eq!(binary(BinaryOp::Mul, T::I64, 1 << 62, 2), Err(EvalError::Overflow));
    assert_eq!(binary(BinaryOp::Div, T::I32, least, 0xffff_ffff), Err(EvalError::Overflow));
    assert_eq!(binary(BinaryOp::Rem, T::I32, least, 0xffff_ffff), Err(EvalError::Overflow));
    assert_eq!(eval_unary(&types(), UnaryOp::Neg, T::I8, 0x80), Err(EvalError::Overflow));
    assert_eq!(binary(BinaryOp::Add, T::U32, 0xffff_ffff, 2), Ok(1));
    assert_eq!(binary(BinaryOp::Sub, T::U8, 0, 1), Ok(0xff));
    assert_eq!(binary(BinaryOp::Mul, T::U64, u64::MAX, u64::MAX), Ok(1));
    assert_eq!(eval_unary(&types(), UnaryOp::Neg, T::U16, 1), Ok(0xffff));
}

#[test]
fn division_truncates_and_refuses_zero() {
    let minus = |v: i32| u64::from(v.cast_unsigned());
    assert_eq!(binary(BinaryOp::Div, T::I32, minus(-7), 2), Ok(minus(-3)));
    assert_eq!(binary(BinaryOp::Rem, T::I32, minus(-7), 2), Ok(minus(-1)));
    assert_eq!(binary(BinaryOp::Div, T::U32, minus(-7), 2), Ok(0x7fff_fffc));
    assert_eq!(binary(BinaryOp::Div, T::I32, 1, 0), Err(EvalError::DivideByZero));
    assert_eq!(binary(BinaryOp::Rem, T::U64, 1, 0), Err(EvalError::DivideByZero));
}

#[test]
fn shifts_drop_bits_and_refuse_the_width() {
    let shift = |op, ty, a, by, right| eval_binary(&types(), op, ty, a, by, right);
    assert_eq!(shift(BinaryOp::Shl, T::I32, 0x4000_0001, 1, T::U8), Ok(0x8000_0002));
    assert_eq!(shift(BinaryOp::Shl, T::I32, 3, 31, T::U32), Ok(0x8000_0000));
    assert_eq!(shift(BinaryOp::Shr, T::I8, 0x80, 7, T::I64), Ok(0xff));
    assert_eq!(shift(BinaryOp::Shr, T::U8, 0x80, 7, T::I64), Ok(1));
    assert_eq!(shift(BinaryOp::Shl, T::I32, 1, 32, T::U32), Err(EvalError::Shift));
    assert_eq!(shift(BinaryOp::Shr, T::U64, 1, 0xff, T::I8), Err(EvalError::Shift));
}

#[test]
fn comparisons_follow_sign_and_nan() {
    assert_eq!(binary(BinaryOp::Lt, T::I8, 0xff, 0), Ok(1));
    assert_eq!(binary(BinaryOp::Lt, T::U8, 0xff, 0), Ok(0));
    let quiet = nan(Float::F32);
    assert_eq!(binary(BinaryOp::Eq, T::F32, quiet, quiet), Ok(0));
    assert_eq!(binary(BinaryOp::Ne, T::F32, quiet, quiet), Ok(1));
    assert_eq!(binary(BinaryOp::Ge, T::F32, quiet, 0), Ok(0));
    assert_eq!(binary(BinaryOp::Eq, T::F32, f32_bits(-0.0), 0), Ok(1));
    assert_eq!(binary(BinaryOp::Eq, T::VOID_POINTER, 5, 5), Ok(1));
    assert_eq!(binary(BinaryOp::Add, T::VOID_POINTER, 5, 5), Err(EvalError::Unsupported));
    assert_eq!(eval_unary(&types(), UnaryOp::Not, T::BOOL, 1), Ok(0));
    assert_eq!(eval_unary(&types(), UnaryOp::Not, T::I8, 1), Ok(0xfe));
}

#[test]
fn f32_arithmetic_is_ieee_single() {
    for (x, y) in [(0.1f32, 0.2f32), (1e38, 1e38), (1e-40, 3e-39), (-7.5, 2.0), (f32::INFINITY, f32::NEG_INFINITY)] {
        for (op, want) in [
            (BinaryOp::Add, x + y),
            (BinaryOp::Sub, x - y),
            (BinaryOp::Mul, x * y),
            (BinaryOp::Div, x / y),
            (BinaryOp::Rem, x % y),
        ] {
            let want = if want.is_nan() { nan(Float::F32) } else { f32_bits(want) };
            assert_eq!(binary(op, T::F32, f32_bits(x), f32_bits(y)), Ok(want), "{x} {op:?} {y}");
        }
    }
}

#[test]
fn every_half_reads_back_and_every_midpoint_goes_to_even() {
    for float in [Float::F16, Float::Bf16] {
        for bits in 0..0x8000u64 {
            let value = float.value(bits);
            if value.is_nan() {
                assert_eq!(round(float, value), nan(float));
                continue;
            }
            assert_eq!(round(float, value), bits);
            assert_eq!(round(float, -value), bits | 0x8000);
            let next = float.value(bits + 1);
            if !next.is_finite() {
                continue;
            }
            let middle = value + (next - value) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(round(float, middle), even, "{float:?} {bits:#x}");
            // one bit of f64 to either side of the middle decides; conversions that go through f32 miss it
            assert_eq!(round(float, f64::from_bits(middle.to_bits() + 1)), bits + 1);
            assert_eq!(round(float, f64::from_bits(middle.to_bits() - 1)), bits);
        }
    }
    assert_eq!(round(Float::F16, 65519.99), 0x7bff);
    assert_eq!(round(Float::F16, 65520.0), 0x7c00);
    assert_eq!(round(Float::F16, 1e-300), 0);
    assert_eq!(round(Float::F16, -1e-300), 0x8000);
}

#[test]
fn float_to_integer_saturates() {
    let to = |value: f32, ty| cast(CastKind::FloatToInt, T::F32, ty, f32_bits(value));
    assert_eq!(to(3e9, T::I32), 0x7fff_ffff);
    assert_eq!(to(-3e9, T::I32), 0x8000_0000);
    assert_eq!(to(-1.5, T::U32), 0);
    assert_eq!(to(-1.5, T::I8), 0xff);
    assert_eq!(to(300.0, T::U8), 0xff);
    assert_eq!(to(f32::NAN, T::I64), 0);
    assert_eq!(to(f32::INFINITY, T::U64), u64::MAX);
    assert_eq!(to(f32::INFINITY, T::I64), i64::MAX.cast_unsigned());
}

#[test]
fn integer_casts_extend_by_the_sign_of_the_source() {
    assert_eq!(cast(CastKind::Int, T::I8, T::U32, 0xff), 0xffff_ffff);
    assert_eq!(cast(CastKind::Int, T::U8, T::I32, 0xff), 0xff);
    assert_eq!(cast(CastKind::Int, T::I64, T::I16, 0x1_8001), 0x8001);
    assert_eq!(cast(CastKind::Int, T::CUDA_ERROR, T::I64, 0xffff_ffff), u64::MAX);
    assert_eq!(cast(CastKind::ToBool, T::I64, T::BOOL, 1 << 40), 1);
    assert_eq!(cast(CastKind::ToBool, T::F32, T::BOOL, f32_bits(-0.0)), 0);
    assert_eq!(cast(CastKind::ToBool, T::F32, T::BOOL, nan(Float::F32)), 1);
    assert_eq!(cast(CastKind::PointerToInt, T::VOID_POINTER, T::U16, 0x12_3456), 0x3456);
    assert_eq!(cast(CastKind::IntToPointer, T::I32, T::VOID_POINTER, 0xffff_ffff), 0xffff_ffff);
}

#[test]
fn integers_round_once_to_every_float() {
    assert_eq!(cast(CastKind::IntToFloat, T::U64, T::F32, (1 << 40) + 1), f32_bits(1.099_511_6e12));
    assert_eq!(cast(CastKind::IntToFloat, T::I32, T::F16, u64::from((-2049i32).cast_unsigned())), round(Float::F16, -2048.0));
    assert_eq!(cast(CastKind::IntToFloat, T::I32, T::F16, 70_000), 0x7c00);
    // 2^63 + 2^55 is the middle of two bf16; one more must go up, though f64 cannot hold it
    let middle = (1u64 << 63) + (1 << 55);
    assert_eq!(cast(CastKind::IntToFloat, T::U64, T::BF16, middle), round(Float::Bf16, 2f64.powi(63)));
    assert_eq!(cast(CastKind::IntToFloat, T::U64, T::BF16, middle + 1), round(Float::Bf16, 2f64.powi(63) + 2f64.powi(56)));
}

#[test]
fn fused_multiply_add_rounds_once() {
    for (x, y, z) in
        [(1.000_000_1f32, 1.000_000_1, -1.000_000_2), (1e20, 1e20, -1e38), (3e-30, 3e-15, 1e-45), (0.1, 10.0, -1.0)]
    {
        let args = [f32_bits(x), f32_bits(y), f32_bits(z)];
        assert_eq!(intrinsic(Intrinsic::Fma, T::F32, &args), f32_bits(x.mul_add(y, z)), "{x} {y} {z}");
    }
    // 1.0009765625^2 = 1 + 2^-9 + 2^-20: the middle of two f16 is 1 + 2^-9 + 2^-11
    let x = round(Float::F16, 1.0 + 1.0 / 1024.0);
    let z = round(Float::F16, 1.0 / 2048.0);
    assert_eq!(intrinsic(Intrinsic::Fma, T::F16, &[x, x, z]), round(Float::F16, 1.0 + 3.0 / 1024.0));
    // a product far below the addend still decides a tie: 2049/2048 is not an f16, 1 + 2^-11 + tiny is above the middle
    let tiny = round(Float::F16, 2f64.powi(-24));
    let two = round(Float::F16, 2048.0);
    let half = round(Float::F16, 1.0);
    assert_eq!(intrinsic(Intrinsic::Fma, T::F16, &[half, half, two]), two);
    let odd = eval_intrinsic(
        &types(),
        Intrinsic::Fma,
        &[T::BF16; 3],
        &[round(Float::Bf16, 1.0), round(Float::Bf16, 2f64.powi(-100)), round(Float::Bf16, 256.0)],
    );
    assert_eq!(odd, Ok(round(Float::Bf16, 256.0)));
    assert_eq!(intrinsic(Intrinsic::Fma, T::F16, &[tiny, tiny, 0x8000]), 0);
}

#[test]
fn min_and_max_prefer_numbers_and_order_zeros() {
    let quiet = nan(Float::F32);
    let (minus, plus) = (f32_bits(-0.0), f32_bits(0.0));
    assert_eq!(intrinsic(Intrinsic::Min, T::F32, &[quiet, plus]), plus);
    assert_eq!(intrinsic(Intrinsic::Max, T::F32, &[minus, quiet]), minus);
    assert_eq!(intrinsic(Intrinsic::Min, T::F32, &[plus, minus]), minus);
    assert_eq!(intrinsic(Intrinsic::Max, T::F32, &[minus, plus]), plus);
    assert_eq!(intrinsic(Intrinsic::Max, T::F32, &[minus, minus]), minus);
    assert_eq!(intrinsic(Intrinsic::Min, T::F32, &[quiet, 0x7fc0_0000]), quiet);
    assert_eq!(intrinsic(Intrinsic::Min, T::I8, &[0xff, 1]), 0xff);
    assert_eq!(intrinsic(Intrinsic::Max, T::U8, &[0xff, 1]), 0xff);
}

#[test]
fn bit_operations() {
    assert_eq!(intrinsic(Intrinsic::Popc, T::I32, &[0xf0f0]), 8);
    assert_eq!(intrinsic(Intrinsic::Clz, T::U32, &[1]), 31);
    assert_eq!(intrinsic(Intrinsic::Clz, T::U32, &[0]), 32);
    assert_eq!(intrinsic(Intrinsic::Clz, T::U64, &[0]), 64);
    assert_eq!(intrinsic(Intrinsic::Ffs, T::U32, &[8]), 4);
    assert_eq!(intrinsic(Intrinsic::Ffs, T::U32, &[0]), 0);
    assert_eq!(intrinsic(Intrinsic::Brev, T::U32, &[1]), 0x8000_0000);
    assert_eq!(intrinsic(Intrinsic::Mulhi, T::U32, &[0xffff_ffff, 0xffff_ffff]), 0xffff_fffe);
    assert_eq!(intrinsic(Intrinsic::Mulhi, T::I32, &[0xffff_ffff, 2]), 0xffff_ffff);
    assert_eq!(intrinsic(Intrinsic::Mulhi, T::U64, &[u64::MAX, u64::MAX]), u64::MAX - 1);
    assert_eq!(intrinsic(Intrinsic::BytePerm, T::U32, &[0x3322_1100, 0x7766_5544, 0x0735]), 0x0077_3355);
    assert_eq!(intrinsic(Intrinsic::BytePerm, T::U32, &[0x80, 0, 0x8888]), 0xffff_ffff);
    assert_eq!(intrinsic(Intrinsic::FunnelShiftLeft, T::U32, &[0x8000_0000, 1, 1]), 3);
    assert_eq!(intrinsic(Intrinsic::FunnelShiftRight, T::U32, &[2, 1, 33]), 0x8000_0001);
    assert_eq!(intrinsic(Intrinsic::WrappingMul, T::I32, &[0x7fff_ffff, 2]), 0xffff_fffe);
    assert_eq!(intrinsic(Intrinsic::Abs, T::I32, &[0x8000_0000]), 0x8000_0000);
    assert_eq!(intrinsic(Intrinsic::FloatAsInt, T::F32, &[f32_bits(1.0)]), 0x3f80_0000);
}

#[test]
fn exact_mathematics() {
    let f64_of = |which, args: &[f64]| {
        let args: Vec<u64> = args.iter().map(|v| v.to_bits()).collect();
        f64::from_bits(intrinsic(which, T::F64, &args))
    };
    assert_eq!(f64_of(Intrinsic::Round, &[-2.5]), -3.0);
    assert_eq!(f64_of(Intrinsic::Rint, &[-2.5]), -2.0);
    assert_eq!(f64_of(Intrinsic::Fmod, &[5.5, -2.0]), 1.5);
    for (x, y, want) in [
        (5.0, 2.0, 1.0),
        (7.0, 2.0, -1.0),
        (3.0, 2.0, -1.0),
        (-5.0, 2.0, -1.0),
        (5.5, 3.0, -0.5),
        (1e308, 1.7e308, 1e308 - 1.7e308),
        (0.5, 1.0, 0.5),
    ] {
        assert_eq!(f64_of(Intrinsic::Remainder, &[x, y]), want, "{x} {y}");
    }
    assert_eq!(f64_of(Intrinsic::Fdim, &[1.0, 2.0]), 0.0);
    assert_eq!(f64_of(Intrinsic::Copysign, &[1.0, -0.0]), -1.0);
    let ldexp = |x: f64, n: i32| f64::from_bits(intrinsic(Intrinsic::Ldexp, T::F64, &[x.to_bits(), n.cast_unsigned().into()]));
    assert_eq!(ldexp(1.0, -1074), f64::from_bits(1));
    assert_eq!(ldexp(f64::from_bits(1), 2097), 2f64.powi(1023));
    assert_eq!(ldexp(f64::MAX, -2098), f64::from_bits(1));
    assert_eq!(ldexp(1.0, i32::MAX), f64::INFINITY);
    assert_eq!(ldexp(1.0, i32::MIN), 0.0);
    // 3 * 2^-1075 lies between two subnormals and goes to the even one, once
    assert_eq!(ldexp(3.0, -1075), f64::from_bits(2));
    assert_eq!(intrinsic(Intrinsic::Sqrt, T::F32, &[f32_bits(2.0)]), f32_bits(2f32.sqrt()));
    assert_eq!(intrinsic(Intrinsic::Saturate, T::F32, &[f32_bits(f32::NAN)]), 0);
    assert_eq!(eval_intrinsic(&types(), Intrinsic::Sin, &[T::F32], &[0]), Err(EvalError::Unsupported));
}

#[test]
fn decimals_are_rounded_once() {
    let half = |text: &str| round_decimal(Float::F16, text).unwrap();
    // 1 + 2^-11 is the middle of 1 and the next f16; what is a hair above it is 1 + 2^-11 as f64
    assert_eq!(half("1.00048828125"), 0x3c00);
    assert_eq!(half("1.0004882812500000000000000001"), 0x3c01);
    assert_eq!(half("1.000488281249999999999999999999"), 0x3c00);
    assert_eq!(half("1.00146484375"), 0x3c02);
    assert_eq!(half("1.001464843749999999999999999999"), 0x3c01);
    assert_eq!(half("65519.99999999999999999999"), 0x7bff);
    assert_eq!(half("65520.0"), 0x7c00);
    assert_eq!(half("2_049e0"), 0x6800);
    assert_eq!(half("2049.0000000000000000000000001"), 0x6801);
    assert_eq!(half("0.0"), 0);
    assert_eq!(half("1e-999999999999999999999"), 0);
    assert_eq!(half("2.98023223876953125e-8"), 0);
    assert_eq!(half("2.980232238769531250000000000000001e-8"), 1);
    let brain = |text: &str| round_decimal(Float::Bf16, text).unwrap();
    assert_eq!(brain("1.00390625"), 0x3f80);
    assert_eq!(brain("1.003906250000000000000000000001"), 0x3f81);
    assert_eq!(brain("257"), 0x4380);
    assert_eq!(brain("257.000000000000000000000001"), 0x4381);
    assert_eq!(brain("1e999999999999999999999"), 0x7f80);
    // the same as the conversion in two exact steps wherever the decimal is short
    for n in 0..4096u32 {
        let value = f64::from(n) / 64.0;
        assert_eq!(round_decimal(Float::F16, &value.to_string()), Some(round(Float::F16, value)), "{value}");
        assert_eq!(round_decimal(Float::Bf16, &value.to_string()), Some(round(Float::Bf16, value)), "{value}");
    }
    assert_eq!(round_decimal(Float::F16, "x"), None);
}
