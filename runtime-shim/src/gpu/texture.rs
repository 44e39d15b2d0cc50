//! Texture and surface objects: 64-bit handles that kernels are given.
#![allow(unsafe_code)] // calling the driver

use cudarc::driver::sys::{self, CUaddress_mode, CUfilter_mode, CUresourcetype};

use super::array::{Array, Format};
use super::context::Context;
use super::driver::check;
use super::memory::DevicePtr;
use crate::error::Result;

/// What a texture gives outside of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// It repeats; with normalised coordinates only.
    Wrap,
    /// The nearest element.
    #[default]
    Clamp,
    /// It repeats, every other time backwards; with normalised coordinates only.
    Mirror,
    /// The border's colour.
    Border,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// In x, y and z.
    pub address: [AddressMode; 3],
    /// Whether elements are interpolated.
    pub linear: bool,
    /// Whether integers of 8 and 16 bits are read as numbers from 0 or -1 to 1.
    pub normalized_float: bool,
    /// Whether coordinates run from 0 to 1.
    pub normalized_coordinates: bool,
    /// What is outside, with [`AddressMode::Border`].
    pub border: [f32; 4],
}

/// What a texture is made of.
#[derive(Clone, Copy, Debug)]
pub enum Resource<'a> {
    /// An array, which the texture holds.
    Array(&'a Array),
    /// Elements one after the other in linear memory.
    Linear {
        /// The first byte; aligned as the GPU's attribute for textures says, to 512.
        ptr: DevicePtr,
        /// The elements.
        format: Format,
        /// In bytes.
        bytes: usize,
    },
    /// Rows in linear memory.
    Pitch2D {
        /// The first byte, aligned likewise.
        ptr: DevicePtr,
        /// The elements.
        format: Format,
        /// Elements of a row.
        width: usize,
        /// Rows.
        height: usize,
        /// Bytes from one row to the next.
        pitch: usize,
    },
}

/// A texture object, destroyed with the value. Linear memory behind it must be freed later than it.
#[derive(Debug)]
pub struct Texture {
    context: Context,
    raw: sys::CUtexObject,
    /// Keeps it alive.
    _array: Option<Array>,
}

/// A surface object, destroyed with the value.
#[derive(Debug)]
pub struct Surface {
    raw: sys::CUsurfObject,
    array: Array,
}

impl Context {
    /// A texture object.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] with 1 for what the GPU does not take.
    pub fn create_texture(&self, resource: &Resource<'_>, sampler: &Sampler) -> Result<Texture> {
        self.bind()?;
        let integers = match resource {
            Resource::Array(array) => array.shape().format.channel.is_integer(),
            Resource::Linear { format, .. } | Resource::Pitch2D { format, .. } => format.channel.is_integer(),
        };
        let mut flags = 0;
        if integers && !sampler.normalized_float {
            flags |= sys::CU_TRSF_READ_AS_INTEGER;
        }
        if sampler.normalized_coordinates {
            flags |= sys::CU_TRSF_NORMALIZED_COORDINATES;
        }
        let description = sys::CUDA_TEXTURE_DESC {
            addressMode: sampler.address.map(|mode| match mode {
                AddressMode::Wrap => CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
                AddressMode::Clamp => CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
                AddressMode::Mirror => CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
                AddressMode::Border => CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
            }),
            filterMode: if sampler.linear {
                CUfilter_mode::CU_TR_FILTER_MODE_LINEAR
            } else {
                CUfilter_mode::CU_TR_FILTER_MODE_POINT
            },
            flags,
            maxAnisotropy: 0,
            mipmapFilterMode: CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            mipmapLevelBias: 0.0,
            minMipmapLevelClamp: 0.0,
            maxMipmapLevelClamp: 0.0,
            borderColor: sampler.border,
            reserved: [0; 12],
        };
        let (resource, array) = describe(resource);
        let mut raw = 0;
        // SAFETY: the context is current, and all pointers are valid; no view is given.
        check("cuTexObjectCreate", unsafe {
            sys::cuTexObjectCreate(&raw mut raw, &raw const resource, &raw const description, std::ptr::null())
        })?;
        Ok(Texture { context: self.clone(), raw, _array: array })
    }
}

impl Texture {
    /// What kernels are given.
    #[must_use]
    pub const fn handle(&self) -> u64 {
        self.raw
    }
}

impl Drop for Texture {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: our own object, not used again.
            unsafe { sys::cuTexObjectDestroy(self.raw) };
        }
    }
}

impl Array {
    /// A surface object of the array, which it holds.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] with 1 when the array was not made for surfaces.
    pub fn create_surface(&self) -> Result<Surface> {
        self.context().bind()?;
        let (resource, _) = describe(&Resource::Array(self));
        let mut raw = 0;
        // SAFETY: the context is current, and both pointers are valid.
        check("cuSurfObjectCreate", unsafe { sys::cuSurfObjectCreate(&raw mut raw, &raw const resource) })?;
        Ok(Surface { raw, array: self.clone() })
    }
}

impl Surface {
    /// What kernels are given.
    #[must_use]
    pub const fn handle(&self) -> u64 {
        self.raw
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        if self.array.context().bind().is_ok() {
            // SAFETY: our own object, not used again.
            unsafe { sys::cuSurfObjectDestroy(self.raw) };
        }
    }
}

fn describe(resource: &Resource<'_>) -> (sys::CUDA_RESOURCE_DESC, Option<Array>) {
    // all bits zero are a description; the union has reserved bytes that must be so
    let empty = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 { reserved: [0; 32] };
    let mut description = sys::CUDA_RESOURCE_DESC {
        resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
        res: sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 { reserved: empty },
        flags: 0,
    };
    let mut held = None;
    match *resource {
        Resource::Array(array) => {
            description.res.array.hArray = array.raw();
            held = Some(array.clone());
        }
        Resource::Linear { ptr, format, bytes } => {
            description.resType = CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
            description.res.linear = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                devPtr: ptr.0,
                format: format.channel.raw(),
                numChannels: format.channels,
                sizeInBytes: bytes,
            };
        }
        Resource::Pitch2D { ptr, format, width, height, pitch } => {
            description.resType = CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
            description.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                devPtr: ptr.0,
                format: format.channel.raw(),
                numChannels: format.channels,
                width,
                height,
                pitchInBytes: pitch,
            };
        }
    }
    (description, held)
}
