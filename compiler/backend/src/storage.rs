//! Which locals are registers, and which lie in the frame.
//!
//! LLVM turns frame slots into registers at `-O1` and above. Most temporaries are assigned once and used at once, though; those never
//! get a slot, which makes `-O0` code and compile times better.

use crate::reach;
use cdp_core::ir::{Access, BlockId, Function, LocalId, Module, Operand, PlaceBase, Rvalue, StatementKind, TerminatorKind};
use cdp_core::types::{Type, TypeTable};
use std::collections::{BTreeSet, HashMap};

/// Where a local lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// It is a value that is set once before every use.
    Register,
    /// It has an address.
    Frame {
        /// A pointer to it may be held somewhere.
        escapes: bool,
        /// It is read or written in part, and LLVM may draw conclusions from what it was before: not from volatile accesses.
        placed: bool,
        /// It is written in part.
        written: bool,
    },
}

#[derive(Clone, Copy, Default)]
struct Uses {
    definitions: u32,
    /// Block and statement of the one definition.
    defined: Option<(BlockId, usize)>,
    /// A use that the definition may not reach.
    early: bool,
    placed: bool,
    /// Placed by other accesses than volatile ones.
    plainly: bool,
    written: bool,
    escapes: bool,
}

/// Where each local of a function lives.
pub fn plan(module: &Module, function: &Function) -> Vec<Storage> {
    let mut uses = vec![Uses::default(); function.locals.len()];
    let blocks = reach::blocks(function);
    let entry_repeats = entry_has_predecessors(function, &blocks);
    let each = |visit: &mut dyn FnMut(BlockId, usize, Part<'_>)| {
        for id in &blocks {
            let Some(block) = function.blocks.get(id.index()) else { continue };
            for (index, statement) in block.statements.iter().enumerate() {
                visit(*id, index, Part::Statement(&statement.kind));
            }
            visit(*id, block.statements.len(), Part::Terminator(&block.terminator.kind));
        }
    };
    each(&mut |block, index, part| {
        if let Part::Statement(kind) = part {
            if let Some(uses) = kind.destination().and_then(|local| uses.get_mut(local.index())) {
                uses.definitions += 1;
                uses.defined = Some((block, index));
            }
            kind.each_place(&mut |place| {
                if let PlaceBase::Local(local) = place.base
                    && let Some(uses) = uses.get_mut(local.index())
                {
                    uses.placed = true;
                    uses.plainly |= !matches!(
                        kind,
                        StatementKind::Load { access: Access::Volatile, .. }
                            | StatementKind::Store { access: Access::Volatile, .. }
                    );
                    uses.written |= matches!(kind, StatementKind::Store { .. });
                    uses.escapes |= matches!(kind, StatementKind::Assign { value: Rvalue::AddressOf(_), .. });
                }
            });
        }
    });
    each(&mut |block, index, part| {
        let mut used = |operand: &Operand| {
            if let Operand::Local(local) = operand
                && let Some(uses) = uses.get_mut(local.index())
                && let Some((at, since)) = uses.defined
            {
                let reached = if at == block { since < index } else { at == BlockId(0) && !entry_repeats };
                uses.early |= !reached;
            }
        };
        match part {
            Part::Statement(kind) => kind.each_operand(&mut used),
            Part::Terminator(kind) => kind.each_operand(&mut used),
        }
    });
    uses.iter()
        .enumerate()
        .map(|(index, uses)| {
            let is_param = index < function.param_count as usize;
            let ty = function.locals.get(index).map_or(TypeTable::POISON, |local| local.ty);
            let aggregate = matches!(module.types.get(ty), Type::Struct(_) | Type::Array { .. });
            let once = if is_param { uses.definitions == 0 } else { uses.definitions <= 1 && !uses.early };
            if !aggregate && once && !uses.placed {
                Storage::Register
            } else {
                Storage::Frame { escapes: uses.escapes, placed: uses.plainly, written: uses.written }
            }
        })
        .collect()
}

enum Part<'a> {
    Statement(&'a StatementKind),
    Terminator(&'a TerminatorKind),
}

fn entry_has_predecessors(function: &Function, blocks: &BTreeSet<BlockId>) -> bool {
    blocks
        .iter()
        .filter_map(|id| function.blocks.get(id.index()))
        .any(|block| reach::successors(&block.terminator.kind).contains(&BlockId(0)))
}

/// Registers' values, by local.
pub type Registers<'c> = HashMap<LocalId, nvptx_builder::Value<'c>>;
