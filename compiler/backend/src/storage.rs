//! Which locals are registers, and which lie in the frame.
//!
//! LLVM turns frame slots into registers at `-O1` and above. Most temporaries are assigned once and used at once, though; those never
//! get a slot, which makes `-O0` code and compile times better.

use crate::reach;
use cdp_core::ir::{
    BlockId, Function, LocalId, Module, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind,
};
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
        /// It is read or written in part.
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
            if let Some(uses) = definition(kind).and_then(|local| uses.get_mut(local.index())) {
                uses.definitions += 1;
                uses.defined = Some((block, index));
            }
            for place in places(kind) {
                if let PlaceBase::Local(local) = place.base
                    && let Some(uses) = uses.get_mut(local.index())
                {
                    uses.placed = true;
                    uses.written |= matches!(kind, StatementKind::Store { .. });
                    uses.escapes |= matches!(kind, StatementKind::Assign { value: Rvalue::AddressOf(_), .. });
                }
            }
        }
    });
    each(&mut |block, index, part| {
        let mut used = Vec::new();
        match part {
            Part::Statement(kind) => {
                used.extend(operands(kind));
                used.extend(places(kind).into_iter().flat_map(place_operands));
            }
            Part::Terminator(kind) => used.extend(terminator_operand(kind)),
        }
        for operand in used {
            if let Operand::Local(local) = operand
                && let Some(uses) = uses.get_mut(local.index())
                && let Some((at, since)) = uses.defined
            {
                let reached = if at == block { since < index } else { at == BlockId(0) && !entry_repeats };
                uses.early |= !reached;
            }
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
                Storage::Frame { escapes: uses.escapes, placed: uses.placed, written: uses.written }
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

/// The local that a statement sets as a whole.
pub fn definition(kind: &StatementKind) -> Option<LocalId> {
    match kind {
        StatementKind::Assign { dst, .. } | StatementKind::Load { dst, .. } | StatementKind::HostAllocate { dst, .. } => {
            Some(*dst)
        }
        StatementKind::Call { dst, .. }
        | StatementKind::Atomic { dst, .. }
        | StatementKind::Barrier { dst, .. }
        | StatementKind::Warp { dst, .. }
        | StatementKind::Texture { dst, .. }
        | StatementKind::Runtime { dst, .. }
        | StatementKind::Printf { dst, .. } => *dst,
        StatementKind::Launch(launch) => launch.dst,
        StatementKind::Store { .. }
        | StatementKind::Fence { .. }
        | StatementKind::Assert { .. }
        | StatementKind::Deinit { .. } => None,
    }
}

/// The operands that a statement reads, without those in places.
pub fn operands(kind: &StatementKind) -> Vec<&Operand> {
    match kind {
        StatementKind::Assign { value, .. } => rvalue_operands(value),
        StatementKind::Load { .. } | StatementKind::Fence { .. } | StatementKind::Deinit { .. } => Vec::new(),
        StatementKind::Store { value, .. } => vec![value],
        StatementKind::Call { args, .. }
        | StatementKind::Warp { args, .. }
        | StatementKind::Texture { args, .. }
        | StatementKind::Runtime { args, .. }
        | StatementKind::Printf { args, .. } => args.iter().collect(),
        StatementKind::Atomic { pointer, operands, .. } => std::iter::once(pointer).chain(operands).collect(),
        StatementKind::Barrier { operand, .. } => operand.iter().collect(),
        StatementKind::Launch(launch) => {
            let fixed = [&launch.shared, &launch.stream];
            launch.grid.iter().chain(&launch.block).chain(fixed).chain(&launch.args).collect()
        }
        StatementKind::Assert { condition, args, .. } => std::iter::once(condition).chain(args).collect(),
        StatementKind::HostAllocate { count, .. } => vec![count],
    }
}

fn rvalue_operands(value: &Rvalue) -> Vec<&Operand> {
    match value {
        Rvalue::Use(a) | Rvalue::Unary(_, a) | Rvalue::Cast(_, a) | Rvalue::Extract(a, _) | Rvalue::SharedRank(a) => vec![a],
        Rvalue::Binary(_, a, b) | Rvalue::Offset(a, b) | Rvalue::Distance(a, b) | Rvalue::MapSharedRank(a, b) => vec![a, b],
        Rvalue::Select(a, b, c) => vec![a, b, c],
        Rvalue::Aggregate(all) | Rvalue::Intrinsic(_, all) => all.iter().collect(),
        Rvalue::AddressOf(_) | Rvalue::Register(_) => Vec::new(),
    }
}

/// The places that a statement names.
pub fn places(kind: &StatementKind) -> Vec<&Place> {
    match kind {
        StatementKind::Load { place, .. }
        | StatementKind::Store { place, .. }
        | StatementKind::Assign { value: Rvalue::AddressOf(place), .. } => vec![place],
        _ => Vec::new(),
    }
}

fn place_operands(place: &Place) -> Vec<&Operand> {
    let base = match &place.base {
        PlaceBase::Deref(pointer) => Some(pointer),
        PlaceBase::Local(_) | PlaceBase::Global(_) => None,
    };
    let steps = place.path.iter().filter_map(|step| match step {
        Projection::Index(index) => Some(index),
        Projection::Field(_) => None,
    });
    base.into_iter().chain(steps).collect()
}

fn terminator_operand(kind: &TerminatorKind) -> Option<&Operand> {
    match kind {
        TerminatorKind::Branch { condition: operand, .. }
        | TerminatorKind::Switch { value: operand, .. }
        | TerminatorKind::Return(Some(operand)) => Some(operand),
        _ => None,
    }
}

/// Registers' values, by local.
pub type Registers<'c> = HashMap<LocalId, nvptx_builder::Value<'c>>;
