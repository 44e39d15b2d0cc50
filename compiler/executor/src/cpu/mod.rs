//! The reference device: runs kernels from the IR, one thread at a time.
//!
//! Work is only submitted until the host waits; then everything runs, grids as their streams, events and tails order them. Unless a
//! [`Schedule`] says otherwise, a child runs after its parent's threads have ended: as late as the language allows. So the launch pool
//! fills as it can on a GPU, and a parent that waits for its child gets nowhere. The same program and options give the same run every time.
//!
//! - this file: the [`Device`] that hosts see
//! - `machine`: memory and work; running grids
//! - `graph`: what waits for what; `streams`: handles of streams and events
//! - `schedule`: which of the orders that the language allows
//! - `block`: threads, barriers; `warp`: warp operations; `cluster`: blocks that run at the same time
//! - `world`: what a thread reaches; `runtime`: the calls that it makes
//! - `texture`: arrays, texture and surface objects
//! - `races`: accesses that nothing orders
//! - `memory`: allocations; `limits`: limits and attributes

mod block;
mod bytes;
mod cluster;
mod graph;
mod limits;
mod machine;
mod memory;
mod races;
mod runtime;
mod schedule;
mod streams;
mod texture;
mod warp;
mod world;

use crate::control::Control;
use crate::device::{CudaError, Device, KernelLaunch};
use crate::errors::NOT_READY;
use crate::fault::{Access, Allocation};
use crate::leaks::Leak;
use crate::occupancy::KernelAttributes;
use crate::program::Program;
use crate::texture::{ArrayShape, CopySide, Region, Resource, Sampler};
use crate::trace::Trace;
use crate::transfer::Transfer;
use cdp_core::builtins::Cdp;
use cdp_core::diag::Diagnostic;
use cdp_core::ir::FunctionKind;
use cdp_core::source::Span;
use graph::{Frontier, Graph, Grid, Work};
use machine::Machine;
pub use schedule::Schedule;
use std::sync::Arc;

/// The reference device.
#[derive(Debug)]
pub struct CpuDevice {
    machine: Machine,
}

/// How device code runs.
#[derive(Clone, Debug, Default)]
pub struct CpuOptions {
    /// How many steps all threads may take together; none for as many as they like.
    pub max_steps: Option<u64>,
    /// In which order things happen that the language leaves open.
    pub schedule: Schedule,
    /// Whether accesses are followed and races reported; it takes several times as long.
    pub races: bool,
    /// How much device memory there is, in bytes; none for 4 GiB.
    pub memory: Option<u64>,
    /// Whether what ran is written down, for [`CpuDevice::take_trace`].
    pub trace: bool,
    /// Which dynamic parallelism the program is compiled for.
    pub cdp: Cdp,
    /// For whoever watches the run.
    pub control: Option<Arc<Control>>,
}

impl CpuDevice {
    /// A device that holds the program's variables with their first values.
    #[must_use]
    pub fn new(program: Arc<Program>, options: CpuOptions) -> Self {
        Self { machine: Machine::new(program, options) }
    }

    /// Steps that device code has taken.
    #[must_use]
    pub const fn steps(&self) -> u64 {
        self.machine.steps
    }

    /// How often two accesses were compared, where races are looked for: what that costs beside the steps.
    #[must_use]
    pub fn compared(&self) -> u64 {
        self.machine.races.as_ref().map_or(0, |races| races.compared)
    }

    /// What ran since the last call, where [`CpuOptions::trace`] asked for it.
    pub fn take_trace(&mut self) -> Trace {
        let nodes = self.machine.trace.as_mut().map(std::mem::take).unwrap_or_default();
        let mut trace = Trace { nodes };
        trace.number_streams();
        trace
    }

    /// Memory that the host reads or writes, once everything has run.
    fn host_access(&mut self, access: Access) -> Result<&mut [u8], CudaError> {
        let error = self.machine.run();
        if error != 0 {
            return Err(error);
        }
        self.machine.memory.at_by_host(access).map_err(|_| limits::INVALID_VALUE)
    }

    /// The rows of a part of an array, once everything has run.
    fn array_rows(&mut self, array: u64, region: &Region, write: bool, mut visit: impl FnMut(&mut [u8])) -> CudaError {
        let error = self.machine.run();
        if error != 0 {
            return error;
        }
        let Some(area) = self.machine.objects.region(array, region) else { return limits::INVALID_VALUE };
        for row in Transfer::rows_and_slices(area, area, region.extent).rows() {
            match self.machine.memory.at_by_host(Access { address: row.to, size: row.bytes, write }) {
                Ok(row) => visit(row),
                Err(_) => return limits::INVALID_VALUE,
            }
        }
        0
    }

    /// The kernel with this symbol.
    fn kernel(&self, symbol: &str) -> Option<u32> {
        let mut functions = self.machine.program.functions.iter().zip(0u32..);
        functions.find(|(code, _)| code.kind == FunctionKind::Kernel && code.symbol == symbol).map(|(_, id)| id)
    }

    /// Checks a host stream's handle.
    fn check_stream(&self, stream: u64) -> CudaError {
        let known = stream == 0
            || self.machine.streams.stream(stream).is_some_and(|stream| stream.owner.is_none() && stream.destroyed.is_none());
        if self.machine.error != 0 {
            self.machine.error
        } else if known {
            0
        } else {
            limits::INVALID_RESOURCE_HANDLE
        }
    }

    /// What a question about work gives: that it is not done, for which it is done before the next question.
    fn query(&mut self, mut work: Frontier) -> CudaError {
        self.machine.graph.prune(&mut work);
        if self.machine.graph.ended_at(&work).is_some() {
            return 0;
        }
        match self.machine.run() {
            0 => NOT_READY,
            error => error,
        }
    }

    fn check_event(&self, event: u64) -> CudaError {
        let known = self.machine.streams.event(event).is_some_and(|event| event.owner.is_none() && event.destroyed.is_none());
        if self.machine.error != 0 {
            self.machine.error
        } else if known {
            0
        } else {
            limits::INVALID_RESOURCE_HANDLE
        }
    }
}

/// Steps are counted as nanoseconds where a program measures time.
const STEPS_PER_MILLISECOND: f64 = 1e6;
/// `cudaStreamNonBlocking`
const NON_BLOCKING: u32 = 1;
/// All flags of `cudaEventCreateWithFlags`.
const EVENT_FLAGS: u32 = 7;
/// `cudaEventDisableTiming`
const DISABLE_TIMING: u32 = 2;

impl Device for CpuDevice {
    fn allocate(&mut self, bytes: u64) -> Result<u64, CudaError> {
        if self.machine.error != 0 {
            return Err(self.machine.error);
        }
        let what = "a buffer".to_owned();
        let allocation =
            Allocation { address: 0, size: bytes, what, element: String::new(), element_size: 1, span: Span::default() };
        self.machine.memory.allocate(allocation, false, true).ok_or(limits::MEMORY_ALLOCATION)
    }

    fn describe(&mut self, allocation: &Allocation) {
        self.machine.memory.describe(allocation.address, |info| {
            let size = info.size;
            *info = allocation.clone();
            info.size = size;
        });
    }

    fn free(&mut self, address: u64) -> CudaError {
        let error = self.machine.run();
        if error != 0 || address == 0 {
            return error;
        }
        if self.machine.globals.contains(&address)
            || self.machine.objects.is_array(address)
            || !self.machine.memory.starts(address)
        {
            return limits::INVALID_VALUE;
        }
        self.machine.memory.free(address, Span::default()).map_or(limits::INVALID_VALUE, |_| 0)
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> CudaError {
        if into.is_empty() {
            return self.machine.run();
        }
        match self.host_access(Access { address, size: into.len() as u64, write: false }) {
            Ok(bytes) => {
                into.copy_from_slice(bytes);
                0
            }
            Err(error) => error,
        }
    }

    fn write(&mut self, address: u64, from: &[u8]) -> CudaError {
        if from.is_empty() {
            return self.machine.error;
        }
        match self.host_access(Access { address, size: from.len() as u64, write: true }) {
            Ok(bytes) => {
                bytes.copy_from_slice(from);
                0
            }
            Err(error) => error,
        }
    }

    fn clear(&mut self, address: u64, bytes: u64) -> CudaError {
        if bytes == 0 {
            return self.machine.error;
        }
        let error = self.machine.run();
        if error != 0 {
            return error;
        }
        self.machine.memory.clear(Access { address, size: bytes, write: true }).map_or(limits::INVALID_VALUE, |()| 0)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64, stream: u64) -> CudaError {
        let error = self.check_stream(stream);
        if error != 0 || bytes == 0 {
            return error;
        }
        for (address, write) in [(from, false), (to, true)] {
            if self.machine.memory.at_by_host(Access { address, size: bytes, write }).is_err() {
                return limits::INVALID_VALUE;
            }
        }
        self.machine.submit_host(Work::Transfer(Transfer::copy(to, from, bytes)), stream, Span::default());
        0
    }

    fn fill(&mut self, address: u64, value: u8, bytes: u64, stream: u64) -> CudaError {
        let error = self.check_stream(stream);
        if error != 0 || bytes == 0 {
            return error;
        }
        if self.machine.memory.at_by_host(Access { address, size: bytes, write: false }).is_err() {
            return limits::INVALID_VALUE;
        }
        self.machine.submit_host(Work::Transfer(Transfer::fill(address, value, bytes)), stream, Span::default());
        0
    }

    fn unwritten(&mut self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        self.machine.memory.gaps(Access { address, size: bytes, write: false })
    }

    fn undefine(&mut self, address: u64, bytes: u64) {
        let marks = vec![true; usize::try_from(bytes).unwrap_or(0)];
        // what is not there has no value either
        let _ = self.machine.memory.undefine(address, &marks);
    }

    fn leaks(&mut self) -> Vec<Leak> {
        self.machine.memory.leaks().chain(self.machine.streams.leaks()).collect()
    }

    fn kernel_attributes(&mut self, kernel: &str) -> Result<KernelAttributes, CudaError> {
        let kernel = self.kernel(kernel).ok_or(limits::INVALID_DEVICE_FUNCTION)?;
        self.machine.attributes(kernel)
    }

    fn active_blocks(&mut self, kernel: &str, threads: i32, shared: u64, flags: u32) -> Result<i32, CudaError> {
        if flags > 1 {
            return Err(limits::INVALID_VALUE);
        }
        let kernel = self.kernel(kernel).ok_or(limits::INVALID_DEVICE_FUNCTION)?;
        self.machine.active_blocks(kernel, threads, shared)
    }

    fn array_create(&mut self, shape: &ArrayShape) -> Result<u64, CudaError> {
        let array = self.allocate(shape.bytes())?;
        self.machine.objects.add_array(array, *shape);
        Ok(array)
    }

    fn array_free(&mut self, array: u64) -> CudaError {
        let error = self.machine.run();
        if error != 0 {
            return error;
        }
        if !self.machine.objects.remove_array(array) {
            return limits::INVALID_VALUE;
        }
        self.machine.memory.free(array, Span::default()).map_or(limits::INVALID_VALUE, |_| 0)
    }

    fn array_read(&mut self, array: u64, region: &Region, into: &mut [u8]) -> CudaError {
        let mut rows = into.chunks_exact_mut(usize::try_from(region.extent[0]).unwrap_or(usize::MAX).max(1));
        self.array_rows(array, region, false, |row| {
            if let Some(into) = rows.next() {
                into.copy_from_slice(row);
            }
        })
    }

    fn array_write(&mut self, array: u64, region: &Region, from: &[u8]) -> CudaError {
        let mut rows = from.chunks_exact(usize::try_from(region.extent[0]).unwrap_or(usize::MAX).max(1));
        self.array_rows(array, region, true, |row| {
            if let Some(from) = rows.next() {
                row.copy_from_slice(from);
            }
        })
    }

    fn array_unwritten(&mut self, array: u64, region: &Region) -> Option<Vec<bool>> {
        let area = self.machine.objects.region(array, region)?;
        let mut missing = Vec::new();
        for row in Transfer::rows_and_slices(area, area, region.extent).rows() {
            let access = Access { address: row.to, size: row.bytes, write: false };
            match self.machine.memory.unwritten(access).ok()? {
                Some(unwritten) => missing.extend(unwritten.bytes),
                None => missing.resize(missing.len() + usize::try_from(row.bytes).unwrap_or(0), false),
            }
        }
        missing.contains(&true).then_some(missing)
    }

    fn array_undefine(&mut self, array: u64, region: &Region, marks: &[bool]) {
        let Some(area) = self.machine.objects.region(array, region) else { return };
        let width = usize::try_from(region.extent[0]).unwrap_or(usize::MAX).max(1);
        for (row, marks) in Transfer::rows_and_slices(area, area, region.extent).rows().zip(marks.chunks(width)) {
            let _ = self.machine.memory.undefine(row.to, marks);
        }
    }

    fn array_copy(&mut self, to: CopySide, from: CopySide, extent: [u64; 3], stream: u64) -> CudaError {
        let error = self.check_stream(stream);
        let sides = self.machine.objects.side(to, extent).and_then(|to| Ok((to, self.machine.objects.side(from, extent)?)));
        let (to, from) = match sides {
            _ if error != 0 => return error,
            Ok(sides) => sides,
            Err(error) => return error,
        };
        let transfer = Transfer::rows_and_slices(to, from, extent);
        for row in transfer.rows() {
            for (address, write) in row.from.map(|from| (from, false)).into_iter().chain([(row.to, true)]) {
                if self.machine.memory.check(Access { address, size: row.bytes, write }).is_err() {
                    return limits::INVALID_VALUE;
                }
            }
        }
        self.machine.submit_host(Work::Transfer(transfer), stream, Span::default());
        0
    }

    fn texture_create(&mut self, resource: &Resource, sampler: &Sampler) -> Result<u64, CudaError> {
        if self.machine.error != 0 {
            return Err(self.machine.error);
        }
        let memory = match *resource {
            Resource::Array(_) => None,
            Resource::Linear { address, bytes, .. } => Some((address, bytes)),
            Resource::Pitch2D { address, format, width, height, pitch } => {
                Some((address, pitch * (height - 1) + width * format.bytes()))
            }
        };
        let access = memory.map(|(address, size)| Access { address, size, write: false });
        if access.is_some_and(|access| self.machine.memory.check(access).is_err()) {
            return Err(limits::INVALID_VALUE);
        }
        self.machine.objects.add_texture(resource, *sampler)
    }

    fn texture_destroy(&mut self, texture: u64) -> CudaError {
        if self.machine.error != 0 { self.machine.error } else { self.machine.objects.destroy(texture, false) }
    }

    fn surface_create(&mut self, array: u64) -> Result<u64, CudaError> {
        if self.machine.error != 0 { Err(self.machine.error) } else { self.machine.objects.add_surface(array) }
    }

    fn surface_destroy(&mut self, surface: u64) -> CudaError {
        if self.machine.error != 0 { self.machine.error } else { self.machine.objects.destroy(surface, true) }
    }

    fn global(&mut self, symbol: &str) -> Result<(u64, u64), CudaError> {
        if self.machine.error != 0 {
            return Err(self.machine.error);
        }
        let found = self
            .machine
            .program
            .globals
            .iter()
            .zip(&self.machine.globals)
            .find(|(variable, address)| variable.symbol == symbol && **address != 0);
        found.map(|(variable, address)| (*address, variable.size)).ok_or(limits::INVALID_SYMBOL)
    }

    fn launch(&mut self, launch: &KernelLaunch<'_>) -> CudaError {
        let error = self.check_stream(launch.stream);
        if error != 0 {
            return error;
        }
        let Some(kernel) = self.kernel(launch.kernel) else { return limits::INVALID_DEVICE_FUNCTION };
        let KernelLaunch { grid, block, shared, .. } = *launch;
        let (params, undefined) = (launch.params.to_vec(), launch.undefined.cloned().map(Box::new));
        let grid = Grid { undefined, kernel, grid, block, shared, params };
        let error = self.machine.check_configuration(&grid);
        if error != 0 {
            return error;
        }
        self.machine.started = true;
        self.machine.submit_host(Work::Grid(grid), launch.stream, launch.span);
        0
    }

    fn synchronize(&mut self) -> CudaError {
        self.machine.run()
    }

    fn reset(&mut self) -> CudaError {
        let error = self.machine.run();
        let mut fresh = Machine::new(
            Arc::clone(&self.machine.program),
            CpuOptions {
                max_steps: self.machine.max_steps,
                schedule: self.machine.schedule,
                races: self.machine.races.is_some(),
                memory: Some(self.machine.memory.capacity()),
                trace: self.machine.trace.is_some(),
                cdp: self.machine.cdp(),
                control: self.machine.control.clone(),
            },
        );
        fresh.output = std::mem::take(&mut self.machine.output);
        fresh.diagnostics = std::mem::take(&mut self.machine.diagnostics);
        fresh.steps = self.machine.steps;
        fresh.graph = Graph::counting_from(self.machine.graph.next_id());
        fresh.trace = self.machine.trace.take();
        self.machine = fresh;
        error
    }

    fn stream_create(&mut self, flags: u32) -> Result<u64, CudaError> {
        match flags {
            _ if self.machine.error != 0 => Err(self.machine.error),
            0 | NON_BLOCKING => Ok(self.machine.streams.make_stream(None, flags != NON_BLOCKING, Span::default())),
            _ => Err(limits::INVALID_VALUE),
        }
    }

    fn stream_destroy(&mut self, stream: u64) -> CudaError {
        let error = if stream == 0 { limits::INVALID_RESOURCE_HANDLE } else { self.check_stream(stream) };
        if error == 0 {
            // what is in it runs first: work in the default stream need no longer look for it
            let error = self.machine.run();
            self.machine.streams.destroy_stream(stream, Span::default());
            return error;
        }
        error
    }

    fn stream_synchronize(&mut self, stream: u64) -> CudaError {
        let error = self.check_stream(stream);
        if error == 0 { self.machine.run() } else { error }
    }

    fn stream_query(&mut self, stream: u64) -> CudaError {
        match self.check_stream(stream) {
            0 => {
                let work = self.machine.streams.work(stream, &self.machine.graph);
                self.query(work)
            }
            error => error,
        }
    }

    fn stream_wait_event(&mut self, stream: u64, event: u64, flags: u32) -> CudaError {
        let error = if flags != 0 { limits::INVALID_VALUE } else { self.check_stream(stream) };
        let error = if error == 0 { self.check_event(event) } else { error };
        if error != 0 {
            return error;
        }
        let frontier = self.machine.streams.event(event).map(|event| event.frontier.clone()).unwrap_or_default();
        if stream == 0 {
            self.machine.streams.wait_default(&frontier);
        } else {
            self.machine.streams.wait(stream, &frontier);
        }
        0
    }

    fn event_create(&mut self, flags: u32) -> Result<u64, CudaError> {
        if self.machine.error != 0 {
            return Err(self.machine.error);
        }
        if flags & !EVENT_FLAGS != 0 {
            return Err(limits::INVALID_VALUE);
        }
        Ok(self.machine.streams.make_event(None, flags & DISABLE_TIMING == 0, Span::default()))
    }

    fn event_record(&mut self, event: u64, stream: u64) -> CudaError {
        let error = self.check_stream(stream);
        let error = if error == 0 { self.check_event(event) } else { error };
        if error != 0 {
            return error;
        }
        // a marker, so that the time of an event in an idle stream is known
        self.machine.submit_host(Work::Nothing, stream, Span::default());
        let frontier = if stream == 0 {
            self.machine.streams.default_frontier(&self.machine.graph)
        } else {
            self.machine.streams.frontier(stream, &self.machine.graph)
        };
        if let Some(event) = self.machine.streams.event_mut(event) {
            event.frontier = frontier;
            event.recorded = true;
            event.ended_at = None;
        }
        0
    }

    fn event_synchronize(&mut self, event: u64) -> CudaError {
        let error = self.check_event(event);
        if error == 0 { self.machine.run() } else { error }
    }

    fn event_query(&mut self, event: u64) -> CudaError {
        match self.check_event(event) {
            0 => {
                let work = self.machine.streams.event(event).map(|event| event.frontier.clone());
                self.query(work.unwrap_or_default())
            }
            error => error,
        }
    }

    fn event_elapsed(&mut self, start: u64, end: u64) -> Result<f32, CudaError> {
        for event in [start, end] {
            let error = self.check_event(event);
            if error != 0 {
                return Err(error);
            }
            let usable = self.machine.streams.event(event).is_some_and(|event| event.timing && event.recorded);
            if !usable {
                return Err(limits::INVALID_RESOURCE_HANDLE);
            }
        }
        let at = |event: u64| self.machine.streams.event(event).and_then(|event| event.ended_at).ok_or(NOT_READY);
        let (start, end) = (at(start)?, at(end)?);
        Ok(((end as f64 - start as f64) / STEPS_PER_MILLISECOND) as f32)
    }

    fn event_destroy(&mut self, event: u64) -> CudaError {
        let error = self.check_event(event);
        if error == 0
            && let Some(event) = self.machine.streams.event_mut(event)
        {
            event.destroyed = Some(Span::default());
        }
        error
    }

    fn limit(&mut self, limit: i32) -> Result<u64, CudaError> {
        if self.machine.error != 0 { Err(self.machine.error) } else { self.machine.limits.get(limit) }
    }

    fn set_limit(&mut self, limit: i32, value: u64) -> CudaError {
        if self.machine.error != 0 { self.machine.error } else { self.machine.limits.set(limit, value, self.machine.started) }
    }

    fn memory_info(&mut self) -> Result<(u64, u64), CudaError> {
        let (free, total) = (self.machine.memory.free_bytes(), self.machine.memory.capacity());
        if self.machine.error != 0 { Err(self.machine.error) } else { Ok((free, total)) }
    }

    fn attribute(&mut self, attribute: i32, device: i32) -> Result<i32, CudaError> {
        if self.machine.error != 0 { Err(self.machine.error) } else { limits::attribute(attribute, device) }
    }

    fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.machine.output)
    }

    fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.machine.diagnostics)
    }
}
