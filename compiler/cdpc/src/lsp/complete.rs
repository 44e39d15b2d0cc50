//! What may stand at a place: fields behind a point, members behind `::`, attributes behind `@`, otherwise names in scope and what the language brings along.

use cdp_core::builtins::{
    AtomicOp, BarrierOp, CacheHint, Intrinsic, Register, RuntimeFn, Side, TextureOp, WarpOp, named_constants,
};
use cdp_core::source::Span;
use cdp_core::syntax::ast::ItemKind;
use cdp_core::types::Type;
use cdp_core::{sema, syntax};
use lsp_types::{CompletionItem, CompletionItemKind, CompletionResponse, Position, SymbolKind};

use super::document::{Analysis, named};
use super::facts;

const FUNCTIONS: &str = "printf assert device seconds malloc free __threadfence __threadfence_block __threadfence_system";

/// Everything that may stand at the position; the editor keeps what fits the letters that are there.
pub fn complete(analysis: &Analysis, position: Position) -> CompletionResponse {
    let offset = analysis.offset(position).unwrap_or_default();
    let before = analysis.text().get(..offset as usize).unwrap_or_default();
    let stem = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    CompletionResponse::Array(if stem.ends_with('@') {
        words(sema::attribute_names(), CompletionItemKind::PROPERTY)
    } else if let Some(owner) = stem.strip_suffix("::") {
        members(analysis, owner)
    } else if let Some(owner) =
        stem.strip_suffix('.').filter(|owner| !owner.ends_with(|c: char| c == '.' || c.is_ascii_digit()))
    {
        fields(analysis, owner)
    } else {
        names(analysis, offset)
    })
}

fn entry(label: &str, kind: CompletionItemKind, detail: &str) -> CompletionItem {
    let detail = (!detail.is_empty()).then(|| detail.to_owned());
    CompletionItem { label: label.to_owned(), kind: Some(kind), detail, ..CompletionItem::default() }
}

fn words<'a>(list: impl IntoIterator<Item = &'a str>, kind: CompletionItemKind) -> Vec<CompletionItem> {
    list.into_iter().map(|word| entry(word, kind, "")).collect()
}

/// Of the enumeration in front of `::`.
fn members(analysis: &Analysis, owner: &str) -> Vec<CompletionItem> {
    let name = owner.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let Some((item, _)) = facts::item(analysis, name) else { return Vec::new() };
    let ItemKind::Enum(decl) = &item.kind else { return Vec::new() };
    let docs = |docs: &[String]| docs.first().cloned().unwrap_or_default();
    decl.members.iter().map(|member| entry(&member.name.name, CompletionItemKind::ENUM_MEMBER, &docs(&member.docs))).collect()
}

/// Of the value in front of the point.
fn fields(analysis: &Analysis, owner: &str) -> Vec<CompletionItem> {
    let types = &analysis.program.types;
    let name = owner.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    if matches!(name, "threadIdx" | "blockIdx" | "blockDim" | "gridDim") {
        return words(["x", "y", "z"], CompletionItemKind::FIELD);
    }
    let last = u32::try_from(owner.len().saturating_sub(1)).unwrap_or_default();
    let known = facts::at(analysis, last).map(|fact| fact.ty).filter(|ty| !matches!(types.get(*ty), Type::Poison));
    // a statement that is not finished yet has no types: then the declaration of the name has
    let declared = || {
        let (_, function) = facts::around(&analysis.program, Span::new(analysis.file, last, last))?;
        function.variables.iter().rev().find(|variable| variable.name == name).map(|variable| variable.ty)
    };
    let Some(mut ty) = known.or_else(declared) else { return Vec::new() };
    while let Some((_, pointee, _)) = types.pointee(ty) {
        ty = pointee;
    }
    match types.get(ty) {
        Type::Struct(id) => types.struct_def(*id).map_or_else(Vec::new, |def| {
            def.fields.iter().map(|field| entry(&field.name, CompletionItemKind::FIELD, &types.display(field.ty))).collect()
        }),
        Type::Vector { lanes, .. } => {
            "x y z w".split(' ').take((*lanes).into()).map(|lane| entry(lane, CompletionItemKind::FIELD, "")).collect()
        }
        _ => Vec::new(),
    }
}

/// Locals, items, builtins, words of the language.
fn names(analysis: &Analysis, offset: u32) -> Vec<CompletionItem> {
    let program = &analysis.program;
    let mut list = Vec::new();
    let place = Span::new(analysis.file, offset, offset);
    if let Some((_, function)) = facts::around(program, place) {
        let before = function.variables.iter().filter(|variable| variable.span.end <= offset);
        list.extend(
            before.map(|variable| entry(&variable.name, CompletionItemKind::VARIABLE, &program.types.display(variable.ty))),
        );
    }
    for item in analysis.trees.iter().flat_map(|tree| &tree.items) {
        let Some((name, _, kind)) = named(item).filter(|(_, _, kind)| *kind != SymbolKind::METHOD) else { continue };
        let (kind, what) = match kind {
            SymbolKind::STRUCT => (CompletionItemKind::STRUCT, "struct"),
            SymbolKind::ENUM => (CompletionItemKind::ENUM, "enum"),
            SymbolKind::CONSTANT => (CompletionItemKind::CONSTANT, "const"),
            SymbolKind::VARIABLE => (CompletionItemKind::VARIABLE, "variable"),
            SymbolKind::EVENT => (CompletionItemKind::FUNCTION, "kernel"),
            _ => (CompletionItemKind::FUNCTION, "fn"),
        };
        list.push(entry(&name, kind, item.docs.first().map_or(what, String::as_str)));
    }
    let function = CompletionItemKind::FUNCTION;
    list.extend(
        RuntimeFn::ALL.iter().filter(|call| call.side() != Side::Internal).map(|call| entry(call.name(), function, call.doc())),
    );
    list.extend(Intrinsic::ALL.iter().map(|intrinsic| entry(intrinsic.name(), function, intrinsic.doc())));
    list.extend(TextureOp::ALL.iter().map(|op| entry(op.name(), function, op.doc())));
    list.extend(CacheHint::ALL.iter().map(|hint| entry(hint.name(), function, hint.doc())));
    list.extend(BarrierOp::ALL.iter().map(|op| entry(op.name(), function, "barrier")));
    list.extend(WarpOp::ALL.iter().map(|op| entry(op.name(), function, "warp operation")));
    for scope in ["", "_block", "_system"] {
        list.extend(AtomicOp::ALL.iter().map(|op| entry(&format!("{}{scope}", op.name()), function, "atomic operation")));
    }
    list.extend(Register::ALL.iter().map(|register| {
        let name = register.name();
        entry(name.split('.').next().unwrap_or(name), CompletionItemKind::CONSTANT, "special register")
    }));
    list.extend(
        named_constants().map(|constant| entry(constant.name, CompletionItemKind::CONSTANT, &constant.kind.describe())),
    );
    list.extend(words(FUNCTIONS.split(' '), function));
    list.extend(words(sema::type_names().iter().map(String::as_str), CompletionItemKind::CLASS));
    list.extend(words(syntax::keywords().chain(["null"]), CompletionItemKind::KEYWORD));
    list.sort_by(|a, b| a.label.cmp(&b.label));
    list.dedup_by(|a, b| a.label == b.label);
    list
}
