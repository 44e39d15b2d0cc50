//! Statements but for control flow.

use super::Lowering;
use crate::builtins::Intrinsic;
use crate::ir::{Access, BinaryOp, CastKind, Operand, Place, Rvalue, StatementKind, TerminatorKind};
use crate::source::Span;
use crate::typed::{self, Expr, Stmt, StmtKind, VariableId};
use crate::types::{Type, TypeId, TypeTable};

impl Lowering<'_> {
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let span = statement.span;
        match &statement.kind {
            StmtKind::Let { variable, init: Some(init) } => self.initialise(*variable, init, span),
            StmtKind::Let { variable, init: None } => {
                if !self.builder.is_ended() {
                    self.assignments.declare(self.builder.current(), *variable);
                    self.builder.push(StatementKind::Deinit { local: Self::local(*variable) }, span);
                }
            }
            StmtKind::Assign { place, value, access } => self.assign(place, value, *access, span),
            StmtKind::AssignOp { place, op, value, access } => self.assign_op(place, *op, value, *access, span),
            StmtKind::Expr(value) => self.effect(value),
            StmtKind::If { condition, then, otherwise } => self.if_statement(condition, then, otherwise, span),
            StmtKind::While { condition, body, unroll } => self.while_loop(condition, body, *unroll, span),
            StmtKind::For { variable, from, to, step, body, unroll } => {
                let bounds = super::control::Range { from, to, step: step.as_ref() };
                self.for_loop(*variable, &bounds, body, *unroll, span);
            }
            StmtKind::Switch { value, cases, default } => self.switch(value, cases, default, span),
            StmtKind::Break => {
                if let Some(innermost) = self.loops.last() {
                    self.builder.terminate(TerminatorKind::Goto(innermost.exit), span);
                }
            }
            StmtKind::Continue => {
                if let Some(innermost) = self.loops.last() {
                    self.builder.terminate(TerminatorKind::Goto(innermost.next), span);
                }
            }
            StmtKind::Return(value) => self.return_statement(value.as_ref(), span),
            StmtKind::Block(body) => self.statements(body),
        }
    }

    fn return_statement(&mut self, value: Option<&Expr>, span: Span) {
        let operand = match value {
            Some(value) if self.function.return_type == TypeTable::VOID => {
                self.effect(value);
                None
            }
            Some(value) => Some(self.value(value)),
            None => None,
        };
        self.builder.terminate(TerminatorKind::Return(operand), span);
    }

    /// A variable's first value.
    pub(super) fn initialise(&mut self, variable: VariableId, init: &Expr, span: Span) {
        if self.is_in_memory(variable) {
            let value = self.value(init);
            self.store_variable(variable, value, span);
        } else {
            self.assign_to(Self::local(variable), init);
        }
    }

    /// `variable = value` for a variable in memory.
    pub(super) fn store_variable(&mut self, variable: VariableId, value: Operand, span: Span) {
        let place = Place::local(Self::local(variable));
        self.builder.push(StatementKind::Store { place, value, access: Access::Plain }, span);
    }

    fn assign(&mut self, place: &typed::Place, value: &Expr, access: Access, span: Span) {
        if let Some(register) = self.register(place) {
            self.assign_to(register, value);
            self.note_write(place);
            return;
        }
        let target = self.place(place);
        let value = self.value(value);
        self.store(place, target, value, access, span);
    }

    fn assign_op(&mut self, place: &typed::Place, op: BinaryOp, value: &Expr, access: Access, span: Span) {
        if let Some(register) = self.register(place) {
            self.note_read(place);
            let result = self.updated(register.into(), place.ty, op, value, span);
            self.set(register, result, span);
            self.note_write(place);
            return;
        }
        let target = self.place(place);
        self.note_read(place);
        // the old value is read after the right side has been evaluated; a fused product needs it only then
        let old = self.builder.temporary(place.ty, place.span);
        let load = StatementKind::Load { dst: old, place: target.clone(), access };
        let result =
            self.updated_after(old.into(), place.ty, op, value, span, |lowering| lowering.builder.push(load, place.span));
        let new = self.builder.assign(place.ty, result, span);
        self.store(place, target, new.into(), access, span);
    }

    fn updated(&mut self, old: Operand, ty: TypeId, op: BinaryOp, value: &Expr, span: Span) -> Rvalue {
        self.updated_after(old, ty, op, value, span, |_| {})
    }

    /// `old op value`, where `load` makes `old` available once the value's parts have been evaluated.
    fn updated_after(
        &mut self,
        old: Operand,
        ty: TypeId,
        op: BinaryOp,
        value: &Expr,
        span: Span,
        load: impl FnOnce(&mut Self),
    ) -> Rvalue {
        if matches!(self.types.get(ty), Type::Pointer { .. }) {
            let index = self.value(value);
            let index = if op == BinaryOp::Sub { self.negated_index(index, value, span) } else { index };
            load(self);
            return Rvalue::Offset(old, index);
        }
        if let Some((a, b)) = self.fusible(op, ty, value) {
            let (a, b) = (self.value(a), self.value(b));
            load(self);
            return self.fused_with(op, a, b, old, ty, span);
        }
        let right = self.value(value);
        load(self);
        Rvalue::Binary(op, old, right)
    }

    /// An index of any integer type as a negative one of `i64`.
    fn negated_index(&mut self, index: Operand, value: &Expr, span: Span) -> Operand {
        let wide = if value.ty == TypeTable::I64 {
            index
        } else {
            self.builder.assign(TypeTable::I64, Rvalue::Cast(CastKind::Int, index), span).into()
        };
        self.builder.assign(TypeTable::I64, Rvalue::Intrinsic(Intrinsic::WrappingNeg, vec![wide]), span).into()
    }
}
