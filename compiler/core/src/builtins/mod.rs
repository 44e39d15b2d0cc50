//! What the language brings along, as data: every later phase matches on these, and nothing else knows the names.
//!
//! - [`Register`]: `threadIdx.x` and its kin.
//! - [`Intrinsic`]: pure functions of their arguments: mathematics and bit operations.
//! - `packed`: functions of several numbers in one word.
//! - `rounding`: arithmetic and conversions that say how they round.
//! - `parts`: mathematics with several results.
//! - `sync`: barriers, fences, warp operations and atomics.
//! - `cache`: loads and stores with cache hints.
//! - `texture`: fetches from textures, reads and writes of surfaces.
//! - `runtime`: the CUDA runtime calls of device and host code.
//! - `constants`: `cudaSuccess`, `cudaStreamNonBlocking` and other named values.
//! - `cuda_enum`: `cudaLimit`, `cudaMemcpyKind` and CUDA's other enumerations.
//!
//! How to add one: `docs/adding-a-builtin.md`.

mod cache;
mod constants;
mod cuda_enum;
mod intrinsic;
mod packed;
mod parts;
mod rounding;
mod runtime;
mod sync;
mod texture;

pub use cache::CacheHint;
pub use constants::{
    NamedConstant, NamedKind, STREAM_DEFAULT, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH, cuda_error_name, cuda_error_text,
    named_constant, named_constants,
};
pub use cuda_enum::{BOUNDARY_CLAMP, BOUNDARY_TRAP, BOUNDARY_ZERO, CudaEnum};
pub use intrinsic::{Domain, Intrinsic, PackedOp, RoundedOp};
pub use packed::{LaneTest, LaneWork, Lanes};
pub use parts::PartsFn;
pub use rounding::{Conversion, Rounding};
pub use runtime::{Cdp, RuntimeFn, RuntimeParam, Side};
pub use sync::{AtomicOp, BarrierOp, MemoryScope, WarpOp};
pub use texture::{TexelAccess, TexelChoice, TextureOp};

/// Special registers: one thread's place in its grid, and clocks.
#[allow(missing_docs, reason = "the names are CUDA's")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    ThreadIdxX,
    ThreadIdxY,
    ThreadIdxZ,
    BlockIdxX,
    BlockIdxY,
    BlockIdxZ,
    BlockDimX,
    BlockDimY,
    BlockDimZ,
    GridDimX,
    GridDimY,
    GridDimZ,
    WarpSize,
    LaneId,
    /// `clock()`: the multiprocessor's cycle counter, 32 bits
    Clock,
    /// `clock64()`: the same, 64 bits
    Clock64,
    /// `globaltimer()`: nanoseconds, 64 bits
    GlobalTimer,
    /// `gridid()`: the grid's number, 64 bits; no other grid of the device has it (measured)
    GridId,
    ClusterDimX,
    ClusterDimY,
    ClusterDimZ,
    ClusterIdxX,
    ClusterIdxY,
    ClusterIdxZ,
    /// `__clusterRelativeBlockIdx()`: the block's place in its cluster
    ClusterBlockIdxX,
    ClusterBlockIdxY,
    ClusterBlockIdxZ,
    /// `__clusterGridDimInClusters()`: clusters of the grid
    ClusterGridDimX,
    ClusterGridDimY,
    ClusterGridDimZ,
    /// `__clusterRelativeBlockRank()`: the block's place in its cluster as one number, x fastest
    ClusterBlockRank,
    /// `__clusterSizeInBlocks()`
    ClusterSize,
    /// `__clusterDimIsSpecified()`: 1 in a grid of clusters, 0 where each block is one of its own
    ClusterSpecified,
}

impl Register {
    /// All of them.
    pub const ALL: [Self; 33] = [
        Self::ThreadIdxX,
        Self::ThreadIdxY,
        Self::ThreadIdxZ,
        Self::BlockIdxX,
        Self::BlockIdxY,
        Self::BlockIdxZ,
        Self::BlockDimX,
        Self::BlockDimY,
        Self::BlockDimZ,
        Self::GridDimX,
        Self::GridDimY,
        Self::GridDimZ,
        Self::WarpSize,
        Self::LaneId,
        Self::Clock,
        Self::Clock64,
        Self::GlobalTimer,
        Self::GridId,
        Self::ClusterDimX,
        Self::ClusterDimY,
        Self::ClusterDimZ,
        Self::ClusterIdxX,
        Self::ClusterIdxY,
        Self::ClusterIdxZ,
        Self::ClusterBlockIdxX,
        Self::ClusterBlockIdxY,
        Self::ClusterBlockIdxZ,
        Self::ClusterGridDimX,
        Self::ClusterGridDimY,
        Self::ClusterGridDimZ,
        Self::ClusterBlockRank,
        Self::ClusterSize,
        Self::ClusterSpecified,
    ];

    /// Whether it is different at every look.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, Self::Clock | Self::Clock64 | Self::GlobalTimer)
    }

    /// Whether it is read by a call: `clock64()`, `__clusterDim().x`.
    #[must_use]
    pub fn is_call(self) -> bool {
        self.is_time() || matches!(self, Self::GridId) || self.is_of_cluster()
    }

    /// Whether it says something of clusters, which `sm_90` has first.
    #[must_use]
    pub fn is_of_cluster(self) -> bool {
        self.name().starts_with("__cluster")
    }

    /// As it is written, without the parentheses of a call: `threadIdx.x`, `warpSize`, `laneid`, `clock64`, `__clusterDim.x`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThreadIdxX => "threadIdx.x",
            Self::ThreadIdxY => "threadIdx.y",
            Self::ThreadIdxZ => "threadIdx.z",
            Self::BlockIdxX => "blockIdx.x",
            Self::BlockIdxY => "blockIdx.y",
            Self::BlockIdxZ => "blockIdx.z",
            Self::BlockDimX => "blockDim.x",
            Self::BlockDimY => "blockDim.y",
            Self::BlockDimZ => "blockDim.z",
            Self::GridDimX => "gridDim.x",
            Self::GridDimY => "gridDim.y",
            Self::GridDimZ => "gridDim.z",
            Self::WarpSize => "warpSize",
            Self::LaneId => "laneid",
            Self::Clock => "clock",
            Self::Clock64 => "clock64",
            Self::GlobalTimer => "globaltimer",
            Self::GridId => "gridid",
            Self::ClusterDimX => "__clusterDim.x",
            Self::ClusterDimY => "__clusterDim.y",
            Self::ClusterDimZ => "__clusterDim.z",
            Self::ClusterIdxX => "__clusterIdx.x",
            Self::ClusterIdxY => "__clusterIdx.y",
            Self::ClusterIdxZ => "__clusterIdx.z",
            Self::ClusterBlockIdxX => "__clusterRelativeBlockIdx.x",
            Self::ClusterBlockIdxY => "__clusterRelativeBlockIdx.y",
            Self::ClusterBlockIdxZ => "__clusterRelativeBlockIdx.z",
            Self::ClusterGridDimX => "__clusterGridDimInClusters.x",
            Self::ClusterGridDimY => "__clusterGridDimInClusters.y",
            Self::ClusterGridDimZ => "__clusterGridDimInClusters.z",
            Self::ClusterBlockRank => "__clusterRelativeBlockRank",
            Self::ClusterSize => "__clusterSizeInBlocks",
            Self::ClusterSpecified => "__clusterDimIsSpecified",
        }
    }

    /// 64 for `clock64`, `globaltimer` and `gridid`, else 32; all are unsigned.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Clock64 | Self::GlobalTimer | Self::GridId => 64,
            _ => 32,
        }
    }

    /// The register with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|register| register.name() == name)
    }
}
