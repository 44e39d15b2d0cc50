//! Types as the user writes them.

use super::{Scalar, Space, Type, TypeId, TypeTable};

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
}
