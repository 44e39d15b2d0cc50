//! What ran when: the launch tree with its streams and times, as data, as JSON and as a picture.
//!
//! - this file: the data, and JSON
//! - `fold`: which of many nodes are shown
//! - `picture`: SVG

mod fold;
mod picture;

use cdp_core::source::Span;
use std::fmt::Write as _;

/// What a node of the launch tree is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A kernel's grid.
    #[default]
    Grid,
    /// A copy of memory.
    Copy,
    /// A fill of memory.
    Fill,
    /// An event that the host recorded.
    Event,
}

/// The stream that work was submitted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stream {
    /// The host's default stream.
    #[default]
    Default,
    /// The NULL stream of a thread block.
    Null,
    /// The tail stream of a grid.
    Tail,
    /// No order at all.
    FireAndForget,
    /// One that the program made; they are numbered from 1 in the order that work came into them.
    Named(u64),
}

/// The thread that submitted something, in its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitter {
    /// Index in its block.
    pub thread: [u32; 3],
    /// Index of the block.
    pub block: [u32; 3],
}

/// A grid, copy, fill or event. Times are steps that all threads of the device had taken together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its number; numbers grow in the order of submission.
    pub id: u32,
    /// What it is.
    pub kind: Kind,
    /// The grid that submitted it; none for the host.
    pub parent: Option<u32>,
    /// The kernel's name; empty for what is no grid.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Where it was submitted to.
    pub stream: Stream,
    /// What it was submitted behind, by streams and events.
    pub after: Vec<u32>,
    /// Where in the source it was submitted.
    pub span: Span,
    /// The thread that did; none for the host.
    pub by: Option<Submitter>,
    /// When it was submitted.
    pub submitted: u64,
    /// When its first thread started; none if it never did.
    pub started: Option<u64>,
    /// When its threads had ended.
    pub ended: Option<u64>,
    /// When all that it launched was complete, too.
    pub complete: Option<u64>,
    /// Whether a fault ended it.
    pub failed: bool,
}

/// Everything that ran, in the order of submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Grids, copies, fills and events.
    pub nodes: Vec<Node>,
}

impl Kind {
    /// As JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::Event => "event",
        }
    }
}

impl Stream {
    /// As JSON has it: `default`, `null`, `tail`, `fire-and-forget`, `stream 1`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Tail => "tail".to_owned(),
            Self::FireAndForget => "fire-and-forget".to_owned(),
            Self::Named(number) => format!("stream {number}"),
        }
    }
}

impl Trace {
    /// Numbers the named streams, whose handles say nothing to a reader.
    pub(crate) fn number_streams(&mut self) {
        let mut known = std::collections::HashMap::new();
        for node in &mut self.nodes {
            if let Stream::Named(handle) = &mut node.stream {
                let next = known.len() as u64 + 1;
                *handle = *known.entry(*handle).or_insert(next);
            }
        }
    }

    /// `{"unit": "steps", "nodes": […]}`, one node a line; docs/json.md describes the keys. `place` tells file, line and column of a span.
    #[must_use]
    pub fn json(&self, place: impl Fn(Span) -> Option<(String, u32, u32)>) -> String {
        let mut out = String::from("{\"unit\": \"steps\", \"nodes\": [");
        for (index, node) in self.nodes.iter().enumerate() {
            let number = |value: Option<u64>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
            let _ = write!(
                out,
                "{}\n  {{\"id\": {}, \"kind\": \"{}\", \"parent\": {}, \"kernel\": \"{}\", \"grid\": {:?}, \"block\": {:?}, \"stream\": \"{}\", \"after\": {:?}",
                if index == 0 { "" } else { "," },
                node.id,
                node.kind.name(),
                number(node.parent.map(u64::from)),
                escaped(&node.kernel),
                node.grid,
                node.block,
                node.stream.name(),
                node.after,
            );
            if let Some((file, line, column)) = place(node.span) {
                let _ = write!(out, ", \"file\": \"{}\", \"line\": {line}, \"column\": {column}", escaped(&file));
            }
            if let Some(by) = node.by {
                let _ = write!(out, ", \"by\": {{\"thread\": {:?}, \"block\": {:?}}}", by.thread, by.block);
            }
            let _ = write!(
                out,
                ", \"submitted\": {}, \"started\": {}, \"ended\": {}, \"complete\": {}, \"failed\": {}}}",
                node.submitted,
                number(node.started),
                number(node.ended),
                number(node.complete),
                node.failed
            );
        }
        out.push_str("\n]}\n");
        out
    }

    /// The place of a node in the list.
    fn index(&self, id: u32) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }
}

/// Inside a string of JSON.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_a_line_for_each() {
        let node = |id, parent, stream, after| Node {
            id,
            parent,
            kernel: format!("k{id}"),
            grid: [2, 1, 1],
            block: [32, 2, 1],
            stream,
            after,
            ..Node::default()
        };
        let mut second = node(2, Some(1), Stream::Null, vec![1]);
        second.by = Some(Submitter { thread: [3, 0, 0], block: [1, 0, 0] });
        (second.started, second.ended) = (Some(4), Some(9));
        let trace = Trace { nodes: vec![node(1, None, Stream::Default, vec![]), second] };
        let json = trace.json(|_| Some(("a \"b\".cdp".to_owned(), 4, 9)));
        assert_eq!(json.lines().count(), 4);
        let line = json.lines().nth(2).unwrap();
        assert_eq!(
            line,
            "  {\"id\": 2, \"kind\": \"grid\", \"parent\": 1, \"kernel\": \"k2\", \"grid\": [2, 1, 1], \"block\": [32, 2, 1], \"stream\": \"null\", \"after\": [1], \"file\": \"a \\\"b\\\".cdp\", \"line\": 4, \"column\": 9, \"by\": {\"thread\": [3, 0, 0], \"block\": [1, 0, 0]}, \"submitted\": 0, \"started\": 4, \"ended\": 9, \"complete\": null, \"failed\": false}"
        );
    }

    #[test]
    fn streams_are_numbered_as_they_come() {
        let node = |id, handle| Node { id, stream: Stream::Named(handle), ..Node::default() };
        let mut trace = Trace { nodes: vec![node(1, 0x500), node(2, 0x400), node(3, 0x500)] };
        trace.number_streams();
        let names: Vec<String> = trace.nodes.iter().map(|node| node.stream.name()).collect();
        assert_eq!(names, ["stream 1", "stream 2", "stream 1"]);
    }
}
