//! W0201, W0202, W0203: arithmetic that has no value, because of what is known of its operands.

use super::facts::Facts;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::eval::EvalError;
use crate::ir::{BinaryOp, Rvalue, StatementKind};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    let types = &facts.module().types;
    for body in &facts.program.bodies {
        let constants = facts.constants(body);
        for (point, statement) in body.statements() {
            let StatementKind::Assign { dst, value } = &statement.kind else { continue };
            let known = constants.value(facts.module(), body, point, value, body.function.local_type(*dst));
            let ty = |operand| facts.module().operand_type(body.function, operand);
            let diagnostic = match value {
                Rvalue::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => {
                    let is_int = types.as_int(ty(a)).is_some();
                    if is_int && constants.operand(body, point, b) == Some(0) {
                        let what = if *op == BinaryOp::Div { "divides" } else { "takes a remainder" };
                        let message = format!("this {what} by zero");
                        Diagnostic::new(Code::W0201, statement.span, message).label("the right side is always 0 here")
                    } else if known == Some(Err(EvalError::Overflow)) {
                        overflow(statement.span)
                    } else {
                        continue;
                    }
                }
                Rvalue::Binary(BinaryOp::Shl | BinaryOp::Shr, a, b) => {
                    let (Some(left), Some(right)) = (types.as_int(ty(a)), types.as_int(ty(b))) else { continue };
                    let Some(bits) = constants.operand(body, point, b) else { continue };
                    let by = right.value(bits);
                    if (0..i128::from(left.bits())).contains(&by) {
                        continue;
                    }
                    let message = format!("this shifts a value of {} bits by {by}", left.bits());
                    Diagnostic::new(Code::W0202, statement.span, message)
                        .label(format!("only shifts by 0 to {} have a value", left.bits().saturating_sub(1)))
                }
                Rvalue::Binary(..) | Rvalue::Unary(..) if known == Some(Err(EvalError::Overflow)) => overflow(statement.span),
                _ => continue,
            };
            found.push(
                diagnostic.note("an error of the program: the reference executor stops here, a GPU gives an unspecified value"),
            );
        }
    }
}

fn overflow(span: crate::source::Span) -> Diagnostic {
    Diagnostic::new(Code::W0203, span, "this overflows a signed integer")
        .label("the operands are always the same here, and the result does not fit")
        .help("use a wider type, or `wrapping_add` and its kin where wrapping is meant")
}
