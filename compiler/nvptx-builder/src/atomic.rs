//! Atomics with scopes.
//!
//! LLVM 22 prints `atomicrmw` without a scope, which PTX reads as the device's; so the operations of the block and of the system are
//! written out as PTX where PTX has them. LLVM's loops around compare-and-swap, for what PTX has not, do keep the scope.

#![allow(unsafe_code, reason = "inkwell has no scopes, and atomics of integers only")]

use crate::body::pointer;
use crate::error::shape;
use crate::{Body, Compare, Error, IntOp, Space, Type, Value};
use inkwell::AtomicOrdering;
use inkwell::AtomicRMWBinOp as Rmw;
use inkwell::llvm_sys::core::{LLVMBuildAtomicRMW, LLVMGetSyncScopeID, LLVMSetAtomicSyncScopeID};
use inkwell::values::{AsValueRef, BasicValue};

/// Who sees an atomic operation in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `.cta`
    Block,
    /// `.gpu`
    Device,
    /// `.sys`
    System,
}

/// Read-modify-write operations; each gives the old value.
#[allow(missing_docs, reason = "the names are PTX's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    Add,
    Sub,
    Exchange,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    /// `old >= v ? 0 : old + 1`
    Increment,
    /// `old == 0 || old > v ? v : old - 1`
    Decrement,
    /// Of floats.
    FloatAdd,
    /// Of floats.
    FloatMin,
    /// Of floats.
    FloatMax,
}

impl Scope {
    const fn llvm(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Device => "device",
            Self::System => "",
        }
    }

    const fn ptx(self) -> &'static str {
        match self {
            Self::Block => "cta",
            Self::Device => "gpu",
            Self::System => "sys",
        }
    }
}

impl<'c> Body<'_, 'c> {
    /// An atomic operation, relaxed; gives the old value. The address lies in the generic, global or shared space.
    ///
    /// # Errors
    /// [`Error::Shape`] when operand and operation do not fit.
    pub fn atomic(&self, op: AtomicOp, scope: Scope, address: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let ty = value.get_type();
        if op == AtomicOp::Sub {
            // PTX adds the negative
            let negative = self.int_op(IntOp::Sub, self.module.zero(ty), value)?;
            return self.atomic(AtomicOp::Add, scope, address, negative);
        }
        let space = self.space_of(address)?;
        // the block is all that sees shared memory
        let plain = scope == Scope::Device || space == Space::Shared;
        let pair = matches!(ty, Type::VectorType(_));
        if !plain || pair {
            let scope = if space == Space::Shared { Scope::Block } else { scope };
            if let Some((suffix, register)) = ptx_form(op, ty, self.module.options.target.capability()) {
                return self.atomic_ptx(suffix, register, scope, space, address, value);
            }
        }
        self.atomic_llvm(op, scope, address, value)
    }

    /// The same as a loop around compare-and-swap, for memory where the device lacks the operation. Integers: minima, maxima and bits; pairs of
    /// floats: sums.
    ///
    /// # Errors
    /// [`Error::Shape`] when operand and operation do not fit.
    pub fn atomic_by_swap(&self, op: AtomicOp, scope: Scope, address: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let ty = value.get_type();
        let width = match ty {
            Type::IntType(int) => int.get_bit_width(),
            Type::VectorType(_) => 32,
            _ => return shape("a loop for an atomic operation on a single float"),
        };
        let bits = self.module.int(width)?;
        let bytes = width / 8;
        let guess = self.variable(bits.into(), bytes, "")?;
        self.store(self.load(bits.into(), address, bytes, true)?, guess, bytes, false)?;
        let (again, done) = (self.block("swap"), self.block("swapped"));
        self.jump(again)?;
        self.switch_to(again);
        let old = self.load(bits.into(), guess, bytes, false)?;
        let new = self.combined(op, self.bits_as(old, ty)?, value)?;
        let found = self.compare_and_swap(scope, address, old, self.bits_as(new, bits.into())?)?;
        self.store(found, guess, bytes, false)?;
        self.branch(self.compare(Compare::Equal, found, old)?, done, again)?;
        self.switch_to(done);
        self.bits_as(found, ty)
    }

    /// What an atomic operation writes.
    fn combined(&self, op: AtomicOp, old: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let chosen = |keeps: Compare| self.select(self.compare(keeps, old, value)?, old, value);
        match op {
            AtomicOp::And => self.int_op(IntOp::And, old, value),
            AtomicOp::Or => self.int_op(IntOp::Or, old, value),
            AtomicOp::Xor => self.int_op(IntOp::Xor, old, value),
            AtomicOp::MinSigned => chosen(Compare::LessSigned),
            AtomicOp::MaxSigned => chosen(Compare::GreaterSigned),
            AtomicOp::MinUnsigned => chosen(Compare::LessUnsigned),
            AtomicOp::MaxUnsigned => chosen(Compare::GreaterUnsigned),
            AtomicOp::FloatAdd => self.float_add(old, value),
            _ => shape(format!("a loop for the atomic operation {op:?}")),
        }
    }

    fn atomic_llvm(&self, op: AtomicOp, scope: Scope, address: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let op = match op {
            AtomicOp::Add => Rmw::Add,
            AtomicOp::Sub => Rmw::Sub,
            AtomicOp::Exchange => Rmw::Xchg,
            AtomicOp::MinSigned => Rmw::Min,
            AtomicOp::MaxSigned => Rmw::Max,
            AtomicOp::MinUnsigned => Rmw::UMin,
            AtomicOp::MaxUnsigned => Rmw::UMax,
            AtomicOp::And => Rmw::And,
            AtomicOp::Or => Rmw::Or,
            AtomicOp::Xor => Rmw::Xor,
            AtomicOp::Increment => Rmw::UIncWrap,
            AtomicOp::Decrement => Rmw::UDecWrap,
            AtomicOp::FloatAdd => Rmw::FAdd,
            AtomicOp::FloatMin => Rmw::FMin,
            AtomicOp::FloatMax => Rmw::FMax,
        };
        let address = pointer(address)?;
        // SAFETY: the builder stands in a block, as every caller's instructions do, and both values are of its context.
        let old = unsafe {
            let instruction = LLVMBuildAtomicRMW(
                self.builder.as_mut_ptr(),
                op.into(),
                address.as_value_ref(),
                value.as_value_ref(),
                AtomicOrdering::Monotonic.into(),
                0,
            );
            LLVMSetAtomicSyncScopeID(instruction, self.scope_id(scope));
            Value::new(instruction)
        };
        Ok(old)
    }

    fn atomic_ptx(
        &self,
        suffix: &str,
        register: &str,
        scope: Scope,
        space: Space,
        address: Value<'c>,
        value: Value<'c>,
    ) -> Result<Value<'c>, Error> {
        let space = match space {
            Space::Global => ".global",
            Space::Shared => ".shared",
            _ => "",
        };
        let text = format!("atom{space}.{}.{suffix} $0, [$1], $2;", scope.ptx());
        let constraints = format!("={register},{},{register},~{{memory}}", self.address_register());
        let bits: Type<'c> = match register {
            "h" => self.module.int(16)?.into(),
            "r" => self.module.int(32)?.into(),
            "l" => self.module.int(64)?.into(),
            _ => value.get_type(),
        };
        let operand = self.bits_as(value, bits)?;
        let old = self.assembly(&text, &constraints, bits, &[address, operand])?;
        self.bits_as(old, value.get_type())
    }

    /// Compare-and-swap of integers, relaxed; gives the old value.
    ///
    /// # Errors
    /// [`Error::Shape`] for other types.
    pub fn compare_and_swap(
        &self,
        scope: Scope,
        address: Value<'c>,
        compare: Value<'c>,
        value: Value<'c>,
    ) -> Result<Value<'c>, Error> {
        let relaxed = AtomicOrdering::Monotonic;
        let pair = self.builder.build_cmpxchg(pointer(address)?, compare, value, relaxed, relaxed)?;
        if let Some(instruction) = pair.as_instruction_value() {
            // SAFETY: the instruction was just made, and is a cmpxchg.
            unsafe { LLVMSetAtomicSyncScopeID(instruction.as_value_ref(), self.scope_id(scope)) };
        }
        self.extract(pair.into(), 0)
    }

    pub(crate) fn scope_id(&self, scope: Scope) -> u32 {
        let name = scope.llvm();
        // SAFETY: the context lives, and the name is passed with its length.
        unsafe { LLVMGetSyncScopeID(self.module.context.raw(), name.as_ptr().cast(), name.len()) }
    }

    const fn address_register(&self) -> &'static str {
        match self.module.options.width {
            crate::AddressWidth::W32 => "r",
            crate::AddressWidth::W64 => "l",
        }
    }

    fn space_of(&self, address: Value<'c>) -> Result<Space, Error> {
        let ty = pointer(address)?.get_type();
        [Space::Generic, Space::Global, Space::Shared]
            .into_iter()
            .find(|space| self.module.pointer(*space) == ty)
            .map_or_else(|| shape("an atomic operation outside generic, global and shared memory"), Ok)
    }
}

/// PTX's operation with its type, and the constraint of the register that holds it (PTX ISA, "atom").
fn ptx_form(op: AtomicOp, ty: Type<'_>, capability: u32) -> Option<(&'static str, &'static str)> {
    Some(match ty {
        Type::IntType(int) => match (op, int.get_bit_width()) {
            (AtomicOp::Add, 32) => ("add.u32", "r"),
            (AtomicOp::Add, 64) => ("add.u64", "l"),
            (AtomicOp::Exchange, 32) => ("exch.b32", "r"),
            (AtomicOp::Exchange, 64) => ("exch.b64", "l"),
            (AtomicOp::MinSigned, 32) => ("min.s32", "r"),
            (AtomicOp::MinSigned, 64) => ("min.s64", "l"),
            (AtomicOp::MaxSigned, 32) => ("max.s32", "r"),
            (AtomicOp::MaxSigned, 64) => ("max.s64", "l"),
            (AtomicOp::MinUnsigned, 32) => ("min.u32", "r"),
            (AtomicOp::MinUnsigned, 64) => ("min.u64", "l"),
            (AtomicOp::MaxUnsigned, 32) => ("max.u32", "r"),
            (AtomicOp::MaxUnsigned, 64) => ("max.u64", "l"),
            (AtomicOp::And, 32) => ("and.b32", "r"),
            (AtomicOp::And, 64) => ("and.b64", "l"),
            (AtomicOp::Or, 32) => ("or.b32", "r"),
            (AtomicOp::Or, 64) => ("or.b64", "l"),
            (AtomicOp::Xor, 32) => ("xor.b32", "r"),
            (AtomicOp::Xor, 64) => ("xor.b64", "l"),
            (AtomicOp::Increment, 32) => ("inc.u32", "r"),
            (AtomicOp::Decrement, 32) => ("dec.u32", "r"),
            _ => return None,
        },
        Type::FloatType(float) => match (op, float.get_bit_width()) {
            (AtomicOp::FloatAdd, 32) => ("add.f32", "f"),
            (AtomicOp::FloatAdd, 64) => ("add.f64", "d"),
            _ => return None,
        },
        Type::VectorType(vector) if vector.get_size() == 2 => match (op, vector.get_element_type()) {
            (AtomicOp::FloatAdd, Type::FloatType(half)) if half == half.get_context().f16_type() => ("add.noftz.f16x2", "r"),
            (AtomicOp::FloatAdd, Type::FloatType(half)) if half == half.get_context().bf16_type() && capability >= 90 => {
                ("add.noftz.bf16x2", "r")
            }
            _ => return None,
        },
        _ => return None,
    })
}
