//! Global memory by address, for hosts that compute with addresses: every access is checked to lie inside one allocation or variable.
#![allow(unsafe_code)] // calling the driver

use std::collections::BTreeMap;

use cudarc::driver::sys;

use super::array::{self, Side};
use super::context::Context;
use super::driver::check;
use super::memory::{DeviceBuffer, DevicePtr};
use super::module::LoadedModule;
use super::stream::{self, Stream};
use super::texture::{Resource, Sampler, Texture};
use crate::error::{Error, Result};

/// Allocations and variables that a host program reaches by address.
#[derive(Debug)]
pub struct AddressSpace {
    context: Context,
    buffers: BTreeMap<u64, DeviceBuffer>,
    /// Sizes of variables by address. They belong to `modules`, which keeps them alive.
    variables: BTreeMap<u64, usize>,
    modules: Vec<LoadedModule>,
}

impl AddressSpace {
    /// Nothing yet.
    #[must_use]
    pub const fn new(context: Context) -> Self {
        Self { context, buffers: BTreeMap::new(), variables: BTreeMap::new(), modules: Vec::new() }
    }

    /// `size` zeroed bytes, aligned to 256; zero bytes have an address of their own, too.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 2 when memory is out.
    pub fn allocate(&mut self, size: usize) -> Result<DevicePtr> {
        let buffer = self.context.alloc(size.max(1))?;
        let address = buffer.ptr();
        self.buffers.insert(address.0, buffer);
        Ok(address)
    }

    /// Gives an allocation back, once kernels that may use it are done. `false` when none begins there.
    pub fn free(&mut self, address: DevicePtr) -> bool {
        self.buffers.remove(&address.0).is_some()
    }

    /// Makes a module's variable reachable; its address and size.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 500 when there is none.
    pub fn variable(&mut self, module: &LoadedModule, symbol: &str) -> Result<(DevicePtr, usize)> {
        let (address, size) = module.global(symbol)?;
        if self.variables.insert(address.0, size).is_none() {
            self.modules.push(module.clone());
        }
        Ok((address, size))
    }

    /// Copies from the GPU, once earlier work in the NULL stream is done.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn read(&self, source: DevicePtr, bytes: &mut [u8]) -> Result<()> {
        self.check(source, bytes.len())?;
        // SAFETY: inside a live allocation or variable.
        unsafe { self.context.read_raw(source, bytes) }
    }

    /// Copies to the GPU, once earlier work in the NULL stream is done.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn write(&self, target: DevicePtr, bytes: &[u8]) -> Result<()> {
        self.check(target, bytes.len())?;
        // SAFETY: inside a live allocation or variable.
        unsafe { self.context.write_raw(target, bytes) }
    }

    /// Sets every byte, in a stream; `None` is the NULL stream.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn fill(&self, target: DevicePtr, len: usize, byte: u8, stream: Option<&Stream>) -> Result<()> {
        self.check(target, len)?;
        if len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: inside a live allocation or variable; freeing waits for the fill.
        check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(target.0, byte, len, stream::raw(stream)) })
    }

    /// Copies on the GPU, in a stream; `None` is the NULL stream.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn copy(&self, target: DevicePtr, source: DevicePtr, len: usize, stream: Option<&Stream>) -> Result<()> {
        self.check(target, len)?;
        self.check(source, len)?;
        if len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: both ranges are inside live allocations or variables; freeing waits for the copy.
        check("cuMemcpyDtoDAsync", unsafe { sys::cuMemcpyDtoDAsync_v2(target.0, source.0, len, stream::raw(stream)) })
    }

    /// Copies rows on the GPU in a stream, with an array on one side or both; `extent` is bytes of a row, rows, slices.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn copy_rows(&self, to: Side<'_>, from: Side<'_>, extent: [usize; 3], stream: Option<&Stream>) -> Result<()> {
        for side in [to, from] {
            if let Side::Memory { ptr, pitch, rows } = side {
                self.check(ptr, span(extent, pitch, rows))?;
            }
        }
        // SAFETY: all of linear memory is inside live allocations or variables; freeing waits for the copy.
        unsafe { array::copy(&self.context, to, from, extent, stream) }
    }

    /// A texture object; linear memory behind it must be freed later than it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`] with 1 for what the GPU does not take.
    pub fn create_texture(&self, resource: &Resource<'_>, sampler: &Sampler) -> Result<Texture> {
        match *resource {
            Resource::Array(_) => {}
            Resource::Linear { ptr, bytes, .. } => self.check(ptr, bytes)?,
            Resource::Pitch2D { ptr, format, width, height, pitch } => {
                self.check(ptr, span([width.saturating_mul(format.bytes()), height, 1], pitch, 0))?;
            }
        }
        self.context.create_texture(resource, sampler)
    }

    fn check(&self, address: DevicePtr, len: usize) -> Result<()> {
        let buffer = self.buffers.range(..=address.0).next_back().map(|(base, buffer)| (*base, buffer.size()));
        let variable = self.variables.range(..=address.0).next_back().map(|(base, size)| (*base, *size));
        let regions = [buffer, variable];
        // the nearer of the two is the one that the address can be in
        let nearest = regions.into_iter().flatten().max_by_key(|(base, _)| *base).unwrap_or((address.0, 0));
        let offset = usize::try_from(address.0 - nearest.0).unwrap_or(usize::MAX);
        match offset.checked_add(len) {
            Some(end) if end <= nearest.1 || len == 0 => Ok(()),
            _ => Err(Error::OutOfBounds { offset, len, size: nearest.1 }),
        }
    }
}

/// Bytes from the first one to the end of the last row.
fn span([width, height, depth]: [usize; 3], pitch: usize, rows: usize) -> usize {
    if width == 0 || height == 0 || depth == 0 {
        return 0;
    }
    let last = (depth - 1).saturating_mul(rows).saturating_add(height - 1);
    last.saturating_mul(pitch).saturating_add(width)
}
