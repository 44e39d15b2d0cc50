//! Calls of functions and of the device runtime.

use crate::Error;
use crate::function::Emit;
use crate::module::ResultWay;
use crate::types::{Class, Repr};
use cdp_core::builtins::{RuntimeFn, RuntimeParam, Side};
use cdp_core::ir::{FunctionId, LocalId, Operand};
use cdp_core::source::Span;
use cdp_core::types::{TypeId, TypeTable};
use nvptx_builder::{DIM3_ALIGN, DIM3_LANES, Space, Type, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// `dst = function(args)`
    pub fn call(&mut self, dst: Option<LocalId>, function: FunctionId, args: &[Operand], span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        let declared = emitter.function(function, span)?;
        let Some(callee) = emitter.ir.function(function) else {
            return emitter.malformed("a function that does not exist", span);
        };
        let ty = callee.return_type;
        let mut values = Vec::with_capacity(args.len() + 1);
        let result = match declared.result {
            ResultWay::Memory => {
                // never the variable itself: the function may read it while it writes the result
                let slot = self.slot(ty, "", span)?;
                values.push(slot.pointer);
                Some(slot)
            }
            _ => None,
        };
        for (arg, param) in args.iter().zip(callee.param_types()) {
            match emitter.repr(param, span)? {
                Repr::Nothing => {}
                Repr::Memory => values.push(self.memory(arg, span)?.pointer),
                Repr::Vector { .. } if declared.foreign => values.push(self.in_memory(arg, span)?.pointer),
                Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                    values.push(self.passed_param(self.value(arg, span)?, param)?)
                }
            }
        }
        let value = self.body.call(declared.function, &values)?;
        let Some(dst) = dst else { return Ok(()) };
        match (declared.result, value, result) {
            (ResultWay::Nothing, ..) => Ok(()),
            (ResultWay::Register, Some(value), _) => {
                let value = self.arrived_param(value, ty, span)?;
                self.set(dst, value, span)
            }
            (ResultWay::Memory, _, Some(slot)) => {
                let to = self.local_slot(dst, span)?;
                self.copy(to, slot, ty, cdp_core::ir::Access::Plain, span)
            }
            (ResultWay::Bytes { element, count }, Some(value), _) => self.unpack(dst, ty, value, element, count, span),
            _ => emitter.malformed("a call without a result", span),
        }
    }

    /// A result that came back as bytes.
    fn unpack(
        &mut self,
        dst: LocalId,
        ty: TypeId,
        value: Value<'c>,
        element: u32,
        count: u32,
        span: Span,
    ) -> Result<(), Error> {
        let memory = self.emitter.repr(ty, span)? == Repr::Memory;
        let to = if memory { self.local_slot(dst, span)? } else { self.slot(ty, "", span)? };
        for index in 0..count {
            let at = self.at_offset(to, u64::from(index * element))?;
            self.body.store(self.body.extract(value, index)?, at.pointer, at.align, false)?;
        }
        if memory {
            return Ok(());
        }
        let value = self.load(to, ty, cdp_core::ir::Access::Plain, span)?;
        self.set(dst, value, span)
    }

    /// A call of the device runtime or of the driver.
    pub fn runtime(&mut self, dst: Option<LocalId>, call: RuntimeFn, args: &[Operand], span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        if call.side() == Side::Host {
            return emitter.malformed(format!("`{}` in device code", call.name()), span);
        }
        let mut values = Vec::with_capacity(args.len());
        for (arg, param) in args.iter().zip(call.params()) {
            // instructions take values as they are
            let plain = call.is_inline() && matches!(param, RuntimeParam::Value(_));
            values.push(if plain { self.value(arg, span)? } else { self.runtime_argument(arg, *param, span)? });
        }
        if call.is_inline() {
            return self.instructions(dst, call, &values, span);
        }
        let result = if call.result() == TypeTable::VOID { None } else { Some(emitter.register_type(call.result(), span)?) };
        let types: Vec<Type<'c>> = values.iter().map(Value::get_type).collect();
        let function = emitter.builder.external(&call.symbol(emitter.options.cdp), result, &types)?;
        match (self.body.call(function, &values)?, dst) {
            (Some(value), Some(dst)) => {
                let value = match emitter.class(self.ir.local_type(dst)) {
                    Class::Pointer => self.body.address_cast(value, emitter.pointer_space(self.ir.local_type(dst)))?,
                    _ => value,
                };
                self.set(dst, value, span)
            }
            (None, Some(_)) => emitter.malformed(format!("a result of `{}`", call.name()), span),
            (_, None) => Ok(()),
        }
    }

    /// What is no call, but instructions.
    fn instructions(&mut self, dst: Option<LocalId>, call: RuntimeFn, args: &[Value<'c>], span: Span) -> Result<(), Error> {
        let builder = self.emitter.builder;
        let bit = |value: u64| builder.int(1).map(|ty| builder.const_int(ty, value));
        match (call, args) {
            (RuntimeFn::Nanosleep, [time]) => self.body.intrinsic("llvm.nvvm.nanosleep", &[], &[*time])?,
            // the end of the block follows, which traps
            (RuntimeFn::Trap, []) => None,
            (RuntimeFn::Assume, [condition]) => self.body.intrinsic("llvm.assume", &[], &[*condition])?,
            (RuntimeFn::Unreachable, []) => self.body.intrinsic("llvm.assume", &[], &[bit(0)?])?,
            (RuntimeFn::MemoryCopy | RuntimeFn::MemoryMove, [to, from, size]) => {
                let name = if call == RuntimeFn::MemoryCopy { "llvm.memcpy" } else { "llvm.memmove" };
                let types = [to.get_type(), from.get_type(), size.get_type()];
                self.body.intrinsic(name, &types, &[*to, *from, *size, bit(0)?])?
            }
            (RuntimeFn::MemorySet, [to, value, size]) => {
                let byte = self.body.int_cast(*value, builder.int(8)?, false)?;
                self.body.intrinsic("llvm.memset", &[to.get_type(), size.get_type()], &[*to, byte, *size, bit(0)?])?
            }
            _ => return self.emitter.malformed(format!("operands of `{}`", call.name()), span),
        };
        match (dst, args.first()) {
            (Some(dst), Some(to)) => self.set(dst, *to, span),
            _ => Ok(()),
        }
    }

    fn runtime_argument(&self, arg: &Operand, param: RuntimeParam, span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        match param {
            RuntimeParam::Value(ty) => self.passed_param(self.value(arg, span)?, ty),
            RuntimeParam::Flags(kind) => self.passed_param(self.value(arg, span)?, kind.ty()),
            RuntimeParam::Out(_)
            | RuntimeParam::OutPointer
            | RuntimeParam::Address
            | RuntimeParam::ConstAddress
            | RuntimeParam::Memory
            | RuntimeParam::ConstMemory
            | RuntimeParam::InStruct(_)
            | RuntimeParam::OutStruct(_) => Ok(self.body.address_cast(self.value(arg, span)?, Space::Generic)?),
            RuntimeParam::Size => Ok(self.body.int_cast(self.value(arg, span)?, builder.size_type(), false)?),
            RuntimeParam::Dim3 => {
                let from = self.memory(arg, span)?;
                let mut value = builder.zero(builder.dim3());
                for lane in 0..DIM3_LANES {
                    let at = self.at_offset(from, u64::from(lane * DIM3_ALIGN))?;
                    let part = self.body.load(builder.int(32)?.into(), at.pointer, at.align, false)?;
                    value = self.body.insert(value, part, lane)?;
                }
                Ok(value)
            }
            RuntimeParam::Kernel => self.value(arg, span),
            // the one call with such a parameter is a launch by now
            RuntimeParam::Struct(_) | RuntimeParam::Description(_) => {
                self.emitter.malformed("a structure of the runtime by value", span)
            }
        }
    }
}
