//! Children as functions that are given their place in the grid.

use super::InPlaceSite;
use crate::builtins::Register;
use crate::ir::{Function, FunctionId, FunctionKind, Local, LocalId, Module, Operand, Rvalue, StatementKind};
use crate::pass::merge::MergeMode;
use crate::pass::merge::facts::Facts;
use crate::pass::merge::variant::registers;
use crate::pass::params;
use crate::types::TypeTable;
use std::collections::BTreeMap;

/// By kernel: the function that runs a whole grid. Its parameters are the kernel's, then the extents of the grid, then those of a block.
pub(super) type Grids = BTreeMap<FunctionId, FunctionId>;

/// Adds a variant of every child, and of the functions that it calls where they ask for a place.
pub(super) fn add(module: &mut Module, facts: &Facts, sites: &[InPlaceSite]) -> Grids {
    let mut variants = BTreeMap::new();
    let mut kernels: Vec<FunctionId> = sites.iter().map(|site| site.kernel).collect();
    kernels.sort_unstable();
    kernels.dedup();
    for kernel in &kernels {
        for id in facts.reached(*kernel) {
            let does = facts.all(id);
            let asks = does.block_place.is_some() || does.thread_place.is_some();
            if (id == *kernel || asks) && !variants.contains_key(&id) {
                let Some(function) = module.function(id).cloned() else { continue };
                variants.insert(id, next(module));
                module.functions.push(function);
            }
        }
    }
    for id in variants.values() {
        if let Some(function) = module.functions.get_mut(id.index()) {
            given(function, &variants);
        }
    }
    let mut grids = Grids::new();
    for kernel in kernels {
        let Some(variant) = variants.get(&kernel) else { continue };
        if let Some(function) = super::rewrite::grid(module, kernel, *variant) {
            grids.insert(kernel, next(module));
            module.functions.push(function);
        }
    }
    grids
}

fn next(module: &Module) -> FunctionId {
    FunctionId(u32::try_from(module.functions.len()).unwrap_or(u32::MAX))
}

/// Gives a function its place as parameters, and hands it on.
fn given(function: &mut Function, variants: &BTreeMap<FunctionId, FunctionId>) {
    function.symbol = format!("cdpc$in_place${}", function.symbol);
    function.kind = FunctionKind::Plain;
    function.exported = false;
    function.launch_bounds = None;
    let span = function.span;
    let local = |_: Register| Local { name: String::new(), ty: TypeTable::U32, restrict: false, span };
    let first = params::append(function, registers(MergeMode::Threads).map(local).collect());
    let places: Vec<(Register, LocalId)> = registers(MergeMode::Threads).zip((first.0..).map(LocalId)).collect();
    for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
        match &mut statement.kind {
            StatementKind::Assign { value, .. } => {
                if let Rvalue::Register(register) = value
                    && let Some((_, local)) = places.iter().find(|(place, _)| place == register)
                {
                    *value = Rvalue::Use(Operand::Local(*local));
                }
            }
            StatementKind::Call { function, args, .. } => {
                if let Some(variant) = variants.get(function) {
                    *function = *variant;
                    args.extend(places.iter().map(|(_, local)| Operand::Local(*local)));
                }
            }
            _ => {}
        }
    }
}
