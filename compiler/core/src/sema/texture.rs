//! Fetches from textures, reads and writes of surfaces.

use super::body::{Body, is_poison, poison};
use crate::builtins::TextureOp;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{TypeId, TypeTable};

impl Body<'_, '_> {
    /// `tex2D::[f32x4](t, x, y)`; `surf2Dwrite(value, s, x, y)`, whose element type is the value's where it is not said.
    pub(super) fn texture(&mut self, op: TextureOp, path: &ast::Path, args: &[ast::Arg], span: Span) -> Expr {
        let name = op.name();
        self.needs_device(path.span, name);
        let wanted = 1 + op.coordinates() + usize::from(op.is_write());
        if !self.count(name, args, wanted, wanted, span) {
            return self.skip_args(args, span);
        }
        let element = match path.args.as_slice() {
            [] if op.is_write() => None,
            [only] => match only.as_type() {
                Some(ty) => Some(self.resolve_sized(&ty, "an element of a texture")),
                None => return self.without_element(op, path.span, args, span),
            },
            _ => return self.without_element(op, path.span, args, span),
        };
        // CUDA's order: the value that is written comes first
        let (value, rest) = if op.is_write() { (args.first(), args.get(1..).unwrap_or_default()) } else { (None, args) };
        let value = value.map(|arg| match element {
            Some(ty) => self.expr_as(&arg.value, ty),
            None => self.expr(&arg.value, None),
        });
        let mut typed = Vec::with_capacity(wanted);
        let written = value.as_ref().map(|value| value.ty);
        typed.extend(value);
        for (index, arg) in rest.iter().enumerate() {
            let ty = if index == 0 { op.object() } else { op.coordinate() };
            typed.push(self.expr_as(&arg.value, ty));
        }
        let Some(ty) = element.or(written) else { return poison(span) };
        if ty == TypeTable::POISON || typed.iter().any(is_poison) || !self.is_element(op, ty, path.span) {
            return poison(span);
        }
        let ty = if op.is_write() { TypeTable::VOID } else { ty };
        Expr { kind: ExprKind::Texture(op, typed), ty, span }
    }

    fn without_element(&mut self, op: TextureOp, name: Span, args: &[ast::Arg], span: Span) -> Expr {
        let message = format!("`{}` needs the type of an element", op.name());
        let diagnostic = Diagnostic::new(Code::E0220, name, message);
        self.report(diagnostic.help(format!("say it: `{}::[f32](…)`", op.name())));
        self.skip_args(args, span)
    }

    fn is_element(&mut self, op: TextureOp, ty: TypeId, span: Span) -> bool {
        if self.checker.types.texel(ty).is_some() {
            return true;
        }
        let message = format!("`{}` does not work on `{}`", op.name(), self.show(ty));
        let diagnostic = Diagnostic::new(Code::E0203, span, message);
        self.report(diagnostic.help("elements are `f32`, `i32`, `u32`, or vectors of 2 or 4 of them"));
        false
    }
}
