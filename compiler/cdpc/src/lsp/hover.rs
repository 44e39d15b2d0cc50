//! What is shown of a place: declaration, type, layout, documentation.

use std::fmt::Write as _;

use cdp_core::builtins::{Intrinsic, Register, RuntimeFn, TextureOp, named_constant};
use cdp_core::syntax::ast::{Item, ItemKind};
use cdp_core::typed::{Function, FunctionKind};
use cdp_core::types::layout::PointerWidth;
use cdp_core::types::{StructDef, Type, TypeId};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

use super::document::Analysis;
use super::facts;

/// Of 64-bit modules, as everywhere where nothing else is said.
const WIDTH: PointerWidth = PointerWidth::W64;

/// What is known of a position; none where there is no name.
pub fn hover(analysis: &Analysis, position: Position) -> Option<Hover> {
    let offset = analysis.offset(position)?;
    let (name, span) = facts::word(analysis, offset)?;
    let fact = facts::at(analysis, offset);
    // a literal's or a keyword's surroundings say nothing of it, but a name that stands for itself has a type
    let own = |fact: &facts::Fact| fact.span == span || fact.definition.is_some();
    let text = declared(analysis, offset)
        .or_else(|| builtin(name))
        .or_else(|| fact.filter(own).map(|fact| typed(analysis, name, fact.ty)))?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text });
    Some(Hover { contents, range: Some(analysis.range(span)) })
}

fn code(text: &str) -> String {
    format!("```cdp\n{text}\n```\n")
}

/// `x: *global f32`, with its size where that says something.
fn typed(analysis: &Analysis, name: &str, ty: TypeId) -> String {
    let types = &analysis.program.types;
    let mut text = code(&format!("{name}: {}", types.display(ty)));
    if let Type::Struct(id) = types.get(ty)
        && let Some(def) = types.struct_def(*id)
    {
        text.push_str(&structure(analysis, def));
    } else if !matches!(types.get(ty), Type::Void | Type::Poison | Type::Str | Type::Unsized { .. }) {
        let layout = types.layout(ty, WIDTH);
        let _ = writeln!(text, "{} bytes, aligned to {}", layout.size, layout.align);
    }
    text
}

/// What the name at a place was declared as: a variable or an item.
fn declared(analysis: &Analysis, offset: u32) -> Option<String> {
    let definition = facts::definition(analysis, offset)?;
    let program = &analysis.program;
    let docs = || item_at(analysis, definition).map(|item| item.docs.join("\n")).unwrap_or_default();
    if let Some(function) = program.functions.iter().find(|function| function.span == definition) {
        return Some(signature(analysis, function) + &docs());
    }
    let variables = program.functions.iter().flat_map(|function| &function.variables);
    let variable = variables.map(|variable| (&variable.name, variable.ty, variable.span));
    let globals = program.globals.iter().map(|global| (&global.name, global.ty, global.span));
    if let Some((name, ty, _)) = variable.chain(globals).find(|(.., span)| *span == definition) {
        let docs = item_at(analysis, definition).map(|item| format!("\n{}", item.docs.join("\n"))).unwrap_or_default();
        return Some(typed(analysis, name, ty) + &docs);
    }
    if let Some(def) = program.types.structs().iter().find(|def| def.span == definition) {
        return Some(code(&format!("struct {}", def.name)) + &structure(analysis, def) + "\n" + &docs());
    }
    if let Some((def, index)) = field_at(analysis, definition) {
        let field = def.fields.get(index)?;
        let (_, offsets) = program.types.struct_layout(def, WIDTH);
        let at = offsets.get(index).copied().unwrap_or_default();
        return Some(typed(analysis, &format!("{}.{}", def.name, field.name), field.ty) + &format!("\nat byte {at}"));
    }
    let item = item_at(analysis, definition)?;
    let range = item.span.range();
    let text = analysis.sources.get(item.span.file)?.text.get(range)?;
    // a constant, an enumeration: as it was written
    Some(code(text) + &item.docs.join("\n"))
}

fn item_at(analysis: &Analysis, name: cdp_core::source::Span) -> Option<&Item> {
    let items = analysis.trees.iter().flat_map(|tree| &tree.items);
    let mut around =
        items.filter(|item| item.span.file == name.file && item.span.start <= name.start && name.end <= item.span.end);
    // a parameter or local is inside an item, and is not it
    around.find(|item| match &item.kind {
        ItemKind::Enum(decl) => decl.name.span == name || decl.members.iter().any(|member| member.name.span == name),
        _ => super::document::named(item).is_some_and(|(_, span, _)| span == name),
    })
}

fn field_at(analysis: &Analysis, span: cdp_core::source::Span) -> Option<(&StructDef, usize)> {
    let structs = analysis.program.types.structs().iter();
    structs.filter_map(|def| Some((def, def.fields.iter().position(|field| field.span == span)?))).next()
}

/// A function's head; of a kernel also where its parameters lie.
fn signature(analysis: &Analysis, function: &Function) -> String {
    let types = &analysis.program.types;
    let params: Vec<_> = function.variables.iter().take(function.param_count as usize).collect();
    let list: Vec<String> = params.iter().map(|param| format!("{}: {}", param.name, types.display(param.ty))).collect();
    let word = match function.kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Host => "host fn",
        FunctionKind::Test { .. } => "test",
        FunctionKind::Plain => "fn",
    };
    let result = types.display(function.return_type);
    let result = if result == "void" { String::new() } else { format!(" -> {result}") };
    let mut text = code(&format!("{word} {}({}){result}", function.name, list.join(", ")));
    if function.kind == FunctionKind::Kernel && !params.is_empty() {
        let layout = types.params_layout(params.iter().map(|param| param.ty), WIDTH);
        let rows = params.iter().zip(&layout.params).map(|(param, at)| (&param.name, param.ty, at.offset, at.size));
        text.push_str(&table(analysis, rows));
        let _ = writeln!(text, "\n{} bytes of parameters\n", layout.size);
    }
    text
}

fn structure(analysis: &Analysis, def: &StructDef) -> String {
    let types = &analysis.program.types;
    let (layout, offsets) = types.struct_layout(def, WIDTH);
    let rows =
        def.fields.iter().zip(offsets).map(|(field, at)| (&field.name, field.ty, at, types.layout(field.ty, WIDTH).size));
    table(analysis, rows) + &format!("\n{} bytes, aligned to {}\n", layout.size, layout.align)
}

fn table<'a>(analysis: &Analysis, rows: impl Iterator<Item = (&'a String, TypeId, u64, u64)>) -> String {
    let mut text = "\n| at | bytes | name | type |\n|---:|---:|---|---|\n".to_owned();
    for (name, ty, at, size) in rows {
        let _ = writeln!(text, "| {at} | {size} | {name} | `{}` |", analysis.program.types.display(ty));
    }
    text
}

/// What the language brings along.
fn builtin(name: &str) -> Option<String> {
    if let Some(call) = RuntimeFn::from_name(name) {
        return Some(code(call.name()) + call.doc());
    }
    if let Some((intrinsic, _)) = Intrinsic::from_name(name) {
        return Some(code(intrinsic.name()) + intrinsic.doc());
    }
    if let Some(op) = TextureOp::from_name(name) {
        return Some(code(op.name()) + op.doc());
    }
    if let Some(constant) = named_constant(name) {
        return Some(code(&format!("{name} = {}", constant.value)) + &constant.kind.describe());
    }
    Register::from_name(name).map(|register| code(&format!("{}: a special register", register.name())))
}
