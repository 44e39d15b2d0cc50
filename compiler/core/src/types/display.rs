//! Types as the user writes them.

use super::layout::PointerWidth;
use super::{Scalar, Space, Type, TypeId, TypeTable};
use std::fmt::Write as _;

impl TypeTable {
    /// The type as it is written in source, for example `*global const f32`.
    #[must_use]
    pub fn display(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Void => "void".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Int(int) => int.name().to_owned(),
            Type::Float(float) => float.name().to_owned(),
            Type::Vector { element, lanes } => {
                let name = match element {
                    Scalar::Int(int) => int.name(),
                    Scalar::Float(float) => float.name(),
                };
                format!("{name}x{lanes}")
            }
            Type::Pointer { space, pointee, constant, volatile } => {
                let space = if *space == Space::Generic { String::new() } else { format!("{} ", space.name()) };
                let constant = if *constant { "const " } else { "" };
                let volatile = if *volatile { "volatile " } else { "" };
                format!("*{space}{constant}{volatile}{}", self.display(*pointee))
            }
            Type::Array { element, len } => format!("[{}; {len}]", self.display(*element)),
            Type::Unsized { element } => format!("[{}]", self.display(*element)),
            Type::Struct(id) => self.struct_def(*id).map_or_else(|| "?".to_owned(), |def| def.name.clone()),
            Type::Enum(id) => self.enum_def(*id).map_or_else(|| "?".to_owned(), |def| def.name.clone()),
            Type::CudaError => "cudaError_t".to_owned(),
            Type::Stream => "cudaStream_t".to_owned(),
            Type::Event => "cudaEvent_t".to_owned(),
            Type::Texture => "cudaTextureObject_t".to_owned(),
            Type::Surface => "cudaSurfaceObject_t".to_owned(),
            Type::CudaArray => "cudaArray_t".to_owned(),
            Type::Str => "string".to_owned(),
            Type::Poison => "?".to_owned(),
        }
    }

    /// A part of a variable as a program writes it, by the fields that lead there: `p.a.x`.
    #[must_use]
    pub fn part_name(&self, name: &str, mut ty: TypeId, fields: &[u32]) -> String {
        let mut text = name.to_owned();
        for field in fields {
            let Some(next) = self.element(ty, *field) else { break };
            let _ = write!(text, ".{}", self.field_name(ty, *field));
            ty = next;
        }
        text
    }

    /// The smallest part of a variable that a byte is in, as a program writes it: `p.a[3].x`; the variable itself where it has no parts, or the
    /// byte is between them.
    #[must_use]
    pub fn part_at(&self, name: &str, mut ty: TypeId, mut byte: u64, width: PointerWidth) -> String {
        let mut text = name.to_owned();
        loop {
            let (index, next) = match self.get(ty) {
                Type::Array { element, .. } => (byte.checked_div(self.layout(*element, width).size), Some(*element)),
                Type::Struct(_) | Type::Vector { .. } => {
                    let starts = |index: u32| self.element_offset(ty, u64::from(index), width).is_some_and(|at| at <= byte);
                    let index = (0..).take_while(|index| self.element(ty, *index).is_some() && starts(*index)).last();
                    (index.map(u64::from), index.and_then(|index| self.element(ty, index)))
                }
                _ => return text,
            };
            let (Some(index), Some(next)) = (index, next) else { return text };
            byte -= self.element_offset(ty, index, width).unwrap_or(0);
            if byte >= self.layout(next, width).size {
                return text;
            }
            if matches!(self.get(ty), Type::Array { .. }) {
                let _ = write!(text, "[{index}]");
            } else {
                let _ = write!(text, ".{}", self.field_name(ty, u32::try_from(index).unwrap_or(u32::MAX)));
            }
            ty = next;
        }
    }

    fn field_name(&self, ty: TypeId, field: u32) -> &str {
        let place = field as usize;
        match self.get(ty) {
            Type::Struct(id) => {
                self.struct_def(*id).and_then(|def| def.fields.get(place)).map_or("", |field| field.name.as_str())
            }
            _ => ["x", "y", "z", "w"].get(place).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;
    use crate::types::{Field, Float, StructDef};

    #[test]
    fn parts_are_named_as_a_program_writes_them() {
        let mut types = TypeTable::new();
        let vector = types.intern(Type::Vector { element: Scalar::Float(Float::F32), lanes: 3 });
        let array = types.array(vector, 4);
        let field = |name: &str, ty| Field { name: name.to_owned(), ty, align: 0, span: Span::default() };
        let fields = vec![field("a", TypeTable::U8), field("v", array)];
        let id = types.add_struct(StructDef { name: "P".to_owned(), fields, align: 0, span: Span::default() });
        let ty = types.intern(Type::Struct(id));
        let at = |byte| types.part_at("p", ty, byte, PointerWidth::W64);
        assert_eq!(
            [at(0), at(1), at(4), at(11), at(12 + 4 + 8), at(4 + 48)],
            ["p.a", "p", "p.v[0].x", "p.v[0].y", "p.v[1].z", "p"]
        );
        assert_eq!(types.part_name("p", ty, &[]), "p");
        assert_eq!(types.part_name("v", vector, &[1]), "v.y");
        assert_eq!(types.part_name("p", ty, &[1]), "p.v");
        assert_eq!(types.part_at("x", TypeTable::I32, 3, PointerWidth::W64), "x");
    }
}
