//! What functions do that decides whether, and how, a grid can be run as a part of another.

use crate::analysis::outstanding::stream;
use crate::builtins::{BarrierOp, Register, RuntimeFn, STREAM_FIRE_AND_FORGET};
use crate::ir::{Function, FunctionId, Launch, Merge, Module, Operand, PlaceBase, Rvalue, StatementKind};
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::source::Span;
use crate::types::Space;
use crate::types::layout::PointerWidth;
use crate::verify::ModuleInfo;
use std::collections::HashSet;

/// Where a function, or something that it calls, first does something.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::pass) struct Does {
    /// Waits for its block.
    pub barrier: Option<Span>,
    /// Uses shared memory.
    pub shared: Option<Span>,
    /// Talks to its warp, or asks for its lane.
    pub warp: Option<Span>,
    /// Asks for its grid's number.
    pub gridid: Option<Span>,
    /// Launches into a stream that may be the tail stream.
    pub tail: Option<Span>,
    /// Launches, copies or fills in the NULL stream or a named one.
    pub ordered: Option<Span>,
    /// Calls a function that is defined elsewhere.
    pub external: Option<Span>,
    /// Looks at the last error.
    pub last_error: Option<Span>,
    /// Asks where its block is in the grid.
    pub block_place: Option<Span>,
    /// Asks where it is in its block.
    pub thread_place: Option<Span>,
}

/// All functions.
pub(in crate::pass) struct Facts {
    pub info: ModuleInfo,
    /// By function, what it does itself.
    pub own: Vec<Does>,
    /// By function, what it or something that it calls does.
    pub all: Vec<Does>,
    /// By function, what its calls lead to, itself included.
    pub reach: Vec<HashSet<FunctionId>>,
    /// By function, bytes of shared variables that it names itself.
    pub shared_bytes: Vec<u64>,
}

impl Facts {
    pub(in crate::pass) fn new(module: &Module) -> Self {
        let info = ModuleInfo::new(module);
        let own: Vec<Does> = module.functions.iter().map(|function| does(module, function)).collect();
        let reach: Vec<HashSet<FunctionId>> = module.functions().map(|(id, _)| reach(&info, id)).collect();
        let join = |reached: &HashSet<FunctionId>| {
            let mut reached: Vec<&FunctionId> = reached.iter().collect();
            reached.sort_unstable();
            reached.into_iter().filter_map(|id| own.get(id.index())).fold(Does::default(), Does::or)
        };
        let all = reach.iter().map(join).collect();
        let shared_bytes = module.functions.iter().map(|function| shared_bytes(module, function)).collect();
        Self { info, own, all, reach, shared_bytes }
    }

    /// What a function does, with what it calls; nothing for a foreign id.
    pub(in crate::pass) fn all(&self, id: FunctionId) -> Does {
        self.all.get(id.index()).copied().unwrap_or_default()
    }

    /// Whether calls lead from one function to another.
    pub(in crate::pass) fn reaches(&self, from: FunctionId, to: FunctionId) -> bool {
        self.reach.get(from.index()).is_some_and(|reached| reached.contains(&to))
    }

    /// An upper limit of the bytes of shared variables that a kernel has.
    pub(in crate::pass) fn shared(&self, kernel: FunctionId) -> u64 {
        let reached = self.reach.get(kernel.index());
        reached.into_iter().flatten().filter_map(|id| self.shared_bytes.get(id.index())).sum()
    }
}

impl Does {
    fn or(self, other: &Self) -> Self {
        Self {
            barrier: self.barrier.or(other.barrier),
            shared: self.shared.or(other.shared),
            warp: self.warp.or(other.warp),
            gridid: self.gridid.or(other.gridid),
            tail: self.tail.or(other.tail),
            ordered: self.ordered.or(other.ordered),
            external: self.external.or(other.external),
            last_error: self.last_error.or(other.last_error),
            block_place: self.block_place.or(other.block_place),
            thread_place: self.thread_place.or(other.thread_place),
        }
    }
}

fn reach(info: &ModuleInfo, from: FunctionId) -> HashSet<FunctionId> {
    let mut reached = HashSet::from([from]);
    let mut work = vec![from];
    while let Some(id) = work.pop() {
        for callee in info.function(id).into_iter().flat_map(|info| &info.callees) {
            if reached.insert(*callee) {
                work.push(*callee);
            }
        }
    }
    reached
}

fn does(module: &Module, function: &Function) -> Does {
    let mut does = Does::default();
    if function.blocks.is_empty() {
        does.external = Some(function.span);
        return does;
    }
    let streams = Streams::new(function);
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        let span = statement.span;
        let note = |slot: &mut Option<Span>| {
            slot.get_or_insert(span);
        };
        statement.kind.each_place(&mut |place| {
            if let PlaceBase::Global(global) = place.base
                && module.global(global).is_some_and(|global| global.space == Space::Shared)
            {
                note(&mut does.shared);
            }
        });
        if let Some(stream) = stream(&statement.kind) {
            match streams.kind(stream) {
                StreamKind::Ordinary => note(&mut does.ordered),
                StreamKind::Special if is_fire_and_forget(stream) => {}
                StreamKind::Special => note(&mut does.tail),
                StreamKind::Unknown => {
                    note(&mut does.tail);
                    note(&mut does.ordered);
                }
            }
        }
        match &statement.kind {
            StatementKind::Barrier { op: BarrierOp::Warp, .. } | StatementKind::Warp { .. } => note(&mut does.warp),
            StatementKind::Barrier { .. } => note(&mut does.barrier),
            StatementKind::Assign { value: Rvalue::Register(register), .. } => match register {
                Register::LaneId => note(&mut does.warp),
                Register::GridId => note(&mut does.gridid),
                Register::WarpSize | Register::Clock | Register::Clock64 | Register::GlobalTimer => {}
                _ if is_block_place(*register) => note(&mut does.block_place),
                _ => note(&mut does.thread_place),
            },
            StatementKind::Runtime { call, .. } => match call {
                RuntimeFn::GetLastError | RuntimeFn::PeekAtLastError => note(&mut does.last_error),
                RuntimeFn::EventRecord | RuntimeFn::EventRecordWithFlags | RuntimeFn::StreamWaitEvent => {
                    note(&mut does.ordered);
                }
                _ => {}
            },
            _ => {}
        }
    }
    does
}

/// A dimension or size that is known.
pub(in crate::pass) fn constant(operand: &Operand) -> Option<u32> {
    u32::try_from(operand.as_bits()?).ok()
}

/// Whether a launch may be merged, whatever else is to be said of it: its stream has no order, and its author does not object.
pub(in crate::pass) fn is_free(launch: &Launch) -> bool {
    is_fire_and_forget(&launch.stream) && launch.hints.merge != Some(Merge::Off)
}

/// Whether a stream is certainly the fire-and-forget stream.
pub(in crate::pass) fn is_fire_and_forget(stream: &Operand) -> bool {
    stream.as_bits() == Some(u64::from(STREAM_FIRE_AND_FORGET))
}

/// Registers that say where a block is in its grid.
pub(in crate::pass) const fn is_block_place(register: Register) -> bool {
    use Register::{BlockIdxX, BlockIdxY, BlockIdxZ, GridDimX, GridDimY, GridDimZ};
    matches!(register, BlockIdxX | BlockIdxY | BlockIdxZ | GridDimX | GridDimY | GridDimZ)
}

fn shared_bytes(module: &Module, function: &Function) -> u64 {
    let mut named = HashSet::new();
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        statement.kind.each_place(&mut |place| {
            if let PlaceBase::Global(global) = place.base {
                named.insert(global);
            }
        });
    }
    let shared = named.iter().filter_map(|id| module.global(*id)).filter(|global| global.space == Space::Shared);
    // alignment may cost as much again as it asks for
    shared.map(|global| module.types.layout(global.ty, PointerWidth::W64)).map(|l| l.size + u64::from(l.align)).sum()
}
