//! Writing modules.

use super::is_identifier;
use crate::builtins::CudaEnum;
use crate::ir::{Const, ConstValue, Function, FunctionId, FunctionKind, GlobalId, Inline, Local, LocalId, Module};
use crate::source::Span;
use crate::types::{EnumId, Float, Int, Space, StructId, Type, TypeId, TypeTable};
use std::fmt::Write;

/// The text of a module. [`super::parse`] reads it back to an equal one, provided that its types are all in its table.
#[must_use]
pub fn print(module: &Module) -> String {
    let mut printer = Printer { module, function: None, out: String::new() };
    printer.module();
    printer.out
}

pub(super) struct Printer<'a> {
    pub(super) module: &'a Module,
    pub(super) function: Option<&'a Function>,
    pub(super) out: String,
}

impl Printer<'_> {
    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn put_number(&mut self, number: impl std::fmt::Display) {
        // writing to a String cannot fail
        let _ = write!(self.out, "{number}");
    }

    fn module(&mut self) {
        let types = &self.module.types;
        for index in TypeTable::new().len()..types.len() {
            self.put("type ");
            self.put_number(index);
            self.put(" = ");
            self.ty(TypeId(u32::try_from(index).unwrap_or(u32::MAX)));
            self.put("\n");
        }
        for index in 1..types.structs().len() {
            self.structure(StructId(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        for index in CudaEnum::ALL.len()..types.enums().len() {
            self.enumeration(EnumId(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        for index in 0..self.module.globals.len() {
            self.global(GlobalId(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        for (id, function) in self.module.functions() {
            self.function = Some(function);
            self.function(id, function);
        }
    }

    pub(super) fn span(&mut self, span: Span) {
        let _ = write!(self.out, " @ {}:{}..{}", span.file.0, span.start, span.end);
    }

    /// A string in quotes.
    pub(super) fn string(&mut self, text: &str) {
        self.put("\"");
        for c in text.chars() {
            match c {
                '"' => self.put("\\\""),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\t' => self.put("\\t"),
                c if c.is_control() => {
                    let _ = write!(self.out, "\\u{{{:x}}}", c as u32);
                }
                c => self.out.push(c),
            }
        }
        self.put("\"");
    }

    fn structure(&mut self, id: StructId) {
        let Some(def) = self.module.types.struct_def(id) else { return };
        self.put("struct ");
        self.struct_name(id);
        if def.align != 0 {
            let _ = write!(self.out, " align {}", def.align);
        }
        self.span(def.span);
        self.put(" {");
        for (index, field) in def.fields.iter().enumerate() {
            self.put(if index == 0 { " " } else { ", " });
            self.plain_name(&field.name);
            self.put(": ");
            self.ty(field.ty);
            if field.align != 0 {
                let _ = write!(self.out, " align {}", field.align);
            }
            self.span(field.span);
        }
        self.put(" }\n");
    }

    fn enumeration(&mut self, id: EnumId) {
        let Some(def) = self.module.types.enum_def(id) else { return };
        self.put("enum ");
        self.enum_name(id);
        self.put(": ");
        self.put(def.repr.name());
        self.span(def.span);
        self.put(" {");
        for (index, (name, value)) in def.variants.iter().enumerate() {
            self.put(if index == 0 { " " } else { ", " });
            self.plain_name(name);
            self.put(" = ");
            self.int_bits(def.repr, *value);
        }
        self.put(" }\n");
    }

    fn plain_name(&mut self, name: &str) {
        if is_identifier(name) { self.put(name) } else { self.string(name) }
    }

    fn struct_name(&mut self, id: StructId) {
        if let Some(def) = self.module.types.struct_def(id) {
            self.type_name(&def.name, "#", id.0);
        }
    }

    fn enum_name(&mut self, id: EnumId) {
        if let Some(def) = self.module.types.enum_def(id) {
            self.type_name(&def.name, "#e", id.0);
        }
    }

    fn type_name(&mut self, name: &str, mark: &str, index: u32) {
        let types = &self.module.types;
        let structs = types.structs().iter().filter(|def| def.name == name).count();
        let enums = types.enums().iter().skip(CudaEnum::ALL.len()).filter(|def| def.name == name).count();
        let quoted = !is_identifier(name) || super::parse_types::is_reserved(name);
        if quoted {
            self.string(name)
        } else {
            self.put(name)
        }
        if structs + enums > 1 {
            self.put(mark);
            self.put_number(index);
        }
    }

    pub(super) fn ty(&mut self, id: TypeId) {
        let types = &self.module.types;
        match types.get(id) {
            Type::Poison => self.put("poison"),
            Type::Pointer { space, pointee, constant, volatile } => {
                self.put("*");
                if *space != Space::Generic {
                    self.put(space.name());
                    self.put(" ");
                }
                self.put(if *constant { "const " } else { "" });
                self.put(if *volatile { "volatile " } else { "" });
                self.ty(*pointee);
            }
            Type::Array { element, len } => {
                self.put("[");
                self.ty(*element);
                let _ = write!(self.out, "; {len}]");
            }
            Type::Unsized { element } => {
                self.put("[");
                self.ty(*element);
                self.put("]");
            }
            Type::Struct(StructId(0)) => self.put("dim3"),
            Type::Struct(id) => self.struct_name(*id),
            Type::Enum(id) => match CudaEnum::from_id(*id) {
                Some(found) => self.put(found.name()),
                None => self.enum_name(*id),
            },
            _ => {
                let name = types.display(id);
                self.put(&name);
            }
        }
    }

    fn global(&mut self, id: GlobalId) {
        let Some(global) = self.module.global(id) else { return };
        self.put("var ");
        self.global_name(id);
        self.quoted_unless_shown(&global.name);
        self.symbol(&global.symbol, &global.name);
        self.put(": ");
        self.ty(global.ty);
        self.put(" in ");
        self.put(if global.space == Space::Generic { "generic" } else { global.space.name() });
        if global.align != 0 {
            let _ = write!(self.out, " align {}", global.align);
        }
        self.put(if global.exported { " exported" } else { "" });
        self.put(if global.external { " external" } else { "" });
        if let Some(init) = &global.init {
            self.put(" = ");
            self.constant(init);
        }
        self.span(global.span);
        self.put("\n");
    }

    fn symbol(&mut self, symbol: &str, name: &str) {
        if symbol != name {
            self.put(" symbol ");
            self.string(symbol);
        }
    }

    /// The name in quotes, where it could not stand in the numbered form.
    fn quoted_unless_shown(&mut self, name: &str) {
        if !name.is_empty() && !is_identifier(name) {
            self.put(" ");
            self.string(name);
        }
    }

    fn numbered(&mut self, sigil: &str, name: &str, index: u32) {
        self.put(sigil);
        if is_identifier(name) {
            self.put(name);
            self.put("#");
        }
        self.put_number(index);
    }

    pub(super) fn global_name(&mut self, id: GlobalId) {
        let name = self.module.global(id).map_or("", |global| global.name.as_str());
        self.numbered("$", name, id.0);
    }

    pub(super) fn function_name(&mut self, id: FunctionId) {
        let name = self.module.function(id).map_or("", |function| function.name.as_str());
        self.numbered("&", name, id.0);
    }

    pub(super) fn local_name(&mut self, id: LocalId) {
        let name = self.function.and_then(|function| function.locals.get(id.index())).map_or("", |local| local.name.as_str());
        self.numbered("%", name, id.0);
    }

    fn function(&mut self, id: FunctionId, function: &Function) {
        match &function.kind {
            FunctionKind::Kernel => self.put("kernel "),
            FunctionKind::Plain => self.put("fn "),
            FunctionKind::Host => self.put("host "),
            FunctionKind::Test { name } => {
                self.put("test ");
                self.string(name);
                self.put(" ");
            }
        }
        self.function_name(id);
        self.quoted_unless_shown(&function.name);
        self.symbol(&function.symbol, &function.name);
        let _ = write!(self.out, " params {} -> ", function.param_count);
        self.ty(function.return_type);
        if let Some((threads, blocks)) = function.launch_bounds {
            let _ = write!(self.out, " launch_bounds {threads}, {blocks}");
        }
        if let Some([x, y, z]) = function.cluster {
            let _ = write!(self.out, " cluster {x}, {y}, {z}");
        }
        self.put(match function.inline {
            Inline::Auto => "",
            Inline::Always => " inline",
            Inline::Never => " noinline",
        });
        self.put(if function.exported { " exported" } else { "" });
        self.span(function.span);
        self.put(" {\n");
        for (index, local) in function.locals.iter().enumerate() {
            self.local(LocalId(u32::try_from(index).unwrap_or(u32::MAX)), local);
        }
        for (index, block) in function.blocks.iter().enumerate() {
            let _ = write!(self.out, "bb{index}");
            if let Some(times) = block.unroll {
                let _ = write!(self.out, " unroll {times}");
            }
            self.put(":\n");
            for statement in &block.statements {
                self.put("  ");
                self.statement(&statement.kind);
                self.span(statement.span);
                self.put("\n");
            }
            self.put("  ");
            self.terminator(&block.terminator.kind);
            self.span(block.terminator.span);
            self.put("\n");
        }
        self.put("}\n");
    }

    fn local(&mut self, id: LocalId, local: &Local) {
        self.put("  ");
        self.local_name(id);
        self.quoted_unless_shown(&local.name);
        self.put(": ");
        self.ty(local.ty);
        self.put(if local.restrict { " restrict" } else { "" });
        self.span(local.span);
        self.put("\n");
    }

    pub(super) fn constant(&mut self, constant: &Const) {
        self.ty(constant.ty);
        self.put(" ");
        self.value(&constant.value, Some(constant.ty));
    }

    fn value(&mut self, value: &ConstValue, ty: Option<TypeId>) {
        match value {
            ConstValue::Zero => self.put("zero"),
            ConstValue::Str(text) => self.string(text),
            ConstValue::Bits(bits) => self.bits(*bits, ty),
            ConstValue::Aggregate(values) => {
                self.put("{");
                for (index, value) in (0u32..).zip(values) {
                    self.put(if index == 0 { "" } else { ", " });
                    let element = ty.and_then(|ty| self.module.types.element(ty, index));
                    self.value(value, element);
                }
                self.put("}");
            }
        }
    }

    fn bits(&mut self, bits: u64, ty: Option<TypeId>) {
        let ty = ty.unwrap_or(TypeTable::POISON);
        if ty == TypeTable::BOOL && bits < 2 {
            return self.put(if bits == 1 { "true" } else { "false" });
        }
        if let Some(float) = self.module.types.as_float(ty) {
            return self.float_bits(float, bits);
        }
        match self.module.types.as_int(ty) {
            Some(int) => self.int_bits(int, bits),
            None => {
                let _ = write!(self.out, "{bits:#x}");
            }
        }
    }

    /// In decimal where that says it all.
    fn int_bits(&mut self, int: Int, bits: u64) {
        let value = int.value(bits);
        let _ = if int.wrap(value) == bits { write!(self.out, "{value}") } else { write!(self.out, "{bits:#x}") };
    }

    fn float_bits(&mut self, float: Float, bits: u64) {
        let value = float.value(bits);
        let exact = value.is_finite() && crate::ir::eval::round(float, value) == bits;
        let _ = match float {
            _ if !exact => write!(self.out, "{bits:#x}"),
            Float::F32 => write!(self.out, "{:?}", value as f32),
            _ => write!(self.out, "{value:?}"),
        };
    }
}
