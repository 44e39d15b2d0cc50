//! The typed program: what `sema` makes of the syntax tree, and what `lower` turns into IR.
//!
//! Still a tree, but without names, inference or implicit conversions: every expression has its type, every conversion is a
//! [`ExprKind::Cast`], every name an id, generic items are instances, constants are folded, and pointer arithmetic, dereferences and
//! address spaces are explicit. A program with errors is never lowered.
//!
//! - this file: the tree
//! - [`visit`]: every expression and place of a body

mod visit;

use crate::builtins::{
    AtomicOp, BarrierOp, CacheHint, Intrinsic, MemoryScope, PartsFn, Register, RuntimeFn, TextureOp, WarpOp,
};
use crate::ir::{Access, BinaryOp, CastKind, Const, FunctionId, Global, GlobalId, Inline, LaunchHints, UnaryOp};
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

pub use crate::ir::FunctionKind;
pub use visit::{Part, each_part};

/// A whole program. Ids of functions and globals are those of the IR module that it becomes.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Every type.
    pub types: TypeTable,
    /// Every function, also those that nobody calls.
    pub functions: Vec<Function>,
    /// Every variable: `global var`, `constant`, and the shared variables of functions.
    pub globals: Vec<Global>,
}

/// A variable of a [`Function`]; parameters come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// A parameter or `let`/`var`/loop variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
    /// `@restrict`
    pub restrict: bool,
    /// Where it was declared.
    pub span: Span,
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name in source; with the arguments for an instance.
    pub name: String,
    /// The name in PTX, unique.
    pub symbol: String,
    /// What it is for.
    pub kind: FunctionKind,
    /// How many of the variables, from the first, are parameters.
    pub param_count: u32,
    /// Parameters, then the others in order of declaration.
    pub variables: Vec<Variable>,
    /// [`TypeTable::VOID`] for none.
    pub return_type: TypeId,
    /// None for `extern`.
    pub body: Option<Vec<Stmt>>,
    /// `@launch_bounds`
    pub launch_bounds: Option<(u32, u32)>,
    /// `@cluster`
    pub cluster: Option<[u32; 3]>,
    /// `@inline`, `@noinline`
    pub inline: Inline,
    /// `@export`, and all kernels
    pub exported: bool,
    /// Its name in the source.
    pub span: Span,
    /// The closing brace: what "falls off the end" is reported at.
    pub end: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let v = init;`, `var v: T;`
    Let {
        /// The variable; its scope is checked already.
        variable: VariableId,
        /// None for a `var` that is assigned later.
        init: Option<Expr>,
    },
    /// `place = value`
    Assign {
        /// Evaluated first.
        place: Place,
        /// Evaluated second.
        value: Expr,
        /// How the place is written.
        access: Access,
    },
    /// `place op= value`; the place is evaluated once. Both sides and the result are of the place's type, but for pointers (`p += i`), whose
    /// value is of an integer type, and for shifts.
    AssignOp {
        /// Read and written.
        place: Place,
        /// Not a comparison.
        op: BinaryOp,
        /// The right side.
        value: Expr,
        /// How the place is read and written.
        access: Access,
    },
    /// An expression for its effect.
    Expr(Expr),
    /// `if`
    If {
        /// A `bool`.
        condition: Expr,
        /// When true.
        then: Vec<Stmt>,
        /// When false.
        otherwise: Vec<Stmt>,
    },
    /// `while condition { }`; `loop` has the constant `true`.
    While {
        /// A `bool`.
        condition: Expr,
        /// The body.
        body: Vec<Stmt>,
        /// `@unroll`: `Some(0)` for fully, `Some(n)` for n times.
        unroll: Option<u32>,
    },
    /// `for v in from..to step s`: bounds and step are evaluated once, before; the variable is new in each round and may not be
    /// assigned. A step of zero or less is an error of the program for `step` that is not constant.
    For {
        /// Of an integer type.
        variable: VariableId,
        /// The first value.
        from: Expr,
        /// One past the last.
        to: Expr,
        /// Of the same type; none for 1.
        step: Option<Expr>,
        /// The body.
        body: Vec<Stmt>,
        /// As for `While`.
        unroll: Option<u32>,
    },
    /// `switch value { 1, 2 => { } else => { } }`, without fall-through.
    Switch {
        /// Of an integer type or an enumeration.
        value: Expr,
        /// Bit patterns and what to do; each pattern once.
        cases: Vec<(Vec<u64>, Vec<Stmt>)>,
        /// For all others.
        default: Vec<Stmt>,
    },
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// `{ }`
    Block(Vec<Stmt>),
}

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Of this type.
    pub ty: TypeId,
    /// Where.
    pub span: Span,
}

/// What an expression computes. Operands are evaluated from left to right.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// The value at a place.
    Read(Box<Place>, Access),
    /// `&place`
    AddressOf(Box<Place>),
    /// On one operand of the expression's type.
    Unary(UnaryOp, Box<Expr>),
    /// On two operands of one type (shifts: any integer on the right). Pointers only for comparisons.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a && b`: b only when a is true.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`: b only when a is false.
    Or(Box<Expr>, Box<Expr>),
    /// `pointer + index` in elements; the index is of any integer type.
    Offset(Box<Expr>, Box<Expr>),
    /// `a - b` in elements.
    Distance(Box<Expr>, Box<Expr>),
    /// A conversion to the expression's type.
    Cast(CastKind, Box<Expr>),
    /// `if condition { a } else { b }`: only one of the two is evaluated.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A structure, vector or array from its elements in order of declaration. The second list says in which order they are evaluated
    /// (indices into the first), the order of writing.
    Aggregate(Vec<Expr>, Vec<u32>),
    /// A vector or array whose every element is this one, evaluated once.
    Splat(Box<Expr>),
    /// Field or lane of a value that is not a place, such as a call's result.
    Extract(Box<Expr>, u32),
    /// A call of a plain or host function.
    Call(FunctionId, Vec<Expr>),
    /// A launch; of type `cudaError_t`.
    Launch(Box<Launch>),
    /// A special register.
    Register(Register),
    /// A pure builtin.
    Intrinsic(Intrinsic, Vec<Expr>),
    /// `sincos(x, &s, &c)` and its kin: the values, then the pointers.
    Parts(PartsFn, Vec<Expr>),
    /// `atomicAdd(pointer, …)`; a pointer expression, then the operands; of the pointee's type.
    Atomic(AtomicOp, MemoryScope, Vec<Expr>),
    /// A barrier, with its predicate or mask.
    Barrier(BarrierOp, Option<Box<Expr>>),
    /// `__cluster_map_shared_rank(pointer, rank)`: generic pointers to generic pointers
    MapSharedRank(Box<Expr>, Box<Expr>),
    /// `__cluster_query_shared_rank(pointer)`
    SharedRank(Box<Expr>),
    /// `__stcg(pointer, value)` and its kin.
    Store(CacheHint, Box<Place>, Box<Expr>),
    /// `__threadfence…()`
    Fence(MemoryScope),
    /// A warp operation with all its operands (defaults filled in).
    Warp(WarpOp, Vec<Expr>),
    /// An access to a texture or surface, in CUDA's order: the value of a write, the object, the coordinates.
    Texture(TextureOp, Vec<Expr>),
    /// A kernel's address; only as an argument of a runtime call.
    Kernel(FunctionId),
    /// A CUDA runtime call with the arguments as [`RuntimeFn::params`] asks.
    Runtime(RuntimeFn, Vec<Expr>),
    /// `printf(format, args)`, arguments promoted.
    Printf(String, Vec<Expr>),
    /// `assert(condition)`, `assert(condition, format, args)`
    Assert {
        /// A `bool`.
        condition: Box<Expr>,
        /// The condition as it was written.
        text: String,
        /// Empty without a message.
        format: String,
        /// The message's arguments, promoted.
        args: Vec<Expr>,
    },
    /// `device(T, n)`; of type `*global T`; the count is `u64`.
    HostAllocate(TypeId, Box<Expr>),
}

/// A launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub kernel: FunctionId,
    /// `u32` or `dim3`
    pub grid: Expr,
    /// `u32` or `dim3`
    pub block: Expr,
    /// `u32`; none for 0
    pub shared: Option<Expr>,
    /// `cudaStream_t`; none for the NULL stream
    pub stream: Option<Expr>,
    /// One for each parameter, of its type.
    pub args: Vec<Expr>,
    /// Its attributes.
    pub hints: LaunchHints,
}

/// Something that can be read and written.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What.
    pub kind: PlaceKind,
    /// The type of what lies there.
    pub ty: TypeId,
    /// Where in the source.
    pub span: Span,
}

/// What a place is.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceKind {
    /// A variable of this function.
    Variable(VariableId),
    /// A variable of the program.
    Global(GlobalId),
    /// `*p`, `p[i]` (as a dereferenced offset), `p.f`'s first step.
    Deref(Expr),
    /// A field of a structure or lane of a vector.
    Field(Box<Place>, u32),
    /// An array's element; the index is of any integer type.
    Index(Box<Place>, Expr),
}

impl ExprKind {
    /// Whether it does something beside giving a value.
    #[must_use]
    pub const fn is_action(&self) -> bool {
        matches!(
            self,
            Self::Call(..)
                | Self::Launch(_)
                | Self::Atomic(..)
                | Self::Barrier(..)
                | Self::Fence(_)
                | Self::Store(..)
                | Self::Warp(..)
                | Self::Parts(..)
                | Self::Texture(..)
                | Self::Runtime(..)
                | Self::Printf(..)
                | Self::Assert { .. }
        )
    }
}
