//! Types as LLVM's, and how values of them are held.

use crate::Error;
use crate::module::Emitter;
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, Scalar, Space as CdpSpace, Type as CdpType, TypeId, TypeTable};
use nvptx_builder::{Space, Type};

/// How values of a type are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repr<'c> {
    /// There is nothing to hold: `void`, structures without fields.
    Nothing,
    /// One bit in a register, one byte in memory.
    Bool,
    /// An integer, float, address or handle: the same in a register and in memory.
    Scalar(Type<'c>),
    /// A vector register; in memory its lanes follow each other.
    Vector {
        /// A lane.
        element: Type<'c>,
        /// 2, 3 or 4.
        lanes: u32,
        /// Of a lane, in bytes.
        size: u64,
    },
    /// Always in memory: structures and arrays.
    Memory,
}

/// What a value is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A truth value.
    Bool,
    /// An integer, an enumeration, `cudaError_t`.
    Int(Int),
    /// A float.
    Float(Float),
    /// An address.
    Pointer,
    /// A handle: an integer of the given width.
    Handle(u32),
    /// A vector of this.
    Vector(Scalar, u32),
    /// A structure or array.
    Aggregate,
    /// No value.
    Nothing,
}

/// LLVM's space for ours.
pub const fn space(space: CdpSpace) -> Space {
    match space {
        CdpSpace::Generic => Space::Generic,
        CdpSpace::Global => Space::Global,
        CdpSpace::Shared => Space::Shared,
        CdpSpace::Local => Space::Local,
        CdpSpace::Constant => Space::Constant,
    }
}

impl<'c> Emitter<'_, 'c> {
    /// What a value of this type is computed with.
    pub fn class(&self, ty: TypeId) -> Class {
        match self.ir.types.get(ty) {
            CdpType::Void | CdpType::Poison | CdpType::Unsized { .. } => Class::Nothing,
            CdpType::Bool => Class::Bool,
            CdpType::Int(int) => Class::Int(*int),
            CdpType::Float(float) => Class::Float(*float),
            CdpType::Vector { element, lanes } => Class::Vector(*element, u32::from(*lanes)),
            CdpType::Pointer { .. } | CdpType::Str => Class::Pointer,
            CdpType::Array { .. } | CdpType::Struct(_) => Class::Aggregate,
            CdpType::Enum(_) | CdpType::CudaError => self.ir.types.as_int(ty).map_or(Class::Nothing, Class::Int),
            CdpType::Stream | CdpType::Event | CdpType::CudaArray => Class::Handle(self.options.width.bytes() * 8),
            CdpType::Texture | CdpType::Surface => Class::Handle(64),
        }
    }

    /// How values of this type are held.
    pub fn repr(&self, ty: TypeId, span: Span) -> Result<Repr<'c>, Error> {
        let module = self.builder;
        if self.layout(ty).size > u64::from(u32::MAX) {
            return self.malformed("an object of 4 GiB", span);
        }
        Ok(match self.class(ty) {
            Class::Nothing => Repr::Nothing,
            Class::Bool => Repr::Bool,
            Class::Int(int) => Repr::Scalar(module.int(int.bits())?.into()),
            Class::Handle(bits) => Repr::Scalar(module.int(bits)?.into()),
            Class::Float(float) => Repr::Scalar(self.float_type(float)),
            Class::Pointer => Repr::Scalar(module.pointer(self.pointer_space(ty)).into()),
            Class::Vector(scalar, lanes) => {
                let element = self.scalar_type(scalar)?;
                let size = self.layout(TypeTable::scalar(scalar)).size;
                Repr::Vector { element, lanes, size }
            }
            Class::Aggregate if self.layout(ty).size == 0 => Repr::Nothing,
            Class::Aggregate => Repr::Memory,
        })
    }

    /// The register that a value of this type is held in; none for what lies in memory.
    pub fn register_type(&self, ty: TypeId, span: Span) -> Result<Type<'c>, Error> {
        match self.repr(ty, span)? {
            Repr::Bool => Ok(self.builder.int(1)?.into()),
            Repr::Scalar(ty) => Ok(ty),
            Repr::Vector { element, lanes, .. } => Ok(self.builder.vector(element, lanes)?),
            Repr::Nothing | Repr::Memory => self.malformed(format!("a register of `{}`", self.ir.types.display(ty)), span),
        }
    }

    /// LLVM's float.
    pub fn float_type(&self, float: Float) -> Type<'c> {
        match float {
            Float::F16 => self.builder.half().into(),
            Float::Bf16 => self.builder.bfloat().into(),
            Float::F32 => self.builder.float().into(),
            Float::F64 => self.builder.double().into(),
        }
    }

    /// LLVM's integer or float.
    pub fn scalar_type(&self, scalar: Scalar) -> Result<Type<'c>, Error> {
        Ok(match scalar {
            Scalar::Int(int) => self.builder.int(int.bits())?.into(),
            Scalar::Float(float) => self.float_type(float),
        })
    }

    /// The space that a pointer points into; generic for a string.
    pub fn pointer_space(&self, ty: TypeId) -> Space {
        self.ir.types.pointee(ty).map_or(Space::Generic, |(at, _, _)| space(at))
    }
}
