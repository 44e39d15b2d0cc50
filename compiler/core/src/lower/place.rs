//! Places: what can be read and written.

use super::{Lowering, address_taken};
use crate::ir::{Access, LocalId, Operand, Place, Projection, StatementKind};
use crate::source::Span;
use crate::typed::{self, PlaceKind};

impl Lowering<'_> {
    /// The local that a place is as a whole, when it is a register.
    pub(super) fn register(&self, place: &typed::Place) -> Option<LocalId> {
        match place.kind {
            PlaceKind::Variable(variable) if !self.is_in_memory(variable) => Some(Self::local(variable)),
            _ => None,
        }
    }

    /// Evaluates what a place is made of, from left to right.
    pub(super) fn place(&mut self, place: &typed::Place) -> Place {
        match &place.kind {
            PlaceKind::Variable(variable) => Place::local(Self::local(*variable)),
            PlaceKind::Global(global) => Place::global(*global),
            PlaceKind::Deref(pointer) => Place::deref(self.value(pointer)),
            PlaceKind::Field(inner, index) => {
                let mut place = self.place(inner);
                place.path.push(Projection::Field(*index));
                place
            }
            PlaceKind::Index(inner, index) => {
                let mut place = self.place(inner);
                let index = self.value(index);
                place.path.push(Projection::Index(index));
                place
            }
        }
    }

    /// `dst = place`
    pub(super) fn read_into(&mut self, dst: LocalId, place: &typed::Place, access: Access, span: Span) {
        if let Some(register) = self.register(place) {
            self.note_read(place);
            self.set(dst, crate::ir::Rvalue::Use(register.into()), span);
            return;
        }
        let source = self.place(place);
        self.note_read(place);
        self.builder.push(StatementKind::Load { dst, place: source, access }, span);
    }

    /// `place = value` with the place evaluated already.
    pub(super) fn store(&mut self, target: &typed::Place, place: Place, value: Operand, access: Access, span: Span) {
        self.note_write(target);
        self.builder.push(StatementKind::Store { place, value, access }, span);
    }

    /// The variable that the place is part of is read here.
    pub(super) fn note_read(&mut self, place: &typed::Place) {
        if let Some(variable) = address_taken::root(place).filter(|_| !self.builder.is_ended()) {
            self.assignments.read(self.builder.current(), variable, place);
        }
    }

    /// The variable that the place is part of is written here.
    pub(super) fn note_write(&mut self, place: &typed::Place) {
        if let Some(variable) = address_taken::root(place).filter(|_| !self.builder.is_ended()) {
            self.assignments.write(self.builder.current(), variable, place);
        }
    }

    /// The variable that the place is part of may be written from now on.
    pub(super) fn note_address(&mut self, place: &typed::Place) {
        if let Some(variable) = address_taken::root(place).filter(|_| !self.builder.is_ended()) {
            self.assignments.address(self.builder.current(), variable, place);
        }
    }
}
