//! Sets that flow forwards over the blocks of a function.

use super::Body;
use crate::ir::BlockId;

/// A set of small numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// The empty set, with room for `count` members.
    #[must_use]
    pub fn empty(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    /// The set of everything below `count`.
    #[must_use]
    pub fn full(count: usize) -> Self {
        let mut bits = Self::empty(count);
        (0..count).for_each(|member| bits.insert(member));
        bits
    }

    /// Puts a member in.
    pub fn insert(&mut self, member: usize) {
        if let Some(word) = self.words.get_mut(member / 64) {
            *word |= 1 << (member % 64);
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, member: usize) {
        if let Some(word) = self.words.get_mut(member / 64) {
            *word &= !(1 << (member % 64));
        }
    }

    /// Takes all members out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether it is a member.
    #[must_use]
    pub fn contains(&self, member: usize) -> bool {
        self.words.get(member / 64).is_some_and(|word| word >> (member % 64) & 1 == 1)
    }

    /// The members, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let of_word = |(index, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
        };
        self.words.iter().enumerate().flat_map(of_word)
    }

    fn unite(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
        *self != before
    }

    fn intersect(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
        *self != before
    }
}

/// What holds where ways meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meet {
    /// What holds on some way.
    Any,
    /// What holds on every way.
    All,
}

/// By block, the set at its start. `block` changes a set as the statements of a block do, `edge` as the way to the successor of this number does. The
/// entry starts with the empty set; blocks that control cannot reach have the empty set.
pub fn forward(
    body: &Body<'_>,
    count: usize,
    meet: Meet,
    block: impl Fn(BlockId, &mut Bits),
    edge: impl Fn(BlockId, usize, &mut Bits),
) -> Vec<Bits> {
    let size = body.function.blocks.len();
    let mut starts: Vec<Option<Bits>> = vec![None; size];
    if let Some(entry) = starts.first_mut() {
        *entry = Some(Bits::empty(count));
    }
    // blocks in their order, again from the first whose start has changed
    let mut dirty = vec![false; size];
    let mut work = std::collections::BTreeSet::from([0]);
    let place = |block: BlockId| body.control.place.get(block.index()).copied().unwrap_or(usize::MAX);
    while let Some(next) = work.pop_first() {
        let Some(at) = body.control.order.get(next).copied() else { continue };
        let Some(mut set) = starts.get(at.index()).cloned().flatten() else { continue };
        block(at, &mut set);
        for (number, successor) in body.control.successors.get(at.index()).into_iter().flatten().enumerate() {
            let mut along = set.clone();
            edge(at, number, &mut along);
            let Some(start) = starts.get_mut(successor.index()) else { continue };
            let changed = match (start.as_mut(), meet) {
                (None, _) => {
                    *start = Some(along);
                    true
                }
                (Some(start), Meet::Any) => start.unite(&along),
                // the entry has the empty set from outside, whatever comes round
                (Some(start), Meet::All) => start.intersect(&along),
            };
            if changed || dirty.get(successor.index()) == Some(&false) {
                work.insert(place(*successor));
            }
            if let Some(flag) = dirty.get_mut(successor.index()) {
                *flag = true;
            }
        }
    }
    starts.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_is_put_in() {
        let mut bits = Bits::empty(130);
        [0, 64, 129].into_iter().for_each(|member| bits.insert(member));
        bits.remove(64);
        assert_eq!(bits.iter().collect::<Vec<_>>(), [0, 129]);
        assert!(bits.contains(129) && !bits.contains(128) && !bits.contains(500));
        assert_eq!(Bits::full(70).iter().count(), 70);
    }
}
