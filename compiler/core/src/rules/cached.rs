//! W0505 (R16): reads through the read-only cache of memory that the kernel or a child of it writes.

use super::facts::Facts;
use crate::analysis::effects::{Effect, Kind};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::Span;

/// An effect with the statement that has it.
struct At {
    effect: Effect,
    statement: Span,
}

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let mut all = Vec::new();
        let tails: Vec<_> =
            facts.outstanding(body).map_or(&[][..], |o| o.starts()).iter().filter(|start| start.is_tail).collect();
        for (point, statement) in body.statements() {
            // a tail launch comes after this grid
            if tails.iter().any(|start| start.point == point) {
                continue;
            }
            let effects = facts.effects_at(body, point).into_iter();
            all.extend(effects.map(|effect| At { effect, statement: statement.span }));
        }
        let cached = all.iter().filter(|at| at.effect.kind == Kind::CachedRead && !at.effect.by_child);
        for read in cached {
            let written = |at: &&At| at.effect.kind.writes() && at.effect.address.meets(&read.effect.address);
            let Some(write) = all.iter().find(written) else { continue };
            let name = facts.name(body, &read.effect.address);
            let who = if write.effect.by_child { "a child of this grid writes it" } else { "this grid writes it" };
            let message = format!("{name} is read through the read-only cache, and {who}");
            let mut diagnostic = Diagnostic::new(Code::W0505, read.statement, message)
                .label("may give what was there before, or not")
                .also(write.statement, if write.effect.by_child { "launched here" } else { "written here" });
            if write.effect.by_child {
                diagnostic = diagnostic.also(write.effect.span, "the child writes it here");
            }
            found.push(
                diagnostic
                    .help("read it without `__ldg`")
                    .note("such reads are for memory that nobody writes while the grid runs (R16, guide 4.18.3.4.1)"),
            );
        }
    }
}
