//! Decoded functions: what the interpreter runs.
//!
//! A function's locals, constants and temporaries are byte ranges of one frame; an [`Op`] names them by their offset. Calling a
//! function copies its `template`, which holds zeroes for locals and the values of its constants, so that no step has to tell a
//! constant from a local, and none allocates.

use crate::format::Format;
use cdp_core::builtins::{AtomicOp, BarrierOp, Intrinsic, MemoryScope, Register, Rounding, RuntimeFn, TextureOp, WarpOp};
use cdp_core::ir::{BinaryOp, FunctionKind, UnaryOp};
use cdp_core::source::Span;
use cdp_core::types::{Float, Int, Scalar, Space, TypeId};

/// Bytes of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The first byte.
    pub offset: u32,
    /// How many.
    pub size: u32,
}

/// The type that a scalar is computed with; pointers and handles are `U64`, `bool` is `U8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int(Int),
    Float(Float),
}

impl Kind {
    /// In bytes.
    pub(crate) const fn size(self) -> u32 {
        match self {
            Self::Int(int) => int.bits() / 8,
            Self::Float(float) => float.bits() / 8,
        }
    }
}

/// One step. `d` is where the result goes, `a`, `b`, `c` are operands, all offsets into the frame unless they say otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Copy1 {
        d: u32,
        a: u32,
    },
    Copy2 {
        d: u32,
        a: u32,
    },
    Copy4 {
        d: u32,
        a: u32,
    },
    Copy8 {
        d: u32,
        a: u32,
    },
    Copy {
        d: u32,
        a: u32,
        size: u32,
    },
    Zero {
        d: u32,
        size: u32,
    },
    /// The bytes at `d` have no value from here on; see [`crate::interp::shadow`].
    Deinit {
        d: u32,
        size: u32,
    },
    /// They have one.
    Init {
        d: u32,
        size: u32,
    },
    /// A fault unless they have one.
    Defined {
        a: u32,
        size: u32,
    },
    /// A copy of a scalar that must have a value.
    Read {
        d: u32,
        a: u32,
        size: u32,
    },
    /// A copy of what has a value to where there may be none.
    Write {
        d: u32,
        a: u32,
        size: u32,
    },
    /// A copy of an aggregate, of which parts may have no value.
    Carry {
        d: u32,
        a: u32,
        size: u32,
    },
    /// As [`Op::Select`], of aggregates of which parts may have no value.
    SelectCarry {
        d: u32,
        c: u32,
        a: u32,
        b: u32,
        size: u16,
    },
    I8(BinaryOp, u32, u32, u32),
    I16(BinaryOp, u32, u32, u32),
    I32(BinaryOp, u32, u32, u32),
    I64(BinaryOp, u32, u32, u32),
    U8(BinaryOp, u32, u32, u32),
    U16(BinaryOp, u32, u32, u32),
    U32(BinaryOp, u32, u32, u32),
    U64(BinaryOp, u32, u32, u32),
    F32(BinaryOp, u32, u32, u32),
    F64(BinaryOp, u32, u32, u32),
    Half(Float, BinaryOp, u32, u32, u32),
    /// Shifts; the amount is an `i64`.
    Shift(Int, BinaryOp, u32, u32, u32),
    NegInt(Int, u32, u32),
    NegFloat(Float, u32, u32),
    NotInt(Int, u32, u32),
    NotBool {
        d: u32,
        a: u32,
    },
    CastInt {
        from: Int,
        to: Int,
        d: u32,
        a: u32,
    },
    IntToFloat {
        from: Int,
        to: Float,
        d: u32,
        a: u32,
    },
    FloatToInt {
        from: Float,
        to: Int,
        d: u32,
        a: u32,
    },
    CastFloat {
        from: Float,
        to: Float,
        d: u32,
        a: u32,
    },
    /// As `cvt` of PTX does it, rounded as stated.
    CastRounded {
        from: Kind,
        to: Kind,
        rounding: Rounding,
        d: u32,
        a: u32,
    },
    IntToBool {
        from: Int,
        d: u32,
        a: u32,
    },
    FloatToBool {
        from: Float,
        d: u32,
        a: u32,
    },
    /// A generic pointer that must point into this space, or be null.
    ToSpace {
        space: Space,
        d: u32,
        a: u32,
    },
    Select {
        d: u32,
        c: u32,
        a: u32,
        b: u32,
        size: u16,
    },
    Fma32 {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    Fma64 {
        d: u32,
        a: u32,
        b: u32,
        c: u32,
    },
    Intrinsic {
        d: u32,
        table: u32,
    },
    Register {
        register: Register,
        d: u32,
    },
    LocalAddress {
        d: u32,
        a: u32,
    },
    /// `a` is the number of the global.
    GlobalAddress {
        d: u32,
        a: u32,
    },
    AddressAdd {
        d: u32,
        a: u32,
        bytes: u32,
    },
    /// `d = a + i * scale`, as the table's [`Indexing`] says.
    Index {
        int: Int,
        d: u32,
        a: u32,
        i: u32,
        table: u32,
    },
    Distance {
        d: u32,
        a: u32,
        b: u32,
        size: u32,
    },
    /// The same place in the shared memory of the block with rank `b`.
    MapSharedRank {
        d: u32,
        a: u32,
        b: u32,
    },
    /// The rank of the block whose shared memory an address is in.
    SharedRank {
        d: u32,
        a: u32,
    },
    Load1 {
        d: u32,
        a: u32,
        bytes: u32,
    },
    Load2 {
        d: u32,
        a: u32,
        bytes: u32,
    },
    Load4 {
        d: u32,
        a: u32,
        bytes: u32,
    },
    Load8 {
        d: u32,
        a: u32,
        bytes: u32,
    },
    Load {
        d: u32,
        a: u32,
        bytes: u32,
        table: u32,
    },
    Store1 {
        a: u32,
        b: u32,
        bytes: u32,
    },
    Store2 {
        a: u32,
        b: u32,
        bytes: u32,
    },
    Store4 {
        a: u32,
        b: u32,
        bytes: u32,
    },
    Store8 {
        a: u32,
        b: u32,
        bytes: u32,
    },
    Store {
        a: u32,
        b: u32,
        bytes: u32,
        table: u32,
    },
    Jump {
        to: u32,
    },
    Branch {
        c: u32,
        then: u32,
        otherwise: u32,
    },
    Switch {
        a: u32,
        table: u32,
    },
    Call {
        table: u32,
    },
    Return {
        a: u32,
        size: u32,
    },
    /// An effect, when the `bool` at `c` is false.
    Assert {
        c: u32,
        table: u32,
    },
    Effect {
        table: u32,
    },
    /// The program's error, or what this executor cannot do; an index of [`Code::traps`].
    Trap {
        table: u32,
    },
}

/// Indexing an array or a pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexing {
    /// Added to the address, in bytes.
    pub offset: i64,
    /// Bytes from one element to the next.
    pub scale: u64,
    /// Elements, where the type says how many.
    pub len: Option<u64>,
}

/// Size and alignment of an access, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub size: u32,
    pub align: u32,
    pub volatile: bool,
    /// No aggregate: every byte must have been written before it is read.
    pub scalar: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Switch {
    pub kind: Int,
    /// Sorted by value.
    pub cases: Vec<(u64, u32)>,
    pub default: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub function: u32,
    /// From the caller's frame to the callee's.
    pub args: Vec<(Slot, u32)>,
    /// Where the result goes in the caller's frame.
    pub dst: Option<Slot>,
}

/// What an intrinsic takes at most.
pub(crate) const MOST_ARGS: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(crate) struct IntrinsicCall {
    pub intrinsic: Intrinsic,
    pub args: [(Slot, Kind); MOST_ARGS],
    pub arity: u32,
    pub result: u32,
}

/// What the step does that reaches beyond the thread.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Atomic(Atomic),
    Barrier { dst: Option<u32>, op: BarrierOp, operand: Option<Slot> },
    Fence(MemoryScope),
    Warp { dst: Option<u32>, op: WarpOp, args: Vec<Slot>, kind: Kind },
    Launch(Launch),
    Runtime(RuntimeCall),
    Printf { dst: Option<u32>, format: Format, args: Vec<PrintArg> },
    Assert { text: String, format: Format, args: Vec<PrintArg> },
    Allocate(Allocate),
    Texture(TextureAccess),
}

/// An access to a texture or surface; places are offsets into the frame.
#[derive(Clone, Debug)]
pub(crate) struct TextureAccess {
    pub op: TextureOp,
    pub dst: Option<u32>,
    pub object: u32,
    /// Four bytes each; the layer is the last one.
    pub coordinates: Vec<u32>,
    /// What is written.
    pub value: Option<u32>,
    /// The boundary mode, or the component that is gathered.
    pub chosen: u32,
    /// What the program reads or writes.
    pub element: Scalar,
    pub lanes: u32,
    /// The element's type as written.
    pub name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub dst: Option<u32>,
    pub op: AtomicOp,
    pub scope: MemoryScope,
    /// Of one lane.
    pub kind: Kind,
    /// 1 but for packed halves.
    pub lanes: u32,
    pub pointer: u32,
    pub operands: [u32; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub dst: Option<u32>,
    /// Whether the program looks at the result.
    pub observed: bool,
    pub kernel: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: u32,
    /// From the frame to the parameter buffer.
    pub args: Vec<(Slot, u32)>,
    /// `@merge(grid)`: it keeps no order with what else is in its stream.
    pub unordered: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct RuntimeCall {
    pub dst: Option<u32>,
    /// Whether the program looks at the result.
    pub observed: bool,
    pub call: RuntimeFn,
    pub args: Vec<Slot>,
}

#[derive(Clone, Debug)]
pub(crate) struct Allocate {
    pub dst: u32,
    pub element_size: u64,
    pub element: String,
    pub name: String,
    pub count: u32,
}

/// An argument of `printf`, promoted as C does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrintArg {
    pub offset: u32,
    pub kind: PrintKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrintKind {
    Int(Int),
    Float(Float),
    Pointer,
    Str,
}

/// A unary operation that has no step of its own kind is a bug; kept beside [`Op`] so that the decoder matches exhaustively.
pub(crate) const fn unary(op: UnaryOp, kind: Kind, is_bool: bool, d: u32, a: u32) -> Option<Op> {
    Some(match (op, kind) {
        (UnaryOp::Neg, Kind::Int(int)) => Op::NegInt(int, d, a),
        (UnaryOp::Neg, Kind::Float(float)) => Op::NegFloat(float, d, a),
        (UnaryOp::Not, Kind::Int(_)) if is_bool => Op::NotBool { d, a },
        (UnaryOp::Not, Kind::Int(int)) => Op::NotInt(int, d, a),
        (UnaryOp::Not, Kind::Float(_)) => return None,
    })
}

/// A binary operation but a shift; comparisons write a `bool`.
pub(crate) const fn binary(op: BinaryOp, kind: Kind, d: u32, a: u32, b: u32) -> Op {
    match kind {
        Kind::Int(int) => match int {
            Int::I8 => Op::I8(op, d, a, b),
            Int::I16 => Op::I16(op, d, a, b),
            Int::I32 => Op::I32(op, d, a, b),
            Int::I64 => Op::I64(op, d, a, b),
            Int::U8 => Op::U8(op, d, a, b),
            Int::U16 => Op::U16(op, d, a, b),
            Int::U32 => Op::U32(op, d, a, b),
            Int::U64 => Op::U64(op, d, a, b),
        },
        Kind::Float(float) => match float {
            Float::F32 => Op::F32(op, d, a, b),
            Float::F64 => Op::F64(op, d, a, b),
            Float::F16 | Float::Bf16 => Op::Half(float, op, d, a, b),
        },
    }
}

/// A variable or temporary of which parts may be without a value.
#[derive(Clone, Debug)]
pub(crate) struct Partial {
    pub slot: Slot,
    /// Empty for a temporary.
    pub name: String,
    pub ty: TypeId,
    pub span: Span,
}

/// A decoded function.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub name: String,
    /// The number, in the whole program, of its first step.
    pub first_site: u32,
    pub symbol: String,
    pub kind: FunctionKind,
    pub span: Span,
    pub launch_bounds: Option<(u32, u32)>,
    pub cluster: Option<[u32; 3]>,
    pub ops: Vec<Op>,
    /// One for each step.
    pub spans: Vec<Span>,
    /// A fresh frame.
    pub template: Vec<u8>,
    /// The variables and temporaries of which parts may be without a value, by their place in the frame.
    pub partial: Vec<Partial>,
    /// Where the parameters lie in the frame.
    pub params: Vec<Slot>,
    /// Where they lie in a kernel's parameter buffer, in bytes.
    pub param_offsets: Vec<u32>,
    /// Bytes of a kernel's parameter buffer.
    pub params_size: u32,
    /// Where pointers lie in a kernel's parameter buffer, and which parameter each is a part of.
    pub param_pointers: Vec<(u32, u32)>,
    /// Names of the parameters.
    pub param_names: Vec<String>,
    pub calls: Vec<Call>,
    pub switches: Vec<Switch>,
    pub indexings: Vec<Indexing>,
    pub extents: Vec<Extent>,
    /// For each of them, what is no padding: first byte and how many, in order.
    pub solid: Vec<Vec<(u32, u32)>>,
    pub intrinsics: Vec<IntrinsicCall>,
    pub effects: Vec<Effect>,
    pub traps: Vec<String>,
    /// Globals that it names itself.
    pub globals: Vec<u32>,
}

impl Code {
    /// The source of the step before `pc`.
    pub(crate) fn span_before(&self, pc: usize) -> Span {
        pc.checked_sub(1).and_then(|i| self.spans.get(i)).copied().unwrap_or(self.span)
    }
}
