//! Random launch trees without races, and the same with one edge taken out, which makes one.
//!
//! Every grid writes slots of its own, from constants and from slots of grids that come before it: its ancestors, those before it in its
//! stream, those behind an event that its stream waits for, and, in a tail, everything that its parent launched. The right values follow
//! from the tree alone. Each way of coming before is an edge; without it, a grid reads what nothing orders before it.

use std::fmt::Write as _;

/// A source of numbers (splitmix64).
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A program and what it prints.
pub struct Tree {
    pub text: String,
    pub expected: String,
    /// How many edges could be taken out.
    pub edges: usize,
    pub grids: usize,
}

struct Node {
    first: usize,
    threads: usize,
    values: Vec<u32>,
}

struct Maker {
    draw: Draw,
    ty: &'static str,
    nodes: Vec<Node>,
    kernels: String,
    slots: usize,
    edges: usize,
    omit: Option<usize>,
}

/// Values stay below this, so that every type holds every sum.
const MODULUS: u32 = 16;
const TYPES: [&str; 10] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Null,
    A,
    B,
    Forget,
}

impl Stream {
    const fn name(self) -> &'static str {
        match self {
            Self::Null => "cudaStreamDefault",
            Self::A => "a",
            Self::B => "b",
            Self::Forget => "cudaStreamFireAndForget",
        }
    }
}

/// A tree of a seed; `omit` is the number of the edge to take out.
pub fn tree(seed: u64, omit: Option<usize>) -> Tree {
    let mut draw = Draw(seed);
    let ty = TYPES[draw.below(TYPES.len())];
    let mut maker = Maker { draw, ty, nodes: Vec::new(), kernels: String::new(), slots: 0, edges: 0, omit };
    let mut host = String::new();
    let mut known: Vec<usize> = Vec::new();
    for _ in 0..1 + maker.draw.below(2) {
        let (root, subtree) = maker.grid(&known, &[], 0);
        let threads = maker.nodes[root].threads;
        let _ = writeln!(host, "    k{root}<<<1, {threads}>>>(d);");
        known.extend(subtree);
    }
    let slots = maker.slots;
    let shown = if ty.starts_with('f') { "%.0f" } else { "%d" };
    let value = if ty.starts_with('f') { "d[i]" } else { "d[i] as i32" };
    let text = format!(
        "{}host fn main() {{\n    let d = device({ty}, {slots});\n{host}    cudaDeviceSynchronize();\n    for i in 0..{slots} {{ printf(\"{shown} \", {value}); }}\n}}\n",
        maker.kernels
    );
    let expected =
        maker.nodes.iter().flat_map(|node| &node.values).fold(String::new(), |text, value| text + &value.to_string() + " ");
    Tree { text, expected, edges: maker.edges, grids: maker.nodes.len() }
}

impl Maker {
    /// Counts an edge; whether it stays.
    fn edge(&mut self) -> bool {
        self.edges += 1;
        self.omit != Some(self.edges - 1)
    }

    /// Makes a grid that may read `known` and reads `must`; its number, and all grids of its subtree.
    fn grid(&mut self, known: &[usize], must: &[usize], depth: usize) -> (usize, Vec<usize>) {
        let me = self.nodes.len();
        let threads = 2 + self.draw.below(if self.draw.0.is_multiple_of(3) { 40 } else { 6 });
        let constant = self.draw.below(MODULUS as usize) as u32;
        let mut reads: Vec<usize> = must.to_vec();
        for _ in 0..self.draw.below(3) {
            if !known.is_empty() {
                reads.push(known[self.draw.below(known.len())]);
            }
        }
        // what must be read comes first, so that it is not among what is one too many
        let mut seen = std::collections::BTreeSet::new();
        reads.retain(|read| seen.insert(*read));
        reads.truncate(4);
        let first = self.slots;
        self.slots += threads;
        let values = (0..threads)
            .map(|t| {
                let sum: u32 = reads.iter().map(|read| self.nodes[*read].values[t % self.nodes[*read].threads]).sum();
                (constant + t as u32 % MODULUS + sum) % MODULUS
            })
            .collect();
        let mut body = format!(
            "    let t = threadIdx.x as i32;\n    var v: {} = {constant}{};\n",
            self.ty,
            if self.ty.starts_with('f') { ".0" } else { "" }
        );
        let _ = writeln!(body, "    v += (t % {MODULUS}) as {};", self.ty);
        for read in &reads {
            let Node { first, threads, .. } = &self.nodes[*read];
            let _ = writeln!(body, "    v += d[{first} + t % {threads}];");
        }
        let modulus = if self.ty.starts_with('f') { format!("{MODULUS}.0") } else { MODULUS.to_string() };
        let _ = writeln!(body, "    d[{first} + t] = v % {modulus};");
        self.nodes.push(Node { first, threads, values });
        let mut subtree = vec![me];
        if depth < 3 && self.draw.chance(if depth == 0 { 100 } else { 45 }) {
            body.push_str(&self.children(me, known, depth, &mut subtree));
        }
        let _ = write!(self.kernels, "kernel k{me}(d: *global {}) {{\n{body}}}\n", self.ty);
        (me, subtree)
    }

    fn launch(&self, child: usize, stream: &str) -> String {
        format!("    check(k{child}<<<1, {}, 0, {stream}>>>(d));\n", self.nodes[child].threads)
    }

    /// The launches of a grid, by one of its threads.
    fn children(&mut self, me: usize, known: &[usize], depth: usize, subtree: &mut Vec<usize>) -> String {
        let launcher = self.draw.below(self.nodes[me].threads);
        let mut inherited = known.to_vec();
        inherited.push(me);
        let mut parts: Vec<String> = Vec::new();
        // what is before the next launch in the streams a, b and NULL
        let mut before: [Vec<usize>; 3] = Default::default();
        let mut launched: Vec<usize> = Vec::new();
        let mut events = 0;
        for place in 0..1 + self.draw.below(4) {
            let stream = [Stream::Null, Stream::A, Stream::B, Stream::Forget][self.draw.below(4)];
            let mut part = String::new();
            let lane = match stream {
                Stream::A => Some(0),
                Stream::B => Some(1),
                Stream::Null => Some(2),
                Stream::Forget => None,
            };
            let mut may = inherited.clone();
            // the first child reads its parent, so that the barrier before the launch is an edge
            let mut must = if place == 0 { vec![me] } else { Vec::new() };
            let mut name = stream.name();
            if let Some(lane) = lane {
                if let Some(last) = before[lane].last().copied() {
                    if self.edge() {
                        may.extend(&before[lane]);
                    } else {
                        name = Stream::Forget.name();
                    }
                    must.push(last);
                }
                let other = 1 - lane.min(1);
                let fresh: Vec<usize> = before[other].iter().copied().filter(|node| !before[lane].contains(node)).collect();
                if lane < 2 && !fresh.is_empty() && self.draw.chance(50) {
                    let streams = ["a", "b"];
                    let _ = writeln!(part, "    cudaEventRecord(e{events}, {});", streams[other]);
                    if self.edge() {
                        let _ = writeln!(part, "    cudaStreamWaitEvent({}, e{events}, 0);", streams[lane]);
                    }
                    must.push(fresh[fresh.len() - 1]);
                    may.extend(&fresh);
                    before[lane].extend(&fresh);
                    events += 1;
                }
            }
            let (child, nodes) = self.grid(&may, &must, depth + 1);
            part.push_str(&self.launch(child, name));
            parts.push(part);
            launched.extend(&nodes);
            if let Some(lane) = lane {
                // the child itself is the last: what must be read is what it wrote
                before[lane].extend(nodes.iter().rev());
            }
        }
        let mut done = launched.clone();
        for _ in 0..self.draw.below(3) {
            let mut may = inherited.clone();
            may.extend(&done);
            // no tail: without its edge, this grid would come before it, which is wrong but no race
            let must = [launched[self.draw.below(launched.len())]];
            let stream = if self.edge() { "cudaStreamTailLaunch" } else { "cudaStreamFireAndForget" };
            let (child, nodes) = self.grid(&may, &must, depth + 1);
            let launch = self.launch(child, stream);
            // a tail may be launched before what it waits for
            let place = if done.len() == launched.len() { self.draw.below(parts.len() + 1) } else { parts.len() };
            parts.insert(place, launch);
            done.extend(&nodes);
        }
        subtree.extend(&done);
        let mut text = String::new();
        if self.edge() {
            text.push_str("    __syncthreads();\n");
        }
        let _ = writeln!(text, "    if t != {launcher} {{ return; }}");
        let _ = writeln!(text, "    var a: cudaStream_t;\n    var b: cudaStream_t;");
        for stream in ["a", "b"] {
            let _ = writeln!(text, "    check(cudaStreamCreateWithFlags(&{stream}, cudaStreamNonBlocking));");
        }
        for event in 0..events {
            let _ = writeln!(
                text,
                "    var e{event}: cudaEvent_t;\n    check(cudaEventCreateWithFlags(&e{event}, cudaEventDisableTiming));"
            );
        }
        text.extend(parts);
        for event in 0..events {
            let _ = writeln!(text, "    cudaEventDestroy(e{event});");
        }
        let _ = writeln!(text, "    cudaStreamDestroy(a);\n    cudaStreamDestroy(b);");
        text.replace("check(", "assert(cudaSuccess == ")
    }
}
