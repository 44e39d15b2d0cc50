//! W0403: a loop that launches a child of a few threads in every round.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::extent::Extents;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{BinaryOp, BlockId, Rvalue, StatementKind, TerminatorKind};

/// A child of so many threads is done before the next one is launched.
const FEW_THREADS: u64 = 32;
/// Loops of so many rounds cost nothing that counts.
const FEW_ROUNDS: i64 = 32;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for (body, point, span, launch) in facts.launches() {
        let Some(threads) = Extents::launched(launch).filter(|threads| *threads <= FEW_THREADS) else { continue };
        if launch.hints.asks_to_merge() || launch.hints.inline_below.is_some() {
            continue;
        }
        let mut loops = body.control.loops(point.block).peekable();
        if loops.peek().is_none() || !loops.any(|header| rounds(facts, body, header).is_none_or(|rounds| rounds > FEW_ROUNDS)) {
            continue;
        }
        let child = facts.function_name(launch.kernel);
        let count = if threads == 1 { "one thread".to_owned() } else { format!("{threads} threads") };
        let message = format!("a loop launches `{child}` with {count} a time");
        found.push(
            Diagnostic::new(Code::W0403, span, message)
                .label("a launch takes about as long as some thousands of instructions")
                .help(format!(
                    "launch once for all rounds, with the round as the thread's number: `{child}_all<<<(n + 127) / 128, 128>>>(…, n)`"
                ))
                .note("one launch takes 0.24 to 1.06 µs of the whole GPU's time (measured on an H200); a call or a loop in the thread takes less"),
        );
    }
}

/// How many rounds a loop makes, where its bounds are known.
fn rounds(facts: &Facts<'_>, body: &Body<'_>, header: BlockId) -> Option<i64> {
    let (point, terminator) = body.terminator(header)?;
    let TerminatorKind::Branch { condition, .. } = &terminator.kind else { return None };
    let (at, statement) = body.values.statement(body.function, body.read(point, condition)?)?;
    let StatementKind::Assign { value: Rvalue::Binary(BinaryOp::Lt, variable, bound), .. } = &statement.kind else {
        return None;
    };
    let index = |operand| facts.provenance.index(&facts.program, body, at, operand);
    let (variable, bound) = (index(variable), index(bound));
    if !variable.rounds {
        return None;
    }
    bound.as_known()?.checked_sub(variable.start()?)
}
