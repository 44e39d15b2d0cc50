//! Names, fields, indices and dereferences: what denotes a place, and what only has a value.

use super::body::{Body, Symbol, is_poison, poison};
use super::expr::{const_expr, lane_index};
use super::items::ItemId;
use super::{GenericArg, suggest};
use crate::builtins::{Cdp, CudaEnum, NamedKind, Register, STREAM_DEFAULT, named_constant, named_constants};
use crate::diag::{Code, Diagnostic};
use crate::ir::{Const, ConstValue, Global, GlobalId};
use crate::source::Span;
use crate::syntax::ast;
use crate::typed::{Expr, ExprKind, Place, PlaceKind};
use crate::types::{Space, Type, TypeId, TypeTable};

/// What an expression denotes.
pub(crate) enum Value {
    /// Something in memory.
    Place(Place),
    /// Something computed.
    Expr(Expr),
}

/// The names that stand for a thread's position, each a vector of three registers.
const REGISTER_VECTORS: &[&str] = &["threadIdx", "blockIdx", "blockDim", "gridDim"];

impl Body<'_, '_> {
    /// The value of a place or expression.
    pub(crate) fn read(&mut self, value: Value, span: Span) -> Expr {
        match value {
            Value::Expr(expr) => expr,
            Value::Place(place) => {
                let ty = place.ty;
                if ty == TypeTable::VOID {
                    let message = "what a `*void` points at has no type";
                    self.report(
                        Diagnostic::new(Code::E0230, span, message).help("convert the pointer first: `p as *global f32`"),
                    );
                    return poison(span);
                }
                let access = self.access_of(&place);
                Expr { kind: ExprKind::Read(Box::new(place), access), ty, span }
            }
        }
    }

    /// The place that an expression denotes; a message when it denotes none. `what` completes "there is nothing here to …".
    pub(crate) fn place(&mut self, expr: &ast::Expr, what: &str) -> Option<Place> {
        match self.value(expr, None) {
            Value::Place(place) => (place.ty != TypeTable::POISON).then_some(place),
            Value::Expr(value) => {
                if !is_poison(&value) {
                    let message = format!("there is nothing here to {what}: this is a value, not a place in memory");
                    self.report(Diagnostic::new(Code::E0211, expr.span, message));
                }
                None
            }
        }
    }

    /// What an expression denotes.
    pub(crate) fn value(&mut self, expr: &ast::Expr, expect: Option<TypeId>) -> Value {
        match &expr.kind {
            ast::ExprKind::Paren(inner) => self.value(inner, expect),
            ast::ExprKind::Path(path) => self.path(path, expect),
            ast::ExprKind::Field { base, name } => self.field(base, name, expr.span),
            ast::ExprKind::Index { base, index } => self.index(base, index, expr.span),
            ast::ExprKind::Unary { op: ast::UnaryOp::Deref, operand } => self.deref(operand, expr.span),
            _ => Value::Expr(self.expr(expr, expect)),
        }
    }

    fn deref(&mut self, operand: &ast::Expr, span: Span) -> Value {
        let pointer = self.expr(operand, None);
        if is_poison(&pointer) {
            return Value::Expr(pointer);
        }
        let Some((_, pointee, _)) = self.checker.types.pointee(pointer.ty) else {
            let message = format!("`*` needs a pointer, this is `{}`", self.show(pointer.ty));
            self.report(Diagnostic::new(Code::E0228, operand.span, message));
            return Value::Expr(poison(span));
        };
        Value::Place(Place { kind: PlaceKind::Deref(pointer), ty: pointee, span })
    }

    fn path(&mut self, path: &ast::Path, expect: Option<TypeId>) -> Value {
        let span = path.span;
        if let Some(qualifier) = &path.qualifier {
            return Value::Expr(self.enum_member(qualifier, &path.name, span));
        }
        let name = path.name.name.as_str();
        if path.args.is_empty() {
            if let Some(named) = self.find(name) {
                return match named.symbol.clone() {
                    Symbol::Variable(id) => {
                        let ty = self.variables.get(id.0 as usize).map_or(TypeTable::POISON, |variable| variable.ty);
                        Value::Place(Place { kind: PlaceKind::Variable(id), ty, span })
                    }
                    Symbol::Const(constant) => Value::Expr(const_expr(constant, span)),
                    Symbol::Shared(id) => self.global_place(id, span),
                    Symbol::Poison => Value::Expr(poison(span)),
                };
            }
            match self.env.get(name).copied() {
                Some(GenericArg::Int(ty, bits)) => return Value::Expr(const_expr(Const::bits(ty, bits), span)),
                Some(GenericArg::Type(_)) => {
                    self.report(Diagnostic::new(Code::E0203, span, format!("`{name}` is a type, a value is needed here")));
                    return Value::Expr(poison(span));
                }
                None => {}
            }
        }
        if let Some((id, item)) = self.checker.items.find(name) {
            return self.item_value(id, item, path);
        }
        self.builtin_name(name, span, expect)
    }

    fn item_value(&mut self, id: ItemId, item: &ast::Item, path: &ast::Path) -> Value {
        let span = path.span;
        let name = &path.name.name;
        match &item.kind {
            ast::ItemKind::Const(_) => match self.checker.const_item(id, span) {
                Some(constant) => Value::Expr(const_expr(constant, span)),
                None => Value::Expr(poison(span)),
            },
            ast::ItemKind::Variable(_) => match self.checker.global_of_item.get(&id).copied() {
                Some(global) => self.global_place(global, span),
                None => Value::Expr(poison(span)),
            },
            ast::ItemKind::Function(decl) => {
                let (message, help) = if decl.kind == ast::FunctionKind::Kernel {
                    (format!("kernel `{name}` is not a value"), format!("launch it: `{name}<<<grid, block>>>(…)`"))
                } else {
                    (format!("function `{name}` is not a value"), format!("call it: `{name}(…)`"))
                };
                let diagnostic = Diagnostic::new(Code::E0403, span, message).also(decl.name.span, "declared here").help(help);
                self.report(
                    diagnostic.note("which kernel a launch starts is fixed at compile time, so that its parameters are known"),
                );
                Value::Expr(poison(span))
            }
            _ => {
                self.report(Diagnostic::new(Code::E0203, span, format!("`{name}` is a type, a value is needed here")));
                Value::Expr(poison(span))
            }
        }
    }

    fn builtin_name(&mut self, name: &str, span: Span, expect: Option<TypeId>) -> Value {
        if let Some(constant) = named_constant(name) {
            if constant.kind == NamedKind::Stream && constant.value != STREAM_DEFAULT && self.checker.options.cdp == Cdp::Cdp1 {
                self.no_special_stream(&constant, span);
                return Value::Expr(poison(span));
            }
            return Value::Expr(const_expr(Const::bits(constant.ty(), u64::from(constant.value)), span));
        }
        if let Some(register) = Register::from_name(name).filter(|r| matches!(r, Register::WarpSize | Register::LaneId)) {
            return Value::Expr(self.register(register, span));
        }
        if REGISTER_VECTORS.contains(&name) {
            let lanes: Vec<Expr> = ["x", "y", "z"]
                .iter()
                .filter_map(|axis| Register::from_name(&format!("{name}.{axis}")))
                .map(|register| self.register(register, span))
                .collect();
            let kind = ExprKind::Aggregate(lanes, vec![0, 1, 2]);
            return Value::Expr(Expr { kind, ty: TypeTable::DIM3, span });
        }
        if name == "null" {
            // an array of the runtime is behind a pointer in CUDA, and may be none
            let fits = |ty: &TypeId| *ty == TypeTable::CUDA_ARRAY || self.checker.types.pointee(*ty).is_some();
            let pointer = expect.filter(fits).unwrap_or(TypeTable::VOID_POINTER);
            return Value::Expr(const_expr(Const::bits(pointer, 0), span));
        }
        if super::builtin::is_function(name) {
            let diagnostic = Diagnostic::new(Code::E0403, span, format!("function `{name}` is not a value"));
            self.report(diagnostic.fix("a call has parentheses", span.after(), "()"));
        } else if !self.checker.items.is_damaged(name) {
            self.unknown_name(name, span);
        }
        Value::Expr(poison(span))
    }

    pub(crate) fn register(&mut self, register: Register, span: Span) -> Expr {
        self.needs_device(span, register.name());
        let ty = if register.bits() == 64 { TypeTable::U64 } else { TypeTable::U32 };
        Expr { kind: ExprKind::Register(register), ty, span }
    }

    pub(crate) fn unknown_name(&mut self, name: &str, span: Span) {
        let mut diagnostic = Diagnostic::new(Code::E0201, span, format!("`{name}` is not declared"));
        let near = match name {
            "NULL" | "nullptr" => Some("null".to_owned()),
            _ => self.nearest_name(name),
        };
        if let Some(near) = near {
            diagnostic = diagnostic.fix(format!("did you mean `{near}`?"), span, near);
        }
        self.report(diagnostic);
    }

    fn nearest_name(&self, name: &str) -> Option<String> {
        let visible = self.visible_names();
        let mut candidates: Vec<&str> = visible.iter().map(String::as_str).collect();
        for item in self.checker.items.names() {
            candidates.push(item);
        }
        let builtins = REGISTER_VECTORS.iter().copied().chain(super::builtin::names());
        for builtin in builtins.chain(named_constants().map(|constant| constant.name)) {
            candidates.push(builtin);
        }
        suggest::nearest(name, candidates).map(str::to_owned)
    }

    fn enum_member(&mut self, qualifier: &ast::Ident, member: &ast::Ident, span: Span) -> Expr {
        let ty = match (self.checker.items.find(&qualifier.name), CudaEnum::from_name(&qualifier.name)) {
            (Some((id, ast::Item { kind: ast::ItemKind::Enum(_), .. })), _) => self.checker.enum_type(id),
            (None, Some(found)) => found.ty(),
            _ => {
                if !self.checker.items.is_damaged(&qualifier.name) {
                    let message = format!("`{}` is not an enumeration", qualifier.name);
                    self.report(Diagnostic::new(Code::E0205, qualifier.span, message));
                }
                return poison(span);
            }
        };
        let Type::Enum(eid) = self.checker.types.get(ty) else { return poison(span) };
        let variants = self.checker.types.enum_def(*eid).map(|def| def.variants.clone()).unwrap_or_default();
        if let Some((_, bits)) = variants.iter().find(|(name, _)| *name == member.name) {
            return const_expr(Const::bits(ty, *bits), span);
        }
        let message = format!("enumeration `{}` has no member `{}`", qualifier.name, member.name);
        let mut diagnostic = Diagnostic::new(Code::E0206, member.span, message);
        if let Some(near) = suggest::nearest(&member.name, variants.iter().map(|(name, _)| name.as_str())) {
            diagnostic = diagnostic.fix(format!("did you mean `{near}`?"), member.span, near);
        }
        self.report(diagnostic);
        poison(span)
    }

    fn global_place(&mut self, id: GlobalId, span: Span) -> Value {
        let ty = self.checker.globals.get(id.0 as usize).map_or(TypeTable::POISON, |global| global.ty);
        Value::Place(Place { kind: PlaceKind::Global(id), ty, span })
    }

    fn field(&mut self, base: &ast::Expr, name: &ast::Ident, span: Span) -> Value {
        if let Some(register) = self.register_field(base, name) {
            return Value::Expr(self.register(register, span));
        }
        let mut value = self.value(base, None);
        let mut ty = match &value {
            Value::Place(place) => place.ty,
            Value::Expr(expr) => expr.ty,
        };
        if ty == TypeTable::POISON {
            return Value::Expr(poison(span));
        }
        if let Some((_, pointee, _)) = self.checker.types.pointee(ty) {
            let pointer = self.read(value, base.span);
            value = Value::Place(Place { kind: PlaceKind::Deref(pointer), ty: pointee, span: base.span });
            ty = pointee;
        }
        let Some((index, field_ty)) = self.find_field(ty, name) else {
            return Value::Expr(poison(span));
        };
        match value {
            Value::Place(place) => Value::Place(Place { kind: PlaceKind::Field(Box::new(place), index), ty: field_ty, span }),
            Value::Expr(Expr { kind: ExprKind::Const(constant), .. }) => {
                let element = super::consts::element(&constant, index, field_ty);
                Value::Expr(element.map_or_else(|| poison(span), |constant| const_expr(constant, span)))
            }
            Value::Expr(expr) => Value::Expr(Expr { kind: ExprKind::Extract(Box::new(expr), index), ty: field_ty, span }),
        }
    }

    /// `threadIdx.x` and its kin, unless the program has a name of its own.
    fn register_field(&self, base: &ast::Expr, name: &ast::Ident) -> Option<Register> {
        let base = base.as_ident()?.name.as_str();
        if !REGISTER_VECTORS.contains(&base) || self.find(base).is_some() || self.checker.items.find(base).is_some() {
            return None;
        }
        Register::from_name(&format!("{base}.{}", name.name))
    }

    /// A field's or lane's index and type; a message when there is none.
    fn find_field(&mut self, ty: TypeId, name: &ast::Ident) -> Option<(u32, TypeId)> {
        let names: Vec<String> = match self.checker.types.get(ty) {
            Type::Struct(id) => {
                let fields = self.checker.types.struct_def(*id).map(|def| def.fields.as_slice()).unwrap_or_default();
                if let Some(index) = fields.iter().position(|field| field.name == name.name) {
                    return Some((u32::try_from(index).ok()?, fields.get(index)?.ty));
                }
                fields.iter().map(|field| field.name.clone()).collect()
            }
            Type::Vector { element, lanes } => {
                if let Some(index) = lane_index(&name.name).filter(|index| *index < u32::from(*lanes)) {
                    return Some((index, TypeTable::scalar(*element)));
                }
                ["x", "y", "z", "w"].iter().take(usize::from(*lanes)).map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        };
        let message = format!("`{}` has no field `{}`", self.show(ty), name.name);
        let mut diagnostic = Diagnostic::new(Code::E0206, name.span, message);
        if let Some(near) = suggest::nearest(&name.name, names.iter().map(String::as_str)) {
            diagnostic = diagnostic.fix(format!("did you mean `{near}`?"), name.span, near);
        } else if !names.is_empty() {
            diagnostic = diagnostic.help(format!("its fields are `{}`", names.join("`, `")));
        }
        self.report(diagnostic);
        None
    }

    fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Value {
        let const_item = self.const_table(base);
        let value = match const_item {
            Some(global) => self.global_place(global, base.span),
            None => self.value(base, None),
        };
        let ty = match &value {
            Value::Place(place) => place.ty,
            Value::Expr(expr) => expr.ty,
        };
        let index = self.integer(index, "an index is an integer");
        let Some(index) = index.filter(|_| ty != TypeTable::POISON) else { return Value::Expr(poison(span)) };
        if let Some((_, pointee, _)) = self.checker.types.pointee(ty) {
            let pointer = self.read(value, base.span);
            return self.index_pointer(pointer, pointee, index, span);
        }
        match (self.checker.types.get(ty).clone(), value) {
            (Type::Array { element, len }, value) => {
                self.check_bounds(&index, len);
                match value {
                    Value::Place(place) => {
                        Value::Place(Place { kind: PlaceKind::Index(Box::new(place), index), ty: element, span })
                    }
                    Value::Expr(expr) => self.index_value(expr, element, &index, span),
                }
            }
            (Type::Unsized { element }, Value::Place(place)) => {
                Value::Place(Place { kind: PlaceKind::Index(Box::new(place), index), ty: element, span })
            }
            _ => {
                let message = format!("`{}` cannot be indexed", self.show(ty));
                let mut diagnostic = Diagnostic::new(Code::E0229, base.span, message);
                if matches!(self.checker.types.get(ty), Type::Vector { .. }) {
                    diagnostic = diagnostic.help("the lanes of a vector are `.x .y .z .w`");
                }
                self.report(diagnostic);
                Value::Expr(poison(span))
            }
        }
    }

    fn index_pointer(&mut self, pointer: Expr, pointee: TypeId, index: Expr, span: Span) -> Value {
        if self.pointer_step(pointer.ty, pointer.span).is_none() {
            return Value::Expr(poison(span));
        }
        let ty = pointer.ty;
        let kind = ExprKind::Offset(Box::new(pointer), Box::new(index));
        let moved = Expr { kind, ty, span };
        Value::Place(Place { kind: PlaceKind::Deref(moved), ty: pointee, span })
    }

    /// An element of an array that is not in memory: only where the index is known.
    fn index_value(&mut self, array: Expr, element: TypeId, index: &Expr, span: Span) -> Value {
        let known = self.int_value(index).and_then(|value| u32::try_from(value).ok());
        if let (Some(index), ExprKind::Const(constant)) = (known, &array.kind)
            && let Some(constant) = super::consts::element(constant, index, element)
        {
            return Value::Expr(const_expr(constant, span));
        }
        let message = "this array is a value without a place in memory";
        self.report(Diagnostic::new(Code::E0229, array.span, message).help("give it a name with `let`, then index that"));
        Value::Expr(poison(span))
    }

    fn check_bounds(&mut self, index: &Expr, len: u64) {
        if let Some(value) = self.int_value(index)
            && (value < 0 || value >= i128::from(len))
        {
            let message = format!("index {value} is outside an array of {len} elements");
            self.report(Diagnostic::new(Code::E0214, index.span, message));
        }
    }

    /// A table in `constant` memory for a `const` array, when `base` names one: so that any index works.
    fn const_table(&mut self, base: &ast::Expr) -> Option<GlobalId> {
        let name = base.as_ident()?;
        if self.find(&name.name).is_some() || self.env.contains_key(&name.name) {
            return None;
        }
        let (id, item) = self.checker.items.find(&name.name)?;
        let ast::ItemKind::Const(decl) = &item.kind else { return None };
        if let Some(table) = self.checker.const_tables.get(&id) {
            return Some(*table);
        }
        let constant = self.checker.const_item(id, name.span)?;
        if !matches!(constant.value, ConstValue::Aggregate(_) | ConstValue::Zero)
            || !matches!(self.checker.types.get(constant.ty), Type::Array { .. })
        {
            return None;
        }
        let global = Global {
            name: decl.name.name.clone(),
            symbol: format!("const_{}", decl.name.name),
            space: Space::Constant,
            ty: constant.ty,
            init: Some(constant),
            align: 0,
            exported: false,
            external: false,
            span: decl.name.span,
        };
        let table = self.checker.add_global(global);
        self.checker.const_tables.insert(id, table);
        Some(table)
    }

    /// Pointers to `void` cannot be moved or indexed.
    pub(crate) fn pointer_step(&mut self, pointer: TypeId, span: Span) -> Option<TypeId> {
        let (_, pointee, _) = self.checker.types.pointee(pointer)?;
        if pointee == TypeTable::VOID {
            let message = "what a `*void` points at has no size";
            self.report(Diagnostic::new(Code::E0230, span, message).help("convert the pointer first: `p as *global f32`"));
            return None;
        }
        Some(pointee)
    }
}
