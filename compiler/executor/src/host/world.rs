//! What host code does beyond its own variables.

use super::memory::Memory;
use super::texture::Images;
use super::{Outcome, outcome};
use crate::address::{Region, is_local, region};
use crate::atomic;
use crate::code::{Allocate, Atomic, Effect, Launch, RuntimeCall, Slot};
use crate::device::{CudaError, Device, KernelLaunch};
use crate::errors::{INVALID_DIRECTION, INVALID_VALUE, MEMORY_ALLOCATION, NOT_READY};
use crate::fault::{Access, Allocation, Fault, FaultKind, Origin, Step};
use crate::interp::locals::Locals;
use crate::interp::{Environment, Flow, read_bits, write_bits};
use crate::last_error::LastError;
use crate::leaks::{self, Leak, Made};
use crate::occupancy::potential_block_size;
use crate::passed;
use crate::print;
use crate::program::Program;
use crate::transfer::{self, PARMS_BYTES, PARMS_READ, Request, Row, Words};
use crate::written::Unwritten;
use cdp_core::builtins::{Register, RuntimeFn};
use cdp_core::source::Span;
use std::collections::HashMap;
use std::io::Write;
use std::time::Instant;

/// Whether an error leaves a context that nothing works in any more: a fault of a kernel.
pub(super) const fn spoils_context(error: CudaError) -> bool {
    matches!(error, 700 | 702 | 710 | 714..=719 | 999)
}

/// Everything around host code.
pub(super) struct World<'a> {
    program: &'a Program,
    pub(super) device: &'a mut dyn Device,
    output: &'a mut dyn Write,
    pub(super) memory: Memory,
    pub(super) images: Images,
    /// Addresses of variables that were named.
    globals: Vec<Option<u64>>,
    /// Errors of its calls.
    errors: LastError,
    /// Whether a call has already said that the context is spoilt.
    spoilt: bool,
    /// Memory to give back at the end.
    owned: Vec<u64>,
    /// What the program has to give back, by address or handle.
    pub(super) made: HashMap<(Made, u64), Leak>,
    started: Instant,
    text: Vec<u8>,
    params: Vec<u8>,
}

impl<'a> World<'a> {
    pub(super) fn new(program: &'a Program, device: &'a mut dyn Device, output: &'a mut dyn Write) -> Self {
        Self {
            program,
            device,
            output,
            memory: Memory::new(),
            images: Images::default(),
            globals: vec![None; program.globals.len()],
            errors: LastError::default(),
            spoilt: false,
            owned: Vec::new(),
            made: HashMap::new(),
            started: Instant::now(),
            text: Vec::new(),
            params: Vec::new(),
        }
    }

    /// Waits for what is still running, gives memory back, and says what came of it all.
    pub(super) fn finish(mut self, fault: Option<Box<Fault>>) -> Outcome {
        let span = fault.as_ref().map_or_else(Span::default, |fault| fault.span);
        let mut error = self.memory.flush(self.device);
        let mut output = self.output.flush().map_err(|e| e.to_string());
        error = if error == 0 { self.device.synchronize() } else { error };
        let printed = self.device.take_output();
        output =
            output.and_then(|()| self.output.write_all(&printed).and_then(|()| self.output.flush()).map_err(|e| e.to_string()));
        self.give_back_images();
        for address in std::mem::take(&mut self.owned).into_iter().rev() {
            self.device.free(address);
        }
        let known = self.spoilt && spoils_context(error);
        if error != 0 && !known && fault.is_none() {
            self.errors.nobody_looked("work that was still running at the end".to_owned(), error, span);
        }
        if let Err(text) = output {
            self.errors.unseen.push(Fault::at(FaultKind::Output(text), span));
        }
        let mut outcome = outcome(self.device.take_diagnostics(), fault.as_deref(), &self.errors.unseen);
        if outcome.is_ok() {
            outcome.leaks = leaks::notes(self.made.into_values().chain(self.device.leaks()));
        }
        outcome
    }

    /// Before a call that may wait: so that what was printed before it stands before what the device prints meanwhile.
    fn flush_output(&mut self) -> Step {
        self.output.flush().map_err(|error| Box::new(FaultKind::Output(error.to_string())))
    }

    /// After a call that may have waited.
    fn fetch_output(&mut self) -> Step {
        let printed = self.device.take_output();
        self.output.write_all(&printed).map_err(|error| Box::new(FaultKind::Output(error.to_string())))
    }

    /// A call's result, and whether it spoils the context.
    fn result(
        &mut self,
        seen: (Option<u32>, bool),
        error: CudaError,
        span: Span,
        locals: &mut Locals<'_>,
        what: impl FnOnce() -> String,
    ) {
        self.spoilt |= spoils_context(error);
        self.errors.result(seen, error, span, locals, what);
    }

    fn refresh(&mut self, access: Access) -> Step {
        self.flush_output()?;
        self.memory.refresh(access, self.device)?;
        self.fetch_output()
    }

    fn launch(&mut self, launch: &Launch, locals: &mut Locals<'_>, span: Span) -> Step {
        let program = self.program;
        let Some(kernel) = program.code(launch.kernel) else { return Ok(()) };
        let undefined = passed::gather(launch, kernel.params_size, &mut self.params, locals, span);
        for (offset, param) in &kernel.param_pointers {
            if is_local(read_bits(&self.params, 8, *offset)) {
                let parameter = kernel.param_names.get(*param as usize).cloned().unwrap_or_default();
                return Err(Box::new(FaultKind::PrivateArgument { parameter, space: "host" }));
            }
        }
        let flushed = self.memory.flush(self.device);
        let what = || format!("launch of `{}`", kernel.name);
        if flushed != 0 {
            self.result((launch.dst, launch.observed), flushed, span, locals, what);
            return Ok(());
        }
        self.flush_output()?;
        let error = self.device.launch(&KernelLaunch {
            kernel: &kernel.symbol,
            grid: launch.grid.map(|slot| locals.u32(slot)),
            block: launch.block.map(|slot| locals.u32(slot)),
            shared: locals.u32(launch.shared),
            stream: locals.u64(launch.stream),
            params: &self.params,
            undefined: undefined.as_deref(),
            span,
        });
        self.memory.stale();
        self.result((launch.dst, launch.observed), error, span, locals, what);
        Ok(())
    }

    fn allocate(&mut self, allocate: &Allocate, locals: &mut Locals<'_>, span: Span) -> Step {
        let count = locals.u64(allocate.count);
        let failed = |error| {
            let what = format!("`device({}, {count})`", allocate.element);
            Box::new(FaultKind::Cuda { what, error, because: "so there is no buffer to go on with" })
        };
        let size = count.checked_mul(allocate.element_size).ok_or_else(|| failed(2))?;
        let address = self.device.allocate(size).map_err(failed)?;
        let error = if size == 0 { 0 } else { self.device.clear(address, size) };
        if error != 0 {
            return Err(failed(error));
        }
        let what = if allocate.name.is_empty() { "a buffer".to_owned() } else { format!("the buffer `{}`", allocate.name) };
        let allocation =
            Allocation { address, size, what, element: allocate.element.clone(), element_size: allocate.element_size, span };
        self.device.describe(&allocation);
        self.memory.add(allocation, true);
        self.owned.push(address);
        locals.set_u64(allocate.dst, address);
        Ok(())
    }

    fn atomic(&mut self, atomic: &Atomic, locals: &mut Locals<'_>) -> Step {
        let size = atomic::size(atomic);
        let address = locals.u64(atomic.pointer);
        let mut bytes = [0; 8];
        let Some(bytes) = bytes.get_mut(..size as usize) else { return Ok(()) };
        self.read_whole(address, bytes, &[(0, size as usize)], locals)?;
        let old = read_bits(bytes, size, 0);
        let [value, desired] = atomic.operands.map(|operand| read_bits(locals.slots, size, operand));
        write_bits(bytes, size, 0, atomic::apply(atomic, old, value, desired));
        self.write(address, bytes, locals)?;
        if let Some(dst) = atomic.dst {
            write_bits(locals.slots, size, dst, old);
        }
        Ok(())
    }

    /// Reads bytes of which those in the given pieces, first byte and how many, must have a value.
    fn read_whole(&mut self, address: u64, into: &mut [u8], pieces: &[(usize, usize)], locals: &mut Locals<'_>) -> Step {
        let undefined = self.read(address, into, locals)?.unwrap_or_default();
        for (first, size) in pieces {
            let bytes = undefined.get(*first..first + size).unwrap_or_default();
            let Some(gap) = bytes.iter().position(|gone| *gone) else { continue };
            let at = address + (first + gap) as u64;
            if is_local(at) {
                locals.defined_at(at, 1)?;
            } else {
                self.load_scalar(at, &mut [0])?;
            }
        }
        Ok(())
    }

    /// Reads bytes; which of them have no value, if there are any.
    fn read(&mut self, address: u64, into: &mut [u8], locals: &mut Locals<'_>) -> Step<Option<Vec<bool>>> {
        if is_local(address) {
            into.copy_from_slice(locals.at(address, into.len(), false)?);
            return Ok(locals.undefined_at(address, into.len()));
        }
        Ok(self.load(address, into)?.map(|unwritten| unwritten.bytes))
    }

    /// Bytes that were written just now have no value where they are marked.
    pub(super) fn undefine_any(&mut self, address: u64, marks: &[bool], locals: &mut Locals<'_>, span: Span) -> Step {
        if is_local(address) {
            locals.mark_at(address, marks, Origin::copied(span, 0));
            return Ok(());
        }
        self.undefine(address, marks)
    }

    pub(super) fn write(&mut self, address: u64, from: &[u8], locals: &mut Locals<'_>) -> Step {
        if is_local(address) { locals.store(address, from) } else { self.store(address, from) }
    }

    /// A copy, between host variables and device memory too, or a fill.
    fn transfer(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>, span: Span) -> Step<CudaError> {
        let args: Vec<Words> = call.args.iter().map(|slot| locals.words(*slot)).collect();
        let mut parms = Vec::new();
        if matches!(call.call, RuntimeFn::Memcpy3D | RuntimeFn::Memcpy3DAsync) {
            let mut bytes = [0; PARMS_BYTES];
            let address = args.first().and_then(|words| words.first()).copied().unwrap_or(0);
            self.read_whole(address, &mut bytes, &PARMS_READ, locals)?;
            parms = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
            if let Some(parms) = <&[u64; 20]>::try_from(parms.as_slice()).ok().filter(|parms| parms[0] != 0 || parms[8] != 0) {
                let stream = args.get(1).and_then(|words| words.first()).copied().unwrap_or(0);
                return self.copy_array_3d(parms, stream, locals, span);
            }
        }
        let request = match transfer::request(call.call, &args, &parms) {
            Some(Ok(request)) => request,
            Some(Err(error)) => return Ok(error),
            None => return Ok(INVALID_DIRECTION),
        };
        if request.kind.is_some_and(|kind| !(0..=4).contains(&kind)) {
            return Ok(INVALID_DIRECTION);
        }
        if request.transfer.is_empty() {
            return Ok(0);
        }
        for row in request.transfer.rows() {
            for (address, write) in row.from.map(|from| (from, false)).into_iter().chain([(row.to, true)]) {
                if is_local(address) {
                    locals.at(address, usize::try_from(row.bytes).unwrap_or(usize::MAX), write)?;
                } else {
                    self.memory.check(Access { address, size: row.bytes, write })?;
                }
            }
        }
        if let Some((_, bytes)) = request.transfer.overlap() {
            return Err(Box::new(FaultKind::Overlap { bytes }));
        }
        let mut error = self.memory.flush(self.device);
        for row in request.transfer.rows() {
            if error != 0 {
                break;
            }
            error = self.row(row, &request, locals, span)?;
        }
        self.memory.stale();
        Ok(error)
    }

    /// One row of a copy or fill.
    fn row(&mut self, row: Row, request: &Request, locals: &mut Locals<'_>, span: Span) -> Step<CudaError> {
        let size = usize::try_from(row.bytes).unwrap_or(usize::MAX);
        match row.from {
            Some(from) if is_local(from) || is_local(row.to) => {
                let mut copied = vec![0; size];
                let undefined = self.read(from, &mut copied, locals)?;
                self.write(row.to, &copied, locals)?;
                if let Some(marks) = undefined {
                    self.undefine_any(row.to, &marks, locals, span)?;
                }
                Ok(self.memory.flush(self.device))
            }
            Some(from) => Ok(self.device.copy(row.to, from, row.bytes, request.stream)),
            None if is_local(row.to) => {
                locals.at(row.to, size, true)?.fill(request.transfer.value());
                Ok(0)
            }
            None => Ok(self.device.fill(row.to, request.transfer.value(), row.bytes, request.stream)),
        }
    }

    /// The symbol of a kernel that a call names.
    fn symbol(&self, kernel: u64) -> &'a str {
        self.program.code(kernel as u32).map_or("", |code| code.symbol.as_str())
    }

    fn potential_block_size(&mut self, kernel: &str, shared: u64, most: i32) -> Result<(i32, i32), CudaError> {
        /// `cudaDevAttrMultiProcessorCount`
        const MULTIPROCESSORS: i32 = 16;
        let max_threads = self.device.kernel_attributes(kernel)?.max_threads;
        let most = if most > 0 { most.min(max_threads) } else { max_threads };
        let multiprocessors = self.device.attribute(MULTIPROCESSORS, 0)?;
        potential_block_size(multiprocessors, most, |threads| self.device.active_blocks(kernel, threads, shared, 0))
    }

    fn malloc(&mut self, locals: &mut Locals<'_>, out: u64, bytes: u64, span: Span) -> Step<CudaError> {
        let address = match self.device.allocate(bytes) {
            Ok(address) => address,
            Err(error) => return Ok(error),
        };
        self.made.insert((Made::CudaMalloc, address), Leak { made: Made::CudaMalloc, span, bytes });
        let what = "memory of `cudaMalloc`".to_owned();
        let allocation = Allocation { address, size: bytes, what, element: String::new(), element_size: 1, span };
        self.device.describe(&allocation);
        self.memory.add(allocation, false);
        self.owned.push(address);
        self.write(out, &address.to_le_bytes(), locals)?;
        Ok(0)
    }

    /// Memory for rows: where to write the address and the pitch, bytes of a row, and how many.
    fn malloc_pitch(
        &mut self,
        locals: &mut Locals<'_>,
        [out, out_pitch, width, height]: [u64; 4],
        span: Span,
    ) -> Step<CudaError> {
        /// What the pitch is a multiple of: enough for textures (`cudaDevAttrTexturePitchAlignment`), and for whole lines of the caches.
        const PITCH: u64 = 512;
        let pitch = width.checked_next_multiple_of(PITCH);
        let Some((pitch, bytes)) = pitch.and_then(|pitch| Some((pitch, pitch.checked_mul(height)?))) else {
            return Ok(MEMORY_ALLOCATION);
        };
        match self.malloc(locals, out, bytes, span)? {
            0 => self.write(out_pitch, &pitch.to_le_bytes(), locals).map(|()| 0),
            error => Ok(error),
        }
    }

    fn free(&mut self, address: u64, span: Span) -> CudaError {
        if address == 0 {
            return 0;
        }
        let error = self.device.free(address);
        if error == 0 {
            self.memory.remove(address, span);
            self.owned.retain(|owned| *owned != address);
            self.made.remove(&(Made::CudaMalloc, address));
        }
        error
    }

    /// A stream, event or object that was made, or not.
    pub(super) fn handle(
        &mut self,
        locals: &mut Locals<'_>,
        address: u64,
        made: Result<u64, CudaError>,
        leak: Leak,
    ) -> Step<CudaError> {
        if let Ok(handle) = made {
            self.made.insert((leak.made, handle), leak);
        }
        self.out(locals, address, made.map(u64::to_le_bytes))
    }

    /// A result that goes to an address, when there is one.
    fn out<const N: usize>(
        &mut self,
        locals: &mut Locals<'_>,
        address: u64,
        value: Result<[u8; N], CudaError>,
    ) -> Step<CudaError> {
        match value {
            Ok(bytes) => self.write(address, &bytes, locals).map(|()| 0),
            Err(error) => Ok(error),
        }
    }

    /// A call that waits: what was written goes out before, and what was read is stale after it.
    pub(super) fn waiting(&mut self, wait: impl FnOnce(&mut dyn Device) -> CudaError) -> Step<CudaError> {
        let flushed = self.memory.flush(self.device);
        self.flush_output()?;
        let error = wait(self.device);
        self.memory.stale();
        self.fetch_output()?;
        Ok(if flushed == 0 { error } else { flushed })
    }

    #[allow(clippy::too_many_lines, reason = "one arm a call of the runtime")]
    fn runtime(&mut self, call: &RuntimeCall, locals: &mut Locals<'_>, span: Span) -> Step {
        // 0 for what a call has not: the flags of `cudaStreamCreate`
        let value = |locals: &Locals<'_>, index: usize| {
            call.args.get(index).map_or(0, |Slot { offset, size }| read_bits(locals.slots, *size, *offset))
        };
        let [a, b, c] = [0, 1, 2].map(|index| value(locals, index));
        if self.errors.answer(call, locals) {
            return Ok(());
        }
        let error = match call.call {
            RuntimeFn::HostTime => {
                if let Some(dst) = call.dst {
                    locals.set_u64(dst, self.started.elapsed().as_secs_f64().to_bits());
                }
                return Ok(());
            }
            RuntimeFn::Assume if a != 0 => return Ok(()),
            RuntimeFn::Assume | RuntimeFn::Unreachable => return Err(Box::new(FaultKind::Assumption(call.call.name()))),
            RuntimeFn::StreamCreate | RuntimeFn::StreamCreateWithFlags => {
                let made = self.device.stream_create(b as u32);
                self.handle(locals, a, made, Leak { made: Made::Stream, span, bytes: 0 })?
            }
            RuntimeFn::EventCreate | RuntimeFn::EventCreateWithFlags => {
                let made = self.device.event_create(b as u32);
                self.handle(locals, a, made, Leak { made: Made::Event, span, bytes: 0 })?
            }
            RuntimeFn::StreamDestroy => {
                self.made.remove(&(Made::Stream, a));
                self.device.stream_destroy(a)
            }
            RuntimeFn::StreamWaitEvent => self.device.stream_wait_event(a, b, c as u32),
            RuntimeFn::EventRecord => self.device.event_record(a, b),
            RuntimeFn::EventDestroy => {
                self.made.remove(&(Made::Event, a));
                self.device.event_destroy(a)
            }
            RuntimeFn::GetDevice => {
                let ordinal = self.device.current_device().map(i32::to_le_bytes);
                self.out(locals, a, ordinal)?
            }
            RuntimeFn::GetDeviceCount => {
                let count = self.device.device_count().map(i32::to_le_bytes);
                self.out(locals, a, count)?
            }
            RuntimeFn::DeviceGetAttribute => {
                let attribute = self.device.attribute((b as u32).cast_signed(), (c as u32).cast_signed()).map(i32::to_le_bytes);
                self.out(locals, a, attribute)?
            }
            RuntimeFn::DeviceGetLimit => {
                let limit = self.device.limit((b as u32).cast_signed()).map(u64::to_le_bytes);
                self.out(locals, a, limit)?
            }
            RuntimeFn::DeviceGetCacheConfig => {
                let config = self.device.cache_config().map(i32::to_le_bytes);
                self.out(locals, a, config)?
            }
            RuntimeFn::RuntimeGetVersion => {
                let version = self.device.runtime_version().map(i32::to_le_bytes);
                self.out(locals, a, version)?
            }
            RuntimeFn::MemGetInfo => match self.device.memory_info() {
                Ok((free, total)) => {
                    self.write(a, &free.to_le_bytes(), locals)?;
                    self.write(b, &total.to_le_bytes(), locals).map(|()| 0)?
                }
                Err(error) => error,
            },
            RuntimeFn::Malloc => self.malloc(locals, a, b, span)?,
            RuntimeFn::MallocPitch => self.malloc_pitch(locals, [a, b, c, value(locals, 3)], span)?,
            RuntimeFn::Free => self.free(a, span),
            RuntimeFn::EventRecordWithFlags if c != 0 => INVALID_VALUE,
            RuntimeFn::EventRecordWithFlags => self.device.event_record(a, b),
            RuntimeFn::MemcpyAsync
            | RuntimeFn::Memcpy2DAsync
            | RuntimeFn::Memcpy3DAsync
            | RuntimeFn::MemsetAsync
            | RuntimeFn::Memset2DAsync
            | RuntimeFn::Memset3DAsync
            | RuntimeFn::Memset
            | RuntimeFn::Memset2D
            | RuntimeFn::Memset3D => self.transfer(call, locals, span)?,
            RuntimeFn::Memcpy | RuntimeFn::Memcpy2D | RuntimeFn::Memcpy3D => match self.transfer(call, locals, span)? {
                0 => self.waiting(|device| device.stream_synchronize(0))?,
                error => error,
            },
            RuntimeFn::FuncGetAttributes => {
                let attributes = self.device.kernel_attributes(self.symbol(b)).map(|attributes| attributes.bytes());
                self.out(locals, a, attributes)?
            }
            RuntimeFn::OccupancyMaxActiveBlocks | RuntimeFn::OccupancyMaxActiveBlocksWithFlags => {
                let flags = value(locals, 4) as u32;
                let (threads, shared) = ((c as u32).cast_signed(), value(locals, 3));
                let blocks = self.device.active_blocks(self.symbol(b), threads, shared, flags).map(i32::to_le_bytes);
                self.out(locals, a, blocks)?
            }
            RuntimeFn::OccupancyMaxPotentialBlockSize => {
                let (shared, most) = (value(locals, 3), (value(locals, 4) as u32).cast_signed());
                match self.potential_block_size(self.symbol(c), shared, most) {
                    Ok((grid, block)) => {
                        self.write(a, &grid.to_le_bytes(), locals)?;
                        self.write(b, &block.to_le_bytes(), locals).map(|()| 0)?
                    }
                    Err(error) => error,
                }
            }
            RuntimeFn::MallocArray
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
            | RuntimeFn::DestroySurfaceObject => self.about_textures(call, locals, span)?,
            RuntimeFn::DeviceSynchronize => self.waiting(|device| device.synchronize())?,
            RuntimeFn::StreamSynchronize => self.waiting(|device| device.stream_synchronize(a))?,
            RuntimeFn::EventSynchronize => self.waiting(|device| device.event_synchronize(a))?,
            RuntimeFn::StreamQuery => self.waiting(|device| device.stream_query(a))?,
            RuntimeFn::EventQuery => self.waiting(|device| device.event_query(a))?,
            RuntimeFn::DeviceReset => {
                let error = self.waiting(|device| device.reset())?;
                let addresses: Vec<u64> = self.memory.addresses().collect();
                for address in addresses {
                    self.memory.remove(address, span);
                }
                self.owned.clear();
                self.made.clear();
                self.forget_images();
                self.globals.fill(None);
                error
            }
            RuntimeFn::DeviceSetLimit => self.device.set_limit((a as u32).cast_signed(), b),
            RuntimeFn::EventElapsedTime => {
                let elapsed = self.device.event_elapsed(b, c).map(f32::to_le_bytes);
                self.out(locals, a, elapsed)?
            }
            RuntimeFn::GetLastError
            | RuntimeFn::PeekAtLastError
            | RuntimeFn::GetErrorString
            | RuntimeFn::GetErrorName
            | RuntimeFn::DeviceMalloc
            | RuntimeFn::DeviceFree
            | RuntimeFn::MemoryCopy
            | RuntimeFn::MemoryMove
            | RuntimeFn::MemorySet
            | RuntimeFn::Nanosleep
            | RuntimeFn::Trap
            | RuntimeFn::GetParameterBuffer
            | RuntimeFn::LaunchDevice
            | RuntimeFn::GetParameterBufferV2
            | RuntimeFn::LaunchDeviceV2 => {
                return Err(Box::new(FaultKind::Unsupported(format!("`{}` exists in device code only", call.call.name()))));
            }
        };
        // that work goes on is an answer: a program may ask for no other reason than to have it started
        let answer = matches!(call.call, RuntimeFn::StreamQuery | RuntimeFn::EventQuery) && error == NOT_READY;
        self.result((call.dst, call.observed || answer), error, span, locals, || format!("`{}`", call.call.name()));
        Ok(())
    }
}

impl Environment for World<'_> {
    fn load(&mut self, address: u64, into: &mut [u8]) -> Step<Option<Box<Unwritten>>> {
        let access = Access { address, size: into.len() as u64, write: false };
        private(access)?;
        if !self.memory.is_fresh(access)? {
            self.refresh(access)?;
        }
        into.copy_from_slice(self.memory.bytes(access)?);
        self.memory.unwritten(access)
    }

    fn load_scalar(&mut self, address: u64, into: &mut [u8]) -> Step {
        let access = Access { address, size: into.len() as u64, write: false };
        match self.load(address, into)? {
            Some(unwritten) => Err(Box::new(FaultKind::Unwritten { access, of: unwritten.of })),
            None => Ok(()),
        }
    }

    fn undefine(&mut self, address: u64, marks: &[bool]) -> Step {
        self.memory.undefine(address, marks)
    }

    fn store(&mut self, address: u64, from: &[u8]) -> Step {
        let access = Access { address, size: from.len() as u64, write: true };
        private(access)?;
        // a copy that is stale must be fetched first: only some of its bytes are written
        if !self.memory.is_fresh(access)? {
            self.refresh(access)?;
        }
        self.memory.bytes(access)?.copy_from_slice(from);
        Ok(())
    }

    fn register(&mut self, register: Register) -> u64 {
        // a plain `fn` that host code calls sees a grid of one thread
        match register {
            Register::BlockDimX | Register::BlockDimY | Register::BlockDimZ => 1,
            Register::GridDimX | Register::GridDimY | Register::GridDimZ => 1,
            Register::WarpSize => 32,
            Register::Clock | Register::Clock64 | Register::GlobalTimer => {
                u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
            }
            _ => 0,
        }
    }

    fn global_address(&mut self, global: u32) -> Step<u64> {
        if let Some(Some(address)) = self.globals.get(global as usize) {
            return Ok(*address);
        }
        let program = self.program;
        let Some(variable) = program.globals.get(global as usize) else {
            return Err(Box::new(FaultKind::Unsupported("a variable that does not exist".to_owned())));
        };
        let (address, size) = self.device.global(&variable.symbol).map_err(|error| {
            let what = format!("finding the variable `{}` on the device", variable.name);
            Box::new(FaultKind::Cuda { what, error, because: "so there is no value to go on with" })
        })?;
        let (element, element_size) = variable.element.clone();
        let what = format!("the variable `{}`", variable.name);
        self.memory.add(Allocation { address, size, what, element, element_size, span: variable.span }, false);
        if let Some(known) = self.globals.get_mut(global as usize) {
            *known = Some(address);
        }
        Ok(address)
    }

    fn effect(&mut self, effect: &Effect, locals: &mut Locals<'_>, span: Span) -> Step<Flow> {
        match effect {
            Effect::Launch(launch) => self.launch(launch, locals, span)?,
            Effect::Runtime(call) => self.runtime(call, locals, span)?,
            Effect::Allocate(allocate) => self.allocate(allocate, locals, span)?,
            Effect::Printf { dst, format, args } => {
                self.text.clear();
                print::print(self.program, format, args, locals, &mut self.text);
                self.output.write_all(&self.text).map_err(|error| Box::new(FaultKind::Output(error.to_string())))?;
                locals.set_error(*dst, i32::try_from(args.len()).unwrap_or(i32::MAX));
            }
            Effect::Assert { text, format, args } => {
                let message = print::text(self.program, format, args, locals);
                return Err(Box::new(FaultKind::Assert { text: text.clone(), message }));
            }
            Effect::Atomic(atomic) => self.atomic(atomic, locals)?,
            Effect::Fence(_) => {}
            Effect::Barrier { op, .. } => return Err(needs_kernel(op.name())),
            Effect::Texture(access) => return Err(needs_kernel(access.op.name())),
            Effect::Warp { op, .. } => return Err(needs_kernel(op.name())),
        }
        Ok(Flow::Continue)
    }
}

fn needs_kernel(name: &str) -> Box<FaultKind> {
    Box::new(FaultKind::Unsupported(format!("`{name}` has a meaning in kernels only")))
}

fn private(access: Access) -> Step {
    match region(access.address) {
        Region::Shared(_) => Err(Box::new(FaultKind::Private { access, whose: "the shared memory of a block" })),
        _ => Ok(()),
    }
}
