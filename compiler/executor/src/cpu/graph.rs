//! The order of grids and copies: streams, events, tails, completion (CUDA programming guide 4.18.2).
//!
//! Every launch and every copy is a node. A node may start when those that it waits for are complete; a grid is complete when its
//! threads have ended, its children are complete, and then its tail launches, one after the other (cdp2 rules R1, R8). A stream is
//! the set of nodes that its next one waits for; an event is a copy of such a set.

use super::races::Point;
use crate::passed::Undefined;
use crate::program::Program;
use crate::trace::{self, Stream, Submitter};
use crate::transfer::Transfer;
use cdp_core::source::Span;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

/// A node by its number; numbers grow in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(pub u32);

/// What a node does.
#[derive(Debug)]
pub(super) enum Work {
    Grid(Grid),
    Transfer(Transfer),
    /// Done, or thrown away.
    Nothing,
}

/// A grid to run.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// What of the parameters has no value.
    pub undefined: Option<Box<Undefined>>,
    pub kernel: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    pub params: Vec<u8>,
}

#[derive(Debug)]
struct Node {
    work: Work,
    /// The grid that submitted it; none for the host.
    parent: Option<NodeId>,
    depth: u32,
    /// Incomplete nodes that it waits for.
    waits: u32,
    /// Nodes that wait for it.
    dependents: Vec<NodeId>,
    tail: bool,
    threads_ended: bool,
    complete: bool,
    /// Children but tails that are not complete.
    children: u32,
    tails: VecDeque<NodeId>,
    /// Whether it takes a place in the launch pool (cdp2 rule R20).
    pooled: bool,
    /// Where it was submitted.
    span: Span,
    /// The nodes that it was submitted behind.
    after: Vec<NodeId>,
    /// What the launching thread had done and knew, where that is followed.
    point: Option<Box<Point>>,
    site: u32,
    /// Threads of a block.
    block: [u32; 3],
    /// Blocks.
    grid: [u32; 3],
    stream: Stream,
    /// In steps, as the two below.
    submitted_at: u64,
    started_at: Option<u64>,
    threads_ended_at: Option<u64>,
    /// The thread that submitted it; none for the host.
    from: Option<Submitter>,
    kernel: u32,
    /// When it was complete, in steps.
    ended_at: Option<u64>,
    kind: trace::Kind,
    failed: bool,
}

/// What the next work in a stream waits for.
pub(super) type Frontier = Vec<NodeId>;

/// A node to be submitted.
#[derive(Debug)]
pub(super) struct Submission {
    pub work: Work,
    pub parent: Option<NodeId>,
    pub tail: bool,
    pub span: Span,
    pub from: Option<Submitter>,
    pub point: Option<Box<Point>>,
    /// The step that submitted it, as a number of the whole program.
    pub site: u32,
    /// Its stream's name.
    pub stream: Stream,
    /// Steps that the device had taken.
    pub now: u64,
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Those that may still matter: the first has the number `first`.
    nodes: VecDeque<Node>,
    first: u32,
    /// The deepest first, so that few launches are pending at once; then in the order of submission.
    ready: BTreeSet<(Reverse<u32>, NodeId)>,
    pooled: u64,
}

impl Graph {
    /// Places of the launch pool that are taken.
    pub(super) const fn pooled(&self) -> u64 {
        self.pooled
    }

    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0.checked_sub(self.first)? as usize)
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0.checked_sub(self.first)? as usize)
    }

    /// Adds a node that waits for a stream's frontier.
    pub(super) fn submit(&mut self, submission: Submission, frontier: &[NodeId]) -> NodeId {
        let id = NodeId(self.next_id());
        let Submission { work, parent, tail, span, from, point, site, stream, now } = submission;
        let depth = parent.and_then(|parent| self.node(parent)).map_or(0, |parent| parent.depth + 1);
        let mut waits = 0;
        for before in frontier {
            if let Some(before) = self.node_mut(*before)
                && !before.complete
            {
                before.dependents.push(id);
                waits += 1;
            }
        }
        let pooled = parent.is_some() && matches!(work, Work::Grid(_));
        self.pooled += u64::from(pooled);
        let (kind, kernel, grid_size, block_size) = match &work {
            Work::Grid(grid) => (trace::Kind::Grid, grid.kernel, grid.grid, grid.block),
            Work::Transfer(transfer) if transfer.is_copy() => (trace::Kind::Copy, u32::MAX, [1; 3], [1; 3]),
            Work::Transfer(_) => (trace::Kind::Fill, u32::MAX, [1; 3], [1; 3]),
            Work::Nothing => (trace::Kind::Event, u32::MAX, [1; 3], [1; 3]),
        };
        self.nodes.push_back(Node {
            work,
            parent,
            depth,
            waits,
            dependents: Vec::new(),
            tail,
            threads_ended: false,
            complete: false,
            children: 0,
            tails: VecDeque::new(),
            pooled,
            span,
            after: frontier.to_vec(),
            point,
            site,
            block: block_size,
            grid: grid_size,
            stream,
            submitted_at: now,
            started_at: None,
            threads_ended_at: None,
            from,
            kernel,
            ended_at: None,
            kind,
            failed: false,
        });
        if let Some(parent) = parent.and_then(|parent| self.node_mut(parent)) {
            if tail {
                parent.tails.push_back(id);
            } else {
                parent.children += 1;
            }
        }
        if !tail && waits == 0 {
            self.ready.insert((Reverse(depth), id));
        }
        id
    }

    /// A node that does nothing and comes after these nodes of a grid, which are complete.
    pub(super) fn join(&mut self, grid: NodeId, after: &[NodeId], point: Point, span: Span, now: u64) -> NodeId {
        let id = self.submit(
            Submission {
                work: Work::Nothing,
                parent: Some(grid),
                tail: false,
                span,
                from: None,
                point: Some(Box::new(point)),
                site: 0,
                stream: Stream::Null,
                now,
            },
            after,
        );
        self.ready.retain(|(_, ready)| *ready != id);
        self.ended(id, now);
        id
    }

    /// A stream's frontier without what is forgotten. What is complete stays: it says what comes after it.
    pub(super) fn prune(&self, frontier: &mut Frontier) {
        frontier.retain(|id| self.node(*id).is_some());
    }

    /// The kernel of a grid; none for a copy.
    pub(super) fn kernel(&self, id: NodeId) -> Option<u32> {
        self.node(id).map(|node| node.kernel).filter(|kernel| *kernel != u32::MAX)
    }

    /// Threads of a grid's blocks in x, y, z.
    pub(super) fn block_size(&self, id: NodeId) -> [u32; 3] {
        self.node(id).map_or([1; 3], |node| node.block)
    }

    /// The step that submitted a node.
    pub(super) fn site(&self, id: NodeId) -> u32 {
        self.node(id).map_or(0, |node| node.site)
    }

    /// The nodes that one was submitted behind.
    pub(super) fn after(&self, id: NodeId) -> &[NodeId] {
        self.node(id).map_or(&[], |node| &node.after)
    }

    /// The grid whose tail this is.
    pub(super) fn tail_of(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).filter(|node| node.tail)?.parent
    }

    /// What the launching thread had done and knew.
    pub(super) fn point(&self, id: NodeId) -> Option<&Point> {
        self.node(id)?.point.as_deref()
    }

    /// Whether a node is another one or nested in it.
    pub(super) fn within(&self, id: NodeId, outer: NodeId) -> bool {
        let Some(depth) = self.node(outer).map(|outer| outer.depth) else { return false };
        let mut at = id;
        loop {
            if at == outer {
                return true;
            }
            match self.node(at) {
                Some(node) if node.depth > depth => match node.parent {
                    Some(parent) => at = parent,
                    None => return false,
                },
                _ => return false,
            }
        }
    }

    /// The child of `outer` that a node is, or is nested in.
    pub(super) fn child_towards(&self, outer: NodeId, id: NodeId) -> Option<NodeId> {
        let mut at = id;
        loop {
            match self.node(at)?.parent {
                Some(parent) if parent == outer => return Some(at),
                parent => at = parent?,
            }
        }
    }

    /// When the last of these was complete, in steps; none before that, or once they are forgotten.
    pub(super) fn ended_at(&self, frontier: &[NodeId]) -> Option<u64> {
        frontier.iter().map(|id| self.node(*id).and_then(|node| node.ended_at)).try_fold(0, |at, end| Some(at.max(end?)))
    }

    /// Every node that is known, to be written down.
    pub(super) fn trace(&self, program: &Program) -> Vec<trace::Node> {
        let name = |node: &Node| program.code(node.kernel).map_or_else(String::new, |code| code.name.clone());
        let numbered = (self.first..).zip(&self.nodes);
        let traced = numbered.map(|(id, node)| trace::Node {
            id,
            kind: node.kind,
            parent: node.parent.map(|parent| parent.0),
            kernel: name(node),
            grid: node.grid,
            block: node.block,
            stream: node.stream,
            after: node.after.iter().map(|id| id.0).collect(),
            span: node.span,
            by: node.from,
            submitted: node.submitted_at,
            started: node.started_at,
            ended: node.threads_ended_at,
            complete: node.ended_at,
            failed: node.failed,
        });
        traced.collect()
    }

    /// How many grids and copies that a grid submitted are not complete, but tails.
    pub(super) fn children(&self, id: NodeId) -> u32 {
        self.node(id).map_or(0, |node| node.children)
    }

    /// The number of the next node.
    pub(super) fn next_id(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX))
    }

    /// An empty graph that goes on counting.
    pub(super) fn counting_from(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// A fault ended it.
    pub(super) fn failed(&mut self, id: NodeId, now: u64) {
        if let Some(node) = self.node_mut(id) {
            node.failed = true;
            node.threads_ended_at = Some(now);
        }
    }

    /// Forgets nodes that are complete; from then on nobody knows when that was.
    pub(super) fn forget(&mut self) {
        while self.nodes.front().is_some_and(|node| node.complete) {
            self.nodes.pop_front();
            self.first += 1;
        }
    }

    /// How many nodes may be run now.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// The next node to run, with its work: the one at this place of those that are ready, the deepest first.
    pub(super) fn next(&mut self, place: usize, now: u64) -> Option<(NodeId, Work)> {
        let (depth, id) = *self.ready.iter().nth(place)?;
        self.ready.remove(&(depth, id));
        self.node_mut(id)?.started_at = Some(now);
        let work = std::mem::replace(&mut self.node_mut(id)?.work, Work::Nothing);
        Some((id, work))
    }

    /// The threads of a grid have ended, or a copy is made.
    pub(super) fn ended(&mut self, id: NodeId, now: u64) {
        if let Some(node) = self.node_mut(id) {
            node.threads_ended = true;
            node.threads_ended_at = Some(now);
        }
        // a chain of tails may be long: a list instead of recursion
        let mut settle = vec![id];
        while let Some(id) = settle.pop() {
            self.settle(id, now, &mut settle);
        }
    }

    /// Goes on with a node whose threads have ended: children, then tails, then completion.
    fn settle(&mut self, id: NodeId, now: u64, more: &mut Vec<NodeId>) {
        let Some(node) = self.node_mut(id) else { return };
        if !node.threads_ended || node.children > 0 || node.complete {
            return;
        }
        // a grid that only its tails are missing of no longer takes a place: a chain of 10,000 tails runs under a pool of 2048 (R8)
        let released = std::mem::take(&mut node.pooled);
        let next_tail = node.tails.pop_front();
        self.pooled -= u64::from(released);
        if let Some(tail) = next_tail {
            let depth = self.node(tail).map_or(0, |tail| tail.depth);
            self.ready.insert((Reverse(depth), tail));
            return;
        }
        let Some(node) = self.node_mut(id) else { return };
        node.complete = true;
        node.ended_at = Some(now);
        let (parent, tail) = (node.parent, node.tail);
        for dependent in std::mem::take(&mut node.dependents) {
            let Some(waiting) = self.node_mut(dependent) else { continue };
            waiting.waits -= 1;
            if waiting.waits == 0 {
                let depth = waiting.depth;
                self.ready.insert((Reverse(depth), dependent));
            }
        }
        if let Some(parent) = parent {
            if !tail && let Some(node) = self.node_mut(parent) {
                node.children -= 1;
            }
            more.push(parent);
        }
    }

    /// Throws everything away that has not run: the context is spoilt.
    pub(super) fn abandon(&mut self) {
        self.ready.clear();
        self.pooled = 0;
        for node in &mut self.nodes {
            node.work = Work::Nothing;
            node.complete = true;
            node.dependents.clear();
        }
    }

    /// The launches that led to a node, innermost first: kernel, where it was launched, by whom.
    pub(super) fn chain(&self, id: NodeId) -> impl Iterator<Item = (u32, Span, Option<Submitter>)> {
        let mut next = Some(id);
        std::iter::from_fn(move || {
            let node = self.node(next?)?;
            next = node.parent;
            Some((node.kernel, node.span, node.from))
        })
    }

    /// Whether a node that is nested deeper than this may be run now.
    pub(super) fn has_deeper(&self, depth: u32) -> bool {
        self.ready.first().is_some_and(|(Reverse(first), _)| *first > depth)
    }

    /// Whether a node is complete with all that is nested in it; what is forgotten is.
    pub(super) fn is_complete(&self, id: NodeId) -> bool {
        self.node(id).is_none_or(|node| node.complete)
    }

    /// How deep a grid is nested; 0 for those that the host launched.
    pub(super) fn depth(&self, id: NodeId) -> u32 {
        self.node(id).map_or(0, |node| node.depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(kernel: u32, parent: Option<NodeId>, tail: bool) -> Submission {
        let work = Work::Grid(Grid { kernel, ..Grid::default() });
        Submission {
            work,
            parent,
            tail,
            span: Span::default(),
            from: None,
            point: None,
            site: 0,
            stream: Stream::Default,
            now: 0,
        }
    }

    fn kernels(graph: &mut Graph) -> Vec<u32> {
        let mut ran = Vec::new();
        while let Some((id, work)) = graph.next(0, 0) {
            if let Work::Grid(grid) = work {
                ran.push(grid.kernel);
            }
            graph.ended(id, 0);
        }
        ran
    }

    #[test]
    fn a_stream_is_in_order() {
        let mut graph = Graph::default();
        let a = graph.submit(grid(1, None, false), &[]);
        let b = graph.submit(grid(2, None, false), &[a]);
        graph.submit(grid(3, None, false), &[b]);
        assert_eq!(kernels(&mut graph), [1, 2, 3]);
    }

    #[test]
    fn tails_run_after_children_submitted_later_and_before_what_follows_in_the_stream() {
        let mut graph = Graph::default();
        let parent = graph.submit(grid(1, None, false), &[]);
        graph.submit(grid(9, None, false), &[parent]);
        let (id, _) = graph.next(0, 0).unwrap();
        assert_eq!(id, parent);
        graph.submit(grid(4, Some(parent), true), &[]);
        graph.submit(grid(5, Some(parent), true), &[]);
        let child = graph.submit(grid(2, Some(parent), false), &[]);
        graph.ended(parent, 0);
        let (next, _) = graph.next(0, 0).unwrap();
        assert_eq!(next, child);
        graph.submit(grid(3, Some(child), true), &[]);
        graph.ended(child, 0);
        assert_eq!(kernels(&mut graph), [3, 4, 5, 9]);
        assert_eq!(graph.pooled(), 0);
    }

    #[test]
    fn a_long_chain_of_tails_takes_few_places() {
        let mut graph = Graph::default();
        graph.submit(grid(0, None, false), &[]);
        let mut most = 0;
        for step in 0..100_000u32 {
            let (id, _) = graph.next(0, 0).unwrap();
            graph.submit(grid(step, Some(id), true), &[]);
            most = most.max(graph.pooled());
            graph.ended(id, 0);
        }
        kernels(&mut graph);
        assert!(most <= 2);
        assert_eq!(graph.pooled(), 0);
    }

    #[test]
    fn what_is_forgotten_counts_as_complete() {
        let mut graph = Graph::default();
        let a = graph.submit(grid(1, None, false), &[]);
        kernels(&mut graph);
        assert_eq!(graph.ended_at(&[a]), Some(0));
        graph.forget();
        assert_eq!(graph.ended_at(&[a]), None);
        let b = graph.submit(grid(2, None, false), &[a]);
        assert_ne!(a, b);
        assert_eq!(kernels(&mut graph), [2]);
    }

    #[test]
    fn ancestors_keep_their_places() {
        let mut graph = Graph::default();
        graph.submit(grid(0, None, false), &[]);
        for depth in 0..50u64 {
            let (id, _) = graph.next(0, 0).unwrap();
            assert_eq!(graph.pooled(), depth);
            graph.submit(grid(0, Some(id), false), &[]);
            graph.ended(id, 0);
        }
    }
}
