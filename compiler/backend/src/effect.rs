//! Atomics, barriers, fences and warp operations.

use crate::Error;
use crate::function::Emit;
use crate::types::Class;
use cdp_core::builtins::{AtomicOp as Op, BarrierOp, MemoryScope, WarpOp};
use cdp_core::ir::{LocalId, Operand};
use cdp_core::source::Span;
use cdp_core::types::{Float, Scalar};
use nvptx_builder::{
    AtomicOp, BarrierKind, ClusterBarrier, FenceScope, Scope, Shuffle, Space, Type, Value, WarpReduce, WarpVote,
};

impl<'c> Emit<'_, '_, 'c> {
    /// `dst = op(pointer, operands)`
    pub fn atomic(
        &mut self,
        dst: Option<LocalId>,
        op: Op,
        scope: MemoryScope,
        pointer: &Operand,
        operands: &[Operand],
        span: Span,
    ) -> Result<(), Error> {
        let emitter = self.emitter;
        let Some((_, pointee, _)) = emitter.ir.types.pointee(self.type_of(pointer)) else {
            return emitter.malformed("an atomic operation through no pointer", span);
        };
        let scope = match scope {
            MemoryScope::Block => Scope::Block,
            MemoryScope::Cluster => return emitter.malformed("an atomic operation of a cluster", span),
            MemoryScope::Device => Scope::Device,
            MemoryScope::System => Scope::System,
        };
        let address = self.value(pointer, span)?;
        let address = match emitter.pointer_space(self.type_of(pointer)) {
            Space::Generic | Space::Global | Space::Shared => address,
            Space::Local | Space::Constant => self.body.address_cast(address, Space::Generic)?,
        };
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            values.push(self.value(operand, span)?);
        }
        let class = emitter.class(pointee);
        let old = match values.as_slice() {
            [compare, value] if op == Op::Cas => {
                let (compare, value, ty) = (self.as_bits(*compare, span)?, self.as_bits(*value, span)?, value.get_type());
                let old = self.body.compare_and_swap(scope, address, compare, value)?;
                self.of_bits(old, ty)?
            }
            [value] if op == Op::Exch => {
                let old = self.body.atomic(AtomicOp::Exchange, scope, address, self.as_bits(*value, span)?)?;
                self.of_bits(old, value.get_type())?
            }
            [value] => match (class, atomic_op(op, class)) {
                (Class::Float(_), Some(AtomicOp::Sub)) => {
                    self.body.atomic(AtomicOp::FloatAdd, scope, address, self.body.float_neg(*value)?)?
                }
                (_, Some(op)) if self.is_lost_elsewhere(op, class, pointer) => {
                    self.body.atomic_by_swap(op, scope, address, *value)?
                }
                (_, Some(op)) => self.body.atomic(op, scope, address, *value)?,
                (_, None) => {
                    return emitter.malformed(format!("`{}` on `{}`", op.name(), emitter.ir.types.display(pointee)), span);
                }
            },
            _ => return emitter.malformed(format!("operands of `{}`", op.name()), span),
        };
        self.set_result(dst, old, span)
    }

    /// Whether the device may lose an atomic operation, because its address may be in the shared memory of another block. On an H200, with
    /// CUDA 13.0, of the lanes of a warp that meet there only one has an effect: minima, maxima and bits of 64-bit integers, and sums of
    /// pairs. nvcc's code shows the same. What is left, compare-and-swap among it, works.
    fn is_lost_elsewhere(&self, op: AtomicOp, class: Class, pointer: &Operand) -> bool {
        let generic = self.emitter.pointer_space(self.type_of(pointer)) == Space::Generic;
        let lost = match class {
            Class::Int(int) => int.bits() == 64 && !matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Exchange),
            Class::Vector(..) => true,
            _ => false,
        };
        lost && generic && self.emitter.maps_shared()
    }

    /// A value as an integer of its width.
    fn as_bits(&self, value: Value<'c>, span: Span) -> Result<Value<'c>, Error> {
        let builder = self.emitter.builder;
        match value {
            Value::IntValue(_) => Ok(value),
            Value::FloatValue(float) => Ok(self.body.bits_as(value, builder.int(float.get_type().get_bit_width())?.into())?),
            Value::PointerValue(_) => Ok(self.body.address_bits(value, builder.size_type())?),
            _ => self.emitter.malformed("an atomic exchange of an aggregate", span),
        }
    }

    fn of_bits(&self, bits: Value<'c>, ty: Type<'c>) -> Result<Value<'c>, Error> {
        let spaces = [Space::Generic, Space::Global, Space::Shared, Space::Constant, Space::Local];
        match ty {
            Type::PointerType(_) => {
                let space = spaces.into_iter().find(|space| Type::from(self.emitter.builder.pointer(*space)) == ty);
                Ok(self.body.address_from_bits(bits, space.unwrap_or_default())?)
            }
            _ => Ok(self.body.bits_as(bits, ty)?),
        }
    }

    /// A barrier of the block, of a warp or of the cluster.
    pub fn barrier(&mut self, dst: Option<LocalId>, op: BarrierOp, operand: Option<&Operand>, span: Span) -> Result<(), Error> {
        if op.is_of_cluster() {
            self.emitter.needs_clusters(&format!("`{}`", op.name()), span)?;
        }
        let kind = match op {
            BarrierOp::ClusterArrive => return Ok(self.body.cluster_barrier(ClusterBarrier::Arrive)?),
            BarrierOp::ClusterArriveRelaxed => return Ok(self.body.cluster_barrier(ClusterBarrier::ArriveRelaxed)?),
            BarrierOp::ClusterWait => return Ok(self.body.cluster_barrier(ClusterBarrier::Wait)?),
            BarrierOp::Block => return Ok(self.body.barrier()?),
            BarrierOp::Warp => {
                let mask = match operand {
                    Some(mask) => self.value(mask, span)?,
                    None => self.body.const_u32(u32::MAX),
                };
                return Ok(self.body.barrier_warp(mask)?);
            }
            BarrierOp::BlockCount => BarrierKind::Count,
            BarrierOp::BlockAnd => BarrierKind::And,
            BarrierOp::BlockOr => BarrierKind::Or,
        };
        let Some(predicate) = operand else { return self.emitter.malformed("a barrier without its predicate", span) };
        let predicate = self.value(predicate, span)?;
        let result = self.body.barrier_reduce(kind, predicate)?;
        self.set_result(dst, result, span)
    }

    /// `__threadfence…()`
    pub fn fence(&self, scope: MemoryScope, span: Span) -> Result<(), Error> {
        if scope == MemoryScope::Cluster {
            self.emitter.needs_clusters("`__threadfence_cluster`", span)?;
        }
        Ok(self.body.fence(match scope {
            MemoryScope::Block => FenceScope::Block,
            MemoryScope::Cluster => FenceScope::Cluster,
            MemoryScope::Device => FenceScope::Device,
            MemoryScope::System => FenceScope::System,
        })?)
    }

    /// An operation among the lanes of a warp.
    pub fn warp(&mut self, dst: Option<LocalId>, op: WarpOp, args: &[Operand], span: Span) -> Result<(), Error> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.value(arg, span)?);
        }
        let class = args.get(1).map(|arg| self.emitter.class(self.type_of(arg)));
        let result = match (op, values.as_slice()) {
            (WarpOp::ActiveMask, _) => self.body.active_mask()?,
            (WarpOp::All, [mask, predicate]) => self.body.vote(WarpVote::All, *mask, *predicate)?,
            (WarpOp::Any, [mask, predicate]) => self.body.vote(WarpVote::Any, *mask, *predicate)?,
            (WarpOp::Ballot, [mask, predicate]) => self.body.vote(WarpVote::Ballot, *mask, *predicate)?,
            (WarpOp::MatchAny, [mask, value]) => {
                let bits = self.as_bits(*value, span)?;
                self.body.match_any(*mask, bits)?
            }
            (WarpOp::MatchAll, [mask, value]) => {
                let bits = self.as_bits(*value, span)?;
                self.body.match_all(*mask, bits)?
            }
            (WarpOp::Shfl | WarpOp::ShflUp | WarpOp::ShflDown | WarpOp::ShflXor, [mask, value, lane, width @ ..]) => {
                let width = width.first().copied().unwrap_or_else(|| self.body.const_u32(32));
                self.shuffle(shuffle_kind(op), *mask, *value, *lane, width, class)?
            }
            (_, [mask, value]) => {
                if self.emitter.options.target.capability() < 80 {
                    let what = format!("`{}`", op.name());
                    return Err(Error::Unsupported { what, needs: "sm_80", span });
                }
                let signed = matches!(class, Some(Class::Int(int)) if int.signed());
                self.body.reduce(reduce_kind(op, signed), *mask, *value)?
            }
            _ => return self.emitter.malformed(format!("operands of `{}`", op.name()), span),
        };
        self.set_result(dst, result, span)
    }

    /// A shuffle of any value that is held in registers; vectors go lane by lane.
    fn shuffle(
        &self,
        kind: Shuffle,
        mask: Value<'c>,
        value: Value<'c>,
        lane: Value<'c>,
        width: Value<'c>,
        class: Option<Class>,
    ) -> Result<Value<'c>, Error> {
        match class {
            Some(Class::Vector(element, lanes)) if element.bits() * lanes == 32 => {
                let word = self.body.bits_as(value, self.emitter.builder.int(32)?.into())?;
                Ok(self.body.bits_as(self.body.shuffle(kind, mask, word, lane, width)?, value.get_type())?)
            }
            Some(Class::Vector(_, lanes)) => {
                let mut result = self.emitter.builder.zero(value.get_type());
                for index in 0..lanes {
                    let part = self.body.extract(value, index)?;
                    result = self.body.insert(result, self.body.shuffle(kind, mask, part, lane, width)?, index)?;
                }
                Ok(result)
            }
            Some(Class::Bool) => {
                let byte = self.body.int_cast(value, self.emitter.builder.int(8)?, false)?;
                self.is_not_zero(self.body.shuffle(kind, mask, byte, lane, width)?)
            }
            _ => Ok(self.body.shuffle(kind, mask, value, lane, width)?),
        }
    }
}

/// Which operation of PTX; none where the type has none.
const fn atomic_op(op: Op, class: Class) -> Option<AtomicOp> {
    let signed = matches!(class, Class::Int(int) if int.signed());
    Some(match (op, class) {
        (Op::Add, Class::Int(_)) => AtomicOp::Add,
        (Op::Sub, Class::Int(_) | Class::Float(_)) => AtomicOp::Sub,
        (Op::Add, Class::Float(_) | Class::Vector(Scalar::Float(Float::F16 | Float::Bf16), 2)) => AtomicOp::FloatAdd,
        (Op::Min, Class::Float(_)) => AtomicOp::FloatMin,
        (Op::Max, Class::Float(_)) => AtomicOp::FloatMax,
        (Op::Min, Class::Int(_)) => {
            if signed {
                AtomicOp::MinSigned
            } else {
                AtomicOp::MinUnsigned
            }
        }
        (Op::Max, Class::Int(_)) => {
            if signed {
                AtomicOp::MaxSigned
            } else {
                AtomicOp::MaxUnsigned
            }
        }
        (Op::And, Class::Int(_)) => AtomicOp::And,
        (Op::Or, Class::Int(_)) => AtomicOp::Or,
        (Op::Xor, Class::Int(_)) => AtomicOp::Xor,
        (Op::Inc, Class::Int(_)) => AtomicOp::Increment,
        (Op::Dec, Class::Int(_)) => AtomicOp::Decrement,
        _ => return None,
    })
}

const fn shuffle_kind(op: WarpOp) -> Shuffle {
    match op {
        WarpOp::ShflUp => Shuffle::Up,
        WarpOp::ShflDown => Shuffle::Down,
        WarpOp::ShflXor => Shuffle::Xor,
        _ => Shuffle::Index,
    }
}

const fn reduce_kind(op: WarpOp, signed: bool) -> WarpReduce {
    match (op, signed) {
        (WarpOp::ReduceMin, true) => WarpReduce::MinSigned,
        (WarpOp::ReduceMin, false) => WarpReduce::MinUnsigned,
        (WarpOp::ReduceMax, true) => WarpReduce::MaxSigned,
        (WarpOp::ReduceMax, false) => WarpReduce::MaxUnsigned,
        (WarpOp::ReduceAnd, _) => WarpReduce::And,
        (WarpOp::ReduceOr, _) => WarpReduce::Or,
        (WarpOp::ReduceXor, _) => WarpReduce::Xor,
        _ => WarpReduce::Add,
    }
}
