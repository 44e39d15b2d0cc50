//! Pure functions: mathematics through libdevice or PTX instructions, and bit operations.

use crate::types::{TypeId, TypeTable};

macro_rules! intrinsics {
    ($($variant:ident $name:literal $arity:literal $domain:ident $doc:literal;)*) => {
        /// A function whose result depends on its arguments alone. The operand types decide the width.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Intrinsic {
            $(#[doc = $doc] $variant,)*
        }

        impl Intrinsic {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in source and in the textual IR.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How many arguments it takes.
            #[must_use]
            pub const fn arity(self) -> usize {
                match self { $(Self::$variant => $arity,)* }
            }

            /// What its arguments may be.
            #[must_use]
            pub const fn domain(self) -> Domain {
                match self { $(Self::$variant => Domain::$domain,)* }
            }

            /// One line for the reference and for hovers.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

/// The types that an intrinsic takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// All arguments and the result are one type of `f32`, `f64`.
    Float,
    /// All arguments and the result are one type of `f16`, `bf16`, `f32`, `f64`.
    AnyFloat,
    /// All arguments and the result are `f32`.
    F32,
    /// One argument of `f32`, `f64`; the result is `bool`.
    FloatToBool,
    /// `f32` or `f64` and an `i32`; the result is of the first's type.
    FloatInt,
    /// All arguments and the result are one integer or floating-point type.
    Number,
    /// All arguments and the result are one integer type.
    Integer,
    /// One argument of `u32`, `i32`, `u64`, `i64`; the result is `i32`.
    BitsToInt,
    /// All arguments and the result are one type of `u32`, `i32`, `u64`, `i64`.
    Bits,
    /// All arguments and the result are `u32`.
    U32,
    /// The argument is `f32`, `f64`; the result the integer of the same width with the same bits.
    FloatToBits,
    /// The argument is an integer of 32 or 64 bits; the result `f32` or `f64` with the same bits.
    BitsToFloat,
}

intrinsics! {
    Sqrt "sqrt" 1 Float "square root, correctly rounded";
    Rsqrt "rsqrt" 1 Float "1 / sqrt(x)";
    Cbrt "cbrt" 1 Float "cube root";
    Rcbrt "rcbrt" 1 Float "1 / cbrt(x)";
    Sin "sin" 1 Float "sine of radians";
    Cos "cos" 1 Float "cosine of radians";
    Tan "tan" 1 Float "tangent of radians";
    Sinpi "sinpi" 1 Float "sin(pi x)";
    Cospi "cospi" 1 Float "cos(pi x)";
    Asin "asin" 1 Float "arc sine";
    Acos "acos" 1 Float "arc cosine";
    Atan "atan" 1 Float "arc tangent";
    Atan2 "atan2" 2 Float "arc tangent of y / x in the quadrant of (x, y)";
    Sinh "sinh" 1 Float "hyperbolic sine";
    Cosh "cosh" 1 Float "hyperbolic cosine";
    Tanh "tanh" 1 Float "hyperbolic tangent";
    Asinh "asinh" 1 Float "inverse hyperbolic sine";
    Acosh "acosh" 1 Float "inverse hyperbolic cosine";
    Atanh "atanh" 1 Float "inverse hyperbolic tangent";
    Exp "exp" 1 Float "e to the power x";
    Exp2 "exp2" 1 Float "2 to the power x";
    Exp10 "exp10" 1 Float "10 to the power x";
    Expm1 "expm1" 1 Float "exp(x) - 1 without cancellation";
    Log "log" 1 Float "natural logarithm";
    Log2 "log2" 1 Float "logarithm to base 2";
    Log10 "log10" 1 Float "logarithm to base 10";
    Log1p "log1p" 1 Float "log(1 + x) without cancellation";
    Pow "pow" 2 Float "x to the power y";
    Fmod "fmod" 2 Float "remainder of x / y with the sign of x";
    Remainder "remainder" 2 Float "IEEE remainder";
    Hypot "hypot" 2 Float "sqrt(x x + y y) without overflow";
    Fdim "fdim" 2 Float "max(x - y, 0)";
    Copysign "copysign" 2 Float "the magnitude of x with the sign of y";
    Erf "erf" 1 Float "error function";
    Erfc "erfc" 1 Float "1 - erf(x)";
    Tgamma "tgamma" 1 Float "gamma function";
    Lgamma "lgamma" 1 Float "logarithm of the absolute value of the gamma function";
    Floor "floor" 1 Float "largest integer not above x";
    Ceil "ceil" 1 Float "smallest integer not below x";
    Trunc "trunc" 1 Float "x without its fraction";
    Round "round" 1 Float "nearest integer, halves away from zero";
    Rint "rint" 1 Float "nearest integer, halves to even";
    Fma "fma" 3 AnyFloat "x y + z, rounded once";
    Ldexp "ldexp" 2 FloatInt "x times 2 to the power n";
    Isnan "isnan" 1 FloatToBool "whether x is not a number";
    Isinf "isinf" 1 FloatToBool "whether x is infinite";
    Isfinite "isfinite" 1 FloatToBool "whether x is neither infinite nor not a number";
    Signbit "signbit" 1 FloatToBool "whether the sign bit is set";
    Saturate "__saturatef" 1 F32 "x clamped to 0..1, NaN gives 0";
    FastSin "__sinf" 1 F32 "fast sine (sin.approx)";
    FastCos "__cosf" 1 F32 "fast cosine (cos.approx)";
    FastTan "__tanf" 1 F32 "fast tangent: __sinf / __cosf";
    FastExp "__expf" 1 F32 "fast exponential (ex2.approx)";
    FastExp10 "__exp10f" 1 F32 "fast power of 10 (ex2.approx)";
    FastLog "__logf" 1 F32 "fast natural logarithm (lg2.approx)";
    FastLog2 "__log2f" 1 F32 "fast logarithm to base 2 (lg2.approx)";
    FastLog10 "__log10f" 1 F32 "fast logarithm to base 10 (lg2.approx)";
    FastPow "__powf" 2 F32 "fast power: ex2.approx(y lg2.approx(x))";
    FastDivide "__fdividef" 2 F32 "fast division (div.approx)";
    Abs "abs" 1 Number "absolute value; of the smallest signed integer it is that integer";
    Min "min" 2 Number "the smaller one; of a number and NaN, the number";
    Max "max" 2 Number "the larger one; of a number and NaN, the number";
    WrappingAdd "wrapping_add" 2 Integer "x + y modulo 2 to the width";
    WrappingSub "wrapping_sub" 2 Integer "x - y modulo 2 to the width";
    WrappingMul "wrapping_mul" 2 Integer "x * y modulo 2 to the width";
    WrappingNeg "wrapping_neg" 1 Integer "-x modulo 2 to the width";
    Mulhi "__mulhi" 2 Bits "the upper half of the double-width product";
    Popc "__popc" 1 BitsToInt "how many bits are 1";
    Clz "__clz" 1 BitsToInt "how many leading bits are 0";
    Ffs "__ffs" 1 BitsToInt "place of the lowest 1 bit, from 1; 0 when there is none";
    Brev "__brev" 1 Bits "the bits in reverse order";
    BytePerm "__byte_perm" 3 U32 "four bytes picked from the eight of x and y by the nibbles of s (prmt)";
    FunnelShiftLeft "__funnelshift_l" 3 U32 "the upper word of hi:lo shifted left by n modulo 32; arguments lo, hi, n";
    FunnelShiftRight "__funnelshift_r" 3 U32 "the lower word of hi:lo shifted right by n modulo 32; arguments lo, hi, n";
    FloatAsInt "__float_as_int" 1 FloatToBits "the same bits as a signed integer";
    IntAsFloat "__int_as_float" 1 BitsToFloat "the same bits as a floating-point number";
}

impl Intrinsic {
    /// The intrinsic with this name in source, and the operand type where the name fixes it: `sinf` is `sin` of `f32`,
    /// `__popcll` is `__popc` of `u64`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<(Self, Option<TypeId>)> {
        let plain = Self::ALL.iter().copied().find(|intrinsic| intrinsic.name() == name);
        plain.map(|intrinsic| (intrinsic, None)).or_else(|| Self::alias(name))
    }

    /// CUDA's names for one width of a function.
    fn alias(name: &str) -> Option<(Self, Option<TypeId>)> {
        Some(match name {
            "__popcll" => (Self::Popc, Some(TypeTable::U64)),
            "__clzll" => (Self::Clz, Some(TypeTable::U64)),
            "__ffsll" => (Self::Ffs, Some(TypeTable::U64)),
            "__brevll" => (Self::Brev, Some(TypeTable::U64)),
            "__umulhi" => (Self::Mulhi, Some(TypeTable::U32)),
            "__mul64hi" => (Self::Mulhi, Some(TypeTable::I64)),
            "__umul64hi" => (Self::Mulhi, Some(TypeTable::U64)),
            "__double_as_longlong" => (Self::FloatAsInt, Some(TypeTable::F64)),
            "__longlong_as_double" => (Self::IntAsFloat, Some(TypeTable::I64)),
            "fabs" => (Self::Abs, None),
            "fabsf" => (Self::Abs, Some(TypeTable::F32)),
            "fmin" => (Self::Min, None),
            "fminf" => (Self::Min, Some(TypeTable::F32)),
            "fmax" => (Self::Max, None),
            "fmaxf" => (Self::Max, Some(TypeTable::F32)),
            _ => {
                let stem = name.strip_suffix('f')?;
                let is_float = |i: &Self| matches!(i.domain(), Domain::Float | Domain::AnyFloat | Domain::FloatInt);
                let found = Self::ALL.iter().copied().find(|i| i.name() == stem && is_float(i))?;
                (found, Some(TypeTable::F32))
            }
        })
    }
}
