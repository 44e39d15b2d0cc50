//! Names, types and constants: from the syntax tree to the typed program.
//!
//! - `items`: what the files declare, by name
//! - `types`: type expressions and instances of generic structures
//! - `functions`: signatures, instances of generic functions and kernels, bodies
//! - `body`: scopes and variables of one body; `stmt`: statements
//! - `value`: names, fields, indices, dereferences: places and values
//! - `expr`: operators, literals; `convert`: implicit and explicit conversions
//! - `call`: calls, construction of values, inference of compile-time arguments
//! - `builtin`: calls of builtins, `intrinsic` of pure ones; `format`: printf formats
//! - `named`: CUDA's named values in the place of others
//! - `runtime`: calls of the CUDA runtime; `texture`: accesses to textures and surfaces
//! - `launch`: launches and their configurations (CUDA programming guide 4.18.4.2.1); `hints`: `@merge` and `@inline_below`
//! - `cluster`: clusters of blocks
//! - `consts`: evaluation at compile time
//! - `sides`: what only device code, or only host code, may do
//! - `attributes`, `suggest`: small helpers
//!
//! Every body is checked once for each instance. A mistake is reported once and its value gets the type `Poison`, which silences what
//! would follow from it.

mod attributes;
mod body;
mod builtin;
mod call;
mod cluster;
mod consts;
mod convert;
mod expr;
mod format;
mod functions;
mod hints;
mod intrinsic;
mod items;
mod launch;
mod missing;
mod named;
mod runtime;
mod sides;
mod stmt;
mod suggest;
mod texture;
mod types;
mod value;

use crate::builtins::Cdp;
use crate::diag::{Diagnostic, Diagnostics};
use crate::ir::{Const, FunctionId, Global, GlobalId};
use crate::source::SourceMap;
use crate::syntax::ast;
use crate::typed::{Function, Program};
use crate::types::{StructId, TypeId, TypeTable};
use items::{ItemId, Items};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

pub use attributes::attribute_names;
pub use types::type_names;

/// What changes the meaning of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `a * b + c` inside one expression is one fused multiply-add, in constants too (`--fmad`).
    pub fmad: bool,
    /// The dynamic parallelism that device code is compiled for (`--cdp`).
    pub cdp: Cdp,
}

impl Default for Options {
    fn default() -> Self {
        Self { fmad: true, cdp: Cdp::default() }
    }
}

/// Checks the files of one program, which share one namespace.
///
/// The program is complete only when the diagnostics have no error; then it can be lowered.
#[must_use]
pub fn check(files: &[ast::File], sources: &SourceMap, options: Options) -> (Program, Diagnostics) {
    let mut checker = Checker::new(files, sources, options);
    checker.run();
    let program = Program { types: checker.types, functions: checker.functions, globals: checker.globals };
    (program, checker.diagnostics)
}

/// A compile-time argument of a generic item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GenericArg {
    /// A type.
    Type(TypeId),
    /// An integer: its type and bit pattern.
    Int(TypeId, u64),
}

/// The compile-time parameters in force, by name.
pub(crate) type Env = Rc<HashMap<String, GenericArg>>;

/// How far a lazily computed thing has got.
#[derive(Clone, Debug)]
pub(crate) enum State<T> {
    /// Being computed: asking for it again is a cycle.
    Busy,
    /// There.
    Done(T),
}

/// How far a structure has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It has a name and an id.
    Named,
    /// Its fields are there or on their way.
    Begun,
}

/// The state that all bodies share.
pub(crate) struct Checker<'a> {
    pub(crate) sources: &'a SourceMap,
    pub(crate) options: Options,
    pub(crate) items: Items<'a>,
    pub(crate) types: TypeTable,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) functions: Vec<Function>,
    pub(crate) globals: Vec<Global>,
    pub(crate) global_of_item: HashMap<ItemId, GlobalId>,
    pub(crate) consts: HashMap<ItemId, State<Option<Const>>>,
    pub(crate) const_tables: HashMap<ItemId, GlobalId>,
    /// Variables declared `volatile`.
    pub(crate) volatile_globals: HashSet<GlobalId>,
    pub(crate) structs: HashMap<(ItemId, Vec<GenericArg>), (StructId, Progress)>,
    pub(crate) struct_origin: HashMap<StructId, (ItemId, Vec<GenericArg>)>,
    /// How many pointers deep in a type expression the walk is.
    pub(crate) behind_pointer: u32,
    /// How many structures, each inside the next, are being given their fields.
    pub(crate) completing: u32,
    pub(crate) unfinished: Vec<(ItemId, Vec<GenericArg>)>,
    pub(crate) unsealed: Vec<StructId>,
    pub(crate) enums: HashMap<ItemId, State<TypeId>>,
    pub(crate) instances: HashMap<(ItemId, Vec<GenericArg>), FunctionId>,
    pub(crate) generic_instances: usize,
    pub(crate) pending: VecDeque<functions::Pending>,
    pub(crate) symbols: HashSet<String>,
    pub(crate) uses: Vec<sides::Uses>,
}

impl<'a> Checker<'a> {
    fn new(files: &'a [ast::File], sources: &'a SourceMap, options: Options) -> Self {
        let mut diagnostics = Diagnostics::new();
        let items = Items::collect(files, &mut diagnostics);
        Self {
            sources,
            options,
            items,
            types: TypeTable::new(),
            diagnostics,
            functions: Vec::new(),
            globals: Vec::new(),
            global_of_item: HashMap::new(),
            consts: HashMap::new(),
            const_tables: HashMap::new(),
            volatile_globals: HashSet::new(),
            structs: HashMap::new(),
            struct_origin: HashMap::new(),
            behind_pointer: 0,
            completing: 0,
            unfinished: Vec::new(),
            unsealed: Vec::new(),
            enums: HashMap::new(),
            instances: HashMap::new(),
            generic_instances: 0,
            pending: VecDeque::new(),
            symbols: HashSet::new(),
            uses: Vec::new(),
        }
    }

    /// Declares every item that is not generic, then checks bodies until no instance is left.
    fn run(&mut self) {
        self.declare_all();
        while let Some(pending) = self.pending.pop_front() {
            self.check_body(pending);
        }
        self.check_sides();
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}
