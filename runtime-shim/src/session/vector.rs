//! CUDA's vectors (programming guide, "Built-in Vector Types"), and the 16-bit floating-point types, which Rust has not.
#![allow(non_camel_case_types, reason = "the names of the language")]

use super::arg::Kind;
use super::value::{Value, get, put};

macro_rules! halves {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(
            /// Its bits.
            pub u16,
        );

        impl Value for $name {
            const SIZE: usize = 2;
            const KIND: Kind = Kind::Named(stringify!($name));
            fn store(&self, to: &mut [u8]) {
                self.0.store(to);
            }
            fn load(from: &[u8]) -> Self {
                Self(u16::load(from))
            }
        }
    )*};
}

halves! {
    /// IEEE binary16 as its bits; the crate `half` computes with them.
    f16
    /// bfloat16 as its bits: the upper half of an `f32`.
    bf16
}

macro_rules! vector {
    ($name:ident, $element:ty, $align:literal, $($lane:ident $index:literal),*) => {
        #[doc = concat!("`", stringify!($name), "`")]
        #[allow(missing_docs, reason = "the names say it")]
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C, align($align))]
        pub struct $name {
            $(pub $lane: $element,)*
        }

        impl Value for $name {
            const SIZE: usize = size_of::<Self>();
            const KIND: Kind = Kind::Named(stringify!($name));
            fn store(&self, to: &mut [u8]) {
                $(put(to, $index * <$element>::SIZE, &self.$lane);)*
            }
            fn load(from: &[u8]) -> Self {
                Self { $($lane: get(from, $index * <$element>::SIZE),)* }
            }
        }
    };
}

macro_rules! vectors {
    ($($element:ty: $two:ident $align2:literal, $three:ident $align3:literal, $four:ident $align4:literal;)*) => {$(
        vector!($two, $element, $align2, x 0, y 1);
        vector!($three, $element, $align3, x 0, y 1, z 2);
        vector!($four, $element, $align4, x 0, y 1, z 2, w 3);
    )*};
}

// two and four lanes are aligned to their size, but to no more than 16; three as one lane
vectors! {
    i8: i8x2 2, i8x3 1, i8x4 4;
    u8: u8x2 2, u8x3 1, u8x4 4;
    i16: i16x2 4, i16x3 2, i16x4 8;
    u16: u16x2 4, u16x3 2, u16x4 8;
    i32: i32x2 8, i32x3 4, i32x4 16;
    u32: u32x2 8, u32x3 4, u32x4 16;
    i64: i64x2 16, i64x3 8, i64x4 16;
    u64: u64x2 16, u64x3 8, u64x4 16;
    f16: f16x2 4, f16x3 2, f16x4 8;
    bf16: bf16x2 4, bf16x3 2, bf16x4 8;
    f32: f32x2 8, f32x3 4, f32x4 16;
    f64: f64x2 16, f64x3 8, f64x4 16;
}
