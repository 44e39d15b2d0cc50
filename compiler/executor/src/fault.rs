//! What can go wrong while a program runs, with everything needed to say so.

use cdp_core::builtins::{BarrierOp, Cdp, cuda_error_name, cuda_error_text};
use cdp_core::diag::{Code, Diagnostic};
use cdp_core::source::Span;

pub use crate::interp::shadow::Origin;

/// A step's result: the fault is boxed, so that the good case stays small.
pub(crate) type Step<T = ()> = Result<T, Box<FaultKind>>;

/// What is at an address that device code gives back, and that its heap did not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum There {
    /// Memory of the heap, which begins elsewhere.
    Heap(Allocation),
    /// Other memory, such as a buffer of the host.
    Other(Allocation),
    /// Memory of a block or a thread: the name of its space.
    Private(&'static str),
    /// No memory.
    Nothing,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// A signed result does not fit.
    Overflow {
        /// As written: `+`, `-`, `*`, `/`, `%`; `-` with no right side for negation.
        operator: &'static str,
        /// The left operand; negation has none.
        left: Option<i128>,
        /// The right operand.
        right: i128,
        /// The type's name.
        ty: &'static str,
    },
    /// An integer divided by zero.
    DivisionByZero {
        /// `/` or `%`
        operator: &'static str,
        /// The left operand.
        left: i128,
    },
    /// A shift by less than zero, or by the width or more.
    Shift {
        /// By how much.
        amount: i64,
        /// The type's name.
        ty: &'static str,
    },
    /// An index outside an array whose length the type says.
    Index {
        /// The index.
        index: i128,
        /// The array's length.
        len: u64,
    },
    /// An access outside every allocation.
    OutOfBounds {
        /// The access.
        access: Access,
        /// The allocation nearest to it.
        near: Option<Allocation>,
    },
    /// An access through a null pointer.
    Null(Access),
    /// An address that is no multiple of the type's alignment.
    Misaligned {
        /// The access.
        access: Access,
        /// What the address must be a multiple of.
        align: u32,
    },
    /// A write to constant memory.
    ReadOnly(Access),
    /// An access to memory that was given back.
    Freed {
        /// The access.
        access: Access,
        /// What was there.
        was: Allocation,
        /// Where it was given back.
        freed: Span,
    },
    /// Device code gives back what the device's heap did not give.
    NotOfHeap {
        /// The address.
        access: Access,
        /// What is there.
        there: There,
    },
    /// A read of memory that was never written.
    Unwritten {
        /// The read.
        access: Access,
        /// The memory.
        of: Allocation,
    },
    /// A part of a variable that has no value.
    Undefined(Box<Undefined>),
    /// An access to memory that belongs to another thread or block.
    Private {
        /// The access.
        access: Access,
        /// "the local memory of another thread".
        whose: &'static str,
    },
    /// A pointer to memory that the kernel cannot reach is passed to it.
    PrivateArgument {
        /// The parameter's name.
        parameter: String,
        /// "shared", "local" or "host".
        space: &'static str,
    },
    /// A generic pointer converted to a space that it does not point into.
    WrongSpace {
        /// The space wanted.
        space: &'static str,
        /// The address.
        address: u64,
    },
    /// The limit on steps is reached.
    Steps(u64),
    /// Calls nest too deeply.
    CallDepth(usize),
    /// `assert` failed.
    Assert {
        /// The condition as written.
        text: String,
        /// The program's own words; may be empty.
        message: String,
    },
    /// A call of the CUDA runtime failed, and the program cannot go on, or nobody looked.
    Cuda {
        /// What was done: `cudaDeviceSynchronize`, "launch of `k`".
        what: String,
        /// The error.
        error: i32,
        /// Why this is reported.
        because: &'static str,
    },
    /// Threads wait for others that cannot come.
    Barrier {
        /// What they wait at.
        barrier: &'static str,
        /// Who is missing.
        missing: String,
        /// Where others wait, if that is another barrier.
        other: Option<Span>,
    },
    /// An access to the shared memory of another block of the cluster, which is not there.
    Absent {
        /// The access.
        access: Access,
        /// The block, "(1, 0, 0)".
        block: String,
        /// Whether it has ended, or else need not have started.
        has_ended: bool,
    },
    /// A block of the cluster that does not exist.
    Rank {
        /// The rank that was asked for.
        rank: u32,
        /// How many blocks the cluster has.
        blocks: u32,
    },
    /// Half of a cluster's barrier twice, or the second half first.
    Turn {
        /// `__cluster_barrier_wait`
        barrier: &'static str,
        /// Whether the thread has arrived, and not waited since.
        has_arrived: bool,
    },
    /// `__trap` was reached.
    Trap,
    /// A shuffle among so many lanes.
    Width {
        /// The shuffle.
        shuffle: &'static str,
        /// Its width.
        width: i32,
    },
    /// What `__builtin_assume` or `__builtin_unreachable` promised is not so.
    Assumption(&'static str),
    /// A copy's areas have bytes in common.
    Overlap {
        /// How many of them follow each other first.
        bytes: u64,
    },
    /// A stream or event is used as it may not be.
    Handle {
        /// Why not.
        text: String,
        /// Where it was destroyed, if it was.
        destroyed: Option<Span>,
    },
    /// A texture or surface object that is none.
    Object(String),
    /// An access that the texture or surface does not have.
    Texture {
        /// What does not fit.
        text: String,
        /// What would.
        help: String,
    },
    /// An access outside a surface, or outside the linear memory behind a texture.
    Outside {
        /// Where, and what is there.
        text: String,
        /// What to do.
        help: &'static str,
    },
    /// The program uses what this executor cannot run.
    Unsupported(String),
    /// A loop that only another block or grid could end.
    Spin,
    /// Somebody stopped the run.
    Stopped,
    /// Output could not be written.
    Output(String),
}

/// A read of bytes of the stack that have no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The first one, from the stack's start on.
    pub(crate) at: usize,
    /// Its mark.
    pub(crate) mark: u8,
    /// What the program calls it, "p.a[3].x", and where it was declared; nothing for a part of a temporary.
    pub part: Option<(String, Span)>,
    /// The copy that brought it there; none where nothing was assigned to the variable.
    pub origin: Option<Origin>,
}

impl Undefined {
    /// Before more is known.
    pub(crate) const fn at(at: usize, mark: u8) -> Self {
        Self { at, mark, part: None, origin: None }
    }

    fn diagnostic(&self, new: impl FnOnce(String) -> Diagnostic) -> Diagnostic {
        let mut diagnostic = match &self.part {
            Some((name, _)) => new(format!("`{name}` is read, and has no value")),
            None => new("a part of this value is read, and has none".to_owned()),
        };
        let declared = self.part.as_ref().map(|(_, span)| *span);
        match (&self.origin, declared) {
            (Some(origin), declared) => {
                diagnostic = diagnostic.label("read here").also(origin.span, origin.text.clone());
                if let Some(span) = declared.filter(|span| *span != origin.span) {
                    diagnostic = diagnostic.also(span, "declared here");
                }
                match origin.made {
                    Some(made) => diagnostic.also(made, "made here").help(WRITE_FIRST),
                    None => diagnostic.help(ASSIGN_FIRST),
                }
            }
            (None, declared) => {
                diagnostic = diagnostic.label("read here");
                if let Some(span) = declared {
                    diagnostic = diagnostic.also(span, "declared without a value here");
                }
                diagnostic.help(ASSIGN_FIRST)
            }
        }
    }
}

const ASSIGN_FIRST: &str = "give it a value where it is declared, or assign every part before it is read";

const WRITE_FIRST: &str = "`device(T, n)` is zeroed; memory of `malloc`, `cudaMalloc` and `shared` is not";

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// Whether it writes.
    pub write: bool,
}

/// A piece of memory that a program asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The first byte.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// "a buffer", "the variable `x`".
    pub what: String,
    /// The element's type, where there is one.
    pub element: String,
    /// The element's size in bytes; 1 where nothing is known.
    pub element_size: u64,
    /// Where it was made.
    pub span: Span,
}

/// A fault with the place it happened at.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Where.
    pub span: Span,
    /// The calls that led there, innermost first.
    pub calls: Vec<Span>,
    /// Who: "thread (3, 0, 0) of block (0, 0, 0) of `rows`"; empty on the host.
    pub thread: String,
}

/// How many of the calls are shown.
const SHOWN_CALLS: usize = 4;

impl Fault {
    /// A fault at a place, with nothing more known.
    pub(crate) const fn at(kind: FaultKind, span: Span) -> Self {
        Self { kind, span, calls: Vec::new(), thread: String::new() }
    }

    /// As a diagnostic; `cdp` is what device code is compiled for, none for a fault of host code.
    #[must_use]
    pub fn diagnostic(&self, cdp: Option<Cdp>) -> Diagnostic {
        let mut diagnostic = self.kind.diagnostic(self.span, cdp);
        for call in self.calls.iter().take(SHOWN_CALLS) {
            diagnostic = diagnostic.also(*call, "called from here");
        }
        if self.calls.len() > SHOWN_CALLS {
            diagnostic = diagnostic.note(format!("{} more calls led there", self.calls.len() - SHOWN_CALLS));
        }
        if !self.thread.is_empty() {
            diagnostic = diagnostic.note(format!("in {}", self.thread));
        }
        diagnostic
    }
}

impl Access {
    fn verb(self) -> &'static str {
        if self.write { "write" } else { "read" }
    }

    fn done(self) -> &'static str {
        if self.write { "written here" } else { "read here" }
    }
}

impl Allocation {
    /// Whether the bytes lie in it.
    pub(crate) const fn holds(&self, address: u64, size: u64) -> bool {
        address >= self.address && size <= self.size && address - self.address <= self.size - size
    }

    /// "a buffer of 10 `i32`".
    pub(crate) fn describe(&self) -> String {
        let count = self.size.checked_div(self.element_size.max(1)).unwrap_or(self.size);
        if self.element.is_empty() {
            return format!("{} of {}", self.what, bytes(self.size));
        }
        let plural = if count == 1 { "element" } else { "elements" };
        format!("{} of {count} {plural} of `{}`", self.what, self.element)
    }

    /// "index 12" or "byte -3".
    pub(crate) fn position(&self, access: Access) -> String {
        let offset = i128::from(access.address) - i128::from(self.address);
        let size = i128::from(self.element_size.max(1));
        if self.element_size > 1 && offset.rem_euclid(size) == 0 {
            format!("index {}", offset.div_euclid(size))
        } else if self.element_size > 1 {
            format!("byte {} of index {}", offset.rem_euclid(size), offset.div_euclid(size))
        } else {
            format!("byte {offset}")
        }
    }
}

impl FaultKind {
    /// Whether the program's own `assert` says so, rather than the machine.
    #[must_use]
    pub const fn is_assertion(&self) -> bool {
        matches!(self, Self::Assert { .. })
    }

    /// The code of the error index.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Assert { .. } => Code::E0720,
            Self::Overflow { .. } => Code::E0721,
            Self::DivisionByZero { .. } => Code::E0722,
            Self::Shift { .. } => Code::E0723,
            Self::Index { .. } | Self::OutOfBounds { .. } => Code::E0724,
            Self::Null(_) => Code::E0725,
            Self::Misaligned { .. } => Code::E0726,
            Self::ReadOnly(_) => Code::E0727,
            Self::Freed { .. } => Code::E0728,
            Self::Private { .. } | Self::PrivateArgument { .. } | Self::WrongSpace { .. } => Code::E0729,
            Self::Steps(_) => Code::E0730,
            Self::CallDepth(_) => Code::E0731,
            Self::Cuda { .. } => Code::E0732,
            Self::Barrier { .. } => Code::E0733,
            Self::Absent { .. } | Self::Rank { .. } => Code::E0738,
            Self::Turn { .. } => Code::E0749,
            Self::Handle { .. } => Code::E0734,
            Self::Object(_) => Code::E0744,
            Self::Texture { .. } => Code::E0745,
            Self::Outside { .. } => Code::E0746,
            Self::Unsupported(_) => Code::E0735,
            Self::Overlap { .. } => Code::E0737,
            Self::Trap => Code::E0750,
            Self::Width { .. } => Code::E0751,
            Self::Assumption(_) => Code::E0739,
            Self::Output(_) => Code::E0736,
            Self::NotOfHeap { .. } => Code::E0748,
            Self::Unwritten { .. } | Self::Undefined(_) => Code::E0741,
            Self::Stopped => Code::E0742,
            Self::Spin => Code::E0743,
        }
    }

    fn diagnostic(&self, span: Span, cdp: Option<Cdp>) -> Diagnostic {
        let new = |message: String| Diagnostic::new(self.code(), span, message);
        match self {
            Self::Assert { text, message } => {
                let shown = if message.is_empty() {
                    format!("assertion failed: `{text}`")
                } else {
                    format!("assertion failed: {message}")
                };
                new(shown).label(format!("`{text}` is false"))
            }
            Self::Overflow { operator, left, right, ty } => {
                let sum = left.map_or_else(|| format!("{operator}({right})"), |left| format!("{left} {operator} {right}"));
                new(format!("`{sum}` does not fit `{ty}`"))
                    .label("overflows")
                    .help("`wrapping_add` and its kin wrap around; `i64` holds more")
            }
            Self::DivisionByZero { operator, left } => {
                new(format!("`{left} {operator} 0` has no value")).label("the divisor is 0")
            }
            Self::Shift { amount, ty } => {
                new(format!("shift of `{ty}` by {amount}")).label("the amount must be at least 0 and less than the width")
            }
            Self::Index { index, len } => {
                let elements = if *len == 1 { "element" } else { "elements" };
                new(format!("index {index} is outside an array of {len} {elements}")).label("indexed here")
            }
            Self::OutOfBounds { access, near } => out_of_bounds(span, self.code(), *access, near.as_ref()),
            Self::Null(access) => new(format!("{} through a null pointer", access.verb()))
                .label(format!("{}, at address {:#x}", access.done(), access.address))
                .help("`malloc` gives null, and `cudaMalloc` an error, when the heap of `cudaLimitMallocHeapSize` is used up"),
            Self::Misaligned { access, align } => new(format!(
                "{} of {} at address {:#x}, which is no multiple of {align}",
                access.verb(),
                bytes(access.size),
                access.address
            ))
            .label("misaligned"),
            Self::ReadOnly(access) => new("write to constant memory".to_owned())
                .label(format!("{} at {:#x}", bytes(access.size), access.address))
                .note("constant memory may not be written by device code (CUDA programming guide, section 5.6.4.2.2.1.4)"),
            Self::Freed { access, was, freed } if access.size == 0 => new("memory is given back twice".to_owned())
                .label("given back for the second time")
                .also(was.span, "made here")
                .also(*freed, "given back here"),
            Self::Freed { access, was, freed } => new(format!("{} of memory that was given back", access.verb()))
                .label(format!("{} of {}", was.position(*access), was.describe()))
                .also(was.span, "made here")
                .also(*freed, "given back here")
                .help(free_later(cdp)),
            Self::NotOfHeap { access, there: There::Heap(of) } => new("an address inside of memory is given back".to_owned())
                .label(format!("{} of {}", of.position(*access), of.describe()))
                .also(of.span, "made here")
                .help("give back the address that `malloc` or `cudaMalloc` gave"),
            Self::NotOfHeap { access, there } => {
                let diagnostic = new("device code gives back memory that is not of its heap".to_owned()).help(HEAP_ONLY);
                match there {
                    There::Heap(of) | There::Other(of) => diagnostic.label(of.describe()).also(of.span, "made here"),
                    There::Private(space) => diagnostic.label(format!("{space} memory, which is there without being asked for")),
                    There::Nothing => diagnostic.label(format!("there is no memory at {:#x}", access.address)),
                }
            }
            Self::Unwritten { access, of } => new("read of memory that was never written".to_owned())
                .label(format!("{} of {}", of.position(*access), of.describe()))
                .also(of.span, "made here")
                .help(WRITE_FIRST),
            Self::Undefined(undefined) => undefined.diagnostic(new),
            Self::Private { access, whose } => new(format!("{} of {whose}", access.verb())).label(access.done()).help(USE_GLOBAL).note(PRIVATE),
            Self::PrivateArgument { parameter, space } => new(format!("a pointer to {space} memory is passed to a kernel"))
                .label(format!("parameter `{parameter}`"))
                .help(USE_GLOBAL)
                .note(PRIVATE),
            Self::WrongSpace { space, address } => {
                new(format!("this pointer does not point to {space} memory")).label(format!("its value is {address:#x}"))
            }
            Self::Steps(limit) => new(format!("the limit of {limit} steps is reached"))
                .label("stopped here")
                .help("look for a loop that does not end, or raise the limit with `--max-steps`"),
            Self::CallDepth(depth) => new(format!("{depth} calls are nested")).label("the call that is one too many"),
            Self::Cuda { what, error, because } => new(format!("{what} failed: {}", cuda_error_text(*error)))
                .label(format!("`{}`, {because}", cuda_error_name(*error)))
                .help("look at the result, or at `cudaGetLastError()`"),
            Self::Absent { access, block, has_ended: true } => {
                new(format!("{} of the shared memory of block {block}, which has ended", access.verb()))
                    .label(access.done())
                    .help("let the block wait before it ends: `__cluster_barrier_arrive(); __cluster_barrier_wait();` behind the last access of the others")
                    .note("the shared memory of a block is there until it ends (CUDA programming guide, \"Distributed Shared Memory\")")
            }
            Self::Absent { access, block, has_ended: false } => {
                new(format!("{} of the shared memory of block {block}, which need not have started", access.verb()))
                    .label(access.done())
                    .help("put the barrier of the cluster before the first access: `__cluster_barrier_arrive(); __cluster_barrier_wait();`")
                    .note("blocks of a cluster run at the same time, but need not start together (CUDA programming guide, \"Distributed Shared Memory\")")
            }
            Self::Rank { rank, blocks } => new(format!("rank {rank} in a cluster of {blocks} blocks"))
                .label("there is no such block")
                .help("ranks go from 0 to `__clusterSizeInBlocks() - 1`"),
            Self::Turn { barrier, has_arrived: true } => {
                new(format!("`{barrier}` by a thread that has arrived already"))
                    .label("arrives for the second time")
                    .help("every arrival has its `__cluster_barrier_wait()` before the next one")
                    .note("PTX ISA, `barrier.cluster`: the behaviour is undefined otherwise")
            }
            Self::Turn { barrier, has_arrived: false } => new(format!("`{barrier}` by a thread that has not arrived"))
                .label("waits until all threads of the cluster have arrived, and this one has not")
                .help("put `__cluster_barrier_arrive()` before it")
                .note("PTX ISA, `barrier.cluster`: the behaviour is undefined otherwise"),
            Self::Barrier { barrier, missing, other } => {
                let diagnostic =
                    new(format!("`{barrier}` is not reached by every thread")).label(format!("waits for {missing}"));
                match other {
                    Some(other) => diagnostic
                        .also(*other, "others wait here")
                        .help("put one barrier behind the branches, in place of one in each")
                        .note("a barrier may stand under a condition only if that is the same for the whole block (CUDA programming guide, section 5.4.4)"),
                    None if *barrier == BarrierOp::ClusterWait.name() => {
                        diagnostic.help("let every thread of the cluster arrive, unless it ends: move the barrier out of the condition")
                    }
                    None => diagnostic.help(
                        "let every thread get to the barrier, for example by an `if` around the work instead of a `return`",
                    ),
                }
            }
            Self::Overlap { bytes: count } => new("a copy between areas that overlap".to_owned())
                .label(format!("{} in common", bytes(*count)))
                .help("copy to another place first, let a kernel move the bytes in an order that works, or one thread by `memmove`"),
            Self::Trap => new("the program ends itself by `__trap`".to_owned())
                .label("control comes here")
                .help("an `assert` in its place says why"),
            Self::Width { shuffle, width } => new(format!("`{shuffle}` with a width of {width}"))
                .label("what it gives is undefined")
                .help("the width is a power of two, 1 to 32")
                .note("CUDA programming guide, \"Warp Shuffle Functions\""),
            Self::Assumption(call @ "__builtin_unreachable") => new(format!("`{call}` is reached"))
                .label("control comes here")
                .help("an `assert(false)` in its place is checked wherever the program runs")
                .note(PROMISE),
            Self::Assumption(call) => new(format!("what `{call}` says does not hold"))
                .label("the condition is false")
                .help("an `assert` in its place is checked wherever the program runs")
                .note(PROMISE),
            Self::Handle { text, destroyed } => {
                let diagnostic = new(text.clone()).label("used here");
                match destroyed {
                    Some(destroyed) => diagnostic
                        .also(*destroyed, "destroyed here")
                        .help("destroy it behind its last use; what was launched into it runs all the same"),
                    None => diagnostic
                        .help("make one in the grid that uses it: `cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)`, `cudaEventCreateWithFlags(&e, cudaEventDisableTiming)`")
                        .note("streams and events belong to the grid that made them (CUDA programming guide, section 4.18.2.2)"),
                }
            }
            Self::Object(text) => new(text.clone())
                .label("used here")
                .note("the host makes texture and surface objects, and destroys them after the kernels that use them have ended"),
            Self::Texture { text, help } => new(text.clone()).label("does not fit the object").help(help.clone()),
            Self::Outside { text, help } => new(text.clone()).label("outside").help(*help),
            Self::Spin => new("this waits for what only another block or grid can do".to_owned())
                .label("goes round and round, while nothing changes in memory")
                .help(match cdp {
                    Some(Cdp::Cdp1) => "wait for a child with `cudaDeviceSynchronize()`; for another block, end the kernel here and start another",
                    _ => "let a tail launch go on with what a child writes, or end the kernel here and start another",
                })
                .note("neither blocks of one grid nor a parent and its child need run at the same time (CUDA programming guide, section 4.18.2.4)"),
            Self::Stopped => new("stopped from outside".to_owned()).label("this was running"),
            Self::Unsupported(text) => new(text.clone()),
            Self::Output(text) => new(format!("output cannot be written: {text}")),
        }
    }
}

/// What to do about memory that is given back too early.
pub(crate) const fn free_later(cdp: Option<Cdp>) -> &'static str {
    match cdp {
        None => "give it back behind its last use",
        Some(Cdp::Cdp1) => {
            "give it back where everything that uses it is over: wait for children with `cudaDeviceSynchronize()` before"
        }
        Some(Cdp::Cdp2) => {
            "give it back where everything that uses it is over: a tail launch comes after all other children of its grid"
        }
    }
}

const HEAP_ONLY: &str =
    "device code gives back what `malloc` and `cudaMalloc` in device code gave; the host gives back what it allocated";

const PROMISE: &str = "optimised code relies on it: on a GPU anything may happen";

const USE_GLOBAL: &str =
    "use `global` memory for what another thread, block or grid is to see: a buffer of the host, or `malloc`";

const PRIVATE: &str =
    "shared memory is private to a block and local memory to a thread (CUDA programming guide, section 4.18.3.3)";

/// "4 bytes"
pub(crate) fn bytes(size: u64) -> String {
    if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") }
}

fn out_of_bounds(span: Span, code: Code, access: Access, near: Option<&Allocation>) -> Diagnostic {
    let Some(near) = near else {
        return Diagnostic::new(code, span, format!("{} at {:#x}, where there is no memory", access.verb(), access.address))
            .label(format!("{} {}", bytes(access.size), access.done()));
    };
    let place = near.position(access);
    let reaches = near.holds(access.address, 1);
    let how = if reaches { "and what follows reach beyond" } else { "is outside" };
    Diagnostic::new(code, span, format!("{place} {how} {}", near.describe()))
        .label(format!("{} {}", bytes(access.size), access.done()))
        .also(near.span, "made here")
}
