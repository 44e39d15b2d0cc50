//! How many threads of a child grid do anything. Where a kernel is `if i < n { … }`, or starts with `if i >= n { return; }`, with `i` the
//! number of the thread in its grid and `n` the same for all, the threads from `n` on do nothing, and a merged grid need not have them.
//!
//! The kernel is walked from its entry, every local as a function of the thread's number, until a branch is found that sends the threads
//! from a number on to their end. What comes before it must have no effect, and neither must what these threads come by after it.
//!
//! The limit is computed by the thread that launches, when it does. It may load memory for that, because a child may start right away, and what
//! is written later without waiting for the child is a race (R11, R13). Children load it unconditionally then, so it is there.

use crate::builtins::{Intrinsic, Register};
use crate::ir::{
    Access, BinaryOp, BlockId, CastKind, Const, Function, FunctionId, GlobalId, LocalId, Module, Operand, Place, PlaceBase,
    Projection, Rvalue, Statement, StatementKind, TerminatorKind, UnaryOp,
};
use crate::pass::runtime::code::Code;
use crate::types::{Int, TypeId, TypeTable};
use std::collections::HashMap;

/// The threads with `number + offset < bound`, or `<=`, are those that matter; both sides are integers of one type, and wrap.
#[derive(Clone, Debug)]
pub(in crate::pass) struct Limit {
    offset: Option<Uniform>,
    bound: Uniform,
    int: Int,
    inclusive: bool,
}

/// A value that is the same for all threads of a grid: a function of its arguments, of its numbers of blocks and of their threads, and of
/// memory.
#[derive(Clone, Debug)]
enum Uniform {
    /// A parameter of the kernel.
    Param(u32),
    /// `gridDim.x`
    Blocks,
    /// `blockDim.x`, where that is not known
    Threads,
    Const(Const),
    Step {
        ty: TypeId,
        step: Step,
        args: Vec<Self>,
    },
}

#[derive(Clone, Debug)]
enum Step {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Cast(CastKind),
    Select,
    Extract(u32),
    Intrinsic(Intrinsic),
    /// `pointer + index`
    Offset,
    /// What lies at a place, or its address: within a variable or within what the first operand points at. The other operands are the indices.
    Load(Option<GlobalId>, Vec<Part>),
    AddressOf(Option<GlobalId>, Vec<Part>),
}

/// A step into a value.
#[derive(Clone, Copy, Debug)]
enum Part {
    Field(u32),
    Index,
}

/// What is known of a value.
#[derive(Clone, Debug)]
enum Value {
    Unknown,
    Uniform(Uniform),
    /// `block * blockIdx.x + thread * threadIdx.x + offset`, wrapped to its type; all of it, `block` may also be `blockDim.x`.
    Linear(Linear),
    /// Whether the thread is below a limit, or not.
    Below(Limit, bool),
}

#[derive(Clone, Debug)]
struct Linear {
    block: Factor,
    thread: u64,
    offset: Option<Uniform>,
    int: Int,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factor {
    Number(u64),
    /// `blockDim.x`
    Threads,
}

impl Factor {
    const NONE: Self = Self::Number(0);

    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Some(Self::Number(a + b)),
            (a, Self::NONE) | (Self::NONE, a) => Some(a),
            _ => None,
        }
    }
}

/// Steps of a value that is computed for each push; more of them are not worth it.
const MOST_STEPS: usize = 24;
/// Blocks that are looked at on the way to a limit, and behind it.
const MOST_BLOCKS: u32 = 32;
/// Calls within calls.
const MOST_CALLS: u32 = 4;
/// Numbers of threads stay below this, so that they are themselves in every integer type of 32 bits or more.
const MOST_FACTOR: u64 = 1 << 14;

impl Limit {
    /// The limit of a kernel whose grids have one dimension; `one`: and one block.
    pub(super) fn find(module: &Module, kernel: FunctionId, block: [Option<u32>; 3], one: bool) -> Option<Self> {
        let function = module.function(kernel)?;
        if block.get(1..) != Some(&[Some(1), Some(1)]) {
            return None;
        }
        let threads = block.first().copied()?;
        let params = (0..function.param_count).map(|index| Value::Uniform(Uniform::Param(index))).collect();
        let mut walk = Walk { module, function, threads, one, locals: HashMap::new(), calls: 0 };
        walk.start(params);
        let mut at = BlockId(0);
        let mut some_left = false;
        for _ in 0..MOST_BLOCKS {
            let block = function.blocks.get(at.index())?;
            for statement in &block.statements {
                walk.statement(statement)?;
            }
            at = match &block.terminator.kind {
                TerminatorKind::Goto(next) => *next,
                TerminatorKind::Branch { condition, then, otherwise } => {
                    let value = walk.operand(condition);
                    let (mut inside, mut outside) = (*then, *otherwise);
                    if let Value::Below(limit, is) = value {
                        if !is {
                            std::mem::swap(&mut inside, &mut outside);
                        }
                        if ends(function, outside) && (limit.is_total() || !some_left) {
                            return Some(limit);
                        }
                    }
                    // those who leave here do nothing, whoever they are; nor do they compute what follows, which may be an error for them
                    some_left = true;
                    match (ends(function, *then), ends(function, *otherwise)) {
                        (false, true) => *then,
                        (true, false) => *otherwise,
                        _ => return None,
                    }
                }
                _ => return None,
            };
        }
        None
    }

    /// Whether it has a value for all arguments.
    fn is_total(&self) -> bool {
        self.bound.is_total() && self.offset.as_ref().is_none_or(Uniform::is_total)
    }

    /// How many threads matter, of `total` (`u32`) in the grid, whose numbers of blocks and of their threads are `extents`: a `u32`.
    pub(in crate::pass) fn emit(
        &self,
        code: &mut Code<'_>,
        below: FunctionId,
        extents: [&Operand; 2],
        args: &[Operand],
        total: Operand,
    ) -> Operand {
        let mut wide = |value: &Uniform| {
            let value = value.emit(code, extents, args);
            match self.int {
                Int::I64 => value,
                // the order of unsigned numbers is that of signed ones with the other sign
                Int::U64 => {
                    let flipped = code.binary(TypeTable::U64, BinaryOp::Xor, &value, &Const::u64(1 << 63).into());
                    code.cast(TypeTable::I64, CastKind::Int, &flipped)
                }
                _ => code.cast(TypeTable::I64, CastKind::Int, &value),
            }
        };
        let number = |value: i64| Operand::from(Const::bits(TypeTable::I64, value.cast_unsigned()));
        let bound = wide(&self.bound);
        let zero = if self.int == Int::U64 { number(i64::MIN) } else { number(0) };
        let offset = self.offset.as_ref().map_or(zero, &mut wide);
        let most = match self.int {
            Int::U32 => i64::from(u32::MAX),
            Int::I32 => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        let inclusive = Const::bool(self.inclusive).into();
        code.call(TypeTable::U32, below, vec![offset, bound, number(most), inclusive, total])
    }
}

impl Uniform {
    fn emit(&self, code: &mut Code<'_>, extents: [&Operand; 2], args: &[Operand]) -> Operand {
        let [blocks, threads] = extents;
        match self {
            Self::Param(index) => args.get(*index as usize).cloned().unwrap_or_else(|| Const::u32(0).into()),
            Self::Blocks => blocks.clone(),
            Self::Threads => threads.clone(),
            Self::Const(value) => value.clone().into(),
            Self::Step { ty, step, args: given } => {
                let values: Vec<Operand> = given.iter().map(|value| value.emit(code, extents, args)).collect();
                let mut given = values.iter();
                let mut next = || given.next().cloned().unwrap_or_else(|| Const::u32(0).into());
                let value = match step {
                    Step::Unary(op) => Rvalue::Unary(*op, next()),
                    Step::Binary(op) => Rvalue::Binary(*op, next(), next()),
                    Step::Cast(kind) => Rvalue::Cast(*kind, next()),
                    Step::Select => Rvalue::Select(next(), next(), next()),
                    Step::Extract(index) => Rvalue::Extract(next(), *index),
                    Step::Intrinsic(intrinsic) => Rvalue::Intrinsic(*intrinsic, values),
                    Step::Offset => Rvalue::Offset(next(), next()),
                    Step::Load(base, path) => return code.load(*ty, place(*base, path, next)),
                    Step::AddressOf(base, path) => Rvalue::AddressOf(place(*base, path, next)),
                };
                code.value(*ty, value)
            }
        }
    }

    fn is_total(&self) -> bool {
        match self {
            Self::Step { step, args, .. } => {
                matches!(step, Step::Cast(_) | Step::Select | Step::Extract(_)) && args.iter().all(Self::is_total)
            }
            _ => true,
        }
    }

    fn steps(&self) -> usize {
        match self {
            Self::Step { args, .. } => 1 + args.iter().map(Self::steps).sum::<usize>(),
            _ => 0,
        }
    }

    fn as_bits(&self) -> Option<u64> {
        match self {
            Self::Const(value) => value.as_bits(),
            _ => None,
        }
    }
}

fn place(base: Option<GlobalId>, path: &[Part], mut next: impl FnMut() -> Operand) -> Place {
    let base = base.map_or_else(|| PlaceBase::Deref(next()), PlaceBase::Global);
    let part = |part: &Part| match part {
        Part::Field(index) => Projection::Field(*index),
        Part::Index => Projection::Index(next()),
    };
    Place { base, path: path.iter().map(part).collect() }
}

/// Whether threads that come to a block end without any effect.
fn ends(function: &Function, block: BlockId) -> bool {
    fn go(function: &Function, at: BlockId, left: &mut u32) -> bool {
        let Some(block) = function.blocks.get(at.index()) else { return false };
        // a way that never ends runs out of these too
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        block.statements.iter().all(|statement| is_silent(&statement.kind))
            && match &block.terminator.kind {
                TerminatorKind::Return(_) => true,
                TerminatorKind::Goto(next) => go(function, *next, left),
                TerminatorKind::Branch { then, otherwise, .. } => go(function, *then, left) && go(function, *otherwise, left),
                _ => false,
            }
    }
    go(function, block, &mut { MOST_BLOCKS })
}

/// Whether a statement does nothing but compute a local.
const fn is_silent(statement: &StatementKind) -> bool {
    matches!(statement, StatementKind::Assign { .. } | StatementKind::Load { access: Access::Plain | Access::NonCoherent, .. })
}

/// The values of a function's locals, as far as it was walked.
struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Of a block, where that is known.
    threads: Option<u32>,
    one: bool,
    locals: HashMap<LocalId, Value>,
    calls: u32,
}

impl Walk<'_> {
    fn start(&mut self, params: Vec<Value>) {
        self.locals = (0..).map(LocalId).zip(params).collect();
    }

    /// None for what has an effect.
    fn statement(&mut self, statement: &Statement) -> Option<()> {
        let (dst, value) = match &statement.kind {
            StatementKind::Assign { dst, value } => (*dst, self.rvalue(*dst, value)),
            StatementKind::Load { dst, place, access: Access::Plain | Access::NonCoherent } => {
                let value = if matches!(place.base, PlaceBase::Local(_)) {
                    self.part(place)
                } else {
                    self.place(self.function.local_type(*dst), place, Step::Load)
                };
                (*dst, value.map_or(Value::Unknown, Value::Uniform))
            }
            StatementKind::Call { dst: Some(dst), function, args } => (*dst, self.call(*function, args)?),
            _ => return None,
        };
        self.locals.insert(dst, value);
        Some(())
    }

    /// What a function gives that does nothing else, and has one way through it.
    fn call(&self, id: FunctionId, args: &[Operand]) -> Option<Value> {
        let function = self.module.function(id)?;
        if self.calls >= MOST_CALLS {
            return None;
        }
        let mut walk = Walk { function, locals: HashMap::new(), calls: self.calls + 1, ..*self };
        walk.start(args.iter().map(|arg| self.operand(arg)).collect());
        let mut at = BlockId(0);
        for _ in 0..MOST_BLOCKS {
            let block = function.blocks.get(at.index())?;
            for statement in &block.statements {
                walk.statement(statement)?;
            }
            match &block.terminator.kind {
                TerminatorKind::Goto(next) => at = *next,
                TerminatorKind::Return(Some(value)) => return Some(walk.operand(value)),
                _ => return None,
            }
        }
        None
    }

    fn operand(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Const(value) => Value::Uniform(Uniform::Const(value.clone())),
            Operand::Local(local) => self.locals.get(local).cloned().unwrap_or(Value::Unknown),
            Operand::Function(_) => Value::Unknown,
        }
    }

    fn rvalue(&self, dst: LocalId, value: &Rvalue) -> Value {
        let ty = self.function.local_type(dst);
        let known = match value {
            Rvalue::Use(operand) => return self.operand(operand),
            Rvalue::Register(register) => return self.register(*register),
            Rvalue::Unary(op, a) => match (op, self.operand(a)) {
                (UnaryOp::Not, Value::Below(limit, is)) => return Value::Below(limit, !is),
                (_, a) => step(ty, Step::Unary(*op), [a]),
            },
            Rvalue::Binary(op, a, b) => return self.binary(ty, *op, self.operand(a), self.operand(b)),
            Rvalue::Cast(kind, a) => match self.operand(a) {
                Value::Linear(linear) => return self.cast(linear, *kind, ty),
                a => step(ty, Step::Cast(*kind), [a]),
            },
            Rvalue::Select(a, b, c) => step(ty, Step::Select, [a, b, c].map(|operand| self.operand(operand))),
            Rvalue::Extract(a, index) => step(ty, Step::Extract(*index), [self.operand(a)]),
            Rvalue::Intrinsic(intrinsic, args) => {
                step(ty, Step::Intrinsic(*intrinsic), args.iter().map(|operand| self.operand(operand)))
            }
            Rvalue::Offset(a, index) => step(ty, Step::Offset, [a, index].map(|operand| self.operand(operand))),
            Rvalue::AddressOf(place) => self.place(ty, place, Step::AddressOf),
            Rvalue::Distance(..) | Rvalue::Aggregate(_) | Rvalue::MapSharedRank(..) | Rvalue::SharedRank(_) => None,
        };
        known.map_or(Value::Unknown, Value::Uniform)
    }

    /// Something about a place that is not within a local.
    fn place(&self, ty: TypeId, place: &Place, what: fn(Option<GlobalId>, Vec<Part>) -> Step) -> Option<Uniform> {
        let (base, pointer) = match &place.base {
            PlaceBase::Global(global) => (Some(*global), None),
            PlaceBase::Deref(pointer) => (None, Some(self.operand(pointer))),
            PlaceBase::Local(_) => return None,
        };
        let indices = place.path.iter().filter_map(|part| match part {
            Projection::Index(index) => Some(self.operand(index)),
            Projection::Field(_) => None,
        });
        let path = place.path.iter().map(|part| match part {
            Projection::Field(index) => Part::Field(*index),
            Projection::Index(_) => Part::Index,
        });
        step(ty, what(base, path.collect()), pointer.into_iter().chain(indices))
    }

    /// A field of a local.
    fn part(&self, place: &Place) -> Option<Uniform> {
        let PlaceBase::Local(local) = place.base else { return None };
        let Some(Value::Uniform(mut value)) = self.locals.get(&local).cloned() else { return None };
        let mut ty = self.function.local_type(local);
        for part in &place.path {
            let Projection::Field(index) = part else { return None };
            ty = self.module.types.element(ty, *index)?;
            value = step(ty, Step::Extract(*index), [Value::Uniform(value)])?;
        }
        Some(value)
    }

    fn register(&self, register: Register) -> Value {
        let number = |value: u32| Value::Uniform(Uniform::Const(Const::u32(value)));
        let linear = |block, thread| Value::Linear(Linear { block, thread, offset: None, int: Int::U32 });
        match register {
            Register::BlockIdxX if self.one => number(0),
            Register::BlockIdxX => linear(Factor::Number(1), 0),
            Register::ThreadIdxX => linear(Factor::NONE, 1),
            Register::BlockDimX => self.threads.map_or(Value::Uniform(Uniform::Threads), number),
            Register::GridDimX => Value::Uniform(Uniform::Blocks),
            Register::BlockIdxY | Register::BlockIdxZ | Register::ThreadIdxY | Register::ThreadIdxZ => number(0),
            Register::BlockDimY | Register::BlockDimZ | Register::GridDimY | Register::GridDimZ => number(1),
            _ => Value::Unknown,
        }
    }

    fn cast(&self, linear: Linear, kind: CastKind, ty: TypeId) -> Value {
        let Some(int) = self.module.types.as_int(ty) else { return Value::Unknown };
        // a wrapped sum is another number in a wider type
        let fits = int.bits() >= 32 && (int.bits() <= linear.int.bits() || linear.offset.is_none());
        if kind != CastKind::Int || !fits {
            return Value::Unknown;
        }
        let offset = linear.offset.map(|offset| Uniform::Step { ty, step: Step::Cast(kind), args: vec![offset] });
        Value::Linear(Linear { offset, int, ..linear })
    }

    fn binary(&self, ty: TypeId, op: BinaryOp, a: Value, b: Value) -> Value {
        if op.is_comparison() {
            return self.compare(op, a, b);
        }
        let sum = |a: Linear, block: Factor, thread: u64, offset: Option<Uniform>| {
            let Some(block) = a.block.plus(block) else { return Value::Unknown };
            let thread = a.thread + thread;
            let offset = match (a.offset, offset) {
                (Some(a), Some(b)) => Some(Uniform::Step { ty, step: Step::Binary(BinaryOp::Add), args: vec![a, b] }),
                (a, b) => a.or(b),
            };
            let steps = offset.as_ref().map_or(0, Uniform::steps);
            if matches!(block, Factor::Number(number) if number > MOST_FACTOR) || thread > MOST_FACTOR || steps > MOST_STEPS {
                return Value::Unknown;
            }
            Value::Linear(Linear { block, thread, offset, ..a })
        };
        let times = |a: Linear, factor: u64| {
            let small = |value: u64| value.checked_mul(factor).filter(|value| *value <= MOST_FACTOR);
            let block = match a.block {
                Factor::Number(number) => small(number).map(Factor::Number),
                Factor::Threads => (factor == 1).then_some(a.block),
            };
            match (block, small(a.thread), a.offset) {
                (Some(block), Some(thread), None) => Value::Linear(Linear { block, thread, offset: None, ..a }),
                _ => Value::Unknown,
            }
        };
        match (op, a, b) {
            (BinaryOp::Add, Value::Linear(a), Value::Linear(b)) => sum(a, b.block, b.thread, b.offset),
            (BinaryOp::Add, Value::Linear(a), Value::Uniform(b)) | (BinaryOp::Add, Value::Uniform(b), Value::Linear(a)) => {
                sum(a, Factor::NONE, 0, Some(b))
            }
            (BinaryOp::Sub, Value::Linear(a), Value::Uniform(b)) => {
                sum(a, Factor::NONE, 0, Some(Uniform::Step { ty, step: Step::Unary(UnaryOp::Neg), args: vec![b] }))
            }
            (BinaryOp::Mul, Value::Linear(a), Value::Uniform(b)) | (BinaryOp::Mul, Value::Uniform(b), Value::Linear(a)) => {
                if self.is_threads(&b) && a.block == Factor::Number(1) && a.thread == 0 && a.offset.is_none() {
                    return Value::Linear(Linear { block: Factor::Threads, ..a });
                }
                b.as_bits().map_or(Value::Unknown, |factor| times(a, factor))
            }
            (BinaryOp::Shl, Value::Linear(a), Value::Uniform(b)) => match b.as_bits() {
                Some(bits) if bits < 32 => times(a, 1 << bits),
                _ => Value::Unknown,
            },
            (op, a, b) => step(ty, Step::Binary(op), [a, b]).map_or(Value::Unknown, Value::Uniform),
        }
    }

    /// Whether a value is `blockDim.x`, which is small enough to be itself in all types that are looked at.
    fn is_threads(&self, value: &Uniform) -> bool {
        match value {
            Uniform::Threads => true,
            Uniform::Step { ty, step: Step::Cast(CastKind::Int), args } => {
                self.module.types.as_int(*ty).is_some_and(|int| int.bits() >= 32) && args.iter().all(|arg| self.is_threads(arg))
            }
            _ => false,
        }
    }

    fn compare(&self, op: BinaryOp, a: Value, b: Value) -> Value {
        let (linear, bound, op) = match (a, b) {
            (Value::Linear(linear), Value::Uniform(bound)) => (linear, bound, op),
            (Value::Uniform(bound), Value::Linear(linear)) => {
                let turned = match op {
                    BinaryOp::Lt => BinaryOp::Gt,
                    BinaryOp::Le => BinaryOp::Ge,
                    BinaryOp::Gt => BinaryOp::Lt,
                    BinaryOp::Ge => BinaryOp::Le,
                    other => other,
                };
                (linear, bound, turned)
            }
            (a, b) => return step(TypeTable::BOOL, Step::Binary(op), [a, b]).map_or(Value::Unknown, Value::Uniform),
        };
        let of_grid = self.threads.map_or(Factor::Threads, |threads| Factor::Number(u64::from(threads)));
        let numbers_threads = linear.thread == 1 && (self.one || linear.block == of_grid);
        let steps = bound.steps() + linear.offset.as_ref().map_or(0, Uniform::steps);
        if !numbers_threads || steps > MOST_STEPS {
            return Value::Unknown;
        }
        let limit = |inclusive| Limit { offset: linear.offset, bound, int: linear.int, inclusive };
        match op {
            BinaryOp::Lt => Value::Below(limit(false), true),
            BinaryOp::Le => Value::Below(limit(true), true),
            BinaryOp::Ge => Value::Below(limit(false), false),
            BinaryOp::Gt => Value::Below(limit(true), false),
            _ => Value::Unknown,
        }
    }
}

/// A step whose operands are all the same for the whole grid.
fn step(ty: TypeId, step: Step, operands: impl IntoIterator<Item = Value>) -> Option<Uniform> {
    let args = operands.into_iter().map(|value| match value {
        Value::Uniform(value) if value.steps() <= MOST_STEPS => Some(value),
        _ => None,
    });
    Some(Uniform::Step { ty, step, args: args.collect::<Option<_>>()? })
}
