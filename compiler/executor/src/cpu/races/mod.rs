//! Data races: two accesses to one byte, one of them writing, that nothing orders (CUDA programming guide 4.18.3.1; cdp2 rules R11 to R13).
//!
//! What orders accesses: a thread's own order; `__syncthreads` and its kin; `__syncwarp` among its lanes; the barrier of a cluster; a launch, for what the launching
//! thread did or knew; streams, events and tails; the completion of a grid with all that it launched; and a fence followed by an atomic
//! operation that another thread's atomic operation on the same address comes after. (CUDA would have the reader fence as well; programs do
//! without, and the card forgives it.) All of it is about what must be, not about what happened to run first: a race is found
//! whatever the schedule, as long as the program takes the same path.
//!
//! - this file: what each thread knows, and the checks
//! - `cluster`: what the barrier of a cluster hands on
//! - `order`: whether an earlier access is ordered before a thread
//! - `shadow`: who touched each byte last
//! - `report`: the diagnostic
//!
//! A stream or event counts as memory at its handle: destroying it and recording an event write there, other uses read. Giving memory back
//! writes all of it.
//!
//! One run from one wait of the host to the next stands for itself: waiting orders everything before it.

mod cluster;
mod order;
mod report;
mod shadow;

use super::graph::{Graph, NodeId};
use crate::fault::{Access, Allocation};
use cdp_core::builtins::MemoryScope;
use cluster::{ClusterBarrier, ClusterView};
use order::{Known, Location};
pub(super) use shadow::Kind;
use shadow::{Shadow, Touch};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) use report::{Race, Subject};

/// How many races are reported; beyond that they are only counted.
const MOST_REPORTED: usize = 20;

/// What a thread has learnt from atomic operations: of each location, how many of the releases there.
type View = Arc<Vec<(u32, u32)>>;

/// Whom something is handed on to: the blocks from one place to another, or all.
type Audience = Option<(u32, u32)>;

/// What a thread knows, and what others may know of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sync {
    /// The thread's number; those of a block follow each other.
    thread: u32,
    /// The first thread of its warp.
    first: u32,
    /// Grows whenever others may learn what the thread did so far.
    clock: u32,
    /// Of each lane of its warp, the clock up to which it knows what that lane did, since the last barrier of the block.
    lanes: Option<Arc<[u32; 32]>>,
    view: View,
    /// What it knows of the blocks of its cluster.
    cluster: Option<Arc<ClusterView>>,
    /// What the next atomic operation hands on, and to whom.
    released: Option<(Arc<Point>, Audience)>,
}

/// A thread at one moment, with all that it knew.
#[derive(Clone, Debug)]
pub(super) struct Point {
    thread: u32,
    /// The first thread of its warp.
    first: u32,
    clock: u32,
    block: u32,
    epoch: u32,
    lanes: Option<Arc<[u32; 32]>>,
    view: View,
    cluster: Option<Arc<ClusterView>>,
    node: NodeId,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Where {
    pub node: NodeId,
    /// Place of the block in [`Races::blocks`].
    pub block: u32,
    /// The places of the first and the last block of its cluster.
    pub cluster: (u32, u32),
    /// Barriers that the block has passed.
    pub epoch: u32,
    /// The step, as a number of the whole program.
    pub site: u32,
}

/// A block that has run.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u32,
    threads: u32,
    node: NodeId,
    index: [u32; 3],
    /// The place of the first block of its cluster: its own where it is alone.
    cluster: u32,
}

/// All that is known about accesses since the host last waited.
#[derive(Debug, Default)]
pub(super) struct Races {
    shadow: Shadow,
    /// By their first thread.
    blocks: Vec<Block>,
    locations: Vec<Location>,
    /// Locations by address.
    released_at: HashMap<u64, u32>,
    known: Known,
    /// By the place of the cluster's first block.
    clusters: HashMap<u32, ClusterBarrier>,
    seen: HashSet<(u32, u32)>,
    pub found: Vec<Race>,
    /// Races beyond those in `found`.
    pub more: u64,
    /// How often two accesses were compared.
    pub compared: u64,
}

impl Sync {
    /// A thread at its start, in the warp whose first thread is `first`.
    pub(super) fn new(thread: u32, first: u32) -> Self {
        Self { thread, first, ..Self::default() }
    }
}

impl Races {
    /// A block starts, with threads numbered from `first`; its place among the blocks.
    pub(super) fn start_block(&mut self, first: u32, threads: u32, node: NodeId, index: [u32; 3]) -> u32 {
        let place = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.blocks.push(Block { first, threads, node, index, cluster: place });
        place
    }

    /// A block's shared memory is gone.
    pub(super) fn forget(&mut self, from: u64, bytes: u64) {
        self.shadow.forget(from, bytes);
    }

    /// The host has waited: everything so far is ordered before everything later.
    pub(super) fn waited(&mut self) {
        let found = std::mem::take(&mut self.found);
        let seen = std::mem::take(&mut self.seen);
        *self = Self { found, seen, more: self.more, compared: self.compared, ..Self::default() };
    }

    /// Checks an access against those before it, and remembers it.
    pub(super) fn access(&mut self, access: Access, kind: Kind, at: Where, me: &Sync, graph: &Graph) {
        self.touch(access, kind, Subject::Memory, at, me, graph);
    }

    /// A use of a stream's or event's handle, or a change of what it stands for. Uses are not ordered with each other.
    pub(super) fn handle(&mut self, handle: u64, change: bool, subject: Subject, at: Where, me: &Sync, graph: &Graph) {
        let access = Access { address: handle, size: 1, write: change };
        self.touch(access, if change { Kind::Write } else { Kind::Read }, subject, at, me, graph);
    }

    fn touch(&mut self, access: Access, kind: Kind, subject: Subject, at: Where, me: &Sync, graph: &Graph) {
        let Some(mut now) = self.now(kind, at, me) else { return };
        if matches!(kind, Kind::Atomic | Kind::BlockAtomic) {
            now.touch.width = access.size as u8;
        }
        let Self { shadow, blocks, locations, known, seen, compared, .. } = self;
        let mut order = order::Order { blocks, locations, known, graph };
        let mut conflict = None;
        shadow.touch(access.address, access.size, now.touch, |earlier| {
            *compared += 1;
            if order.before(earlier, &now) {
                return true;
            }
            if conflict.is_none()
                && earlier.conflicts(&now.touch, order.same_block(earlier, &now))
                && !seen.contains(&pair(earlier.site, at.site))
            {
                conflict = Some(*earlier);
            }
            false
        });
        if let Some(earlier) = conflict {
            self.report(earlier, access, subject, &now, graph);
        }
    }

    /// Memory is given back: whoever used it must be ordered before.
    pub(super) fn freed(&mut self, was: &Allocation, at: Where, me: &Sync, graph: &Graph) {
        let Some(now) = self.now(Kind::Write, at, me) else { return };
        let Self { shadow, blocks, locations, known, .. } = self;
        let mut order = order::Order { blocks, locations, known, graph };
        let mut conflict = None;
        shadow.release(was.address, was.size, |earlier| {
            if conflict.is_none() && !order.before(earlier, &now) {
                conflict = Some(*earlier);
            }
        });
        if let Some(earlier) = conflict {
            let access = Access { address: was.address, size: was.size, write: true };
            self.report(earlier, access, Subject::Freed(was.clone()), &now, graph);
        }
    }

    fn now<'a>(&self, kind: Kind, at: Where, me: &'a Sync) -> Option<Now<'a>> {
        let block = self.blocks.get(at.block as usize).copied()?;
        let lanes = 1 << (me.thread - me.first);
        let touch = Touch { first: me.first, lanes, clock: me.clock, epoch: at.epoch, site: at.site, kind, width: 0 };
        Some(Now { touch, block, at, me })
    }

    /// A fence: what the thread did so far may be handed on by an atomic operation.
    pub(super) fn fence(scope: MemoryScope, at: Where, me: &mut Sync) {
        let audience = match scope {
            MemoryScope::Block => Some((at.block, at.block)),
            MemoryScope::Cluster => Some(at.cluster),
            MemoryScope::Device | MemoryScope::System => None,
        };
        me.released = Some((Arc::new(Self::point(at, me)), audience));
        me.clock += 1;
    }

    /// An atomic operation, or a `volatile` access: where it writes it hands on what was fenced, and it takes what others handed on there.
    pub(super) fn atomic(&mut self, address: u64, writes: bool, me: &mut Sync) {
        let id = match self.released_at.get(&address) {
            Some(id) => *id,
            None if !writes || me.released.is_none() => return,
            None => {
                let id = u32::try_from(self.locations.len()).unwrap_or(u32::MAX);
                self.locations.push(Location::default());
                self.released_at.insert(address, id);
                id
            }
        };
        let Some(location) = self.locations.get_mut(id as usize) else { return };
        let before = location.len();
        if let Some((point, audience)) = me.released.as_ref().filter(|_| writes) {
            location.release(point, *audience, id);
        }
        if before > 0 {
            let view = Arc::make_mut(&mut me.view);
            match view.iter_mut().find(|(known, _)| *known == id) {
                Some((_, len)) => *len = before,
                None => view.push((id, before)),
            }
        }
    }

    /// The moment of a launch: what the thread did and knew so far is before the child.
    pub(super) fn launch(at: Where, me: &mut Sync) -> Point {
        let point = Self::point(at, me);
        me.clock += 1;
        point
    }

    fn point(at: Where, me: &Sync) -> Point {
        Point {
            thread: me.thread,
            first: me.first,
            clock: me.clock,
            block: at.block,
            epoch: at.epoch,
            lanes: me.lanes.clone(),
            view: Arc::clone(&me.view),
            cluster: me.cluster.clone(),
            node: at.node,
        }
    }

    /// Whether a thread knows of a launch that its block made: it made it, or the one that did has met it since.
    pub(super) fn is_known(launch: &Point, at: Where, me: &Sync) -> bool {
        launch.thread == me.thread
            || launch.epoch < at.epoch
            || (launch.first == me.first
                && me.lanes.as_ref().is_some_and(|lanes| {
                    lanes.get((launch.thread - launch.first) as usize).is_some_and(|known| *known > launch.clock)
                }))
    }

    /// A thread has waited for all that a node comes after, and all that is nested in it.
    pub(super) fn joined(&mut self, node: NodeId, me: &mut Sync) {
        let id = u32::try_from(self.locations.len()).unwrap_or(u32::MAX);
        self.locations.push(Location::of_grid(node));
        Arc::make_mut(&mut me.view).push((id, 1));
        me.clock += 1;
    }

    /// A barrier of a block: its threads know of each other all that was before, and share what they learnt. The caller counts epochs.
    pub(super) fn barrier<'s>(threads: impl Iterator<Item = &'s mut Sync>) {
        let mut threads: Vec<&mut Sync> = threads.collect();
        let shared = threads.first().map(|first| Arc::clone(&first.view)).unwrap_or_default();
        let same = threads.iter().all(|thread| Arc::ptr_eq(&thread.view, &shared) || thread.view == shared);
        let view = if same {
            shared
        } else {
            let mut view = Vec::new();
            threads.iter().for_each(|thread| merge(&mut view, &thread.view));
            Arc::new(view)
        };
        let cluster = cluster::later(threads.iter().map(|thread| &thread.cluster));
        for thread in &mut threads {
            thread.cluster.clone_from(&cluster);
            thread.lanes = None;
            thread.view = Arc::clone(&view);
            thread.clock += 1;
        }
    }

    /// `__syncwarp`: the lanes of the mask know of each other.
    pub(super) fn sync_warp(threads: &mut [&mut Sync]) {
        let mut known = [0u32; 32];
        let mut view: Vec<(u32, u32)> = Vec::new();
        for thread in threads.iter() {
            if let Some(lanes) = &thread.lanes {
                for (mine, theirs) in known.iter_mut().zip(lanes.iter()) {
                    *mine = (*mine).max(*theirs);
                }
            }
            merge(&mut view, &thread.view);
        }
        for thread in threads.iter() {
            if let Some(mine) = known.get_mut((thread.thread - thread.first) as usize) {
                // clocks start at 0: what is known is kept as one more
                *mine = (*mine).max(thread.clock + 1);
            }
        }
        let (known, view) = (Arc::new(known), Arc::new(view));
        let cluster = cluster::later(threads.iter().map(|thread| &thread.cluster));
        for thread in threads.iter_mut() {
            thread.lanes = Some(Arc::clone(&known));
            thread.cluster.clone_from(&cluster);
            thread.view = Arc::clone(&view);
            thread.clock += 1;
        }
    }
}

/// Two places, whichever comes first.
fn pair(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Takes over what another knew.
fn merge(view: &mut Vec<(u32, u32)>, other: &[(u32, u32)]) {
    for (location, len) in other {
        match view.iter_mut().find(|(known, _)| known == location) {
            Some((_, mine)) => *mine = (*mine).max(*len),
            None => view.push((*location, *len)),
        }
    }
}

/// An access that is being checked.
#[derive(Clone, Copy)]
struct Now<'a> {
    touch: Touch,
    block: Block,
    at: Where,
    me: &'a Sync,
}
