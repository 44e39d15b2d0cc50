//! Size, alignment and offsets of types, and where a kernel's parameters lie.
//!
//! C layout, as nvcc's host compiler has it (CUDA programming guide 4.18.6.2, table of vector types; cdp2 rules R31 to R34).

use super::{Float, Int, Scalar, StructDef, Type, TypeId, TypeTable};

/// How wide a pointer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PointerWidth {
    /// `.address_size 32`
    W32,
    /// `.address_size 64`
    #[default]
    W64,
}

/// Bytes that a type takes; `size` is a multiple of `align`, `align` a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// In bytes, with padding at the end.
    pub size: u64,
    /// In bytes.
    pub align: u32,
}

/// One parameter of a kernel in its parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParamLayout {
    /// Bytes from the buffer's start.
    pub offset: u64,
    /// Its type's size in bytes.
    pub size: u64,
    /// The alignment that it is declared with: its type's, but at most [`MAX_PARAM_ALIGN`].
    pub align: u32,
}

/// A kernel's whole parameter buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamsLayout {
    /// In order.
    pub params: Vec<ParamLayout>,
    /// In bytes, without padding at the end (R31).
    pub size: u64,
    /// The largest parameter's alignment in bytes; 1 without parameters.
    pub align: u32,
}

/// Parameters are never declared with more than this: beyond it, ptxas places by absolute address, and the plain rule would be wrong
/// (R32).
pub const MAX_PARAM_ALIGN: u32 = 16;

impl PointerWidth {
    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::W32 => 4,
            Self::W64 => 8,
        }
    }
}

impl Layout {
    const EMPTY: Self = Self { size: 0, align: 1 };

    const fn natural(bytes: u32) -> Self {
        Self { size: bytes as u64, align: bytes }
    }
}

impl super::Sealed {
    const fn layout(&self, width: PointerWidth) -> Layout {
        let [narrow, wide] = self.layouts;
        match width {
            PointerWidth::W32 => narrow,
            PointerWidth::W64 => wide,
        }
    }
}

impl TypeTable {
    /// Size and alignment of a type. `void`, `[T]`, strings and poison take no room.
    #[must_use]
    pub fn layout(&self, ty: TypeId, width: PointerWidth) -> Layout {
        match self.get(ty) {
            Type::Void | Type::Poison => Layout::EMPTY,
            Type::Bool => Layout::natural(1),
            Type::Int(int) => Layout::natural(int.bits() / 8),
            Type::Float(float) => Layout::natural(float.bits() / 8),
            Type::Vector { element, lanes } => vector_layout(*element, *lanes),
            Type::Pointer { .. } | Type::Stream | Type::Event | Type::CudaArray | Type::Str => Layout::natural(width.bytes()),
            Type::Texture | Type::Surface => Layout::natural(8),
            Type::CudaError => Layout::natural(4),
            Type::Array { element, len } => {
                let element = self.layout(*element, width);
                Layout { size: element.size.saturating_mul(*len), align: element.align }
            }
            Type::Unsized { element } => Layout { size: 0, align: self.layout(*element, width).align },
            Type::Struct(id) => match self.sealed(*id) {
                Some(sealed) => sealed.layout(width),
                None => self.struct_def(*id).map_or(Layout::EMPTY, |def| self.struct_layout(def, width).0),
            },
            Type::Enum(id) => self.enum_def(*id).map_or(Layout::EMPTY, |def| Layout::natural(def.repr.bits() / 8)),
        }
    }

    /// A structure's layout and its fields' offsets in bytes.
    #[must_use]
    pub fn struct_layout(&self, def: &StructDef, width: PointerWidth) -> (Layout, Vec<u64>) {
        let mut end = 0u64;
        let mut align = def.align.max(1);
        let mut offsets = Vec::with_capacity(def.fields.len());
        for field in &def.fields {
            let layout = self.layout(field.ty, width);
            let field_align = layout.align.max(field.align);
            let offset = round_up(end, field_align);
            offsets.push(offset);
            end = offset.saturating_add(layout.size);
            align = align.max(field_align);
        }
        (Layout { size: round_up(end, align), align }, offsets)
    }

    /// Bytes from the start of a value of type `ty` to its field, lane or array element `index`.
    #[must_use]
    pub fn element_offset(&self, ty: TypeId, index: u64, width: PointerWidth) -> Option<u64> {
        match self.get(ty) {
            Type::Struct(id) => {
                let (_, offsets) = self.struct_layout(self.struct_def(*id)?, width);
                offsets.get(usize::try_from(index).ok()?).copied()
            }
            Type::Vector { element, .. } => Some(self.layout(Self::scalar(*element), width).size * index),
            Type::Array { element, .. } | Type::Unsized { element } => self.layout(*element, width).size.checked_mul(index),
            _ => None,
        }
    }

    /// Where a kernel with parameters of these types finds them (R31, R32).
    #[must_use]
    pub fn params_layout(&self, params: impl IntoIterator<Item = TypeId>, width: PointerWidth) -> ParamsLayout {
        let mut result = ParamsLayout { params: Vec::new(), size: 0, align: 1 };
        for ty in params {
            let layout = self.layout(ty, width);
            let align = layout.align.min(MAX_PARAM_ALIGN);
            let offset = round_up(result.size, align);
            result.params.push(ParamLayout { offset, size: layout.size, align });
            result.size = offset.saturating_add(layout.size);
            result.align = result.align.max(align);
        }
        result
    }
}

fn vector_layout(element: Scalar, lanes: u8) -> Layout {
    let bytes = match element {
        Scalar::Int(int) => Int::bits(int) / 8,
        Scalar::Float(float) => Float::bits(float) / 8,
    };
    let size = bytes * u32::from(lanes);
    // three-element vectors are plain structures in CUDA; the others are aligned to their size, but to no more than 16
    let align = if lanes == 3 { bytes } else { size.min(16) };
    Layout { size: u64::from(size), align }
}

/// `value` rounded up to a multiple of `align`, a power of two.
#[must_use]
pub fn round_up(value: u64, align: u32) -> u64 {
    let mask = u64::from(align.max(1)) - 1;
    value.saturating_add(mask) & !mask
}
