//! In which order things happen that the language leaves open.

/// When children run, and in which order blocks and threads take turns. Every one of them is an order that a GPU may choose; a program that
/// behaves differently under two of them has a mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// A child runs when the threads of its parent have ended, and blocks and threads run in order.
    #[default]
    Late,
    /// A child runs within its launch, as soon as what it waits for is complete; blocks and threads run in order.
    Eager,
    /// Everything is drawn from a seed: which of the grids that may run does, also in the midst of another, how many blocks of a grid run side
    /// by side, and the order of blocks, warps and threads, a few steps at a time. The same seed gives the same run.
    Random {
        /// Where the draw starts.
        seed: u64,
    },
}

/// A source of numbers that look drawn (splitmix64).
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    state: u64,
}

impl Draw {
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 when `end` is 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }
}

/// Every number below `len` once, in an order that jumps about, without a list of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    len: u64,
    first: u64,
    stride: u64,
}

impl Order {
    /// 0, 1, 2 …
    pub(super) const fn straight(len: u64) -> Self {
        Self { len, first: 0, stride: 1 }
    }

    /// Drawn.
    pub(super) fn drawn(len: u64, draw: &mut Draw) -> Self {
        let mut stride = 1 + draw.below(len);
        while common_divisor(stride, len) > 1 {
            stride = 1 + draw.below(len);
        }
        Self { len, first: draw.below(len), stride }
    }

    /// The number at a place of the order.
    pub(super) fn at(self, place: u64) -> u64 {
        let at = u128::from(place) * u128::from(self.stride) + u128::from(self.first);
        at.checked_rem(u128::from(self.len)).unwrap_or(0) as u64
    }
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        let mut draw = Draw::new(7);
        for len in [1u64, 2, 3, 6, 32, 100, 210] {
            for _ in 0..20 {
                let order = Order::drawn(len, &mut draw);
                let mut seen: Vec<u64> = (0..len).map(|place| order.at(place)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..len).collect::<Vec<_>>());
            }
        }
        assert_eq!((0..4).map(|place| Order::straight(4).at(place)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let (mut a, mut b) = (Draw::new(3), Draw::new(3));
        assert!((0..100).all(|_| a.below(1000) == b.below(1000)));
        assert_ne!(Draw::new(3).below(1 << 40), Draw::new(4).below(1 << 40));
    }
}
