//! Rounding that is stated: its modes, and the conversions between numbers that have one.

use crate::types::{TypeId, TypeTable};

/// How a result that is no number of its type becomes one. The names of builtins end in [`Rounding::suffix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rounding {
    /// To the nearest number, ties to the even one.
    Nearest,
    /// To the next number towards zero.
    Zero,
    /// To the next number above.
    Up,
    /// To the next number below.
    Down,
}

impl Rounding {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Zero, Self::Up, Self::Down];

    /// CUDA's suffix.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Nearest => "_rn",
            Self::Zero => "_rz",
            Self::Up => "_ru",
            Self::Down => "_rd",
        }
    }
}

/// A conversion that is called by name: `__float2int_rd(x)`. It does what the instruction `cvt` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// CUDA's name.
    pub name: &'static str,
    /// Of the argument.
    pub from: TypeId,
    /// Of the result.
    pub to: TypeId,
    /// How it rounds.
    pub rounding: Rounding,
}

macro_rules! conversions {
    (
        all { $($all:literal $all_from:ident $all_to:ident;)* }
        nearest { $($nearest:literal $nearest_from:ident $nearest_to:ident;)* }
    ) => {
        &[
            $(
                Conversion::new(concat!($all, "_rn"), TypeTable::$all_from, TypeTable::$all_to, Rounding::Nearest),
                Conversion::new(concat!($all, "_rz"), TypeTable::$all_from, TypeTable::$all_to, Rounding::Zero),
                Conversion::new(concat!($all, "_ru"), TypeTable::$all_from, TypeTable::$all_to, Rounding::Up),
                Conversion::new(concat!($all, "_rd"), TypeTable::$all_from, TypeTable::$all_to, Rounding::Down),
            )*
            $(Conversion::new($nearest, TypeTable::$nearest_from, TypeTable::$nearest_to, Rounding::Nearest),)*
        ]
    };
}

impl Conversion {
    /// All of them.
    pub const ALL: &'static [Self] = conversions! {
        all {
            "__float2int" F32 I32;
            "__float2uint" F32 U32;
            "__float2ll" F32 I64;
            "__float2ull" F32 U64;
            "__double2int" F64 I32;
            "__double2uint" F64 U32;
            "__double2ll" F64 I64;
            "__double2ull" F64 U64;
            "__int2float" I32 F32;
            "__uint2float" U32 F32;
            "__ll2float" I64 F32;
            "__ull2float" U64 F32;
            "__ll2double" I64 F64;
            "__ull2double" U64 F64;
            "__double2float" F64 F32;
        }
        nearest {
            "__int2double_rn" I32 F64;
            "__uint2double_rn" U32 F64;
        }
    };

    const fn new(name: &'static str, from: TypeId, to: TypeId, rounding: Rounding) -> Self {
        Self { name, from, to, rounding }
    }

    /// The conversion with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|conversion| conversion.name == name)
    }

    /// The name without its rounding.
    #[must_use]
    pub fn family(self) -> &'static str {
        self.name.strip_suffix(self.rounding.suffix()).unwrap_or(self.name)
    }
}
