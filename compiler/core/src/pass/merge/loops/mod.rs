//! Loops of tail launches: a kernel of one thread that launches grids, and then itself into its tail stream.
//!
//! The launch of itself becomes one of a grid that stays and runs all of it, round after round: the grids that the kernel launches, and the kernel
//! again. `loop.cdp` and `of_loop.cdp` are what it does.
//!
//! - this file: which kernels are such loops, and why others are not
//! - `write`: the loop's grid, and launches of it

#[cfg(test)]
mod tests;
mod write;

use super::facts::{Does, Facts, constant, most_threads};
use super::plan::{MergeMode, Obstacle, Plan, Queue};
use super::record::Record;
use crate::analysis::outstanding::stream;
use crate::builtins::{RuntimeFn, STREAM_DEFAULT, STREAM_TAIL_LAUNCH};
use crate::ir::{BlockId, Function, FunctionId, Launch, Merge, Module, StatementKind};
use crate::source::Span;
use crate::types::layout::PointerWidth;
use std::collections::BTreeSet;
pub(super) use write::write;

/// A launch in a kernel that launches itself into its tail stream, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSite {
    /// The kernel.
    pub function: FunctionId,
    /// The launch.
    pub span: Span,
    /// Whether it is the launch of the kernel itself.
    pub again: bool,
    /// Nothing where one grid runs it as a round, or why the kernel is no loop.
    pub result: Result<(), Obstacle>,
}

/// A kernel that is a loop.
pub(super) struct Loop {
    pub kernel: FunctionId,
    /// As it was before its launches were merged.
    body: Function,
    /// Of all grids that it launches, and so of the loop's.
    block: [u32; 3],
    rounds: Vec<Round>,
}

/// A launch in it.
struct Round {
    /// What it launches, with its record.
    queue: Queue,
    launch: Launch,
    span: Span,
    /// Whether it is into the tail stream.
    tail: bool,
}

impl Loop {
    fn is_again(&self, round: &Round) -> bool {
        round.queue.kernel == self.kernel
    }
}

/// Shared memory of a block in bytes that every GPU gives without being asked for more, without what a loop takes for itself.
const SHARED: u64 = (48 << 10) - 256;
/// Threads of a loop that launches nothing but itself.
const USUAL_BLOCK: [u32; 3] = [128, 1, 1];

/// Whether a launch that stands in its kernel makes that a loop.
fn is_again(launch: &Launch) -> bool {
    let mut extents = launch.grid.iter().chain(&launch.block);
    launch.stream.as_bits() == Some(u64::from(STREAM_TAIL_LAUNCH))
        && extents.all(|extent| constant(extent) == Some(1))
        && constant(&launch.shared) == Some(0)
        && launch.hints.merge != Some(Merge::Off)
}

/// Kernels that may be loops, as they are before anything is run in place in them or merged.
pub(super) struct Candidates {
    facts: Facts,
    kernels: Vec<(FunctionId, Span, Function)>,
}

/// None where there are no such kernels.
pub(super) fn candidates(module: &Module) -> Option<Candidates> {
    let mut kernels = Vec::new();
    for (id, function) in module.functions() {
        let mut statements = function.blocks.iter().flat_map(|block| &block.statements);
        let again =
            |kind: &StatementKind| matches!(kind, StatementKind::Launch(launch) if launch.kernel == id && is_again(launch));
        if let Some(launch) = statements.find(|statement| again(&statement.kind)) {
            kernels.push((id, launch.span, function.clone()));
        }
    }
    (!kernels.is_empty()).then(|| Candidates { facts: Facts::new(module), kernels })
}

/// All loops, and what is to be said of the launches of kernels that might be some. `facts` are those of the module as it is now.
pub(super) fn find(
    module: &mut Module,
    candidates: Option<Candidates>,
    facts: &Facts,
    plan: &Plan,
) -> (Vec<Loop>, Vec<LoopSite>) {
    let (mut loops, mut sites) = (Vec::new(), Vec::new());
    let Some(Candidates { facts: before, kernels }) = candidates else { return (loops, sites) };
    for (kernel, span, body) in kernels {
        match judge(module, &before, facts, plan, (kernel, body)) {
            Ok(found) => {
                for round in &found.rounds {
                    let again = found.is_again(round);
                    sites.push(LoopSite { function: kernel, span: round.span, again, result: Ok(()) });
                }
                loops.push(found);
            }
            Err(obstacle) => sites.push(LoopSite { function: kernel, span, again: true, result: Err(obstacle) }),
        }
    }
    (loops, sites)
}

/// `before` is known of the kernel itself, and `facts` of what it launches.
fn judge(
    module: &mut Module,
    before: &Facts,
    facts: &Facts,
    plan: &Plan,
    (kernel, body): (FunctionId, Function),
) -> Result<Loop, Obstacle> {
    let no = |why: &str, span: Span| Err(Obstacle { why: why.to_owned(), span });
    let does = before.all(kernel);
    refuse(&does)?;
    if let Some(span) = does.barrier.or(does.shared).or(does.warp) {
        return no("there its thread works together with others", span);
    }
    for id in before.reached(kernel).into_iter().filter(|id| *id != kernel) {
        let own = before.own.get(id.index()).copied().unwrap_or_default();
        let launches = before.info.launches_on_device.iter().find(|site| site.function == id).map(|site| site.span);
        if let Some(span) = launches.or(own.tail).or(own.ordered) {
            return no("a function that it calls launches, or works in a stream", span);
        }
    }
    runtime_calls(module, before, kernel)?;
    if plan.buckets.contains_key(&kernel) {
        return no("its launches are merged in buckets", body.span);
    }
    let mut rounds: Vec<(BlockId, Round)> = Vec::new();
    let mut block = None;
    for (id, data) in (0u32..).map(BlockId).zip(&body.blocks) {
        for statement in &data.statements {
            let span = statement.span;
            let StatementKind::Launch(launch) = &statement.kind else {
                if stream(&statement.kind).is_some() {
                    return no("it works in a stream there", span);
                }
                continue;
            };
            if reaches(&body, id, id) {
                return no("it may be launched several times there", span);
            }
            let again = launch.kernel == kernel;
            let size = launch.block.each_ref().map(constant);
            if again && !is_again(launch) {
                return no("there it launches itself in another way", span);
            } else if !again {
                child(module, facts, plan, launch, span)?;
                if *block.get_or_insert(size) != size {
                    return no("the grids that it launches have blocks of different sizes", span);
                }
            }
            let record = Record::new(module, launch, span);
            let queue = Queue {
                kernel: launch.kernel,
                block: size,
                shared: 0,
                mode: if again { MergeMode::Threads } else { MergeMode::Blocks },
                limit: None,
                record,
                whole_grid: None,
                keeps: false,
                span,
            };
            let tail = launch.stream.as_bits() == Some(u64::from(STREAM_TAIL_LAUNCH));
            rounds.push((id, Round { queue, launch: (**launch).clone(), span, tail }));
        }
    }
    after_itself(&body, kernel, &rounds)?;
    let rounds: Vec<Round> = rounds.into_iter().map(|(_, round)| round).collect();
    let kernels: BTreeSet<FunctionId> = rounds.iter().map(|round| round.queue.kernel).filter(|id| *id != kernel).collect();
    if kernels.iter().fold(0, |bytes: u64, id| bytes.saturating_add(facts.shared(*id))) > SHARED {
        return no("the grids that it launches have too much shared memory", body.span);
    }
    let alignment = |round: &Round| module.types.layout(round.queue.record.ty, PointerWidth::W64).align;
    if rounds.iter().any(|round| alignment(round) > write::ALIGN) {
        return no("its arguments have too large an alignment", body.span);
    }
    let block = block.map_or(USUAL_BLOCK, |block| block.map(Option::unwrap_or_default));
    Ok(Loop { kernel, body, block, rounds })
}

/// Nothing goes into the tail stream after the kernel itself, whose own tails come before that.
fn after_itself(body: &Function, kernel: FunctionId, rounds: &[(BlockId, Round)]) -> Result<(), Obstacle> {
    for (at, (block, again)) in rounds.iter().enumerate().filter(|(_, (_, round))| round.queue.kernel == kernel) {
        for (other, (other_block, round)) in rounds.iter().enumerate().filter(|(_, (_, round))| round.tail) {
            if (other > at && other_block == block) || reaches(body, *block, *other_block) {
                let why = "this comes into the tail stream after the kernel itself".to_owned();
                return Err(Obstacle { why, span: if other == at { again.span } else { round.span } });
            }
        }
    }
    Ok(())
}

/// What neither the kernel nor a grid that it launches may do.
fn refuse(does: &Does) -> Result<(), Obstacle> {
    let reasons = [
        (does.cluster, "there its blocks work in clusters"),
        (does.gridid, "there it asks for its grid"),
        (does.cached, "it reads there through a cache that does not see what its grid wrote"),
        (does.external, "it calls what is defined elsewhere"),
    ];
    match reasons.into_iter().find_map(|(span, why)| Some((span?, why))) {
        Some((span, why)) => Err(Obstacle { why: why.to_owned(), span }),
        None => Ok(()),
    }
}

/// Of the runtime only errors are asked for: what else it gives may belong to a grid.
fn runtime_calls(module: &Module, facts: &Facts, kernel: FunctionId) -> Result<(), Obstacle> {
    for id in facts.reached(kernel) {
        let blocks = module.function(id).into_iter().flat_map(|function| &function.blocks);
        for statement in blocks.flat_map(|block| &block.statements) {
            if let StatementKind::Runtime { call, .. } = &statement.kind
                && !matches!(
                    call,
                    RuntimeFn::GetLastError
                        | RuntimeFn::PeekAtLastError
                        | RuntimeFn::GetErrorString
                        | RuntimeFn::GetErrorName
                        | RuntimeFn::Assume
                        | RuntimeFn::Unreachable
                )
            {
                return Err(Obstacle { why: format!("it calls `{}`", call.name()), span: statement.span });
            }
        }
    }
    Ok(())
}

/// Whether a grid that the kernel launches can be a round.
fn child(module: &Module, facts: &Facts, plan: &Plan, launch: &Launch, span: Span) -> Result<(), Obstacle> {
    let no = |why: &str, span: Span| Err(Obstacle { why: why.to_owned(), span });
    let kernel = launch.kernel;
    let ordinary = [u64::from(STREAM_DEFAULT), u64::from(STREAM_TAIL_LAUNCH)];
    let stream = launch.stream.as_bits();
    if !super::facts::is_fire_and_forget(&launch.stream) && !stream.is_some_and(|stream| ordinary.contains(&stream)) {
        return no("its stream is not known", span);
    }
    if launch.hints.merge == Some(Merge::Off) {
        return no("`@merge(off)`", span);
    }
    let threads = launch.block.iter().try_fold(1u32, |threads, extent| threads.checked_mul(constant(extent)?));
    let Some(threads) = threads else {
        return no("the size of its blocks is not known at compile time", span);
    };
    let deep = constant(&launch.block[2]).is_some_and(|z| z > super::facts::MOST_THREADS_Z);
    if threads == 0 || threads > most_threads(module, kernel) || deep {
        return no("blocks of this size are refused", span);
    }
    if constant(&launch.shared) != Some(0) {
        return no("it has dynamic shared memory", span);
    }
    let does = facts.all(kernel);
    refuse(&does)?;
    if let Some(span) = does.tail.or(does.ordered) {
        return no("it launches, or works in a stream with an order, there", span);
    }
    runtime_calls(module, facts, kernel)?;
    let reached = facts.reached(kernel);
    if plan.buckets.contains_key(&kernel) {
        return no("its launches are merged in buckets", span);
    }
    match plan.sites.iter().find(|site| reached.contains(&site.function) && site.result.is_err()) {
        Some(site) => no("it makes a launch that is not merged", site.span),
        None => Ok(()),
    }
}

/// Whether control may come from the end of one block to another.
fn reaches(function: &Function, from: BlockId, to: BlockId) -> bool {
    let mut seen = BTreeSet::new();
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        let Some(data) = function.blocks.get(block.index()) else { continue };
        for next in data.terminator.kind.successors() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                work.push(next);
            }
        }
    }
    false
}
