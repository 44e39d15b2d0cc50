//! More parameters for a function that has its body.

use crate::ir::{Function, Local, LocalId, Operand};

/// Puts parameters behind those that are there; other locals move up. Gives the first new one.
pub(super) fn append(function: &mut Function, params: Vec<Local>) -> LocalId {
    let first = function.param_count;
    let count = u32::try_from(params.len()).unwrap_or(0);
    let moved = |local: &mut LocalId| {
        if local.0 >= first {
            local.0 += count;
        }
    };
    for block in &mut function.blocks {
        for statement in &mut block.statements {
            statement.kind.each_local_mut(&mut { moved });
        }
        block.terminator.kind.each_operand_mut(&mut |operand| {
            if let Operand::Local(local) = operand {
                moved(local);
            }
        });
    }
    function.locals.splice(first as usize..first as usize, params);
    function.param_count += count;
    LocalId(first)
}
