//! Pushes in the place of launches, and what runs a record.

use super::facts::{Facts, is_fire_and_forget};
use super::plan::{MergeMode, Plan, Queue};
use super::runtime::{NO_CONTEXT, Runtime};
use super::variant::{Variants, registers};
use crate::analysis::outstanding::stream;
use crate::builtins::RuntimeFn;
use crate::ir::{
    Access, BinaryOp, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Inline, Launch, LocalId, Module,
    Operand, Place, Projection, Rvalue, Statement, StatementKind, TerminatorKind,
};
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::pass::runtime::code::Code;
use crate::pass::runtime::site::{Site, replace_first};
use crate::types::{Space, TypeId, TypeTable};
use std::collections::HashSet;

const U32: TypeId = TypeTable::U32;

/// Where pushes go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Context {
    /// The context of a root, which is looked up.
    Root,
    /// This one.
    Given(LocalId),
}

/// Rewrites every launch that is merged, where it stands.
pub(super) fn roots(module: &mut Module, facts: &Facts, plan: &Plan, runtime: &Runtime) {
    let merged: HashSet<FunctionId> = plan.sites.iter().filter(|site| site.result.is_ok()).map(|site| site.function).collect();
    // tails in the same grid as pushes
    let kernels =
        || module.functions().filter(|(id, kernel)| kernel.is_kernel() && merged.iter().any(|f| facts.reaches(*id, *f)));
    let tails: Vec<FunctionId> = (0u32..)
        .zip(&facts.own)
        .filter(|(_, does)| does.tail.is_some())
        .map(|(id, _)| FunctionId(id))
        .filter(|id| facts.info.is_on_device(*id) && kernels().any(|(kernel, _)| facts.reaches(kernel, *id)))
        .collect();
    for id in tails {
        if let Some(function) = module.functions.get_mut(id.index()) {
            before_tails(function, runtime.before_tail);
        }
    }
    let mut merged: Vec<FunctionId> = merged.into_iter().collect();
    merged.sort_unstable();
    for id in merged {
        taken_out(module, id, |module, function| pushes(module, plan, runtime, id, function, Context::Root));
    }
}

/// Changes a function while types are looked up in the module, which keeps the function's signature meanwhile.
pub(in crate::pass) fn taken_out(module: &mut Module, id: FunctionId, change: impl FnOnce(&mut Module, &mut Function)) {
    let Some(slot) = module.functions.get_mut(id.index()) else { return };
    let (locals, blocks) = (std::mem::take(&mut slot.locals), std::mem::take(&mut slot.blocks));
    let mut function = Function { locals, blocks, ..slot.clone() };
    change(module, &mut function);
    if let Some(slot) = module.functions.get_mut(id.index()) {
        *slot = function;
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

/// Rewrites the merged launches of one function, which is `id` or a variant of it.
pub(super) fn pushes(
    module: &mut Module,
    plan: &Plan,
    runtime: &Runtime,
    id: FunctionId,
    function: &mut Function,
    context: Context,
) {
    let mut done = HashSet::new();
    let mut block = 0;
    while block < function.blocks.len() {
        // a launch that could not be pushed is made in a block of its own
        if !done.contains(&block) {
            let queues: Vec<Option<usize>> = function.blocks.get(block).map_or_else(Vec::new, |data| {
                let launches = data.statements.iter().filter_map(|statement| match &statement.kind {
                    StatementKind::Launch(launch) => Some(plan.queue(id, launch)),
                    _ => None,
                });
                launches.collect()
            });
            if let Some(place) = queues.iter().position(Option::is_some)
                && let Some(Some(number)) = queues.get(place)
                && let Some(queue) = plan.queues.get(*number)
            {
                let seen = std::cell::Cell::new(0);
                let wanted = |statement: &StatementKind| {
                    let launch = matches!(statement, StatementKind::Launch(_));
                    let here = launch && seen.get() == place;
                    seen.set(seen.get() + usize::from(launch));
                    here
                };
                replace_first(module, function, block, wanted, |site, statement, end| {
                    let StatementKind::Launch(launch) = statement else { return };
                    let direct = push(site, &launch, queue, *number, runtime, context, end);
                    done.insert(direct);
                });
            }
        }
        block += 1;
    }
}

/// Pushes, or launches; goes to `end` with the result. Gives the block of the launch.
fn push(
    site: &mut Site<'_>,
    launch: &Launch,
    queue: &Queue,
    number: usize,
    runtime: &Runtime,
    context: Context,
    end: crate::ir::BlockId,
) -> usize {
    let direct = site.block();
    let [sized, found, room] = [(); 3].map(|()| site.block());
    let go_on = |site: &mut Site<'_>, fails: Operand, next| {
        site.terminate(TerminatorKind::Branch { condition: fails, then: direct, otherwise: next });
        site.current = next;
    };
    let each = if queue.mode == MergeMode::Threads { queue.block.iter().product() } else { 1 };
    let args = launch.grid.iter().cloned().chain([Const::u32(each).into()]).collect();
    let units = site.call(U32, runtime.units_of, args);
    let none = site.compare(BinaryOp::Eq, &units, &Const::u32(0).into());
    go_on(site, none, sized);
    let context = match context {
        Context::Root => site.call(U32, runtime.root_context, Vec::new()),
        Context::Given(local) => local.into(),
    };
    let none = site.compare(BinaryOp::Eq, &context, &Const::u32(NO_CONTEXT).into());
    go_on(site, none, found);
    let bytes = site.module.types.pointer(Space::Global, TypeTable::U8, false);
    let number = Const::u32(u32::try_from(number).unwrap_or(u32::MAX)).into();
    let place = site.call(bytes, runtime.reserve, vec![context, number, units]);
    let none = site.compare(BinaryOp::Eq, &place, &Const::zero(bytes).into());
    go_on(site, none, room);
    let pointer = site.module.types.pointer(Space::Global, queue.record.ty, false);
    let record = site.assign(pointer, Rvalue::Cast(CastKind::Pointer, place));
    for (index, value) in (0u32..).zip(launch.grid.iter().chain(&launch.args)) {
        let mut place = Place::deref(record.clone());
        place.path.push(Projection::Field(index));
        site.push(StatementKind::Store { place, value: value.clone(), access: Access::Plain });
    }
    if let Some(dst) = launch.dst {
        let success = Const::bits(TypeTable::CUDA_ERROR, 0).into();
        site.push(StatementKind::Assign { dst, value: Rvalue::Use(success) });
    }
    site.terminate(TerminatorKind::Goto(end));
    site.current = direct;
    site.push(StatementKind::Launch(Box::new(launch.clone())));
    site.terminate(TerminatorKind::Goto(end));
    direct.index()
}

impl Site<'_> {
    fn call(&mut self, ty: TypeId, function: FunctionId, args: Vec<Operand>) -> Operand {
        let dst = self.local(ty);
        self.push(StatementKind::Call { dst: Some(dst), function, args });
        dst.into()
    }
}

/// Writes the functions that run one block or one thread of a record.
pub(super) fn runs(module: &mut Module, plan: &Plan, runtime: &Runtime, variants: &Variants, facts: &Facts) {
    for (queue, id) in plan.queues.iter().zip(&runtime.runs) {
        let Some(variant) = variants.get(&(queue.kernel, queue.mode == MergeMode::Threads)) else { continue };
        let looks = facts.all(queue.kernel).last_error.is_some();
        let Some(declared) = module.function(*id).cloned() else { continue };
        let function = run(module, queue, &declared, *variant, looks);
        if let Some(slot) = module.functions.get_mut(id.index()) {
            *slot = function;
        }
    }
}

fn run(module: &mut Module, queue: &Queue, declared: &Function, variant: FunctionId, looks: bool) -> Function {
    let span = declared.span;
    let bytes = module.types.pointer(Space::Global, TypeTable::U8, true);
    let mut builder =
        FunctionBuilder::new(declared.name.clone(), declared.symbol.clone(), FunctionKind::Plain, TypeTable::VOID, span);
    builder.function_mut().inline = Inline::Always;
    let record = Operand::from(builder.param("record", bytes, false, span));
    let unit = Operand::from(builder.param("unit", U32, false, span));
    let next = Operand::from(builder.param("next", U32, false, span));
    let mut code = Code { builder: &mut builder, span };
    let pointer = module.types.pointer(Space::Global, queue.record.ty, true);
    let record = code.cast(pointer, CastKind::Pointer, &record);
    let field = |code: &mut Code<'_>, index: u32, ty: TypeId| {
        let mut place = Place::deref(record.clone());
        place.path.push(Projection::Field(index));
        code.load(ty, place)
    };
    let mut grid = Vec::new();
    for (index, known) in (0u32..).zip(queue.record.grid) {
        grid.push(match known {
            Some(blocks) => Const::u32(blocks).into(),
            None => field(&mut code, index, U32),
        });
    }
    let types: Vec<TypeId> = module.function(queue.kernel).map(|kernel| kernel.param_types().collect()).unwrap_or_default();
    let mut args: Vec<Operand> = (3u32..).zip(types).map(|(index, ty)| field(&mut code, index, ty)).collect();
    let block_size = queue.block.map(|threads| Operand::from(Const::u32(threads)));
    let (block, thread) = match queue.mode {
        MergeMode::Blocks => (unit, None),
        MergeMode::Threads => {
            let threads = Const::u32(queue.block.iter().product()).into();
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
    /// x, y and z of the place with this number.
    fn split(&mut self, number: Operand, size: &[Operand]) -> Vec<Operand> {
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
