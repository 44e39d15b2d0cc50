//! Which bytes of a piece of memory have ever been written.

/// One bit a byte.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    words: Vec<u64>,
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
    pub(super) fn none(bytes: u64) -> Self {
        Self { words: vec![0; usize::try_from(bytes.div_ceil(64)).unwrap_or(0)] }
    }

    /// The same, with its memory used again.
    pub(super) fn reset(&mut self, bytes: u64) {
        self.words.clear();
        self.words.resize(usize::try_from(bytes.div_ceil(64)).unwrap_or(0), 0);
    }

    pub(super) fn set(&mut self, from: u64, bytes: u64) {
        for (word, bits) in words(from, bytes) {
            if let Some(word) = self.words.get_mut(word) {
                *word |= bits;
            }
        }
    }

    /// Whether all of these were written.
    pub(super) fn all(&self, from: u64, bytes: u64) -> bool {
        words(from, bytes).all(|(word, bits)| self.words.get(word).is_some_and(|word| word & bits == bits))
    }

    /// As many bytes of another, as written as they are there.
    pub(super) fn copy(&mut self, to: u64, other: &Self, from: u64, bytes: u64) {
        for at in 0..bytes {
            for (word, bits) in words(to + at, 1) {
                if let Some(word) = self.words.get_mut(word) {
                    *word = if other.all(from + at, 1) { *word | bits } else { *word & !bits };
                }
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
            let mut copy = Written::none(200);
            copy.set(0, 200);
            copy.copy(0, &written, 0, 200);
            assert_eq!(copy.words, written.words);
        }
    }
}
