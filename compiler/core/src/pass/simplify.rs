//! Simplification of the control-flow graph: branches on constants, and blocks that control cannot reach.

use crate::ir::{BlockId, Function, Module, TerminatorKind};

/// Replaces branches and switches on constants by jumps, takes out empty blocks that only jump on, and removes what control cannot
/// reach then, launches included. Statements are neither moved nor merged.
pub fn simplify(module: &mut Module) {
    for function in &mut module.functions {
        simplify_function(function);
    }
}

/// [`simplify`] for one function.
pub fn simplify_function(function: &mut Function) {
    for block in &mut function.blocks {
        if let Some(target) = known_target(&block.terminator.kind) {
            block.terminator.kind = TerminatorKind::Goto(target);
        }
    }
    skip_empty_blocks(function);
    remove_unreachable(function);
}

/// Where a terminator always goes.
fn known_target(terminator: &TerminatorKind) -> Option<BlockId> {
    match terminator {
        TerminatorKind::Branch { then, otherwise, .. } if then == otherwise => Some(*then),
        TerminatorKind::Branch { condition, then, otherwise } => {
            Some(if condition.as_bits()? == 0 { *otherwise } else { *then })
        }
        TerminatorKind::Switch { value, cases, default } => {
            let value = value.as_bits()?;
            Some(cases.iter().find(|(pattern, _)| *pattern == value).map_or(*default, |(_, block)| *block))
        }
        _ => None,
    }
}

/// Lets terminators go where an empty block with a plain jump would lead. Blocks with `@unroll` stay: they are the headers of loops.
fn skip_empty_blocks(function: &mut Function) {
    let jumps: Vec<Option<BlockId>> = function
        .blocks
        .iter()
        .map(|block| match block.terminator.kind {
            TerminatorKind::Goto(target) if block.statements.is_empty() && block.unroll.is_none() => Some(target),
            _ => None,
        })
        .collect();
    let most = jumps.len();
    let follow = |mut block: BlockId| {
        // an empty endless loop leads nowhere: the count ends the search
        for _ in 0..most {
            match jumps.get(block.index()) {
                Some(Some(next)) if *next != block => block = *next,
                _ => break,
            }
        }
        block
    };
    for block in &mut function.blocks {
        block.terminator.kind.map_successors(follow);
    }
}

/// Removes blocks that control cannot reach; the others keep their order. A function that is defined elsewhere stays as it is.
pub fn remove_unreachable(function: &mut Function) {
    let reached = function.reachable_blocks();
    if reached.iter().all(|reached| *reached) {
        return;
    }
    let mut count = 0;
    let places: Vec<BlockId> = reached
        .iter()
        .map(|reached| {
            let place = BlockId(count);
            count += u32::from(*reached);
            place
        })
        .collect();
    let mut flags = reached.iter();
    function.blocks.retain(|_| flags.next().copied().unwrap_or(false));
    for block in &mut function.blocks {
        block.terminator.kind.map_successors(|block| places.get(block.index()).copied().unwrap_or(block));
    }
}
