//! A thread's stack as bytes.

use super::shadow::{Origin, Shadow, UNASSIGNED};
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
    /// Which bytes of the stack have no value.
    pub shadow: &'a mut Shadow,
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
    pub(crate) fn new(stack: &'a mut [u8], base: usize, bottom: u64, shadow: &'a mut Shadow) -> Self {
        match stack.split_at_mut_checked(base) {
            Some((below, slots)) => Self { below, slots, bottom, shadow },
            None => Self { below: &mut [], slots: &mut [], bottom, shadow },
        }
    }

    /// Where a byte of the frame lies in the stack.
    const fn in_stack(&self, offset: u32) -> usize {
        self.below.len() + offset as usize
    }

    /// A variable of the frame has no value from here on.
    pub(crate) fn deinit(&mut self, d: u32, size: u32) {
        let start = self.in_stack(d);
        self.shadow.set(start, size as usize, UNASSIGNED);
    }

    /// Bytes of the frame have a value from here on.
    pub(crate) fn init(&mut self, d: u32, size: u32) {
        let start = self.in_stack(d);
        self.shadow.clear(start, size as usize);
    }

    /// The marked bytes of the frame have no value from here on.
    pub(crate) fn mark(&mut self, d: u32, marked: &[bool], mark: u8) {
        let start = self.in_stack(d);
        for at in marked.iter().zip(start..).filter_map(|(marked, at)| marked.then_some(at)) {
            self.shadow.set(at, 1, mark);
        }
    }

    /// The marked bytes at an address of this thread's own memory have no value from here on.
    pub(crate) fn mark_at(&mut self, address: u64, marked: &[bool], origin: Origin) {
        let start = self.place(address);
        let mark = self.shadow.origin(origin);
        for at in marked.iter().zip(start..).filter_map(|(marked, at)| marked.then_some(at)) {
            self.shadow.set(at, 1, mark);
        }
    }

    /// A fault unless bytes of the frame have a value.
    #[inline]
    pub(crate) fn defined(&self, a: u32, size: u32) -> Step {
        self.shadow.check(self.in_stack(a), size as usize)
    }

    /// Copies bytes of the frame, and which of them have a value.
    pub(crate) fn carry(&mut self, d: u32, a: u32, size: u32) {
        self.copy(d, a, size);
        let (from, to) = (self.in_stack(a), self.in_stack(d));
        self.shadow.copy(from, to, size as usize);
    }

    /// One for each of so many bytes of the frame: whether it has no value, and why the first one has none, unless it is of a variable that
    /// nothing was assigned to; none where all have one.
    pub(crate) fn undefined(&self, a: u32, size: u32) -> Option<(Vec<bool>, Option<Origin>)> {
        let start = self.in_stack(a);
        let (_, first) = self.shadow.first(start, size as usize)?;
        let marks = self.shadow.marks(start, size as usize)?;
        Some((marks.into_iter().map(|mark| mark != 0).collect(), self.shadow.origin_of(first).cloned()))
    }

    /// The same of bytes at an address of this thread's own memory.
    pub(crate) fn undefined_at(&self, address: u64, size: usize) -> Option<Vec<bool>> {
        let marks = self.shadow.marks(self.place(address), size)?;
        Some(marks.into_iter().map(|mark| mark != 0).collect())
    }

    /// A fault unless bytes at an address of this thread's own memory have a value.
    #[inline]
    pub(crate) fn defined_at(&self, address: u64, size: usize) -> Step {
        self.shadow.check(self.place(address), size)
    }

    /// Where an address of this thread's own memory lies in the stack.
    fn place(&self, address: u64) -> usize {
        usize::try_from(address.wrapping_sub(self.bottom)).unwrap_or(usize::MAX)
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

    /// The bytes at an address of this thread's own memory; those of a write have a value from then on.
    pub(crate) fn at(&mut self, address: u64, size: usize, write: bool) -> Step<&mut [u8]> {
        if write {
            let start = self.place(address);
            self.shadow.clear(start, size);
        }
        self.find(address, size, write)
    }

    #[inline]
    fn find(&mut self, address: u64, size: usize, write: bool) -> Step<&mut [u8]> {
        let offset = self.place(address);
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
        let bytes = get(self.at(address, N, false)?, 0);
        self.defined_at(address, N)?;
        Ok(bytes)
    }

    #[inline]
    pub(crate) fn store(&mut self, address: u64, value: &[u8]) -> Step {
        let bytes = self.at(address, value.len(), true)?;
        bytes.copy_from_slice(value);
        Ok(())
    }

    /// From an address of this thread's own memory into the frame; which bytes have a value is copied, too.
    pub(crate) fn load_into(&mut self, address: u64, d: u32, size: u32) -> Step {
        let below = self.below.len();
        self.at(address, size as usize, false)?;
        let offset = self.place(address);
        if offset >= below {
            self.copy(d, (offset - below) as u32, size);
        } else if let (Some(from), Some(into)) =
            (self.below.get(offset..offset + size as usize), self.slots.get_mut(d as usize..d as usize + size as usize))
        {
            into.copy_from_slice(from);
        }
        self.shadow.copy(offset, below + d as usize, size as usize);
        Ok(())
    }

    /// From the frame to an address of this thread's own memory; which bytes have a value is copied, too.
    pub(crate) fn store_from(&mut self, address: u64, a: u32, size: u32) -> Step {
        let below = self.below.len();
        self.find(address, size as usize, true)?;
        let offset = self.place(address);
        if offset >= below {
            self.copy((offset - below) as u32, a, size);
        } else if let (Some(into), Some(from)) =
            (self.below.get_mut(offset..offset + size as usize), self.slots.get(a as usize..a as usize + size as usize))
        {
            into.copy_from_slice(from);
        }
        self.shadow.copy(below + a as usize, offset, size as usize);
        Ok(())
    }
}
