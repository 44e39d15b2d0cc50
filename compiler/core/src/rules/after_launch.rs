//! W0503 and W0504 (R12, R13): the parent reads what a child may be writing, or writes what a child may be using.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::address::Root;
use crate::analysis::dataflow::Bits;
use crate::analysis::effects::{Effect, Kind};
use crate::analysis::outstanding::Start;
use crate::builtins::Cdp;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::StatementKind;
use crate::source::Span;
use std::collections::HashMap;

/// By piece of memory: which of the launches do something to it, and what.
type ByRoot<'s> = HashMap<Root, Vec<(usize, &'s Effect)>>;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let Some(outstanding) = facts.outstanding(body).filter(|outstanding| !outstanding.starts().is_empty()) else {
            continue;
        };
        let mut by_root = ByRoot::new();
        for (member, start) in outstanding.starts().iter().enumerate().filter(|(_, start)| !start.is_tail) {
            for effect in &start.effects {
                by_root.entry(effect.address.origin.root).or_default().push((member, effect));
            }
        }
        for block in &body.control.order {
            outstanding.walk(body, *block, |point, set| {
                let Some(statement) = body.statement(point).filter(|statement| touches(&statement.kind)) else { return };
                let own = facts.effects_at(body, point).into_iter().filter(|effect| !effect.by_child);
                let clash = own.into_iter().find_map(|own| {
                    let (member, child) = clash(&own, set, &by_root)?;
                    Some((own, outstanding.starts().get(member)?, child))
                });
                if let Some((own, start, child)) = clash {
                    found.push(report(facts, body, statement.span, &own, start, child));
                }
            });
        }
    }
}

/// Whether a statement may read or write memory itself.
const fn touches(statement: &StatementKind) -> bool {
    matches!(statement, StatementKind::Load { .. } | StatementKind::Store { .. } | StatementKind::Call { .. })
}

/// What an outstanding child does to the memory of an access of the parent.
fn clash<'s>(own: &Effect, set: &Bits, by_root: &ByRoot<'s>) -> Option<(usize, &'s Effect)> {
    let conflicts = |child: &Effect| match own.kind {
        Kind::Read | Kind::CachedRead => child.kind.writes(),
        Kind::Write => true,
        Kind::Update => false,
    };
    // an element that differs from round to round of the parent's loop is another one by then
    let certain = |child: &Effect| !child.address.index.rounds && child.address.meets(&own.address);
    let candidates = by_root.get(&own.address.origin.root)?.iter().copied();
    candidates.filter(|(member, child)| set.contains(*member) && conflicts(child)).find(|(_, child)| certain(child))
}

fn report(facts: &Facts<'_>, body: &Body<'_>, span: Span, own: &Effect, start: &Start, child: &Effect) -> Diagnostic {
    let name = facts.name(body, &own.address);
    let does = if child.kind.writes() { "writes" } else { "reads" };
    if own.kind.writes() {
        let message = format!("{name} is written while a child that {does} it may be running");
        Diagnostic::new(Code::W0504, span, message)
            .label("the child sees the old value, the new one, or some of both")
            .also(start.span, "launched here")
            .also(child.span, format!("the child {does} it here"))
            .help(match facts.cdp {
                Cdp::Cdp1 => "write before the launch, or wait for the child first: `cudaDeviceSynchronize()`",
                Cdp::Cdp2 => "write before the launch, or launch what writes into the same stream, behind the child",
            })
            .note("after a launch, parent and child that touch the same memory race (R13, guide 4.18.3.1)")
    } else {
        let message = format!("{name} is read while the child that writes it may not have run");
        let diagnostic = Diagnostic::new(Code::W0503, span, message)
            .label("not what the child writes")
            .also(start.span, "launched here")
            .also(child.span, "the child writes it here");
        match facts.cdp {
            Cdp::Cdp1 => diagnostic
                .help("wait for the child before: `cudaDeviceSynchronize()`, whose result says whether it did; or read it on the host")
                .note("a child's writes are visible to the thread of its parent that has waited for it, and behind a barrier to the others of its block (R12)"),
            Cdp::Cdp2 => diagnostic
                .help("read it in a tail launch: `consume<<<1, 1, 0, cudaStreamTailLaunch>>>(…)`, or on the host")
                .note("a child's writes are never certain to be visible to its parent's threads (R12, guide 4.18.3.1)"),
        }
    }
}
