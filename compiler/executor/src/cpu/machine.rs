//! The machine: memory, the graph of work, and running it.

use super::CpuOptions;
use super::block::{Resident, Round};
use super::cluster::{Cluster, Shape};
use super::graph::{Frontier, Graph, Grid, NodeId, Submission, Work};
use super::limits::{self, Limits};
use super::memory::{self, Memory};
use super::races::{Kind, Races, Sync, Where};
use super::schedule::{Draw, Order, Schedule};
use super::streams::Streams;
use super::texture::Objects;
use crate::address::{Region, region};
use crate::control::Control;
use crate::device::CudaError;
use crate::fault::{Access, Allocation, Fault, FaultKind, Step};
use crate::occupancy::KernelAttributes;
use crate::program::Program;
use crate::trace::{self, Stream, Submitter};
use crate::transfer::Transfer;
use cdp_core::builtins::Cdp;
use cdp_core::diag::Diagnostic;
use cdp_core::ir::FunctionKind;
use cdp_core::source::Span;
use cdp_core::types::Space;
use cdp_core::types::layout::round_up;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a kernel's shared variables lie.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// By the variable's number.
    pub shared: HashMap<u32, u64>,
    /// Static shared memory in bytes; dynamic shared memory starts here.
    pub static_size: u64,
}

/// Everything but the threads.
#[derive(Debug)]
pub(super) struct Machine {
    pub program: Arc<Program>,
    pub memory: Memory,
    /// Addresses of global and constant variables.
    pub globals: Vec<u64>,
    pub graph: Graph,
    pub streams: Streams,
    pub limits: Limits,
    /// Arrays, textures and surfaces.
    pub objects: Objects,
    /// Whether a kernel was launched: some limits are fixed then.
    pub started: bool,
    /// An error that spoils the context.
    pub error: CudaError,
    pub output: Vec<u8>,
    pub diagnostics: Vec<Diagnostic>,
    pub max_steps: Option<u64>,
    pub schedule: Schedule,
    pub draw: Draw,
    /// Where races are looked for.
    pub races: Option<Box<Races>>,
    pub control: Option<Arc<Control>>,
    /// What ran, where that is wanted.
    pub trace: Option<Vec<trace::Node>>,
    /// How many grids run within launches of others.
    nested: u32,
    /// Steps that all threads took.
    pub steps: u64,
    /// How often a thread changed memory.
    pub changes: u64,
    /// For how many steps of the thread that failed or was stopped nobody had changed memory.
    pub quiet: u64,
    /// Events of grids that are alive.
    pub events: u64,
    kernels: HashMap<u32, Arc<Kernel>>,
    /// Errors in device code that nobody looked at: each place and error once, and how often.
    unseen: Vec<(Fault, NodeId, u64)>,
    /// Reads of what was not written, each place once, where races are looked for.
    unwritten: Vec<(Fault, NodeId, u32)>,
    /// Blocks that have ended, whose memory is used again.
    pub spare: Vec<Resident>,
    pub blocks: u32,
    pub thread_number: u32,
}

/// A grid while it runs.
#[derive(Debug)]
pub(super) struct Run {
    pub id: NodeId,
    pub grid: Grid,
    pub kernel: Arc<Kernel>,
    /// The NULL stream of each block (cdp2 rule R6).
    pub null: HashMap<u32, Frontier>,
    /// Events that it made and has not destroyed.
    pub events: u64,
    /// What each block launched since it last waited for it; kept with CDP1 only, where it can.
    pub launched: HashMap<u32, Vec<NodeId>>,
}

/// How many grids may run within launches of each other: each takes some of the executor's own stack.
const MAX_NESTED: u32 = 64;

/// Numbers of threads are not used again before this many are: so an address on the stack of a thread that has ended is nobody else's.
const MOST_THREADS: u32 = 1 << 28;

/// How many clusters of a grid run side by side at most, where that is drawn.
const MOST_RESIDENT: u64 = 4;

/// One in so many rounds of a grid lets another grid run, where that is drawn.
const MEANWHILE: u64 = 8;

/// How many of the ready nodes a draw is made from.
const DRAWN_NODES: usize = 16;

/// A loop that went round for so many steps without changing memory may wait for something.
const QUIET: u64 = 1_000_000;

/// How many of the launches that led to a fault are shown.
const SHOWN_LAUNCHES: usize = 4;

impl Machine {
    pub(super) fn new(program: Arc<Program>, options: CpuOptions) -> Self {
        let mut memory = Memory::new(options.memory.unwrap_or(memory::CAPACITY));
        let mut globals = Vec::with_capacity(program.globals.len());
        for variable in &program.globals {
            if !matches!(variable.space, Space::Global | Space::Constant) {
                globals.push(0);
                continue;
            }
            let (element, element_size) = variable.element.clone();
            let what = format!("the variable `{}`", variable.name);
            let allocation = Allocation { address: 0, size: variable.size, what, element, element_size, span: variable.span };
            let address = memory.allocate(allocation, false, false).unwrap_or(0);
            if let Ok(bytes) = memory.at(Access { address, size: variable.size, write: true }) {
                bytes.iter_mut().zip(&variable.init).for_each(|(byte, value)| *byte = *value);
            }
            if variable.space == Space::Constant {
                memory.protect(address);
            }
            globals.push(address);
        }
        Self {
            program,
            memory,
            globals,
            graph: Graph::default(),
            streams: Streams::default(),
            limits: Limits::new(options.cdp),
            objects: Objects::default(),
            started: false,
            error: 0,
            output: Vec::new(),
            diagnostics: Vec::new(),
            max_steps: options.max_steps,
            schedule: options.schedule,
            draw: Draw::new(if let Schedule::Random { seed } = options.schedule { seed } else { 0 }),
            races: options.races.then(Box::default),
            control: options.control,
            trace: options.trace.then(Vec::new),
            nested: 0,
            steps: 0,
            changes: 0,
            quiet: 0,
            events: 0,
            kernels: HashMap::new(),
            unseen: Vec::new(),
            unwritten: Vec::new(),
            spare: Vec::new(),
            blocks: 0,
            thread_number: 0,
        }
    }

    /// Runs everything that was submitted.
    pub(super) fn run(&mut self) -> CudaError {
        while self.error == 0 && self.step() {}
        self.report_unseen();
        self.report_races();
        if self.thread_number > MOST_THREADS {
            self.thread_number = 0;
        }
        self.streams.note_ends(&self.graph);
        if let Some(trace) = &mut self.trace {
            trace.extend(self.graph.trace(&self.program));
        }
        self.graph.forget();
        self.error
    }

    /// Runs one node; whether there was one.
    fn step(&mut self) -> bool {
        let place = match self.schedule {
            Schedule::Random { .. } => self.draw.below(self.graph.ready().min(DRAWN_NODES) as u64) as usize,
            Schedule::Late | Schedule::Eager => 0,
        };
        let Some((id, work)) = self.graph.next(place, self.steps) else { return false };
        let result = match work {
            Work::Grid(grid) => self.grid(id, grid),
            Work::Transfer(transfer) => self.transfer(id, &transfer).map_err(|kind| self.copy_fault(id, *kind)),
            Work::Nothing => Ok(()),
        };
        match result {
            // a grid that ran within a launch of this one has failed: that was reported
            _ if self.error != 0 => {}
            Ok(()) => self.graph.ended(id, self.steps),
            Err(fault) => self.fail(id, &fault),
        }
        true
    }

    /// Which dynamic parallelism there is.
    pub(super) const fn cdp(&self) -> Cdp {
        if self.limits.sync_depth.is_some() { Cdp::Cdp1 } else { Cdp::Cdp2 }
    }

    /// Runs what is ready, children before others, until all of these nodes are complete, or a fault has ended everything.
    pub(super) fn wait_for(&mut self, nodes: &[NodeId]) {
        self.nested += 1;
        while self.error == 0 && nodes.iter().any(|node| !self.graph.is_complete(*node)) && self.step() {}
        self.nested -= 1;
    }

    /// What runs within a launch or copy that a grid of this depth has just submitted.
    pub(super) fn submitted(&mut self, depth: u32) {
        if self.schedule == Schedule::Late || self.nested >= MAX_NESTED {
            return;
        }
        self.nested += 1;
        while self.error == 0 {
            let goes_on = match self.schedule {
                Schedule::Random { .. } => self.draw.below(2) == 0,
                _ => self.graph.has_deeper(depth),
            };
            if !goes_on || !self.step() {
                break;
            }
        }
        self.nested -= 1;
    }

    fn grid(&mut self, id: NodeId, grid: Grid) -> Result<(), Box<Fault>> {
        if let Some(control) = &self.control {
            control.add_grid();
        }
        let kernel = self.kernel(grid.kernel);
        let mut run = Run { id, grid, kernel, null: HashMap::new(), events: 0, launched: HashMap::new() };
        let program = Arc::clone(&self.program);
        let mut resident = Vec::new();
        let result = self.blocks(&program, &mut run, &mut resident);
        self.spare.extend(resident.into_iter().flat_map(Cluster::into_blocks));
        self.events -= run.events;
        result
    }

    /// Runs the blocks of a grid: one cluster after the other, or, where orders are drawn, a few side by side, while other grids run in between.
    fn blocks(&mut self, program: &Program, run: &mut Run, resident: &mut Vec<Cluster>) -> Result<(), Box<Fault>> {
        let cluster = program.code(run.grid.kernel).and_then(|code| code.cluster).unwrap_or([1; 3]);
        let shape = Shape::new(run.grid.grid, cluster);
        let count = shape.count();
        let order = self.order(count);
        let drawn = matches!(self.schedule, Schedule::Random { .. });
        let most = if drawn { 1 + self.draw.below(MOST_RESIDENT) as usize } else { 1 };
        let mut started = 0;
        loop {
            while started < count && resident.len() < most {
                let cluster = Cluster::start(self, program, run, &shape, order.at(started));
                resident.push(cluster);
                started += 1;
            }
            let at = if drawn { self.draw.below(resident.len() as u64) as usize } else { 0 };
            let Some(cluster) = resident.get_mut(at) else { return Ok(()) };
            match cluster.round(self, program, run)? {
                Round::Ended => {
                    let cluster = resident.swap_remove(at);
                    cluster.end(self, run);
                    self.spare.extend(cluster.into_blocks());
                }
                Round::GoesOn | Round::Waits => {}
                Round::Spins => {
                    // in vain, unless another block that has started goes on
                    let mut first = None;
                    let all = resident.iter_mut().all(|cluster| {
                        let fault = cluster.spins(self, program, run);
                        let spins = fault.is_some();
                        first = first.take().or(fault);
                        spins
                    });
                    if let Some(fault) = first.filter(|_| all) {
                        return Err(fault);
                    }
                }
            }
            if drawn {
                self.meanwhile();
            }
            if self.error != 0 {
                return Ok(());
            }
        }
    }

    /// Between the rounds of a grid, another one may run: those that may do so are ordered with it by nothing.
    fn meanwhile(&mut self) {
        if self.nested < MAX_NESTED && self.graph.ready() > 0 && self.draw.below(MEANWHILE) == 0 {
            self.nested += 1;
            self.step();
            self.nested -= 1;
        }
    }

    /// The order that so many blocks or threads take turns in.
    pub(super) fn order(&mut self, len: u64) -> Order {
        match self.schedule {
            Schedule::Random { .. } => Order::drawn(len, &mut self.draw),
            Schedule::Late | Schedule::Eager => Order::straight(len),
        }
    }

    /// A copy or fill whose turn has come; for races, it is a grid of one thread.
    fn transfer(&mut self, id: NodeId, transfer: &Transfer) -> Step {
        let mut follow = None;
        if let Some(races) = &mut self.races {
            self.thread_number = self.thread_number.wrapping_add(1);
            let block = races.start_block(self.thread_number, 1, id, [0; 3]);
            let at = Where { node: id, block, cluster: (block, block), epoch: 0, site: self.graph.site(id) };
            follow = Some((at, Sync::new(self.thread_number, self.thread_number)));
        }
        for row in transfer.rows() {
            let writes = Access { address: row.to, size: row.bytes, write: true };
            let reads = row.from.map(|address| Access { address, size: row.bytes, write: false });
            match reads {
                Some(reads) => self.memory.copy(writes, reads)?,
                None => self.memory.at_by_host(writes)?.fill(transfer.value()),
            }
            if let (Some(races), Some((at, me))) = (&mut self.races, &follow) {
                for access in reads.into_iter().chain([writes]) {
                    let kind = if access.write { Kind::Write } else { Kind::Read };
                    races.access(access, kind, *at, me, &self.graph);
                }
            }
        }
        Ok(())
    }

    /// What a kernel needs, as `cudaFuncGetAttributes` tells.
    pub(super) fn attributes(&mut self, function: u32) -> Result<KernelAttributes, CudaError> {
        let code = self.program.code(function).filter(|code| code.kind == FunctionKind::Kernel);
        let code = code.ok_or(limits::INVALID_DEVICE_FUNCTION)?;
        let (bounds, cluster) = (code.launch_bounds, code.cluster);
        let most = bounds.map_or(limits::MAX_THREADS, |(threads, _)| u64::from(threads).clamp(1, limits::MAX_THREADS));
        let shared_bytes = self.kernel(function).static_size;
        Ok(KernelAttributes {
            shared_bytes,
            cluster: cluster.unwrap_or_default(),
            max_threads: most as i32,
            ptx_version: limits::ARCHITECTURE,
            binary_version: limits::ARCHITECTURE,
            max_dynamic_shared: limits::MAX_SHARED.saturating_sub(shared_bytes) as i32,
            ..KernelAttributes::default()
        })
    }

    /// How many blocks fit a multiprocessor by threads, blocks and shared memory; registers are none here.
    pub(super) fn active_blocks(&mut self, function: u32, threads: i32, shared: u64) -> Result<i32, CudaError> {
        let attributes = self.attributes(function)?;
        if threads <= 0 {
            return Err(limits::INVALID_VALUE);
        }
        if threads > attributes.max_threads || shared > u64::from(attributes.max_dynamic_shared.unsigned_abs()) {
            return Ok(0);
        }
        Ok(limits::active_blocks(threads, attributes.shared_bytes + shared))
    }

    fn copy_fault(&self, id: NodeId, kind: FaultKind) -> Box<Fault> {
        let span = self.graph.chain(id).next().map_or_else(Span::default, |(_, span, _)| span);
        Box::new(Fault::at(kind, span))
    }

    /// A fault of device code: it is reported, the context is spoilt, and nothing later runs (cdp2 rule R18).
    fn fail(&mut self, id: NodeId, fault: &Fault) {
        let mut diagnostic = self.with_launches(id, fault.diagnostic(Some(self.cdp())));
        let children = self.graph.children(id);
        let endless = matches!(fault.kind, FaultKind::Stopped | FaultKind::Steps(_) | FaultKind::Overflow { .. });
        if endless && self.quiet >= QUIET && children > 0 {
            diagnostic = diagnostic.note(format!(
                "for more than {} steps nothing changed in memory, while {children} of the grids that it launched had not run: if it waits for one of them, it waits in vain (E0743)",
                self.quiet
            ));
        }
        self.diagnostics.push(diagnostic);
        self.error = match fault.kind {
            FaultKind::Assert { .. } => 710,
            FaultKind::OutOfBounds { .. } | FaultKind::Null(_) | FaultKind::Freed { .. } | FaultKind::NotOfHeap { .. } => 700,
            FaultKind::Private { .. } | FaultKind::PrivateArgument { .. } | FaultKind::WrongSpace { .. } => 717,
            FaultKind::Misaligned { .. } => 716,
            FaultKind::Steps(_) => 702,
            _ => 719,
        };
        self.graph.failed(id, self.steps);
        self.graph.abandon();
    }

    /// Adds where the grid was launched, and the grid that launched it.
    fn with_launches(&self, id: NodeId, mut diagnostic: Diagnostic) -> Diagnostic {
        let total = self.graph.depth(id) as usize + 1;
        for (kernel, span, from) in self.graph.chain(id).take(SHOWN_LAUNCHES) {
            let Some(code) = self.program.code(kernel) else { continue };
            let Some(Submitter { thread, block }) = from else { continue };
            let [thread, block] = [thread, block].map(triple);
            let text = format!("`{}` was launched here, by thread {thread} of block {block}", code.name);
            // two sides of a race may have launches in common
            if !diagnostic.secondary.iter().any(|label| label.span == span && label.text == text) {
                diagnostic = diagnostic.also(span, text);
            }
        }
        if total > SHOWN_LAUNCHES {
            diagnostic = diagnostic.note(format!("{} launches led there", total));
        }
        diagnostic
    }

    /// Remembers an error that a thread never looked at.
    pub(super) fn unseen(&mut self, id: NodeId, fault: Fault) {
        match self.unseen.iter_mut().find(|(known, ..)| known.span == fault.span && known.kind == fault.kind) {
            Some((_, _, count)) => *count += 1,
            None => self.unseen.push((fault, id, 1)),
        }
    }

    /// Remembers a read of what was not written, at a step.
    pub(super) fn unwritten(&mut self, id: NodeId, site: u32, fault: Fault) {
        if !self.unwritten.iter().any(|(.., known)| *known == site) {
            self.unwritten.push((fault, id, site));
        }
    }

    /// Reports races, and starts afresh: the host has waited.
    fn report_races(&mut self) {
        let Some(mut races) = self.races.take() else { return };
        for (fault, id, site) in std::mem::take(&mut self.unwritten) {
            if !races.found.iter().any(|race| race.is_at(site)) {
                let diagnostic = self.with_launches(id, fault.diagnostic(Some(self.cdp())));
                self.diagnostics.push(diagnostic);
            }
        }
        let found = std::mem::take(&mut races.found);
        for (index, race) in found.iter().enumerate() {
            if found.iter().take(index).any(|other| race.is_like(other, &self.program)) {
                continue;
            }
            let name = |node| {
                let kernel = self.graph.kernel(node).and_then(|kernel| self.program.code(kernel));
                (kernel.map_or_else(String::new, |code| code.name.clone()), self.graph.block_size(node))
            };
            let place = self.place_in_memory(race.access());
            let diagnostic = race.diagnostic(&self.program, name, &place, self.cdp());
            let diagnostic = race.nodes().into_iter().fold(diagnostic, |diagnostic, node| self.with_launches(node, diagnostic));
            self.diagnostics.push(diagnostic);
        }
        if races.more > 0
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.notes.push(format!("{} more pairs of places race", std::mem::take(&mut races.more)));
        }
        races.waited();
        self.races = Some(races);
    }

    /// What some bytes are, in words.
    fn place_in_memory(&self, access: Access) -> String {
        match region(access.address) {
            Region::Shared(_) => format!("byte {} of the block's shared memory", access.address & 0xffff_ffff),
            _ => self.memory.info(access).map_or_else(
                || format!("at {:#x}", access.address),
                |info| format!("{} of {}", info.position(access), info.describe()),
            ),
        }
    }

    fn report_unseen(&mut self) {
        for (fault, id, count) in std::mem::take(&mut self.unseen) {
            let mut diagnostic = self.with_launches(id, fault.diagnostic(Some(self.cdp())));
            if count > 1 {
                diagnostic = diagnostic.note(format!("this happened {count} times"));
            }
            self.diagnostics.push(diagnostic);
        }
    }

    /// Where a kernel's shared variables lie: those that it names itself or in what it calls.
    pub(super) fn kernel(&mut self, function: u32) -> Arc<Kernel> {
        if let Some(kernel) = self.kernels.get(&function) {
            return Arc::clone(kernel);
        }
        let program = &self.program;
        let mut reached = vec![function];
        let mut named = Vec::new();
        let mut at = 0;
        while let Some(code) = reached.get(at).and_then(|function| program.code(*function)) {
            at += 1;
            named.extend_from_slice(&code.globals);
            for call in &code.calls {
                if !reached.contains(&call.function) {
                    reached.push(call.function);
                }
            }
        }
        named.sort_unstable();
        named.dedup();
        let mut kernel = Kernel::default();
        let mut dynamic_align = 16;
        for global in &named {
            let Some(variable) = program.globals.get(*global as usize).filter(|variable| variable.space == Space::Shared)
            else {
                continue;
            };
            if variable.dynamic {
                dynamic_align = dynamic_align.max(variable.align);
                continue;
            }
            let offset = round_up(kernel.static_size, variable.align);
            kernel.shared.insert(*global, offset);
            kernel.static_size = offset + variable.size;
        }
        let dynamic = |global: &&u32| program.globals.get(**global as usize).is_some_and(|variable| variable.dynamic);
        let static_size = kernel.static_size;
        for global in named.iter().filter(dynamic) {
            kernel.static_size = round_up(static_size, dynamic_align);
            kernel.shared.insert(*global, kernel.static_size);
        }
        let kernel = Arc::new(kernel);
        self.kernels.insert(function, Arc::clone(&kernel));
        kernel
    }

    /// Whether a launch may be made like this (cdp2 rule R19).
    pub(super) fn check_configuration(&mut self, grid: &Grid) -> CudaError {
        let Some(code) = self.program.code(grid.kernel) else { return limits::INVALID_DEVICE_FUNCTION };
        let [x, y, z] = grid.grid;
        let threads = grid.block.iter().fold(1u64, |threads, size| threads.saturating_mul(u64::from(*size)));
        let [block_x, block_y, block_z] = grid.block;
        let bound = code.launch_bounds.map_or(limits::MAX_THREADS, |(threads, _)| u64::from(threads).max(1));
        let dimensions = threads == 0
            || x == 0
            || y == 0
            || z == 0
            || x > 0x7fff_ffff
            || y > 65535
            || z > 65535
            || block_x > 1024
            || block_y > 1024
            || block_z > 64
            || threads > bound.min(limits::MAX_THREADS);
        let whole =
            code.cluster.is_none_or(|cluster| grid.grid.iter().zip(cluster).all(|(blocks, size)| blocks % size.max(1) == 0));
        let shared = self.kernel(grid.kernel).static_size + u64::from(grid.shared);
        match dimensions || shared > limits::MAX_SHARED {
            true => limits::INVALID_CONFIGURATION,
            false if whole => 0,
            false => limits::INVALID_CLUSTER_SIZE,
        }
    }

    /// Submits host work in a stream; 0 is the default stream.
    pub(super) fn submit_host(&mut self, work: Work, stream: u64, span: Span) {
        let submission = Submission {
            work,
            parent: None,
            tail: false,
            span,
            from: None,
            point: None,
            site: 0,
            stream: if stream == 0 { Stream::Default } else { Stream::Named(stream) },
            now: self.steps,
        };
        if stream == 0 {
            let frontier = self.streams.default_frontier(&self.graph);
            let node = self.graph.submit(submission, &frontier);
            self.streams.advance_default(node);
        } else {
            let frontier = self.streams.frontier(stream, &self.graph);
            let node = self.graph.submit(submission, &frontier);
            self.streams.advance(stream, node);
        }
    }
}

/// "(1, 2, 3)"
pub(super) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
