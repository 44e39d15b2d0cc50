//! Streams and events, of the host and of grids, by their handles.

use super::graph::{Frontier, Graph, NodeId};
use crate::leaks::{Leak, Made};
use cdp_core::source::Span;
use std::collections::HashMap;

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// The grid that made it; none for the host.
    pub owner: Option<NodeId>,
    /// Of the host: it waits for the default stream, and the default stream for it.
    blocking: bool,
    /// Where it was made.
    made: Span,
    /// Where it was destroyed, if it was.
    pub destroyed: Option<Span>,
    frontier: Frontier,
}

/// An event.
#[derive(Debug)]
pub(super) struct Event {
    /// The grid that made it; none for the host.
    pub owner: Option<NodeId>,
    pub timing: bool,
    /// Where it was made.
    made: Span,
    /// Where it was destroyed, if it was.
    pub destroyed: Option<Span>,
    pub recorded: bool,
    pub frontier: Frontier,
    /// When the work that it stands for was over, in steps.
    pub ended_at: Option<u64>,
}

/// All handles.
#[derive(Debug, Default)]
pub(super) struct Streams {
    streams: HashMap<u64, Stream>,
    events: HashMap<u64, Event>,
    made: u64,
    /// The host's default stream.
    default: Frontier,
    /// The host's blocking streams, in the order they were made.
    blocking: Vec<u64>,
}

/// Handles start here: nothing that a program makes up by counting.
const FIRST_HANDLE: u64 = 0x5_0000_0010;

impl Streams {
    fn handle(&mut self) -> u64 {
        self.made += 1;
        FIRST_HANDLE + self.made * 16
    }

    pub(super) fn make_stream(&mut self, owner: Option<NodeId>, blocking: bool, made: Span) -> u64 {
        let handle = self.handle();
        self.streams.insert(handle, Stream { owner, blocking, made, destroyed: None, frontier: Vec::new() });
        if blocking {
            self.blocking.push(handle);
        }
        handle
    }

    pub(super) fn make_event(&mut self, owner: Option<NodeId>, timing: bool, made: Span) -> u64 {
        let handle = self.handle();
        self.events.insert(
            handle,
            Event { owner, timing, made, destroyed: None, recorded: false, frontier: Vec::new(), ended_at: None },
        );
        handle
    }

    /// Streams and events that grids made and did not destroy.
    pub(super) fn leaks(&self) -> impl Iterator<Item = Leak> {
        let streams = self.streams.values().filter(|stream| stream.owner.is_some() && stream.destroyed.is_none());
        let events = self.events.values().filter(|event| event.owner.is_some() && event.destroyed.is_none());
        let streams = streams.map(|stream| Leak { made: Made::Stream, span: stream.made, bytes: 0 });
        streams.chain(events.map(|event| Leak { made: Made::Event, span: event.made, bytes: 0 }))
    }

    pub(super) fn stream(&self, handle: u64) -> Option<&Stream> {
        self.streams.get(&handle)
    }

    pub(super) fn event(&self, handle: u64) -> Option<&Event> {
        self.events.get(&handle)
    }

    pub(super) fn event_mut(&mut self, handle: u64) -> Option<&mut Event> {
        self.events.get_mut(&handle)
    }

    /// A destroyed stream's work still runs.
    pub(super) fn destroy_stream(&mut self, handle: u64, span: Span) {
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.destroyed = Some(span);
        }
        self.blocking.retain(|blocking| *blocking != handle);
    }

    /// What the next work in a stream that is no default stream waits for; the host's blocking ones wait for the default stream too.
    pub(super) fn frontier(&mut self, handle: u64, graph: &Graph) -> Frontier {
        let Some(stream) = self.streams.get_mut(&handle) else { return Vec::new() };
        graph.prune(&mut stream.frontier);
        let mut frontier = stream.frontier.clone();
        if stream.blocking {
            frontier.extend(self.default.iter().filter(|id| !stream.frontier.contains(id)));
        }
        frontier
    }

    /// Notes when events were over, before their nodes are forgotten.
    pub(super) fn note_ends(&mut self, graph: &Graph) {
        for event in self.events.values_mut().filter(|event| event.timing && event.recorded && event.ended_at.is_none()) {
            event.ended_at = graph.ended_at(&event.frontier);
        }
    }

    /// The work in a stream that is not forgotten yet; 0 is the host's default stream, which stands for the blocking ones, too.
    pub(super) fn work(&mut self, handle: u64, graph: &Graph) -> Frontier {
        if handle == 0 {
            return self.default_frontier(graph);
        }
        let Some(stream) = self.streams.get_mut(&handle) else { return Vec::new() };
        graph.prune(&mut stream.frontier);
        stream.frontier.clone()
    }

    /// From now on, the stream's next work waits for this node.
    pub(super) fn advance(&mut self, handle: u64, node: NodeId) {
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.frontier.clear();
            stream.frontier.push(node);
        }
    }

    /// From now on, the stream's next work waits for these, too.
    pub(super) fn wait(&mut self, handle: u64, frontier: &[NodeId]) {
        if let Some(stream) = self.streams.get_mut(&handle) {
            stream.frontier.extend_from_slice(frontier);
        }
    }

    /// What the next work in the host's default stream waits for: itself and all blocking streams.
    pub(super) fn default_frontier(&mut self, graph: &Graph) -> Frontier {
        graph.prune(&mut self.default);
        let mut frontier = self.default.clone();
        for handle in &self.blocking {
            if let Some(stream) = self.streams.get_mut(handle) {
                graph.prune(&mut stream.frontier);
                frontier.extend_from_slice(&stream.frontier);
            }
        }
        frontier.sort_unstable();
        frontier.dedup();
        frontier
    }

    pub(super) fn advance_default(&mut self, node: NodeId) {
        self.default.clear();
        self.default.push(node);
    }

    pub(super) fn wait_default(&mut self, frontier: &[NodeId]) {
        self.default.extend_from_slice(frontier);
    }
}
