//! The structures and enumerations that a host needs to know: those that parameters and variables contain or point to.

use std::collections::HashSet;

use cdp_core::types::layout::PointerWidth;
use cdp_core::types::{EnumDef, StructDef, Type, TypeId, TypeTable};
use cdp_runtime::manifest;

use super::docs::Docs;

/// What was found, each structure behind those that it contains.
#[derive(Debug)]
pub struct Found<'a> {
    table: &'a TypeTable,
    docs: &'a Docs,
    seen: HashSet<TypeId>,
    /// In an order that a C compiler takes.
    pub structs: Vec<manifest::Struct>,
    /// In the order in which they were come upon.
    pub vectors: Vec<manifest::Vector>,
    /// In the order in which they were come upon.
    pub enums: Vec<manifest::Enum>,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    pub fn new(table: &'a TypeTable, docs: &'a Docs) -> Self {
        Self { table, docs, seen: HashSet::new(), structs: Vec::new(), vectors: Vec::new(), enums: Vec::new() }
    }

    /// Adds all that these types contain, and then what they point to.
    pub fn add(&mut self, types: impl IntoIterator<Item = TypeId>) {
        let mut waiting: Vec<TypeId> = types.into_iter().collect();
        waiting.reverse();
        while let Some(ty) = waiting.pop() {
            let mut pointees = Vec::new();
            self.contained(ty, &mut pointees);
            waiting.extend(pointees.into_iter().rev());
        }
    }

    /// A type's parts, the inner ones first. They are as deep as the source nests them, which is limited.
    fn contained(&mut self, ty: TypeId, pointees: &mut Vec<TypeId>) {
        if !self.seen.insert(ty) {
            return;
        }
        match self.table.get(ty) {
            Type::Pointer { pointee, .. } => pointees.push(*pointee),
            Type::Array { element, .. } | Type::Unsized { element } => self.contained(*element, pointees),
            Type::Struct(id) => {
                if let Some(def) = self.table.struct_def(*id) {
                    def.fields.iter().for_each(|field| self.contained(field.ty, pointees));
                    self.structs.push(self.structure(def));
                }
            }
            Type::Vector { .. } => {
                let layout = self.table.layout(ty, PointerWidth::W64);
                let size = u32::try_from(layout.size).unwrap_or(u32::MAX);
                self.vectors.push(manifest::Vector { ty: self.table.display(ty), size, align: layout.align });
            }
            Type::Enum(id) => self.enums.extend(self.table.enum_def(*id).map(|def| self.enumeration(def))),
            _ => {}
        }
    }

    fn structure(&self, def: &StructDef) -> manifest::Struct {
        let (layout, offsets) = self.table.struct_layout(def, PointerWidth::W64);
        let fields = def.fields.iter().zip(offsets).map(|(field, offset)| {
            let layout = self.table.layout(field.ty, PointerWidth::W64);
            manifest::Field {
                name: field.name.clone(),
                ty: self.table.display(field.ty),
                offset,
                size: layout.size,
                align: layout.align.max(field.align),
                doc: self.docs.part(&def.name, &field.name),
            }
        });
        manifest::Struct {
            name: def.name.clone(),
            size: layout.size,
            align: layout.align,
            fields: fields.collect(),
            doc: self.docs.item(&def.name),
        }
    }

    fn enumeration(&self, def: &EnumDef) -> manifest::Enum {
        let members = def.variants.iter().map(|(name, bits)| manifest::Member {
            name: name.clone(),
            value: def.repr.value(*bits),
            doc: self.docs.part(&def.name, name),
        });
        manifest::Enum {
            name: def.name.clone(),
            ty: def.repr.name().to_owned(),
            members: members.collect(),
            doc: self.docs.item(&def.name),
        }
    }
}
