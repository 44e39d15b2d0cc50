//! Items that are declared before any body is looked at; signatures and instances of functions; bodies.

use super::attributes::Target;
use super::body::{Body, Mutability};
use super::items::ItemId;
use super::types::bind;
use super::{Checker, Env, GenericArg};
use crate::diag::{Code, Diagnostic};
use crate::ir::{FunctionId, FunctionKind, Global, GlobalId, Inline};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Function, Variable};
use crate::types::{Predeclared, Space, Type, TypeId, TypeTable};

/// A body that is still to be checked.
pub(crate) struct Pending {
    function: FunctionId,
    item: ItemId,
    args: Vec<GenericArg>,
}

/// Instances of one program; more are a recursion that makes new ones for ever.
const MAX_INSTANCES: usize = 10_000;

impl Checker<'_> {
    pub(crate) fn declare_all(&mut self) {
        for id in self.items.ids() {
            let name = self.items.get(id).and_then(|item| super::items::item_name(&item.kind));
            if let Some(name) = name.filter(|name| super::types::builtin_type(&mut self.types, &name.name).is_some()) {
                let message = format!("`{}` is the name of a built-in type", name.name);
                self.report(Diagnostic::new(Code::E0202, name.span, message).help("choose another name"));
            }
            if let Some(ast::Item { kind: ast::ItemKind::Function(decl), attributes, .. }) = self.items.get(id) {
                let mut exports = attributes.iter().filter(|attribute| attribute.name.name == "export");
                let (exported, renamed) = exports.next().map_or((false, false), |export| (true, !export.args.is_empty()));
                if decl.generics.is_empty() && !renamed && keeps_name(decl, exported) {
                    self.symbols.insert(decl.name.name.clone());
                }
            }
        }
        for id in self.items.ids() {
            let Some(item) = self.items.get(id) else { continue };
            if let ast::ItemKind::Variable(decl) = &item.kind {
                self.declare_global(id, item, decl);
            }
        }
        for id in self.items.ids() {
            let Some(item) = self.items.get(id) else { continue };
            match &item.kind {
                ast::ItemKind::Const(_) => {
                    self.const_item(id, item.span);
                }
                ast::ItemKind::Struct(decl) if decl.generics.is_empty() => {
                    self.struct_type(id, &[]);
                }
                ast::ItemKind::Enum(_) => {
                    let mut body = Body::for_item(self, Env::default());
                    body.attributes(&item.attributes, Target::Other);
                    self.enum_type(id);
                }
                ast::ItemKind::Function(decl) if decl.generics.is_empty() => {
                    self.instance(id, Vec::new(), decl.name.span);
                }
                ast::ItemKind::Function(decl) => self.check_generics(&decl.generics),
                ast::ItemKind::Test(test) => self.declare_test(id, item, test),
                _ => {}
            }
        }
    }

    /// A generic item that nobody uses still has sound parameters.
    fn check_generics(&mut self, generics: &[ast::GenericParam]) {
        for (index, param) in generics.iter().enumerate() {
            let first = generics.iter().take(index).find(|earlier| earlier.name.name == param.name.name);
            if let Some(first) = first {
                self.report(super::items::twice("parameter", &param.name.name, param.name.span, first.name.span));
            }
            if let Some(ty) = &param.ty {
                let mut body = Body::for_item(self, Env::default());
                let id = body.resolve_type(ty);
                if id != TypeTable::POISON && !matches!(body.checker.types.get(id), Type::Int(_)) {
                    let message = format!("a compile-time value is an integer, not `{}`", body.show(id));
                    body.report(Diagnostic::new(Code::E0303, ty.span, message));
                }
            }
        }
    }

    fn declare_test(&mut self, id: ItemId, item: &ast::Item, test: &ast::TestDecl) {
        let index = self.functions.len();
        let function = Function {
            name: format!("test {index}: {}", test.name.value),
            symbol: format!("test_{index}"),
            kind: FunctionKind::Test { name: test.name.value.clone() },
            param_count: 0,
            variables: Vec::new(),
            return_type: TypeTable::VOID,
            body: None,
            launch_bounds: None,
            cluster: None,
            inline: Inline::Auto,
            exported: false,
            span: test.name.span,
            end: end_of(test.body.span),
        };
        let mut body = Body::for_item(self, Env::default());
        body.attributes(&item.attributes, Target::Other);
        self.add_function(function, id, Vec::new());
    }

    fn declare_global(&mut self, id: ItemId, item: &ast::Item, decl: &ast::VariableDecl) {
        let mut body = Body::for_item(self, Env::default());
        let attributes = body.attributes(&item.attributes, Target::Variable);
        let ty = body.resolve_sized(&decl.ty, "a variable");
        if ty != TypeTable::POISON && body.checker.holds_handle(ty) {
            let message = format!("a variable of all grids cannot hold a `{}`", body.show(ty));
            body.report(
                Diagnostic::new(Code::E0412, decl.ty.span, message)
                    .note("streams and events belong to the grid that made them (CUDA programming guide 4.18.2.2)"),
            );
        }
        body.check_array(ty, decl.ty.span);
        let init = decl.value.as_ref().and_then(|value| body.constant(value, Some(ty)));
        let space = if decl.space == ast::Space::Constant { Space::Constant } else { Space::Global };
        if decl.is_extern && decl.value.is_some() {
            let span = decl.value.as_ref().map_or(decl.name.span, |value| value.span);
            body.report(Diagnostic::new(Code::E0233, span, "what is defined elsewhere gets its value there"));
        }
        let symbol = attributes.export.as_ref().map_or_else(|| decl.name.name.clone(), |(symbol, _)| symbol.clone());
        if let Some((symbol, span)) = &attributes.export {
            self.take_symbol(symbol, *span);
        }
        let global = Global {
            name: decl.name.name.clone(),
            symbol,
            space,
            ty,
            init,
            align: attributes.align,
            exported: attributes.exported || decl.is_extern,
            external: decl.is_extern,
            span: decl.name.span,
        };
        let global = self.add_global(global);
        if decl.is_volatile {
            self.volatile_globals.insert(global);
        }
        self.global_of_item.insert(id, global);
    }

    pub(crate) fn add_global(&mut self, mut global: Global) -> GlobalId {
        global.symbol = self.unique_symbol(global.symbol, global.exported);
        self.globals.push(global);
        GlobalId(u32::try_from(self.globals.len() - 1).unwrap_or(u32::MAX))
    }

    /// A symbol that no other function or variable has; exported ones are taken as they are, and were checked.
    fn unique_symbol(&mut self, symbol: String, exported: bool) -> String {
        if exported || self.symbols.insert(symbol.clone()) {
            self.symbols.insert(symbol.clone());
            return symbol;
        }
        let unique =
            (1u32..).map(|n| format!("{symbol}_{n}")).find(|candidate| !self.symbols.contains(candidate)).unwrap_or(symbol);
        self.symbols.insert(unique.clone());
        unique
    }

    fn take_symbol(&mut self, symbol: &str, span: Span) {
        let valid = symbol
            .bytes()
            .enumerate()
            .all(|(i, c)| c.is_ascii_alphabetic() || matches!(c, b'_' | b'$') || (i > 0 && c.is_ascii_digit()));
        if symbol.is_empty() || !valid {
            let message = format!("`{symbol}` is not a symbol name");
            let help = "letters, digits, `_` and `$`, not starting with a digit";
            self.report(Diagnostic::new(Code::E0305, span, message).help(help));
        } else if !self.symbols.insert(symbol.to_owned()) {
            self.report(Diagnostic::new(Code::E0305, span, format!("the symbol `{symbol}` is taken")));
        }
    }

    fn add_function(&mut self, function: Function, item: ItemId, args: Vec<GenericArg>) -> FunctionId {
        self.functions.push(function);
        self.uses.push(super::sides::Uses::default());
        let id = FunctionId(u32::try_from(self.functions.len() - 1).unwrap_or(u32::MAX));
        self.pending.push_back(Pending { function: id, item, args });
        id
    }

    /// The instance of a function or kernel; its signature is there at once, its body is checked later.
    pub(crate) fn instance(&mut self, item: ItemId, args: Vec<GenericArg>, span: Span) -> Option<FunctionId> {
        let key = (item, args.clone());
        if let Some(id) = self.instances.get(&key) {
            return Some(*id);
        }
        if !args.is_empty() {
            self.generic_instances += 1;
            if self.generic_instances > MAX_INSTANCES {
                if self.generic_instances == MAX_INSTANCES + 1 {
                    let message = format!("more than {MAX_INSTANCES} instances: does this one make new ones for ever?");
                    self.report(Diagnostic::new(Code::E0220, span, message));
                }
                return None;
            }
        }
        let ast::Item { kind: ast::ItemKind::Function(decl), attributes, .. } = self.items.get(item)? else { return None };
        let kind = match decl.kind {
            ast::FunctionKind::Plain => FunctionKind::Plain,
            ast::FunctionKind::Host => FunctionKind::Host,
            ast::FunctionKind::Kernel => FunctionKind::Kernel,
        };
        let is_kernel = kind == FunctionKind::Kernel;
        let mut body = Body::for_item(self, bind(&decl.generics, &args));
        body.kind = kind.clone();
        let target = if is_kernel { Target::Kernel } else { Target::Function };
        let attributes = body.attributes(attributes, target);
        let mut variables: Vec<Variable> = Vec::new();
        for param in &decl.params {
            let restrict = body.attributes(&param.attributes, Target::Parameter).restrict;
            let ty = body.parameter_type(param, is_kernel, restrict);
            if let Some(first) = variables.iter().find(|earlier| earlier.name == param.name.name) {
                let diagnostic = super::items::twice("parameter", &param.name.name, param.name.span, first.span);
                body.report(diagnostic);
            }
            variables.push(Variable { name: param.name.name.clone(), ty, restrict, span: param.name.span });
        }
        let return_type = decl.result.as_ref().map_or(TypeTable::VOID, |ty| body.result_type(ty, is_kernel, &decl.name.name));
        let name = self.instance_name(&decl.name.name, &args);
        let symbol = match &attributes.export {
            Some((symbol, span)) => {
                self.take_symbol(symbol, *span);
                symbol.clone()
            }
            // reserved in `declare_all`: kernels and what other modules see keep their names
            None if args.is_empty() && keeps_name(decl, attributes.exported) => decl.name.name.clone(),
            None if args.is_empty() => self.unique_symbol(name.clone(), false),
            None => {
                let parts = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|part| !part.is_empty());
                self.unique_symbol(parts.collect::<Vec<_>>().join("_"), false)
            }
        };
        let function = Function {
            name,
            symbol,
            kind,
            param_count: u32::try_from(variables.len()).unwrap_or(u32::MAX),
            variables,
            return_type,
            body: None,
            launch_bounds: attributes.launch_bounds,
            cluster: attributes.cluster,
            inline: attributes.inline,
            exported: attributes.exported || is_kernel || decl.body.is_none(),
            span: decl.name.span,
            end: decl.body.as_ref().map_or(decl.name.span, |body| end_of(body.span)),
        };
        let id = self.add_function(function, item, args);
        self.instances.insert(key, id);
        Some(id)
    }

    /// Whether a value of this type has a stream or event inside, not behind a pointer.
    pub(crate) fn holds_handle(&self, ty: TypeId) -> bool {
        self.types.has_part(ty, &mut |part| matches!(part, TypeTable::STREAM | TypeTable::EVENT))
    }

    pub(crate) fn check_body(&mut self, pending: Pending) {
        let Some(item) = self.items.get(pending.item) else { return };
        let (block, generics) = match &item.kind {
            ast::ItemKind::Function(decl) => match &decl.body {
                Some(block) => (block, decl.generics.as_slice()),
                None => return,
            },
            ast::ItemKind::Test(test) => (&test.body, [].as_slice()),
            _ => return,
        };
        let index = pending.function.index();
        let Some(function) = self.functions.get(index) else { return };
        let (kind, symbol, return_type, name) =
            (function.kind.clone(), function.symbol.clone(), function.return_type, function.name.clone());
        let params = function.variables.clone();
        let first_new = self.diagnostics.len();
        let mut body = Body::for_item(self, bind(generics, &pending.args));
        body.function = Some(pending.function);
        body.kind = kind;
        body.symbol = symbol;
        body.return_type = return_type;
        for param in params {
            let ident = ast::Ident { name: param.name, span: param.span };
            let declared = body.find(&ident.name).is_some();
            if declared {
                // a doubled parameter was reported with the signature
                body.variables.push(Variable { name: ident.name, ty: param.ty, restrict: param.restrict, span: param.span });
                body.mutable.push(Mutability::Parameter);
            } else {
                body.declare_variable(&ident, param.ty, Mutability::Parameter, param.restrict);
            }
        }
        let stmts = body.block(block);
        let (variables, uses) = (body.variables, body.uses);
        if let Some(function) = self.functions.get_mut(index) {
            function.variables = variables;
            function.body = Some(stmts);
        }
        if let Some(slot) = self.uses.get_mut(index) {
            *slot = uses;
        }
        if !pending.args.is_empty() {
            self.name_instance(first_new, &name);
        }
    }

    /// Says of which instance the diagnostics since `first` are.
    fn name_instance(&mut self, first: usize, name: &str) {
        self.diagnostics.note_since(first, &format!("in the instance `{name}`"));
    }
}

impl Body<'_, '_> {
    fn parameter_type(&mut self, param: &ast::Param, is_kernel: bool, restrict: bool) -> TypeId {
        let ty = self.resolve_sized(&param.ty, "a parameter");
        if restrict && ty != TypeTable::POISON && self.checker.types.pointee(ty).is_none() {
            let message = format!("`@restrict` is for pointers, this is `{}`", self.show(ty));
            self.report(Diagnostic::new(Code::E0301, param.span, message));
        }
        if !is_kernel {
            return ty;
        }
        if self.checker.holds_handle(ty) {
            let message = format!("a kernel cannot be given a `{}`", self.show(ty));
            self.report(
                Diagnostic::new(Code::E0412, param.ty.span, message)
                    .help("make it in the kernel: `cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)`")
                    .note("streams and events belong to the grid that made them (CUDA programming guide 4.18.2.2)"),
            );
            return TypeTable::POISON;
        }
        if !self.check_array(ty, param.ty.span) {
            return TypeTable::POISON;
        }
        if let Some((space @ (Space::Shared | Space::Local), _, _)) = self.checker.types.pointee(ty) {
            let message = format!("a kernel cannot be given a pointer to {} memory", space.name());
            self.report(
                Diagnostic::new(Code::E0501, param.ty.span, message)
                    .help("pass the data through global memory: `*global`")
                    .note("shared and local memory are private to their block or thread (CUDA programming guide 4.18.3.3, 4.18.3.4)"),
            );
            return TypeTable::POISON;
        }
        ty
    }

    /// Whether device code has a use for a type that it is given: it has none for arrays, which have no address.
    fn check_array(&mut self, ty: TypeId, span: Span) -> bool {
        let types = &self.checker.types;
        // the parameters of a copy have a field for one, which may be left empty
        if types.is_predeclared(ty, Predeclared::Memcpy3DParms)
            || !types.has_part(ty, &mut |part| part == TypeTable::CUDA_ARRAY)
        {
            return true;
        }
        let message = format!("device code has no use for `{}`", self.show(ty));
        self.report(
            Diagnostic::new(Code::E0504, span, message)
                .help("make a texture or surface object of the array, and pass that: `cudaTextureObject_t`")
                .note("the elements of an array have no addresses (CUDA programming guide, on texture and surface memory)"),
        );
        false
    }

    fn result_type(&mut self, ty: &ast::TypeExpr, is_kernel: bool, name: &str) -> TypeId {
        if is_kernel {
            let message = format!("kernel `{name}` cannot return a value");
            self.report(
                Diagnostic::new(Code::E0404, ty.span, message)
                    .help("write the result through a pointer parameter: `out: *global i32`")
                    .note("a launch returns before the kernel has run (CUDA programming guide 4.18.4.2.1)"),
            );
            return TypeTable::POISON;
        }
        let id = self.resolve_type(ty);
        if matches!(self.checker.types.get(id), Type::Unsized { .. }) {
            let message = format!("a function cannot return `{}`", self.show(id));
            self.report(Diagnostic::new(Code::E0303, ty.span, message));
            return TypeTable::POISON;
        }
        id
    }
}

/// Whether a function's symbol must be its name: kernels, what is exported, and what is defined elsewhere.
const fn keeps_name(decl: &ast::FunctionDecl, exported: bool) -> bool {
    matches!(decl.kind, ast::FunctionKind::Kernel) || exported || decl.body.is_none()
}

/// The closing brace of a block.
fn end_of(span: Span) -> Span {
    Span::new(span.file, span.end.saturating_sub(1).max(span.start), span.end)
}
