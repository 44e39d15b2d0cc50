//! What functions do that decides whether, and how, a grid can be run as a part of another.

use super::variant::BLOCK_PLACE;
use crate::analysis::outstanding::stream;
use crate::builtins::{BarrierOp, Register, RuntimeFn, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH};
use crate::ir::{Access, Function, FunctionId, Launch, Merge, Module, Operand, PlaceBase, Rvalue, StatementKind};
use crate::pass::in_place;
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::source::Span;
use crate::types::Space;
use crate::types::layout::PointerWidth;
use crate::verify::ModuleInfo;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Where a function, or something that it calls, first does something.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::pass) struct Does {
    /// Waits for its block.
    pub barrier: Option<Span>,
    /// Uses shared memory.
    pub shared: Option<Span>,
    /// Talks to its warp, or asks for its lane.
    pub warp: Option<Span>,
    /// Has to do with its cluster of blocks.
    pub cluster: Option<Span>,
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
    /// Reads through a cache that sees no writes of the same grid (R16).
    pub cached: Option<Span>,
    /// Asks where its block is in the grid.
    pub block_place: Option<Span>,
    /// Asks where it is in its block.
    pub thread_place: Option<Span>,
}

/// Every field.
const SLOTS: [fn(&mut Does) -> &mut Option<Span>; size_of::<Does>() / size_of::<Option<Span>>()] = [
    |does| &mut does.barrier,
    |does| &mut does.shared,
    |does| &mut does.warp,
    |does| &mut does.cluster,
    |does| &mut does.gridid,
    |does| &mut does.tail,
    |does| &mut does.ordered,
    |does| &mut does.external,
    |does| &mut does.last_error,
    |does| &mut does.cached,
    |does| &mut does.block_place,
    |does| &mut does.thread_place,
];

/// All functions.
pub(in crate::pass) struct Facts {
    pub info: ModuleInfo,
    /// By function, what it does itself.
    pub own: Vec<Does>,
    /// By function, what it or something that it calls does.
    all: Vec<Does>,
    /// By function, who calls it.
    callers: Vec<Vec<FunctionId>>,
    /// By function, the first entry of device code that leads to it and also to what is defined elsewhere, and where that is.
    external_above: Vec<Option<(FunctionId, Span)>>,
    exported_above: Vec<Option<FunctionId>>,
    /// By child kernel, an upper limit of the bytes of shared variables that it has.
    shared_bytes: HashMap<FunctionId, u64>,
}

impl Facts {
    pub(in crate::pass) fn new(module: &Module) -> Self {
        let info = ModuleInfo::new(module);
        let own: Vec<Does> = module.functions.iter().map(|function| does(module, function)).collect();
        let mut callers = vec![Vec::new(); module.functions.len()];
        for (id, _) in module.functions() {
            for callee in info.function(id).into_iter().flat_map(|info| &info.callees) {
                if let Some(callers) = callers.get_mut(callee.index()) {
                    callers.push(id);
                }
            }
        }
        let all = all(&own, &callers);
        let mut facts = Self {
            info,
            own,
            all,
            callers,
            external_above: Vec::new(),
            exported_above: Vec::new(),
            shared_bytes: HashMap::new(),
        };
        let entries = || module.functions().filter(|(_, function)| function.is_kernel() || function.exported);
        facts.external_above = facts.below(entries().filter_map(|(id, _)| Some((id, (id, facts.all(id).external?)))));
        facts.exported_above = facts.below(entries().filter(|(_, function)| !function.is_kernel()).map(|(id, _)| (id, id)));
        let own_bytes: Vec<u64> = module.functions.iter().map(|function| shared_bytes(module, function)).collect();
        let children: BTreeSet<FunctionId> = facts.info.launches_on_device.iter().map(|site| site.kernel).collect();
        for child in children {
            let bytes = facts.reached(child).iter().filter_map(|id| own_bytes.get(id.index())).sum();
            facts.shared_bytes.insert(child, bytes);
        }
        facts
    }

    /// What a function does, with what it calls; nothing for a foreign id.
    pub(in crate::pass) fn all(&self, id: FunctionId) -> Does {
        self.all.get(id.index()).copied().unwrap_or_default()
    }

    /// What a function's calls lead to, itself included, in order.
    pub(in crate::pass) fn reached(&self, from: FunctionId) -> BTreeSet<FunctionId> {
        let mut reached = BTreeSet::from([from]);
        let mut work = vec![from];
        while let Some(id) = work.pop() {
            for callee in self.info.function(id).into_iter().flat_map(|info| &info.callees) {
                if reached.insert(*callee) {
                    work.push(*callee);
                }
            }
        }
        reached
    }

    /// By function, whether its calls lead to one of these; they count themselves.
    pub(in crate::pass) fn callers(&self, of: impl Iterator<Item = FunctionId>) -> Vec<bool> {
        let mut calls = vec![false; self.callers.len()];
        let mut work: Vec<FunctionId> = of.collect();
        while let Some(id) = work.pop() {
            if let Some(calls) = calls.get_mut(id.index())
                && !std::mem::replace(calls, true)
            {
                work.extend(self.callers.get(id.index()).into_iter().flatten());
            }
        }
        calls
    }

    /// The first entry of device code that leads to a function and also to what is defined elsewhere, and where that is.
    pub(in crate::pass) fn external_above(&self, id: FunctionId) -> Option<(FunctionId, Span)> {
        self.external_above.get(id.index()).copied().flatten()
    }

    /// The first function that other modules may call and that leads to this one.
    pub(in crate::pass) fn exported_above(&self, id: FunctionId) -> Option<FunctionId> {
        self.exported_above.get(id.index()).copied().flatten()
    }

    /// By function, what the first of these entries that leads to it has.
    fn below<T: Copy>(&self, entries: impl Iterator<Item = (FunctionId, T)>) -> Vec<Option<T>> {
        let mut above = vec![None; self.callers.len()];
        for (entry, value) in entries {
            let mut work = vec![entry];
            while let Some(id) = work.pop() {
                if let Some(slot @ None) = above.get_mut(id.index()) {
                    *slot = Some(value);
                    work.extend(self.info.function(id).into_iter().flat_map(|info| &info.callees));
                }
            }
        }
        above
    }

    /// An upper limit of the bytes of shared variables that a child kernel has.
    pub(in crate::pass) fn shared(&self, kernel: FunctionId) -> u64 {
        self.shared_bytes.get(&kernel).copied().unwrap_or(u64::MAX)
    }
}

/// By function, what it or something that it calls does; of several places the first function's.
fn all(own: &[Does], callers: &[Vec<FunctionId>]) -> Vec<Does> {
    let mut all = own.to_vec();
    for slot in SLOTS {
        let mut seen = vec![false; own.len()];
        for (id, does) in (0u32..).map(FunctionId).zip(own) {
            let place = *slot(&mut does.clone());
            let mut work = if place.is_some() { vec![id] } else { Vec::new() };
            while let Some(id) = work.pop() {
                if let Some(seen) = seen.get_mut(id.index())
                    && !std::mem::replace(seen, true)
                    && let Some(does) = all.get_mut(id.index())
                {
                    *slot(does) = place;
                    work.extend(callers.get(id.index()).into_iter().flatten());
                }
            }
        }
    }
    all
}

fn does(module: &Module, function: &Function) -> Does {
    let mut does = Does { cluster: function.cluster.map(|_| function.span), ..Does::default() };
    if function.blocks.is_empty() {
        does.external = Some(function.span);
        return does;
    }
    // which lanes are there does not matter to what these do, and where they ask how large their grid is, they mean the one that really runs
    let any_lanes = in_place::ANY_LANES.iter().any(|start| function.symbol.starts_with(start));
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
            StatementKind::Barrier { op: BarrierOp::Warp, .. } | StatementKind::Warp { .. } if any_lanes => {}
            StatementKind::Barrier { op: BarrierOp::Warp, .. } | StatementKind::Warp { .. } => note(&mut does.warp),
            StatementKind::Barrier { op, .. } if op.is_of_cluster() => note(&mut does.cluster),
            StatementKind::Barrier { .. } => note(&mut does.barrier),
            StatementKind::Load { access: Access::NonCoherent, .. } | StatementKind::Texture { .. } => note(&mut does.cached),
            StatementKind::Assign { value: Rvalue::MapSharedRank(..) | Rvalue::SharedRank(_), .. } => {
                note(&mut does.cluster);
            }
            StatementKind::Assign { value: Rvalue::Register(register), .. } => match register {
                Register::LaneId if any_lanes => {}
                Register::LaneId => note(&mut does.warp),
                Register::GridId => note(&mut does.gridid),
                Register::WarpSize | Register::Clock | Register::Clock64 | Register::GlobalTimer => {}
                _ if register.is_of_cluster() => note(&mut does.cluster),
                _ if any_lanes => {}
                _ if BLOCK_PLACE.contains(register) => note(&mut does.block_place),
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

/// Threads of a block in z (R19).
pub(in crate::pass) const MOST_THREADS_Z: u32 = 64;

/// Threads of a kernel's blocks (R19).
pub(in crate::pass) fn most_threads(module: &Module, kernel: FunctionId) -> u32 {
    let bounds = module.function(kernel).and_then(|kernel| kernel.launch_bounds);
    bounds.map_or(1024, |(threads, _)| threads.min(1024))
}

/// Whether a launch may be merged, whatever else is to be said of it: its stream has no order, and its author does not object.
pub(in crate::pass) fn is_free(launch: &Launch) -> bool {
    is_fire_and_forget(&launch.stream) && launch.hints.merge != Some(Merge::Off)
}

/// Whether a stream is certainly the fire-and-forget stream.
pub(in crate::pass) fn is_fire_and_forget(stream: &Operand) -> bool {
    stream.as_bits() == Some(u64::from(STREAM_FIRE_AND_FORGET))
}

/// What stands in the way of a launch into another stream.
pub(in crate::pass) fn order(launch: &Launch) -> &'static str {
    if launch.stream.as_bits() == Some(u64::from(STREAM_TAIL_LAUNCH)) {
        "it goes into the tail stream, whose grids come after everything else"
    } else if launch.hints.asks_to_merge() {
        "its stream may be the tail stream, whose grids come after everything else"
    } else {
        "its stream keeps an order; only launches into `cudaStreamFireAndForget` have none, and those with `@merge(grid)`"
    }
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
