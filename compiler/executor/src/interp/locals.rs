//! A thread's stack as bytes.

use crate::code::Slot;
use crate::fault::{Access, FaultKind, Step};

/// The innermost frame, and what lies below it.
#[derive(Debug)]
pub(crate) struct Locals<'a> {
    /// The frames of the callers.
    below: &'a mut [u8],
    /// The frame.
    pub slots: &'a mut [u8],
    /// The address of the stack's first byte.
    bottom: u64,
}

/// Reads `N` bytes of a frame; zeroes where the offset is not of this frame, which decoding rules out.
#[inline]
pub(crate) fn get<const N: usize>(slots: &[u8], offset: u32) -> [u8; N] {
    match slots.get(offset as usize..).and_then(<[u8]>::first_chunk::<N>) {
        Some(bytes) => *bytes,
        None => [0; N],
    }
}

/// Writes `N` bytes of a frame.
#[inline]
pub(crate) fn put<const N: usize>(slots: &mut [u8], offset: u32, value: [u8; N]) {
    if let Some(bytes) = slots.get_mut(offset as usize..).and_then(<[u8]>::first_chunk_mut::<N>) {
        *bytes = value;
    }
}

impl<'a> Locals<'a> {
    /// The frame that starts at byte `base` of a stack whose first byte has the address `bottom`.
    pub(crate) fn new(stack: &'a mut [u8], base: usize, bottom: u64) -> Self {
        match stack.split_at_mut_checked(base) {
            Some((below, slots)) => Self { below, slots, bottom },
            None => Self { below: &mut [], slots: &mut [], bottom },
        }
    }

    /// The address of a byte of the frame.
    pub(crate) fn address(&self, offset: u32) -> u64 {
        self.bottom + self.below.len() as u64 + u64::from(offset)
    }

    pub(crate) fn u32(&self, offset: u32) -> u32 {
        u32::from_le_bytes(get(self.slots, offset))
    }

    pub(crate) fn u64(&self, offset: u32) -> u64 {
        u64::from_le_bytes(get(self.slots, offset))
    }

    pub(crate) fn set_u32(&mut self, offset: u32, value: u32) {
        put(self.slots, offset, value.to_le_bytes());
    }

    pub(crate) fn set_u64(&mut self, offset: u32, value: u64) {
        put(self.slots, offset, value.to_le_bytes());
    }

    /// Sets a result, where the program wants it.
    pub(crate) fn set_error(&mut self, dst: Option<u32>, error: i32) {
        if let Some(dst) = dst {
            self.set_u32(dst, error.cast_unsigned());
        }
    }

    pub(crate) fn bytes(&self, offset: u32, size: u32) -> Option<&[u8]> {
        let start = offset as usize;
        self.slots.get(start..start + size as usize)
    }

    /// A value as words of 64 bits, the last one filled up with zeroes.
    pub(crate) fn words(&self, slot: Slot) -> Vec<u64> {
        let bytes = self.bytes(slot.offset, slot.size).unwrap_or_default();
        bytes.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))).collect()
    }

    pub(crate) fn bytes_mut(&mut self, offset: u32, size: u32) -> Option<&mut [u8]> {
        let start = offset as usize;
        self.slots.get_mut(start..start + size as usize)
    }

    pub(crate) fn copy(&mut self, d: u32, a: u32, size: u32) {
        let (d, a, size) = (d as usize, a as usize, size as usize);
        if d + size <= self.slots.len() && a + size <= self.slots.len() {
            self.slots.copy_within(a..a + size, d);
        }
    }

    pub(crate) fn zero(&mut self, d: u32, size: u32) {
        if let Some(bytes) = self.bytes_mut(d, size) {
            bytes.fill(0);
        }
    }

    /// The bytes at an address of this thread's own memory.
    pub(crate) fn at(&mut self, address: u64, size: usize, write: bool) -> Step<&mut [u8]> {
        let offset = usize::try_from(address.wrapping_sub(self.bottom)).unwrap_or(usize::MAX);
        let below = self.below.len();
        let found = if offset < below {
            self.below.get_mut(offset..offset.saturating_add(size))
        } else {
            let start = offset - below;
            self.slots.get_mut(start..start.saturating_add(size))
        };
        found.ok_or_else(|| {
            let access = Access { address, size: size as u64, write };
            Box::new(match crate::address::region(address) {
                crate::address::Region::Local(owner) if crate::address::local_base(owner) == self.bottom => {
                    FaultKind::OutOfBounds { access, near: None }
                }
                _ => FaultKind::Private { access, whose: "the local memory of another thread" },
            })
        })
    }

    #[inline]
    pub(crate) fn load<const N: usize>(&mut self, address: u64) -> Step<[u8; N]> {
        let bytes = self.at(address, N, false)?;
        Ok(get(bytes, 0))
    }

    #[inline]
    pub(crate) fn store(&mut self, address: u64, value: &[u8]) -> Step {
        let bytes = self.at(address, value.len(), true)?;
        bytes.copy_from_slice(value);
        Ok(())
    }

    /// From an address of this thread's own memory into the frame.
    pub(crate) fn load_into(&mut self, address: u64, d: u32, size: u32) -> Step {
        let below = self.below.len();
        self.at(address, size as usize, false)?;
        let offset = (address - self.bottom) as usize;
        if offset >= below {
            self.copy(d, (offset - below) as u32, size);
            return Ok(());
        }
        if let (Some(from), Some(into)) =
            (self.below.get(offset..offset + size as usize), self.slots.get_mut(d as usize..d as usize + size as usize))
        {
            into.copy_from_slice(from);
        }
        Ok(())
    }

    /// From the frame to an address of this thread's own memory.
    pub(crate) fn store_from(&mut self, address: u64, a: u32, size: u32) -> Step {
        let below = self.below.len();
        self.at(address, size as usize, true)?;
        let offset = (address - self.bottom) as usize;
        if offset >= below {
            self.copy((offset - below) as u32, a, size);
            return Ok(());
        }
        if let (Some(into), Some(from)) =
            (self.below.get_mut(offset..offset + size as usize), self.slots.get(a as usize..a as usize + size as usize))
        {
            into.copy_from_slice(from);
        }
        Ok(())
    }
}
