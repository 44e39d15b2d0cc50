//! Functions with several results: a pure function for each, and a store for each pointer.

use super::Lowering;
use crate::builtins::{Intrinsic, PartsFn, WarpOp};
use crate::ir::{Access, BinaryOp, CastKind, Const, LocalId, Operand, Place, Rvalue, StatementKind};
use crate::source::Span;
use crate::typed::Expr;
use crate::types::{TypeId, TypeTable};

impl Lowering<'_> {
    /// All arguments are evaluated first; then each result is stored, from left to right.
    pub(super) fn parts(&mut self, dst: Option<LocalId>, function: PartsFn, args: &[Expr], span: Span) {
        let values = self.values(args);
        let ty = args.first().map_or(TypeTable::POISON, |arg| arg.ty);
        match (function, values.as_slice()) {
            (PartsFn::Sincos, [x, sine, cosine]) => {
                self.both(ty, [Intrinsic::Sin, Intrinsic::Cos], x, [sine, cosine], span);
            }
            (PartsFn::Sincospi, [x, sine, cosine]) => {
                self.both(ty, [Intrinsic::Sinpi, Intrinsic::Cospi], x, [sine, cosine], span);
            }
            (PartsFn::FastSincos, [x, sine, cosine]) => {
                self.both(ty, [Intrinsic::FastSin, Intrinsic::FastCos], x, [sine, cosine], span);
            }
            (PartsFn::Modf, [x, whole]) => {
                let fraction = self.modf(ty, x, whole, span);
                self.give(dst, fraction, span);
            }
            (PartsFn::Frexp, [x, exponent]) => {
                let fraction = self.frexp(ty, x, exponent, span);
                self.give(dst, fraction, span);
            }
            (PartsFn::MatchAll, [mask, value, all]) => {
                let lanes = dst.unwrap_or_else(|| self.builder.temporary(TypeTable::U32, span));
                let warp =
                    StatementKind::Warp { dst: Some(lanes), op: WarpOp::MatchAll, args: vec![mask.clone(), value.clone()] };
                self.builder.push(warp, span);
                let some = Rvalue::Binary(BinaryOp::Ne, lanes.into(), Const::u32(0).into());
                let some = self.compute(TypeTable::BOOL, some, span);
                let pointee = args.get(2).and_then(|pointer| self.types.pointee(pointer.ty)).map(|(_, pointee, _)| pointee);
                let some = match pointee {
                    Some(TypeTable::BOOL) => some,
                    _ => self.compute(TypeTable::I32, Rvalue::Cast(CastKind::Int, some), span),
                };
                self.put(all, some, span);
            }
            _ => {}
        }
    }

    fn both(&mut self, ty: TypeId, functions: [Intrinsic; 2], x: &Operand, pointers: [&Operand; 2], span: Span) {
        let results = functions.map(|function| self.pure(ty, function, vec![x.clone()], span));
        for (result, pointer) in results.into_iter().zip(pointers) {
            self.put(pointer, result, span);
        }
    }

    /// x less its whole part, which for infinities is 0; with the sign of x.
    fn modf(&mut self, ty: TypeId, x: &Operand, pointer: &Operand, span: Span) -> Operand {
        let whole = self.pure(ty, Intrinsic::Trunc, vec![x.clone()], span);
        let rest = self.compute(ty, Rvalue::Binary(BinaryOp::Sub, x.clone(), whole.clone()), span);
        let same = self.compute(TypeTable::BOOL, Rvalue::Binary(BinaryOp::Eq, x.clone(), whole.clone()), span);
        let rest = self.compute(ty, Rvalue::Select(same, Const::zero(ty).into(), rest), span);
        self.put(pointer, whole, span);
        self.pure(ty, Intrinsic::Copysign, vec![rest, x.clone()], span)
    }

    /// x by 2 to the power of one less than its exponent; numbers without an exponent as they are.
    fn frexp(&mut self, ty: TypeId, x: &Operand, pointer: &Operand, span: Span) -> Operand {
        let int = |value: u64| Operand::from(Const::bits(TypeTable::I32, value));
        let exponent = self.pure(TypeTable::I32, Intrinsic::Ilogb, vec![x.clone()], span);
        let above = self.compute(TypeTable::I32, Rvalue::Intrinsic(Intrinsic::WrappingAdd, vec![exponent, int(1)]), span);
        let finite = self.pure(TypeTable::BOOL, Intrinsic::Isfinite, vec![x.clone()], span);
        let some = self.compute(TypeTable::BOOL, Rvalue::Binary(BinaryOp::Ne, x.clone(), Const::zero(ty).into()), span);
        let has = self.compute(TypeTable::BOOL, Rvalue::Binary(BinaryOp::And, finite, some), span);
        let power = self.compute(TypeTable::I32, Rvalue::Select(has, above, int(0)), span);
        self.put(pointer, power.clone(), span);
        let down = self.compute(TypeTable::I32, Rvalue::Intrinsic(Intrinsic::WrappingNeg, vec![power]), span);
        self.pure(ty, Intrinsic::Ldexp, vec![x.clone(), down], span)
    }

    fn pure(&mut self, ty: TypeId, function: Intrinsic, args: Vec<Operand>, span: Span) -> Operand {
        self.compute(ty, Rvalue::Intrinsic(function, args), span)
    }

    fn compute(&mut self, ty: TypeId, value: Rvalue, span: Span) -> Operand {
        self.builder.assign(ty, value, span).into()
    }

    fn put(&mut self, pointer: &Operand, value: Operand, span: Span) {
        let place = Place::deref(pointer.clone());
        self.builder.push(StatementKind::Store { place, value, access: Access::Plain }, span);
    }

    fn give(&mut self, dst: Option<LocalId>, value: Operand, span: Span) {
        if let Some(dst) = dst {
            self.set(dst, Rvalue::Use(value), span);
        }
    }
}
