//! Which launches are merged, and why the others are not.

use super::MergeOptions;
use super::facts::{Facts, constant, is_fire_and_forget, is_free};
use super::record::Record;
use crate::ir::{Function, FunctionId, Launch, Merge, Module, StatementKind};
use crate::source::Span;

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

/// One child kernel, launched with blocks of one size.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub kernel: FunctionId,
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    pub mode: MergeMode,
    pub record: Record,
    /// Its first launch.
    pub span: Span,
}

/// What is done.
pub(super) struct Plan {
    pub sites: Vec<MergeSite>,
    pub queues: Vec<Queue>,
    pub options: MergeOptions,
}

/// So many bits say which queues have something in them.
const MOST_QUEUES: usize = 64;
/// Blocks of fewer threads are laid side by side where that is possible.
const GOOD_BLOCK: u32 = 64;
/// Shared memory of a block in bytes that every GPU gives without being asked for more.
const SHARED: u64 = 48 << 10;
/// Shared memory that a merged grid has for itself.
const OWN_SHARED: u64 = 16;
/// Threads of a block.
const MOST_THREADS: u32 = 1024;
/// Threads of a block in z.
const MOST_THREADS_Z: u32 = 64;

impl Plan {
    pub(super) fn new(module: &mut Module, facts: &Facts, options: &MergeOptions) -> Self {
        let mut plan = Self { sites: Vec::new(), queues: Vec::new(), options: *options };
        let mut launches = Vec::new();
        for site in &facts.info.launches_on_device {
            let block = module.function(site.function).and_then(|function| function.blocks.get(site.block.index()));
            if let Some(StatementKind::Launch(launch)) = block.and_then(|b| b.statements.get(site.statement)).map(|s| &s.kind) {
                launches.push((*site, (**launch).clone()));
            }
        }
        for (site, launch) in launches {
            let result = match judge(module, facts, site.function, &launch, site.span) {
                Ok((key, mode)) => plan.add(module, &launch, key, mode, site.span),
                Err(obstacle) => Err(obstacle),
            };
            let asked = launch.hints.merge == Some(Merge::Grid);
            plan.sites.push(MergeSite { function: site.function, span: site.span, kernel: site.kernel, asked, result });
        }
        plan.sites.sort_by_key(|site| (site.function, site.span));
        plan
    }

    /// The queue that a launch goes into, when it stands where launches are merged.
    pub(super) fn queue(&self, function: FunctionId, launch: &Launch) -> Option<usize> {
        // what else decides is the same for all launches of a kernel in a function
        let mut sites = self.sites.iter().filter(|site| site.result.is_ok());
        if !is_free(launch) || !sites.any(|s| s.function == function && s.kernel == launch.kernel) {
            return None;
        }
        let shared = constant(&launch.shared)?;
        let is_block =
            |queue: &Queue| queue.block.iter().zip(&launch.block).all(|(size, given)| constant(given) == Some(*size));
        self.queues.iter().position(|q| q.kernel == launch.kernel && q.shared == shared && is_block(q))
    }

    fn add(
        &mut self,
        module: &mut Module,
        launch: &Launch,
        (block, shared): Key,
        mode: MergeMode,
        span: Span,
    ) -> Result<MergeMode, Obstacle> {
        let known = self.queues.iter_mut().find(|q| q.kernel == launch.kernel && q.block == block && q.shared == shared);
        if let Some(queue) = known {
            queue.record.also(launch);
            return Ok(mode);
        }
        if self.queues.len() >= MOST_QUEUES {
            return Err(Obstacle { why: format!("{MOST_QUEUES} kinds of launches are merged already"), span });
        }
        let record = Record::new(module, launch, span);
        if !record.fits(module, &self.options) {
            return Err(Obstacle { why: "its arguments are too large to be kept until the grid ends".to_owned(), span });
        }
        self.queues.push(Queue { kernel: launch.kernel, block, shared, mode, record, span });
        Ok(mode)
    }
}

/// Threads of a block in x, y, z; dynamic shared memory.
type Key = ([u32; 3], u32);

/// Whether a launch can be merged, and how.
fn judge(
    module: &Module,
    facts: &Facts,
    function: FunctionId,
    launch: &Launch,
    span: Span,
) -> Result<(Key, MergeMode), Obstacle> {
    let obstacle = |why: &str, span: Span| Obstacle { why: why.to_owned(), span };
    let key = key(module, facts, launch, span)?;
    place(module, facts, function, span)?;
    let child = module.function(launch.kernel).map(|kernel| kernel.span).unwrap_or_default();
    let does = facts.all(launch.kernel);
    if let Some(span) = does.external {
        return Err(obstacle("what the child calls there is defined elsewhere, and may ask where its block is", span));
    }
    if let Some(span) = does.gridid {
        return Err(obstacle("the child asks for the number of its grid", span));
    }
    let (block, shared) = key;
    let used = facts.shared(launch.kernel).saturating_add(u64::from(shared));
    if used + OWN_SHARED > SHARED {
        return Err(obstacle("the child takes all shared memory of its block", child));
    }
    let threads: u32 = block.iter().product();
    let waits = does.barrier.or(does.shared).or(does.warp).or(does.ordered);
    let packs = threads < GOOD_BLOCK && waits.is_none();
    Ok((key, if packs { MergeMode::Threads } else { MergeMode::Blocks }))
}

/// The configuration: the stream has no order, the block's size is known and right.
fn key(module: &Module, facts: &Facts, launch: &Launch, span: Span) -> Result<Key, Obstacle> {
    let obstacle = |why: String| Obstacle { why, span };
    if launch.hints.merge == Some(Merge::Off) {
        return Err(obstacle("`@merge(off)` says so".to_owned()));
    }
    if launch.hints.merge == Some(Merge::Grid) && !is_fire_and_forget(&launch.stream) {
        return Err(obstacle("its stream may be the tail stream, whose grids come after everything else".to_owned()));
    }
    if !is_fire_and_forget(&launch.stream) {
        return Err(obstacle(
            "its stream keeps an order; only launches into `cudaStreamFireAndForget` have none, and those with `@merge(grid)`"
                .to_owned(),
        ));
    }
    let block = launch.block.each_ref().map(constant);
    let [Some(x), Some(y), Some(z)] = block else {
        return Err(obstacle("the size of its blocks is not known at compile time".to_owned()));
    };
    let Some(shared) = constant(&launch.shared) else {
        return Err(obstacle("its dynamic shared memory is not known at compile time".to_owned()));
    };
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    let bounds = module.function(launch.kernel).and_then(|kernel| kernel.launch_bounds);
    let most = bounds.map_or(MOST_THREADS, |(threads, _)| threads.min(MOST_THREADS));
    if threads == 0 || threads > u64::from(most) || z > MOST_THREADS_Z {
        return Err(obstacle("blocks of this size are refused".to_owned()));
    }
    let defined = module.function(launch.kernel).is_some_and(|kernel| !kernel.blocks.is_empty());
    if !defined || facts.info.is_on_host(launch.kernel) {
        return Err(obstacle("the child is defined elsewhere".to_owned()));
    }
    Ok(([x, y, z], shared))
}

/// Where the launch stands: in kernels of this module only.
fn place(module: &Module, facts: &Facts, function: FunctionId, span: Span) -> Result<(), Obstacle> {
    let obstacle = |why: &str, span: Span| Obstacle { why: why.to_owned(), span };
    let Some(data) = module.function(function) else { return Err(obstacle("it stands nowhere", span)) };
    if facts.info.is_on_host(function) {
        return Err(obstacle("host code calls the function that it stands in", data.span));
    }
    let mut exported = module.functions().filter(|(_, other)| other.exported && !other.is_kernel());
    if let Some((id, called)) = exported.find(|(id, _)| facts.reaches(*id, function)) {
        let why = if id == function {
            "other modules may call the function that it stands in".to_owned()
        } else {
            format!("other modules may call `{}`, which calls the function that it stands in", called.name)
        };
        return Err(Obstacle { why, span: called.span });
    }
    for (id, kernel) in module.functions().filter(|(_, kernel)| starts(kernel)) {
        if let Some(external) = facts.all(id).external
            && facts.reaches(id, function)
        {
            let why = format!("`{}` calls what is defined elsewhere, which may make tail launches", kernel.name);
            return Err(Obstacle { why, span: external });
        }
    }
    Ok(())
}

/// Whether grids or other modules enter the device code here.
const fn starts(function: &Function) -> bool {
    function.is_kernel() || function.exported
}
