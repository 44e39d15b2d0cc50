//! What host code needs of a device. The reference executor is one; the command line makes another of a GPU.

use crate::errors::{INVALID_VALUE, NOT_SUPPORTED};
use crate::fault::Allocation;
use crate::leaks::Leak;
use crate::occupancy::KernelAttributes;
use crate::passed::Undefined;
use crate::texture::{ArrayShape, CopySide, Region, Resource, Sampler};
use cdp_core::diag::Diagnostic;
use cdp_core::source::Span;

/// A number that `cudaError_t` has; 0 is success.
pub type CudaError = i32;

/// A launch by host code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLaunch<'a> {
    /// The kernel's symbol: [`cdp_core::ir::Function::symbol`].
    pub kernel: &'a str,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// A stream of [`Device::stream_create`], or 0 for the default stream. The device refuses what it does not know.
    pub stream: u64,
    /// The parameters as [`cdp_core::types::TypeTable::params_layout`] lays them out, with pointers of 64 bits.
    pub params: &'a [u8],
    /// What of them has no value, as far as is known; a device need not look at it.
    pub undefined: Option<&'a Undefined>,
    /// Where in the source it stands.
    pub span: Span,
}

/// A CUDA device with its runtime, as a host program sees it.
///
/// Addresses are those that device code sees; their two upper bits are zero. Calls may be asynchronous as CUDA's are: a launch, a copy and
/// an event take their place in a stream and return. Errors are CUDA's numbers; an error that spoils the context comes back from every
/// later call. A device never prints: what device code printed is fetched through [`Device::take_output`].
pub trait Device {
    /// Memory of at least this many bytes, aligned to 256 bytes; its contents are unspecified. Zero bytes give a valid address too.
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation`, or the context's error.
    fn allocate(&mut self, bytes: u64) -> Result<u64, CudaError>;

    /// Tells what an allocation is for, as host code knows it, so that the device can say so when something is wrong with it.
    fn describe(&mut self, _allocation: &Allocation) {}

    /// Gives memory of [`Device::allocate`] back, once all work that was started before is done.
    fn free(&mut self, address: u64) -> CudaError;

    /// Reads device memory, in the order of the default stream, and waits for it: like `cudaMemcpy`.
    fn read(&mut self, address: u64, into: &mut [u8]) -> CudaError;

    /// Writes device memory, in the order of the default stream.
    fn write(&mut self, address: u64, from: &[u8]) -> CudaError;

    /// Fills device memory with zeroes, in the order of the default stream.
    fn clear(&mut self, address: u64, bytes: u64) -> CudaError;

    /// Copies within device memory in a stream.
    fn copy(&mut self, to: u64, from: u64, bytes: u64, stream: u64) -> CudaError;

    /// Fills device memory with a byte, in a stream.
    fn fill(&mut self, address: u64, value: u8, bytes: u64, stream: u64) -> CudaError {
        let error = self.stream_synchronize(stream);
        let Ok(bytes) = usize::try_from(bytes) else { return INVALID_VALUE };
        if error == 0 { self.write(address, &vec![value; bytes]) } else { error }
    }

    /// The parts of a piece of memory that were never written, as far as the device knows: first byte and how many, in order.
    fn unwritten(&mut self, _address: u64, _bytes: u64) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// Tells that bytes that were written just now have no value: they are a part of a structure to which nothing was assigned.
    fn undefine(&mut self, _address: u64, _bytes: u64) {}

    /// What device code made and did not give back, as far as the device knows.
    fn leaks(&mut self) -> Vec<Leak> {
        Vec::new()
    }

    /// What a kernel needs, by its symbol.
    ///
    /// # Errors
    /// `cudaErrorInvalidDeviceFunction` for a symbol that is no kernel, `cudaErrorNotSupported` where the device does not tell, or
    /// the context's error.
    fn kernel_attributes(&mut self, _kernel: &str) -> Result<KernelAttributes, CudaError> {
        Err(NOT_SUPPORTED)
    }

    /// How many blocks of so many threads, with so much dynamic shared memory in bytes, run at once on a multiprocessor; `flags` are
    /// those of `cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a block that cannot be, and as [`Device::kernel_attributes`].
    fn active_blocks(&mut self, _kernel: &str, _threads: i32, _shared: u64, _flags: u32) -> Result<i32, CudaError> {
        Err(NOT_SUPPORTED)
    }

    /// Address and size in bytes of a global or constant variable, by its symbol.
    ///
    /// # Errors
    /// `cudaErrorInvalidSymbol` where the module has no such variable, or the context's error.
    fn global(&mut self, symbol: &str) -> Result<(u64, u64), CudaError>;

    /// An array; its contents are unspecified. The handle is never 0.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a shape that the device has not, `cudaErrorMemoryAllocation`, `cudaErrorNotSupported` where the device has
    /// no textures, or the context's error. The same holds for all calls about arrays, textures and surfaces.
    fn array_create(&mut self, _shape: &ArrayShape) -> Result<u64, CudaError> {
        Err(NOT_SUPPORTED)
    }

    /// Gives an array back, once all work that was started before is done.
    fn array_free(&mut self, _array: u64) -> CudaError {
        NOT_SUPPORTED
    }

    /// Reads a part of an array as packed rows, in the order of the default stream, and waits for it.
    fn array_read(&mut self, _array: u64, _region: &Region, _into: &mut [u8]) -> CudaError {
        NOT_SUPPORTED
    }

    /// Writes a part of an array from packed rows, in the order of the default stream.
    fn array_write(&mut self, _array: u64, _region: &Region, _from: &[u8]) -> CudaError {
        NOT_SUPPORTED
    }

    /// One for each byte of a part of an array, as packed rows: whether it was never written, as far as the device knows; none where all were.
    fn array_unwritten(&mut self, _array: u64, _region: &Region) -> Option<Vec<bool>> {
        None
    }

    /// Tells that the marked bytes of a part of an array, which were written just now, have no value.
    fn array_undefine(&mut self, _array: u64, _region: &Region, _marks: &[bool]) {}

    /// Copies rows within device memory in a stream, with an array on one side or both; `extent` is bytes of a row, rows, slices.
    fn array_copy(&mut self, _to: CopySide, _from: CopySide, _extent: [u64; 3], _stream: u64) -> CudaError {
        NOT_SUPPORTED
    }

    /// A texture object: 64 bits that kernels are given.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for memory or an array that is not there, and as [`Device::array_create`].
    fn texture_create(&mut self, _resource: &Resource, _sampler: &Sampler) -> Result<u64, CudaError> {
        Err(NOT_SUPPORTED)
    }

    /// Gives a texture object back; nothing that uses it may still run.
    fn texture_destroy(&mut self, _texture: u64) -> CudaError {
        NOT_SUPPORTED
    }

    /// A surface object of an array.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for an array that is not there or that surfaces cannot be made of, and as [`Device::array_create`].
    fn surface_create(&mut self, _array: u64) -> Result<u64, CudaError> {
        Err(NOT_SUPPORTED)
    }

    /// Gives a surface object back; nothing that uses it may still run.
    fn surface_destroy(&mut self, _surface: u64) -> CudaError {
        NOT_SUPPORTED
    }

    /// Starts a kernel.
    fn launch(&mut self, launch: &KernelLaunch<'_>) -> CudaError;

    /// Waits for everything that was started. The error of a kernel that failed meanwhile comes back here.
    fn synchronize(&mut self) -> CudaError;

    /// Waits, then gives all memory, streams and events back and forgets limits.
    fn reset(&mut self) -> CudaError;

    /// A new stream.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for flags that do not exist, or the context's error.
    fn stream_create(&mut self, flags: u32) -> Result<u64, CudaError>;

    /// Gives a stream back once its work is done.
    fn stream_destroy(&mut self, stream: u64) -> CudaError;

    /// Waits for a stream.
    fn stream_synchronize(&mut self, stream: u64) -> CudaError;

    /// Success where the stream's work is done, `cudaErrorNotReady` where it is not; asking again and again sees it done at last.
    fn stream_query(&mut self, stream: u64) -> CudaError;

    /// What follows in the stream waits for the event.
    fn stream_wait_event(&mut self, stream: u64, event: u64, flags: u32) -> CudaError;

    /// A new event.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for flags that do not exist, or the context's error.
    fn event_create(&mut self, flags: u32) -> Result<u64, CudaError>;

    /// The event stands for all work in the stream so far.
    fn event_record(&mut self, event: u64, stream: u64) -> CudaError;

    /// Waits for an event.
    fn event_synchronize(&mut self, event: u64) -> CudaError;

    /// As [`Device::stream_query`], for what an event stands for.
    fn event_query(&mut self, event: u64) -> CudaError;

    /// Milliseconds between two events.
    ///
    /// # Errors
    /// `cudaErrorNotReady` before both are over, `cudaErrorInvalidResourceHandle` for events without timing, or the context's error.
    fn event_elapsed(&mut self, start: u64, end: u64) -> Result<f32, CudaError>;

    /// Gives an event back.
    fn event_destroy(&mut self, event: u64) -> CudaError;

    /// A limit in force.
    ///
    /// # Errors
    /// `cudaErrorUnsupportedLimit`, or the context's error.
    fn limit(&mut self, limit: i32) -> Result<u64, CudaError>;

    /// Sets a limit.
    fn set_limit(&mut self, limit: i32, value: u64) -> CudaError;

    /// Bytes of memory that are free, and how many there are.
    ///
    /// # Errors
    /// The context's error.
    fn memory_info(&mut self) -> Result<(u64, u64), CudaError>;

    /// An attribute of a device.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue`, `cudaErrorInvalidDevice`, or the context's error.
    fn attribute(&mut self, attribute: i32, device: i32) -> Result<i32, CudaError>;

    /// How many devices there are.
    ///
    /// # Errors
    /// The context's error.
    fn device_count(&mut self) -> Result<i32, CudaError> {
        Ok(1)
    }

    /// The current device's ordinal.
    ///
    /// # Errors
    /// The context's error.
    fn current_device(&mut self) -> Result<i32, CudaError> {
        Ok(0)
    }

    /// The preferred cache configuration: `cudaFuncCachePreferNone` is 0.
    ///
    /// # Errors
    /// The context's error.
    fn cache_config(&mut self) -> Result<i32, CudaError> {
        Ok(0)
    }

    /// The runtime's version, 1000 times the major one plus 10 times the minor one.
    ///
    /// # Errors
    /// The context's error.
    fn runtime_version(&mut self) -> Result<i32, CudaError> {
        Ok(13000)
    }

    /// What device code printed since the last call, in order. A device whose output goes elsewhere by itself gives nothing; host
    /// output is flushed before every call that may wait, so that the two interleave.
    fn take_output(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// What is known about errors in device code since the last call, beyond their numbers.
    fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        Vec::new()
    }
}
