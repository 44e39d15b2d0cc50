//! W0502 (R11): a child reads what other threads of the block wrote, and no barrier stands between their writes and the launch.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::barriers::{Unseparated, Write};
use crate::analysis::guards::Comers;
use crate::builtins::STREAM_TAIL_LAUNCH;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::StatementKind;

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let launches: Vec<_> = body.statements().filter(|(_, s)| matches!(s.kind, StatementKind::Launch(_))).collect();
        // some launch is made by one thread of several
        let by_one = launches.iter().any(|(point, _)| facts.comers(body, *point) == Comers::One);
        if !by_one || facts.uniformity.is_alone(body.id) {
            continue;
        }
        let unseparated = Unseparated::new(&facts.program, &facts.provenance, &facts.effects, &facts.barriers, body);
        for (point, statement) in launches {
            let StatementKind::Launch(launch) = &statement.kind else { continue };
            // a tail launch comes after all threads of the grid, and sees what they did
            let stream = facts.constants(body).operand(body, point, &launch.stream);
            if facts.comers(body, point) != Comers::One || stream == Some(u64::from(STREAM_TAIL_LAUNCH)) {
                continue;
            }
            let writes = unseparated.before(&facts.barriers, body, point);
            // what the launching thread wrote itself is seen: the first element may be its own
            let reads = facts.effects_at(body, point).into_iter().filter(|effect| effect.kind.reads());
            let mut reads = reads.filter(|effect| effect.address.index.child || effect.address.index.start() != Some(0));
            let Some((write, read)) = reads.find_map(|read| {
                let of_others = |write: &&&Write| {
                    facts.comers(body, write.point) != Comers::One
                        && write.effect.address.index.varies_by_thread()
                        && write.effect.address.shares_memory(&read.address)
                };
                writes.iter().find(of_others).map(|write| (*write, read))
            }) else {
                continue;
            };
            let name = facts.name(body, &write.effect.address);
            let child = facts.function_name(launch.kernel);
            let message = format!("`{child}` may not see what other threads of the block wrote to {name}");
            let diagnostic = Diagnostic::new(Code::W0502, statement.span, message)
                .label("launched without a barrier after the writes")
                .also(read.span, "read by the child here");
            found.push(with_fix(facts, body, write, diagnostic).note(
                "a child sees what its launching thread did before, and what had reached that thread (R11, guide 4.18.3.1)",
            ));
        }
    }
}

fn with_fix(facts: &Facts<'_>, body: &Body<'_>, write: &Write, diagnostic: Diagnostic) -> Diagnostic {
    let Some(statement) = body.statement(write.point) else { return diagnostic };
    let diagnostic = diagnostic.also(statement.span, "written here by every thread");
    let all_come = !facts.uniformity.block(body.id, write.point.block).is_varying();
    if all_come && matches!(statement.kind, StatementKind::Store { .. }) {
        diagnostic.fix("put a barrier behind the writes: `__syncthreads();`", statement.span.after(), " __syncthreads();")
    } else {
        diagnostic.help("put `__syncthreads();` between the writes and the launch, where every thread of the block comes")
    }
}
