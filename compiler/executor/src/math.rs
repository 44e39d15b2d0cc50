//! The builtin functions.
//!
//! What is exact or correctly rounded comes from `cdp_core::ir::eval`, bit for bit what a GPU gives. The others, which libdevice or an
//! approximate instruction computes there, are computed by `libm` in `f64`: for `f32` that is the nearest number but for rare
//! ties, for `f64` within 1 unit in the last place (2 for `tgamma`, `lgamma` and those made of two calls, more for those of `special`). A GPU's own error, which the CUDA
//! programming guide lists in its section on mathematical functions, comes on top when the two are compared.

use crate::address::{Region, region};
use crate::code::{Kind, MOST_ARGS};
use crate::special;
use cdp_core::builtins::{Domain, Intrinsic, Rounding};
use cdp_core::ir::{CastKind, eval};
use cdp_core::types::{Float, Int, TypeId, TypeTable};
use std::sync::LazyLock;

/// The built-in types, which are all that the evaluator needs.
static TYPES: LazyLock<TypeTable> = LazyLock::new(TypeTable::new);

const fn type_of(kind: Kind) -> TypeId {
    match kind {
        Kind::Int(int) => TypeTable::int(int),
        Kind::Float(float) => TypeTable::float(float),
    }
}

/// An intrinsic of arguments' bits. None when it does not exist for these kinds.
pub(crate) fn intrinsic(intrinsic: Intrinsic, kinds: &[Kind], args: &[u64]) -> Option<u64> {
    let kind = *kinds.first()?;
    if let Some(bits) = quick(intrinsic, kind, args) {
        return Some(bits);
    }
    let mut types = [TypeTable::U64; MOST_ARGS];
    for (ty, kind) in types.iter_mut().zip(kinds) {
        *ty = type_of(*kind);
    }
    if let Ok(bits) = eval::eval_intrinsic(&TYPES, intrinsic, types.get(..args.len())?, args) {
        return Some(bits);
    }
    if let (Domain::Address, [address]) = (intrinsic.domain(), args) {
        return Some(u64::from(matches!(
            (intrinsic, region(*address)),
            (Intrinsic::IsGlobal, Region::Device)
                | (Intrinsic::IsShared, Region::Shared(_))
                | (Intrinsic::IsLocal, Region::Local(_))
        )));
    }
    let Kind::Float(float) = kind else { return None };
    let value = |index: usize| args.get(index).map(|bits| float.value(*bits));
    let result = match (intrinsic, args) {
        (Intrinsic::Jn | Intrinsic::Yn, [_, n]) => {
            let n = Int::I32.value(*n) as i32;
            if intrinsic == Intrinsic::Jn { libm::jn(n, value(0)?) } else { libm::yn(n, value(0)?) }
        }
        (_, [_]) => one(intrinsic, value(0)?)?,
        (_, [_, _]) => two(intrinsic, value(0)?, value(1)?)?,
        (Intrinsic::Norm3d, _) => special::norm(&[value(0)?, value(1)?, value(2)?]),
        (Intrinsic::Rnorm3d, _) => 1.0 / special::norm(&[value(0)?, value(1)?, value(2)?]),
        (Intrinsic::Norm4d, _) => special::norm(&[value(0)?, value(1)?, value(2)?, value(3)?]),
        (Intrinsic::Rnorm4d, _) => 1.0 / special::norm(&[value(0)?, value(1)?, value(2)?, value(3)?]),
        _ => return None,
    };
    Some(eval::round(float, result))
}

/// A conversion that rounds as stated. None when there is none between these kinds.
pub(crate) fn rounded(from: Kind, to: Kind, rounding: Rounding, bits: u64) -> Option<u64> {
    eval::eval_cast(&TYPES, CastKind::Rounded(rounding), type_of(from), type_of(to), bits).ok()
}

/// What programs use most, without a detour.
fn quick(intrinsic: Intrinsic, kind: Kind, args: &[u64]) -> Option<u64> {
    match (intrinsic, kind, args) {
        (Intrinsic::Abs, Kind::Float(Float::F32), &[x]) => Some(x & 0x7fff_ffff),
        (Intrinsic::Abs, Kind::Float(Float::F64), &[x]) => Some(x & (u64::MAX >> 1)),
        (Intrinsic::Min, Kind::Int(Int::I32), &[x, y]) => Some(u64::from((x as i32).min(y as i32).cast_unsigned())),
        (Intrinsic::Max, Kind::Int(Int::I32), &[x, y]) => Some(u64::from((x as i32).max(y as i32).cast_unsigned())),
        (Intrinsic::Min, Kind::Int(Int::U32), &[x, y]) => Some(u64::from((x as u32).min(y as u32))),
        (Intrinsic::Max, Kind::Int(Int::U32), &[x, y]) => Some(u64::from((x as u32).max(y as u32))),
        _ => None,
    }
}

fn one(intrinsic: Intrinsic, x: f64) -> Option<f64> {
    Some(match intrinsic {
        Intrinsic::Rsqrt => 1.0 / x.sqrt(),
        Intrinsic::Cbrt => libm::cbrt(x),
        Intrinsic::Rcbrt => 1.0 / libm::cbrt(x),
        Intrinsic::Sin | Intrinsic::FastSin => libm::sin(x),
        Intrinsic::Cos | Intrinsic::FastCos => libm::cos(x),
        Intrinsic::Tan | Intrinsic::FastTan => libm::tan(x),
        Intrinsic::Sinpi => sin_pi(x),
        Intrinsic::Cospi => cos_pi(x),
        Intrinsic::Asin => libm::asin(x),
        Intrinsic::Acos => libm::acos(x),
        Intrinsic::Atan => libm::atan(x),
        Intrinsic::Sinh => libm::sinh(x),
        Intrinsic::Cosh => libm::cosh(x),
        Intrinsic::Tanh => libm::tanh(x),
        Intrinsic::Asinh => libm::asinh(x),
        Intrinsic::Acosh => libm::acosh(x),
        Intrinsic::Atanh => libm::atanh(x),
        Intrinsic::Exp | Intrinsic::FastExp => libm::exp(x),
        Intrinsic::Exp2 => libm::exp2(x),
        Intrinsic::Exp10 | Intrinsic::FastExp10 => libm::exp10(x),
        Intrinsic::Expm1 => libm::expm1(x),
        Intrinsic::Log | Intrinsic::FastLog => libm::log(x),
        Intrinsic::Log2 | Intrinsic::FastLog2 => libm::log2(x),
        Intrinsic::Log10 | Intrinsic::FastLog10 => libm::log10(x),
        Intrinsic::Log1p => libm::log1p(x),
        Intrinsic::Erf => libm::erf(x),
        Intrinsic::Erfc => libm::erfc(x),
        Intrinsic::Erfinv => special::erfinv(x),
        Intrinsic::Erfcinv => special::erfcinv(x),
        Intrinsic::Erfcx => special::erfcx(x),
        Intrinsic::Normcdf => special::normcdf(x),
        Intrinsic::Normcdfinv => special::normcdfinv(x),
        Intrinsic::J0 => libm::j0(x),
        Intrinsic::J1 => libm::j1(x),
        Intrinsic::Y0 => libm::y0(x),
        Intrinsic::Y1 => libm::y1(x),
        Intrinsic::CylBesselI0 => special::bessel_i(0, x),
        Intrinsic::CylBesselI1 => special::bessel_i(1, x),
        Intrinsic::Tgamma => libm::tgamma(x),
        Intrinsic::Lgamma => libm::lgamma(x),
        _ => return None,
    })
}

fn two(intrinsic: Intrinsic, x: f64, y: f64) -> Option<f64> {
    Some(match intrinsic {
        Intrinsic::Atan2 => libm::atan2(x, y),
        Intrinsic::Pow => libm::pow(x, y),
        // ex2(y lg2(x)) has no value for negative x, whatever y (CUDA programming guide, intrinsic functions)
        Intrinsic::FastPow => libm::exp2(y * libm::log2(x)),
        Intrinsic::Hypot => libm::hypot(x, y),
        Intrinsic::Rhypot => 1.0 / libm::hypot(x, y),
        Intrinsic::FastDivide => {
            // for such divisors the instruction gives zero (CUDA programming guide, intrinsic functions)
            let size = y.abs();
            if size > 2f64.powi(126) && size < 2f64.powi(128) && x.is_finite() {
                0.0f64.copysign(x) * y.signum()
            } else {
                x / y
            }
        }
        _ => return None,
    })
}

/// sin(pi x), with the argument reduced exactly before pi comes in.
fn sin_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = x % 2.0;
    if turn == turn.trunc() {
        return 0.0f64.copysign(x);
    }
    let (quarter, rest) = quarter_turns(turn);
    match quarter.rem_euclid(4) {
        0 => libm::sin(rest * std::f64::consts::PI),
        1 => libm::cos(rest * std::f64::consts::PI),
        2 => -libm::sin(rest * std::f64::consts::PI),
        _ => -libm::cos(rest * std::f64::consts::PI),
    }
}

/// cos(pi x), with the argument reduced exactly before pi comes in.
fn cos_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let (quarter, rest) = quarter_turns(x % 2.0);
    match quarter.rem_euclid(4) {
        0 => libm::cos(rest * std::f64::consts::PI),
        // the zero at odd halves has no sign
        1 => 0.0 - libm::sin(rest * std::f64::consts::PI),
        2 => -libm::cos(rest * std::f64::consts::PI),
        _ => 0.0 + libm::sin(rest * std::f64::consts::PI),
    }
}

/// The nearest multiple of a half, and what remains.
fn quarter_turns(turn: f64) -> (i64, f64) {
    let quarter = (turn * 2.0).round();
    (quarter as i64, turn - quarter / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64_of(which: Intrinsic, args: &[f64]) -> f64 {
        let bits: Vec<u64> = args.iter().map(|x| x.to_bits()).collect();
        f64::from_bits(intrinsic(which, &vec![Kind::Float(Float::F64); bits.len()], &bits).unwrap())
    }

    #[test]
    fn every_intrinsic_has_a_value_for_every_type_of_its_domain() {
        let float = |float| Kind::Float(float);
        let (single, double) = (float(Float::F32), float(Float::F64));
        let all = |kinds: &[Kind], arity: usize| kinds.iter().map(|kind| vec![*kind; arity]).collect::<Vec<_>>();
        let of = |ty: &TypeId| match (TYPES.as_int(*ty), TYPES.as_float(*ty)) {
            (Some(int), _) => Kind::Int(int),
            (None, float) => Kind::Float(float.unwrap()),
        };
        let [int, word, long, unsigned_long] = [Int::I32, Int::U32, Int::I64, Int::U64].map(Kind::Int);
        for which in Intrinsic::ALL {
            let arity = which.arity();
            let lists = match which.domain() {
                Domain::Float | Domain::FloatToBool | Domain::FloatToBits | Domain::FloatToInt | Domain::FloatToLong => {
                    all(&[single, double], arity)
                }
                Domain::FloatInt | Domain::IntFloat => vec![vec![single, int], vec![double, int]],
                Domain::AnyFloat => all(&[float(Float::F16), float(Float::Bf16), single, double], arity),
                Domain::F32 => all(&[single], arity),
                Domain::Number => all(&[Kind::Int(Int::I8), unsigned_long, single, double], arity),
                Domain::Integer => all(&[Kind::Int(Int::I8), unsigned_long], arity),
                Domain::BitsToInt | Domain::Bits => all(&[word, int, unsigned_long, long], arity),
                Domain::U32 => all(&[word], arity),
                Domain::Address => all(&[unsigned_long], arity),
                Domain::Word => all(&[word, int], arity),
                Domain::Differences => vec![vec![int, int, word], vec![word; 3]],
                Domain::Products => vec![vec![int; 3], vec![int, word, int], vec![word, int, int], vec![word; 3]],
                Domain::BitsToFloat => all(&[int, long], arity),
                Domain::Fixed(types, _) => vec![types.iter().map(of).collect()],
            };
            for kinds in lists {
                let args = vec![0x3f00; arity];
                assert!(intrinsic(*which, &kinds, &args).is_some(), "{} of {kinds:?}", which.name());
            }
        }
    }

    #[test]
    fn functions_agree_with_the_standard_library() {
        for x in [-2.5, -1.0, -0.3, 0.0, 1e-9, 0.7, 1.0, 3.0, 20.0] {
            let near = |which, want: f64| {
                let got = f64_of(which, &[x]);
                assert!(
                    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= want.abs() * 4.5e-16,
                    "{} of {x}: {got} {want}",
                    which.name()
                );
            };
            near(Intrinsic::Sin, x.sin());
            near(Intrinsic::Cos, x.cos());
            near(Intrinsic::Exp, x.exp());
            near(Intrinsic::Log, x.ln());
            near(Intrinsic::Cbrt, x.cbrt());
            near(Intrinsic::Atan, x.atan());
            near(Intrinsic::Tanh, x.tanh());
            near(Intrinsic::Rsqrt, 1.0 / x.sqrt());
        }
        assert_eq!(f64_of(Intrinsic::Pow, &[2.0, 10.0]), 1024.0);
        assert_eq!(f64_of(Intrinsic::Atan2, &[1.0, 1.0]), std::f64::consts::FRAC_PI_4);
    }

    #[test]
    fn functions_of_pi_are_exact_where_they_can_be() {
        assert_eq!(f64_of(Intrinsic::Sinpi, &[0.5]), 1.0);
        assert_eq!(f64_of(Intrinsic::Sinpi, &[1.5]), -1.0);
        assert_eq!(f64_of(Intrinsic::Sinpi, &[-0.5]), -1.0);
        assert_eq!(f64_of(Intrinsic::Sinpi, &[1e15]), 0.0);
        assert_eq!(f64_of(Intrinsic::Cospi, &[0.5]), 0.0);
        assert_eq!(f64_of(Intrinsic::Cospi, &[1.0]), -1.0);
        assert_eq!(f64_of(Intrinsic::Cospi, &[-1.5]), 0.0);
        assert_eq!(f64_of(Intrinsic::Cospi, &[4.0]), 1.0);
        assert!((f64_of(Intrinsic::Sinpi, &[0.25]) - std::f64::consts::FRAC_1_SQRT_2).abs() < 2e-16);
    }
}
