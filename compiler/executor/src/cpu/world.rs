//! What a device thread reaches beyond its own stack.

use super::block::{BlockState, Resident, ThreadState};
use super::cluster::Peers;
use super::graph::{Grid, NodeId, Submission, Work};
use super::limits;
use super::machine::{Machine, Run, triple};
use super::races::{Kind, Races, Subject, Where};
use crate::address::{Region, region, shared_base};
use crate::atomic;
use crate::code::{Atomic, Effect, Launch};
use crate::fault::{Access, Allocation, Fault, FaultKind, Step};
use crate::interp::locals::Locals;
use crate::interp::{Environment, Flow, read_bits, write_bits};
use crate::passed;
use crate::print;
use crate::program::Program;
use crate::trace::{Stream, Submitter};
use crate::written::Unwritten;
use cdp_core::builtins::{BarrierOp, Cdp, MemoryScope, Register, STREAM_DEFAULT, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH};
use cdp_core::source::Span;
use cdp_core::types::Space;

/// One thread's surroundings during its turn.
pub(super) struct World<'a, const TRACK: bool> {
    pub machine: &'a mut Machine,
    pub program: &'a Program,
    pub run: &'a mut Run,
    /// The other blocks of the cluster.
    pub peers: Peers<'a>,
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
            Region::Shared(number) => self.remote(number, access),
            Region::Local(_) => Err(Box::new(FaultKind::Private { access, whose: "the local memory of another thread" })),
        }
    }

    pub(super) fn place(&self) -> Where {
        Where {
            node: self.run.id,
            block: self.block.place,
            cluster: self.block.cluster,
            epoch: self.block.epoch,
            site: self.site,
        }
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
        let span = self.kernel_span();
        self.block.shared_bytes(access, span)
    }

    /// The shared memory of another block of the cluster, which must have started and must not have ended.
    fn remote(&mut self, number: u32, access: Access) -> Step<&mut [u8]> {
        let span = self.kernel_span();
        let Self { machine, peers, me, .. } = self;
        let Some(peer) = peers.iter_mut().find(|peer| peer.state().number == number) else {
            return Err(Box::new(FaultKind::Private { access, whose: "the shared memory of another block" }));
        };
        let has_ended = peer.has_ended();
        let starts = machine.races.as_ref().is_none_or(|races| races.knows_of(peer.place(), &me.sync));
        if has_ended || !starts {
            let block = triple(peer.state().index);
            return Err(Box::new(FaultKind::Absent { access, block, has_ended }));
        }
        peer.state_mut().shared_bytes(access, span)
    }

    fn kernel_span(&self) -> Span {
        self.program.code(self.run.grid.kernel).map_or_else(Span::default, |code| code.span)
    }

    /// The block's shared memory, for messages.
    fn shared_memory(&self) -> Allocation {
        self.block.shared_memory(self.kernel_span())
    }

    /// The shared variable that a byte is in, for messages.
    fn shared_variable(&self, offset: u64) -> Allocation {
        let all = self.shared_memory();
        let found = self.run.kernel.shared.iter().find_map(|(global, start)| {
            let variable = self.program.globals.get(*global as usize)?;
            let size = if variable.dynamic { all.size.saturating_sub(*start) } else { variable.size };
            (offset.checked_sub(*start)? < size).then_some((variable, *start, size))
        });
        let Some((variable, start, size)) = found else { return all };
        let (element, element_size) = variable.element.clone();
        let what = format!("the shared variable `{}`", variable.name);
        Allocation { address: all.address + start, size, what, element, element_size, span: variable.span }
    }

    /// A fault unless the bytes of a read have a value.
    pub(super) fn check_written(&mut self, access: Access) -> Step {
        let unwritten = match region(access.address) {
            Region::Device => self.machine.memory.check_written(access).err(),
            Region::Shared(_) => {
                self.unwritten(access)?.map(|unwritten| Box::new(FaultKind::Unwritten { access, of: unwritten.of }))
            }
            Region::Local(_) => None,
        };
        match unwritten {
            Some(kind) => self.read_unwritten(*kind),
            None => Ok(()),
        }
    }

    /// A read of what was never written. Where races are looked for, it is only noted: a write that nothing orders before the read may be what
    /// is missing, and then that is the mistake to report.
    #[cold]
    fn read_unwritten(&mut self, kind: FaultKind) -> Step {
        if !TRACK {
            return Err(Box::new(kind));
        }
        let fault = Fault::at(kind, self.program.site(self.site));
        self.note_unwritten(fault, self.site);
        Ok(())
    }

    fn note_unwritten(&mut self, mut fault: Fault, site: u32) {
        fault.thread = self.block.thread_name(self.program, self.run, self.me.index);
        self.machine.unwritten(self.run.id, site, fault);
    }

    /// Those of a read's bytes that have no value, if there are any.
    pub(super) fn unwritten(&mut self, access: Access) -> Step<Option<Box<Unwritten>>> {
        match region(access.address) {
            Region::Device => self.machine.memory.unwritten(access),
            Region::Shared(number) if number == self.block.number => {
                let start = access.address & 0xffff_ffff;
                if start + access.size > self.block.shared.len() as u64 {
                    return Ok(None);
                }
                let missing = self.block.written.missing(start, access.size);
                Ok(missing.map(|bytes| Box::new(Unwritten { address: access.address, bytes, of: self.shared_variable(start) })))
            }
            Region::Shared(number) => {
                let peer = self.peers.iter().map(Resident::state).find(|peer| peer.number == number);
                let start = access.address & 0xffff_ffff;
                Ok(peer.and_then(|peer| {
                    let bytes = peer.written.missing(start, access.size)?;
                    Some(Box::new(Unwritten { address: access.address, bytes, of: peer.shared_memory(self.kernel_span()) }))
                }))
            }
            Region::Local(_) => Ok(None),
        }
    }

    /// The rank of the block that a number stands for, and its first shared byte.
    fn rank_of(&self, number: u32) -> Option<u32> {
        let own = (number == self.block.number).then_some(self.block.rank);
        own.or_else(|| self.peers.iter().map(Resident::state).find(|peer| peer.number == number).map(|peer| peer.rank))
    }

    fn cluster(&self) -> [u32; 3] {
        self.program.code(self.run.grid.kernel).and_then(|code| code.cluster).unwrap_or([1; 3])
    }

    fn cluster_register(&self, register: Register) -> u32 {
        let [width, height, depth] = self.cluster();
        let [x, y, z] = self.block.index;
        let [grid_x, grid_y, grid_z] = self.run.grid.grid;
        let specified = self.program.code(self.run.grid.kernel).is_some_and(|code| code.cluster.is_some());
        match register {
            Register::ClusterDimX => width,
            Register::ClusterDimY => height,
            Register::ClusterDimZ => depth,
            Register::ClusterIdxX => x / width.max(1),
            Register::ClusterIdxY => y / height.max(1),
            Register::ClusterIdxZ => z / depth.max(1),
            Register::ClusterBlockIdxX => x % width.max(1),
            Register::ClusterBlockIdxY => y % height.max(1),
            Register::ClusterBlockIdxZ => z % depth.max(1),
            Register::ClusterGridDimX => grid_x / width.max(1),
            Register::ClusterGridDimY => grid_y / height.max(1),
            Register::ClusterGridDimZ => grid_z / depth.max(1),
            Register::ClusterBlockRank => self.block.rank,
            Register::ClusterSize => width * height * depth,
            _ => u32::from(specified),
        }
    }

    /// One half of the barrier of the cluster.
    fn cluster_barrier(&mut self, op: BarrierOp) -> Step<Flow> {
        let waits = op == BarrierOp::ClusterWait;
        if (self.me.arrived > self.me.waited) != waits {
            return Err(Box::new(FaultKind::Turn { barrier: op.name(), has_arrived: !waits }));
        }
        if waits {
            return Ok(Flow::Wait);
        }
        self.me.arrived += 1;
        // others may go on now
        self.machine.changes += 1;
        if TRACK {
            let at = self.place();
            if let Some(races) = &mut self.machine.races {
                races.arrive(at, op == BarrierOp::ClusterArriveRelaxed, &mut self.me.sync);
            }
        }
        Ok(Flow::Continue)
    }

    fn launch(&mut self, launch: &Launch, locals: &mut Locals<'_>, span: Span) -> Step {
        let program = self.program;
        let Some(kernel) = program.code(launch.kernel) else { return Ok(()) };
        let mut params = Vec::new();
        let undefined = passed::gather(launch, kernel.params_size, &mut params, locals, span);
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
            undefined,
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
        let levels = u64::from(self.machine.graph.depth(self.run.id)) + 2;
        if error == 0 && self.machine.cdp() == Cdp::Cdp1 && levels > limits::MAX_DEPTH {
            error = limits::LAUNCH_MAX_DEPTH_EXCEEDED;
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
        let stream = self.machine.streams.stream(handle).map(|stream| (stream.owner, stream.destroyed));
        self.check_handle(handle, stream, false, Subject::Stream)?;
        Ok(Target::Named(handle))
    }

    /// A handle to be used or changed: `found` is the grid that made it, none for the host, and where it was destroyed, if it was.
    pub(super) fn check_handle(
        &mut self,
        handle: u64,
        found: Option<(Option<NodeId>, Option<Span>)>,
        change: bool,
        subject: Subject,
    ) -> Step {
        let is_event = matches!(subject, Subject::Event);
        let (a, this) = if is_event { ("an event", "this event") } else { ("a stream", "this stream") };
        let (text, destroyed) = match found {
            None => (format!("this is not {a}"), None),
            Some((None, _)) => (format!("{a} of the host is used by a grid"), None),
            Some((owner, _)) if owner != Some(self.run.id) => (format!("{this} was made by another grid"), None),
            Some((_, Some(destroyed))) => (format!("{this} was destroyed"), Some(destroyed)),
            Some((_, None)) => {
                self.track_handle(handle, change, subject);
                return Ok(());
            }
        };
        Err(Box::new(FaultKind::Handle { text, destroyed }))
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
        let node = match target {
            Target::Tail | Target::FireAndForget => graph.submit(submission, &[]),
            Target::Null => {
                let frontier = self.run.null.entry(self.block.linear).or_default();
                let node = graph.submit(submission, frontier);
                frontier.clear();
                frontier.push(node);
                node
            }
            Target::Named(handle) => {
                let frontier = self.machine.streams.frontier(handle, graph);
                let node = graph.submit(submission, &frontier);
                self.machine.streams.advance(handle, node);
                node
            }
        };
        if self.machine.cdp() == Cdp::Cdp1 {
            self.run.launched.entry(self.block.linear).or_default().push(node);
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

    fn load(&mut self, address: u64, into: &mut [u8]) -> Step<Option<Box<Unwritten>>> {
        self.read_memory(address, into, Kind::Read)?;
        self.unwritten(Access { address, size: into.len() as u64, write: false })
    }

    fn load_scalar(&mut self, address: u64, into: &mut [u8]) -> Step {
        self.read_memory(address, into, Kind::Read)?;
        self.check_written(Access { address, size: into.len() as u64, write: false })
    }

    // PTX ISA, "ld": a volatile access is a relaxed one of the whole system
    fn load_volatile(&mut self, address: u64, into: &mut [u8], scalar: bool) -> Step<Option<Box<Unwritten>>> {
        self.read_memory(address, into, Kind::VolatileRead)?;
        let access = Access { address, size: into.len() as u64, write: false };
        if scalar { self.check_written(access).map(|()| None) } else { self.unwritten(access) }
    }

    fn undefine(&mut self, address: u64, marks: &[bool]) -> Step {
        match region(address) {
            Region::Device => return self.machine.memory.undefine(address, marks),
            Region::Shared(number) if number != self.block.number => {
                if let Some(peer) = self.peers.iter_mut().find(|peer| peer.state().number == number) {
                    peer.state_mut().written.unset(address & 0xffff_ffff, marks);
                }
            }
            _ => self.block.written.unset(address & 0xffff_ffff, marks),
        }
        Ok(())
    }

    fn goes_on(&mut self, fault: &Fault, site: u32) -> bool {
        if TRACK {
            self.note_unwritten(fault.clone(), site);
        }
        TRACK
    }

    fn store_volatile(&mut self, address: u64, from: &[u8]) -> Step {
        self.write_memory(address, from, Kind::VolatileWrite)
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
            _ => self.cluster_register(register),
        })
    }

    fn map_shared_rank(&mut self, address: u64, rank: u32) -> Step<u64> {
        let blocks = self.cluster().iter().product();
        if !matches!(region(address), Region::Shared(number) if self.rank_of(number).is_some()) {
            return Err(Box::new(FaultKind::WrongSpace { space: Space::Shared.name(), address }));
        }
        let own = (rank == self.block.rank).then_some(self.block.number);
        let peer = || self.peers.iter().map(Resident::state).find(|peer| peer.rank == rank).map(|peer| peer.number);
        match own.or_else(peer) {
            Some(number) => Ok(shared_base(number) + (address & 0xffff_ffff)),
            None => Err(Box::new(FaultKind::Rank { rank, blocks })),
        }
    }

    fn shared_rank(&mut self, address: u64) -> Step<u32> {
        let rank = match region(address) {
            Region::Shared(number) => self.rank_of(number),
            _ => None,
        };
        rank.ok_or_else(|| Box::new(FaultKind::WrongSpace { space: Space::Shared.name(), address }))
    }

    fn is_own_shared(&self, block: u32) -> bool {
        block == self.block.number
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
            Effect::Barrier { op, .. } if op.is_of_cluster() => return self.cluster_barrier(*op),
            Effect::Barrier { .. } | Effect::Warp { .. } => return Ok(Flow::Wait),
            Effect::Allocate(_) => {
                return Err(Box::new(FaultKind::Unsupported("`device` exists in host code only".to_owned())));
            }
        }
        // a grid that ran within a launch may have failed: then nothing goes on
        Ok(if self.machine.error == 0 { Flow::Continue } else { Flow::Abandon })
    }
}
