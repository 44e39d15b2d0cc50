//! `@merge(buckets(n))`: kernels some of whose blocks that follow each other need not wait for the others. Every thread of such a kernel is
//! counted when it leaves; `parts.cdp` says what comes of it.

use super::facts::Facts;
use super::plan::Plan;
use super::push::Pushers;
use super::rewrite::{self, Context};
use super::runtime::Runtime;
use crate::ir::{Block, BlockId, Const, Function, FunctionId, Module, Statement, StatementKind, Terminator, TerminatorKind};
use std::collections::BTreeMap;

/// Rewrites kernels with buckets, and variants for them of the functions that they call and that push.
pub(super) fn kernels(module: &mut Module, facts: &Facts, plan: &Plan, runtime: &Runtime, pushers: &Pushers) {
    let Some(leave) = runtime.leave_part else { return };
    let mut variants: BTreeMap<(u32, FunctionId), FunctionId> = BTreeMap::new();
    for (kernel, blocks) in &plan.buckets {
        let pushing = |id: &FunctionId| id != kernel && plan.pushes.get(id.index()) == Some(&true);
        for id in facts.reached(*kernel).into_iter().filter(pushing) {
            let Some(function) = module.function(id).filter(|_| !variants.contains_key(&(*blocks, id))).cloned() else {
                continue;
            };
            variants.insert((*blocks, id), module.add_function(function));
        }
    }
    let functions = variants.iter().map(|((blocks, original), id)| (*blocks, *original, *id));
    for (blocks, original, id) in functions.chain(plan.buckets.iter().map(|(kernel, blocks)| (*blocks, *kernel, *kernel))) {
        let Some(function) = module.functions.get_mut(id.index()) else { continue };
        if original == id {
            leaves(function, leave, blocks);
        } else {
            function.symbol = format!("cdpc$merge$buckets_{blocks}${}", function.symbol);
        }
        for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
            if let StatementKind::Call { function, .. } = &mut statement.kind
                && let Some(variant) = variants.get(&(blocks, *function))
            {
                *function = *variant;
            }
        }
        rewrite::pushes(plan, pushers, original, function, Context::Bucket(blocks));
    }
}

/// Has all threads of a kernel come by one end, where they are counted.
fn leaves(kernel: &mut Function, leave: FunctionId, blocks: u32) {
    let span = kernel.span;
    let end = BlockId(u32::try_from(kernel.blocks.len()).unwrap_or(u32::MAX));
    for block in &mut kernel.blocks {
        if matches!(block.terminator.kind, TerminatorKind::Return(_)) {
            block.terminator.kind = TerminatorKind::Goto(end);
        }
    }
    let kind = StatementKind::Call { dst: None, function: leave, args: vec![Const::u32(blocks).into()] };
    let terminator = Terminator { kind: TerminatorKind::Return(None), span };
    kernel.blocks.push(Block { statements: vec![Statement { kind, span }], terminator, unroll: None });
}
