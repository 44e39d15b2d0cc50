//! Fused multiply-add: which products are fused, and how.
//!
//! Within one expression `a * b + c`, `c + a * b` and `a * b - c` are one multiply-add, `c - a * b` one with the product negated; where
//! both sides are products, the left one is fused. `x += a * b` and `x -= a * b` are read as `x + a * b` and `x - a * b`. Parentheses
//! do not matter, conversions and names in between do: nothing is fused across statements.

use super::Lowering;
use crate::builtins::Intrinsic;
use crate::ir::{BinaryOp, Operand, Rvalue, UnaryOp};
use crate::source::Span;
use crate::typed::{Expr, ExprKind};
use crate::types::{Scalar, Type, TypeId, TypeTable};

impl Lowering<'_> {
    /// `left op right` as one multiply-add, when it is one.
    pub(super) fn fused(&mut self, op: BinaryOp, ty: TypeId, left: &Expr, right: &Expr, span: Span) -> Option<Rvalue> {
        if let Some((a, b)) = self.fusible(op, ty, left) {
            let (a, b) = (self.value(a), self.value(b));
            let addend = self.value(right);
            let addend = if op == BinaryOp::Sub { self.negated(addend, ty, span) } else { addend };
            return Some(self.multiply_add([a, b, addend], ty, span));
        }
        let (a, b) = self.fusible(op, ty, right)?;
        let addend = self.value(left);
        let (a, b) = (self.value(a), self.value(b));
        Some(self.fused_with(op, a, b, addend, ty, span))
    }

    /// The factors of `product`, when an addition or subtraction `op` of this type may take it in.
    pub(super) fn fusible<'e>(&self, op: BinaryOp, ty: TypeId, product: &'e Expr) -> Option<(&'e Expr, &'e Expr)> {
        let is_float = matches!(self.types.get(ty), Type::Float(_) | Type::Vector { element: Scalar::Float(_), .. });
        match &product.kind {
            ExprKind::Binary(BinaryOp::Mul, a, b)
                if self.options.fmad && is_float && product.ty == ty && matches!(op, BinaryOp::Add | BinaryOp::Sub) =>
            {
                Some((a, b))
            }
            _ => None,
        }
    }

    /// `addend + a b` or `addend - a b`.
    pub(super) fn fused_with(
        &mut self,
        op: BinaryOp,
        a: Operand,
        b: Operand,
        addend: Operand,
        ty: TypeId,
        span: Span,
    ) -> Rvalue {
        let a = if op == BinaryOp::Sub { self.negated(a, ty, span) } else { a };
        self.multiply_add([a, b, addend], ty, span)
    }

    /// `fma(a, b, c)`; of vectors lane by lane, since intrinsics are of scalars.
    fn multiply_add(&mut self, operands: [Operand; 3], ty: TypeId, span: Span) -> Rvalue {
        let &Type::Vector { element, lanes } = self.types.get(ty) else {
            return Rvalue::Intrinsic(Intrinsic::Fma, operands.into());
        };
        let element = TypeTable::scalar(element);
        let mut results = Vec::with_capacity(usize::from(lanes));
        for lane in 0..u32::from(lanes) {
            let scalars = operands
                .iter()
                .map(|operand| self.builder.assign(element, Rvalue::Extract(operand.clone(), lane), span).into())
                .collect();
            results.push(self.builder.assign(element, Rvalue::Intrinsic(Intrinsic::Fma, scalars), span).into());
        }
        Rvalue::Aggregate(results)
    }

    fn negated(&mut self, value: Operand, ty: TypeId, span: Span) -> Operand {
        self.builder.assign(ty, Rvalue::Unary(UnaryOp::Neg, value), span).into()
    }
}
