//! Operators and literals.

use super::body::{Body, is_poison, poison};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, BinaryOp, Const, ConstValue, UnaryOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{Float, Int, Space, Type, TypeId, TypeTable};

/// A constant as an expression.
pub(crate) fn const_expr(constant: Const, span: Span) -> Expr {
    Expr { ty: constant.ty, kind: ExprKind::Const(constant), span }
}

/// `x y z w` as 0 to 3.
pub(crate) fn lane_index(name: &str) -> Option<u32> {
    Some(match name {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        "w" => 3,
        _ => return None,
    })
}

/// The operator of the IR; none for `&&` and `||`.
pub(crate) const fn ir_op(op: ast::BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        ast::BinaryOp::Mul => BinaryOp::Mul,
        ast::BinaryOp::Div => BinaryOp::Div,
        ast::BinaryOp::Rem => BinaryOp::Rem,
        ast::BinaryOp::Add => BinaryOp::Add,
        ast::BinaryOp::Sub => BinaryOp::Sub,
        ast::BinaryOp::Shl => BinaryOp::Shl,
        ast::BinaryOp::Shr => BinaryOp::Shr,
        ast::BinaryOp::BitAnd => BinaryOp::And,
        ast::BinaryOp::BitXor => BinaryOp::Xor,
        ast::BinaryOp::BitOr => BinaryOp::Or,
        ast::BinaryOp::Eq => BinaryOp::Eq,
        ast::BinaryOp::Ne => BinaryOp::Ne,
        ast::BinaryOp::Lt => BinaryOp::Lt,
        ast::BinaryOp::Le => BinaryOp::Le,
        ast::BinaryOp::Gt => BinaryOp::Gt,
        ast::BinaryOp::Ge => BinaryOp::Ge,
        ast::BinaryOp::And | ast::BinaryOp::Or => return None,
    })
}

/// Whether an expression is `null`.
pub(crate) fn is_null(expr: &ast::Expr) -> bool {
    expr.without_parens().as_ident().is_some_and(|name| name.name == "null")
}

/// Whether an expression is made of literals alone, so that it takes whatever numeric type is wanted.
pub(crate) fn is_literal(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Int { suffix, .. } | ast::ExprKind::Float { suffix, .. } => suffix.is_none(),
        ast::ExprKind::Char(_) => true,
        ast::ExprKind::Paren(inner) => is_literal(inner),
        ast::ExprKind::Unary { op: ast::UnaryOp::Neg | ast::UnaryOp::Not, operand } => is_literal(operand),
        ast::ExprKind::Binary { op, lhs, rhs, .. } => {
            !op.is_comparison() && !op.is_logical() && is_literal(lhs) && is_literal(rhs)
        }
        ast::ExprKind::If { then, otherwise, .. } => is_literal(then) && is_literal(otherwise),
        ast::ExprKind::Path(path) => path.as_ident().is_some_and(|name| name.name == "null"),
        _ => false,
    }
}

fn has_float(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ast::ExprKind::Float { .. } => true,
        ast::ExprKind::Paren(inner) | ast::ExprKind::Unary { operand: inner, .. } => has_float(inner),
        ast::ExprKind::Binary { lhs, rhs, .. } => has_float(lhs) || has_float(rhs),
        ast::ExprKind::If { then, otherwise, .. } => has_float(then) || has_float(otherwise),
        _ => false,
    }
}

impl Body<'_, '_> {
    /// An expression. Literals take the wanted type; anything else keeps its own.
    pub(crate) fn expr(&mut self, expr: &ast::Expr, expect: Option<TypeId>) -> Expr {
        self.deeper(expr.span, |body| body.expr_inner(expr, expect))
    }

    fn expr_inner(&mut self, expr: &ast::Expr, expect: Option<TypeId>) -> Expr {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Error => poison(span),
            ast::ExprKind::Paren(inner) => self.expr(inner, expect),
            ast::ExprKind::Int { value, suffix } => self.int_literal(*value, false, *suffix, expect, span),
            ast::ExprKind::Char(byte) => self.int_literal(u64::from(*byte), false, None, expect, span),
            ast::ExprKind::Float { text, suffix } => self.float_literal(text, *suffix, expect, span),
            ast::ExprKind::Bool(value) => const_expr(Const::bool(*value), span),
            ast::ExprKind::String(text) => const_expr(Const { ty: TypeTable::STR, value: ConstValue::Str(text.clone()) }, span),
            ast::ExprKind::Path(_) | ast::ExprKind::Field { .. } | ast::ExprKind::Index { .. } => {
                let value = self.value(expr, expect);
                self.read(value, span)
            }
            ast::ExprKind::Unary { op, operand } => self.unary(*op, operand, expect, expr),
            ast::ExprKind::Binary { op, op_span, lhs, rhs } => self.binary(*op, *op_span, lhs, rhs, expect, span),
            ast::ExprKind::Cast { operand, ty } => {
                let ty = self.resolve_sized(ty, "a value");
                self.cast_expr(operand, ty, span)
            }
            ast::ExprKind::If { cond, then, otherwise } => {
                let condition = self.condition(cond);
                let (then, otherwise) = self.same_type(then, otherwise, expect, "the two values of an `if`");
                if is_poison(&condition) || is_poison(&then) || is_poison(&otherwise) {
                    return poison(span);
                }
                let ty = then.ty;
                Expr { kind: ExprKind::If(Box::new(condition), Box::new(then), Box::new(otherwise)), ty, span }
            }
            ast::ExprKind::Array(elements) => self.array(elements, expect, span),
            ast::ExprKind::Repeat { value, count } => self.repeat(value, count, expect, span),
            ast::ExprKind::Call { callee, args } => self.call(callee, args, expect, span),
            ast::ExprKind::Launch { kernel, config, config_span, args } => {
                self.launch(kernel, config, *config_span, args, span)
            }
            ast::ExprKind::SizeOf(ty) => self.size_constant(ty, span, |layout| layout.size),
            ast::ExprKind::AlignOf(ty) => self.size_constant(ty, span, |layout| u64::from(layout.align)),
            ast::ExprKind::OffsetOf { ty, field } => self.offset_of(ty, field, span),
            ast::ExprKind::Type(ty) => {
                if let ast::TypeKind::Path(path) = &ty.kind
                    && !self.is_type_name(&path.name.name)
                {
                    return self.several_indices(path, span);
                }
                self.report(Diagnostic::new(Code::E0203, span, "this is a type, a value is needed here"));
                poison(span)
            }
        }
    }

    /// `a[i, j]` of something that is no type.
    fn several_indices(&mut self, path: &ast::Path, span: Span) -> Expr {
        let known = self
            .value(&ast::Expr::new(ast::ExprKind::Path(ast::Path { args: Vec::new(), ..path.clone() }), path.name.span), None);
        let is_wrong = matches!(&known, super::value::Value::Expr(value) if is_poison(value));
        if !is_wrong {
            let at = Span::new(span.file, path.name.span.end, span.end);
            let indices: Vec<String> = path.args.iter().map(|arg| self.text(arg.span).to_owned()).collect();
            self.report(crate::syntax::several_indices(at, indices.iter().map(String::as_str)));
        }
        poison(span)
    }

    /// An expression of any integer type, extended with what a message says it is for. A literal is as wide as it must be.
    pub(crate) fn integer(&mut self, expr: &ast::Expr, what: &str) -> Option<Expr> {
        let expect = match expr.without_parens().kind {
            ast::ExprKind::Int { value, suffix: None } if i64::try_from(value).is_err() => Some(TypeTable::U64),
            ast::ExprKind::Int { value, suffix: None } if i32::try_from(value).is_err() => Some(TypeTable::I64),
            _ => None,
        };
        let typed = self.expr(expr, expect);
        if is_poison(&typed) {
            return None;
        }
        if matches!(self.checker.types.get(typed.ty), Type::Int(_)) {
            return Some(typed);
        }
        let message = format!("{what}, this is `{}`", self.show(typed.ty));
        let mut diagnostic = Diagnostic::new(Code::E0203, expr.span, message);
        if self.checker.types.as_int(typed.ty).is_some() || self.checker.types.as_float(typed.ty).is_some() {
            diagnostic = diagnostic.help(format!("convert it: `{} as i32`", self.text(expr.span)));
        }
        self.report(diagnostic);
        None
    }

    fn size_constant(&mut self, ty: &ast::TypeExpr, span: Span, of: impl Fn(crate::types::layout::Layout) -> u64) -> Expr {
        let id = self.resolve_sized(ty, "a value");
        if id == TypeTable::POISON {
            return poison(span);
        }
        const_expr(Const::u64(of(self.checker.types.layout(id, self.width()))), span)
    }

    fn offset_of(&mut self, ty: &ast::TypeExpr, field: &ast::Ident, span: Span) -> Expr {
        let id = self.resolve_sized(ty, "a value");
        let Type::Struct(sid) = *self.checker.types.get(id) else {
            if id != TypeTable::POISON {
                let message = format!("`{}` has no fields", self.show(id));
                self.report(Diagnostic::new(Code::E0206, ty.span, message));
            }
            return poison(span);
        };
        let fields = self.checker.types.struct_def(sid).map(|def| def.fields.clone()).unwrap_or_default();
        let Some(index) = fields.iter().position(|f| f.name == field.name) else {
            let message = format!("`{}` has no field `{}`", self.show(id), field.name);
            self.report(Diagnostic::new(Code::E0206, field.span, message));
            return poison(span);
        };
        let offset = self.checker.types.element_offset(id, index as u64, self.width()).unwrap_or(0);
        const_expr(Const::u64(offset), span)
    }

    // ------------------------------------------------------------------------------------------------------ literals

    fn int_literal(
        &mut self,
        value: u64,
        negative: bool,
        suffix: Option<ast::Suffix>,
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        let ty = match suffix {
            Some(suffix) => suffix_type(suffix),
            None => expect.filter(|ty| self.takes_int_literal(*ty)).unwrap_or(TypeTable::I32),
        };
        let value = if negative { -i128::from(value) } else { i128::from(value) };
        if let Some(float) = self.float_element(ty) {
            return const_expr(Const::bits(ty, crate::ir::eval::from_int(float, value)), span);
        }
        let Some(int) = self.int_element(ty) else { return poison(span) };
        let (least, most) = int.range();
        if value < least || value > most {
            let message = format!("{value} does not fit `{}`, which holds {least} to {most}", int.name());
            let mut diagnostic = Diagnostic::new(Code::E0212, span, message);
            let wider = [Int::I64, Int::U64].into_iter().find(|wide| value >= wide.range().0 && value <= wide.range().1);
            if suffix.is_none()
                && expect.is_none()
                && let Some(wide) = wider
            {
                let digits = self.text(span);
                diagnostic = diagnostic.help(format!("say the type: `{digits}{}`", wide.name()));
            }
            self.report(diagnostic);
            return poison(span);
        }
        const_expr(Const::bits(ty, int.wrap(value)), span)
    }

    fn float_literal(&mut self, text: &str, suffix: Option<ast::Suffix>, expect: Option<TypeId>, span: Span) -> Expr {
        let ty = match suffix {
            Some(suffix) => suffix_type(suffix),
            None => expect.filter(|ty| self.float_element(*ty).is_some()).unwrap_or(TypeTable::F64),
        };
        let Some(float) = self.float_element(ty) else { return poison(span) };
        let bits = crate::ir::eval::round_decimal(float, text);
        let Some(bits) = bits else { return poison(span) };
        if float.value(bits).is_infinite() {
            let message = format!("{text} is too large for `{}`", float.name());
            self.report(Diagnostic::new(Code::E0212, span, message));
            return poison(span);
        }
        const_expr(Const::bits(ty, bits), span)
    }

    fn takes_int_literal(&self, ty: TypeId) -> bool {
        matches!(self.checker.types.get(ty), Type::Int(_) | Type::Float(_))
    }

    fn int_element(&self, ty: TypeId) -> Option<Int> {
        match self.checker.types.get(ty) {
            Type::Int(int) => Some(*int),
            _ => None,
        }
    }

    fn float_element(&self, ty: TypeId) -> Option<Float> {
        self.checker.types.as_float(ty)
    }

    // ----------------------------------------------------------------------------------------------------- operators

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, expect: Option<TypeId>, whole: &ast::Expr) -> Expr {
        let span = whole.span;
        match op {
            ast::UnaryOp::Deref => {
                let value = self.value(whole, None);
                self.read(value, span)
            }
            ast::UnaryOp::AddressOf => self.address_of(operand, span),
            ast::UnaryOp::Neg => {
                if let ast::ExprKind::Int { value, suffix } = &operand.without_parens().kind {
                    return self.int_literal(*value, true, *suffix, expect, span);
                }
                let inner = self.expr(operand, expect);
                let ok = match self.checker.types.get(inner.ty) {
                    Type::Int(_) | Type::Float(_) | Type::Vector { .. } => true,
                    Type::Poison => return poison(span),
                    _ => false,
                };
                if !ok {
                    self.bad_operator("-", span, inner.ty, None);
                    return poison(span);
                }
                if let Type::Int(int) = self.checker.types.get(inner.ty)
                    && !int.signed()
                {
                    let message = format!("`-` on `{}`, which has no negative values", int.name());
                    let diagnostic = Diagnostic::new(Code::E0208, span, message);
                    let text = self.text(operand.span);
                    self.report(diagnostic.help(format!("`wrapping_neg({text})` computes modulo 2 to the width")));
                    return poison(span);
                }
                self.fold(ExprKind::Unary(UnaryOp::Neg, Box::new(inner.clone())), inner.ty, span)
            }
            ast::UnaryOp::Not => {
                let inner = self.expr(operand, expect);
                match self.checker.types.get(inner.ty) {
                    Type::Int(_) | Type::Bool => {}
                    Type::Vector { element: crate::types::Scalar::Int(_), .. } => {}
                    Type::Poison => return poison(span),
                    _ => {
                        self.bad_operator("!", span, inner.ty, None);
                        return poison(span);
                    }
                }
                let ty = inner.ty;
                self.fold(ExprKind::Unary(UnaryOp::Not, Box::new(inner)), ty, span)
            }
        }
    }

    fn address_of(&mut self, operand: &ast::Expr, span: Span) -> Expr {
        let Some(place) = self.place(operand, "take the address of") else { return poison(span) };
        let Some((space, constant)) = self.place_space(&place) else { return poison(span) };
        // the address of dynamic shared memory is that of its first element
        let pointee = match self.checker.types.get(place.ty) {
            Type::Unsized { element } => *element,
            _ => place.ty,
        };
        let ty = self.checker.types.qualified_pointer(space, pointee, constant, self.is_volatile(&place));
        Expr { kind: ExprKind::AddressOf(Box::new(place)), ty, span }
    }

    /// The address space that a place lies in, and whether it is read-only.
    pub(crate) fn place_space(&self, place: &Place) -> Option<(Space, bool)> {
        match &place.kind {
            PlaceKind::Variable(id) => {
                let mutable = self.mutable.get(id.0 as usize).copied();
                Some((Space::Local, mutable != Some(super::body::Mutability::Var)))
            }
            PlaceKind::Global(id) => {
                let global = self.checker.globals.get(id.0 as usize)?;
                Some((global.space, global.space == Space::Constant))
            }
            PlaceKind::Deref(pointer) => self.checker.types.pointee(pointer.ty).map(|(space, _, constant)| (space, constant)),
            PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => self.place_space(inner),
        }
    }

    /// Whether what lies at a place is volatile: behind a pointer to `volatile`, or in a variable declared so.
    pub(crate) fn is_volatile(&self, place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Variable(_) => false,
            PlaceKind::Global(id) => self.checker.volatile_globals.contains(id),
            PlaceKind::Deref(pointer) => self.checker.types.is_volatile(pointer.ty),
            PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => self.is_volatile(inner),
        }
    }

    /// How a place is read and written.
    pub(crate) fn access_of(&self, place: &Place) -> Access {
        if self.is_volatile(place) { Access::Volatile } else { Access::Plain }
    }

    fn binary(
        &mut self,
        op: ast::BinaryOp,
        op_span: Span,
        lhs: &ast::Expr,
        rhs: &ast::Expr,
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        let Some(ir) = ir_op(op) else { return self.logical(op, lhs, rhs, span) };
        if matches!(ir, BinaryOp::Shl | BinaryOp::Shr) {
            return self.shift(ir, op_span, lhs, rhs, expect, span);
        }
        if ir.is_comparison() {
            return self.comparison(ir, op_span, lhs, rhs, span);
        }
        let expect =
            expect.filter(|ty| matches!(self.checker.types.get(*ty), Type::Int(_) | Type::Float(_) | Type::Vector { .. }));
        let (left, right) = self.operands(lhs, rhs, expect);
        if is_poison(&left) || is_poison(&right) {
            return poison(span);
        }
        if let Some(result) = self.pointer_arithmetic(ir, &left, &right, op_span, span) {
            return result;
        }
        let (left_ty, right_ty) = (left.ty, right.ty);
        let named = |ty| matches!(self.checker.types.get(ty), Type::Enum(_) | Type::CudaError);
        if named(left_ty) || named(right_ty) {
            self.bad_operator(op.symbol(), op_span, left_ty, Some(right_ty));
            return poison(span);
        }
        let Some((left, right)) = self.unify(left, right) else {
            self.mismatched_operands(op, op_span, (lhs, left_ty), (rhs, right_ty));
            return poison(span);
        };
        if !self.operator_works(ir, left.ty) {
            self.bad_operator(op.symbol(), op_span, left.ty, Some(right.ty));
            return poison(span);
        }
        if !self.check_divisor(ir, left.ty, &right) {
            return poison(span);
        }
        let ty = left.ty;
        self.fold(ExprKind::Binary(ir, Box::new(left), Box::new(right)), ty, span)
    }

    fn logical(&mut self, op: ast::BinaryOp, lhs: &ast::Expr, rhs: &ast::Expr, span: Span) -> Expr {
        let left = self.condition(lhs);
        let right = self.condition(rhs);
        if left.ty != TypeTable::BOOL || right.ty != TypeTable::BOOL {
            return poison(span);
        }
        let (left, right) = (Box::new(left), Box::new(right));
        let kind = if op == ast::BinaryOp::And { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
        Expr { kind, ty: TypeTable::BOOL, span }
    }

    fn shift(
        &mut self,
        op: BinaryOp,
        op_span: Span,
        lhs: &ast::Expr,
        rhs: &ast::Expr,
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        let left = self.expr(lhs, expect);
        let right = self.integer(rhs, "a shift is by a number of bits");
        let Some(right) = right.filter(|_| !is_poison(&left)) else { return poison(span) };
        let Some(int) = self.int_element(left.ty) else {
            self.bad_operator(op.symbol(), op_span, left.ty, None);
            return poison(span);
        };
        if let Some(by) = self.int_value(&right)
            && (by < 0 || by >= i128::from(int.bits()))
        {
            let message = format!("`{}` has {} bits and cannot be shifted by {by}", int.name(), int.bits());
            self.report(Diagnostic::new(Code::E0214, rhs.span, message));
            return poison(span);
        }
        let ty = left.ty;
        self.fold(ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span)
    }

    fn comparison(&mut self, op: BinaryOp, op_span: Span, lhs: &ast::Expr, rhs: &ast::Expr, span: Span) -> Expr {
        let (left, right) = self.operands(lhs, rhs, None);
        if is_poison(&left) || is_poison(&right) {
            return poison(span);
        }
        let (left_ty, right_ty) = (left.ty, right.ty);
        let Some((left, right)) = self.unify(left, right) else {
            let message = format!("`{}` and `{}` cannot be compared", self.show(left_ty), self.show(right_ty));
            let diagnostic = Diagnostic::new(Code::E0203, op_span, message)
                .also(lhs.span, format!("`{}`", self.show(left_ty)))
                .also(rhs.span, format!("`{}`", self.show(right_ty)));
            let diagnostic = self.with_cast_help(diagnostic, rhs, right_ty, left_ty);
            self.report(diagnostic);
            return poison(span);
        };
        let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let works = match self.checker.types.get(left.ty) {
            Type::Int(_) | Type::Float(_) | Type::Pointer { .. } => true,
            Type::Bool | Type::Enum(_) | Type::CudaError => equality,
            ty => ty.is_address() && equality,
        };
        if !works {
            self.bad_operator(op.symbol(), op_span, left.ty, Some(right.ty));
            return poison(span);
        }
        self.fold(ExprKind::Binary(op, Box::new(left), Box::new(right)), TypeTable::BOOL, span)
    }

    /// Both operands; where one is a literal it takes the other's type.
    pub(crate) fn operands(&mut self, lhs: &ast::Expr, rhs: &ast::Expr, expect: Option<TypeId>) -> (Expr, Expr) {
        match (is_literal(lhs), is_literal(rhs)) {
            (true, false) => {
                let right = self.expr(rhs, expect);
                let wanted = self.literal_type(right.ty).or(expect);
                (self.expr(lhs, wanted), right)
            }
            (false, true) => {
                let left = self.expr(lhs, expect);
                let wanted = self.literal_type(left.ty).or(expect);
                let right = self.expr(rhs, wanted);
                (left, right)
            }
            (true, true) => {
                let default = if has_float(lhs) || has_float(rhs) { TypeTable::F64 } else { TypeTable::I32 };
                let wanted = Some(expect.unwrap_or(default));
                (self.expr(lhs, wanted), self.expr(rhs, wanted))
            }
            (false, false) => (self.expr(lhs, expect), self.expr(rhs, expect)),
        }
    }

    /// What a literal beside a value of this type should be: the element for vectors, an index for pointers.
    fn literal_type(&self, ty: TypeId) -> Option<TypeId> {
        match self.checker.types.get(ty) {
            Type::Int(_) | Type::Float(_) | Type::Pointer { .. } => Some(ty),
            Type::Vector { element, .. } => Some(TypeTable::scalar(*element)),
            _ => None,
        }
    }

    /// Whether arithmetic works on a type.
    pub(crate) fn operator_works(&self, op: BinaryOp, ty: TypeId) -> bool {
        use crate::types::Scalar;
        let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        match self.checker.types.get(ty) {
            Type::Int(_) | Type::Vector { element: Scalar::Int(_), .. } => true,
            Type::Float(_) | Type::Vector { element: Scalar::Float(_), .. } => !bitwise,
            Type::Bool => bitwise,
            _ => false,
        }
    }

    /// `p + i`, `i + p`, `p - i`, `p - q`; none when no pointer is involved.
    fn pointer_arithmetic(&mut self, op: BinaryOp, left: &Expr, right: &Expr, op_span: Span, span: Span) -> Option<Expr> {
        let left_pointer = self.checker.types.pointee(left.ty);
        let right_pointer = self.checker.types.pointee(right.ty);
        let is_int = |body: &Self, ty: TypeId| matches!(body.checker.types.get(ty), Type::Int(_));
        match (left_pointer, right_pointer, op) {
            (None, None, _) => None,
            (Some(a), Some(b), BinaryOp::Sub) if a.1 == b.1 => {
                self.pointer_step(left.ty, left.span)?;
                let (left, right) = self.unify(left.clone(), right.clone())?;
                let kind = ExprKind::Distance(Box::new(left), Box::new(right));
                Some(Expr { kind, ty: TypeTable::I64, span })
            }
            (Some(_), None, BinaryOp::Add) if is_int(self, right.ty) => Some(self.offset(left.clone(), right.clone(), span)),
            (None, Some(_), BinaryOp::Add) if is_int(self, left.ty) => Some(self.offset(right.clone(), left.clone(), span)),
            (Some(_), None, BinaryOp::Sub) if is_int(self, right.ty) => {
                let wide = self.cast_int(right.clone(), TypeTable::I64);
                let back = self.fold(ExprKind::Unary(UnaryOp::Neg, Box::new(wide)), TypeTable::I64, right.span);
                Some(self.offset(left.clone(), back, span))
            }
            _ => {
                self.bad_operator(op.symbol(), op_span, left.ty, Some(right.ty));
                Some(poison(span))
            }
        }
    }

    fn offset(&mut self, pointer: Expr, index: Expr, span: Span) -> Expr {
        if self.pointer_step(pointer.ty, pointer.span).is_none() {
            return poison(span);
        }
        let ty = pointer.ty;
        Expr { kind: ExprKind::Offset(Box::new(pointer), Box::new(index)), ty, span }
    }

    /// A division by a constant zero is an error of the program wherever it stands; says whether all is well.
    pub(crate) fn check_divisor(&mut self, op: BinaryOp, ty: TypeId, divisor: &Expr) -> bool {
        let zero = matches!(op, BinaryOp::Div | BinaryOp::Rem)
            && matches!(self.checker.types.get(ty), Type::Int(_))
            && self.int_value(divisor) == Some(0);
        if zero {
            self.report(Diagnostic::new(Code::E0214, divisor.span, "division by zero"));
        }
        !zero
    }

    pub(crate) fn bad_operator(&mut self, op: &str, span: Span, left: TypeId, right: Option<TypeId>) {
        let types = match right {
            Some(right) if right != left => format!("`{}` and `{}`", self.show(left), self.show(right)),
            _ => format!("`{}`", self.show(left)),
        };
        let mut diagnostic = Diagnostic::new(Code::E0208, span, format!("`{op}` does not work on {types}"));
        if left == TypeTable::BOOL && matches!(op, "+" | "-" | "*") {
            diagnostic = diagnostic.help("convert first: `flag as i32`");
        }
        let named = [Some(left), right].into_iter().flatten().find_map(|ty| match self.checker.types.get(ty) {
            Type::Enum(_) | Type::CudaError => self.checker.types.as_int(ty),
            _ => None,
        });
        if let Some(int) = named {
            diagnostic = diagnostic
                .help(format!("members have names, but no order and no arithmetic: convert first, `value as {}`", int.name()));
        }
        self.report(diagnostic);
    }

    fn mismatched_operands(
        &mut self,
        op: ast::BinaryOp,
        op_span: Span,
        left: (&ast::Expr, TypeId),
        right: (&ast::Expr, TypeId),
    ) {
        let (left_type, right_type) = (self.show(left.1), self.show(right.1));
        let message = format!("`{}` between `{left_type}` and `{right_type}`", op.symbol());
        let diagnostic = Diagnostic::new(Code::E0203, op_span, message)
            .also(left.0.span, format!("`{left_type}`"))
            .also(right.0.span, format!("`{right_type}`"));
        let diagnostic = self.with_cast_help(diagnostic, right.0, right.1, left.1);
        self.report(diagnostic);
    }

    // -------------------------------------------------------------------------------------------------------- arrays

    fn array(&mut self, elements: &[ast::Expr], expect: Option<TypeId>, span: Span) -> Expr {
        let wanted = expect.and_then(|ty| match self.checker.types.get(ty) {
            Type::Array { element, .. } => Some(*element),
            _ => None,
        });
        let mut element_ty = wanted;
        // literals take the type of the first element that has one; an element is typed once, or the time doubles with every level
        let mut first = None;
        if element_ty.is_none()
            && let Some((at, element)) = elements.iter().enumerate().find(|(_, element)| !is_literal(element))
        {
            let value = self.expr(element, None);
            element_ty = Some(value.ty);
            first = Some((at, value));
        }
        let mut typed = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            let value = match (first.take_if(|(place, _)| *place == at), element_ty) {
                (Some((_, value)), _) => value,
                (None, Some(ty)) => self.expr_as(element, ty),
                (None, None) => self.expr(element, None),
            };
            if is_poison(&value) {
                return poison(span);
            }
            element_ty = Some(value.ty);
            typed.push(value);
        }
        let Some(element_ty) = element_ty.filter(|_| !typed.is_empty()) else {
            self.report(Diagnostic::new(Code::E0304, span, "an array needs at least one element"));
            return poison(span);
        };
        let ty = self.checker.types.array(element_ty, typed.len() as u64);
        let order = (0..u32::try_from(typed.len()).unwrap_or(u32::MAX)).collect();
        self.fold(ExprKind::Aggregate(typed, order), ty, span)
    }

    fn repeat(&mut self, value: &ast::Expr, count: &ast::Expr, expect: Option<TypeId>, span: Span) -> Expr {
        const MOST: u64 = 65_536;
        let wanted = expect.and_then(|ty| self.checker.types.element(ty, 0));
        let value = match wanted {
            Some(ty) => self.expr_as(value, ty),
            None => self.expr(value, None),
        };
        let Some(len) = self.const_int(count, TypeTable::I64) else { return poison(span) };
        if is_poison(&value) {
            return value;
        }
        let Some(len) = u64::try_from(len).ok().filter(|len| (1..=MOST).contains(len)) else {
            let message = format!("an array value has 1 to {MOST} elements, not {len}");
            self.report(Diagnostic::new(Code::E0304, count.span, message));
            return poison(span);
        };
        let ty = self.checker.types.array(value.ty, len);
        if let ExprKind::Const(constant) = &value.kind {
            if constant.as_bits() == Some(0) {
                return const_expr(Const::zero(ty), span);
            }
            let all = vec![constant.value.clone(); usize::try_from(len).unwrap_or(0)];
            return const_expr(Const { ty, value: ConstValue::Aggregate(all) }, span);
        }
        Expr { kind: ExprKind::Splat(Box::new(value)), ty, span }
    }
}

const fn suffix_type(suffix: ast::Suffix) -> TypeId {
    match suffix {
        ast::Suffix::I8 => TypeTable::I8,
        ast::Suffix::I16 => TypeTable::I16,
        ast::Suffix::I32 => TypeTable::I32,
        ast::Suffix::I64 => TypeTable::I64,
        ast::Suffix::U8 => TypeTable::U8,
        ast::Suffix::U16 => TypeTable::U16,
        ast::Suffix::U32 => TypeTable::U32,
        ast::Suffix::U64 => TypeTable::U64,
        ast::Suffix::F16 => TypeTable::F16,
        ast::Suffix::BF16 => TypeTable::BF16,
        ast::Suffix::F32 => TypeTable::F32,
        ast::Suffix::F64 => TypeTable::F64,
    }
}
