//! Conversions: implicit ones, which lose nothing, and `as`.

use super::body::{Body, is_poison, poison};
use crate::builtins::CudaEnum;
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, CastKind};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{Space, Type, TypeId, TypeTable};

impl Body<'_, '_> {
    /// An expression that must have a type, converted to it where nothing is lost.
    pub(crate) fn expr_as(&mut self, expr: &ast::Expr, ty: TypeId) -> Expr {
        let typed = self.expr(expr, Some(ty));
        self.coerce(typed, ty, expr)
    }

    /// As [`Body::expr_as`], and a scalar may stand for a vector of equal lanes.
    pub(crate) fn expr_as_broadcast(&mut self, expr: &ast::Expr, ty: TypeId) -> Expr {
        let element = match self.checker.types.get(ty) {
            Type::Vector { element, .. } => Some(TypeTable::scalar(*element)),
            _ => None,
        };
        let Some(element) = element else { return self.expr_as(expr, ty) };
        let wanted = if super::expr::is_literal(expr) { element } else { ty };
        let typed = self.expr(expr, Some(wanted));
        if typed.ty == ty || is_poison(&typed) {
            return typed;
        }
        let scalar = self.coerce(typed, element, expr);
        self.broadcast(scalar, ty)
    }

    /// Converts an expression to a type implicitly; a message when that is not possible.
    pub(crate) fn coerce(&mut self, expr: Expr, ty: TypeId, source: &ast::Expr) -> Expr {
        if expr.ty == ty || is_poison(&expr) || ty == TypeTable::POISON {
            return if ty == TypeTable::POISON { poison(expr.span) } else { expr };
        }
        let (span, mut from) = (expr.span, expr.ty);
        if self.checker.types.pointee(ty).is_some()
            && let Some(first) = self.decay(expr.clone())
            && self.checker.types.is_volatile(first.ty)
        {
            // what is wrong with a volatile array may be that it is one
            from = first.ty;
        }
        if let Some(converted) = self.implicit(expr, ty) {
            return converted;
        }
        let diagnostic = self.mismatch(from, ty, source, span);
        self.report(diagnostic);
        poison(span)
    }

    fn mismatch(&mut self, from: TypeId, to: TypeId, source: &ast::Expr, span: Span) -> Diagnostic {
        let (from_space, to_space) = (self.checker.types.pointee(from), self.checker.types.pointee(to));
        if let (Some((a, a_to, a_const)), Some((b, b_to, b_const))) = (from_space, to_space) {
            if a_const && !b_const && a_to == b_to {
                let message = format!("`{}` only reads, `{}` could write", self.show(from), self.show(to));
                return Diagnostic::new(Code::E0232, span, message);
            }
            if self.checker.types.is_volatile(from) && !self.checker.types.is_volatile(to) && a_to == b_to {
                let message = format!("`{}` is `volatile`, `{}` would forget it", self.show(from), self.show(to));
                let text = self.text(source.span);
                let help = format!("if its accesses may be moved, merged or dropped, say so: `{text} as {}`", self.show(to));
                return Diagnostic::new(Code::E0240, span, message).help(help);
            }
            if a != b && a_to == b_to {
                let message = format!("`{}` is wanted, this is `{}`", self.show(to), self.show(from));
                let diagnostic = Diagnostic::new(Code::E0231, span, message);
                if a == Space::Generic {
                    let text = self.text(source.span);
                    let help = format!("if it is known to point there, say so: `{text} as {}`", self.show(to));
                    return diagnostic.help(help);
                }
                return diagnostic.note("memory spaces do not overlap: no conversion makes one into the other (guide 4.18.3)");
            }
        }
        if let Some(diagnostic) = self.wrong_member(from, to, source) {
            return diagnostic;
        }
        let message = if from == TypeTable::VOID {
            "this gives no value".to_owned()
        } else {
            format!("`{}` is wanted, this is `{}`", self.show(to), self.show(from))
        };
        let code = if from == TypeTable::VOID { Code::E0230 } else { Code::E0203 };
        let diagnostic = Diagnostic::new(code, span, message);
        self.with_cast_help(diagnostic, source, from, to)
    }

    /// Adds how to convert, where `as` does.
    pub(crate) fn with_cast_help(&self, diagnostic: Diagnostic, source: &ast::Expr, from: TypeId, to: TypeId) -> Diagnostic {
        if self.cast_kind(from, to).is_none() || from == to {
            return diagnostic;
        }
        // a member of one enumeration of CUDA is never meant as one of another
        if [from, to].iter().all(|ty| matches!(self.checker.types.get(*ty), Type::Enum(id) if CudaEnum::from_id(*id).is_some()))
        {
            return diagnostic;
        }
        // reading a pointee as another type is almost never what was meant
        let reinterprets = |ty| self.checker.types.pointee(ty).is_some_and(|(_, pointee, _)| pointee != TypeTable::VOID);
        if reinterprets(from) && reinterprets(to) {
            return diagnostic;
        }
        if let Some(name) = self.named_literal(source, to) {
            return diagnostic.fix("this value has a name", source.span, name);
        }
        let text = self.text(source.span);
        let text = if needs_parens(source) { format!("({text})") } else { text };
        if to == TypeTable::BOOL {
            return diagnostic.fix("compare it", source.span, format!("{text} != 0"));
        }
        diagnostic.fix("convert it explicitly", source.span, format!("{text} as {}", self.show(to)))
    }

    /// The conversions that happen by themselves: those that lose nothing.
    fn implicit(&mut self, expr: Expr, ty: TypeId) -> Option<Expr> {
        let from = expr.ty;
        match (self.checker.types.get(from), self.checker.types.get(ty)) {
            (Type::Int(a), Type::Int(b)) => {
                let (a, b) = (a.range(), b.range());
                (a.0 >= b.0 && a.1 <= b.1).then(|| self.cast(CastKind::Int, expr, ty))
            }
            (Type::Float(a), Type::Float(b)) => {
                use crate::types::Float;
                let widens = matches!((a, b), (Float::F16 | Float::Bf16, Float::F32 | Float::F64) | (Float::F32, Float::F64));
                widens.then(|| self.cast(CastKind::Float, expr, ty))
            }
            (Type::Pointer { .. }, Type::Pointer { .. }) => self.implicit_pointer(expr, ty),
            (Type::Array { .. } | Type::Unsized { .. }, Type::Pointer { .. }) => {
                let pointer = self.decay(expr)?;
                if pointer.ty == ty { Some(pointer) } else { self.implicit_pointer(pointer, ty) }
            }
            _ => None,
        }
    }

    fn implicit_pointer(&mut self, expr: Expr, ty: TypeId) -> Option<Expr> {
        let (from_space, from_pointee, from_const) = self.checker.types.pointee(expr.ty)?;
        let (space, pointee, constant) = self.checker.types.pointee(ty)?;
        let pointee_fits = from_pointee == pointee || pointee == TypeTable::VOID;
        let qualifiers_fit =
            (constant || !from_const) && (self.checker.types.is_volatile(ty) || !self.checker.types.is_volatile(expr.ty));
        let is_null =
            matches!(&expr.kind, ExprKind::Const(null) if null.as_bits() == Some(0)) && from_pointee == TypeTable::VOID;
        if is_null {
            return Some(super::expr::const_expr(crate::ir::Const::bits(ty, 0), expr.span));
        }
        if !pointee_fits || !qualifiers_fit {
            return None;
        }
        if from_space == space {
            return Some(self.cast(CastKind::Pointer, expr, ty));
        }
        // constant memory is read-only also through a generic pointer
        (space == Space::Generic).then(|| self.cast(CastKind::ToGeneric, expr, ty))
    }

    /// The address of an array's first element.
    pub(crate) fn decay(&mut self, expr: Expr) -> Option<Expr> {
        let ExprKind::Read(place, access) = expr.kind else { return None };
        let (space, constant) = self.place_space(&place)?;
        let element = self.checker.types.element(place.ty, 0)?;
        let pointer = self.checker.types.qualified_pointer(space, element, constant, access == Access::Volatile);
        let zero = super::expr::const_expr(crate::ir::Const::u32(0), expr.span);
        let first = Place { kind: PlaceKind::Index(place, zero), ty: element, span: expr.span };
        Some(Expr { kind: ExprKind::AddressOf(Box::new(first)), ty: pointer, span: expr.span })
    }

    /// A scalar in every lane.
    pub(crate) fn broadcast(&mut self, scalar: Expr, ty: TypeId) -> Expr {
        let Type::Vector { lanes, .. } = *self.checker.types.get(ty) else { return scalar };
        if is_poison(&scalar) {
            return scalar;
        }
        let span = scalar.span;
        if let ExprKind::Const(constant) = &scalar.kind {
            let value = crate::ir::ConstValue::Aggregate(vec![constant.value.clone(); usize::from(lanes)]);
            return super::expr::const_expr(crate::ir::Const { ty, value }, span);
        }
        Expr { kind: ExprKind::Splat(Box::new(scalar)), ty, span }
    }

    /// Both expressions in the type that the two have in common; none when they have none.
    pub(crate) fn unify(&mut self, left: Expr, right: Expr) -> Option<(Expr, Expr)> {
        let (a, b) = (left.ty, right.ty);
        if a == b {
            return Some((left, right));
        }
        let vector = |body: &Self, ty: TypeId| match body.checker.types.get(ty) {
            Type::Vector { element, .. } => Some(TypeTable::scalar(*element)),
            _ => None,
        };
        if let Some(element) = vector(self, a)
            && element == b
        {
            let right = self.broadcast(right, a);
            return Some((left, right));
        }
        if let Some(element) = vector(self, b)
            && element == a
        {
            let left = self.broadcast(left, b);
            return Some((left, right));
        }
        if let Some(right) = self.implicit(right.clone(), a) {
            return Some((left, right));
        }
        if let Some(left) = self.implicit(left.clone(), b) {
            return Some((left, right));
        }
        // two pointers meet in the one that both convert to: generic where their spaces differ, with the qualifiers of both
        let (a_space, a_pointee, a_const) = self.checker.types.pointee(a)?;
        let (b_space, b_pointee, b_const) = self.checker.types.pointee(b)?;
        if a_pointee != b_pointee {
            return None;
        }
        let volatile = self.checker.types.is_volatile(a) || self.checker.types.is_volatile(b);
        let space = if a_space == b_space { a_space } else { Space::Generic };
        let common = self.checker.types.qualified_pointer(space, a_pointee, a_const || b_const, volatile);
        let left = if a == common { left } else { self.implicit(left, common)? };
        let right = if b == common { right } else { self.implicit(right, common)? };
        Some((left, right))
    }

    /// Two expressions that must have one type; a message when they have not.
    pub(crate) fn same_type(&mut self, a: &ast::Expr, b: &ast::Expr, expect: Option<TypeId>, what: &str) -> (Expr, Expr) {
        let (left, right) = self.operands(a, b, expect);
        if is_poison(&left) || is_poison(&right) {
            return (poison(left.span), poison(right.span));
        }
        let (left_ty, right_ty) = (left.ty, right.ty);
        if let Some(unified) = self.unify(left, right) {
            return unified;
        }
        let message = format!("{what} differ: `{}` and `{}`", self.show(left_ty), self.show(right_ty));
        let diagnostic = Diagnostic::new(Code::E0203, b.span, message).also(a.span, format!("`{}`", self.show(left_ty)));
        let diagnostic = self.with_cast_help(diagnostic, b, right_ty, left_ty);
        self.report(diagnostic);
        (poison(a.span), poison(b.span))
    }

    /// `operand as ty`
    pub(crate) fn cast_expr(&mut self, operand: &ast::Expr, ty: TypeId, span: Span) -> Expr {
        // a literal takes the type at once where it fits; one that does not is converted like any other value
        let expect = match self.checker.types.get(ty) {
            Type::Float(_) if super::expr::is_literal(operand) => Some(ty),
            Type::Pointer { .. } => Some(ty),
            _ => None,
        };
        let mut inner = self.expr(operand, expect);
        if is_poison(&inner) || ty == TypeTable::POISON {
            return poison(span);
        }
        if inner.ty == ty {
            return inner;
        }
        if let (Type::Array { .. } | Type::Unsized { .. }, Type::Pointer { .. }) =
            (self.checker.types.get(inner.ty), self.checker.types.get(ty))
            && let Some(pointer) = self.decay(inner.clone())
        {
            inner = pointer;
        }
        let from = inner.ty;
        if from == ty {
            return inner;
        }
        let Some(kind) = self.cast_kind(from, ty) else {
            self.bad_cast(from, ty, span);
            return poison(span);
        };
        // between two known spaces there is no way; between pointees of one space there is
        let mut result = self.cast(kind, inner, ty);
        result.span = span;
        result
    }

    fn bad_cast(&mut self, from: TypeId, to: TypeId, span: Span) {
        let message = format!("`{}` cannot be converted to `{}`", self.show(from), self.show(to));
        let spaces = (self.checker.types.pointee(from), self.checker.types.pointee(to));
        let mut diagnostic = Diagnostic::new(Code::E0209, span, message);
        if let (Some(a), Some(b)) = spaces
            && a.0 != b.0
        {
            diagnostic = diagnostic.note("memory spaces do not overlap: no conversion makes one into the other (guide 4.18.3)");
        }
        self.report(diagnostic);
    }

    /// What `as` does between two types; none when it is not possible.
    pub(crate) fn cast_kind(&self, from: TypeId, to: TypeId) -> Option<CastKind> {
        let types = &self.checker.types;
        let handle = |ty: &Type| matches!(ty, Type::Texture | Type::Surface);
        Some(match (types.get(from), types.get(to)) {
            (Type::Int(_) | Type::Float(_), Type::Bool) => CastKind::ToBool,
            (Type::Int(_) | Type::Bool | Type::Enum(_) | Type::CudaError, Type::Int(_)) => CastKind::Int,
            (Type::Int(_), Type::Enum(_) | Type::CudaError) | (Type::Enum(_), Type::Enum(_)) => CastKind::Int,
            (Type::Int(_) | Type::Bool, Type::Float(_)) => CastKind::IntToFloat,
            (Type::Float(_), Type::Int(_)) => CastKind::FloatToInt,
            (Type::Float(_), Type::Float(_)) => CastKind::Float,
            (Type::Pointer { space: a, .. }, Type::Pointer { space: b, .. }) => match (a, b) {
                (a, b) if a == b => CastKind::Pointer,
                (_, Space::Generic) => CastKind::ToGeneric,
                (Space::Generic, _) => CastKind::FromGeneric,
                _ => return None,
            },
            (Type::Pointer { .. }, Type::Int(int)) if int.bits() == 64 => CastKind::PointerToInt,
            (Type::Int(int), Type::Pointer { .. }) if int.bits() == 64 => CastKind::IntToPointer,
            (texture, Type::Int(int)) if handle(texture) && int.bits() == 64 => CastKind::PointerToInt,
            (Type::Int(int), texture) if handle(texture) && int.bits() == 64 => CastKind::IntToPointer,
            _ => return None,
        })
    }

    /// A conversion node, folded when its operand is constant.
    pub(crate) fn cast(&mut self, kind: CastKind, expr: Expr, ty: TypeId) -> Expr {
        let span = expr.span;
        self.fold(ExprKind::Cast(kind, Box::new(expr)), ty, span)
    }

    /// An integer in another integer type.
    pub(crate) fn cast_int(&mut self, expr: Expr, ty: TypeId) -> Expr {
        if expr.ty == ty || is_poison(&expr) { expr } else { self.cast(CastKind::Int, expr, ty) }
    }
}

/// Whether `expr as T` would bind to the last operand only.
fn needs_parens(expr: &ast::Expr) -> bool {
    matches!(expr.kind, ast::ExprKind::Binary { .. } | ast::ExprKind::If { .. })
}
