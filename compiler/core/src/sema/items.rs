//! What the files declare, by name.

use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::Span;
use crate::syntax::ast;
use std::collections::{HashMap, HashSet};

/// An item of [`Items`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemId(pub usize);

/// Every item of the program, in order, and the way from names to them.
pub(crate) struct Items<'a> {
    list: Vec<&'a ast::Item>,
    names: HashMap<&'a str, ItemId>,
    damaged: HashSet<&'a str>,
}

impl<'a> Items<'a> {
    /// Collects the items of all files; a name that is declared twice keeps its first meaning.
    pub(crate) fn collect(files: &'a [ast::File], diagnostics: &mut Diagnostics) -> Self {
        let mut items = Self { list: Vec::new(), names: HashMap::new(), damaged: HashSet::new() };
        let mut tests: HashMap<&str, Span> = HashMap::new();
        for file in files {
            items.damaged.extend(file.damaged_names.iter().map(String::as_str));
            for item in &file.items {
                let id = ItemId(items.list.len());
                items.list.push(item);
                if let ast::ItemKind::Test(test) = &item.kind
                    && let Some(first) = tests.insert(&test.name.value, test.name.span)
                {
                    diagnostics.push(twice("test", &test.name.value, test.name.span, first));
                }
                let Some(name) = item_name(&item.kind) else { continue };
                let first = *items.names.entry(name.name.as_str()).or_insert(id);
                if first != id
                    && let Some(earlier) = items.list.get(first.0).and_then(|item| item_name(&item.kind))
                {
                    diagnostics.push(twice("name", &name.name, name.span, earlier.span));
                }
            }
        }
        items
    }

    pub(crate) fn get(&self, id: ItemId) -> Option<&'a ast::Item> {
        self.list.get(id.0).copied()
    }

    pub(crate) fn find(&self, name: &str) -> Option<(ItemId, &'a ast::Item)> {
        let id = *self.names.get(name)?;
        Some((id, self.get(id)?))
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ItemId> + use<> {
        (0..self.list.len()).map(ItemId)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.names.keys().copied()
    }

    /// Whether the name was declared in source that did not parse: no one should hear that it is unknown.
    pub(crate) fn is_damaged(&self, name: &str) -> bool {
        self.damaged.contains(name)
    }
}

/// The name that an item declares; tests and imports declare none.
pub(crate) fn item_name(kind: &ast::ItemKind) -> Option<&ast::Ident> {
    Some(match kind {
        ast::ItemKind::Struct(decl) => &decl.name,
        ast::ItemKind::Enum(decl) => &decl.name,
        ast::ItemKind::Const(decl) => &decl.name,
        ast::ItemKind::Variable(decl) => &decl.name,
        ast::ItemKind::Function(decl) => &decl.name,
        ast::ItemKind::Import(_) | ast::ItemKind::Test(_) | ast::ItemKind::Error => return None,
    })
}

pub(crate) fn twice(what: &str, name: &str, here: Span, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0202, here, format!("{what} `{name}` is declared twice"))
        .label("declared again here")
        .also(first, "first declared here")
}
