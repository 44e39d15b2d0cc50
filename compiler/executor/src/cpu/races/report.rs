//! A race as a diagnostic.

use super::shadow::{Kind, Touch};
use super::{Block, MOST_REPORTED, Now, Races, pair};
use crate::cpu::graph::{Graph, NodeId};
use crate::cpu::machine::triple;
use crate::fault::{Access, Allocation, bytes, free_later};
use crate::program::Program;
use cdp_core::builtins::{Cdp, RuntimeFn};
use cdp_core::diag::{Code, Diagnostic};
use cdp_core::source::Span;

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
    SameCluster,
    SameGrid,
    /// One side is in a grid that launched the other's, or further up: its thread reads after the launch,
    ReadAfterLaunch,
    /// or writes after the launch,
    WriteAfterLaunch,
    /// or is not ordered with the launch, which another thread of the block makes,
    BesideLaunch,
    /// or is in another block than the launch.
    OtherBlock,
    Apart,
}

/// What is touched.
#[derive(Clone, Debug)]
pub(in crate::cpu) enum Subject {
    Memory,
    /// Memory that the later side gives back.
    Freed(Allocation),
    /// Shared memory of another block, which need not be there any more.
    Left,
    Stream,
    Event,
}

/// Two accesses that nothing orders.
#[derive(Clone, Debug)]
pub(in crate::cpu) struct Race {
    earlier: Party,
    later: Party,
    access: Access,
    relation: Relation,
    subject: Subject,
}

impl Races {
    /// Remembers a race, once for each pair of places.
    pub(super) fn report(&mut self, earlier: Touch, access: Access, subject: Subject, now: &Now<'_>, graph: &Graph) {
        if !self.seen.insert(pair(earlier.site, now.at.site)) {
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
        let others = if earlier.lanes & !own == 0 { earlier.lanes } else { earlier.lanes & !own };
        let lane = others.trailing_zeros().min(31);
        let thread = earlier.first + lane;
        let side = |block, thread, touch: &Touch| Place { block, thread, epoch: touch.epoch, reads: touch.kind.is_read() };
        let relation = relation(&side(block, thread, &earlier), &side(now.block, now.me.thread, &now.touch), graph);
        self.found.push(Race {
            earlier: Party {
                node: block.node,
                block: block.index,
                thread: thread - block.first,
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
            subject,
        });
    }
}

/// Where a side of a race is.
struct Place {
    block: Block,
    thread: u32,
    epoch: u32,
    reads: bool,
}

fn relation(earlier: &Place, later: &Place, graph: &Graph) -> Relation {
    let nodes = (earlier.block.node, later.block.node);
    if earlier.block.first == later.block.first {
        Relation::SameBlock
    } else if earlier.block.cluster == later.block.cluster {
        Relation::SameCluster
    } else if nodes.0 == nodes.1 {
        Relation::SameGrid
    } else if graph.within(nodes.0, nodes.1) {
        beside_launch(later, nodes.0, graph)
    } else if graph.within(nodes.1, nodes.0) {
        beside_launch(earlier, nodes.1, graph)
    } else {
        Relation::Apart
    }
}

/// How something in a grid stands to the launch that led to a grid below it.
fn beside_launch(above: &Place, below: NodeId, graph: &Graph) -> Relation {
    let launch = graph.child_towards(above.block.node, below).and_then(|child| graph.point(child));
    let Some(launch) = launch else { return Relation::Apart };
    if launch.thread.wrapping_sub(above.block.first) >= above.block.threads {
        Relation::OtherBlock
    } else if launch.thread != above.thread && launch.epoch == above.epoch {
        Relation::BesideLaunch
    } else if above.reads {
        Relation::ReadAfterLaunch
    } else {
        Relation::WriteAfterLaunch
    }
}

impl Kind {
    const fn noun(self) -> &'static str {
        match self {
            Self::Read => "a read",
            Self::Cached => "a texture or surface read",
            Self::Write => "a write",
            Self::VolatileRead => "a volatile read",
            Self::VolatileWrite => "a volatile write",
            Self::Atomic | Self::BlockAtomic => "an atomic operation",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Read | Self::Cached | Self::VolatileRead => "read",
            Self::Write | Self::VolatileWrite => "written",
            Self::Atomic | Self::BlockAtomic => "changed atomically",
        }
    }
}

impl Relation {
    /// The edge that is missing, and the section of the guide about it.
    const fn help(self, cdp: Cdp) -> (&'static str, &'static str) {
        match self {
            Self::ReadAfterLaunch | Self::WriteAfterLaunch if matches!(cdp, Cdp::Cdp1) => (
                "wait for the child before: `cudaDeviceSynchronize()`, whose result says whether it did; other threads of the block need a `__syncthreads()` behind it",
                "the page of the book on CDP1",
            ),
            Self::SameBlock => (
                "put `__syncthreads()` between the two, or let one thread do both",
                "CUDA programming guide, section 5.4.4, on barriers of a block",
            ),
            Self::SameCluster => (
                "put the barrier of the cluster between the two, `__cluster_barrier_arrive(); __cluster_barrier_wait();`, or use atomic operations",
                "CUDA programming guide, \"Distributed Shared Memory\"",
            ),
            Self::SameGrid => (
                "blocks of one grid run in any order: use atomic operations, or put the second half into a grid of its own",
                "CUDA programming guide, section 5.4.3, on what orders memory",
            ),
            Self::ReadAfterLaunch => (
                "a parent does not see what its child does: read it in a tail launch, `<<<…, cudaStreamTailLaunch>>>`",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::WriteAfterLaunch => (
                "the child may run at once or much later: do this before the launch, or in a tail launch",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::BesideLaunch => (
                "a child sees what its launching thread did before, not what other threads do: put `__syncthreads()` before the launch",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::OtherBlock if matches!(cdp, Cdp::Cdp1) => (
                "blocks of one grid run in any order: let the block that comes last launch, found by `__threadfence()` and an atomic counter",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::OtherBlock => (
                "blocks of one grid run in any order: let the block that comes last launch, found by `__threadfence()` and an atomic counter, or launch in a tail",
                "CUDA programming guide, section 4.18.3.1",
            ),
            Self::Apart if matches!(cdp, Cdp::Cdp1) => (
                "launch both into one stream, order them by an event, or wait for the one before the other is launched: `cudaDeviceSynchronize()`",
                "CUDA programming guide, section 4.18.2.3",
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

    /// The grids of both accesses, the later one first: their launches are shown.
    pub(in crate::cpu) const fn nodes(&self) -> [NodeId; 2] {
        [self.later.node, self.earlier.node]
    }

    /// Whether both are at places that lie in each other, as the read and the write of `x += 1` do.
    pub(in crate::cpu) fn is_like(&self, other: &Self, program: &Program) -> bool {
        let spans = |race: &Self| [race.earlier.site, race.later.site].map(|site| program.site(site));
        let within = |a: Span, b: Span| a.file == b.file && a.start >= b.start && a.end <= b.end;
        let nested = |a, b| within(a, b) || within(b, a);
        let ([a, b], [c, d]) = (spans(self), spans(other));
        (nested(a, c) && nested(b, d)) || (nested(a, d) && nested(b, c))
    }

    /// The bytes that both touch.
    pub(in crate::cpu) const fn access(&self) -> Access {
        self.access
    }

    /// As a diagnostic; `name` gives a kernel's name and block size by its node, `memory` says what the bytes are.
    pub(in crate::cpu) fn diagnostic(
        &self,
        program: &Program,
        name: impl Fn(NodeId) -> (String, [u32; 3]),
        memory: &str,
        cdp: Cdp,
    ) -> Diagnostic {
        let who = |party: &Party| {
            let (kernel, size) = name(party.node);
            let [width, height, _] = size.map(|size| size.max(1));
            let thread = [party.thread % width, party.thread / width % height, party.thread / (width * height)];
            if kernel.is_empty() {
                "a copy or fill".to_owned()
            } else {
                format!("thread {} of block {} of `{kernel}`", triple(thread), triple(party.block))
            }
        };
        let (earlier, later) = (program.site(self.earlier.site), program.site(self.later.site));
        match &self.subject {
            Subject::Memory => {}
            Subject::Freed(was) => {
                return Diagnostic::new(Code::E0728, earlier, "memory may have been given back before it is used")
                    .label(format!("{} here by {}", self.earlier.kind.done(), who(&self.earlier)))
                    .also(later, format!("given back here by {}, and nothing orders the two", who(&self.later)))
                    .also(was.span, "made here")
                    .help(free_later(Some(cdp)));
            }
            Subject::Left => {
                let message = "the shared memory of another block may be gone when it is used";
                return Diagnostic::new(Code::E0738, earlier, message)
                    .label(format!("{} here by {}", self.earlier.kind.done(), who(&self.earlier)))
                    .help("let the block wait before it ends: `__cluster_barrier_arrive(); __cluster_barrier_wait();` behind the last access of the others")
                    .note(format!(
                        "{memory}, of block {}, which may have ended; the shared memory of a block is there until it ends (CUDA programming guide, \"Distributed Shared Memory\")",
                        triple(self.later.block)
                    ));
            }
            Subject::Stream => return self.of_a_stream(earlier, later, who),
            Subject::Event => return self.of_an_event(program, earlier, later, who),
        }
        if self.later.kind == Kind::Cached && self.earlier.node == self.later.node {
            return self.stale(earlier, later, who, memory, cdp);
        }
        let (help, guide) = self.relation.help(cdp);
        let message = format!("{} and {} of the same memory race", self.earlier.kind.noun(), self.later.kind.noun());
        let done = |party: &Party| format!("{} here by {}", party.kind.done(), who(party));
        Diagnostic::new(Code::E0740, later, message)
            .label(done(&self.later))
            .also(earlier, format!("{}, and nothing orders the two", done(&self.earlier)))
            .help(help)
            .note(format!("{}: {memory}; {guide}", bytes(self.access.size)))
    }

    /// A read through the texture cache of what the same grid has written, ordered or not.
    fn stale(&self, earlier: Span, later: Span, who: impl Fn(&Party) -> String, memory: &str, cdp: Cdp) -> Diagnostic {
        Diagnostic::new(Code::E0747, later, "a texture or surface is read where the same grid has written")
            .label(format!("read here by {}", who(&self.later)))
            .also(earlier, format!("{} here by {}", self.earlier.kind.done(), who(&self.earlier)))
            .help(match cdp {
                Cdp::Cdp1 => "read it in another grid: a child that is launched after the write",
                Cdp::Cdp2 => "read it in another grid: a child that is launched after the write, or a tail launch",
            })
            .note(format!("{}: {memory}; the caches of textures and surfaces do not follow the writes of the grid that runs (CUDA programming guide, section 4.18.3.4.1)", bytes(self.access.size)))
    }

    /// The side that changes what a handle stands for, and the other.
    const fn change_first(&self) -> bool {
        matches!(self.earlier.kind, Kind::Write)
    }

    fn of_a_stream(&self, earlier: Span, later: Span, who: impl Fn(&Party) -> String) -> Diagnostic {
        let first = (earlier, &self.earlier);
        let second = (later, &self.later);
        let ((destroyed, by), (used, user)) = if self.change_first() { (first, second) } else { (second, first) };
        Diagnostic::new(Code::E0734, used, "this stream may have been destroyed before it is used")
            .label(format!("used here by {}", who(user)))
            .also(destroyed, format!("destroyed here by {}, and nothing orders the two", who(by)))
            .help("put `__syncthreads()` between the last use and `cudaStreamDestroy`")
    }

    fn of_an_event(&self, program: &Program, earlier: Span, later: Span, who: impl Fn(&Party) -> String) -> Diagnostic {
        let done = |party: &Party| {
            let call = program.call(party.site).map_or("used", RuntimeFn::name);
            format!("`{call}` here by {}", who(party))
        };
        Diagnostic::new(Code::E0740, later, "two uses of the same event race")
            .label(done(&self.later))
            .also(earlier, format!("{}, and nothing orders the two", done(&self.earlier)))
            .help("put `__syncthreads()` between recording an event and waiting for it, or let one thread do both")
            .note("whoever waits for an event that is not recorded yet waits for nothing (CUDA programming guide, section 4.18.2.3)")
    }
}
