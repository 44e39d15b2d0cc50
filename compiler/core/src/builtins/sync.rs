//! Barriers, fences, warp operations and atomics.

/// Barriers of a block, of a warp and of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BarrierOp {
    /// `__syncthreads()`
    Block,
    /// `__syncthreads_count(p) -> i32`: how many threads of the block gave true
    BlockCount,
    /// `__syncthreads_and(p) -> bool`
    BlockAnd,
    /// `__syncthreads_or(p) -> bool`
    BlockOr,
    /// `__syncwarp()`, `__syncwarp(mask)`
    Warp,
    /// `__cluster_barrier_arrive()`: goes on at once
    ClusterArrive,
    /// `__cluster_barrier_arrive_relaxed()`: hands on what was fenced only
    ClusterArriveRelaxed,
    /// `__cluster_barrier_wait()`: for the arrival of all threads of the cluster that have not ended
    ClusterWait,
}

/// Who takes part in the order that a fence or an atomic makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryScope {
    /// The threads of the block (`.cta`).
    Block,
    /// The threads of the cluster (`.cluster`); of fences only.
    Cluster,
    /// The threads of the device (`.gpu`).
    Device,
    /// Everything, the host included (`.sys`).
    System,
}

/// Read-modify-write operations; each returns the old value. All are relaxed, as CUDA's are.
#[allow(missing_docs, reason = "the names are CUDA's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AtomicOp {
    Add,
    Sub,
    Exch,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// `old >= v ? 0 : old + 1`
    Inc,
    /// `old == 0 || old > v ? v : old - 1`
    Dec,
    /// `old == compare ? v : old`; arguments compare, v
    Cas,
}

/// Operations among the threads of a warp that a mask names. The mask, `u32`, is the first operand of all but `activemask`.
#[allow(missing_docs, reason = "the names are CUDA's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarpOp {
    /// `__activemask() -> u32`
    ActiveMask,
    /// `__all_sync(mask, p) -> bool`
    All,
    /// `__any_sync(mask, p) -> bool`
    Any,
    /// `__ballot_sync(mask, p) -> u32`
    Ballot,
    /// `__shfl_sync(mask, v, lane, width) -> v`; `width` is 32 unless given
    Shfl,
    /// `__shfl_up_sync(mask, v, delta, width)`
    ShflUp,
    /// `__shfl_down_sync(mask, v, delta, width)`
    ShflDown,
    /// `__shfl_xor_sync(mask, v, lane_mask, width)`
    ShflXor,
    /// `__match_any_sync(mask, v) -> u32`
    MatchAny,
    /// `__match_all_sync(mask, v) -> u32`: the mask where all lanes have the same value, 0 otherwise; in source with a pointer behind, for
    /// whether they have
    MatchAll,
    /// `__reduce_add_sync(mask, v)`, 32-bit integers, sm_80 and up
    ReduceAdd,
    ReduceMin,
    ReduceMax,
    /// 32-bit unsigned, as the two below
    ReduceAnd,
    ReduceOr,
    ReduceXor,
}

impl BarrierOp {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Block,
        Self::BlockCount,
        Self::BlockAnd,
        Self::BlockOr,
        Self::Warp,
        Self::ClusterArrive,
        Self::ClusterArriveRelaxed,
        Self::ClusterWait,
    ];

    /// Whether it is one of the barrier of a cluster.
    #[must_use]
    pub const fn is_of_cluster(self) -> bool {
        matches!(self, Self::ClusterArrive | Self::ClusterArriveRelaxed | Self::ClusterWait)
    }

    /// CUDA's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "__syncthreads",
            Self::BlockCount => "__syncthreads_count",
            Self::BlockAnd => "__syncthreads_and",
            Self::BlockOr => "__syncthreads_or",
            Self::Warp => "__syncwarp",
            Self::ClusterArrive => "__cluster_barrier_arrive",
            Self::ClusterArriveRelaxed => "__cluster_barrier_arrive_relaxed",
            Self::ClusterWait => "__cluster_barrier_wait",
        }
    }
}

impl MemoryScope {
    /// CUDA's suffix: `_block`, `_cluster`, none, `_system`.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Block => "_block",
            Self::Cluster => "_cluster",
            Self::Device => "",
            Self::System => "_system",
        }
    }
}

impl AtomicOp {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Add,
        Self::Sub,
        Self::Exch,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Inc,
        Self::Dec,
        Self::Cas,
    ];

    /// CUDA's name without a scope, `atomicAdd`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "atomicAdd",
            Self::Sub => "atomicSub",
            Self::Exch => "atomicExch",
            Self::Min => "atomicMin",
            Self::Max => "atomicMax",
            Self::And => "atomicAnd",
            Self::Or => "atomicOr",
            Self::Xor => "atomicXor",
            Self::Inc => "atomicInc",
            Self::Dec => "atomicDec",
            Self::Cas => "atomicCAS",
        }
    }

    /// The operation and scope of a name such as `atomicAdd_block`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<(Self, MemoryScope)> {
        let (stem, scope) = if let Some(stem) = name.strip_suffix("_block") {
            (stem, MemoryScope::Block)
        } else if let Some(stem) = name.strip_suffix("_system") {
            (stem, MemoryScope::System)
        } else {
            (name, MemoryScope::Device)
        };
        Self::ALL.into_iter().find(|op| op.name() == stem).map(|op| (op, scope))
    }

    /// How many operands follow the address.
    #[must_use]
    pub const fn operands(self) -> usize {
        if matches!(self, Self::Cas) { 2 } else { 1 }
    }
}

impl WarpOp {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::ActiveMask,
        Self::All,
        Self::Any,
        Self::Ballot,
        Self::Shfl,
        Self::ShflUp,
        Self::ShflDown,
        Self::ShflXor,
        Self::MatchAny,
        Self::MatchAll,
        Self::ReduceAdd,
        Self::ReduceMin,
        Self::ReduceMax,
        Self::ReduceAnd,
        Self::ReduceOr,
        Self::ReduceXor,
    ];

    /// Whether it gives another lane's value.
    #[must_use]
    pub const fn is_shuffle(self) -> bool {
        matches!(self, Self::Shfl | Self::ShflUp | Self::ShflDown | Self::ShflXor)
    }

    /// CUDA's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ActiveMask => "__activemask",
            Self::All => "__all_sync",
            Self::Any => "__any_sync",
            Self::Ballot => "__ballot_sync",
            Self::Shfl => "__shfl_sync",
            Self::ShflUp => "__shfl_up_sync",
            Self::ShflDown => "__shfl_down_sync",
            Self::ShflXor => "__shfl_xor_sync",
            Self::MatchAny => "__match_any_sync",
            Self::MatchAll => "__match_all_sync",
            Self::ReduceAdd => "__reduce_add_sync",
            Self::ReduceMin => "__reduce_min_sync",
            Self::ReduceMax => "__reduce_max_sync",
            Self::ReduceAnd => "__reduce_and_sync",
            Self::ReduceOr => "__reduce_or_sync",
            Self::ReduceXor => "__reduce_xor_sync",
        }
    }
}
