//! Texture fetches, and reads and writes of surfaces (CUDA programming guide, "Texture and Surface Memory").

use super::cuda_enum::BOUNDARY_TRAP;
use super::{CudaEnum, RuntimeFn, RuntimeParam};
use crate::types::{Float, Int, Scalar, Type, TypeId, TypeTable};

/// How an element is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexelAccess {
    /// By index, from linear memory behind a texture.
    Fetch,
    /// At a place, filtered and addressed as the texture says.
    Sample,
    /// One component of each of the four elements that a filter would look at.
    Gather,
    /// Read from a surface, whose x is in bytes.
    Read,
    /// Written to a surface, whose x is in bytes.
    Write,
}

/// What the last operand of some accesses chooses: a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexelChoice {
    /// What happens outside of a surface: [`CudaEnum::SurfaceBoundaryMode`].
    Boundary,
    /// Which component is gathered: 0 to 3.
    Component,
}

macro_rules! textures {
    ($($variant:ident $name:literal $access:ident $dimensions:literal $layered:literal $doc:literal;)*) => {
        /// An access to a texture or surface.
        ///
        /// Operands are, in this order: the object; a coordinate for each dimension; the layer, an `i32`, where there are layers; what is
        /// written; a constant `i32` where there is a [`TexelChoice`].
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

            /// How an element is reached.
            #[must_use]
            pub const fn access(self) -> TexelAccess {
                match self { $(Self::$variant => TexelAccess::$access,)* }
            }

            /// 1, 2 or 3; a layer is none of them.
            #[must_use]
            pub const fn dimensions(self) -> usize {
                match self { $(Self::$variant => $dimensions,)* }
            }

            /// Whether a layer is named behind the coordinates.
            #[must_use]
            pub const fn is_layered(self) -> bool {
                match self { $(Self::$variant => $layered,)* }
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
    Fetch1D "tex1Dfetch" Fetch 1 false "an element of linear memory behind a texture, by its index";
    Texture1D "tex1D" Sample 1 false "a texture of one dimension, filtered and addressed as the object says";
    Texture2D "tex2D" Sample 2 false "a texture of two dimensions";
    Texture3D "tex3D" Sample 3 false "a texture of three dimensions";
    Texture1DLayered "tex1DLayered" Sample 1 true "a layer of a texture of one dimension; the layer is clamped";
    Texture2DLayered "tex2DLayered" Sample 2 true "a layer of a texture of two dimensions; the layer is clamped";
    Gather2D "tex2Dgather" Gather 2 false "one component of the four elements that a linear filter would look at: at (0, 1), (1, 1), (1, 0), (0, 0)";
    SurfaceRead1D "surf1Dread" Read 1 false "an element of a surface; x is in bytes";
    SurfaceRead2D "surf2Dread" Read 2 false "an element of a surface of two dimensions; x is in bytes";
    SurfaceRead3D "surf3Dread" Read 3 false "an element of a surface of three dimensions; x is in bytes";
    SurfaceRead1DLayered "surf1DLayeredread" Read 1 true "an element of a layer of a surface; x is in bytes";
    SurfaceRead2DLayered "surf2DLayeredread" Read 2 true "an element of a layer of two dimensions; x is in bytes";
    SurfaceWrite1D "surf1Dwrite" Write 1 false "writes an element of a surface; x is in bytes";
    SurfaceWrite2D "surf2Dwrite" Write 2 false "writes an element of a surface of two dimensions; x is in bytes";
    SurfaceWrite3D "surf3Dwrite" Write 3 false "writes an element of a surface of three dimensions; x is in bytes";
    SurfaceWrite1DLayered "surf1DLayeredwrite" Write 1 true "writes an element of a layer of a surface; x is in bytes";
    SurfaceWrite2DLayered "surf2DLayeredwrite" Write 2 true "writes an element of a layer of two dimensions; x is in bytes";
}

impl TextureOp {
    /// The access with this name in source.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// How many coordinates it takes, with the layer.
    #[must_use]
    pub const fn coordinates(self) -> usize {
        self.dimensions() + self.is_layered() as usize
    }

    /// How many operands it has: see [`TextureOp`].
    #[must_use]
    pub const fn operands(self) -> usize {
        1 + self.coordinates() + self.is_write() as usize + self.choice().is_some() as usize
    }

    /// Whether it writes: then it has no result.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self.access(), TexelAccess::Write)
    }

    /// Whether it is an access to a surface, not to a texture.
    #[must_use]
    pub const fn is_surface(self) -> bool {
        matches!(self.access(), TexelAccess::Read | TexelAccess::Write)
    }

    /// The type of the object.
    #[must_use]
    pub const fn object(self) -> TypeId {
        if self.is_surface() { TypeTable::SURFACE } else { TypeTable::TEXTURE }
    }

    /// The type of coordinate `index`: `f32` where it may be filtered, `i32` for the layer and where it may not.
    #[must_use]
    pub const fn coordinate(self, index: usize) -> TypeId {
        match self.access() {
            TexelAccess::Sample | TexelAccess::Gather if index < self.dimensions() => TypeTable::F32,
            _ => TypeTable::I32,
        }
    }

    /// What the last operand chooses, if it does.
    #[must_use]
    pub const fn choice(self) -> Option<TexelChoice> {
        match self.access() {
            TexelAccess::Read | TexelAccess::Write => Some(TexelChoice::Boundary),
            TexelAccess::Gather => Some(TexelChoice::Component),
            TexelAccess::Fetch | TexelAccess::Sample => None,
        }
    }
}

impl TexelChoice {
    /// What is chosen where nothing is said.
    #[must_use]
    pub const fn default_value(self) -> u32 {
        match self {
            Self::Boundary => BOUNDARY_TRAP,
            Self::Component => 0,
        }
    }

    /// Whether there is such a choice.
    #[must_use]
    pub const fn has(self, value: u64) -> bool {
        match self {
            Self::Boundary => value <= 2,
            Self::Component => value <= 3,
        }
    }

    /// The type that it has in source.
    #[must_use]
    pub const fn ty(self) -> TypeId {
        match self {
            Self::Boundary => CudaEnum::SurfaceBoundaryMode.ty(),
            Self::Component => TypeTable::I32,
        }
    }
}

impl RuntimeFn {
    /// Whether the call works on arrays, texture or surface objects: the host makes them, and device code only uses them (cdp2 rule R17).
    #[must_use]
    pub fn is_about_textures(self) -> bool {
        self.params().iter().any(|param| match param {
            RuntimeParam::Value(ty) | RuntimeParam::Out(ty) => {
                [TypeTable::CUDA_ARRAY, TypeTable::TEXTURE, TypeTable::SURFACE].contains(ty)
            }
            _ => false,
        })
    }
}

impl TypeTable {
    /// The element that textures and surfaces are read and written by, and how many: 1, 2 or 4 of an integer of at most 32 bits, `f16` or
    /// `f32`. None for other types.
    #[must_use]
    pub fn texel(&self, ty: TypeId) -> Option<(Scalar, u8)> {
        let (element, lanes) = match self.get(ty) {
            Type::Int(int) => (Scalar::Int(*int), 1),
            Type::Float(float) => (Scalar::Float(*float), 1),
            Type::Vector { element, lanes } => (*element, *lanes),
            _ => return None,
        };
        let fits = match element {
            Scalar::Float(float) => matches!(float, Float::F16 | Float::F32),
            Scalar::Int(int) => !matches!(int, Int::I64 | Int::U64),
        };
        (fits && lanes != 3).then_some((element, lanes))
    }
}
