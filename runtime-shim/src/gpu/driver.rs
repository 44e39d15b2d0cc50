//! The driver and the GPUs it sees.
#![allow(unsafe_code)] // calling the driver

use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};

use super::explain::CudaError;
use crate::arch::{Arch, Version};
use crate::error::{Error, Result};

/// An initialised driver.
#[derive(Clone, Copy, Debug)]
pub struct Driver {
    version: Version,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, from 0.
    pub ordinal: i32,
    /// Its name.
    pub name: String,
    /// Major and minor compute capability.
    pub capability: (u32, u32),
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory: usize,
    /// Most threads a block may have.
    pub max_threads_per_block: u32,
    /// Most bytes of shared memory a block may have when the kernel's limit is raised.
    pub max_shared_per_block: u32,
}

impl Device {
    /// The architecture to build for.
    #[must_use]
    pub const fn arch(&self) -> Arch {
        Arch::base(self.capability.0 * 10 + self.capability.1)
    }
}

impl Driver {
    /// Opens and initialises the driver; the second call and later ones cost nothing.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoDevice`] when the driver finds nothing to drive, [`Error::Cuda`].
    pub fn open() -> Result<Self> {
        static PRESENT: OnceLock<bool> = OnceLock::new();
        // cudarc's own functions panic where libcuda is missing, so this must come before any of them.
        // SAFETY: opening libcuda has no preconditions.
        if !*PRESENT.get_or_init(|| unsafe { sys::is_culib_present() }) {
            return Err(Error::NoDriver);
        }
        let mut number: c_int = 0;
        // SAFETY: may be called before cuInit; the pointer is valid.
        let asked = unsafe { sys::cuDriverGetVersion(&raw mut number) };
        let version = (asked == CUresult::CUDA_SUCCESS).then(|| Version::from_cuda_number(number.unsigned_abs()));
        // SAFETY: the flags must be 0.
        let result = unsafe { sys::cuInit(0) };
        if let Some(error) = failure(result) {
            // without a GPU or its kernel module the driver does not even initialise
            return Err(match error.number {
                100 | 101 | 304 | 801..=804 | 999 => Error::NoDevice { driver: version, reason: error.to_string() },
                _ => Error::Cuda { call: "cuInit", error },
            });
        }
        Ok(Self { version: version.unwrap_or(Version::new(0, 0)) })
    }

    /// The newest CUDA version the driver knows.
    #[must_use]
    pub const fn version(self) -> Version {
        self.version
    }

    /// Every GPU, in the driver's order.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn devices(self) -> Result<Vec<Device>> {
        let mut count: c_int = 0;
        // SAFETY: the driver is initialised; the pointer is valid.
        check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&raw mut count) })?;
        (0..count).map(|ordinal| self.device(ordinal)).collect()
    }

    /// The GPU with this number.
    ///
    /// # Errors
    /// [`Error::NoDevice`] when there is none with this number.
    pub fn device(self, ordinal: i32) -> Result<Device> {
        let device = handle(self, ordinal)?;
        let mut name: [c_char; 256] = [0; 256];
        let mut memory = 0;
        // SAFETY: the buffer has the length that is told; the driver ends the name with a NUL.
        check("cuDeviceGetName", unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 256, device) })?;
        // SAFETY: the pointer is valid.
        check("cuDeviceTotalMem", unsafe { sys::cuDeviceTotalMem_v2(&raw mut memory, device) })?;
        // SAFETY: NUL-terminated, see above.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let attribute = |which| attribute(device, which);
        Ok(Device {
            ordinal,
            name,
            capability: (
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            memory,
            max_threads_per_block: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_shared_per_block: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        })
    }

    /// An attribute of a GPU by CUDA's number of it, the same in `cudaDeviceAttr` and `CUdevice_attribute`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] when there is no such GPU, [`Error::Cuda`] with 1 when there is no such attribute.
    pub fn attribute(self, ordinal: i32, number: i32) -> Result<i32> {
        type GetAttribute = unsafe extern "C" fn(*mut c_int, c_int, sys::CUdevice) -> CUresult;
        let device = handle(self, ordinal)?;
        let mut value: c_int = 0;
        // SAFETY: the type is that of cuda.h with the enumeration as the integer it is, since not every number is one of the enumeration.
        let result = unsafe {
            let call = sys::culib().get::<GetAttribute>(b"cuDeviceGetAttribute\0").map_err(|_| Error::NoDriver)?;
            call(&raw mut value, number, device)
        };
        check("cuDeviceGetAttribute", result)?;
        Ok(value)
    }
}

/// The driver's handle of a GPU.
pub(super) fn handle(driver: Driver, ordinal: i32) -> Result<sys::CUdevice> {
    let mut device = 0;
    // SAFETY: the driver is initialised; the pointer is valid.
    match failure(unsafe { sys::cuDeviceGet(&raw mut device, ordinal) }) {
        None => Ok(device),
        Some(error) if matches!(error.number, 100 | 101) => {
            Err(Error::NoDevice { driver: Some(driver.version), reason: format!("GPU {ordinal}: {error}") })
        }
        Some(error) => Err(Error::Cuda { call: "cuDeviceGet", error }),
    }
}

fn attribute(device: sys::CUdevice, which: CUdevice_attribute) -> Result<u32> {
    let mut value: c_int = 0;
    // SAFETY: the pointer is valid.
    check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&raw mut value, which, device) })?;
    Ok(value.unsigned_abs())
}

/// The file that the loader took `libcuda.so.1` from, as the memory map shows it.
#[must_use]
pub fn library_path() -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.contains("/libcuda.so"))?;
    line.find('/').and_then(|at| line.get(at..)).map(PathBuf::from)
}

/// The error behind a result other than success.
pub(super) fn failure(result: CUresult) -> Option<CudaError> {
    if result == CUresult::CUDA_SUCCESS {
        return None;
    }
    let text = |get: unsafe fn(CUresult, *mut *const c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: the pointer is valid; the driver's answer is a constant string, or null for an unknown number.
        unsafe {
            if get(result, &raw mut text) != CUresult::CUDA_SUCCESS || text.is_null() {
                return None;
            }
            CStr::from_ptr(text).to_str().ok()
        }
    };
    Some(CudaError::new(result as u32, text(sys::cuGetErrorName), text(sys::cuGetErrorString)))
}

/// Turns a result into an error that says whether the context survived.
pub(super) fn check(call: &'static str, result: CUresult) -> Result<()> {
    match failure(result) {
        None => Ok(()),
        Some(error) if error.is_sticky() => Err(Error::DeviceFault { call, error }),
        Some(error) => Err(Error::Cuda { call, error }),
    }
}
