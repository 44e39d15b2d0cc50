//! Strongly connected components: the order in which summaries of functions are made.

use crate::ir::{Module, StatementKind};

/// The components of a graph, callees before callers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Nodes of one component, those found last first, which as a rule is callees before callers; a component's successors stand before it.
    pub order: Vec<Vec<usize>>,
    /// By node: whether it is on a cycle.
    pub cyclic: Vec<bool>,
}

/// Who calls, or calls and launches, whom: by function, callees in ascending order, each once.
#[must_use]
pub fn call_graph(module: &Module, with_launches: bool) -> Vec<Vec<usize>> {
    let edges = |function: &crate::ir::Function| {
        let mut callees: Vec<usize> = function
            .blocks
            .iter()
            .flat_map(|block| &block.statements)
            .filter_map(|statement| match &statement.kind {
                StatementKind::Call { function, .. } => Some(function.index()),
                StatementKind::Launch(launch) if with_launches => Some(launch.kernel.index()),
                _ => None,
            })
            .filter(|callee| *callee < module.functions.len())
            .collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    };
    module.functions.iter().map(edges).collect()
}

/// Where a node's search is.
struct Frame {
    node: usize,
    next: usize,
}

/// Tarjan's algorithm, with its own stack, so that no chain of calls is too long.
struct Search<'g> {
    edges: &'g [Vec<usize>],
    /// By node: when it was found; 0 for not yet.
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    frames: Vec<Frame>,
    count: usize,
    result: Components,
}

/// The components of a graph given by its successors.
#[must_use]
pub fn components(edges: &[Vec<usize>]) -> Components {
    let size = edges.len();
    let mut search = Search {
        edges,
        index: vec![0; size],
        low: vec![0; size],
        on_stack: vec![false; size],
        stack: Vec::new(),
        frames: Vec::new(),
        count: 0,
        result: Components { order: Vec::new(), cyclic: vec![false; size] },
    };
    for node in 0..size {
        if search.index.get(node) == Some(&0) {
            search.enter(node);
            search.run();
        }
    }
    search.result
}

impl Search<'_> {
    fn enter(&mut self, node: usize) {
        self.count += 1;
        for list in [&mut self.index, &mut self.low] {
            if let Some(entry) = list.get_mut(node) {
                *entry = self.count;
            }
        }
        if let Some(flag) = self.on_stack.get_mut(node) {
            *flag = true;
        }
        self.stack.push(node);
        self.frames.push(Frame { node, next: 0 });
    }

    fn run(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            let node = frame.node;
            let successor = self.edges.get(node).and_then(|list| list.get(frame.next)).copied();
            frame.next += 1;
            match successor {
                Some(successor) => match self.index.get(successor) {
                    Some(0) => self.enter(successor),
                    Some(found) if self.on_stack.get(successor) == Some(&true) => {
                        let found = *found;
                        self.lower(node, found);
                    }
                    _ => {}
                },
                None => self.leave(node),
            }
        }
    }

    fn lower(&mut self, node: usize, to: usize) {
        if let Some(low) = self.low.get_mut(node) {
            *low = (*low).min(to);
        }
    }

    fn leave(&mut self, node: usize) {
        self.frames.pop();
        let low = self.low.get(node).copied().unwrap_or(0);
        if let Some(parent) = self.frames.last() {
            let parent = parent.node;
            self.lower(parent, low);
        }
        if self.index.get(node) != Some(&low) {
            return;
        }
        let mut component = Vec::new();
        while let Some(member) = self.stack.pop() {
            if let Some(flag) = self.on_stack.get_mut(member) {
                *flag = false;
            }
            component.push(member);
            if member == node {
                break;
            }
        }
        let itself = |node: usize| self.edges.get(node).is_some_and(|list| list.contains(&node));
        if component.len() > 1 || component.first().is_some_and(|node| itself(*node)) {
            for member in &component {
                if let Some(flag) = self.result.cyclic.get_mut(*member) {
                    *flag = true;
                }
            }
        }
        self.result.order.push(component);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_before_callers_and_cycles_together() {
        // 0 → 1 → 2 → 1, 2 → 3, 4 → 4
        let found = components(&[vec![1], vec![2], vec![1, 3], vec![], vec![4]]);
        assert_eq!(found.order, [vec![3], vec![2, 1], vec![0], vec![4]]);
        assert_eq!(found.cyclic, [false, true, true, false, true]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let edges: Vec<Vec<usize>> = (0..200_000).map(|node| if node < 199_999 { vec![node + 1] } else { vec![] }).collect();
        let found = components(&edges);
        assert_eq!(found.order.first(), Some(&vec![199_999]));
        assert_eq!(found.order.len(), 200_000);
    }
}
