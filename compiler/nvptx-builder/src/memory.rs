//! Loads, stores, addresses, parts of values.

#![allow(unsafe_code, reason = "LLVM's address arithmetic is unchecked; inkwell has no freeze")]

use crate::atomic::Scope;
use crate::body::{int, pointer};
use crate::error::shape;
use crate::{Body, Error, Type, Value};
use inkwell::AtomicOrdering;
use inkwell::llvm_sys::core::{LLVMBuildFreeze, LLVMSetAtomicSyncScopeID};
use inkwell::types::IntType;
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

    /// Reads an integer that other threads of the device change meanwhile (`ld.relaxed.gpu`).
    ///
    /// # Errors
    /// [`Error::Shape`] for no address.
    pub fn load_relaxed(&self, ty: Type<'c>, address: Value<'c>, align: u32) -> Result<Value<'c>, Error> {
        let value = self.load(ty, address, align, false)?;
        if let Some(instruction) = value.as_instruction_value() {
            instruction.set_atomic_ordering(AtomicOrdering::Monotonic).map_err(|e| Error::Shape(e.to_string()))?;
            // SAFETY: the instruction was just made, and is an atomic load.
            unsafe { LLVMSetAtomicSyncScopeID(instruction.as_value_ref(), self.scope_id(Scope::Device)) };
        }
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

    /// Reads a value through a cache operator (`ld.global.cg`), every time and in order. The address is a global one, aligned to the whole
    /// value.
    ///
    /// # Errors
    /// [`Error::Shape`] for a type that registers do not hold, more than 4 lanes, or no address.
    pub fn load_hinted(&self, operator: &str, ty: Type<'c>, address: Value<'c>) -> Result<Value<'c>, Error> {
        let hinted = self.hinted(ty)?;
        let result = match hinted.lanes {
            1 => hinted.register,
            lanes => self.module.context.struct_type(&vec![hinted.register; lanes as usize], false).into(),
        };
        let outputs: Vec<String> = (0..hinted.lanes).map(|lane| format!("${lane}")).collect();
        let text = format!("ld.global.{operator}{} {}, [${}];", hinted.suffix(), braced(&outputs), hinted.lanes);
        let constraints = format!(
            "{}{},~{{memory}}",
            format!("={},", hinted.constraint).repeat(hinted.lanes as usize),
            self.address_constraint()
        );
        let read = self.assembly(&text, &constraints, result, &[address])?;
        if hinted.lanes == 1 {
            return self.out_of_register(read, hinted.element);
        }
        let mut vector = self.module.zero(ty);
        for lane in 0..hinted.lanes {
            let element = self.out_of_register(self.extract(read, lane)?, hinted.element)?;
            vector = self.insert(vector, element, lane)?;
        }
        Ok(vector)
    }

    /// Writes a value through a cache operator (`st.global.cg`), every time and in order. The address is a global one, aligned to the whole
    /// value.
    ///
    /// # Errors
    /// [`Error::Shape`] for a type that registers do not hold, more than 4 lanes, or no address.
    pub fn store_hinted(&self, operator: &str, value: Value<'c>, address: Value<'c>) -> Result<(), Error> {
        let hinted = self.hinted(value.get_type())?;
        let mut args = vec![address];
        for lane in 0..hinted.lanes {
            let element = if hinted.lanes == 1 { value } else { self.extract(value, lane)? };
            args.push(self.in_register(element, hinted.register)?);
        }
        let inputs: Vec<String> = (1..=hinted.lanes).map(|lane| format!("${lane}")).collect();
        let text = format!("st.global.{operator}{} [$0], {};", hinted.suffix(), braced(&inputs));
        let constraints = format!(
            "{}{},~{{memory}}",
            self.address_constraint(),
            format!(",{}", hinted.constraint).repeat(hinted.lanes as usize)
        );
        self.assembly_effect(&text, &constraints, &args)
    }

    fn hinted(&self, ty: Type<'c>) -> Result<Hinted<'c>, Error> {
        let (element, lanes) = match ty {
            Type::VectorType(vector) => (vector.get_element_type(), vector.get_size()),
            ty => (ty, 1),
        };
        let context = self.module.context;
        let (bits, register, constraint): (u32, Type<'c>, &str) = match element {
            Type::IntType(int) => match int.get_bit_width() {
                // PTX has no registers of 8 bits
                bits @ (8 | 16) => (bits, context.i16_type().into(), "h"),
                32 => (32, element, "r"),
                64 => (64, element, "l"),
                _ => return shape("a cache hint for no power of two"),
            },
            Type::FloatType(float) => match float.get_bit_width() {
                16 => (16, context.i16_type().into(), "h"),
                32 => (32, element, "f"),
                _ => (64, element, "d"),
            },
            _ => return shape("a cache hint for no number"),
        };
        Ok(Hinted { element, lanes, bits, register, constraint })
    }

    const fn address_constraint(&self) -> &'static str {
        if self.module.options.width.bits() == 32 { "r" } else { "l" }
    }

    /// An element as the register that holds it.
    fn in_register(&self, element: Value<'c>, register: Type<'c>) -> Result<Value<'c>, Error> {
        match element {
            Value::IntValue(_) if element.get_type() != register => self.int_cast(element, register_int(register)?, false),
            _ => self.bits_as(element, register),
        }
    }

    fn out_of_register(&self, value: Value<'c>, element: Type<'c>) -> Result<Value<'c>, Error> {
        match element {
            Type::IntType(int) if value.get_type() != element => self.int_cast(value, int, false),
            _ => self.bits_as(value, element),
        }
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

/// How a value goes through inline assembly.
struct Hinted<'c> {
    element: Type<'c>,
    lanes: u32,
    /// Of an element in memory.
    bits: u32,
    /// What holds an element.
    register: Type<'c>,
    /// LLVM's letter for it.
    constraint: &'static str,
}

impl Hinted<'_> {
    /// `.b32`, `.v2.b32`
    fn suffix(&self) -> String {
        let lanes = if self.lanes == 1 { String::new() } else { format!(".v{}", self.lanes) };
        format!("{lanes}.b{}", self.bits)
    }
}

/// `$0`, or `{$0, $1}`
fn braced(operands: &[String]) -> String {
    match operands {
        [one] => one.clone(),
        more => format!("{{{}}}", more.join(", ")),
    }
}

fn register_int(register: Type<'_>) -> Result<IntType<'_>, Error> {
    IntType::try_from(register).map_err(|()| Error::Shape("a register of no integer".to_owned()))
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
