//! What is known of a place in a text.
//!
//! The typed program has a span at every expression: the smallest one around the place says its type, and what it names says where it was declared. Where there is
//! none, because the place is a type or the program has errors there, the word alone decides: items share one namespace.

use cdp_core::source::Span;
use cdp_core::syntax::ast::{Item, ItemKind};
use cdp_core::typed::{Expr, ExprKind, Function, Part, Place, PlaceKind, Program, each_part};
use cdp_core::types::{Type, TypeId};

use super::document::{Analysis, named};

/// The smallest thing of a body around a place.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// How far it reaches.
    pub span: Span,
    /// Its type.
    pub ty: TypeId,
    /// Where what it names was declared.
    pub definition: Option<Span>,
}

/// The word at a byte of the text, and where it is.
pub fn word(analysis: &Analysis, offset: u32) -> Option<(&str, Span)> {
    let text = analysis.text();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (before, behind) = text.split_at_checked(offset as usize)?;
    let start = before.rfind(|c| !part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let end = offset as usize + behind.find(|c| !part(c)).unwrap_or(behind.len());
    let word = text.get(start..end).filter(|word| !word.is_empty())?;
    Some((word, Span::new(analysis.file, u32::try_from(start).ok()?, u32::try_from(end).ok()?)))
}

/// The item that is called so, and where its name stands.
pub fn item<'a>(analysis: &'a Analysis, name: &str) -> Option<(&'a Item, Span)> {
    let items = analysis.trees.iter().flat_map(|tree| &tree.items);
    items
        .filter_map(|item| Some((item, named(item)?)))
        .find(|(_, (known, ..))| known == name)
        .map(|(item, (_, span, _))| (item, span))
}

/// Where what stands at a byte was declared; at a declaration, that itself.
pub fn definition(analysis: &Analysis, offset: u32) -> Option<Span> {
    let (name, span) = word(analysis, offset)?;
    if let Some(fact) = at(analysis, offset)
        && let Some(definition) = fact.definition
    {
        return Some(definition);
    }
    if let Some((_, function)) = around(&analysis.program, span)
        && let Some(variable) =
            function.variables.iter().rev().find(|variable| variable.name == name && holds(variable.span, span))
    {
        return Some(variable.span);
    }
    if let Some((_, span)) = item(analysis, name) {
        return Some(span);
    }
    member(analysis, name, span)
}

/// `Red` in `Color::Red`.
fn member(analysis: &Analysis, name: &str, span: Span) -> Option<Span> {
    let before = analysis.text().get(..span.start as usize)?.strip_suffix("::")?;
    let qualifier = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let (item, _) = item(analysis, qualifier)?;
    let ItemKind::Enum(decl) = &item.kind else { return None };
    decl.members.iter().find(|member| member.name.name == name).map(|member| member.name.span)
}

/// The smallest expression, place or declared variable around a byte of the text.
pub fn at(analysis: &Analysis, offset: u32) -> Option<Fact> {
    let mut found = Smallest { place: Span::new(analysis.file, offset, offset), best: None };
    let program = &analysis.program;
    for function in &program.functions {
        for variable in &function.variables {
            found.offer(variable.span, variable.ty, Some(variable.span));
        }
        each_part(function.body.as_deref().unwrap_or_default(), &mut |part| match part {
            Part::Expr(expr) => found.offer(expr.span, expr.ty, named_by(program, expr)),
            Part::Place(place) => found.offer(place.span, place.ty, declaration(program, function, place)),
        });
    }
    found.best
}

/// The function whose body is around a span: the one whose name is the last before it.
pub fn around(program: &Program, span: Span) -> Option<(usize, &Function)> {
    let before = program.functions.iter().enumerate().filter(|(_, function)| {
        function.span.file == span.file && function.span.start <= span.start && span.start <= function.end.end
    });
    before.max_by_key(|(_, function)| function.span.start)
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.file == inner.file && outer.start <= inner.start && inner.end <= outer.end
}

struct Smallest {
    place: Span,
    best: Option<Fact>,
}

impl Smallest {
    fn offer(&mut self, span: Span, ty: TypeId, definition: Option<Span>) {
        let length = |span: Span| span.end - span.start;
        if holds(span, self.place) && self.best.is_none_or(|best| length(span) <= length(best.span)) {
            // a conversion that nobody wrote has the span of what it converts: the inner one came last and says more
            let definition = definition.or_else(|| self.best.filter(|best| best.span == span).and_then(|best| best.definition));
            self.best = Some(Fact { span, ty, definition });
        }
    }
}

/// Where the function was declared that an expression calls, launches or names.
fn named_by(program: &Program, expr: &Expr) -> Option<Span> {
    let id = match &expr.kind {
        ExprKind::Call(id, _) | ExprKind::Kernel(id) => *id,
        ExprKind::Launch(launch) => launch.kernel,
        _ => return None,
    };
    program.functions.get(id.index()).map(|function| function.span)
}

/// Where a variable or field was declared.
fn declaration(program: &Program, function: &Function, place: &Place) -> Option<Span> {
    match &place.kind {
        PlaceKind::Variable(id) => function.variables.get(id.0 as usize).map(|variable| variable.span),
        PlaceKind::Global(id) => program.globals.get(id.index()).map(|global| global.span),
        PlaceKind::Field(base, index) => {
            let Type::Struct(id) = program.types.get(base.ty) else { return None };
            program.types.struct_def(*id)?.fields.get(*index as usize).map(|field| field.span)
        }
        PlaceKind::Deref(_) | PlaceKind::Index(..) => None,
    }
}
