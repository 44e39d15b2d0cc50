//! Arrays: memory in the layout of the texture units (CUDA's `cudaArray_t`).
#![allow(unsafe_code)] // calling the driver

use std::sync::Arc;

use cudarc::driver::sys::{self, CUarray_format, CUmemorytype};

use super::context::Context;
use super::driver::check;
use super::memory::DevicePtr;
use super::stream::{self, Stream};
use crate::error::{Error, Result};

/// What a channel of an element is.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    I8,
    I16,
    I32,
    U8,
    U16,
    U32,
    F16,
    F32,
}

impl Channel {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
        }
    }

    /// Whether it is an integer.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        !matches!(self, Self::F16 | Self::F32)
    }

    pub(super) const fn raw(self) -> CUarray_format {
        match self {
            Self::I8 => CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
            Self::I16 => CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
            Self::I32 => CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
            Self::U8 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
            Self::U16 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
            Self::U32 => CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
            Self::F16 => CUarray_format::CU_AD_FORMAT_HALF,
            Self::F32 => CUarray_format::CU_AD_FORMAT_FLOAT,
        }
    }
}

/// An element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Each of its channels.
    pub channel: Channel,
    /// How many there are: 1, 2 or 4.
    pub channels: u32,
}

impl Format {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.channel.bytes() * self.channels as usize
    }
}

/// What an array is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// Its elements.
    pub format: Format,
    /// Elements of a row.
    pub width: usize,
    /// Rows; 0 for one dimension.
    pub height: usize,
    /// Slices or layers; 0 where there are none.
    pub depth: usize,
    /// Whether the depth counts layers.
    pub layered: bool,
    /// Whether surfaces may be made of it.
    pub surface: bool,
    /// Whether it may be gathered from.
    pub gather: bool,
}

/// An array that is freed when the last hold on it is gone: clones, textures and surfaces hold it.
#[derive(Clone, Debug)]
pub struct Array {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    raw: sys::CUarray,
    shape: ArrayShape,
}

// SAFETY: the driver's arrays may be used from any thread that has the context current.
unsafe impl Send for Inner {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // kernels that read it may still run
        if self.context.synchronize().is_ok() {
            // SAFETY: our own array, not used again.
            unsafe { sys::cuArrayDestroy(self.raw) };
        }
    }
}

/// A part of an array or of linear memory, as one side of a copy.
#[derive(Clone, Copy, Debug)]
pub enum Side<'a> {
    /// An array, from a place in x (in bytes), y and z on.
    Array(&'a Array, [usize; 3]),
    /// Rows in linear device memory.
    Memory {
        /// The first byte.
        ptr: DevicePtr,
        /// Bytes from one row to the next.
        pitch: usize,
        /// Rows from one slice to the next.
        rows: usize,
    },
}

impl Context {
    /// An array; its contents are unspecified.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 1 for a shape that the GPU has not, 2 when memory is out.
    pub fn create_array(&self, shape: &ArrayShape) -> Result<Array> {
        self.bind()?;
        let flag = |wanted: bool, flag: u32| if wanted { flag } else { 0 };
        let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: shape.width,
            Height: shape.height,
            Depth: shape.depth,
            Format: shape.format.channel.raw(),
            NumChannels: shape.format.channels,
            Flags: flag(shape.layered, sys::CUDA_ARRAY3D_LAYERED)
                | flag(shape.surface, sys::CUDA_ARRAY3D_SURFACE_LDST)
                | flag(shape.gather, sys::CUDA_ARRAY3D_TEXTURE_GATHER),
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current and both pointers are valid.
        check("cuArray3DCreate", unsafe { sys::cuArray3DCreate_v2(&raw mut raw, &raw const descriptor) })?;
        Ok(Array { inner: Arc::new(Inner { context: self.clone(), raw, shape: *shape }) })
    }
}

impl Array {
    /// What it is like.
    #[must_use]
    pub fn shape(&self) -> &ArrayShape {
        &self.inner.shape
    }

    pub(super) fn raw(&self) -> sys::CUarray {
        self.inner.raw
    }

    pub(super) fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Reads packed rows, once earlier work in the NULL stream is done. `at` and `extent` are in x (in bytes), y, z.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn read(&self, at: [usize; 3], extent: [usize; 3], bytes: &mut [u8]) -> Result<()> {
        self.check(at, extent)?;
        check_host(extent, bytes.len())?;
        let mut copy = rows(extent);
        from_array(&mut copy, self, at);
        copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        copy.dstHost = bytes.as_mut_ptr().cast();
        (copy.dstPitch, copy.dstHeight) = (extent[0], extent[1]);
        self.inner.context.bind()?;
        // SAFETY: the part lies in the array, and the slice has room for all of it.
        run(extent, || check("cuMemcpy3D", unsafe { sys::cuMemcpy3D_v2(&raw const copy) }))
    }

    /// Writes packed rows, once earlier work in the NULL stream is done. `at` and `extent` are in x (in bytes), y, z.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn write(&self, at: [usize; 3], extent: [usize; 3], bytes: &[u8]) -> Result<()> {
        self.check(at, extent)?;
        check_host(extent, bytes.len())?;
        let mut copy = rows(extent);
        to_array(&mut copy, self, at);
        copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_HOST;
        copy.srcHost = bytes.as_ptr().cast();
        (copy.srcPitch, copy.srcHeight) = (extent[0], extent[1]);
        self.inner.context.bind()?;
        // SAFETY: the part lies in the array, and the slice holds all of it.
        run(extent, || check("cuMemcpy3D", unsafe { sys::cuMemcpy3D_v2(&raw const copy) }))
    }

    /// Whether a part lies in it.
    fn check(&self, at: [usize; 3], extent: [usize; 3]) -> Result<()> {
        let ArrayShape { format, width, height, depth, .. } = self.inner.shape;
        let sizes = [width * format.bytes(), height.max(1), depth.max(1)];
        for ((at, extent), size) in at.into_iter().zip(extent).zip(sizes) {
            if at.checked_add(extent).is_none_or(|end| end > size) {
                return Err(Error::OutOfBounds { offset: at, len: extent, size });
            }
        }
        Ok(())
    }
}

/// Copies rows on the GPU in a stream, with an array on one side or both; `None` is the NULL stream.
///
/// # Safety
/// A side in linear memory must be allocated memory of the context, from its first byte to the end of its last row, until the copy is done.
///
/// # Errors
/// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
pub(super) unsafe fn copy(
    context: &Context,
    to: Side<'_>,
    from: Side<'_>,
    extent: [usize; 3],
    stream: Option<&Stream>,
) -> Result<()> {
    let mut copy = rows(extent);
    match from {
        Side::Array(array, at) => {
            array.check(at, extent)?;
            from_array(&mut copy, array, at);
        }
        Side::Memory { ptr, pitch, rows } => {
            copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            (copy.srcDevice, copy.srcPitch, copy.srcHeight) = (ptr.0, pitch, rows.max(extent[1]));
        }
    }
    match to {
        Side::Array(array, at) => {
            array.check(at, extent)?;
            to_array(&mut copy, array, at);
        }
        Side::Memory { ptr, pitch, rows } => {
            copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
            (copy.dstDevice, copy.dstPitch, copy.dstHeight) = (ptr.0, pitch, rows.max(extent[1]));
        }
    }
    context.bind()?;
    // SAFETY: parts of arrays were checked, and live until the copy is done since freeing waits; the caller vouches for linear memory.
    run(extent, || check("cuMemcpy3DAsync", unsafe { sys::cuMemcpy3DAsync_v2(&raw const copy, stream::raw(stream)) }))
}

/// Does it, unless there is nothing to do.
fn run(extent: [usize; 3], work: impl FnOnce() -> Result<()>) -> Result<()> {
    if extent.contains(&0) { Ok(()) } else { work() }
}

fn check_host(extent: [usize; 3], len: usize) -> Result<()> {
    let wanted = extent.into_iter().fold(1, usize::saturating_mul);
    if wanted > len { Err(Error::OutOfBounds { offset: 0, len: wanted, size: len }) } else { Ok(()) }
}

/// A copy of an extent from nowhere to nowhere.
const fn rows([width, height, depth]: [usize; 3]) -> sys::CUDA_MEMCPY3D {
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: width,
        Height: height,
        Depth: depth,
    }
}

fn from_array(copy: &mut sys::CUDA_MEMCPY3D, array: &Array, [x, y, z]: [usize; 3]) {
    copy.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array.raw();
    (copy.srcXInBytes, copy.srcY, copy.srcZ) = (x, y, z);
}

fn to_array(copy: &mut sys::CUDA_MEMCPY3D, array: &Array, [x, y, z]: [usize; 3]) {
    copy.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array.raw();
    (copy.dstXInBytes, copy.dstY, copy.dstZ) = (x, y, z);
}
