//! What a device thread reaches beyond its own stack.

use super::block::{BlockState, ThreadState};
use super::graph::{Grid, Submission, Work};
use super::limits;
use super::machine::{Machine, Run};
use super::races::{Kind, Races, Subject, Where};
use crate::address::{Region, region, shared_base};
use crate::atomic;
use crate::code::{Atomic, Effect, Launch};
use crate::fault::{Access, Allocation, Fault, FaultKind, Step};
use crate::interp::locals::Locals;
use crate::interp::{Environment, Flow, read_bits, write_bits};
use crate::print;
use crate::program::Program;
use crate::trace::{Stream, Submitter};
use cdp_core::builtins::{MemoryScope, Register, STREAM_DEFAULT, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH};
use cdp_core::source::Span;
use cdp_core::types::Space;

/// One thread's surroundings during its turn.
pub(super) struct World<'a, const TRACK: bool> {
    pub machine: &'a mut Machine,
    pub program: &'a Program,
    pub run: &'a mut Run,
    pub block: &'a mut BlockState,
    pub me: &'a mut ThreadState,
    /// The step that it is at, where accesses are followed.
    pub site: u32,
    /// Steps of its turn that are not counted yet.
    pub uncounted: u64,
}

/// Where a device-side submission goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Null,
    Tail,
    FireAndForget,
    Named(u64),
}

impl<const TRACK: bool> World<'_, TRACK> {
    pub(super) fn memory(&mut self, access: Access) -> Step<&mut [u8]> {
        match region(access.address) {
            Region::Device => self.machine.memory.at(access),
            Region::Shared(number) if number == self.block.number => self.shared(access),
            Region::Shared(_) => Err(Box::new(FaultKind::Private { access, whose: "the shared memory of another block" })),
            Region::Local(_) => Err(Box::new(FaultKind::Private { access, whose: "the local memory of another thread" })),
        }
    }

    pub(super) fn place(&self) -> Where {
        Where { node: self.run.id, block: self.block.place, epoch: self.block.epoch, site: self.site }
    }

    /// Checks an access for races, where that is wanted.
    pub(super) fn track(&mut self, access: Access, kind: Kind) {
        if TRACK {
            let at = self.place();
            if let Some(races) = &mut self.machine.races {
                races.access(access, kind, at, &self.me.sync, &self.machine.graph);
                if kind.is_strong() {
                    races.atomic(access.address, access.write, &mut self.me.sync);
                }
            }
        }
    }

    fn read_memory(&mut self, address: u64, into: &mut [u8], kind: Kind) -> Step {
        let access = Access { address, size: into.len() as u64, write: false };
        into.copy_from_slice(self.memory(access)?);
        self.track(access, kind);
        Ok(())
    }

    fn write_memory(&mut self, address: u64, from: &[u8], kind: Kind) -> Step {
        let access = Access { address, size: from.len() as u64, write: true };
        let bytes = self.memory(access)?;
        if *bytes != *from {
            bytes.copy_from_slice(from);
            self.machine.changes += 1;
        }
        self.track(access, kind);
        Ok(())
    }

    fn shared(&mut self, access: Access) -> Step<&mut [u8]> {
        let start = (access.address & 0xffff_ffff) as usize;
        let size = self.block.shared.len() as u64;
        if let Some(bytes) = self.block.shared.get_mut(start..start.saturating_add(access.size as usize)) {
            if access.write {
                self.block.written.set(start as u64, access.size);
            }
            return Ok(bytes);
        }
        let span = self.program.code(self.run.grid.kernel).map_or_else(Span::default, |code| code.span);
        let near = Allocation {
            address: shared_base(self.block.number),
            size,
            what: "the block's shared memory".to_owned(),
            element: String::new(),
            element_size: 1,
            span,
        };
        Err(Box::new(FaultKind::OutOfBounds { access, near: Some(near) }))
    }

    /// Whether what is read was ever written. Where races are looked for, it is only noted: a write that nothing orders before the read may
    /// be what is missing, and then that is the mistake to report.
    pub(super) fn check_written(&mut self, access: Access) -> Step {
        match self.find_unwritten(access) {
            Err(kind) if TRACK => {
                let span = self.program.site(self.site);
                let mut fault = Fault::at(*kind, span);
                fault.thread = self.block.thread_name(self.program, self.run, self.me.index);
                self.machine.unwritten(self.run.id, self.site, fault);
                Ok(())
            }
            result => result,
        }
    }

    fn find_unwritten(&mut self, access: Access) -> Step {
        match region(access.address) {
            Region::Device => self.machine.memory.check_written(access),
            Region::Shared(number) if number == self.block.number => {
                let start = access.address & 0xffff_ffff;
                if start + access.size > self.block.shared.len() as u64 || self.block.written.all(start, access.size) {
                    return Ok(());
                }
                let span = self.program.code(self.run.grid.kernel).map_or_else(Span::default, |code| code.span);
                let (size, what) = (self.block.shared.len() as u64, "the block's shared memory".to_owned());
                let address = shared_base(self.block.number);
                let of = Allocation { address, size, what, element: String::new(), element_size: 1, span };
                Err(Box::new(FaultKind::Unwritten { access, of }))
            }
            _ => Ok(()),
        }
    }

    fn launch(&mut self, launch: &Launch, locals: &mut Locals<'_>, span: Span) -> Step {
        let program = self.program;
        let Some(kernel) = program.code(launch.kernel) else { return Ok(()) };
        let mut params = vec![0; kernel.params_size as usize];
        for (slot, offset) in &launch.args {
            let start = *offset as usize;
            if let (Some(into), Some(from)) =
                (params.get_mut(start..start + slot.size as usize), locals.bytes(slot.offset, slot.size))
            {
                into.copy_from_slice(from);
            }
        }
        for (offset, param) in &kernel.param_pointers {
            let space = match region(read_bits(&params, 8, *offset)) {
                Region::Device => continue,
                Region::Local(_) => "local",
                Region::Shared(_) => "shared",
            };
            let parameter = kernel.param_names.get(*param as usize).cloned().unwrap_or_default();
            return Err(Box::new(FaultKind::PrivateArgument { parameter, space }));
        }
        let target = match self.target(locals.u64(launch.stream))? {
            Target::Null | Target::Named(_) if launch.unordered => Target::FireAndForget,
            target => target,
        };
        let grid = Grid {
            kernel: launch.kernel,
            grid: launch.grid.map(|slot| locals.u32(slot)),
            block: launch.block.map(|slot| locals.u32(slot)),
            shared: locals.u32(launch.shared),
            params,
        };
        let mut error = self.machine.check_configuration(&grid);
        if error == 0 && self.machine.graph.pooled() >= self.machine.limits.pool {
            error = limits::PENDING_COUNT_EXCEEDED;
        }
        if error == 0 {
            self.submit(Work::Grid(grid), target, span);
        }
        let seen = (launch.dst, launch.observed);
        self.me.errors.result(seen, error, span, locals, || format!("launch of `{}`", kernel.name));
        Ok(())
    }

    /// The stream that a handle means; a handle of another grid or one that was destroyed is a fault (cdp2 rules R9, R23).
    pub(super) fn target(&mut self, handle: u64) -> Step<Target> {
        const NULL: u64 = STREAM_DEFAULT as u64;
        const TAIL: u64 = STREAM_TAIL_LAUNCH as u64;
        const FORGET: u64 = STREAM_FIRE_AND_FORGET as u64;
        match handle {
            NULL => return Ok(Target::Null),
            TAIL => return Ok(Target::Tail),
            FORGET => return Ok(Target::FireAndForget),
            _ => {}
        }
        let fault = |text, destroyed| Err(Box::new(FaultKind::Handle { text, destroyed }));
        match self.machine.streams.stream(handle) {
            None => fault("this is not a stream", None),
            Some(stream) if stream.owner.is_none() => fault("a stream of the host is used by a grid", None),
            Some(stream) if stream.owner != Some(self.run.id) => fault("this stream was made by another grid", None),
            Some(stream) if stream.destroyed.is_some() => fault("this stream was destroyed", stream.destroyed),
            Some(_) => {
                self.track_handle(handle, false, Subject::Stream);
                Ok(Target::Named(handle))
            }
        }
    }

    /// A use or change of a stream or event, where races are looked for.
    pub(super) fn track_handle(&mut self, handle: u64, change: bool, subject: Subject) {
        if TRACK {
            let at = self.place();
            if let Some(races) = &mut self.machine.races {
                races.handle(handle, change, subject, at, &self.me.sync, &self.machine.graph);
            }
        }
    }

    /// Memory that was given back.
    pub(super) fn track_freed(&mut self, was: &Allocation) {
        if TRACK {
            let at = self.place();
            if let Some(races) = &mut self.machine.races {
                races.freed(was, at, &self.me.sync, &self.machine.graph);
            }
        }
    }

    pub(super) fn submit(&mut self, work: Work, target: Target, span: Span) {
        let from = Some(Submitter { thread: self.me.index, block: self.block.index });
        let stream = match target {
            Target::Null => Stream::Null,
            Target::Tail => Stream::Tail,
            Target::FireAndForget => Stream::FireAndForget,
            Target::Named(handle) => Stream::Named(handle),
        };
        let at = self.place();
        let point = if TRACK { Some(Box::new(Races::launch(at, &mut self.me.sync))) } else { None };
        let submission = Submission {
            work,
            parent: Some(self.run.id),
            tail: target == Target::Tail,
            span,
            from,
            point,
            site: self.site,
            stream,
            now: self.machine.steps,
        };
        let graph = &mut self.machine.graph;
        match target {
            Target::Tail | Target::FireAndForget => {
                graph.submit(submission, &[]);
            }
            Target::Null => {
                let frontier = self.run.null.entry(self.block.linear).or_default();
                let node = graph.submit(submission, frontier);
                frontier.clear();
                frontier.push(node);
            }
            Target::Named(handle) => {
                let frontier = self.machine.streams.frontier(handle, graph);
                let node = graph.submit(submission, &frontier);
                self.machine.streams.advance(handle, node);
            }
        }
        let depth = self.machine.graph.depth(self.run.id);
        self.machine.submitted(depth);
    }

    fn atomic(&mut self, atomic: &Atomic, locals: &mut Locals<'_>) -> Step {
        let size = atomic::size(atomic);
        let access = Access { address: locals.u64(atomic.pointer), size: u64::from(size), write: true };
        if access.address & (u64::from(size) - 1) != 0 {
            return Err(Box::new(FaultKind::Misaligned { access, align: size }));
        }
        if crate::address::is_local(access.address) {
            return Err(Box::new(FaultKind::Private { access, whose: "local memory by an atomic operation" }));
        }
        let [value, desired] = atomic.operands.map(|operand| read_bits(locals.slots, size, operand));
        self.check_written(Access { write: false, ..access })?;
        let bytes = self.memory(access)?;
        let old = read_bits(bytes, size, 0);
        let new = atomic::apply(atomic, old, value, desired);
        write_bits(bytes, size, 0, new);
        self.machine.changes += u64::from(new != old);
        let is_block = atomic.scope == MemoryScope::Block;
        self.track(access, if is_block { Kind::BlockAtomic } else { Kind::Atomic });
        if let Some(dst) = atomic.dst {
            write_bits(locals.slots, size, dst, old);
        }
        Ok(())
    }

    /// Reads or writes through a pointer that a runtime call was given, which may be to a local.
    pub(super) fn write(&mut self, address: u64, from: &[u8], locals: &mut Locals<'_>) -> Step {
        if crate::address::is_local(address) {
            return locals.store(address, from);
        }
        self.store(address, from)
    }
}

impl<const TRACK: bool> Environment for World<'_, TRACK> {
    const TRACKS: bool = TRACK;

    fn at(&mut self, site: u32) {
        self.site = site;
    }

    fn left(&mut self, steps: u64) {
        let taken = self.uncounted.saturating_sub(steps);
        self.uncounted = steps;
        self.machine.steps += taken;
    }

    fn load(&mut self, address: u64, into: &mut [u8]) -> Step {
        self.read_memory(address, into, Kind::Read)
    }

    // PTX ISA, "ld": a volatile access is a relaxed one of the whole system
    fn load_volatile(&mut self, address: u64, into: &mut [u8], scalar: bool) -> Step {
        self.read_memory(address, into, Kind::VolatileRead)?;
        if scalar { self.check_written(Access { address, size: into.len() as u64, write: false }) } else { Ok(()) }
    }

    fn store_volatile(&mut self, address: u64, from: &[u8]) -> Step {
        self.write_memory(address, from, Kind::VolatileWrite)
    }

    fn load_array<const N: usize>(&mut self, address: u64) -> Step<[u8; N]> {
        let mut bytes = [0; N];
        self.load(address, &mut bytes)?;
        // scalars only: aggregates have padding, which nobody writes
        self.check_written(Access { address, size: N as u64, write: false })?;
        Ok(bytes)
    }

    fn store(&mut self, address: u64, from: &[u8]) -> Step {
        self.write_memory(address, from, Kind::Write)
    }

    fn register(&mut self, register: Register) -> u64 {
        let [thread_x, thread_y, thread_z] = self.me.index;
        let [block_x, block_y, block_z] = self.block.index;
        let [width, height, depth] = self.run.grid.block;
        let [grid_x, grid_y, grid_z] = self.run.grid.grid;
        u64::from(match register {
            Register::ThreadIdxX => thread_x,
            Register::ThreadIdxY => thread_y,
            Register::ThreadIdxZ => thread_z,
            Register::BlockIdxX => block_x,
            Register::BlockIdxY => block_y,
            Register::BlockIdxZ => block_z,
            Register::BlockDimX => width,
            Register::BlockDimY => height,
            Register::BlockDimZ => depth,
            Register::GridDimX => grid_x,
            Register::GridDimY => grid_y,
            Register::GridDimZ => grid_z,
            Register::WarpSize => super::block::WARP as u32,
            Register::LaneId => self.me.lane,
            // numbers of nodes grow from 0
            Register::GridId => return u64::from(self.run.id.0) + 1,
            // time is steps; reading the clock takes one
            Register::Clock | Register::Clock64 | Register::GlobalTimer => {
                self.machine.steps += 1;
                return self.machine.steps;
            }
        })
    }

    fn global_address(&mut self, global: u32) -> Step<u64> {
        let space = self.program.globals.get(global as usize).map_or(Space::Global, |variable| variable.space);
        if space == Space::Shared {
            let offset = self.run.kernel.shared.get(&global).copied().unwrap_or(0);
            return Ok(shared_base(self.block.number) + offset);
        }
        Ok(self.machine.globals.get(global as usize).copied().unwrap_or(0))
    }

    fn effect(&mut self, effect: &Effect, locals: &mut Locals<'_>, span: Span) -> Step<Flow> {
        match effect {
            Effect::Atomic(atomic) => self.atomic(atomic, locals)?,
            Effect::Launch(launch) => self.launch(launch, locals, span)?,
            Effect::Runtime(call) => self.runtime(call, locals, span)?,
            Effect::Texture(access) => self.texture(access, locals)?,
            Effect::Printf { dst, format, args } => {
                print::print(self.program, format, args, locals, &mut self.machine.output);
                locals.set_error(*dst, i32::try_from(args.len()).unwrap_or(i32::MAX));
            }
            Effect::Assert { text, format, args } => {
                let message = print::text(self.program, format, args, locals);
                return Err(Box::new(FaultKind::Assert { text: text.clone(), message }));
            }
            // threads run one at a time, in order: there is nothing to wait for
            Effect::Fence(scope) => {
                if TRACK {
                    let at = self.place();
                    Races::fence(*scope, at, &mut self.me.sync);
                }
            }
            Effect::Barrier { .. } | Effect::Warp { .. } => return Ok(Flow::Wait),
            Effect::Allocate(_) => {
                return Err(Box::new(FaultKind::Unsupported("`device` exists in host code only".to_owned())));
            }
        }
        // a grid that ran within a launch may have failed: then nothing goes on
        Ok(if self.machine.error == 0 { Flow::Continue } else { Flow::Abandon })
    }
}
