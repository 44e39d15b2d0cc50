//! W0401 (R18): launches that are likely to fail some day, and whose failure nobody can see.

use super::facts::Facts;
use crate::analysis::Body;
use crate::analysis::guards::Comers;
use crate::builtins::RuntimeFn;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{FunctionId, StatementKind};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for body in facts.program.device_bodies() {
        let mut used = None;
        for (point, statement) in body.statements() {
            let StatementKind::Launch(launch) = &statement.kind else { continue };
            let used = used.get_or_insert_with(|| Facts::used(body));
            let seen = body.values.made(point).is_some_and(|made| used.get(made.index()) != Some(&false));
            if seen || is_checked(facts, body) {
                continue;
            }
            // one launch finds room in the pool; many may not
            let why = if body.control.loops(point.block).next().is_some() {
                "launched in every round of a loop"
            } else if facts.has_many_threads(body) && facts.comers(body, point) != Comers::One {
                "launched by many threads"
            } else {
                continue;
            };
            let child = facts.function_name(launch.kernel);
            let message = format!("nobody can see whether `{child}` was launched");
            found.push(
                Diagnostic::new(Code::W0401, statement.span, message)
                    .label(why)
                    .help(format!(
                        "look at the result: `let err = {child}<<<…>>>(…); if err != cudaSuccess {{ … }}`, or ask `cudaGetLastError()` in the same thread"
                    ))
                    .note("a full pool of pending launches refuses more, and the last error is each thread's own: the host never sees it (R18, R20)"),
            );
        }
    }
}

/// Whether some code that runs together with a function asks for the last error.
fn is_checked(facts: &Facts<'_>, body: &Body<'_>) -> bool {
    let mut work: Vec<FunctionId> = vec![body.id];
    let mut seen: Vec<FunctionId> = Vec::new();
    let mut goes_up = true;
    // up to all callers, then down to all that they call
    while let Some(function) = work.pop() {
        if seen.contains(&function) {
            continue;
        }
        seen.push(function);
        let callers = facts
            .program
            .device_bodies()
            .filter(|caller| facts.program.info.function(caller.id).is_some_and(|info| info.callees.contains(&function)));
        work.extend(callers.map(|caller| caller.id));
        if work.is_empty() && goes_up {
            goes_up = false;
            let callees =
                seen.iter().filter_map(|function| facts.program.info.function(*function)).flat_map(|info| &info.callees);
            work = callees.copied().filter(|callee| !seen.contains(callee)).collect();
        }
    }
    let asks = |kind: &StatementKind| {
        matches!(kind, StatementKind::Runtime { call: RuntimeFn::GetLastError | RuntimeFn::PeekAtLastError, .. })
    };
    seen.iter()
        .filter_map(|function| facts.program.body(*function))
        .any(|body| body.statements().any(|(_, statement)| asks(&statement.kind)))
}
