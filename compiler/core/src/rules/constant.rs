//! E0502 (R15): writes to `constant` memory through pointers that hide it.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::address::Root;
use crate::analysis::values::Point;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{FunctionId, Operand, PlaceBase, StatementKind};
use crate::types::Space;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        for (point, statement) in body.statements() {
            let written = match &statement.kind {
                StatementKind::Store { place, .. } => match &place.base {
                    PlaceBase::Deref(pointer) => of_constant(facts, body, point, pointer, &[]),
                    _ => None,
                },
                StatementKind::Atomic { pointer, .. } => of_constant(facts, body, point, pointer, &[]),
                StatementKind::Call { function, args, .. } => through(facts, body, point, *function, args),
                StatementKind::Launch(launch) => through(facts, body, point, launch.kernel, &launch.args),
                _ => None,
            };
            let Some((name, declared)) = written.and_then(|root| facts.variable(body, root)) else { continue };
            let message = format!("this writes `{name}`, which is `constant` memory");
            found.push(
                Diagnostic::new(Code::E0502, statement.span, message)
                    .also(declared, "declared here")
                    .help("declare it with `global var` when it is to be written")
                    .note(
                        "constant memory is the same for all grids and never written on the device (R15, guide 5.6.4.2.2.1.4)",
                    ),
            );
        }
    }
}

/// The constant variable that a pointer surely points to.
fn of_constant(facts: &Facts<'_>, body: &Body<'_>, point: Point, pointer: &Operand, path: &[u32]) -> Option<Root> {
    let parts = facts.parts(body, point, pointer);
    let mut addresses = parts.iter().filter(|part| part.path == path).map(|part| &part.address).peekable();
    let first = addresses.peek().map(|address| address.origin.root)?;
    addresses.all(|address| facts.space(address) == Some(Space::Constant)).then_some(first)
}

/// The constant variable that a callee, or child, writes through a parameter.
fn through(facts: &Facts<'_>, body: &Body<'_>, point: Point, callee: FunctionId, args: &[Operand]) -> Option<Root> {
    let writes = facts.effects.of(callee).iter().filter(|effect| effect.kind.writes() && !effect.address.origin.loaded);
    writes
        .filter_map(|effect| match effect.address.origin.root {
            Root::Param(param) => of_constant(facts, body, point, args.get(param.index())?, &effect.address.origin.path),
            _ => None,
        })
        .next()
}
