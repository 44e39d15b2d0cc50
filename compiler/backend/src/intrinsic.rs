//! Mathematical functions and bit operations: PTX instructions where PTX has them exactly, libdevice elsewhere.

use crate::Error;
use crate::function::Emit;
use crate::types::Class;
use cdp_core::builtins::{Domain, Intrinsic, Rounding};
use cdp_core::ir::Operand;
use cdp_core::source::Span;
use cdp_core::types::{Float, Int};
use nvptx_builder::{Compare, FloatCompare, IntOp, Type, Value};

/// From this capability on, PTX has a fused multiply-add of bfloat16.
const BFLOAT_FMA: u32 = 80;

impl<'c> Emit<'_, '_, 'c> {
    /// A function of its operands.
    pub fn intrinsic(&self, intrinsic: Intrinsic, args: &[Operand], span: Span) -> Result<Value<'c>, Error> {
        let Some(first) = args.first() else { return self.emitter.malformed("a function without operands", span) };
        let class = self.emitter.class(self.type_of(first));
        let second = args.get(1).map(|arg| self.emitter.class(self.type_of(arg)));
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(arg, span)?);
        }
        let result = match class {
            // through 32 bits, which hold the exact results of roots and whole numbers well enough to round them once
            Class::Float(half) if half.bits() == 16 && !has_halves(intrinsic) => {
                let mut wide = Vec::with_capacity(values.len());
                for value in &values {
                    wide.push(self.body.float_cast(*value, self.emitter.builder.float())?);
                }
                match self.float_function(intrinsic, Float::F32, &wide, span)? {
                    Some(result) => Some(self.to_float_type(result, half, span)?),
                    None => None,
                }
            }
            Class::Pointer => {
                let name = match intrinsic {
                    Intrinsic::IsGlobal => "llvm.nvvm.isspacep.global",
                    Intrinsic::IsShared => "llvm.nvvm.isspacep.shared",
                    Intrinsic::IsLocal => "llvm.nvvm.isspacep.local",
                    _ => return self.emitter.malformed(format!("`{}` of a pointer", intrinsic.name()), span),
                };
                Some(self.body.intrinsic_value(name, &[], &values)?)
            }
            Class::Float(float) => self.float_function(intrinsic, float, &values, span)?,
            Class::Int(int) => match (word_function(intrinsic, int, second), values.as_slice()) {
                (Some(name), [a, b, c]) if matches!(intrinsic, Intrinsic::Dp2aLow | Intrinsic::Dp2aHigh) => {
                    let builder = self.emitter.builder;
                    let high = builder.const_int(builder.int(1)?, u64::from(intrinsic == Intrinsic::Dp2aHigh));
                    Some(self.body.intrinsic_value(name, &[], &[*a, *b, high, *c])?)
                }
                (Some(name), _) => Some(self.body.intrinsic_value(name, &[], &values)?),
                (None, _) => self.int_function(intrinsic, int, &values, span)?,
            },
            _ => None,
        };
        result.map_or_else(|| self.emitter.malformed(format!("`{}` of these operands", intrinsic.name()), span), Ok)
    }

    /// A function of libdevice.
    pub fn libdevice(
        &self,
        symbol: &str,
        name: &str,
        args: &[Value<'c>],
        result: Type<'c>,
        span: Span,
    ) -> Result<Value<'c>, Error> {
        self.emitter.note_libdevice(name, span);
        let params: Vec<Type<'c>> = args.iter().map(Value::get_type).collect();
        let function = self.emitter.builder.external(symbol, Some(result), &params)?;
        let value = self.body.call(function, args)?;
        value.map_or_else(|| self.emitter.malformed(format!("`{symbol}` without a result"), span), Ok)
    }

    fn float_function(
        &self,
        intrinsic: Intrinsic,
        float: Float,
        args: &[Value<'c>],
        span: Span,
    ) -> Result<Option<Value<'c>>, Error> {
        let (Some(&x), builder) = (args.first(), self.emitter.builder) else { return Ok(None) };
        let ty = x.get_type();
        let overloaded = |name: &str| self.body.intrinsic_value(name, &[ty], args).map(Some).map_err(Error::from);
        let options = self.emitter.options;
        match intrinsic {
            Intrinsic::Sqrt if float == Float::F32 && options.fast_math => {
                Ok(Some(self.body.intrinsic_value("llvm.nvvm.sqrt.approx.ftz.f", &[], &[x])?))
            }
            Intrinsic::Sqrt => overloaded("llvm.sqrt"),
            Intrinsic::Floor => overloaded("llvm.floor"),
            Intrinsic::Ceil => overloaded("llvm.ceil"),
            Intrinsic::Trunc => overloaded("llvm.trunc"),
            Intrinsic::Round => overloaded("llvm.round"),
            Intrinsic::Rint => overloaded("llvm.rint"),
            Intrinsic::Copysign => overloaded("llvm.copysign"),
            Intrinsic::Abs => overloaded("llvm.fabs"),
            // the IEEE 754-2019 functions minimumNumber and maximumNumber, which are PTX's
            Intrinsic::Min => overloaded("llvm.minimumnum"),
            Intrinsic::Max => overloaded("llvm.maximumnum"),
            Intrinsic::Fma if float == Float::Bf16 && options.target.capability() < BFLOAT_FMA => self.bfloat_fma(args, span),
            Intrinsic::Fma => overloaded("llvm.fma"),
            Intrinsic::Saturate => Ok(Some(self.body.intrinsic_value("llvm.nvvm.saturate.f", &[], &[x])?)),
            Intrinsic::Isnan => Ok(Some(self.body.float_compare(FloatCompare::Unordered, x, x)?)),
            Intrinsic::Isinf | Intrinsic::Isfinite => {
                let size = self.body.intrinsic_value("llvm.fabs", &[ty], &[x])?;
                let infinity = self.float_constant(float, f64::INFINITY, span)?;
                let compare = if intrinsic == Intrinsic::Isinf { FloatCompare::Equal } else { FloatCompare::Less };
                Ok(Some(self.body.float_compare(compare, size, infinity)?))
            }
            Intrinsic::Signbit => {
                let bits = builder.int(float.bits())?;
                let value = self.body.bits_as(x, bits.into())?;
                Ok(Some(self.body.compare(Compare::LessSigned, value, builder.const_int(bits, 0))?))
            }
            Intrinsic::Rounded(op, rounding) => self.rounded(op, rounding, float, args).map(Some),
            Intrinsic::Llrint => self.rounded_to_int(x, float, Int::I64, Rounding::Nearest).map(Some),
            Intrinsic::Llround => {
                let whole = self.body.intrinsic_value("llvm.round", &[ty], args)?;
                self.rounded_to_int(whole, float, Int::I64, Rounding::Zero).map(Some)
            }
            Intrinsic::DoubleToHigh => Ok(Some(self.body.intrinsic_value("llvm.nvvm.d2i.hi", &[], args)?)),
            Intrinsic::DoubleToLow => Ok(Some(self.body.intrinsic_value("llvm.nvvm.d2i.lo", &[], args)?)),
            Intrinsic::FloatAsInt | Intrinsic::FloatAsUint => {
                Ok(Some(self.body.bits_as(x, builder.int(float.bits())?.into())?))
            }
            _ => match libdevice_name(intrinsic, float, options.fast_math) {
                Some(symbol) => {
                    let result = if intrinsic == Intrinsic::Ilogb { builder.int(32)?.into() } else { ty };
                    let mut args = args.to_vec();
                    if intrinsic.domain() == Domain::IntFloat {
                        args.reverse();
                    }
                    Ok(Some(self.libdevice(&symbol, intrinsic.name(), &args, result, span)?))
                }
                None => Ok(None),
            },
        }
    }

    fn float_constant(&self, float: Float, value: f64, span: Span) -> Result<Value<'c>, Error> {
        let bits = float.round(value);
        match self.emitter.float_type(float) {
            Type::FloatType(ty) => Ok(self.emitter.builder.const_float(ty, bits)?),
            _ => self.emitter.malformed("a float was wanted", span),
        }
    }

    /// In one rounding, where PTX has none: exact up to 64 bits rounded to odd, whose last bit then says whether it was exact.
    fn bfloat_fma(&self, args: &[Value<'c>], span: Span) -> Result<Option<Value<'c>>, Error> {
        let builder = self.emitter.builder;
        let mut wide = Vec::with_capacity(args.len());
        for arg in args {
            wide.push(self.body.float_cast(*arg, builder.double())?);
        }
        let rounded = |mode: &str| self.body.intrinsic_value(&format!("llvm.nvvm.fma.{mode}.d"), &[], &wide);
        let (down, up, cut) = (rounded("rm")?, rounded("rp")?, rounded("rz")?);
        let inexact = self.body.float_compare(FloatCompare::NotEqual, down, up)?;
        // of a NaN the bits may be anything that stays one
        let bits = builder.int(64)?;
        let sticky = self.body.int_cast(inexact, bits, false)?;
        let odd = self.body.int_op(IntOp::Or, self.body.bits_as(cut, bits.into())?, sticky)?;
        let odd = self.body.bits_as(odd, builder.double().into())?;
        self.to_float_type(odd, Float::Bf16, span).map(Some)
    }

    fn int_function(&self, intrinsic: Intrinsic, int: Int, args: &[Value<'c>], span: Span) -> Result<Option<Value<'c>>, Error> {
        let builder = self.emitter.builder;
        let Some(&x) = args.first() else { return Ok(None) };
        let ty = x.get_type();
        let width = builder.int(int.bits())?;
        let word = builder.int(32)?;
        let bit = builder.const_int(builder.int(1)?, 0);
        let two = |op: IntOp| match args {
            [a, b] => self.body.int_op(op, *a, *b).map(Some).map_err(Error::from),
            _ => Ok(None),
        };
        let named = |name: &str, args: &[Value<'c>]| self.body.intrinsic_value(name, &[ty], args).map_err(Error::from);
        Ok(match intrinsic {
            Intrinsic::Packed(op, lanes) => self.packed(op, lanes, args)?,
            Intrinsic::Abs if int.signed() => Some(named("llvm.abs", &[x, bit])?),
            Intrinsic::Abs => Some(x),
            Intrinsic::Min => Some(named(if int.signed() { "llvm.smin" } else { "llvm.umin" }, args)?),
            Intrinsic::Max => Some(named(if int.signed() { "llvm.smax" } else { "llvm.umax" }, args)?),
            Intrinsic::WrappingAdd => two(IntOp::Add)?,
            Intrinsic::WrappingSub => two(IntOp::Sub)?,
            Intrinsic::WrappingMul => two(IntOp::Mul)?,
            Intrinsic::WrappingNeg => Some(self.body.int_op(IntOp::Sub, builder.const_int(width, 0), x)?),
            Intrinsic::Mulhi => {
                let name = match int {
                    Int::I32 => "llvm.nvvm.mulhi.i",
                    Int::U32 => "llvm.nvvm.mulhi.ui",
                    Int::I64 => "llvm.nvvm.mulhi.ll",
                    Int::U64 => "llvm.nvvm.mulhi.ull",
                    _ => return Ok(None),
                };
                Some(self.body.intrinsic_value(name, &[], args)?)
            }
            Intrinsic::Popc => Some(self.body.int_cast(named("llvm.ctpop", &[x])?, word, false)?),
            Intrinsic::Clz => Some(self.body.int_cast(named("llvm.ctlz", &[x, bit])?, word, false)?),
            Intrinsic::Ffs => {
                let below = self.body.int_cast(named("llvm.cttz", &[x, bit])?, word, false)?;
                let place = self.body.int_op(IntOp::Add, below, builder.const_int(word, 1))?;
                let none = self.body.compare(Compare::Equal, x, builder.const_int(width, 0))?;
                Some(self.body.select(none, builder.const_int(word, 0), place)?)
            }
            Intrinsic::Brev => Some(named("llvm.bitreverse", &[x])?),
            Intrinsic::BytePerm => Some(self.body.intrinsic_value("llvm.nvvm.prmt", &[], args)?),
            Intrinsic::FunnelShiftLeft | Intrinsic::FunnelShiftRight => {
                let [low, high, by] = args else { return Ok(None) };
                let name = if intrinsic == Intrinsic::FunnelShiftLeft { "llvm.fshl" } else { "llvm.fshr" };
                Some(named(name, &[*high, *low, *by])?)
            }
            Intrinsic::FunnelShiftLeftClamp | Intrinsic::FunnelShiftRightClamp => {
                let [low, high, by] = args else { return Ok(None) };
                let left = intrinsic == Intrinsic::FunnelShiftLeftClamp;
                Some(named(if left { "llvm.nvvm.fshl.clamp" } else { "llvm.nvvm.fshr.clamp" }, &[*high, *low, *by])?)
            }
            Intrinsic::AverageDown | Intrinsic::AverageUp => {
                let [a, b] = args else { return Ok(None) };
                let right = if int.signed() { IntOp::ShiftRightSigned } else { IntOp::ShiftRightUnsigned };
                let differing = self.body.int_op(IntOp::Xor, *a, *b)?;
                let half = self.body.int_op(right, differing, builder.const_int(width, 1))?;
                Some(if intrinsic == Intrinsic::AverageDown {
                    self.body.int_op(IntOp::Add, self.body.int_op(IntOp::And, *a, *b)?, half)?
                } else {
                    self.body.int_op(IntOp::Sub, self.body.int_op(IntOp::Or, *a, *b)?, half)?
                })
            }
            Intrinsic::FindSet => Some(self.body.intrinsic_value("llvm.nvvm.fns", &[], args)?),
            Intrinsic::HilointToDouble => {
                let [high, low] = args else { return Ok(None) };
                Some(self.body.intrinsic_value("llvm.nvvm.lohi.i2d", &[], &[*low, *high])?)
            }
            Intrinsic::IntAsFloat => {
                let to = match int.bits() {
                    32 => builder.float(),
                    64 => builder.double(),
                    _ => return self.emitter.malformed("`__int_as_float` of these operands", span),
                };
                Some(self.body.bits_as(x, to.into())?)
            }
            _ => None,
        })
    }
}

/// What is computed in 16 bits: what has no rounding, and the fused multiply-add.
const fn has_halves(intrinsic: Intrinsic) -> bool {
    matches!(intrinsic, Intrinsic::Fma | Intrinsic::Abs | Intrinsic::Min | Intrinsic::Max | Intrinsic::Copysign)
}

/// The intrinsic for words whose signs matter: the first one's, and of products the second one's too.
const fn word_function(intrinsic: Intrinsic, int: Int, second: Option<Class>) -> Option<&'static str> {
    let signed = int.signed();
    let second = matches!(second, Some(Class::Int(int)) if int.signed());
    Some(match intrinsic {
        Intrinsic::Mul24 if signed => "llvm.nvvm.mul24.i",
        Intrinsic::Mul24 => "llvm.nvvm.mul24.ui",
        Intrinsic::Sad if signed => "llvm.nvvm.sad.i",
        Intrinsic::Sad => "llvm.nvvm.sad.ui",
        Intrinsic::Dp4a => match (signed, second) {
            (true, true) => "llvm.nvvm.idp4a.s.s",
            (true, false) => "llvm.nvvm.idp4a.s.u",
            (false, true) => "llvm.nvvm.idp4a.u.s",
            (false, false) => "llvm.nvvm.idp4a.u.u",
        },
        Intrinsic::Dp2aLow | Intrinsic::Dp2aHigh => match (signed, second) {
            (true, true) => "llvm.nvvm.idp2a.s.s",
            (true, false) => "llvm.nvvm.idp2a.s.u",
            (false, true) => "llvm.nvvm.idp2a.u.s",
            (false, false) => "llvm.nvvm.idp2a.u.u",
        },
        _ => return None,
    })
}

/// The symbol of a function in libdevice (libdevice user's guide).
fn libdevice_name(intrinsic: Intrinsic, float: Float, fast_math: bool) -> Option<String> {
    use Intrinsic as I;
    let fast = |name: &str| (float == Float::F32).then(|| format!("__nv_fast_{name}f"));
    let stem = match intrinsic {
        I::FastSin => return fast("sin"),
        I::FastCos => return fast("cos"),
        I::FastTan => return fast("tan"),
        I::FastExp => return fast("exp"),
        I::FastExp10 => return fast("exp10"),
        I::FastLog => return fast("log"),
        I::FastLog2 => return fast("log2"),
        I::FastLog10 => return fast("log10"),
        I::FastPow => return fast("pow"),
        I::FastDivide => return fast("fdivide"),
        I::Sin | I::Cos | I::Tan | I::Exp | I::Exp10 | I::Log | I::Log2 | I::Log10 | I::Pow
            if fast_math && float == Float::F32 =>
        {
            return fast(intrinsic.name());
        }
        I::Rsqrt
        | I::Cbrt
        | I::Rcbrt
        | I::Sin
        | I::Cos
        | I::Tan
        | I::Sinpi
        | I::Cospi
        | I::Asin
        | I::Acos
        | I::Atan
        | I::Atan2 => intrinsic.name(),
        I::Sinh | I::Cosh | I::Tanh | I::Asinh | I::Acosh | I::Atanh | I::Exp | I::Exp2 | I::Exp10 | I::Expm1 | I::Log => {
            intrinsic.name()
        }
        I::Log2 | I::Log10 | I::Log1p | I::Pow | I::Fmod | I::Remainder | I::Hypot | I::Fdim | I::Erf | I::Erfc => {
            intrinsic.name()
        }
        I::Tgamma | I::Lgamma | I::Ldexp | I::Erfinv | I::Erfcinv | I::Erfcx | I::Normcdf | I::Normcdfinv => intrinsic.name(),
        I::Rhypot | I::Norm3d | I::Rnorm3d | I::Norm4d | I::Rnorm4d | I::Nextafter | I::Logb | I::Ilogb => intrinsic.name(),
        I::J0 | I::J1 | I::Jn | I::Y0 | I::Y1 | I::Yn | I::CylBesselI0 | I::CylBesselI1 => intrinsic.name(),
        I::RsqrtNearest => return Some("__nv_frsqrt_rn".to_owned()),
        _ => return None,
    };
    match float {
        Float::F32 => Some(format!("__nv_{stem}f")),
        Float::F64 => Some(format!("__nv_{stem}")),
        Float::F16 | Float::Bf16 => None,
    }
}
