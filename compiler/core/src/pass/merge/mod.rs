//! Launch merging: many launches of one kernel become one grid. `docs/launch-merging.md` says why that is allowed, and how it works.
//!
//! A launch that may be merged becomes a push of its arguments and its grid into a queue of the grid that it stands in. When that grid's
//! threads have ended, one grid for each queue runs everything in it, block by block or, for small children, thread by thread.
//!
//! - `hints`: what `@merge` asks for
//! - this file: options, what became of each launch, and the order of the steps
//! - `facts`: what functions do that matters here; `plan`: which launches are merged, and why the others are not
//! - `limit`: how many threads of a child do anything
//! - `record`: what is pushed for a launch
//! - `runtime`: the code that all queues share, and the kernels that run what is in them, from `runtime.cdp`, `reserve.cdp`,
//!   `stage.cdp`, `here.cdp`, `nowhere.cdp`, `sizes.cdp`, `blocks.cdp` and `threads.cdp`; `graft` puts it into the module
//! - `variant`: functions as merged grids run them: where a block is and how many there are become parameters
//! - `buckets`: kernels with `@merge(buckets(n))`, whose threads are counted, and `parts.cdp`, what counts them
//! - `loops`: kernels of one thread that launch themselves into their tail stream, as one grid
//! - `push`: functions that push a launch; `rewrite`: calls of them in the place of launches

mod buckets;
pub(super) mod facts;
pub(super) mod graft;
mod hints;
pub(super) mod limit;
mod loops;
pub(super) mod plan;
mod push;
mod record;
mod rewrite;
pub(super) mod runtime;
#[cfg(test)]
mod tests;
pub(super) mod variant;

pub use hints::check_launch_hints;
pub use loops::LoopSite;
pub use plan::{MergeMode, MergeSite, Obstacle};

use super::in_place::{END, InPlaceSite};
use crate::ir::Module;
use crate::types::layout::PointerWidth;

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// Of the PTX module; for the executor 64 bits.
    pub width: PointerWidth,
    /// How much device memory pushed launches may take, in bytes; what has no room is launched as it is. At least 64 KiB.
    pub memory: u64,
    /// Grids of fewer threads may be run by those that launch them, where the launch does not say otherwise; 0: none. At most 65,536.
    pub inline_below: u32,
    /// Threads of a grid that runs a loop of tail launches, in blocks as large as those of what it launches. Few are enough where blocks do not
    /// run side by side, on the executor.
    pub loop_threads: u32,
}

/// What became of the launches in device code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Every launch, in the order of the functions and of the source; those in children that are run in place once more.
    pub sites: Vec<MergeSite>,
    /// Those whose small grids are run in place, and those for which `@inline_below` asks in vain.
    pub in_place: Vec<InPlaceSite>,
    /// Those in kernels of one thread that launch themselves into their tail stream.
    pub loops: Vec<LoopSite>,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { width: PointerWidth::W64, memory: 256 << 20, inline_below: 1 << 16, loop_threads: 1 << 17 }
    }
}

impl MergeOptions {
    /// The same for the reference executor, where blocks do not run side by side, so that one is enough for a loop.
    #[must_use]
    pub const fn on_executor(mut self) -> Self {
        self.loop_threads = 1;
        self
    }
}

/// Merges what can be merged, and says of every launch in device code what became of it.
///
/// Runs before launches are lowered, on a module that `const_fold` and `simplify` went over: what is not constant by then is taken for
/// different at each launch.
pub fn merge_launches(module: &mut Module, options: &MergeOptions) -> Merged {
    hints::give_up_order(module);
    let candidates = loops::candidates(module);
    let in_place = super::in_place::run_in_place(module, options.inline_below);
    let facts = facts::Facts::new(module);
    let mut plan = plan::Plan::new(module, &facts, options);
    plan.run_in_place(module, &facts);
    plan.keep(module, &facts);
    let (loops, loop_sites) = loops::find(module, candidates, &facts, &plan);
    let runtime = if plan.queues.is_empty() { None } else { runtime::add(module, &facts, &plan) };
    if let Some(runtime) = &runtime {
        let pushers = push::add(module, &plan, runtime, !loops.is_empty());
        let functions = variant::add(module, &facts, &plan, &pushers, &in_place.general);
        rewrite::runs(module, &plan, runtime, &functions, &facts);
        rewrite::roots(module, &facts, &plan, runtime, &pushers);
    }
    if runtime.is_some() || plan.queues.is_empty() {
        loops::write(module, &facts, &loops, runtime.as_ref(), options);
    }
    // one that is made at its kernel's end, where it was kept, is the same launch
    let is_end = |id| module.function(id).is_some_and(|function| function.symbol.starts_with(END));
    plan.sites.retain(|site| !is_end(site.function));
    Merged { sites: plan.sites, in_place: in_place.sites, loops: loop_sites }
}
