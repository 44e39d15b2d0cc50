//! Loads, stores, addresses, parts of values.

#![allow(unsafe_code, reason = "LLVM's address arithmetic is unchecked; inkwell has no freeze")]

use crate::body::{int, pointer};
use crate::error::shape;
use crate::{Body, Error, Type, Value};
use inkwell::llvm_sys::core::LLVMBuildFreeze;
use inkwell::values::{AsValueRef, BasicValue, InstructionValue};

impl<'c> Body<'_, 'c> {
    /// Reads a value. `align` is what the address is a multiple of, in bytes.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn load(&self, ty: Type<'c>, address: Value<'c>, align: u32, volatile: bool) -> Result<Value<'c>, Error> {
        let value = self.builder.build_load(ty, pointer(address)?, "")?;
        self.access(value.as_instruction_value(), align, volatile)?;
        Ok(value)
    }

    /// Reads a value through the read-only cache (`ld.global.nc`): nothing may write it while the kernel runs. The address is a global
    /// one.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn load_invariant(&self, ty: Type<'c>, address: Value<'c>, align: u32) -> Result<Value<'c>, Error> {
        let value = self.load(ty, address, align, false)?;
        if let Some(instruction) = value.as_instruction_value() {
            let kind = self.module.context.get_kind_id("invariant.load");
            let empty = self.module.context.metadata_node(&[]);
            instruction.set_metadata(empty, kind).map_err(|e| Error::Shape(e.to_string()))?;
        }
        Ok(value)
    }

    /// Writes a value.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn store(&self, value: Value<'c>, address: Value<'c>, align: u32, volatile: bool) -> Result<(), Error> {
        let instruction = self.builder.build_store(pointer(address)?, value)?;
        self.access(Some(instruction), align, volatile)
    }

    fn access(&self, instruction: Option<InstructionValue<'c>>, align: u32, volatile: bool) -> Result<(), Error> {
        let Some(instruction) = instruction else { return Ok(()) };
        instruction.set_alignment(align.max(1)).map_err(|e| Error::Shape(e.to_string()))?;
        if volatile {
            instruction.set_volatile(true).map_err(|e| Error::Shape(e.to_string()))?;
        }
        Ok(())
    }

    /// The value, or any one value where it is undefined because nothing was written where it was read: LLVM draws no conclusions from it.
    pub fn freeze(&self, value: Value<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block, as every caller's instructions do, and the value is of its context.
        unsafe { Value::new(LLVMBuildFreeze(self.builder.as_mut_ptr(), value.as_value_ref(), c"".as_ptr())) }
    }

    /// Copies bytes. The places are the same or do not overlap.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn copy(&self, to: Value<'c>, to_align: u32, from: Value<'c>, from_align: u32, size: u64) -> Result<(), Error> {
        for (at, bytes) in pieces(size) {
            let (to, from) = (self.offset(to, at)?, self.offset(from, at)?);
            let bytes = self.module.size_type().const_int(bytes, false);
            // LLVM allows it where a value is assigned to itself; without optimisation it drops moves of more than 128 bytes
            self.builder
                .build_memcpy(pointer(to)?, align_at(to_align, at), pointer(from)?, align_at(from_align, at), bytes)
                .map_err(|e| Error::Shape(e.to_string()))?;
        }
        Ok(())
    }

    /// Copies a constant's bytes. In one piece, so that LLVM sees where nobody writes the copy and reads the constant itself.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn copy_constant(
        &self,
        to: Value<'c>,
        to_align: u32,
        from: Value<'c>,
        from_align: u32,
        size: u64,
    ) -> Result<(), Error> {
        let bytes = self.module.size_type().const_int(size, false);
        self.builder
            .build_memcpy(pointer(to)?, to_align, pointer(from)?, from_align, bytes)
            .map(|_| ())
            .map_err(|e| Error::Shape(e.to_string()))
    }

    /// Sets bytes to zero.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn clear(&self, to: Value<'c>, align: u32, size: u64) -> Result<(), Error> {
        let zero = self.module.context.i8_type().const_zero();
        for (at, bytes) in pieces(size) {
            let to = pointer(self.offset(to, at)?)?;
            let bytes = self.module.size_type().const_int(bytes, false);
            self.builder.build_memset(to, align_at(align, at), zero, bytes).map_err(|e| Error::Shape(e.to_string()))?;
        }
        Ok(())
    }

    /// `address + bytes`
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn offset(&self, address: Value<'c>, bytes: u64) -> Result<Value<'c>, Error> {
        if bytes == 0 {
            return Ok(address);
        }
        let index = self.module.size_type().const_int(bytes, false);
        // SAFETY: LLVM crashes only for an index that does not fit the type; this one steps over bytes.
        Ok(unsafe { self.builder.build_gep(self.module.context.i8_type(), pointer(address)?, &[index], "")? }.into())
    }

    /// `address + index * stride` in bytes; the index is as wide as an address, and may be negative.
    ///
    /// # Errors
    /// [`Error::Shape`] for no address or no integer.
    pub fn index(&self, address: Value<'c>, index: Value<'c>, stride: u64) -> Result<Value<'c>, Error> {
        let (address, index) = (pointer(address)?, int(index)?);
        let context = self.module.context;
        let element: Type<'c> = match stride {
            1 => context.i8_type().into(),
            2 => context.i16_type().into(),
            4 => context.i32_type().into(),
            8 => context.i64_type().into(),
            _ => self.module.bytes(stride)?,
        };
        // SAFETY: LLVM crashes only for an index that does not fit the type; this one steps over whole elements.
        Ok(unsafe { self.builder.build_gep(element, address, &[index], "")? }.into())
    }

    /// An element of a vector, array or structure value.
    ///
    /// # Errors
    /// [`Error::Shape`] for another value, or an index out of range.
    pub fn extract(&self, value: Value<'c>, index: u32) -> Result<Value<'c>, Error> {
        match value {
            Value::VectorValue(v) if index < v.get_type().get_size() => Ok(self.builder.build_extract_element(
                v,
                self.module.context.i32_type().const_int(u64::from(index), false),
                "",
            )?),
            Value::ArrayValue(v) => Ok(self.builder.build_extract_value(v, index, "")?),
            Value::StructValue(v) => Ok(self.builder.build_extract_value(v, index, "")?),
            _ => shape("an element of no aggregate"),
        }
    }

    /// The value with an element replaced.
    ///
    /// # Errors
    /// [`Error::Shape`] for no aggregate, or an index out of range.
    pub fn insert(&self, value: Value<'c>, element: Value<'c>, index: u32) -> Result<Value<'c>, Error> {
        match value {
            Value::VectorValue(v) if index < v.get_type().get_size() => {
                let place = self.module.context.i32_type().const_int(u64::from(index), false);
                Ok(self.builder.build_insert_element(v, element, place, "")?.into())
            }
            Value::ArrayValue(v) => Ok(self.builder.build_insert_value(v, element, index, "")?.as_basic_value_enum()),
            Value::StructValue(v) => Ok(self.builder.build_insert_value(v, element, index, "")?.as_basic_value_enum()),
            _ => shape("an element of no aggregate"),
        }
    }
}

/// What LLVM copies or sets without a loop, in bytes. Its loop goes byte by byte.
const PIECE: u64 = 64;

/// From here on a loop is shorter than the stores.
const UNROLLED: u64 = 2048;

/// First byte and bytes of the pieces that a copy is made of.
fn pieces(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let piece = if size <= UNROLLED { PIECE } else { size };
    // a copy of nothing is kept: LLVM drops it
    let count = size.div_ceil(piece.max(1)).max(1);
    (0..count).map(move |i| (i * piece, piece.min(size - i * piece)))
}

/// What an address `at` bytes behind one aligned to `align` is aligned to.
fn align_at(align: u32, at: u64) -> u32 {
    let low = u32::try_from(at & at.wrapping_neg()).unwrap_or(u32::MAX);
    if low == 0 { align.max(1) } else { align.max(1).min(low) }
}
