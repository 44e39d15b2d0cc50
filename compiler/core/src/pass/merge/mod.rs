//! Launch merging: many launches of one kernel become one grid. `docs/launch-merging.md` says why that is allowed, and how it works.
//!
//! A launch that may be merged becomes a push of its arguments and its grid into a queue of the grid that it stands in. When that grid's
//! threads have ended, one grid for each queue runs everything in it, block by block or, for small children, thread by thread.
//!
//! - `hints`: what `@merge` asks for
//! - this file: options, what became of each launch, and the order of the steps
//! - `facts`: what functions do that matters here; `plan`: which launches are merged, and why the others are not
//! - `record`: what is pushed for a launch
//! - `runtime`: the code that all queues share, and the kernels that run what is in them, from `runtime.cdp`, `blocks.cdp` and
//!   `threads.cdp`; `graft` puts it into the module
//! - `variant`: functions as merged grids run them: where a block is and how many there are become parameters
//! - `rewrite`: pushes in the place of launches

mod facts;
mod graft;
mod hints;
mod plan;
mod record;
mod rewrite;
mod runtime;
#[cfg(test)]
mod tests;
mod variant;

pub use hints::check_launch_hints;
pub use plan::{MergeMode, MergeSite, Obstacle};

use crate::ir::Module;
use crate::types::layout::PointerWidth;

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeOptions {
    /// Of the PTX module; for the executor 64 bits.
    pub width: PointerWidth,
    /// How much device memory pushed launches may take, in bytes; what has no room is launched as it is. At least 64 KiB.
    pub memory: u64,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { width: PointerWidth::W64, memory: 256 << 20 }
    }
}

/// Merges what can be merged, and says of every launch in device code what became of it, in the order of the functions and of the source.
///
/// Runs before launches are lowered, on a module that `const_fold` and `simplify` went over: what is not constant by then is taken for
/// different at each launch.
pub fn merge_launches(module: &mut Module, options: &MergeOptions) -> Vec<MergeSite> {
    hints::give_up_order(module);
    let facts = facts::Facts::new(module);
    let plan = plan::Plan::new(module, &facts, options);
    if !plan.queues.is_empty()
        && let Some(runtime) = runtime::add(module, &facts, &plan)
    {
        let functions = variant::add(module, &facts, &plan, &runtime);
        rewrite::runs(module, &plan, &runtime, &functions, &facts);
        rewrite::roots(module, &facts, &plan, &runtime);
    }
    plan.sites
}
