//! Which locals may hold bytes without a value, and the copies that keep track of them.
//!
//! Only such locals get steps that look at the stack's shadow memory; everything else runs as if there were none.

use super::{Decoder, WIDTH, kind};
use crate::code::{Op, Partial, Slot};
use cdp_core::ir::{Function, LocalId, Module, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind};
use cdp_core::types::{Type, TypeId, TypeTable};

/// By local: whether parts of it may have no value. An aggregate may that is a parameter, comes from a call or from memory, is reached
/// through a pointer, or is a copy of such a one; any local may that is declared without a value which cannot be proved to be given one.
pub(super) fn locals(module: &Module, function: &Function) -> Vec<bool> {
    let mut found = Found { module, function, partial: vec![false; function.locals.len()], changed: true };
    for index in 0..function.param_count {
        found.add_aggregate(LocalId(index));
    }
    while std::mem::take(&mut found.changed) {
        for statement in function.blocks.iter().flat_map(|block| &block.statements) {
            found.statement(&statement.kind);
        }
    }
    found.partial
}

struct Found<'a> {
    module: &'a Module,
    function: &'a Function,
    partial: Vec<bool>,
    changed: bool,
}

impl Found<'_> {
    fn add(&mut self, local: LocalId) {
        if let Some(partial) = self.partial.get_mut(local.index()).filter(|partial| !**partial) {
            *partial = true;
            self.changed = true;
        }
    }

    fn add_aggregate(&mut self, local: LocalId) {
        if kind(&self.module.types, self.function.local_type(local)).is_none() {
            self.add(local);
        }
    }

    fn operand(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Local(local) if self.partial.get(local.index()) == Some(&true))
    }

    /// Whether what is loaded from a place may be without a value.
    fn place(&self, place: &Place) -> bool {
        let indexed = place.path.iter().any(|step| matches!(step, Projection::Index(_)));
        match place.base {
            PlaceBase::Local(local) if !indexed => self.operand(&local.into()),
            _ => true,
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Deinit { local } => self.add(*local),
            StatementKind::Call { dst: Some(dst), .. } => self.add_aggregate(*dst),
            StatementKind::Load { dst, place, .. } if self.place(place) => self.add_aggregate(*dst),
            StatementKind::Store { place: Place { base: PlaceBase::Local(local), .. }, value, .. } if self.operand(value) => {
                self.add_aggregate(*local);
            }
            StatementKind::Assign { dst, value } => match value {
                Rvalue::AddressOf(Place { base: PlaceBase::Local(local), .. }) => self.add_aggregate(*local),
                Rvalue::Use(_) | Rvalue::Extract(..) | Rvalue::Select(..) | Rvalue::Aggregate(_) => {
                    let mut partial = false;
                    value.each_operand(&mut |operand| partial |= self.operand(operand));
                    if partial {
                        self.add_aggregate(*dst);
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// The bytes of a type that are no padding: where they start and how many, in order.
pub(super) fn solid(types: &TypeTable, ty: TypeId) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    add_solid(types, ty, 0, &mut found);
    found.into_iter().map(|(start, bytes)| (start as u32, bytes as u32)).collect()
}

/// Whether values of a type have no padding, for sure.
fn is_number(types: &TypeTable, ty: TypeId) -> bool {
    kind(types, ty).is_some() || matches!(types.get(ty), Type::Vector { .. })
}

fn add_solid(types: &TypeTable, ty: TypeId, at: u64, found: &mut Vec<(u64, u64)>) {
    let len = match types.get(ty) {
        Type::Struct(id) => types.struct_def(*id).map_or(0, |def| def.fields.len() as u64),
        Type::Array { element, len } if !is_number(types, *element) => *len,
        _ => {
            let size = types.layout(ty, WIDTH).size;
            match found.last_mut() {
                Some((start, bytes)) if *start + *bytes == at => *bytes += size,
                _ => found.push((at, size)),
            }
            return;
        }
    };
    for index in 0..len {
        let field = if matches!(types.get(ty), Type::Array { .. }) { 0 } else { u32::try_from(index).unwrap_or(u32::MAX) };
        if let (Some(offset), Some(element)) = (types.element_offset(ty, index, WIDTH), types.element(ty, field)) {
            add_solid(types, element, at + offset, found);
        }
    }
}

impl Decoder<'_> {
    /// Whether parts of a local may have no value.
    pub(super) fn is_partial(&self, local: LocalId) -> bool {
        self.partial.get(local.index()) == Some(&true)
    }

    pub(super) fn is_partial_operand(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Local(local) if self.is_partial(*local))
    }

    /// The partial locals with their places, for messages.
    pub(super) fn partial_list(&self) -> Vec<Partial> {
        let locals = self.function.locals.iter().zip(self.locals).zip(&self.partial).filter(|(_, partial)| **partial);
        let entry = |((local, slot), _): ((&cdp_core::ir::Local, &Slot), _)| Partial {
            slot: *slot,
            name: local.name.clone(),
            ty: local.ty,
            span: local.span,
        };
        locals.map(entry).collect()
    }

    /// `d = a`, of a type; `partial` says of both whether parts of them may have no value.
    pub(super) fn carry(&mut self, d: u32, a: u32, ty: TypeId, (d_partial, a_partial): (bool, bool)) {
        let size = self.size(ty);
        if size == 0 || d == a {
            return;
        }
        let scalar = self.kind(ty).is_some();
        match (a_partial, d_partial) {
            (true, _) if scalar => {
                self.push(Op::Read { d, a, size });
                self.init(d, size, d_partial);
            }
            (true, _) => self.push(Op::Carry { d, a, size }),
            (false, true) => self.push(Op::Write { d, a, size }),
            (false, false) => self.copy(d, a, size),
        }
    }

    /// Bytes have a value from here on, where that is followed.
    pub(super) fn init(&mut self, d: u32, size: u32, partial: bool) {
        if partial && size > 0 {
            self.push(Op::Init { d, size });
        }
    }

    /// An aggregate is used as a whole: every byte of it but padding must have a value.
    pub(super) fn whole(&mut self, operand: &Operand) {
        if !self.is_partial_operand(operand) {
            return;
        }
        let a = self.operand(operand);
        for (start, size) in solid(&self.module.types, self.operand_type(operand)) {
            self.push(Op::Defined { a: a + start, size });
        }
    }
}
