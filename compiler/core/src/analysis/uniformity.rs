//! Uniformity: which values are the same for all threads of a block, and which blocks of code all threads of a block come to together.
//!
//! A value varies because of what it is computed from, because ways merge on which threads parted, or because it is what atomics, clocks and the
//! like give. Control flow diverges at branches on such values; by control dependence that reaches every block that may be skipped.
//!
//! Facts of a function are in terms of its parameters, so that one summary serves all callers; [`Uniformity::value`] and [`Uniformity::block`]
//! fill in what is known of all calls of the module.

use super::control::Control;
use super::extent::Threads;
use super::values::{Definition, Point, ValueId};
use super::{Body, Program};
use crate::builtins::{Register, RuntimeFn, WarpOp};
use crate::ir::{Access, BlockId, FunctionId, LocalId, Operand, Place, PlaceBase, Rvalue, StatementKind, TerminatorKind};
use crate::types::Space;

/// Among which threads a value is the same. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// All threads of the grid.
    #[default]
    Grid,
    /// All threads of a block.
    Block,
    /// Perhaps: read from an address that is the same for all, in memory that others may write, or given by the device runtime. A pass must
    /// take it for varying, a lint for uniform.
    Unknown,
    /// It surely comes from what differs from thread to thread.
    Thread,
}

impl Level {
    /// Whether it is certain that all threads of a block have the same.
    #[must_use]
    pub const fn is_uniform(self) -> bool {
        matches!(self, Self::Grid | Self::Block)
    }

    /// Whether there is evidence that threads of a block differ.
    #[must_use]
    pub const fn is_varying(self) -> bool {
        matches!(self, Self::Thread)
    }
}

/// A level in terms of a function's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// At least this.
    pub level: Level,
    /// And at least as the arguments for these parameters, a bit each. Parameters from the 64th on count as [`Level::Unknown`].
    pub params: u64,
}

impl Fact {
    const fn of(level: Level) -> Self {
        Self { level, params: 0 }
    }

    const fn param(index: u32) -> Self {
        if index < 64 { Self { level: Level::Grid, params: 1 << index } } else { Self::of(Level::Unknown) }
    }

    fn join(self, other: Self) -> Self {
        Self { level: self.level.max(other.level), params: self.params | other.params }
    }

    /// With what the arguments are.
    fn with(self, mut argument: impl FnMut(u32) -> Self) -> Self {
        let used = (0..64u32).filter(|index| self.params >> index & 1 == 1);
        used.fold(Self::of(self.level), |fact, index| fact.join(argument(index)))
    }
}

/// The facts of one function.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// By value.
    values: Vec<Fact>,
    /// By block: whether all threads come there together, if all come to the function together.
    blocks: Vec<Fact>,
    /// By local that is memory: what lies there.
    memory: Vec<Fact>,
    /// What it returns.
    result: Fact,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Context {
    /// Whether all threads come to it together.
    control: Level,
    /// Whether it only runs in blocks of one thread: there nothing varies.
    alone: bool,
}

/// The uniformity of a program.
#[derive(Clone, Debug, Default)]
pub struct Uniformity {
    facts: Vec<Facts>,
    contexts: Vec<Context>,
    /// By function and parameter: the level of what it is called with.
    params: Vec<Vec<Level>>,
}

impl Uniformity {
    /// Looks at all device code.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        let size = program.bodies.len();
        let mut uniformity = Self {
            facts: program.bodies.iter().map(start).collect(),
            contexts: vec![Context { control: Level::Grid, alone: true }; size],
            params: program.bodies.iter().map(|body| vec![Level::Grid; body.function.param_count as usize]).collect(),
        };
        for component in &program.calls.order {
            uniformity.summarise(program, component);
        }
        uniformity.find_contexts(program);
        uniformity
    }

    /// The level of a value, over all calls.
    #[must_use]
    pub fn value(&self, function: FunctionId, value: ValueId) -> Level {
        let fact = self.facts.get(function.index()).and_then(|facts| facts.values.get(value.index()));
        self.resolve(function, fact.copied().unwrap_or(Fact::of(Level::Unknown)))
    }

    /// The level of an operand at a point, over all calls.
    #[must_use]
    pub fn operand(&self, body: &Body<'_>, point: Point, operand: &Operand) -> Level {
        match operand {
            Operand::Local(_) => body.read(point, operand).map_or(Level::Unknown, |value| self.value(body.id, value)),
            Operand::Const(_) | Operand::Function(_) => Level::Grid,
        }
    }

    /// The level of the control flow at a block, over all calls: [`Level::Thread`] where some threads of a block may come and others not.
    #[must_use]
    pub fn block(&self, function: FunctionId, block: BlockId) -> Level {
        let fact = self.facts.get(function.index()).and_then(|facts| facts.blocks.get(block.index()));
        let own = self.resolve(function, fact.copied().unwrap_or(Fact::of(Level::Unknown)));
        own.max(self.contexts.get(function.index()).map_or(Level::Unknown, |context| context.control))
    }

    /// Whether a function only runs in blocks of one thread, as far as the module's launches say.
    #[must_use]
    pub fn is_alone(&self, function: FunctionId) -> bool {
        self.contexts.get(function.index()).is_some_and(|context| context.alone)
    }

    /// What a function returns, in terms of its parameters.
    #[must_use]
    pub fn result(&self, function: FunctionId) -> Fact {
        self.facts.get(function.index()).map_or(Fact::of(Level::Unknown), |facts| facts.result)
    }

    fn resolve(&self, function: FunctionId, fact: Fact) -> Level {
        let params = self.params.get(function.index());
        let level = |index: u32| {
            let known = params.and_then(|params| params.get(index as usize));
            Fact::of(known.copied().unwrap_or(Level::Unknown))
        };
        let level = fact.with(level).level;
        if self.is_alone(function) { level.min(Level::Block) } else { level }
    }

    /// The facts of the functions of one component, until nothing changes.
    fn summarise(&mut self, program: &Program<'_>, component: &[usize]) {
        let mut changed = true;
        while changed {
            changed = false;
            for index in component {
                let Some(body) = program.bodies.get(*index) else { continue };
                changed |= self.pass(program, body);
            }
        }
    }

    /// One round over a function; says whether anything changed.
    fn pass(&mut self, program: &Program<'_>, body: &Body<'_>) -> bool {
        let Some(mut facts) = self.facts.get_mut(body.id.index()).map(std::mem::take) else { return false };
        if body.function.blocks.is_empty() {
            // nothing is known of what another module defines
            facts.result = Fact { level: Level::Unknown, params: u64::MAX };
            if let Some(entry) = self.facts.get_mut(body.id.index()) {
                *entry = facts;
            }
            return false;
        }
        let mut round = Round { uniformity: self, program, body, facts: &mut facts, changed: false };
        for block in &body.control.order {
            round.block(*block);
        }
        let changed = round.changed;
        if let Some(entry) = self.facts.get_mut(body.id.index()) {
            *entry = facts;
        }
        changed
    }

    /// From kernels down to what they call.
    fn find_contexts(&mut self, program: &Program<'_>) {
        for body in &program.bodies {
            let alone = if body.function.is_kernel() {
                program.extents.of(body.id).threads == Threads::One
            } else {
                // without a caller in this module, it is not alone
                program.info.function(body.id).is_none_or(|info| info.on_device) && is_called(program, body.id)
            };
            if let Some(context) = self.contexts.get_mut(body.id.index()) {
                context.alone = alone;
            }
        }
        let mut work: Vec<usize> = program.calls.order.iter().rev().flatten().copied().collect();
        work.reverse();
        while let Some(index) = work.pop() {
            let Some(body) = program.bodies.get(index) else { continue };
            if !program.info.is_on_device(body.id) {
                continue;
            }
            for (point, statement) in body.statements() {
                let StatementKind::Call { function, args, .. } = &statement.kind else { continue };
                let control = self.block(body.id, point.block);
                let alone = self.is_alone(body.id);
                let levels: Vec<Level> = args.iter().map(|arg| self.operand(body, point, arg)).collect();
                if self.enter(*function, control, alone, &levels) && program.calls.cyclic.get(function.index()) == Some(&true) {
                    work.push(function.index());
                }
            }
        }
    }

    /// Adds one call; says whether it told anything new.
    fn enter(&mut self, function: FunctionId, control: Level, alone: bool, levels: &[Level]) -> bool {
        let mut changed = false;
        if let Some(context) = self.contexts.get_mut(function.index()) {
            let new = Context { control: context.control.max(control), alone: context.alone && alone };
            changed |= *context != new;
            *context = new;
        }
        for (known, level) in self.params.get_mut(function.index()).into_iter().flatten().zip(levels) {
            changed |= *known < *level;
            *known = (*known).max(*level);
        }
        changed
    }
}

fn is_called(program: &Program<'_>, function: FunctionId) -> bool {
    program.info.functions.iter().any(|info| info.on_device && info.callees.contains(&function))
}

fn start(body: &Body<'_>) -> Facts {
    let fact = |definition: &Definition| match definition {
        Definition::Param(local) => Fact::param(local.0),
        _ => Fact::default(),
    };
    Facts {
        values: body.values.definitions.iter().map(fact).collect(),
        blocks: vec![Fact::default(); body.function.blocks.len()],
        memory: vec![Fact::default(); body.function.locals.len()],
        result: Fact::default(),
    }
}

/// One round over a function.
struct Round<'a> {
    uniformity: &'a Uniformity,
    program: &'a Program<'a>,
    body: &'a Body<'a>,
    facts: &'a mut Facts,
    changed: bool,
}

impl Round<'_> {
    fn block(&mut self, block: BlockId) {
        let decisions = self.body.control.decisions.get(block.index()).map_or(&[][..], Vec::as_slice);
        let mut control = Fact::default();
        for decision in decisions {
            control = control.join(self.condition(decision.block));
            control = control.join(self.facts.blocks.get(decision.block.index()).copied().unwrap_or_default());
        }
        raise(self.facts.blocks.get_mut(block.index()), control, &mut self.changed);
        for merge in self.body.values.merges_at(block) {
            if let Some(Definition::Merge { inputs, .. }) = self.body.values.definition(*merge) {
                let fact = self.merge(block, inputs);
                raise(self.facts.values.get_mut(merge.index()), fact, &mut self.changed);
            }
        }
        for (point, statement) in self.body.block_statements(block) {
            self.statement(point, &statement.kind);
        }
        if let Some((point, terminator)) = self.body.terminator(block)
            && let TerminatorKind::Return(Some(value)) = &terminator.kind
        {
            let result = self.operand(point, value).join(control).join(self.facts.result);
            self.changed |= result != self.facts.result;
            self.facts.result = result;
        }
    }

    fn value(&self, value: ValueId) -> Fact {
        self.facts.values.get(value.index()).copied().unwrap_or(Fact::of(Level::Unknown))
    }

    fn operand(&self, point: Point, operand: &Operand) -> Fact {
        match operand {
            Operand::Local(local) if self.body.values.is_memory(*local) => self.memory(*local),
            Operand::Local(_) => self.body.read(point, operand).map_or_else(Fact::default, |value| self.value(value)),
            Operand::Const(_) | Operand::Function(_) => Fact::default(),
        }
    }

    fn operands<'o>(&self, point: Point, operands: impl IntoIterator<Item = &'o Operand>) -> Fact {
        operands.into_iter().fold(Fact::default(), |fact, operand| fact.join(self.operand(point, operand)))
    }

    fn memory(&self, local: LocalId) -> Fact {
        self.facts.memory.get(local.index()).copied().unwrap_or(Fact::of(Level::Unknown))
    }

    /// What decides at the end of a block.
    fn condition(&self, block: BlockId) -> Fact {
        let Some((point, terminator)) = self.body.terminator(block) else { return Fact::default() };
        let mut fact = Fact::default();
        terminator.kind.each_operand(&mut |operand| fact = fact.join(self.operand(point, operand)));
        fact
    }

    /// Threads that parted bring different values along, and threads leave a loop in different rounds.
    fn merge(&self, block: BlockId, inputs: &[(BlockId, ValueId)]) -> Fact {
        let mut fact = Fact::default();
        for (_, value) in inputs {
            fact = fact.join(self.value(*value));
        }
        let differ = inputs.windows(2).any(|pair| matches!(pair, [(_, a), (_, b)] if a != b));
        if differ {
            for chooser in choosers(&self.body.control, block) {
                fact = fact.join(self.condition(chooser));
            }
        }
        fact
    }

    fn statement(&mut self, point: Point, statement: &StatementKind) {
        let fact = match statement {
            StatementKind::Assign { value, .. } => self.assigned(point, value),
            StatementKind::Load { place, access, .. } => self.loaded(point, place, *access),
            StatementKind::Store { place, value, .. } => {
                self.stored(point, place, value);
                return;
            }
            StatementKind::Call { function, args, .. } => {
                let arguments: Vec<Fact> = args.iter().map(|arg| self.operand(point, arg)).collect();
                let argument = |index: u32| arguments.get(index as usize).copied().unwrap_or_default();
                self.escape(point, statement);
                self.uniformity.result(*function).with(argument)
            }
            StatementKind::Barrier { .. } => Fact::of(Level::Block),
            StatementKind::Atomic { .. } => Fact::of(Level::Thread),
            StatementKind::Warp { op: WarpOp::ActiveMask, .. } => Fact::of(Level::Unknown),
            StatementKind::Warp { args, .. } | StatementKind::Texture { args, .. } => {
                self.operands(point, args).join(Fact::of(Level::Unknown))
            }
            StatementKind::Runtime { call: RuntimeFn::DeviceMalloc, .. } => Fact::of(Level::Thread),
            StatementKind::Runtime { .. } => {
                self.escape(point, statement);
                Fact::of(Level::Unknown)
            }
            StatementKind::Launch(_) | StatementKind::HostAllocate { .. } | StatementKind::Printf { .. } => {
                Fact::of(Level::Unknown)
            }
            StatementKind::Fence { .. } | StatementKind::Assert { .. } | StatementKind::Deinit { .. } => return,
        };
        if let Some(made) = self.body.values.made(point) {
            raise(self.facts.values.get_mut(made.index()), fact, &mut self.changed);
        }
        // a result that goes into memory
        if let Some(local) = statement.destination()
            && self.body.values.is_memory(local)
        {
            raise(self.facts.memory.get_mut(local.index()), fact, &mut self.changed);
        }
    }

    fn assigned(&mut self, point: Point, value: &Rvalue) -> Fact {
        match value {
            Rvalue::Register(register) => Fact::of(register_level(*register)),
            // also of an address: each thread's own memory is elsewhere, but what matters of its address is the same
            _ => {
                let mut fact = Fact::default();
                value.each_operand(&mut |operand| fact = fact.join(self.operand(point, operand)));
                fact
            }
        }
    }

    fn loaded(&self, point: Point, place: &Place, access: Access) -> Fact {
        let mut address = Fact::default();
        place.each_operand(&mut |operand| address = address.join(self.operand(point, operand)));
        match place.base {
            PlaceBase::Local(local) if self.body.values.is_memory(local) => address.join(self.memory(local)),
            PlaceBase::Local(local) => {
                let whole = self.body.values.read_local(point, local).map_or_else(Fact::default, |value| self.value(value));
                address.join(whole)
            }
            _ => {
                let space = self.program.module.place_space(self.body.function, place);
                let fixed = space == Some(Space::Constant) || access == Access::NonCoherent;
                if fixed { address } else { address.join(Fact::of(Level::Unknown)) }
            }
        }
    }

    fn stored(&mut self, point: Point, place: &Place, value: &Operand) {
        let PlaceBase::Local(local) = place.base else { return };
        let mut fact = self.operand(point, value);
        place.each_operand(&mut |operand| fact = fact.join(self.operand(point, operand)));
        if self.body.values.is_memory(local) {
            let control = self.facts.blocks.get(point.block.index()).copied().unwrap_or_default();
            raise(self.facts.memory.get_mut(local.index()), fact.join(control), &mut self.changed);
        } else if let Some(made) = self.body.values.made(point) {
            let before = self.body.values.read_local(point, local).map_or_else(Fact::default, |value| self.value(value));
            raise(self.facts.values.get_mut(made.index()), fact.join(before), &mut self.changed);
        }
    }

    /// Memory whose address is given away holds who knows what.
    fn escape(&mut self, point: Point, statement: &StatementKind) {
        let mut given = Vec::new();
        statement.each_operand(&mut |operand| given.extend(pointed_local(self.body, point, operand)));
        for local in given {
            raise(self.facts.memory.get_mut(local.index()), Fact::of(Level::Unknown), &mut self.changed);
        }
    }
}

/// The local whose address an operand surely is.
fn pointed_local(body: &Body<'_>, mut point: Point, operand: &Operand) -> Option<LocalId> {
    let mut operand = operand.clone();
    for _ in 0..8 {
        let (at, statement) = body.values.statement(body.function, body.read(point, &operand)?)?;
        match &statement.kind {
            StatementKind::Assign { value: Rvalue::AddressOf(Place { base: PlaceBase::Local(local), .. }), .. } => {
                return Some(*local);
            }
            StatementKind::Assign { value: Rvalue::Use(inner) | Rvalue::Cast(_, inner) | Rvalue::Offset(inner, _), .. } => {
                operand = inner.clone();
            }
            _ => return None,
        }
        point = at;
    }
    None
}

fn raise(entry: Option<&mut Fact>, fact: Fact, changed: &mut bool) {
    if let Some(entry) = entry {
        let new = entry.join(fact);
        *changed |= new != *entry;
        *entry = new;
    }
}

const fn register_level(register: Register) -> Level {
    match register {
        Register::BlockDimX
        | Register::BlockDimY
        | Register::BlockDimZ
        | Register::GridDimX
        | Register::GridDimY
        | Register::GridDimZ
        | Register::WarpSize
        | Register::GridId
        | Register::ClusterDimX
        | Register::ClusterDimY
        | Register::ClusterDimZ
        | Register::ClusterGridDimX
        | Register::ClusterGridDimY
        | Register::ClusterGridDimZ
        | Register::ClusterSize
        | Register::ClusterSpecified => Level::Grid,
        Register::BlockIdxX
        | Register::BlockIdxY
        | Register::BlockIdxZ
        | Register::ClusterIdxX
        | Register::ClusterIdxY
        | Register::ClusterIdxZ
        | Register::ClusterBlockIdxX
        | Register::ClusterBlockIdxY
        | Register::ClusterBlockIdxZ
        | Register::ClusterBlockRank => Level::Block,
        Register::ThreadIdxX
        | Register::ThreadIdxY
        | Register::ThreadIdxZ
        | Register::LaneId
        | Register::Clock
        | Register::Clock64
        | Register::GlobalTimer => Level::Thread,
    }
}

/// The blocks whose branches choose by which way a block is entered: those between it and its dominator, and for the header of a loop those of
/// the loop.
fn choosers(control: &Control, block: BlockId) -> Vec<BlockId> {
    let is_header = control.is_header(block);
    let top = control.dominator.get(block.index()).copied().flatten();
    let counts = |chooser: BlockId| {
        if is_header { control.is_in_loop(chooser, block) } else { top.is_none_or(|top| control.dominates(top, chooser)) }
    };
    let mut found: Vec<BlockId> = Vec::new();
    let mut work: Vec<BlockId> = Vec::new();
    let mut seen = vec![false; control.successors.len()];
    for predecessor in control.predecessors.get(block.index()).into_iter().flatten() {
        if control.successors.get(predecessor.index()).map_or(0, Vec::len) > 1 && counts(*predecessor) {
            found.push(*predecessor);
        }
        work.push(*predecessor);
    }
    while let Some(at) = work.pop() {
        for decision in control.decisions.get(at.index()).into_iter().flatten() {
            if counts(decision.block)
                && let Some(flag) = seen.get_mut(decision.block.index())
                && !*flag
            {
                *flag = true;
                found.push(decision.block);
                work.push(decision.block);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
