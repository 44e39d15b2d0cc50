//! CUDA's descriptions of arrays, textures and surfaces, as host code lays them out (`cdp_core::types::Predeclared`), and what is refused.
//!
//! The checks stand here, before any device, so that a program is answered alike everywhere.

use super::{AddressMode, ArrayShape, ChannelKind, ElementFormat, Resource, Sampler};
use crate::device::CudaError;
use crate::errors::{
    INVALID_CHANNEL_DESCRIPTOR, INVALID_FILTER_SETTING, INVALID_NORM_SETTING, INVALID_VALUE, NOT_SUPPORTED, SUCCESS,
};

/// What the address of linear memory behind a texture must be a multiple of: `cudaDevAttrTextureAlignment`.
const ALIGNMENT: u64 = 512;
/// What a pitch must be a multiple of: `cudaDevAttrTexturePitchAlignment`.
const PITCH_ALIGNMENT: u64 = 32;
/// The most elements of linear memory behind a texture.
const MOST_LINEAR: u64 = 1 << 28;
/// The most elements of a row, the most rows, and the largest pitch in bytes of pitched memory behind a texture.
const MOST_PITCHED: [u64; 3] = [131_072, 65_000, 2_097_120];

/// The fields of a structure, read in order.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk::<N>() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => [0; N],
        }
    }

    fn int(&mut self) -> i32 {
        i32::from_le_bytes(self.bytes())
    }

    fn float(&mut self) -> f32 {
        f32::from_le_bytes(self.bytes())
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    fn format(&mut self) -> Result<ElementFormat, CudaError> {
        let bits = [(); 4].map(|()| self.int());
        let kind = match self.int() {
            0 => ChannelKind::Signed,
            1 => ChannelKind::Unsigned,
            2 => ChannelKind::Float,
            _ => return Err(INVALID_CHANNEL_DESCRIPTOR),
        };
        let [first, ..] = bits;
        let (channels, rest) = match bits {
            [_, 0, 0, 0] => (1, 0),
            [_, y, 0, 0] => (2, first ^ y),
            [_, y, z, w] => (4, (first ^ y) | (first ^ z) | (first ^ w)),
        };
        let fits = matches!((first, kind), (8, ChannelKind::Signed | ChannelKind::Unsigned) | (16 | 32, _)) && rest == 0;
        if fits { Ok(ElementFormat { kind, bits: first.unsigned_abs(), channels }) } else { Err(INVALID_CHANNEL_DESCRIPTOR) }
    }
}

/// `cudaChannelFormatDesc`: the bits of four channels and their kind, 20 bytes.
pub(crate) fn format(bytes: &[u8]) -> Result<ElementFormat, CudaError> {
    Fields(bytes).format()
}

/// A format as `cudaChannelFormatDesc`.
pub(crate) fn format_bytes(format: ElementFormat) -> [u8; 20] {
    let mut bytes = [0; 20];
    let kind = match format.kind {
        ChannelKind::Signed => 0,
        ChannelKind::Unsigned => 1,
        ChannelKind::Float => 2,
    };
    let channels = (0..4).map(|channel| if channel < format.channels { format.bits } else { 0 });
    for (into, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(channels.chain([kind])) {
        *into = value.to_le_bytes();
    }
    bytes
}

/// An array of an extent with flags.
pub(crate) fn shape(format: ElementFormat, [width, height, depth]: [u64; 3], flags: u32) -> Result<ArrayShape, CudaError> {
    const LAYERED: u32 = 1;
    const SURFACE: u32 = 2;
    const GATHER: u32 = 8;
    if flags & !(LAYERED | SURFACE | GATHER) != 0 {
        return Err(INVALID_VALUE);
    }
    let has = |flag: u32| flags & flag != 0;
    let shape = ArrayShape { format, width, height, depth, layered: has(LAYERED), surface: has(SURFACE), gather: has(GATHER) };
    if shape.check() == SUCCESS { Ok(shape) } else { Err(INVALID_VALUE) }
}

/// `cudaResourceDesc`, 80 bytes.
pub(crate) fn resource(bytes: &[u8]) -> Result<Resource, CudaError> {
    let mut fields = Fields(bytes);
    let kind = fields.int();
    fields.int();
    let (array, address) = (fields.word(), fields.word());
    let format = fields.format();
    fields.int();
    let [bytes, width, height, pitch] = [(); 4].map(|()| fields.word());
    let aligned = address != 0 && address.is_multiple_of(ALIGNMENT);
    match kind {
        0 if array != 0 => Ok(Resource::Array(array)),
        2 => {
            let format = format?;
            let fits = aligned && bytes >= format.bytes() && bytes / format.bytes() <= MOST_LINEAR;
            if fits { Ok(Resource::Linear { address, format, bytes }) } else { Err(INVALID_VALUE) }
        }
        3 => {
            let format = format?;
            let [most_width, most_height, most_pitch] = MOST_PITCHED;
            let fits = aligned
                && (1..=most_width).contains(&width)
                && (1..=most_height).contains(&height)
                && pitch <= most_pitch
                && pitch.is_multiple_of(PITCH_ALIGNMENT)
                && width * format.bytes() <= pitch;
            if fits { Ok(Resource::Pitch2D { address, format, width, height, pitch }) } else { Err(INVALID_VALUE) }
        }
        _ => Err(INVALID_VALUE),
    }
}

/// `cudaTextureDesc`, 72 bytes, for elements of a format, read by place unless they are `linear` memory.
pub(crate) fn sampler(bytes: &[u8], format: ElementFormat, linear: bool) -> Result<Sampler, CudaError> {
    let mut fields = Fields(bytes);
    let modes = [(); 3].map(|()| match fields.int() {
        0 => Some(AddressMode::Wrap),
        1 => Some(AddressMode::Clamp),
        2 => Some(AddressMode::Mirror),
        3 => Some(AddressMode::Border),
        _ => None,
    });
    let [Some(x), Some(y), Some(z)] = modes else { return Err(INVALID_VALUE) };
    let filter = fields.int();
    let read = fields.int();
    let srgb = fields.int();
    let border = [(); 4].map(|()| fields.float());
    let normalized_coordinates = fields.int() != 0;
    let anisotropy = fields.int();
    let [_mipmap_filter, _bias, _least, _most, _trilinear] = [(); 5].map(|()| fields.int());
    let cubemap = fields.int();
    if !(0..=1).contains(&filter) || !(0..=1).contains(&read) {
        return Err(INVALID_VALUE);
    }
    if srgb != 0 || cubemap != 0 || !(0..=1).contains(&anisotropy) {
        return Err(NOT_SUPPORTED);
    }
    let is_float = format.kind == ChannelKind::Float;
    let normalized_float = read == 1 && !is_float;
    if normalized_float && format.bits == 32 {
        return Err(INVALID_NORM_SETTING);
    }
    let gives_float = is_float || normalized_float;
    // how places are found does not matter to an index
    let filtered = filter == 1 && !linear;
    if filtered && !gives_float {
        return Err(INVALID_FILTER_SETTING);
    }
    if !gives_float && border != [0.0; 4] {
        return Err(INVALID_VALUE);
    }
    // CUDA takes these for clamping where coordinates count elements
    let mode = |mode| match mode {
        AddressMode::Wrap | AddressMode::Mirror if !normalized_coordinates => AddressMode::Clamp,
        mode => mode,
    };
    Ok(Sampler { address: [x, y, z].map(mode), linear: filtered, normalized_float, normalized_coordinates, border })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channels(x: i32, y: i32, z: i32, w: i32, kind: i32) -> Vec<u8> {
        [x, y, z, w, kind].iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    const RGBA8: ElementFormat = ElementFormat { kind: ChannelKind::Unsigned, bits: 8, channels: 4 };

    #[test]
    fn formats_have_one_two_or_four_equal_channels() {
        assert_eq!(format(&channels(8, 8, 8, 8, 1)), Ok(RGBA8));
        assert_eq!(format(&channels(32, 0, 0, 0, 2)).map(|format| format.name()), Ok("f32".to_owned()));
        for wrong in [[32, 32, 32, 0, 2], [8, 0, 0, 0, 2], [8, 16, 0, 0, 0], [64, 0, 0, 0, 0], [0, 0, 0, 0, 0], [8, 0, 0, 0, 3]]
        {
            let [x, y, z, w, kind] = wrong;
            assert_eq!(format(&channels(x, y, z, w, kind)), Err(INVALID_CHANNEL_DESCRIPTOR), "{wrong:?}");
        }
        assert_eq!(format(&format_bytes(RGBA8)), Ok(RGBA8));
    }

    #[test]
    fn shapes_are_those_that_cuda_makes() {
        let extent = |extent, flags| shape(RGBA8, extent, flags).map(|shape| (shape.dimensions(), shape.layered));
        assert_eq!(extent([16, 0, 0], 0), Ok((1, false)));
        assert_eq!(extent([16, 4, 0], 2), Ok((2, false)));
        assert_eq!(extent([16, 4, 3], 0), Ok((3, false)));
        assert_eq!(extent([16, 0, 3], 1), Ok((1, true)));
        assert_eq!(extent([16, 4, 3], 1), Ok((2, true)));
        for (wrong, flags) in
            [([0, 4, 0], 0), ([16, 0, 3], 0), ([16, 4, 0], 1), ([16, 4, 3], 8), ([16, 4, 0], 4), ([1 << 18, 0, 0], 0)]
        {
            assert_eq!(extent(wrong, flags), Err(INVALID_VALUE), "{wrong:?} {flags}");
        }
    }

    #[test]
    fn settings_that_do_not_go_together_are_refused() {
        let mut bytes = [0u8; 72];
        assert_eq!(sampler(&bytes, RGBA8, false), Ok(Sampler::default()));
        bytes[12] = 1;
        assert_eq!(sampler(&bytes, RGBA8, false), Err(INVALID_FILTER_SETTING));
        assert!(sampler(&bytes, RGBA8, true).is_ok_and(|sampler| !sampler.linear));
        bytes[16] = 1;
        assert!(sampler(&bytes, RGBA8, false).is_ok_and(|sampler| sampler.linear && sampler.normalized_float));
        let wide = ElementFormat { bits: 32, ..RGBA8 };
        assert_eq!(sampler(&bytes, wide, false), Err(INVALID_NORM_SETTING));
        bytes[20] = 1;
        assert_eq!(sampler(&bytes, RGBA8, false), Err(NOT_SUPPORTED));
    }
}
