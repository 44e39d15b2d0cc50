//! Which bytes of a thread's stack have no value, and why: shadow memory with origins, as MemorySanitizer has them.
//!
//! Only variables that are filled part by part, and structures, arrays and vectors, can hold such bytes: a scalar is judged where it is read.
//! Copies carry the marks along; reading a scalar, or computing with a vector, that has one is a fault.

use crate::fault::{FaultKind, Step, Undefined};
use cdp_core::source::Span;

/// How a byte came to have no value, by the copy that brought it to the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The copy.
    pub span: Span,
    /// What happened there, in words.
    pub text: String,
    /// Where the memory was made that it was copied from.
    pub made: Option<Span>,
    /// The step, as a number of the whole program.
    pub(crate) site: u32,
}

impl Origin {
    /// Of bytes that a call copied at a step.
    pub(crate) fn copied(span: Span, site: u32) -> Self {
        Self { span, text: "copied here without a value".to_owned(), made: None, site }
    }
}

/// The mark of a byte with a value.
const DEFINED: u8 = 0;
/// The mark of a variable that nothing was assigned to.
pub(crate) const UNASSIGNED: u8 = 1;
/// The mark of the first origin.
const FIRST_ORIGIN: u8 = 2;

/// One mark a byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    /// From the stack's first byte on; all bytes beyond have a value.
    marks: Vec<u8>,
    /// How many bytes have none.
    undefined: usize,
    origins: Vec<Origin>,
}

impl Shadow {
    /// Whether every byte has a value.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.undefined == 0
    }

    /// The same as new, with its memory used again.
    pub(crate) fn reset(&mut self) {
        self.marks.clear();
        self.origins.clear();
        self.undefined = 0;
    }

    /// Everything from this byte on is gone.
    pub(crate) fn truncate(&mut self, len: usize) {
        if !self.is_empty() {
            let gone = self.marks.iter().skip(len).filter(|mark| **mark != DEFINED).count();
            self.undefined -= gone;
        }
        self.marks.truncate(len);
    }

    /// Bytes get a value.
    #[inline]
    pub(crate) fn clear(&mut self, from: usize, size: usize) {
        if !self.is_empty() {
            let end = from.saturating_add(size).min(self.marks.len());
            for mark in self.marks.get_mut(from..end).unwrap_or_default() {
                self.undefined -= usize::from(*mark != DEFINED);
                *mark = DEFINED;
            }
        }
    }

    /// Bytes lose theirs.
    pub(crate) fn set(&mut self, from: usize, size: usize, mark: u8) {
        self.clear(from, size);
        let end = from.saturating_add(size);
        if self.marks.len() < end {
            self.marks.resize(end, DEFINED);
        }
        self.marks.get_mut(from..end).unwrap_or_default().fill(mark);
        self.undefined += if mark == DEFINED { 0 } else { size };
    }

    /// The marks of some bytes; none where all have a value.
    pub(crate) fn marks(&self, from: usize, size: usize) -> Option<Vec<u8>> {
        self.first(from, size)?;
        let mut marks: Vec<u8> = self.marks.iter().skip(from).take(size).copied().collect();
        marks.resize(size, DEFINED);
        Some(marks)
    }

    /// Bytes are copied.
    pub(crate) fn copy(&mut self, from: usize, to: usize, size: usize) {
        if self.is_empty() {
            return;
        }
        match self.marks(from, size) {
            Some(marks) => (to..).zip(marks).for_each(|(at, mark)| self.set(at, 1, mark)),
            None => self.clear(to, size),
        }
    }

    /// The first of some bytes that has no value.
    #[inline]
    pub(crate) fn first(&self, from: usize, size: usize) -> Option<(usize, u8)> {
        if self.is_empty() {
            return None;
        }
        let end = from.saturating_add(size).min(self.marks.len());
        let marks = self.marks.get(from..end)?;
        marks
            .iter()
            .position(|mark| *mark != DEFINED)
            .map(|place| (from + place, marks.get(place).copied().unwrap_or_default()))
    }

    /// A fault unless all of these have a value.
    #[inline]
    pub(crate) fn check(&self, from: usize, size: usize) -> Step {
        match self.first(from, size) {
            None => Ok(()),
            Some((at, mark)) => Err(Box::new(FaultKind::Undefined(Box::new(Undefined::at(at, mark))))),
        }
    }

    /// The mark of an origin. Of several at one place only the last one is known, and of very many places the last ones.
    pub(crate) fn origin(&mut self, origin: Origin) -> u8 {
        let place = self.origins.iter().position(|known| known.span == origin.span && known.site == origin.site);
        let place = place.unwrap_or(self.origins.len()).min(usize::from(u8::MAX - FIRST_ORIGIN));
        match self.origins.get_mut(place) {
            Some(known) => *known = origin,
            None => self.origins.push(origin),
        }
        FIRST_ORIGIN + u8::try_from(place).unwrap_or(0)
    }

    /// What a mark stands for; none for a variable that nothing was assigned to.
    pub(crate) fn origin_of(&self, mark: u8) -> Option<&Origin> {
        self.origins.get(usize::from(mark.checked_sub(FIRST_ORIGIN)?))
    }

    /// All bytes with this mark get a value: what it stands for is known.
    pub(crate) fn forget(&mut self, mark: u8) {
        for known in self.marks.iter_mut().filter(|known| **known == mark && mark != DEFINED) {
            *known = DEFINED;
            self.undefined -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_travel_with_copies_and_are_counted() {
        let mut shadow = Shadow::default();
        assert!(shadow.is_empty() && shadow.check(0, 1000).is_ok());
        shadow.set(8, 8, UNASSIGNED);
        shadow.clear(10, 2);
        assert_eq!(shadow.marks(7, 6).unwrap(), [0, 1, 1, 0, 0, 1]);
        assert_eq!(shadow.first(10, 6), Some((12, 1)));
        // onto itself, and back
        shadow.copy(8, 10, 8);
        assert_eq!(shadow.marks(8, 10).unwrap(), [1, 1, 1, 1, 0, 0, 1, 1, 1, 1]);
        shadow.copy(100, 8, 10);
        assert!(shadow.is_empty());
        shadow.set(0, 4, UNASSIGNED);
        shadow.set(2, 4, UNASSIGNED);
        shadow.truncate(1);
        assert_eq!(shadow.undefined, 1);
        shadow.forget(UNASSIGNED);
        assert!(shadow.is_empty() && shadow.marks(0, 8).is_none());
    }

    #[test]
    fn origins_are_told_apart_by_their_place() {
        let mut shadow = Shadow::default();
        let origin =
            |start, text: &str| Origin { span: Span { start, ..Span::default() }, text: text.to_owned(), made: None, site: 0 };
        let first = shadow.origin(origin(1, "a"));
        assert_ne!(first, shadow.origin(origin(2, "b")));
        assert_eq!(first, shadow.origin(origin(1, "c")));
        assert_eq!(shadow.origin_of(first).map(|origin| origin.text.as_str()), Some("c"));
        assert_eq!(shadow.origin_of(UNASSIGNED), None);
        (10..1000).for_each(|start| assert!(shadow.origin(origin(start, "d")) > first));
    }
}
