//! Arrays, texture and surface objects, and the accesses to them.
//!
//! An array is a piece of device memory, packed, whose address is its handle; so its elements are followed like all other memory, by who
//! wrote them and who may see it. Textures and surfaces are read through caches that the writes of the running grid do not reach.

use super::races::Kind;
use super::world::World;
use crate::code::TextureAccess;
use crate::device::CudaError;
use crate::errors::{INVALID_RESOURCE_HANDLE, INVALID_VALUE, SUCCESS};
use crate::fault::{Access, FaultKind, Step};
use crate::interp::locals::Locals;
use crate::interp::{read_bits, write_bits};
use crate::texture::sample::{gathered, normalized, taps};
use crate::texture::{ArrayShape, ChannelKind, CopySide, ElementFormat, Region, Resource, Sampler};
use crate::transfer::Area;
use cdp_core::builtins::{TexelAccess, TextureOp};
use cdp_core::types::{Float, Scalar};
use std::collections::BTreeMap;

/// Elements in device memory.
#[derive(Clone, Copy, Debug)]
struct Image {
    address: u64,
    shape: ArrayShape,
    /// Bytes from one row to the next.
    pitch: u64,
    /// Read by index: no array, and no rows.
    linear: bool,
}

#[derive(Debug)]
struct Object {
    image: Image,
    sampler: Sampler,
    destroyed: bool,
}

/// All that the host has made.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// By address.
    arrays: BTreeMap<u64, ArrayShape>,
    textures: Vec<Object>,
    surfaces: Vec<Object>,
}

/// Handles of textures are above this, and those of surfaces above twice this.
const HANDLES: u64 = 1 << 32;

impl Image {
    fn array(address: u64, shape: ArrayShape) -> Self {
        Self { address, shape, pitch: shape.width * shape.format.bytes(), linear: false }
    }

    /// The bytes of elements that lie beside each other, from a place whose x is in bytes.
    fn at(&self, [x, y, z]: [u64; 3]) -> u64 {
        let [_, height, _] = self.shape.extent();
        self.address + (z * height + y) * self.pitch + x
    }

    fn area(&self, at: [u64; 3]) -> Area {
        let [_, height, _] = self.shape.extent();
        Area::new(self.at(at), self.pitch, self.pitch * height)
    }

    /// What it is, in words.
    fn describe(&self) -> String {
        if self.linear { format!("linear memory of {} elements", self.shape.width) } else { self.shape.describe() }
    }

    /// What reads a texture of it, or works on a surface.
    fn fitting(&self, op: TextureOp) -> String {
        if self.linear {
            return "read it by index, with `tex1Dfetch`".to_owned();
        }
        let access = match op.access() {
            TexelAccess::Fetch | TexelAccess::Gather => TexelAccess::Sample,
            access => access,
        };
        let fits = |op: &&TextureOp| op.access() == access && self.has(**op);
        let name = TextureOp::ALL.iter().find(fits).map_or("", |op| op.name());
        format!("use `{name}`, or give the array other dimensions")
    }

    /// Whether the dimensions are those of an access.
    const fn has(&self, op: TextureOp) -> bool {
        self.linear == matches!(op.access(), TexelAccess::Fetch)
            && self.shape.dimensions() == op.dimensions()
            && self.shape.layered == op.is_layered()
    }
}

impl Objects {
    pub(super) fn add_array(&mut self, address: u64, shape: ArrayShape) {
        self.arrays.insert(address, shape);
    }

    pub(super) fn is_array(&self, address: u64) -> bool {
        self.arrays.contains_key(&address)
    }

    pub(super) fn remove_array(&mut self, array: u64) -> bool {
        self.arrays.remove(&array).is_some()
    }

    /// Where a part of an array lies: its rows, and their bytes from first to last. None when it is not in the array, or there is none.
    pub(super) fn region(&self, array: u64, region: &Region) -> Option<Area> {
        let shape = self.arrays.get(&array).filter(|shape| shape.holds(region))?;
        Some(Image::array(array, *shape).area(region.at))
    }

    /// One side of a copy.
    pub(super) fn side(&self, side: CopySide, extent: [u64; 3]) -> Result<Area, CudaError> {
        match side {
            CopySide::Memory { address, pitch, rows } => Ok(Area::new(address, pitch, pitch.saturating_mul(rows))),
            CopySide::Array { array, at } => self.region(array, &Region { at, extent }).ok_or(INVALID_VALUE),
        }
    }

    pub(super) fn add_texture(&mut self, resource: &Resource, sampler: Sampler) -> Result<u64, CudaError> {
        let plain = |format: ElementFormat, width, height| ArrayShape {
            format,
            width,
            height,
            depth: 0,
            layered: false,
            surface: false,
            gather: false,
        };
        let image = match *resource {
            Resource::Array(array) => Image::array(array, *self.arrays.get(&array).ok_or(INVALID_VALUE)?),
            Resource::Linear { address, format, bytes } => {
                Image { address, shape: plain(format, bytes / format.bytes(), 0), pitch: bytes, linear: true }
            }
            Resource::Pitch2D { address, format, width, height, pitch } => {
                Image { address, shape: plain(format, width, height), pitch, linear: false }
            }
        };
        self.textures.push(Object { image, sampler, destroyed: false });
        Ok(HANDLES + self.textures.len() as u64)
    }

    pub(super) fn add_surface(&mut self, array: u64) -> Result<u64, CudaError> {
        let shape = *self.arrays.get(&array).filter(|shape| shape.surface).ok_or(INVALID_VALUE)?;
        self.surfaces.push(Object { image: Image::array(array, shape), sampler: Sampler::default(), destroyed: false });
        Ok(2 * HANDLES + self.surfaces.len() as u64)
    }

    pub(super) fn destroy(&mut self, handle: u64, surface: bool) -> CudaError {
        let (objects, first) = if surface { (&mut self.surfaces, 2 * HANDLES) } else { (&mut self.textures, HANDLES) };
        match place(handle, first).and_then(|place| objects.get_mut(place)).filter(|object| !object.destroyed) {
            Some(object) => {
                object.destroyed = true;
                SUCCESS
            }
            None => INVALID_RESOURCE_HANDLE,
        }
    }

    /// The object that a handle means.
    fn find(&self, handle: u64, surface: bool) -> Step<&Object> {
        let texture = place(handle, HANDLES).and_then(|place| self.textures.get(place));
        let found = place(handle, 2 * HANDLES).and_then(|place| self.surfaces.get(place));
        let (kind, found, other) = if surface { ("surface", found, texture) } else { ("texture", texture, found) };
        let text = match (found, other) {
            (Some(object), _) if !object.destroyed => return Ok(object),
            (Some(_), _) => format!("this {kind} object was destroyed"),
            (None, Some(_)) if surface => "a texture object is used as a surface".to_owned(),
            (None, Some(_)) => "a surface object is used as a texture".to_owned(),
            (None, None) => format!("this is not a {kind} object: its value is {handle:#x}"),
        };
        Err(Box::new(FaultKind::Object(text)))
    }
}

fn place(handle: u64, first: u64) -> Option<usize> {
    usize::try_from(handle.checked_sub(first + 1)?).ok()
}

/// One channel as a fetch gives it.
#[derive(Clone, Copy)]
enum Channel {
    Int(i64),
    Float(f32),
}

impl<const TRACK: bool> World<'_, TRACK> {
    pub(super) fn texture(&mut self, access: &TextureAccess, locals: &mut Locals<'_>) -> Step {
        let op = access.op;
        let object = self.machine.objects.find(locals.u64(access.object), op.is_surface())?;
        let (image, sampler) = (object.image, object.sampler);
        if !image.has(op) {
            let text = format!("`{}` is no access to {}", op.name(), image.describe());
            return Err(Box::new(FaultKind::Texture { text, help: image.fitting(op) }));
        }
        let coordinates: Vec<u32> = access.coordinates.iter().map(|at| locals.u32(*at)).collect();
        if op.is_surface() {
            return self.surface(access, &image, &coordinates, locals);
        }
        check_element(access, &image, &sampler)?;
        let mut values = Vec::with_capacity(4);
        match op.access() {
            TexelAccess::Fetch => {
                let index = coordinates.first().copied().unwrap_or(0).cast_signed();
                let Some(index) = u64::try_from(index).ok().filter(|index| *index < image.shape.width) else {
                    let text = format!("index {index} is outside {}", image.describe());
                    let help = "check the index first: what is there is not specified";
                    return Err(Box::new(FaultKind::Outside { text, help }));
                };
                values.extend(self.texel(&image, &sampler, Some([index, 0, 0]))?.into_iter().take(access.lanes as usize));
            }
            TexelAccess::Gather => {
                if !image.shape.gather || access.chosen >= image.shape.format.channels {
                    let text = format!("component {} cannot be gathered from {}", access.chosen, image.describe());
                    let help = "make the array with `cudaArrayTextureGather`, of elements that have the component".to_owned();
                    return Err(Box::new(FaultKind::Texture { text, help }));
                }
                let [x, y] = [0, 1].map(|place| f32::from_bits(coordinates.get(place).copied().unwrap_or(0)));
                for at in gathered(&sampler, [x, y], [image.shape.width, image.shape.height]) {
                    values.extend(self.texel(&image, &sampler, at)?.get(access.chosen as usize));
                }
            }
            _ => values.extend(self.sample(&image, &sampler, &coordinates, op)?.into_iter().take(access.lanes as usize)),
        }
        if let Some(dst) = access.dst {
            put(access.element, &values, dst, locals);
        }
        Ok(())
    }

    /// The channels at a place, interpolated where the texture says so.
    fn sample(&mut self, image: &Image, sampler: &Sampler, coordinates: &[u32], op: TextureOp) -> Step<[Channel; 4]> {
        let extent = image.shape.extent();
        let dimensions = op.dimensions();
        let layer = coordinates.get(dimensions).map(|layer| {
            let last = i64::try_from(image.shape.depth).unwrap_or(i64::MAX) - 1;
            i64::from(layer.cast_signed()).clamp(0, last.max(0)).cast_unsigned()
        });
        let places: Vec<f32> = coordinates.iter().take(dimensions).map(|bits| f32::from_bits(*bits)).collect();
        let taps = taps(sampler, &places, extent.get(..dimensions).unwrap_or_default(), layer);
        if let [only] = taps.as_slice() {
            return self.texel(image, sampler, only.at);
        }
        // exact but for the last rounding: weights have at most 24 bits
        let mut sums = [0f64; 4];
        for tap in &taps {
            for (sum, channel) in sums.iter_mut().zip(self.texel(image, sampler, tap.at)?) {
                if let Channel::Float(value) = channel {
                    *sum += tap.weight * f64::from(value);
                }
            }
        }
        Ok(sums.map(|sum| Channel::Float(sum as f32)))
    }

    /// The channels of one element as they are read; those that it has not are 0.
    fn texel(&mut self, image: &Image, sampler: &Sampler, at: Option<[u64; 3]>) -> Step<[Channel; 4]> {
        let format = image.shape.format;
        let float = format.kind == ChannelKind::Float;
        let Some([x, y, z]) = at else {
            let zero = |value: f32| if float || sampler.normalized_float { Channel::Float(value) } else { Channel::Int(0) };
            return Ok(sampler.border.map(zero));
        };
        let size = format.bytes();
        let access = Access { address: image.at([x * size, y, z]), size, write: false };
        let mut bytes = [0; 16];
        if let Some(bytes) = bytes.get_mut(..size as usize) {
            bytes.copy_from_slice(self.memory(access)?);
        }
        self.follow(access)?;
        let mut channels = [Channel::Int(0); 4];
        for (place, channel) in (0..format.channels).zip(&mut channels) {
            let bits = read_bits(&bytes, format.bits / 8, place * format.bits / 8);
            let unused = 64 - format.bits;
            let signed = (bits << unused).cast_signed() >> unused;
            *channel = match (format.kind, format.bits) {
                (ChannelKind::Float, 16) => Channel::Float(Float::F16.value(bits) as f32),
                (ChannelKind::Float, _) => Channel::Float(f32::from_bits(bits as u32)),
                (ChannelKind::Signed, width) if sampler.normalized_float => Channel::Float(normalized(signed, width, true)),
                (ChannelKind::Unsigned, width) if sampler.normalized_float => {
                    Channel::Float(normalized(bits.cast_signed(), width, false))
                }
                (ChannelKind::Signed, _) => Channel::Int(signed),
                (ChannelKind::Unsigned, _) => Channel::Int(bits.cast_signed()),
            };
        }
        Ok(channels)
    }

    /// Notes a read through the texture cache, for races and for memory that was never written.
    fn follow(&mut self, access: Access) -> Step {
        self.check_written(access)?;
        self.track(access, Kind::Cached);
        Ok(())
    }

    /// A read or write of a surface: bytes, at an x in bytes.
    fn surface(&mut self, access: &TextureAccess, image: &Image, coordinates: &[u32], locals: &mut Locals<'_>) -> Step {
        let bits = match access.element {
            Scalar::Int(int) => int.bits(),
            Scalar::Float(float) => float.bits(),
        };
        let size = bits / 8 * access.lanes;
        let found = surface_place(access.op, image, coordinates, u64::from(size), access.chosen)?;
        match (found, access.value) {
            (None, Some(_)) => {}
            (None, None) => {
                if let Some(dst) = access.dst {
                    locals.zero(dst, size);
                }
            }
            (Some(address), Some(value)) => {
                let bytes = locals.bytes(value, size).unwrap_or_default().to_vec();
                let access = Access { address, size: u64::from(size), write: true };
                let memory = self.memory(access)?;
                if *memory != *bytes {
                    memory.copy_from_slice(&bytes);
                    self.machine.changes += 1;
                }
                self.track(access, Kind::Write);
            }
            (Some(address), None) => {
                let read = Access { address, size: u64::from(size), write: false };
                let bytes = self.memory(read)?.to_vec();
                self.follow(read)?;
                if let Some(into) = access.dst.and_then(|dst| locals.bytes_mut(dst, size)) {
                    into.copy_from_slice(&bytes);
                }
            }
        }
        Ok(())
    }
}

/// The address that an access to a surface means; none where it is outside and nothing happens there.
fn surface_place(op: TextureOp, image: &Image, coordinates: &[u32], size: u64, mode: u32) -> Step<Option<u64>> {
    use cdp_core::builtins::{BOUNDARY_CLAMP, BOUNDARY_ZERO};
    let [width, height, depth] = image.shape.extent();
    let mut given = coordinates.iter().map(|at| i64::from(at.cast_signed()));
    let x = given.next().unwrap_or(0);
    let y = if op.dimensions() > 1 { given.next().unwrap_or(0) } else { 0 };
    let z = given.next().unwrap_or(0);
    if x.rem_euclid(size.cast_signed()) != 0 {
        let text = format!("byte {x} is no multiple of the {size} bytes that `{}` accesses", op.name());
        let help = "the x of a surface is in bytes: multiply it by the size of an element, `x * sizeof(T) as i32`";
        return Err(Box::new(FaultKind::Outside { text, help }));
    }
    let row = width * image.shape.format.bytes();
    // the last place of each dimension
    let last = [row.saturating_sub(size), height - 1, depth - 1].map(u64::cast_signed);
    let inside = row >= size && [x, y, z].iter().zip(last).all(|(at, last)| (0..=last).contains(at));
    let [last_x, last_y, last_z] = last;
    let clamped = [x.clamp(0, last_x), y.clamp(0, last_y), z.clamp(0, last_z)].map(i64::cast_unsigned);
    match mode {
        _ if inside => Ok(Some(image.at(clamped))),
        BOUNDARY_ZERO => Ok(None),
        BOUNDARY_CLAMP if row >= size => Ok(Some(image.at(clamped))),
        _ => {
            let place = match (op.dimensions(), op.is_layered()) {
                (1, false) => format!("byte {x}"),
                (1, true) => format!("byte {x} of layer {z}"),
                (2, false) => format!("byte {x} of row {y}"),
                (2, true) => format!("byte {x} of row {y} of layer {z}"),
                _ => format!("byte {x} of row {y} of slice {z}"),
            };
            let text = format!("{place} is outside {}, whose rows have {row} bytes", image.describe());
            let help = "check the place first, or say what happens there: `cudaBoundaryModeZero` or `cudaBoundaryModeClamp` as the last argument";
            Err(Box::new(FaultKind::Outside { text, help }))
        }
    }
}

/// Whether what the program wants is what the texture gives.
fn check_element(access: &TextureAccess, image: &Image, sampler: &Sampler) -> Step {
    let format = image.shape.format;
    let gives_float = format.kind == ChannelKind::Float || sampler.normalized_float;
    let fits = match access.element {
        Scalar::Float(Float::F16) => format.kind == ChannelKind::Float && format.bits == 16,
        Scalar::Float(_) => gives_float,
        Scalar::Int(int) => !gives_float && int.signed() == (format.kind == ChannelKind::Signed) && int.bits() >= format.bits,
    };
    let gathers = access.op.access() == TexelAccess::Gather;
    if fits && (gathers || access.lanes == format.channels) {
        return Ok(());
    }
    let read = if sampler.normalized_float { ", read as normalized floats" } else { "" };
    let text =
        format!("`{}` reads `{}`, and the texture has elements of `{}`{read}", access.op.name(), access.name, format.name());
    let wanted = if gathers {
        ElementFormat { channels: 4, ..format }
    } else if sampler.normalized_float {
        ElementFormat { kind: ChannelKind::Float, bits: 32, ..format }
    } else {
        format
    };
    let help = if matches!(access.element, Scalar::Float(_)) && !gives_float && format.bits < 32 {
        format!("read `{}`, or make the texture with `cudaReadModeNormalizedFloat`", wanted.name())
    } else {
        format!("read `{}`", wanted.name())
    };
    Err(Box::new(FaultKind::Texture { text, help }))
}

/// Channels as a value of the program.
fn put(element: Scalar, values: &[Channel], dst: u32, locals: &mut Locals<'_>) {
    let bits = match element {
        Scalar::Int(int) => int.bits(),
        Scalar::Float(float) => float.bits(),
    };
    for (lane, value) in (0u32..).zip(values) {
        let value = match (element, *value) {
            (Scalar::Float(Float::F16), Channel::Float(value)) => Float::F16.round(f64::from(value)),
            (_, Channel::Float(value)) => u64::from(value.to_bits()),
            (_, Channel::Int(value)) => value.cast_unsigned(),
        };
        write_bits(locals.slots, bits / 8, dst + lane * bits / 8, value);
    }
}
