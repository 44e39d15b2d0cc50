//! Types of operands and places.

use super::{Function, Module, Operand, Place, PlaceBase, Projection};
use crate::types::{Space, TypeId, TypeTable};

impl Module {
    /// An operand's type in a function. A kernel's address is `*void`.
    #[must_use]
    pub fn operand_type(&self, function: &Function, operand: &Operand) -> TypeId {
        match operand {
            Operand::Const(constant) => constant.ty,
            Operand::Local(local) => function.local_type(*local),
            Operand::Function(_) => TypeTable::VOID_POINTER,
        }
    }

    /// The type of what lies at a place; none when the place makes no sense.
    #[must_use]
    pub fn place_type(&self, function: &Function, place: &Place) -> Option<TypeId> {
        let base = match &place.base {
            PlaceBase::Local(local) => function.locals.get(local.index())?.ty,
            PlaceBase::Global(global) => self.global(*global)?.ty,
            PlaceBase::Deref(pointer) => self.types.pointee(self.operand_type(function, pointer))?.1,
        };
        place.path.iter().try_fold(base, |ty, step| match step {
            Projection::Field(index) => self.types.element(ty, *index),
            Projection::Index(_) => self.types.element(ty, 0),
        })
    }

    /// The address space that a place lies in.
    #[must_use]
    pub fn place_space(&self, function: &Function, place: &Place) -> Option<Space> {
        Some(match &place.base {
            PlaceBase::Local(_) => Space::Local,
            PlaceBase::Global(global) => self.global(*global)?.space,
            PlaceBase::Deref(pointer) => self.types.pointee(self.operand_type(function, pointer))?.0,
        })
    }
}
