//! Which nodes of a large tree are shown: the first ones of each list of siblings, from the top down, and a line for what is left out.

use super::Trace;
use std::collections::{BTreeMap, VecDeque};

/// So many siblings are shown whole; of longer lists, the first `FEW`.
const WHOLE: usize = 10;
const FEW: usize = 6;

/// A line of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// A node by its place in the list.
    Node { index: usize, depth: usize },
    /// Siblings that are not shown, with what lies below them.
    Folded(Folded),
}

/// What a line stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folded {
    pub depth: usize,
    /// The parent by its place in the list.
    pub parent: Option<usize>,
    /// How many of each kernel.
    pub kernels: BTreeMap<String, usize>,
    /// How many nodes lie below those.
    pub below: usize,
    /// From the first start to the last completion.
    pub started: Option<u64>,
    pub complete: Option<u64>,
}

impl Trace {
    /// The lines of the picture, `most` or a few more.
    pub(super) fn rows(&self, most: usize) -> Vec<Row> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match node.parent.and_then(|parent| self.index(parent)).and_then(|parent| children.get_mut(parent)) {
                Some(list) => list.push(index),
                None => roots.push(index),
            }
        }
        let shown = choose(&roots, &children, most);
        let mut rows = Vec::new();
        let mut pending = Vec::new();
        self.list(None, &roots, 0, &shown, &children, &mut pending);
        while let Some(row) = pending.pop() {
            if let Row::Node { index, depth } = row
                && let Some(below) = children.get(index)
            {
                self.list(Some(index), below, depth + 1, &shown, &children, &mut pending);
            }
            rows.push(row);
        }
        rows
    }

    /// The lines of a list of siblings, the last first.
    fn list(
        &self,
        parent: Option<usize>,
        siblings: &[usize],
        depth: usize,
        shown: &[bool],
        children: &[Vec<usize>],
        pending: &mut Vec<Row>,
    ) {
        let is_shown = |index: &usize| shown.get(*index).copied().unwrap_or(false);
        let hidden: Vec<usize> = siblings.iter().copied().filter(|index| !is_shown(index)).collect();
        if !hidden.is_empty() {
            pending.push(Row::Folded(self.folded(parent, hidden, depth, children)));
        }
        pending.extend(siblings.iter().filter(|index| is_shown(index)).rev().map(|&index| Row::Node { index, depth }));
    }

    fn folded(&self, parent: Option<usize>, hidden: Vec<usize>, depth: usize, children: &[Vec<usize>]) -> Folded {
        let mut folded = Folded { depth, parent, ..Folded::default() };
        for node in hidden.iter().filter_map(|index| self.nodes.get(*index)) {
            let name = if node.kernel.is_empty() { node.kind.name() } else { &node.kernel };
            *folded.kernels.entry(name.to_owned()).or_default() += 1;
            folded.started = match (folded.started, node.started) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            folded.complete = folded.complete.max(node.complete);
        }
        let mut pending = hidden;
        while let Some(index) = pending.pop() {
            let below = children.get(index).map(Vec::as_slice).unwrap_or_default();
            folded.below += below.len();
            pending.extend(below);
        }
        folded
    }
}

/// From the top down, so that every shown node's parent is shown.
fn choose(roots: &[usize], children: &[Vec<usize>], most: usize) -> Vec<bool> {
    let mut shown = vec![false; children.len()];
    let mut count = 0;
    let mut lists = VecDeque::from([roots]);
    while let Some(list) = lists.pop_front() {
        let take = if list.len() <= WHOLE { list.len() } else { FEW };
        for index in list.iter().take(take.min(most - count)) {
            if let Some(shown) = shown.get_mut(*index) {
                *shown = true;
                count += 1;
            }
            lists.extend(children.get(*index).map(Vec::as_slice));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::Node;
    use super::*;

    fn trace(parents: &[Option<u32>]) -> Trace {
        let node = |(id, parent): (u32, &Option<u32>)| Node { id, parent: *parent, kernel: "k".to_owned(), ..Node::default() };
        Trace { nodes: (0..).zip(parents).map(node).collect() }
    }

    #[test]
    fn children_stand_below_their_parents() {
        let rows = trace(&[None, None, Some(0), Some(2), Some(0)]).rows(100);
        let places: Vec<(usize, usize)> = rows
            .iter()
            .map(|row| match row {
                Row::Node { index, depth } => (*index, *depth),
                Row::Folded(_) => panic!("{rows:?}"),
            })
            .collect();
        assert_eq!(places, [(0, 0), (2, 1), (3, 2), (4, 1), (1, 0)]);
    }

    #[test]
    fn long_lists_and_deep_trees_are_folded() {
        let mut parents = vec![None];
        parents.extend([Some(0); 100]);
        parents.extend([Some(50); 3]);
        let rows = trace(&parents).rows(1000);
        assert_eq!(rows.len(), 1 + FEW + 1);
        let Some(Row::Folded(folded)) = rows.last() else { panic!("{rows:?}") };
        assert_eq!((folded.depth, folded.parent, folded.below), (1, Some(0), 3));
        assert_eq!(folded.kernels.get("k"), Some(&94));
        // a chain
        let parents: Vec<Option<u32>> = (0..500u32).map(|id| id.checked_sub(1)).collect();
        let rows = trace(&parents).rows(20);
        assert_eq!(rows.len(), 21);
        assert!(matches!(rows.last(), Some(Row::Folded(folded)) if folded.below == 479), "{rows:?}");
    }
}
