//! The values of one function in static single assignment form: every assignment of a local makes a value of its own, and where ways meet
//! on which a local has different values, a merge makes one more. Analyses that keep one fact a value follow variables through
//! reassignments without looking at paths.
//!
//! The IR itself has no such form; this is a view beside it. What lies in memory has none: a local whose address is taken is read by loads, and
//! each load makes a value.

use super::control::Control;
use crate::ir::{BlockId, Function, LocalId, Operand, Place, PlaceBase, Rvalue, Statement, StatementKind};
use std::collections::HashMap;

/// A value of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A place in a function: a block and a statement in it; the number of statements stands for the terminator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// The block.
    pub block: BlockId,
    /// From 0.
    pub statement: usize,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// What the caller or launcher gave.
    Param(LocalId),
    /// Nothing: the local has no value yet.
    Undefined(LocalId),
    /// The statement there: it writes a local as a whole, or a part of one (`Store` into a place of a local that is no memory).
    Statement(Point),
    /// Ways meet at the start of a block: from each predecessor, the value that the local has there.
    Merge {
        /// The block.
        block: BlockId,
        /// The local.
        local: LocalId,
        /// By predecessor.
        inputs: Vec<(BlockId, ValueId)>,
    },
}

impl ValueId {
    /// The place in its list.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The values of a function.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// By value.
    pub definitions: Vec<Definition>,
    /// By local: its only value, where it has one only.
    single: Vec<Option<ValueId>>,
    /// By local: its address is taken, so that it is memory.
    in_memory: Vec<bool>,
    /// The values of the other locals where they are read, or partly written.
    reads: HashMap<(Point, LocalId), ValueId>,
    /// The value that a statement makes.
    made: HashMap<Point, ValueId>,
    /// The values that merge at a block's start.
    merges: HashMap<BlockId, Vec<ValueId>>,
}

/// The local of which a statement writes the whole, or a part without going through memory.
fn written(statement: &StatementKind, in_memory: &[bool]) -> Option<LocalId> {
    if let StatementKind::Store { place: Place { base: PlaceBase::Local(local), .. }, .. } = statement {
        return Some(*local).filter(|local| in_memory.get(local.index()) == Some(&false));
    }
    statement.destination().filter(|local| in_memory.get(local.index()) == Some(&false))
}

/// The locals that a statement reads, as operands or as parts of a place.
fn read(statement: &StatementKind) -> Vec<LocalId> {
    let mut list = Vec::new();
    statement.each_operand(&mut |operand| list.extend(as_local(operand)));
    statement.each_place(&mut |place| {
        if let PlaceBase::Local(local) = place.base {
            list.push(local);
        }
    });
    list
}

const fn as_local(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::Local(local) => Some(*local),
        _ => None,
    }
}

fn addresses_taken(function: &Function) -> Vec<bool> {
    let mut taken = vec![false; function.locals.len()];
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        if let StatementKind::Assign { value: Rvalue::AddressOf(Place { base: PlaceBase::Local(local), .. }), .. } =
            &statement.kind
            && let Some(flag) = taken.get_mut(local.index())
        {
            *flag = true;
        }
    }
    taken
}

impl Values {
    /// Names the values of a function.
    #[must_use]
    pub fn new(function: &Function, control: &Control) -> Self {
        let locals = function.locals.len();
        let mut values = Self { single: vec![None; locals], in_memory: addresses_taken(function), ..Self::default() };
        let mut blocks: Vec<Vec<BlockId>> = vec![Vec::new(); locals];
        for block in &control.order {
            for statement in function.blocks.get(block.index()).into_iter().flat_map(|block| &block.statements) {
                if let Some(list) = written(&statement.kind, &values.in_memory).and_then(|l| blocks.get_mut(l.index())) {
                    list.push(*block);
                }
            }
        }
        let mut start: Vec<Option<ValueId>> = vec![None; locals];
        for (index, entry) in start.iter_mut().enumerate() {
            let local = LocalId(u32::try_from(index).unwrap_or(u32::MAX));
            let is_param = index < function.param_count as usize;
            let writes = blocks.get(index).map_or(0, Vec::len);
            if is_param || writes != 1 {
                let definition = if is_param { Definition::Param(local) } else { Definition::Undefined(local) };
                *entry = Some(values.add(definition));
            }
            if writes == 0
                && let Some(single) = values.single.get_mut(index)
            {
                *single = *entry;
            }
        }
        // a local with one write that is no parameter has its value wherever it may be read (E0215 sees to that)
        let many: Vec<(LocalId, &[BlockId])> = blocks
            .iter()
            .enumerate()
            .filter(|(index, list)| list.len() > 1 || (list.len() == 1 && *index < function.param_count as usize))
            .map(|(index, list)| (LocalId(u32::try_from(index).unwrap_or(u32::MAX)), list.as_slice()))
            .collect();
        values.place_merges(control, &many);
        values.name(function, control, &many, &start);
        values
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// The value that an operand has at a point; none for constants and functions, and for locals in code that control cannot reach.
    #[must_use]
    pub fn read(&self, point: Point, operand: &Operand) -> Option<ValueId> {
        self.read_local(point, as_local(operand)?)
    }

    /// The value that a local has at a point that reads it.
    #[must_use]
    pub fn read_local(&self, point: Point, local: LocalId) -> Option<ValueId> {
        let single = self.single.get(local.index()).copied().flatten();
        single.or_else(|| self.reads.get(&(point, local)).copied())
    }

    /// The value that the statement at a point makes.
    #[must_use]
    pub fn made(&self, point: Point) -> Option<ValueId> {
        self.made.get(&point).copied()
    }

    /// Where a value comes from.
    #[must_use]
    pub fn definition(&self, value: ValueId) -> Option<&Definition> {
        self.definitions.get(value.index())
    }

    /// The statement that makes a value, with its place.
    #[must_use]
    pub fn statement<'f>(&self, function: &'f Function, value: ValueId) -> Option<(Point, &'f Statement)> {
        let Some(Definition::Statement(point)) = self.definition(value) else { return None };
        function.blocks.get(point.block.index())?.statements.get(point.statement).map(|statement| (*point, statement))
    }

    /// The block at whose start, or in which, a value is made.
    #[must_use]
    pub fn block(&self, value: ValueId) -> BlockId {
        match self.definition(value) {
            Some(Definition::Statement(point)) => point.block,
            Some(Definition::Merge { block, .. }) => *block,
            _ => BlockId(0),
        }
    }

    /// The values that merge at the start of a block.
    #[must_use]
    pub fn merges_at(&self, block: BlockId) -> &[ValueId] {
        self.merges.get(&block).map_or(&[], Vec::as_slice)
    }

    /// Whether a local is memory, because its address is taken.
    #[must_use]
    pub fn is_memory(&self, local: LocalId) -> bool {
        self.in_memory.get(local.index()).copied().unwrap_or(true)
    }

    fn add(&mut self, definition: Definition) -> ValueId {
        let id = ValueId(u32::try_from(self.definitions.len()).unwrap_or(u32::MAX));
        self.definitions.push(definition);
        id
    }

    /// Merges stand where the dominance of an assignment ends (Cytron and others), but only for locals that are read in some block before they
    /// are written there; the others never carry a value from block to block.
    fn place_merges(&mut self, control: &Control, many: &[(LocalId, &[BlockId])]) {
        let frontiers = frontiers(control);
        for (local, writes) in many {
            let mut work = writes.to_vec();
            let mut has: Vec<BlockId> = Vec::new();
            while let Some(block) = work.pop() {
                for join in frontiers.get(block.index()).into_iter().flatten() {
                    if !has.contains(join) {
                        has.push(*join);
                        work.push(*join);
                    }
                }
            }
            has.sort_unstable();
            for block in has {
                let value = self.add(Definition::Merge { block, local: *local, inputs: Vec::new() });
                self.merges.entry(block).or_default().push(value);
            }
        }
    }

    /// Walks down the dominator tree and gives every read the value that reaches it.
    fn name(&mut self, function: &Function, control: &Control, many: &[(LocalId, &[BlockId])], start: &[Option<ValueId>]) {
        let slots: HashMap<LocalId, usize> = many.iter().enumerate().map(|(slot, (local, _))| (*local, slot)).collect();
        let mut current: Vec<Option<ValueId>> =
            many.iter().map(|(local, _)| start.get(local.index()).copied().flatten()).collect();
        let mut children: Vec<Vec<BlockId>> = vec![Vec::new(); function.blocks.len()];
        for block in &control.order {
            let parent = control.dominator.get(block.index()).copied().flatten();
            if let Some(list) = parent.and_then(|parent| children.get_mut(parent.index())) {
                list.push(*block);
            }
        }
        // what to do: enter a block, or restore a slot on the way back
        enum Step {
            Enter(BlockId),
            Restore(usize, Option<ValueId>),
        }
        let mut stack: Vec<Step> = control.order.first().map(|entry| Step::Enter(*entry)).into_iter().collect();
        while let Some(step) = stack.pop() {
            let block = match step {
                Step::Restore(slot, value) => {
                    if let Some(entry) = current.get_mut(slot) {
                        *entry = value;
                    }
                    continue;
                }
                Step::Enter(block) => block,
            };
            let mut write = |slot: usize, value: ValueId, current: &mut Vec<Option<ValueId>>| {
                if let Some(entry) = current.get_mut(slot) {
                    stack.push(Step::Restore(slot, *entry));
                    *entry = Some(value);
                }
            };
            for merge in self.merges.get(&block).cloned().unwrap_or_default() {
                if let Some(Definition::Merge { local, .. }) = self.definitions.get(merge.index())
                    && let Some(slot) = slots.get(local)
                {
                    write(*slot, merge, &mut current);
                }
            }
            let Some(data) = function.blocks.get(block.index()) else { continue };
            for (index, statement) in data.statements.iter().enumerate() {
                let point = Point { block, statement: index };
                let target = written(&statement.kind, &self.in_memory);
                for local in read(&statement.kind) {
                    if let Some(value) = slots.get(&local).and_then(|slot| current.get(*slot).copied().flatten()) {
                        self.reads.insert((point, local), value);
                    }
                }
                if let Some(local) = target {
                    let value = self.add(Definition::Statement(point));
                    self.made.insert(point, value);
                    match slots.get(&local) {
                        Some(slot) => write(*slot, value, &mut current),
                        None => {
                            if let Some(single) = self.single.get_mut(local.index()) {
                                *single = Some(value);
                            }
                        }
                    }
                } else if statement.kind.destination().is_some() {
                    // into memory: the value is there, but no local carries it
                    let value = self.add(Definition::Statement(point));
                    self.made.insert(point, value);
                }
            }
            let point = Point { block, statement: data.statements.len() };
            data.terminator.kind.each_operand(&mut |operand| {
                if let Some(local) = as_local(operand)
                    && let Some(value) = slots.get(&local).and_then(|slot| current.get(*slot).copied().flatten())
                {
                    self.reads.insert((point, local), value);
                }
            });
            for successor in control.successors.get(block.index()).into_iter().flatten() {
                for merge in self.merges.get(successor).cloned().unwrap_or_default() {
                    if let Some(Definition::Merge { local, inputs, .. }) = self.definitions.get_mut(merge.index())
                        && let Some(value) = slots.get(local).and_then(|slot| current.get(*slot).copied().flatten())
                        && !inputs.iter().any(|(from, _)| *from == block)
                    {
                        inputs.push((block, value));
                    }
                }
            }
            for child in children.get(block.index()).into_iter().flatten() {
                stack.push(Step::Enter(*child));
            }
        }
    }
}

/// By block: the blocks at which its dominance ends.
fn frontiers(control: &Control) -> Vec<Vec<BlockId>> {
    let mut frontiers = vec![Vec::new(); control.successors.len()];
    for block in &control.order {
        let predecessors = control.predecessors.get(block.index()).map_or(&[][..], Vec::as_slice);
        // the entry has one more way in: the start
        if predecessors.is_empty() || (block.0 != 0 && predecessors.len() < 2) {
            continue;
        }
        let stop = control.dominator.get(block.index()).copied().flatten();
        for predecessor in predecessors {
            let mut at = Some(*predecessor);
            while let Some(node) = at {
                if Some(node) == stop {
                    break;
                }
                if let Some(list) = frontiers.get_mut(node.index())
                    && list.last() != Some(block)
                {
                    list.push(*block);
                }
                at = control.dominator.get(node.index()).copied().flatten();
            }
        }
    }
    frontiers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::function;

    fn values(text: &str) -> (Function, Values) {
        let function = function(text, "k");
        let control = Control::new(&function);
        let values = Values::new(&function, &control);
        (function, values)
    }

    fn returned(values: &Values, block: u32, statement: usize, local: u32) -> Definition {
        let point = Point { block: BlockId(block), statement };
        values.definition(values.read_local(point, LocalId(local)).unwrap()).unwrap().clone()
    }

    #[test]
    fn the_last_assignment_is_what_is_read() {
        let (_, values) = values(
            "fn &k#0 params 1 -> i32 {\n  %a#0: i32\n  %b#1: i32\nbb0:\n  %b#1 = use %a#0\n  %b#1 = use i32 2\n  return %b#1\n}\n",
        );
        let last = Point { block: BlockId(0), statement: 1 };
        assert_eq!(returned(&values, 0, 2, 1), Definition::Statement(last));
    }

    #[test]
    fn ways_that_meet_merge() {
        let (_, values) = values(
            "fn &k#0 params 1 -> i32 {\n  %c#0: bool\n  %b#1: i32\nbb0:\n  %b#1 = use i32 1\n  branch %c#0, bb1, bb2\nbb1:\n  %b#1 = use i32 2\n  goto bb2\nbb2:\n  return %b#1\n}\n",
        );
        let Definition::Merge { block, inputs, .. } = returned(&values, 2, 0, 1) else { panic!() };
        assert_eq!(block, BlockId(2));
        assert_eq!(inputs.iter().map(|(from, _)| from.0).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_loop_variable_merges_at_the_header() {
        let (_, values) = values(
            "fn &k#0 params 1 -> i32 {\n  %n#0: i32\n  %i#1: i32\n  %2: bool\nbb0:\n  %i#1 = use i32 0\n  goto bb1\nbb1:\n  %2 = lt %i#1, %n#0\n  branch %2, bb2, bb3\nbb2:\n  %i#1 = add %i#1, i32 1\n  goto bb1\nbb3:\n  return %i#1\n}\n",
        );
        let Definition::Merge { block, inputs, .. } = returned(&values, 3, 0, 1) else { panic!() };
        assert_eq!((block, inputs.len()), (BlockId(1), 2));
        assert_eq!(returned(&values, 2, 0, 1), returned(&values, 3, 0, 1));
    }

    #[test]
    fn an_assigned_parameter_has_several_values() {
        let (_, values) = values("fn &k#0 params 1 -> i32 {\n  %a#0: i32\nbb0:\n  %a#0 = add %a#0, i32 1\n  return %a#0\n}\n");
        assert_eq!(returned(&values, 0, 0, 0), Definition::Param(LocalId(0)));
        assert!(matches!(returned(&values, 0, 1, 0), Definition::Statement(_)));
    }
}
