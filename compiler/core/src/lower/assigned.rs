//! Definite assignment: a variable declared without a value must have one on every path to each use (E0215).
//!
//! While a function is lowered, a [`Tracker`] notes where such a variable is declared, read and written; [`check`] follows the
//! control-flow graph. `&v` counts as a write, because `cudaStreamCreateWithFlags(&v, …)` is one. Arrays and structures that are
//! filled part by part are judged leniently, since a loop that fills them might as well run no round: they are reported only when no
//! path at all writes any part before the use.

use crate::diag::{Code, Diagnostic};
use crate::ir::{BlockId, Function, TerminatorKind};
use crate::source::Span;
use crate::typed::{self, VariableId};
use crate::types::TypeTable;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// What happens to variables that were declared without a value, by block, in order.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    declared: Vec<VariableId>,
    known: HashSet<VariableId>,
    /// By variable: the blocks in which something happens to it, in order.
    events: HashMap<VariableId, BTreeMap<BlockId, Vec<Event>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Declare,
    Read(Span),
    /// Whether all of it was written.
    Write {
        whole: bool,
    },
}

impl Tracker {
    /// The variable has no value from here on.
    pub(super) fn declare(&mut self, block: BlockId, variable: VariableId) {
        if self.known.insert(variable) {
            self.declared.push(variable);
        }
        self.note(block, variable, Event::Declare);
    }

    /// The variable, or a part of it, is used.
    pub(super) fn read(&mut self, block: BlockId, variable: VariableId, span: Span) {
        self.note(block, variable, Event::Read(span));
    }

    /// The variable, or a part of it, gets a value.
    pub(super) fn write(&mut self, block: BlockId, variable: VariableId, whole: bool) {
        self.note(block, variable, Event::Write { whole });
    }

    fn note(&mut self, block: BlockId, variable: VariableId, event: Event) {
        if self.known.contains(&variable) {
            self.events.entry(variable).or_default().entry(block).or_default().push(event);
        }
    }

    fn of(&self, block: BlockId, variable: VariableId) -> &[Event] {
        self.events.get(&variable).and_then(|blocks| blocks.get(&block)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// One error for each variable that is used too early, at its first such use in the text.
pub(super) fn check(types: &TypeTable, source: &typed::Function, function: &Function, tracker: &Tracker) -> Vec<Diagnostic> {
    let reached = function.reachable_blocks();
    let check_one = |variable: &VariableId| {
        let flow = Flow { function, tracker, variable: *variable, reached: &reached };
        flow.first_bad_read().map(|(block, span)| flow.report(types, source, block, span))
    };
    tracker.declared.iter().filter_map(check_one).collect()
}

/// One variable on its way through the control-flow graph.
struct Flow<'a> {
    function: &'a Function,
    tracker: &'a Tracker,
    variable: VariableId,
    reached: &'a [bool],
}

impl Flow<'_> {
    /// The reachable blocks in which something happens to the variable.
    fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        let all = self.tracker.events.get(&self.variable).into_iter().flat_map(BTreeMap::keys);
        all.copied().filter(|block| self.reached.get(block.index()) == Some(&true))
    }

    fn events(&self, block: BlockId) -> &[Event] {
        self.tracker.of(block, self.variable)
    }

    fn successors(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.function.blocks.get(block.index()).into_iter().flat_map(|block| block.terminator.kind.successors())
    }

    /// Whether parts are written one by one.
    fn is_filled_by_parts(&self) -> bool {
        self.blocks().any(|block| self.events(block).contains(&Event::Write { whole: false }))
    }

    /// The blocks at whose start a bit is set, when `declare` and `write` set it as they say and paths are joined by "or".
    fn solve(&self, declare: bool, write: bool) -> HashSet<BlockId> {
        let mut at_start = HashSet::new();
        let mut work: Vec<BlockId> = self.blocks().collect();
        while let Some(block) = work.pop() {
            let mut bit = at_start.contains(&block);
            for event in self.events(block) {
                match event {
                    Event::Declare => bit = declare,
                    Event::Write { .. } => bit = write,
                    Event::Read(_) => {}
                }
            }
            if bit {
                work.extend(self.successors(block).filter(|next| at_start.insert(*next)));
            }
        }
        at_start
    }

    fn first_bad_read(&self) -> Option<(BlockId, Span)> {
        // either "may be without a value", or "may have one": a bit that an "or" joins in both cases
        let lenient = self.is_filled_by_parts();
        let at_start = self.solve(!lenient, lenient);
        let mut bad = Vec::new();
        for block in self.blocks() {
            let mut bit = at_start.contains(&block);
            for event in self.events(block) {
                match event {
                    Event::Declare => bit = !lenient,
                    Event::Write { .. } => bit = lenient,
                    Event::Read(span) if bit != lenient => bad.push((*span, block)),
                    Event::Read(_) => {}
                }
            }
        }
        bad.into_iter().min().map(|(span, block)| (block, span))
    }

    fn report(&self, types: &TypeTable, source: &typed::Function, block: BlockId, span: Span) -> Diagnostic {
        let variable = source.variables.get(self.variable.0 as usize);
        let name = variable.map_or("", |variable| variable.name.as_str());
        let mut diagnostic = Diagnostic::new(Code::E0215, span, format!("`{name}` is used before it is assigned"))
            .label("has no value on some path to here");
        if let Some(variable) = variable {
            diagnostic = diagnostic.also(variable.span, "declared without a value here");
        }
        match self.skipping_branch(block) {
            Some((span, text)) => diagnostic = diagnostic.also(span, text),
            None => diagnostic = diagnostic.label("has no value yet"),
        }
        let ty = variable.map_or_else(String::new, |variable| types.display(variable.ty));
        diagnostic.help(format!("give it a value where it is declared: `var {name}: {ty} = …;`, or assign it on every path"))
    }

    /// The last branch on a shortest path from the declaration to the use where going the other way would have assigned the variable.
    fn skipping_branch(&self, use_block: BlockId) -> Option<(Span, String)> {
        let path = self.path_without_value(use_block)?;
        path.windows(2).rev().find_map(|step| {
            let &[block, next] = step else { return None };
            let others: Vec<BlockId> = self.successors(block).filter(|other| *other != next).collect();
            if !self.writes_are_ahead(others) {
                return None;
            }
            let terminator = &self.function.blocks.get(block.index())?.terminator;
            let text = match &terminator.kind {
                TerminatorKind::Branch { then, .. } => {
                    format!("when this is `{}`, nothing is assigned", *then == next)
                }
                _ => "for some values of this, nothing is assigned".to_owned(),
            };
            Some((terminator.span, text))
        })
    }

    /// Blocks from the declaration to the use, none of which assigns the variable.
    fn path_without_value(&self, use_block: BlockId) -> Option<Vec<BlockId>> {
        let declares = |block: &BlockId| self.events(*block).contains(&Event::Declare);
        let start = self.blocks().find(declares)?;
        let mut came_from: HashMap<BlockId, BlockId> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(block) = queue.pop_front() {
            let last = self.events(block).iter().rfind(|event| !matches!(event, Event::Read(_)));
            if matches!(last, Some(Event::Write { .. })) {
                continue;
            }
            for next in self.successors(block) {
                if next != start && !came_from.contains_key(&next) {
                    came_from.insert(next, block);
                    queue.push_back(next);
                }
            }
        }
        let mut path = vec![use_block];
        let mut at = use_block;
        while at != start {
            at = *came_from.get(&at)?;
            path.push(at);
        }
        path.reverse();
        Some(path)
    }

    fn writes_are_ahead(&self, mut work: Vec<BlockId>) -> bool {
        let mut seen = HashSet::new();
        while let Some(block) = work.pop() {
            if !seen.insert(block) {
                continue;
            }
            if self.events(block).iter().any(|event| matches!(event, Event::Write { .. })) {
                return true;
            }
            work.extend(self.successors(block));
        }
        false
    }
}
