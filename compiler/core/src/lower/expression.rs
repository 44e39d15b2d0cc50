//! Values.

use super::Lowering;
use crate::builtins::Domain;
use crate::ir::{LocalId, Operand, Rvalue, StatementKind};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, PlaceKind};
use crate::types::Type;

impl Lowering<'_> {
    /// Evaluates an expression. Constants and registers are themselves; everything else goes into a new temporary.
    pub(super) fn value(&mut self, expression: &Expr) -> Operand {
        match &expression.kind {
            ExprKind::Const(constant) => Operand::Const(constant.clone()),
            ExprKind::Kernel(kernel) => Operand::Function(*kernel),
            ExprKind::Read(place, _) => {
                if let Some(register) = self.register(place) {
                    self.note_read(place);
                    return register.into();
                }
                self.value_in_temporary(expression)
            }
            // the address of what a pointer points at is the pointer
            ExprKind::AddressOf(place) => match &place.kind {
                PlaceKind::Deref(pointer) if pointer.ty == expression.ty => self.value(pointer),
                _ => self.value_in_temporary(expression),
            },
            _ => self.value_in_temporary(expression),
        }
    }

    pub(super) fn value_in_temporary(&mut self, expression: &Expr) -> Operand {
        let dst = self.builder.temporary(expression.ty, expression.span);
        self.assign_to(dst, expression);
        dst.into()
    }

    /// Evaluates expressions from left to right.
    pub(super) fn values(&mut self, expressions: &[Expr]) -> Vec<Operand> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    /// `dst = rvalue`
    pub(super) fn set(&mut self, dst: LocalId, value: Rvalue, span: Span) {
        self.builder.push(StatementKind::Assign { dst, value }, span);
    }

    /// `dst = expression`, for a local that is a register. The local is written last, so the expression may read it.
    pub(super) fn assign_to(&mut self, dst: LocalId, expression: &Expr) {
        let span = expression.span;
        let value = match &expression.kind {
            ExprKind::Const(constant) => Rvalue::Use(constant.clone().into()),
            ExprKind::Read(place, access) => return self.read_into(dst, place, *access, span),
            ExprKind::AddressOf(place) => match &place.kind {
                PlaceKind::Deref(pointer) if pointer.ty == expression.ty => return self.assign_to(dst, pointer),
                _ => {
                    let target = self.place(place);
                    self.note_address(place);
                    Rvalue::AddressOf(target)
                }
            },
            ExprKind::Unary(op, a) => Rvalue::Unary(*op, self.value(a)),
            ExprKind::Binary(op, a, b) => match self.fused(*op, expression.ty, a, b, span) {
                Some(fused) => fused,
                None => {
                    let a = self.value(a);
                    Rvalue::Binary(*op, a, self.value(b))
                }
            },
            ExprKind::Offset(pointer, index) => {
                let pointer = self.value(pointer);
                Rvalue::Offset(pointer, self.value(index))
            }
            ExprKind::Distance(a, b) => {
                let a = self.value(a);
                Rvalue::Distance(a, self.value(b))
            }
            ExprKind::Cast(kind, a) => Rvalue::Cast(*kind, self.value(a)),
            ExprKind::Aggregate(elements, order) => Rvalue::Aggregate(self.elements(elements, order)),
            ExprKind::Splat(a) => {
                let count = match self.types.get(expression.ty) {
                    Type::Vector { lanes, .. } => usize::from(*lanes),
                    Type::Array { len, .. } => usize::try_from(*len).unwrap_or(0),
                    _ => 0,
                };
                Rvalue::Aggregate(vec![self.value(a); count])
            }
            ExprKind::Extract(a, index) => Rvalue::Extract(self.value(a), *index),
            ExprKind::Register(register) => Rvalue::Register(*register),
            ExprKind::MapSharedRank(pointer, rank) => {
                let pointer = self.value(pointer);
                Rvalue::MapSharedRank(pointer, self.value(rank))
            }
            ExprKind::SharedRank(pointer) => Rvalue::SharedRank(self.value(pointer)),
            ExprKind::Intrinsic(intrinsic, args) => {
                let mut args = self.values(args);
                if intrinsic.domain() == Domain::IntFloat {
                    args.reverse();
                }
                Rvalue::Intrinsic(*intrinsic, args)
            }
            ExprKind::And(a, b) => return self.short_circuit(dst, a, b, false, span),
            ExprKind::Or(a, b) => return self.short_circuit(dst, a, b, true, span),
            ExprKind::If(condition, then, otherwise) => {
                return self.if_expression(Some(dst), condition, then, otherwise, span);
            }
            _ => return self.perform(Some(dst), expression),
        };
        self.set(dst, value, span);
    }

    /// Elements in order of declaration, evaluated in the order of writing.
    pub(super) fn elements(&mut self, elements: &[Expr], order: &[u32]) -> Vec<Operand> {
        let mut values: Vec<Option<Operand>> = vec![None; elements.len()];
        for index in order {
            let index = *index as usize;
            if let (Some(slot), Some(element)) = (values.get_mut(index), elements.get(index)) {
                *slot = Some(self.value(element));
            }
        }
        let filled = values.into_iter().zip(elements);
        filled.map(|(value, element)| value.unwrap_or_else(|| self.value(element))).collect()
    }
}
