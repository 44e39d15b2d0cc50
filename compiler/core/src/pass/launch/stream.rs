//! Which streams a launch can be into.

use crate::builtins::{RuntimeFn, STREAM_DEFAULT, STREAM_FIRE_AND_FORGET, STREAM_TAIL_LAUNCH};
use crate::ir::{Function, LocalId, Operand, Place, PlaceBase, Rvalue, StatementKind};
use std::collections::{HashMap, HashSet};

/// What is known of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pass) enum StreamKind {
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

/// By local: the local of which it holds the address, and nothing else ever; none where that is not so simple.
type Addresses = HashMap<LocalId, Option<LocalId>>;

/// Follows addresses through copies and conversions. The address of a part counts as that of the whole.
fn addresses(function: &Function) -> Addresses {
    let mut addresses = Addresses::new();
    let statements = || function.blocks.iter().flat_map(|block| &block.statements);
    // a round that changes nothing is the last one: a local goes from unknown to one target, and from that to none
    loop {
        let mut next = Addresses::new();
        for statement in statements() {
            let Some(dst) = statement.kind.destination() else { continue };
            let target = match &statement.kind {
                StatementKind::Assign { value: Rvalue::AddressOf(Place { base: PlaceBase::Local(local), .. }), .. } => {
                    Some(*local)
                }
                StatementKind::Assign {
                    value: Rvalue::Cast(_, Operand::Local(from)) | Rvalue::Use(Operand::Local(from)),
                    ..
                } => match addresses.get(from) {
                    Some(target) => *target,
                    None => continue,
                },
                _ => None,
            };
            next.entry(dst).and_modify(|known| *known = known.filter(|known| Some(*known) == target)).or_insert(target);
        }
        if next == addresses {
            return addresses;
        }
        addresses = next;
    }
}

/// The streams of one function.
pub(in crate::pass) struct Streams {
    sources: HashMap<LocalId, Vec<Source>>,
}

impl Streams {
    pub(in crate::pass) fn new(function: &Function) -> Self {
        let mut streams = Self { sources: HashMap::new() };
        for param in 0..function.param_count {
            streams.add(LocalId(param), Source::Unknown);
        }
        let statements = || function.blocks.iter().flat_map(|block| &block.statements);
        let addresses = addresses(function);
        for statement in statements() {
            streams.note_writes(&statement.kind, &addresses);
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

    fn note_writes(&mut self, statement: &StatementKind, addresses: &Addresses) {
        match statement {
            StatementKind::Assign { dst, value: Rvalue::Use(operand) } => self.add(*dst, Source::Copy(operand.clone())),
            StatementKind::Assign { dst, value: Rvalue::AddressOf(Place { base: PlaceBase::Local(local), .. }) } => {
                if addresses.get(dst) != Some(&Some(*local)) {
                    self.add(*local, Source::Unknown);
                }
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
    fn note_escapes(&mut self, statement: &StatementKind, addresses: &Addresses) {
        if let StatementKind::Assign { dst, value: Rvalue::Cast(_, Operand::Local(from)) | Rvalue::Use(Operand::Local(from)) } =
            statement
            && addresses.get(dst) == addresses.get(from)
        {
            return;
        }
        if let StatementKind::Runtime { call: RuntimeFn::StreamCreateWithFlags, args, .. } = statement {
            if let Some(Operand::Local(address)) = args.first()
                && let Some(Some(local)) = addresses.get(address)
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

    fn escape(&mut self, operand: &Operand, addresses: &Addresses) {
        if let Operand::Local(local) = operand
            && let Some(Some(target)) = addresses.get(local)
        {
            self.add(*target, Source::Unknown);
        }
    }

    /// What a launch into this stream can be into.
    pub(in crate::pass) fn kind(&self, stream: &Operand) -> StreamKind {
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
