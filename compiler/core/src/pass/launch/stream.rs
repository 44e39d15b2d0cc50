//! Which streams a launch can be into.

use crate::builtins::{RuntimeFn, STREAM_DEFAULT, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH};
use crate::ir::{Function, LocalId, Operand, Place, PlaceBase, Rvalue, StatementKind};
use std::collections::{HashMap, HashSet};

/// What is known of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// The NULL stream, or made by `cudaStreamCreateWithFlags` in this function.
    Ordinary,
    /// Certainly the tail or the fire-and-forget stream.
    Special,
    /// May be any.
    Unknown,
}

/// Where a local's values come from, without regard to order.
#[derive(Clone, Debug, PartialEq)]
enum Source {
    /// Another local or a constant.
    Copy(Operand),
    /// `cudaStreamCreateWithFlags(&local, …)`
    Created,
    /// Anything else.
    Unknown,
}

/// The streams of one function.
pub(super) struct Streams {
    sources: HashMap<LocalId, Vec<Source>>,
}

impl Streams {
    pub(super) fn new(function: &Function) -> Self {
        let mut streams = Self { sources: HashMap::new() };
        for param in 0..function.param_count {
            streams.add(LocalId(param), Source::Unknown);
        }
        let statements = || function.blocks.iter().flat_map(|block| &block.statements);
        // address -> the local that it is of
        let mut addresses: HashMap<LocalId, LocalId> = HashMap::new();
        for statement in statements() {
            streams.note_writes(&statement.kind, &mut addresses);
        }
        for statement in statements() {
            streams.note_escapes(&statement.kind, &addresses);
        }
        for block in &function.blocks {
            block.terminator.kind.each_operand(&mut |operand| streams.escape(operand, &addresses));
        }
        streams
    }

    fn add(&mut self, local: LocalId, source: Source) {
        self.sources.entry(local).or_default().push(source);
    }

    fn note_writes(&mut self, statement: &StatementKind, addresses: &mut HashMap<LocalId, LocalId>) {
        match statement {
            StatementKind::Assign { dst, value: Rvalue::Use(operand) } => self.add(*dst, Source::Copy(operand.clone())),
            StatementKind::Assign { dst, value: Rvalue::AddressOf(Place { base: PlaceBase::Local(local), path }) } => {
                // an address that is assigned twice, or of a part, is not followed
                if !path.is_empty() || addresses.insert(*dst, *local).is_some_and(|other| other != *local) {
                    self.add(*local, Source::Unknown);
                }
                self.add(*dst, Source::Unknown);
            }
            StatementKind::Load { dst, place: Place { base: PlaceBase::Local(local), path }, .. } if path.is_empty() => {
                self.add(*dst, Source::Copy(Operand::Local(*local)));
            }
            StatementKind::Store { place: Place { base: PlaceBase::Local(local), path }, value, .. } => {
                let source = if path.is_empty() { Source::Copy(value.clone()) } else { Source::Unknown };
                self.add(*local, source);
            }
            _ => {
                if let Some(dst) = statement.destination() {
                    self.add(dst, Source::Unknown);
                }
            }
        }
    }

    /// An address may go to `cudaStreamCreateWithFlags` and nowhere else.
    fn note_escapes(&mut self, statement: &StatementKind, addresses: &HashMap<LocalId, LocalId>) {
        if let StatementKind::Runtime { call: RuntimeFn::StreamCreateWithFlags, args, .. } = statement {
            if let Some(Operand::Local(address)) = args.first()
                && let Some(local) = addresses.get(address)
            {
                self.add(*local, Source::Created);
            }
            for operand in args.iter().skip(1) {
                self.escape(operand, addresses);
            }
            return;
        }
        statement.each_operand(&mut |operand| self.escape(operand, addresses));
    }

    fn escape(&mut self, operand: &Operand, addresses: &HashMap<LocalId, LocalId>) {
        if let Operand::Local(local) = operand
            && let Some(target) = addresses.get(local)
        {
            self.add(*target, Source::Unknown);
        }
    }

    /// What a launch into this stream can be into.
    pub(super) fn kind(&self, stream: &Operand) -> StreamKind {
        let mut work = vec![stream.clone()];
        let mut seen = HashSet::new();
        let mut found = None;
        let mut join = |kind| {
            found = match found {
                None => Some(kind),
                Some(other) if other == kind => Some(kind),
                Some(_) => Some(StreamKind::Unknown),
            };
        };
        while let Some(operand) = work.pop() {
            match operand {
                Operand::Const(constant) => join(constant_kind(constant.as_bits())),
                Operand::Function(_) => join(StreamKind::Unknown),
                Operand::Local(local) => {
                    if !seen.insert(local) {
                        continue;
                    }
                    for source in self.sources.get(&local).into_iter().flatten() {
                        match source {
                            Source::Copy(operand) => work.push(operand.clone()),
                            Source::Created => join(StreamKind::Ordinary),
                            Source::Unknown => join(StreamKind::Unknown),
                        }
                    }
                }
            }
        }
        found.unwrap_or(StreamKind::Unknown)
    }
}

fn constant_kind(bits: Option<u64>) -> StreamKind {
    let special = [u64::from(STREAM_TAIL_LAUNCH), u64::from(STREAM_FIRE_AND_FORGET)];
    match bits {
        Some(bits) if bits == u64::from(STREAM_DEFAULT) => StreamKind::Ordinary,
        Some(bits) if special.contains(&bits) => StreamKind::Special,
        _ => StreamKind::Unknown,
    }
}
