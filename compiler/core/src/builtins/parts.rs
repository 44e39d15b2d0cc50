//! Functions with several results, which the others go through pointers: `sincos(x, &s, &c)`. Each result is one of a pure function.

use crate::types::{TypeId, TypeTable};

/// Such a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartsFn {
    /// `sincos(x, &sine, &cosine)`
    Sincos,
    /// `sincospi(x, &sine, &cosine)`, of pi x
    Sincospi,
    /// `__sincosf(x, &sine, &cosine)`, fast
    FastSincos,
    /// `modf(x, &whole)`: the fraction
    Modf,
    /// `frexp(x, &exponent)`: the fraction from 0.5 to 1, by 2 to the power of the exponent
    Frexp,
    /// `__match_all_sync(mask, v, &all)`: a warp operation, whose other result says whether all lanes had the same value
    MatchAll,
}

impl PartsFn {
    /// Those of mathematics.
    pub const ALL: [Self; 5] = [Self::Sincos, Self::Sincospi, Self::FastSincos, Self::Modf, Self::Frexp];

    /// CUDA's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sincos => "sincos",
            Self::Sincospi => "sincospi",
            Self::FastSincos => "__sincosf",
            Self::Modf => "modf",
            Self::Frexp => "frexp",
            Self::MatchAll => "__match_all_sync",
        }
    }

    /// What it computes, for the reference.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Self::Sincos => "the sine and the cosine of x, through two pointers; no result",
            Self::Sincospi => "the sine and the cosine of pi x, through two pointers; no result",
            Self::FastSincos => "__sinf and __cosf of x, through two pointers; no result",
            Self::Modf => "the fraction of x with its sign; the whole number goes through the pointer",
            Self::Frexp => {
                "the fraction of x from 0.5 to 1; the power of 2 that goes with it through a pointer to `i32`, 0 for 0, infinities and NaN"
            }
            Self::MatchAll => "the mask, where all lanes have the same value",
        }
    }

    /// How many pointers follow x.
    #[must_use]
    pub const fn pointers(self) -> usize {
        match self {
            Self::Sincos | Self::Sincospi | Self::FastSincos => 2,
            Self::Modf | Self::Frexp | Self::MatchAll => 1,
        }
    }

    /// The function with this name, and the type of x where the name fixes it: `sincosf`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<(Self, Option<TypeId>)> {
        let find = |name: &str| Self::ALL.into_iter().find(|function| function.name() == name);
        match find(name) {
            Some(Self::FastSincos) => Some((Self::FastSincos, Some(TypeTable::F32))),
            Some(function) => Some((function, None)),
            None => find(name.strip_suffix('f')?).map(|function| (function, Some(TypeTable::F32))),
        }
    }
}
