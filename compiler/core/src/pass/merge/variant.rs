//! Functions as merged grids run them: a thread's place is given to them, not asked for, and what they push goes into a context that
//! they are given too.

use super::facts::{Facts, is_block_place};
use super::plan::{MergeMode, Plan};
use super::push::Pushers;
use super::rewrite::{self, Context};
use crate::builtins::Register;
use crate::ir::{Function, FunctionId, FunctionKind, Inline, Local, LocalId, Module, Operand, Rvalue, StatementKind};
use crate::pass::params;
use crate::types::TypeTable;
use std::collections::BTreeMap;

/// By function and way of running: its variant.
pub(super) type Variants = BTreeMap<(FunctionId, bool), FunctionId>;

/// What stands for a place in a grid, in the order of the parameters.
const BLOCK_PLACE: [Register; 6] =
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
pub(in crate::pass) fn registers(mode: MergeMode) -> impl Iterator<Item = Register> {
    let more: &[Register] = if mode == MergeMode::Threads { &THREAD_PLACE } else { &[] };
    BLOCK_PLACE.iter().chain(more).copied()
}

/// Adds a variant of every child kernel, and of the functions that it calls where they need one. Their launches are pushes already.
pub(super) fn add(module: &mut Module, facts: &Facts, plan: &Plan, pushers: &Pushers) -> Variants {
    let mut variants = Variants::new();
    for queue in &plan.queues {
        let threads = queue.mode == MergeMode::Threads;
        for id in facts.reached(queue.kernel) {
            if (id == queue.kernel || needs(plan, facts, id, threads)) && !variants.contains_key(&(id, threads)) {
                let new = FunctionId(u32::try_from(module.functions.len()).unwrap_or(u32::MAX));
                let Some(original) = module.function(id) else { continue };
                let function = original.clone();
                module.functions.push(function);
                variants.insert((id, threads), new);
            }
        }
    }
    for ((original, threads), id) in &variants {
        let mode = if *threads { MergeMode::Threads } else { MergeMode::Blocks };
        if let Some(function) = module.functions.get_mut(id.index()) {
            let hidden = signature(function, mode);
            rewrite::pushes(plan, pushers, *original, function, Context::Given(hidden.next));
            body(function, &hidden, *threads, &variants);
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

/// The parameters that a variant has more.
struct Hidden {
    next: LocalId,
    places: Vec<(Register, LocalId)>,
}

/// Puts the parameters behind those that are there; locals move up.
fn signature(function: &mut Function, mode: MergeMode) -> Hidden {
    let word = if mode == MergeMode::Threads { "threads" } else { "blocks" };
    let kernel = function.is_kernel();
    function.symbol = format!("cdpc$merge${word}${}", function.symbol);
    function.kind = FunctionKind::Plain;
    function.exported = false;
    function.launch_bounds = None;
    if kernel {
        function.inline = Inline::Always;
    }
    let span = function.span;
    let local = |name: &str| Local { name: name.to_owned(), ty: TypeTable::U32, restrict: false, span };
    let added = std::iter::once(local("next")).chain(registers(mode).map(|_| local(""))).collect();
    let next = params::append(function, added);
    let places = registers(mode).zip(next.0 + 1..).map(|(register, id)| (register, LocalId(id))).collect();
    Hidden { next, places }
}

/// Registers become parameters, calls of functions with a variant become calls of that.
fn body(function: &mut Function, hidden: &Hidden, threads: bool, variants: &Variants) {
    for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
        match &mut statement.kind {
            StatementKind::Assign { value, .. } => {
                if let Rvalue::Register(register) = value
                    && (threads || is_block_place(*register))
                    && let Some((_, local)) = hidden.places.iter().find(|(place, _)| place == register)
                {
                    *value = Rvalue::Use(Operand::Local(*local));
                }
            }
            StatementKind::Call { function, args, .. } => {
                if let Some(variant) = variants.get(&(*function, threads)) {
                    *function = *variant;
                    args.push(hidden.next.into());
                    args.extend(hidden.places.iter().map(|(_, local)| Operand::Local(*local)));
                }
            }
            _ => {}
        }
    }
}
