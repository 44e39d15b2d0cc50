//! Functions of several numbers in one word, lane by lane.

use crate::builtins::{LaneTest, LaneWork, Lanes, PackedOp};

/// The word that a function gives.
pub(super) fn packed(op: PackedOp, lanes: Lanes, x: u32, y: u32) -> u32 {
    let bits = lanes.bits();
    let lane = |word: u32, index: u32| {
        let upper = word << (32 - bits * (index + 1));
        if op.signed() { i64::from(upper.cast_signed() >> (32 - bits)) } else { i64::from(upper >> (32 - bits)) }
    };
    let (least, most) = if op.signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    (0..lanes.count()).fold(0, |word, index| {
        let value = work(op.work(), lane(x, index), lane(y, index));
        if op.work() == LaneWork::Sum {
            return word + value as u32;
        }
        let value = if op.saturates() { value.clamp(least, most) } else { value };
        word | ((value as u32 & lanes.mask()) << (bits * index))
    })
}

fn work(work: LaneWork, x: i64, y: i64) -> i64 {
    let holds = |test: LaneTest| match test {
        LaneTest::Equal => x == y,
        LaneTest::NotEqual => x != y,
        LaneTest::Less => x < y,
        LaneTest::LessEqual => x <= y,
        LaneTest::Greater => x > y,
        LaneTest::GreaterEqual => x >= y,
    };
    match work {
        LaneWork::Abs => x.abs(),
        LaneWork::Neg => -x,
        LaneWork::Add => x + y,
        LaneWork::Sub => x - y,
        LaneWork::Average => (x + y + i64::from(x + y >= 0)) >> 1,
        LaneWork::AverageDown => (x + y) >> 1,
        LaneWork::Difference | LaneWork::Sum => (x - y).abs(),
        LaneWork::Min => x.min(y),
        LaneWork::Max => x.max(y),
        LaneWork::Mask(test) => -i64::from(holds(test)),
        LaneWork::Set(test) => i64::from(holds(test)),
    }
}
