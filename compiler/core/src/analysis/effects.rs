//! Effects: which memory a function reads and writes, itself or through the children that it launches, in terms of its parameters and of the
//! module's variables.
//!
//! Memory of one thread that does not outlive the function is left out. What cannot be told is in the list, too, with an address whose root is
//! [`Root::Unknown`]; a list without such an entry is complete.

use super::address::{Address, Root};
use super::index::{Base, Index};
use super::provenance::Provenance;
use super::values::Point;
use super::{Body, Program};
use crate::builtins::{RuntimeFn, RuntimeParam, Side};
use crate::ir::{Access, FunctionId, Operand, StatementKind};
use crate::source::Span;

/// What is done to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Read.
    Read,
    /// Read through the read-only cache (`__ldg`), for memory that nobody writes (R16).
    CachedRead,
    /// Written.
    Write,
    /// Read and written by an atomic.
    Update,
}

impl Kind {
    /// Whether the memory is something else afterwards.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Update)
    }

    /// Whether the value in memory is seen.
    #[must_use]
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }
}

/// Something that is done to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Where.
    pub address: Address,
    /// What.
    pub kind: Kind,
    /// Done by a child, or by an operation in a stream, and so not in order with what follows.
    pub by_child: bool,
    /// The access itself, in whichever function.
    pub span: Span,
}

/// By function, what it does to memory.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    list: Vec<Vec<Effect>>,
}

/// No more effects of one function than this are told apart.
const MOST_EFFECTS: usize = 48;

/// No more elements of one piece of memory than this are told apart.
const MOST_ELEMENTS: usize = 4;

impl Effects {
    /// Looks at all functions, callees and children first.
    #[must_use]
    pub fn new(program: &Program<'_>, provenance: &Provenance) -> Self {
        let mut effects = Self { list: vec![Vec::new(); program.bodies.len()] };
        for component in &program.descent.order {
            let mut changed = true;
            while changed {
                changed = false;
                for index in component {
                    let Some(body) = program.bodies.get(*index) else { continue };
                    changed |= effects.pass(program, provenance, body);
                }
                // one function that calls nobody of its component is done after one round
                changed &= component.iter().any(|index| program.descent.cyclic.get(*index) == Some(&true));
            }
        }
        effects
    }

    /// What a function does to memory, in terms of its parameters.
    #[must_use]
    pub fn of(&self, function: FunctionId) -> &[Effect] {
        self.list.get(function.index()).map_or(&[], Vec::as_slice)
    }

    /// What the statement at a point does to memory, in terms of the function that it stands in; memory of the thread included.
    #[must_use]
    pub fn at(&self, program: &Program<'_>, provenance: &Provenance, body: &Body<'_>, point: Point) -> Vec<Effect> {
        let Some(statement) = body.statement(point) else { return Vec::new() };
        let direct = |addresses: Vec<Address>, kind: Kind, by_child: bool| -> Vec<Effect> {
            addresses.into_iter().map(|address| Effect { address, kind, by_child, span: statement.span }).collect()
        };
        let pointed = |operand: &Operand| -> Vec<Address> {
            let parts = provenance.operand(program, body, point, operand);
            let found: Vec<Address> = parts.into_iter().filter(|part| part.path.is_empty()).map(|part| part.address).collect();
            if found.is_empty() { vec![Address::unknown()] } else { found }
        };
        match &statement.kind {
            StatementKind::Load { place, access, .. } => {
                let kind = if *access == Access::NonCoherent { Kind::CachedRead } else { Kind::Read };
                direct(provenance.place(program, body, point, place), kind, false)
            }
            StatementKind::Store { place, .. } => direct(provenance.place(program, body, point, place), Kind::Write, false),
            StatementKind::Atomic { pointer, .. } => direct(pointed(pointer), Kind::Update, false),
            StatementKind::Call { function, args, .. } => self.through(*function, false, |address, is_child| {
                provenance.instantiate(program, body, point, args, address, is_child)
            }),
            StatementKind::Launch(launch) => self.through(launch.kernel, true, |address, is_child| {
                provenance.instantiate(program, body, point, &launch.args, address, is_child)
            }),
            StatementKind::Runtime { call, args, .. } => {
                let mut list = Vec::new();
                let is_fill = matches!(call, RuntimeFn::MemsetAsync | RuntimeFn::Memset2DAsync);
                let is_copy = matches!(call, RuntimeFn::MemcpyAsync | RuntimeFn::Memcpy2DAsync);
                for (param, arg) in call.params().iter().zip(args) {
                    match param {
                        RuntimeParam::Address if is_fill || is_copy => {
                            list.extend(spread(direct(pointed(arg), Kind::Write, true)))
                        }
                        RuntimeParam::ConstAddress if is_copy => list.extend(spread(direct(pointed(arg), Kind::Read, true))),
                        RuntimeParam::Memory => list.extend(spread(direct(pointed(arg), Kind::Write, false))),
                        RuntimeParam::ConstMemory => list.extend(spread(direct(pointed(arg), Kind::Read, false))),
                        RuntimeParam::Out(_) | RuntimeParam::OutPointer | RuntimeParam::OutStruct(_) => {
                            list.extend(direct(pointed(arg), Kind::Write, false));
                        }
                        _ => {}
                    }
                }
                if matches!(call, RuntimeFn::Memcpy3DAsync | RuntimeFn::Memset3DAsync) || call.side() == Side::Internal {
                    list.extend(direct(vec![Address::unknown()], Kind::Write, true));
                }
                list
            }
            StatementKind::Texture { op, .. } if op.is_write() => direct(vec![Address::unknown()], Kind::Write, false),
            _ => Vec::new(),
        }
    }

    fn through(
        &self,
        callee: FunctionId,
        is_launch: bool,
        instantiate: impl Fn(&Address, bool) -> Vec<Address>,
    ) -> Vec<Effect> {
        let mut list = Vec::new();
        for effect in self.of(callee) {
            // what the child itself and its own children do happens in an order of their own
            let by_child = is_launch || effect.by_child;
            for address in instantiate(&effect.address, by_child) {
                list.push(Effect { address, kind: effect.kind, by_child, span: effect.span });
            }
        }
        list
    }

    /// One round over a function; says whether anything changed.
    fn pass(&mut self, program: &Program<'_>, provenance: &Provenance, body: &Body<'_>) -> bool {
        let mut list = self.list.get_mut(body.id.index()).map(std::mem::take).unwrap_or_default();
        let mut changed = false;
        if body.function.blocks.is_empty() {
            for kind in [Kind::Read, Kind::Write] {
                changed |=
                    add(&mut list, Effect { address: Address::unknown(), kind, by_child: false, span: body.function.span });
            }
        }
        // its own summary is needed where it calls or launches itself
        if let Some(entry) = self.list.get_mut(body.id.index()) {
            *entry = list;
        }
        for (point, _) in body.statements() {
            for effect in self.at(program, provenance, body, point) {
                let outlives = !matches!(effect.address.origin.root, Root::Local(_) | Root::Gone | Root::Null | Root::Fresh(_));
                if outlives && let Some(list) = self.list.get_mut(body.id.index()) {
                    changed |= add(list, effect);
                }
            }
        }
        changed
    }
}

/// A whole range from where an address is.
fn spread(list: Vec<Effect>) -> Vec<Effect> {
    let whole = |effect: Effect| Effect {
        address: Address { index: Index { child: true, ..effect.address.index }, ..effect.address },
        ..effect
    };
    list.into_iter().map(whole).collect()
}

fn add(list: &mut Vec<Effect>, effect: Effect) -> bool {
    let alike = |known: &Effect| {
        known.kind == effect.kind
            && known.by_child == effect.by_child
            && known.address.origin == effect.address.origin
            && known.address.fields == effect.address.fields
    };
    // an element that is not known includes the others
    let same = |known: &&mut Effect| {
        let base = known.address.index.base;
        alike(known) && (base == effect.address.index.base || base == Base::Unknown)
    };
    if let Some(known) = list.iter_mut().find(same) {
        let joined = known.address.index.join(effect.address.index);
        let changed = joined != known.address.index;
        known.address.index = joined;
        return changed;
    }
    if list.iter().filter(|known| alike(known)).count() >= MOST_ELEMENTS {
        // too many elements to tell apart: some element
        let index =
            list.iter().filter(|known| alike(known)).fold(effect.address.index, |index, known| index.join(known.address.index));
        list.retain(|known| !alike(known));
        list.push(Effect { address: Address { index: Index { base: Base::Unknown, ..index }, ..effect.address }, ..effect });
        return true;
    }
    if list.len() < MOST_EFFECTS {
        list.push(effect);
        return true;
    }
    // too many to tell apart: somewhere
    let anywhere = Effect { address: Address::unknown(), ..effect };
    let known = |known: &Effect| {
        known.kind == anywhere.kind && known.by_child == anywhere.by_child && known.address == anywhere.address
    };
    if list.iter().any(known) {
        return false;
    }
    list.push(anywhere);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::module;

    /// The effects of a function, one word each.
    fn effects(text: &str, name: &str) -> Vec<String> {
        let module = module(text);
        let program = Program::new(&module);
        let provenance = Provenance::new(&program);
        let effects = Effects::new(&program, &provenance);
        let (id, function) = module.functions().find(|(_, f)| f.name == name).unwrap();
        let mut shown: Vec<String> = effects
            .of(id)
            .iter()
            .map(|effect| {
                let root = match effect.address.origin.root {
                    Root::Param(param) => function.locals[param.index()].name.clone(),
                    Root::Global(global) => module.globals[global.index()].name.clone(),
                    other => format!("{other:?}"),
                };
                let index = effect.address.index;
                let place = match index.as_known() {
                    Some(known) => known.to_string(),
                    None => format!("{}…", index.start().map_or("?".to_owned(), |start| start.to_string())),
                };
                let read = if effect.address.origin.loaded { "→" } else { "" };
                let fields: String = effect.address.fields.iter().map(|field| format!(".{field}")).collect();
                let child = if effect.by_child { "child " } else { "" };
                format!("{child}{:?} {root}{read}[{place}]{fields}", effect.kind)
            })
            .collect();
        shown.sort();
        shown
    }

    #[test]
    fn of_the_function_itself() {
        let text = "global var g: u32 = 0;
             kernel k(x: *global i32, y: *global const i32, n: i32) {
                 shared s: [i32; 32];
                 var own: [i32; 4] = [0, 1, 2, 3];
                 own[n] = 3;
                 s[threadIdx.x] = __ldg(&y[0]);
                 x[blockIdx.x * blockDim.x + threadIdx.x] = own[1];
                 atomicAdd(&g, 1);
             }";
        assert_eq!(effects(text, "k"), ["CachedRead y[0]", "Update g[0]", "Write s[0…]", "Write x[0…]"]);
    }

    #[test]
    fn through_calls_and_launches() {
        let text = "struct Q { head: i32, items: *global i32 }
             fn put(q: *global Q, at: i32, v: i32) { q.items[at] = v; q.head = at; }
             kernel child(x: *global i32, at: i32) { x[at] += 1; x[threadIdx.x + 2] = 0; }
             kernel k(x: *global i32, q: *global Q, n: i32) {
                 put(q, n, 2);
                 child<<<1, 32>>>(x + 4, 3);
             }";
        let wanted =
            ["Read q[0].1", "Write q[0].0", "Write q→[?…]", "child Read x[7]", "child Write x[6…]", "child Write x[7]"];
        assert_eq!(effects(text, "k"), wanted);
    }

    #[test]
    fn of_kernels_that_launch_themselves() {
        let text = "kernel k(x: *global i32, n: i32) { x[n] = 1; if n > 0 { k<<<1, 1>>>(x, n - 1); } }";
        assert_eq!(effects(text, "k"), ["Write x[?…]", "child Write x[?…]"]);
    }

    #[test]
    fn copies_are_made_by_the_stream() {
        let text = "kernel k(x: *global i32, y: *global const i32) { cudaMemcpyAsync(x, y, 64, cudaMemcpyDeviceToDevice, 0); }";
        assert_eq!(effects(text, "k"), ["child Read y[0…]", "child Write x[0…]"]);
    }
}
