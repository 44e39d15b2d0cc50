//! Memory of the GPU.
#![allow(unsafe_code)] // calling the driver

use cudarc::driver::sys;

use super::context::Context;
use super::driver::check;
use crate::error::{Error, Result};

/// An address in the GPU's global memory. It says nothing about what is there or whether it still exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    #[must_use]
    pub const fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// Global memory that is freed with the value. Every access is checked against its size.
#[derive(Debug)]
pub struct DeviceBuffer {
    context: Context,
    ptr: DevicePtr,
    size: usize,
}

impl Context {
    /// `size` bytes, zeroed, aligned to 256. No bytes at all give a null address that cannot be read or written.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 2 when memory is out.
    pub fn alloc(&self, size: usize) -> Result<DeviceBuffer> {
        self.bind()?;
        let mut raw = 0;
        if size > 0 {
            // SAFETY: the context is current and the pointer valid.
            check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut raw, size) })?;
        }
        let buffer = DeviceBuffer { context: self.clone(), ptr: DevicePtr(raw), size };
        buffer.fill(0)?;
        Ok(buffer)
    }

    /// A buffer with these bytes.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 2 when memory is out.
    pub fn alloc_with(&self, bytes: &[u8]) -> Result<DeviceBuffer> {
        let buffer = self.alloc(bytes.len())?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    }

    /// Copies bytes to `target`, once all earlier work in the NULL stream is done.
    ///
    /// # Safety
    /// `target..target + bytes.len()` must be allocated memory of this context.
    ///
    /// # Errors
    /// [`Error::Cuda`], or the fault of an earlier kernel.
    pub unsafe fn write_raw(&self, target: DevicePtr, bytes: &[u8]) -> Result<()> {
        self.bind()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the slice is readable; the caller vouches for the target.
        check("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(target.0, bytes.as_ptr().cast(), bytes.len()) })
    }

    /// Copies bytes from `source`, once all earlier work in the NULL stream is done.
    ///
    /// # Safety
    /// `source..source + bytes.len()` must be allocated memory of this context.
    ///
    /// # Errors
    /// [`Error::Cuda`], or the fault of an earlier kernel.
    pub unsafe fn read_raw(&self, source: DevicePtr, bytes: &mut [u8]) -> Result<()> {
        self.bind()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the slice is writable; the caller vouches for the source.
        check("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), source.0, bytes.len()) })
    }

    /// Free and total bytes of the GPU's memory.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn memory_info(&self) -> Result<(usize, usize)> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both pointers are valid.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok((free, total))
    }
}

impl DeviceBuffer {
    /// Its first byte.
    #[must_use]
    pub const fn ptr(&self) -> DevicePtr {
        self.ptr
    }

    /// Its bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Sets every byte.
    ///
    /// # Errors
    /// [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn fill(&self, byte: u8) -> Result<()> {
        if self.size == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: the whole of our own allocation.
        check("cuMemsetD8", unsafe { sys::cuMemsetD8_v2(self.ptr.0, byte, self.size) })
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        let target = self.range(offset, bytes.len())?;
        // SAFETY: inside our own allocation.
        unsafe { self.context.write_raw(target, bytes) }
    }

    /// Copies from `offset` into `bytes`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let source = self.range(offset, bytes.len())?;
        // SAFETY: inside our own allocation.
        unsafe { self.context.read_raw(source, bytes) }
    }

    /// All of it.
    ///
    /// # Errors
    /// [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.size];
        self.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Copies `len` bytes of `source` from `source_offset` to `offset`, on the GPU; the two may be one buffer if the ranges do not overlap.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn copy_from(&self, offset: usize, source: &Self, source_offset: usize, len: usize) -> Result<()> {
        let target = self.range(offset, len)?;
        let from = source.range(source_offset, len)?;
        if len == 0 {
            return Ok(());
        }
        self.context.bind()?;
        // SAFETY: both ranges lie inside live allocations.
        check("cuMemcpyDtoD", unsafe { sys::cuMemcpyDtoD_v2(target.0, from.0, len) })
    }

    fn range(&self, offset: usize, len: usize) -> Result<DevicePtr> {
        if offset.checked_add(len).is_none_or(|end| end > self.size) {
            return Err(Error::OutOfBounds { offset, len, size: self.size });
        }
        Ok(self.ptr.offset(offset as u64))
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if self.size > 0 && self.context.bind().is_ok() {
            // SAFETY: our own allocation, not used again. cuMemFree waits for kernels that may still use it. After a fault it fails, and
            // the memory goes with the process.
            unsafe { sys::cuMemFree_v2(self.ptr.0) };
        }
    }
}
