//! What is known of a place in a text.
//!
//! The typed program has a span at every expression: the smallest one around the place says its type, and what it names says where it was declared. Where there is
//! none, because the place is a type or the program has errors there, the word alone decides: items share one namespace.

use cdp_core::source::Span;
use cdp_core::syntax::ast::{Item, ItemKind};
use cdp_core::typed::{Expr, ExprKind, Function, Launch, Place, PlaceKind, Program, Stmt, StmtKind, VariableId};
use cdp_core::types::{Type, TypeId};

use super::document::{Analysis, named};

/// The smallest thing of a body around a place.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// How far it reaches.
    pub span: Span,
    /// Its type.
    pub ty: TypeId,
    /// Where what it names was declared.
    pub definition: Option<Span>,
}

/// The word at a byte of the text, and where it is.
pub fn word(analysis: &Analysis, offset: u32) -> Option<(&str, Span)> {
    let text = analysis.text();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (before, behind) = text.split_at_checked(offset as usize)?;
    let start = before.rfind(|c| !part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let end = offset as usize + behind.find(|c| !part(c)).unwrap_or(behind.len());
    let word = text.get(start..end).filter(|word| !word.is_empty())?;
    Some((word, Span::new(analysis.file, u32::try_from(start).ok()?, u32::try_from(end).ok()?)))
}

/// The item that is called so, and where its name stands.
pub fn item<'a>(analysis: &'a Analysis, name: &str) -> Option<(&'a Item, Span)> {
    let items = analysis.trees.iter().flat_map(|tree| &tree.items);
    items
        .filter_map(|item| Some((item, named(item)?)))
        .find(|(_, (known, ..))| known == name)
        .map(|(item, (_, span, _))| (item, span))
}

/// Where what stands at a byte was declared; at a declaration, that itself.
pub fn definition(analysis: &Analysis, offset: u32) -> Option<Span> {
    let (name, span) = word(analysis, offset)?;
    if let Some(fact) = at(analysis, offset)
        && let Some(definition) = fact.definition
    {
        return Some(definition);
    }
    if let Some((_, function)) = around(&analysis.program, span)
        && let Some(variable) =
            function.variables.iter().rev().find(|variable| variable.name == name && holds(variable.span, span))
    {
        return Some(variable.span);
    }
    if let Some((_, span)) = item(analysis, name) {
        return Some(span);
    }
    member(analysis, name, span)
}

/// `Red` in `Color::Red`.
fn member(analysis: &Analysis, name: &str, span: Span) -> Option<Span> {
    let before = analysis.text().get(..span.start as usize)?.strip_suffix("::")?;
    let qualifier = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let (item, _) = item(analysis, qualifier)?;
    let ItemKind::Enum(decl) = &item.kind else { return None };
    decl.members.iter().find(|member| member.name.name == name).map(|member| member.name.span)
}

/// The smallest expression, place or declared variable around a byte of the text.
pub fn at(analysis: &Analysis, offset: u32) -> Option<Fact> {
    let place = Span::new(analysis.file, offset, offset);
    let mut walk = Walk { program: &analysis.program, place, function: None, best: None };
    for function in &analysis.program.functions {
        walk.function = Some(function);
        for variable in &function.variables {
            if holds(variable.span, place) {
                walk.offer(variable.span, variable.ty, Some(variable.span));
            }
        }
        walk.statements(function.body.as_deref().unwrap_or_default());
    }
    walk.best
}

/// The function whose body is around a span: the one whose name is the last before it.
pub fn around(program: &Program, span: Span) -> Option<(usize, &Function)> {
    let before = program.functions.iter().enumerate().filter(|(_, function)| {
        function.span.file == span.file && function.span.start <= span.start && span.start <= function.end.end
    });
    before.max_by_key(|(_, function)| function.span.start)
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

struct Walk<'a> {
    program: &'a Program,
    place: Span,
    function: Option<&'a Function>,
    best: Option<Fact>,
}

impl Walk<'_> {
    fn offer(&mut self, span: Span, ty: TypeId, definition: Option<Span>) {
        let length = |span: Span| span.end - span.start;
        if holds(span, self.place) && self.best.is_none_or(|best| length(span) <= length(best.span)) {
            // a conversion that nobody wrote has the span of what it converts: the inner one came last and says more
            let definition = definition.or_else(|| self.best.filter(|best| best.span == span).and_then(|best| best.definition));
            self.best = Some(Fact { span, ty, definition });
        }
    }

    fn variable(&self, id: VariableId) -> Option<Span> {
        self.function?.variables.get(id.0 as usize).map(|variable| variable.span)
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Let { init, .. } => self.each(init.as_ref()),
            StmtKind::Assign { place, value, .. } | StmtKind::AssignOp { place, value, .. } => {
                self.place(place);
                self.expr(value);
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StmtKind::While { condition, body, .. } => {
                self.expr(condition);
                self.statements(body);
            }
            StmtKind::For { from, to, step, body, .. } => {
                self.each([from, to].into_iter().chain(step));
                self.statements(body);
            }
            StmtKind::Switch { value, cases, default } => {
                self.expr(value);
                for (_, body) in cases {
                    self.statements(body);
                }
                self.statements(default);
            }
            StmtKind::Return(value) => self.each(value),
            StmtKind::Block(body) => self.statements(body),
            StmtKind::Break | StmtKind::Continue => {}
        }
    }

    fn each<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>) {
        for expr in list {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let function = |id: cdp_core::ir::FunctionId| self.program.functions.get(id.index()).map(|function| function.span);
        let definition = match &expr.kind {
            ExprKind::Call(id, _) | ExprKind::Kernel(id) => function(*id),
            ExprKind::Launch(launch) => function(launch.kernel),
            _ => None,
        };
        self.offer(expr.span, expr.ty, definition);
        match &expr.kind {
            ExprKind::Read(place, _) | ExprKind::AddressOf(place) => self.place(place),
            ExprKind::Unary(_, a)
            | ExprKind::Cast(_, a)
            | ExprKind::Splat(a)
            | ExprKind::Extract(a, _)
            | ExprKind::HostAllocate(_, a) => {
                self.expr(a);
            }
            ExprKind::Binary(_, a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b)
            | ExprKind::Offset(a, b)
            | ExprKind::Distance(a, b) => {
                self.each([&**a, &**b]);
            }
            ExprKind::If(a, b, c) => self.each([&**a, &**b, &**c]),
            ExprKind::Launch(launch) => self.launch(launch),
            ExprKind::Barrier(_, predicate) => self.each(predicate.as_deref()),
            ExprKind::Assert { condition, args, .. } => {
                self.expr(condition);
                self.each(args);
            }
            ExprKind::Aggregate(list, _)
            | ExprKind::Call(_, list)
            | ExprKind::Intrinsic(_, list)
            | ExprKind::Atomic(_, _, list)
            | ExprKind::Warp(_, list)
            | ExprKind::Texture(_, list)
            | ExprKind::Runtime(_, list)
            | ExprKind::Printf(_, list) => self.each(list),
            _ => {}
        }
    }

    fn launch(&mut self, launch: &Launch) {
        self.each([&launch.grid, &launch.block].into_iter().chain(&launch.shared).chain(&launch.stream).chain(&launch.args));
    }

    fn place(&mut self, place: &Place) {
        let definition = match &place.kind {
            PlaceKind::Variable(id) => self.variable(*id),
            PlaceKind::Global(id) => self.program.globals.get(id.index()).map(|global| global.span),
            PlaceKind::Field(base, index) => self.field(base.ty, *index),
            PlaceKind::Deref(_) | PlaceKind::Index(..) => None,
        };
        self.offer(place.span, place.ty, definition);
        match &place.kind {
            PlaceKind::Deref(expr) => self.expr(expr),
            PlaceKind::Field(base, _) => self.place(base),
            PlaceKind::Index(base, index) => {
                self.place(base);
                self.expr(index);
            }
            PlaceKind::Variable(_) | PlaceKind::Global(_) => {}
        }
    }

    fn field(&self, ty: TypeId, index: u32) -> Option<Span> {
        let Type::Struct(id) = self.program.types.get(ty) else { return None };
        self.program.types.struct_def(*id)?.fields.get(index as usize).map(|field| field.span)
    }
}
