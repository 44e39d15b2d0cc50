//! Functions that push a launch, or make it as it is where that cannot be. They are called in the place of launches and never inlined, so
//! that a kernel which might launch and does not pays for a call that it does not make.

use super::facts::most_threads;
use super::plan::{MergeMode, Plan, Queue};
use super::runtime::{NO_CONTEXT, Runtime};
use crate::builtins::STREAM_FIRE_AND_FORGET;
use crate::ir::{
    Access, BinaryOp, BlockId, CastKind, Const, FunctionBuilder, FunctionId, FunctionKind, Inline, Launch, LaunchHints,
    LocalId, Module, Operand, Place, Projection, StatementKind,
};
use crate::pass::launch::NO_ROOM;
use crate::pass::runtime::code::Code;
use crate::types::{Space, TypeId, TypeTable};

const U32: TypeId = TypeTable::U32;

/// What pushes into one queue. Both take the grid's dimensions, those of a block that are not known, and the child's arguments, and give
/// what the launch gives; what others take before them is said there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pusher {
    /// For grids that were launched as they are.
    pub root: FunctionId,
    /// For merged grids: their context.
    pub merged: FunctionId,
    /// The same, where blocks run some of what they push themselves.
    pub kept: Option<FunctionId>,
    /// For roots with buckets: of how many blocks.
    pub bucket: Option<FunctionId>,
}

/// Whose launches are pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Root,
    Merged,
    Kept,
    Bucket,
}

/// By queue.
pub(super) type Pushers = Vec<Pusher>;

/// Adds what pushes into each queue. `notes`: whether loops want to know which roots launched something as it is.
pub(super) fn add(module: &mut Module, plan: &Plan, runtime: &Runtime, notes: bool) -> Pushers {
    let mut add = |queue: &Queue, number: usize, of: Of| {
        let function = Push { queue, number, runtime, notes }.function(module, of);
        module.add_function(function)
    };
    let queues = plan.queues.iter().enumerate();
    let all = queues.map(|(number, queue)| Pusher {
        root: add(queue, number, Of::Root),
        merged: add(queue, number, Of::Merged),
        kept: queue.keeps.then(|| add(queue, number, Of::Kept)),
        bucket: runtime.part_context.map(|_| add(queue, number, Of::Bucket)),
    });
    all.collect()
}

struct Push<'a> {
    queue: &'a Queue,
    number: usize,
    runtime: &'a Runtime,
    notes: bool,
}

impl Push<'_> {
    fn function(&self, module: &mut Module, of: Of) -> crate::ir::Function {
        let Self { queue, number, .. } = *self;
        let span = queue.span;
        let types: Vec<TypeId> = module.function(queue.kernel).map(|kernel| kernel.param_types().collect()).unwrap_or_default();
        let owner = module.function(queue.kernel).map(|kernel| kernel.symbol.clone()).unwrap_or_default();
        let kind = match of {
            Of::Root => "push",
            Of::Merged => "again",
            Of::Kept => "keep",
            Of::Bucket => "bucket",
        };
        let (name, symbol) = (format!("cdpc${kind}_{number}"), format!("cdpc$merge${owner}${kind}_{number}"));
        let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::CUDA_ERROR, span);
        builder.function_mut().inline = Inline::Never;
        let given = match of {
            Of::Root => None,
            Of::Merged | Of::Kept => Some("context"),
            Of::Bucket => Some("blocks"),
        };
        let given = given.map(|name| Operand::from(builder.param(name, U32, false, span)));
        let grid = ["x", "y", "z"].map(|name| Operand::from(builder.param(name, U32, false, span)));
        let block = queue.block.map(|known| match known {
            Some(threads) => Const::u32(threads).into(),
            None => Operand::from(builder.param("threads", U32, false, span)),
        });
        let args: Vec<Operand> = types.iter().map(|ty| builder.param("", *ty, false, span).into()).collect();
        let bytes = module.types.pointer(Space::Global, TypeTable::U8, false);
        let record = module.types.pointer(Space::Global, queue.record.ty, false);
        let [kept_bytes, kept_record] =
            [TypeTable::U8, queue.record.ty].map(|ty| module.types.pointer(Space::Shared, ty, false));
        let result = builder.variable("error", TypeTable::CUDA_ERROR, span);
        let mut code = Code { builder: &mut builder, span };
        let success = || Operand::from(Const::bits(TypeTable::CUDA_ERROR, 0));
        let direct = code.block();
        let units = self.units(module, &mut code, [&grid, &block], &args, direct);
        let context = match (given, of, self.runtime.part_context) {
            (Some(blocks), Of::Bucket, Some(part_context)) => code.call(U32, part_context, vec![blocks]),
            (Some(context), ..) => context,
            (None, ..) => {
                let number = Const::u32(u32::try_from(number).unwrap_or(NO_CONTEXT)).into();
                code.call(U32, self.runtime.root_context, vec![number])
            }
        };
        if let (Of::Kept, Some(Some([reserve, record]))) = (of, self.runtime.here.get(number)) {
            let number = code.call(U32, *reserve, vec![units.clone()]);
            let [here, elsewhere] = [(); 2].map(|()| code.block());
            let none = code.compare(BinaryOp::Eq, &number, &Const::u32(NO_CONTEXT).into());
            code.branch(none, elsewhere, here);
            code.go_on_in(here);
            let place = code.call(kept_bytes, *record, vec![number]);
            let place = code.cast(kept_record, CastKind::Pointer, &place);
            store(&mut code, queue, &place, [&grid, &block], &args);
            code.give(Some(success()));
            code.go_on_in(elsewhere);
        }
        code.unless(BinaryOp::Eq, &context, &Const::u32(NO_CONTEXT).into(), direct);
        let reserve = self.runtime.reserve.get(number).copied().unwrap_or(FunctionId(u32::MAX));
        let place = code.call(bytes, reserve, vec![context.clone(), units]);
        let full = code.block();
        code.unless(BinaryOp::Eq, &place, &Const::zero(bytes).into(), full);
        let record = code.cast(record, CastKind::Pointer, &place);
        store(&mut code, queue, &record, [&grid, &block], &args);
        code.give(Some(success()));
        code.go_on_in(full);
        if let Some(whole_grid) = queue.whole_grid {
            let args = args.iter().chain(&grid).chain(&block).cloned().collect();
            code.builder.push(StatementKind::Call { dst: None, function: whole_grid, args }, span);
            code.give(Some(success()));
        } else {
            let may = code.call(TypeTable::BOOL, self.runtime.may_launch, vec![context]);
            let refused = code.block();
            code.branch(may, direct, refused);
            code.go_on_in(refused);
            code.give(Some(Const::bits(TypeTable::CUDA_ERROR, NO_ROOM).into()));
        }
        code.go_on_in(direct);
        if self.notes && of == Of::Root {
            let function = self.runtime.note_direct;
            code.builder.push(StatementKind::Call { dst: None, function, args: Vec::new() }, span);
        }
        code.launch(queue, [grid, block], args, result);
        code.give(Some(result.into()));
        builder.finish()
    }

    /// Units of the launched grid; goes to `direct` where it cannot be pushed, and gives success where nothing is to do.
    fn units(
        &self,
        module: &Module,
        code: &mut Code<'_>,
        [grid, block]: [&[Operand; 3]; 2],
        args: &[Operand],
        direct: BlockId,
    ) -> Operand {
        let Self { queue, runtime, .. } = *self;
        let zero = Operand::from(Const::u32(0));
        let threads = match (queue.threads(), runtime.threads_of) {
            (None, Some(threads_of)) => {
                let most = Const::u32(most_threads(module, queue.kernel)).into();
                let threads = code.call(U32, threads_of, block.iter().cloned().chain([most]).collect());
                code.unless(BinaryOp::Eq, &threads, &zero, direct);
                threads
            }
            (known, _) => Const::u32(known.unwrap_or_default()).into(),
        };
        let [x, y, z] = grid.clone();
        let each =
            if queue.mode == MergeMode::Threads && queue.limit.is_none() { threads.clone() } else { Const::u32(1).into() };
        let units = code.call(U32, runtime.units_of, vec![x.clone(), y, z, each]);
        code.unless(BinaryOp::Eq, &units, &zero, direct);
        let Some(limit) = &queue.limit else { return units };
        let total = code.binary(U32, BinaryOp::Mul, &units, &threads);
        let units = limit.emit(code, runtime.below, [&x, &threads], args, total);
        let nothing = code.block();
        code.unless(BinaryOp::Eq, &units, &zero, nothing);
        let rest = code.builder.current();
        code.go_on_in(nothing);
        code.give(Some(Const::bits(TypeTable::CUDA_ERROR, 0).into()));
        code.go_on_in(rest);
        code.unless(BinaryOp::Gt, &units, &Const::u32(super::runtime::MOST_UNITS).into(), direct);
        units
    }
}

/// Fills a record.
pub(super) fn store(code: &mut Code<'_>, queue: &Queue, record: &Operand, [grid, block]: [&[Operand; 3]; 2], args: &[Operand]) {
    let unknown = grid.iter().zip(queue.record.grid).map(|(extent, known)| known.is_none().then(|| extent.clone()));
    let threads = block.iter().zip(queue.block).filter(|(_, known)| known.is_none()).map(|(extent, _)| extent.clone());
    let fields = unknown.chain(threads.chain(args.iter().cloned()).map(Some));
    for (index, value) in (0u32..).zip(fields).filter_map(|(index, value)| Some((index, value?))) {
        let mut place = Place::deref(record.clone());
        place.path.push(Projection::Field(index));
        code.builder.push(StatementKind::Store { place, value, access: Access::Plain }, code.span);
    }
}

impl Code<'_> {
    pub(in crate::pass) fn call(&mut self, ty: TypeId, function: FunctionId, args: Vec<Operand>) -> Operand {
        let dst = self.builder.temporary(ty, self.span);
        self.builder.push(StatementKind::Call { dst: Some(dst), function, args }, self.span);
        dst.into()
    }

    /// Goes to `exit` where the comparison holds, and on otherwise.
    fn unless(&mut self, op: BinaryOp, a: &Operand, b: &Operand, exit: BlockId) {
        let leaves = self.compare(op, a, b);
        let next = self.block();
        self.branch(leaves, exit, next);
        self.go_on_in(next);
    }

    fn launch(&mut self, queue: &Queue, [grid, block]: [[Operand; 3]; 2], args: Vec<Operand>, result: LocalId) {
        let launch = Launch {
            dst: Some(result),
            kernel: queue.kernel,
            grid,
            block,
            shared: Const::u32(queue.shared).into(),
            stream: Const::bits(TypeTable::STREAM, u64::from(STREAM_FIRE_AND_FORGET)).into(),
            args,
            hints: LaunchHints::default(),
        };
        self.builder.push(StatementKind::Launch(Box::new(launch)), self.span);
    }
}
