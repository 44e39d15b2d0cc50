//! What the threads of a cluster of blocks learn of each other at its barrier (PTX ISA, `barrier.cluster`: an arrival releases, waiting acquires).

use super::order::{Order, has_heard_of};
use super::shadow::{Kind, Touch};
use super::{Now, Point, Races, Subject, Sync, View, Where, merge};
use crate::cpu::graph::Graph;
use crate::fault::Access;
use std::sync::Arc;

/// What each thread of a cluster had done, as far as whoever has waited knows.
#[derive(Clone, Debug, Default)]
pub(super) struct ClusterView {
    /// How many phases of the barrier it sums up.
    phase: u32,
    /// The place of the first block.
    first_block: u32,
    /// The number of the first thread.
    first: u32,
    /// By thread: one more than the clock up to which it is known; 0 for nothing.
    clocks: Vec<u32>,
    /// By block: the epoch before which all that it did is known.
    epochs: Vec<u32>,
}

/// The barrier of a cluster.
#[derive(Debug, Default)]
pub(super) struct ClusterBarrier {
    /// What has been handed on so far.
    arriving: ClusterView,
    /// What those who arrived had learnt from atomic operations.
    learnt: Vec<(u32, u32)>,
    /// What those learn who wait for the latest phase that is complete.
    complete: Option<(Arc<ClusterView>, View)>,
}

impl ClusterView {
    /// Whether an access of a block, or all of several, was handed on.
    pub(super) fn knows(&self, touch: &Touch, block: u32) -> bool {
        let place = block.wrapping_sub(self.first_block) as usize;
        let Some(epoch) = self.epochs.get(place) else { return false };
        touch.epoch < *epoch
            || (0..32).filter(|lane| touch.lanes & (1 << lane) != 0).all(|lane| {
                let thread = (touch.first + lane).wrapping_sub(self.first) as usize;
                self.clocks.get(thread).is_some_and(|known| *known > touch.clock)
            })
    }

    /// Takes in what a thread hands on.
    fn add(&mut self, point: &Point) {
        if let Some(epoch) = self.epochs.get_mut(point.block.wrapping_sub(self.first_block) as usize) {
            *epoch = (*epoch).max(point.epoch);
        }
        let own = (point.thread, point.clock + 1);
        // lanes keep what is known as one more, too
        let lanes = point.lanes.iter().flat_map(|lanes| (point.first..).zip(lanes.iter().copied()));
        for (thread, known) in lanes.chain([own]) {
            if let Some(clock) = self.clocks.get_mut(thread.wrapping_sub(self.first) as usize) {
                *clock = (*clock).max(known);
            }
        }
    }
}

/// The view of more phases: each sums up those before it.
pub(super) fn later<'v>(views: impl Iterator<Item = &'v Option<Arc<ClusterView>>>) -> Option<Arc<ClusterView>> {
    views.flatten().max_by_key(|view| view.phase).cloned()
}

impl Races {
    /// A cluster starts: its blocks have these places, and its threads follow each other.
    pub(in crate::cpu) fn start_cluster(&mut self, (first, last): (u32, u32)) {
        for block in self.blocks.get_mut(first as usize..=last as usize).into_iter().flatten() {
            block.cluster = first;
        }
    }

    /// The barrier of the cluster whose blocks have these places.
    fn cluster_barrier(&mut self, (first, last): (u32, u32)) -> &mut ClusterBarrier {
        let Self { clusters, blocks, .. } = self;
        clusters.entry(first).or_insert_with(|| {
            let members = blocks.get(first as usize..=last as usize).unwrap_or_default();
            let arriving = ClusterView {
                phase: 0,
                first_block: first,
                first: members.first().map_or(0, |block| block.first),
                clocks: vec![0; members.iter().map(|block| block.threads as usize).sum()],
                epochs: vec![0; members.len()],
            };
            ClusterBarrier { arriving, ..ClusterBarrier::default() }
        })
    }

    /// A cluster has ended.
    pub(in crate::cpu) fn end_cluster(&mut self, first_block: u32) {
        self.clusters.remove(&first_block);
    }

    /// A thread arrives; where that is relaxed, it hands on only what it had fenced.
    pub(in crate::cpu) fn arrive(&mut self, at: Where, relaxed: bool, me: &mut Sync) {
        let point = if relaxed {
            // a fence towards the own block is none towards the others
            me.released
                .as_ref()
                .filter(|(_, only)| only.is_none_or(|(first, last)| first < last))
                .map(|(point, _)| Arc::clone(point))
        } else {
            Some(Arc::new(Self::point(at, me)))
        };
        if let Some(point) = point {
            let barrier = self.cluster_barrier(at.cluster);
            barrier.arriving.add(&point);
            merge(&mut barrier.learnt, &point.view);
        }
        me.clock += 1;
    }

    /// A thread has waited for the end of a phase, the first being 0.
    pub(in crate::cpu) fn waited_for(&mut self, at: Where, phase: u32, me: &mut Sync) {
        let barrier = self.cluster_barrier(at.cluster);
        if barrier.complete.as_ref().is_none_or(|(view, _)| view.phase <= phase) {
            barrier.arriving.phase = phase + 1;
            barrier.complete = Some((Arc::new(barrier.arriving.clone()), Arc::new(barrier.learnt.clone())));
        }
        let Some((view, learnt)) = &barrier.complete else { return };
        me.cluster = Some(Arc::clone(view));
        if !learnt.is_empty() {
            merge(Arc::make_mut(&mut me.view), learnt);
        }
    }

    /// Whether a thread knows that another block of its cluster runs: from a barrier of the cluster, or from what that block handed on.
    pub(in crate::cpu) fn knows_of(&self, block: u32, me: &Sync) -> bool {
        me.cluster.is_some() || has_heard_of(&self.locations, &me.view, block)
    }

    /// The shared memory of a block is gone: what threads of other blocks did there must come before the end of one of its threads.
    pub(in crate::cpu) fn leave<'s>(
        &mut self,
        (from, bytes): (u64, u64),
        at: Where,
        threads: impl Iterator<Item = &'s Sync> + Clone,
        graph: &Graph,
    ) {
        let ends: Vec<Now<'_>> = threads.filter_map(|me| self.now(Kind::Read, at, me)).collect();
        let Some(first) = ends.first() else { return };
        let Self { shadow, blocks, locations, known, .. } = self;
        let mut order = Order { blocks, locations, known, graph };
        let mut conflicts: Vec<(Access, Touch)> = Vec::new();
        shadow.each(from, bytes, |address, size, touch| {
            let is_remote = !order.same_block(touch, first);
            if is_remote
                && !conflicts.iter().any(|(_, other)| other.site == touch.site)
                && !ends.iter().any(|now| order.before(touch, now))
            {
                let write = !touch.kind.is_read();
                conflicts.push((Access { address, size, write }, *touch));
            }
        });
        for (access, touch) in conflicts {
            let now = Now { at: Where { site: touch.site, ..at }, ..*first };
            self.report(touch, access, Subject::Left, &now, graph);
        }
    }
}
