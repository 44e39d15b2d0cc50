//! A GPU as host code sees one: the executor's `Device` over `cdp-runtime`.

mod images;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cdp_core::pass::PRINT_COUNTER;
use cdp_executor::device::{CudaError, Device, KernelLaunch};
use cdp_executor::errors::{
    INVALID_CONFIGURATION, INVALID_DEVICE, INVALID_RESOURCE_HANDLE, INVALID_SYMBOL, INVALID_VALUE, MEMORY_ALLOCATION,
    NO_DEVICE, NOT_READY, SUCCESS, UNKNOWN, UNSUPPORTED_LIMIT,
};
use cdp_executor::occupancy::KernelAttributes;
use cdp_executor::texture::{self, ArrayShape, CopySide, Region, Sampler};
use cdp_runtime::gpu::array::Side;
use cdp_runtime::gpu::{AddressSpace, Array, Surface, Texture};
use cdp_runtime::{
    Context, DevicePtr, Dim3, Error, Event, LaunchConfig, Limits, LoadOptions, Manifest, Module, Runtime, Stream,
};

use crate::protocol::Printed;

/// A loaded module on a GPU, with what a host program has made so far.
pub struct GpuDevice {
    runtime: Runtime,
    cubin: Vec<u8>,
    manifest: Manifest,
    /// Whether the module counts what it prints.
    counts_prints: bool,
    /// Calls of `printf` before the last reset.
    printed: u64,
    /// The limits to go back to at a reset.
    defaults: Limits,
    // before the memory behind them
    textures: BTreeMap<u64, Texture>,
    surfaces: BTreeMap<u64, Surface>,
    arrays: BTreeMap<u64, Array>,
    // before the module, since dropping memory waits for kernels that use it
    memory: AddressSpace,
    module: Module,
    streams: BTreeMap<u64, Stream>,
    events: BTreeMap<u64, Event>,
    next_handle: u64,
    /// Since when something may be running, and how long that was so before.
    started: Option<Instant>,
    busy: Duration,
    /// The first fault: after it, nothing works.
    fault: Option<Error>,
    /// The last failure that a number cannot tell all of, for example a configuration that no GPU accepts.
    detail: Option<Error>,
}

impl GpuDevice {
    /// Loads a cubin on the GPU with this number.
    ///
    /// # Errors
    /// No driver, no such GPU, code that it cannot run.
    pub fn new(number: i32, cubin: Vec<u8>, manifest: Manifest, counts_prints: bool) -> cdp_runtime::Result<Self> {
        let runtime = Runtime::with_options(&cdp_runtime::RuntimeOptions { device: number, ..Default::default() })?;
        let defaults = runtime.context().limits()?;
        let module = runtime.load_cubin(&cubin, &manifest, &LoadOptions::default())?;
        let memory = AddressSpace::new(runtime.context().clone());
        Ok(Self {
            runtime,
            cubin,
            manifest,
            counts_prints,
            printed: 0,
            defaults,
            textures: BTreeMap::new(),
            surfaces: BTreeMap::new(),
            arrays: BTreeMap::new(),
            memory,
            module,
            streams: BTreeMap::new(),
            events: BTreeMap::new(),
            next_handle: 0x100,
            started: None,
            busy: Duration::ZERO,
            fault: None,
            detail: None,
        })
    }

    /// The fault that ended the context, if one did.
    pub const fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// How long the host waited for what it started, launches included, since this was last asked.
    pub fn take_busy(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    /// Nothing is running any more.
    fn idle(&mut self) {
        self.busy += self.started.take().map_or(Duration::ZERO, |start| start.elapsed());
    }

    /// What is known of the last failure of a call, beyond its number.
    pub fn take_detail(&mut self) -> Option<Error> {
        self.detail.take()
    }

    /// After the program: waits for the device, and says how often device code printed, where the module counts it. After a fault nobody can
    /// tell, and the fault is what matters.
    ///
    /// # Errors
    /// The fault of a kernel that nobody has waited for.
    pub fn printed(&self) -> cdp_runtime::Result<Option<Printed>> {
        if self.fault.is_some() || !self.counts_prints {
            return Ok(None);
        }
        self.runtime.synchronize()?;
        cdp_runtime::gpu::flush_output();
        let ring = self.context().limits()?.printf_fifo.unwrap_or(0) as u64;
        Ok(Some(Printed { calls: self.printed.saturating_add(self.count()?), ring }))
    }

    /// Calls of `printf` since the module was loaded.
    fn count(&self) -> cdp_runtime::Result<u64> {
        if !self.counts_prints {
            return Ok(0);
        }
        self.module.loaded().read_global(PRINT_COUNTER).map(|bytes| cdp_runtime::Value::load(&bytes))
    }

    fn context(&self) -> &Context {
        self.runtime.context()
    }

    fn number(&mut self, result: cdp_runtime::Result<()>) -> CudaError {
        match self.value(result) {
            Ok(()) => SUCCESS,
            Err(number) => number,
        }
    }

    /// Whether something is done, as host code sees it.
    fn done(&mut self, result: cdp_runtime::Result<bool>) -> CudaError {
        match self.value(result) {
            Ok(true) => SUCCESS,
            Ok(false) => NOT_READY,
            Err(number) => number,
        }
    }

    /// A result as host code sees it; what a number cannot tell is kept.
    fn value<T>(&mut self, result: cdp_runtime::Result<T>) -> Result<T, CudaError> {
        result.map_err(|error| {
            let number = match &error {
                Error::Cuda { error, .. } | Error::DeviceFault { error, .. } | Error::Limit { error: Some(error), .. } => {
                    CudaError::try_from(error.number).unwrap_or(UNKNOWN)
                }
                Error::Limit { .. } | Error::OutOfBounds { .. } | Error::Arguments { .. } => INVALID_VALUE,
                Error::Configuration { .. } => INVALID_CONFIGURATION,
                Error::UnknownSymbol { .. } => INVALID_SYMBOL,
                Error::NoDriver => NO_DEVICE,
                Error::NoDevice { .. } => INVALID_DEVICE,
                _ => UNKNOWN,
            };
            match error {
                Error::DeviceFault { .. } if self.fault.is_none() => self.fault = Some(error),
                Error::DeviceFault { .. } => {}
                _ => self.detail = Some(error),
            }
            number
        })
    }

    fn handle(&mut self) -> u64 {
        self.next_handle += 1;
        self.next_handle
    }

    /// 0 is the NULL stream.
    fn with_stream(&mut self, stream: u64, work: impl FnOnce(&Self, Option<&Stream>) -> cdp_runtime::Result<()>) -> CudaError {
        let result = match (stream, self.streams.get(&stream)) {
            (0, _) => work(self, None),
            (_, Some(found)) => work(self, Some(found)),
            (_, None) => return INVALID_RESOURCE_HANDLE,
        };
        self.number(result)
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Device for GpuDevice {
    fn allocate(&mut self, bytes: u64) -> Result<u64, CudaError> {
        let bytes = usize::try_from(bytes).map_err(|_| MEMORY_ALLOCATION)?;
        let result = self.memory.allocate(bytes);
        self.value(result).map(|address| address.0)
    }

    fn free(&mut self, address: u64) -> CudaError {
        if address == 0 || self.memory.free(DevicePtr(address)) { SUCCESS } else { INVALID_VALUE }
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> CudaError {
        let result = self.memory.read(DevicePtr(address), into);
        self.idle();
        self.number(result)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> CudaError {
        let result = self.memory.write(DevicePtr(address), from);
        self.number(result)
    }

    fn clear(&mut self, address: u64, bytes: u64) -> CudaError {
        let result = self.memory.fill(DevicePtr(address), size(bytes), 0, None);
        self.number(result)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64, stream: u64) -> CudaError {
        self.with_stream(stream, |device, stream| device.memory.copy(DevicePtr(to), DevicePtr(from), size(bytes), stream))
    }

    fn fill(&mut self, address: u64, value: u8, bytes: u64, stream: u64) -> CudaError {
        self.with_stream(stream, |device, stream| device.memory.fill(DevicePtr(address), size(bytes), value, stream))
    }

    fn array_create(&mut self, shape: &ArrayShape) -> Result<u64, CudaError> {
        let result = self.context().create_array(&images::shape(shape));
        let array = self.value(result)?;
        let handle = self.handle();
        self.arrays.insert(handle, array);
        Ok(handle)
    }

    fn array_free(&mut self, array: u64) -> CudaError {
        self.arrays.remove(&array).map_or(INVALID_VALUE, |_| SUCCESS)
    }

    fn array_read(&mut self, array: u64, region: &Region, into: &mut [u8]) -> CudaError {
        let Some(array) = self.arrays.get(&array) else { return INVALID_VALUE };
        let result = array.read(region.at.map(size), region.extent.map(size), into);
        self.number(result)
    }

    fn array_write(&mut self, array: u64, region: &Region, from: &[u8]) -> CudaError {
        let Some(array) = self.arrays.get(&array) else { return INVALID_VALUE };
        let result = array.write(region.at.map(size), region.extent.map(size), from);
        self.number(result)
    }

    fn array_copy(&mut self, to: CopySide, from: CopySide, extent: [u64; 3], stream: u64) -> CudaError {
        let missing = |side: &CopySide| matches!(side, CopySide::Array { array, .. } if !self.arrays.contains_key(array));
        if [to, from].iter().any(missing) {
            return INVALID_VALUE;
        }
        self.with_stream(stream, |device, stream| {
            let sides = [to, from].map(|side| match side {
                CopySide::Memory { address, pitch, rows } => {
                    Some(Side::Memory { ptr: DevicePtr(address), pitch: size(pitch), rows: size(rows) })
                }
                CopySide::Array { array, at } => device.arrays.get(&array).map(|array| Side::Array(array, at.map(size))),
            });
            let [Some(to), Some(from)] = sides else { return Ok(()) };
            device.memory.copy_rows(to, from, extent.map(size), stream)
        })
    }

    fn texture_create(&mut self, resource: &texture::Resource, sampler: &Sampler) -> Result<u64, CudaError> {
        let resource = images::resource(resource, &self.arrays).ok_or(INVALID_VALUE)?;
        let result = self.memory.create_texture(&resource, &images::sampler(sampler));
        let texture = self.value(result)?;
        let handle = texture.handle();
        self.textures.insert(handle, texture);
        Ok(handle)
    }

    fn texture_destroy(&mut self, texture: u64) -> CudaError {
        self.textures.remove(&texture).map_or(INVALID_RESOURCE_HANDLE, |_| SUCCESS)
    }

    fn surface_create(&mut self, array: u64) -> Result<u64, CudaError> {
        let result = self.arrays.get(&array).ok_or(INVALID_VALUE)?.create_surface();
        let surface = self.value(result)?;
        let handle = surface.handle();
        self.surfaces.insert(handle, surface);
        Ok(handle)
    }

    fn surface_destroy(&mut self, surface: u64) -> CudaError {
        self.surfaces.remove(&surface).map_or(INVALID_RESOURCE_HANDLE, |_| SUCCESS)
    }

    fn kernel_attributes(&mut self, kernel: &str) -> Result<KernelAttributes, CudaError> {
        let result = self.module.loaded().function(kernel).and_then(|function| function.attributes());
        let found = self.value(result)?;
        let int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        Ok(KernelAttributes {
            shared_bytes: u64::from(found.static_shared),
            constant_bytes: u64::from(found.constant),
            local_bytes: u64::from(found.local),
            max_threads: int(found.max_threads_per_block),
            registers: int(found.registers),
            ptx_version: int(found.ptx_version),
            binary_version: int(found.binary_version),
            max_dynamic_shared: int(found.max_dynamic_shared),
            cluster: found.cluster,
        })
    }

    fn active_blocks(&mut self, kernel: &str, threads: i32, shared: u64, flags: u32) -> Result<i32, CudaError> {
        let function = self.module.loaded().function(kernel);
        let result = function.and_then(|function| function.active_blocks(threads, size(shared), flags));
        self.value(result)
    }

    fn global(&mut self, symbol: &str) -> Result<(u64, u64), CudaError> {
        let result = self.memory.variable(self.module.loaded(), symbol);
        match self.value(result) {
            Ok((address, size)) => Ok((address.0, size as u64)),
            // the driver says "not found"
            Err(500) => Err(INVALID_SYMBOL),
            Err(number) => Err(number),
        }
    }

    fn launch(&mut self, launch: &KernelLaunch<'_>) -> CudaError {
        let dim = |[x, y, z]: [u32; 3]| Dim3::new(x, y, z);
        self.started.get_or_insert_with(Instant::now);
        self.with_stream(launch.stream, |device, stream| {
            let config = LaunchConfig { grid: dim(launch.grid), block: dim(launch.block), shared: launch.shared, stream };
            device.module.launch_raw(launch.kernel, &config, launch.params)
        })
    }

    fn synchronize(&mut self) -> CudaError {
        let result = self.runtime.synchronize();
        self.idle();
        self.number(result)
    }

    fn reset(&mut self) -> CudaError {
        let result = self.runtime.synchronize();
        let waited = self.number(result);
        // without a count, as after a fault, nothing is added
        let printed = self.count().unwrap_or(0);
        self.streams.clear();
        self.events.clear();
        self.textures.clear();
        self.surfaces.clear();
        self.arrays.clear();
        self.memory = AddressSpace::new(self.context().clone());
        // variables have their first values again only in a module that is loaded anew
        let result = self
            .context()
            .set_limits(&self.defaults)
            .and_then(|_| self.runtime.load_cubin(&self.cubin, &self.manifest, &LoadOptions::default()));
        match self.value(result) {
            Ok(module) => {
                self.module = module;
                // the new module counts from 0
                self.printed = self.printed.saturating_add(printed);
                waited
            }
            Err(number) => number,
        }
    }

    fn stream_create(&mut self, flags: u32) -> Result<u64, CudaError> {
        let result = self.context().create_stream_with(flags);
        let stream = self.value(result)?;
        let handle = self.handle();
        self.streams.insert(handle, stream);
        Ok(handle)
    }

    fn stream_destroy(&mut self, stream: u64) -> CudaError {
        self.streams.remove(&stream).map_or(INVALID_RESOURCE_HANDLE, |_| SUCCESS)
    }

    fn stream_synchronize(&mut self, stream: u64) -> CudaError {
        if stream == 0 {
            return self.synchronize();
        }
        self.with_stream(stream, |_, stream| stream.map_or(Ok(()), Stream::synchronize))
    }

    fn stream_query(&mut self, stream: u64) -> CudaError {
        let result = match (stream, self.streams.get(&stream)) {
            (0, _) => self.context().is_done(),
            (_, Some(stream)) => stream.is_done(),
            (_, None) => return INVALID_RESOURCE_HANDLE,
        };
        self.done(result)
    }

    fn stream_wait_event(&mut self, stream: u64, event: u64, flags: u32) -> CudaError {
        if flags != 0 {
            return INVALID_VALUE;
        }
        if !self.events.contains_key(&event) {
            return INVALID_RESOURCE_HANDLE;
        }
        self.with_stream(stream, |device, stream| match (stream, device.events.get(&event)) {
            (Some(stream), Some(event)) => stream.wait(event),
            // the host waits for what the NULL stream would wait for, which keeps the order
            (None, Some(event)) => event.synchronize(),
            (_, None) => Ok(()),
        })
    }

    fn event_create(&mut self, flags: u32) -> Result<u64, CudaError> {
        let result = self.context().create_event_with(flags);
        let event = self.value(result)?;
        let handle = self.handle();
        self.events.insert(handle, event);
        Ok(handle)
    }

    fn event_record(&mut self, event: u64, stream: u64) -> CudaError {
        if !self.events.contains_key(&event) {
            return INVALID_RESOURCE_HANDLE;
        }
        self.with_stream(stream, |device, stream| device.events.get(&event).map_or(Ok(()), |event| event.record(stream)))
    }

    fn event_synchronize(&mut self, event: u64) -> CudaError {
        let Some(event) = self.events.get(&event) else { return INVALID_RESOURCE_HANDLE };
        let result = event.synchronize();
        self.number(result)
    }

    fn event_query(&mut self, event: u64) -> CudaError {
        let Some(event) = self.events.get(&event) else { return INVALID_RESOURCE_HANDLE };
        let result = event.is_done();
        self.done(result)
    }

    fn event_elapsed(&mut self, start: u64, end: u64) -> Result<f32, CudaError> {
        let (Some(start), Some(end)) = (self.events.get(&start), self.events.get(&end)) else {
            return Err(INVALID_RESOURCE_HANDLE);
        };
        let result = end.since(start);
        self.value(result).map(|time| time.as_secs_f32() * 1000.0)
    }

    fn event_destroy(&mut self, event: u64) -> CudaError {
        self.events.remove(&event).map_or(INVALID_RESOURCE_HANDLE, |_| SUCCESS)
    }

    fn limit(&mut self, limit: i32) -> Result<u64, CudaError> {
        let number = u32::try_from(limit).map_err(|_| UNSUPPORTED_LIMIT)?;
        let result = self.context().limit_by_number(number);
        self.value(result).map(|value| value as u64)
    }

    fn set_limit(&mut self, limit: i32, value: u64) -> CudaError {
        let Ok(number) = u32::try_from(limit) else { return UNSUPPORTED_LIMIT };
        let result = self.context().set_limit_by_number(number, size(value)).map(|_| ());
        self.number(result)
    }

    fn memory_info(&mut self) -> Result<(u64, u64), CudaError> {
        let result = self.context().memory_info();
        self.value(result).map(|(free, total)| (free as u64, total as u64))
    }

    fn attribute(&mut self, attribute: i32, device: i32) -> Result<i32, CudaError> {
        let result = self.context().driver().attribute(device, attribute);
        self.value(result)
    }

    fn device_count(&mut self) -> Result<i32, CudaError> {
        let result = self.context().driver().devices();
        self.value(result).map(|devices| i32::try_from(devices.len()).unwrap_or(i32::MAX))
    }

    fn current_device(&mut self) -> Result<i32, CudaError> {
        Ok(self.context().device().ordinal)
    }
}
