//! Values that are known: constants, and what is computed from constants alone.

use super::Body;
use super::values::{Definition, Point, ValueId};
use crate::ir::eval::{EvalError, eval_binary, eval_cast, eval_intrinsic, eval_unary};
use crate::ir::{Module, Operand, Rvalue, StatementKind};
use crate::types::TypeId;

/// What is known of the values of one function.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    /// By value: the bit pattern of a scalar that is always the same.
    bits: Vec<Option<u64>>,
}

impl Constants {
    /// Computes what can be. A merge is known when all its inputs are and agree; what goes round a loop is not.
    #[must_use]
    pub fn new(module: &Module, body: &Body<'_>) -> Self {
        let mut constants = Self { bits: vec![None; body.values.len()] };
        for block in &body.control.order {
            // merges first: their values are read by the statements
            for merge in body.values.merges_at(*block) {
                if let Some(Definition::Merge { inputs, .. }) = body.values.definition(*merge) {
                    constants.merge(merge.index(), inputs);
                }
            }
            for (point, statement) in body.block_statements(*block) {
                if let StatementKind::Assign { dst, value } = &statement.kind
                    && let Some(made) = body.values.made(point)
                {
                    let known =
                        constants.value(module, body, point, value, body.function.local_type(*dst)).and_then(Result::ok);
                    constants.set(made.index(), known);
                }
            }
        }
        constants
    }

    fn set(&mut self, index: usize, bits: Option<u64>) {
        if let Some(entry) = self.bits.get_mut(index) {
            *entry = bits;
        }
    }

    fn merge(&mut self, index: usize, inputs: &[(crate::ir::BlockId, ValueId)]) {
        let mut values = inputs.iter().map(|(_, value)| self.of(*value));
        let first = values.next().flatten();
        let agree = values.all(|value| value == first);
        self.set(index, first.filter(|_| agree));
    }

    /// The bit pattern of a value that is always the same.
    #[must_use]
    pub fn of(&self, value: ValueId) -> Option<u64> {
        self.bits.get(value.index()).copied().flatten()
    }

    /// The bit pattern of an operand at a point.
    #[must_use]
    pub fn operand(&self, body: &Body<'_>, point: Point, operand: &Operand) -> Option<u64> {
        match operand {
            Operand::Local(_) => self.of(body.read(point, operand)?),
            _ => operand.as_bits(),
        }
    }

    /// What a computation gives, or why it has no value; none where an operand is not known or the operation is not one of scalars.
    #[must_use]
    pub fn value(
        &self,
        module: &Module,
        body: &Body<'_>,
        point: Point,
        value: &Rvalue,
        result: TypeId,
    ) -> Option<Result<u64, EvalError>> {
        let types = &module.types;
        let bits = |operand: &Operand| self.operand(body, point, operand);
        let ty = |operand: &Operand| module.operand_type(body.function, operand);
        Some(match value {
            Rvalue::Use(a) => Ok(bits(a)?),
            Rvalue::Unary(op, a) => eval_unary(types, *op, ty(a), bits(a)?),
            Rvalue::Binary(op, a, b) => eval_binary(types, *op, ty(a), bits(a)?, bits(b)?, ty(b)),
            Rvalue::Cast(kind, a) => eval_cast(types, *kind, ty(a), result, bits(a)?),
            Rvalue::Select(c, a, b) => Ok(if bits(c)? == 0 { bits(b)? } else { bits(a)? }),
            Rvalue::Intrinsic(function, args) => {
                let of: Vec<_> = args.iter().map(ty).collect();
                let args: Option<Vec<u64>> = args.iter().map(bits).collect();
                eval_intrinsic(types, *function, &of, &args?)
            }
            _ => return None,
        })
    }
}
