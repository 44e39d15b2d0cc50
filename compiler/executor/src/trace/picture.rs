//! The launch tree as SVG: on the left the tree, a line a grid; on the right when each ran, with what it waited for.

use super::fold::{Folded, Row};
use super::{Kind, Node, Stream, Trace};
use std::collections::HashMap;
use std::fmt::Write as _;

/// So many lines are drawn; the rest is folded.
const MOST_ROWS: usize = 80;

const MARGIN: f64 = 16.0;
const ROW: f64 = 24.0;
const BOX: f64 = 18.0;
const INDENT: f64 = 18.0;
/// Deeper levels are not moved further to the right.
const DEEPEST: usize = 12;
/// Width of a letter.
const LETTER: f64 = 7.25;
const TIMELINE: f64 = 560.0;
/// Where the lines start, below title, legend and axis.
const TOP: f64 = 116.0;

const STYLE: &str = "text{fill:#1d2433}.small{font-size:11px;fill:#5b6475}.even{fill:#f6f7f9}.tree,.launch{fill:none;stroke:#8a93a6}\
.launch{stroke-dasharray:1 3}.order{fill:none;stroke:#1f6fd0;stroke-dasharray:5 3}.behind{fill:none;stroke:#c2620a}.axis{stroke:#d5d9e2}\
.host rect,rect.host{fill:#dfe7f5;stroke:#5873a6}.tail rect,rect.tail{fill:#fde3bd;stroke:#b9700f}.free rect,rect.free{fill:#d5efdb;stroke:#3f8a55}\
.named rect,rect.named{fill:#e6d9f6;stroke:#7a53ad}.none rect,rect.none{fill:#eceef2;stroke:#8a93a6}.failed rect,rect.failed{fill:#f8caca;stroke:#b3261e}\
.wait{fill:none;stroke-width:3;stroke:#c3c9d6}";

impl Stream {
    /// The class that gives it its colour.
    const fn class(self) -> &'static str {
        match self {
            Self::Default | Self::Null => "host",
            Self::Tail => "tail",
            Self::FireAndForget => "free",
            Self::Named(_) => "named",
        }
    }
}

/// Where things are drawn.
struct Canvas<'a> {
    trace: &'a Trace,
    out: String,
    /// The line of each node that is shown, by its place in the list.
    lines: HashMap<usize, usize>,
    /// Where the timeline starts.
    left: f64,
    first: u64,
    span: f64,
}

impl Trace {
    /// The launch tree as SVG. Times go from left to right; a large tree is folded.
    #[must_use]
    pub fn svg(&self) -> String {
        let rows = self.rows(MOST_ROWS);
        let widest = rows.iter().map(|row| self.width(row)).fold(180.0, f64::max);
        let first = self.nodes.iter().map(|node| node.submitted).min().unwrap_or(0);
        let last = self.nodes.iter().filter_map(|node| node.complete.max(node.ended).max(node.started)).max().unwrap_or(first);
        let lines = rows.iter().enumerate().filter_map(|(line, row)| match row {
            Row::Node { index, .. } => Some((*index, line)),
            Row::Folded(_) => None,
        });
        let mut canvas = Canvas {
            trace: self,
            out: String::new(),
            lines: lines.collect(),
            left: MARGIN + widest + 24.0,
            first,
            span: (last.saturating_sub(first)).max(1) as f64,
        };
        let (width, height) = (canvas.left + TIMELINE + 2.0 * MARGIN, TOP + rows.len() as f64 * ROW + MARGIN);
        let _ = writeln!(
            canvas.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"monospace\" font-size=\"12\">\n<style>{STYLE}</style>\n<defs><marker id=\"end\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"#1f6fd0\"/></marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        );
        canvas.head(width, rows.len());
        for (line, row) in rows.iter().enumerate() {
            match row {
                Row::Node { index, depth } => canvas.node(line, *index, *depth),
                Row::Folded(folded) => canvas.folded(line, folded),
            }
        }
        // on top, so that bars do not hide them
        for row in &rows {
            if let Row::Node { index, .. } = row {
                canvas.edges(*index);
            }
        }
        canvas.out.push_str("</svg>\n");
        canvas.out
    }

    /// How wide a line of the tree is.
    fn width(&self, row: &Row) -> f64 {
        let (depth, letters) = match row {
            Row::Node { index, depth } => {
                let node = self.nodes.get(*index);
                (*depth, node.map_or(0, |node| label(node).chars().count() + remark(node).chars().count() + 2))
            }
            Row::Folded(folded) => (folded.depth, summary(folded).chars().count()),
        };
        indent(depth) - MARGIN + letters as f64 * LETTER + 16.0
    }
}

impl Canvas<'_> {
    /// The place of a moment.
    fn x(&self, time: u64) -> f64 {
        self.left + time.saturating_sub(self.first) as f64 / self.span * TIMELINE
    }

    /// Title, legend, axis, and the lines' background.
    fn head(&mut self, width: f64, rows: usize) {
        let count = |kind| self.trace.nodes.iter().filter(|node| node.kind == kind).count();
        let mut parts = vec![format!("{} steps", grouped(self.span as u64))];
        for (kind, one) in [(Kind::Grid, "grid"), (Kind::Copy, "copy"), (Kind::Fill, "fill")] {
            match (count(kind), one) {
                (0, _) => {}
                (1, one) => parts.push(format!("1 {one}")),
                (many, "copy") => parts.push(format!("{} copies", grouped(many as u64))),
                (many, one) => parts.push(format!("{} {one}s", grouped(many as u64))),
            }
        }
        let _ = writeln!(self.out, "<text x=\"{MARGIN}\" y=\"26\" font-weight=\"bold\">{}</text>", parts.join(", "));
        let mut x = MARGIN;
        let colours =
            [("host", "default or NULL stream"), ("named", "named stream"), ("free", "fire-and-forget"), ("tail", "tail")];
        for (class, text) in colours {
            let _ = writeln!(
                self.out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"38\" width=\"14\" height=\"12\" rx=\"3\"/><text class=\"small\" x=\"{}\" y=\"48\">{text}</text>",
                x + 20.0
            );
            x += 44.0 + text.len() as f64 * 6.7;
        }
        x = MARGIN;
        let lines = [
            ("launch", "", "from launch to start"),
            ("order", " marker-end=\"url(#end)\"", "stream or event"),
            ("behind", "", "tail"),
            ("wait", "", "waits for what it launched"),
        ];
        for (class, end, text) in lines {
            let _ = writeln!(
                self.out,
                "<path class=\"{class}\"{end} d=\"M{x} 64h22\"/><text class=\"small\" x=\"{}\" y=\"68\">{text}</text>",
                x + 28.0
            );
            x += 46.0 + text.len() as f64 * 6.7;
        }
        let bottom = TOP + rows as f64 * ROW;
        for line in (0..rows).step_by(2) {
            let _ = writeln!(
                self.out,
                "<rect class=\"even\" x=\"0\" y=\"{}\" width=\"{width:.0}\" height=\"{ROW}\"/>",
                TOP + line as f64 * ROW
            );
        }
        for part in 0..=4u8 {
            let share = f64::from(part) / 4.0;
            let (x, time) = (self.left + share * TIMELINE, self.first + (share * self.span) as u64);
            let (anchor, unit) = match part {
                0 => ("start", " steps"),
                4 => ("end", ""),
                _ => ("middle", ""),
            };
            let _ = writeln!(
                self.out,
                "<path class=\"axis\" d=\"M{x} {}V{bottom}\"/><text class=\"small\" x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}{unit}</text>",
                TOP - 6.0,
                TOP - 12.0,
                grouped(time)
            );
        }
    }

    /// A line of the tree: what joins it to its parent.
    fn branch(&mut self, line: usize, depth: usize, parent: Option<usize>) -> (f64, f64) {
        let (x, y) = (indent(depth), TOP + line as f64 * ROW + ROW / 2.0);
        if let Some(from) = parent.and_then(|parent| self.lines.get(&parent)) {
            let (from_x, from_y) = (indent(depth.saturating_sub(1)) + 8.0, TOP + *from as f64 * ROW + ROW / 2.0 + BOX / 2.0);
            let x = x.max(from_x);
            let _ = writeln!(self.out, "<path class=\"tree\" d=\"M{from_x} {from_y}V{y}H{x}\"/>");
        }
        (x, y)
    }

    fn node(&mut self, line: usize, index: usize, depth: usize) {
        let Some(node) = self.trace.nodes.get(index) else { return };
        let parent = node.parent.and_then(|parent| self.trace.index(parent));
        let (x, y) = self.branch(line, depth, parent);
        let label = label(node);
        let class = match node.kind {
            _ if node.failed => "failed",
            Kind::Grid => node.stream.class(),
            _ => "none",
        };
        let width = label.chars().count() as f64 * LETTER + 12.0;
        let _ = writeln!(
            self.out,
            "<g class=\"{class}\"><title>{}</title><rect x=\"{x}\" y=\"{}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"4\"/><text x=\"{}\" y=\"{}\">{}</text><text class=\"small\" x=\"{:.1}\" y=\"{}\">{}</text></g>",
            markup(&details(node)),
            y - BOX / 2.0,
            x + 6.0,
            y + 4.0,
            markup(&label),
            x + width + 6.0,
            y + 4.0,
            markup(&remark(node)),
        );
        let Some(started) = node.started else { return };
        let (from, to) = (self.x(started), self.x(node.ended.unwrap_or(started)));
        if let Some(complete) = node.complete.filter(|complete| Some(*complete) > node.ended) {
            let _ = writeln!(self.out, "<path class=\"wait\" d=\"M{to:.1} {y}H{:.1}\"/>", self.x(complete));
        }
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"12\" rx=\"2\"/>",
            y - 6.0,
            (to - from).max(2.0)
        );
    }

    fn folded(&mut self, line: usize, folded: &Folded) {
        let (x, y) = self.branch(line, folded.depth, folded.parent);
        let _ =
            writeln!(self.out, "<text class=\"small\" x=\"{}\" y=\"{}\">{}</text>", x + 6.0, y + 4.0, markup(&summary(folded)));
        if let (Some(started), Some(complete)) = (folded.started, folded.complete) {
            let (from, to) = (self.x(started), self.x(complete));
            let _ = writeln!(
                self.out,
                "<rect class=\"none\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"6\" rx=\"2\"/>",
                y - 3.0,
                (to - from).max(2.0)
            );
        }
    }

    /// The middle of a node's line.
    fn y(&self, index: usize) -> Option<f64> {
        self.lines.get(&index).map(|line| TOP + *line as f64 * ROW + ROW / 2.0)
    }

    /// What a node waited for, in the timeline.
    fn edges(&mut self, index: usize) {
        let Some(node) = self.trace.nodes.get(index) else { return };
        let (Some(y), Some(started)) = (self.y(index), node.started) else { return };
        let start = self.x(started);
        if let Some(parent) = node.parent.and_then(|parent| self.trace.index(parent))
            && let Some(from) = self.y(parent)
        {
            if node.stream == Stream::Tail {
                let _ = writeln!(self.out, "<path class=\"behind\" d=\"M{start:.1} {from}V{y}\"/>");
            } else {
                let x = self.x(node.submitted);
                let _ = writeln!(self.out, "<path class=\"launch\" d=\"M{x:.1} {from}V{y}H{start:.1}\"/>");
            }
        }
        for before in node.after.iter().filter_map(|before| self.trace.index(*before)) {
            let complete = self.trace.nodes.get(before).and_then(|before| before.complete);
            let (Some(from_y), Some(complete)) = (self.y(before), complete) else { continue };
            let from = self.x(complete);
            let bend = ((start - from) / 2.0).max(14.0);
            let _ = writeln!(
                self.out,
                "<path class=\"order\" marker-end=\"url(#end)\" d=\"M{from:.1} {from_y}C{:.1} {from_y} {:.1} {y} {start:.1} {y}\"/>",
                from + bend,
                start - bend
            );
        }
    }
}

fn indent(depth: usize) -> f64 {
    MARGIN + depth.min(DEEPEST) as f64 * INDENT
}

/// `rows<<<4, (16, 2, 1)>>>`
fn label(node: &Node) -> String {
    match node.kind {
        Kind::Grid => format!("{}<<<{}, {}>>>", node.kernel, short(node.grid), short(node.block)),
        other => other.name().to_owned(),
    }
}

/// What stands behind the label.
fn remark(node: &Node) -> String {
    let stream = match node.stream {
        Stream::Default | Stream::Null => String::new(),
        other => other.name(),
    };
    match (node.failed, node.started) {
        (true, _) => format!("{stream} failed").trim().to_owned(),
        (_, None) => format!("{stream} never ran").trim().to_owned(),
        _ => stream,
    }
}

/// What is shown when somebody points at it.
fn details(node: &Node) -> String {
    let mut text = format!("{} in stream {}", label(node), node.stream.name());
    if let Some(by) = node.by {
        let _ = write!(text, ", launched by thread {} of block {}", short(by.thread), short(by.block));
    }
    let _ = write!(text, ", submitted at step {}", node.submitted);
    for (what, time) in [("started at", node.started), ("threads ended at", node.ended), ("complete at", node.complete)] {
        if let Some(time) = time {
            let _ = write!(text, ", {what} {time}");
        }
    }
    text
}

/// "… 94 more: 90 leaf, 4 node; 12 below them"
fn summary(folded: &Folded) -> String {
    let total: usize = folded.kernels.values().sum();
    let kernels: Vec<String> =
        folded.kernels.iter().map(|(name, count)| format!("{} {name}", grouped(*count as u64))).collect();
    let mut text = format!("… {} more: {}", grouped(total as u64), kernels.join(", "));
    if folded.below > 0 {
        let _ = write!(text, "; {} below", grouped(folded.below as u64));
    }
    text
}

/// "4", or "(4, 2, 1)".
fn short([x, y, z]: [u32; 3]) -> String {
    if y == 1 && z == 1 { x.to_string() } else { format!("({x}, {y}, {z})") }
}

/// "12,345"
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u32, parent: Option<u32>, stream: Stream, after: Vec<u32>) -> Node {
        let time = u64::from(id) * 10;
        Node {
            id,
            parent,
            kernel: format!("k{id}"),
            grid: [2, 1, 1],
            block: [32, 2, 1],
            stream,
            after,
            submitted: 0,
            started: Some(time),
            ended: Some(time + 5),
            complete: Some(time + 20),
            ..Node::default()
        }
    }

    #[test]
    fn every_relation_has_its_line() {
        let nodes = vec![
            node(3, None, Stream::Default, vec![]),
            node(4, None, Stream::Default, vec![3]),
            node(5, Some(3), Stream::Tail, vec![]),
            node(6, Some(3), Stream::Named(1), vec![]),
        ];
        let svg = Trace { nodes }.svg();
        // the legend has one of each, too
        assert_eq!(svg.matches("class=\"order\"").count(), 2);
        assert_eq!(svg.matches("class=\"behind\"").count(), 2);
        assert_eq!(svg.matches("class=\"launch\"").count(), 2);
        assert_eq!(svg.matches("class=\"tree\"").count(), 2);
        assert!(svg.contains(">k5&lt;&lt;&lt;2, (32, 2, 1)&gt;&gt;&gt;<"));
        assert!(svg.contains(">stream 1<") && svg.contains("4 grids"));
    }

    #[test]
    fn nothing_that_ran_is_a_picture_too() {
        let svg = Trace::default().svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
