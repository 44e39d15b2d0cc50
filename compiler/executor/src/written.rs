//! Which bytes of a piece of memory have ever been written.

use crate::fault::Allocation;

/// One bit a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    words: Vec<u64>,
}

/// Bytes of a read that have no value.
#[derive(Clone, Debug)]
pub(crate) struct Unwritten {
    /// Where the first byte of the read lies.
    pub address: u64,
    /// One for each byte that is read: whether it has none.
    pub bytes: Vec<bool>,
    /// The memory.
    pub of: Allocation,
}

/// The words that some bytes have their bits in, and the bits there.
fn words(from: u64, bytes: u64) -> impl Iterator<Item = (usize, u64)> {
    let end = from + bytes;
    (from / 64..end.div_ceil(64)).map(move |word| {
        let low = from.saturating_sub(word * 64).min(64);
        let high = (end - word * 64).min(64);
        let below = |bit: u64| if bit == 64 { u64::MAX } else { (1 << bit) - 1 };
        (usize::try_from(word).unwrap_or(usize::MAX), below(high) & !below(low))
    })
}

impl Written {
    /// Nothing of so many bytes.
    pub(crate) fn none(bytes: u64) -> Self {
        Self { words: vec![0; usize::try_from(bytes.div_ceil(64)).unwrap_or(0)] }
    }

    /// So many bytes, of which all have a value.
    pub(crate) fn whole(bytes: u64) -> Self {
        Self { words: vec![u64::MAX; usize::try_from(bytes.div_ceil(64)).unwrap_or(0)] }
    }

    /// Nothing of so many bytes, with its memory used again.
    pub(crate) fn reset(&mut self, bytes: u64) {
        self.words.clear();
        self.words.resize(usize::try_from(bytes.div_ceil(64)).unwrap_or(0), 0);
    }

    pub(crate) fn set(&mut self, from: u64, bytes: u64) {
        for (word, bits) in words(from, bytes) {
            if let Some(word) = self.words.get_mut(word) {
                *word |= bits;
            }
        }
    }

    /// Takes their value from some bytes.
    pub(crate) fn unset_all(&mut self, from: u64, bytes: u64) {
        for (word, bits) in words(from, bytes) {
            if let Some(word) = self.words.get_mut(word) {
                *word &= !bits;
            }
        }
    }

    /// Whether all of these were written.
    pub(crate) fn all(&self, from: u64, bytes: u64) -> bool {
        words(from, bytes).all(|(word, bits)| self.words.get(word).is_some_and(|word| word & bits == bits))
    }

    /// Those of some bytes that have no value, in pieces: first byte and how many, in order.
    pub(crate) fn gaps(&self, from: u64, bytes: u64) -> Vec<(u64, u64)> {
        let end = from + bytes;
        // the next byte from `at` on that has a value, or has none
        let next = |mut at: u64, has: bool| {
            while at < end {
                let word = self.words.get(usize::try_from(at / 64).unwrap_or(usize::MAX)).copied().unwrap_or(0);
                let left = (if has { word } else { !word }) >> (at % 64);
                if left != 0 {
                    return end.min(at + u64::from(left.trailing_zeros()));
                }
                at = (at / 64 + 1) * 64;
            }
            end
        };
        let mut found = Vec::new();
        let mut start = next(from, false);
        while start < end {
            let after = next(start, true);
            found.push((start, after - start));
            start = next(after, false);
        }
        found
    }

    /// One for each of some bytes: whether it has no value; none where all have one.
    pub(crate) fn missing(&self, from: u64, bytes: u64) -> Option<Vec<bool>> {
        if self.all(from, bytes) {
            return None;
        }
        let mut missing = vec![false; usize::try_from(bytes).unwrap_or(0)];
        for (start, count) in self.gaps(from, bytes) {
            let start = usize::try_from(start - from).unwrap_or(usize::MAX);
            if let Some(gap) = missing.get_mut(start..start.saturating_add(usize::try_from(count).unwrap_or(0))) {
                gap.fill(true);
            }
        }
        Some(missing)
    }

    /// Takes their value from the bytes that are marked, of as many as there are marks.
    pub(crate) fn unset(&mut self, from: u64, marks: &[bool]) {
        for (at, marked) in (from..).zip(marks) {
            if let Some(word) = self.words.get_mut(usize::try_from(at / 64).unwrap_or(usize::MAX))
                && *marked
            {
                *word &= !(1 << (at % 64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for (from, bytes) in [(0, 1), (5, 8), (60, 8), (63, 1), (64, 64), (1, 198)] {
            let mut written = Written::none(200);
            written.set(from, bytes);
            for at in 0..200 {
                assert_eq!(written.all(at, 1), (from..from + bytes).contains(&at), "{at} of {from}+{bytes}");
            }
            assert!(written.all(from, bytes));
            assert!(!written.all(from, bytes + 1));
            let missing = written.missing(0, 200).unwrap();
            let mut copy = Written::whole(200);
            copy.unset(0, &missing);
            assert_eq!(
                (0..200).map(|at| copy.all(at, 1)).collect::<Vec<_>>(),
                missing.iter().map(|gone| !gone).collect::<Vec<_>>()
            );
            assert_eq!(written.missing(from, bytes), None);
            let around = [(0, from), (from + bytes, 200 - from - bytes)];
            assert_eq!(written.gaps(0, 200), around.into_iter().filter(|(_, bytes)| *bytes > 0).collect::<Vec<_>>());
            assert_eq!(written.gaps(from, bytes), []);
            copy.unset_all(from, bytes);
            assert_eq!(copy.gaps(0, 200), [(0, 200)]);
        }
    }
}
