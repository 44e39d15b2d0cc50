//! A GPU's primary context, the one that the CUDA runtime and other libraries share.
#![allow(unsafe_code)] // calling the driver

use std::sync::Arc;

use cudarc::driver::sys::{self, CUlimit};

use super::driver::{Device, Driver, check, failure, handle};
use super::explain::CudaError;
use crate::error::{Error, Result};
use crate::manifest::Limits;

/// The limits that matter here: CUDA's name, the driver's constant.
pub const LIMITS: [(&str, CUlimit); 4] = [
    ("cudaLimitDevRuntimePendingLaunchCount", CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT),
    ("cudaLimitPrintfFifoSize", CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE),
    ("cudaLimitMallocHeapSize", CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE),
    ("cudaLimitStackSize", CUlimit::CU_LIMIT_STACK_SIZE),
];

/// A GPU in use. Cloning gives another hold on the same context.
#[derive(Clone, Debug)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    raw: sys::CUcontext,
    handle: sys::CUdevice,
    device: Device,
    driver: Driver,
}

// SAFETY: a context may be used from any thread that makes it current, which every call here does first.
unsafe impl Send for Inner {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: retained once in `Context::new`. After a fault this fails, which changes nothing.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.handle) };
    }
}

impl Context {
    /// Takes hold of GPU `ordinal`.
    ///
    /// # Errors
    /// No driver, no such GPU, or the GPU is busy.
    pub fn new(ordinal: i32) -> Result<Self> {
        let driver = Driver::open()?;
        let handle = handle(driver, ordinal)?;
        let device = driver.device(ordinal)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: a valid device and a valid place for the answer.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&raw mut raw, handle) })?;
        let context = Self { inner: Arc::new(Inner { raw, handle, device, driver }) };
        context.bind()?;
        Ok(context)
    }

    /// The GPU.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The driver.
    #[must_use]
    pub fn driver(&self) -> Driver {
        self.inner.driver
    }

    /// Makes the context current on this thread; every call here begins so.
    pub(super) fn bind(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.inner.raw) })
    }

    /// Waits for everything, and empties the ring of device `printf` into the standard output.
    ///
    /// # Errors
    /// [`Error::DeviceFault`] when a kernel, of the host's launching or of another kernel's, died.
    pub fn synchronize(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: the context is current.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }

    /// What the driver holds for a limit.
    ///
    /// # Errors
    /// [`Error::Cuda`], for example 215 for a limit that does not exist.
    pub fn limit(&self, limit: CUlimit) -> Result<usize> {
        self.bind()?;
        let mut value = 0;
        // SAFETY: the context is current and the pointer valid.
        check("cuCtxGetLimit", unsafe { sys::cuCtxGetLimit(&raw mut value, limit) })?;
        Ok(value)
    }

    /// Sets a limit and reads it back. The driver may round up (a launch pool of 1 becomes 32).
    ///
    /// # Errors
    /// [`Error::Limit`] when the driver refuses it or holds less than was asked.
    pub fn set_limit(&self, limit: CUlimit, asked: usize) -> Result<usize> {
        self.bind()?;
        let name = LIMITS.iter().find(|(_, l)| *l == limit).map_or("limit", |(name, _)| name);
        // SAFETY: the context is current.
        if let Some(error) = failure(unsafe { sys::cuCtxSetLimit(limit, asked) }) {
            if error.is_sticky() {
                return Err(Error::DeviceFault { call: "cuCtxSetLimit", error });
            }
            return Err(Error::Limit { limit: name, asked, got: None, error: Some(error) });
        }
        let got = self.limit(limit)?;
        if got < asked { Err(Error::Limit { limit: name, asked, got: Some(got), error: None }) } else { Ok(got) }
    }

    /// A limit by CUDA's number of it, the same in `cudaLimit` and `CUlimit`.
    ///
    /// # Errors
    /// [`Error::Limit`] for a limit that does not exist here, and as [`Context::limit`].
    pub fn limit_by_number(&self, number: u32) -> Result<usize> {
        self.limit(numbered(number)?)
    }

    /// Sets a limit by CUDA's number of it, and reads it back.
    ///
    /// # Errors
    /// [`Error::Limit`] for a limit that does not exist here, and as [`Context::set_limit`].
    pub fn set_limit_by_number(&self, number: u32, asked: usize) -> Result<usize> {
        self.set_limit(numbered(number)?, asked)
    }

    /// Sets the limits that are wanted, and says what the driver holds afterwards. To be called before any kernel runs: the launch
    /// pool is reserved at the first launch, and the driver changes the ring of `printf` no more once a kernel has printed. A limit that
    /// has its value already is left alone.
    ///
    /// # Errors
    /// As [`Context::set_limit`].
    pub fn set_limits(&self, wanted: &Limits) -> Result<Limits> {
        let values = [wanted.pending_launches, wanted.printf_fifo, wanted.malloc_heap, wanted.stack];
        for ((_, limit), value) in LIMITS.into_iter().zip(values) {
            if let Some(value) = value
                && self.limit(limit)? != value
            {
                self.set_limit(limit, value)?;
            }
        }
        self.limits()
    }

    /// What the driver holds for each limit.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn limits(&self) -> Result<Limits> {
        let [pending_launches, printf_fifo, malloc_heap, stack] = LIMITS.map(|(_, limit)| self.limit(limit));
        Ok(Limits {
            pending_launches: Some(pending_launches?),
            printf_fifo: Some(printf_fifo?),
            malloc_heap: Some(malloc_heap?),
            stack: Some(stack?),
        })
    }
}

fn numbered(number: u32) -> Result<CUlimit> {
    let known = LIMITS.into_iter().find(|(_, limit)| *limit as u32 == number);
    known.map(|(_, limit)| limit).ok_or(Error::Limit {
        limit: "limit",
        asked: number as usize,
        got: None,
        error: Some(CudaError::new(215, None, None)),
    })
}
