//! E0510: indices that are known to lie outside of their array.

use super::facts::Facts;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Place, PlaceBase, Projection, Rvalue, StatementKind};
use crate::types::{Type, TypeId};

pub(super) fn check(facts: &Facts<'_>, found: &mut Diagnostics) {
    let module = facts.module();
    for body in &facts.program.bodies {
        let constants = facts.constants(body);
        for (point, statement) in body.statements() {
            let place = match &statement.kind {
                StatementKind::Load { place, .. } | StatementKind::Store { place, .. } => place,
                StatementKind::Assign { value: Rvalue::AddressOf(place), .. } => place,
                _ => continue,
            };
            let Some(mut ty) = base_type(facts, body.function, place) else { continue };
            for step in &place.path {
                let element = match step {
                    Projection::Field(field) => module.types.element(ty, *field),
                    Projection::Index(index) => {
                        if let Type::Array { len, .. } = module.types.get(ty)
                            && let Some(int) = module.types.as_int(module.operand_type(body.function, index))
                            && let Some(bits) = constants.operand(body, point, index)
                        {
                            let index = int.value(bits);
                            if !(0..i128::from(*len)).contains(&index) {
                                found.push(report(statement.span, index, *len));
                            }
                        }
                        module.types.element(ty, 0)
                    }
                };
                let Some(element) = element else { break };
                ty = element;
            }
        }
    }
}

fn base_type(facts: &Facts<'_>, function: &crate::ir::Function, place: &Place) -> Option<TypeId> {
    let module = facts.module();
    match &place.base {
        PlaceBase::Local(local) => Some(function.local_type(*local)),
        PlaceBase::Global(global) => module.global(*global).map(|global| global.ty),
        PlaceBase::Deref(pointer) => {
            module.types.pointee(module.operand_type(function, pointer)).map(|(_, pointee, _)| pointee)
        }
    }
}

fn report(span: crate::source::Span, index: i128, len: u64) -> Diagnostic {
    let message = format!("index {index} is outside of an array of {len}");
    let elements = if len == 1 { "the only index is 0".to_owned() } else { format!("the indices are 0 to {}", len - 1) };
    Diagnostic::new(Code::E0510, span, message).label(elements)
}
