//! Arrays and textures in the words of `cdp-runtime`, which knows no compiler.

use std::collections::BTreeMap;

use cdp_executor::texture::{self as from, ChannelKind};
use cdp_runtime::DevicePtr;
use cdp_runtime::gpu::array::{Array, ArrayShape, Channel, Format};
use cdp_runtime::gpu::texture::{AddressMode, Resource, Sampler};

use super::size;

const fn format(format: from::ElementFormat) -> Format {
    let channel = match (format.kind, format.bits) {
        (ChannelKind::Signed, 8) => Channel::I8,
        (ChannelKind::Signed, 16) => Channel::I16,
        (ChannelKind::Signed, _) => Channel::I32,
        (ChannelKind::Unsigned, 8) => Channel::U8,
        (ChannelKind::Unsigned, 16) => Channel::U16,
        (ChannelKind::Unsigned, _) => Channel::U32,
        (ChannelKind::Float, 16) => Channel::F16,
        (ChannelKind::Float, _) => Channel::F32,
    };
    Format { channel, channels: format.channels }
}

pub(super) fn shape(shape: &from::ArrayShape) -> ArrayShape {
    ArrayShape {
        format: format(shape.format),
        width: size(shape.width),
        height: size(shape.height),
        depth: size(shape.depth),
        layered: shape.layered,
        surface: shape.surface,
        gather: shape.gather,
    }
}

/// None when there is no such array.
pub(super) fn resource<'a>(resource: &from::Resource, arrays: &'a BTreeMap<u64, Array>) -> Option<Resource<'a>> {
    Some(match *resource {
        from::Resource::Array(array) => Resource::Array(arrays.get(&array)?),
        from::Resource::Linear { address, format: elements, bytes } => {
            Resource::Linear { ptr: DevicePtr(address), format: format(elements), bytes: size(bytes) }
        }
        from::Resource::Pitch2D { address, format: elements, width, height, pitch } => Resource::Pitch2D {
            ptr: DevicePtr(address),
            format: format(elements),
            width: size(width),
            height: size(height),
            pitch: size(pitch),
        },
    })
}

pub(super) fn sampler(sampler: &from::Sampler) -> Sampler {
    Sampler {
        address: sampler.address.map(|mode| match mode {
            from::AddressMode::Wrap => AddressMode::Wrap,
            from::AddressMode::Clamp => AddressMode::Clamp,
            from::AddressMode::Mirror => AddressMode::Mirror,
            from::AddressMode::Border => AddressMode::Border,
        }),
        linear: sampler.linear,
        normalized_float: sampler.normalized_float,
        normalized_coordinates: sampler.normalized_coordinates,
        border: sampler.border,
    }
}
