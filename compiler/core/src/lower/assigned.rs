//! Definite assignment: a variable declared without a value must have one on every path to each use (E0215).
//!
//! While a function is lowered, a [`Tracker`] notes where such a variable is declared, read and written; [`check`] follows the
//! control-flow graph. Fields are told apart, so `p.a = 1` gives `p.b` no value. `&v` counts as a write, because
//! `cudaStreamCreateWithFlags(&v, …)` is one. What is filled part by part is judged leniently, an array because a loop that fills it might as
//! well run no round, and a structure because copying it is no use of its fields: it is reported only when no path at all writes any part
//! before the use. [`unproved`] names the variables of which that leaves open whether a part is read too early: the executor follows them.

use crate::diag::{Code, Diagnostic};
use crate::ir::{BlockId, Function, TerminatorKind};
use crate::source::Span;
use crate::typed::{self, PlaceKind, VariableId};
use crate::types::{Type, TypeId, TypeTable};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// A variable or a part of it: the fields that lead there, up to the first index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Part {
    fields: Vec<u32>,
    /// An element of that, or a part of one; which one is not known.
    indexed: bool,
}

impl Part {
    fn new(place: &typed::Place) -> Self {
        match &place.kind {
            PlaceKind::Field(inner, field) => {
                let mut part = Self::new(inner);
                if !part.indexed {
                    part.fields.push(*field);
                }
                part
            }
            PlaceKind::Index(inner, _) => Self { indexed: true, ..Self::new(inner) },
            PlaceKind::Variable(_) | PlaceKind::Global(_) | PlaceKind::Deref(_) => Self { fields: Vec::new(), indexed: false },
        }
    }

    /// Whether they may have bytes in common.
    fn overlaps(&self, other: &Self) -> bool {
        self.fields.iter().zip(&other.fields).all(|(a, b)| a == b)
    }

    /// Whether all of the other is in it.
    fn covers(&self, other: &Self) -> bool {
        !self.indexed && other.fields.starts_with(&self.fields)
    }
}

/// What happens to variables that were declared without a value, by block, in order.
#[derive(Debug, Default)]
pub(super) struct Tracker {
    declared: Vec<VariableId>,
    known: HashSet<VariableId>,
    /// By variable: the blocks in which something happens to it, in order.
    events: HashMap<VariableId, BTreeMap<BlockId, Vec<Event>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Declare,
    Read(Part, Span),
    Write(Part),
    /// Its address is taken: it may be written from now on.
    Address(Part),
}

impl Event {
    /// What of the variable has a value from here on, as far as E0215 goes.
    const fn written(&self) -> Option<&Part> {
        match self {
            Self::Write(part) | Self::Address(part) => Some(part),
            Self::Declare | Self::Read(..) => None,
        }
    }
}

impl Tracker {
    /// The variable has no value from here on.
    pub(super) fn declare(&mut self, block: BlockId, variable: VariableId) {
        if self.known.insert(variable) {
            self.declared.push(variable);
        }
        self.note(block, variable, Event::Declare);
    }

    /// The place, the variable or a part of it, is used.
    pub(super) fn read(&mut self, block: BlockId, variable: VariableId, place: &typed::Place) {
        self.note(block, variable, Event::Read(Part::new(place), place.span));
    }

    /// The place gets a value.
    pub(super) fn write(&mut self, block: BlockId, variable: VariableId, place: &typed::Place) {
        self.note(block, variable, Event::Write(Part::new(place)));
    }

    /// The place's address is taken.
    pub(super) fn address(&mut self, block: BlockId, variable: VariableId, place: &typed::Place) {
        self.note(block, variable, Event::Address(Part::new(place)));
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
        flow.first_bad_read().map(|bad| flow.report(types, source, &bad))
    };
    tracker.declared.iter().filter_map(check_one).collect()
}

/// How many fields a variable may have for each of them to be followed.
const MAX_LEAVES: usize = 64;

/// The variables declared without a value of which a part may be read, or reached through a pointer, before it is written.
pub(super) fn unproved(
    types: &TypeTable,
    source: &typed::Function,
    function: &Function,
    tracker: &Tracker,
) -> HashSet<VariableId> {
    let reached = function.reachable_blocks();
    let is_unproved = |variable: &VariableId| {
        let flow = Flow { function, tracker, variable: *variable, reached: &reached };
        let mut leaves = Vec::new();
        let whole = Part { fields: Vec::new(), indexed: false };
        if let Some(variable) = source.variables.get(variable.0 as usize) {
            add_leaves(types, variable.ty, &whole, &mut leaves);
        }
        leaves.len() > MAX_LEAVES || leaves.iter().any(|leaf| !flow.is_proved(leaf))
    };
    tracker.declared.iter().copied().filter(is_unproved).collect()
}

/// The parts that are written as a whole or not at all, and arrays.
fn add_leaves(types: &TypeTable, ty: TypeId, part: &Part, leaves: &mut Vec<Part>) {
    let fields = match types.get(ty) {
        Type::Vector { lanes, .. } => u32::from(*lanes),
        Type::Struct(id) => types.struct_def(*id).map_or(0, |def| u32::try_from(def.fields.len()).unwrap_or(0)),
        _ => 0,
    };
    if fields == 0 {
        leaves.push(part.clone());
    }
    for field in 0..fields {
        let mut inner = part.clone();
        inner.fields.push(field);
        if let Some(ty) = types.element(ty, field).filter(|_| leaves.len() <= MAX_LEAVES) {
            add_leaves(types, ty, &inner, leaves);
        }
    }
}

/// One variable on its way through the control-flow graph.
struct Flow<'a> {
    function: &'a Function,
    tracker: &'a Tracker,
    variable: VariableId,
    reached: &'a [bool],
}

/// A use of what has no value.
struct Bad {
    span: Span,
    block: BlockId,
    part: Part,
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

    /// Whether a part is written piece by piece.
    fn is_filled_by_parts(&self, part: &Part) -> bool {
        let pieces = |event: &Event| event.written().is_some_and(|written| written.overlaps(part) && !written.covers(part));
        self.blocks().any(|block| self.events(block).iter().any(pieces))
    }

    /// Goes through all events: `step` says what a bit becomes, paths are joined by "or"; `visit` gets the bit before each event.
    fn follow(&self, step: impl Fn(&Event, bool) -> bool, mut visit: impl FnMut(BlockId, &Event, bool)) {
        let mut at_start = HashSet::new();
        let mut work: Vec<BlockId> = self.blocks().collect();
        while let Some(block) = work.pop() {
            if self.events(block).iter().fold(at_start.contains(&block), |bit, event| step(event, bit)) {
                work.extend(self.successors(block).filter(|next| at_start.insert(*next)));
            }
        }
        for block in self.blocks() {
            self.events(block).iter().fold(at_start.contains(&block), |bit, event| {
                visit(block, event, bit);
                step(event, bit)
            });
        }
    }

    /// Whether a leaf has a value wherever it is read or its address is taken.
    fn is_proved(&self, leaf: &Part) -> bool {
        let mut proved = true;
        // the bit: it may be without a value
        let step = |event: &Event, bit| match event {
            Event::Declare => true,
            Event::Write(part) if part.covers(leaf) => false,
            _ => bit,
        };
        self.follow(step, |_, event, bit| {
            if let Event::Read(part, _) | Event::Address(part) = event {
                proved &= !(bit && part.overlaps(leaf));
            }
        });
        proved
    }

    fn first_bad_read(&self) -> Option<Bad> {
        let reads = self.blocks().flat_map(|block| self.events(block)).filter_map(|event| match event {
            Event::Read(part, _) => Some(part),
            _ => None,
        });
        let parts: BTreeSet<&Part> = reads.collect();
        let mut bad: Option<Bad> = None;
        for read in parts {
            // either "may be without a value", or "may have one": a bit that an "or" joins in both cases
            let lenient = self.is_filled_by_parts(read);
            let step = |event: &Event, bit| match event.written() {
                Some(part) if part.overlaps(read) => lenient,
                _ if *event == Event::Declare => !lenient,
                _ => bit,
            };
            self.follow(step, |block, event, bit| {
                if let Event::Read(part, span) = event
                    && part == read
                    && bit != lenient
                    && bad.as_ref().is_none_or(|bad| (*span, block) < (bad.span, bad.block))
                {
                    bad = Some(Bad { span: *span, block, part: part.clone() });
                }
            });
        }
        bad
    }

    fn report(&self, types: &TypeTable, source: &typed::Function, bad: &Bad) -> Diagnostic {
        let variable = source.variables.get(self.variable.0 as usize);
        let name = variable.map_or_else(String::new, |variable| types.part_name(&variable.name, variable.ty, &bad.part.fields));
        let mut diagnostic = Diagnostic::new(Code::E0215, bad.span, format!("`{name}` is used before it is assigned"))
            .label("has no value on some path to here");
        if let Some(variable) = variable {
            diagnostic = diagnostic.also(variable.span, "declared without a value here");
        }
        match self.skipping_branch(bad) {
            Some((span, text)) => diagnostic = diagnostic.also(span, text),
            None => diagnostic = diagnostic.label("has no value yet"),
        }
        let ty = variable.map_or_else(String::new, |variable| types.display(variable.ty));
        let variable = variable.map_or("", |variable| variable.name.as_str());
        diagnostic
            .help(format!("give it a value where it is declared: `var {variable}: {ty} = …;`, or assign it on every path"))
    }

    /// The last branch on a shortest path from the declaration to the use where going the other way would have assigned the variable.
    fn skipping_branch(&self, bad: &Bad) -> Option<(Span, String)> {
        let path = self.path_without_value(bad)?;
        path.windows(2).rev().find_map(|step| {
            let &[block, next] = step else { return None };
            let others: Vec<BlockId> = self.successors(block).filter(|other| *other != next).collect();
            if !self.writes_are_ahead(others, &bad.part) {
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

    /// Blocks from the declaration to the use, none of which assigns the part.
    fn path_without_value(&self, bad: &Bad) -> Option<Vec<BlockId>> {
        let declares = |block: &BlockId| self.events(*block).contains(&Event::Declare);
        let start = self.blocks().find(declares)?;
        let mut came_from: HashMap<BlockId, BlockId> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(block) = queue.pop_front() {
            let changes =
                |event: &&Event| **event == Event::Declare || event.written().is_some_and(|part| part.overlaps(&bad.part));
            let last = self.events(block).iter().rfind(changes);
            if last.is_some_and(|event| *event != Event::Declare) {
                continue;
            }
            for next in self.successors(block) {
                if next != start && !came_from.contains_key(&next) {
                    came_from.insert(next, block);
                    queue.push_back(next);
                }
            }
        }
        let mut path = vec![bad.block];
        let mut at = bad.block;
        while at != start {
            at = *came_from.get(&at)?;
            path.push(at);
        }
        path.reverse();
        Some(path)
    }

    fn writes_are_ahead(&self, mut work: Vec<BlockId>, part: &Part) -> bool {
        let mut seen = HashSet::new();
        while let Some(block) = work.pop() {
            if !seen.insert(block) {
                continue;
            }
            if self.events(block).iter().filter_map(Event::written).any(|written| written.overlaps(part)) {
                return true;
            }
            work.extend(self.successors(block));
        }
        false
    }
}
