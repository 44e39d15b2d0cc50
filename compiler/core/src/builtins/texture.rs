//! Texture fetches, and reads and writes of surfaces (CUDA programming guide, "Texture and Surface Memory").

use crate::types::{Float, Int, Scalar, Type, TypeId, TypeTable};

macro_rules! textures {
    ($($variant:ident $name:literal $coordinates:literal $doc:literal;)*) => {
        /// An access to a texture or surface. The first operand is the object, then come the coordinates, then what is written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TextureOp {
            $(#[doc = $doc] $variant,)*
        }

        impl TextureOp {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// CUDA's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// How many coordinates it takes: 1, 2 or 3.
            #[must_use]
            pub const fn coordinates(self) -> usize {
                match self { $(Self::$variant => $coordinates,)* }
            }

            /// One line for the reference and for hovers.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

textures! {
    Fetch1D "tex1Dfetch" 1 "an element of linear memory behind a texture, by its index";
    Texture1D "tex1D" 1 "a texture of one dimension, filtered and addressed as the object says";
    Texture2D "tex2D" 2 "a texture of two dimensions";
    Texture3D "tex3D" 3 "a texture of three dimensions";
    SurfaceRead1D "surf1Dread" 1 "an element of a surface; x is in bytes";
    SurfaceRead2D "surf2Dread" 2 "an element of a surface of two dimensions; x is in bytes";
    SurfaceRead3D "surf3Dread" 3 "an element of a surface of three dimensions; x is in bytes";
    SurfaceWrite1D "surf1Dwrite" 1 "writes an element of a surface; x is in bytes";
    SurfaceWrite2D "surf2Dwrite" 2 "writes an element of a surface of two dimensions; x is in bytes";
    SurfaceWrite3D "surf3Dwrite" 3 "writes an element of a surface of three dimensions; x is in bytes";
}

impl TextureOp {
    /// The access with this name in source.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Whether it writes: then it has no result, and the value is its last operand.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::SurfaceWrite1D | Self::SurfaceWrite2D | Self::SurfaceWrite3D)
    }

    /// The type of the object.
    #[must_use]
    pub const fn object(self) -> TypeId {
        match self {
            Self::Fetch1D | Self::Texture1D | Self::Texture2D | Self::Texture3D => TypeTable::TEXTURE,
            _ => TypeTable::SURFACE,
        }
    }

    /// The type of a coordinate: `f32` where it may be filtered, else `i32`.
    #[must_use]
    pub const fn coordinate(self) -> TypeId {
        match self {
            Self::Texture1D | Self::Texture2D | Self::Texture3D => TypeTable::F32,
            _ => TypeTable::I32,
        }
    }
}

impl TypeTable {
    /// The element that textures and surfaces are read and written by, and how many: 1, 2 or 4 of `f32`, `i32` or `u32`. None for other
    /// types.
    #[must_use]
    pub fn texel(&self, ty: TypeId) -> Option<(Scalar, u8)> {
        let (element, lanes) = match self.get(ty) {
            Type::Int(int) => (Scalar::Int(*int), 1),
            Type::Float(float) => (Scalar::Float(*float), 1),
            Type::Vector { element, lanes } => (*element, *lanes),
            _ => return None,
        };
        let fits = matches!(element, Scalar::Float(Float::F32) | Scalar::Int(Int::I32 | Int::U32)) && lanes != 3;
        fits.then_some((element, lanes))
    }
}
