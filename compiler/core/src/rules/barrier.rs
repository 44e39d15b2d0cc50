//! W0407: barriers that only some threads of a block reach.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::control::Control;
use crate::analysis::outstanding::failure;
use crate::analysis::values::Point;
use crate::builtins::BarrierOp;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{BlockId, StatementKind, TerminatorKind};
use crate::source::Span;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let mut control = None;
        for (point, statement) in body.statements() {
            let StatementKind::Barrier { op, .. } = &statement.kind else { continue };
            if *op == BarrierOp::Warp || op.is_of_cluster() || !facts.uniformity.block(body.id, point.block).is_varying() {
                continue;
            }
            let control = control.get_or_insert_with(|| without_failures(body));
            let Some((span, text)) = parting(facts, body, control, point.block) else { continue };
            let message = format!("`{}` stands where not all threads of a block come", op.name());
            found.push(
                Diagnostic::new(Code::W0407, statement.span, message)
                    .label("a barrier waits for all threads of the block")
                    .also(span, text)
                    .help("move the barrier out, so that every thread comes to it: only the work belongs inside the condition")
                    .note("a condition may surround a barrier when it is the same for all threads of the block"),
            );
        }
    }
}

/// The control flow as long as no launch and no call of the runtime fails: a thread that gives up then is no reason to say anything.
fn without_failures(body: &Body<'_>) -> Control {
    let mut function = body.function.clone();
    for (index, block) in function.blocks.iter_mut().enumerate() {
        let id = BlockId(u32::try_from(index).unwrap_or(u32::MAX));
        let point = Point { block: id, statement: block.statements.len() };
        if let TerminatorKind::Branch { condition, then, otherwise } = &block.terminator.kind {
            let goes = if failure(body, point, condition, true).is_some() {
                Some(*otherwise)
            } else {
                failure(body, point, condition, false).map(|_| *then)
            };
            if let Some(target) = goes {
                block.terminator.kind = TerminatorKind::Goto(target);
            }
        }
    }
    Control::new(&function)
}

/// Where threads part before they come to a block.
fn parting(facts: &Facts<'_>, body: &Body<'_>, control: &Control, block: BlockId) -> Option<(Span, &'static str)> {
    let mut work = vec![block];
    let mut seen = Vec::new();
    while let Some(block) = work.pop() {
        for decision in control.decisions.get(block.index()).into_iter().flatten() {
            let Some((point, terminator)) = body.terminator(decision.block) else { continue };
            let mut varies = false;
            terminator.kind.each_operand(&mut |operand| {
                varies |= facts.uniformity.operand(body, point, operand).is_varying();
            });
            if varies {
                return Some((terminator.span, "threads part here"));
            }
            if !seen.contains(&decision.block) {
                seen.push(decision.block);
                work.push(decision.block);
            }
        }
    }
    // the function itself is called where threads have parted
    facts.program.device_bodies().find_map(|caller| {
        caller.statements().find_map(|(point, statement)| {
            let is_call = matches!(&statement.kind, StatementKind::Call { function, .. } if *function == body.id);
            let parted = is_call && facts.uniformity.block(caller.id, point.block).is_varying();
            parted.then_some((statement.span, "called here, where threads have parted"))
        })
    })
}
