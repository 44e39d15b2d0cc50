//! The control-flow graph: where blocks lead.

use super::{BlockId, Function, TerminatorKind};

impl TerminatorKind {
    /// Where control may go, in the order of the terminator's parts; a block may be named more than once.
    pub fn successors(&self) -> impl Iterator<Item = BlockId> + '_ {
        let (first, second, cases): (_, _, &[(u64, BlockId)]) = match self {
            Self::Goto(block) => (Some(*block), None, &[]),
            Self::Branch { then, otherwise, .. } => (Some(*then), Some(*otherwise), &[]),
            Self::Switch { cases, default, .. } => (None, Some(*default), cases),
            Self::Return(_) | Self::Unreachable => (None, None, &[]),
        };
        first.into_iter().chain(cases.iter().map(|(_, block)| *block)).chain(second)
    }

    /// Changes every block that control may go to.
    pub fn map_successors(&mut self, mut map: impl FnMut(BlockId) -> BlockId) {
        match self {
            Self::Goto(block) => *block = map(*block),
            Self::Branch { then, otherwise, .. } => {
                *then = map(*then);
                *otherwise = map(*otherwise);
            }
            Self::Switch { cases, default, .. } => {
                for (_, block) in cases {
                    *block = map(*block);
                }
                *default = map(*default);
            }
            Self::Return(_) | Self::Unreachable => {}
        }
    }
}

impl Function {
    /// By block: whether control can get there from the entry.
    #[must_use]
    pub fn reachable_blocks(&self) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![BlockId(0)];
        while let Some(block) = work.pop() {
            if let (Some(flag), Some(data)) = (reached.get_mut(block.index()), self.blocks.get(block.index()))
                && !*flag
            {
                *flag = true;
                work.extend(data.terminator.kind.successors());
            }
        }
        reached
    }
}
