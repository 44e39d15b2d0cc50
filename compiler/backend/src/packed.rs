//! Functions of several numbers in one word: taken apart, computed in 32 bits, put together. Sums and differences need no taking apart.

use crate::Error;
use crate::function::Emit;
use cdp_core::builtins::{LaneTest, LaneWork, Lanes, PackedOp};
use nvptx_builder::{Compare, IntOp, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// The word that a function gives; `args` are as many as it takes.
    pub fn packed(&self, op: PackedOp, lanes: Lanes, args: &[Value<'c>]) -> Result<Option<Value<'c>>, Error> {
        let (x, y) = match *args {
            [x] => (x, x),
            [x, y] => (x, y),
            _ => return Ok(None),
        };
        if !op.saturates() && matches!(op.work(), LaneWork::Add | LaneWork::Sub) {
            return self.packed_sum(op.work(), lanes, x, y).map(Some);
        }
        let mut word = None;
        for index in 0..lanes.count() {
            let place = lanes.bits() * index;
            let [a, b] = [x, y].map(|word| self.lane(word, op.signed(), lanes, place));
            let value = self.lane_work(op, lanes, a?, b?)?;
            let value = if op.work() == LaneWork::Sum {
                value
            } else {
                let low = self.body.int_op(IntOp::And, value, self.word(lanes.mask())?)?;
                self.body.int_op(IntOp::Shl, low, self.word(place)?)?
            };
            let join = if op.work() == LaneWork::Sum { IntOp::Add } else { IntOp::Or };
            word = Some(match word {
                Some(word) => self.body.int_op(join, word, value)?,
                None => value,
            });
        }
        Ok(word)
    }

    /// Sums and differences of all lanes at once: nothing is carried out of the bits below the uppermost ones, and these are added without.
    fn packed_sum(&self, work: LaneWork, lanes: Lanes, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>, Error> {
        let int_op = |op, a, b| self.body.int_op(op, a, b);
        let tops = (0..lanes.count()).fold(0, |tops, index| tops | 1 << (lanes.bits() * (index + 1) - 1));
        let (tops, rest) = (self.word(tops)?, self.word(!tops)?);
        let differing = int_op(IntOp::And, int_op(IntOp::Xor, x, y)?, tops)?;
        let y = int_op(IntOp::And, y, rest)?;
        if work == LaneWork::Add {
            let sum = int_op(IntOp::Add, int_op(IntOp::And, x, rest)?, y)?;
            return Ok(int_op(IntOp::Xor, sum, differing)?);
        }
        let difference = int_op(IntOp::Sub, int_op(IntOp::Or, x, tops)?, y)?;
        Ok(int_op(IntOp::Xor, int_op(IntOp::Xor, difference, differing)?, tops)?)
    }

    fn word(&self, value: u32) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        Ok(builder.const_int(builder.int(32)?, u64::from(value)))
    }

    /// The number at a place of a word, in 32 bits.
    fn lane(&self, word: Value<'c>, signed: bool, lanes: Lanes, place: u32) -> Result<Value<'c>, Error> {
        if signed {
            let upper = self.body.int_op(IntOp::Shl, word, self.word(32 - lanes.bits() - place)?)?;
            return Ok(self.body.int_op(IntOp::ShiftRightSigned, upper, self.word(32 - lanes.bits())?)?);
        }
        let low = self.body.int_op(IntOp::ShiftRightUnsigned, word, self.word(place)?)?;
        Ok(self.body.int_op(IntOp::And, low, self.word(lanes.mask())?)?)
    }

    /// What is done with two numbers in 32 bits, which hold all results.
    fn lane_work(&self, op: PackedOp, lanes: Lanes, x: Value<'c>, y: Value<'c>) -> Result<Value<'c>, Error> {
        let int_op = |op, a, b| self.body.int_op(op, a, b);
        let named = |name: &str, args: &[Value<'c>]| self.body.intrinsic_value(name, &[x.get_type()], args);
        let size = |value| named("llvm.abs", &[value, self.emitter.builder.const_int(self.emitter.builder.int(1)?, 0)]);
        let value = match op.work() {
            LaneWork::Abs => size(x)?,
            // not cut afterwards: LLVM makes a subtraction of 16 bits of that which saturates, and ptxas 13.0 takes the `neg.s16` in it for
            // one that does not wrap (seen on an H200)
            LaneWork::Neg if op.saturates() => {
                let least = self.word(!(lanes.mask() >> 1) + 1)?;
                return Ok(int_op(IntOp::Sub, self.word(0)?, named("llvm.smax", &[x, least])?)?);
            }
            LaneWork::Neg => int_op(IntOp::Sub, self.word(0)?, x)?,
            LaneWork::Add => int_op(IntOp::Add, x, y)?,
            LaneWork::Sub => int_op(IntOp::Sub, x, y)?,
            LaneWork::AverageDown => int_op(IntOp::ShiftRightSigned, int_op(IntOp::Add, x, y)?, self.word(1)?)?,
            LaneWork::Average => {
                let sum = int_op(IntOp::Add, x, y)?;
                let below = int_op(IntOp::ShiftRightSigned, sum, self.word(31)?)?;
                let sum = int_op(IntOp::Add, int_op(IntOp::Add, sum, self.word(1)?)?, below)?;
                int_op(IntOp::ShiftRightSigned, sum, self.word(1)?)?
            }
            LaneWork::Difference | LaneWork::Sum => size(int_op(IntOp::Sub, x, y)?)?,
            LaneWork::Min => named("llvm.smin", &[x, y])?,
            LaneWork::Max => named("llvm.smax", &[x, y])?,
            LaneWork::Mask(test) | LaneWork::Set(test) => {
                let holds = self.body.compare(lane_compare(test), x, y)?;
                let wanted = if matches!(op.work(), LaneWork::Set(_)) { 1 } else { u32::MAX };
                self.body.select(holds, self.word(wanted)?, self.word(0)?)?
            }
        };
        if !op.saturates() {
            return Ok(value);
        }
        let most = if op.signed() { lanes.mask() >> 1 } else { lanes.mask() };
        let least = if op.signed() { !most } else { 0 };
        let value = named("llvm.smax", &[value, self.word(least)?])?;
        Ok(named("llvm.smin", &[value, self.word(most)?])?)
    }
}

/// The comparison of two numbers that are extended to 32 bits.
const fn lane_compare(test: LaneTest) -> Compare {
    match test {
        LaneTest::Equal => Compare::Equal,
        LaneTest::NotEqual => Compare::NotEqual,
        LaneTest::Less => Compare::LessSigned,
        LaneTest::LessEqual => Compare::LessEqualSigned,
        LaneTest::Greater => Compare::GreaterSigned,
        LaneTest::GreaterEqual => Compare::GreaterEqualSigned,
    }
}
