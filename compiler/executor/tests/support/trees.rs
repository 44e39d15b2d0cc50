//! Random launch trees without races, and the same with one edge taken out, which makes one.
//!
//! Every grid writes slots of its own, from a constant and from slots of grids that come before it: its ancestors, those before it in its
//! stream, those behind an event that its stream waits for, and, in a tail, everything that its parent launched. The right values follow
//! from the tree alone. Each way of coming before is an edge; without it, a grid reads what nothing orders before it.
//!
//! - this file: the tree, and programs made of it
//! - `children`: what a grid launches

#[path = "trees_children.rs"]
mod children;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

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

/// A tree: its kernels, and a host function that runs it and counts wrong values.
pub struct Tree {
    pub kernels: String,
    /// `host fn tree_SEED() -> i32`
    pub host: String,
    pub seed: u64,
    /// How many edges could be taken out.
    pub edges: usize,
    pub grids: usize,
    /// What it is made of: its type, kinds of streams, tails that merge …
    pub features: BTreeSet<&'static str>,
}

/// Values stay below this, so that every type holds every sum.
const MODULUS: u32 = 16;
/// So many slots are added up at most: an `i8` holds 15 + 15 + 6 * 15.
const MOST_READS: usize = 6;
const TYPES: [(&str, usize); 12] = [
    ("i8", 1),
    ("i16", 2),
    ("i32", 4),
    ("i64", 8),
    ("u8", 1),
    ("u16", 2),
    ("u32", 4),
    ("u64", 8),
    ("f16", 2),
    ("bf16", 2),
    ("f32", 4),
    ("f64", 8),
];

/// Slots that one grid, or one block of it, has written.
struct View {
    first: usize,
    values: Vec<u32>,
}

/// A kernel with what its launch looks like.
struct Grid {
    number: usize,
    blocks: usize,
    threads: usize,
    constant: u32,
    /// Whether the constant is the first parameter.
    constant_first: bool,
    /// All its slots.
    view: usize,
    /// The views of all grids in its subtree, itself the first.
    subtree: Vec<usize>,
}

struct Maker {
    draw: Draw,
    prefix: String,
    ty: &'static str,
    size: usize,
    views: Vec<View>,
    /// The right value of every slot.
    slots: Vec<u32>,
    kernels: String,
    grids: usize,
    /// So many grids, and those that have begun to launch may end.
    most_grids: usize,
    edges: usize,
    omit: Option<usize>,
    features: BTreeSet<&'static str>,
}

/// A tree of a seed; `omit` is the number of the edge to take out.
pub fn tree(seed: u64, omit: Option<usize>) -> Tree {
    let mut draw = Draw(seed);
    let (ty, size) = TYPES[draw.below(TYPES.len())];
    // a kernel takes the assembler as long as a program: most trees are small
    let most_grids = if draw.chance(4) { 40 } else { 3 + draw.below(7) };
    let mut maker = Maker {
        draw,
        prefix: format!("t{seed}_"),
        ty,
        size,
        views: Vec::new(),
        slots: Vec::new(),
        kernels: String::new(),
        grids: 0,
        most_grids,
        edges: 0,
        omit,
        features: BTreeSet::from([ty]),
    };
    let roots = maker.roots();
    let slots = maker.slots.len();
    let wanted = maker.slots.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let host = format!(
        "host fn tree_{seed}() -> i32 {{
    let d = device({ty}, {slots});
{roots}    let err = cudaDeviceSynchronize();
    if err != cudaSuccess {{ printf(\"seed {seed}: %s\\n\", cudaGetErrorName(err)); return 1; }}
    var wanted: [u8; {slots}] = [{wanted}];
    var wrong = 0;
    for i in 0..{slots} {{ if d[i] as i32 != wanted[i] as i32 {{ wrong += 1; }} }}
    if wrong != 0 {{ printf(\"seed {seed}: %d of {slots} values are wrong\\n\", wrong); }}
    return wrong;
}}
"
    );
    let Maker { kernels, edges, grids, features, .. } = maker;
    Tree { kernels, host, seed, edges, grids, features }
}

impl Tree {
    /// A program of its own, with a `main` and a test.
    pub fn program(&self) -> String {
        let Self { kernels, host, seed, .. } = self;
        format!(
            "{kernels}{host}host fn main() {{ assert(tree_{seed}() == 0); }}\ntest \"tree {seed}\" {{ assert(tree_{seed}() == 0); }}\n"
        )
    }
}

/// A file with all trees of some seeds, and one test that runs them in one process, on one device.
pub fn file(seeds: Range<u64>) -> String {
    let (first, last) = (seeds.start, seeds.end - 1);
    let mut text =
        format!("// Random launch trees, seeds {first} to {last}: `cargo run -p cdp-executor --example launch_tree`.\n");
    let mut calls = String::new();
    for seed in seeds {
        let Tree { kernels, host, .. } = tree(seed, None);
        text.push_str(&kernels);
        text.push_str(&host);
        let _ = writeln!(calls, "    if tree_{seed}() != 0 {{ wrong += 1; }}");
    }
    let _ = write!(text, "test \"trees {first} to {last}\" {{\n    var wrong = 0;\n{calls}    assert(wrong == 0);\n}}\n");
    text
}

impl Maker {
    /// Counts an edge; whether it stays.
    fn edge(&mut self) -> bool {
        self.edges += 1;
        self.omit != Some(self.edges - 1)
    }

    fn view(&mut self, values: Vec<u32>) -> usize {
        let first = self.slots.len();
        self.slots.extend(&values);
        self.views.push(View { first, values });
        self.views.len() - 1
    }

    fn literal(&self, value: u32) -> String {
        if self.ty.contains('f') { format!("{value}.0") } else { value.to_string() }
    }

    /// The host's launches: one to three grids in the default stream, the last one perhaps in another, behind an event.
    fn roots(&mut self) -> String {
        let mut text = String::new();
        let mut known: Vec<usize> = Vec::new();
        let count = 1 + self.draw.below(3);
        for root in 0..count {
            self.most_grids += 2;
            let aside = root > 0 && root + 1 == count && self.draw.chance(50);
            let must = if aside { vec![known[0]] } else { Vec::new() };
            let grid = self.grid(&known, &must, 0, false);
            let mut stream = "cudaStreamDefault";
            if aside {
                self.features.insert("host event");
                text.push_str("    var s: cudaStream_t;\n    var e: cudaEvent_t;\n");
                text.push_str("    assert(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) == cudaSuccess);\n");
                text.push_str("    assert(cudaEventCreateWithFlags(&e, cudaEventDisableTiming) == cudaSuccess);\n");
                text.push_str("    assert(cudaEventRecord(e, cudaStreamDefault) == cudaSuccess);\n");
                if self.edge() {
                    text.push_str("    assert(cudaStreamWaitEvent(s, e, 0) == cudaSuccess);\n");
                }
                stream = "s";
            }
            text.push_str(&self.launch(&grid, stream));
            known.extend(grid.subtree);
        }
        text
    }

    fn launch(&self, grid: &Grid, stream: &str) -> String {
        let Grid { number, blocks, threads, constant, constant_first, .. } = grid;
        let constant = self.literal(*constant);
        let args = if *constant_first { format!("{constant}, d") } else { format!("d, {constant}") };
        format!("    assert({}k{number}<<<{blocks}, {threads}, 0, {stream}>>>({args}) == cudaSuccess);\n", self.prefix)
    }

    /// Makes a grid that may read `known` and reads `must`.
    fn grid(&mut self, known: &[usize], must: &[usize], depth: usize, tail: bool) -> Grid {
        let number = self.grids;
        self.grids += 1;
        let many = self.draw.chance(25);
        let threads = 2 + self.draw.below(if many { 40 } else { 6 });
        let blocks = if self.draw.chance(25) { 2 + self.draw.below(3) } else { 1 };
        let constant = self.draw.below(MODULUS as usize) as u32;
        let constant_first = self.draw.chance(50);
        let mut reads: Vec<usize> = must.to_vec();
        for _ in 0..self.draw.below(3) {
            if !known.is_empty() {
                reads.push(known[self.draw.below(known.len())]);
            }
        }
        // what must be read comes first, so that it is not among what is one too many
        let mut seen = BTreeSet::new();
        reads.retain(|read| seen.insert(*read));
        reads.truncate(MOST_READS);
        let values = (0..blocks * threads)
            .map(|t| {
                let read = |view: &usize| self.views[*view].values[t % self.views[*view].values.len()];
                (constant + t as u32 % MODULUS + reads.iter().map(read).sum::<u32>()) % MODULUS
            })
            .collect();
        let view = self.view(values);
        let mut body = "    let t = (blockIdx.x * blockDim.x + threadIdx.x) as i32;\n    var v = c;\n".to_owned();
        let _ = writeln!(body, "    v += (t % {MODULUS}) as {};", self.ty);
        for read in &reads {
            let View { first, values } = &self.views[*read];
            let _ = writeln!(body, "    v += d[{first} + t % {}];", values.len());
        }
        let _ = writeln!(body, "    d[{} + t] = v % {};", self.views[view].first, self.literal(MODULUS));
        self.note(blocks, depth, tail);
        let mut grid = Grid { number, blocks, threads, constant, constant_first, view, subtree: vec![view] };
        let grows = self.draw.chance(if depth == 0 { 100 } else { 45 });
        if grows && depth < 3 && self.grids < self.most_grids {
            if tail {
                self.features.insert("tail that launches");
            }
            body.push_str(&self.children(&mut grid, known, depth));
        }
        let ty = self.ty;
        let params = if constant_first { format!("c: {ty}, d: *global {ty}") } else { format!("d: *global {ty}, c: {ty}") };
        let _ = write!(self.kernels, "kernel {}k{number}({params}) {{\n{body}}}\n", self.prefix);
        grid
    }

    fn note(&mut self, blocks: usize, depth: usize, tail: bool) {
        let made_of = [("blocks", blocks > 1), ("grandchild", depth == 2), ("great-grandchild", depth == 3), ("tail", tail)];
        self.features.extend(made_of.into_iter().filter(|(_, is)| *is).map(|(name, _)| name));
    }
}
