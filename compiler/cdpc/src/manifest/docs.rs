//! Documentation comments by the names of what they stand before. All files of a program share one namespace, so a name is enough.

use std::collections::HashMap;

use cdp_core::syntax::ast::{self, ItemKind};

/// The `///` comments of a program.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// By item, and by item and part: a field, a member, a parameter.
    texts: HashMap<(String, String), String>,
}

impl Docs {
    /// Those of these files.
    pub fn of(trees: &[ast::File]) -> Self {
        let mut docs = Self::default();
        for item in trees.iter().flat_map(|tree| &tree.items) {
            match &item.kind {
                ItemKind::Struct(decl) => {
                    docs.add(&decl.name.name, "", &item.docs);
                    decl.fields.iter().for_each(|field| docs.add(&decl.name.name, &field.name.name, &field.docs));
                }
                ItemKind::Enum(decl) => {
                    docs.add(&decl.name.name, "", &item.docs);
                    decl.members.iter().for_each(|member| docs.add(&decl.name.name, &member.name.name, &member.docs));
                }
                ItemKind::Function(decl) => {
                    docs.add(&decl.name.name, "", &item.docs);
                    decl.params.iter().for_each(|param| docs.add(&decl.name.name, &param.name.name, &param.docs));
                }
                ItemKind::Variable(decl) => docs.add(&decl.name.name, "", &item.docs),
                ItemKind::Import(_) | ItemKind::Const(_) | ItemKind::Test(_) | ItemKind::Error => {}
            }
        }
        docs
    }

    fn add(&mut self, item: &str, part: &str, lines: &[String]) {
        if !lines.is_empty() {
            let text = lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
            self.texts.insert((item.to_owned(), part.to_owned()), text);
        }
    }

    /// Of an item, which may be an instance of a generic one.
    pub fn item(&self, name: &str) -> String {
        self.part(name, "")
    }

    /// Of an item's field, member or parameter.
    pub fn part(&self, item: &str, part: &str) -> String {
        // `Pair[f32]`, `tile::[32]`
        let plain = item.split(['[', ':']).next().unwrap_or(item);
        self.texts.get(&(plain.to_owned(), part.to_owned())).cloned().unwrap_or_default()
    }
}
