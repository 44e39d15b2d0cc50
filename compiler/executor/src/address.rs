//! Addresses as the executor hands them out.
//!
//! An address is 64 bits. Device memory has the addresses that the device gave it, whose two upper bits are zero on every CUDA
//! device. A thread's own memory and a block's shared memory get ranges that no device uses, so that one look at an address tells
//! whose memory it is:
//!
//! | upper bits | owner (30 bits) | offset (32 bits) |
//! |---|---|---|
//! | `11` | number of the thread, 0 for the host | byte of its stack |
//! | `10` | number of the block | byte of its shared memory |

/// The upper bits of a thread's own memory.
const LOCAL: u64 = 0b11 << 62;
/// The upper bits of a block's shared memory.
const SHARED: u64 = 0b10 << 62;
const TAG: u64 = 0b11 << 62;
const OWNER: u64 = 0x3fff_ffff;

/// Below this, an address comes from a null pointer.
pub(crate) const NULL_PAGE: u64 = 1 << 16;

/// Whose memory an address is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// Device memory: global and constant variables, buffers, the heap.
    Device,
    /// The stack of the thread with this number.
    Local(u32),
    /// The shared memory of the block with this number.
    Shared(u32),
}

/// Where a thread's stack starts.
pub(crate) const fn local_base(thread: u32) -> u64 {
    LOCAL | ((thread as u64 & OWNER) << 32)
}

/// Where a block's shared memory starts.
pub(crate) const fn shared_base(block: u32) -> u64 {
    SHARED | ((block as u64 & OWNER) << 32)
}

/// Whether an address lies in some thread's own memory.
pub(crate) const fn is_local(address: u64) -> bool {
    address & TAG == LOCAL
}

/// Whose memory an address is in.
#[must_use]
pub const fn region(address: u64) -> Region {
    let owner = ((address >> 32) & OWNER) as u32;
    match address & TAG {
        LOCAL => Region::Local(owner),
        SHARED => Region::Shared(owner),
        _ => Region::Device,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_told_apart() {
        assert_eq!(region(0x7fff_0000_1000), Region::Device);
        assert_eq!(region(local_base(7) + 12), Region::Local(7));
        assert_eq!(region(shared_base(9) + 4096), Region::Shared(9));
        assert!(is_local(local_base(0)));
        assert!(!is_local(shared_base(0)));
    }
}
