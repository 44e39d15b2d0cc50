//! Pointer provenance: which memory the pointers of a function point to, through copies, offsets, selections, structures, variables, and the
//! functions that it calls.
//!
//! A value may hold several pointers, each at a path of fields, and each may point to one of several pieces of memory. What cannot be followed is
//! [`Root::Unknown`]; so a set without it is complete.

pub use super::address::{ANY, Address, Origin, Root};
use super::constants::Constants;
use super::index::{Base, Index, Indices};
use super::values::{Definition, Point, ValueId};
use super::{Body, Program};
use crate::builtins::RuntimeFn;
use crate::ir::{FunctionId, LocalId, Module, Operand, Place, PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind};
use crate::types::layout::PointerWidth;
use crate::types::{Type, TypeId};

/// A pointer inside a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The way to it through the fields of the value; empty when the value is a pointer itself.
    pub path: Vec<u32>,
    /// Where it may point.
    pub address: Address,
}

/// Where the pointers in a value may point.
pub type Parts = Vec<Part>;

/// No more pointers than this are told apart in one value.
const MOST_PARTS: usize = 16;

/// What is known of one function.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Known numbers.
    pub constants: Constants,
    /// Known indices.
    pub indices: Indices,
    /// By value.
    values: Vec<Parts>,
    /// By local that is memory: the pointers that lie there.
    memory: Vec<Parts>,
    /// What it returns.
    result: Parts,
}

/// The provenance of a program's pointers.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    facts: Vec<Facts>,
}

impl Provenance {
    /// Looks at all functions, callees first.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        let mut provenance = Self { facts: program.bodies.iter().map(|body| start(program.module, body)).collect() };
        for component in &program.calls.order {
            let mut changed = true;
            while changed {
                changed = false;
                for index in component {
                    if let Some(body) = program.bodies.get(*index) {
                        changed |= provenance.pass(program, body);
                    }
                }
            }
        }
        provenance
    }

    /// What is known of a function.
    #[must_use]
    pub fn of(&self, function: FunctionId) -> Option<&Facts> {
        self.facts.get(function.index())
    }

    /// Where the pointers in a value may point.
    #[must_use]
    pub fn value(&self, function: FunctionId, value: ValueId) -> &[Part] {
        self.of(function).and_then(|facts| facts.values.get(value.index())).map_or(&[], Vec::as_slice)
    }

    /// Where the pointers in an operand may point, at a point.
    #[must_use]
    pub fn operand(&self, program: &Program<'_>, body: &Body<'_>, point: Point, operand: &Operand) -> Parts {
        let Some(facts) = self.of(body.id) else { return Parts::new() };
        Round { provenance: self, program, body, facts }.operand(point, operand)
    }

    /// The addresses that a place may be.
    #[must_use]
    pub fn place(&self, program: &Program<'_>, body: &Body<'_>, point: Point, place: &Place) -> Vec<Address> {
        let Some(facts) = self.of(body.id) else { return Vec::new() };
        Round { provenance: self, program, body, facts }.place(point, place)
    }

    /// The index that an operand is, at a point.
    #[must_use]
    pub fn index(&self, program: &Program<'_>, body: &Body<'_>, point: Point, operand: &Operand) -> Index {
        self.of(body.id).map_or(Index::UNKNOWN, |facts| facts.indices.operand(program.module, body, point, operand))
    }

    /// What an address in terms of a callee's or child's parameters is for its caller, which passes `args`.
    #[must_use]
    pub fn instantiate(
        &self,
        program: &Program<'_>,
        body: &Body<'_>,
        point: Point,
        args: &[Operand],
        address: &Address,
        is_child: bool,
    ) -> Vec<Address> {
        let Some(facts) = self.of(body.id) else { return Vec::new() };
        Round { provenance: self, program, body, facts }.instantiate(point, args, address, is_child)
    }

    /// One round over a function; says whether anything changed.
    fn pass(&mut self, program: &Program<'_>, body: &Body<'_>) -> bool {
        let Some(entry) = self.facts.get_mut(body.id.index()) else { return false };
        let mut facts = std::mem::take(entry);
        // what is known of its result so far is needed where it calls itself
        entry.result.clone_from(&facts.result);
        let mut any = false;
        let mut changed = !body.function.blocks.is_empty();
        while changed {
            changed = false;
            for block in &body.control.order {
                for merge in body.values.merges_at(*block) {
                    let Some(Definition::Merge { inputs, .. }) = body.values.definition(*merge) else { continue };
                    for (_, input) in inputs {
                        let parts = facts.values.get(input.index()).cloned().unwrap_or_default();
                        changed |= add(facts.values.get_mut(merge.index()), parts);
                    }
                }
                for (point, statement) in body.block_statements(*block) {
                    let found = Round { provenance: self, program, body, facts: &facts }.statement(point, &statement.kind);
                    changed |= found.keep(body, point, &statement.kind, &mut facts);
                }
                if let Some((point, terminator)) = body.terminator(*block)
                    && let TerminatorKind::Return(Some(value)) = &terminator.kind
                {
                    let parts = Round { provenance: self, program, body, facts: &facts }.operand(point, value);
                    changed |= add(Some(&mut facts.result), parts);
                }
            }
            any |= changed;
        }
        if let Some(entry) = self.facts.get_mut(body.id.index()) {
            *entry = facts;
        }
        any
    }
}

fn start(module: &Module, body: &Body<'_>) -> Facts {
    let values = body.values.definitions.iter().map(|definition| match definition {
        Definition::Param(local) => {
            let paths = pointer_paths(module, body.function.local_type(*local));
            let part = |path: Vec<u32>| Part {
                address: Address {
                    origin: Origin { root: Root::Param(*local), path: path.clone(), loaded: false },
                    ..Address::start(Root::Unknown)
                },
                path,
            };
            paths.into_iter().map(part).collect()
        }
        _ => Parts::new(),
    });
    let constants = Constants::new(module, body);
    let mut facts = Facts {
        indices: Indices::new(module, body, &constants),
        constants,
        values: values.collect(),
        memory: vec![Parts::new(); body.function.locals.len()],
        result: Parts::new(),
    };
    if body.function.blocks.is_empty() {
        facts.result = pointer_paths(module, body.function.return_type)
            .into_iter()
            .map(|path| Part { path, address: Address::unknown() })
            .collect();
    }
    facts
}

/// The ways to the pointers in a value of a type.
fn pointer_paths(module: &Module, ty: TypeId) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    let mut work = vec![(ty, Vec::new())];
    while let Some((ty, path)) = work.pop() {
        if found.len() >= MOST_PARTS || path.len() > 4 {
            continue;
        }
        match module.types.get(ty) {
            Type::Pointer { .. } => found.push(path),
            Type::Array { element, .. } => work.push((*element, [path.as_slice(), &[ANY]].concat())),
            Type::Struct(id) => {
                let fields = module.types.struct_def(*id).map_or(&[][..], |def| def.fields.as_slice());
                for (index, field) in fields.iter().enumerate() {
                    let index = u32::try_from(index).unwrap_or(ANY);
                    work.push((field.ty, [path.as_slice(), &[index]].concat()));
                }
            }
            _ => {}
        }
    }
    found.sort();
    found
}

/// Adds where pointers may point; says whether that is new.
fn add(entry: Option<&mut Parts>, parts: Parts) -> bool {
    let Some(entry) = entry else { return false };
    let mut changed = false;
    for part in parts {
        let same = |known: &&mut Part| {
            known.path == part.path
                && known.address.origin == part.address.origin
                && known.address.fields == part.address.fields
        };
        if let Some(known) = entry.iter_mut().find(same) {
            let joined = known.address.index.join(part.address.index);
            if joined != known.address.index {
                known.address.index = joined;
                known.address.unit = known.address.unit.max(part.address.unit);
                changed = true;
            }
        } else if entry.len() < MOST_PARTS {
            entry.push(part);
            changed = true;
        } else if !entry.iter().any(|known| known.path == part.path && known.address.origin.root == Root::Unknown) {
            // too many to tell apart
            entry.push(Part { path: part.path, address: Address::unknown() });
            changed = true;
        }
    }
    changed
}

/// What a statement tells.
#[derive(Default)]
struct Found {
    /// Of the value that it makes.
    made: Parts,
    /// Of locals that are memory.
    memory: Vec<(LocalId, Parts)>,
}

impl Found {
    fn keep(self, body: &Body<'_>, point: Point, statement: &StatementKind, facts: &mut Facts) -> bool {
        let mut changed = false;
        if let Some(destination) = statement.destination()
            && body.values.is_memory(destination)
        {
            changed |= add(facts.memory.get_mut(destination.index()), self.made.clone());
        }
        if let Some(made) = body.values.made(point) {
            changed |= add(facts.values.get_mut(made.index()), self.made);
        }
        for (local, parts) in self.memory {
            changed |= add(facts.memory.get_mut(local.index()), parts);
        }
        changed
    }
}

/// Looking at a function with what is known so far.
#[derive(Clone, Copy)]
struct Round<'a> {
    provenance: &'a Provenance,
    program: &'a Program<'a>,
    body: &'a Body<'a>,
    facts: &'a Facts,
}

/// The parts below a path, with the path taken off.
fn below(parts: &[Part], path: &[u32]) -> Parts {
    let fits = |part: &&Part| {
        part.path.len() >= path.len() && part.path.iter().zip(path).all(|(a, b)| a == b || *a == ANY || *b == ANY)
    };
    let strip =
        |part: &Part| Part { path: part.path.get(path.len()..).unwrap_or_default().to_vec(), address: part.address.clone() };
    parts.iter().filter(fits).map(strip).collect()
}

/// The parts as those of what lies at a path of something larger.
fn above(parts: Parts, path: &[u32]) -> Parts {
    parts.into_iter().map(|part| Part { path: [path, &part.path].concat(), address: part.address }).collect()
}

fn field_path(place: &Place) -> Vec<u32> {
    let step = |step: &Projection| match step {
        Projection::Field(field) => *field,
        Projection::Index(_) => ANY,
    };
    place.path.iter().map(step).collect()
}

impl Round<'_> {
    fn module(&self) -> &Module {
        self.program.module
    }

    fn value(&self, value: ValueId) -> &[Part] {
        self.facts.values.get(value.index()).map_or(&[], Vec::as_slice)
    }

    fn operand(&self, point: Point, operand: &Operand) -> Parts {
        match operand {
            Operand::Local(local) if self.body.values.is_memory(*local) => {
                self.facts.memory.get(local.index()).cloned().unwrap_or_default()
            }
            Operand::Local(_) => self.body.read(point, operand).map_or_else(Parts::new, |value| self.value(value).to_vec()),
            Operand::Const(constant) => {
                let null = constant.as_bits() == Some(0);
                let address = || if null { Address::start(Root::Null) } else { Address::unknown() };
                let paths = pointer_paths(self.module(), constant.ty);
                paths.into_iter().map(|path| Part { path, address: address() }).collect()
            }
            Operand::Function(_) => Parts::new(),
        }
    }

    fn index(&self, point: Point, operand: &Operand) -> Index {
        self.facts.indices.operand(self.module(), self.body, point, operand)
    }

    fn size(&self, ty: TypeId) -> u64 {
        self.module().types.layout(ty, PointerWidth::W64).size
    }

    /// The addresses that a place may be; none for locals that are no memory.
    fn place(&self, point: Point, place: &Place) -> Vec<Address> {
        let bases: Vec<Address> = match &place.base {
            PlaceBase::Local(local) if self.body.values.is_memory(*local) => vec![Address::start(Root::Local(*local))],
            PlaceBase::Local(_) => Vec::new(),
            PlaceBase::Global(global) => vec![Address::start(Root::Global(*global))],
            PlaceBase::Deref(pointer) => {
                let parts = self.operand(point, pointer);
                let pointers = parts.into_iter().filter(|part| part.path.is_empty()).map(|part| part.address);
                let found: Vec<Address> = pointers.collect();
                if found.is_empty() { vec![Address::unknown()] } else { found }
            }
        };
        let mut ty = match &place.base {
            PlaceBase::Deref(pointer) => self
                .module()
                .types
                .pointee(self.module().operand_type(self.body.function, pointer))
                .map(|(_, pointee, _)| pointee),
            PlaceBase::Local(local) => Some(self.body.function.local_type(*local)),
            PlaceBase::Global(global) => self.module().global(*global).map(|global| global.ty),
        };
        let mut steps = Vec::new();
        for step in &place.path {
            let element = match step {
                Projection::Field(field) => ty.and_then(|ty| self.module().types.element(ty, *field)),
                Projection::Index(_) => ty.and_then(|ty| self.module().types.element(ty, 0)),
            };
            steps.push((step, element.map_or(0, |element| self.size(element))));
            ty = element;
        }
        let walk = |base: Address| {
            steps.iter().fold(base, |address, (step, size)| match step {
                Projection::Field(field) => address.field(*field),
                Projection::Index(index) => address.shifted(self.index(point, index), *size),
            })
        };
        bases.into_iter().map(walk).collect()
    }

    fn statement(&self, point: Point, statement: &StatementKind) -> Found {
        let mut found = Found::default();
        match statement {
            StatementKind::Assign { dst, value } => {
                found.made = self.assigned(point, value, self.body.function.local_type(*dst))
            }
            StatementKind::Load { dst, place, .. } => {
                found.made = self.loaded(point, place, self.body.function.local_type(*dst));
            }
            StatementKind::Store { place, value, .. } => self.stored(point, place, value, &mut found),
            StatementKind::Call { function, args, .. } => {
                let result = self.provenance.of(*function).map_or(&[][..], |facts| facts.result.as_slice());
                for part in result {
                    let addresses = self.instantiate(point, args, &part.address, false);
                    found.made.extend(addresses.into_iter().map(|address| Part { path: part.path.clone(), address }));
                }
                self.escape(point, args, &mut found);
            }
            StatementKind::Runtime { call: RuntimeFn::Malloc, args, .. } => {
                let fresh = Part { path: Vec::new(), address: Address::start(Root::Fresh(point)) };
                let null = Part { path: Vec::new(), address: Address::start(Root::Null) };
                for address in args.first().into_iter().flat_map(|arg| self.operand(point, arg)).map(|part| part.address) {
                    if let Root::Local(local) = address.origin.root {
                        found.memory.push((local, above(vec![fresh.clone(), null.clone()], &address.fields)));
                    }
                }
            }
            StatementKind::Runtime { call: RuntimeFn::DeviceMalloc, .. } | StatementKind::HostAllocate { .. } => {
                found.made.push(Part { path: Vec::new(), address: Address::start(Root::Fresh(point)) });
            }
            StatementKind::Runtime { args, .. } => self.escape(point, args, &mut found),
            _ => {
                if let Some(dst) = statement.destination() {
                    found.made = self.unknown(self.body.function.local_type(dst));
                }
            }
        }
        found
    }

    fn unknown(&self, ty: TypeId) -> Parts {
        pointer_paths(self.module(), ty).into_iter().map(|path| Part { path, address: Address::unknown() }).collect()
    }

    fn assigned(&self, point: Point, value: &Rvalue, ty: TypeId) -> Parts {
        match value {
            Rvalue::Use(a) => self.operand(point, a),
            Rvalue::Cast(crate::ir::CastKind::IntToPointer, _) => self.unknown(ty),
            Rvalue::Cast(_, a) if self.module().types.pointee(ty).is_some() => self.operand(point, a),
            // the same variable of some block: nothing is known of which bytes
            Rvalue::MapSharedRank(pointer, _) => {
                let moved = |part: Part| Part { address: part.address.shifted(Index::UNKNOWN, 1), ..part };
                self.operand(point, pointer).into_iter().map(moved).collect()
            }
            Rvalue::Select(_, a, b) => {
                let mut parts = self.operand(point, a);
                add(Some(&mut parts), self.operand(point, b));
                parts
            }
            Rvalue::AddressOf(place) => {
                let addresses = self.place(point, place).into_iter();
                addresses.map(|address| Part { path: Vec::new(), address }).collect()
            }
            Rvalue::Offset(pointer, index) => {
                let pointee = self.module().types.pointee(self.module().operand_type(self.body.function, pointer));
                let unit = pointee.map_or(0, |(_, pointee, _)| self.size(pointee));
                let index = self.index(point, index);
                let shift = |part: Part| Part { address: part.address.shifted(index, unit), ..part };
                self.operand(point, pointer).into_iter().map(shift).collect()
            }
            Rvalue::Aggregate(elements) => {
                let mut parts = Parts::new();
                let is_array = matches!(self.module().types.get(ty), Type::Array { .. });
                for (index, element) in elements.iter().enumerate() {
                    let index = if is_array { ANY } else { u32::try_from(index).unwrap_or(ANY) };
                    add(Some(&mut parts), above(self.operand(point, element), &[index]));
                }
                parts
            }
            Rvalue::Extract(a, field) => below(&self.operand(point, a), &[*field]),
            _ => Parts::new(),
        }
    }

    fn loaded(&self, point: Point, place: &Place, ty: TypeId) -> Parts {
        let paths = pointer_paths(self.module(), ty);
        if paths.is_empty() {
            return Parts::new();
        }
        if let PlaceBase::Local(local) = place.base {
            let whole = if self.body.values.is_memory(local) {
                self.facts.memory.get(local.index()).cloned().unwrap_or_default()
            } else {
                self.body.values.read_local(point, local).map_or_else(Parts::new, |value| self.value(value).to_vec())
            };
            return below(&whole, &field_path(place));
        }
        let mut parts = Parts::new();
        for address in self.place(point, place) {
            match address.origin.root {
                // through a pointer to memory of this thread that is followed
                Root::Local(local) if !address.origin.loaded => {
                    let memory = self.facts.memory.get(local.index()).map_or(&[][..], Vec::as_slice);
                    add(Some(&mut parts), below(memory, &address.fields));
                }
                _ => {
                    for path in &paths {
                        let address = read_from(&address, path);
                        add(Some(&mut parts), vec![Part { path: path.clone(), address }]);
                    }
                }
            }
        }
        parts
    }

    fn stored(&self, point: Point, place: &Place, value: &Operand, found: &mut Found) {
        let parts = self.operand(point, value);
        match place.base {
            PlaceBase::Local(local) if !self.body.values.is_memory(local) => {
                // what the rest of the value holds stays; the part is replaced unless it is some element of an array
                let path = field_path(place);
                let before =
                    self.body.values.read_local(point, local).map_or_else(Parts::new, |value| self.value(value).to_vec());
                let replaced = |part: &Part| !path.contains(&ANY) && part.path.starts_with(&path);
                found.made = before.into_iter().filter(|part| !replaced(part)).collect();
                add(Some(&mut found.made), above(parts, &path));
            }
            _ => {
                for address in self.place(point, place) {
                    if let Root::Local(local) = address.origin.root
                        && !address.origin.loaded
                    {
                        found.memory.push((local, above(parts.clone(), &address.fields)));
                    }
                }
            }
        }
    }

    /// Memory of this thread whose address is given away may hold any pointer.
    fn escape(&self, point: Point, args: &[Operand], found: &mut Found) {
        for address in args.iter().flat_map(|arg| self.operand(point, arg)).map(|part| part.address) {
            if let Root::Local(local) = address.origin.root {
                let parts = self.unknown(self.body.function.local_type(local));
                if !parts.is_empty() {
                    found.memory.push((local, parts));
                }
            }
        }
    }

    fn instantiate(&self, point: Point, args: &[Operand], address: &Address, is_child: bool) -> Vec<Address> {
        let index = self.translated(point, args, address.index, is_child);
        let outside =
            |root: Root| vec![Address { origin: Origin { root, ..address.origin.clone() }, index, ..address.clone() }];
        let param = match address.origin.root {
            Root::Param(param) => param,
            Root::Local(_) => return outside(Root::Gone),
            Root::Fresh(_) => return outside(Root::Fresh(point)),
            root => return outside(root),
        };
        let Some(arg) = args.get(param.index()) else { return vec![Address::unknown()] };
        let parts = self.operand(point, arg);
        // of a pointer that was read through the parameter, the last steps of the path are those of the memory
        let fits = |part: &&Part| {
            if address.origin.loaded { address.origin.path.starts_with(&part.path) } else { part.path == address.origin.path }
        };
        let found = parts.iter().filter(fits).map(|part| {
            if address.origin.loaded {
                let rest = address.origin.path.get(part.path.len()..).unwrap_or_default();
                let read = read_from(&part.address, rest);
                return Address { index, unit: address.unit, fields: address.fields.clone(), ..read };
            }
            let shifted = part.address.clone().shifted(index, address.unit);
            address.fields.iter().fold(shifted, |address, field| address.field(*field))
        });
        let found: Vec<Address> = found.collect();
        if found.is_empty() { vec![Address::unknown()] } else { found }
    }

    /// A callee's index, or a child's, for its caller.
    fn translated(&self, point: Point, args: &[Operand], index: Index, is_child: bool) -> Index {
        let based = match index.base {
            Base::Param(param, add) => {
                args.get(param.index()).map_or(Index::UNKNOWN, |arg| self.index(point, arg).plus(Index::known(add)))
            }
            Base::Value(..) | Base::Unknown => Index { base: Base::Unknown, ..Index::known(0) },
            Base::Known(value) => Index::known(value),
        };
        if is_child {
            let varies = !index.is_fixed();
            return Index { child: based.child || varies, ..based };
        }
        Index { base: Base::Known(0), ..index }.plus(based)
    }
}

/// The address that a pointer has which is read from an address.
fn read_from(address: &Address, path: &[u32]) -> Address {
    let mut origin = address.origin.clone();
    if matches!(origin.root, Root::Local(_) | Root::Gone | Root::Null) {
        return Address::unknown();
    }
    if !origin.loaded {
        origin.path.extend_from_slice(&address.fields);
        origin.path.extend_from_slice(path);
        origin.loaded = true;
    }
    Address { origin, ..Address::start(Root::Unknown) }
}

#[cfg(test)]
mod tests;
