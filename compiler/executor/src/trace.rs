//! What ran when: the launch tree with its streams and times, as data, as JSON and as a picture.

use std::fmt::Write as _;

/// A grid, copy or fill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNode {
    /// Its number; numbers grow in the order of submission.
    pub id: u32,
    /// The grid that submitted it; none for the host.
    pub parent: Option<u32>,
    /// The kernel's name; empty for a copy or fill.
    pub kernel: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// `default`, `null`, `tail`, `fire-and-forget`, or a handle.
    pub stream: String,
    /// What it was submitted behind, by streams and events.
    pub after: Vec<u32>,
    /// Steps that the device had taken when it was submitted.
    pub submitted: u64,
    /// The same when it started.
    pub started: u64,
    /// When its threads had ended.
    pub ended: u64,
    /// When all that it launched was complete, too.
    pub complete: u64,
}

/// Everything that ran, in the order of submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Grids, copies and fills.
    pub nodes: Vec<TraceNode>,
}

/// Pictures show no more than this.
const MOST_DRAWN: usize = 1000;
const ROW: usize = 26;
const INDENT: usize = 36;
const WIDTH: usize = 260;
const HEIGHT: usize = 20;
const MARGIN: usize = 20;

impl Trace {
    /// `{"unit": "steps", "nodes": […]}`, one node a line.
    #[must_use]
    pub fn json(&self) -> String {
        let mut out = String::from("{\"unit\": \"steps\", \"nodes\": [");
        for (index, node) in self.nodes.iter().enumerate() {
            let parent = node.parent.map_or_else(|| "null".to_owned(), |parent| parent.to_string());
            let _ = write!(
                out,
                "{}\n  {{\"id\": {}, \"parent\": {parent}, \"kernel\": \"{}\", \"grid\": {:?}, \"block\": {:?}, \"stream\": \"{}\", \"after\": {:?}, \"submitted\": {}, \"started\": {}, \"ended\": {}, \"complete\": {}}}",
                if index == 0 { "" } else { "," },
                node.id,
                escaped(&node.kernel),
                node.grid,
                node.block,
                escaped(&node.stream),
                node.after,
                node.submitted,
                node.started,
                node.ended,
                node.complete
            );
        }
        out.push_str("\n]}\n");
        out
    }

    /// The launch tree as SVG: a box a grid, below the one that launched it; lines for what a stream or an event makes wait, and for
    /// tails.
    #[must_use]
    pub fn svg(&self) -> String {
        let places = self.places();
        let deepest = places.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
        let (width, height) = (2 * MARGIN + deepest * INDENT + WIDTH + 120, 3 * MARGIN + places.len() * ROW);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"monospace\" font-size=\"12\">\n<style>rect{{fill:#eef3fb;stroke:#446}}.tail{{fill:#fdf0dc}}path{{fill:none;stroke:#446}}.after{{stroke:#06c;stroke-dasharray:4 3}}.behind{{stroke:#c60}}</style>\n"
        );
        let at = |index: usize| {
            places.iter().position(|(node, _)| *node == index).map(|row| (row, places.get(row).map_or(0, |(_, depth)| *depth)))
        };
        for (row, (index, depth)) in places.iter().enumerate() {
            let Some(node) = self.nodes.get(*index) else { continue };
            let (x, y) = (MARGIN + depth * INDENT, MARGIN + row * ROW);
            if let Some((parent_row, parent_depth)) = node.parent.and_then(|parent| self.index(parent)).and_then(at) {
                let (from_x, from_y) = (MARGIN + parent_depth * INDENT + INDENT / 2, MARGIN + parent_row * ROW + HEIGHT);
                let class = if node.stream == "tail" { " class=\"behind\"" } else { "" };
                let _ = writeln!(out, "<path{class} d=\"M{from_x} {from_y}V{}H{x}\"/>", y + HEIGHT / 2);
            }
            for (before_row, before_depth) in node.after.iter().filter_map(|before| self.index(*before)).filter_map(at) {
                let (from_x, from_y) = (MARGIN + before_depth * INDENT + WIDTH, MARGIN + before_row * ROW + HEIGHT / 2);
                let (to_x, to_y) = (x + WIDTH, y + HEIGHT / 2);
                let bend = from_x.max(to_x) + 20 + (row - before_row.min(row)).min(8) * 10;
                let _ = writeln!(
                    out,
                    "<path class=\"after\" d=\"M{from_x} {from_y}C{bend} {from_y} {bend} {to_y} {to_x} {to_y}\"/>"
                );
            }
            let class = if node.stream == "tail" { " class=\"tail\"" } else { "" };
            let name = if node.kernel.is_empty() {
                "copy".to_owned()
            } else {
                format!("{}<<<{}, {}>>>", node.kernel, short(node.grid), short(node.block))
            };
            let _ = writeln!(
                out,
                "<g><title>{} in stream {}; steps {} to {}, complete {}</title><rect{class} x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"4\"/><text x=\"{}\" y=\"{}\">{}</text></g>",
                markup(&name),
                markup(&node.stream),
                node.started,
                node.ended,
                node.complete,
                x + 6,
                y + 14,
                markup(&name)
            );
        }
        let hidden = self.nodes.len() - places.len();
        if hidden > 0 {
            let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{}\">{hidden} more are not shown</text>", height - MARGIN);
        }
        out.push_str("</svg>\n");
        out
    }

    /// The place of a node in the list.
    fn index(&self, id: u32) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }

    /// The nodes in the order of the tree, each with its depth.
    fn places(&self) -> Vec<(usize, usize)> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut pending = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match node.parent.and_then(|parent| self.index(parent)).and_then(|parent| children.get_mut(parent)) {
                Some(list) => list.push(index),
                None => pending.push((index, 0)),
            }
        }
        pending.reverse();
        let mut places = Vec::new();
        while let Some((index, depth)) = pending.pop() {
            if places.len() == MOST_DRAWN {
                break;
            }
            places.push((index, depth));
            pending.extend(children.get(index).into_iter().flatten().rev().map(|child| (*child, depth + 1)));
        }
        places
    }
}

/// "4", or "(4, 2, 1)".
fn short([x, y, z]: [u32; 3]) -> String {
    if y == 1 && z == 1 { x.to_string() } else { format!("({x}, {y}, {z})") }
}

fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|character| if matches!(character, '"' | '\\') { vec!['\\', character] } else { vec![character] })
        .collect()
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u32, parent: Option<u32>, stream: &str, after: Vec<u32>) -> TraceNode {
        let (kernel, stream) = (format!("k{id}"), stream.to_owned());
        TraceNode { id, parent, kernel, grid: [2, 1, 1], block: [32, 2, 1], stream, after, ..TraceNode::default() }
    }

    #[test]
    fn children_stand_below_their_parents() {
        let nodes = vec![node(3, None, "default", vec![]), node(4, None, "default", vec![3]), node(5, Some(3), "tail", vec![])];
        let trace = Trace { nodes };
        assert_eq!(trace.places(), [(0, 0), (2, 1), (1, 0)]);
        let svg = trace.svg();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("class=\"after\"").count(), 1);
        assert_eq!(svg.matches("class=\"behind\"").count(), 1);
        assert!(svg.contains("k5&lt;&lt;&lt;2, (32, 2, 1)&gt;&gt;&gt;"));
    }

    #[test]
    fn json_has_a_line_for_each() {
        let trace = Trace { nodes: vec![node(1, None, "default", vec![]), node(2, Some(1), "null", vec![1])] };
        let json = trace.json();
        assert_eq!(json.lines().count(), 4);
        assert!(json.contains("{\"id\": 2, \"parent\": 1, \"kernel\": \"k2\", \"grid\": [2, 1, 1], \"block\": [32, 2, 1], \"stream\": \"null\", \"after\": [1], \"submitted\": 0,"));
    }
}
