//! W0404 (R6): each thread launches its own child into the NULL stream, where the children of a block run one after the other.

use super::facts::Facts;
use crate::analysis::effects::Kind;
use crate::analysis::guards::Comers;
use crate::analysis::index::Base;
use crate::builtins::{Cdp, STREAM_DEFAULT};
use crate::diag::{Code, Diagnostic, Diagnostics};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    for (body, point, span, launch) in facts.launches() {
        let is_null = facts.constants(body).operand(body, point, &launch.stream) == Some(u64::from(STREAM_DEFAULT));
        if !is_null || launch.hints.asks_to_merge() || facts.comers(body, point) == Comers::One || !facts.has_many_threads(body)
        {
            continue;
        }
        // each thread has its own work, and no child needs another's
        let differ = launch.args.iter().any(|arg| facts.uniformity.operand(body, point, arg).is_varying());
        let effects = facts.effects_at(body, point);
        let mut writes = effects.iter().filter(|effect| effect.kind == Kind::Write).peekable();
        let apart = writes.peek().is_some()
            && writes.all(|write| {
                let index = write.address.index;
                !write.address.origin.loaded && (index.is_distinct() || matches!(index.base, Base::Value(..)))
            });
        let reads_none = effects.iter().filter(|effect| effect.kind == Kind::Read).all(|read| {
            !effects.iter().any(|write| {
                write.kind == Kind::Write
                    && write.address.shares_memory(&read.address)
                    && write.address.index != read.address.index
            })
        });
        if !differ || !apart || !reads_none {
            continue;
        }
        let child = facts.function_name(launch.kernel);
        let message = format!("the children `{child}` of a block run one after the other");
        found.push(
            Diagnostic::new(Code::W0404, span, message)
                .label("the NULL stream keeps the launches of a block in order, and these need none")
                .help(match facts.cdp {
                    Cdp::Cdp1 => "let each thread launch into a stream of its own: `cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)`",
                    Cdp::Cdp2 => {
                        "launch into `cudaStreamFireAndForget`, which waits for nothing: `<<<grid, block, 0, cudaStreamFireAndForget>>>`"
                    }
                })
                .note("R6, guide 4.18.2.4"),
        );
    }
}
