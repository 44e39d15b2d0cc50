//! Fetches from textures, reads and writes of surfaces, and the formats of their elements.

use super::body::{Body, is_poison, poison};
use crate::builtins::{TexelAccess, TexelChoice, TextureOp};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Const, ConstValue};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{Predeclared, Scalar, TypeId, TypeTable};

impl Body<'_, '_> {
    /// `tex2D::[f32x4](t, x, y)`; `surf2Dwrite(value, s, x, y)`, whose element type is the value's where it is not said. What can be chosen
    /// stands last and may be left out: `surf2Dread::[u8](s, x, y, cudaBoundaryModeZero)`.
    pub(super) fn texture(&mut self, op: TextureOp, path: &ast::Path, args: &[ast::Arg], span: Span) -> Expr {
        let name = op.name();
        self.needs_device(path.span, name);
        let most = op.operands();
        let least = most - usize::from(op.choice().is_some());
        if !self.count(name, args, least, most, span) {
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
        let mut typed = Vec::with_capacity(most);
        let written = value.as_ref().map(|value| value.ty);
        typed.extend(value);
        for (index, arg) in rest.iter().enumerate().take(1 + op.coordinates()) {
            let ty = index.checked_sub(1).map_or(op.object(), |at| op.coordinate(at));
            typed.push(self.expr_as(&arg.value, ty));
        }
        if let Some(choice) = op.choice() {
            typed.push(self.chosen(op, choice, rest.get(1 + op.coordinates()), span));
        }
        let Some(ty) = element.or(written) else { return poison(span) };
        if ty == TypeTable::POISON || typed.iter().any(is_poison) || !self.is_element(op, ty, path.span) {
            return poison(span);
        }
        let ty = if op.is_write() { TypeTable::VOID } else { ty };
        Expr { kind: ExprKind::Texture(op, typed), ty, span }
    }

    /// A boundary mode, or the component that is gathered: known at compile time, since it is a part of the instruction.
    fn chosen(&mut self, op: TextureOp, choice: TexelChoice, arg: Option<&ast::Arg>, span: Span) -> Expr {
        let Some(arg) = arg else {
            return super::expr::const_expr(Const::bits(TypeTable::I32, u64::from(choice.default_value())), span);
        };
        let Some(value) = self.constant(&arg.value, Some(choice.ty())) else { return poison(arg.span) };
        let Some(bits) = value.as_bits().filter(|bits| choice.has(*bits)) else {
            let boundary = choice == TexelChoice::Boundary;
            let message = format!("`{}` has no such {}", op.name(), if boundary { "boundary mode" } else { "component" });
            let diagnostic = Diagnostic::new(Code::E0203, arg.span, message);
            self.report(diagnostic.help(match choice {
                TexelChoice::Boundary => {
                    "the modes are `cudaBoundaryModeZero`, `cudaBoundaryModeClamp` and `cudaBoundaryModeTrap`"
                }
                TexelChoice::Component => "the components are 0 to 3",
            }));
            return poison(arg.span);
        };
        // in the IR it is a number, a part of the instruction
        super::expr::const_expr(Const::bits(TypeTable::I32, bits), arg.span)
    }

    /// `cudaCreateChannelDesc::[f32x4]()`, or CUDA's other form with the bits of four channels and their kind.
    pub(super) fn channel_desc(&mut self, path: &ast::Path, args: &[ast::Arg], span: Span) -> Expr {
        let ty = self.checker.types.predeclared(Predeclared::ChannelFormatDesc);
        if path.args.is_empty() && !args.is_empty() {
            return if self.count("cudaCreateChannelDesc", args, 5, 5, span) {
                self.construct(ty, args, span)
            } else {
                self.skip_args(args, span)
            };
        }
        let element = match path.args.as_slice() {
            [only] => only.as_type(),
            _ => None,
        };
        let Some(element) = element else {
            let diagnostic = Diagnostic::new(Code::E0220, path.span, "`cudaCreateChannelDesc` needs the type of an element");
            self.report(diagnostic.help("say it: `cudaCreateChannelDesc::[f32]()`"));
            return self.skip_args(args, span);
        };
        let element = self.resolve_sized(&element, "an element of a texture");
        if element == TypeTable::POISON || !self.count("cudaCreateChannelDesc", args, 0, 0, span) {
            return self.skip_args(args, span);
        }
        let Some((scalar, lanes)) = self.checker.types.texel(element) else {
            return self.no_element("cudaCreateChannelDesc", element, path.span, span);
        };
        let (bits, kind) = match scalar {
            Scalar::Int(int) => (int.bits(), u64::from(!int.signed())),
            Scalar::Float(float) => (float.bits(), 2),
        };
        let channel = |lane: u8| ConstValue::Bits(if lane < lanes { u64::from(bits) } else { 0 });
        let value = vec![channel(0), channel(1), channel(2), channel(3), ConstValue::Bits(kind)];
        super::expr::const_expr(Const { ty, value: ConstValue::Aggregate(value) }, span)
    }

    fn without_element(&mut self, op: TextureOp, name: Span, args: &[ast::Arg], span: Span) -> Expr {
        let message = format!("`{}` needs the type of an element", op.name());
        let diagnostic = Diagnostic::new(Code::E0220, name, message);
        self.report(diagnostic.help(format!("say it: `{}::[f32](…)`", op.name())));
        self.skip_args(args, span)
    }

    fn is_element(&mut self, op: TextureOp, ty: TypeId, span: Span) -> bool {
        match self.checker.types.texel(ty) {
            Some((_, lanes)) if op.access() == TexelAccess::Gather && lanes != 4 => {
                let message = format!("`{}` gives four elements, not `{}`", op.name(), self.show(ty));
                self.report(Diagnostic::new(Code::E0203, span, message).help("say it: `tex2Dgather::[f32x4](…)`"));
                false
            }
            Some(_) => true,
            None => {
                self.no_element(op.name(), ty, span, span);
                false
            }
        }
    }

    fn no_element(&mut self, name: &str, ty: TypeId, span: Span, whole: Span) -> Expr {
        let message = format!("`{name}` does not work on `{}`", self.show(ty));
        let diagnostic = Diagnostic::new(Code::E0203, span, message);
        self.report(diagnostic.help("elements are integers of at most 32 bits, `f16`, `f32`, or vectors of 2 or 4 of them"));
        poison(whole)
    }
}
