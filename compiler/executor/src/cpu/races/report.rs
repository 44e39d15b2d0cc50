//! A race as a diagnostic.

use super::shadow::{Kind, Touch};
use super::{Block, MOST_REPORTED, Now, Races};
use crate::cpu::graph::{Graph, NodeId};
use crate::cpu::machine::triple;
use crate::fault::Access;
use crate::program::Program;
use cdp_core::diag::{Code, Diagnostic};

/// One side of a race.
#[derive(Clone, Copy, Debug)]
struct Party {
    node: NodeId,
    block: [u32; 3],
    /// The thread's place in its block.
    thread: u32,
    site: u32,
    kind: Kind,
}

/// How the two sides stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    SameBlock,
    SameGrid,
    /// The later side is in the grid that launched the earlier one's, or further up.
    ParentAfterChild,
    /// The earlier side is in the grid that launched the later one's, or further up.
    ChildAfterParent,
    Apart,
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug)]
pub(in crate::cpu) struct Race {
    earlier: Party,
    later: Party,
    access: Access,
    relation: Relation,
}

impl Races {
    /// Remembers a race, once for each pair of places.
    pub(super) fn report(&mut self, earlier: Touch, access: Access, now: &Now<'_>, graph: &Graph) {
        let (a, b) = (earlier.site.min(now.at.site), earlier.site.max(now.at.site));
        if !self.seen.insert((a, b)) {
            return;
        }
        if self.found.len() >= MOST_REPORTED {
            self.more += 1;
            return;
        }
        let place = self.blocks.partition_point(|block| block.first <= earlier.first).saturating_sub(1);
        let Some(block) = self.blocks.get(place).copied() else { return };
        // one of the lanes that is not the thread itself
        let own = if earlier.first == now.touch.first { now.touch.lanes } else { 0 };
        let lane = (earlier.lanes & !own).trailing_zeros().min(31);
        let relation = relation(block, now, graph);
        self.found.push(Race {
            earlier: Party {
                node: block.node,
                block: block.index,
                thread: earlier.first + lane - block.first,
                site: earlier.site,
                kind: earlier.kind,
            },
            later: Party {
                node: now.at.node,
                block: now.block.index,
                thread: now.me.thread - now.block.first,
                site: now.at.site,
                kind: now.touch.kind,
            },
            access,
            relation,
        });
    }
}

fn relation(earlier: Block, now: &Now<'_>, graph: &Graph) -> Relation {
    if earlier.first == now.block.first {
        Relation::SameBlock
    } else if earlier.node == now.at.node {
        Relation::SameGrid
    } else if graph.within(earlier.node, now.at.node) {
        Relation::ParentAfterChild
    } else if graph.within(now.at.node, earlier.node) {
        Relation::ChildAfterParent
    } else {
        Relation::Apart
    }
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic | Self::BlockAtomic => "atomic operation",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "written",
            Self::Atomic | Self::BlockAtomic => "changed atomically",
        }
    }
}

impl Relation {
    /// The edge that is missing, and the section of the guide about it.
    const fn help(self) -> (&'static str, &'static str) {
        match self {
            Self::SameBlock => (
                "put `__syncthreads()` between the two, or let one thread do both",
                "CUDA programming guide, section 5.4.4, on barriers of a block",
            ),
            Self::SameGrid => (
                "blocks of one grid run in any order: use atomic operations, or put the second half into a grid of its own",
                "CUDA programming guide, section 5.4.3, on what orders memory",
            ),
            Self::ParentAfterChild => (
                "a parent does not see what its child does: read it in a tail launch, `<<<…, cudaStreamTailLaunch>>>`",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::ChildAfterParent => (
                "a child sees what its launching thread did before the launch, and no more: put `__syncthreads()` before the launch for what other threads do, and write nothing after it that the child uses",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::Apart => (
                "launch both into one stream, or order them by an event or a tail launch",
                "CUDA programming guide, section 4.18.2.3",
            ),
        }
    }
}

impl Race {
    /// Whether one of the two is this step.
    pub(in crate::cpu) const fn is_at(&self, site: u32) -> bool {
        self.earlier.site == site || self.later.site == site
    }

    /// The grid of the later access, whose launches are shown.
    pub(in crate::cpu) const fn node(&self) -> NodeId {
        self.later.node
    }

    /// As a diagnostic; `block` gives a kernel's name and block size by its node.
    pub(in crate::cpu) fn diagnostic(&self, program: &Program, name: impl Fn(NodeId) -> (String, [u32; 3])) -> Diagnostic {
        let who = |party: &Party| {
            let (kernel, size) = name(party.node);
            let [width, height, _] = size.map(|size| size.max(1));
            let thread = [party.thread % width, party.thread / width % height, party.thread / (width * height)];
            if kernel.is_empty() {
                "a copy".to_owned()
            } else {
                format!("thread {} of block {} of `{kernel}`", triple(thread), triple(party.block))
            }
        };
        let (help, guide) = self.relation.help();
        let message = format!("a {} and a {} of the same memory race", self.earlier.kind.noun(), self.later.kind.noun());
        Diagnostic::new(Code::E0740, program.site(self.later.site), message)
            .label(format!("{} here by {}", self.later.kind.done(), who(&self.later)))
            .also(
                program.site(self.earlier.site),
                format!("{} here by {}, and nothing orders the two", self.earlier.kind.done(), who(&self.earlier)),
            )
            .help(help)
            .note(format!("{} bytes at {:#x}; {guide}", self.access.size, self.access.address))
    }
}
