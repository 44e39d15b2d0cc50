//! One function's blocks, statements and terminators.

use crate::Error;
use crate::module::{Declared, Emitter, ResultWay};
use crate::place::Address;
use crate::reach;
use crate::storage::{self, Registers, Storage};
use crate::types::{Class, Repr};
use cdp_core::ir::{Access, BlockId, Const, Function, LocalId, Operand, PlaceBase, Rvalue, StatementKind, TerminatorKind};
use cdp_core::source::Span;
use cdp_core::types::TypeId;
use nvptx_builder::{Block, Body, DebugScope, Type, Value};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Frame slots up to this size start as zero, in bytes, unless they are only assigned as a whole: so that what was never written is
/// nothing that LLVM may draw conclusions from. Where it was written before it is read, LLVM drops the zeros. Larger ones start as zero
/// when a pointer to them is held, and what is read from the others is frozen.
const CLEARED: u64 = 64;

/// One function on its way from IR to LLVM.
pub struct Emit<'e, 'm, 'c> {
    /// The module's.
    pub emitter: &'e Emitter<'m, 'c>,
    /// Where instructions go.
    pub body: Body<'m, 'c>,
    /// Where they come from.
    pub ir: &'e Function,
    declared: &'e Declared<'c>,
    slots: HashMap<LocalId, Address<'c>>,
    registers: Registers<'c>,
    blocks: HashMap<BlockId, Block<'c>>,
    scope: Option<DebugScope<'c>>,
    /// Something in the frame may be read before it is written.
    frozen: bool,
    /// Those in the frame that are written in part.
    written: HashSet<LocalId>,
    /// The buffer that `printf` passes its arguments in.
    pub(crate) print_buffer: Option<Value<'c>>,
}

impl<'m, 'c> Emitter<'m, 'c> {
    /// Gives a declared function its body.
    pub fn define_function(&self, ir: &Function, declared: &Declared<'c>) -> Result<(), Error> {
        let body = self.builder.body(declared.function);
        let scope = self.debug_file(ir.span.file).and_then(|file| {
            let line = self.sources.line_column(ir.span).line;
            self.builder.debug_function(declared.function, &ir.name, file, line)
        });
        let mut emit = Emit {
            emitter: self,
            body,
            ir,
            declared,
            slots: HashMap::new(),
            registers: Registers::new(),
            blocks: HashMap::new(),
            scope,
            frozen: false,
            written: HashSet::new(),
            print_buffer: None,
        };
        emit.locate(ir.span);
        emit.locals()?;
        let reached = reach::blocks(ir);
        for id in &reached {
            let block = emit.body.block(&format!("b{}", id.0));
            emit.blocks.insert(*id, block);
        }
        let entry = emit.block(BlockId(0), ir.span)?;
        emit.body.enter(entry)?;
        for id in &reached {
            let (Some(block), Some(source)) = (emit.blocks.get(id), ir.blocks.get(id.index())) else { continue };
            emit.body.switch_to(*block);
            for statement in &source.statements {
                emit.locate(statement.span);
                emit.statement(&statement.kind, statement.span)?;
            }
            emit.locate(source.terminator.span);
            emit.terminator(*id, &source.terminator.kind, source.terminator.span, &reached)?;
        }
        Ok(())
    }
}

impl<'c> Emit<'_, '_, 'c> {
    /// Instructions from now on come from this place.
    fn locate(&self, span: Span) {
        if let Some(scope) = self.scope {
            let at = self.emitter.sources.line_column(span);
            self.body.set_location(scope, at.line, at.column);
        }
    }

    fn block(&self, id: BlockId, span: Span) -> Result<Block<'c>, Error> {
        self.blocks.get(&id).map_or_else(|| self.emitter.malformed("a block that cannot be reached", span), |block| Ok(*block))
    }

    /// Makes the slots, and puts the parameters where they belong.
    fn locals(&mut self) -> Result<(), Error> {
        let plan = storage::plan(self.emitter.ir, self.ir);
        let mut argument = u32::from(self.declared.result == ResultWay::Memory);
        for (index, (local, storage)) in (0u32..).zip(self.ir.locals.iter().zip(plan)) {
            let id = LocalId(index);
            let repr = self.emitter.repr(local.ty, local.span)?;
            if repr == Repr::Nothing {
                continue;
            }
            let layout = self.emitter.layout(local.ty);
            let is_param = index < self.ir.param_count;
            let incoming = if is_param {
                let value = self.body.param(argument)?;
                argument += 1;
                Some(value)
            } else {
                None
            };
            // a parameter passed as bytes is its own slot, unless the slot must be aligned more than the parameter is (R32)
            let by_bytes = repr == Repr::Memory || (matches!(repr, Repr::Vector { .. }) && self.declared.foreign);
            if let (Some(pointer), true) = (incoming, by_bytes) {
                let align = if self.ir.is_kernel() { reach::param_align(layout.align) } else { layout.align };
                let arrived = Address { pointer, align };
                match storage {
                    Storage::Register => {
                        let value = self.load(arrived, local.ty, Access::Plain, local.span)?;
                        self.registers.insert(id, value);
                    }
                    Storage::Frame { .. } if align == layout.align => drop(self.slots.insert(id, arrived)),
                    Storage::Frame { .. } => {
                        let slot = self.slot(local.ty, &local.name, local.span)?;
                        self.body.copy(slot.pointer, slot.align, pointer, align, layout.size)?;
                        self.slots.insert(id, slot);
                    }
                }
                continue;
            }
            let incoming = match incoming {
                Some(value) => Some(self.arrived_param(value, local.ty, local.span)?),
                None => None,
            };
            match (storage, incoming) {
                (Storage::Register, Some(value)) => drop(self.registers.insert(id, value)),
                (Storage::Register, None) => {}
                (Storage::Frame { escapes, placed, written }, incoming) => {
                    if written {
                        self.written.insert(id);
                    }
                    let slot = self.slot(local.ty, &local.name, local.span)?;
                    self.slots.insert(id, slot);
                    match incoming {
                        Some(value) => self.store(slot, local.ty, value, Access::Plain, local.span)?,
                        None if escapes || (placed && layout.size <= CLEARED) => {
                            self.body.clear(slot.pointer, slot.align, layout.size)?;
                        }
                        None => self.frozen |= placed,
                    }
                }
            }
        }
        Ok(())
    }

    /// A parameter's value as it is held in a register.
    pub(crate) fn arrived_param(&self, value: Value<'c>, ty: TypeId, span: Span) -> Result<Value<'c>, Error> {
        let register = self.emitter.register_type(ty, span)?;
        match (self.emitter.class(ty), value.get_type()) {
            (Class::Bool, _) => self.is_not_zero(value),
            (Class::Float(_), Type::IntType(_)) => Ok(self.body.bits_as(value, register)?),
            _ => Ok(value),
        }
    }

    /// A slot in the frame for a value of this type.
    pub(crate) fn slot(&self, ty: TypeId, name: &str, span: Span) -> Result<Address<'c>, Error> {
        let layout = self.emitter.layout(ty);
        let held = match self.emitter.repr(ty, span)? {
            Repr::Bool => self.emitter.builder.int(8)?.into(),
            Repr::Scalar(ty) => ty,
            Repr::Vector { element, lanes, .. } if lanes != 3 => self.emitter.builder.vector(element, lanes)?,
            Repr::Nothing | Repr::Vector { .. } | Repr::Memory => self.emitter.builder.bytes(layout.size.max(1))?,
        };
        Ok(Address { pointer: self.body.variable(held, layout.align, name)?, align: layout.align })
    }

    /// A local's slot.
    pub(crate) fn local_slot(&self, local: LocalId, span: Span) -> Result<Address<'c>, Error> {
        self.slots.get(&local).map_or_else(|| self.emitter.malformed("a place in a register", span), |slot| Ok(*slot))
    }

    /// A value that is held in a register.
    pub(crate) fn value(&self, operand: &Operand, span: Span) -> Result<Value<'c>, Error> {
        match operand {
            Operand::Const(constant) => self.constant(constant, span),
            Operand::Local(local) => match self.registers.get(local) {
                Some(value) => Ok(*value),
                None => match self.slots.get(local) {
                    Some(slot) => self.load(*slot, self.ir.local_type(*local), Access::Plain, span),
                    None => self.emitter.malformed("a local that has no value yet", span),
                },
            },
            Operand::Function(function) => {
                Ok(self.emitter.function(*function, span)?.function.as_global_value().as_pointer_value().into())
            }
        }
    }

    /// Where a value lies that is held in memory; a constant is put there first.
    pub(crate) fn memory(&self, operand: &Operand, span: Span) -> Result<Address<'c>, Error> {
        match operand {
            Operand::Local(local) => self.local_slot(*local, span),
            Operand::Const(Const { ty, value }) => {
                let slot = self.slot(*ty, "", span)?;
                self.store_constant(slot, *ty, value, false, span)?;
                Ok(slot)
            }
            Operand::Function(_) => self.emitter.malformed("a kernel as an aggregate", span),
        }
    }

    /// An operand's type.
    pub(crate) fn type_of(&self, operand: &Operand) -> TypeId {
        self.emitter.ir.operand_type(self.ir, operand)
    }

    /// Sets a local that is held in a register or a slot.
    pub(crate) fn set(&mut self, local: LocalId, value: Value<'c>, span: Span) -> Result<(), Error> {
        match self.slots.get(&local) {
            Some(slot) => self.store(*slot, self.ir.local_type(local), value, Access::Plain, span),
            None => {
                self.registers.insert(local, value);
                Ok(())
            }
        }
    }

    /// Sets a local when there is one.
    pub(crate) fn set_result(&mut self, local: Option<LocalId>, value: Value<'c>, span: Span) -> Result<(), Error> {
        local.map_or(Ok(()), |local| self.set(local, value, span))
    }

    fn statement(&mut self, kind: &StatementKind, span: Span) -> Result<(), Error> {
        match kind {
            StatementKind::Assign { dst, value } => self.assign(*dst, value, span),
            StatementKind::Load { dst, place, access } => {
                let (from, ty) = self.place(place, span)?;
                match self.emitter.repr(ty, span)? {
                    Repr::Nothing => Ok(()),
                    Repr::Memory => {
                        let to = self.local_slot(*dst, span)?;
                        self.copy(to, from, ty, *access, span)
                    }
                    Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                        let value = self.load(from, ty, *access, span)?;
                        let of_frame = self.frozen && matches!(place.base, PlaceBase::Local(_));
                        self.set(*dst, if of_frame { self.body.freeze(value) } else { value }, span)
                    }
                }
            }
            StatementKind::Store { place, value, access } => {
                let (to, ty) = self.place(place, span)?;
                match self.emitter.repr(ty, span)? {
                    Repr::Nothing => Ok(()),
                    Repr::Memory => match value {
                        Operand::Const(constant) if *access == Access::Plain => {
                            self.store_constant(to, ty, &constant.value, true, span)
                        }
                        value => {
                            let from = self.memory(value, span)?;
                            self.copy(to, from, ty, *access, span)
                        }
                    },
                    Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                        let value = self.value(value, span)?;
                        self.store(to, ty, value, *access, span)
                    }
                }
            }
            StatementKind::Call { dst, function, args } => self.call(*dst, *function, args, span),
            StatementKind::Atomic { dst, op, scope, pointer, operands } => {
                self.atomic(*dst, *op, *scope, pointer, operands, span)
            }
            StatementKind::Barrier { dst, op, operand } => self.barrier(*dst, *op, operand.as_ref(), span),
            StatementKind::Fence { scope } => self.fence(*scope, span),
            StatementKind::Deinit { .. } => Ok(()),
            StatementKind::Warp { dst, op, args } => self.warp(*dst, *op, args, span),
            StatementKind::Texture { dst, op, args } => self.texture(*dst, *op, args, span),
            StatementKind::Runtime { dst, call, args } => self.runtime(*dst, *call, args, span),
            StatementKind::Printf { dst, format, args } => self.printf(*dst, format, args, span),
            StatementKind::Assert { condition, text, format, args } => self.assert(condition, text, format, args, span),
            StatementKind::Launch(_) => self.emitter.malformed("a launch that was not lowered", span),
            StatementKind::HostAllocate { .. } => self.emitter.malformed("a host's allocation on the device", span),
        }
    }

    fn assign(&mut self, dst: LocalId, value: &Rvalue, span: Span) -> Result<(), Error> {
        let ty = self.ir.local_type(dst);
        match self.emitter.repr(ty, span)? {
            Repr::Nothing => Ok(()),
            Repr::Memory => {
                let to = self.local_slot(dst, span)?;
                match value {
                    Rvalue::Use(Operand::Const(constant)) => {
                        self.store_constant(to, ty, &constant.value, self.written.contains(&dst), span)
                    }
                    _ => self.assign_memory(to, ty, value, span),
                }
            }
            Repr::Bool | Repr::Scalar(_) | Repr::Vector { .. } => {
                let value = self.rvalue(ty, value, span)?;
                self.set(dst, value, span)
            }
        }
    }

    fn terminator(
        &mut self,
        from: BlockId,
        kind: &TerminatorKind,
        span: Span,
        reached: &BTreeSet<BlockId>,
    ) -> Result<(), Error> {
        match kind {
            TerminatorKind::Goto(to) => self.body.jump(self.block(*to, span)?)?,
            TerminatorKind::Branch { condition: Operand::Const(_), .. } => {
                for to in reach::successors(kind) {
                    self.body.jump(self.block(to, span)?)?;
                }
            }
            TerminatorKind::Branch { condition, then, otherwise } => {
                let condition = self.value(condition, span)?;
                self.body.branch(condition, self.block(*then, span)?, self.block(*otherwise, span)?)?;
            }
            TerminatorKind::Switch { value, cases, default } => {
                let value = self.value(value, span)?;
                let mut targets = Vec::with_capacity(cases.len());
                for (case, to) in cases {
                    targets.push((*case, self.block(*to, span)?));
                }
                self.body.switch(value, &targets, self.block(*default, span)?)?;
            }
            TerminatorKind::Return(value) => return self.give(value.as_ref(), span),
            // a trap, because LLVM may delete what leads to a place that it is told to be unreachable
            TerminatorKind::Unreachable => return Ok(self.body.trap()?),
        }
        for (header, times) in self.unrolled(kind) {
            if self.loops_back(from, header, reached) {
                self.body.unroll(times)?;
            }
        }
        Ok(())
    }

    /// The loop headers with `@unroll` that a terminator leads to.
    fn unrolled(&self, kind: &TerminatorKind) -> Vec<(BlockId, u32)> {
        let unroll = |id: BlockId| self.ir.blocks.get(id.index()).and_then(|block| block.unroll).map(|times| (id, times));
        reach::successors(kind).into_iter().filter_map(unroll).collect()
    }

    /// Whether the block lies behind the header, so that its jump there closes the loop.
    fn loops_back(&self, block: BlockId, header: BlockId, reached: &BTreeSet<BlockId>) -> bool {
        let mut seen = BTreeSet::new();
        let mut queue = vec![header];
        while let Some(id) = queue.pop() {
            if id == block {
                return true;
            }
            if reached.contains(&id) && seen.insert(id) {
                queue.extend(self.ir.blocks.get(id.index()).map(|b| reach::successors(&b.terminator.kind)).unwrap_or_default());
            }
        }
        false
    }

    fn give(&self, value: Option<&Operand>, span: Span) -> Result<(), Error> {
        let ty = self.ir.return_type;
        let given = match (self.declared.result, value) {
            (ResultWay::Nothing, _) => None,
            (_, None) => return self.emitter.malformed("a return without a value", span),
            (ResultWay::Register, Some(value)) => Some(self.passed_param(self.value(value, span)?, ty)?),
            (ResultWay::Memory, Some(value)) => {
                let layout = self.emitter.layout(ty);
                let from = self.memory(value, span)?;
                self.body.copy(self.body.param(0)?, layout.align, from.pointer, from.align, layout.size)?;
                None
            }
            (ResultWay::Bytes { element, count }, Some(value)) => {
                let from = self.in_memory(value, span)?;
                let unit = self.emitter.builder.int(element * 8)?;
                let mut bytes = self.emitter.builder.zero(self.emitter.builder.array(unit.into(), u64::from(count))?);
                for index in 0..count {
                    let at = self.at_offset(from, u64::from(index * element))?;
                    let part = self.body.load(unit.into(), at.pointer, at.align, false)?;
                    bytes = self.body.insert(bytes, part, index)?;
                }
                Some(bytes)
            }
        };
        Ok(self.body.give(given)?)
    }

    /// A value in memory, wherever it is held.
    pub(crate) fn in_memory(&self, operand: &Operand, span: Span) -> Result<Address<'c>, Error> {
        let ty = self.type_of(operand);
        if self.emitter.repr(ty, span)? == Repr::Memory {
            return self.memory(operand, span);
        }
        let slot = self.slot(ty, "", span)?;
        self.store(slot, ty, self.value(operand, span)?, Access::Plain, span)?;
        Ok(slot)
    }

    /// A value as a parameter or result is passed.
    pub(crate) fn passed_param(&self, value: Value<'c>, ty: TypeId) -> Result<Value<'c>, Error> {
        match self.emitter.class(ty) {
            Class::Bool => Ok(self.body.int_cast(value, self.emitter.builder.int(8)?, false)?),
            _ => Ok(value),
        }
    }

    /// `value != 0` of an integer.
    pub(crate) fn is_not_zero(&self, value: Value<'c>) -> Result<Value<'c>, Error> {
        let zero = self.emitter.builder.zero(value.get_type());
        Ok(self.body.compare(nvptx_builder::Compare::NotEqual, value, zero)?)
    }
}
