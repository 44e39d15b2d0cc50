//! W0503 and W0504 (R12, R13): the parent reads what a child may be writing, or writes what a child may be using.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::effects::{Effect, Kind};
use crate::analysis::outstanding::Start;
use crate::analysis::values::Point;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::StatementKind;
use crate::source::Span;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let Some(outstanding) = facts.outstanding(body).filter(|outstanding| !outstanding.starts().is_empty()) else {
            continue;
        };
        for (point, statement) in body.statements() {
            let touches =
                matches!(statement.kind, StatementKind::Load { .. } | StatementKind::Store { .. } | StatementKind::Call { .. });
            if !touches {
                continue;
            }
            let own: Vec<Effect> = facts.effects_at(body, point).into_iter().filter(|effect| !effect.by_child).collect();
            if own.is_empty() {
                continue;
            }
            let starts: Vec<&Start> = outstanding.before(body, point).into_iter().filter(|start| !start.is_tail).collect();
            let clash =
                own.iter().find_map(|own| starts.iter().find_map(|start| clash(own, start).map(|child| (own, *start, child))));
            if let Some((own, start, child)) = clash {
                found.push(report(facts, body, (point, statement.span), own, start, child));
            }
        }
    }
}

/// What an outstanding child does to the memory of an access of the parent.
fn clash<'s>(own: &Effect, start: &'s Start) -> Option<&'s Effect> {
    let conflicts = |child: &&Effect| match own.kind {
        Kind::Read | Kind::CachedRead => child.kind.writes(),
        Kind::Write => true,
        Kind::Update => false,
    };
    // an element that differs from round to round of the parent's loop is another one by then
    let certain = |child: &&Effect| !child.address.index.rounds && child.address.meets(&own.address);
    start.effects.iter().filter(conflicts).find(certain)
}

fn report(
    facts: &Facts<'_>,
    body: &Body<'_>,
    (_, span): (Point, Span),
    own: &Effect,
    start: &Start,
    child: &Effect,
) -> Diagnostic {
    let name = facts.name(body, &own.address);
    let does = if child.kind.writes() { "writes" } else { "reads" };
    if own.kind.writes() {
        let message = format!("{name} is written while a child that {does} it may be running");
        Diagnostic::new(Code::W0504, span, message)
            .label("the child sees the old value, the new one, or some of both")
            .also(start.span, "launched here")
            .also(child.span, format!("the child {does} it here"))
            .help("write before the launch, or launch what writes into the same stream, behind the child")
            .note("after a launch, parent and child that touch the same memory race (R13, guide 4.18.3.1)")
    } else {
        let message = format!("{name} is read while the child that writes it may not have run");
        Diagnostic::new(Code::W0503, span, message)
            .label("not what the child writes")
            .also(start.span, "launched here")
            .also(child.span, "the child writes it here")
            .help("read it in a tail launch: `consume<<<1, 1, 0, cudaStreamTailLaunch>>>(…)`, or on the host")
            .note("a child's writes are never certain to be visible to its parent's threads (R12, guide 4.18.3.1)")
    }
}
