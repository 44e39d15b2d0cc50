//! Calls of functions, construction of values, and inference of compile-time arguments.

use super::body::{Body, is_poison, poison};
use super::expr::is_literal;
use super::items::ItemId;
use super::sides::Place as SidePlace;
use super::{GenericArg, suggest};
use crate::diag::{Code, Diagnostic};
use crate::ir::{FunctionId, FunctionKind};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind};
use crate::types::{Predeclared, StructId, Type, TypeId, TypeTable};
use std::collections::HashMap;

impl Body<'_, '_> {
    /// `callee(args)`: a function, a builtin, or a value of a struct or vector.
    pub(crate) fn call(&mut self, callee: &ast::Expr, args: &[ast::Arg], expect: Option<TypeId>, span: Span) -> Expr {
        let ast::ExprKind::Path(path) = &callee.without_parens().kind else {
            if self.numba_launch(callee) {
                return self.skip_args(args, span);
            }
            let typed = self.expr(callee, None);
            if !is_poison(&typed) {
                let message = format!("a `{}` cannot be called", self.show(typed.ty));
                self.report(Diagnostic::new(Code::E0207, callee.span, message));
            }
            return self.skip_args(args, span);
        };
        let name = path.name.name.as_str();
        if path.qualifier.is_none() && self.find(name).is_some() {
            self.report(Diagnostic::new(Code::E0207, path.span, format!("`{name}` is a variable, not a function")));
            return self.skip_args(args, span);
        }
        if path.qualifier.is_none()
            && let Some((id, item)) = self.checker.items.find(name)
        {
            match &item.kind {
                ast::ItemKind::Function(decl) => return self.call_function(id, decl, path, args, span),
                ast::ItemKind::Struct(decl) => return self.construct_struct(id, decl, path, args, expect, span),
                _ => {
                    self.report(Diagnostic::new(Code::E0207, path.span, format!("`{name}` cannot be called")));
                    return self.skip_args(args, span);
                }
            }
        }
        if let Some(GenericArg::Type(ty)) = self.env.get(name).copied() {
            return self.construct(ty, args, span);
        }
        if let Some(result) = self.builtin_call(path, args, expect, span) {
            return result;
        }
        if let Some(ty) = super::types::builtin_type(&mut self.checker.types, name) {
            return self.construct(ty, args, span);
        }
        if !self.checker.items.is_damaged(name) {
            self.unknown_name(name, path.span);
        }
        self.skip_args(args, span)
    }

    /// `kernel[grid, block](args)`, as Python has it.
    fn numba_launch(&mut self, callee: &ast::Expr) -> bool {
        let (name, config) = match &callee.kind {
            ast::ExprKind::Type(ast::TypeExpr { kind: ast::TypeKind::Path(path), .. }) => (&path.name, path.args.as_slice()),
            ast::ExprKind::Index { base, index } => match base.as_ident() {
                Some(name) => (name, std::slice::from_ref(index.as_ref())),
                None => return false,
            },
            _ => return false,
        };
        let declared = match self.checker.items.find(&name.name) {
            Some((_, ast::Item { kind: ast::ItemKind::Function(decl), .. }))
                if decl.kind == ast::FunctionKind::Kernel && self.find(&name.name).is_none() =>
            {
                decl.name.span
            }
            _ => return false,
        };
        let mut words: Vec<String> = config.iter().map(|value| self.text(value.span).to_owned()).collect();
        if words.len() == 1 {
            words.push("128".to_owned());
        }
        let at = Span::new(callee.span.file, name.span.end, callee.span.end);
        let diagnostic = Diagnostic::new(Code::E0401, at, format!("the launch of `{}` stands in `<<<` and `>>>`", name.name));
        self.report(diagnostic.also(declared, "declared here").fix("write", at, format!("<<<{}>>>", words.join(", "))));
        true
    }

    /// Checks arguments whose call is wrong anyway, so that their own mistakes are found.
    pub(crate) fn skip_args(&mut self, args: &[ast::Arg], span: Span) -> Expr {
        for arg in args {
            if arg.value.as_type().is_none() || arg.value.as_ident().is_some() {
                if let Some(name) = arg.value.as_ident()
                    && self.find(&name.name).is_none()
                {
                    continue;
                }
                self.expr(&arg.value, None);
            }
        }
        poison(span)
    }

    fn call_function(&mut self, id: ItemId, decl: &ast::FunctionDecl, path: &ast::Path, args: &[ast::Arg], span: Span) -> Expr {
        let name = &decl.name.name;
        if decl.kind == ast::FunctionKind::Kernel {
            let message = format!("kernel `{name}` is called like a function");
            self.report(
                Diagnostic::new(Code::E0401, path.span, message)
                    .also(decl.name.span, "declared as a kernel here")
                    .help(format!("kernels are launched, not called: `{name}<<<grid, block>>>(…)`"))
                    .note("CUDA programming guide 4.18.4.2.1"),
            );
            return self.skip_args(args, span);
        }
        let Some((function, typed)) = self.callee(id, decl, path, args, span) else { return poison(span) };
        let (kind, ty) = match self.checker.functions.get(function.index()) {
            Some(callee) => (callee.kind.clone(), callee.return_type),
            None => return poison(span),
        };
        if kind == FunctionKind::Host && !self.is_host() {
            let message = format!("`{name}` is a `host fn`, device code cannot call it");
            let diagnostic = Diagnostic::new(Code::E0234, path.span, message).also(decl.name.span, "declared here");
            self.wrong_on(SidePlace::Device, diagnostic);
        } else {
            self.records_call(function);
        }
        Expr { kind: ExprKind::Call(function, typed), ty, span }
    }

    /// The instance that a call or launch means, and its arguments converted to the parameters' types.
    pub(crate) fn callee(
        &mut self,
        id: ItemId,
        decl: &ast::FunctionDecl,
        path: &ast::Path,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<(FunctionId, Vec<Expr>)> {
        if args.len() != decl.params.len() {
            self.wrong_count(decl, args, span);
            self.skip_args(args, span);
            return None;
        }
        for arg in args {
            if let Some(name) = &arg.name {
                let message = "arguments of functions have no names";
                self.report(Diagnostic::new(Code::E0204, name.span, message).help("give them in the order of the parameters"));
            }
        }
        let (generic_args, known) = if path.args.is_empty() && !decl.generics.is_empty() {
            self.infer(decl, args, span)?
        } else {
            (self.generic_args(&decl.generics, &path.args, &decl.name.name, path.span)?, Vec::new())
        };
        let function = self.checker.instance(id, generic_args, span)?;
        let params: Vec<TypeId> = self
            .checker
            .functions
            .get(function.index())?
            .variables
            .iter()
            .take(decl.params.len())
            .map(|variable| variable.ty)
            .collect();
        let mut typed = Vec::with_capacity(args.len());
        let mut sound = true;
        let mut known = known.into_iter();
        for ((arg, ty), param) in args.iter().zip(params).zip(&decl.params) {
            let value = self.known_or_typed(known.next().flatten(), &arg.value, ty);
            if decl.kind == ast::FunctionKind::Kernel && self.refuse_private(&value, param, ty) {
                sound = false;
                continue;
            }
            let before = self.checker.diagnostics.len();
            let value = self.coerce(value, ty, &arg.value);
            self.checker.diagnostics.label_since(before, param.span, "for this parameter");
            sound &= !is_poison(&value);
            typed.push(value);
        }
        sound.then_some((function, typed))
    }

    fn wrong_count(&mut self, decl: &ast::FunctionDecl, args: &[ast::Arg], span: Span) {
        let (wanted, given) = (decl.params.len(), args.len());
        let plural = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{plural}, {given} given", decl.name.name);
        let mut diagnostic = if let Some(extra) = args.get(wanted) {
            Diagnostic::new(Code::E0204, extra.span, message).label("one too many")
        } else {
            Diagnostic::new(Code::E0204, span, message)
        };
        if let Some(missing) = decl.params.get(given) {
            diagnostic = diagnostic.also(missing.span, format!("nothing is given for `{}`", missing.name.name));
        } else {
            diagnostic = diagnostic.also(decl.name.span, "declared here");
        }
        self.report(diagnostic);
    }

    // ----------------------------------------------------------------------------------------------------- inference

    /// The compile-time arguments that make the parameters' types those of the arguments. Literals decide only what nothing else does.
    /// The arguments too, as far as they were typed for it: to type one twice would double the time with every level of calls.
    fn infer(
        &mut self,
        decl: &ast::FunctionDecl,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<(Vec<GenericArg>, Vec<Option<Expr>>)> {
        let mut found: HashMap<String, GenericArg> = HashMap::new();
        let mut known = vec![None; args.len()];
        for literals in [false, true] {
            for ((param, arg), known) in decl.params.iter().zip(args).zip(&mut known) {
                if is_literal(&arg.value) != literals {
                    continue;
                }
                let typed = self.expr(&arg.value, None);
                if is_poison(&typed) {
                    return None;
                }
                self.match_type(&decl.generics, &param.ty, typed.ty, &mut found, literals);
                *known = Some(typed);
            }
        }
        let mut result = Vec::with_capacity(decl.generics.len());
        for param in &decl.generics {
            let Some(arg) = found.get(&param.name.name) else {
                let name = &param.name.name;
                let message = format!("`{name}` of `{}` cannot be inferred from the arguments", decl.name.name);
                let all: Vec<&str> = decl.generics.iter().map(|param| param.name.name.as_str()).collect();
                self.report(Diagnostic::new(Code::E0220, span, message).also(param.span, "declared here").help(format!(
                    "say it: `{}::[{}](…)`",
                    decl.name.name,
                    all.join(", ")
                )));
                return None;
            };
            result.push(*arg);
        }
        Some((result, known))
    }

    /// An argument that inference has typed, where its type does not depend on what is wanted; otherwise typed for what is wanted.
    fn known_or_typed(&mut self, known: Option<Expr>, arg: &ast::Expr, wanted: TypeId) -> Expr {
        let is_pointer = self.checker.types.pointee(wanted).is_some();
        match known {
            Some(typed) if typed.ty == wanted || (is_pointer && !is_literal(arg)) => typed,
            _ => self.expr(arg, Some(wanted)),
        }
    }

    /// Finds what the parameters must be for `pattern` to be `actual`; a first finding stands.
    fn match_type(
        &mut self,
        generics: &[ast::GenericParam],
        pattern: &ast::TypeExpr,
        actual: TypeId,
        found: &mut HashMap<String, GenericArg>,
        literal: bool,
    ) {
        match &pattern.kind {
            ast::TypeKind::Path(path) => {
                if let Some(name) = path.as_ident()
                    && let Some(param) = generics.iter().find(|param| param.name.name == name.name)
                {
                    if param.ty.is_none() && !(literal && found.contains_key(&name.name)) {
                        found.entry(name.name.clone()).or_insert(GenericArg::Type(actual));
                    }
                    return;
                }
                let Type::Struct(id) = *self.checker.types.get(actual) else { return };
                let Some((_, args)) = self.checker.struct_origin.get(&id).cloned() else { return };
                for (pattern, arg) in path.args.iter().zip(args) {
                    self.match_arg(generics, pattern, arg, found);
                }
            }
            ast::TypeKind::Pointer { pointee, .. } => {
                let target = self.checker.types.pointee(actual).map(|(_, target, _)| target);
                let target = target.or_else(|| self.checker.types.element(actual, 0));
                if let Some(target) = target {
                    self.match_type(generics, pointee, target, found, literal);
                }
            }
            ast::TypeKind::Array { element, length } => {
                let Type::Array { element: actual, len } = *self.checker.types.get(actual) else { return };
                self.match_type(generics, element, actual, found, literal);
                self.match_arg(generics, length, GenericArg::Int(TypeTable::I64, len), found);
            }
            ast::TypeKind::DynamicArray(_) | ast::TypeKind::Error => {}
        }
    }

    fn match_arg(
        &mut self,
        generics: &[ast::GenericParam],
        pattern: &ast::Expr,
        actual: GenericArg,
        found: &mut HashMap<String, GenericArg>,
    ) {
        if let Some(name) = pattern.as_ident()
            && let Some(param) = generics.iter().find(|param| param.name.name == name.name)
        {
            let arg = match (&param.ty, actual) {
                (None, GenericArg::Type(_)) => Some(actual),
                (Some(ty), GenericArg::Int(_, bits)) => {
                    let ty = self.resolve_type(ty);
                    self.checker.types.as_int(ty).map(|int| GenericArg::Int(ty, int.wrap(i128::from(bits))))
                }
                _ => None,
            };
            if let Some(arg) = arg {
                found.entry(name.name.clone()).or_insert(arg);
            }
            return;
        }
        if let (Some(pattern), GenericArg::Type(ty)) = (pattern.as_type(), actual) {
            self.match_type(generics, &pattern, ty, found, false);
        }
    }

    // -------------------------------------------------------------------------------------------------- construction

    fn construct_struct(
        &mut self,
        id: ItemId,
        decl: &ast::StructDecl,
        path: &ast::Path,
        args: &[ast::Arg],
        expect: Option<TypeId>,
        span: Span,
    ) -> Expr {
        if path.args.is_empty() && !decl.generics.is_empty() {
            // the wanted type, or the arguments, say which instance it is
            let wanted = expect.filter(|ty| match self.checker.types.get(*ty) {
                Type::Struct(sid) => self.checker.struct_origin.get(sid).is_some_and(|(origin, _)| *origin == id),
                _ => false,
            });
            if let Some(ty) = wanted {
                return self.construct(ty, args, span);
            }
            let Some((generic_args, known)) = self.infer_struct(decl, args, span) else { return poison(span) };
            let ty = self.checker.struct_type(id, &generic_args);
            return match *self.checker.types.get(ty) {
                Type::Struct(id) => self.construct_fields(ty, id, args, known, span),
                _ => self.skip_args(args, span),
            };
        }
        let Some(generic_args) = self.generic_args(&decl.generics, &path.args, &decl.name.name, path.span) else {
            return self.skip_args(args, span);
        };
        let ty = self.checker.struct_type(id, &generic_args);
        self.construct(ty, args, span)
    }

    fn infer_struct(
        &mut self,
        decl: &ast::StructDecl,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<(Vec<GenericArg>, Vec<Option<Expr>>)> {
        let mut found = HashMap::new();
        let mut known = vec![None; args.len()];
        for (index, (arg, known)) in args.iter().zip(&mut known).enumerate() {
            let field = match &arg.name {
                Some(name) => decl.fields.iter().find(|field| field.name.name == name.name),
                None => decl.fields.get(index),
            };
            let Some(field) = field else { continue };
            let typed = self.expr(&arg.value, None);
            if is_poison(&typed) {
                return None;
            }
            self.match_type(&decl.generics, &field.ty, typed.ty, &mut found, is_literal(&arg.value));
            *known = Some(typed);
        }
        let all: Option<Vec<GenericArg>> = decl.generics.iter().map(|param| found.get(&param.name.name).copied()).collect();
        if all.is_none() {
            let message = format!("the compile-time arguments of `{}` cannot be inferred", decl.name.name);
            self.report(Diagnostic::new(Code::E0220, span, message).help(format!("say them: `{}::[…](…)`", decl.name.name)));
        }
        Some((all?, known))
    }

    /// A value of a struct, vector or `dim3` from its parts.
    pub(crate) fn construct(&mut self, ty: TypeId, args: &[ast::Arg], span: Span) -> Expr {
        match *self.checker.types.get(ty) {
            Type::Struct(id) => self.construct_fields(ty, id, args, Vec::new(), span),
            Type::Vector { element, lanes } => self.construct_vector(ty, TypeTable::scalar(element), lanes, args, span),
            Type::Poison => self.skip_args(args, span),
            _ => {
                let name = self.show(ty);
                let diagnostic = Diagnostic::new(Code::E0207, span, format!("`{name}` is not made by a call"));
                let help = args.first().map(|arg| format!("to convert, write `{} as {name}`", self.text(arg.span)));
                self.report(match help {
                    Some(help) => diagnostic.help(help),
                    None => diagnostic,
                });
                self.skip_args(args, span)
            }
        }
    }

    fn construct_vector(&mut self, ty: TypeId, element: TypeId, lanes: u8, args: &[ast::Arg], span: Span) -> Expr {
        if let [only] = args {
            let scalar = self.expr_as(&only.value, element);
            return if is_poison(&scalar) { scalar } else { self.broadcast(scalar, ty) };
        }
        if args.len() != usize::from(lanes) {
            let message = format!("`{}` is made of {lanes} values or one, {} given", self.show(ty), args.len());
            self.report(Diagnostic::new(Code::E0223, span, message));
            return self.skip_args(args, span);
        }
        let values: Vec<Expr> = args.iter().map(|arg| self.expr_as(&arg.value, element)).collect();
        if values.iter().any(is_poison) {
            return poison(span);
        }
        self.fold(ExprKind::Aggregate(values, (0..u32::from(lanes)).collect()), ty, span)
    }

    /// `known` are the arguments that inference has typed.
    fn construct_fields(&mut self, ty: TypeId, id: StructId, args: &[ast::Arg], known: Vec<Option<Expr>>, span: Span) -> Expr {
        let Some(def) = self.checker.types.struct_def(id).cloned() else { return poison(span) };
        let mut values: Vec<Option<Expr>> = vec![None; def.fields.len()];
        let mut order = Vec::new();
        let mut sound = true;
        let mut known = known.into_iter();
        for (position, arg) in args.iter().enumerate() {
            let known = known.next().flatten();
            let index = match &arg.name {
                Some(name) => def.fields.iter().position(|field| field.name == name.name),
                None => (position < def.fields.len()).then_some(position),
            };
            let Some(index) = index else {
                self.unknown_field(&def, arg);
                self.expr(&arg.value, None);
                sound = false;
                continue;
            };
            let Some(field) = def.fields.get(index) else { continue };
            let value = self.field_value(ty, arg, field.ty, known);
            sound &= !is_poison(&value);
            let slot = values.get_mut(index);
            if slot.as_ref().is_some_and(|slot| slot.is_some()) {
                let message = format!("field `{}` is given twice", field.name);
                self.report(Diagnostic::new(Code::E0223, arg.span, message));
                sound = false;
            } else if let Some(slot) = slot {
                *slot = Some(value);
                order.push(u32::try_from(index).unwrap_or(u32::MAX));
            }
        }
        // the sizes of a launch that are not given are 1
        if ty == TypeTable::DIM3 && !args.is_empty() {
            for (index, slot) in values.iter_mut().enumerate() {
                if slot.is_none() {
                    *slot = Some(super::expr::const_expr(crate::ir::Const::u32(1), span));
                    order.push(u32::try_from(index).unwrap_or(u32::MAX));
                }
            }
        }
        // what is not said of a copy, a size or a position is zero, as in C
        if Predeclared::ALL.into_iter().any(|which| self.checker.types.is_predeclared(ty, which)) {
            for (index, (slot, field)) in values.iter_mut().zip(&def.fields).enumerate() {
                if slot.is_none() {
                    *slot = Some(super::expr::const_expr(crate::ir::Const::zero(field.ty), span));
                    order.push(u32::try_from(index).unwrap_or(u32::MAX));
                }
            }
        }
        let missing: Vec<&str> =
            def.fields.iter().zip(&values).filter(|(_, value)| value.is_none()).map(|(field, _)| field.name.as_str()).collect();
        if !missing.is_empty() && sound {
            let message = format!("`{}` is made without `{}`", def.name, missing.join("`, `"));
            self.report(Diagnostic::new(Code::E0223, span, message).also(def.span, "declared here"));
        }
        let values: Option<Vec<Expr>> = values.into_iter().collect();
        match values {
            Some(values) if sound => self.fold(ExprKind::Aggregate(values, order), ty, span),
            _ => poison(span),
        }
    }

    /// The sizes of a `dim3` may be `i32`, as those of a launch.
    fn field_value(&mut self, ty: TypeId, arg: &ast::Arg, field: TypeId, known: Option<Expr>) -> Expr {
        if ty != TypeTable::DIM3 {
            let value = self.known_or_typed(known, &arg.value, field);
            return self.coerce(value, field, &arg.value);
        }
        let typed = self.expr(&arg.value, Some(TypeTable::U32));
        if typed.ty == TypeTable::I32 {
            return self.cast_int(typed, TypeTable::U32);
        }
        self.coerce(typed, field, &arg.value)
    }

    fn unknown_field(&mut self, def: &crate::types::StructDef, arg: &ast::Arg) {
        let Some(name) = &arg.name else {
            let message = format!("`{}` has {} fields", def.name, def.fields.len());
            self.report(Diagnostic::new(Code::E0223, arg.span, message).label("one too many"));
            return;
        };
        let message = format!("`{}` has no field `{}`", def.name, name.name);
        let mut diagnostic = Diagnostic::new(Code::E0223, name.span, message);
        // CUDA's own structures are declared nowhere
        if def.span != Span::default() {
            diagnostic = diagnostic.also(def.span, "declared here");
        }
        let names = || def.fields.iter().map(|field| field.name.as_str());
        if let Some(near) = suggest::nearest(&name.name, names()) {
            diagnostic = diagnostic.fix(format!("did you mean `{near}`?"), name.span, near);
        } else {
            diagnostic = diagnostic.help(format!("its fields are `{}`", names().collect::<Vec<_>>().join("`, `")));
        }
        self.report(diagnostic);
    }
}
