//! What is the same for all threads of a kernel.

use crate::ir::{Function, LocalId, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind};

/// The locals of a kernel that hold what its arguments say, and nothing else: the same in all threads, and at all times.
pub(super) struct Same {
    /// By local; arguments, and what is computed from them.
    locals: Vec<bool>,
    params: usize,
}

impl Same {
    pub(super) fn new(function: &Function) -> Self {
        let mut same = Self { locals: vec![false; function.locals.len()], params: function.param_count as usize };
        if !function.is_kernel() {
            return same;
        }
        let statements = || function.blocks.iter().flat_map(|block| &block.statements).map(|statement| &statement.kind);
        let mut writes = vec![0u32; function.locals.len()];
        let mut write = |local: LocalId| {
            if let Some(writes) = writes.get_mut(local.index()) {
                *writes += 1;
            }
        };
        for kind in statements() {
            kind.destination().into_iter().for_each(&mut write);
            match kind {
                StatementKind::Deinit { local } => write(*local),
                StatementKind::Load { .. } => {}
                kind => kind.each_place(&mut |place| {
                    if let PlaceBase::Local(local) = place.base {
                        write(local);
                    }
                }),
            }
        }
        for (index, (slot, writes)) in same.locals.iter_mut().zip(&writes).enumerate() {
            *slot = index < function.param_count as usize && *writes == 0;
        }
        // values are computed before they are used, in nearly all cases in the order of the blocks
        for kind in statements() {
            let (dst, is_same) = match kind {
                StatementKind::Assign { dst, value } => (dst, same.value(value)),
                StatementKind::Load { dst, place, .. } => (dst, same.part(place)),
                _ => continue,
            };
            if is_same
                && writes.get(dst.index()) == Some(&1)
                && let Some(slot) = same.locals.get_mut(dst.index())
            {
                *slot = true;
            }
        }
        same
    }

    /// Whether it is an argument that all threads have.
    pub(super) fn is_param(&self, local: LocalId) -> bool {
        local.index() < self.params && self.locals.get(local.index()) == Some(&true)
    }

    pub(super) fn operand(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Const(_) | Operand::Function(_) => true,
            Operand::Local(local) => self.locals.get(local.index()) == Some(&true),
        }
    }

    /// A field of a local.
    fn part(&self, place: &Place) -> bool {
        matches!(place.base, PlaceBase::Local(local) if self.operand(&local.into()))
            && place.path.iter().all(|part| matches!(part, Projection::Field(_)))
    }

    fn value(&self, value: &Rvalue) -> bool {
        match value {
            Rvalue::AddressOf(place) => {
                let base = match &place.base {
                    PlaceBase::Global(_) => true,
                    PlaceBase::Deref(pointer) => self.operand(pointer),
                    PlaceBase::Local(_) => false,
                };
                base && place.path.iter().all(|part| match part {
                    Projection::Field(_) => true,
                    Projection::Index(index) => self.operand(index),
                })
            }
            Rvalue::Register(_) | Rvalue::MapSharedRank(..) | Rvalue::SharedRank(_) => false,
            _ => {
                let mut all = true;
                value.each_operand(&mut |operand| all &= self.operand(operand));
                all
            }
        }
    }
}
