//! The interpreter: one thread's steps until it ends, yields, or fails.
//!
//! - this file: threads, and the loop
//! - `locals`: a frame as bytes
//! - `shadow`: which bytes of a stack have no value
//! - `number`: what the arithmetic steps compute

pub(crate) mod locals;
mod number;
pub(crate) mod shadow;

use crate::address::{is_local, local_base};
use crate::code::{Code, Effect, Extent, Indexing, IntrinsicCall, Kind, MOST_ARGS, Op, Partial};
use crate::decode::{FRAME_ALIGN, WIDTH};
use crate::fault::{Access, Fault, FaultKind, Step, Undefined};
use crate::math;
use crate::program::Program;
use crate::written::Unwritten;
use cdp_core::builtins::Register;
use cdp_core::source::Span;
use cdp_core::types::layout::round_up;
use cdp_core::types::{Int, Space};
use locals::{Locals, get, put};
pub(crate) use number::{read_bits, read_int, write_bits};
use shadow::{Origin, Shadow};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What a thread's steps need of the world around it.
pub(crate) trait Environment {
    /// Whether it wants to know each step that touches memory.
    const TRACKS: bool = false;
    /// The step that comes next, as a number of the whole program.
    fn at(&mut self, _site: u32) {}
    /// Before an effect, or when the time is asked for: how many of the steps that it may take the thread has left.
    fn left(&mut self, _steps: u64) {}
    /// Reads an aggregate from memory that is not the thread's own; which of its bytes have no value, if there are any.
    fn load(&mut self, address: u64, into: &mut [u8]) -> Step<Option<Box<Unwritten>>>;
    /// Writes memory that is not the thread's own.
    fn store(&mut self, address: u64, from: &[u8]) -> Step;
    /// Takes their value from the marked bytes of memory that is not the thread's own: what was written there had none.
    fn undefine(&mut self, address: u64, marks: &[bool]) -> Step;
    /// Reads a scalar, all of whose bytes must have a value.
    fn load_scalar(&mut self, address: u64, into: &mut [u8]) -> Step;
    /// Whether the thread may go on after it read what has no value, because it may not be its own mistake: then that is noted. `site` is the
    /// step that copied the bytes to its stack.
    fn goes_on(&mut self, _fault: &Fault, _site: u32) -> bool {
        false
    }
    /// Reads a few bytes; the same as `load_scalar`.
    fn load_array<const N: usize>(&mut self, address: u64) -> Step<[u8; N]> {
        let mut bytes = [0; N];
        self.load_scalar(address, &mut bytes)?;
        Ok(bytes)
    }
    /// Writes a few bytes; the same as `store`.
    fn store_array<const N: usize>(&mut self, address: u64, bytes: [u8; N]) -> Step {
        self.store(address, &bytes)
    }
    /// A `volatile` read: no race with other volatile and atomic accesses.
    fn load_volatile(&mut self, address: u64, into: &mut [u8], scalar: bool) -> Step<Option<Box<Unwritten>>> {
        if scalar { self.load_scalar(address, into).map(|()| None) } else { self.load(address, into) }
    }
    /// A `volatile` write.
    fn store_volatile(&mut self, address: u64, from: &[u8]) -> Step {
        self.store(address, from)
    }
    /// A special register's value.
    fn register(&mut self, register: Register) -> u64;
    /// Where a variable lies.
    fn global_address(&mut self, global: u32) -> Step<u64>;
    /// The same place in the shared memory of the block of the cluster with this rank.
    fn map_shared_rank(&mut self, _address: u64, _rank: u32) -> Step<u64> {
        Err(Box::new(FaultKind::Unsupported("clusters exist in kernels only".to_owned())))
    }
    /// The rank of the block in whose shared memory an address is.
    fn shared_rank(&mut self, _address: u64) -> Step<u32> {
        Err(Box::new(FaultKind::Unsupported("clusters exist in kernels only".to_owned())))
    }
    /// Whether the shared memory of the block with this number is the thread's own.
    fn is_own_shared(&self, _block: u32) -> bool {
        true
    }
    /// Carries out an effect, or asks the thread to wait: then the next step is the one after it, and whoever resumes the thread has
    /// carried it out.
    fn effect(&mut self, effect: &Effect, locals: &mut Locals<'_>, span: Span) -> Step<Flow>;
}

/// Whether a thread goes on after an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// It waits for others.
    Wait,
    /// Everything ends, because of a fault elsewhere.
    Abandon,
}

/// Why a thread's steps stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Its first function returned.
    Ended,
    /// It waits: see [`Thread::waiting`].
    Waits,
    /// Everything ends, because of a fault elsewhere.
    Abandoned,
    /// The steps given are used up.
    OutOfSteps,
}

/// A call in progress.
#[derive(Clone, Copy, Debug)]
struct Record {
    function: u32,
    pc: usize,
    base: usize,
    /// Where the result goes in the caller's frame: offset and size.
    dst: Option<(u32, u32)>,
}

/// A thread: its stack and where it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thread {
    /// Distinguishes its addresses from other threads'.
    number: u32,
    stack: Vec<u8>,
    shadow: Shadow,
    records: Vec<Record>,
}

/// How deep calls may nest, and how large a stack may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackLimits {
    pub calls: usize,
    pub bytes: usize,
}

impl Thread {
    /// Makes it ready to run a function from its start; its memory is used again.
    pub(crate) fn start(&mut self, program: &Program, function: u32, number: u32) {
        self.number = number;
        self.stack.clear();
        self.shadow.reset();
        self.records.clear();
        if let Some(code) = program.code(function) {
            self.stack.extend_from_slice(&code.template);
            self.records.push(Record { function, pc: 0, base: 0, dst: None });
        }
    }

    /// The innermost frame.
    pub(crate) fn locals(&mut self) -> Locals<'_> {
        let base = self.records.last().map_or(0, |record| record.base);
        Locals::new(&mut self.stack, base, local_base(self.number), &mut self.shadow)
    }

    /// The step that it waits at: its effect and its source.
    pub(crate) fn waiting<'p>(&self, program: &'p Program) -> Option<(&'p Effect, Span)> {
        let record = self.records.last()?;
        let code = program.code(record.function)?;
        let Some(Op::Effect { table }) = record.pc.checked_sub(1).and_then(|pc| code.ops.get(pc)) else { return None };
        Some((code.effects.get(*table as usize)?, code.span_before(record.pc)))
    }

    /// A number that is another one, but for rare chance, when anything of the thread's own state is.
    pub(crate) fn state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for record in &self.records {
            (record.function, record.pc).hash(&mut hasher);
        }
        self.stack.hash(&mut hasher);
        hasher.finish()
    }

    /// Where it is in its program, to compare with others of its warp.
    pub(crate) fn position(&self) -> (u32, usize) {
        self.records.last().map_or((0, 0), |record| (record.function, record.pc))
    }

    /// Whether another thread is at the same place of the source, called from the same places.
    pub(crate) fn is_where(&self, other: &Self, program: &Program) -> bool {
        let place = |record: &Record| (record.function, program.code(record.function).map(|code| code.span_before(record.pc)));
        self.records.iter().map(place).eq(other.records.iter().map(place))
    }

    /// Whether it may go on after a fault, and make the step again.
    fn goes_on<E: Environment>(&mut self, fault: &Fault, environment: &mut E) -> bool {
        let FaultKind::Undefined(undefined) = &fault.kind else { return false };
        let site = undefined.origin.as_ref().map_or(0, |origin| origin.site);
        if site == 0 || !environment.goes_on(fault, site) {
            return false;
        }
        self.shadow.forget(undefined.mark);
        if let Some(record) = self.records.last_mut() {
            record.pc -= 1;
        }
        true
    }

    /// What a byte of the stack without a value is a part of, and how it got there.
    fn explain(&self, program: &Program, undefined: &mut Undefined) {
        undefined.origin = self.shadow.origin_of(undefined.mark).cloned();
        let Some(record) = self.records.iter().rfind(|record| record.base <= undefined.at) else { return };
        let byte = undefined.at - record.base;
        let partial = program.code(record.function).and_then(|code| {
            code.partial.iter().find(|partial| {
                byte.checked_sub(partial.slot.offset as usize).is_some_and(|at| at < partial.slot.size as usize)
            })
        });
        if let Some(Partial { slot, name, ty, span }) = partial.filter(|partial| !partial.name.is_empty()) {
            undefined.part = Some((program.types.part_at(name, *ty, (byte - slot.offset as usize) as u64, WIDTH), *span));
        }
    }

    /// A fault where it is.
    pub(crate) fn fault(&self, program: &Program, mut kind: FaultKind) -> Box<Fault> {
        if let FaultKind::Undefined(undefined) = &mut kind {
            self.explain(program, undefined);
        }
        let mut places = self
            .records
            .iter()
            .rev()
            .map(|record| program.code(record.function).map_or_else(Span::default, |code| code.span_before(record.pc)));
        let span = places.next().unwrap_or_default();
        Box::new(Fault { kind, span, calls: places.collect(), thread: String::new() })
    }
}

/// How the inner loop was left.
enum Left {
    Call(u32),
    Return { a: u32, size: u32 },
    Wait,
    Abandon,
    OutOfSteps,
    Failed(Box<FaultKind>),
}

/// Runs a thread; `steps` is how many it may take, and is counted down.
pub(crate) fn run<E: Environment>(
    program: &Program,
    thread: &mut Thread,
    environment: &mut E,
    limits: StackLimits,
    steps: &mut u64,
) -> Result<Stop, Box<Fault>> {
    loop {
        let Some(record) = thread.records.last_mut() else { return Ok(Stop::Ended) };
        let Some(code) = program.code(record.function) else { return Ok(Stop::Ended) };
        let mut locals = Locals::new(&mut thread.stack, record.base, local_base(thread.number), &mut thread.shadow);
        let left = straight(code, &mut record.pc, &mut locals, environment, steps);
        match left {
            Left::Call(table) => {
                if let Err(kind) = enter(program, thread, code, table, limits) {
                    return Err(thread.fault(program, *kind));
                }
            }
            Left::Return { a, size } => leave(thread, a, size),
            Left::Wait => return Ok(Stop::Waits),
            Left::Abandon => return Ok(Stop::Abandoned),
            Left::OutOfSteps => return Ok(Stop::OutOfSteps),
            Left::Failed(kind) => {
                let fault = thread.fault(program, *kind);
                match thread.goes_on(&fault, environment) {
                    true => *steps += 1,
                    false => return Err(fault),
                }
            }
        }
    }
}

/// Pushes the callee's frame and fills in its parameters.
fn enter(program: &Program, thread: &mut Thread, code: &Code, table: u32, limits: StackLimits) -> Step {
    let (Some(call), Some(caller)) = (code.calls.get(table as usize), thread.records.last()) else { return Ok(()) };
    let Some(callee) = program.code(call.function) else { return Ok(()) };
    let from = caller.base;
    let base = usize::try_from(round_up(thread.stack.len() as u64, FRAME_ALIGN)).unwrap_or(usize::MAX);
    if thread.records.len() >= limits.calls || base.saturating_add(callee.template.len()) > limits.bytes {
        return Err(Box::new(FaultKind::CallDepth(thread.records.len())));
    }
    thread.stack.resize(base, 0);
    thread.stack.extend_from_slice(&callee.template);
    for (slot, to) in &call.args {
        let start = from + slot.offset as usize;
        move_bytes(&mut thread.stack, start, base + *to as usize, slot.size as usize);
        thread.shadow.copy(start, base + *to as usize, slot.size as usize);
    }
    let dst = call.dst.map(|dst| (dst.offset, dst.size));
    thread.records.push(Record { function: call.function, pc: 0, base, dst });
    Ok(())
}

/// Copies bytes within a stack; nothing where they do not lie in it, which verified modules rule out.
fn move_bytes(stack: &mut [u8], from: usize, to: usize, size: usize) {
    if from.max(to).saturating_add(size) <= stack.len() {
        stack.copy_within(from..from + size, to);
    }
}

/// Drops the innermost frame and hands its result to the caller.
fn leave(thread: &mut Thread, a: u32, size: u32) {
    let Some(record) = thread.records.pop() else { return };
    if let (Some((offset, wanted)), Some(caller)) = (record.dst, thread.records.last()) {
        let start = record.base + a as usize;
        move_bytes(&mut thread.stack, start, caller.base + offset as usize, wanted.min(size) as usize);
        thread.shadow.copy(start, caller.base + offset as usize, wanted.min(size) as usize);
    }
    let keep = thread.records.last().and(Some(record.base)).unwrap_or(0);
    thread.stack.truncate(keep);
    thread.shadow.truncate(keep);
}

/// The steps of one frame until it calls, returns, waits or fails.
#[allow(clippy::too_many_lines, reason = "one arm a step; splitting it would hide which steps there are")]
fn straight<E: Environment>(
    code: &Code,
    at: &mut usize,
    locals: &mut Locals<'_>,
    environment: &mut E,
    steps: &mut u64,
) -> Left {
    let mut pc = *at;
    let mut remaining = *steps;
    macro_rules! check {
        ($value:expr) => {
            match $value {
                Ok(value) => value,
                Err(kind) => break Left::Failed(kind),
            }
        };
    }
    macro_rules! int {
        ($type:ty, $op:expr, $d:expr, $a:expr, $b:expr) => {
            check!(number::integer::<$type>(locals.slots, $op, $d, $a, $b))
        };
    }
    macro_rules! at {
        () => {
            if E::TRACKS {
                environment.at(code.first_site + pc as u32);
            }
        };
    }
    let left = loop {
        if remaining == 0 {
            break Left::OutOfSteps;
        }
        let Some(op) = code.ops.get(pc) else {
            break Left::Failed(Box::new(FaultKind::Unsupported("control left the function".to_owned())));
        };
        remaining -= 1;
        pc += 1;
        match *op {
            Op::Copy1 { d, a } => put(locals.slots, d, get::<1>(locals.slots, a)),
            Op::Copy2 { d, a } => put(locals.slots, d, get::<2>(locals.slots, a)),
            Op::Copy4 { d, a } => put(locals.slots, d, get::<4>(locals.slots, a)),
            Op::Copy8 { d, a } => put(locals.slots, d, get::<8>(locals.slots, a)),
            Op::Copy { d, a, size } => locals.copy(d, a, size),
            Op::Zero { d, size } => locals.zero(d, size),
            Op::Deinit { d, size } => locals.deinit(d, size),
            Op::Init { d, size } => locals.init(d, size),
            Op::Defined { a, size } => check!(locals.defined(a, size)),
            Op::Read { d, a, size } => {
                check!(locals.defined(a, size));
                copy_scalar(locals, d, a, size);
            }
            Op::Write { d, a, size } => {
                copy_scalar(locals, d, a, size);
                locals.init(d, size);
            }
            Op::Carry { d, a, size } => locals.carry(d, a, size),
            Op::SelectCarry { d, c, a, b, size } => {
                let from = if get::<1>(locals.slots, c) == [0] { b } else { a };
                locals.carry(d, from, u32::from(size));
            }
            Op::I32(op, d, a, b) => int!(i32, op, d, a, b),
            Op::U32(op, d, a, b) => int!(u32, op, d, a, b),
            Op::I64(op, d, a, b) => int!(i64, op, d, a, b),
            Op::U64(op, d, a, b) => int!(u64, op, d, a, b),
            Op::I8(op, d, a, b) => int!(i8, op, d, a, b),
            Op::I16(op, d, a, b) => int!(i16, op, d, a, b),
            Op::U8(op, d, a, b) => int!(u8, op, d, a, b),
            Op::U16(op, d, a, b) => int!(u16, op, d, a, b),
            Op::F32(op, d, a, b) => number::float32(locals.slots, op, d, a, b),
            Op::F64(op, d, a, b) => number::float64(locals.slots, op, d, a, b),
            Op::Half(float, op, d, a, b) => number::half(locals.slots, float, op, d, a, b),
            Op::Shift(int, op, d, a, b) => check!(number::shift(locals.slots, int, op, d, a, b)),
            Op::NegInt(int, d, a) => check!(number::negate(locals.slots, int, d, a)),
            Op::NegFloat(float, d, a) => number::negate_float(locals.slots, float, d, a),
            Op::NotInt(int, d, a) => number::invert(locals.slots, int, d, a),
            Op::NotBool { d, a } => {
                let [value] = get::<1>(locals.slots, a);
                put(locals.slots, d, [value ^ 1]);
            }
            Op::CastInt { from, to, d, a } => number::cast_int(locals.slots, from, to, d, a),
            Op::IntToFloat { from, to, d, a } => number::int_to_float(locals.slots, from, to, d, a),
            Op::FloatToInt { from, to, d, a } => number::float_to_int(locals.slots, from, to, d, a),
            Op::CastFloat { from, to, d, a } => number::cast_float(locals.slots, from, to, d, a),
            Op::CastRounded { from, to, rounding, d, a } => number::cast_rounded(locals.slots, (from, to), rounding, d, a),
            Op::IntToBool { from, d, a } => {
                let value = number::read_int(locals.slots, from, a) != 0;
                put(locals.slots, d, [u8::from(value)]);
            }
            Op::FloatToBool { from, d, a } => {
                let value = number::read_float(locals.slots, from, a) != 0.0;
                put(locals.slots, d, [u8::from(value)]);
            }
            Op::ToSpace { space, d, a } => {
                let address = locals.u64(a);
                check!(in_space(address, space, environment));
                locals.set_u64(d, address);
            }
            Op::Select { d, c, a, b, size } => {
                let from = if get::<1>(locals.slots, c) == [0] { b } else { a };
                match size {
                    1 => put(locals.slots, d, get::<1>(locals.slots, from)),
                    4 => put(locals.slots, d, get::<4>(locals.slots, from)),
                    8 => put(locals.slots, d, get::<8>(locals.slots, from)),
                    _ => locals.copy(d, from, u32::from(size)),
                }
            }
            Op::Fma32 { d, a, b, c } => number::fma32(locals.slots, d, a, b, c),
            Op::Fma64 { d, a, b, c } => number::fma64(locals.slots, d, a, b, c),
            Op::Intrinsic { d, table } => {
                if let Some(call) = code.intrinsics.get(table as usize) {
                    check!(intrinsic(locals.slots, call, d));
                }
            }
            Op::Register { register, d } => {
                if register.is_time() {
                    environment.left(remaining);
                }
                let value = environment.register(register);
                if register.bits() == 64 { locals.set_u64(d, value) } else { locals.set_u32(d, value as u32) }
            }
            Op::LocalAddress { d, a } => {
                let address = locals.address(a);
                locals.set_u64(d, address);
            }
            Op::GlobalAddress { d, a } => {
                let address = check!(environment.global_address(a));
                locals.set_u64(d, address);
            }
            Op::AddressAdd { d, a, bytes } => {
                let address = locals.u64(a).wrapping_add(u64::from(bytes));
                locals.set_u64(d, address);
            }
            Op::Index { int, d, a, i, table } => {
                if let Some(indexing) = code.indexings.get(table as usize) {
                    let index = number::read_int(locals.slots, int, i);
                    let address = check!(indexed(locals.u64(a), index, int.signed(), indexing));
                    locals.set_u64(d, address);
                }
            }
            Op::Distance { d, a, b, size } => {
                let bytes = locals.u64(a).wrapping_sub(locals.u64(b)).cast_signed();
                let distance = bytes.wrapping_div(i64::from(size.max(1)));
                locals.set_u64(d, distance.cast_unsigned());
            }
            Op::MapSharedRank { d, a, b } => {
                let rank = u32::from_le_bytes(get::<4>(locals.slots, b));
                let address = check!(environment.map_shared_rank(locals.u64(a), rank));
                locals.set_u64(d, address);
            }
            Op::SharedRank { d, a } => {
                let rank = check!(environment.shared_rank(locals.u64(a)));
                locals.set_u32(d, rank);
            }
            Op::Load1 { d, a, bytes } => {
                at!();
                check!(load::<E, 1>(locals, environment, d, a, bytes));
            }
            Op::Load2 { d, a, bytes } => {
                at!();
                check!(load::<E, 2>(locals, environment, d, a, bytes));
            }
            Op::Load4 { d, a, bytes } => {
                at!();
                check!(load::<E, 4>(locals, environment, d, a, bytes));
            }
            Op::Load8 { d, a, bytes } => {
                at!();
                check!(load::<E, 8>(locals, environment, d, a, bytes));
            }
            Op::Store1 { a, b, bytes } => {
                at!();
                check!(store::<E, 1>(locals, environment, a, b, bytes));
            }
            Op::Store2 { a, b, bytes } => {
                at!();
                check!(store::<E, 2>(locals, environment, a, b, bytes));
            }
            Op::Store4 { a, b, bytes } => {
                at!();
                check!(store::<E, 4>(locals, environment, a, b, bytes));
            }
            Op::Store8 { a, b, bytes } => {
                at!();
                check!(store::<E, 8>(locals, environment, a, b, bytes));
            }
            Op::Load { d, a, bytes, table } => {
                at!();
                if let Some(extent) = code.extents.get(table as usize)
                    && let Some(unwritten) = check!(load_any(locals, environment, d, a, bytes, *extent))
                {
                    let (span, site) = (code.span_before(pc), code.first_site + pc as u32);
                    let solid = code.solid.get(table as usize).map_or(&[][..], Vec::as_slice);
                    mark_unwritten(locals, d, *unwritten, solid, span, site);
                }
            }
            Op::Store { a, b, bytes, table } => {
                at!();
                if let Some(extent) = code.extents.get(table as usize) {
                    check!(store_any(locals, environment, a, b, bytes, *extent));
                }
            }
            Op::Jump { to } => pc = to as usize,
            Op::Branch { c, then, otherwise } => {
                pc = if get::<1>(locals.slots, c) == [0] { otherwise as usize } else { then as usize };
            }
            Op::Switch { a, table } => {
                if let Some(switch) = code.switches.get(table as usize) {
                    let value = number::read_bits(locals.slots, switch.kind.bits() / 8, a);
                    let found =
                        switch.cases.binary_search_by_key(&value, |(case, _)| *case).ok().and_then(|i| switch.cases.get(i));
                    pc = found.map_or(switch.default, |(_, to)| *to) as usize;
                }
            }
            Op::Call { table } => break Left::Call(table),
            Op::Return { a, size } => break Left::Return { a, size },
            Op::Assert { c, table } => {
                if get::<1>(locals.slots, c) == [0]
                    && let Some(effect) = code.effects.get(table as usize)
                {
                    check!(environment.effect(effect, locals, code.span_before(pc)));
                }
            }
            Op::Effect { table } => {
                at!();
                let Some(effect) = code.effects.get(table as usize) else { continue };
                environment.left(remaining);
                match check!(environment.effect(effect, locals, code.span_before(pc))) {
                    Flow::Continue => {}
                    Flow::Wait => break Left::Wait,
                    Flow::Abandon => break Left::Abandon,
                }
            }
            Op::Trap { table } => {
                let text = code.traps.get(table as usize).cloned().unwrap_or_default();
                break Left::Failed(Box::new(FaultKind::Unsupported(text)));
            }
        }
    };
    *at = pc;
    *steps = remaining;
    left
}

fn intrinsic(slots: &mut [u8], call: &IntrinsicCall, d: u32) -> Step {
    let mut values = [0; MOST_ARGS];
    let mut kinds = [Kind::Int(Int::U64); MOST_ARGS];
    for (((slot, kind), value), place) in call.args.iter().zip(&mut values).zip(&mut kinds) {
        *value = number::read_bits(slots, slot.size, slot.offset);
        *place = *kind;
    }
    let count = (call.arity as usize).min(MOST_ARGS);
    let (kinds, args) = (kinds.get(..count).unwrap_or(&kinds), values.get(..count).unwrap_or(&values));
    let Some(result) = math::intrinsic(call.intrinsic, kinds, args) else {
        return Err(Box::new(FaultKind::Unsupported(format!("`{}` of this type", call.intrinsic.name()))));
    };
    number::write_bits(slots, call.result, d, result);
    Ok(())
}

/// `base + index * scale + offset`; only the array's own length is checked here, memory when it is accessed.
#[inline]
fn indexed(base: u64, index: i64, signed: bool, indexing: &Indexing) -> Step<u64> {
    if let Some(len) = indexing.len
        && (index.cast_unsigned() >= len)
    {
        let index = if signed { i128::from(index) } else { i128::from(index.cast_unsigned()) };
        return Err(Box::new(FaultKind::Index { index, len }));
    }
    Ok(base.wrapping_add(index.cast_unsigned().wrapping_mul(indexing.scale)).wrapping_add(indexing.offset.cast_unsigned()))
}

fn in_space(address: u64, space: Space, environment: &impl Environment) -> Step {
    use crate::address::{Region, region};
    let fits = match (region(address), space) {
        _ if address == 0 => true,
        (Region::Local(_), Space::Local | Space::Generic)
        | (Region::Shared(_), Space::Generic)
        | (Region::Device, Space::Global | Space::Constant | Space::Generic) => true,
        // PTX ISA, `cvta`: `.shared` is that of the thread's own block
        (Region::Shared(block), Space::Shared) => environment.is_own_shared(block),
        _ => false,
    };
    if fits { Ok(()) } else { Err(Box::new(FaultKind::WrongSpace { space: space.name(), address })) }
}

#[inline]
fn aligned(address: u64, size: u32, align: u32, write: bool) -> Step {
    if address & (u64::from(align.max(1)) - 1) == 0 {
        return Ok(());
    }
    Err(Box::new(FaultKind::Misaligned { access: Access { address, size: u64::from(size), write }, align }))
}

#[inline]
fn load<E: Environment, const N: usize>(locals: &mut Locals<'_>, environment: &mut E, d: u32, a: u32, bytes: u32) -> Step {
    let address = locals.u64(a).wrapping_add(u64::from(bytes));
    aligned(address, N as u32, N as u32, false)?;
    let value: [u8; N] = if is_local(address) { locals.load(address)? } else { environment.load_array(address)? };
    put(locals.slots, d, value);
    Ok(())
}

#[inline]
fn store<E: Environment, const N: usize>(locals: &mut Locals<'_>, environment: &mut E, a: u32, b: u32, bytes: u32) -> Step {
    let address = locals.u64(a).wrapping_add(u64::from(bytes));
    aligned(address, N as u32, N as u32, true)?;
    let value: [u8; N] = get(locals.slots, b);
    if is_local(address) { locals.store(address, &value) } else { environment.store_array(address, value) }
}

/// Copies a scalar, or any few bytes.
#[inline]
fn copy_scalar(locals: &mut Locals<'_>, d: u32, a: u32, size: u32) {
    match size {
        1 => put(locals.slots, d, get::<1>(locals.slots, a)),
        4 => put(locals.slots, d, get::<4>(locals.slots, a)),
        8 => put(locals.slots, d, get::<8>(locals.slots, a)),
        _ => locals.copy(d, a, size),
    }
}

/// Which of the bytes that were read have no value, if there are any.
fn load_any<E: Environment>(
    locals: &mut Locals<'_>,
    environment: &mut E,
    d: u32,
    a: u32,
    bytes: u32,
    extent: Extent,
) -> Step<Option<Box<Unwritten>>> {
    let address = locals.u64(a).wrapping_add(u64::from(bytes));
    if extent.size == 0 {
        return Ok(None);
    }
    aligned(address, extent.size, extent.align, false)?;
    if is_local(address) {
        if extent.scalar {
            locals.defined_at(address, extent.size as usize)?;
        }
        return locals.load_into(address, d, extent.size).map(|()| None);
    }
    let unwritten = match locals.bytes_mut(d, extent.size) {
        Some(into) if extent.volatile => environment.load_volatile(address, into, extent.scalar)?,
        Some(into) => environment.load(address, into)?,
        None => None,
    };
    locals.init(d, extent.size);
    Ok(unwritten)
}

/// Bytes of the frame, read from memory, have no value; padding needs none.
#[cold]
fn mark_unwritten(locals: &mut Locals<'_>, d: u32, unwritten: Unwritten, solid: &[(u32, u32)], span: Span, site: u32) {
    let Unwritten { bytes, of, address } = unwritten;
    let mut marks = vec![false; bytes.len()];
    for (start, size) in solid {
        let range = *start as usize..(start + size) as usize;
        if let (Some(into), Some(from)) = (marks.get_mut(range.clone()), bytes.get(range)) {
            into.copy_from_slice(from);
        }
    }
    let Some(first) = marks.iter().position(|gone| *gone) else { return };
    let access = Access { address: address + first as u64, size: 1, write: false };
    let text = format!("copied here; {} of {} was never written", of.position(access), of.describe());
    let mark = locals.shadow.origin(Origin { span, text, made: Some(of.span), site });
    locals.mark(d, &marks, mark);
}

fn store_any<E: Environment>(locals: &mut Locals<'_>, environment: &mut E, a: u32, b: u32, bytes: u32, extent: Extent) -> Step {
    let address = locals.u64(a).wrapping_add(u64::from(bytes));
    if extent.size == 0 {
        return Ok(());
    }
    aligned(address, extent.size, extent.align, true)?;
    if is_local(address) {
        return locals.store_from(address, b, extent.size);
    }
    match locals.bytes(b, extent.size) {
        Some(from) if extent.volatile => environment.store_volatile(address, from)?,
        Some(from) => environment.store(address, from)?,
        None => {}
    }
    match locals.undefined(b, extent.size) {
        Some((marks, _)) => environment.undefine(address, &marks),
        None => Ok(()),
    }
}
