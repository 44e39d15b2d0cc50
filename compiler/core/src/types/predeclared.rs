//! Structures that calls of the CUDA runtime take and fill, under CUDA's names; layouts as in `driver_types.h` of CUDA 13.0.
//!
//! A table gets one of them when a program first names it, so that programs that use none are as they would be without.

use super::{Field, StructDef, Type, TypeId, TypeTable};
use crate::builtins::CudaEnum;
use crate::source::Span;

/// A structure of the CUDA runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Predeclared {
    /// `cudaPos`: a position in elements or bytes.
    Pos,
    /// `cudaExtent`: a size; the width is in bytes for linear memory.
    Extent,
    /// `cudaPitchedPtr`: rows in linear memory.
    PitchedPtr,
    /// `cudaMemcpy3DParms`: what `cudaMemcpy3DAsync` copies.
    Memcpy3DParms,
    /// `cudaFuncAttributes`: what `cudaFuncGetAttributes` tells.
    FuncAttributes,
    /// `cudaChannelFormatDesc`: bits of each of four channels, and what they are.
    ChannelFormatDesc,
    /// `cudaResourceDesc`: what a texture or surface is made of. The language has no unions: the members of all its types stand side by
    /// side, and those of other types than `resType` says are not looked at.
    ResourceDesc,
    /// `cudaTextureDesc`: how a texture is read.
    TextureDesc,
}

/// The type of a field: `size_t`, `int`, `unsigned`, `float`, an address, an array, a handle of an array of the runtime, an
/// enumeration, an array of three of those, or another of these structures.
#[derive(Clone, Copy)]
enum Part {
    Size,
    Int,
    Unsigned,
    Float,
    Address,
    Ints(u64),
    Floats(u64),
    Array,
    Enum(CudaEnum),
    ThreeEnum(CudaEnum),
    Struct(Predeclared),
}

/// The type of a field, as types are put together.
enum Shape {
    Scalar(TypeId),
    Array(TypeId, u64),
    Struct(Predeclared),
}

impl Part {
    const fn shape(self) -> Shape {
        match self {
            Self::Size => Shape::Scalar(TypeTable::U64),
            Self::Int => Shape::Scalar(TypeTable::I32),
            Self::Unsigned => Shape::Scalar(TypeTable::U32),
            Self::Float => Shape::Scalar(TypeTable::F32),
            Self::Address => Shape::Scalar(TypeTable::VOID_POINTER),
            Self::Array => Shape::Scalar(TypeTable::CUDA_ARRAY),
            Self::Enum(found) => Shape::Scalar(found.ty()),
            Self::Ints(len) => Shape::Array(TypeTable::I32, len),
            Self::Floats(len) => Shape::Array(TypeTable::F32, len),
            Self::ThreeEnum(found) => Shape::Array(found.ty(), 3),
            Self::Struct(inner) => Shape::Struct(inner),
        }
    }
}

impl Predeclared {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pos,
        Self::Extent,
        Self::PitchedPtr,
        Self::Memcpy3DParms,
        Self::FuncAttributes,
        Self::ChannelFormatDesc,
        Self::ResourceDesc,
        Self::TextureDesc,
    ];

    /// CUDA's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pos => "cudaPos",
            Self::Extent => "cudaExtent",
            Self::PitchedPtr => "cudaPitchedPtr",
            Self::Memcpy3DParms => "cudaMemcpy3DParms",
            Self::FuncAttributes => "cudaFuncAttributes",
            Self::ChannelFormatDesc => "cudaChannelFormatDesc",
            Self::ResourceDesc => "cudaResourceDesc",
            Self::TextureDesc => "cudaTextureDesc",
        }
    }

    /// The structure with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|structure| structure.name() == name)
    }

    const fn fields(self) -> &'static [(&'static str, Part)] {
        match self {
            Self::Pos => &[("x", Part::Size), ("y", Part::Size), ("z", Part::Size)],
            Self::Extent => &[("width", Part::Size), ("height", Part::Size), ("depth", Part::Size)],
            Self::PitchedPtr => &[("ptr", Part::Address), ("pitch", Part::Size), ("xsize", Part::Size), ("ysize", Part::Size)],
            Self::Memcpy3DParms => &[
                ("srcArray", Part::Array),
                ("srcPos", Part::Struct(Self::Pos)),
                ("srcPtr", Part::Struct(Self::PitchedPtr)),
                ("dstArray", Part::Array),
                ("dstPos", Part::Struct(Self::Pos)),
                ("dstPtr", Part::Struct(Self::PitchedPtr)),
                ("extent", Part::Struct(Self::Extent)),
                ("kind", Part::Enum(CudaEnum::MemcpyKind)),
            ],
            Self::FuncAttributes => &[
                ("sharedSizeBytes", Part::Size),
                ("constSizeBytes", Part::Size),
                ("localSizeBytes", Part::Size),
                ("maxThreadsPerBlock", Part::Int),
                ("numRegs", Part::Int),
                ("ptxVersion", Part::Int),
                ("binaryVersion", Part::Int),
                ("cacheModeCA", Part::Int),
                ("maxDynamicSharedSizeBytes", Part::Int),
                ("preferredShmemCarveout", Part::Int),
                ("clusterDimMustBeSet", Part::Int),
                ("requiredClusterWidth", Part::Int),
                ("requiredClusterHeight", Part::Int),
                ("requiredClusterDepth", Part::Int),
                ("clusterSchedulingPolicyPreference", Part::Int),
                ("nonPortableClusterSizeAllowed", Part::Int),
                ("reserved", Part::Ints(16)),
            ],
            Self::ChannelFormatDesc => &[
                ("x", Part::Int),
                ("y", Part::Int),
                ("z", Part::Int),
                ("w", Part::Int),
                ("f", Part::Enum(CudaEnum::ChannelFormatKind)),
            ],
            Self::ResourceDesc => &[
                ("resType", Part::Enum(CudaEnum::ResourceType)),
                ("array", Part::Array),
                ("devPtr", Part::Address),
                ("desc", Part::Struct(Self::ChannelFormatDesc)),
                ("sizeInBytes", Part::Size),
                ("width", Part::Size),
                ("height", Part::Size),
                ("pitchInBytes", Part::Size),
            ],
            Self::TextureDesc => &[
                ("addressMode", Part::ThreeEnum(CudaEnum::TextureAddressMode)),
                ("filterMode", Part::Enum(CudaEnum::TextureFilterMode)),
                ("readMode", Part::Enum(CudaEnum::TextureReadMode)),
                ("sRGB", Part::Int),
                ("borderColor", Part::Floats(4)),
                ("normalizedCoords", Part::Int),
                ("maxAnisotropy", Part::Unsigned),
                ("mipmapFilterMode", Part::Enum(CudaEnum::TextureFilterMode)),
                ("mipmapLevelBias", Part::Float),
                ("minMipmapLevelClamp", Part::Float),
                ("maxMipmapLevelClamp", Part::Float),
                ("disableTrilinearOptimization", Part::Int),
                ("seamlessCubemap", Part::Int),
            ],
        }
    }
}

impl TypeTable {
    /// The type of a structure of the CUDA runtime, which is added when it is not there yet.
    pub fn predeclared(&mut self, which: Predeclared) -> TypeId {
        let known = self.structs().iter().position(|def| self.matches(def, which));
        if let Some(known) = known {
            return self.intern(Type::Struct(super::StructId(super::index32(known))));
        }
        let mut fields = Vec::new();
        for (name, part) in which.fields() {
            let ty = match part.shape() {
                Shape::Scalar(ty) => ty,
                Shape::Array(element, len) => self.array(element, len),
                Shape::Struct(inner) => self.predeclared(inner),
            };
            fields.push(Field { name: (*name).to_owned(), ty, align: 0, span: Span::default() });
        }
        let id = self.add_struct(StructDef { name: which.name().to_owned(), fields, align: 0, span: Span::default() });
        self.intern(Type::Struct(id))
    }

    /// Whether a type is this structure of the CUDA runtime. A program's own of the same name and with the same fields is as good.
    #[must_use]
    pub fn is_predeclared(&self, ty: TypeId, which: Predeclared) -> bool {
        match self.get(ty) {
            Type::Struct(id) => self.struct_def(*id).is_some_and(|def| self.matches(def, which)),
            _ => false,
        }
    }

    fn matches(&self, def: &StructDef, which: Predeclared) -> bool {
        let parts = which.fields();
        def.name == which.name()
            && def.align == 0
            && def.fields.len() == parts.len()
            && def.fields.iter().zip(parts).all(|(field, (name, part))| field.name == *name && self.is_part(field.ty, *part))
    }

    fn is_part(&self, ty: TypeId, part: Part) -> bool {
        match part.shape() {
            Shape::Scalar(scalar) => ty == scalar,
            Shape::Array(element, len) => *self.get(ty) == Type::Array { element, len },
            Shape::Struct(inner) => self.is_predeclared(ty, inner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::layout::PointerWidth;

    #[test]
    fn layouts_are_those_of_the_headers() {
        let mut types = TypeTable::new();
        let sizes: Vec<(u64, u32)> = Predeclared::ALL
            .into_iter()
            .map(|which| {
                let ty = types.predeclared(which);
                let layout = types.layout(ty, PointerWidth::W64);
                (layout.size, layout.align)
            })
            .collect();
        // but for `cudaResourceDesc`, whose union is no union here
        assert_eq!(sizes, [(24, 8), (24, 8), (32, 8), (160, 8), (144, 8), (20, 4), (80, 8), (72, 4)]);
    }

    #[test]
    fn each_is_there_once_and_only_when_asked_for() {
        let mut types = TypeTable::new();
        let before = types.structs().len();
        let parms = types.predeclared(Predeclared::Memcpy3DParms);
        assert_eq!(types.predeclared(Predeclared::Memcpy3DParms), parms);
        assert!(types.is_predeclared(parms, Predeclared::Memcpy3DParms));
        assert!(!types.is_predeclared(parms, Predeclared::Extent));
        assert_eq!(types.structs().len(), before + 4);
    }
}
