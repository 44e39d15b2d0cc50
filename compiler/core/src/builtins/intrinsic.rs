//! Pure functions: mathematics through libdevice or PTX instructions, and bit operations.

use super::{LaneTest, LaneWork, Lanes, Rounding};
use crate::types::{TypeId, TypeTable};

macro_rules! intrinsics {
    (
        plain { $($variant:ident $name:literal $arity:literal $domain:ident $doc:literal;)* }
        rounded { $($op:ident $single:literal $double:literal $op_arity:literal $op_doc:literal;)* }
        packed { $($packed:ident $stem:literal $packed_arity:literal $signed:literal $saturates:literal $work:expr, $packed_doc:literal;)* }
    ) => {
        /// A function whose result depends on its arguments alone. The operand types decide the width.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Intrinsic {
            $(#[doc = $doc] $variant,)*
            /// Arithmetic that says how it rounds, and is never fused with other arithmetic.
            Rounded(RoundedOp, Rounding),
            /// A function of several numbers in one word.
            Packed(PackedOp, Lanes),
        }

        /// A function of packed numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum PackedOp {
            $(#[doc = $packed_doc] $packed,)*
        }

        impl PackedOp {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$packed,)*];

            /// CUDA's name.
            #[must_use]
            pub const fn name(self, lanes: Lanes) -> &'static str {
                match (self, lanes) {
                    $((Self::$packed, Lanes::Two) => concat!($stem, "2"), (Self::$packed, Lanes::Four) => concat!($stem, "4"),)*
                }
            }

            /// How many words it takes.
            #[must_use]
            pub const fn arity(self) -> usize {
                match self { $(Self::$packed => $packed_arity,)* }
            }

            /// Whether its numbers are signed.
            #[must_use]
            pub const fn signed(self) -> bool {
                match self { $(Self::$packed => $signed,)* }
            }

            /// Whether a result that does not fit its lane is the nearest one that does; its low bits otherwise.
            #[must_use]
            pub const fn saturates(self) -> bool {
                match self { $(Self::$packed => $saturates,)* }
            }

            /// What it does lane by lane.
            #[must_use]
            pub const fn work(self) -> LaneWork {
                use LaneTest::*;
                use LaneWork::*;
                match self { $(Self::$packed => $work,)* }
            }

            /// One line for the reference.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$packed => $packed_doc,)* }
            }
        }

        /// Arithmetic that says how it rounds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RoundedOp {
            $(#[doc = $op_doc] $op,)*
        }

        impl RoundedOp {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$op,)*];

            /// The names for `f32`, then those for `f64`, each in the order of [`Rounding::ALL`].
            #[must_use]
            pub const fn names(self) -> [[&'static str; 4]; 2] {
                match self {
                    $(Self::$op => [
                        [concat!($single, "_rn"), concat!($single, "_rz"), concat!($single, "_ru"), concat!($single, "_rd")],
                        [concat!($double, "_rn"), concat!($double, "_rz"), concat!($double, "_ru"), concat!($double, "_rd")],
                    ],)*
                }
            }

            /// The names for `f64`, in the order of [`Rounding::ALL`].
            #[must_use]
            pub const fn double_names(self) -> [&'static str; 4] {
                let [_, double] = self.names();
                double
            }

            const fn single_name(self, rounding: Rounding) -> &'static str {
                let [[nearest, zero, up, down], _] = self.names();
                match rounding {
                    Rounding::Nearest => nearest,
                    Rounding::Zero => zero,
                    Rounding::Up => up,
                    Rounding::Down => down,
                }
            }

            /// One line for the reference.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$op => $op_doc,)* }
            }
        }

        impl Intrinsic {
            /// All of them.
            pub const ALL: &'static [Self] = &[
                $(Self::$variant,)*
                $(
                    Self::Rounded(RoundedOp::$op, Rounding::Nearest),
                    Self::Rounded(RoundedOp::$op, Rounding::Zero),
                    Self::Rounded(RoundedOp::$op, Rounding::Up),
                    Self::Rounded(RoundedOp::$op, Rounding::Down),
                )*
                $(Self::Packed(PackedOp::$packed, Lanes::Two), Self::Packed(PackedOp::$packed, Lanes::Four),)*
            ];

            /// The name in source and in the textual IR; of the names for one width each, that for `f32`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Rounded(op, rounding) => op.single_name(rounding),
                    Self::Packed(op, lanes) => op.name(lanes),
                }
            }

            /// How many arguments it takes.
            #[must_use]
            pub const fn arity(self) -> usize {
                match self {
                    $(Self::$variant => $arity,)*
                    $(Self::Rounded(RoundedOp::$op, _) => $op_arity,)*
                    Self::Packed(op, _) => op.arity(),
                }
            }

            /// What its arguments may be.
            #[must_use]
            pub const fn domain(self) -> Domain {
                match self {
                    $(Self::$variant => Domain::$domain,)*
                    Self::Rounded(..) => Domain::Float,
                    Self::Packed(..) => Domain::U32,
                }
            }

            /// One line for the reference and for hovers.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self {
                    $(Self::$variant => $doc,)*
                    Self::Rounded(op, _) => op.doc(),
                    Self::Packed(op, _) => op.doc(),
                }
            }
        }
    };
}

/// The types that an intrinsic takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// All arguments and the result are one type of `f32`, `f64`.
    Float,
    /// All arguments and the result are one type of `f16`, `bf16`, `f32`, `f64`. What PTX has not for 16 bits is computed in `f32` and rounded.
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
    /// `f32` or `f64`; the result is `i32`.
    FloatToInt,
    /// `f32` or `f64`; the result is `i64`.
    FloatToLong,
    /// An `i32` and `f32` or `f64`, in the IR the other way round; the result is of the floating-point type.
    IntFloat,
    /// All arguments and the result are one type of `i32`, `u32`.
    Word,
    /// Two of `i32` or two of `u32`, and a `u32`; the result is `u32`.
    Differences,
    /// Two packed numbers, each `i32` or `u32` (in source also the vectors that have these bits), and a sum of 32 bits: `u32` where
    /// both are unsigned, `i32` otherwise; the result is of the sum's type.
    Products,
    /// A generic pointer; the result is `bool`.
    Address,
    /// Exactly these types, and this result.
    Fixed(&'static [TypeId], TypeId),
}

impl Domain {
    const FIND_SET: Self = Self::Fixed(&[TypeTable::U32, TypeTable::U32, TypeTable::I32], TypeTable::U32);
    const F32_TO_U32: Self = Self::Fixed(&[TypeTable::F32], TypeTable::U32);
    const HALVES_TO_F64: Self = Self::Fixed(&[TypeTable::I32, TypeTable::I32], TypeTable::F64);
    const F64_TO_HALF: Self = Self::Fixed(&[TypeTable::F64], TypeTable::I32);

    /// Whether the argument that decides is a floating-point number.
    #[must_use]
    pub const fn is_of_floats(self) -> bool {
        self.is_of_mathematics() || matches!(self, Self::FloatToBool | Self::FloatToBits)
    }

    /// Whether the argument that decides is a floating-point number, and the function is one of numbers: an integer is converted first.
    #[must_use]
    pub const fn is_of_mathematics(self) -> bool {
        matches!(self, Self::Float | Self::AnyFloat | Self::FloatInt | Self::IntFloat | Self::FloatToInt | Self::FloatToLong)
    }
}

intrinsics! {
    plain {
        Sqrt "sqrt" 1 AnyFloat "square root, correctly rounded";
        Rsqrt "rsqrt" 1 AnyFloat "1 / sqrt(x)";
        Cbrt "cbrt" 1 AnyFloat "cube root";
        Rcbrt "rcbrt" 1 AnyFloat "1 / cbrt(x)";
        Sin "sin" 1 AnyFloat "sine of radians";
        Cos "cos" 1 AnyFloat "cosine of radians";
        Tan "tan" 1 AnyFloat "tangent of radians";
        Sinpi "sinpi" 1 AnyFloat "sin(pi x)";
        Cospi "cospi" 1 AnyFloat "cos(pi x)";
        Asin "asin" 1 AnyFloat "arc sine";
        Acos "acos" 1 AnyFloat "arc cosine";
        Atan "atan" 1 AnyFloat "arc tangent";
        Atan2 "atan2" 2 AnyFloat "arc tangent of y / x in the quadrant of (x, y)";
        Sinh "sinh" 1 AnyFloat "hyperbolic sine";
        Cosh "cosh" 1 AnyFloat "hyperbolic cosine";
        Tanh "tanh" 1 AnyFloat "hyperbolic tangent";
        Asinh "asinh" 1 AnyFloat "inverse hyperbolic sine";
        Acosh "acosh" 1 AnyFloat "inverse hyperbolic cosine";
        Atanh "atanh" 1 AnyFloat "inverse hyperbolic tangent";
        Exp "exp" 1 AnyFloat "e to the power x";
        Exp2 "exp2" 1 AnyFloat "2 to the power x";
        Exp10 "exp10" 1 AnyFloat "10 to the power x";
        Expm1 "expm1" 1 AnyFloat "exp(x) - 1 without cancellation";
        Log "log" 1 AnyFloat "natural logarithm";
        Log2 "log2" 1 AnyFloat "logarithm to base 2";
        Log10 "log10" 1 AnyFloat "logarithm to base 10";
        Log1p "log1p" 1 AnyFloat "log(1 + x) without cancellation";
        Pow "pow" 2 AnyFloat "x to the power y";
        Fmod "fmod" 2 AnyFloat "remainder of x / y with the sign of x";
        Remainder "remainder" 2 AnyFloat "IEEE remainder";
        Hypot "hypot" 2 AnyFloat "sqrt(x x + y y) without overflow";
        Rhypot "rhypot" 2 AnyFloat "1 / hypot(x, y)";
        Norm3d "norm3d" 3 AnyFloat "sqrt(x x + y y + z z) without overflow";
        Rnorm3d "rnorm3d" 3 AnyFloat "1 / norm3d(x, y, z)";
        Norm4d "norm4d" 4 AnyFloat "sqrt(x x + y y + z z + t t) without overflow";
        Rnorm4d "rnorm4d" 4 AnyFloat "1 / norm4d(x, y, z, t)";
        Fdim "fdim" 2 AnyFloat "max(x - y, 0)";
        Copysign "copysign" 2 AnyFloat "the magnitude of x with the sign of y";
        Erf "erf" 1 AnyFloat "error function";
        Erfc "erfc" 1 AnyFloat "1 - erf(x)";
        Tgamma "tgamma" 1 AnyFloat "gamma function";
        Erfinv "erfinv" 1 AnyFloat "inverse of erf";
        Erfcinv "erfcinv" 1 AnyFloat "inverse of erfc";
        Erfcx "erfcx" 1 AnyFloat "exp(x x) erfc(x)";
        Normcdf "normcdf" 1 AnyFloat "standard normal distribution function";
        Normcdfinv "normcdfinv" 1 AnyFloat "inverse of normcdf";
        Lgamma "lgamma" 1 AnyFloat "logarithm of the absolute value of the gamma function";
        J0 "j0" 1 AnyFloat "Bessel function of the first kind of order 0";
        J1 "j1" 1 AnyFloat "Bessel function of the first kind of order 1";
        Jn "jn" 2 IntFloat "Bessel function of the first kind of order n; arguments n, x";
        Y0 "y0" 1 AnyFloat "Bessel function of the second kind of order 0";
        Y1 "y1" 1 AnyFloat "Bessel function of the second kind of order 1";
        Yn "yn" 2 IntFloat "Bessel function of the second kind of order n; arguments n, x";
        CylBesselI0 "cyl_bessel_i0" 1 AnyFloat "modified Bessel function of the first kind of order 0";
        CylBesselI1 "cyl_bessel_i1" 1 AnyFloat "modified Bessel function of the first kind of order 1";
        Floor "floor" 1 AnyFloat "largest integer not above x";
        Ceil "ceil" 1 AnyFloat "smallest integer not below x";
        Trunc "trunc" 1 AnyFloat "x without its fraction";
        Round "round" 1 AnyFloat "nearest integer, halves away from zero";
        Rint "rint" 1 AnyFloat "nearest integer, halves to even";
        Llround "llround" 1 FloatToLong "nearest integer, halves away from zero";
        Llrint "llrint" 1 FloatToLong "nearest integer, halves to even";
        Nextafter "nextafter" 2 Float "the next number after x on the way to y";
        Logb "logb" 1 AnyFloat "the exponent of x as a number";
        Ilogb "ilogb" 1 FloatToInt "the exponent of x; -2147483648 of 0 and NaN, 2147483647 of infinities";
        Fma "fma" 3 AnyFloat "x y + z, rounded once";
        Ldexp "ldexp" 2 FloatInt "x times 2 to the power n";
        Isnan "isnan" 1 FloatToBool "whether x is not a number";
        Isinf "isinf" 1 FloatToBool "whether x is infinite";
        Isfinite "isfinite" 1 FloatToBool "whether x is neither infinite nor not a number";
        Signbit "signbit" 1 FloatToBool "whether the sign bit is set";
        RsqrtNearest "__frsqrt_rn" 1 F32 "1 / sqrt(x), correctly rounded";
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
        Mul24 "__mul24" 2 Word "the low 32 bits of the product of the low 24 bits of each";
        AverageDown "__hadd" 2 Word "(x + y) / 2 without overflow, rounded down";
        AverageUp "__rhadd" 2 Word "(x + y + 1) / 2 without overflow, rounded down";
        Sad "__sad" 3 Differences "the distance of x and y, plus z, modulo 2 to the 32nd";
        Dp4a "__dp4a" 3 Products "the sum of the products of four bytes each, and z";
        Dp2aLow "__dp2a_lo" 3 Products "the sum of the products of x's two halves with y's low two bytes, and z";
        Dp2aHigh "__dp2a_hi" 3 Products "the sum of the products of x's two halves with y's high two bytes, and z";
        Mulhi "__mulhi" 2 Bits "the upper half of the double-width product";
        Popc "__popc" 1 BitsToInt "how many bits are 1";
        Clz "__clz" 1 BitsToInt "how many leading bits are 0";
        Ffs "__ffs" 1 BitsToInt "place of the lowest 1 bit, from 1; 0 when there is none";
        Brev "__brev" 1 Bits "the bits in reverse order";
        BytePerm "__byte_perm" 3 U32 "four bytes picked from the eight of x and y by the nibbles of s (prmt)";
        FunnelShiftLeft "__funnelshift_l" 3 U32 "the upper word of hi:lo shifted left by n modulo 32; arguments lo, hi, n";
        FunnelShiftRight "__funnelshift_r" 3 U32 "the lower word of hi:lo shifted right by n modulo 32; arguments lo, hi, n";
        FunnelShiftLeftClamp "__funnelshift_lc" 3 U32 "the upper word of hi:lo shifted left by n, at most 32; arguments lo, hi, n";
        FunnelShiftRightClamp "__funnelshift_rc" 3 U32 "the lower word of hi:lo shifted right by n, at most 32; arguments lo, hi, n";
        FindSet "__fns" 3 FIND_SET "the place of a bit of the mask that is 1: the n-th from the bit `base` on, upwards, or downwards for negative n; for 0 that bit itself; 0xffffffff when there is none";
        HilointToDouble "__hiloint2double" 2 HALVES_TO_F64 "the number with these upper and lower 32 bits";
        DoubleToHigh "__double2hiint" 1 F64_TO_HALF "the upper 32 bits";
        DoubleToLow "__double2loint" 1 F64_TO_HALF "the lower 32 bits";
        FloatAsUint "__float_as_uint" 1 F32_TO_U32 "the same bits as an unsigned integer";
        IsGlobal "__isGlobal" 1 Address "whether a pointer points to global memory, constants included";
        IsShared "__isShared" 1 Address "whether a pointer points to the block's shared memory";
        IsLocal "__isLocal" 1 Address "whether a pointer points to the thread's local memory";
        FloatAsInt "__float_as_int" 1 FloatToBits "the same bits as a signed integer";
        IntAsFloat "__int_as_float" 1 BitsToFloat "the same bits as a floating-point number";
    }
    rounded {
        Add "__fadd" "__dadd" 2 "x + y";
        Sub "__fsub" "__dsub" 2 "x - y";
        Mul "__fmul" "__dmul" 2 "x y";
        Fma "__fmaf" "__fma" 3 "x y + z";
        Div "__fdiv" "__ddiv" 2 "x / y";
        Reciprocal "__frcp" "__drcp" 1 "1 / x";
        Sqrt "__fsqrt" "__dsqrt" 1 "square root";
    }
    packed {
        VAbs "__vabs" 1 true false Abs, "the absolute value; of the smallest number it is that number";
        VAbsSs "__vabsss" 1 true true Abs, "the absolute value, saturated";
        VNeg "__vneg" 1 true false Neg, "-x; of the smallest number it is that number";
        VNegSs "__vnegss" 1 true true Neg, "-x, saturated";
        VAdd "__vadd" 2 false false Add, "x + y modulo 2 to the width of a lane";
        VAddSs "__vaddss" 2 true true Add, "x + y, signed and saturated";
        VAddUs "__vaddus" 2 false true Add, "x + y, unsigned and saturated";
        VSub "__vsub" 2 false false Sub, "x - y modulo 2 to the width of a lane";
        VSubSs "__vsubss" 2 true true Sub, "x - y, signed and saturated";
        VSubUs "__vsubus" 2 false true Sub, "x - y, unsigned and saturated";
        VAvgS "__vavgs" 2 true false Average, "(x + y) / 2, signed; halves away from zero";
        VAvgU "__vavgu" 2 false false Average, "(x + y + 1) / 2, unsigned";
        VHaddU "__vhaddu" 2 false false AverageDown, "(x + y) / 2, unsigned, rounded down";
        VAbsDiffS "__vabsdiffs" 2 true false Difference, "the distance of x and y, signed numbers, as an unsigned one";
        VAbsDiffU "__vabsdiffu" 2 false false Difference, "the distance of x and y, unsigned";
        VMinS "__vmins" 2 true false Min, "the smaller one, signed";
        VMinU "__vminu" 2 false false Min, "the smaller one, unsigned";
        VMaxS "__vmaxs" 2 true false Max, "the larger one, signed";
        VMaxU "__vmaxu" 2 false false Max, "the larger one, unsigned";
        VSadS "__vsads" 2 true false Sum, "the sum of the distances of x and y, signed";
        VSadU "__vsadu" 2 false false Sum, "the sum of the distances of x and y, unsigned";
        VCmpEq "__vcmpeq" 2 false false Mask(Equal), "all bits of a lane where x = y, none elsewhere";
        VCmpNe "__vcmpne" 2 false false Mask(NotEqual), "the same for x and y that differ";
        VCmpLtS "__vcmplts" 2 true false Mask(Less), "the same for x < y, signed";
        VCmpLtU "__vcmpltu" 2 false false Mask(Less), "the same for x < y, unsigned";
        VCmpLeS "__vcmples" 2 true false Mask(LessEqual), "the same for x <= y, signed";
        VCmpLeU "__vcmpleu" 2 false false Mask(LessEqual), "the same for x <= y, unsigned";
        VCmpGtS "__vcmpgts" 2 true false Mask(Greater), "the same for x > y, signed";
        VCmpGtU "__vcmpgtu" 2 false false Mask(Greater), "the same for x > y, unsigned";
        VCmpGeS "__vcmpges" 2 true false Mask(GreaterEqual), "the same for x >= y, signed";
        VCmpGeU "__vcmpgeu" 2 false false Mask(GreaterEqual), "the same for x >= y, unsigned";
        VSetEq "__vseteq" 2 false false Set(Equal), "1 in a lane where x = y, 0 elsewhere";
        VSetNe "__vsetne" 2 false false Set(NotEqual), "the same for x and y that differ";
        VSetLtS "__vsetlts" 2 true false Set(Less), "the same for x < y, signed";
        VSetLtU "__vsetltu" 2 false false Set(Less), "the same for x < y, unsigned";
        VSetLeS "__vsetles" 2 true false Set(LessEqual), "the same for x <= y, signed";
        VSetLeU "__vsetleu" 2 false false Set(LessEqual), "the same for x <= y, unsigned";
        VSetGtS "__vsetgts" 2 true false Set(Greater), "the same for x > y, signed";
        VSetGtU "__vsetgtu" 2 false false Set(Greater), "the same for x > y, unsigned";
        VSetGeS "__vsetges" 2 true false Set(GreaterEqual), "the same for x >= y, signed";
        VSetGeU "__vsetgeu" 2 false false Set(GreaterEqual), "the same for x >= y, unsigned";
    }
}

impl Intrinsic {
    /// The intrinsic with this name in source, and the operand type where the name fixes it: `sinf` is `sin` of `f32`,
    /// `__popcll` is `__popc` of `u64`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<(Self, Option<TypeId>)> {
        match Self::named(name) {
            Some(rounded @ Self::Rounded(..)) => Some((rounded, Some(TypeTable::F32))),
            Some(intrinsic) => Some((intrinsic, None)),
            None => Self::rounded_double(name).or_else(|| Self::alias(name)).or_else(|| Self::single(name.strip_suffix('f')?)),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|intrinsic| intrinsic.name() == name)
    }

    fn rounded_double(name: &str) -> Option<(Self, Option<TypeId>)> {
        RoundedOp::ALL.iter().find_map(|op| {
            let mut names = op.double_names().into_iter().zip(Rounding::ALL);
            let (_, rounding) = names.find(|(known, _)| *known == name)?;
            Some((Self::Rounded(*op, rounding), Some(TypeTable::F64)))
        })
    }

    /// The function whose name with an `f` at the end is that for `f32`.
    fn single(stem: &str) -> Option<(Self, Option<TypeId>)> {
        let plain = Self::named(stem).filter(|intrinsic| intrinsic.domain().is_of_mathematics());
        let plain = plain.filter(|intrinsic| !matches!(intrinsic, Self::Rounded(..)));
        let found = plain.or_else(|| match Self::alias(stem) {
            Some((intrinsic, None)) => Some(intrinsic),
            _ => None,
        })?;
        Some((found, Some(TypeTable::F32)))
    }

    /// CUDA's other names: for one width of a function, or as C has it for floating-point numbers.
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
            "__umul24" => (Self::Mul24, Some(TypeTable::U32)),
            "__uhadd" => (Self::AverageDown, Some(TypeTable::U32)),
            "__urhadd" => (Self::AverageUp, Some(TypeTable::U32)),
            "__usad" => (Self::Sad, Some(TypeTable::U32)),
            "__uint_as_float" => (Self::IntAsFloat, Some(TypeTable::U32)),
            "nearbyint" => (Self::Rint, None),
            "scalbn" => (Self::Ldexp, None),
            "lround" => (Self::Llround, None),
            "lrint" => (Self::Llrint, None),
            "labs" | "llabs" => (Self::Abs, Some(TypeTable::I64)),
            "umin" => (Self::Min, Some(TypeTable::U32)),
            "umax" => (Self::Max, Some(TypeTable::U32)),
            "llmin" => (Self::Min, Some(TypeTable::I64)),
            "llmax" => (Self::Max, Some(TypeTable::I64)),
            "ullmin" => (Self::Min, Some(TypeTable::U64)),
            "ullmax" => (Self::Max, Some(TypeTable::U64)),
            "fabs" => (Self::Abs, None),
            "fmin" => (Self::Min, None),
            "fmax" => (Self::Max, None),
            _ => return None,
        })
    }
}

impl PackedOp {
    /// The function with this name, and its lanes.
    #[must_use]
    pub fn from_name(name: &str) -> Option<(Self, Lanes)> {
        Intrinsic::ALL.iter().find_map(|intrinsic| match *intrinsic {
            Intrinsic::Packed(op, lanes) if op.name(lanes) == name => Some((op, lanes)),
            _ => None,
        })
    }
}
