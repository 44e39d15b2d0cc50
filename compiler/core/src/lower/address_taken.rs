//! Which variables live in memory, because their address is taken somewhere.

use crate::typed::{Expr, ExprKind, Function, Launch, Place, PlaceKind, Stmt, StmtKind, VariableId};

/// By variable: whether `&v`, or `&` of a part of it, stands anywhere in the function.
pub(super) fn variables(function: &Function) -> Vec<bool> {
    let mut scan = Scan { taken: vec![false; function.variables.len()] };
    scan.statements(function.body.as_deref().unwrap_or_default());
    scan.taken
}

/// The variable that a place is, or is a part of.
pub(super) fn root(place: &Place) -> Option<VariableId> {
    match &place.kind {
        PlaceKind::Variable(variable) => Some(*variable),
        PlaceKind::Field(inner, _) | PlaceKind::Index(inner, _) => root(inner),
        PlaceKind::Global(_) | PlaceKind::Deref(_) => None,
    }
}

struct Scan {
    taken: Vec<bool>,
}

impl Scan {
    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
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
                self.expression(from);
                self.expression(to);
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

    fn expressions<'a>(&mut self, list: impl IntoIterator<Item = &'a Expr>) {
        for expression in list {
            self.expression(expression);
        }
    }

    fn expression(&mut self, expression: &Expr) {
        match &expression.kind {
            ExprKind::Const(_) | ExprKind::Register(_) | ExprKind::Fence(_) | ExprKind::Kernel(_) => {}
            ExprKind::Read(place, _) => self.place(place),
            ExprKind::AddressOf(place) => {
                if let Some(flag) = root(place).and_then(|variable| self.taken.get_mut(variable.0 as usize)) {
                    *flag = true;
                }
                self.place(place);
            }
            ExprKind::Unary(_, a)
            | ExprKind::Cast(_, a)
            | ExprKind::Splat(a)
            | ExprKind::Extract(a, _)
            | ExprKind::HostAllocate(_, a) => {
                self.expression(a);
            }
            ExprKind::Binary(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Offset(a, b)
            | ExprKind::Distance(a, b) => self.expressions([&**a, b]),
            ExprKind::Store(_, place, value) => {
                self.place(place);
                self.expression(value);
            }
            ExprKind::If(a, b, c) => self.expressions([&**a, b, c]),
            ExprKind::Aggregate(list, _)
            | ExprKind::Call(_, list)
            | ExprKind::Intrinsic(_, list)
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

    fn launch(&mut self, launch: &Launch) {
        self.expressions([&launch.grid, &launch.block]);
        self.expressions(&launch.shared);
        self.expressions(&launch.stream);
        self.expressions(&launch.args);
    }

    fn place(&mut self, place: &Place) {
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
