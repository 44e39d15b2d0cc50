//! A loaded cubin: kernels to launch, variables to reach.
#![allow(unsafe_code)] // calling the driver

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUfunction_attribute};

use super::context::Context;
use super::driver::check;
use super::memory::DevicePtr;
use super::stream::{self, Stream};
use crate::cubin::CubinInfo;
use crate::error::{Error, Result};

/// Extent of a grid in blocks, or of a block in threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Fastest.
    pub x: u32,
    /// Middle.
    pub y: u32,
    /// Slowest.
    pub z: u32,
}

impl Dim3 {
    /// All three.
    #[must_use]
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// How many in all.
    #[must_use]
    pub const fn count(self) -> u64 {
        // saturates: no valid extent comes near 2^64
        (self.x as u64).saturating_mul(self.y as u64).saturating_mul(self.z as u64)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

/// `<<<grid, block, shared, stream>>>`.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig<'a> {
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// `None` is the NULL stream.
    pub stream: Option<&'a Stream>,
}

impl LaunchConfig<'_> {
    /// No dynamic shared memory, NULL stream.
    #[must_use]
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self { grid: grid.into(), block: block.into(), shared: 0, stream: None }
    }
}

/// A module on the GPU. Cloning gives another hold on it; the last one unloads it.
#[derive(Clone, Debug)]
pub struct LoadedModule {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    context: Context,
    raw: sys::CUmodule,
}

// SAFETY: modules may be used from any thread that has the context current.
unsafe impl Send for Inner {}
// SAFETY: as above; the driver locks for itself.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: a live module; functions hold it, so none is left.
            unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

impl Context {
    /// Loads a cubin, after a look at whether this driver and this GPU can run it.
    ///
    /// # Errors
    /// [`Error::WrongGpu`], [`Error::DriverTooOld`], [`Error::Cubin`], [`Error::Cuda`].
    pub fn load(&self, cubin: &[u8]) -> Result<LoadedModule> {
        let info = CubinInfo::parse(cubin)?;
        self.check_runs(&info)?;
        self.bind()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the bytes were just parsed as a whole ELF file, so the driver, which is told no length, stays inside them.
        let result = check("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut raw, cubin.as_ptr().cast()) });
        result.map_err(|error| self.explain_refusal(error, &info))?;
        Ok(LoadedModule { inner: Arc::new(Inner { context: self.clone(), raw }) })
    }

    /// What a driver calls a bad image may just be one that is newer than it.
    fn explain_refusal(&self, error: Error, info: &CubinInfo) -> Error {
        let driver = self.driver().version();
        match (&error, info.toolkit) {
            (Error::Cuda { error: cuda, .. }, Some(needed)) if matches!(cuda.number, 200 | 209 | 222) && needed > driver => {
                Error::DriverTooOld { driver, needed }
            }
            _ => error,
        }
    }

    /// Whether the code is for this GPU and not newer than this driver.
    ///
    /// # Errors
    /// [`Error::WrongGpu`], [`Error::DriverTooOld`].
    pub fn check_runs(&self, cubin: &CubinInfo) -> Result<()> {
        let device = self.device();
        if !cubin.arch.runs_on(device.arch()) {
            return Err(Error::WrongGpu { gpu: device.name.clone(), gpu_arch: device.arch(), code_arch: cubin.arch });
        }
        let driver = self.driver().version();
        // inside one major version older drivers load newer cubins
        match cubin.toolkit {
            Some(needed) if needed.major > driver.major => Err(Error::DriverTooOld { driver, needed }),
            _ => Ok(()),
        }
    }
}

impl LoadedModule {
    /// The context it is loaded in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The kernel with this symbol.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 500 when there is none; 811 or 812 where device launches cannot work.
    pub fn function(&self, symbol: &str) -> Result<Function> {
        self.inner.context.bind()?;
        let name = c_name(symbol)?;
        let mut raw = ptr::null_mut();
        // SAFETY: a live module, a NUL-terminated name, a valid pointer.
        check("cuModuleGetFunction", unsafe { sys::cuModuleGetFunction(&raw mut raw, self.inner.raw, name.as_ptr()) })?;
        let mut function = Function { module: self.clone(), raw, name: symbol.to_owned(), max_threads: 0, static_shared: 0 };
        function.max_threads = function.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
        function.static_shared = function.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?;
        Ok(function)
    }

    /// Address and size of the variable with this symbol.
    ///
    /// # Errors
    /// [`Error::Cuda`] with 500 when there is none.
    pub fn global(&self, symbol: &str) -> Result<(DevicePtr, usize)> {
        self.inner.context.bind()?;
        let name = c_name(symbol)?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: a live module, a NUL-terminated name, valid pointers.
        let result = unsafe { sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut size, self.inner.raw, name.as_ptr()) };
        check("cuModuleGetGlobal", result)?;
        Ok((DevicePtr(address), size))
    }

    /// Copies the variable's bytes.
    ///
    /// # Errors
    /// [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn read_global(&self, symbol: &str) -> Result<Vec<u8>> {
        let (address, size) = self.global(symbol)?;
        let mut bytes = vec![0; size];
        // SAFETY: exactly the variable.
        unsafe { self.inner.context.read_raw(address, &mut bytes) }?;
        Ok(bytes)
    }

    /// Sets the variable's first bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn write_global(&self, symbol: &str, bytes: &[u8]) -> Result<()> {
        let (address, size) = self.global(symbol)?;
        if bytes.len() > size {
            return Err(Error::OutOfBounds { offset: 0, len: bytes.len(), size });
        }
        // SAFETY: inside the variable.
        unsafe { self.inner.context.write_raw(address, bytes) }
    }
}

/// A kernel on the GPU.
#[derive(Clone, Debug)]
pub struct Function {
    module: LoadedModule,
    raw: sys::CUfunction,
    name: String,
    max_threads: u32,
    static_shared: u32,
}

// SAFETY: functions may be used from any thread that has the context current; the module that owns this one is held.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// What the driver says of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Most threads a block of this kernel may have.
    pub max_threads_per_block: u32,
    /// Bytes of static shared memory.
    pub static_shared: u32,
    /// Most bytes of dynamic shared memory a launch, from the host or the device, may ask for.
    pub max_dynamic_shared: u32,
    /// Bytes of local memory a thread.
    pub local: u32,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of constant memory of its own.
    pub constant: u32,
    /// The PTX version that it was compiled for, ten times the major one plus the minor one.
    pub ptx_version: u32,
    /// The architecture that it was assembled for, in the same form.
    pub binary_version: u32,
    /// Blocks of a cluster along x, y and z; 0 for a kernel that no cluster size was given for.
    pub cluster: [u32; 3],
}

impl Function {
    /// Its symbol.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the driver says of it.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn attributes(&self) -> Result<Attributes> {
        Ok(Attributes {
            max_threads_per_block: self.max_threads,
            static_shared: self.static_shared,
            max_dynamic_shared: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
            local: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            registers: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            constant: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            ptx_version: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            binary_version: self.attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
            cluster: self.cluster()?,
        })
    }

    /// How many blocks of so many threads, with so many bytes of dynamic shared memory, a multiprocessor runs at once. `flags` are CUDA's:
    /// 1 for no attention to what caching takes.
    ///
    /// # Errors
    /// [`Error::Cuda`]: 1 for a number of threads or flags that cannot be.
    pub fn active_blocks(&self, threads: i32, shared: usize, flags: u32) -> Result<i32> {
        self.module.context().bind()?;
        let mut blocks: c_int = 0;
        // SAFETY: a live function and a valid pointer.
        check("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&raw mut blocks, self.raw, threads, shared, flags)
        })?;
        Ok(blocks)
    }

    /// Offset and size of every parameter, as the driver sees them: the third opinion beside the manifest and the cubin. `None` with drivers
    /// before CUDA 12.4, which cannot tell.
    ///
    /// # Errors
    /// [`Error::Cuda`].
    pub fn params(&self) -> Result<Option<Vec<(usize, usize)>>> {
        type ParamInfo = unsafe extern "C" fn(sys::CUfunction, usize, *mut usize, *mut usize) -> sys::CUresult;
        self.module.context().bind()?;
        // cudarc's own function panics where the driver lacks it.
        // SAFETY: the type is that of cuda.h.
        let Ok(call) = (unsafe { sys::culib().get::<ParamInfo>(b"cuFuncGetParamInfo\0") }) else { return Ok(None) };
        let mut params = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: a live function and valid pointers; an index behind the last gives 1.
            match unsafe { call(self.raw, params.len(), &raw mut offset, &raw mut size) } {
                sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(Some(params)),
                result => check("cuFuncGetParamInfo", result)?,
            }
            params.push((offset, size));
        }
    }

    /// Lets launches of this kernel, from the device too, ask for so many bytes of dynamic shared memory; over 48 KiB nothing works without.
    ///
    /// # Errors
    /// [`Error::Configuration`] when the GPU has less.
    pub fn allow_dynamic_shared(&self, bytes: u32) -> Result<()> {
        let most = self.module.context().device().max_shared_per_block.saturating_sub(self.static_shared);
        if bytes > most {
            return Err(self.refuse(format!("{bytes} bytes of dynamic shared memory, and the GPU has {most} for it")));
        }
        self.module.context().bind()?;
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        let which = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a live function.
        check("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.raw, which, value) })
    }

    /// Launches; `params` are the parameters as they lie in the constant bank, from the first byte of the first to the last of the last.
    /// Over 48 KiB of dynamic shared memory are allowed for by the way.
    ///
    /// # Safety
    /// `params` must have the kernel's layout. What the kernel does with them is its own affair, and cannot harm the host's memory unless
    /// an address of mapped host memory is among them.
    ///
    /// # Errors
    /// [`Error::Configuration`] for a shape that no GPU or not this kernel accepts, [`Error::Cuda`], or the fault of an earlier kernel.
    pub unsafe fn launch(&self, config: &LaunchConfig<'_>, params: &[u8]) -> Result<()> {
        self.check_shape(config)?;
        if config.shared > 48 << 10 {
            self.allow_dynamic_shared(config.shared)?;
        }
        self.module.context().bind()?;
        let mut size = params.len();
        let mut buffer = [
            sys::CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize as *mut c_void,
            params.as_ptr().cast_mut().cast(),
            sys::CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize as *mut c_void,
            (&raw mut size).cast(),
            ptr::null_mut(),
        ];
        let extra = if params.is_empty() { ptr::null_mut() } else { buffer.as_mut_ptr() };
        let LaunchConfig { grid, block, shared, stream } = *config;
        // SAFETY: a live function and stream; `extra` is the list that cuda.h describes, and the driver copies the bytes before it returns.
        let result = unsafe {
            sys::cuLaunchKernel(
                self.raw,
                grid.x,
                grid.y,
                grid.z,
                block.x,
                block.y,
                block.z,
                shared,
                stream::raw(stream),
                ptr::null_mut(),
                extra,
            )
        };
        check("cuLaunchKernel", result)
    }

    /// The driver answers 1 to all of these and says no more.
    fn check_shape(&self, config: &LaunchConfig<'_>) -> Result<()> {
        let LaunchConfig { grid, block, .. } = config;
        if grid.count() == 0 || block.count() == 0 {
            return Err(self.refuse("a dimension of the grid or block is zero"));
        }
        if block.count() > u64::from(self.max_threads) {
            return Err(self.refuse(format!("{} threads in a block, and it allows {}", block.count(), self.max_threads)));
        }
        if block.z > 64 {
            return Err(self.refuse(format!("{} threads in z, and 64 is the most", block.z)));
        }
        if grid.x > i32::MAX.unsigned_abs() || grid.y > 65_535 || grid.z > 65_535 {
            return Err(self.refuse("the grid is over 2147483647 blocks in x or 65535 in y or z"));
        }
        Ok(())
    }

    /// Blocks of a cluster; zeros where the kernel says nothing of clusters, and with drivers that know of none.
    fn cluster(&self) -> Result<[u32; 3]> {
        let attributes = [
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
        ];
        let mut sizes = [0; 3];
        for (size, attribute) in sizes.iter_mut().zip(attributes) {
            match self.attribute(attribute) {
                Ok(value) => *size = value,
                Err(Error::Cuda { error, .. }) if error.number == 1 => return Ok([0; 3]),
                Err(error) => return Err(error),
            }
        }
        Ok(sizes)
    }

    fn refuse(&self, problem: impl Into<String>) -> Error {
        Error::Configuration { kernel: self.name.clone(), problem: problem.into() }
    }

    fn attribute(&self, which: CUfunction_attribute) -> Result<u32> {
        self.module.context().bind()?;
        let mut value: c_int = 0;
        // SAFETY: a live function and a valid pointer.
        check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&raw mut value, which, self.raw) })?;
        Ok(value.unsigned_abs())
    }
}

fn c_name(symbol: &str) -> Result<CString> {
    CString::new(symbol).map_err(|_| Error::UnknownSymbol { kind: "symbol", name: symbol.to_owned(), known: Vec::new() })
}
