//! Control flow of one function: dominators, postdominators, control dependence, loops.
//!
//! Dominators are computed by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm"); control dependence is that of
//! Ferrante, Ottenstein and Warren ("The Program Dependence Graph and Its Use in Optimization"), edge by edge.

use crate::ir::{BlockId, Function};

/// One way out of a branch, on which it depends whether a block runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Decision {
    /// The block whose terminator decides.
    pub block: BlockId,
    /// Which of the terminator's successors, from 0.
    pub edge: u32,
}

/// What is known of a function's control flow. Blocks that control cannot reach have no dominator, no decisions and no loop.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// By block: where control may go, in the order of the terminator.
    pub successors: Vec<Vec<BlockId>>,
    /// By block: where control may come from, each once.
    pub predecessors: Vec<Vec<BlockId>>,
    /// Reachable blocks, each before its successors but for back edges.
    pub order: Vec<BlockId>,
    /// By block: the place in `order`; `usize::MAX` for unreachable ones.
    pub place: Vec<usize>,
    /// By block: its immediate dominator; none for the entry.
    pub dominator: Vec<Option<BlockId>>,
    /// By block: the decisions that it depends on directly.
    pub decisions: Vec<Vec<Decision>>,
    /// By block: the header of the innermost loop that it lies in, which for a header is itself.
    pub header: Vec<Option<BlockId>>,
    /// By block: the header of the loop around that loop.
    outer: Vec<Option<BlockId>>,
}

const NONE: usize = usize::MAX;

/// The immediate dominators of a graph, by node; the root has itself, unreachable nodes `NONE`. Also the order in which they were computed.
fn immediate_dominators(root: usize, successors: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    let order = reverse_postorder(root, successors);
    let mut place = vec![NONE; successors.len()];
    for (index, node) in order.iter().enumerate() {
        set(&mut place, *node, index);
    }
    let mut predecessors = vec![Vec::new(); successors.len()];
    for node in &order {
        for successor in successors.get(*node).into_iter().flatten() {
            if let Some(list) = predecessors.get_mut(*successor) {
                list.push(*node);
            }
        }
    }
    let mut dominator = vec![NONE; successors.len()];
    set(&mut dominator, root, root);
    let mut changed = true;
    while changed {
        changed = false;
        for node in order.iter().skip(1) {
            let mut new = NONE;
            for predecessor in predecessors.get(*node).into_iter().flatten() {
                if get(&dominator, *predecessor) != NONE {
                    new = if new == NONE { *predecessor } else { common(new, *predecessor, &dominator, &place) };
                }
            }
            if get(&dominator, *node) != new {
                set(&mut dominator, *node, new);
                changed = true;
            }
        }
    }
    (dominator, order)
}

fn common(mut a: usize, mut b: usize, dominator: &[usize], place: &[usize]) -> usize {
    while a != b {
        while get(place, a) > get(place, b) {
            a = get(dominator, a);
        }
        while get(place, b) > get(place, a) {
            b = get(dominator, b);
        }
    }
    a
}

fn get(list: &[usize], index: usize) -> usize {
    list.get(index).copied().unwrap_or(NONE)
}

fn set(list: &mut [usize], index: usize, value: usize) {
    if let Some(entry) = list.get_mut(index) {
        *entry = value;
    }
}

fn reverse_postorder(root: usize, successors: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(root, 0)];
    if let Some(flag) = seen.get_mut(root) {
        *flag = true;
    }
    while let Some((node, next)) = stack.last_mut() {
        let successor = successors.get(*node).and_then(|list| list.get(*next)).copied();
        *next += 1;
        match successor {
            Some(successor) => {
                if let Some(flag) = seen.get_mut(successor)
                    && !*flag
                {
                    *flag = true;
                    stack.push((successor, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

fn id(index: usize) -> BlockId {
    BlockId(u32::try_from(index).unwrap_or(u32::MAX))
}

impl Control {
    /// Looks at a function; of one that is defined elsewhere nothing is known.
    #[must_use]
    pub fn new(function: &Function) -> Self {
        let size = function.blocks.len();
        if size == 0 {
            return Self::default();
        }
        let successors: Vec<Vec<usize>> = function
            .blocks
            .iter()
            .map(|block| block.terminator.kind.successors().map(BlockId::index).filter(|index| *index < size).collect())
            .collect();
        let (dominator, order) = immediate_dominators(0, &successors);
        let mut place = vec![NONE; size];
        for (index, block) in order.iter().enumerate() {
            set(&mut place, *block, index);
        }
        let mut predecessors = vec![Vec::new(); size];
        for block in &order {
            for successor in successors.get(*block).into_iter().flatten() {
                if let Some(list) = predecessors.get_mut(*successor)
                    && list.last() != Some(&id(*block))
                {
                    list.push(id(*block));
                }
            }
        }
        let mut control = Self {
            successors: successors.iter().map(|list| list.iter().copied().map(id).collect()).collect(),
            predecessors,
            order: order.iter().copied().map(id).collect(),
            place,
            dominator: (0..size)
                .map(|block| Some(get(&dominator, block)).filter(|found| *found != NONE && *found != block).map(id))
                .collect(),
            decisions: control_dependence(&successors, &order),
            header: vec![None; size],
            outer: vec![None; size],
        };
        control.find_loops();
        control
    }

    /// Whether control can reach the block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        get(&self.place, block.index()) != NONE
    }

    /// Whether every way to `block` leads through `by`; a block dominates itself.
    #[must_use]
    pub fn dominates(&self, by: BlockId, block: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(block) = at {
            if block == by {
                return true;
            }
            at = self.dominator.get(block.index()).copied().flatten();
        }
        false
    }

    /// Whether the block is the header of a loop.
    #[must_use]
    pub fn is_header(&self, block: BlockId) -> bool {
        self.header.get(block.index()).copied().flatten() == Some(block)
    }

    /// The headers of the loops around a block, innermost first.
    pub fn loops(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        let first = self.header.get(block.index()).copied().flatten();
        std::iter::successors(first, |header| self.outer.get(header.index()).copied().flatten())
    }

    /// Whether the block lies in the loop of this header.
    #[must_use]
    pub fn is_in_loop(&self, block: BlockId, header: BlockId) -> bool {
        self.loops(block).any(|around| around == header)
    }

    /// Natural loops of back edges to a dominating header. Loops that can be entered in two places, which no source makes, are none.
    fn find_loops(&mut self) {
        // inner headers come later in the order, so going backwards meets them first
        for header in self.order.clone().into_iter().rev() {
            let latches: Vec<BlockId> = self
                .predecessors
                .get(header.index())
                .into_iter()
                .flatten()
                .copied()
                .filter(|latch| self.dominates(header, *latch))
                .collect();
            if latches.is_empty() {
                continue;
            }
            let mut work = latches;
            self.enclose(header, header);
            while let Some(block) = work.pop() {
                let outermost = self.loops(block).last();
                match outermost {
                    Some(outermost) if outermost == header => {}
                    // an inner loop that is known already: go on from its header
                    Some(outermost) => {
                        if let Some(entry) = self.outer.get_mut(outermost.index()) {
                            *entry = Some(header);
                        }
                        work.extend(self.predecessors.get(outermost.index()).into_iter().flatten());
                    }
                    None => {
                        self.enclose(block, header);
                        work.extend(self.predecessors.get(block.index()).into_iter().flatten());
                    }
                }
            }
        }
    }

    fn enclose(&mut self, block: BlockId, header: BlockId) {
        if let Some(entry) = self.header.get_mut(block.index()) {
            *entry = Some(header);
        }
    }
}

/// By block: the decisions on which it depends directly. Every return and every block without an end leads to one exit.
fn control_dependence(successors: &[Vec<usize>], order: &[usize]) -> Vec<Vec<Decision>> {
    let size = successors.len();
    let mut reversed = vec![Vec::new(); size + 1];
    let exit = size;
    let mut add = |from: usize, to: usize| {
        if let Some(list) = reversed.get_mut(to) {
            list.push(from);
        }
    };
    for block in order {
        match successors.get(*block) {
            Some(list) if !list.is_empty() => list.iter().for_each(|successor| add(*block, *successor)),
            _ => add(*block, exit),
        }
    }
    let reached: Vec<usize> = reverse_postorder(exit, &reversed);
    let mut ends = vec![false; size + 1];
    for node in reached {
        if let Some(flag) = ends.get_mut(node) {
            *flag = true;
        }
    }
    // an endless loop gets a way out, so that postdominance means something in it
    for block in order {
        if ends.get(*block) == Some(&false) {
            if let Some(list) = reversed.get_mut(exit) {
                list.push(*block);
            }
            let mut work = vec![*block];
            while let Some(node) = work.pop() {
                if let Some(flag) = ends.get_mut(node)
                    && !*flag
                {
                    *flag = true;
                    work.extend(reversed.get(node).into_iter().flatten());
                }
            }
        }
    }
    let (postdominator, _) = immediate_dominators(exit, &reversed);
    let mut decisions = vec![Vec::new(); size];
    for block in order {
        let list = successors.get(*block).map_or(&[][..], Vec::as_slice);
        if list.len() < 2 {
            continue;
        }
        let stop = get(&postdominator, *block);
        for (edge, successor) in list.iter().enumerate() {
            let decision = Decision { block: id(*block), edge: u32::try_from(edge).unwrap_or(u32::MAX) };
            let mut at = *successor;
            while at != stop && at != exit && at != NONE {
                if let Some(list) = decisions.get_mut(at)
                    && list.last() != Some(&decision)
                {
                    list.push(decision);
                }
                at = get(&postdominator, at);
            }
        }
    }
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::function;

    fn control(body: &str) -> Control {
        let function = function(body, "k");
        Control::new(&function)
    }

    fn depends(control: &Control, block: u32) -> Vec<(u32, u32)> {
        control.decisions[block as usize].iter().map(|d| (d.block.0, d.edge)).collect()
    }

    #[test]
    fn a_branch_decides_over_its_sides_and_not_over_what_follows() {
        let control = control(
            "kernel &k#0 params 1 -> void exported {\n  %c#0: bool\nbb0:\n  branch %c#0, bb1, bb2\nbb1:\n  goto bb3\nbb2:\n  goto bb3\nbb3:\n  return\n}\n",
        );
        assert_eq!(depends(&control, 1), [(0, 0)]);
        assert_eq!(depends(&control, 2), [(0, 1)]);
        assert!(depends(&control, 3).is_empty());
        assert_eq!(control.dominator[3], Some(BlockId(0)));
        assert!(control.dominates(BlockId(0), BlockId(3)) && !control.dominates(BlockId(1), BlockId(3)));
    }

    #[test]
    fn an_early_return_decides_over_all_that_follows() {
        let control = control(
            "kernel &k#0 params 1 -> void exported {\n  %c#0: bool\nbb0:\n  branch %c#0, bb1, bb2\nbb1:\n  return\nbb2:\n  goto bb3\nbb3:\n  return\n}\n",
        );
        assert_eq!(depends(&control, 3), [(0, 1)]);
    }

    #[test]
    fn loops_nest() {
        // 1: outer header, 2: inner header, 3: inner latch, 4: outer latch, 5: after
        let control = control(
            "kernel &k#0 params 1 -> void exported {\n  %c#0: bool\nbb0:\n  goto bb1\nbb1:\n  branch %c#0, bb2, bb5\nbb2:\n  branch %c#0, bb3, bb4\nbb3:\n  goto bb2\nbb4:\n  goto bb1\nbb5:\n  return\n}\n",
        );
        let loops = |block| control.loops(BlockId(block)).map(|b| b.0).collect::<Vec<_>>();
        assert_eq!(loops(3), [2, 1]);
        assert_eq!(loops(2), [2, 1]);
        assert_eq!(loops(4), [1]);
        assert!(loops(0).is_empty() && loops(5).is_empty());
        assert_eq!(depends(&control, 1), [(1, 0)], "whether a loop goes on is up to itself");
    }

    #[test]
    fn an_endless_loop_is_no_trouble() {
        let control = control(
            "kernel &k#0 params 1 -> void exported {\n  %c#0: bool\nbb0:\n  goto bb1\nbb1:\n  branch %c#0, bb2, bb3\nbb2:\n  goto bb1\nbb3:\n  goto bb1\n}\n",
        );
        assert_eq!(depends(&control, 2), [(1, 0)]);
        assert!(control.is_header(BlockId(1)));
    }
}
