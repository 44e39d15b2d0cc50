//! Evaluation at compile time.
//!
//! Integer operators on constants are folded wherever they stand, so that their mistakes are found. Floating-point ones are folded only
//! where a constant is needed, and then with the language's own rule for `a * b + c`: folding a product alone would round twice.

use super::body::{Body, is_poison};
use super::items::ItemId;
use super::{Checker, Env, State};
use crate::builtins::Intrinsic;
use crate::diag::{Code, Diagnostic};
use crate::ir::eval::{EvalError, eval_binary, eval_cast, eval_intrinsic, eval_unary};
use crate::ir::{BinaryOp, CastKind, Const, ConstValue, UnaryOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{Type, TypeId, TypeTable};

/// Why a constant has no value.
enum Failure {
    /// Something that is only known at run time.
    NotConstant(Span),
    /// An error of the program.
    Fails(Span, EvalError),
}

/// Field, lane or element of a constant.
pub(crate) fn element(constant: &Const, index: u32, ty: TypeId) -> Option<Const> {
    let value = match &constant.value {
        ConstValue::Aggregate(elements) => elements.get(index as usize)?.clone(),
        ConstValue::Zero => ConstValue::Zero,
        _ => return None,
    };
    Some(Const { ty, value })
}

impl Body<'_, '_> {
    /// A node, replaced by its value when its operands are constant integers; a mistake such as an overflow is reported.
    pub(crate) fn fold(&mut self, kind: ExprKind, ty: TypeId, span: Span) -> Expr {
        let expr = Expr { kind, ty, span };
        let operands: Vec<&Expr> = match &expr.kind {
            ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => vec![a],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Aggregate(elements, _) => elements.iter().collect(),
            _ => return expr,
        };
        let floats = operands.iter().any(|operand| self.has_float(operand.ty));
        let aggregate = matches!(expr.kind, ExprKind::Aggregate(..));
        let negation = matches!(expr.kind, ExprKind::Unary(UnaryOp::Neg, _));
        let conversion = matches!(expr.kind, ExprKind::Cast(..));
        let constant = operands.iter().all(|operand| matches!(operand.kind, ExprKind::Const(_)));
        if !constant || (floats && !aggregate && !negation && !conversion) {
            return expr;
        }
        match self.evaluate(&expr) {
            Ok(value) => super::expr::const_expr(value, span),
            Err(Failure::NotConstant(_)) => expr,
            Err(Failure::Fails(at, error)) => {
                self.report_failure(at, error, ty);
                super::body::poison(span)
            }
        }
    }

    fn has_float(&self, ty: TypeId) -> bool {
        use crate::types::Scalar;
        matches!(self.checker.types.get(ty), Type::Float(_) | Type::Vector { element: Scalar::Float(_), .. })
    }

    /// The value of an integer expression that is constant already.
    pub(crate) fn int_value(&self, expr: &Expr) -> Option<i128> {
        let ExprKind::Const(constant) = &expr.kind else { return None };
        let int = self.checker.types.as_int(constant.ty)?;
        Some(int.value(constant.as_bits()?))
    }

    /// An expression whose value must be known, of the given type or its own.
    pub(crate) fn constant(&mut self, expr: &ast::Expr, ty: Option<TypeId>) -> Option<Const> {
        let typed = match ty {
            Some(ty) => self.expr_as(expr, ty),
            None => self.expr(expr, None),
        };
        if is_poison(&typed) {
            return None;
        }
        self.known(&typed)
    }

    /// What an expression is at compile time; a message where that is nothing.
    fn known(&mut self, typed: &Expr) -> Option<Const> {
        match self.evaluate(typed) {
            Ok(constant) => Some(constant),
            Err(Failure::NotConstant(span)) => {
                let diagnostic = Diagnostic::new(Code::E0213, span, "this is not known at compile time");
                self.report(diagnostic.help("a constant is made of literals, `const` items and arithmetic"));
                None
            }
            Err(Failure::Fails(span, error)) => {
                self.report_failure(span, error, typed.ty);
                None
            }
        }
    }

    /// An integer whose value must be known; of any integer type, `wanted` for literals.
    pub(crate) fn const_int(&mut self, expr: &ast::Expr, wanted: TypeId) -> Option<i128> {
        let typed = self.expr(expr, Some(wanted));
        if is_poison(&typed) {
            return None;
        }
        let Some(int) = self.checker.types.as_int(typed.ty).filter(|_| typed.ty != TypeTable::BOOL) else {
            let message = format!("an integer is needed here, this is `{}`", self.show(typed.ty));
            self.report(Diagnostic::new(Code::E0203, expr.span, message));
            return None;
        };
        self.known(&typed)?.as_bits().map(|bits| int.value(bits))
    }

    fn report_failure(&mut self, span: Span, error: EvalError, ty: TypeId) {
        let message = match error {
            EvalError::Overflow => format!("the result does not fit `{}`", self.show(ty)),
            EvalError::DivideByZero => "division by zero".to_owned(),
            EvalError::Shift => "a shift by less than zero or by the whole width".to_owned(),
            EvalError::Unsupported => "this cannot be computed at compile time".to_owned(),
        };
        let code = if error == EvalError::Unsupported { Code::E0213 } else { Code::E0214 };
        self.report(Diagnostic::new(code, span, message));
    }

    fn evaluate(&self, expr: &Expr) -> Result<Const, Failure> {
        let value = self.evaluate_value(expr)?;
        Ok(Const { ty: expr.ty, value })
    }

    fn evaluate_value(&self, expr: &Expr) -> Result<ConstValue, Failure> {
        let types = &self.checker.types;
        let fails = |error| match error {
            EvalError::Unsupported => Failure::NotConstant(expr.span),
            error => Failure::Fails(expr.span, error),
        };
        let bits = |bits: Result<u64, EvalError>| bits.map(ConstValue::Bits).map_err(fails);
        match &expr.kind {
            ExprKind::Const(constant) => Ok(constant.value.clone()),
            ExprKind::Unary(op, a) => {
                let (op, ty) = (*op, a.ty);
                self.lanes(expr, &[a], |x| eval_unary(types, op, self.scalar_of(ty), *x.first().unwrap_or(&0)))
            }
            ExprKind::Binary(op, a, b) => {
                if let Some(fused) = self.fused(*op, a, b, expr)? {
                    return Ok(fused);
                }
                let (op, ty, right) = (*op, a.ty, b.ty);
                self.lanes(expr, &[a, b], |x| {
                    let (a, b) = (*x.first().unwrap_or(&0), *x.get(1).unwrap_or(&0));
                    eval_binary(types, op, self.scalar_of(ty), a, b, self.scalar_of(right))
                })
            }
            ExprKind::Cast(kind, a) => {
                let value = self.scalar(a)?;
                match kind {
                    CastKind::Pointer
                    | CastKind::ToGeneric
                    | CastKind::FromGeneric
                    | CastKind::PointerToInt
                    | CastKind::IntToPointer => Ok(ConstValue::Bits(value)),
                    kind => bits(eval_cast(types, *kind, a.ty, expr.ty, value)),
                }
            }
            ExprKind::And(a, b) => Ok(ConstValue::Bits(if self.scalar(a)? == 0 { 0 } else { self.scalar(b)? })),
            ExprKind::Or(a, b) => Ok(ConstValue::Bits(if self.scalar(a)? != 0 { 1 } else { self.scalar(b)? })),
            ExprKind::If(condition, a, b) => {
                if self.scalar(condition)? != 0 {
                    self.evaluate_value(a)
                } else {
                    self.evaluate_value(b)
                }
            }
            ExprKind::Aggregate(elements, _) => {
                let values = elements.iter().map(|element| self.evaluate_value(element)).collect::<Result<_, _>>()?;
                Ok(ConstValue::Aggregate(values))
            }
            ExprKind::Extract(base, index) => {
                let base = self.evaluate(base)?;
                element(&base, *index, expr.ty).map(|constant| constant.value).ok_or(Failure::NotConstant(expr.span))
            }
            ExprKind::Intrinsic(intrinsic, args) => {
                let values = args.iter().map(|arg| self.scalar(arg)).collect::<Result<Vec<_>, _>>()?;
                let of: Vec<TypeId> = args.iter().map(|arg| arg.ty).collect();
                bits(eval_intrinsic(types, *intrinsic, &of, &values))
            }
            _ => Err(Failure::NotConstant(expr.span)),
        }
    }

    fn scalar(&self, expr: &Expr) -> Result<u64, Failure> {
        self.evaluate(expr)?.as_bits().ok_or(Failure::NotConstant(expr.span))
    }

    fn scalar_of(&self, ty: TypeId) -> TypeId {
        match self.checker.types.get(ty) {
            Type::Vector { element, .. } => TypeTable::scalar(*element),
            _ => ty,
        }
    }

    /// Applies an operation to scalars, or lane by lane to vectors.
    fn lanes(
        &self,
        expr: &Expr,
        operands: &[&Expr],
        op: impl Fn(&[u64]) -> Result<u64, EvalError>,
    ) -> Result<ConstValue, Failure> {
        let fails = |error| match error {
            EvalError::Unsupported => Failure::NotConstant(expr.span),
            error => Failure::Fails(expr.span, error),
        };
        let Type::Vector { lanes, element: lane } = *self.checker.types.get(expr.ty) else {
            let values = operands.iter().map(|operand| self.scalar(operand)).collect::<Result<Vec<_>, _>>()?;
            return op(&values).map(ConstValue::Bits).map_err(fails);
        };
        let constants = operands.iter().map(|operand| self.evaluate(operand)).collect::<Result<Vec<_>, _>>()?;
        let mut result = Vec::with_capacity(usize::from(lanes));
        for index in 0..u32::from(lanes) {
            let values: Option<Vec<u64>> = constants
                .iter()
                .map(|constant| element(constant, index, TypeTable::scalar(lane)).and_then(|constant| constant.as_bits()))
                .collect();
            let values = values.ok_or(Failure::NotConstant(expr.span))?;
            result.push(ConstValue::Bits(op(&values).map_err(fails)?));
        }
        Ok(ConstValue::Aggregate(result))
    }

    /// `a * b + c` and its kin in one rounding, the left product where both sides are products.
    fn fused(&self, op: BinaryOp, a: &Expr, b: &Expr, whole: &Expr) -> Result<Option<ConstValue>, Failure> {
        let float = self.checker.types.as_float(whole.ty).is_some();
        if !self.checker.options.fmad || !float || !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            return Ok(None);
        }
        let product = |expr: &Expr| match &expr.kind {
            ExprKind::Binary(BinaryOp::Mul, x, y) => Some((self.scalar(x), self.scalar(y))),
            _ => None,
        };
        let types = &self.checker.types;
        let negate = |bits: u64| eval_unary(types, UnaryOp::Neg, whole.ty, bits).unwrap_or(bits);
        let minus = op == BinaryOp::Sub;
        let (x, y, z) = if let Some((x, y)) = product(a) {
            let z = self.scalar(b)?;
            (x?, y?, if minus { negate(z) } else { z })
        } else if let Some((x, y)) = product(b) {
            let x = x?;
            (if minus { negate(x) } else { x }, y?, self.scalar(a)?)
        } else {
            return Ok(None);
        };
        let result = eval_intrinsic(types, Intrinsic::Fma, &[whole.ty; 3], &[x, y, z]);
        result.map(|bits| Some(ConstValue::Bits(bits))).map_err(|error| Failure::Fails(whole.span, error))
    }
}

impl Checker<'_> {
    /// The value of a `const` item; none after an error, which is reported once.
    pub(crate) fn const_item(&mut self, id: ItemId, span: Span) -> Option<Const> {
        match self.consts.get(&id) {
            Some(State::Done(value)) => return value.clone(),
            Some(State::Busy) => {
                let diagnostic = Diagnostic::new(Code::E0221, span, "this constant's value depends on itself");
                self.report(diagnostic);
                return None;
            }
            None => {}
        }
        let Some(ast::Item { kind: ast::ItemKind::Const(decl), attributes, .. }) = self.items.get(id) else { return None };
        self.consts.insert(id, State::Busy);
        let mut body = Body::for_item(self, Env::default());
        body.attributes(attributes, super::attributes::Target::Other);
        let ty = decl.ty.as_ref().map(|ty| body.resolve_sized(ty, "a constant"));
        let value = if ty == Some(TypeTable::POISON) { None } else { body.constant(&decl.value, ty) };
        self.consts.insert(id, State::Done(value.clone()));
        value
    }
}
