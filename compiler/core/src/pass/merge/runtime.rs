//! The code that merged launches run on: a text of our own, compiled like any other.

use super::facts::Facts;
use super::graft::{Naming, graft};
use super::plan::{MergeMode, Plan, Queue};
use super::record::Segments;
use crate::ir::{Function, FunctionBuilder, FunctionId, FunctionKind, Module};
use crate::lower::{self, LowerOptions};
use crate::source::{SourceMap, Span};
use crate::types::{Space, TypeTable};
use crate::{sema, syntax};
use std::collections::HashMap;
use std::fmt::Write as _;

const COMMON: &str = include_str!("runtime.cdp");
pub(in crate::pass) const BELOW: &str = include_str!("below.cdp");
const BLOCKS: &str = include_str!("blocks.cdp");
const HERE: &str = include_str!("here.cdp");
const NOWHERE: &str = include_str!("nowhere.cdp");
const PARTS: &str = include_str!("parts.cdp");
/// Where no kernel has buckets.
const NO_PARTS: &str = "@inline\nfn drain_parts(root: u32) {}\n";
const RESERVE: &str = include_str!("reserve.cdp");
const SIZES: &str = include_str!("sizes.cdp");
const STAGE: &str = include_str!("stage.cdp");
const THREADS: &str = include_str!("threads.cdp");

/// Threads of the blocks in which children are laid side by side.
const FULL_BLOCK: u32 = 128;
/// Roots that can push at the same time are this many, in so many sets; merged grids that can push, so many.
const BUCKETS: u32 = 128;
const WAYS: u32 = 4;
const OTHERS: u32 = 256;
/// Units of a grid that is pushed: so that 2^24 records fit the bits that count them, and a grid of as many blocks is none that the hardware
/// refuses.
pub(super) const MOST_UNITS: u32 = 65535;
/// Blocks of a merged grid; with more of them each runs several of the children's blocks, or rounds of their threads, one after the other.
const MOST_BLOCKS: u32 = 65536;
const MOST_FULL_BLOCKS: u32 = 16384;

/// Records that a block keeps for itself in one turn, as many as it has threads; turns; and units of a generation in which blocks do that.
const HERE_RECORDS: u64 = 128;
const HERE_TURNS: u64 = 16;
const HERE_GENERATION: u64 = 16384;

/// What was added to the module.
pub(super) struct Runtime {
    /// By queue: `fn(record: *global const u8, unit: u32, next: u32)`, runs one block or thread; empty as yet.
    pub runs: Vec<FunctionId>,
    /// The same with a generic pointer, for queues that blocks keep launches of for themselves.
    pub runs_here: Vec<Option<FunctionId>>,
    /// By queue: `fn(context: u32, units: u32) -> *global u8`
    pub reserve: Vec<FunctionId>,
    /// By queue that blocks keep launches of for themselves: `fn(units: u32) -> u32` and `fn(number: u32) -> *shared u8`
    pub here: Vec<Option<[FunctionId; 2]>>,
    /// `fn(x: u32, y: u32, z: u32, each: u32) -> u32`
    pub units_of: FunctionId,
    /// `fn(x: u32, y: u32, z: u32, most: u32) -> u32`, where blocks have sizes that are not known
    pub threads_of: Option<FunctionId>,
    /// `fn(offset: i64, bound: i64, most: i64, inclusive: bool, total: u32) -> u32`
    pub below: FunctionId,
    /// `fn(queue: u32) -> u32`
    pub root_context: FunctionId,
    /// `fn(context: u32) -> bool`
    pub may_launch: FunctionId,
    /// `fn()`
    pub before_tail: FunctionId,
    pub note_direct: FunctionId,
    /// `fn() -> u32` and `fn(direct: u32) -> bool`, for loops
    pub direct_launches: FunctionId,
    pub has_launched: FunctionId,
    /// `fn(asked: u32) -> u32` and `fn(asked: u32)`, where kernels have buckets
    pub part_context: Option<FunctionId>,
    pub leave_part: Option<FunctionId>,
}

/// No context, or number (`NONE` in the text).
pub(super) const NO_CONTEXT: u32 = u32::MAX;

/// Compiles the text and adds it. None when it has errors, which its tests rule out.
pub(super) fn add(module: &mut Module, facts: &Facts, plan: &Plan) -> Option<Runtime> {
    let part = compile(&text(module, facts, plan))?;
    let span = plan.queues.first().map(|queue| queue.span).unwrap_or_default();
    let mut given = HashMap::new();
    let mut runs = Vec::new();
    let mut runs_here = Vec::new();
    for (index, queue) in plan.queues.iter().enumerate() {
        let mut declare = |word: &str, space: Space| {
            let function = declaration(module, &format!("{word}_{index}"), space, span);
            let id = module.add_function(function);
            given.insert(format!("{word}_{index}"), id);
            id
        };
        runs.push(declare("run", Space::Global));
        runs_here.push(queue.keeps.then(|| declare("run_here", Space::Generic)));
    }
    // modules that are linked together have queues of their own, and kernels' names are unique among them
    let owner = plan.queues.first().and_then(|queue| module.function(queue.kernel)).map(|kernel| kernel.symbol.clone());
    let owner = owner.unwrap_or_default();
    let symbol = |name: &str| format!("cdpc$merge${owner}${}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let names = graft(module, part, &Naming { symbol: &symbol, given: &given, span })?;
    let name = |name: &str| names.get(name).copied();
    Some(Runtime {
        runs,
        runs_here,
        here: (0..plan.queues.len())
            .map(|queue| Some([name(&format!("reserve_here_{queue}"))?, name(&format!("record_here_{queue}"))?]))
            .collect(),
        reserve: (0..plan.queues.len()).map(|queue| name(&format!("reserve_{queue}"))).collect::<Option<_>>()?,
        units_of: name("units_of")?,
        threads_of: name("threads_in"),
        below: name("below")?,
        root_context: name("root_context")?,
        may_launch: name("may_launch")?,
        before_tail: name("before_tail")?,
        note_direct: name("note_direct")?,
        direct_launches: name("direct_launches")?,
        has_launched: name("has_launched")?,
        part_context: name("part_context"),
        leave_part: name("leave_part"),
    })
}

pub(super) fn declaration(module: &mut Module, name: &str, space: Space, span: Span) -> Function {
    let bytes = module.types.pointer(space, TypeTable::U8, true);
    let (name, symbol) = (format!("cdpc${name}"), format!("cdpc$merge${name}"));
    let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::VOID, span);
    builder.param("record", bytes, false, span);
    builder.param("unit", TypeTable::U32, false, span);
    builder.param("next", TypeTable::U32, false, span);
    builder.finish()
}

/// A module of a text; none when there are errors in it.
pub(in crate::pass) fn compile(text: &str) -> Option<Module> {
    let mut sources = SourceMap::new();
    let file = sources.add("cdpc$merge", text);
    let (tree, mut diagnostics) = syntax::parse(file, text);
    let (program, found) = sema::check(&[tree], &sources, sema::Options::default());
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        debug_assert!(false, "{diagnostics:?}");
        return None;
    }
    let (mut module, found) = lower::lower(program, &LowerOptions::default());
    super::super::const_fold(&mut module);
    super::super::simplify(&mut module);
    (!found.has_errors()).then_some(module)
}

/// The whole text for these queues.
fn text(module: &Module, facts: &Facts, plan: &Plan) -> String {
    let segments = Segments::new(&plan.options);
    let mut text = String::new();
    let constants = [
        ("MOST_UNITS", u64::from(MOST_UNITS)),
        ("QUEUES", plan.queues.len() as u64),
        ("SEGMENTS", segments.count),
        ("SEGMENT_BYTES", segments.bytes),
        ("BUCKETS", u64::from(BUCKETS)),
        ("WAYS", u64::from(WAYS)),
        ("OTHERS", u64::from(OTHERS)),
        ("HERE_RECORDS", HERE_RECORDS),
        ("HERE_UNITS", 2 * HERE_RECORDS),
        ("HERE_TURNS", HERE_TURNS),
        ("HERE_GENERATION", HERE_GENERATION),
    ];
    for (name, value) in constants {
        let _ = writeln!(text, "const {name}: u32 = {value};");
    }
    let layouts: Vec<_> = plan.queues.iter().map(|queue| queue.record.layout(module, &plan.options)).collect();
    let children = |of: &dyn Fn(usize) -> String| (0..plan.queues.len()).map(of).collect::<Vec<_>>();
    let number = |of: fn(&super::record::RecordLayout) -> u64| layouts.iter().map(|l| of(l).to_string()).collect::<Vec<_>>();
    let kernel = |index: usize| plan.queues.get(index).map(|queue| queue.kernel);
    let pushes = |index: usize| kernel(index).is_some_and(|kernel| plan.pushes.get(kernel.index()) == Some(&true)).to_string();
    let tails = |index: usize| kernel(index).is_some_and(|kernel| facts.all(kernel).tail.is_some()).to_string();
    let packs = |index: usize| plan.queues.get(index).is_some_and(|queue| queue.mode == MergeMode::Threads);
    let threads = |index: usize| if packs(index) { FULL_BLOCK } else { 1 }.to_string();
    let most = |index: usize| if packs(index) { MOST_FULL_BLOCKS } else { MOST_BLOCKS }.to_string();
    let size = |index: usize| plan.queues.get(index).and_then(size).unwrap_or(0).to_string();
    choose(&mut text, "records_each", "u32", &number(|layout| layout.each));
    choose(&mut text, "records_offset", "u32", &number(|layout| layout.offset));
    choose(&mut text, "record_bytes", "u32", &number(|layout| layout.bytes));
    choose(&mut text, "threads_of", "u32", &children(&threads));
    choose(&mut text, "most_blocks", "u32", &children(&most));
    choose(&mut text, "size_of", "u32", &children(&size));
    choose(&mut text, "pushes", "bool", &children(&pushes));
    choose(&mut text, "has_tails", "bool", &children(&tails));
    let staying = |index: usize| plan.queues.get(index).is_some_and(|queue| stays(facts, queue));
    choose(&mut text, "stays", "bool", &children(&|index| staying(index).to_string()));
    text.push_str(BELOW);
    text.push_str(COMMON);
    text.push_str(NOWHERE);
    text.push_str(STAGE);
    text.push_str(if plan.buckets.is_empty() { NO_PARTS } else { PARTS });
    if plan.queues.iter().any(|queue| queue.threads().is_none()) {
        text.push_str(SIZES);
    }
    let _ = writeln!(text, "fn start_grid(queue: u32, blocks: u32, tail: bool, work: Work) -> cudaError_t {{");
    let _ = writeln!(text, "let stream = if tail {{ cudaStreamTailLaunch }} else {{ cudaStreamFireAndForget }};");
    let _ = writeln!(text, "var error = cudaSuccess;\nswitch queue {{");
    for (index, queue) in plan.queues.iter().enumerate() {
        let [x, y, z] = threads_of_block(queue);
        let (case, shared) = (if index == 0 { "default".to_owned() } else { format!("case {index}") }, queue.shared);
        let launch =
            |kernel: &str| format!("error = {kernel}_{index}<<<blocks, dim3({x}, {y}, {z}), {shared}, stream>>>(work);");
        let (merged, staying) = (launch("merged"), if staying(index) { launch("staying") } else { String::new() });
        let _ = writeln!(text, "{case} {{ if work.stage == NONE {{ {merged} }} else {{ {staying} }} }}");
    }
    let _ = writeln!(text, "}}\nreturn error;\n}}");
    for (index, queue) in plan.queues.iter().enumerate() {
        text.push_str(&RESERVE.replace("QUEUE", &index.to_string()));
        let _ = writeln!(text, "extern fn run_{index}(record: *global const u8, unit: u32, next: u32);");
        let words = layouts.get(index).map_or(2, |layout| layout.bytes.div_ceil(16) * 2);
        if queue.keeps {
            text.push_str(&HERE.replace("QUEUE", &index.to_string()).replace("WORDS", &words.to_string()));
        }
        let does = facts.all(queue.kernel);
        let between = if does.barrier.or(does.shared).is_some() { "__syncthreads();" } else { "" };
        let bounds = module.function(queue.kernel).and_then(|kernel| kernel.launch_bounds).filter(|(_, blocks)| *blocks > 0);
        let threads: u32 = threads_of_block(queue).iter().product();
        let template = match queue.mode {
            MergeMode::Blocks => BLOCKS,
            MergeMode::Threads => THREADS,
        };
        let min_blocks = bounds.map_or_else(String::new, |(_, blocks)| format!(", {blocks}"));
        let instance = |stays: bool| {
            let keeps = stays && queue.keeps;
            template
                .replace("KERNEL", if stays { "staying" } else { "merged" })
                .replace("STAYS", &stays.to_string())
                .replace("KEEPS", &keeps.to_string())
                .replace("OWN", if keeps { "here_QUEUE" } else { "nowhere" })
                .replace("RUN", if keeps { "run_here" } else { "run" })
                .replace("RECORD", if keeps { "" } else { "global" })
                .replace("WORK", if stays { "now" } else { "given" })
                .replace("QUEUE", &index.to_string())
                .replace("LANES", &threads.min(32).to_string())
                .replace("THREADS", &threads.to_string())
                .replace(", MIN_BLOCKS", &min_blocks)
                .replace("BETWEEN", between)
        };
        text.push_str(&instance(false));
        if staying(index) {
            text.push_str(&instance(true));
        }
    }
    text
}

/// Whether merged grids of this queue may run what they pushed as another round: where the child launches itself, and could not tell that its grid is
/// an older one, by tails that come too late or by reads through a cache (R16). Not block by block, where the registers for it cost more than
/// it brings (measured).
pub(super) fn stays(facts: &Facts, queue: &Queue) -> bool {
    let kernel = queue.kernel;
    let (does, reached) = (facts.all(kernel), facts.reached(kernel));
    let mut launches = facts.info.launches_on_device.iter();
    queue.mode == MergeMode::Threads
        && does.tail.is_none()
        && does.cached.is_none()
        && launches.any(|site| site.kernel == kernel && reached.contains(&site.function))
}

/// Units of every grid in a queue, where they are known.
fn size(queue: &Queue) -> Option<u32> {
    let threads = if queue.mode == MergeMode::Threads { queue.threads() } else { Some(1) };
    let extents = queue.record.grid.iter().copied();
    let units = extents.chain([threads]).try_fold(1u32, |units, extent| units.checked_mul(extent?))?;
    (queue.limit.is_none() && (1..=MOST_UNITS).contains(&units)).then_some(units)
}

/// Threads of a merged grid's blocks.
fn threads_of_block(queue: &Queue) -> [u32; 3] {
    match queue.mode {
        MergeMode::Blocks => queue.block.map(Option::unwrap_or_default),
        MergeMode::Threads => [FULL_BLOCK, 1, 1],
    }
}

/// A function from a queue's number to a value.
fn choose(text: &mut String, name: &str, ty: &str, values: &[String]) {
    let _ = writeln!(text, "@inline\nfn {name}(queue: u32) -> {ty} {{");
    if let Some((first, others)) = values.split_first() {
        if others.iter().any(|value| value != first) {
            let _ = writeln!(text, "switch queue {{");
            for (index, value) in (1..).zip(others) {
                let _ = writeln!(text, "case {index} {{ return {value}; }}");
            }
            let _ = writeln!(text, "default {{}} }}");
        }
        let _ = writeln!(text, "return {first};");
    }
    let _ = writeln!(text, "}}");
}
