//! The mid-level intermediate representation: what rules, passes, back ends and the executor work on.
//!
//! A [`Function`] is a control-flow graph of basic [`Block`]s; a block is a list of [`Statement`]s and one [`Terminator`].
//! **Effects happen in statements only.** An [`Rvalue`] is a pure function of its operands, so a pass may copy, move or drop it; memory
//! is read by `Load` and written by `Store`, never in the middle of an expression. Control flow, calls, barriers and launches are each one
//! statement or terminator with a span.
//!
//! Locals are typed slots. One whose address is never taken and that no [`Place`] names is a register: it is read as
//! [`Operand::Local`] and written by `Assign`. Aggregates may be read and written whole the same way, or in part through a place.
//! There are no phi nodes: a local may be assigned in several blocks.
//!
//! A launch is one [`StatementKind::Launch`] until `pass::lower_launches` turns it into runtime calls (guide 4.18.6). Passes that rewrite
//! launches can clone a kernel, replace registers ([`Rvalue::Register`]) by values, append parameters, and route every exit of a
//! kernel through one block, because returns are terminators.
//!
//! - this file: the data
//! - `place`: types of operands and places
//! - `builder`: making functions block by block
//! - `cfg`: where blocks lead; `visit`: what statements read, name and write
//! - [`eval`]: what operators, casts and exact builtins compute, on bit patterns
//! - `print`, `parse`: the text form, which reads back to the same IR
//!
//! The rules that a module must keep are in [`crate::verify`].

mod builder;
mod cfg;
pub mod eval;
mod place;
pub mod text;
mod visit;

pub use builder::FunctionBuilder;
pub use text::{ParseError, parse, print};

use crate::builtins::{
    AtomicOp, BarrierOp, CacheHint, Intrinsic, MemoryScope, Register, Rounding, RuntimeFn, TextureOp, WarpOp,
};
use crate::source::Span;
use crate::types::{Space, TypeId, TypeTable};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The place in its list.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

index! {
    /// A function of a [`Module`].
    FunctionId;
    /// A variable of a [`Module`].
    GlobalId;
    /// A local of a [`Function`]; parameters come first.
    LocalId;
    /// A basic block of a [`Function`]; `BlockId(0)` is the entry.
    BlockId;
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Every type that the program uses.
    pub types: TypeTable,
    /// Kernels, device functions, host functions and tests.
    pub functions: Vec<Function>,
    /// Global, constant and shared variables.
    pub globals: Vec<Global>,
}

/// What a function is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Launched; returns nothing.
    Kernel,
    /// A plain `fn`: called by kernels, by host code, or by both.
    Plain,
    /// `host fn`
    Host,
    /// `test "name"`: no parameters, no result.
    Test {
        /// The name in quotes.
        name: String,
    },
}

/// Whether calls are replaced by the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inline {
    /// The optimiser decides.
    #[default]
    Auto,
    /// `@inline`
    Always,
    /// `@noinline`
    Never,
}

/// A function with its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name in source; with the arguments for an instance of a generic one. A test's is unique in the module.
    pub name: String,
    /// The name in PTX, unique in the module. A kernel's is its source name or what `@export` says.
    pub symbol: String,
    /// What it is for.
    pub kind: FunctionKind,
    /// How many of the locals, from the first, are parameters.
    pub param_count: u32,
    /// [`TypeTable::VOID`] for none.
    pub return_type: TypeId,
    /// Parameters, variables and temporaries.
    pub locals: Vec<Local>,
    /// The body; never empty for a defined function. Empty: defined elsewhere (`extern`).
    pub blocks: Vec<Block>,
    /// `@launch_bounds(threads, blocks)`: most threads a block, and fewest blocks a multiprocessor (0: not said).
    pub launch_bounds: Option<(u32, u32)>,
    /// `@cluster(x, y, z)`: blocks of a cluster, of a kernel.
    pub cluster: Option<[u32; 3]>,
    /// `@inline`, `@noinline`
    pub inline: Inline,
    /// Whether the symbol is visible to other modules (`@export`); kernels always are.
    pub exported: bool,
    /// Its name in the source.
    pub span: Span,
}

/// A parameter, variable or temporary.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The name in source; empty for a temporary.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// `@restrict` on a pointer parameter: memory reached through it is reached through nothing else.
    pub restrict: bool,
    /// Where it was declared, or the expression that it is a part of.
    pub span: Span,
}

/// A variable outside functions, or a shared variable of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// The name in source.
    pub name: String,
    /// The name in PTX.
    pub symbol: String,
    /// `Global`, `Constant` or `Shared`.
    pub space: Space,
    /// Its type; `[T]` for dynamic shared memory.
    pub ty: TypeId,
    /// Its first value; zero without one. Shared variables have none.
    pub init: Option<Const>,
    /// Alignment in bytes asked for by `@align(n)`; 0 for the type's own.
    pub align: u32,
    /// Whether the symbol is visible to other modules.
    pub exported: bool,
    /// Whether it is defined in another module (`extern`); then it is exported and has no first value here.
    pub external: bool,
    /// Its name in the source.
    pub span: Span,
}

/// A straight run of statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Executed in order.
    pub statements: Vec<Statement>,
    /// What comes next.
    pub terminator: Terminator,
    /// `@unroll` of the loop whose header this is, the block that its back edges go to: `Some(0)` for fully, `Some(n)` for n times.
    pub unroll: Option<u32>,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// The source that asked for it.
    pub span: Span,
}

/// The end of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminator {
    /// What.
    pub kind: TerminatorKind,
    /// The source that asked for it.
    pub span: Span,
}

/// Where control goes.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminatorKind {
    /// There.
    Goto(BlockId),
    /// By a `bool`.
    Branch {
        /// The condition.
        condition: Operand,
        /// When true.
        then: BlockId,
        /// When false.
        otherwise: BlockId,
    },
    /// By an integer.
    Switch {
        /// The value, of an integer type.
        value: Operand,
        /// Bit patterns of the value's type, each once, and where each goes.
        cases: Vec<(u64, BlockId)>,
        /// For all others.
        default: BlockId,
    },
    /// Back to the caller; the end of the thread in a kernel.
    Return(Option<Operand>),
    /// Control does not get here.
    Unreachable,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `dst = value`; pure.
    Assign {
        /// The whole local.
        dst: LocalId,
        /// Of the local's type.
        value: Rvalue,
    },
    /// `dst = place`
    Load {
        /// Of the place's type.
        dst: LocalId,
        /// Read.
        place: Place,
        /// How.
        access: Access,
    },
    /// `place = value`
    Store {
        /// Written.
        place: Place,
        /// Of the place's type.
        value: Operand,
        /// How.
        access: Access,
    },
    /// `dst = function(args)`
    Call {
        /// None for `void` or an unused result.
        dst: Option<LocalId>,
        /// A plain or host function, never a kernel.
        function: FunctionId,
        /// One for each parameter, of its type.
        args: Vec<Operand>,
    },
    /// `dst = op(pointer, operands)`
    Atomic {
        /// The old value, of the pointee's type.
        dst: Option<LocalId>,
        /// Which.
        op: AtomicOp,
        /// Who sees it in order.
        scope: MemoryScope,
        /// Where: generic, global or shared.
        pointer: Operand,
        /// One, or compare and value for `Cas`; of the pointee's type.
        operands: Vec<Operand>,
    },
    /// `dst = op(operand)`
    Barrier {
        /// What `_count`, `_and`, `_or` give.
        dst: Option<LocalId>,
        /// Which.
        op: BarrierOp,
        /// The predicate (`bool`) of `_count`, `_and`, `_or`; the mask (`u32`) of `Warp`, all lanes without one.
        operand: Option<Operand>,
    },
    /// From here on the local has no value, as at the declaration of a variable that is given none; what is read before it is written is
    /// a mistake of the program. Only variables of which [`mod@crate::lower`] cannot prove that every part is written first have one. Nothing
    /// happens on a GPU.
    Deinit {
        /// The local, all of it.
        local: LocalId,
    },
    /// `__threadfence…()`
    Fence {
        /// Towards whom.
        scope: MemoryScope,
    },
    /// A warp operation.
    Warp {
        /// The result.
        dst: Option<LocalId>,
        /// Which.
        op: WarpOp,
        /// As [`WarpOp`] says for each.
        args: Vec<Operand>,
    },
    /// A fetch from a texture, or a read or write of a surface.
    Texture {
        /// What is read; its type says which elements. None for a write.
        dst: Option<LocalId>,
        /// Which.
        op: TextureOp,
        /// The object, the coordinates, and the value of a write.
        args: Vec<Operand>,
    },
    /// Starts a kernel.
    Launch(Box<Launch>),
    /// A call of the CUDA runtime, device side or host side.
    Runtime {
        /// The result, of the call's type.
        dst: Option<LocalId>,
        /// Which.
        call: RuntimeFn,
        /// Of the types that the call asks for; `Out` and `OutPointer` are pointers.
        args: Vec<Operand>,
    },
    /// `printf(format, args)`
    Printf {
        /// How many arguments were printed, as CUDA's returns (`i32`).
        dst: Option<LocalId>,
        /// Checked against the arguments.
        format: String,
        /// Promoted as C's are: `i32`, `u32`, `i64`, `u64`, `f64`, pointers and strings only.
        args: Vec<Operand>,
    },
    /// `assert(condition, format, args)`: on the device a failure prints and traps.
    Assert {
        /// A `bool`.
        condition: Operand,
        /// The condition as it was written, and the message's format, if any.
        text: String,
        /// A format for `args`; empty without one.
        format: String,
        /// As for `Printf`.
        args: Vec<Operand>,
    },
    /// Host only: `dst = device(T, count)`, a zeroed buffer in device memory.
    HostAllocate {
        /// `*global T`
        dst: LocalId,
        /// T
        element: TypeId,
        /// `u64`
        count: Operand,
    },
}

/// A launch before lowering.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// `cudaError_t`: what the submission returned.
    pub dst: Option<LocalId>,
    /// A kernel.
    pub kernel: FunctionId,
    /// x, y, z; `u32`
    pub grid: [Operand; 3],
    /// x, y, z; `u32`
    pub block: [Operand; 3],
    /// Dynamic shared memory in bytes; `u32`
    pub shared: Operand,
    /// `cudaStream_t`
    pub stream: Operand,
    /// One for each parameter, of its type.
    pub args: Vec<Operand>,
    /// What the author says of how it may be run.
    pub hints: LaunchHints,
}

/// Attributes of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaunchHints {
    /// `@merge(…)`
    pub merge: Option<Merge>,
    /// `@inline_below(n)`: grids of fewer threads are run where they are launched.
    pub inline_below: Option<u32>,
}

/// What `@merge` says of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Merge {
    /// `@merge(grid)`: with all launches of its kernel in the same grid, whatever stream it is into; it keeps no order with anything.
    Grid,
    /// `@merge(buckets(n))`: the same, and what n blocks of its grid launched need not wait for the others. At least 1.
    Buckets(u32),
    /// `@merge(off)`: it is left as it is.
    Off,
}

impl LaunchHints {
    /// Whether the launch is to be merged, and keeps no order with anything.
    #[must_use]
    pub const fn asks_to_merge(&self) -> bool {
        matches!(self.merge, Some(Merge::Grid | Merge::Buckets(_)))
    }
}

/// How memory is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// Nothing special.
    #[default]
    Plain,
    /// Every access happens, in order, as written.
    Volatile,
    /// A load of what other threads of the device change by atomic operations meanwhile (`ld.relaxed.gpu`): one of 4 or 8 bytes.
    Relaxed,
    /// `__ldg`: through the read-only cache (`ld.global.nc`), for memory that nothing writes meanwhile (R16).
    NonCoherent,
    /// `__ldcg` and its kin: global memory with a cache operator; happens as written.
    Hinted(CacheHint),
}

/// A place in memory, or part of a local.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Where it starts.
    pub base: PlaceBase,
    /// The way from there into the value.
    pub path: Vec<Projection>,
}

/// Where a place starts.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceBase {
    /// A local of this function.
    Local(LocalId),
    /// A variable.
    Global(GlobalId),
    /// What a pointer points at.
    Deref(Operand),
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// A field of a structure or a lane of a vector.
    Field(u32),
    /// An element of an array; the index is of any integer type.
    Index(Operand),
}

/// A value that needs no computation.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A constant.
    Const(Const),
    /// A local's present value.
    Local(LocalId),
    /// A kernel's address; only as an argument of a runtime call.
    Function(FunctionId),
}

/// A typed constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Const {
    /// Its type.
    pub ty: TypeId,
    /// Its value.
    pub value: ConstValue,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstValue {
    /// A scalar's bit pattern: integers wrapped to their width, upper bits zero; `bool` 0 or 1; IEEE bits; handles; 0 for a null pointer.
    Bits(u64),
    /// Zero of any type.
    Zero,
    /// A structure, vector or array, element by element.
    Aggregate(Vec<ConstValue>),
    /// A string.
    Str(String),
}

/// A pure computation.
#[derive(Clone, Debug, PartialEq)]
pub enum Rvalue {
    /// The operand itself.
    Use(Operand),
    /// On integers, floats, `bool`, vectors.
    Unary(UnaryOp, Operand),
    /// On two operands of one type; shifts take any integer type on the right.
    Binary(BinaryOp, Operand, Operand),
    /// To the type of the local that it is assigned to.
    Cast(CastKind, Operand),
    /// `condition ? a : b`
    Select(Operand, Operand, Operand),
    /// The address of a place; its pointer type is the local's: space of the place, pointee its type.
    AddressOf(Place),
    /// `pointer + index`, in elements of the pointee; the index is of any integer type.
    Offset(Operand, Operand),
    /// `a - b` in elements, `i64`.
    Distance(Operand, Operand),
    /// A structure, vector or array from its elements in order.
    Aggregate(Vec<Operand>),
    /// Field or lane of a structure or vector value.
    Extract(Operand, u32),
    /// A special register.
    Register(Register),
    /// A pure function.
    Intrinsic(Intrinsic, Vec<Operand>),
    /// The place in the shared memory of the block of the cluster with this rank (`u32`) that a generic pointer's place in the thread's own
    /// has; a generic pointer.
    MapSharedRank(Operand, Operand),
    /// The rank of the block in whose shared memory a generic pointer's place is; `u32`.
    SharedRank(Operand),
}

/// One operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-x`; wraps on the GPU, an error in the executor when it overflows.
    Neg,
    /// `!x`: of `bool` logical, of integers bitwise.
    Not,
}

/// Two operands.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    /// Arithmetic for signed integers.
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// What a conversion does. The types of operand and destination say the widths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastKind {
    /// Between integers, `bool`, enumerations and `cudaError_t`: truncates, or extends by the sign of the source type.
    Int,
    /// Integer to float, rounded to nearest, ties to even.
    IntToFloat,
    /// Float to integer, towards zero, saturating, NaN gives 0.
    FloatToInt,
    /// Between floats, rounded to nearest, ties to even.
    Float,
    /// Integer or float to `bool`: `x != 0`; NaN is true.
    ToBool,
    /// Between pointers of one space, or between pointer and handle: the same bits.
    Pointer,
    /// A pointer of a known space to generic.
    ToGeneric,
    /// A generic pointer to a known space.
    FromGeneric,
    /// A pointer's or handle's bits as an integer, zero-extended or truncated.
    PointerToInt,
    /// An integer's bits as a pointer or handle.
    IntToPointer,
    /// Between integers and `f32` or `f64`, or from `f64` to `f32`, as `cvt` of PTX does it: rounded as stated; to an integer saturating, where NaN gives 0, or the upper bit alone
    /// where either side has 64 bits.
    Rounded(Rounding),
    /// A vector of 32 bits as an integer with the same bits.
    Bits,
}

impl BinaryOp {
    /// Whether the result is `bool` whatever the operands.
    #[must_use]
    pub const fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge)
    }

    /// As it is written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

impl Const {
    /// A scalar by its bit pattern.
    #[must_use]
    pub const fn bits(ty: TypeId, bits: u64) -> Self {
        Self { ty, value: ConstValue::Bits(bits) }
    }

    /// `true` or `false`
    #[must_use]
    pub const fn bool(value: bool) -> Self {
        Self::bits(TypeTable::BOOL, value as u64)
    }

    /// A `u32`.
    #[must_use]
    pub const fn u32(value: u32) -> Self {
        Self::bits(TypeTable::U32, value as u64)
    }

    /// A `u64`.
    #[must_use]
    pub const fn u64(value: u64) -> Self {
        Self::bits(TypeTable::U64, value)
    }

    /// Zero, false, null, or an aggregate of these.
    #[must_use]
    pub const fn zero(ty: TypeId) -> Self {
        Self { ty, value: ConstValue::Zero }
    }

    /// A scalar's bit pattern, when it is one: `Zero` counts as 0.
    #[must_use]
    pub const fn as_bits(&self) -> Option<u64> {
        match self.value {
            ConstValue::Bits(bits) => Some(bits),
            ConstValue::Zero => Some(0),
            _ => None,
        }
    }
}

impl Operand {
    /// The bit pattern of a scalar constant: see [`Const::as_bits`].
    #[must_use]
    pub const fn as_bits(&self) -> Option<u64> {
        match self {
            Self::Const(constant) => constant.as_bits(),
            Self::Local(_) | Self::Function(_) => None,
        }
    }
}

impl From<Const> for Operand {
    fn from(value: Const) -> Self {
        Self::Const(value)
    }
}

impl From<LocalId> for Operand {
    fn from(value: LocalId) -> Self {
        Self::Local(value)
    }
}

impl Place {
    /// The whole of a local.
    #[must_use]
    pub const fn local(local: LocalId) -> Self {
        Self { base: PlaceBase::Local(local), path: Vec::new() }
    }

    /// The whole of a variable.
    #[must_use]
    pub const fn global(global: GlobalId) -> Self {
        Self { base: PlaceBase::Global(global), path: Vec::new() }
    }

    /// What a pointer points at.
    #[must_use]
    pub const fn deref(pointer: Operand) -> Self {
        Self { base: PlaceBase::Deref(pointer), path: Vec::new() }
    }
}

impl Function {
    /// The parameters' types in order.
    pub fn param_types(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.locals.iter().take(self.param_count as usize).map(|local| local.ty)
    }

    /// Whether it is a kernel.
    #[must_use]
    pub const fn is_kernel(&self) -> bool {
        matches!(self.kind, FunctionKind::Kernel)
    }

    /// Whether it runs on the host only.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        matches!(self.kind, FunctionKind::Host | FunctionKind::Test { .. })
    }

    /// A local's type; poison for a foreign id.
    #[must_use]
    pub fn local_type(&self, local: LocalId) -> TypeId {
        self.locals.get(local.index()).map_or(TypeTable::POISON, |local| local.ty)
    }
}

impl Module {
    /// The function; none for a foreign id.
    #[must_use]
    pub fn function(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.index())
    }

    /// The variable; none for a foreign id.
    #[must_use]
    pub fn global(&self, id: GlobalId) -> Option<&Global> {
        self.globals.get(id.index())
    }

    /// Every function with its id.
    pub fn functions(&self) -> impl Iterator<Item = (FunctionId, &Function)> {
        self.functions.iter().enumerate().map(|(i, f)| (FunctionId(u32::try_from(i).unwrap_or(u32::MAX)), f))
    }

    /// Adds a function behind the others.
    pub fn add_function(&mut self, function: Function) -> FunctionId {
        self.functions.push(function);
        FunctionId(u32::try_from(self.functions.len() - 1).unwrap_or(u32::MAX))
    }

    /// The kernel of this source name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<FunctionId> {
        self.functions().find(|(_, f)| f.is_kernel() && f.name == name).map(|(id, _)| id)
    }
}
