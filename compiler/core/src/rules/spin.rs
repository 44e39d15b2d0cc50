//! W0408 (R2): a loop that waits for what only a child will write.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::effects::{Effect, Kind};
use crate::analysis::outstanding::Start;
use crate::analysis::values::{Point, ValueId};
use crate::builtins::Cdp;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{BlockId, Rvalue, StatementKind};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let Some(outstanding) = facts.outstanding(body).filter(|outstanding| !outstanding.starts().is_empty()) else {
            continue;
        };
        for header in body.control.order.iter().copied().filter(|block| body.control.is_header(*block)) {
            let Some(polls) = polls(facts, body, header) else { continue };
            let wait = polls.iter().find_map(|(point, poll)| {
                let starts = outstanding.before(body, *point);
                let writer =
                    |start: &&Start| start.effects.iter().any(|e| e.kind.writes() && e.address.shares_memory(&poll.address));
                starts.into_iter().find(writer).map(|start| (*point, poll, start))
            });
            let Some((point, poll, start)) = wait else { continue };
            let Some(statement) = body.statement(point) else { continue };
            let name = facts.name(body, &poll.address);
            let message = format!("this loop waits for a child to write {name}");
            found.push(
                Diagnostic::new(Code::W0408, statement.span, message)
                    .label("read again and again until it changes")
                    .also(start.span, "launched here; it need not start before this grid's threads have ended")
                    .help(match facts.cdp {
                        Cdp::Cdp1 => "wait for the child: `cudaDeviceSynchronize()`, whose result says whether it did",
                        Cdp::Cdp2 => "continue in a tail launch: `next<<<1, 256, 0, cudaStreamTailLaunch>>>(…)`",
                    })
                    .note("nothing may rely on a child that runs beside its parent (R2, guide 4.18.2.4)"),
            );
        }
    }
}

/// The reads on which alone it depends whether a loop goes on; none when anything else ends it, or the loop changes what it reads.
fn polls(facts: &Facts<'_>, body: &Body<'_>, header: BlockId) -> Option<Vec<(Point, Effect)>> {
    let inside = |block: BlockId| body.control.is_in_loop(block, header);
    let mut polls = Vec::new();
    for block in body.control.order.iter().copied().filter(|block| inside(*block)) {
        let (point, terminator) = body.terminator(block)?;
        if !terminator.kind.successors().any(|successor| !inside(successor)) {
            terminator.kind.successors().next()?;
            continue;
        }
        let mut condition = None;
        terminator.kind.each_operand(&mut |operand| condition = body.read(point, operand));
        let found = sources(facts, body, header, condition?)?;
        if found.is_empty() {
            return None;
        }
        polls.extend(found);
    }
    let writes_itself = body.statements().filter(|(point, _)| inside(point.block)).any(|(point, _)| {
        facts.effects_at(body, point).iter().any(|effect| {
            effect.kind == Kind::Write
                && !effect.by_child
                && polls.iter().any(|(_, poll)| poll.address.shares_memory(&effect.address))
        })
    });
    (!polls.is_empty() && !writes_itself).then_some(polls)
}

/// The reads in the loop that a value comes from; none when it comes from anything else that changes in the loop.
fn sources(facts: &Facts<'_>, body: &Body<'_>, header: BlockId, value: ValueId) -> Option<Vec<(Point, Effect)>> {
    let mut found = Vec::new();
    let mut work = vec![value];
    let mut seen = Vec::new();
    while let Some(value) = work.pop() {
        if seen.contains(&value) {
            continue;
        }
        seen.push(value);
        if !body.control.is_in_loop(body.values.block(value), header) {
            continue;
        }
        let (point, statement) = body.values.statement(body.function, value)?;
        match &statement.kind {
            StatementKind::Load { .. } | StatementKind::Atomic { .. } => {
                let effects = facts.effects_at(body, point);
                let [effect] = effects.as_slice() else { return None };
                if effect.address.index.rounds {
                    return None;
                }
                found.push((point, effect.clone()));
            }
            StatementKind::Assign { value, .. } => match value {
                Rvalue::Register(_) | Rvalue::AddressOf(_) => return None,
                _ => value.each_operand(&mut |operand| work.extend(body.read(point, operand))),
            },
            _ => return None,
        }
    }
    Some(found)
}
