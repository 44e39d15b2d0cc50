//! Children as functions that are given their place in the grid.

use crate::ir::{FunctionId, Module};
use crate::pass::merge::MergeMode;
use crate::pass::merge::facts::Facts;
use crate::pass::merge::variant::given;
use std::collections::{BTreeMap, BTreeSet};

/// By kernel, or function that it calls: the function that is given its place, behind its own parameters: `blockIdx`, `gridDim`, `threadIdx`,
/// `blockDim`, each in x, y, z.
pub(super) type Variants = BTreeMap<FunctionId, FunctionId>;

/// By kernel: the function that runs a whole grid. Its parameters are the kernel's, then the extents of the grid, then those of a block.
pub(in crate::pass) type Grids = BTreeMap<FunctionId, FunctionId>;

/// Adds a variant of every child, and of the functions that it calls where they ask for a place. Their symbols have `word` in them.
pub(super) fn add(module: &mut Module, facts: &Facts, kernels: &BTreeSet<FunctionId>, word: &str) -> Variants {
    let mut variants = BTreeMap::new();
    for kernel in kernels {
        for id in facts.reached(*kernel) {
            let does = facts.all(id);
            let asks = does.block_place.is_some() || does.thread_place.is_some();
            if (id == *kernel || asks) && !variants.contains_key(&id) {
                let Some(function) = module.function(id).cloned() else { continue };
                variants.insert(id, module.add_function(function));
            }
        }
    }
    for id in variants.values() {
        if let Some(function) = module.functions.get_mut(id.index()) {
            function.symbol = format!("cdpc${word}${}", function.symbol);
            given(function, None, MergeMode::Threads, |id| variants.get(&id).copied());
        }
    }
    variants
}

/// Adds what runs whole grids of these children, of which there are variants.
pub(super) fn grids(module: &mut Module, variants: &Variants, kernels: &BTreeSet<FunctionId>, word: &str) -> Grids {
    let mut grids = Grids::new();
    for kernel in kernels {
        let Some(variant) = variants.get(kernel) else { continue };
        if let Some(function) = super::rewrite::grid(module, *kernel, *variant, word) {
            grids.insert(*kernel, module.add_function(function));
        }
    }
    grids
}
