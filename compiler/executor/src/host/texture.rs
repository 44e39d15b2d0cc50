//! Arrays, texture and surface objects of host code.

use super::world::World;
use crate::address::is_local;
use crate::code::{RuntimeCall, Slot};
use crate::device::CudaError;
use crate::errors::{INVALID_DIRECTION, INVALID_PITCH, INVALID_RESOURCE_HANDLE, INVALID_VALUE, SUCCESS};
use crate::fault::{Access, Allocation, FaultKind, Step};
use crate::interp::locals::Locals;
use crate::interp::read_bits;
use crate::leaks::{Leak, Made};
use crate::texture::{ArrayShape, CopySide, Region, Resource, parse};
use cdp_core::builtins::RuntimeFn;
use cdp_core::source::Span;
use std::collections::BTreeMap;

/// What host code has made and not given back.
#[derive(Debug, Default)]
pub(super) struct Images {
    arrays: BTreeMap<u64, ArrayShape>,
    textures: Vec<u64>,
    surfaces: Vec<u64>,
}

/// A copy with an array on one side or both.
struct Copy {
    to: CopySide,
    from: CopySide,
    /// Bytes of a row, rows, slices.
    extent: [u64; 3],
    /// `cudaMemcpyKind`
    kind: u64,
    stream: u64,
    waits: bool,
}

/// A side in host memory: the first byte, the pitch, and the rows of a slice.
fn in_host_memory(side: CopySide) -> Option<(u64, u64, u64)> {
    match side {
        CopySide::Memory { address, pitch, rows } if is_local(address) => Some((address, pitch, rows)),
        _ => None,
    }
}

/// The first bytes of the rows of a side in linear memory.
fn rows(address: u64, pitch: u64, rows: u64, [_, height, depth]: [u64; 3]) -> impl Iterator<Item = u64> {
    (0..depth)
        .flat_map(move |slice| (0..height).map(move |row| slice.wrapping_mul(rows).wrapping_add(row)))
        .map(move |row| address.wrapping_add(row.wrapping_mul(pitch)))
}

impl World<'_> {
    /// A call of [`RuntimeFn::is_about_textures`].
    pub(super) fn about_textures(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>, span: Span) -> Step<CudaError> {
        let slot = |index: usize| call.args.get(index).copied().unwrap_or_default();
        let value = |index: usize| {
            let Slot { offset, size } = slot(index);
            read_bits(locals.slots, size, offset)
        };
        let bytes = |index: usize| locals.bytes(slot(index).offset, slot(index).size).unwrap_or_default().to_vec();
        let words = |index: usize| locals.words(slot(index));
        let array = |array: usize, x: usize| CopySide::Array { array: value(array), at: [value(x), value(x + 1), 0] };
        let linear = |address: usize| CopySide::Memory { address: value(address), pitch: value(address + 1), rows: 0 };
        let copy = |to, from, first: usize| {
            let waits = !matches!(call.call, RuntimeFn::Memcpy2DToArrayAsync | RuntimeFn::Memcpy2DFromArrayAsync);
            let stream = if waits { 0 } else { value(first + 3) };
            Copy { to, from, extent: [value(first), value(first + 1), 1], kind: value(first + 2), stream, waits }
        };
        match call.call {
            RuntimeFn::MallocArray => {
                let (extent, flags) = ([value(2), value(3), 0], value(4) as u32);
                self.malloc_array(value(0), &bytes(1), extent, flags, locals, span)
            }
            RuntimeFn::Malloc3DArray => {
                let extent = <[u64; 3]>::try_from(words(2)).unwrap_or_default();
                self.malloc_array(value(0), &bytes(1), extent, value(3) as u32, locals, span)
            }
            RuntimeFn::FreeArray => Ok(self.free_array(value(0))),
            RuntimeFn::GetChannelDesc => match self.images.arrays.get(&value(1)) {
                Some(shape) => {
                    let described = parse::format_bytes(shape.format);
                    self.write(value(0), &described, locals).map(|()| SUCCESS)
                }
                None => Ok(INVALID_RESOURCE_HANDLE),
            },
            RuntimeFn::Memcpy2DToArray | RuntimeFn::Memcpy2DToArrayAsync => {
                let copy = copy(array(0, 1), linear(3), 5);
                self.copy_array(&copy, locals, span)
            }
            RuntimeFn::Memcpy2DFromArray | RuntimeFn::Memcpy2DFromArrayAsync => {
                let copy = copy(linear(0), array(2, 3), 5);
                self.copy_array(&copy, locals, span)
            }
            RuntimeFn::Memcpy2DArrayToArray => {
                let copy = copy(array(0, 1), array(3, 4), 6);
                self.copy_array(&copy, locals, span)
            }
            RuntimeFn::CreateTextureObject => {
                let (out, made) = (value(0), self.create_texture(&bytes(1), &bytes(2)));
                self.handle(locals, out, made, Leak { made: Made::Texture, span, bytes: 0 })
            }
            RuntimeFn::CreateSurfaceObject => {
                let (out, made) = (value(0), self.create_surface(&bytes(1)));
                self.handle(locals, out, made, Leak { made: Made::Surface, span, bytes: 0 })
            }
            RuntimeFn::DestroyTextureObject => {
                let texture = value(0);
                self.made.remove(&(Made::Texture, texture));
                self.images.textures.retain(|known| *known != texture);
                Ok(self.device.texture_destroy(texture))
            }
            RuntimeFn::DestroySurfaceObject => {
                let surface = value(0);
                self.made.remove(&(Made::Surface, surface));
                self.images.surfaces.retain(|known| *known != surface);
                Ok(self.device.surface_destroy(surface))
            }
            other => Err(Box::new(FaultKind::Unsupported(format!("`{}` is not about textures", other.name())))),
        }
    }

    fn malloc_array(
        &mut self,
        out: u64,
        format: &[u8],
        extent: [u64; 3],
        flags: u32,
        locals: &mut Locals<'_>,
        span: Span,
    ) -> Step<CudaError> {
        let shape = parse::format(format).and_then(|format| parse::shape(format, extent, flags));
        let made = shape.and_then(|shape| Ok((shape, self.device.array_create(&shape)?)));
        let (shape, array) = match made {
            Ok(made) => made,
            Err(error) => return Ok(error),
        };
        self.device.describe(&Allocation {
            address: array,
            size: shape.bytes(),
            what: "an array".to_owned(),
            element: shape.format.name(),
            element_size: shape.format.bytes(),
            span,
        });
        self.images.arrays.insert(array, shape);
        self.handle(locals, out, Ok(array), Leak { made: Made::Array, span, bytes: shape.bytes() })
    }

    fn free_array(&mut self, array: u64) -> CudaError {
        if array == 0 {
            return SUCCESS;
        }
        let error = self.device.array_free(array);
        if error == SUCCESS {
            self.images.arrays.remove(&array);
            self.made.remove(&(Made::Array, array));
        }
        error
    }

    fn create_texture(&mut self, resource: &[u8], sampler: &[u8]) -> Result<u64, CudaError> {
        let resource = parse::resource(resource)?;
        let format = match resource {
            Resource::Array(array) => self.images.arrays.get(&array).ok_or(INVALID_RESOURCE_HANDLE)?.format,
            Resource::Linear { format, .. } | Resource::Pitch2D { format, .. } => format,
        };
        let sampler = parse::sampler(sampler, format, matches!(resource, Resource::Linear { .. }))?;
        let texture = self.device.texture_create(&resource, &sampler)?;
        self.images.textures.push(texture);
        Ok(texture)
    }

    fn create_surface(&mut self, resource: &[u8]) -> Result<u64, CudaError> {
        let Resource::Array(array) = parse::resource(resource)? else { return Err(INVALID_VALUE) };
        let shape = self.images.arrays.get(&array).ok_or(INVALID_RESOURCE_HANDLE)?;
        if !shape.surface {
            return Err(INVALID_VALUE);
        }
        let surface = self.device.surface_create(array)?;
        self.images.surfaces.push(surface);
        Ok(surface)
    }

    /// `cudaMemcpy3DAsync` with an array on one side or both: its parameters as words.
    pub(super) fn copy_array_3d(
        &mut self,
        parms: &[u64; 20],
        stream: u64,
        locals: &mut Locals<'_>,
        span: Span,
    ) -> Step<CudaError> {
        let [from_array, from_x, from_y, from_z, from, from_pitch, _, from_rows, to_array, to_x, to_y, to_z, rest @ ..] =
            *parms;
        let [to, to_pitch, _, to_rows, width, height, depth, kind] = rest;
        // places and widths count elements where there is an array, bytes where there is none
        let mut element = None;
        for array in [from_array, to_array].into_iter().filter(|array| *array != 0) {
            let Some(shape) = self.images.arrays.get(&array) else { return Ok(INVALID_RESOURCE_HANDLE) };
            let bytes = shape.format.bytes();
            if element.is_some_and(|known| known != bytes) {
                return Ok(INVALID_VALUE);
            }
            element = Some(bytes);
        }
        let element = element.unwrap_or(1);
        let side = |array: u64, [x, y, z]: [u64; 3], address: u64, pitch: u64, rows: u64| {
            if array != 0 {
                return CopySide::Array { array, at: [x.saturating_mul(element), y, z] };
            }
            let first = pitch.wrapping_mul(z.wrapping_mul(rows).wrapping_add(y)).wrapping_add(x);
            CopySide::Memory { address: address.wrapping_add(first), pitch, rows }
        };
        let copy = Copy {
            to: side(to_array, [to_x, to_y, to_z], to, to_pitch, to_rows),
            from: side(from_array, [from_x, from_y, from_z], from, from_pitch, from_rows),
            extent: [width.saturating_mul(element), height, depth],
            kind: kind & 0xffff_ffff,
            stream,
            waits: false,
        };
        self.copy_array(&copy, locals, span)
    }

    fn copy_array(&mut self, copy: &Copy, locals: &mut Locals<'_>, span: Span) -> Step<CudaError> {
        let error = self.check_array_copy(copy, locals)?;
        if error != SUCCESS || copy.extent.contains(&0) {
            return Ok(error);
        }
        let flushed = self.memory.flush(self.device);
        if flushed != SUCCESS {
            return Ok(flushed);
        }
        let size = copy.extent.into_iter().fold(1, u64::saturating_mul);
        let packed = || vec![0; usize::try_from(size).unwrap_or(0)];
        let width = usize::try_from(copy.extent[0]).unwrap_or(usize::MAX);
        match (in_host_memory(copy.to), copy.to, in_host_memory(copy.from), copy.from) {
            (None, CopySide::Array { array, at }, Some((address, pitch, slice)), _) => {
                let mut bytes = packed();
                let mut undefined = Vec::new();
                for (row, into) in rows(address, pitch, slice, copy.extent).zip(bytes.chunks_exact_mut(width)) {
                    into.copy_from_slice(locals.at(row, width, false)?);
                    undefined.extend(locals.undefined_at(row, width).unwrap_or_else(|| vec![false; width]));
                }
                let region = Region { at, extent: copy.extent };
                self.in_turn(copy.stream, |device| {
                    let error = device.array_write(array, &region, &bytes);
                    if undefined.contains(&true) {
                        device.array_undefine(array, &region, &undefined);
                    }
                    error
                })
            }
            (Some((address, pitch, slice)), _, None, CopySide::Array { array, at }) => {
                let mut bytes = packed();
                let region = Region { at, extent: copy.extent };
                let error = self.in_turn(copy.stream, |device| device.array_read(array, &region, &mut bytes))?;
                if error == SUCCESS {
                    for (row, from) in rows(address, pitch, slice, copy.extent).zip(bytes.chunks_exact(width)) {
                        locals.store(row, from)?;
                    }
                    let undefined = self.device.array_unwritten(array, &region).unwrap_or_default();
                    for (row, marks) in rows(address, pitch, slice, copy.extent).zip(undefined.chunks(width)) {
                        self.undefine_any(row, marks, locals, span)?;
                    }
                }
                Ok(error)
            }
            _ if copy.waits => {
                let error = self.device.array_copy(copy.to, copy.from, copy.extent, copy.stream);
                if error == SUCCESS { self.waiting(|device| device.stream_synchronize(0)) } else { Ok(error) }
            }
            _ => {
                let error = self.device.array_copy(copy.to, copy.from, copy.extent, copy.stream);
                self.memory.stale();
                Ok(error)
            }
        }
    }

    /// Work that moves bytes between host and device memory: after what is in its stream.
    fn in_turn(&mut self, stream: u64, work: impl FnOnce(&mut dyn crate::device::Device) -> CudaError) -> Step<CudaError> {
        self.waiting(|device| {
            let error = if stream == 0 { SUCCESS } else { device.stream_synchronize(stream) };
            if error == SUCCESS { work(device) } else { error }
        })
    }

    /// What is wrong with a copy, before anything is done.
    fn check_array_copy(&mut self, copy: &Copy, locals: &mut Locals<'_>) -> Step<CudaError> {
        if copy.kind > 4 {
            return Ok(INVALID_DIRECTION);
        }
        let [width, height, depth] = copy.extent;
        for (side, write) in [(copy.from, false), (copy.to, true)] {
            match side {
                CopySide::Array { array, at } => {
                    let Some(shape) = self.images.arrays.get(&array) else { return Ok(INVALID_RESOURCE_HANDLE) };
                    let whole = [at[0], width].iter().all(|x| x.is_multiple_of(shape.format.bytes()));
                    if !whole || !shape.holds(&Region { at, extent: copy.extent }) {
                        return Ok(INVALID_VALUE);
                    }
                }
                CopySide::Memory { address, pitch, rows: slice } => {
                    if ((height > 1 || depth > 1) && width > pitch) || (depth > 1 && slice < height) {
                        return Ok(INVALID_PITCH);
                    }
                    if copy.extent.contains(&0) {
                        continue;
                    }
                    for row in rows(address, pitch, slice, copy.extent) {
                        if is_local(row) {
                            locals.at(row, usize::try_from(width).unwrap_or(usize::MAX), write)?;
                        } else {
                            self.memory.check(Access { address: row, size: width, write })?;
                        }
                    }
                }
            }
        }
        Ok(SUCCESS)
    }

    /// Gives everything back: objects first, then what they are made of.
    pub(super) fn give_back_images(&mut self) {
        let images = std::mem::take(&mut self.images);
        for texture in images.textures {
            self.device.texture_destroy(texture);
        }
        for surface in images.surfaces {
            self.device.surface_destroy(surface);
        }
        for (array, _) in images.arrays {
            self.device.array_free(array);
        }
    }

    /// A reset has given everything back.
    pub(super) fn forget_images(&mut self) {
        self.images = Images::default();
    }
}
