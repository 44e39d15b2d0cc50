//! Passes over the IR. For code generation, in this order, on a copy of the module that the executor runs:
//!
//! 1. [`const_fold`]: what can be computed now
//! 2. [`simplify`]: constant branches folded, unreachable blocks removed, dead launches with them
//! 3. [`merge_launches`], where it is wanted: small children are run by the threads that launch them (`in_place`), and many launches of one
//!    kernel become one grid
//! 4. [`lower_launches`]: launches of device code become calls of the device runtime; `runtime` before that replaces calls which the
//!    device runtime does not do as it should
//! 5. [`count_prints`], for a program that `cdpc` itself runs on a GPU
//!
//! A pass keeps the rules of [`crate::verify`].

mod const_fold;
mod count_prints;
mod in_place;
mod launch;
mod merge;
mod params;
mod runtime;
mod simplify;
#[cfg(test)]
mod tests;

pub use const_fold::const_fold;
pub use count_prints::{PRINT_COUNTER, PRINT_MARK, count_prints};
pub use in_place::{Extent, InPlaceSite, Runner};
pub use launch::{LaunchAbi, LaunchOptions, LaunchSite, MOST_PARAM_BYTES, SiteAbi, lower_launches};
pub use merge::{LoopSite, MergeMode, MergeOptions, MergeSite, Merged, Obstacle, check_launch_hints, merge_launches};
pub use runtime::FILL_KERNEL;
pub use simplify::{remove_unreachable, simplify, simplify_function};
