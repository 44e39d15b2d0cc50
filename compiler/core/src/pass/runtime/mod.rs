//! Runtime calls that the device runtime does not do, or does not do right, become code of our own.
//!
//! - `memset`: fills. The device runtime writes zeroes whatever the value (measured on an H200), so everything but a plain fill with a
//!   constant zero is a launch of the kernel that `fill` makes, in the same stream.
//! - `occupancy`: `cudaOccupancyMaxPotentialBlockSize`, which CUDA has in a header only, becomes a function for each kernel.
//! - `event`: `cudaEventRecordWithFlags`, which libcudadevrt does not define.
//! - `code`: a short way to write functions; `site`: code in the place of a call.
//!
//! What is added has symbols with a `$`, which no name in source has.

pub(super) mod code;
mod event;
mod fill;
mod memset;
mod occupancy;
pub(super) mod site;
#[cfg(test)]
mod tests;

pub use fill::SYMBOL as FILL_KERNEL;

use crate::ir::{Module, StatementKind};
use crate::verify::ModuleInfo;

/// Replaces the calls in device code. Runs before launches are lowered, since it adds some.
pub(super) fn lower(module: &mut Module, info: &ModuleInfo) {
    let on_device = |index: usize| info.functions.get(index).is_some_and(|info| info.on_device);
    let uses = |module: &Module, wanted: &dyn Fn(&StatementKind) -> bool| {
        let functions = module.functions.iter().enumerate().filter(|(index, _)| on_device(*index));
        functions.flat_map(|(_, f)| &f.blocks).flat_map(|b| &b.statements).any(|s| wanted(&s.kind))
    };
    if uses(module, &memset::needs_kernel) {
        memset::lower(module, on_device);
    }
    if uses(module, &event::is_record) {
        event::lower(module, on_device);
    }
    if uses(module, &occupancy::is_potential) {
        occupancy::lower(module, on_device);
    }
}
