//! Every expression and place of a body.

use super::{Expr, ExprKind, Launch, Place, PlaceKind, Stmt, StmtKind};

/// A part of a body.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// Something that is read, written, or whose address is taken.
    Place(&'a Place),
}

/// Calls `visit` with every expression and place of the statements, in the order of the source, each before its own parts.
pub fn each_part<'a>(statements: &'a [Stmt], visit: &mut dyn FnMut(Part<'a>)) {
    let mut walk = Walk { visit };
    walk.statements(statements);
}

struct Walk<'v, 'a> {
    visit: &'v mut dyn FnMut(Part<'a>),
}

impl<'a> Walk<'_, 'a> {
    fn statements(&mut self, statements: &'a [Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match &statement.kind {
            StmtKind::Let { init, .. } => self.expressions(init),
            StmtKind::Assign { place, value, .. } | StmtKind::AssignOp { place, value, .. } => {
                self.place(place);
                self.expression(value);
            }
            StmtKind::Expr(value) => self.expression(value),
            StmtKind::If { condition, then, otherwise } => {
                self.expression(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StmtKind::While { condition, body, .. } => {
                self.expression(condition);
                self.statements(body);
            }
            StmtKind::For { from, to, step, body, .. } => {
                self.expressions([from, to]);
                self.expressions(step);
                self.statements(body);
            }
            StmtKind::Switch { value, cases, default } => {
                self.expression(value);
                cases.iter().for_each(|(_, body)| self.statements(body));
                self.statements(default);
            }
            StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Return(value) => self.expressions(value),
            StmtKind::Block(body) => self.statements(body),
        }
    }

    fn expressions(&mut self, list: impl IntoIterator<Item = &'a Expr>) {
        for expression in list {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &'a Expr) {
        (self.visit)(Part::Expr(expression));
        match &expression.kind {
            ExprKind::Const(_) | ExprKind::Register(_) | ExprKind::Fence(_) | ExprKind::Kernel(_) => {}
            ExprKind::Read(place, _) | ExprKind::AddressOf(place) => self.place(place),
            ExprKind::Unary(_, a)
            | ExprKind::Cast(_, a)
            | ExprKind::Splat(a)
            | ExprKind::SharedRank(a)
            | ExprKind::Extract(a, _)
            | ExprKind::HostAllocate(_, a) => {
                self.expression(a);
            }
            ExprKind::Binary(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Offset(a, b)
            | ExprKind::Distance(a, b)
            | ExprKind::MapSharedRank(a, b) => self.expressions([&**a, b]),
            ExprKind::Store(_, place, value) => {
                self.place(place);
                self.expression(value);
            }
            ExprKind::If(a, b, c) => self.expressions([&**a, b, c]),
            ExprKind::Aggregate(list, _)
            | ExprKind::Call(_, list)
            | ExprKind::Intrinsic(_, list)
            | ExprKind::Parts(_, list)
            | ExprKind::Atomic(_, _, list)
            | ExprKind::Warp(_, list)
            | ExprKind::Texture(_, list)
            | ExprKind::Runtime(_, list)
            | ExprKind::Printf(_, list) => self.expressions(list),
            ExprKind::Launch(launch) => self.launch(launch),
            ExprKind::Barrier(_, operand) => self.expressions(operand.as_deref()),
            ExprKind::Assert { condition, args, .. } => {
                self.expression(condition);
                self.expressions(args);
            }
        }
    }

    fn launch(&mut self, launch: &'a Launch) {
        self.expressions([&launch.grid, &launch.block]);
        self.expressions(&launch.shared);
        self.expressions(&launch.stream);
        self.expressions(&launch.args);
    }

    fn place(&mut self, place: &'a Place) {
        (self.visit)(Part::Place(place));
        match &place.kind {
            PlaceKind::Variable(_) | PlaceKind::Global(_) => {}
            PlaceKind::Deref(pointer) => self.expression(pointer),
            PlaceKind::Field(inner, _) => self.place(inner),
            PlaceKind::Index(inner, index) => {
                self.place(inner);
                self.expression(index);
            }
        }
    }
}
