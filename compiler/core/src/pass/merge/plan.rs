//! Which launches are merged, and why the others are not.

use super::MergeOptions;
use super::facts::{Facts, MOST_THREADS_Z, constant, is_fire_and_forget, is_free, most_threads, order};
use super::limit::Limit;
use super::record::Record;
use super::runtime::stays;
use crate::ir::{FunctionId, Launch, Merge, Module, StatementKind};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap};

/// How the grids in a queue are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMode {
    /// Block by block: each block of the merged grid runs one of theirs after the other.
    Blocks,
    /// Thread by thread, side by side in full blocks: children that never wait for each other.
    Threads,
}

/// A launch in device code, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeSite {
    /// The function that it stands in.
    pub function: FunctionId,
    /// The launch.
    pub span: Span,
    /// What it launches.
    pub kernel: FunctionId,
    /// Whether `@merge(grid)` asks for it.
    pub asked: bool,
    /// Blocks of the buckets that it is in: one for each of the kernels that reach it and have buckets, in order.
    pub buckets: Vec<u32>,
    /// How it is merged, or why it is not.
    pub result: Result<MergeMode, Obstacle>,
}

/// Why a launch is not merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// In words, to follow "launched as it is: ".
    pub why: String,
    /// What stands in the way.
    pub span: Span,
}

/// How many threads a block has in x, y and z; none where the launches say it when they are made.
pub(in crate::pass) type Extents = [Option<u32>; 3];

/// What launches of one queue have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub kernel: FunctionId,
    pub block: Extents,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    pub shape: Shape,
}

/// What a child's limit asks of its grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pass) enum Shape {
    /// It has none.
    Any,
    /// One dimension.
    Line,
    /// One block.
    One,
}

/// One child kernel, launched with blocks of one size, or of sizes that are not known.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub kernel: FunctionId,
    pub block: Extents,
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    pub mode: MergeMode,
    /// Which threads of a grid matter; of other kernels all do.
    pub limit: Option<Limit>,
    pub record: Record,
    /// Runs a whole grid in the thread that launches it, with the kernel's arguments and the extents of grid and block; where there is no memory
    /// for a record.
    pub whole_grid: Option<FunctionId>,
    /// Whether blocks of its merged grids run some of what they push themselves.
    pub keeps: bool,
    /// Its first launch.
    pub span: Span,
}

impl Queue {
    /// Threads of a block, where that is known.
    pub(super) fn threads(&self) -> Option<u32> {
        self.block.iter().copied().try_fold(1u32, |threads, extent| threads.checked_mul(extent?))
    }
}

/// What is done.
pub(super) struct Plan {
    pub sites: Vec<MergeSite>,
    pub queues: Vec<Queue>,
    pub options: MergeOptions,
    /// By function, whether it or what it calls pushes.
    pub pushes: Vec<bool>,
    /// Kernels with buckets: of how many blocks.
    pub buckets: BTreeMap<FunctionId, u32>,
    /// The queue of what a function launches.
    placed: HashMap<(FunctionId, Key), usize>,
    numbers: HashMap<Key, usize>,
    limits: Limits,
}

/// The limits of kernels, by the size of their blocks.
#[derive(Default)]
pub(in crate::pass) struct Limits {
    found: HashMap<(FunctionId, Extents), (Shape, Option<Limit>)>,
}

/// Bytes of a record that a block keeps for itself: a block has two times 128 of them in its shared memory.
const MOST_KEPT: u64 = 64;
/// So many bits say which queues have something in them.
const MOST_QUEUES: usize = 64;
/// Blocks of fewer threads are laid side by side where that is possible.
const GOOD_BLOCK: u32 = 64;
/// Shared memory of a block in bytes that every GPU gives without being asked for more.
const SHARED: u64 = 48 << 10;
/// Shared memory that a merged grid has for itself.
const OWN_SHARED: u64 = 16;

impl Plan {
    pub(super) fn new(module: &mut Module, facts: &Facts, options: &MergeOptions) -> Self {
        let mut plan = Self {
            sites: Vec::new(),
            queues: Vec::new(),
            options: *options,
            pushes: Vec::new(),
            buckets: BTreeMap::new(),
            placed: HashMap::new(),
            numbers: HashMap::new(),
            limits: Limits::default(),
        };
        let mut launches = Vec::new();
        for site in &facts.info.launches_on_device {
            let block = module.function(site.function).and_then(|function| function.blocks.get(site.block.index()));
            if let Some(StatementKind::Launch(launch)) = block.and_then(|b| b.statements.get(site.statement)).map(|s| &s.kind) {
                launches.push((*site, (**launch).clone()));
            }
        }
        for (site, launch) in launches {
            let result = plan.judge(module, facts, site.function, &launch, site.span);
            let asked = launch.hints.asks_to_merge();
            if let (Ok(_), Some(Merge::Buckets(blocks))) = (&result, launch.hints.merge) {
                plan.add_buckets(module, facts, site.function, blocks);
            }
            let buckets = Vec::new();
            plan.sites.push(MergeSite {
                function: site.function,
                span: site.span,
                kernel: site.kernel,
                asked,
                buckets,
                result,
            });
        }
        plan.tell_buckets(facts);
        let merged = plan.sites.iter().filter(|site| site.result.is_ok()).map(|site| site.function);
        plan.pushes = facts.callers(merged);
        plan.sites.sort_by_key(|site| (site.function, site.span));
        plan
    }

    /// Has launches that find no memory run in place, where their child allows it.
    pub(super) fn run_in_place(&mut self, module: &mut Module, facts: &Facts) {
        let mut launches: Vec<(FunctionId, FunctionId)> =
            self.placed.keys().map(|(function, key)| (*function, key.kernel)).collect();
        launches.sort_unstable();
        launches.retain(|(_, kernel)| self.queues.iter().all(|queue| queue.kernel != *kernel || queue.shared == 0));
        let grids = crate::pass::in_place::whole_grids(module, facts, &launches);
        for queue in &mut self.queues {
            queue.whole_grid = grids.get(&queue.kernel).copied();
        }
    }

    /// Has blocks run some of what they push themselves: where they stay, no other merged grids push into the queue, and its records are small.
    pub(super) fn keep(&mut self, module: &Module, facts: &Facts) {
        let decide = |index: usize, queue: &Queue| {
            let pushed_by = |kernel: FunctionId| {
                let reached = facts.reached(kernel);
                self.placed.iter().any(|((function, _), number)| *number == index && reached.contains(function))
            };
            let others = self.queues.iter().enumerate().filter(|(other, _)| *other != index);
            stays(facts, queue)
                && queue.record.layout(module, &self.options).bytes <= MOST_KEPT
                && others.map(|(_, other)| other.kernel).all(|kernel| kernel != queue.kernel && !pushed_by(kernel))
        };
        let keeps: Vec<bool> = self.queues.iter().enumerate().map(|(index, queue)| decide(index, queue)).collect();
        for (queue, keeps) in self.queues.iter_mut().zip(keeps) {
            queue.keeps = keeps;
        }
    }

    /// The queue that a launch goes into, when it stands where launches are merged.
    pub(super) fn queue(&self, function: FunctionId, launch: &Launch) -> Option<usize> {
        if !is_free(launch) {
            return None;
        }
        let (block, shared) = (launch.block.each_ref().map(constant), constant(&launch.shared)?);
        let shape = self.limits.shape(launch, block);
        self.placed.get(&(function, Key { kernel: launch.kernel, block, shared, shape })).copied()
    }

    /// A launch asks for buckets of so many blocks: all kernels that reach it have some, and none larger ones.
    fn add_buckets(&mut self, module: &Module, facts: &Facts, function: FunctionId, blocks: u32) {
        let reach = facts.callers(std::iter::once(function));
        for (id, _) in module.functions().filter(|(id, f)| f.is_kernel() && reach.get(id.index()) == Some(&true)) {
            let least = self.buckets.entry(id).or_insert(blocks);
            *least = blocks.min(*least);
        }
    }

    fn tell_buckets(&mut self, facts: &Facts) {
        let reached: Vec<_> = self.buckets.iter().map(|(kernel, blocks)| (facts.reached(*kernel), *blocks)).collect();
        for site in self.sites.iter_mut().filter(|site| site.result.is_ok()) {
            let around = reached.iter().filter(|(functions, _)| functions.contains(&site.function));
            site.buckets = around.map(|(_, blocks)| *blocks).collect();
            site.buckets.sort_unstable();
            site.buckets.dedup();
        }
    }

    /// Whether a launch can be merged, and how; then it has a queue.
    fn judge(
        &mut self,
        module: &mut Module,
        facts: &Facts,
        function: FunctionId,
        launch: &Launch,
        span: Span,
    ) -> Result<MergeMode, Obstacle> {
        let (block, shared) = configuration(module, facts, launch, span)?;
        place(module, facts, function, span)?;
        let together = child(module, facts, launch.kernel, shared, span)?;
        if together.is_none() {
            self.limits.look_for(module, launch.kernel, block);
        } else if let (Some(span), true) = (together, block.contains(&None)) {
            let why = "the child's threads work together there, so that the size of its blocks must be a constant";
            return Err(Obstacle { why: why.to_owned(), span });
        }
        let shape = self.limits.shape(launch, block);
        let key = Key { kernel: launch.kernel, block, shared, shape };
        let number = if let Some(number) = self.numbers.get(&key) {
            *number
        } else {
            self.add(module, launch, key, together.is_none(), span)?
        };
        let Some(queue) = self.queues.get_mut(number) else {
            return Err(Obstacle { why: "it has no queue".to_owned(), span });
        };
        queue.record.also(launch);
        self.placed.insert((function, key), number);
        Ok(queue.mode)
    }

    fn add(&mut self, module: &mut Module, launch: &Launch, key: Key, apart: bool, span: Span) -> Result<usize, Obstacle> {
        if self.queues.len() >= MOST_QUEUES {
            return Err(Obstacle { why: format!("{MOST_QUEUES} kinds of launches are merged already"), span });
        }
        let record = Record::new(module, launch, span);
        if !record.fits(module, &self.options) {
            return Err(Obstacle { why: "its arguments are too large to be kept until the grid ends".to_owned(), span });
        }
        let Key { kernel, block, shared, shape } = key;
        let limit = self.limits.of(kernel, block, shape);
        let mut queue =
            Queue { kernel, block, shared, mode: MergeMode::Blocks, limit, record, whole_grid: None, keeps: false, span };
        if apart && (queue.limit.is_some() || queue.threads().is_none_or(|threads| threads < GOOD_BLOCK)) {
            queue.mode = MergeMode::Threads;
        }
        self.queues.push(queue);
        let number = self.queues.len() - 1;
        self.numbers.insert(key, number);
        Ok(number)
    }
}

impl Limits {
    pub(in crate::pass) fn look_for(&mut self, module: &Module, kernel: FunctionId, block: Extents) {
        self.found.entry((kernel, block)).or_insert_with(|| {
            let find = |one| Limit::find(module, kernel, block, one);
            match find(false) {
                Some(limit) => (Shape::Line, Some(limit)),
                None => find(true).map_or((Shape::Any, None), |limit| (Shape::One, Some(limit))),
            }
        });
    }

    /// Which limit a launch can have.
    pub(in crate::pass) fn shape(&self, launch: &Launch, block: Extents) -> Shape {
        let is_one = |extents: &[crate::ir::Operand]| extents.iter().all(|extent| constant(extent) == Some(1));
        match self.found.get(&(launch.kernel, block)) {
            Some((Shape::Line, _)) if is_one(&launch.grid[1..]) => Shape::Line,
            Some((Shape::One, _)) if is_one(&launch.grid) => Shape::One,
            _ => Shape::Any,
        }
    }

    pub(in crate::pass) fn of(&self, kernel: FunctionId, block: Extents, shape: Shape) -> Option<Limit> {
        self.found.get(&(kernel, block)).filter(|(found, _)| *found == shape).and_then(|(_, limit)| limit.clone())
    }
}

/// Whether the child can run as a part of another grid, and where its threads wait for each other, share something or keep an order.
fn child(module: &Module, facts: &Facts, kernel: FunctionId, shared: u32, span: Span) -> Result<Option<Span>, Obstacle> {
    let obstacle = |why: &str, span: Span| Obstacle { why: why.to_owned(), span };
    let does = facts.all(kernel);
    if let Some(span) = does.external {
        return Err(obstacle("what the child calls there is defined elsewhere, and may ask where its block is", span));
    }
    if let Some(span) = does.cluster {
        return Err(obstacle("the child works in clusters of blocks", span));
    }
    if let Some(span) = does.gridid {
        return Err(obstacle("the child asks for the number of its grid", span));
    }
    let used = facts.shared(kernel).saturating_add(u64::from(shared));
    if used + OWN_SHARED > SHARED {
        let span = module.function(kernel).map_or(span, |kernel| kernel.span);
        let why = format!(
            "the child leaves less than {OWN_SHARED} bytes of its block's 48 KiB of shared memory, which merging needs"
        );
        return Err(obstacle(&why, span));
    }
    Ok(does.barrier.or(does.shared).or(does.warp).or(does.ordered))
}

/// The configuration: the stream has no order, and what is known of the block's size is right.
fn configuration(module: &Module, facts: &Facts, launch: &Launch, span: Span) -> Result<(Extents, u32), Obstacle> {
    let obstacle = |why: String| Obstacle { why, span };
    if launch.hints.merge == Some(Merge::Off) {
        return Err(obstacle("`@merge(off)` says so".to_owned()));
    }
    if !is_fire_and_forget(&launch.stream) {
        return Err(obstacle(order(launch).to_owned()));
    }
    let Some(shared) = constant(&launch.shared) else {
        return Err(obstacle("its dynamic shared memory is not known at compile time".to_owned()));
    };
    let block = launch.block.each_ref().map(constant);
    let threads = block.iter().fold(1u64, |threads, extent| threads.saturating_mul(u64::from(extent.unwrap_or(1))));
    let deep = block.last().copied().flatten().is_some_and(|z| z > MOST_THREADS_Z);
    if threads == 0 || threads > u64::from(most_threads(module, launch.kernel)) || deep {
        return Err(obstacle("blocks of this size are refused".to_owned()));
    }
    let defined = module.function(launch.kernel).is_some_and(|kernel| !kernel.blocks.is_empty());
    if !defined || facts.info.is_on_host(launch.kernel) {
        return Err(obstacle("the child is defined elsewhere".to_owned()));
    }
    Ok((block, shared))
}

/// Where the launch stands: in kernels of this module only.
fn place(module: &Module, facts: &Facts, function: FunctionId, span: Span) -> Result<(), Obstacle> {
    let obstacle = |why: &str, span: Span| Obstacle { why: why.to_owned(), span };
    let Some(data) = module.function(function) else { return Err(obstacle("it stands nowhere", span)) };
    if facts.info.is_on_host(function) {
        return Err(obstacle("host code calls the function that it stands in", data.span));
    }
    if let Some((id, called)) = facts.exported_above(function).and_then(|id| Some((id, module.function(id)?))) {
        let why = if id == function {
            "other modules may call the function that it stands in".to_owned()
        } else {
            format!("other modules may call `{}`, which calls the function that it stands in", called.name)
        };
        return Err(Obstacle { why, span: called.span });
    }
    if let Some((kernel, external)) = facts.external_above(function) {
        let name = module.function(kernel).map_or("", |kernel| &kernel.name);
        let why = format!("`{name}` calls what is defined elsewhere, which may make tail launches");
        return Err(Obstacle { why, span: external });
    }
    Ok(())
}
