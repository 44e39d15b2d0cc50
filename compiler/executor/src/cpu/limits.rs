//! Limits and attributes: those of an H200 with CUDA 13.0, so that programs take the same decisions on both devices.

use crate::device::CudaError;
pub(super) use crate::errors::{
    INVALID_CLUSTER_SIZE, INVALID_CONFIGURATION, INVALID_DEVICE, INVALID_DEVICE_FUNCTION, INVALID_DIRECTION,
    INVALID_RESOURCE_HANDLE, INVALID_SYMBOL, INVALID_VALUE, LAUNCH_MAX_DEPTH_EXCEEDED, MEMORY_ALLOCATION,
    PENDING_COUNT_EXCEEDED, SYNC_DEPTH_EXCEEDED, UNSUPPORTED_LIMIT,
};
use cdp_core::builtins::Cdp;

const STACK_SIZE: i32 = 0;
const PRINTF_FIFO_SIZE: i32 = 1;
const MALLOC_HEAP_SIZE: i32 = 2;
const SYNC_DEPTH: i32 = 3;
const PENDING_LAUNCH_COUNT: i32 = 4;
const L2_FETCH_GRANULARITY: i32 = 5;
const PERSISTING_L2_SIZE: i32 = 6;

/// Static and dynamic shared memory of a block, in bytes, without opting in to more.
pub(super) const MAX_SHARED: u64 = 48 << 10;
/// Threads in a block.
pub(super) const MAX_THREADS: u64 = 1024;
/// How many levels of grids CDP1 nests, the host's included.
pub(super) const MAX_DEPTH: u64 = 24;
/// `cudaLimitDevRuntimeSyncDepth` where nobody set it.
const DEFAULT_SYNC_DEPTH: u64 = 2;
/// A pool smaller than this is made this large (cdp2 rule R20).
const MIN_POOL: u64 = 32;

/// The compute capability, 10 times the major number plus the minor one.
pub(super) const ARCHITECTURE: i32 = 90;

/// How many blocks of so many threads and bytes of shared memory a multiprocessor of an H200 has room for.
pub(super) fn active_blocks(threads: i32, shared: u64) -> i32 {
    const THREADS: i32 = 2048;
    const BLOCKS: i32 = 32;
    const SHARED: u64 = 233_472;
    /// What the system keeps of each block's.
    const RESERVED: u64 = 1024;
    let by_threads = THREADS / ((threads + 31) / 32 * 32);
    let by_shared = i32::try_from(SHARED / (shared + RESERVED)).unwrap_or(BLOCKS);
    by_threads.min(by_shared).min(BLOCKS)
}

/// `cudaDevAttrMultiProcessorCount`
pub(super) const MULTIPROCESSORS: i32 = 16;

/// Limits that the host may set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    stack: u64,
    printf: u64,
    /// Bytes that device code may have from `malloc` and `cudaMalloc` at once.
    pub heap: u64,
    /// Launches that may be pending at once.
    pub pool: u64,
    granularity: u64,
    persisting: u64,
    /// Of how many levels of grids, from the host's on, threads may wait for children; none in CDP2, where none may.
    pub sync_depth: Option<u64>,
}

impl Limits {
    pub(super) fn new(cdp: Cdp) -> Self {
        let sync_depth = (cdp == Cdp::Cdp1).then_some(DEFAULT_SYNC_DEPTH);
        Self { stack: 1024, printf: 1 << 20, heap: 8 << 20, pool: 2048, granularity: 64, persisting: 0, sync_depth }
    }

    pub(super) const fn get(&self, limit: i32) -> Result<u64, CudaError> {
        Ok(match limit {
            STACK_SIZE => self.stack,
            PRINTF_FIFO_SIZE => self.printf,
            MALLOC_HEAP_SIZE => self.heap,
            PENDING_LAUNCH_COUNT => self.pool,
            L2_FETCH_GRANULARITY => self.granularity,
            PERSISTING_L2_SIZE => self.persisting,
            SYNC_DEPTH => match self.sync_depth {
                Some(depth) => depth,
                None => return Err(UNSUPPORTED_LIMIT),
            },
            _ => return Err(INVALID_VALUE),
        })
    }

    /// The pool, the heap and what waiting grids are saved in are made at the first launch: from then on, `started`, they stay as they are.
    pub(super) fn set(&mut self, limit: i32, value: u64, started: bool) -> CudaError {
        match limit {
            STACK_SIZE => self.stack = value,
            PRINTF_FIFO_SIZE | MALLOC_HEAP_SIZE | PENDING_LAUNCH_COUNT if started => return INVALID_VALUE,
            PRINTF_FIFO_SIZE => self.printf = value,
            MALLOC_HEAP_SIZE => self.heap = value,
            PENDING_LAUNCH_COUNT => self.pool = value.max(MIN_POOL),
            L2_FETCH_GRANULARITY => self.granularity = value,
            PERSISTING_L2_SIZE => self.persisting = value,
            SYNC_DEPTH => match &mut self.sync_depth {
                None => return UNSUPPORTED_LIMIT,
                Some(_) if started || value > MAX_DEPTH => return INVALID_VALUE,
                Some(depth) => *depth = value,
            },
            _ => return INVALID_VALUE,
        }
        0
    }
}

/// An attribute of device 0.
pub(super) fn attribute(attribute: i32, device: i32) -> Result<i32, CudaError> {
    if device != 0 {
        return Err(INVALID_DEVICE);
    }
    let found = ATTRIBUTES.binary_search_by_key(&attribute, |(number, _)| *number).ok().and_then(|place| ATTRIBUTES.get(place));
    match found {
        Some((_, value)) => Ok(*value),
        // attributes of textures, links and machines that the executor has not
        None if (1..=150).contains(&attribute) => Ok(0),
        None => Err(INVALID_VALUE),
    }
}

const ATTRIBUTES: &[(i32, i32)] = &[
    (1, 1024),
    (2, 1024),
    (3, 1024),
    (4, 64),
    (5, 0x7fff_ffff),
    (6, 65535),
    (7, 65535),
    (8, 49152),
    (9, 65536),
    (10, 32),
    (11, 0x7fff_ffff),
    (12, 65536),
    (13, 1_980_000),
    (14, 512),
    (15, 1),
    (16, 132),
    (19, 1),
    (31, 1),
    (36, 3_201_000),
    (37, 6144),
    (38, 62_914_560),
    (39, 2048),
    (40, 3),
    (41, 1),
    (75, 9),
    (76, 0),
    (78, 1),
    (79, 1),
    (80, 1),
    (81, 233_472),
    (82, 65536),
    (83, 1),
    (86, 0),
    (87, 2),
    (89, 1),
    (90, 1),
    (95, 1),
    (97, 232_448),
    (106, 32),
    (115, 1),
    (120, 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_can_be_searched() {
        assert!(ATTRIBUTES.is_sorted_by_key(|(number, _)| *number));
        assert_eq!(attribute(10, 0), Ok(32));
        assert_eq!(attribute(10, 1), Err(INVALID_DEVICE));
        assert_eq!(attribute(-1, 0), Err(INVALID_VALUE));
    }

    #[test]
    fn blocks_fit_by_threads_blocks_and_shared_memory() {
        assert_eq!(active_blocks(1024, 0), 2);
        assert_eq!(active_blocks(33, 0), 32);
        assert_eq!(active_blocks(100, 0), 16);
        assert_eq!(active_blocks(32, 48 << 10), 4);
    }

    #[test]
    fn the_pool_has_a_least_size_and_is_fixed_by_the_first_launch() {
        let mut limits = Limits::new(Cdp::Cdp2);
        assert_eq!(limits.set(PENDING_LAUNCH_COUNT, 1, false), 0);
        assert_eq!(limits.get(PENDING_LAUNCH_COUNT), Ok(32));
        assert_eq!(limits.set(PENDING_LAUNCH_COUNT, 4096, true), INVALID_VALUE);
        assert_eq!(limits.get(SYNC_DEPTH), Err(UNSUPPORTED_LIMIT));
        assert_eq!(limits.set(SYNC_DEPTH, 4, false), UNSUPPORTED_LIMIT);
        let mut limits = Limits::new(Cdp::Cdp1);
        assert_eq!(limits.get(SYNC_DEPTH), Ok(2));
        assert_eq!((limits.set(SYNC_DEPTH, 24, false), limits.get(SYNC_DEPTH)), (0, Ok(24)));
        assert_eq!((limits.set(SYNC_DEPTH, 25, false), limits.set(SYNC_DEPTH, 3, true)), (INVALID_VALUE, INVALID_VALUE));
    }
}
