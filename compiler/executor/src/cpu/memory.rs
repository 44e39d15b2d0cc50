//! Device memory: every allocation with where it was made, so that an access outside of it can say so.

use crate::address::NULL_PAGE;
use crate::fault::{Access, Allocation, FaultKind, Step, There};
use crate::leaks::{Leak, Made};
use crate::written::{Unwritten, Written};
use cdp_core::source::Span;
use cdp_core::types::layout::round_up;
use std::collections::VecDeque;

/// Where device memory starts, as on a GPU well above what a 32-bit integer holds.
const BASE: u64 = 0x7000_0000_0000;
/// What allocations are aligned to, in bytes: CUDA promises 256, and gives what textures of linear memory need.
const ALIGN: u32 = 512;
/// No address is handed out twice, and at least this many bytes lie between two allocations, so that a stray access does not hit a
/// neighbour.
const GAP: u64 = 4096;

/// How much device memory there is unless somebody says otherwise, in bytes: what most machines can spare.
pub(super) const CAPACITY: u64 = 4 << 30;

#[derive(Debug)]
struct Piece {
    base: u64,
    bytes: Vec<u8>,
    read_only: bool,
    info: Allocation,
    /// From the heap of `cudaLimitMallocHeapSize`.
    heap: bool,
    /// Nothing was written since it was made: all bytes are zero, and the system need not have given them room yet.
    pristine: bool,
    /// What was written of it; none where all of it has a value from the start.
    written: Option<Written>,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Memory {
    capacity: u64,
    /// By address; new ones are the last.
    #[allow(clippy::vec_box, reason = "pieces are large, and giving one back moves all behind it")]
    pieces: Vec<Box<Piece>>,
    last: usize,
    next: u64,
    used: u64,
    heap_used: u64,
    freed: VecDeque<(Allocation, Span)>,
}

/// What memory of `cudaMalloc` is called in messages.
pub(crate) const CUDA_MALLOC: &str = "memory of `cudaMalloc`";

/// The most freed pieces that are remembered.
const REMEMBERED: usize = 4096;

impl Memory {
    /// So many bytes at most.
    pub(super) const fn new(capacity: u64) -> Self {
        Self { capacity, pieces: Vec::new(), last: 0, next: BASE, used: 0, heap_used: 0, freed: VecDeque::new() }
    }

    /// A piece, whose bytes are zero but do not count as written where `unwritten` says so; none when there is no room.
    pub(super) fn allocate(&mut self, mut info: Allocation, heap: bool, unwritten: bool) -> Option<u64> {
        let size = usize::try_from(info.size).ok()?;
        if info.size > self.free_bytes() {
            return None;
        }
        let bytes = vec![0; size];
        let base = self.next;
        self.next = round_up(base + info.size + GAP, ALIGN);
        self.used += info.size;
        if heap {
            self.heap_used += info.size;
        }
        info.address = base;
        let written = unwritten.then(|| Written::none(info.size));
        self.pieces.push(Box::new(Piece { base, bytes, read_only: false, info, heap, pristine: true, written }));
        Some(base)
    }

    /// What of the device heap was never given back.
    pub(super) fn leaks(&self) -> impl Iterator<Item = Leak> {
        self.pieces.iter().filter(|piece| piece.heap).map(|piece| Leak {
            made: if piece.info.what == CUDA_MALLOC { Made::CudaMalloc } else { Made::Malloc },
            span: piece.info.span,
            bytes: piece.info.size,
        })
    }

    /// How many bytes there may be.
    pub(super) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes that may still be allocated.
    pub(super) const fn free_bytes(&self) -> u64 {
        self.capacity.saturating_sub(self.used)
    }

    /// Bytes in use by the heap.
    pub(super) const fn heap_used(&self) -> u64 {
        self.heap_used
    }

    /// Makes a piece constant.
    pub(super) fn protect(&mut self, address: u64) {
        if let Some(piece) = self.pieces.iter_mut().find(|piece| piece.base == address) {
            piece.read_only = true;
        }
    }

    /// Gives a piece back, by its first byte; what it was.
    pub(super) fn free(&mut self, address: u64, span: Span) -> Step<Allocation> {
        let access = Access { address, size: 0, write: true };
        let Ok(place) = self.pieces.binary_search_by_key(&address, |piece| piece.base) else {
            return Err(Box::new(self.miss(access)));
        };
        let piece = self.pieces.remove(place);
        self.last = 0;
        self.used -= piece.info.size;
        if piece.heap {
            self.heap_used -= piece.info.size;
        }
        if self.freed.len() >= REMEMBERED {
            self.freed.pop_front();
        }
        self.freed.push_back((piece.info.clone(), span));
        Ok(piece.info)
    }

    /// Whether a piece starts here that the host made.
    pub(super) fn starts(&self, address: u64) -> bool {
        let place = self.pieces.binary_search_by_key(&address, |piece| piece.base);
        place.ok().and_then(|place| self.pieces.get(place)).is_some_and(|piece| !piece.heap)
    }

    /// Whether device code may give this back: a fault where no piece of the heap starts there, nor one that was given back before.
    pub(super) fn check_heap(&self, address: u64) -> Step {
        let access = Access { address, size: 1, write: false };
        let place = self.pieces.partition_point(|piece| piece.base <= address).checked_sub(1);
        let there = match place.and_then(|place| self.pieces.get(place)).filter(|piece| piece.info.holds(address, 1)) {
            Some(piece) if piece.heap && piece.base == address => return Ok(()),
            Some(piece) if piece.heap => There::Heap(piece.info.clone()),
            Some(piece) => There::Other(piece.info.clone()),
            None if matches!(self.miss(access), FaultKind::Freed { .. }) => return Ok(()),
            None => There::Nothing,
        };
        Err(Box::new(FaultKind::NotOfHeap { access, there }))
    }

    #[inline]
    fn find(&mut self, access: Access) -> Step<&mut Piece> {
        let holds = |piece: &Piece| {
            let offset = access.address.wrapping_sub(piece.base);
            offset < piece.bytes.len() as u64 && access.size <= piece.bytes.len() as u64 - offset
        };
        if !self.pieces.get(self.last).is_some_and(|piece| holds(piece)) {
            let place = self.pieces.partition_point(|piece| piece.base <= access.address).wrapping_sub(1);
            if !self.pieces.get(place).is_some_and(|piece| holds(piece)) {
                return Err(Box::new(self.miss(access)));
            }
            self.last = place;
        }
        match self.pieces.get_mut(self.last) {
            Some(piece) => Ok(piece),
            None => Err(Box::new(FaultKind::OutOfBounds { access, near: None })),
        }
    }

    /// The piece that some bytes are in.
    pub(super) fn info(&self, access: Access) -> Option<&Allocation> {
        let place = self.pieces.partition_point(|piece| piece.base <= access.address).checked_sub(1)?;
        self.pieces.get(place).map(|piece| &piece.info).filter(|info| info.holds(access.address, access.size))
    }

    /// Whether an access may be, without making it.
    pub(super) fn check(&mut self, access: Access) -> Step {
        let read_only = self.find(access)?.read_only;
        if access.write && read_only { Err(Box::new(FaultKind::ReadOnly(access))) } else { Ok(()) }
    }

    /// The bytes of an access.
    #[inline]
    pub(super) fn at(&mut self, access: Access) -> Step<&mut [u8]> {
        let piece = self.find(access)?;
        if access.write && piece.read_only {
            return Err(Box::new(FaultKind::ReadOnly(access)));
        }
        let offset = access.address - piece.base;
        piece.pristine &= !access.write;
        if access.write
            && let Some(written) = &mut piece.written
        {
            written.set(offset, access.size);
        }
        let start = offset as usize;
        match piece.bytes.get_mut(start..start + access.size as usize) {
            Some(bytes) => Ok(bytes),
            None => Err(Box::new(FaultKind::OutOfBounds { access, near: None })),
        }
    }

    /// Whether the bytes of a read have ever been written.
    #[inline]
    pub(super) fn check_written(&mut self, access: Access) -> Step {
        let piece = self.find(access)?;
        match &piece.written {
            Some(written) if !written.all(access.address - piece.base, access.size) => {
                Err(Box::new(FaultKind::Unwritten { access, of: piece.info.clone() }))
            }
            _ => Ok(()),
        }
    }

    /// Those of a read's bytes that have never been written, if there are any.
    #[inline]
    pub(super) fn unwritten(&mut self, access: Access) -> Step<Option<Box<Unwritten>>> {
        let piece = self.find(access)?;
        let missing = piece.written.as_ref().and_then(|written| written.missing(access.address - piece.base, access.size));
        Ok(missing.map(|bytes| Box::new(Unwritten { address: access.address, bytes, of: piece.info.clone() })))
    }

    /// The pieces of a read that have never been written: first address and how many bytes.
    pub(super) fn gaps(&mut self, access: Access) -> Vec<(u64, u64)> {
        let Ok(piece) = self.find(access) else { return Vec::new() };
        let gaps = piece.written.as_ref().map(|written| written.gaps(access.address - piece.base, access.size));
        let base = piece.base;
        gaps.into_iter().flatten().map(|(start, bytes)| (base + start, bytes)).collect()
    }

    /// Takes their value from the bytes that are marked: what was written there had none.
    pub(super) fn undefine(&mut self, address: u64, marks: &[bool]) -> Step {
        let piece = self.find(Access { address, size: marks.len() as u64, write: true })?;
        let written = piece.written.get_or_insert_with(|| Written::whole(piece.info.size));
        written.unset(address - piece.base, marks);
        Ok(())
    }

    /// Copies bytes; what was not written stays so.
    pub(super) fn copy(&mut self, to: Access, from: Access) -> Step {
        let bytes = self.at(from)?.to_vec();
        let unwritten = self.unwritten(from)?;
        self.at_by_host(to)?.copy_from_slice(&bytes);
        match unwritten {
            Some(unwritten) => self.undefine(to.address, &unwritten.bytes),
            None => Ok(()),
        }
    }

    /// Zeroes by the host. What is untouched is zero already.
    pub(super) fn clear(&mut self, access: Access) -> Step {
        let piece = self.find(access)?;
        if piece.pristine && access.address == piece.base && access.size == piece.info.size {
            piece.written = None;
            return Ok(());
        }
        self.at_by_host(access)?.fill(0);
        Ok(())
    }

    /// The bytes of an access by the host, which may write constants.
    pub(super) fn at_by_host(&mut self, access: Access) -> Step<&mut [u8]> {
        let piece = self.find(access)?;
        piece.pristine &= !access.write;
        if access.write
            && let Some(written) = &mut piece.written
        {
            written.set(access.address - piece.base, access.size);
        }
        let start = (access.address - piece.base) as usize;
        match piece.bytes.get_mut(start..start + access.size as usize) {
            Some(bytes) => Ok(bytes),
            None => Err(Box::new(FaultKind::OutOfBounds { access, near: None })),
        }
    }

    /// What a piece is, for messages: the host knows better than `cudaMalloc` did.
    pub(super) fn describe(&mut self, address: u64, describe: impl FnOnce(&mut Allocation)) {
        if let Ok(place) = self.pieces.binary_search_by_key(&address, |piece| piece.base)
            && let Some(piece) = self.pieces.get_mut(place)
        {
            describe(&mut piece.info);
        }
    }

    #[cold]
    fn miss(&self, access: Access) -> FaultKind {
        if access.address < NULL_PAGE {
            return FaultKind::Null(access);
        }
        let after = self.pieces.partition_point(|piece| piece.base <= access.address);
        let before = after.checked_sub(1).and_then(|place| self.pieces.get(place)).map(|piece| &piece.info);
        if before.is_none_or(|info| access.address >= info.address + info.size)
            && let Some((was, freed)) = self.freed.iter().rev().find(|(was, _)| was.holds(access.address, access.size))
        {
            return FaultKind::Freed { access, was: was.clone(), freed: *freed };
        }
        let behind = self.pieces.get(after).map(|piece| &piece.info);
        let distance_before = before.map(|info| access.address.saturating_sub(info.address + info.size));
        let distance_behind = behind.map(|info| info.address - access.address);
        let near = match (distance_before, distance_behind) {
            (Some(a), Some(b)) if b < a => behind,
            (Some(_), _) => before,
            _ => behind,
        };
        FaultKind::OutOfBounds { access, near: near.cloned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: u64) -> Allocation {
        Allocation {
            address: 0,
            size,
            what: "a buffer".to_owned(),
            element: "i32".to_owned(),
            element_size: 4,
            span: Span::default(),
        }
    }

    fn access(address: u64, size: u64, write: bool) -> Access {
        Access { address, size, write }
    }

    #[test]
    fn memory_starts_zeroed_and_keeps_what_is_written() {
        let mut memory = Memory::new(CAPACITY);
        let a = memory.allocate(buffer(16), false, false).unwrap();
        let b = memory.allocate(buffer(16), false, false).unwrap();
        memory.at(access(a + 4, 4, true)).unwrap().copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(memory.at(access(a, 8, false)).unwrap(), [0, 0, 0, 0, 1, 2, 3, 4]);
        assert_eq!(memory.at(access(b, 4, false)).unwrap(), [0; 4]);
    }

    #[test]
    fn an_access_outside_names_the_nearest_piece() {
        let mut memory = Memory::new(CAPACITY);
        let a = memory.allocate(buffer(40), false, false).unwrap();
        for (address, size) in [(a + 40, 4), (a + 38, 4), (a - 4, 4), (a + 40, 0)] {
            let fault = memory.at(access(address, size, false)).unwrap_err();
            assert!(matches!(*fault, FaultKind::OutOfBounds { near: Some(near), .. } if near.address == a), "{address:#x}");
        }
        assert!(matches!(*memory.at(access(8, 4, false)).unwrap_err(), FaultKind::Null(_)));
    }

    #[test]
    fn memory_that_was_given_back_is_remembered() {
        let mut memory = Memory::new(CAPACITY);
        let a = memory.allocate(buffer(40), true, false).unwrap();
        assert_eq!(memory.heap_used(), 40);
        memory.free(a, Span::default()).unwrap();
        assert_eq!(memory.heap_used(), 0);
        assert!(matches!(*memory.at(access(a, 4, false)).unwrap_err(), FaultKind::Freed { .. }));
        assert!(matches!(*memory.free(a, Span::default()).unwrap_err(), FaultKind::Freed { .. }));
        let b = memory.allocate(buffer(40), true, false).unwrap();
        assert_ne!(a, b);
    }

    #[test]
    fn the_host_and_the_heap_give_back_their_own() {
        let mut memory = Memory::new(CAPACITY);
        let host = memory.allocate(buffer(40), false, false).unwrap();
        let heap = memory.allocate(buffer(40), true, false).unwrap();
        assert!(memory.starts(host) && !memory.starts(heap) && !memory.starts(host + 4));
        assert!(memory.check_heap(heap).is_ok());
        let there = |address| match *memory.check_heap(address).unwrap_err() {
            FaultKind::NotOfHeap { there, .. } => there,
            other => panic!("{other:?}"),
        };
        assert!(matches!(there(heap + 4), There::Heap(_)));
        assert!(matches!((there(host), there(host + 4)), (There::Other(_), There::Other(_))));
        assert!(matches!((there(heap + 4096), there(8)), (There::Nothing, There::Nothing)));
    }

    #[test]
    fn constants_are_written_by_the_host_only() {
        let mut memory = Memory::new(CAPACITY);
        let a = memory.allocate(buffer(8), false, false).unwrap();
        memory.protect(a);
        assert!(memory.at_by_host(access(a, 4, true)).is_ok());
        assert!(memory.at(access(a, 4, false)).is_ok());
        assert!(matches!(*memory.at(access(a, 4, true)).unwrap_err(), FaultKind::ReadOnly(_)));
    }

    #[test]
    fn what_was_never_written_is_known() {
        let mut memory = Memory::new(CAPACITY);
        let a = memory.allocate(buffer(40), false, true).unwrap();
        let b = memory.allocate(buffer(40), false, true).unwrap();
        memory.at(access(a + 4, 4, true)).unwrap().fill(1);
        assert!(memory.check_written(access(a + 4, 4, false)).is_ok());
        assert!(matches!(*memory.check_written(access(a + 6, 4, false)).unwrap_err(), FaultKind::Unwritten { .. }));
        memory.copy(access(b, 40, true), access(a, 40, false)).unwrap();
        assert!(memory.check_written(access(b + 4, 4, false)).is_ok());
        assert!(memory.check_written(access(b, 4, false)).is_err());
        memory.at_by_host(access(b, 40, true)).unwrap();
        assert!(memory.check_written(access(b, 40, false)).is_ok());
        // memory that has a value from the start loses it, where what is copied there has none
        let c = memory.allocate(buffer(40), false, false).unwrap();
        memory.copy(access(c, 40, true), access(a, 40, false)).unwrap();
        assert!(memory.check_written(access(c + 4, 4, false)).is_ok());
        let missing = memory.unwritten(access(c + 2, 4, false)).unwrap().unwrap();
        assert_eq!(missing.bytes, [true, true, false, false]);
        memory.at(access(c, 4, true)).unwrap().fill(1);
        assert!(memory.unwritten(access(c, 8, false)).unwrap().is_none());
    }

    #[test]
    fn more_than_there_is_cannot_be_had() {
        let mut memory = Memory::new(CAPACITY);
        assert_eq!(memory.allocate(buffer(1 << 50), false, false), None);
    }
}
