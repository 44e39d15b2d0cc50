//! Whether an earlier access is ordered before a thread.

use super::shadow::{Kind, Touch};
use super::{Audience, Block, ClusterView, Now, Point, View};
use crate::cpu::graph::{Graph, NodeId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Pairs of grids of which it is known whether the first, with all its accesses, comes before the second starts. Where that hangs on which
/// access it is, as with a parent and its child, nothing is noted.
#[derive(Debug, Default)]
pub(super) struct Known {
    last: Option<((NodeId, NodeId), bool)>,
    pairs: HashMap<(NodeId, NodeId), bool>,
}

/// More pairs than this are forgotten, and found out again.
const MOST_KNOWN: usize = 1 << 20;

impl Known {
    fn get(&mut self, pair: (NodeId, NodeId)) -> Option<bool> {
        if let Some((last, before)) = self.last
            && last == pair
        {
            return Some(before);
        }
        let before = *self.pairs.get(&pair)?;
        self.last = Some((pair, before));
        Some(before)
    }

    fn insert(&mut self, pair: (NodeId, NodeId), before: bool) {
        if self.pairs.len() >= MOST_KNOWN {
            self.pairs.clear();
        }
        self.pairs.insert(pair, before);
        self.last = Some((pair, before));
    }
}

/// What was handed on by atomic operations at one address, in order.
#[derive(Debug, Default)]
pub(super) struct Location {
    len: u32,
    /// By thread: at which place, up to which clock, and for whom.
    threads: HashMap<u32, Vec<(u32, u32, Audience)>>,
    /// By block: at which place, up to before which epoch, and for whom.
    blocks: HashMap<u32, Vec<(u32, u32, Audience)>>,
    /// What the releasing threads knew of their clusters: at which place, and for whom.
    clusters: Vec<(u32, Audience, Arc<ClusterView>)>,
    /// What the releasing threads had learnt elsewhere: by location, by the block of the thread, where it had learnt what was meant for that block
    /// only, and by whom this is for; at which place, up to which place there; only what is more than before.
    also: HashMap<(u32, u32, Audience), Vec<(u32, u32)>>,
    /// Their grids, which started after what those waited for.
    grids: Vec<(u32, NodeId)>,
}

impl Location {
    /// What is known to whoever comes after a node that does nothing itself.
    pub(super) fn of_grid(node: NodeId) -> Self {
        Self { len: 1, grids: vec![(0, node)], ..Self::default() }
    }

    pub(super) const fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn release(&mut self, point: &Point, only: Audience, id: u32) {
        let place = self.len;
        self.len += 1;
        self.threads.entry(point.thread).or_default().push((place, point.clock, only));
        if let Some(lanes) = &point.lanes {
            // the lane of the thread itself is found by its own clock
            for (lane, known) in (0u32..).zip(lanes.iter()).filter(|(_, known)| **known > 0) {
                let first = point.first;
                self.threads.entry(first + lane).or_default().push((place, known - 1, only));
            }
        }
        self.blocks.entry(point.block).or_default().push((place, point.epoch, only));
        if let Some(view) = &point.cluster
            && !self.clusters.iter().any(|(_, known, other)| *known == only && Arc::ptr_eq(other, view))
        {
            self.clusters.push((place, only, Arc::clone(view)));
        }
        if only.is_none() && !self.grids.iter().any(|(_, node)| *node == point.node) {
            self.grids.push((place, point.node));
        }
        for (location, len) in point.view.iter().filter(|(location, _)| *location != id) {
            let list = self.also.entry((*location, point.block, only)).or_default();
            if list.last().is_none_or(|(_, before)| before < len) {
                list.push((place, *len));
            }
        }
    }

    fn knows_thread(&self, thread: u32, clock: u32, len: u32, block: u32) -> bool {
        let found = self.threads.get(&thread).into_iter().flatten();
        found.into_iter().any(|(place, known, only)| *place < len && *known >= clock && is_for(*only, block))
    }

    /// Whether a thread of the block `reader` learns of all that another block did in an epoch.
    fn knows_block(&self, block: u32, epoch: u32, len: u32, reader: u32) -> bool {
        let found = self.blocks.get(&block).into_iter().flatten();
        found.into_iter().any(|(place, known, only)| *place < len && *known > epoch && is_for(*only, reader))
    }

    fn knows_cluster(&self, earlier: Earlier<'_>, len: u32, reader: u32) -> bool {
        let mut found = self.clusters.iter().filter(|(place, only, _)| *place < len && is_for(*only, reader));
        found.any(|(_, _, view)| view.knows(earlier.touch, earlier.block))
    }

    /// What those releases bring from elsewhere that a thread of the block `reader` learns of: the location, up to which place, and the block.
    fn brings(&self, len: u32, reader: Option<u32>) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let reaches = move |only: Audience| reader.is_none_or(|block| is_for(only, block));
        self.also.iter().filter(move |((.., only), _)| reaches(*only)).filter_map(move |((location, block, _), list)| {
            let last = list.partition_point(|(place, _)| *place < len).checked_sub(1)?;
            list.get(last).map(|(_, known)| (*location, *known, *block))
        })
    }

    /// Whether a thread of a block has handed something on.
    fn has_heard_of(&self, block: u32, len: u32) -> bool {
        self.blocks.get(&block).into_iter().flatten().any(|(place, ..)| *place < len)
    }
}

fn is_for(only: Audience, block: u32) -> bool {
    only.is_none_or(|(first, last)| (first..=last).contains(&block))
}

/// The lanes of a set.
fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |lane| mask & (1 << lane) != 0)
}

/// Everything that an answer rests on.
pub(super) struct Order<'a> {
    pub blocks: &'a [Block],
    pub locations: &'a [Location],
    pub known: &'a mut Known,
    pub graph: &'a Graph,
}

/// An earlier access, and where it was.
#[derive(Clone, Copy)]
struct Earlier<'a> {
    touch: &'a Touch,
    block: u32,
    node: NodeId,
}

/// Where one question has led so far: grids whose start was looked at, and by location and asking block up to which place. Whatever is asked
/// twice is answered once, however many ways lead there.
#[derive(Default)]
struct Seen {
    grids: HashSet<NodeId>,
    locations: HashMap<(u32, u32), u32>,
}

impl Order<'_> {
    pub(super) fn same_block(&self, earlier: &Touch, now: &Now<'_>) -> bool {
        earlier.first.wrapping_sub(now.block.first) < now.block.threads
    }

    /// Whether an access, or all of several, is ordered before what a thread does now.
    pub(super) fn before(&mut self, earlier: &Touch, now: &Now<'_>) -> bool {
        if now.touch.kind == Kind::Cached && !earlier.kind.is_read() {
            return self.before_grid(earlier, now);
        }
        if self.same_block(earlier, now) {
            if earlier.epoch < now.at.epoch {
                return true;
            }
            let same_warp = earlier.first == now.touch.first;
            let others = if same_warp { earlier.lanes & !now.touch.lanes } else { earlier.lanes };
            if others == 0 || (same_warp && knows_lanes(now.me.lanes.as_deref(), others, earlier.clock)) {
                return true;
            }
            let earlier = Earlier { touch: earlier, block: now.at.block, node: now.at.node };
            if knows_cluster(&now.me.cluster, earlier) {
                return true;
            }
            return self.learnt(&now.me.view, earlier, now.at.block, now.at.node, &mut Seen::default());
        }
        let Some(block) = self.blocks.partition_point(|block| block.first <= earlier.first).checked_sub(1) else { return true };
        let Some(node) = self.blocks.get(block).map(|block| block.node) else { return true };
        let earlier = Earlier { touch: earlier, block: u32::try_from(block).unwrap_or(u32::MAX), node };
        if self.known.get((node, now.at.node)) == Some(true) || knows_cluster(&now.me.cluster, earlier) {
            return true;
        }
        let mut seen = Seen::default();
        self.learnt(&now.me.view, earlier, now.at.block, now.at.node, &mut seen)
            || self.before_start(earlier, now.at.node, &mut seen)
    }

    /// Whether an access is before the whole grid of what a thread does now: what caches that are emptied between grids show.
    fn before_grid(&mut self, earlier: &Touch, now: &Now<'_>) -> bool {
        let Some(block) = self.blocks.partition_point(|block| block.first <= earlier.first).checked_sub(1) else { return true };
        let Some(node) = self.blocks.get(block).map(|block| block.node) else { return true };
        let earlier = Earlier { touch: earlier, block: u32::try_from(block).unwrap_or(u32::MAX), node };
        node != now.at.node
            && (self.known.get((node, now.at.node)) == Some(true)
                || self.before_start(earlier, now.at.node, &mut Seen::default()))
    }

    /// Whether a thread has learnt of it by atomic operations.
    fn learnt(&mut self, view: &View, earlier: Earlier<'_>, block: u32, node: NodeId, seen: &mut Seen) -> bool {
        if view.is_empty() {
            return false;
        }
        // locations, how many of the releases there, and the block of the thread that learnt of them
        let mut work: Vec<(u32, u32, u32)> = view.iter().map(|(id, len)| (*id, *len, block)).collect();
        let mut grids = Vec::new();
        while let Some((id, len, block)) = work.pop() {
            let known = seen.locations.entry((id, block)).or_default();
            if *known >= len {
                continue;
            }
            *known = len;
            let Some(location) = self.locations.get(id as usize) else { continue };
            let Touch { first, lanes: mask, clock, epoch, .. } = *earlier.touch;
            if location.knows_block(earlier.block, epoch, len, block)
                || location.knows_cluster(earlier, len, block)
                || lanes(mask).all(|lane| location.knows_thread(first + lane, clock, len, block))
            {
                return true;
            }
            work.extend(location.brings(len, Some(block)));
            grids
                .extend(location.grids.iter().filter(|(place, other)| *place < len && *other != node).map(|(_, other)| *other));
        }
        grids.into_iter().any(|grid| self.before_start(earlier, grid, seen))
    }

    /// Whether it comes before a grid or copy starts.
    fn before_start(&mut self, earlier: Earlier<'_>, start: NodeId, seen: &mut Seen) -> bool {
        if seen.grids.contains(&start) {
            return false;
        }
        let mut visited = HashSet::new();
        let mut work = vec![start];
        // whether the answer is the same for every access of the earlier grid
        let mut whole = true;
        while let Some(node) = work.pop() {
            match self.known.get((earlier.node, node)) {
                Some(true) => {
                    self.known.insert((earlier.node, start), true);
                    return true;
                }
                Some(false) => continue,
                None => {}
            }
            if !visited.insert(node) || self.graph.within(earlier.node, node) {
                continue;
            }
            if !seen.grids.insert(node) {
                // what comes of it there is not known yet
                whole = false;
                continue;
            }
            let after = self.graph.after(node);
            let tail_of = self.graph.tail_of(node);
            if after.iter().copied().chain(tail_of).any(|done| self.graph.within(earlier.node, done)) {
                self.known.insert((earlier.node, start), true);
                return true;
            }
            work.extend_from_slice(after);
            if let Some(point) = self.graph.point(node) {
                whole &= point.view.is_empty() && point.node != earlier.node;
                if self.before_point(earlier, point, seen) {
                    return true;
                }
                work.push(point.node);
            }
        }
        if whole {
            self.known.insert((earlier.node, start), false);
        }
        false
    }

    /// Whether a launching thread had done it, or knew of it.
    fn before_point(&mut self, earlier: Earlier<'_>, point: &Point, seen: &mut Seen) -> bool {
        let touch = earlier.touch;
        if earlier.block == point.block && earlier.node == point.node {
            if touch.epoch < point.epoch {
                return true;
            }
            let lane = point.thread.wrapping_sub(touch.first);
            let own = if lane < 32 { 1u32 << lane } else { 0 };
            let others = touch.lanes & !own;
            let own_done = touch.lanes & own == 0 || touch.clock <= point.clock;
            let same_warp = lane < 32;
            let others_done = others == 0 || (same_warp && knows_lanes(point.lanes.as_deref(), others, touch.clock));
            if own_done && others_done {
                return true;
            }
        }
        knows_cluster(&point.cluster, earlier) || self.learnt(&point.view, earlier, point.block, point.node, seen)
    }
}

/// Whether a thread has heard of a block by atomic operations: so it runs.
pub(super) fn has_heard_of(locations: &[Location], view: &View, block: u32) -> bool {
    let mut work: Vec<(u32, u32)> = view.to_vec();
    let mut visited: HashMap<u32, u32> = HashMap::new();
    while let Some((id, len)) = work.pop() {
        let known = visited.entry(id).or_default();
        if *known >= len {
            continue;
        }
        *known = len;
        let Some(location) = locations.get(id as usize) else { continue };
        if location.has_heard_of(block, len) {
            return true;
        }
        work.extend(location.brings(len, None).map(|(location, len, _)| (location, len)));
    }
    false
}

/// Whether what a thread learnt at the barrier of its cluster says so.
fn knows_cluster(view: &Option<Arc<ClusterView>>, earlier: Earlier<'_>) -> bool {
    view.as_ref().is_some_and(|view| view.knows(earlier.touch, earlier.block))
}

/// Whether a thread knows of these lanes up to a clock.
fn knows_lanes(known: Option<&[u32; 32]>, mask: u32, clock: u32) -> bool {
    known.is_some_and(|known| (0u32..).zip(known).all(|(lane, known)| mask & (1 << lane) == 0 || *known > clock))
}
