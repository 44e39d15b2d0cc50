//! What the grammar's actions need: the text, the doc comments, and a place for diagnostics.

use super::ast::{
    Arg, BinaryOp, Block, Expr, ExprKind, Ident, MAX_DEPTH, Path, Qualifiers, Space, Stmt, StmtKind, TypeExpr, TypeKind,
    UnaryOp,
};
use super::literal;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{FileId, Span};
use std::collections::HashMap;

/// The state of one run of the parser over one item.
pub(crate) struct State<'text> {
    pub(super) file: FileId,
    pub(super) text: &'text str,
    /// For every doc comment: where the token behind it starts, and its text; sorted.
    pub(super) docs: &'text [(u32, &'text str)],
    pub(super) diagnostics: Diagnostics,
    /// Where brackets were put in or dropped.
    pub(super) scars: &'text [u32],
    /// Whether this file's depth limit was reported.
    pub(super) too_deep: bool,
    /// How deep the blocks nest that start at these bytes.
    pub(super) blocks: HashMap<u32, usize>,
}

impl State<'_> {
    pub(crate) fn span(&self, start: u32, end: u32) -> Span {
        // an empty production may end before it starts
        Span::new(self.file, start, end.max(start))
    }

    fn slice(&self, start: u32, end: u32) -> &str {
        self.text.get(start as usize..end as usize).unwrap_or("")
    }

    /// The doc comments in front of the tokens that start between `first` and `last`.
    pub(crate) fn docs(&self, first: u32, last: u32) -> Vec<String> {
        let from = self.docs.partition_point(|(next, _)| *next < first);
        let rest = self.docs.get(from..).unwrap_or(&[]);
        rest.iter().take_while(|(next, _)| *next <= last).map(|(_, text)| (*text).to_owned()).collect()
    }

    pub(crate) fn ident(&self, start: u32, end: u32) -> Ident {
        Ident { name: self.slice(start, end).to_owned(), span: self.span(start, end) }
    }

    pub(crate) fn path(&self, qualifier: Option<Ident>, name: Ident, args: Vec<Expr>, start: u32, end: u32) -> Path {
        Path { qualifier, name, args, span: self.span(start, end) }
    }

    pub(crate) fn number(&self, start: u32, end: u32) -> ExprKind {
        // what the lexer let pass is well formed
        literal::number(self.slice(start, end)).unwrap_or(ExprKind::Error)
    }

    pub(crate) fn string(&self, start: u32, end: u32) -> String {
        literal::unescape(self.slice(start, end), |_| {})
    }

    pub(crate) fn character(&self, start: u32, end: u32) -> ExprKind {
        let value = self.string(start, end).bytes().next();
        value.map_or(ExprKind::Error, ExprKind::Char)
    }

    fn report_depth(&mut self, span: Span) {
        if !self.too_deep {
            self.too_deep = true;
            self.diagnostics.push(too_deep(span));
        }
    }

    /// An expression, unless it is too deep: then an error in its place.
    pub(crate) fn expr(&mut self, kind: ExprKind, start: u32, end: u32) -> Expr {
        let span = self.span(start, end);
        let expr = Expr::new(kind, span);
        if expr.depth <= MAX_DEPTH {
            return expr;
        }
        self.report_depth(span);
        Expr::new(ExprKind::Error, span)
    }

    /// A block, unless its statements nest too deep: then an error stands for them. Each `else if` counts as one nested in the one before, since
    /// later phases may see it so.
    pub(crate) fn block(&mut self, stmts: Vec<Stmt>, start: u32, end: u32) -> Block {
        let span = self.span(start, end);
        let depth = 1 + stmts.iter().map(|stmt| self.depth_of(stmt)).max().unwrap_or(0);
        if depth <= usize::from(MAX_DEPTH) {
            self.blocks.insert(start, depth);
            return Block { stmts, span };
        }
        self.report_depth(Span::new(self.file, start, start + 1));
        Block { stmts: vec![Stmt { attributes: Vec::new(), kind: StmtKind::Error, span }], span }
    }

    fn depth_of(&self, stmt: &Stmt) -> usize {
        let block = |block: &Block| self.blocks.get(&block.span.start).copied().unwrap_or(1);
        match &stmt.kind {
            StmtKind::If { arms, otherwise } => {
                let arm = arms.iter().enumerate().map(|(index, arm)| index + block(&arm.body)).max().unwrap_or(0);
                arm.max(otherwise.as_ref().map_or(0, |otherwise| arms.len() + block(otherwise)))
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } | StmtKind::Loop { body } | StmtKind::Block(body) => {
                block(body)
            }
            StmtKind::Switch { cases, .. } => cases.iter().map(|case| 1 + block(&case.body)).max().unwrap_or(0),
            _ => 0,
        }
    }

    pub(crate) fn type_expr(&mut self, kind: TypeKind, start: u32, end: u32) -> TypeExpr {
        let span = self.span(start, end);
        let ty = TypeExpr::new(kind, span);
        if ty.depth <= MAX_DEPTH {
            return ty;
        }
        self.report_depth(span);
        TypeExpr::new(TypeKind::Error, span)
    }

    pub(crate) fn pointer_argument(
        &mut self,
        space: Option<Space>,
        qualifiers: Qualifiers,
        to: TypeExpr,
        start: u32,
        end: u32,
    ) -> Expr {
        let ty = self.type_expr(TypeKind::Pointer { space, qualifiers, pointee: Box::new(to) }, start, end);
        self.expr(ExprKind::Type(ty), start, end)
    }

    /// `Pair[f32, i32]`, a type among values; of anything but a name it is the index of another language.
    pub(crate) fn several(&mut self, base: Expr, open: u32, first: Expr, more: Vec<Expr>, start: u32, end: u32) -> Expr {
        let mut args = vec![first];
        args.extend(more);
        let Some(name) = base.as_ident().cloned() else {
            let at = self.span(open, end);
            self.diagnostics.push(several_indices(at, args.iter().map(|arg| self.slice(arg.span.start, arg.span.end))));
            return Expr::new(ExprKind::Error, self.span(start, end));
        };
        let path = Path { qualifier: None, name, args, span: self.span(start, end) };
        let ty = self.type_expr(TypeKind::Path(path), start, end);
        self.expr(ExprKind::Type(ty), start, end)
    }

    pub(crate) fn unary(&mut self, op: UnaryOp, operand: Expr, start: u32, end: u32) -> Expr {
        self.expr(ExprKind::Unary { op, operand: Box::new(operand) }, start, end)
    }

    pub(crate) fn binary(&mut self, lhs: Expr, op: BinaryOp, start: u32, end: u32, rhs: Expr) -> Expr {
        let span = lhs.span.to(rhs.span);
        let op_span = self.span(start, end);
        if let ExprKind::Binary { op: first, op_span: first_span, rhs: middle, .. } = &lhs.kind
            && first.is_comparison()
            && op.is_comparison()
        {
            let diagnostic = self.chained(&lhs, *first, *first_span, middle, op, op_span, &rhs);
            self.diagnostics.push(diagnostic);
            return Expr::new(ExprKind::Error, span);
        }
        self.expr(ExprKind::Binary { op, op_span, lhs: Box::new(lhs), rhs: Box::new(rhs) }, span.start, span.end)
    }

    /// `a < b < c`, or C++'s `f<T>(x)`.
    #[allow(clippy::too_many_arguments, reason = "the parts of one expression")]
    fn chained(
        &self,
        lhs: &Expr,
        first: BinaryOp,
        first_span: Span,
        middle: &Expr,
        second: BinaryOp,
        second_span: Span,
        rhs: &Expr,
    ) -> Diagnostic {
        let text = |span: Span| self.slice(span.start, span.end);
        let looks_generic = first == BinaryOp::Lt
            && second == BinaryOp::Gt
            && matches!(middle.kind, ExprKind::Path(_))
            && matches!(rhs.kind, ExprKind::Paren(_));
        if looks_generic {
            let span = first_span.to(second_span);
            return Diagnostic::new(Code::E0124, span, "compile-time arguments stand in square brackets")
                .label("read as two comparisons")
                .fix("write", span, format!("::[{}]", text(middle.span)));
        }
        let whole = lhs.span.to(rhs.span);
        let replacement = format!("{} && {} {} {}", text(lhs.span), text(middle.span), second.symbol(), text(rhs.span));
        Diagnostic::new(Code::E0123, second_span, "comparisons cannot be chained")
            .label("the left side of this is already a `bool`")
            .also(first_span, "first comparison")
            .fix("compare twice", whole, replacement)
    }

    pub(crate) fn tilde(&mut self, operand: Expr, start: u32, end: u32) -> Expr {
        let span = self.span(start, start + 1);
        self.diagnostics.push(Diagnostic::new(Code::E0121, span, "there is no operator `~`").fix(
            "`!` flips the bits of an integer and negates a `bool`",
            span,
            "!",
        ));
        self.unary(UnaryOp::Not, operand, start, end)
    }

    pub(crate) fn arrow(&mut self, base: Expr, arrow: u32, name: Ident, start: u32, end: u32) -> Expr {
        let span = self.span(arrow, arrow + 2);
        self.diagnostics.push(
            Diagnostic::new(Code::E0119, span, "a field is reached with `.`, through a pointer too").fix("write", span, "."),
        );
        self.expr(ExprKind::Field { base: Box::new(base), name }, start, end)
    }

    pub(crate) fn launch(&mut self, kernel: Expr, config: Vec<Expr>, at: Span, args: Vec<Arg>, start: u32, end: u32) -> Expr {
        let scarred = self.scars.iter().any(|scar| (at.start..at.end).contains(scar));
        if scarred || config.iter().any(|value| value.without_parens().kind == ExprKind::Error) {
            return Expr::new(ExprKind::Error, self.span(start, end));
        }
        if !(2..=4).contains(&config.len()) {
            let diagnostic = Diagnostic::new(
                Code::E0126,
                at,
                format!("a launch configuration has 2 to 4 values, this one has {}", config.len()),
            );
            self.diagnostics.push(match config.as_slice() {
                [only] => {
                    let blocks = self.slice(only.span.start, only.span.end);
                    diagnostic.label("the number of threads in a block is missing").fix(
                        "give the grid and the block",
                        at,
                        format!("<<<{blocks}, 128>>>"),
                    )
                }
                _ => diagnostic
                    .label("grid, block, bytes of dynamic shared memory, stream")
                    .help("write `<<<grid, block>>>`, `<<<grid, block, shared>>>` or `<<<grid, block, shared, stream>>>`"),
            });
            return Expr::new(ExprKind::Error, self.span(start, end));
        }
        self.expr(ExprKind::Launch { kernel: Box::new(kernel), config, config_span: at, args }, start, end)
    }

    pub(crate) fn expr_stmt(&self, expr: Expr) -> StmtKind {
        if expr.kind == ExprKind::Error { StmtKind::Error } else { StmtKind::Expr(expr) }
    }
}

/// `a[i, j]`
pub(crate) fn several_indices<'a>(at: Span, indices: impl Iterator<Item = &'a str>) -> Diagnostic {
    let separate: String = indices.map(|index| format!("[{index}]")).collect();
    Diagnostic::new(Code::E0229, at, "an index is one number").fix("each dimension has its own brackets", at, separate)
}

/// The error of the depth limit.
pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0110, span, format!("nested more than {MAX_DEPTH} deep"))
        .label("too deep from here on")
        .help("give a part of it a name with `let`, or move it to a function of its own")
}
