//! Operands and places.

use super::Verifier;
use crate::ir::{Access, Operand, Place, PlaceBase, Projection};
use crate::types::{Space, Type, TypeId, TypeTable};

impl Verifier<'_> {
    /// An operand's type; poison, with an error, for one that makes no sense. A kernel's address is no operand outside runtime calls.
    pub(super) fn operand(&mut self, operand: &Operand) -> TypeId {
        match operand {
            Operand::Const(constant) => {
                self.constant(constant);
                constant.ty
            }
            Operand::Local(local) => match self.function.and_then(|(_, function)| function.locals.get(local.index())) {
                Some(local) => local.ty,
                None => {
                    self.error(format!("there is no local {}", local.0));
                    TypeTable::POISON
                }
            },
            Operand::Function(_) => {
                self.error("a kernel's address is used as a value");
                TypeTable::POISON
            }
        }
    }

    pub(super) fn operand_of(&mut self, operand: &Operand, expected: TypeId, what: &str) {
        let found = self.operand(operand);
        if found != TypeTable::POISON {
            self.same_type(found, expected, what);
        }
    }

    pub(super) fn same_type(&mut self, found: TypeId, expected: TypeId, what: &str) {
        self.require(found == expected, |verifier| {
            format!("{what} is of type {} instead of {}", verifier.display(found), verifier.display(expected))
        });
    }

    /// An operand of any integer type.
    pub(super) fn index_operand(&mut self, operand: &Operand, what: &str) {
        let ty = self.operand(operand);
        let fits = matches!(self.module.types.get(ty), Type::Int(_) | Type::Poison);
        self.require(fits, |verifier| format!("{what} is of type {}", verifier.display(ty)));
    }

    /// The type and space of what lies at a place, and whether it may be written.
    pub(super) fn place(&mut self, place: &Place) -> Option<(TypeId, Space, bool)> {
        let (mut ty, space, writable) = match &place.base {
            PlaceBase::Local(_) | PlaceBase::Global(_) => self.named_base(&place.base)?,
            PlaceBase::Deref(pointer) => {
                let pointer = self.operand(pointer);
                match self.module.types.pointee(pointer) {
                    Some((space, pointee, constant)) => (pointee, space, !constant && space != Space::Constant),
                    None => {
                        if pointer != TypeTable::POISON {
                            self.error(format!("a value of type {} is dereferenced", self.display(pointer)));
                        }
                        return None;
                    }
                }
            }
        };
        for step in &place.path {
            ty = self.step(ty, step)?;
        }
        Some((ty, space, writable))
    }

    fn named_base(&mut self, base: &PlaceBase) -> Option<(TypeId, Space, bool)> {
        let found = match base {
            PlaceBase::Local(local) => {
                let local = self.function.and_then(|(_, function)| function.locals.get(local.index()));
                local.map(|local| (local.ty, Space::Local, true))
            }
            PlaceBase::Global(global) => {
                let global = self.module.global(*global);
                global.map(|global| (global.ty, global.space, global.space != Space::Constant))
            }
            PlaceBase::Deref(_) => None,
        };
        if found.is_none() {
            self.error("a place names a local or variable that does not exist");
        }
        found
    }

    fn step(&mut self, ty: TypeId, step: &Projection) -> Option<TypeId> {
        let types = &self.module.types;
        let next = match (step, types.get(ty)) {
            (Projection::Field(index), Type::Struct(_) | Type::Vector { .. }) => types.element(ty, *index),
            (Projection::Index(index), Type::Array { .. } | Type::Unsized { .. }) => {
                self.index_operand(index, "an index");
                self.module.types.element(ty, 0)
            }
            _ => None,
        };
        if next.is_none() {
            self.error(format!("a place steps into a value of type {}", self.display(ty)));
        }
        next
    }

    /// `access` fits memory of this space.
    pub(super) fn access(&mut self, access: Access, ty: TypeId, space: Space, is_store: bool) {
        match access {
            Access::Plain | Access::Volatile => {}
            Access::Relaxed => {
                self.require(!is_store, |_| "a relaxed access is a load".to_owned());
                let fits = self.module.types.as_int(ty).is_some_and(|int| int.bits() >= 32);
                self.require(fits, |verifier| format!("a relaxed load of {}", verifier.display(ty)));
            }
            Access::NonCoherent => {
                self.require(!is_store, |_| "a write cannot go through the read-only cache".to_owned());
                self.require(space == Space::Global, |_| "only global memory is read through the read-only cache".to_owned());
            }
            Access::Hinted(hint) => {
                self.require(hint.is_store() == is_store, |_| format!("{} is the other direction", hint.name()));
                let fits = space == Space::Global && self.module.types.hinted(ty).is_some();
                self.require(fits, |verifier| format!("{} of {} in {space:?} memory", hint.name(), verifier.display(ty)));
            }
        }
    }

    /// What lies behind a pointer to `volatile` is accessed so.
    pub(super) fn volatility(&mut self, place: &Place, access: Access) {
        if let PlaceBase::Deref(pointer) = &place.base {
            let ty = self.operand(pointer);
            let fits = !self.module.types.is_volatile(ty) || access == Access::Volatile;
            self.require(fits, |_| "volatile memory is accessed as if it were not".to_owned());
        }
    }
}
