//! Statements.

use super::attributes::{Attributes, Target};
use super::body::{Body, Mutability, Symbol, is_poison};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Access, BinaryOp, FunctionKind, Global, GlobalId, UnaryOp};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind, Stmt, StmtKind};
use crate::types::{Space, Type, TypeId, TypeTable};
use std::collections::HashMap;

impl Body<'_, '_> {
    pub(crate) fn block(&mut self, block: &ast::Block) -> Vec<Stmt> {
        self.scoped(|body| body.statements(&block.stmts))
    }

    pub(crate) fn statements(&mut self, stmts: &[ast::Stmt]) -> Vec<Stmt> {
        let mut result = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            if let Some(kind) = self.statement(stmt) {
                result.push(Stmt { kind, span: stmt.span });
            }
        }
        result
    }

    fn statement(&mut self, stmt: &ast::Stmt) -> Option<StmtKind> {
        let target = match &stmt.kind {
            ast::StmtKind::For { .. } | ast::StmtKind::While { .. } | ast::StmtKind::Loop { .. } => Target::Loop,
            ast::StmtKind::Shared { .. } => Target::Shared,
            _ => Target::Statement,
        };
        let attributes = self.attributes(&stmt.attributes, target);
        let outer = std::mem::replace(&mut self.hinted, attributes.hinted);
        let kind = self.statement_kind(stmt, &attributes);
        let hinted = std::mem::replace(&mut self.hinted, outer);
        if kind.is_some() || matches!(stmt.kind, ast::StmtKind::Const(_) | ast::StmtKind::Shared { .. }) {
            self.check_hinted(hinted);
        }
        kind
    }

    fn statement_kind(&mut self, stmt: &ast::Stmt, attributes: &Attributes) -> Option<StmtKind> {
        match &stmt.kind {
            ast::StmtKind::Error => None,
            ast::StmtKind::Let { mutable, name, ty, value } => self.let_statement(*mutable, name, ty.as_ref(), value.as_ref()),
            ast::StmtKind::Const(decl) => {
                let ty = decl.ty.as_ref().map(|ty| self.resolve_sized(ty, "a constant"));
                let symbol = self.constant(&decl.value, ty).map_or(Symbol::Poison, Symbol::Const);
                self.declare(&decl.name, symbol);
                None
            }
            ast::StmtKind::Shared { name, is_volatile, ty } => {
                self.shared(name, *is_volatile, ty, attributes.align);
                None
            }
            ast::StmtKind::Expr(expr) => self.expr_statement(expr),
            ast::StmtKind::Assign { target, op, op_span, value } => self.assign(target, *op, *op_span, value),
            ast::StmtKind::If { arms, otherwise } => Some(self.if_statement(arms, otherwise.as_ref())),
            ast::StmtKind::While { cond, body } => {
                let condition = self.condition(cond);
                Some(StmtKind::While { condition, body: self.loop_body(body), unroll: attributes.unroll })
            }
            ast::StmtKind::Loop { body } => {
                let condition = Expr {
                    kind: ExprKind::Const(crate::ir::Const::bool(true)),
                    ty: TypeTable::BOOL,
                    span: Span::new(stmt.span.file, stmt.span.start, stmt.span.start.saturating_add(4)),
                };
                Some(StmtKind::While { condition, body: self.loop_body(body), unroll: attributes.unroll })
            }
            ast::StmtKind::For { var, start, end, step, body } => {
                self.for_statement(var, start, end, step.as_ref(), body, attributes.unroll)
            }
            ast::StmtKind::Switch { value, cases } => self.switch(value, cases),
            ast::StmtKind::Break => self.jump("break", StmtKind::Break, stmt.span),
            ast::StmtKind::Continue => self.jump("continue", StmtKind::Continue, stmt.span),
            ast::StmtKind::Return(value) => self.return_statement(value.as_ref(), stmt.span),
            ast::StmtKind::Block(block) => Some(StmtKind::Block(self.block(block))),
        }
    }

    fn let_statement(
        &mut self,
        mutable: bool,
        name: &ast::Ident,
        ty: Option<&ast::TypeExpr>,
        value: Option<&ast::Expr>,
    ) -> Option<StmtKind> {
        let declared = ty.map(|ty| self.resolve_sized(ty, "a variable"));
        let init = value.map(|value| match declared {
            Some(ty) => self.expr_as(value, ty),
            None => self.expr(value, None),
        });
        let mut ty = match (declared, &init) {
            (Some(ty), _) => ty,
            (None, Some(init)) => init.ty,
            (None, None) => {
                let message = format!("the type of `{}` cannot be inferred", name.name);
                self.report(Diagnostic::new(Code::E0222, name.span, message).help(format!("write `var {}: T;`", name.name)));
                TypeTable::POISON
            }
        };
        if let Some(init) = &init
            && declared.is_none()
        {
            ty = self.storable(init);
        }
        if init.is_none() && !mutable && declared.is_some() {
            let message = format!("`let {}` has no value and can never get one", name.name);
            self.report(Diagnostic::new(Code::E0210, name.span, message).help("declare it with `var` to assign it later"));
        }
        let mutability = if mutable { Mutability::Var } else { Mutability::Let };
        let variable = self.declare_variable(name, ty, mutability, false);
        if let Some(origin) = init.as_ref().filter(|_| !mutable).and_then(|init| self.private_pointer(init)) {
            self.private_lets.insert(variable, origin);
        }
        let usable = ty != TypeTable::POISON && init.as_ref().is_none_or(|init| !is_poison(init));
        usable.then_some(StmtKind::Let { variable, init })
    }

    /// The type that a variable gets from its value; poison, with a message, when it cannot be kept in one.
    fn storable(&mut self, init: &Expr) -> TypeId {
        match self.checker.types.get(init.ty) {
            Type::Void => {
                let message = "this gives no value that a variable could hold";
                self.report(Diagnostic::new(Code::E0230, init.span, message));
                TypeTable::POISON
            }
            Type::Unsized { .. } => {
                let message = "dynamic shared memory cannot be copied into a variable";
                self.report(
                    Diagnostic::new(Code::E0303, init.span, message).help("take the address of its first element: `&tile[0]`"),
                );
                TypeTable::POISON
            }
            _ => init.ty,
        }
    }

    fn shared(&mut self, name: &ast::Ident, is_volatile: bool, ty: &ast::TypeExpr, align: u32) {
        let id = self.resolve_type(ty);
        if self.is_host() {
            let message = "host code has no shared memory";
            self.report(
                Diagnostic::new(Code::E0234, name.span, message)
                    .note("shared memory belongs to a thread block (guide 4.18.3.3)"),
            );
        } else {
            self.needs_device(name.span, "shared memory");
        }
        if matches!(self.checker.types.get(id), Type::Void | Type::Str) {
            let message = format!("shared memory cannot be of type `{}`", self.show(id));
            self.report(Diagnostic::new(Code::E0303, ty.span, message));
        }
        let global = Global {
            name: name.name.clone(),
            symbol: format!("{}_{}", self.symbol, name.name),
            space: Space::Shared,
            ty: id,
            init: None,
            align,
            exported: false,
            external: false,
            span: name.span,
        };
        let global = self.checker.add_global(global);
        if is_volatile {
            self.checker.volatile_globals.insert(global);
        }
        let symbol = Symbol::Shared(global);
        self.declare(name, if id == TypeTable::POISON { Symbol::Poison } else { symbol });
    }

    fn expr_statement(&mut self, expr: &ast::Expr) -> Option<StmtKind> {
        let typed = self.expr(expr, None);
        if is_poison(&typed) {
            return None;
        }
        let useful = match &typed.kind {
            ExprKind::HostAllocate(..) => true,
            ExprKind::Read(_, access) => matches!(access, Access::Volatile | Access::Hinted(_)),
            kind => kind.is_action(),
        };
        if !useful {
            let mut diagnostic = Diagnostic::new(Code::E0230, expr.span, "this value is computed and dropped");
            if let ast::ExprKind::Binary { op: ast::BinaryOp::Eq, op_span, .. } = &expr.kind {
                diagnostic = diagnostic.fix("to assign, write `=`", *op_span, "=");
            }
            self.report(diagnostic);
            return None;
        }
        Some(StmtKind::Expr(typed))
    }

    fn assign(&mut self, target: &ast::Expr, op: Option<ast::BinaryOp>, op_span: Span, value: &ast::Expr) -> Option<StmtKind> {
        let place = self.place(target, "assign to");
        let Some(place) = place else {
            self.expr(value, None);
            return None;
        };
        self.check_writable(&place, target.span);
        let access = self.access_of(&place);
        let Some(op) = op else {
            let value = self.expr_as(value, place.ty);
            return (!is_poison(&value)).then_some(StmtKind::Assign { place, value, access });
        };
        self.assign_op(place, op, op_span, value)
    }

    fn assign_op(&mut self, place: Place, op: ast::BinaryOp, op_span: Span, value: &ast::Expr) -> Option<StmtKind> {
        let ir_op = super::expr::ir_op(op)?;
        let access = self.access_of(&place);
        let is_pointer = self.checker.types.pointee(place.ty).is_some();
        let shift = matches!(ir_op, BinaryOp::Shl | BinaryOp::Shr);
        let value = if is_pointer {
            if !matches!(ir_op, BinaryOp::Add | BinaryOp::Sub) {
                self.bad_operator(op.symbol(), op_span, place.ty, None);
                return None;
            }
            self.pointer_step(place.ty, place.span)?;
            self.integer(value, "a pointer is moved by a number of elements")?
        } else if shift {
            self.integer(value, "a shift is by a number of bits")?
        } else {
            self.expr_as_broadcast(value, place.ty)
        };
        if is_poison(&value) {
            return None;
        }
        if !is_pointer && !self.operator_works(ir_op, place.ty) {
            self.bad_operator(op.symbol(), op_span, place.ty, None);
            return None;
        }
        if !self.check_divisor(ir_op, place.ty, &value) {
            return None;
        }
        // `x -= n` on a pointer moves by minus n elements
        if is_pointer && ir_op == BinaryOp::Sub {
            let span = value.span;
            let wide = self.cast_int(value, TypeTable::I64);
            let kind = ExprKind::Unary(UnaryOp::Neg, Box::new(wide));
            let value = Expr { kind, ty: TypeTable::I64, span };
            return Some(StmtKind::AssignOp { place, op: BinaryOp::Add, value, access });
        }
        Some(StmtKind::AssignOp { place, op: ir_op, value, access })
    }

    pub(crate) fn condition(&mut self, cond: &ast::Expr) -> Expr {
        let typed = self.expr(cond, Some(TypeTable::BOOL));
        if !is_poison(&typed) && typed.ty != TypeTable::BOOL {
            let message = format!("a condition is a `bool`, this is `{}`", self.show(typed.ty));
            let mut diagnostic = Diagnostic::new(Code::E0203, cond.span, message);
            let text = self.text(cond.span);
            if typed.ty == TypeTable::CUDA_ERROR {
                diagnostic = diagnostic.fix("compare it", cond.span, format!("{text} != cudaSuccess"));
            } else if self.checker.types.as_int(typed.ty).is_some() {
                diagnostic = diagnostic.fix("compare it", cond.span, format!("{text} != 0"));
            } else if self.checker.types.pointee(typed.ty).is_some() {
                diagnostic = diagnostic.fix("compare it", cond.span, format!("{text} != null"));
            }
            self.report(diagnostic);
        }
        typed
    }

    fn if_statement(&mut self, arms: &[ast::IfArm], otherwise: Option<&ast::Block>) -> StmtKind {
        let conditions: Vec<(Expr, Vec<Stmt>, Span)> = arms
            .iter()
            .map(|arm| {
                let condition = self.condition(&arm.cond);
                (condition, self.block(&arm.body), arm.cond.span.to(arm.body.span))
            })
            .collect();
        let mut rest = otherwise.map(|block| self.block(block)).unwrap_or_default();
        for (condition, then, span) in conditions.into_iter().rev() {
            let kind = StmtKind::If { condition, then, otherwise: rest };
            rest = vec![Stmt { kind, span }];
        }
        match rest.pop() {
            Some(stmt) => stmt.kind,
            None => StmtKind::Block(Vec::new()),
        }
    }

    fn loop_body(&mut self, body: &ast::Block) -> Vec<Stmt> {
        self.loops += 1;
        let stmts = self.block(body);
        self.loops -= 1;
        stmts
    }

    fn for_statement(
        &mut self,
        var: &ast::Ident,
        start: &ast::Expr,
        end: &ast::Expr,
        step: Option<&ast::Expr>,
        body: &ast::Block,
        unroll: Option<u32>,
    ) -> Option<StmtKind> {
        let (from, to) = self.same_type(start, end, None, "the two ends of a range");
        let ty = if is_poison(&from) || is_poison(&to) { TypeTable::POISON } else { from.ty };
        if ty != TypeTable::POISON && !matches!(self.checker.types.get(ty), Type::Int(_)) {
            let message = format!("a range is of integers, not of `{}`", self.show(ty));
            self.report(Diagnostic::new(Code::E0203, start.span.to(end.span), message));
            return None;
        }
        let step = step.map(|step| if ty == TypeTable::POISON { self.expr(step, None) } else { self.expr_as(step, ty) });
        if let Some(step) = &step
            && let Some(value) = self.int_value(step)
            && value <= 0
        {
            let message = format!("a step of {value} never reaches the end of the range");
            let diagnostic = Diagnostic::new(Code::E0214, step.span, message);
            self.report(diagnostic.help("steps are positive; to count down, compute `n - 1 - i` inside"));
        }
        let (variable, body) = self.scoped(|inner| {
            let variable = inner.declare_variable(var, ty, Mutability::Loop, false);
            (variable, inner.loop_body(body))
        });
        let broken = ty == TypeTable::POISON || step.as_ref().is_some_and(is_poison);
        (!broken).then_some(StmtKind::For { variable, from, to, step, body, unroll })
    }

    fn switch(&mut self, value: &ast::Expr, cases: &[ast::SwitchCase]) -> Option<StmtKind> {
        let value = self.expr(value, None);
        let int = self.checker.types.as_int(value.ty).filter(|_| value.ty != TypeTable::BOOL);
        if int.is_none() && !is_poison(&value) {
            let message = format!("`switch` works on integers and enumerations, not on `{}`", self.show(value.ty));
            self.report(Diagnostic::new(Code::E0225, value.span, message));
        }
        let mut seen: HashMap<u64, Span> = HashMap::new();
        let mut typed_cases = Vec::new();
        let mut default: Option<(Vec<Stmt>, Span)> = None;
        for case in cases {
            let mut patterns = Vec::new();
            for pattern in &case.values {
                let Some(int) = int else { continue };
                let Some(bits) = self.constant(pattern, Some(value.ty)).and_then(|constant| constant.as_bits()) else {
                    continue;
                };
                if let Some(first) = seen.insert(bits, pattern.span) {
                    let message = format!("the value {} has a case already", int.value(bits));
                    self.report(Diagnostic::new(Code::E0225, pattern.span, message).also(first, "the first one"));
                } else {
                    patterns.push(bits);
                }
            }
            let body = self.block(&case.body);
            if case.values.is_empty() {
                if let Some((_, first)) = &default {
                    let diagnostic = Diagnostic::new(Code::E0225, case.span, "a `switch` has one `default`");
                    let first = *first;
                    self.report(diagnostic.also(first, "the first one"));
                } else {
                    default = Some((body, case.span));
                }
            } else {
                typed_cases.push((patterns, body));
            }
        }
        int?;
        let default = default.map(|(body, _)| body).unwrap_or_default();
        Some(StmtKind::Switch { value, cases: typed_cases, default })
    }

    fn jump(&mut self, name: &str, kind: StmtKind, span: Span) -> Option<StmtKind> {
        if self.loops == 0 {
            let message = format!("`{name}` is only for loops");
            let mut diagnostic = Diagnostic::new(Code::E0217, span, message);
            if name == "break" {
                diagnostic = diagnostic.note("a case of a `switch` ends by itself and never falls through");
            }
            self.report(diagnostic);
            return None;
        }
        Some(kind)
    }

    fn return_statement(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        let wanted = self.return_type;
        let Some(value) = value else {
            if wanted != TypeTable::VOID && wanted != TypeTable::POISON {
                let message = format!("this function returns `{}`", self.show(wanted));
                self.report(Diagnostic::new(Code::E0218, span, message).help("give a value after `return`"));
            }
            return Some(StmtKind::Return(None));
        };
        if wanted == TypeTable::VOID {
            self.expr(value, None);
            let what = match &self.kind {
                FunctionKind::Kernel => "a kernel returns nothing",
                FunctionKind::Test { .. } => "a test returns nothing",
                _ => "this function has no result",
            };
            let mut diagnostic = Diagnostic::new(Code::E0218, value.span, what);
            diagnostic = match &self.kind {
                FunctionKind::Kernel => diagnostic.help("write the result through a pointer parameter"),
                FunctionKind::Test { .. } => diagnostic.help("check with `assert(…)`"),
                _ => diagnostic.help("declare the result with `->` after the parameters"),
            };
            self.report(diagnostic);
            return None;
        }
        let value = self.expr_as(value, wanted);
        Some(StmtKind::Return(Some(value)))
    }

    /// Reports a write to what may not be written.
    pub(crate) fn check_writable(&mut self, place: &Place, span: Span) {
        match &place.kind {
            PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => self.check_writable(inner, span),
            PlaceKind::Variable(id) => {
                let index = id.0 as usize;
                let (Some(variable), Some(mutability)) = (self.variables.get(index), self.mutable.get(index)) else { return };
                let (name, declared) = (variable.name.clone(), variable.span);
                let (message, help) = match mutability {
                    Mutability::Var => return,
                    Mutability::Let => {
                        (format!("`{name}` is a `let` and cannot be changed"), format!("declare it with `var {name}`"))
                    }
                    Mutability::Parameter => {
                        (format!("parameter `{name}` cannot be changed"), format!("copy it first: `var own = {name};`"))
                    }
                    Mutability::Loop => {
                        (format!("loop variable `{name}` cannot be changed"), "use `while` for other steps".to_owned())
                    }
                };
                self.report(Diagnostic::new(Code::E0210, span, message).also(declared, "declared here").help(help));
            }
            PlaceKind::Global(id) => self.check_global_writable(*id, span),
            PlaceKind::Deref(pointer) => {
                let Some((space, _, constant)) = self.checker.types.pointee(pointer.ty) else { return };
                if constant {
                    let (code, message) = if space == Space::Constant {
                        (Code::E0502, "`constant` memory is never written on the device".to_owned())
                    } else {
                        (Code::E0232, format!("this is behind a `{}`, which only reads", self.show(pointer.ty)))
                    };
                    let pointer_span = pointer.span;
                    self.report(Diagnostic::new(code, span, message).also(pointer_span, "the pointer"));
                }
            }
        }
    }

    fn check_global_writable(&mut self, id: GlobalId, span: Span) {
        let Some(global) = self.checker.globals.get(id.0 as usize) else { return };
        if global.space == Space::Constant {
            let declared = global.span;
            let message = format!("`{}` is in `constant` memory, which a program only reads", global.name);
            self.report(
                Diagnostic::new(Code::E0502, span, message)
                    .also(declared, "declared here")
                    .help("give it its value where it is declared, or declare it as `global var` to write it")
                    .note("CUDA programming guide 5.6.4.2.2.1.4: all grids share constant memory, read-only"),
            );
        }
    }
}
