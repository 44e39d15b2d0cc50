//! W0402: a launch that every thread of a block makes alike, where one was meant.

use super::facts::Facts;
use crate::analysis::effects::Kind;
use crate::analysis::guards::Comers;
use crate::diag::{Code, Diagnostic, Diagnostics};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for (body, point, span, launch) in facts.launches() {
        let together = facts.comers(body, point) == Comers::All && !facts.uniformity.block(body.id, point.block).is_varying();
        if !together || !facts.has_many_threads(body) {
            continue;
        }
        let mut operands = launch.grid.iter().chain(&launch.block).chain([&launch.shared]).chain(&launch.args);
        let alike = operands.all(|operand| !facts.uniformity.operand(body, point, operand).is_varying());
        // children that only count are perhaps meant to be many
        let writes = facts.effects.of(launch.kernel).iter().any(|effect| effect.kind == Kind::Write && !effect.by_child);
        if !alike || !writes {
            continue;
        }
        let child = facts.function_name(launch.kernel);
        let message = format!("every thread of the block launches `{child}` with the same arguments");
        found.push(
            Diagnostic::new(Code::W0402, span, message)
                .label("as many children as the block has threads, all writing the same")
                .help("launch it from one thread: `if threadIdx.x == 0 { … }`")
                .note("a launch is the matter of one thread, not of the block (R4, guide 4.18.4.2)"),
        );
    }
}
