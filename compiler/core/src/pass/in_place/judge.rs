//! What a child, and the place of its launch, must be like.

use super::Runner;
use super::warp::can_tell;
use crate::analysis::graph::{call_graph, components};
use crate::ir::{
    Access, BinaryOp, Block, BlockId, Function, FunctionId, Launch, Module, Operand, PlaceBase, Rvalue, StatementKind,
    TerminatorKind,
};
use crate::pass::merge::Obstacle;
use crate::pass::merge::facts::{Facts, is_fire_and_forget, is_free, order};
use crate::source::Span;

/// A child of more statements is not light.
const LIGHT: usize = 48;
/// Nor is one of more so small that it is worth to have it twice.
const HEAVY: usize = 320;

/// What a function does itself that matters only here.
#[derive(Clone, Copy, Debug, Default)]
struct More {
    /// Calls the runtime, and so may change the last error.
    calls: Option<Span>,
    /// Reads what other threads change: by an atomic operation whose result is used, or so that every access happens.
    polls: Option<Span>,
    /// The same in a loop, or a call in a loop of what does.
    waits: Option<Span>,
    /// Goes round, and not just a few times whatever it finds.
    loops: bool,
    statements: usize,
    /// Loads that wait for each other.
    depth: u32,
}

pub(super) struct Judge<'a> {
    module: &'a Module,
    facts: &'a Facts,
    /// By function.
    own: Vec<More>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(module: &'a Module, facts: &'a Facts) -> Self {
        let own = module.functions.iter().map(more).collect();
        let mut judge = Self { module, facts, own };
        let recursive = components(&call_graph(module, false)).cyclic;
        let functions = module.functions.iter().zip(recursive);
        let waits: Vec<Option<Span>> = functions.map(|(function, recursive)| judge.waits(function, recursive)).collect();
        for (own, waits) in judge.own.iter_mut().zip(waits) {
            own.waits = waits;
        }
        judge
    }

    /// What a child does, with what it calls: the first that `find` finds.
    fn reached<T>(&self, kernel: FunctionId, find: impl Fn(&More) -> Option<T>) -> Option<T> {
        self.facts.reached(kernel).into_iter().find_map(|id| self.own.get(id.index()).and_then(&find))
    }

    /// Where a function may wait for others: it goes round, by loops or by calls, and looks each time at what they change.
    fn waits(&self, function: &Function, recursive: bool) -> Option<Span> {
        for (block, in_loop) in function.blocks.iter().zip(cyclic_blocks(function)) {
            if !in_loop && !recursive {
                continue;
            }
            for statement in &block.statements {
                let found = match &statement.kind {
                    StatementKind::Call { function, .. } => self.reached(*function, |more| more.polls).is_some(),
                    kind => polls(kind),
                };
                if found {
                    return Some(statement.span);
                }
            }
        }
        None
    }

    /// Who best runs a launch in place; none where that costs more than to push it.
    pub(super) fn runner(&self, function: FunctionId, launch: &Launch) -> Option<Runner> {
        let reached = self.facts.reached(launch.kernel);
        let own = || reached.iter().filter_map(|id| self.own.get(id.index()));
        let statements: usize = own().map(|more| more.statements).sum();
        if own().any(|more| more.calls.is_some()) {
            return None;
        }
        let light = statements <= LIGHT && !own().any(|more| more.loops);
        let kernel = self.module.function(launch.kernel)?;
        // host code has no warps
        if can_tell(self.module, kernel) && !self.facts.info.is_on_host(function) && statements <= HEAVY {
            let depth = own().map(|more| more.depth).sum();
            return Some(Runner::Warp { light: light.then_some(depth) });
        }
        light.then_some(Runner::Thread)
    }

    /// Whether a launch can be run in place.
    pub(super) fn launch(&self, function: FunctionId, launch: &Launch, span: Span) -> Result<(), Obstacle> {
        let obstacle = |why: &str, span: Span| Err(Obstacle { why: why.to_owned(), span });
        if !is_free(launch) && launch.hints.inline_below.is_none() {
            return obstacle("it stays as it is", span);
        }
        if !is_fire_and_forget(&launch.stream) {
            return obstacle(order(launch), span);
        }
        if launch.shared.as_bits() != Some(0) {
            return obstacle("it is given dynamic shared memory", span);
        }
        let Some(child) = self.module.function(launch.kernel).filter(|kernel| !kernel.blocks.is_empty()) else {
            return obstacle("the child is defined elsewhere", span);
        };
        self.child(launch.kernel, child.span)?;
        self.parents(function, launch.kernel)
    }

    /// Whether a child that a function launches can be run in place and launches nothing.
    pub(super) fn is_leaf(&self, function: FunctionId, kernel: FunctionId) -> bool {
        let calls = self.reached(kernel, |more| more.calls);
        calls.is_none() && self.child(kernel, Span::default()).is_ok() && self.parents(function, kernel).is_ok()
    }

    /// One thread after the other is an order in which the child's threads may run, and their launching thread may be that thread.
    fn child(&self, kernel: FunctionId, span: Span) -> Result<(), Obstacle> {
        let does = self.facts.all(kernel);
        let more = |find: fn(&More) -> Option<Span>| self.reached(kernel, find);
        let reasons = [
            (does.external, "what the child calls there is defined elsewhere, and may ask for its place"),
            (does.barrier, "the child's threads wait for each other"),
            (does.shared, "the child has shared memory"),
            (does.warp, "the child talks to its warp"),
            (does.cluster, "the child works in clusters of blocks"),
            (does.gridid, "the child asks for the number of its grid"),
            (does.tail, "the child may make tail launches, which come when its grid has ended"),
            (does.ordered, "the child works in a stream, which belongs to its own grid or block"),
            (does.last_error, "the child looks at the last error, which each thread has for itself"),
            (
                more(|more| more.waits),
                "the child may wait there for what another thread does, perhaps the one that launched it",
            ),
            (does.cached, "the child reads through a cache that does not see what this grid wrote"),
        ];
        match reasons.into_iter().find_map(|(found, why)| found.map(|span| (span, why))) {
            Some((span, why)) => Err(Obstacle { why: why.to_owned(), span }),
            None if self.facts.shared(kernel) > 0 => Err(Obstacle { why: "the child has shared memory".to_owned(), span }),
            None => Ok(()),
        }
    }

    /// What the parents take for granted must hold of the child's work too.
    fn parents(&self, function: FunctionId, child: FunctionId) -> Result<(), Obstacle> {
        let obstacle = |why: String, span: Span| Err(Obstacle { why, span });
        if self.facts.info.is_on_host(function) {
            let span = self.module.function(function).map(|function| function.span).unwrap_or_default();
            return obstacle("host code calls the function that it stands in".to_owned(), span);
        }
        let calls = self.reached(child, |more| more.calls);
        let leads = self.facts.callers(std::iter::once(function));
        for (id, parent) in self.module.functions().filter(|(id, _)| leads.get(id.index()) == Some(&true)) {
            let restrict = parent.locals.iter().take(parent.param_count as usize).find(|param| param.restrict);
            if let Some(param) = restrict {
                let why = format!("`@restrict` promises of `{}` what the child's accesses need not keep to", param.name);
                return obstacle(why, param.span);
            }
            let Some(call) = calls else { continue };
            if let Some(look) = self.facts.all(id).last_error {
                return obstacle("the parent looks at the last error, which calls in the child would change".to_owned(), look);
            }
            if parent.exported && !parent.is_kernel() {
                return obstacle("its calls would change the last error of callers in other modules".to_owned(), call);
            }
        }
        Ok(())
    }
}

fn more(function: &Function) -> More {
    let mut more = More { loops: loops(function), depth: depth(function), ..More::default() };
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        more.statements += 1;
        let slot = match &statement.kind {
            StatementKind::Launch(_) | StatementKind::Runtime { .. } => &mut more.calls,
            kind if polls(kind) => &mut more.polls,
            _ => continue,
        };
        slot.get_or_insert(statement.span);
    }
    more
}

/// Rounds of a loop that are few.
const FEW_ROUNDS: u64 = 64;

/// Whether a function has loops, other than those that count to a small number.
fn loops(function: &Function) -> bool {
    let cyclic = cyclic_blocks(function);
    let in_loop = |id: BlockId| cyclic.get(id.index()) == Some(&true);
    function.blocks.iter().zip(&cyclic).any(|(block, round)| {
        let TerminatorKind::Branch { condition, then, otherwise } = &block.terminator.kind else { return false };
        let leaves = *round && in_loop(*then) != in_loop(*otherwise);
        let counts = block.statements.iter().any(|statement| match &statement.kind {
            StatementKind::Assign { dst, value: Rvalue::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Ne, _, last) } => {
                *condition == Operand::Local(*dst) && last.as_bits().is_some_and(|last| (1..=FEW_ROUNDS).contains(&last))
            }
            _ => false,
        });
        leaves && !counts
    })
}

/// How many loads of memory there are at most each of whose addresses comes from the one before, in one round of every loop.
fn depth(function: &Function) -> u32 {
    let mut behind = vec![0u32; function.locals.len()];
    let statements = || function.blocks.iter().flat_map(|block| &block.statements).map(|statement| &statement.kind);
    let mut most = 0;
    for kind in statements() {
        let mut depth = 0;
        kind.each_operand(&mut |operand| {
            if let Operand::Local(local) = operand {
                depth = behind.get(local.index()).copied().unwrap_or_default().max(depth);
            }
        });
        let waits = match kind {
            StatementKind::Load { place, .. } => !matches!(place.base, PlaceBase::Local(_)),
            StatementKind::Atomic { dst, .. } => dst.is_some(),
            _ => false,
        };
        depth += u32::from(waits);
        most = most.max(depth);
        if let Some(slot) = kind.destination().and_then(|dst| behind.get_mut(dst.index())) {
            *slot = depth.max(*slot);
        }
    }
    most
}

/// Whether a statement can see that another thread did something.
fn polls(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Atomic { dst, .. } => dst.is_some(),
        StatementKind::Load { access, .. } => matches!(access, Access::Volatile | Access::Relaxed | Access::Hinted(_)),
        _ => false,
    }
}

/// By block: whether control can come back to it.
fn cyclic_blocks(function: &Function) -> Vec<bool> {
    let successors = |block: &Block| block.terminator.kind.successors().map(BlockId::index).collect::<Vec<_>>();
    components(&function.blocks.iter().map(successors).collect::<Vec<_>>()).cyclic
}
