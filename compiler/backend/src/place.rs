//! Addresses, loads, stores and copies. Offsets and alignments are those of our layout, whatever LLVM would do.

use crate::Error;
use crate::function::Emit;
use crate::types::Repr;
use cdp_core::ir::{Access, Operand, Place, PlaceBase, Projection};
use cdp_core::source::Span;
use cdp_core::types::{Int, Type as CdpType, TypeId};
use nvptx_builder::{Type, Value};

/// Larger arrays are copied as a block even where each access was to be special.
const SPECIAL_ELEMENTS: u64 = 64;

/// An address, and what it is known to be a multiple of.
#[derive(Clone, Copy, Debug)]
pub struct Address<'c> {
    /// In its own space.
    pub pointer: Value<'c>,
    /// In bytes; a power of two.
    pub align: u32,
}

impl<'c> Emit<'_, '_, 'c> {
    /// Where a place is, and the type of what lies there.
    pub fn place(&self, place: &Place, span: Span) -> Result<(Address<'c>, TypeId), Error> {
        let emitter = self.emitter;
        let (mut address, mut ty) = match &place.base {
            PlaceBase::Local(local) => (self.local_slot(*local, span)?, self.ir.local_type(*local)),
            PlaceBase::Global(id) => {
                let Some(global) = emitter.ir.global(*id) else {
                    return emitter.malformed("a variable that does not exist", span);
                };
                let align = emitter.layout(global.ty).align.max(global.align);
                (Address { pointer: emitter.global(*id, span)?, align }, global.ty)
            }
            PlaceBase::Deref(pointer) => {
                let Some((_, pointee, _)) = emitter.ir.types.pointee(self.type_of(pointer)) else {
                    return emitter.malformed("a place behind no pointer", span);
                };
                (Address { pointer: self.value(pointer, span)?, align: emitter.layout(pointee).align }, pointee)
            }
        };
        for step in &place.path {
            match step {
                Projection::Field(index) => {
                    address = self.at_offset(address, emitter.element_offset(ty, u64::from(*index), span)?)?;
                    ty = emitter.element_type(ty, *index, span)?;
                }
                Projection::Index(index) => {
                    ty = emitter.element_type(ty, 0, span)?;
                    address = self.at_index(address, ty, index, span)?;
                }
            }
        }
        Ok((address, ty))
    }

    /// So many bytes further.
    pub fn at_offset(&self, from: Address<'c>, bytes: u64) -> Result<Address<'c>, Error> {
        Ok(Address { pointer: self.body.offset(from.pointer, bytes)?, align: common_align(from.align, bytes) })
    }

    /// The element of this type at an index of any integer type.
    pub fn at_index(&self, from: Address<'c>, element: TypeId, index: &Operand, span: Span) -> Result<Address<'c>, Error> {
        let stride = self.emitter.layout(element).size;
        if let Operand::Const(constant) = index
            && let (Some(bits), Some(int)) = (constant.as_bits(), self.emitter.ir.types.as_int(constant.ty))
        {
            let bytes = (int.value(bits) as i64).wrapping_mul(stride.cast_signed());
            return self.at_offset(from, bytes.cast_unsigned());
        }
        let wide = self.index_value(index, span)?;
        Ok(Address { pointer: self.body.index(from.pointer, wide, stride)?, align: common_align(from.align, stride) })
    }

    /// An index as wide as an address.
    pub fn index_value(&self, index: &Operand, span: Span) -> Result<Value<'c>, Error> {
        let signed = self.emitter.ir.types.as_int(self.type_of(index)).is_some_and(Int::signed);
        Ok(self.body.int_cast(self.value(index, span)?, self.emitter.builder.size_type(), signed)?)
    }

    /// Reads a value that is held in a register.
    pub fn load(&self, from: Address<'c>, ty: TypeId, access: Access, span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let read = |ty: Type<'c>, at: Address<'c>| match access {
            Access::Plain => self.body.load(ty, at.pointer, at.align, false),
            Access::Volatile => self.body.load(ty, at.pointer, at.align, true),
            Access::Relaxed => self.body.load_relaxed(ty, at.pointer, at.align),
            Access::NonCoherent => self.body.load_invariant(ty, at.pointer, at.align),
            Access::Hinted(hint) => self.body.load_hinted(hint.operator(), ty, at.pointer),
        };
        match self.emitter.repr(ty, span)? {
            Repr::Bool => self.is_not_zero(read(builder.int(8)?.into(), from)?),
            Repr::Scalar(ty) => Ok(read(ty, from)?),
            // LLVM's three-lane vectors are as large as its four-lane ones
            Repr::Vector { element, lanes: 3, size } => {
                let mut vector = builder.zero(builder.vector(element, 3)?);
                for lane in 0..3 {
                    let value = read(element, self.at_offset(from, u64::from(lane) * size)?)?;
                    vector = self.body.insert(vector, value, lane)?;
                }
                Ok(vector)
            }
            Repr::Vector { element, lanes, .. } => Ok(read(builder.vector(element, lanes)?, from)?),
            Repr::Nothing | Repr::Memory => {
                self.emitter.malformed(format!("a register of `{}`", self.emitter.ir.types.display(ty)), span)
            }
        }
    }

    /// Writes a value that is held in a register.
    pub fn store(&self, to: Address<'c>, ty: TypeId, value: Value<'c>, access: Access, span: Span) -> Result<(), Error> {
        let volatile = access == Access::Volatile;
        match self.emitter.repr(ty, span)? {
            Repr::Bool => {
                let byte = self.body.int_cast(value, self.emitter.builder.int(8)?, false)?;
                Ok(self.body.store(byte, to.pointer, to.align, volatile)?)
            }
            Repr::Vector { lanes: 3, size, .. } => {
                for lane in 0..3 {
                    let at = self.at_offset(to, u64::from(lane) * size)?;
                    self.body.store(self.body.extract(value, lane)?, at.pointer, at.align, volatile)?;
                }
                Ok(())
            }
            Repr::Scalar(_) | Repr::Vector { .. } => match access {
                Access::Hinted(hint) => Ok(self.body.store_hinted(hint.operator(), value, to.pointer)?),
                _ => Ok(self.body.store(value, to.pointer, to.align, volatile)?),
            },
            Repr::Nothing | Repr::Memory => {
                self.emitter.malformed(format!("a register of `{}`", self.emitter.ir.types.display(ty)), span)
            }
        }
    }

    /// Copies a value of any type.
    pub fn copy(&self, to: Address<'c>, from: Address<'c>, ty: TypeId, access: Access, span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        let parts: u64 = match emitter.ir.types.get(ty) {
            CdpType::Struct(id) => emitter.ir.types.struct_def(*id).map_or(0, |def| def.fields.len() as u64),
            CdpType::Array { len, .. } => *len,
            _ => 0,
        };
        match emitter.repr(ty, span)? {
            Repr::Nothing => Ok(()),
            Repr::Memory if access != Access::Plain && parts <= SPECIAL_ELEMENTS => {
                for index in 0..parts {
                    let element = emitter.element_type(ty, u32::try_from(index).unwrap_or(u32::MAX), span)?;
                    let offset = emitter.element_offset(ty, index, span)?;
                    self.copy(self.at_offset(to, offset)?, self.at_offset(from, offset)?, element, access, span)?;
                }
                Ok(())
            }
            Repr::Memory => Ok(self.body.copy(to.pointer, to.align, from.pointer, from.align, emitter.layout(ty).size)?),
            Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                let value = self.load(from, ty, access, span)?;
                self.store(to, ty, value, access, span)
            }
        }
    }
}

/// What `base + bytes` is a multiple of when `base` is one of `align`.
fn common_align(align: u32, bytes: u64) -> u32 {
    let low = bytes & bytes.wrapping_neg();
    if bytes == 0 { align } else { u32::try_from(low).map_or(align, |low| align.min(low)) }
}
