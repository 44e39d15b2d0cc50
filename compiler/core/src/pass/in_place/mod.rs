//! Children in place: the thread that launches a small grid runs its threads itself, one after the other. `docs/launch-merging.md` says why
//! that is allowed.
//!
//! - this file: which launches, in which order
//! - `judge`: what a child, and where it is launched, must be like
//! - `variant`: the child as a function that is given its place in the grid
//! - `rewrite`: the loop over a grid's threads, and the choice at the launch

mod judge;
mod rewrite;
#[cfg(test)]
mod tests;
mod variant;

use super::merge::Obstacle;
use super::merge::facts::Facts;
use crate::ir::{FunctionId, Launch, Module, StatementKind};
use crate::source::Span;
use judge::Judge;
use std::collections::BTreeSet;
use variant::Grids;

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
    /// Grids of fewer threads are run in place, or why none is.
    pub below: Result<u32, Obstacle>,
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
        if asked.is_none() && (default == 0 || !judge.is_small(launch)) {
            continue;
        }
        let below = judge.launch(at.function, launch, at.span).map(|()| asked.unwrap_or(default));
        if below.is_ok() || asked.is_some() {
            let site = InPlaceSite { function: at.function, span: at.span, kernel: at.kernel, asked: asked.is_some(), below };
            sites.push(site);
        }
    }
    sites
}

/// Has small children run by the threads that launch them.
///
/// Runs before launches are merged, when streams whose order is given up have lost it. `default` is for launches of light children that
/// say nothing themselves; 0 leaves them alone.
pub(super) fn run_in_place(module: &mut Module, default: u32) -> Vec<InPlaceSite> {
    let facts = Facts::new(module);
    let sites = sites(module, &facts, default);
    let done: Vec<InPlaceSite> = sites.iter().filter(|site| site.below.is_ok()).cloned().collect();
    if !done.is_empty() {
        let kernels = done.iter().map(|site| site.kernel).collect();
        let grids = variant::add(module, &facts, &kernels, "in_place");
        rewrite::sites(module, &done, &grids);
    }
    sites
}

/// Functions that run a whole grid of a child, for launches that find no memory to be merged; of children that launch nothing and may run in place
/// wherever they are launched. `launches` are functions and the kernels that they launch.
pub(super) fn whole_grids(module: &mut Module, facts: &Facts, launches: &[(FunctionId, FunctionId)]) -> Grids {
    let judge = Judge::new(module, facts);
    let refused: BTreeSet<FunctionId> =
        launches.iter().filter(|(function, kernel)| !judge.is_leaf(*function, *kernel)).map(|(_, kernel)| *kernel).collect();
    let kernels = launches.iter().map(|(_, kernel)| *kernel).filter(|kernel| !refused.contains(kernel)).collect();
    variant::add(module, facts, &kernels, "whole")
}

/// Threads of a grid below which this launch is run in place, among those of a function.
fn below(sites: &[InPlaceSite], function: FunctionId, launch: &Launch, span: Span) -> Option<u32> {
    let here = |site: &&InPlaceSite| site.function == function && site.kernel == launch.kernel && site.span == span;
    sites.iter().find(here).and_then(|site| site.below.clone().ok())
}
