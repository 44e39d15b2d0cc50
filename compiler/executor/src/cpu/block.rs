//! One thread block: its threads in turn, warps, barriers.
//!
//! A thread runs until it ends, waits, or has had its turn, then the next one does; so the same program runs the same way every time. In one
//! round every thread gets a turn; between rounds other blocks may have theirs. A warp operation is carried out when every thread that its mask names has come to it, a barrier when every thread of the block has.

use super::cluster::Peers;
use super::graph::Graph;
use super::machine::{Machine, Run, triple};
use super::races::{Races, Sync, Where};
use super::schedule::Schedule;
use super::warp;
use super::world::World;
use crate::address::shared_base;
use crate::code::{Effect, Slot};
use crate::fault::{Access, Allocation, Fault, FaultKind, Step};
use crate::interp::{self, Environment as _, StackLimits, Stop, Thread, read_bits, write_bits};
use crate::last_error::LastError;
use crate::program::Program;
use crate::written::Written;
use cdp_core::builtins::BarrierOp;
use cdp_core::source::Span;

/// Threads of a warp.
pub(super) const WARP: usize = 32;

/// Steps of one turn: long enough to cost nothing, short enough that a thread that waits for another by looking at memory goes on soon.
const TURN: u64 = 50_000;

/// The most steps of a turn that is drawn: short, so that threads get in between each other's statements.
const DRAWN_TURN: u64 = 100;

/// Deeper recursion than this does not end.
const STACK: StackLimits = StackLimits { calls: 20_000, bytes: 16 << 20 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Runnable,
    /// At a warp operation.
    InWarp,
    /// At a barrier of the block.
    AtBarrier,
    /// At the barrier of the cluster, which it waits for.
    InCluster,
    Ended,
}

/// What a thread has besides its stack.
#[derive(Clone, Debug)]
pub(super) struct ThreadState {
    pub index: [u32; 3],
    pub lane: u32,
    pub status: Status,
    /// How often it has arrived at the barrier of its cluster, and how often it has waited there.
    pub arrived: u32,
    pub waited: u32,
    /// Errors of its calls.
    pub errors: LastError,
    /// Whether it goes round in a loop.
    pub spin: Spin,
    /// What it knows of other threads, where races are looked for.
    pub sync: Sync,
}

/// Finds out whether a thread comes back to the same state again and again (Brent's algorithm, turn by turn).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spin {
    turns: u64,
    /// A state that it was in, and how often memory had been changed then.
    seen: (u64, u64),
    /// It came back to that state; how often memory had been changed, then as before.
    back: Option<u64>,
    /// How many of its steps ago memory was last changed by anybody, and how often it was changed until then.
    quiet: (u64, u64),
}

impl Spin {
    /// For how many of the thread's own steps memory has not been changed.
    const fn quiet_steps(self, changes: u64) -> u64 {
        if self.quiet.1 == changes { self.quiet.0 } else { 0 }
    }

    /// A turn of so many steps has ended before the thread had to wait.
    fn turn(&mut self, state: u64, changes: u64, steps: u64) {
        self.back = (self.turns > 0 && self.seen == (state, changes)).then_some(changes);
        self.quiet = if self.quiet.1 == changes { (self.quiet.0 + steps, changes) } else { (0, changes) };
        self.turns += 1;
        if self.turns.is_power_of_two() {
            self.seen = (state, changes);
        }
    }
}

/// What the threads of a block share.
#[derive(Debug, Default)]
pub(super) struct BlockState {
    pub index: [u32; 3],
    /// Its place in the grid.
    pub linear: u32,
    /// Distinguishes its shared memory from other blocks'.
    pub number: u32,
    pub shared: Vec<u8>,
    /// Which bytes of it have a value.
    pub written: Written,
    /// Its place among the blocks that races are looked for in.
    pub place: u32,
    /// Barriers that it has passed.
    pub epoch: u32,
    /// Its place in its cluster.
    pub rank: u32,
    /// The places of the first and the last block of its cluster.
    pub cluster: (u32, u32),
}

impl BlockState {
    /// Some bytes of its shared memory; `span` is the kernel's name.
    pub(super) fn shared_bytes(&mut self, access: Access, span: Span) -> Step<&mut [u8]> {
        let start = (access.address & 0xffff_ffff) as usize;
        let memory = self.shared_memory(span);
        match self.shared.get_mut(start..start.saturating_add(access.size as usize)) {
            Some(bytes) => {
                if access.write {
                    self.written.set(start as u64, access.size);
                }
                Ok(bytes)
            }
            None => Err(Box::new(FaultKind::OutOfBounds { access, near: Some(memory) })),
        }
    }

    /// Its shared memory, for messages.
    pub(super) fn shared_memory(&self, span: Span) -> Allocation {
        Allocation {
            address: shared_base(self.number),
            size: self.shared.len() as u64,
            what: "the block's shared memory".to_owned(),
            element: String::new(),
            element_size: 1,
            span,
        }
    }

    /// One of its threads, for messages.
    pub(super) fn thread_name(&self, program: &Program, run: &Run, thread: [u32; 3]) -> String {
        let kernel = program.code(run.grid.kernel).map_or("", |code| code.name.as_str());
        format!("thread {} of block {} of `{kernel}`", triple(thread), triple(self.index))
    }
}

/// A block that has started, with the memory of its threads.
#[derive(Debug, Default)]
pub(super) struct Resident {
    state: BlockState,
    /// Those of the block, and more that may be used again.
    threads: Vec<Thread>,
    states: Vec<ThreadState>,
}

/// What became of a block in one round of turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Ended,
    GoesOn,
    /// No thread goes on before another block of the cluster does something.
    Waits,
    /// Every thread that could go on only comes back to where it was.
    Spins,
}

impl Resident {
    /// Starts a block of a grid; what was here before has ended.
    pub(super) fn start(&mut self, machine: &mut Machine, program: &Program, run: &Run, index: [u32; 3], rank: u32) {
        let [width, height, depth] = run.grid.block;
        let count = width as usize * height as usize * depth as usize;
        machine.blocks = machine.blocks.wrapping_add(1) & 0x3fff_ffff;
        let [x, y, z] = index;
        let [grid_width, grid_height, _] = run.grid.grid;
        let shared = usize::try_from(run.kernel.static_size + u64::from(run.grid.shared)).unwrap_or(0);
        let first = machine.thread_number + 1;
        let state = &mut self.state;
        state.index = index;
        state.linear = (z.wrapping_mul(grid_height).wrapping_add(y)).wrapping_mul(grid_width).wrapping_add(x);
        state.number = machine.blocks;
        state.shared.clear();
        state.shared.resize(shared, 0);
        state.written.reset(shared as u64);
        state.place = match &mut machine.races {
            Some(races) => races.start_block(first, count as u32, run.id, index),
            None => 0,
        };
        state.epoch = 0;
        state.rank = rank;
        state.cluster = (state.place, state.place);
        self.states.clear();
        let mut lane = 0;
        let mut thread = first;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    self.states.push(ThreadState {
                        index: [x, y, z],
                        lane,
                        status: Status::Runnable,
                        arrived: 0,
                        waited: 0,
                        errors: LastError::default(),
                        spin: Spin::default(),
                        sync: Sync::new(thread, thread - lane),
                    });
                    thread += 1;
                    lane = (lane + 1) % WARP as u32;
                }
            }
        }
        if self.threads.len() < count {
            self.threads.resize_with(count, Thread::default);
        }
        let Some(code) = program.code(run.grid.kernel) else { return };
        for thread in self.threads.iter_mut().take(count) {
            // number 0 is the host
            machine.thread_number = machine.thread_number.wrapping_add(1);
            thread.start(program, run.grid.kernel, machine.thread_number);
            let mut locals = thread.locals();
            for (Slot { offset, size }, from) in code.params.iter().zip(&code.param_offsets) {
                let start = *from as usize;
                if let (Some(into), Some(bytes)) =
                    (locals.bytes_mut(*offset, *size), run.grid.params.get(start..start + *size as usize))
                {
                    into.copy_from_slice(bytes);
                }
                if let Some(undefined) = &run.grid.undefined
                    && let Some(marked) = undefined.bytes.get(start..start + *size as usize)
                {
                    let mark = locals.shadow.origin(undefined.origin.clone());
                    locals.mark(*offset, marked, mark);
                }
            }
        }
    }

    fn block<'a>(
        &'a mut self,
        machine: &'a mut Machine,
        program: &'a Program,
        run: &'a mut Run,
        peers: Peers<'a>,
    ) -> Block<'a> {
        let threads = self.threads.get_mut(..self.states.len()).unwrap_or_default();
        Block { machine, program, run, peers, state: &mut self.state, threads, states: &mut self.states }
    }

    pub(super) const fn state(&self) -> &BlockState {
        &self.state
    }

    pub(super) const fn state_mut(&mut self) -> &mut BlockState {
        &mut self.state
    }

    /// Its place among the blocks that races are looked for in.
    pub(super) const fn place(&self) -> u32 {
        self.state.place
    }

    /// The places of the first and the last block of its cluster.
    pub(super) const fn set_cluster(&mut self, places: (u32, u32)) {
        self.state.cluster = places;
    }

    /// Whether all its threads have ended.
    pub(super) fn has_ended(&self) -> bool {
        self.states.iter().all(|state| state.status == Status::Ended)
    }

    /// Whether no thread of it goes on before another block of the cluster does something.
    pub(super) fn waits_for_others(&self) -> bool {
        self.states.iter().any(|state| state.status == Status::InCluster)
            && !self.states.iter().any(|state| state.status == Status::Runnable)
    }

    /// Whether all threads have arrived at a phase of the cluster's barrier, the first being 0, or have ended.
    fn has_arrived(&self, phase: u32) -> bool {
        have_arrived(&self.states, phase)
    }

    /// Gives every thread that can go on a turn, or lets all through a barrier.
    pub(super) fn round(
        &mut self,
        machine: &mut Machine,
        program: &Program,
        run: &mut Run,
        peers: Peers<'_>,
    ) -> Result<Round, Box<Fault>> {
        self.block(machine, program, run, peers).round()
    }

    /// A fault when every thread that could go on only comes back to where it was, and nobody changes memory.
    pub(super) fn spins(
        &mut self,
        machine: &mut Machine,
        program: &Program,
        run: &mut Run,
        peers: Peers<'_>,
    ) -> Option<Box<Fault>> {
        self.block(machine, program, run, peers).spins()
    }

    /// A fault of a thread that waits for the cluster, when all blocks of it wait.
    pub(super) fn in_vain(
        &mut self,
        machine: &mut Machine,
        program: &Program,
        run: &mut Run,
        peers: Peers<'_>,
    ) -> Option<Box<Fault>> {
        self.block(machine, program, run, peers).in_vain()
    }

    /// The block has ended: what other blocks did to its shared memory must come before that.
    pub(super) fn leave(&self, races: &mut Races, run: &Run, graph: &Graph) {
        let memory = (shared_base(self.state.number), self.state.shared.len() as u64);
        let at = Where { node: run.id, block: self.state.place, cluster: self.state.cluster, epoch: self.state.epoch, site: 0 };
        races.leave(memory, at, self.states.iter().map(|state| &state.sync), graph);
    }

    /// The block has ended: its shared memory is gone.
    pub(super) fn end(&self, machine: &mut Machine) {
        if let Some(races) = &mut machine.races {
            races.forget(shared_base(self.state.number), self.state.shared.len() as u64);
        }
    }
}

struct Block<'a> {
    machine: &'a mut Machine,
    program: &'a Program,
    run: &'a mut Run,
    peers: Peers<'a>,
    state: &'a mut BlockState,
    threads: &'a mut [Thread],
    states: &'a mut [ThreadState],
}

impl Block<'_> {
    fn round(&mut self) -> Result<Round, Box<Fault>> {
        let count = self.threads.len();
        // blocks may be so short that no turn of theirs is ever cut
        if self.machine.control.as_ref().is_some_and(|control| control.is_stopped())
            && let Some(thread) = self.threads.first()
        {
            return Err(self.named(0, thread.fault(self.program, FaultKind::Stopped)));
        }
        let mut runnable = false;
        let warps = count.div_ceil(WARP) as u64;
        let order = self.machine.order(warps);
        for place in 0..warps {
            let first = order.at(place) as usize * WARP;
            runnable |= self.warp(first, (first + WARP).min(count))?;
            if self.machine.error != 0 {
                return Ok(Round::Ended);
            }
        }
        let waits = self.states.iter().any(|state| state.status == Status::InCluster);
        if waits && self.cluster_barrier() {
            return Ok(Round::GoesOn);
        }
        if runnable {
            return Ok(if self.spins().is_some() { Round::Spins } else { Round::GoesOn });
        }
        if self.states.iter().all(|state| state.status == Status::Ended) {
            return Ok(Round::Ended);
        }
        if waits {
            return Ok(Round::Waits);
        }
        self.barrier()?;
        Ok(Round::GoesOn)
    }

    /// Lets threads through the barrier of the cluster, if all others have arrived; whether one went.
    fn cluster_barrier(&mut self) -> bool {
        let at = self.place();
        let mut went = false;
        // threads may wait for two phases: that of those that come late is complete
        let mut known: Option<(u32, bool)> = None;
        for index in 0..self.states.len() {
            let Some(phase) =
                self.states.get(index).filter(|state| state.status == Status::InCluster).map(|state| state.waited)
            else {
                continue;
            };
            let complete = match known {
                Some((of, complete)) if of == phase => complete,
                _ => have_arrived(self.states, phase) && self.peers.iter().all(|peer| peer.has_arrived(phase)),
            };
            known = Some((phase, complete));
            if !complete {
                continue;
            }
            let Some(state) = self.states.get_mut(index) else { continue };
            state.waited += 1;
            state.status = Status::Runnable;
            if let Some(races) = &mut self.machine.races {
                races.waited_for(at, phase, &mut state.sync);
            }
            went = true;
        }
        // threads that look for something of others may find it now
        self.machine.changes += u64::from(went);
        went
    }

    fn place(&self) -> Where {
        Where { node: self.run.id, block: self.state.place, cluster: self.state.cluster, epoch: self.state.epoch, site: 0 }
    }

    /// Of a thread that waits for the cluster in vain: who does not arrive.
    fn in_vain(&self) -> Option<Box<Fault>> {
        let index = self.states.iter().position(|state| state.status == Status::InCluster)?;
        let phase = self.states.get(index)?.waited;
        let mut names = Vec::new();
        let mut more = 0;
        let own = (self.state.index, &*self.states, &*self.threads);
        let others = self.peers.iter().map(|peer| (peer.state.index, peer.states.as_slice(), peer.threads.as_slice()));
        for (block, states, threads) in std::iter::once(own).chain(others) {
            for (state, thread) in states.iter().zip(threads).filter(|(state, _)| !has_arrived(state, phase)) {
                if names.len() == 3 {
                    more += 1;
                    continue;
                }
                let at = name_of(thread.waiting(self.program).map(|(effect, _)| effect));
                names.push(format!("thread {} of block {}, which waits at `{at}`", triple(state.index), triple(block)));
            }
        }
        if more > 0 {
            names.push(format!("{more} more"));
        }
        Some(self.stuck(index, BarrierOp::ClusterWait.name(), names.join("; ")))
    }

    fn spins(&self) -> Option<Box<Fault>> {
        let mut runnable = self.states.iter().enumerate().filter(|(_, state)| state.status == Status::Runnable);
        let (first, _) = runnable.clone().next()?;
        let spins = runnable.all(|(_, state)| state.spin.back == Some(self.machine.changes));
        let thread = self.threads.get(first).filter(|_| spins)?;
        Some(self.named(first, thread.fault(self.program, FaultKind::Spin)))
    }

    /// Runs a warp as far as it gets; whether a thread could still go on.
    fn warp(&mut self, first: usize, end: usize) -> Result<bool, Box<Fault>> {
        loop {
            let mut runnable = false;
            let mut in_warp = false;
            let order = self.machine.order((end - first) as u64);
            for place in 0..(end - first) as u64 {
                let index = first + order.at(place) as usize;
                if self.status(index) == Status::Runnable {
                    self.turn(index)?;
                    if self.machine.error != 0 {
                        return Ok(false);
                    }
                }
                runnable |= self.status(index) == Status::Runnable;
                in_warp |= self.status(index) == Status::InWarp;
            }
            if !in_warp || !self.warp_operation(first, end, runnable)? {
                return Ok(runnable);
            }
        }
    }

    fn status(&self, index: usize) -> Status {
        self.states.get(index).map_or(Status::Ended, |state| state.status)
    }

    /// One thread's turn.
    fn turn(&mut self, index: usize) -> Result<(), Box<Fault>> {
        let (Some(thread), Some(me)) = (self.threads.get_mut(index), self.states.get_mut(index)) else { return Ok(()) };
        let left = self.machine.max_steps.map_or(u64::MAX, |most| most.saturating_sub(self.machine.steps));
        let turn = match self.machine.schedule {
            Schedule::Random { .. } => 1 + self.machine.draw.below(DRAWN_TURN),
            Schedule::Late | Schedule::Eager => TURN,
        };
        let turn = turn.min(left);
        let mut steps = turn;
        let program = self.program;
        macro_rules! run {
            ($track:literal) => {{
                let (machine, run, block) = (&mut *self.machine, &mut *self.run, &mut *self.state);
                let peers = self.peers.reborrow();
                let mut world = World::<$track> { machine, program, run, peers, block, me, site: 0, uncounted: turn };
                let stop = interp::run(program, thread, &mut world, STACK, &mut steps);
                world.left(steps);
                stop
            }};
        }
        let stop = if self.machine.races.is_some() { run!(true) } else { run!(false) };
        let stopped = self.machine.control.as_ref().is_some_and(|control| {
            control.add_steps(turn - steps);
            control.is_stopped()
        });
        let stop = match stop {
            Ok(stop) => stop,
            Err(fault) => {
                self.machine.quiet = me.spin.quiet_steps(self.machine.changes);
                return Err(self.named(index, fault));
            }
        };
        if stopped || left <= turn {
            self.machine.quiet = me.spin.quiet_steps(self.machine.changes);
        }
        let status = match stop {
            Stop::Ended | Stop::Abandoned => Status::Ended,
            Stop::OutOfSteps | Stop::Waits if stopped => {
                let fault = thread.fault(self.program, FaultKind::Stopped);
                return Err(self.named(index, fault));
            }
            Stop::OutOfSteps if left <= turn => {
                let fault = thread.fault(self.program, FaultKind::Steps(self.machine.max_steps.unwrap_or(0)));
                return Err(self.named(index, fault));
            }
            Stop::OutOfSteps => {
                me.spin.turn(thread.state(), self.machine.changes, turn - steps);
                Status::Runnable
            }
            Stop::Waits => match thread.waiting(self.program) {
                Some((Effect::Barrier { op: BarrierOp::ClusterWait, .. }, _)) => Status::InCluster,
                Some((Effect::Barrier { op, .. }, _)) if *op != BarrierOp::Warp => Status::AtBarrier,
                _ => Status::InWarp,
            },
        };
        let unseen = if status == Status::Ended { std::mem::take(&mut me.errors.unseen) } else { Vec::new() };
        me.status = status;
        for fault in unseen {
            let fault = self.named(index, Box::new(fault));
            self.machine.unseen(self.run.id, *fault);
        }
        Ok(())
    }

    /// A fault with the thread's name.
    fn named(&self, index: usize, mut fault: Box<Fault>) -> Box<Fault> {
        let thread = self.states.get(index).map_or([0; 3], |state| state.index);
        fault.thread = self.state.thread_name(self.program, self.run, thread);
        fault
    }

    /// Carries out one warp operation, if one can be; whether one was.
    fn warp_operation(&mut self, first: usize, end: usize, runnable: bool) -> Result<bool, Box<Fault>> {
        let mut waiting = Vec::new();
        for index in first..end {
            if self.status(index) == Status::InWarp
                && let Some(thread) = self.threads.get_mut(index)
                && let Some((effect, _)) = thread.waiting(self.program)
            {
                let position = thread.position();
                waiting.push(warp::Waiting::new(index - first, effect, position, &thread.locals()));
            }
        }
        let alive = (first..end)
            .filter(|index| self.status(*index) != Status::Ended)
            .fold(0u32, |mask, index| mask | 1 << (index - first));
        for candidate in &waiting {
            let members = match candidate.members(&waiting, alive, runnable) {
                Ok(members) => members,
                Err(missing) => {
                    let index = first + candidate.lane;
                    return Err(self.stuck(index, candidate.name(), missing));
                }
            };
            let Some(members) = members else { continue };
            let group: Vec<&warp::Waiting<'_>> = waiting.iter().filter(|other| members & (1 << other.lane) != 0).collect();
            if let Some((lane, shuffle, width)) = group.iter().find_map(|me| Some((me.lane, me.name(), me.wrong_width()?))) {
                return Err(self.fault_of(first + lane, FaultKind::Width { shuffle, width }));
            }
            for (lane, dst, size, value) in warp::results(&group, members) {
                if let (Some(thread), Some(dst)) = (self.threads.get_mut(first + lane), dst) {
                    write_bits(thread.locals().slots, size, dst, value);
                }
            }
            let orders_memory = candidate.orders_memory();
            let mut synced = Vec::new();
            for (lane, state) in self.states.iter_mut().skip(first).take(WARP).enumerate() {
                if members & (1 << lane) != 0 {
                    state.status = Status::Runnable;
                    synced.push(&mut state.sync);
                }
            }
            if orders_memory && self.machine.races.is_some() {
                Races::sync_warp(&mut synced);
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// A fault of a thread that waits in vain.
    fn stuck(&self, index: usize, barrier: &'static str, missing: String) -> Box<Fault> {
        self.stuck_beside(index, barrier, missing, None)
    }

    /// A fault of a thread that waits in vain, because others wait at another place.
    fn stuck_beside(&self, index: usize, barrier: &'static str, missing: String, other: Option<Span>) -> Box<Fault> {
        self.fault_of(index, FaultKind::Barrier { barrier, missing, other })
    }

    /// A fault of a thread where it stands.
    fn fault_of(&self, index: usize, kind: FaultKind) -> Box<Fault> {
        let fault = self.threads.get(index).map_or_else(
            || Box::new(Fault::at(FaultKind::Unsupported(String::new()), Span::default())),
            |thread| thread.fault(self.program, kind),
        );
        self.named(index, fault)
    }

    /// Every thread waits: lets them through the barrier that all are at, or says who is missing.
    fn barrier(&mut self) -> Result<(), Box<Fault>> {
        let count = self.threads.len();
        let Some(first) = (0..count).find(|index| self.status(*index) != Status::Ended) else { return Ok(()) };
        let mut holds = 0u32;
        let mut wanted = None;
        for index in 0..count {
            let effect = self.threads.get(index).and_then(|thread| thread.waiting(self.program)).map(|(effect, _)| effect);
            let Some(Effect::Barrier { op, operand, .. }) = effect.filter(|_| self.status(index) == Status::AtBarrier) else {
                let (who, barrier) = if self.status(index) == Status::InWarp {
                    (index, self.waits_at(index))
                } else {
                    (first, self.waits_at(first))
                };
                return Err(self.stuck(who, barrier, self.missing(who)));
            };
            let (Some(thread), Some(one)) = (self.threads.get(index), self.threads.get(first)) else { continue };
            // the same operation at another place is another barrier
            if wanted.is_some_and(|wanted| wanted != *op) || !thread.is_where(one, self.program) {
                let missing = format!("threads that wait at another `{}`", op.name());
                let other = thread.waiting(self.program).map(|(_, span)| span);
                return Err(self.stuck_beside(first, self.waits_at(first), missing, other));
            }
            wanted = Some(*op);
            if let (Some(slot), Some(thread)) = (operand, self.threads.get_mut(index)) {
                holds += u32::from(read_bits(thread.locals().slots, slot.size, slot.offset) != 0);
            }
        }
        if self.machine.races.is_some() {
            Races::barrier(self.states.iter_mut().map(|state| &mut state.sync));
        }
        self.state.epoch += 1;
        let result = match wanted {
            Some(BarrierOp::BlockAnd) => u32::from(holds as usize == count),
            Some(BarrierOp::BlockOr) => u32::from(holds > 0),
            _ => holds,
        };
        let size = if wanted == Some(BarrierOp::BlockCount) { 4 } else { 1 };
        for (thread, state) in self.threads.iter_mut().zip(&mut *self.states) {
            let dst = match thread.waiting(self.program) {
                Some((Effect::Barrier { dst, .. }, _)) => *dst,
                _ => None,
            };
            if let Some(dst) = dst {
                write_bits(thread.locals().slots, size, dst, u64::from(result));
            }
            state.status = Status::Runnable;
        }
        Ok(())
    }

    fn waits_at(&self, index: usize) -> &'static str {
        name_of(self.threads.get(index).and_then(|thread| thread.waiting(self.program)).map(|(effect, _)| effect))
    }

    /// Who does not come to the barrier that a thread waits at.
    fn missing(&self, index: usize) -> String {
        let barrier = self.waits_at(index);
        let in_warp = self.status(index) == Status::InWarp;
        let warp = index / WARP;
        let mut names = Vec::new();
        let mut more = 0;
        for (other, state) in self.states.iter().enumerate() {
            let concerned = !in_warp || other / WARP == warp;
            if !concerned || (state.status != Status::Ended && self.waits_at(other) == barrier) {
                continue;
            }
            if names.len() == 3 {
                more += 1;
                continue;
            }
            let why = if state.status == Status::Ended {
                "which has ended".to_owned()
            } else {
                format!("which waits at `{}`", self.waits_at(other))
            };
            names.push(format!("thread {}, {why}", triple(state.index)));
        }
        if more > 0 {
            names.push(format!("{more} more"));
        }
        if names.is_empty() { "threads that its mask names otherwise".to_owned() } else { names.join("; ") }
    }
}

/// What a thread waits at.
fn name_of(effect: Option<&Effect>) -> &'static str {
    match effect {
        Some(Effect::Barrier { op, .. }) => op.name(),
        Some(Effect::Warp { op, .. }) => op.name(),
        _ => "a barrier",
    }
}

fn has_arrived(state: &ThreadState, phase: u32) -> bool {
    state.status == Status::Ended || state.arrived > phase
}

/// Whether all threads have arrived at a phase of their cluster's barrier, or have ended: "all non-exited threads" (PTX ISA,
/// `barrier.cluster`; the same on an H200).
fn have_arrived(states: &[ThreadState], phase: u32) -> bool {
    states.iter().all(|state| has_arrived(state, phase))
}
