//! Warp operations: who takes part, and what each gets.

use crate::code::{Effect, Kind, Slot};
use crate::interp::locals::Locals;
use crate::interp::read_bits;
use cdp_core::builtins::WarpOp;

/// A thread that waits at a warp operation.
#[derive(Debug)]
pub(super) struct Waiting<'p> {
    pub lane: usize,
    effect: &'p Effect,
    position: (u32, usize),
    /// The mask, all lanes where none is given.
    mask: u32,
    /// The operands behind the mask.
    values: [u64; 3],
    given: usize,
}

/// A lane's result: where it goes, how many bytes, and its bits.
type LaneResult = (usize, Option<u32>, u32, u64);

impl<'p> Waiting<'p> {
    pub(super) fn new(lane: usize, effect: &'p Effect, position: (u32, usize), locals: &Locals<'_>) -> Self {
        let read = |slot: &Slot| read_bits(locals.slots, slot.size, slot.offset);
        let mut mask = u32::MAX;
        let mut values = [0; 3];
        let mut given = 0;
        match effect {
            Effect::Barrier { operand: Some(slot), .. } => mask = read(slot) as u32,
            Effect::Warp { op, args, .. } if *op != WarpOp::ActiveMask => {
                mask = args.first().map_or(u32::MAX, |slot| read(slot) as u32);
                for (slot, value) in args.iter().skip(1).zip(&mut values) {
                    *value = read(slot);
                    given += 1;
                }
            }
            _ => {}
        }
        Self { lane, effect, position, mask, values, given }
    }

    fn op(&self) -> Option<WarpOp> {
        match self.effect {
            Effect::Warp { op, .. } => Some(*op),
            _ => None,
        }
    }

    /// Whether it orders the lanes' memory accesses: the barrier does, shuffles and votes do not.
    pub(super) const fn orders_memory(&self) -> bool {
        matches!(self.effect, Effect::Barrier { .. })
    }

    /// The width of a shuffle, where it is none: the guide knows powers of two up to 32 only.
    pub(super) fn wrong_width(&self) -> Option<i32> {
        let [.., width] = self.values;
        let is_shuffle = self.op().is_some_and(WarpOp::is_shuffle);
        (is_shuffle && self.given > 2 && !matches!(width, 1 | 2 | 4 | 8 | 16 | 32)).then_some((width as u32).cast_signed())
    }

    pub(super) fn name(&self) -> &'static str {
        self.op().map_or("__syncwarp", WarpOp::name)
    }

    /// The lanes that carry out this operation together, when all have come. Threads that have ended count as there, as the CUDA
    /// programming guide says of masks ("all non-exited threads").
    pub(super) fn members(&self, waiting: &[Self], alive: u32, runnable: bool) -> Result<Option<u32>, String> {
        if self.op() == Some(WarpOp::ActiveMask) {
            // those at the same place count as active, once nobody can come to it any more
            let here =
                waiting.iter().filter(|other| other.position == self.position).fold(0, |mask, other| mask | 1 << other.lane);
            return Ok((!runnable).then_some(here));
        }
        if self.mask & (1 << self.lane) == 0 {
            return Err(format!("lanes {:#x}, but its own lane {} is not among them", self.mask, self.lane));
        }
        let members = self.mask & alive;
        let here = waiting
            .iter()
            .filter(|other| other.op() == self.op() && other.mask == self.mask)
            .fold(0u32, |mask, other| mask | 1 << other.lane);
        Ok((here & members == members).then_some(members))
    }
}

/// What each lane of a complete group gets.
pub(super) fn results(group: &[&Waiting<'_>], members: u32) -> Vec<LaneResult> {
    let first = |lane: usize| group.iter().find(|other| other.lane == lane).and_then(|other| other.values.first()).copied();
    group
        .iter()
        .filter_map(|me| {
            let Effect::Warp { dst, op, kind, .. } = me.effect else { return None };
            let [value, ..] = me.values;
            let ballot =
                group.iter().filter(|other| other.values.first() != Some(&0)).fold(0u32, |mask, other| mask | 1 << other.lane);
            let (size, result) = match op {
                WarpOp::ActiveMask => (4, u64::from(members)),
                WarpOp::All => (1, u64::from(ballot == members)),
                WarpOp::Any => (1, u64::from(ballot != 0)),
                WarpOp::Ballot => (4, u64::from(ballot)),
                WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor => {
                    // a lane that takes no part has no value to give: the reader keeps its own
                    (kind.size(), source_lane(*op, me).and_then(first).unwrap_or(value))
                }
                WarpOp::MatchAny => {
                    let same = group
                        .iter()
                        .filter(|other| other.values.first() == Some(&value))
                        .fold(0u32, |mask, other| mask | 1 << other.lane);
                    (4, u64::from(same))
                }
                WarpOp::MatchAll => {
                    let same = group.iter().all(|other| other.values.first() == Some(&value));
                    (4, if same { u64::from(members) } else { 0 })
                }
                _ => (kind.size(), reduce(*op, *kind, group)),
            };
            Some((me.lane, *dst, size, result))
        })
        .collect()
}

/// The lane that a shuffle reads (PTX ISA, `shfl.sync`); none for its own.
fn source_lane(op: WarpOp, me: &Waiting<'_>) -> Option<usize> {
    let [_, by, width] = me.values;
    let width = if me.given > 2 { width as u32 } else { 32 };
    let lane = me.lane as u32;
    let by = by as u32;
    let first = lane & !(width - 1);
    let last = first + width - 1;
    let from = match op {
        WarpOp::Shfl => first + (by & (width - 1)),
        WarpOp::ShflUp => lane.checked_sub(by).filter(|from| *from >= first)?,
        WarpOp::ShflDown => lane.checked_add(by).filter(|from| *from <= last)?,
        _ => Some(lane ^ by).filter(|from| *from <= last)?,
    };
    Some(from as usize)
}

fn reduce(op: WarpOp, kind: Kind, group: &[&Waiting<'_>]) -> u64 {
    let Kind::Int(int) = kind else { return 0 };
    let values = group.iter().filter_map(|other| other.values.first()).copied();
    let numbers = || group.iter().filter_map(|other| other.values.first()).map(|bits| int.value(*bits));
    match op {
        WarpOp::ReduceAdd => int.wrap(numbers().sum()),
        WarpOp::ReduceMin => int.wrap(numbers().min().unwrap_or(0)),
        WarpOp::ReduceMax => int.wrap(numbers().max().unwrap_or(0)),
        WarpOp::ReduceAnd => values.fold(u64::MAX, |a, b| a & b),
        WarpOp::ReduceOr => values.fold(0, |a, b| a | b),
        _ => values.fold(0, |a, b| a ^ b),
    }
}
