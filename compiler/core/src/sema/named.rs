//! CUDA's named values, where one of another kind is wanted: a limit in the place of an attribute, a flag of events in that of streams.

use super::body::Body;
use crate::builtins::{CudaEnum, NamedConstant, NamedKind, STREAM_TAIL_LAUNCH, named_constant, named_constants};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Type, TypeId, TypeTable};

/// The enumeration of CUDA that a type is.
fn enumeration(types: &TypeTable, ty: TypeId) -> Option<CudaEnum> {
    match types.get(ty) {
        Type::Enum(id) => CudaEnum::from_id(*id),
        _ => None,
    }
}

/// What a type's values are for, where they have names.
fn kind_of(types: &TypeTable, ty: TypeId) -> Option<NamedKind> {
    match types.get(ty) {
        Type::CudaError => Some(NamedKind::Error),
        _ => enumeration(types, ty).map(NamedKind::Enum),
    }
}

impl Body<'_, '_> {
    /// The named value of CUDA that an expression is; of arrays, and of flags that are joined by `|`, the first that is not `wanted`.
    fn constant_of_another_kind<'e>(&self, expr: &'e ast::Expr, wanted: NamedKind) -> Option<(&'e ast::Expr, NamedConstant)> {
        let expr = expr.without_parens();
        match &expr.kind {
            ast::ExprKind::Binary { op: ast::BinaryOp::BitOr, lhs, rhs, .. } => {
                return [lhs, rhs].into_iter().find_map(|side| self.constant_of_another_kind(side, wanted));
            }
            ast::ExprKind::Array(elements) => {
                return elements.iter().find_map(|element| self.constant_of_another_kind(element, wanted));
            }
            ast::ExprKind::Repeat { value, .. } => return self.constant_of_another_kind(value, wanted),
            _ => {}
        }
        let name = expr.as_ident()?.name.as_str();
        if self.find(name).is_some() || self.checker.items.find(name).is_some() {
            return None;
        }
        named_constant(name).filter(|constant| constant.kind != wanted).map(|constant| (expr, constant))
    }

    /// The tail and the fire-and-forget stream, which CDP1 has not.
    pub(super) fn no_special_stream(&mut self, constant: &NamedConstant, span: Span) {
        let diagnostic = Diagnostic::new(Code::E0414, span, format!("CDP1 has no `{}`", constant.name));
        self.report(if constant.value == STREAM_TAIL_LAUNCH {
            diagnostic
                .help("wait for the children, and go on in this grid: `cudaDeviceSynchronize();`")
                .note("a tail launch is CDP2's way to read what children wrote; `--cdp=1` compiles for CDP1, where their parent waits for them")
        } else {
            diagnostic
                .help("a stream that a thread makes and destroys has no order with other work, too: `cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)`")
                .note("the fire-and-forget stream came with CDP2; `--cdp=1` compiles for CDP1")
        });
    }

    /// A flag of another call, or a value of another kind, where flags are wanted: all flags are integers, so their type does not tell.
    pub(super) fn wrong_flag(&self, wanted: NamedKind, value: &ast::Expr) -> Option<Diagnostic> {
        let (at, constant) = self.constant_of_another_kind(value, wanted)?;
        Some(another_kind(at, &constant, wanted))
    }

    /// What to say where a value of `from` stands in the place of one of `to`, and `to` is an enumeration of CUDA or `from` is one that
    /// another of CUDA's types is wanted for; none where nothing better than the types can be told.
    pub(super) fn wrong_member(&self, from: TypeId, to: TypeId, value: &ast::Expr) -> Option<Diagnostic> {
        let types = &self.checker.types;
        let wanted = kind_of(types, to)?;
        if let Some((at, constant)) = self.constant_of_another_kind(value, wanted) {
            return Some(another_kind(at, &constant, wanted));
        }
        if kind_of(types, from).is_some() {
            let message = format!("`{}` is wanted, this is `{}`", self.show(to), self.show(from));
            return Some(with_example(Diagnostic::new(Code::E0241, value.span, message), wanted));
        }
        None
    }

    /// The named value that a literal stands for, where such a value of this type is wanted: `cudaSuccess` for 0.
    pub(super) fn named_literal(&self, literal: &ast::Expr, wanted: TypeId) -> Option<&'static str> {
        let kind = kind_of(&self.checker.types, wanted)?;
        let ast::ExprKind::Int { value, .. } = &literal.without_parens().kind else { return None };
        let mut constants = named_constants();
        constants.find(|constant| constant.kind == kind && u64::from(constant.value) == *value).map(|constant| constant.name)
    }
}

fn another_kind(at: &ast::Expr, constant: &NamedConstant, wanted: NamedKind) -> Diagnostic {
    let message = format!("`{}` is {}, and {} is wanted", constant.name, constant.kind.describe(), wanted.describe());
    with_example(Diagnostic::new(Code::E0241, at.span, message), wanted)
}

fn with_example(diagnostic: Diagnostic, wanted: NamedKind) -> Diagnostic {
    match named_constants().find(|constant| constant.kind == wanted) {
        Some(example) => diagnostic.help(format!("for example `{}`", example.name)),
        None => diagnostic,
    }
}
