//! Arrays, textures and surfaces as host code describes them, the same for every device (CUDA programming guide, "Texture and Surface
//! Memory").
//!
//! - this file: formats, shapes, resources, samplers
//! - `parse`: from CUDA's structures, with what CUDA refuses
//! - `sample`: which elements a fetch looks at, and with which weights

pub(crate) mod parse;
pub(crate) mod sample;

use crate::device::CudaError;
use crate::errors::{INVALID_VALUE, SUCCESS};

/// What the channels of an element are: `cudaChannelFormatKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// IEEE numbers of 16 or 32 bits.
    Float,
}

/// An element of an array or texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementFormat {
    /// What its channels are.
    pub kind: ChannelKind,
    /// Bits of a channel: 8, 16 or 32.
    pub bits: u32,
    /// 1, 2 or 4.
    pub channels: u32,
}

impl ElementFormat {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        (self.bits / 8 * self.channels) as u64
    }

    /// Its name in the language: `f32x4`.
    #[must_use]
    pub fn name(self) -> String {
        let kind = match self.kind {
            ChannelKind::Signed => "i",
            ChannelKind::Unsigned => "u",
            ChannelKind::Float => "f",
        };
        let lanes = if self.channels > 1 { format!("x{}", self.channels) } else { String::new() };
        format!("{kind}{}{lanes}", self.bits)
    }
}

/// An array: `cudaMalloc3DArray`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// Its elements.
    pub format: ElementFormat,
    /// Elements of a row.
    pub width: u64,
    /// Rows; 0 in an array of one dimension.
    pub height: u64,
    /// Slices, or layers; 0 where there are none.
    pub depth: u64,
    /// Whether the depth counts layers: `cudaArrayLayered`.
    pub layered: bool,
    /// Whether surfaces can be made of it: `cudaArraySurfaceLoadStore`.
    pub surface: bool,
    /// Whether it can be gathered from: `cudaArrayTextureGather`.
    pub gather: bool,
}

impl ArrayShape {
    /// Dimensions, of which layers are none: 1, 2 or 3.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        if self.height == 0 {
            1
        } else if self.depth == 0 || self.layered {
            2
        } else {
            3
        }
    }

    /// Elements in x, y, z, or layers for z; at least 1 each.
    #[must_use]
    pub const fn extent(&self) -> [u64; 3] {
        [self.width, if self.height == 0 { 1 } else { self.height }, if self.depth == 0 { 1 } else { self.depth }]
    }

    /// Bytes of all its elements.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extent().into_iter().fold(self.format.bytes(), u64::saturating_mul)
    }

    /// Whether a region lies in it: the place in x, y and z, and how much from there, x in bytes.
    #[must_use]
    pub fn holds(&self, region: &Region) -> bool {
        let [width, height, depth] = self.extent();
        let limits = [width * self.format.bytes(), height, depth];
        let mut sides = region.at.iter().zip(&region.extent).zip(limits);
        sides.all(|((at, extent), limit)| at.checked_add(*extent).is_some_and(|end| end <= limit))
    }

    /// In words: "an array of 4 by 4 elements".
    #[must_use]
    pub fn describe(&self) -> String {
        let [width, height, depth] = self.extent();
        match (self.dimensions(), self.layered) {
            (1, false) => format!("an array {width} wide"),
            (1, true) => format!("an array {width} wide with {depth} layers"),
            (2, false) => format!("an array of {width} by {height}"),
            (2, true) => format!("an array of {width} by {height} with {depth} layers"),
            _ => format!("an array of {width} by {height} by {depth}"),
        }
    }

    /// The limits of a GPU of compute capability 9.0 (CUDA programming guide, "Technical Specifications per Compute Capability").
    pub(crate) const fn check(&self) -> CudaError {
        let Self { width, height, depth, layered, surface, gather, .. } = *self;
        if width == 0 || (layered && depth == 0) || (!layered && height == 0 && depth != 0) {
            return INVALID_VALUE;
        }
        let dimensions = self.dimensions();
        if gather && (dimensions != 2 || layered) {
            return INVALID_VALUE;
        }
        let [most_width, most_height, most_depth] = match (dimensions, layered) {
            _ if gather => [32_768, 32_768, 0],
            (1, true) => [32_768, 0, 2048],
            (2, true) => [32_768, 32_768, 2048],
            (1, false) if surface => [32_768, 0, 0],
            (1, false) => [131_072, 0, 0],
            (2, false) => [131_072, 65_536, 0],
            _ => [16_384, 16_384, 16_384],
        };
        if width > most_width || height > most_height || depth > most_depth { INVALID_VALUE } else { SUCCESS }
    }
}

/// A part of an array: a place and an extent from there, in x, y, z; x is in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first byte, row, slice or layer.
    pub at: [u64; 3],
    /// Bytes of a row, rows, slices or layers.
    pub extent: [u64; 3],
}

impl Region {
    /// Bytes of it, packed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.extent.into_iter().fold(1, u64::saturating_mul)
    }
}

/// One side of a copy with an array on the other, or on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopySide {
    /// Linear device memory.
    Memory {
        /// The first byte.
        address: u64,
        /// Bytes from one row to the next.
        pitch: u64,
        /// Rows from one slice to the next.
        rows: u64,
    },
    /// An array of [`crate::Device::array_create`].
    Array {
        /// Its handle.
        array: u64,
        /// The place in x (in bytes), y and z.
        at: [u64; 3],
    },
}

/// What a texture or surface is made of: `cudaResourceDesc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// An array of [`crate::Device::array_create`], by its handle.
    Array(u64),
    /// Elements one after the other in linear memory.
    Linear {
        /// The first byte, a multiple of 512.
        address: u64,
        /// The elements.
        format: ElementFormat,
        /// In bytes.
        bytes: u64,
    },
    /// Rows of elements in linear memory.
    Pitch2D {
        /// The first byte, a multiple of 512.
        address: u64,
        /// The elements.
        format: ElementFormat,
        /// Elements of a row.
        width: u64,
        /// Rows.
        height: u64,
        /// Bytes from one row to the next, a multiple of 32.
        pitch: u64,
    },
}

/// What a texture gives outside of itself: `cudaTextureAddressMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// It repeats.
    Wrap,
    /// The nearest element.
    #[default]
    Clamp,
    /// It repeats, every other time backwards.
    Mirror,
    /// The border's colour.
    Border,
}

/// How a texture is read: `cudaTextureDesc`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// In x, y and z. [`AddressMode::Wrap`] and [`AddressMode::Mirror`] with normalised coordinates only.
    pub address: [AddressMode; 3],
    /// Whether elements are interpolated.
    pub linear: bool,
    /// Whether integers are read as numbers from 0 or -1 to 1.
    pub normalized_float: bool,
    /// Whether coordinates run from 0 to 1 instead of counting elements.
    pub normalized_coordinates: bool,
    /// What is outside, with [`AddressMode::Border`].
    pub border: [f32; 4],
}
