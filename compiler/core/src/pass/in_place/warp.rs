//! Grids that the lanes of a warp which launch them together also run together, all of their threads side by side.

use super::same::Same;
use super::variant::Variants;
use crate::builtins::{BarrierOp, WarpOp};
use crate::ir::{
    BinaryOp, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Launch, LocalId, Module, Operand, Rvalue,
    StatementKind,
};
use crate::pass::merge::facts::constant;
use crate::pass::merge::graft::{Naming, graft};
use crate::pass::merge::plan::{Extents, Limits, Shape};
use crate::pass::merge::runtime::{BELOW, compile};
use crate::pass::runtime::code::Code;
use crate::source::Span;
use crate::types::{Scalar, Type, TypeId, TypeTable};
use std::collections::{BTreeMap, HashMap};

const WARP: &str = include_str!("warp.cdp");
const BLOCK: &str = include_str!("block.cdp");

/// Symbols of functions start so that talk to their warp, and do the same whichever of its lanes are there: those that are a part of their
/// caller, and those that are called, and have few registers, so that kernels which launch nothing do not pay for them.
pub(in crate::pass) const ANY_LANES: [&str; 2] = ["cdpc$warp$", "cdpc$merge$warp$"];

/// The number of threads of a lane that has none to run here.
pub(super) const NONE: u32 = u32::MAX;

/// Values of 32 bits that lanes tell each other for each thread; where a child takes more it is not worth it.
const MOST_WORDS: u32 = 24;

const U32: TypeId = TypeTable::U32;
const U64: TypeId = TypeTable::U64;

/// Launches of one kernel for which one function does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kernel: FunctionId,
    /// Of the launch: what runs the child there has its place in the source.
    span: Span,
    grid: Extents,
    block: Extents,
    shape: Shape,
    /// Which arguments all lanes have in common, and then which extents.
    same: Vec<bool>,
}

/// The functions that were made, and what they call.
pub(super) struct Warps {
    names: HashMap<String, FunctionId>,
    limits: Limits,
    functions: HashMap<Key, FunctionId>,
    /// Of functions for lanes that have arguments in common, those for lanes that have none.
    pub general: BTreeMap<FunctionId, FunctionId>,
}

impl Warps {
    /// None where the text has errors, which its tests rule out.
    pub(super) fn new(module: &mut Module, owner: &str, span: Span) -> Option<Self> {
        let part = compile(&format!("{BELOW}{WARP}{BLOCK}"))?;
        let [_, called] = ANY_LANES;
        let symbol = |name: &str| format!("{called}{owner}${name}");
        let names = graft(module, part, &Naming { symbol: &symbol, given: &HashMap::new(), span })?;
        Some(Self { names, limits: Limits::default(), functions: HashMap::new(), general: BTreeMap::new() })
    }

    pub(super) fn named(&self, name: &str) -> FunctionId {
        self.names.get(name).copied().unwrap_or(FunctionId(u32::MAX))
    }

    /// `fn() -> u32`: for how many rounds the warp runs threads here; the lanes that are there know it.
    pub(super) fn rounds(&self, light: bool) -> FunctionId {
        self.named(if light { "rounds_when_light" } else { "rounds_when_heavy" })
    }

    /// What all lanes call that come to a launch: `fn(arguments, gridDim, blockDim, threads: u32, rounds: u32) -> u32`. Runs the grids of those
    /// that do not say [`NONE`] for their threads, or not those with more threads than rounds, where it would take more rounds. Gives
    /// how many threads the lane's grid has that were not run and do something, or [`NONE`] for [`NONE`].
    pub(super) fn function(
        &mut self,
        module: &mut Module,
        caller: &Same,
        (launch, span): (&Launch, Span),
        variants: &Variants,
    ) -> Option<FunctionId> {
        let variant = *variants.get(&launch.kernel)?;
        let [grid, block] = [&launch.grid, &launch.block].map(|extents| extents.each_ref().map(constant));
        self.limits.look_for(module, launch.kernel, block);
        let shape = self.limits.shape(launch, block);
        let values = launch.args.iter().chain(&launch.grid).chain(&launch.block);
        let same: Vec<bool> = values.map(|value| caller.operand(value)).collect();
        let mut key = Key { kernel: launch.kernel, span, grid, block, shape, same };
        let function = self.of(module, &key, variant)?;
        key.same = vec![false; key.same.len()];
        let general = self.of(module, &key, variant)?;
        self.general.insert(function, general);
        Some(function)
    }

    fn of(&mut self, module: &mut Module, key: &Key, variant: FunctionId) -> Option<FunctionId> {
        if let Some(known) = self.functions.get(key) {
            return Some(*known);
        }
        let function = self.write(module, key, variant)?;
        let id = module.add_function(function);
        self.functions.insert(key.clone(), id);
        Some(id)
    }

    fn write(&self, module: &Module, key: &Key, variant: FunctionId) -> Option<Function> {
        let kernel = module.function(key.kernel)?;
        let span = key.span;
        let [own, _] = ANY_LANES;
        let name = format!("{own}{}${}", self.functions.len(), kernel.symbol);
        let mut builder = FunctionBuilder::new(name.clone(), name, FunctionKind::Plain, U32, span);
        let types = kernel.param_types().chain([U32; 6]);
        let given: Vec<Operand> = types.map(|ty| builder.param("", ty, false, span).into()).collect();
        let [threads, rounds] = ["threads", "rounds"].map(|name| Operand::from(builder.param(name, U32, false, span)));
        let known = key.grid.iter().chain(&key.block).copied();
        let mut values = given;
        let args = values.len() - 6;
        for (value, known) in values.iter_mut().skip(args).zip(known) {
            if let Some(known) = known {
                *value = Const::u32(known).into();
            }
        }
        let count = builder.variable("count", U32, span);
        let code = &mut Code { builder: &mut builder, span };
        self.count(code, key, &values, &threads, count);

        let mask = code.warp(U32, WarpOp::ActiveMask, Vec::new());
        let shared = code.call(U64, self.named("share"), vec![mask.clone(), count.into(), rounds]);
        let end = code.cast(U32, CastKind::Int, &shared);
        let mine = code.binary(U64, BinaryOp::Shr, &shared, &Const::u32(32).into());
        let mine = code.cast(U32, CastKind::Int, &mine);
        let start = code.binary(U32, BinaryOp::Sub, &end, &mine);
        let all = code.call(U32, self.named("all"), vec![mask.clone(), end.clone()]);
        let rank = code.call(U32, self.named("rank"), vec![mask.clone()]);
        let lanes = code.call(U32, self.named("lanes"), vec![mask.clone()]);
        // what a lane wrote before its launch is seen by those who run its child
        code.builder.push(StatementKind::Barrier { dst: None, op: BarrierOp::Warp, operand: Some(mask.clone()) }, span);

        let first = code.builder.variable("first", U32, span);
        code.set(first, Const::u32(0).into());
        let [header, body, run, next, done] = [(); 5].map(|()| code.block());
        code.goto(header);
        code.go_on_in(header);
        let more = code.compare(BinaryOp::Lt, &first.into(), &all);
        code.branch(more, body, done);

        code.go_on_in(body);
        let at = code.binary(U32, BinaryOp::Add, &first.into(), &rank);
        // those for whom nothing is left look at the last one, for nothing
        let most = code.binary(U32, BinaryOp::Sub, &all, &Const::u32(1).into());
        let looked = code.least(U32, &at, &most);
        let owner = code.call(U32, self.named("owner"), vec![mask.clone(), end, looked.clone()]);
        let before = code.shuffle(module, &mask, &start, &owner, U32)?;
        let number = code.binary(U32, BinaryOp::Sub, &looked, &before);
        let types = kernel.param_types().chain([U32; 6]);
        let mut theirs = Vec::new();
        for ((value, same), ty) in values.iter().zip(&key.same).zip(types) {
            let told = *same || matches!(value, Operand::Const(_));
            theirs.push(if told { value.clone() } else { code.shuffle(module, &mask, value, &owner, ty)? });
        }
        let takes_part = code.compare(BinaryOp::Lt, &at, &all);
        code.branch(takes_part, run, next);

        code.go_on_in(run);
        code.run_thread(&theirs, &number, variant);
        code.goto(next);

        code.go_on_in(next);
        let after = code.binary(U32, BinaryOp::Add, &first.into(), &lanes);
        code.set(first, after);
        code.goto(header);

        code.go_on_in(done);
        let none = code.compare(BinaryOp::Eq, &threads, &Const::u32(NONE).into());
        let whole = code.compare(BinaryOp::Eq, &mine, &count.into());
        let left = code.value(U32, Rvalue::Select(whole, Const::u32(0).into(), count.into()));
        let left = code.value(U32, Rvalue::Select(none, Const::u32(NONE).into(), left));
        code.give(Some(left));
        Some(builder.finish())
    }

    /// How many threads the lane has: those that do anything.
    fn count(&self, code: &mut Code<'_>, key: &Key, values: &[Operand], threads: &Operand, count: LocalId) {
        let [some, ready] = [(); 2].map(|()| code.block());
        code.set(count, Const::u32(0).into());
        let none = code.compare(BinaryOp::Eq, threads, &Const::u32(NONE).into());
        code.branch(none, ready, some);
        code.go_on_in(some);
        let mut number = threads.clone();
        let (args, extents) = values.split_at(values.len().saturating_sub(6));
        if let (Some(limit), [x, _, _, threads_x, ..]) = (self.limits.of(key.kernel, key.block, key.shape), extents) {
            number = limit.emit(code, self.named("below"), [x, threads_x], args, number);
        }
        code.set(count, number);
        code.goto(ready);
        code.go_on_in(ready);
    }
}

/// Whether lanes can tell each other what this kernel takes.
pub(super) fn can_tell(module: &Module, kernel: &Function) -> bool {
    let words = |ty| words(&module.types, ty);
    let total = kernel.param_types().try_fold(0u32, |total, ty| Some(total.saturating_add(words(ty)?)));
    total.is_some_and(|total| total <= MOST_WORDS)
}

/// Words of 32 bits that a value takes; none where it cannot be told.
fn words(types: &TypeTable, ty: TypeId) -> Option<u32> {
    let int = |bits: u32| Some(bits.div_ceil(32));
    match types.get(ty) {
        Type::Bool | Type::Enum(_) | Type::CudaError => Some(1),
        Type::Int(known) => int(known.bits()),
        Type::Float(known) => int(known.bits()),
        other if other.is_address() => Some(2),
        Type::Vector { lanes, .. } => (0..u32::from(*lanes)).map(|lane| words(types, types.element(ty, lane)?)).sum(),
        Type::Struct(id) => types.struct_def(*id)?.fields.iter().map(|field| words(types, field.ty)).sum(),
        _ => None,
    }
}

impl Code<'_> {
    fn warp(&mut self, ty: TypeId, op: WarpOp, args: Vec<Operand>) -> Operand {
        let dst = self.builder.temporary(ty, self.span);
        self.builder.push(StatementKind::Warp { dst: Some(dst), op, args }, self.span);
        dst.into()
    }

    /// A lane's value, of any type that can be told.
    fn shuffle(&mut self, module: &Module, mask: &Operand, value: &Operand, lane: &Operand, ty: TypeId) -> Option<Operand> {
        let types = &module.types;
        let through = |code: &mut Self, word: TypeId, there: CastKind, back: CastKind| {
            let word_value = code.cast(word, there, value);
            let told = code.shuffle(module, mask, &word_value, lane, word)?;
            Some(code.cast(ty, back, &told))
        };
        let elements = match types.get(ty) {
            Type::Bool | Type::Enum(_) | Type::CudaError => return through(self, U32, CastKind::Int, CastKind::Int),
            Type::Int(int) if int.bits() < 32 => return through(self, U32, CastKind::Int, CastKind::Int),
            Type::Int(_) | Type::Float(_) => {
                let width = Operand::from(Const::bits(TypeTable::I32, 32));
                return Some(self.warp(ty, WarpOp::Shfl, vec![mask.clone(), value.clone(), lane.clone(), width]));
            }
            other if other.is_address() => return through(self, U64, CastKind::PointerToInt, CastKind::IntToPointer),
            Type::Vector { element: Scalar::Int(_) | Scalar::Float(_), lanes } => u32::from(*lanes),
            Type::Struct(id) => u32::try_from(types.struct_def(*id)?.fields.len()).ok()?,
            _ => return None,
        };
        let mut told = Vec::new();
        for index in 0..elements {
            let element = types.element(ty, index)?;
            let part = self.value(element, Rvalue::Extract(value.clone(), index));
            told.push(self.shuffle(module, mask, &part, lane, element)?);
        }
        Some(self.value(ty, Rvalue::Aggregate(told)))
    }
}
