//! Calls of pure builtins: mathematics, bits, conversions that round as they say.

use super::body::{Body, is_poison, poison};
use crate::builtins::{Conversion, Domain, Intrinsic, PartsFn};
use crate::diag::{Code, Diagnostic};
use crate::ir::CastKind;
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{Float, Int, Scalar, Space, Type, TypeId, TypeTable};

impl Body<'_, '_> {
    /// `__float2int_rd(x)` and its kin.
    pub(super) fn conversion(&mut self, conversion: Conversion, args: &[ast::Arg], span: Span) -> Expr {
        if !self.count(conversion.name, args, 1, 1, span) {
            return self.skip_args(args, span);
        }
        let Some(arg) = args.first() else { return poison(span) };
        let value = self.expr_as(&arg.value, conversion.from);
        if is_poison(&value) {
            return value;
        }
        Expr { kind: ExprKind::Cast(CastKind::Rounded(conversion.rounding), Box::new(value)), ty: conversion.to, span }
    }

    /// `sincos(x, &s, &c)` and its kin.
    pub(super) fn parts(
        &mut self,
        function: PartsFn,
        fixed: Option<TypeId>,
        name: &str,
        args: &[ast::Arg],
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        let count = 1 + function.pointers();
        if !self.count(name, args, count, count, span) {
            return self.skip_args(args, span);
        }
        let Some((first, pointers)) = args.split_first() else { return poison(span) };
        let value = self.float_or(fixed, &first.value, expect);
        if is_poison(&value) {
            return self.skip_args(pointers, span);
        }
        if !self.in_domain(Domain::Float, value.ty) {
            let message = format!("`{name}` does not work on `{}`", self.show(value.ty));
            self.report(Diagnostic::new(Code::E0203, first.span, message).help("it works on `f32` and `f64`"));
            return self.skip_args(pointers, span);
        }
        let ty = value.ty;
        let pointee = if function == PartsFn::Frexp { TypeTable::I32 } else { ty };
        let mut typed = vec![value];
        typed.extend(pointers.iter().map(|pointer| self.address_of_a(pointee, false, pointer)));
        if typed.iter().any(is_poison) {
            return poison(span);
        }
        let result = match function {
            PartsFn::Modf | PartsFn::Frexp => ty,
            _ => TypeTable::VOID,
        };
        Expr { kind: ExprKind::Parts(function, typed), ty: result, span }
    }

    /// The address of an `i32`, as CUDA has it, or of a `bool`.
    pub(super) fn truth_pointer(&mut self, arg: &ast::Arg) -> Expr {
        let typed = self.expr(&arg.value, None);
        let is_bool = self.checker.types.pointee(typed.ty).is_some_and(|(_, pointee, _)| pointee == TypeTable::BOOL);
        if is_bool || typed.ty == TypeTable::BOOL {
            return self.address_of_typed(typed, TypeTable::BOOL, false, arg);
        }
        self.address_of_typed(typed, TypeTable::I32, false, arg)
    }

    /// `fixed` is the type that the name says, as `sinf` does.
    pub(super) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        fixed: Option<TypeId>,
        name: &str,
        args: &[ast::Arg],
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        if !self.count(name, args, intrinsic.arity(), intrinsic.arity(), span) {
            return self.skip_args(args, span);
        }
        let domain = intrinsic.domain();
        let typed = self.intrinsic_args(domain, fixed, args, expect);
        if typed.iter().any(is_poison) {
            return poison(span);
        }
        if let Some(wrong) = self.outside_domain(domain, &typed) {
            let (ty, at) = (wrong.ty, wrong.span);
            let mut diagnostic = Diagnostic::new(Code::E0203, at, format!("`{name}` does not work on `{}`", self.show(ty)));
            if let Some(help) = self.domain_help(intrinsic, ty, at) {
                diagnostic = diagnostic.help(help);
            }
            self.report(diagnostic);
            return poison(span);
        }
        let result = self.result_of(domain, &typed);
        Expr { kind: ExprKind::Intrinsic(intrinsic, typed), ty: result, span }
    }

    fn domain_help(&mut self, intrinsic: Intrinsic, ty: TypeId, at: Span) -> Option<String> {
        if intrinsic.domain().is_of_mathematics() && matches!(self.checker.types.get(ty), Type::Int(_)) {
            return Some(format!("convert first: `{} as f32`", self.text(at)));
        }
        match (intrinsic, intrinsic.domain()) {
            (Intrinsic::Dp4a, _) => Some("it works on `i32` and `u32`, each four bytes, and on `i8x4` and `u8x4`".to_owned()),
            (_, Domain::Products) => Some(
                "it works on `i32` and `u32`, two halves and four bytes, and on `i16x2` and `u16x2` with `i8x4` and `u8x4`"
                    .to_owned(),
            ),
            (_, Domain::Word | Domain::Differences) => Some("it works on `i32` and `u32`".to_owned()),
            _ => None,
        }
    }

    /// The arguments, in the types that the domain, the name or the arguments themselves say.
    fn intrinsic_args(
        &mut self,
        domain: Domain,
        fixed: Option<TypeId>,
        args: &[ast::Arg],
        expect: Option<TypeId>,
    ) -> Vec<Expr> {
        match (domain, args) {
            (Domain::Fixed(types, _), _) => args.iter().zip(types).map(|(arg, ty)| self.expr_as(&arg.value, *ty)).collect(),
            (Domain::F32, _) => args.iter().map(|arg| self.expr_as(&arg.value, TypeTable::F32)).collect(),
            (Domain::U32, _) => args.iter().map(|arg| self.expr_as(&arg.value, TypeTable::U32)).collect(),
            (Domain::FloatInt, [value, number]) => {
                let value = self.float_or(fixed, &value.value, expect);
                vec![value, self.expr_as(&number.value, TypeTable::I32)]
            }
            (Domain::IntFloat, [number, value]) => {
                let number = self.expr_as(&number.value, TypeTable::I32);
                vec![number, self.float_or(fixed, &value.value, expect)]
            }
            (Domain::Address, [pointer]) => {
                let wanted = self.checker.types.pointer(Space::Generic, TypeTable::VOID, true);
                vec![self.expr_as(&pointer.value, wanted)]
            }
            (Domain::Products, [a, b, sum]) => self.products(a, b, sum),
            (Domain::Differences, [a, b, sum]) if fixed.is_none() => {
                let (a, b) = self.same_type(&a.value, &b.value, None, "the arguments");
                vec![a, b, self.expr_as(&sum.value, TypeTable::U32)]
            }
            _ => match fixed {
                Some(ty) => args.iter().map(|arg| self.expr_as(&arg.value, ty)).collect(),
                None => self.common_args(domain, args, expect),
            },
        }
    }

    fn float_or(&mut self, fixed: Option<TypeId>, arg: &ast::Expr, expect: Option<TypeId>) -> Expr {
        match fixed {
            Some(ty) => self.expr_as(arg, ty),
            None => self.float_arg(arg, expect),
        }
    }

    /// Two words of packed numbers, where the vectors that have these bits may stand, and what their products are added to.
    fn products(&mut self, a: &ast::Arg, b: &ast::Arg, sum: &ast::Arg) -> Vec<Expr> {
        let packed = [a, b].map(|arg| {
            let typed = self.expr(&arg.value, Some(TypeTable::I32));
            let word = match self.checker.types.get(typed.ty) {
                Type::Vector { element: Scalar::Int(Int::I8), lanes: 4 }
                | Type::Vector { element: Scalar::Int(Int::I16), lanes: 2 } => TypeTable::I32,
                Type::Vector { element: Scalar::Int(Int::U8), lanes: 4 }
                | Type::Vector { element: Scalar::Int(Int::U16), lanes: 2 } => TypeTable::U32,
                _ => return typed,
            };
            self.cast(CastKind::Bits, typed, word)
        });
        let unsigned = packed.iter().all(|word| word.ty == TypeTable::U32);
        let sum = self.expr_as(&sum.value, if unsigned { TypeTable::U32 } else { TypeTable::I32 });
        let [a, b] = packed;
        vec![a, b, sum]
    }

    /// The arguments in the type that they have in common.
    fn common_args(&mut self, domain: Domain, args: &[ast::Arg], expect: Option<TypeId>) -> Vec<Expr> {
        match args {
            [a, b, rest @ ..] => {
                // the first two decide; the others follow
                let expect = expect.filter(|ty| self.is_number(*ty));
                let (a, b) = self.same_type(&a.value, &b.value, expect, "the arguments");
                let ty = (!is_poison(&a)).then_some(a.ty);
                let mut typed = vec![a, b];
                typed.extend(rest.iter().map(|arg| match ty {
                    Some(ty) => self.expr_as(&arg.value, ty),
                    None => self.expr(&arg.value, None),
                }));
                typed
            }
            [a] if domain.is_of_floats() => {
                let expect = match (domain, expect) {
                    (Domain::FloatToBits, Some(TypeTable::I32)) => Some(TypeTable::F32),
                    _ => expect.filter(|ty| self.checker.types.as_float(*ty).is_some()),
                };
                vec![self.float_arg(&a.value, expect)]
            }
            [a] if domain == Domain::BitsToFloat => {
                // a literal is as wide as the result that is wanted
                let wanted = if expect == Some(TypeTable::F64) { TypeTable::I64 } else { TypeTable::I32 };
                let fits = super::expr::is_literal(&a.value) && self.literal_fits(&a.value, wanted);
                let unsigned = if wanted == TypeTable::I64 { TypeTable::U64 } else { TypeTable::U32 };
                vec![self.expr(&a.value, Some(if fits { wanted } else { unsigned }))]
            }
            [a] => vec![self.expr(&a.value, expect.filter(|ty| self.is_number(*ty)))],
            [] => Vec::new(),
        }
    }

    /// An integer literal where a float is wanted is one.
    fn float_arg(&mut self, arg: &ast::Expr, expect: Option<TypeId>) -> Expr {
        if super::expr::is_literal(arg) {
            let expect = expect.filter(|ty| self.checker.types.as_float(*ty).is_some());
            return self.expr(arg, Some(expect.unwrap_or(TypeTable::F64)));
        }
        self.expr(arg, expect)
    }

    /// Whether an integer literal is in the range of a type; true for anything else.
    fn literal_fits(&self, literal: &ast::Expr, ty: TypeId) -> bool {
        match (&literal.without_parens().kind, self.checker.types.as_int(ty)) {
            (ast::ExprKind::Int { value, .. }, Some(int)) => i128::from(*value) <= int.range().1,
            _ => true,
        }
    }

    fn is_number(&self, ty: TypeId) -> bool {
        matches!(self.checker.types.get(ty), Type::Int(_) | Type::Float(_))
    }

    /// The first argument that the domain does not have.
    fn outside_domain<'e>(&self, domain: Domain, args: &'e [Expr]) -> Option<&'e Expr> {
        let deciding = match domain {
            Domain::IntFloat => args.get(1..2)?,
            Domain::Products => args.get(..2)?,
            _ => args.get(..1)?,
        };
        deciding.iter().find(|arg| !self.in_domain(domain, arg.ty))
    }

    fn in_domain(&self, domain: Domain, ty: TypeId) -> bool {
        let word = ty == TypeTable::I32 || ty == TypeTable::U32;
        match (domain, self.checker.types.get(ty)) {
            (Domain::Fixed(..) | Domain::F32 | Domain::U32 | Domain::Address, _) => true,
            (Domain::AnyFloat, Type::Float(_)) | (Domain::Number, Type::Int(_) | Type::Float(_)) => true,
            (domain, Type::Float(float)) if domain.is_of_floats() => matches!(float, Float::F32 | Float::F64),
            (Domain::Integer, Type::Int(_)) => true,
            (Domain::BitsToInt | Domain::Bits | Domain::BitsToFloat, Type::Int(int)) => int.bits() >= 32,
            (Domain::Word | Domain::Differences | Domain::Products, _) => word,
            _ => false,
        }
    }

    fn result_of(&self, domain: Domain, args: &[Expr]) -> TypeId {
        let ty = args.first().map_or(TypeTable::POISON, |arg| arg.ty);
        match domain {
            Domain::FloatToBool | Domain::Address => TypeTable::BOOL,
            Domain::BitsToInt | Domain::FloatToInt => TypeTable::I32,
            Domain::FloatToLong => TypeTable::I64,
            Domain::FloatToBits if ty == TypeTable::F32 => TypeTable::I32,
            Domain::FloatToBits => TypeTable::I64,
            Domain::BitsToFloat if self.checker.types.as_int(ty).is_some_and(|int| int.bits() == 32) => TypeTable::F32,
            Domain::BitsToFloat => TypeTable::F64,
            Domain::Differences => TypeTable::U32,
            Domain::IntFloat | Domain::Products => args.last().map_or(ty, |arg| arg.ty),
            Domain::Fixed(_, result) => result,
            Domain::Float
            | Domain::AnyFloat
            | Domain::F32
            | Domain::FloatInt
            | Domain::Number
            | Domain::Integer
            | Domain::Bits
            | Domain::U32
            | Domain::Word => ty,
        }
    }
}
