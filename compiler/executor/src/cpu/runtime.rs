//! The device runtime: calls that kernels make (CUDA programming guide 5.6.4; cdp2 rules R9, R10, R18 to R23).

use super::graph::Work;
use super::limits;
use super::memory::CUDA_MALLOC;
use super::races::{Races, Subject};
use super::world::{Target, World};
use crate::address::{Region, is_local, region};
use crate::code::{RuntimeCall, Slot};
use crate::fault::{Access, Allocation, FaultKind, Step, There};
use crate::interp::locals::Locals;
use crate::interp::{Environment, read_bits};
use crate::occupancy::potential_block_size;
use crate::transfer::{self, PARMS_BYTES, PARMS_READ, Words};
use cdp_core::builtins::RuntimeFn;
use cdp_core::source::Span;

/// `cudaStreamNonBlocking`
const NON_BLOCKING: u64 = 1;
/// `cudaEventDisableTiming`
const DISABLE_TIMING: u64 = 2;
/// What device code is told its runtime's version is (cdp2, table of calls).
const DEVICE_RUNTIME_VERSION: i32 = 6000;

impl<const TRACK: bool> World<'_, TRACK> {
    pub(super) fn runtime(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>, span: Span) -> Step {
        let value = |locals: &Locals<'_>, index: usize| {
            let Slot { offset, size } = call.args.get(index).copied().unwrap_or_default();
            read_bits(locals.slots, size, offset)
        };
        let [a, b, c] = [0, 1, 2].map(|index| value(locals, index));
        if self.me.errors.answer(call, locals) {
            return Ok(());
        }
        let error = match call.call {
            RuntimeFn::DeviceMalloc => {
                let address = self.heap(a, "memory of `malloc`", span).unwrap_or(0);
                if let Some(dst) = call.dst {
                    locals.set_u64(dst, address);
                }
                return Ok(());
            }
            RuntimeFn::DeviceFree => return self.free(a, span),
            RuntimeFn::MemoryCopy | RuntimeFn::MemoryMove | RuntimeFn::MemorySet => {
                self.move_bytes(call.call, [a, b, c], locals, span)?;
                if let Some(dst) = call.dst {
                    locals.set_u64(dst, a);
                }
                return Ok(());
            }
            // time is steps: those of other threads go by meanwhile
            RuntimeFn::Nanosleep => return Ok(()),
            RuntimeFn::Trap => return Err(Box::new(FaultKind::Trap)),
            RuntimeFn::Assume if a != 0 => return Ok(()),
            RuntimeFn::Assume | RuntimeFn::Unreachable => return Err(Box::new(FaultKind::Assumption(call.call.name()))),
            RuntimeFn::Malloc => self.malloc(a, b, locals, span)?,
            RuntimeFn::Free => self.free(a, span).map(|()| 0)?,
            RuntimeFn::StreamCreateWithFlags if b == NON_BLOCKING => {
                let handle = self.machine.streams.make_stream(Some(self.run.id), false, span);
                self.write(a, &handle.to_le_bytes(), locals).map(|()| 0)?
            }
            RuntimeFn::EventCreateWithFlags if b == DISABLE_TIMING => self.make_event(a, locals, span)?,
            RuntimeFn::StreamCreateWithFlags | RuntimeFn::EventCreateWithFlags => limits::INVALID_VALUE,
            RuntimeFn::StreamDestroy => self.destroy_stream(a, span)?,
            RuntimeFn::EventDestroy => self.destroy_event(a, span)?,
            RuntimeFn::EventRecord => self.record(a, b)?,
            RuntimeFn::StreamWaitEvent => self.wait(a, b, c)?,
            RuntimeFn::EventRecordWithFlags if c != 0 => limits::INVALID_VALUE,
            RuntimeFn::EventRecordWithFlags => self.record(a, b)?,
            RuntimeFn::MemcpyAsync
            | RuntimeFn::Memcpy2DAsync
            | RuntimeFn::Memcpy3DAsync
            | RuntimeFn::MemsetAsync
            | RuntimeFn::Memset2DAsync
            | RuntimeFn::Memset3DAsync => self.transfer(call, locals, span)?,
            RuntimeFn::FuncGetAttributes => match self.machine.attributes(b as u32) {
                Ok(attributes) => self.write(a, &attributes.bytes(), locals).map(|()| 0)?,
                Err(error) => error,
            },
            RuntimeFn::OccupancyMaxActiveBlocksWithFlags if value(locals, 4) > 1 => limits::INVALID_VALUE,
            RuntimeFn::OccupancyMaxActiveBlocks | RuntimeFn::OccupancyMaxActiveBlocksWithFlags => {
                match self.machine.active_blocks(b as u32, (c as u32).cast_signed(), value(locals, 3)) {
                    Ok(blocks) => self.write(a, &blocks.to_le_bytes(), locals).map(|()| 0)?,
                    Err(error) => error,
                }
            }
            RuntimeFn::OccupancyMaxPotentialBlockSize => {
                let (kernel, shared, most) = (c as u32, value(locals, 3), (value(locals, 4) as u32).cast_signed());
                match self.potential_block_size(kernel, shared, most) {
                    Ok((grid, block)) => {
                        self.write(a, &grid.to_le_bytes(), locals)?;
                        self.write(b, &block.to_le_bytes(), locals).map(|()| 0)?
                    }
                    Err(error) => error,
                }
            }
            RuntimeFn::GetDevice | RuntimeFn::DeviceGetCacheConfig => self.write(a, &0i32.to_le_bytes(), locals).map(|()| 0)?,
            RuntimeFn::GetDeviceCount => self.write(a, &1i32.to_le_bytes(), locals).map(|()| 0)?,
            RuntimeFn::RuntimeGetVersion => self.write(a, &DEVICE_RUNTIME_VERSION.to_le_bytes(), locals).map(|()| 0)?,
            RuntimeFn::DeviceGetAttribute => match limits::attribute((b as u32).cast_signed(), (c as u32).cast_signed()) {
                Ok(attribute) => self.write(a, &attribute.to_le_bytes(), locals).map(|()| 0)?,
                Err(error) => error,
            },
            RuntimeFn::DeviceGetLimit => match self.machine.limits.get((b as u32).cast_signed()) {
                Ok(limit) => self.write(a, &limit.to_le_bytes(), locals).map(|()| 0)?,
                Err(error) => error,
            },
            RuntimeFn::DeviceSynchronize if self.machine.limits.sync_depth.is_some() => self.synchronize(span),
            RuntimeFn::GetLastError
            | RuntimeFn::PeekAtLastError
            | RuntimeFn::GetErrorString
            | RuntimeFn::GetErrorName
            | RuntimeFn::DeviceSynchronize
            | RuntimeFn::DeviceSetLimit
            | RuntimeFn::MallocArray
            | RuntimeFn::Malloc3DArray
            | RuntimeFn::FreeArray
            | RuntimeFn::GetChannelDesc
            | RuntimeFn::Memcpy2DToArray
            | RuntimeFn::Memcpy2DFromArray
            | RuntimeFn::Memcpy2DArrayToArray
            | RuntimeFn::Memcpy2DToArrayAsync
            | RuntimeFn::Memcpy2DFromArrayAsync
            | RuntimeFn::CreateTextureObject
            | RuntimeFn::DestroyTextureObject
            | RuntimeFn::CreateSurfaceObject
            | RuntimeFn::DestroySurfaceObject
            | RuntimeFn::DeviceReset
            | RuntimeFn::StreamCreate
            | RuntimeFn::StreamQuery
            | RuntimeFn::EventCreate
            | RuntimeFn::EventQuery
            | RuntimeFn::MemGetInfo
            | RuntimeFn::MallocPitch
            | RuntimeFn::Memcpy
            | RuntimeFn::Memcpy2D
            | RuntimeFn::Memcpy3D
            | RuntimeFn::Memset
            | RuntimeFn::Memset2D
            | RuntimeFn::Memset3D
            | RuntimeFn::StreamSynchronize
            | RuntimeFn::EventSynchronize
            | RuntimeFn::EventElapsedTime
            | RuntimeFn::HostTime
            | RuntimeFn::GetParameterBuffer
            | RuntimeFn::LaunchDevice
            | RuntimeFn::GetParameterBufferV2
            | RuntimeFn::LaunchDeviceV2 => {
                return Err(Box::new(FaultKind::Unsupported(format!("`{}` does not exist in device code", call.call.name()))));
            }
        };
        let seen = (call.dst, call.observed);
        self.me.errors.result(seen, error, span, locals, || format!("`{}`", call.call.name()));
        Ok(())
    }

    /// CDP1's `cudaDeviceSynchronize`: waits for everything that threads of the block launched, with all that is nested in it. What the thread
    /// itself launched, or knows of, is ordered before what it does next; a launch of another thread that no barrier orders before the call may
    /// have been waited for, or not.
    fn synchronize(&mut self, span: Span) -> i32 {
        let depth = u64::from(self.machine.graph.depth(self.run.id));
        if self.machine.limits.sync_depth.is_some_and(|most| depth >= most) {
            return limits::SYNC_DEPTH_EXCEEDED;
        }
        let launched = self.run.launched.remove(&self.block.linear).unwrap_or_default();
        self.machine.wait_for(&launched);
        let at = self.place();
        let Some(races) = &mut self.machine.races else { return 0 };
        let graph = &mut self.machine.graph;
        let (known, mut others): (Vec<_>, Vec<_>) = launched
            .into_iter()
            .partition(|node| graph.point(*node).is_none_or(|point| Races::is_known(point, at, &self.me.sync)));
        if !known.is_empty() {
            // an end of them all, which later work can be behind
            let point = Races::launch(at, &mut self.me.sync);
            let joined = graph.join(self.run.id, &known, point, span, self.machine.steps);
            races.joined(joined, &mut self.me.sync);
            others.push(joined);
        }
        if !others.is_empty() {
            self.run.launched.insert(self.block.linear, others);
        }
        0
    }

    /// Memory of the device heap; none when it is used up.
    fn heap(&mut self, bytes: u64, what: &str, span: Span) -> Option<u64> {
        if bytes > self.machine.limits.heap.saturating_sub(self.machine.memory.heap_used()) {
            return None;
        }
        let allocation =
            Allocation { address: 0, size: bytes, what: what.to_owned(), element: String::new(), element_size: 1, span };
        self.machine.memory.allocate(allocation, true, true)
    }

    fn malloc(&mut self, out: u64, bytes: u64, locals: &mut Locals<'_>, span: Span) -> Step<i32> {
        if bytes == 0 {
            return Ok(limits::INVALID_VALUE);
        }
        match self.heap(bytes, CUDA_MALLOC, span) {
            Some(address) => self.write(out, &address.to_le_bytes(), locals).map(|()| 0),
            None => Ok(limits::MEMORY_ALLOCATION),
        }
    }

    fn free(&mut self, address: u64, span: Span) -> Step {
        if address == 0 {
            return Ok(());
        }
        let access = Access { address, size: 0, write: true };
        match region(address) {
            Region::Device => {
                self.machine.memory.check_heap(address)?;
                let was = self.machine.memory.free(address, span)?;
                self.track_freed(&was);
                Ok(())
            }
            Region::Local(_) => Err(Box::new(FaultKind::NotOfHeap { access, there: There::Private("local") })),
            Region::Shared(_) => Err(Box::new(FaultKind::NotOfHeap { access, there: There::Private("shared") })),
        }
    }

    fn make_event(&mut self, out: u64, locals: &mut Locals<'_>, span: Span) -> Step<i32> {
        // at most twice the pool are alive (cdp2 rule R21)
        if self.machine.events >= 2 * self.machine.limits.pool {
            return Ok(limits::MEMORY_ALLOCATION);
        }
        let handle = self.machine.streams.make_event(Some(self.run.id), false, span);
        self.machine.events += 1;
        self.run.events += 1;
        self.write(out, &handle.to_le_bytes(), locals).map(|()| 0)
    }

    fn destroy_stream(&mut self, handle: u64, span: Span) -> Step<i32> {
        match self.target(handle)? {
            Target::Named(handle) => {
                self.track_handle(handle, true, Subject::Stream);
                self.machine.streams.destroy_stream(handle, span);
                Ok(0)
            }
            _ => Ok(limits::INVALID_VALUE),
        }
    }

    /// An event of this grid that is alive, to be used or changed.
    fn check_event(&mut self, handle: u64, change: bool) -> Step {
        let event = self.machine.streams.event(handle).map(|event| (event.owner, event.destroyed));
        self.check_handle(handle, event, change, Subject::Event)
    }

    fn destroy_event(&mut self, handle: u64, span: Span) -> Step<i32> {
        self.check_event(handle, true)?;
        if let Some(event) = self.machine.streams.event_mut(handle) {
            event.destroyed = Some(span);
        }
        self.machine.events -= 1;
        self.run.events -= 1;
        Ok(0)
    }

    fn record(&mut self, event: u64, stream: u64) -> Step<i32> {
        self.check_event(event, true)?;
        let frontier = match self.target(stream)? {
            // the tail and the fire-and-forget stream have no events (cdp2 rule R10)
            Target::Tail | Target::FireAndForget => return Ok(limits::INVALID_VALUE),
            Target::Null => self.run.null.get(&self.block.linear).cloned().unwrap_or_default(),
            Target::Named(handle) => self.machine.streams.frontier(handle, &self.machine.graph),
        };
        if let Some(event) = self.machine.streams.event_mut(event) {
            event.frontier = frontier;
            event.recorded = true;
        }
        Ok(0)
    }

    fn wait(&mut self, stream: u64, event: u64, flags: u64) -> Step<i32> {
        self.check_event(event, false)?;
        let target = self.target(stream)?;
        if flags != 0 {
            return Ok(limits::INVALID_VALUE);
        }
        let frontier = self.machine.streams.event(event).map(|event| event.frontier.clone()).unwrap_or_default();
        match target {
            Target::Tail | Target::FireAndForget => return Ok(limits::INVALID_VALUE),
            Target::Null => self.run.null.entry(self.block.linear).or_default().extend(frontier),
            Target::Named(handle) => self.machine.streams.wait(handle, &frontier),
        }
        Ok(0)
    }

    /// The block size that fills the device, of at most `most` threads where that is not 0.
    fn potential_block_size(&mut self, kernel: u32, shared: u64, most: i32) -> Result<(i32, i32), i32> {
        let max_threads = self.machine.attributes(kernel)?.max_threads;
        let most = if most > 0 { most.min(max_threads) } else { max_threads };
        let multiprocessors = limits::attribute(limits::MULTIPROCESSORS, 0)?;
        potential_block_size(multiprocessors, most, |threads| self.machine.active_blocks(kernel, threads, shared))
    }

    /// A copy or a fill, device to device only; it takes its turn in the stream.
    fn transfer(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>, span: Span) -> Step<i32> {
        const DEVICE_TO_DEVICE: i32 = 3;
        const DEFAULT: i32 = 4;
        let args: Vec<Words> = call.args.iter().map(|slot| locals.words(*slot)).collect();
        let mut parms = Vec::new();
        if call.call == RuntimeFn::Memcpy3DAsync {
            let address = args.first().and_then(|words| words.first()).copied().unwrap_or(0);
            let mut bytes = [0; PARMS_BYTES];
            if is_local(address) {
                bytes.copy_from_slice(locals.at(address, PARMS_BYTES, false)?);
                PARMS_READ.iter().try_for_each(|(first, size)| locals.defined_at(address + *first as u64, *size))?;
            } else {
                self.load(address, &mut bytes)?;
                for (first, size) in PARMS_READ {
                    self.check_written(Access { address: address + first as u64, size: size as u64, write: false })?;
                }
            }
            parms = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        }
        let request = match transfer::request(call.call, &args, &parms) {
            Some(Ok(request)) => request,
            Some(Err(error)) => return Ok(error),
            None => return Ok(limits::INVALID_VALUE),
        };
        let target = self.target(request.stream)?;
        if request.kind.is_some_and(|kind| !matches!(kind, DEVICE_TO_DEVICE | DEFAULT)) {
            return Ok(limits::INVALID_DIRECTION);
        }
        if request.transfer.is_empty() {
            return Ok(0);
        }
        for row in request.transfer.rows() {
            let from = row.from.map(|from| (from, false));
            for (address, write) in from.into_iter().chain([(row.to, true)]) {
                let access = Access { address, size: row.bytes, write };
                match region(address) {
                    // checked here, where the mistake is; the bytes move when the transfer's turn comes
                    Region::Device => self.machine.memory.check(access)?,
                    Region::Local(_) => return Err(Box::new(FaultKind::Private { access, whose: "local memory by a copy" })),
                    Region::Shared(_) => return Err(Box::new(FaultKind::Private { access, whose: "shared memory by a copy" })),
                }
            }
        }
        if let Some((_, bytes)) = request.transfer.overlap() {
            return Err(Box::new(FaultKind::Overlap { bytes }));
        }
        self.submit(Work::Transfer(request.transfer), target, span);
        Ok(0)
    }
}
