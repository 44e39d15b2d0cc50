//! Writing IR by hand, one short line a step.

use crate::ir::{
    Access, BinaryOp, BlockId, CastKind, Const, FunctionBuilder, LocalId, Operand, Place, Rvalue, StatementKind, TerminatorKind,
};
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

/// A function in the making; every statement has the same span.
pub(in crate::pass) struct Code<'a> {
    pub builder: &'a mut FunctionBuilder,
    pub span: Span,
}

/// A `u64` constant.
pub(in crate::pass) fn number(value: u64) -> Operand {
    Const::u64(value).into()
}

impl Code<'_> {
    pub(in crate::pass) fn value(&mut self, ty: TypeId, value: Rvalue) -> Operand {
        self.builder.assign(ty, value, self.span).into()
    }

    /// Two operands of a type, and the result of the same.
    pub(in crate::pass) fn binary(&mut self, ty: TypeId, op: BinaryOp, a: &Operand, b: &Operand) -> Operand {
        self.value(ty, Rvalue::Binary(op, a.clone(), b.clone()))
    }

    pub(in crate::pass) fn compare(&mut self, op: BinaryOp, a: &Operand, b: &Operand) -> Operand {
        self.value(TypeTable::BOOL, Rvalue::Binary(op, a.clone(), b.clone()))
    }

    /// The smaller of two values of a type.
    pub(in crate::pass) fn least(&mut self, ty: TypeId, a: &Operand, b: &Operand) -> Operand {
        let less = self.compare(BinaryOp::Lt, a, b);
        self.value(ty, Rvalue::Select(less, a.clone(), b.clone()))
    }

    pub(in crate::pass) fn cast(&mut self, ty: TypeId, kind: CastKind, a: &Operand) -> Operand {
        self.value(ty, Rvalue::Cast(kind, a.clone()))
    }

    pub(in crate::pass) fn set(&mut self, dst: LocalId, value: Operand) {
        self.builder.push(StatementKind::Assign { dst, value: Rvalue::Use(value) }, self.span);
    }

    pub(in crate::pass) fn store(&mut self, pointer: Operand, value: Operand) {
        let place = Place::deref(pointer);
        self.builder.push(StatementKind::Store { place, value, access: Access::Plain }, self.span);
    }

    pub(in crate::pass) fn load(&mut self, ty: TypeId, place: Place) -> Operand {
        let dst = self.builder.temporary(ty, self.span);
        self.builder.push(StatementKind::Load { dst, place, access: Access::Plain }, self.span);
        dst.into()
    }

    pub(in crate::pass) fn block(&mut self) -> BlockId {
        self.builder.new_block(self.span)
    }

    pub(in crate::pass) fn goto(&mut self, block: BlockId) {
        self.builder.terminate(TerminatorKind::Goto(block), self.span);
    }

    pub(in crate::pass) fn branch(&mut self, condition: Operand, then: BlockId, otherwise: BlockId) {
        self.builder.terminate(TerminatorKind::Branch { condition, then, otherwise }, self.span);
    }

    pub(in crate::pass) fn give(&mut self, value: Option<Operand>) {
        self.builder.terminate(TerminatorKind::Return(value), self.span);
    }

    pub(in crate::pass) fn go_on_in(&mut self, block: BlockId) {
        self.builder.switch_to(block);
    }
}
