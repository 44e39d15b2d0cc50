//! Who touched each byte last.
//!
//! Memory is kept in pages of cells; a cell stands for as many bytes as the page's smallest access had, so that most accesses are one
//! cell and every byte is still told apart.

use std::collections::HashMap;

/// How memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cpu) enum Kind {
    Read,
    /// A read through the texture cache: of a texture, or of a surface.
    Cached,
    Write,
    Atomic,
    /// An atomic operation with the scope of the block.
    BlockAtomic,
    VolatileRead,
    VolatileWrite,
}

impl Kind {
    /// PTX ISA, "Memory Consistency Model": such accesses do not race with each other.
    pub(in crate::cpu) const fn is_strong(self) -> bool {
        matches!(self, Self::Atomic | Self::BlockAtomic | Self::VolatileRead | Self::VolatileWrite)
    }

    pub(super) const fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Cached | Self::VolatileRead)
    }
}

/// Accesses of one kind by threads of one warp, the same for all that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// The number of the warp's first thread.
    pub first: u32,
    /// Which lanes.
    pub lanes: u32,
    /// The latest of their clocks.
    pub clock: u32,
    /// The block's epoch.
    pub epoch: u32,
    /// The step.
    pub site: u32,
    pub kind: Kind,
    /// Bytes of an atomic operation: those of two widths are not atomic with each other (PTX ISA, "Memory Consistency Model"). 0 for others.
    pub width: u8,
}

impl Touch {
    /// Whether the two, unordered, are a race.
    pub(super) fn conflicts(&self, later: &Self, same_block: bool) -> bool {
        match (self.kind, later.kind) {
            (a, b) if a.is_read() && b.is_read() => false,
            (a, b) if a.is_strong() && b.is_strong() => {
                let widths = self.width != 0 && later.width != 0 && self.width != later.width;
                widths || (!same_block && (a == Kind::BlockAtomic || b == Kind::BlockAtomic))
            }
            _ => true,
        }
    }

    /// Whether both are of one warp between two barriers of its block, and of one kind.
    fn is_like(&self, other: &Self) -> bool {
        self.first == other.first && self.epoch == other.epoch && self.kind == other.kind && self.width == other.width
    }

    /// Takes a later one in that is like it; whether it could. Lanes share a
    /// clock and a step, or a report would name what one of them did not do.
    fn take_in(&mut self, later: &Self) -> bool {
        let as_one = self.clock == later.clock && self.site == later.site;
        let taken = self.is_like(later) && (self.lanes == later.lanes || as_one);
        if taken {
            *self = Self { lanes: self.lanes | later.lanes, ..*later };
        }
        taken
    }

    /// Whether it need not be kept beside a later one that it is ordered before: whoever races with it races with that one, too.
    fn is_covered_by(&self, later: &Self) -> bool {
        match (self.kind, later.kind) {
            (Kind::BlockAtomic, Kind::BlockAtomic) => self.width == later.width && self.first == later.first,
            (earlier_kind, later_kind) if earlier_kind == later_kind => self.width == later.width,
            _ => false,
        }
    }
}

/// What is known of a few bytes.
#[derive(Clone, Debug, Default)]
struct Cell {
    write: Option<Touch>,
    /// Reads and atomic operations since the write.
    recent: Option<Touch>,
    others: Vec<Touch>,
}

#[derive(Debug)]
struct Page {
    /// Bytes of a cell: a power of two.
    granule: u64,
    cells: Vec<Cell>,
}

/// All memory that was touched.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    pages: HashMap<u64, Page>,
}

/// Bytes of a page.
const PAGE: u64 = 1024;
/// The largest cell in bytes: the largest vector that is read at once.
const LARGEST: u64 = 16;
/// So many entries are kept for a cell; beyond that, the oldest readers are forgotten, which are unordered with a writer only if younger
/// ones are, but for rare cases.
const MOST_ENTRIES: usize = 1024;
/// So many are looked at for one to merge with.
const SEARCHED: usize = 40;

impl Shadow {
    pub(super) fn forget(&mut self, from: u64, bytes: u64) {
        for page in from / PAGE..=(from + bytes) / PAGE {
            self.pages.remove(&page);
        }
    }

    /// Everything that touched these bytes, which nobody touches any more.
    pub(super) fn release(&mut self, from: u64, bytes: u64, mut each: impl FnMut(&Touch)) {
        for page in from / PAGE..=from.saturating_add(bytes) / PAGE {
            let Some(page) = self.pages.remove(&page) else { continue };
            for cell in &page.cells {
                cell.write.iter().chain(&cell.recent).chain(&cell.others).for_each(&mut each);
            }
        }
    }

    /// Everything that touched these bytes: where, how many bytes, and who.
    pub(super) fn each(&self, from: u64, bytes: u64, mut each: impl FnMut(u64, u64, &Touch)) {
        for number in from / PAGE..=from.saturating_add(bytes) / PAGE {
            let Some(page) = self.pages.get(&number) else { continue };
            for (index, cell) in (0u64..).zip(&page.cells) {
                let at = number * PAGE + index * page.granule;
                cell.write.iter().chain(&cell.recent).chain(&cell.others).for_each(|touch| each(at, page.granule, touch));
            }
        }
    }

    /// Checks and remembers an access; `ordered` says whether an earlier one is ordered before it.
    pub(super) fn touch(&mut self, address: u64, size: u64, touch: Touch, mut ordered: impl FnMut(&Touch) -> bool) {
        let mut at = address;
        let end = address.saturating_add(size);
        while at < end {
            let page_end = (at / PAGE + 1) * PAGE;
            let stop = end.min(page_end);
            let granule = granule(at, stop - at);
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Page::new(granule));
            if page.granule > granule {
                page.split(granule);
            }
            let first = (at % PAGE / page.granule) as usize;
            let count = ((stop - at) / page.granule) as usize;
            for cell in page.cells.iter_mut().skip(first).take(count) {
                cell.touch(touch, &mut ordered);
            }
            at = stop;
        }
    }
}

/// The largest cells that an access is made of whole.
fn granule(address: u64, size: u64) -> u64 {
    let largest = (address | size | LARGEST).trailing_zeros();
    1 << largest
}

impl Page {
    fn new(granule: u64) -> Self {
        Self { granule, cells: vec![Cell::default(); (PAGE / granule) as usize] }
    }

    fn split(&mut self, granule: u64) {
        let times = (self.granule / granule) as usize;
        self.cells = self.cells.iter().flat_map(|cell| std::iter::repeat_n(cell.clone(), times)).collect();
        self.granule = granule;
    }
}

impl Cell {
    fn touch(&mut self, touch: Touch, ordered: &mut impl FnMut(&Touch) -> bool) {
        if let Some(write) = &self.write {
            ordered(write);
        }
        match touch.kind {
            Kind::Write => {
                self.recent.iter().chain(&self.others).for_each(|earlier| {
                    ordered(earlier);
                });
                *self = Self { write: Some(touch), recent: None, others: Vec::new() };
            }
            _ => {
                self.check(|earlier| earlier.conflicts(&touch, false), ordered);
                self.add(touch, ordered);
            }
        }
    }

    fn check(&self, concerned: impl Fn(&Touch) -> bool, ordered: &mut impl FnMut(&Touch) -> bool) {
        for earlier in self.recent.iter().chain(&self.others) {
            if concerned(earlier) {
                ordered(earlier);
            }
        }
    }

    /// Remembers a read or an atomic operation, in place of one that it is like or that it comes after.
    fn add(&mut self, touch: Touch, ordered: &mut impl FnMut(&Touch) -> bool) {
        let Some(recent) = &mut self.recent else {
            self.recent = Some(touch);
            return;
        };
        if recent.take_in(&touch) {
            return;
        }
        if self.others.is_empty() && recent.is_covered_by(&touch) && ordered(recent) {
            *recent = touch;
            return;
        }
        let list = &mut self.others;
        let from = list.len().saturating_sub(SEARCHED);
        if list.iter_mut().skip(from).any(|earlier| earlier.take_in(&touch)) {
            return;
        }
        if list.len() == list.capacity() {
            // before it grows: so that looking through all of it costs a constant for each entry
            list.retain(|earlier| !(earlier.is_covered_by(&touch) && ordered(earlier)));
        }
        if list.len() >= MOST_ENTRIES {
            list.drain(..MOST_ENTRIES / 2);
        }
        list.push(touch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(first: u32, kind: Kind) -> Touch {
        let width = if matches!(kind, Kind::Atomic | Kind::BlockAtomic) { 4 } else { 0 };
        Touch { first, lanes: 1, clock: 0, epoch: 0, site: first, kind, width }
    }

    fn conflicts(shadow: &mut Shadow, address: u64, size: u64, new: Touch) -> Vec<u32> {
        let mut found = Vec::new();
        shadow.touch(address, size, new, |earlier| {
            if earlier.first == new.first {
                return true;
            }
            if earlier.conflicts(&new, false) && !found.contains(&earlier.first) {
                found.push(earlier.first);
            }
            false
        });
        found
    }

    #[test]
    fn bytes_are_told_apart() {
        let mut shadow = Shadow::default();
        assert!(conflicts(&mut shadow, 0x1000, 8, touch(32, Kind::Write)).is_empty());
        assert!(conflicts(&mut shadow, 0x1008, 1, touch(64, Kind::Write)).is_empty());
        assert_eq!(conflicts(&mut shadow, 0x1007, 1, touch(64, Kind::Read)), [32]);
        assert_eq!(conflicts(&mut shadow, 0x1007, 2, touch(96, Kind::Read)), [32, 64]);
        assert!(conflicts(&mut shadow, 0x1009, 3, touch(96, Kind::Write)).is_empty());
        assert_eq!(conflicts(&mut shadow, 0x1000 + PAGE - 2, 4, touch(96, Kind::Write)), Vec::<u32>::new());
        assert_eq!(conflicts(&mut shadow, 0x1000 + PAGE, 1, touch(32, Kind::Read)), [96]);
    }

    #[test]
    fn every_reader_is_remembered() {
        let mut shadow = Shadow::default();
        for first in 1..200 {
            assert!(conflicts(&mut shadow, 16, 4, touch(first * 32, Kind::Read)).is_empty());
        }
        assert_eq!(conflicts(&mut shadow, 16, 4, touch(0, Kind::Write)).len(), 199);
        assert!(conflicts(&mut shadow, 16, 4, touch(0, Kind::Read)).is_empty());
    }

    #[test]
    fn atomic_operations_are_at_odds_with_plain_ones_only() {
        let mut shadow = Shadow::default();
        assert!(conflicts(&mut shadow, 16, 4, touch(32, Kind::Atomic)).is_empty());
        assert!(conflicts(&mut shadow, 16, 4, touch(64, Kind::Atomic)).is_empty());
        assert_eq!(conflicts(&mut shadow, 16, 4, touch(96, Kind::BlockAtomic)), [32, 64]);
        assert_eq!(conflicts(&mut shadow, 16, 4, touch(128, Kind::Read)), [32, 64, 96]);
    }
}
