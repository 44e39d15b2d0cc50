//! Pure computations.

use crate::Error;
use crate::function::Emit;
use crate::place::Address;
use crate::types::{Class, Repr, space};
use cdp_core::builtins::Register;
use cdp_core::ir::{Const, Operand, Rvalue, UnaryOp};
use cdp_core::source::Span;
use cdp_core::types::TypeId;
use nvptx_builder::{IntOp, SpecialRegister, Value};

impl<'c> Emit<'_, '_, 'c> {
    /// A value of type `ty` that is held in a register.
    pub fn rvalue(&self, ty: TypeId, value: &Rvalue, span: Span) -> Result<Value<'c>, Error> {
        let emitter = self.emitter;
        match value {
            Rvalue::Use(operand) => self.same_space(ty, self.value(operand, span)?),
            Rvalue::Unary(op, operand) => self.unary(*op, operand, span),
            Rvalue::Binary(op, a, b) => self.binary(*op, a, b, span),
            Rvalue::Cast(kind, operand) => self.cast(*kind, operand, ty, span),
            Rvalue::Select(condition, a, b) => {
                let (a, b) = (self.value(a, span)?, self.value(b, span)?);
                Ok(self.body.select(self.value(condition, span)?, a, b)?)
            }
            Rvalue::AddressOf(place) => {
                let (address, _) = self.place(place, span)?;
                self.same_space(ty, address.pointer)
            }
            Rvalue::Offset(pointer, index) => {
                let Some((_, pointee, _)) = emitter.ir.types.pointee(self.type_of(pointer)) else {
                    return emitter.malformed("an offset of no pointer", span);
                };
                let stride = emitter.layout(pointee).size.max(1);
                let index = self.index_value(index, span)?;
                self.same_space(ty, self.body.index(self.value(pointer, span)?, index, stride)?)
            }
            Rvalue::Distance(a, b) => self.distance(a, b, span),
            Rvalue::MapSharedRank(pointer, rank) => {
                emitter.needs_clusters("`__cluster_map_shared_rank`", span)?;
                let (pointer, rank) = (self.value(pointer, span)?, self.value(rank, span)?);
                self.same_space(ty, self.body.map_shared_rank(pointer, rank)?)
            }
            Rvalue::SharedRank(pointer) => {
                emitter.needs_clusters("`__cluster_query_shared_rank`", span)?;
                Ok(self.body.shared_rank(self.value(pointer, span)?)?)
            }
            Rvalue::Aggregate(operands) => {
                let mut vector = emitter.builder.zero(emitter.register_type(ty, span)?);
                for (index, operand) in (0u32..).zip(operands) {
                    vector = self.body.insert(vector, self.value(operand, span)?, index)?;
                }
                Ok(vector)
            }
            Rvalue::Extract(operand, index) => {
                let from = self.type_of(operand);
                match emitter.repr(from, span)? {
                    Repr::Memory => {
                        let at = self.part(operand, from, *index, span)?;
                        self.load(at, ty, cdp_core::ir::Access::Plain, span)
                    }
                    _ => Ok(self.body.extract(self.value(operand, span)?, *index)?),
                }
            }
            Rvalue::Register(register) => {
                if register.is_of_cluster() {
                    let name = register.name().split('.').next().unwrap_or_default();
                    emitter.needs_clusters(&format!("`{name}`"), span)?;
                }
                Ok(self.body.register(special(*register))?)
            }
            Rvalue::Intrinsic(intrinsic, args) => self.intrinsic(*intrinsic, args, span),
        }
    }

    /// A value that is held in memory, computed into its place.
    pub fn assign_memory(&self, to: Address<'c>, ty: TypeId, value: &Rvalue, span: Span) -> Result<(), Error> {
        let emitter = self.emitter;
        let plain = cdp_core::ir::Access::Plain;
        match value {
            Rvalue::Use(Operand::Const(Const { value, .. })) => self.store_constant(to, ty, value, true, span),
            Rvalue::Use(operand) => self.copy(to, self.memory(operand, span)?, ty, plain, span),
            Rvalue::Select(condition, a, b) => {
                let (a, b) = (self.memory(a, span)?, self.memory(b, span)?);
                let pointer = self.body.select(self.value(condition, span)?, a.pointer, b.pointer)?;
                self.copy(to, Address { pointer, align: a.align.min(b.align) }, ty, plain, span)
            }
            Rvalue::Aggregate(operands) => {
                for (index, operand) in (0u32..).zip(operands) {
                    let element = emitter.element_type(ty, index, span)?;
                    let at = self.at_offset(to, emitter.element_offset(ty, u64::from(index), span)?)?;
                    match (emitter.repr(element, span)?, operand) {
                        (Repr::Nothing, _) => {}
                        (Repr::Memory, Operand::Const(constant)) => {
                            self.store_constant(at, element, &constant.value, true, span)?
                        }
                        (Repr::Memory, operand) => self.copy(at, self.memory(operand, span)?, element, plain, span)?,
                        (_, operand) => self.store(at, element, self.value(operand, span)?, plain, span)?,
                    }
                }
                Ok(())
            }
            Rvalue::Extract(operand, index) => {
                let from = self.part(operand, self.type_of(operand), *index, span)?;
                self.copy(to, from, ty, plain, span)
            }
            _ => emitter.malformed(format!("`{}` as a result", emitter.ir.types.display(ty)), span),
        }
    }

    /// Where a field or element of a value in memory lies.
    fn part(&self, operand: &Operand, ty: TypeId, index: u32, span: Span) -> Result<Address<'c>, Error> {
        let offset = self.emitter.element_offset(ty, u64::from(index), span)?;
        self.at_offset(self.memory(operand, span)?, offset)
    }

    /// An address in the space of a pointer type; any other value as it is.
    fn same_space(&self, ty: TypeId, value: Value<'c>) -> Result<Value<'c>, Error> {
        match (self.emitter.ir.types.pointee(ty), value) {
            (Some((to, _, _)), Value::PointerValue(_)) => Ok(self.body.address_cast(value, space(to))?),
            _ => Ok(value),
        }
    }

    fn distance(&self, a: &Operand, b: &Operand, span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        let stride = self
            .emitter
            .ir
            .types
            .pointee(self.type_of(a))
            .map_or(1, |(_, pointee, _)| self.emitter.layout(pointee).size.max(1));
        let size = builder.size_type();
        let a = self.body.address_bits(self.value(a, span)?, size)?;
        let b = self.body.address_bits(self.value(b, span)?, size)?;
        let bytes = self.body.int_op(IntOp::Sub, a, b)?;
        let elements = if stride.is_power_of_two() {
            let shift = builder.const_int(size, u64::from(stride.trailing_zeros()));
            self.body.int_op(IntOp::ShiftRightSigned, bytes, shift)?
        } else {
            self.body.int_op(IntOp::DivSigned, bytes, builder.const_int(size, stride))?
        };
        Ok(self.body.int_cast(elements, builder.int(64)?, true)?)
    }

    fn unary(&self, op: UnaryOp, operand: &Operand, span: Span) -> Result<Value<'c>, Error> {
        let value = self.value(operand, span)?;
        let zero = self.emitter.builder.zero(value.get_type());
        let class = self.emitter.class(self.type_of(operand));
        let float = match class {
            Class::Float(_) => true,
            Class::Vector(element, _) => crate::constant::is_float(element),
            _ => false,
        };
        match (op, class) {
            (UnaryOp::Neg, _) if float => Ok(self.body.float_neg(value)?),
            (UnaryOp::Neg, Class::Int(_) | Class::Vector(..)) => Ok(self.body.int_op(IntOp::Sub, zero, value)?),
            (UnaryOp::Not, Class::Bool) => Ok(self.body.compare(nvptx_builder::Compare::Equal, value, zero)?),
            (UnaryOp::Not, Class::Int(_)) => {
                let ones = self.all_ones(value, span)?;
                Ok(self.body.int_op(IntOp::Xor, value, ones)?)
            }
            (UnaryOp::Not, Class::Vector(_, lanes)) if !float => {
                let mut ones = zero;
                for lane in 0..lanes {
                    let one = self.all_ones(self.body.extract(value, lane)?, span)?;
                    ones = self.body.insert(ones, one, lane)?;
                }
                Ok(self.body.int_op(IntOp::Xor, value, ones)?)
            }
            _ => {
                self.emitter.malformed(format!("`{op:?}` of `{}`", self.emitter.ir.types.display(self.type_of(operand))), span)
            }
        }
    }

    fn all_ones(&self, like: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        match like {
            Value::IntValue(int) => Ok(self.emitter.builder.const_int(int.get_type(), u64::MAX)),
            _ => self.emitter.malformed("`!` of no integer", span),
        }
    }
}

const fn special(register: Register) -> SpecialRegister {
    match register {
        Register::ThreadIdxX => SpecialRegister::TidX,
        Register::ThreadIdxY => SpecialRegister::TidY,
        Register::ThreadIdxZ => SpecialRegister::TidZ,
        Register::BlockIdxX => SpecialRegister::CtaidX,
        Register::BlockIdxY => SpecialRegister::CtaidY,
        Register::BlockIdxZ => SpecialRegister::CtaidZ,
        Register::BlockDimX => SpecialRegister::NtidX,
        Register::BlockDimY => SpecialRegister::NtidY,
        Register::BlockDimZ => SpecialRegister::NtidZ,
        Register::GridDimX => SpecialRegister::NctaidX,
        Register::GridDimY => SpecialRegister::NctaidY,
        Register::GridDimZ => SpecialRegister::NctaidZ,
        Register::WarpSize => SpecialRegister::WarpSize,
        Register::LaneId => SpecialRegister::LaneId,
        Register::Clock => SpecialRegister::Clock,
        Register::Clock64 => SpecialRegister::Clock64,
        Register::GlobalTimer => SpecialRegister::GlobalTimer,
        Register::GridId => SpecialRegister::GridId,
        Register::ClusterDimX => SpecialRegister::ClusterNctaidX,
        Register::ClusterDimY => SpecialRegister::ClusterNctaidY,
        Register::ClusterDimZ => SpecialRegister::ClusterNctaidZ,
        Register::ClusterIdxX => SpecialRegister::ClusteridX,
        Register::ClusterIdxY => SpecialRegister::ClusteridY,
        Register::ClusterIdxZ => SpecialRegister::ClusteridZ,
        Register::ClusterBlockIdxX => SpecialRegister::ClusterCtaidX,
        Register::ClusterBlockIdxY => SpecialRegister::ClusterCtaidY,
        Register::ClusterBlockIdxZ => SpecialRegister::ClusterCtaidZ,
        Register::ClusterGridDimX => SpecialRegister::NclusteridX,
        Register::ClusterGridDimY => SpecialRegister::NclusteridY,
        Register::ClusterGridDimZ => SpecialRegister::NclusteridZ,
        Register::ClusterBlockRank => SpecialRegister::ClusterCtarank,
        Register::ClusterSize => SpecialRegister::ClusterNctarank,
        Register::ClusterSpecified => SpecialRegister::IsExplicitCluster,
    }
}
