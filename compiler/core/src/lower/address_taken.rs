//! Which variables live in memory, because their address is taken somewhere.

use crate::typed::{ExprKind, Function, Part, Place, PlaceKind, VariableId, each_part};

/// By variable: whether `&v`, or `&` of a part of it, stands anywhere in the function.
pub(super) fn variables(function: &Function) -> Vec<bool> {
    let mut taken = vec![false; function.variables.len()];
    each_part(function.body.as_deref().unwrap_or_default(), &mut |part| {
        if let Part::Expr(expression) = part
            && let ExprKind::AddressOf(place) = &expression.kind
            && let Some(flag) = root(place).and_then(|variable| taken.get_mut(variable.0 as usize))
        {
            *flag = true;
        }
    });
    taken
}

/// The variable that a place is, or is a part of.
pub(super) fn root(place: &Place) -> Option<VariableId> {
    match &place.kind {
        PlaceKind::Variable(variable) => Some(*variable),
        PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => root(inner),
        PlaceKind::Global(_) | PlaceKind::Deref(_) => None,
    }
}
