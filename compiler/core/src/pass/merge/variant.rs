//! Functions as merged grids run them: a thread's place is given to them, not asked for, and what they push goes into a context that
//! they are given too.

use super::facts::Facts;
use super::plan::{MergeMode, Plan};
use super::push::Pushers;
use super::rewrite::{self, Context};
use crate::builtins::Register;
use crate::ir::{Function, FunctionId, FunctionKind, Inline, Local, LocalId, Module, Operand, Rvalue, StatementKind};
use crate::pass::params;
use crate::types::TypeTable;
use std::collections::BTreeMap;

/// How a variant is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Blocks,
    Threads,
    /// Thread by thread, by blocks that run some of what they push themselves.
    Kept,
}

impl Way {
    pub(super) const fn of(mode: MergeMode) -> Self {
        match mode {
            MergeMode::Blocks => Self::Blocks,
            MergeMode::Threads => Self::Threads,
        }
    }
}

/// By function and way of running: its variant.
pub(super) type Variants = BTreeMap<(FunctionId, Way), FunctionId>;

/// What stands for a place in a grid, in the order of the parameters.
pub(super) const BLOCK_PLACE: [Register; 6] =
    [Register::BlockIdxX, Register::BlockIdxY, Register::BlockIdxZ, Register::GridDimX, Register::GridDimY, Register::GridDimZ];
/// The same for a place in a block.
const THREAD_PLACE: [Register; 6] = [
    Register::ThreadIdxX,
    Register::ThreadIdxY,
    Register::ThreadIdxZ,
    Register::BlockDimX,
    Register::BlockDimY,
    Register::BlockDimZ,
];

/// The registers that a variant is given the values of.
pub(super) fn registers(mode: MergeMode) -> impl Iterator<Item = Register> {
    let more: &[Register] = if mode == MergeMode::Threads { &THREAD_PLACE } else { &[] };
    BLOCK_PLACE.iter().chain(more).copied()
}

/// Adds a variant of every child kernel, and of the functions that it calls where they need one. Their launches are pushes already.
/// Threads of different grids side by side have no arguments in common: they call what is `general`.
pub(super) fn add(
    module: &mut Module,
    facts: &Facts,
    plan: &Plan,
    pushers: &Pushers,
    general: &BTreeMap<FunctionId, FunctionId>,
) -> Variants {
    let mut variants = Variants::new();
    for queue in &plan.queues {
        for way in std::iter::once(Way::of(queue.mode)).chain(queue.keeps.then_some(Way::Kept)) {
            for id in facts.reached(queue.kernel) {
                let needed = id == queue.kernel || needs(plan, facts, id, way != Way::Blocks);
                if needed && !variants.contains_key(&(id, way)) {
                    let Some(original) = module.function(id).cloned() else { continue };
                    variants.insert((id, way), module.add_function(original));
                }
            }
        }
    }
    for ((original, way), id) in &variants {
        let (mode, word) = match way {
            Way::Blocks => (MergeMode::Blocks, "blocks"),
            Way::Threads => (MergeMode::Threads, "threads"),
            Way::Kept => (MergeMode::Threads, "kept"),
        };
        if let Some(function) = module.functions.get_mut(id.index()) {
            if function.is_kernel() {
                function.inline = Inline::Always;
            }
            function.symbol = format!("cdpc$merge${word}${}", function.symbol);
            let next = given(function, Some("next"), mode, |id| variants.get(&(id, *way)).copied());
            let context = if *way == Way::Kept { Context::Kept(next) } else { Context::Given(next) };
            rewrite::pushes(plan, pushers, *original, function, context);
            for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements).filter(|_| *way != Way::Blocks)
            {
                if let StatementKind::Call { function, .. } = &mut statement.kind
                    && let Some(other) = general.get(function)
                {
                    *function = *other;
                }
            }
        }
    }
    variants
}

/// Whether a function asks for a place, pushes, or calls what does.
fn needs(plan: &Plan, facts: &Facts, id: FunctionId, threads: bool) -> bool {
    let does = facts.all(id);
    let pushes = plan.pushes.get(id.index()) == Some(&true);
    does.block_place.is_some() || does.tail.is_some() || pushes || (threads && does.thread_place.is_some())
}

/// Makes a function one that is given its place in the grid: parameters behind its own say what registers did. Another one may come before
/// them. All of them are handed on to what the function calls, where that has a variant, too. Gives the first.
pub(in crate::pass) fn given(
    function: &mut Function,
    before: Option<&str>,
    mode: MergeMode,
    variant: impl Fn(FunctionId) -> Option<FunctionId>,
) -> LocalId {
    function.kind = FunctionKind::Plain;
    function.exported = false;
    function.launch_bounds = None;
    let span = function.span;
    let local = |name: &str| Local { name: name.to_owned(), ty: TypeTable::U32, restrict: false, span };
    let first = params::append(function, before.map(local).into_iter().chain(registers(mode).map(|_| local(""))).collect());
    let added = (first.0..function.param_count).map(LocalId);
    let places: Vec<(Register, LocalId)> = registers(mode).zip(added.clone().skip(usize::from(before.is_some()))).collect();
    for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
        match &mut statement.kind {
            StatementKind::Assign { value, .. } => {
                if let Rvalue::Register(register) = value
                    && let Some((_, local)) = places.iter().find(|(place, _)| place == register)
                {
                    *value = Rvalue::Use(Operand::Local(*local));
                }
            }
            StatementKind::Call { function, args, .. } => {
                if let Some(variant) = variant(*function) {
                    *function = variant;
                    args.extend(added.clone().map(Operand::Local));
                }
            }
            _ => {}
        }
    }
    first
}
