//! Children in place: whoever launches a small grid runs its threads too. `docs/launch-merging.md` says why that is allowed.
//!
//! - this file: which launches, in which order
//! - `judge`: what a child, and where it is launched, must be like
//! - `variant`: the child as a function that is given its place in the grid
//! - `warp`: grids of children that launch nothing, run by the lanes of a warp together; `same`: what these lanes have in common
//! - `block`: grids that are too large for that, run by a block together at its end
//! - `rewrite`: the loop over a grid's threads for other children, and the choice at the launch

mod block;
mod judge;
mod rewrite;
mod same;
#[cfg(test)]
mod tests;
mod variant;
mod warp;

use super::merge::Obstacle;
use super::merge::facts::{Facts, is_fire_and_forget};
use crate::ir::{FunctionId, Module, StatementKind};
use crate::source::Span;
pub(super) use block::END;
use judge::Judge;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use variant::Grids;
pub(super) use warp::ANY_LANES;

/// A launch in device code whose child can be run in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InPlaceSite {
    /// The function that it stands in.
    pub function: FunctionId,
    /// The launch.
    pub span: Span,
    /// What it launches.
    pub kernel: FunctionId,
    /// Whether `@inline_below` asks for it.
    pub asked: bool,
    /// Who runs them.
    pub by: Runner,
    /// Which of them are.
    pub extent: Extent,
    /// Grids of fewer threads are run in place, or why none is.
    pub below: Result<u32, Obstacle>,
}

/// Which grids of a launch are run in place, of those that are small enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All: where the attribute asks for it, or all grids have one small size.
    All,
    /// Those that take the lanes of a warp few rounds.
    Warp,
    /// And those that take the block few rounds, which runs them when all its threads have come to their end.
    Block,
}

/// Who runs a small grid in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// The thread that launches it, one of its threads after the other.
    Thread,
    /// The lanes of the warp that are there, for all that they launch, their threads side by side. Without `@inline_below` it is grids that
    /// take them few enough rounds.
    Warp {
        /// Where the child is so light that some rounds take less time than until another grid would start: after how many loads, each of
        /// which needs what the one before found, a thread of it has ended.
        light: Option<u32>,
    },
}

/// What becomes of each launch that asks for it, or gets it unasked, in the order of the functions.
pub(super) fn sites(module: &Module, facts: &Facts, default: u32) -> Vec<InPlaceSite> {
    let judge = Judge::new(module, facts);
    let mut sites = Vec::new();
    for at in &facts.info.launches_on_device {
        let block = module.function(at.function).and_then(|function| function.blocks.get(at.block.index()));
        let statement = block.and_then(|block| block.statements.get(at.statement));
        let Some(StatementKind::Launch(launch)) = statement.map(|statement| &statement.kind) else { continue };
        let asked = launch.hints.inline_below;
        let by = judge.runner(at.function, launch);
        let unasked = match by {
            Some(Runner::Warp { .. }) => default,
            Some(Runner::Thread) => default.min(FEW),
            None => 0,
        };
        if asked.is_none() && unasked == 0 {
            continue;
        }
        let below = judge.launch(at.function, launch, at.span).map(|()| asked.unwrap_or(unasked));
        if below.is_ok() || asked.is_some() {
            let (function, span, kernel) = (at.function, at.span, at.kernel);
            let by = by.unwrap_or(Runner::Thread);
            let extent = if asked.is_some() || by == Runner::Thread { Extent::All } else { Extent::Warp };
            sites.push(InPlaceSite { function, span, kernel, asked: asked.is_some(), by, extent, below });
        }
    }
    sites
}

/// Up to here one thread runs a light child's grid in less time than it takes to push it.
const FEW: u32 = 129;

/// What [`run_in_place`] did.
pub(super) struct InPlace {
    /// What became of launches.
    pub sites: Vec<InPlaceSite>,
    /// Of functions that take it that lanes have arguments in common, those that do not: for threads of different grids side by side.
    pub general: BTreeMap<FunctionId, FunctionId>,
}

/// Has small children run by those that launch them.
///
/// Runs before launches are merged, when streams whose order is given up have lost it. `default` is for launches that say nothing
/// themselves; 0 leaves them alone.
pub(super) fn run_in_place(module: &mut Module, default: u32) -> InPlace {
    let facts = Facts::new(module);
    let mut sites = sites(module, &facts, default);
    let mut general = BTreeMap::new();
    let done: Vec<InPlaceSite> = sites.iter().filter(|site| site.below.is_ok()).cloned().collect();
    if let Some(first) = done.first() {
        let kernels = done.iter().map(|site| site.kernel).collect();
        let owner = module.function(first.kernel).map(|kernel| kernel.symbol.clone()).unwrap_or_default();
        let variants = variant::add(module, &facts, &kernels, "in_place");
        let by_thread = done.iter().filter(|site| site.by == Runner::Thread).map(|site| site.kernel).collect();
        let grids = variant::grids(module, &variants, &by_thread, "in_place");
        let by_warp = done.iter().any(|site| site.by != Runner::Thread);
        let warps = if by_warp { warp::Warps::new(module, &owner, first.span) } else { None };
        let by_block = kernels_with_ends(module, &facts);
        let mut rewrite = rewrite::Rewrite { sites: &done, variants, grids, warps, by_block, ways: HashMap::new() };
        rewrite.all(module);
        for site in &mut sites {
            site.extent = rewrite.ways.get(&(site.function, site.span)).copied().unwrap_or(site.extent);
        }
        general = rewrite.warps.map(|warps| warps.general).unwrap_or_default();
    }
    InPlace { sites, general }
}

/// Kernels in whose blocks all threads can come together at their end: they do not do so before, where those that have ended would be
/// missing, and are not merged themselves, whose blocks are those of many.
fn kernels_with_ends(module: &Module, facts: &Facts) -> BTreeSet<FunctionId> {
    let mut merged = BTreeSet::new();
    for at in &facts.info.launches_on_device {
        let block = module.function(at.function).and_then(|function| function.blocks.get(at.block.index()));
        if let Some(StatementKind::Launch(launch)) = block.and_then(|b| b.statements.get(at.statement)).map(|s| &s.kind)
            && is_fire_and_forget(&launch.stream)
        {
            merged.insert(at.kernel);
        }
    }
    let apart = |id: &FunctionId| {
        let does = facts.all(*id);
        does.barrier.or(does.shared).or(does.cluster).or(does.external).is_none() && !merged.contains(id)
    };
    module.functions().filter(|(_, function)| function.is_kernel()).map(|(id, _)| id).filter(apart).collect()
}

/// Functions that run a whole grid of a child, for launches that find no memory to be merged; of children that launch nothing and may run in place
/// wherever they are launched. `launches` are functions and the kernels that they launch.
pub(super) fn whole_grids(module: &mut Module, facts: &Facts, launches: &[(FunctionId, FunctionId)]) -> Grids {
    let judge = Judge::new(module, facts);
    let refused: BTreeSet<FunctionId> =
        launches.iter().filter(|(function, kernel)| !judge.is_leaf(*function, *kernel)).map(|(_, kernel)| *kernel).collect();
    let kernels = launches.iter().map(|(_, kernel)| *kernel).filter(|kernel| !refused.contains(kernel)).collect();
    let variants = variant::add(module, facts, &kernels, "whole");
    variant::grids(module, &variants, &kernels, "whole")
}
