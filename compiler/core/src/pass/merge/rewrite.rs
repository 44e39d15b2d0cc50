//! Pushes in the place of launches, and what runs a record.

use super::buckets;
use super::facts::{Facts, constant, is_fire_and_forget};
use super::plan::{MergeMode, Plan, Queue};
use super::push::Pushers;
use super::runtime::Runtime;
use super::variant::{Variants, Way, registers};
use crate::analysis::outstanding::stream;
use crate::builtins::RuntimeFn;
use crate::ir::{
    BinaryOp, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Inline, LocalId, Module, Operand, Place,
    Projection, Statement, StatementKind,
};
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::pass::runtime::code::Code;
use crate::types::{Space, TypeId, TypeTable};
use std::collections::BTreeSet;

const U32: TypeId = TypeTable::U32;

/// Where pushes go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Context {
    /// The context of a root, which is looked up.
    Root,
    /// This one.
    Given(LocalId),
    /// This one, where the block has no room.
    Kept(LocalId),
    /// That of the bucket of so many blocks of a root.
    Bucket(u32),
}

/// Rewrites every launch that is merged, where it stands.
pub(super) fn roots(module: &mut Module, facts: &Facts, plan: &Plan, runtime: &Runtime, pushers: &Pushers) {
    let merged: BTreeSet<FunctionId> = plan.sites.iter().filter(|site| site.result.is_ok()).map(|site| site.function).collect();
    // tails in the same grid as pushes
    let pushing = |id: FunctionId| plan.pushes.get(id.index()) == Some(&true);
    let kernels = module.functions().filter(|(id, kernel)| kernel.is_kernel() && pushing(*id));
    let beside: BTreeSet<FunctionId> = kernels.flat_map(|(id, _)| facts.reached(id)).collect();
    let does_tail = |id: &FunctionId| facts.own.get(id.index()).is_some_and(|does| does.tail.is_some());
    let tails: Vec<FunctionId> = beside.into_iter().filter(|id| does_tail(id) && facts.info.is_on_device(*id)).collect();
    for id in tails {
        if let Some(function) = module.functions.get_mut(id.index()) {
            before_tails(function, runtime.before_tail);
        }
    }
    buckets::kernels(module, facts, plan, runtime, pushers);
    for id in merged.into_iter().filter(|id| !plan.buckets.contains_key(id)) {
        if let Some(function) = module.functions.get_mut(id.index()) {
            pushes(plan, pushers, id, function, Context::Root);
        }
    }
}

/// Makes sure before each tail launch that it comes after what is pushed.
fn before_tails(function: &mut Function, before_tail: FunctionId) {
    let streams = Streams::new(function);
    for block in &mut function.blocks {
        let mut position = 0;
        while let Some(Statement { kind, span }) = block.statements.get(position) {
            let span = *span;
            let tail = stream(kind)
                .is_some_and(|stream| !matches!(streams.kind(stream), StreamKind::Ordinary) && !is_fire_and_forget(stream));
            if tail {
                let kind = StatementKind::Call { dst: None, function: before_tail, args: Vec::new() };
                block.statements.insert(position, Statement { kind, span });
                position += 1;
            }
            position += 1;
        }
    }
}

/// Rewrites the merged launches of one function, which is `id` or a variant of it: each becomes a call of what pushes it.
pub(super) fn pushes(plan: &Plan, pushers: &Pushers, id: FunctionId, function: &mut Function, context: Context) {
    for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
        let StatementKind::Launch(launch) = &statement.kind else { continue };
        let Some(queue) = plan.queue(id, launch) else { continue };
        let Some(pusher) = pushers.get(queue) else { continue };
        let unknown = launch.block.iter().filter(|extent| constant(extent).is_none());
        let values = launch.grid.iter().chain(unknown).chain(&launch.args).cloned();
        let (function, before) = match context {
            Context::Root => (pusher.root, Vec::new()),
            Context::Given(context) => (pusher.merged, vec![context.into()]),
            Context::Kept(context) => (pusher.kept.unwrap_or(pusher.merged), vec![context.into()]),
            Context::Bucket(blocks) => (pusher.bucket.unwrap_or(pusher.root), vec![Const::u32(blocks).into()]),
        };
        let args = before.into_iter().chain(values).collect();
        statement.kind = StatementKind::Call { dst: launch.dst, function, args };
    }
}

/// Writes the functions that run one block or one thread of a record.
pub(super) fn runs(module: &mut Module, plan: &Plan, runtime: &Runtime, variants: &Variants, facts: &Facts) {
    for ((queue, id), here) in plan.queues.iter().zip(&runtime.runs).zip(&runtime.runs_here) {
        let looks = facts.all(queue.kernel).last_error.is_some();
        let ways = [(Way::of(queue.mode), Space::Global, Some(id)), (Way::Kept, Space::Generic, here.as_ref())];
        for (way, space, id) in ways {
            let (Some(id), Some(variant)) = (id, variants.get(&(queue.kernel, way))) else { continue };
            let Some(declared) = module.function(*id).cloned() else { continue };
            let function = run(module, queue, &declared, space, *variant, looks);
            if let Some(slot) = module.functions.get_mut(id.index()) {
                *slot = function;
            }
        }
    }
}

/// What is in a record.
pub(super) struct Fields {
    pub grid: [Operand; 3],
    pub block: [Operand; 3],
    pub args: Vec<Operand>,
}

/// Reads a record, and says what is not in it because all have it.
pub(super) fn read(module: &Module, code: &mut Code<'_>, queue: &Queue, record: &Operand) -> Fields {
    let mut field = |index: u32, ty: TypeId| {
        let mut place = Place::deref(record.clone());
        place.path.push(Projection::Field(index));
        code.load(ty, place)
    };
    let [x, y, z] = queue.record.grid;
    let grid = [(0, x), (1, y), (2, z)].map(|(index, known)| match known {
        Some(blocks) => Const::u32(blocks).into(),
        None => field(index, U32),
    });
    let mut fields = 3u32..;
    let block = queue.block.map(|known| match known {
        Some(threads) => Const::u32(threads).into(),
        None => field(fields.next().unwrap_or_default(), U32),
    });
    let types: Vec<TypeId> = module.function(queue.kernel).map(|kernel| kernel.param_types().collect()).unwrap_or_default();
    let args = fields.zip(types).map(|(index, ty)| field(index, ty)).collect();
    Fields { grid, block, args }
}

/// `declared` with a body: `variant` is run with what is in a record, and is given the last parameter too.
pub(super) fn run(
    module: &mut Module,
    queue: &Queue,
    declared: &Function,
    space: Space,
    variant: FunctionId,
    looks: bool,
) -> Function {
    let span = declared.span;
    let bytes = module.types.pointer(space, TypeTable::U8, true);
    let mut builder =
        FunctionBuilder::new(declared.name.clone(), declared.symbol.clone(), FunctionKind::Plain, TypeTable::VOID, span);
    builder.function_mut().inline = Inline::Always;
    let record = Operand::from(builder.param("record", bytes, false, span));
    let unit = Operand::from(builder.param("unit", U32, false, span));
    let next = Operand::from(builder.param("next", U32, false, span));
    let mut code = Code { builder: &mut builder, span };
    let pointer = module.types.pointer(space, queue.record.ty, true);
    let record = code.cast(pointer, CastKind::Pointer, &record);
    let Fields { grid, block: block_size, mut args } = read(module, &mut code, queue, &record);
    let (block, thread) = match queue.mode {
        MergeMode::Blocks => (unit, None),
        MergeMode::Threads => {
            let threads = code.product(&block_size);
            let block = code.binary(U32, BinaryOp::Div, &unit, &threads);
            (block, Some(code.binary(U32, BinaryOp::Rem, &unit, &threads)))
        }
    };
    let mut places = code.split(block, &grid);
    places.extend(grid);
    if let Some(thread) = thread {
        places.extend(code.split(thread, &block_size));
        places.extend(block_size);
    }
    debug_assert_eq!(places.len(), registers(queue.mode).count());
    if looks {
        // an error that the thread before left behind is not its own
        code.builder.push(StatementKind::Runtime { dst: None, call: RuntimeFn::GetLastError, args: Vec::new() }, span);
    }
    args.push(next);
    args.append(&mut places);
    code.builder.push(StatementKind::Call { dst: None, function: variant, args }, span);
    code.give(None);
    builder.finish()
}

impl Code<'_> {
    pub(in crate::pass) fn product(&mut self, extents: &[Operand]) -> Operand {
        let one = Operand::from(Const::u32(1));
        extents.iter().fold(one, |product, extent| match (constant(&product), constant(extent)) {
            (Some(a), Some(b)) => Const::u32(a.wrapping_mul(b)).into(),
            (Some(1), None) => extent.clone(),
            (None, Some(1)) => product,
            _ => self.binary(U32, BinaryOp::Mul, &product, extent),
        })
    }

    /// x, y and z of the place with this number.
    pub(in crate::pass) fn split(&mut self, number: Operand, size: &[Operand]) -> Vec<Operand> {
        let is_one = |operand: &Operand| operand.as_bits() == Some(1);
        let mut rest = number;
        let mut place = Vec::new();
        for (index, extent) in size.iter().enumerate() {
            if is_one(extent) {
                place.push(Const::u32(0).into());
            } else if size.iter().skip(index + 1).all(is_one) {
                place.push(std::mem::replace(&mut rest, Const::u32(0).into()));
            } else {
                place.push(self.binary(U32, BinaryOp::Rem, &rest, extent));
                rest = self.binary(U32, BinaryOp::Div, &rest, extent);
            }
        }
        place
    }
}
