//! Special registers, barriers, fences and warp operations.

use crate::error::shape;
use crate::{Body, Error, IntOp, Type, Value};

/// Registers that say where a thread is, and clocks.
#[allow(missing_docs, reason = "the names are PTX's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialRegister {
    TidX,
    TidY,
    TidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NtidX,
    NtidY,
    NtidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    WarpSize,
    LaneId,
    Clock,
    Clock64,
    GlobalTimer,
    GridId,
    ClusterNctaidX,
    ClusterNctaidY,
    ClusterNctaidZ,
    ClusteridX,
    ClusteridY,
    ClusteridZ,
    ClusterCtaidX,
    ClusterCtaidY,
    ClusterCtaidZ,
    NclusteridX,
    NclusteridY,
    NclusteridZ,
    ClusterCtarank,
    ClusterNctarank,
    /// Whether the grid was launched in clusters: 1 or 0.
    IsExplicitCluster,
}

/// Barriers of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// How many threads gave true; 32 bits.
    Count,
    /// Whether all did.
    And,
    /// Whether any did.
    Or,
}

/// The two halves of a cluster's barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterBarrier {
    /// Memory before it is visible to who has waited.
    Arrive,
    /// Without a word about memory.
    ArriveRelaxed,
    /// Waits until all threads of the cluster have arrived or ended.
    Wait,
}

/// Towards whom memory is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceScope {
    /// `membar.cta`
    Block,
    /// `fence.sc.cluster`
    Cluster,
    /// `membar.gl`
    Device,
    /// `membar.sys`
    System,
}

/// Votes among the lanes of a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpVote {
    /// Whether all gave true.
    All,
    /// Whether any did.
    Any,
    /// Who did; 32 bits.
    Ballot,
}

/// Where a lane's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// That lane.
    Index,
    /// So many lanes below.
    Up,
    /// So many lanes above.
    Down,
    /// The lane whose number differs in these bits.
    Xor,
}

/// Reductions among the lanes of a mask; 32 bits, from `sm_80` on.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReduce {
    Add,
    MinSigned,
    MaxSigned,
    MinUnsigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
}

impl<'c> Body<'_, 'c> {
    /// Reads a register: 64 bits for `Clock64`, `GlobalTimer` and `GridId`, 32 for the others.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn register(&self, register: SpecialRegister) -> Result<Value<'c>, Error> {
        let name = match register {
            SpecialRegister::TidX => "tid.x",
            SpecialRegister::TidY => "tid.y",
            SpecialRegister::TidZ => "tid.z",
            SpecialRegister::CtaidX => "ctaid.x",
            SpecialRegister::CtaidY => "ctaid.y",
            SpecialRegister::CtaidZ => "ctaid.z",
            SpecialRegister::NtidX => "ntid.x",
            SpecialRegister::NtidY => "ntid.y",
            SpecialRegister::NtidZ => "ntid.z",
            SpecialRegister::NctaidX => "nctaid.x",
            SpecialRegister::NctaidY => "nctaid.y",
            SpecialRegister::NctaidZ => "nctaid.z",
            SpecialRegister::WarpSize => "warpsize",
            SpecialRegister::LaneId => "laneid",
            SpecialRegister::Clock => "clock",
            SpecialRegister::Clock64 => "clock64",
            SpecialRegister::GlobalTimer => "globaltimer",
            SpecialRegister::ClusterNctaidX => "cluster.nctaid.x",
            SpecialRegister::ClusterNctaidY => "cluster.nctaid.y",
            SpecialRegister::ClusterNctaidZ => "cluster.nctaid.z",
            SpecialRegister::ClusteridX => "clusterid.x",
            SpecialRegister::ClusteridY => "clusterid.y",
            SpecialRegister::ClusteridZ => "clusterid.z",
            SpecialRegister::ClusterCtaidX => "cluster.ctaid.x",
            SpecialRegister::ClusterCtaidY => "cluster.ctaid.y",
            SpecialRegister::ClusterCtaidZ => "cluster.ctaid.z",
            SpecialRegister::NclusteridX => "nclusterid.x",
            SpecialRegister::NclusteridY => "nclusterid.y",
            SpecialRegister::NclusteridZ => "nclusterid.z",
            SpecialRegister::ClusterCtarank => "cluster.ctarank",
            SpecialRegister::ClusterNctarank => "cluster.nctarank",
            SpecialRegister::IsExplicitCluster => {
                let flag = self.intrinsic_value("llvm.nvvm.is_explicit_cluster", &[], &[])?;
                return self.int_cast(flag, self.module.int(32)?, false);
            }
            // LLVM 22 reads the lower half only (PTX ISA 10.8: 64 bits since PTX 3.0)
            SpecialRegister::GridId => return self.assembly("mov.u64 $0, %gridid;", "=l", self.module.int(64)?.into(), &[]),
        };
        self.intrinsic_value(&format!("llvm.nvvm.read.ptx.sreg.{name}"), &[], &[])
    }

    /// Waits for all threads of the block (`bar.sync 0`).
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn barrier(&self) -> Result<(), Error> {
        self.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[self.const_u32(0)])?;
        Ok(())
    }

    /// Waits for all threads of the block and combines their predicates (one bit).
    ///
    /// # Errors
    /// [`Error::Shape`] for no predicate.
    pub fn barrier_reduce(&self, kind: BarrierKind, predicate: Value<'c>) -> Result<Value<'c>, Error> {
        let name = match kind {
            BarrierKind::Count => "popc",
            BarrierKind::And => "and",
            BarrierKind::Or => "or",
        };
        self.intrinsic_value(&format!("llvm.nvvm.barrier.cta.red.{name}.aligned.all"), &[], &[self.const_u32(0), predicate])
    }

    /// One half of the cluster's barrier; from `sm_90` on.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn cluster_barrier(&self, half: ClusterBarrier) -> Result<(), Error> {
        let name = match half {
            ClusterBarrier::Arrive => "llvm.nvvm.barrier.cluster.arrive",
            ClusterBarrier::ArriveRelaxed => "llvm.nvvm.barrier.cluster.arrive.relaxed",
            ClusterBarrier::Wait => "llvm.nvvm.barrier.cluster.wait",
        };
        self.intrinsic(name, &[], &[])?;
        Ok(())
    }

    /// The place in another block's shared memory that a generic address has in this block's (`mapa`); `rank` is 32 bits. From `sm_90` on.
    ///
    /// # Errors
    /// [`Error::Shape`] for another address.
    pub fn map_shared_rank(&self, address: Value<'c>, rank: Value<'c>) -> Result<Value<'c>, Error> {
        self.intrinsic_value("llvm.nvvm.mapa", &[], &[address, rank])
    }

    /// The rank of the block that a generic address of shared memory belongs to (`getctarank`); 32 bits. From `sm_90` on.
    ///
    /// # Errors
    /// [`Error::Shape`] for another address.
    pub fn shared_rank(&self, address: Value<'c>) -> Result<Value<'c>, Error> {
        self.intrinsic_value("llvm.nvvm.getctarank", &[], &[address])
    }

    /// Waits for the lanes of a mask.
    ///
    /// # Errors
    /// [`Error::Shape`] for no mask.
    pub fn barrier_warp(&self, mask: Value<'c>) -> Result<(), Error> {
        self.intrinsic("llvm.nvvm.bar.warp.sync", &[], &[mask])?;
        Ok(())
    }

    /// Orders this thread's accesses to memory.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn fence(&self, scope: FenceScope) -> Result<(), Error> {
        let name = match scope {
            FenceScope::Block => "llvm.nvvm.membar.cta",
            FenceScope::Cluster => "llvm.nvvm.fence.sc.cluster",
            FenceScope::Device => "llvm.nvvm.membar.gl",
            FenceScope::System => "llvm.nvvm.membar.sys",
        };
        self.intrinsic(name, &[], &[])?;
        Ok(())
    }

    /// The lanes that run this instruction together; 32 bits.
    ///
    /// # Errors
    /// [`Error::Shape`] when no block is current.
    pub fn active_mask(&self) -> Result<Value<'c>, Error> {
        self.intrinsic_value("llvm.nvvm.activemask", &[], &[])
    }

    /// A vote on a predicate (one bit).
    ///
    /// # Errors
    /// [`Error::Shape`] for no predicate.
    pub fn vote(&self, kind: WarpVote, mask: Value<'c>, predicate: Value<'c>) -> Result<Value<'c>, Error> {
        let name = match kind {
            WarpVote::All => "all",
            WarpVote::Any => "any",
            WarpVote::Ballot => "ballot",
        };
        self.intrinsic_value(&format!("llvm.nvvm.vote.{name}.sync"), &[], &[mask, predicate])
    }

    /// The lanes of a mask that hold the same value of 32 or 64 bits; 32 bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for another value.
    pub fn match_any(&self, mask: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let name = match value {
            Value::IntValue(v) if v.get_type().get_bit_width() == 32 => "llvm.nvvm.match.any.sync.i32",
            Value::IntValue(v) if v.get_type().get_bit_width() == 64 => "llvm.nvvm.match.any.sync.i64",
            _ => return shape("a match of neither 32 nor 64 bits"),
        };
        self.intrinsic_value(name, &[], &[mask, value])
    }

    /// The mask where all of its lanes hold the same value of 32 or 64 bits, otherwise 0; 32 bits.
    ///
    /// # Errors
    /// [`Error::Shape`] for another value.
    pub fn match_all(&self, mask: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let name = match value {
            Value::IntValue(v) if v.get_type().get_bit_width() == 32 => "llvm.nvvm.match.all.sync.i32p",
            Value::IntValue(v) if v.get_type().get_bit_width() == 64 => "llvm.nvvm.match.all.sync.i64p",
            _ => return shape("a match of neither 32 nor 64 bits"),
        };
        self.extract(self.intrinsic_value(name, &[], &[mask, value])?, 0)
    }

    /// Another lane's value, of 8 to 64 bits. `lane` and `width` are 32 bits; `width` is a power of two up to 32 and splits the warp into
    /// parts that do not mix.
    ///
    /// # Errors
    /// [`Error::Shape`] for a value that cannot be shuffled.
    pub fn shuffle(
        &self,
        kind: Shuffle,
        mask: Value<'c>,
        value: Value<'c>,
        lane: Value<'c>,
        width: Value<'c>,
    ) -> Result<Value<'c>, Error> {
        let name = match kind {
            Shuffle::Index => "llvm.nvvm.shfl.sync.idx.i32",
            Shuffle::Up => "llvm.nvvm.shfl.sync.up.i32",
            Shuffle::Down => "llvm.nvvm.shfl.sync.down.i32",
            Shuffle::Xor => "llvm.nvvm.shfl.sync.bfly.i32",
        };
        // PTX ISA, "shfl.sync": the parts' size in bits 8 to 12, as the lane bits to keep, and the last lane of a part below it
        let keep = self.int_op(IntOp::Sub, self.const_u32(32), width)?;
        let part = self.int_op(IntOp::Shl, keep, self.const_u32(8))?;
        let clamp = self.const_u32(if kind == Shuffle::Up { 0 } else { 0x1f });
        let bound = self.int_op(IntOp::Or, part, clamp)?;
        let one = |word: Value<'c>| self.intrinsic_value(name, &[], &[mask, word, lane, bound]);

        let ty = value.get_type();
        let word = self.module.int(32)?;
        let bits = match ty {
            Type::IntType(int) => int.get_bit_width(),
            Type::FloatType(float) => float.get_bit_width(),
            Type::PointerType(_) => self.module.options.width.bits(),
            _ => return shape("a shuffle of an aggregate"),
        };
        let int = self.module.int(bits)?;
        let plain = match value {
            Value::PointerValue(_) => self.address_bits(value, int)?,
            _ => self.bits_as(value, int.into())?,
        };
        let moved = if bits <= 32 {
            let moved = one(self.int_cast(plain, word, false)?)?;
            self.int_cast(moved, int, false)?
        } else {
            let half = self.module.const_int(int, 32);
            let low = one(self.int_cast(plain, word, false)?)?;
            let upper = self.int_op(IntOp::ShiftRightUnsigned, plain, half)?;
            let high = one(self.int_cast(upper, word, false)?)?;
            let high = self.int_op(IntOp::Shl, self.int_cast(high, int, false)?, half)?;
            self.int_op(IntOp::Or, high, self.int_cast(low, int, false)?)?
        };
        match value {
            Value::PointerValue(p) => Ok(self.builder.build_int_to_ptr(crate::body::int(moved)?, p.get_type(), "")?.into()),
            _ => self.bits_as(moved, ty),
        }
    }

    /// A reduction of 32-bit integers among the lanes of a mask.
    ///
    /// # Errors
    /// [`Error::Shape`] for another value.
    pub fn reduce(&self, kind: WarpReduce, mask: Value<'c>, value: Value<'c>) -> Result<Value<'c>, Error> {
        let name = match kind {
            WarpReduce::Add => "add",
            WarpReduce::MinSigned => "min",
            WarpReduce::MaxSigned => "max",
            WarpReduce::MinUnsigned => "umin",
            WarpReduce::MaxUnsigned => "umax",
            WarpReduce::And => "and",
            WarpReduce::Or => "or",
            WarpReduce::Xor => "xor",
        };
        self.intrinsic_value(&format!("llvm.nvvm.redux.sync.{name}"), &[], &[value, mask])
    }

    /// A 32-bit constant.
    #[must_use]
    pub fn const_u32(&self, value: u32) -> Value<'c> {
        self.module.context.i32_type().const_int(u64::from(value), false).into()
    }
}
