//! Grids that the threads of a block run together when all of them have come to the end of their kernel: those that are too many for the lanes
//! of a warp.
//!
//! A thread keeps one launch until then. The end of a kernel is a barrier for this, so that it is done where kernels have no others, which
//! threads that have ended would not take part in.

use super::same::Same;
use super::warp::Warps;
use crate::builtins::{BarrierOp, Register};
use crate::ir::{
    Access, BinaryOp, BlockId, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Global, GlobalId, Inline,
    Launch, LocalId, Module, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind,
};
use crate::pass::merge::facts::constant;
use crate::pass::runtime::code::Code;
use crate::pass::runtime::site::Site;
use crate::source::Span;
use crate::types::{Field, Space, StructDef, Type, TypeId, TypeTable};

const U32: TypeId = TypeTable::U32;
const U64: TypeId = TypeTable::U64;
const BOOL: TypeId = TypeTable::BOOL;

/// Symbols of functions start so that do what was kept.
pub(in crate::pass) const END: &str = "cdpc$merge$end_";

/// Children for which a block has room at a time; as the text says.
const CLAIMS: u64 = 32;

/// The launch that a thread of a kernel keeps until its end.
pub(super) struct Kept {
    /// One that was kept.
    launch: Launch,
    span: Span,
    /// For how many rounds its children may be run.
    rounds: u32,
    /// Whether one is kept, and whether the grid has so few blocks that one may be.
    any: LocalId,
    few: LocalId,
    /// What is kept, in memory: how many threads matter, and what the others do not know. Few threads keep something, and all would need
    /// registers for it.
    frame: LocalId,
    /// Arguments, extents of the grid and those of its blocks: themselves where all threads know them, or what is read from the frame.
    values: Vec<Operand>,
    /// Which of them are in the frame, and in which field.
    own: Vec<Option<(LocalId, u32)>>,
}

/// Whether a kernel's end can be a barrier, for what is known of the kernel itself: control comes to its entry but once.
pub(super) fn has_one_entry(function: &Function) -> bool {
    function.blocks.iter().all(|block| block.terminator.kind.successors().all(|next| next != BlockId(0)))
}

impl Kept {
    /// Room for a launch in this function; nothing is kept at first.
    pub(super) fn new(site: &mut Site<'_>, launch: &Launch, same: &Same, rounds: u32) -> Self {
        let span = site.span;
        let [any, few] = [(); 2].map(|()| site.local(BOOL));
        let field = |ty: TypeId, index: usize| Field { name: format!("f{index}"), ty, align: 0, span };
        let mut fields = vec![field(U32, 0)];
        let mut own = Vec::new();
        let mut values = Vec::new();
        for value in launch.args.iter().chain(&launch.grid).chain(&launch.block) {
            let known = matches!(value, Operand::Const(_)) || matches!(value, Operand::Local(local) if same.is_param(*local));
            let ty = match value {
                Operand::Local(local) => site.function.local_type(*local),
                _ => U32,
            };
            let variable = (!known).then(|| site.local(ty));
            values.push(variable.map_or_else(|| value.clone(), Operand::Local));
            own.push(variable.map(|variable| {
                fields.push(field(ty, fields.len()));
                (variable, u32::try_from(fields.len() - 1).unwrap_or(u32::MAX))
            }));
        }
        let name = format!("cdpc$kept_{}", site.module.types.structs().len());
        let frame = site.module.types.add_struct(StructDef { name, fields, align: 0, span });
        site.module.types.seal(frame);
        let frame = site.module.types.intern(Type::Struct(frame));
        let frame = site.local(frame);
        let none = StatementKind::Assign { dst: any, value: Rvalue::Use(Const::bool(false).into()) };
        // what is computed here needs no registers later on
        let current = std::mem::replace(&mut site.current, BlockId(0));
        let rest = site.function.blocks.first_mut().map(|entry| std::mem::take(&mut entry.statements));
        site.push(none);
        site.push(StatementKind::Deinit { local: frame });
        let is_few = few_blocks(site);
        site.push(StatementKind::Assign { dst: few, value: Rvalue::Use(is_few) });
        if let Some(entry) = site.function.blocks.first_mut() {
            entry.statements.extend(rest.unwrap_or_default());
        }
        site.current = current;
        Self { launch: launch.clone(), span, rounds, any, few, frame, values, own }
    }

    /// A field of the frame.
    fn field(&self, index: u32) -> Place {
        Place { base: PlaceBase::Local(self.frame), path: vec![Projection::Field(index)] }
    }

    /// What it launches.
    pub(super) const fn kernel(&self) -> FunctionId {
        self.launch.kernel
    }

    /// Whether another launch can be kept in the same variables.
    pub(super) fn takes(&self, launch: &Launch) -> bool {
        let of = |launch: &Launch| launch.args.iter().chain(&launch.grid).chain(&launch.block).cloned().collect::<Vec<_>>();
        let mut pairs = self.own.iter().zip(of(&self.launch)).zip(of(launch));
        let shape = |launch: &Launch| (launch.grid.each_ref().map(constant), launch.block.each_ref().map(constant));
        self.launch.kernel == launch.kernel
            && shape(&self.launch) == shape(launch)
            && pairs.all(|((own, first), value)| own.is_some() || first == value)
    }

    /// Keeps a launch of so many threads, of which there are more than none, where nothing is kept yet; goes on in `kept`, or in `direct`.
    pub(super) fn keep(&self, site: &mut Site<'_>, launch: &Launch, left: Operand, kept: BlockId, direct: BlockId) {
        let some = site.compare(BinaryOp::Ne, &left, &Const::u32(super::warp::NONE).into());
        let free = site.compare(BinaryOp::Eq, &self.any.into(), &Const::bool(false).into());
        let both = site.binary(BOOL, BinaryOp::And, &some, &free);
        let all = site.binary(BOOL, BinaryOp::And, &both, &self.few.into());
        let keep = site.block();
        site.terminate(TerminatorKind::Branch { condition: all, then: keep, otherwise: direct });
        site.current = keep;
        site.push(StatementKind::Assign { dst: self.any, value: Rvalue::Use(Const::bool(true).into()) });
        let access = Access::Volatile;
        site.push(StatementKind::Store { place: self.field(0), value: left, access });
        let values = launch.args.iter().chain(&launch.grid).chain(&launch.block);
        for (own, value) in self.own.iter().zip(values) {
            if let Some((_, field)) = own {
                let place = self.field(*field);
                site.push(StatementKind::Store { place, value: value.clone(), access });
            }
        }
        site.terminate(TerminatorKind::Goto(kept));
    }

    /// Has all threads of the kernel come by one end, where what they kept is done.
    pub(super) fn finish(self, module: &mut Module, function: &mut Function, warps: &Warps, variant: FunctionId) {
        let Some(run) = write(module, warps, &self, variant) else { return };
        let run = module.add_function(run);
        let returning: Vec<usize> = (0..function.blocks.len())
            .filter(|at| matches!(function.blocks.get(*at).map(|b| &b.terminator.kind), Some(TerminatorKind::Return(_))))
            .collect();
        let site = &mut Site { module, function, current: BlockId(0), span: self.span };
        let [end, vote, some, read, ready, out] = [(); 6].map(|()| site.block());
        for block in returning {
            if let Some(block) = site.function.blocks.get_mut(block) {
                block.terminator.kind = TerminatorKind::Goto(end);
            }
        }
        let goto = |site: &mut Site<'_>, condition: Operand, then: BlockId, otherwise: BlockId, next: BlockId| {
            site.terminate(TerminatorKind::Branch { condition, then, otherwise });
            site.current = next;
        };
        let zero = || Operand::from(Const::u32(0));
        let count = site.local(U32);
        site.current = end;
        goto(site, self.few.into(), vote, out, vote);
        let any = site.local(BOOL);
        site.push(StatementKind::Barrier { dst: Some(any), op: BarrierOp::BlockOr, operand: Some(self.any.into()) });
        goto(site, any.into(), some, out, some);

        site.push(StatementKind::Assign { dst: count, value: Rvalue::Use(zero()) });
        goto(site, self.any.into(), read, ready, read);
        let fields = self.own.iter().flatten().copied().chain([(count, 0)]);
        for (dst, field) in fields {
            site.push(StatementKind::Load { dst, place: self.field(field), access: Access::Volatile });
        }
        site.terminate(TerminatorKind::Goto(ready));
        site.current = ready;
        let args = self.values.iter().cloned().chain([count.into()]).collect();
        site.push(StatementKind::Call { dst: None, function: run, args });
        site.terminate(TerminatorKind::Goto(out));
        site.current = out;
        site.terminate(TerminatorKind::Return(None));
    }

    /// Room for what the threads do not know of each other, in shared memory.
    fn records(&self, module: &mut Module, name: &str, types: &[TypeId]) -> GlobalId {
        let span = self.span;
        let field = |(index, ty): (usize, &TypeId)| Field { name: format!("f{index}"), ty: *ty, align: 0, span };
        let own = types.iter().zip(&self.own).filter(|(_, own)| own.is_some()).map(|(ty, _)| ty);
        // a structure has at least one field
        let fields = own.chain([&U32]).enumerate().map(field).collect();
        let id = module.types.add_struct(StructDef { name: format!("{name}$record"), fields, align: 0, span });
        module.types.seal(id);
        let record = module.types.intern(Type::Struct(id));
        let ty = module.types.array(record, CLAIMS);
        let name = format!("{name}$records");
        module.globals.push(Global {
            name: name.clone(),
            symbol: name,
            space: Space::Shared,
            ty,
            init: None,
            align: 0,
            exported: false,
            external: false,
            span,
        });
        GlobalId(u32::try_from(module.globals.len() - 1).unwrap_or(u32::MAX))
    }
}

/// Grids of more blocks are balanced without this, and take long enough for another grid to start.
const MOST_BLOCKS: u64 = 16384;

/// Whether the grid has so few blocks that what is kept is run at their ends.
fn few_blocks(site: &mut Site<'_>) -> Operand {
    let mut blocks = Operand::from(Const::u64(1));
    for register in [Register::GridDimX, Register::GridDimY, Register::GridDimZ] {
        let extent = site.assign(U32, Rvalue::Register(register));
        let extent = site.assign(U64, Rvalue::Cast(CastKind::Int, extent));
        blocks = site.binary(U64, BinaryOp::Mul, &blocks, &extent);
    }
    site.compare(BinaryOp::Le, &blocks, &Const::u64(MOST_BLOCKS).into())
}

/// `fn(arguments, gridDim, blockDim, count: u32)`, which all threads of a block call, and which runs the children of those whose `count` is
/// not 0, or launches them where that is too much.
fn write(module: &mut Module, warps: &Warps, kept: &Kept, variant: FunctionId) -> Option<Function> {
    let kernel = module.function(kept.launch.kernel)?;
    let span = kept.span;
    // called, and with few registers, as other code for what is rare
    let name = format!("{END}{}${}", module.functions.len(), kernel.symbol);
    let types: Vec<TypeId> = kernel.param_types().chain([U32; 6]).collect();
    let records = kept.records(module, &name, &types);
    let mut builder = FunctionBuilder::new(name.clone(), name, FunctionKind::Plain, TypeTable::VOID, span);
    builder.function_mut().inline = Inline::Never;
    let mut values: Vec<Operand> = types.iter().map(|ty| builder.param("", *ty, false, span).into()).collect();
    for (value, known) in values.iter_mut().zip(&kept.values) {
        if let Operand::Const(_) = known {
            *value = known.clone();
        }
    }
    let count = Operand::from(builder.param("count", U32, false, span));
    let [left, at] = ["left", "at"].map(|name| builder.variable(name, U32, span));
    let code = &mut Code { builder: &mut builder, span };
    let part = |place: &Operand, field: u32| Place {
        base: PlaceBase::Global(records),
        path: vec![Projection::Index(place.clone()), Projection::Field(field)],
    };
    let fields = || kept.own.iter().enumerate().filter(|(_, own)| own.is_some()).map(|(index, _)| index).zip(0u32..);
    let zero = || Operand::from(Const::u32(0));
    code.set(left, count.clone());
    let [launch, launched, header, batch, store, joined, turns, run, done] = [(); 9].map(|()| code.block());
    let few = code.call(BOOL, warps.named("few"), vec![count.clone(), Const::u32(kept.rounds).into()]);
    let not = code.compare(BinaryOp::Eq, &few, &Const::bool(false).into());
    let has = code.compare(BinaryOp::Ne, &count, &zero());
    let launches = code.binary(BOOL, BinaryOp::And, &not, &has);
    code.branch(launches, launch, header);

    // what cannot be launched is run after all: the launch has succeeded as far as its thread knows
    code.go_on_in(launch);
    let args = values.len() - 6;
    let extents = |from: usize| [0, 1, 2].map(|at| values.get(args + from + at).cloned().unwrap_or_else(zero));
    let error = code.builder.temporary(TypeTable::CUDA_ERROR, span);
    let again = Launch {
        dst: Some(error),
        args: values.iter().take(args).cloned().collect(),
        grid: extents(0),
        block: extents(3),
        ..kept.launch.clone()
    };
    code.builder.push(StatementKind::Launch(Box::new(again)), span);
    let success = code.compare(BinaryOp::Eq, &error.into(), &Const::bits(TypeTable::CUDA_ERROR, 0).into());
    code.branch(success, launched, header);
    code.go_on_in(launched);
    code.set(left, zero());
    code.goto(header);

    code.go_on_in(header);
    let some = code.compare(BinaryOp::Ne, &left.into(), &Const::u32(0).into());
    let any = code.builder.temporary(BOOL, span);
    code.builder.push(StatementKind::Barrier { dst: Some(any), op: BarrierOp::BlockOr, operand: Some(some) }, span);
    code.branch(any.into(), batch, done);

    code.go_on_in(batch);
    code.builder.push(StatementKind::Call { dst: None, function: warps.named("open_claims"), args: Vec::new() }, span);
    let place = code.call(U32, warps.named("claim"), vec![left.into()]);
    let none = code.compare(BinaryOp::Eq, &place, &Const::u32(super::warp::NONE).into());
    code.branch(none, joined, store);

    code.go_on_in(store);
    for (index, field) in fields() {
        let value = values.get(index)?.clone();
        code.builder.push(StatementKind::Store { place: part(&place, field), value, access: Access::Plain }, span);
    }
    code.set(left, Const::u32(0).into());
    code.goto(joined);

    code.go_on_in(joined);
    let all = code.call(U32, warps.named("sum_claims"), Vec::new());
    let thread = code.call(U32, warps.named("thread_of_block"), Vec::new());
    let threads = code.call(U32, warps.named("threads_of_block"), Vec::new());
    code.set(at, thread);
    code.goto(turns);

    code.go_on_in(turns);
    let more = code.compare(BinaryOp::Lt, &at.into(), &all);
    code.branch(more, run, header);

    code.go_on_in(run);
    let found = code.call(U64, warps.named("claimed"), vec![at.into()]);
    let number = code.cast(U32, CastKind::Int, &found);
    let place = code.binary(U64, BinaryOp::Shr, &found, &Const::u32(32).into());
    let place = code.cast(U32, CastKind::Int, &place);
    let mut theirs = values.clone();
    for (index, field) in fields() {
        *theirs.get_mut(index)? = code.load(*types.get(index)?, part(&place, field));
    }
    code.run_thread(&theirs, &number, variant);
    let next = code.binary(U32, BinaryOp::Add, &at.into(), &threads);
    code.set(at, next);
    code.goto(turns);

    code.go_on_in(done);
    code.give(None);
    Some(builder.finish())
}

impl Code<'_> {
    /// Runs the thread with this number in a grid. The values are a kernel's arguments, the extents of the grid and those of its blocks.
    pub(super) fn run_thread(&mut self, values: &[Operand], number: &Operand, variant: FunctionId) {
        let (args, extents) = values.split_at(values.len().saturating_sub(6));
        let (grid, block) = extents.split_at(extents.len() / 2);
        let threads = self.product(block);
        let of_grid = self.binary(U32, BinaryOp::Div, number, &threads);
        let of_block = self.binary(U32, BinaryOp::Rem, number, &threads);
        let mut given = args.to_vec();
        for (place, extents) in [(of_grid, grid), (of_block, block)] {
            given.extend(self.split(place, extents));
            given.extend(extents.iter().cloned());
        }
        self.builder.push(StatementKind::Call { dst: None, function: variant, args: given }, self.span);
    }
}
