//! A function with a result must return one on every path (E0216).

use crate::diag::{Code, Diagnostic};
use crate::ir::{BlockId, Function};
use crate::typed;
use crate::types::TypeTable;

/// An error when control can run off the end of the body, which is `last`.
pub(super) fn check(types: &TypeTable, source: &typed::Function, function: &Function, last: BlockId) -> Option<Diagnostic> {
    if !function.reachable_blocks().get(last.index()).copied().unwrap_or(false) {
        return None;
    }
    let ty = types.display(source.return_type);
    let diagnostic =
        Diagnostic::new(Code::E0216, source.end, format!("not every path through `{}` returns a value", source.name))
            .label("control gets here without a `return`")
            .also(source.span, format!("returns `{ty}`"))
            .help("end every path with `return …;`");
    Some(diagnostic)
}
