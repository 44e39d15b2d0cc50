//! W0407, for the barrier of a cluster: halves of it that only some threads come to, while the others go on without.
//!
//! Every thread arrives and waits, if not at the same place, and a thread that has ended counts as arrived (PTX ISA, `barrier.cluster`). So it is
//! no mistake to come to it in two branches, or to leave those out that only return.

use super::facts::Facts;
use crate::analysis::Body;
use crate::builtins::BarrierOp;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{BlockId, StatementKind, TerminatorKind};

/// A half of the barrier.
#[derive(Clone, Copy)]
enum Half {
    Arrive,
    Wait,
}

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    let halves = [Half::Arrive, Half::Wait].map(|half| (half, facts.program.leading_to(|_, statement| half.is(statement))));
    for body in facts.program.device_bodies() {
        // of both halves behind one condition, one is reported
        let mut reported = Vec::new();
        for (half, leads) in &halves {
            let comes = |statement: &StatementKind| match statement {
                StatementKind::Call { function, .. } => leads.get(function.index()) == Some(&true),
                _ => half.is(statement),
            };
            for (point, statement) in body.statements() {
                if !comes(&statement.kind) || !facts.uniformity.block(body.id, point.block).is_varying() {
                    continue;
                }
                let Some(decision) = parting(facts, body, point.block) else { continue };
                let Some((_, terminator)) = body.terminator(decision).filter(|_| !reported.contains(&decision)) else {
                    continue;
                };
                if !goes_on_without(body, decision, &comes) {
                    continue;
                }
                reported.push(decision);
                let name = name(body, facts, &statement.kind);
                let message = format!("`{name}` stands where not all threads of a cluster come, and the others go on");
                found.push(
                    Diagnostic::new(Code::W0407, statement.span, message)
                        .label("the barrier of a cluster is for all its threads that have not ended")
                        .also(terminator.span, "threads part here")
                        .help("move the barrier out, so that every thread comes to it: only the work belongs inside the condition")
                        .note("each thread of the cluster arrives and waits, but not necessarily at the same place"),
                );
            }
        }
    }
}

impl Half {
    const fn is(self, statement: &StatementKind) -> bool {
        use BarrierOp::{ClusterArrive, ClusterArriveRelaxed, ClusterWait};
        let StatementKind::Barrier { op, .. } = statement else { return false };
        match self {
            Self::Arrive => matches!(op, ClusterArrive | ClusterArriveRelaxed),
            Self::Wait => matches!(op, ClusterWait),
        }
    }
}

fn name<'f>(body: &'f Body<'_>, facts: &'f Facts<'_>, statement: &StatementKind) -> &'f str {
    match statement {
        StatementKind::Barrier { op, .. } => op.name(),
        StatementKind::Call { function, .. } => facts.module().function(*function).map_or("", |called| called.name.as_str()),
        _ => body.function.name.as_str(),
    }
}

/// The end of the block at which threads part, nearest before a block.
fn parting(facts: &Facts<'_>, body: &Body<'_>, block: BlockId) -> Option<BlockId> {
    let mut work = std::collections::VecDeque::from([block]);
    let mut seen = Vec::new();
    while let Some(block) = work.pop_front() {
        for decision in body.control.decisions.get(block.index()).into_iter().flatten() {
            let Some((point, terminator)) = body.terminator(decision.block) else { continue };
            let mut varies = false;
            terminator.kind.each_operand(&mut |operand| varies |= facts.uniformity.operand(body, point, operand).is_varying());
            if varies {
                return Some(decision.block);
            }
            if !seen.contains(&decision.block) {
                seen.push(decision.block);
                work.push_back(decision.block);
            }
        }
    }
    None
}

/// Whether a thread can go from a decision to the end of the function without coming to the barrier, and does something on the way.
fn goes_on_without(body: &Body<'_>, decision: BlockId, comes: &dyn Fn(&StatementKind) -> bool) -> bool {
    let passes = |block: BlockId| body.block_statements(block).any(|(_, statement)| comes(&statement.kind));
    let blocks = body.control.successors.len();
    // the blocks from which the end is reached without it
    let mut leaves = vec![false; blocks];
    let mut work: Vec<BlockId> = Vec::new();
    for (index, leaf) in leaves.iter_mut().enumerate() {
        let block = BlockId(u32::try_from(index).unwrap_or(u32::MAX));
        let ends = body.terminator(block).is_some_and(|(_, end)| matches!(end.kind, TerminatorKind::Return(_)));
        if ends && !passes(block) {
            *leaf = true;
            work.push(block);
        }
    }
    while let Some(block) = work.pop() {
        for before in body.control.predecessors.get(block.index()).into_iter().flatten() {
            if let Some(flag) = leaves.get_mut(before.index()).filter(|flag| !**flag)
                && !passes(*before)
            {
                *flag = true;
                work.push(*before);
            }
        }
    }
    let mut seen = vec![false; blocks];
    let mut work = vec![decision];
    let mut does = false;
    while let Some(block) = work.pop() {
        for next in body.control.successors.get(block.index()).into_iter().flatten() {
            let Some(flag) = seen.get_mut(next.index()).filter(|flag| !**flag) else { continue };
            *flag = true;
            if leaves.get(next.index()) == Some(&true) {
                does |= body.block_statements(*next).any(|(_, s)| !matches!(s.kind, StatementKind::Assign { .. }));
                work.push(*next);
            }
        }
    }
    does
}
