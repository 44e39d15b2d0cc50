//! Type expressions, and instances of generic structures.

use super::attributes::Target;
use super::body::Body;
use super::items::{ItemId, twice};
use super::{Env, GenericArg, Progress, State, suggest};
use crate::builtins::CudaEnum;
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{
    EnumDef, Field, Float, Int, NAMED, Predeclared, Scalar, Space, StructDef, StructId, Type, TypeId, TypeTable,
};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The most bytes that a type may have: what a 32-bit signed offset reaches.
const MAX_TYPE_BYTES: u64 = i32::MAX as u64;

/// Most values that a type is made of.
const MAX_PARTS: u64 = 65_536;

/// The deepest types; later phases walk them recursively.
const MAX_TYPE_DEPTH: u32 = 32;

/// A built-in type by its name.
pub(crate) fn builtin_type(types: &mut TypeTable, name: &str) -> Option<TypeId> {
    if let Some(id) = Scalar::from_name(name) {
        return Some(TypeTable::scalar(id));
    }
    if let Some(structure) = Predeclared::from_name(name) {
        return Some(types.predeclared(structure));
    }
    if let Some(found) = CudaEnum::from_name(name) {
        return Some(found.ty());
    }
    if let Some((_, id)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some(*id);
    }
    let (element, lanes) = name.split_once('x')?;
    let element = Scalar::from_name(element)?;
    let lanes: u8 = lanes.parse().ok().filter(|lanes: &u8| LANES.contains(lanes) && name.ends_with(&lanes.to_string()))?;
    Some(types.intern(Type::Vector { element, lanes }))
}

/// How many elements a vector may have.
const LANES: RangeInclusive<u8> = 2..=4;

/// The names of all built-in types, for whoever writes one.
#[must_use]
pub fn type_names() -> Vec<String> {
    let scalars: Vec<&str> = Int::ALL.iter().map(|int| int.name()).chain(Float::ALL.iter().map(|float| float.name())).collect();
    let vectors = scalars.iter().flat_map(|scalar| LANES.map(move |lanes| format!("{scalar}x{lanes}")));
    let named = NAMED.iter().map(|(name, _)| *name).chain(Predeclared::ALL.iter().map(|structure| structure.name()));
    let named = named.chain(CudaEnum::ALL.iter().map(|found| found.name()));
    scalars.iter().copied().chain(named).map(ToOwned::to_owned).chain(vectors).collect()
}

/// What people write for our types.
const FOREIGN_TYPES: &[(&str, &str)] = &[
    ("int", "i32"),
    ("unsigned", "u32"),
    ("uint", "u32"),
    ("long", "i64"),
    ("short", "i16"),
    ("char", "i8"),
    ("float", "f32"),
    ("double", "f64"),
    ("half", "f16"),
    ("size_t", "u64"),
    ("usize", "u64"),
    ("isize", "i64"),
    ("float2", "f32x2"),
    ("float3", "f32x3"),
    ("float4", "f32x4"),
    ("int2", "i32x2"),
    ("int4", "i32x4"),
    ("double2", "f64x2"),
    ("uint32_t", "u32"),
    ("int32_t", "i32"),
    ("uint64_t", "u64"),
    ("int64_t", "i64"),
    ("uint8_t", "u8"),
];

impl Body<'_, '_> {
    /// The type of a type expression; poison after an error. Any type, also those that variables cannot have.
    pub(crate) fn resolve_type(&mut self, ty: &ast::TypeExpr) -> TypeId {
        let id = self.resolve_type_inner(ty);
        if self.checker.behind_pointer == 0 && self.checker.completing == 0 {
            self.checker.finish_structs();
        }
        if self.checker.types.depth(id) > MAX_TYPE_DEPTH {
            let message = format!("pointers, arrays and structures nest at most {MAX_TYPE_DEPTH} deep");
            self.report(Diagnostic::new(Code::E0303, ty.span, message));
            return TypeTable::POISON;
        }
        id
    }

    fn resolve_type_inner(&mut self, ty: &ast::TypeExpr) -> TypeId {
        match &ty.kind {
            ast::TypeKind::Error => TypeTable::POISON,
            ast::TypeKind::Path(path) => self.resolve_path_type(path),
            ast::TypeKind::Pointer { space, qualifiers, pointee } => {
                self.checker.behind_pointer += 1;
                let inner = self.resolve_type(pointee);
                self.checker.behind_pointer -= 1;
                if inner == TypeTable::POISON {
                    return inner;
                }
                if matches!(self.checker.types.get(inner), Type::Unsized { .. } | Type::Str) {
                    let message = format!("there are no pointers to `{}`", self.show(inner));
                    self.report(
                        Diagnostic::new(Code::E0303, pointee.span, message).help("point at the element: `*shared f32`"),
                    );
                    return TypeTable::POISON;
                }
                let space = space.map_or(Space::Generic, space_of);
                let constant = qualifiers.is_const || space == Space::Constant;
                self.checker.types.qualified_pointer(space, inner, constant, qualifiers.is_volatile)
            }
            ast::TypeKind::Array { element, length } => self.resolve_array(element, length),
            ast::TypeKind::DynamicArray(element) => {
                let element_ty = self.resolve_sized(element, "an array element");
                if element_ty == TypeTable::POISON {
                    return element_ty;
                }
                self.checker.types.intern(Type::Unsized { element: element_ty })
            }
        }
    }

    /// The type of something that takes room: a variable, a field, a parameter.
    pub(crate) fn resolve_sized(&mut self, ty: &ast::TypeExpr, what: &str) -> TypeId {
        let id = self.resolve_type(ty);
        let help = match self.checker.types.get(id) {
            Type::Void => "`void` is only the result of a function, or behind a pointer",
            Type::Unsized { .. } => {
                "`[T]` is only for `shared` variables whose size the launch gives; write `[T; N]` or a pointer"
            }
            Type::Str => "strings are only printed",
            _ => return id,
        };
        let message = format!("{what} cannot be of type `{}`", self.show(id));
        self.report(Diagnostic::new(Code::E0303, ty.span, message).help(help));
        TypeTable::POISON
    }

    fn resolve_array(&mut self, element: &ast::TypeExpr, length: &ast::Expr) -> TypeId {
        let element_ty = self.resolve_sized(element, "an array element");
        let Some(len) = self.const_int(length, TypeTable::I64) else { return TypeTable::POISON };
        if element_ty == TypeTable::POISON {
            return element_ty;
        }
        let size = self.checker.types.layout(element_ty, self.width()).size;
        let Ok(len) = u64::try_from(len) else {
            self.report(Diagnostic::new(Code::E0304, length.span, format!("an array cannot have {len} elements")));
            return TypeTable::POISON;
        };
        if len == 0 {
            let diagnostic = Diagnostic::new(Code::E0304, length.span, "an array needs at least one element");
            self.report(diagnostic.help("for shared memory whose size the launch gives, write `[T]`"));
            return TypeTable::POISON;
        }
        if size.saturating_mul(len) > MAX_TYPE_BYTES {
            let message = format!("this array takes {} bytes; a type has at most {MAX_TYPE_BYTES}", size.saturating_mul(len));
            self.report(
                Diagnostic::new(Code::E0304, length.span, message).help("large data belongs into device memory: use a pointer"),
            );
            return TypeTable::POISON;
        }
        self.checker.types.array(element_ty, len)
    }

    fn resolve_path_type(&mut self, path: &ast::Path) -> TypeId {
        let name = path.name.name.as_str();
        if path.qualifier.is_some() {
            self.report(Diagnostic::new(Code::E0205, path.span, format!("`{}` is not a type", self.text(path.span))));
            return TypeTable::POISON;
        }
        match self.env.get(name) {
            Some(GenericArg::Type(ty)) => return *ty,
            Some(GenericArg::Int(..)) => {
                self.report(Diagnostic::new(Code::E0205, path.span, format!("`{name}` is a number, not a type")));
                return TypeTable::POISON;
            }
            None => {}
        }
        let items = &self.checker.items;
        if let Some((id, item)) = items.find(name) {
            match &item.kind {
                ast::ItemKind::Struct(decl) => return self.resolve_struct(id, decl, path),
                ast::ItemKind::Enum(_) => return self.checker.enum_type(id),
                _ => {
                    let decl = super::items::item_name(&item.kind).map_or(path.span, |name| name.span);
                    let diagnostic = Diagnostic::new(Code::E0205, path.span, format!("`{name}` is not a type"));
                    self.report(diagnostic.also(decl, "declared here"));
                    return TypeTable::POISON;
                }
            }
        }
        if let Some(ty) = builtin_type(&mut self.checker.types, name) {
            return ty;
        }
        if !self.checker.items.is_damaged(name) {
            self.unknown_type(name, path.span);
        }
        TypeTable::POISON
    }

    fn unknown_type(&mut self, name: &str, span: Span) {
        let mut diagnostic = Diagnostic::new(Code::E0205, span, format!("type `{name}` is not declared"));
        let foreign = FOREIGN_TYPES.iter().find(|(foreign, _)| *foreign == name).map(|(_, ours)| *ours);
        let names = type_names();
        let candidates = || names.iter().map(String::as_str).chain(self.checker.items.names());
        let near = foreign.or_else(|| suggest::nearest(name, candidates()));
        if let Some(near) = near {
            let text =
                if foreign.is_some() { format!("it is called `{near}` here") } else { format!("did you mean `{near}`?") };
            diagnostic = diagnostic.fix(text, span, near);
        }
        self.report(diagnostic);
    }

    fn resolve_struct(&mut self, id: ItemId, decl: &ast::StructDecl, path: &ast::Path) -> TypeId {
        let Some(args) = self.generic_args(&decl.generics, &path.args, &decl.name.name, path.span) else {
            return TypeTable::POISON;
        };
        self.checker.struct_type(id, &args)
    }

    /// Explicit compile-time arguments, checked against the parameters.
    pub(crate) fn generic_args(
        &mut self,
        params: &[ast::GenericParam],
        args: &[ast::Expr],
        name: &str,
        span: Span,
    ) -> Option<Vec<GenericArg>> {
        if params.len() != args.len() {
            let message = format!("`{name}` takes {} compile-time arguments, {} are given", params.len(), args.len());
            let mut diagnostic = Diagnostic::new(Code::E0220, span, message);
            if let Some(first) = params.first() {
                diagnostic = diagnostic.also(first.span, "declared here");
            }
            self.report(diagnostic);
            return None;
        }
        let mut result = Vec::with_capacity(args.len());
        for (param, arg) in params.iter().zip(args) {
            result.push(self.generic_arg(param, arg)?);
        }
        Some(result)
    }

    /// Whether an argument can only be read as a type.
    fn names_type(&mut self, arg: &ast::Expr) -> bool {
        let Some(name) = arg.as_ident().map(|ident| ident.name.as_str()) else {
            return matches!(arg.kind, ast::ExprKind::Type(_));
        };
        self.is_type_name(name)
    }

    /// Whether a name stands for a type, and for nothing nearer.
    pub(crate) fn is_type_name(&mut self, name: &str) -> bool {
        if self.find(name).is_some() {
            return false;
        }
        match (self.env.get(name), self.checker.items.find(name)) {
            (Some(arg), _) => matches!(arg, GenericArg::Type(_)),
            (None, Some((_, item))) => matches!(item.kind, ast::ItemKind::Struct(_) | ast::ItemKind::Enum(_)),
            (None, None) => builtin_type(&mut self.checker.types, name).is_some(),
        }
    }

    fn generic_arg(&mut self, param: &ast::GenericParam, arg: &ast::Expr) -> Option<GenericArg> {
        if let Some(ty) = &param.ty {
            let ty = self.resolve_type(ty);
            if self.names_type(arg) {
                let message = format!("`{}` is a number, but `{}` is a type", param.name.name, self.text(arg.span));
                self.report(Diagnostic::new(Code::E0220, arg.span, message).also(param.span, "declared here"));
                return None;
            }
            let value = self.const_int(arg, ty)?;
            let int = self.checker.types.as_int(ty)?;
            return Some(GenericArg::Int(ty, int.wrap(value)));
        }
        let Some(ty) = arg.as_type() else {
            let message = format!("`{}` is a type parameter, but this is not a type", param.name.name);
            self.report(Diagnostic::new(Code::E0220, arg.span, message).also(param.span, "declared here"));
            return None;
        };
        let ty = self.resolve_type(&ty);
        (ty != TypeTable::POISON).then_some(GenericArg::Type(ty))
    }
}

impl super::Checker<'_> {
    /// The instance of a structure. Behind a pointer its fields may still be missing: [`Checker::finish_structs`] fills them in, so
    /// that structures which point at each other do not nest.
    pub(crate) fn struct_type(&mut self, id: ItemId, args: &[GenericArg]) -> TypeId {
        let Some(ast::Item { kind: ast::ItemKind::Struct(decl), .. }) = self.items.get(id) else { return TypeTable::POISON };
        let key = (id, args.to_vec());
        let (sid, progress) = match self.structs.get(&key) {
            Some(known) => *known,
            None => {
                let name = self.instance_name(&decl.name.name, args);
                let sid = self.types.add_struct(StructDef { name, fields: Vec::new(), align: 0, span: decl.name.span });
                self.struct_origin.insert(sid, key.clone());
                self.structs.insert(key.clone(), (sid, Progress::Named));
                (sid, Progress::Named)
            }
        };
        if progress == Progress::Named {
            if self.behind_pointer > 0 {
                self.unfinished.push(key);
            } else {
                self.complete_struct(&key);
            }
        }
        self.types.intern(Type::Struct(sid))
    }

    /// Completes the structures that were only pointed at so far, and seals what is complete.
    pub(crate) fn finish_structs(&mut self) {
        // so that completing one does not start this anew
        self.completing += 1;
        while let Some(key) = self.unfinished.pop() {
            self.complete_struct(&key);
        }
        self.completing -= 1;
        for sid in std::mem::take(&mut self.unsealed) {
            self.types.seal(sid);
            self.check_struct_size(sid);
        }
    }

    fn complete_struct(&mut self, key: &(ItemId, Vec<GenericArg>)) {
        let (id, args) = (key.0, key.1.as_slice());
        let Some(ast::Item { kind: ast::ItemKind::Struct(decl), attributes, .. }) = self.items.get(id) else { return };
        let sid = match self.structs.get_mut(key) {
            Some((sid, progress)) if *progress == Progress::Named => {
                *progress = Progress::Begun;
                *sid
            }
            _ => return,
        };
        if self.completing > MAX_TYPE_DEPTH {
            let message = format!("pointers, arrays and structures nest at most {MAX_TYPE_DEPTH} deep");
            self.report(Diagnostic::new(Code::E0303, decl.name.span, message));
            return;
        }
        let ty = self.types.intern(Type::Struct(sid));
        let behind_pointer = std::mem::take(&mut self.behind_pointer);
        self.completing += 1;
        let env = bind(&decl.generics, args);
        let mut body = Body::for_item(self, env);
        let align = body.attributes(attributes, Target::Struct).align;
        let mut fields: Vec<Field> = Vec::new();
        for field in &decl.fields {
            let field_align = body.attributes(&field.attributes, Target::Field).align;
            let field_ty = body.resolve_sized(&field.ty, "a field");
            if let Some(earlier) = fields.iter().find(|earlier| earlier.name == field.name.name) {
                let diagnostic = twice("field", &field.name.name, field.name.span, earlier.span);
                body.report(diagnostic);
                continue;
            }
            fields.push(Field { name: field.name.name.clone(), ty: field_ty, align: field_align, span: field.name.span });
        }
        if fields.is_empty() && decl.fields.is_empty() {
            let diagnostic = Diagnostic::new(Code::E0303, decl.name.span, "a structure needs at least one field");
            body.report(
                diagnostic.note("C++ gives an empty structure one byte and PTX none, so nothing could agree on its layout"),
            );
        }
        for index in 0..fields.len() {
            let (field_ty, field_span) = match fields.get(index) {
                Some(field) => (field.ty, field.span),
                None => continue,
            };
            if body.checker.types.has_part(field_ty, &mut |part| part == ty) {
                let message = "this structure contains itself";
                body.report(
                    Diagnostic::new(Code::E0221, field_span, message)
                        .help("a pointer to itself is fine: write `*global` before the name"),
                );
                if let Some(field) = fields.get_mut(index) {
                    field.ty = TypeTable::POISON;
                }
            }
        }
        if let Some(def) = self.types.struct_mut(sid) {
            def.fields = fields;
            def.align = align;
        }
        self.completing -= 1;
        self.behind_pointer = behind_pointer;
        self.unsealed.push(sid);
        if self.completing == 0 && self.behind_pointer == 0 {
            self.finish_structs();
        }
    }

    fn check_struct_size(&mut self, sid: StructId) {
        let Some(span) = self.types.struct_def(sid).map(|def| def.span) else { return };
        let ty = self.types.intern(Type::Struct(sid));
        let size = self.types.layout(ty, crate::types::layout::PointerWidth::W64).size;
        let parts = self.types.parts(ty);
        let message = if size > MAX_TYPE_BYTES {
            format!("this structure takes {size} bytes; a type has at most {MAX_TYPE_BYTES}")
        } else if parts > MAX_PARTS {
            format!("this structure is made of {parts} values; a type has at most {MAX_PARTS}, where an array counts as one")
        } else if self.types.depth(ty) > MAX_TYPE_DEPTH {
            format!("pointers, arrays and structures nest at most {MAX_TYPE_DEPTH} deep")
        } else {
            return;
        };
        self.report(Diagnostic::new(Code::E0303, span, message).help("large data belongs into device memory: use a pointer"));
    }

    /// The type of an enumeration.
    pub(crate) fn enum_type(&mut self, id: ItemId) -> TypeId {
        let Some(ast::Item { kind: ast::ItemKind::Enum(decl), .. }) = self.items.get(id) else { return TypeTable::POISON };
        match self.enums.get(&id) {
            Some(State::Done(ty)) => return *ty,
            Some(State::Busy) => {
                let diagnostic = Diagnostic::new(Code::E0221, decl.name.span, "this enumeration's values depend on itself");
                self.report(diagnostic);
                return TypeTable::POISON;
            }
            None => {}
        }
        self.enums.insert(id, State::Busy);
        let mut body = Body::for_item(self, Env::default());
        let repr_ty = decl.underlying.as_ref().map_or(TypeTable::I32, |ty| body.resolve_type(ty));
        let repr = match body.checker.types.get(repr_ty) {
            Type::Int(int) => *int,
            Type::Poison => Int::I32,
            _ => {
                let span = decl.underlying.as_ref().map_or(decl.name.span, |ty| ty.span);
                let message = format!("an enumeration is stored as an integer, not as `{}`", body.show(repr_ty));
                body.report(Diagnostic::new(Code::E0303, span, message));
                Int::I32
            }
        };
        let mut variants: Vec<(String, u64)> = Vec::new();
        let mut spans: Vec<Span> = Vec::new();
        let mut next = 0i128;
        for member in &decl.members {
            if let Some(value) = &member.value {
                next = body.const_int(value, TypeTable::int(repr)).unwrap_or(next);
            }
            if next > repr.range().1 {
                let message = format!("value {next} does not fit `{}`", repr.name());
                body.report(Diagnostic::new(Code::E0212, member.name.span, message));
                next = 0;
            }
            if let Some(at) = variants.iter().position(|(name, _)| *name == member.name.name) {
                let first = spans.get(at).copied().unwrap_or(member.name.span);
                body.report(twice("member", &member.name.name, member.name.span, first));
            } else {
                variants.push((member.name.name.clone(), repr.wrap(next)));
                spans.push(member.name.span);
            }
            next += 1;
        }
        if variants.is_empty() {
            body.report(Diagnostic::new(Code::E0303, decl.name.span, "an enumeration needs at least one member"));
        }
        let eid = self.types.add_enum(EnumDef { name: decl.name.name.clone(), repr, variants, span: decl.name.span });
        let ty = self.types.intern(Type::Enum(eid));
        self.enums.insert(id, State::Done(ty));
        ty
    }

    /// `name` or `name::[i32, 4]`.
    pub(crate) fn instance_name(&self, name: &str, args: &[GenericArg]) -> String {
        if args.is_empty() {
            return name.to_owned();
        }
        let args: Vec<String> = args.iter().map(|arg| self.show_generic(*arg)).collect();
        format!("{name}::[{}]", args.join(", "))
    }

    fn show_generic(&self, arg: GenericArg) -> String {
        match arg {
            GenericArg::Type(ty) => self.types.display(ty),
            GenericArg::Int(ty, bits) => {
                self.types.as_int(ty).map_or_else(|| bits.to_string(), |int| int.value(bits).to_string())
            }
        }
    }
}

/// Parameters with their arguments.
pub(crate) fn bind(params: &[ast::GenericParam], args: &[GenericArg]) -> Env {
    let map: HashMap<String, GenericArg> =
        params.iter().zip(args).map(|(param, arg)| (param.name.name.clone(), *arg)).collect();
    Rc::new(map)
}

pub(crate) const fn space_of(space: ast::Space) -> Space {
    match space {
        ast::Space::Global => Space::Global,
        ast::Space::Shared => Space::Shared,
        ast::Space::Local => Space::Local,
        ast::Space::Constant => Space::Constant,
    }
}
