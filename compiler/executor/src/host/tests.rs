//! Host code over a device that only remembers, from IR made by hand.

use super::*;
use crate::device::{CudaError, KernelLaunch};
use cdp_core::builtins::RuntimeFn;
use cdp_core::diag::Code;
use cdp_core::ir::{
    BinaryOp, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Launch, LaunchHints, LocalId, Module, Operand, Place,
    PlaceBase, Projection, Rvalue, StatementKind, TerminatorKind,
};
use cdp_core::source::{FileId, Span};
use cdp_core::types::{Space, TypeId, TypeTable};
use std::collections::BTreeMap;

type Bytes = BTreeMap<u64, Vec<u8>>;

/// A device of memory only: launches are written down, and do nothing but what a test asks for.
#[derive(Debug, Default)]
struct Fake {
    memory: Bytes,
    /// The kernels and their parameters.
    launches: Vec<(String, Vec<u8>)>,
    /// What every launch does to memory.
    on_launch: Option<fn(&mut Bytes)>,
    launch_error: CudaError,
    synchronize_error: CudaError,
    reads: usize,
    writes: usize,
    next: u64,
}

impl Device for Fake {
    fn allocate(&mut self, bytes: u64) -> Result<u64, CudaError> {
        if bytes > 1 << 40 {
            return Err(2);
        }
        self.next += 0x10000;
        self.memory.insert(self.next, vec![0xcd; bytes as usize]);
        Ok(self.next)
    }
    fn free(&mut self, address: u64) -> CudaError {
        if self.memory.remove(&address).is_some() { 0 } else { 1 }
    }
    fn read(&mut self, address: u64, into: &mut [u8]) -> CudaError {
        self.reads += 1;
        let (base, bytes) = self.memory.range(..=address).next_back().unwrap();
        into.copy_from_slice(&bytes[(address - base) as usize..][..into.len()]);
        0
    }
    fn write(&mut self, address: u64, from: &[u8]) -> CudaError {
        self.writes += 1;
        let (base, bytes) = self.memory.range_mut(..=address).next_back().unwrap();
        bytes[(address - base) as usize..][..from.len()].copy_from_slice(from);
        0
    }
    fn clear(&mut self, address: u64, bytes: u64) -> CudaError {
        self.memory.get_mut(&address).unwrap()[..bytes as usize].fill(0);
        0
    }
    fn copy(&mut self, to: u64, from: u64, bytes: u64, _: u64) -> CudaError {
        let mut buffer = vec![0; bytes as usize];
        self.read(from, &mut buffer);
        self.write(to, &buffer)
    }
    fn global(&mut self, symbol: &str) -> Result<(u64, u64), CudaError> {
        assert_eq!(symbol, "counter");
        self.memory.insert(0x1000_0000, vec![5, 0, 0, 0]);
        Ok((0x1000_0000, 4))
    }
    fn launch(&mut self, launch: &KernelLaunch<'_>) -> CudaError {
        assert_eq!((launch.grid, launch.block, launch.stream), ([1; 3], [1; 3], 0));
        self.launches.push((launch.kernel.to_owned(), launch.params.to_vec()));
        if let Some(act) = self.on_launch {
            act(&mut self.memory);
        }
        self.launch_error
    }
    fn synchronize(&mut self) -> CudaError {
        self.synchronize_error
    }
    fn reset(&mut self) -> CudaError {
        0
    }
    fn stream_create(&mut self, _: u32) -> Result<u64, CudaError> {
        Ok(0x77)
    }
    fn stream_destroy(&mut self, _: u64) -> CudaError {
        0
    }
    fn stream_synchronize(&mut self, _: u64) -> CudaError {
        0
    }
    fn stream_query(&mut self, _: u64) -> CudaError {
        0
    }
    fn stream_wait_event(&mut self, _: u64, _: u64, _: u32) -> CudaError {
        0
    }
    fn event_create(&mut self, _: u32) -> Result<u64, CudaError> {
        Ok(0x88)
    }
    fn event_record(&mut self, _: u64, _: u64) -> CudaError {
        0
    }
    fn event_synchronize(&mut self, _: u64) -> CudaError {
        0
    }
    fn event_query(&mut self, _: u64) -> CudaError {
        0
    }
    fn event_elapsed(&mut self, _: u64, _: u64) -> Result<f32, CudaError> {
        Ok(1.5)
    }
    fn event_destroy(&mut self, _: u64) -> CudaError {
        0
    }
    fn limit(&mut self, _: i32) -> Result<u64, CudaError> {
        Ok(2048)
    }
    fn set_limit(&mut self, _: i32, _: u64) -> CudaError {
        0
    }
    fn memory_info(&mut self) -> Result<(u64, u64), CudaError> {
        Ok((1 << 30, 1 << 31))
    }
    fn attribute(&mut self, _: i32, _: i32) -> Result<i32, CudaError> {
        Ok(32)
    }
}

fn at(start: u32) -> Span {
    Span::new(FileId(0), start, start + 1)
}

fn host(name: &str) -> FunctionBuilder {
    FunctionBuilder::new(name.to_owned(), name.to_owned(), FunctionKind::Host, TypeTable::VOID, at(0))
}

fn i32_const(value: i32) -> Operand {
    Const::bits(TypeTable::I32, u64::from(value.cast_unsigned())).into()
}

/// `let x = device(i32, count)`
fn buffer(builder: &mut FunctionBuilder, pointer: TypeId, count: u64, span: Span) -> LocalId {
    let x = builder.variable("x", pointer, span);
    builder.push(StatementKind::HostAllocate { dst: x, element: TypeTable::I32, count: Const::u64(count).into() }, span);
    x
}

fn element(builder: &mut FunctionBuilder, pointer: TypeId, x: LocalId, index: i32, span: Span) -> Place {
    let moved = builder.assign(pointer, Rvalue::Offset(x.into(), i32_const(index)), span);
    Place::deref(moved.into())
}

fn load(builder: &mut FunctionBuilder, ty: TypeId, place: Place, span: Span) -> LocalId {
    let dst = builder.temporary(ty, span);
    builder.push(StatementKind::Load { dst, place, access: Default::default() }, span);
    dst
}

fn store(builder: &mut FunctionBuilder, place: Place, value: Operand, span: Span) {
    builder.push(StatementKind::Store { place, value, access: Default::default() }, span);
}

fn printf(builder: &mut FunctionBuilder, format: &str, args: Vec<Operand>) {
    builder.push(StatementKind::Printf { dst: None, format: format.to_owned(), args }, at(0));
}

fn runtime(builder: &mut FunctionBuilder, call: RuntimeFn, dst: Option<LocalId>, args: Vec<Operand>, span: Span) {
    builder.push(StatementKind::Runtime { dst, call, args }, span);
}

fn launch(builder: &mut FunctionBuilder, kernel: u32, args: Vec<Operand>, dst: Option<LocalId>, span: Span) {
    let one = || [Const::u32(1).into(), Const::u32(1).into(), Const::u32(1).into()];
    let launch = Launch {
        dst,
        kernel: FunctionId(kernel),
        grid: one(),
        block: one(),
        shared: Const::u32(0).into(),
        stream: Const::bits(TypeTable::STREAM, 0).into(),
        args,
        hints: LaunchHints::default(),
    };
    builder.push(StatementKind::Launch(Box::new(launch)), span);
}

/// A kernel `k(p: *global i32, n: i8, m: i64)` as function 0, and `main` as function 1.
fn module(types: TypeTable, pointer: TypeId, main: Function) -> Module {
    let mut kernel = FunctionBuilder::new("k".to_owned(), "k_symbol".to_owned(), FunctionKind::Kernel, TypeTable::VOID, at(0));
    kernel.param("p", pointer, false, at(0));
    kernel.param("n", TypeTable::I8, false, at(0));
    kernel.param("m", TypeTable::I64, false, at(0));
    Module { types, functions: vec![kernel.finish(), main], globals: Vec::new() }
}

fn run(module: &Module, device: &mut Fake) -> (Outcome, String) {
    let program = Program::new(module);
    let mut output = Vec::new();
    let outcome = HostProgram::new(&program, device, &mut output, Options::default()).run_function("main").unwrap();
    (outcome, String::from_utf8(output).unwrap())
}

fn codes(outcome: &Outcome) -> Vec<Code> {
    outcome.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

fn types() -> (TypeTable, TypeId) {
    let mut types = TypeTable::new();
    let pointer = types.pointer(Space::Global, TypeTable::I32, false);
    (types, pointer)
}

#[test]
fn a_buffer_is_zeroed_written_and_read_without_asking_the_device_each_time() {
    let (types, pointer) = types();
    let mut main = host("main");
    let x = buffer(&mut main, pointer, 10, at(1));
    for index in 0..10 {
        let place = element(&mut main, pointer, x, index, at(2));
        store(&mut main, place, i32_const(index * index), at(2));
    }
    for index in [9, 3] {
        let place = element(&mut main, pointer, x, index, at(3));
        let value = load(&mut main, TypeTable::I32, place, at(3));
        printf(&mut main, "%d\n", vec![value.into()]);
    }
    let mut device = Fake::default();
    let (outcome, output) = run(&module(types, pointer, main.finish()), &mut device);
    assert_eq!(outcome, Outcome { status: Status::Ok, diagnostics: Vec::new(), leaks: Vec::new() });
    assert_eq!(output, "81\n9\n");
    assert_eq!((device.reads, device.writes), (0, 1));
    assert!(device.memory.is_empty(), "buffers are given back");
}

#[test]
fn a_launch_sends_what_was_written_and_makes_copies_stale() {
    let (types, pointer) = types();
    let mut main = host("main");
    let x = buffer(&mut main, pointer, 4, at(1));
    let place = element(&mut main, pointer, x, 0, at(2));
    store(&mut main, place.clone(), i32_const(7), at(2));
    let args = vec![x.into(), Const::bits(TypeTable::I8, 0xff).into(), Const::bits(TypeTable::I64, 1 << 40).into()];
    launch(&mut main, 0, args, None, at(3));
    let value = load(&mut main, TypeTable::I32, place, at(4));
    printf(&mut main, "%d\n", vec![value.into()]);
    let on_launch: fn(&mut Bytes) = |memory| {
        let bytes = memory.values_mut().next().unwrap();
        assert_eq!(bytes[..4], 7i32.to_le_bytes());
        bytes[..4].copy_from_slice(&8i32.to_le_bytes());
    };
    let mut device = Fake { on_launch: Some(on_launch), ..Fake::default() };
    let (outcome, output) = run(&module(types, pointer, main.finish()), &mut device);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(output, "8\n");
    assert_eq!(device.reads, 1);
    let (symbol, params) = &device.launches[0];
    assert_eq!(symbol, "k_symbol");
    let mut expected = 0x10000u64.to_le_bytes().to_vec();
    expected.extend([0xff, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend((1i64 << 40).to_le_bytes());
    assert_eq!(*params, expected);
}

#[test]
fn an_index_outside_says_which_buffer() {
    let (types, pointer) = types();
    let mut main = host("main");
    let x = buffer(&mut main, pointer, 10, at(1));
    let place = element(&mut main, pointer, x, 12, at(5));
    load(&mut main, TypeTable::I32, place, at(5));
    let (outcome, _) = run(&module(types, pointer, main.finish()), &mut Fake::default());
    assert_eq!(outcome.status, Status::RuntimeError);
    let [diagnostic] = outcome.diagnostics.as_slice() else { panic!("{outcome:?}") };
    assert_eq!(diagnostic.code, Code::E0724);
    assert_eq!(diagnostic.message, "index 12 is outside the buffer `x` of 10 elements of `i32`");
    assert_eq!(diagnostic.primary.span, at(5));
    assert_eq!(diagnostic.secondary[0].span, at(1));
}

#[test]
fn a_null_pointer_is_named() {
    let (types, pointer) = types();
    let mut main = host("main");
    let null = main.assign(pointer, Rvalue::Use(Const::zero(pointer).into()), at(1));
    store(&mut main, Place::deref(null.into()), i32_const(1), at(2));
    let (outcome, _) = run(&module(types, pointer, main.finish()), &mut Fake::default());
    assert_eq!(codes(&outcome), [Code::E0725]);
}

#[test]
fn arithmetic_errors_are_located() {
    let cases = [
        (BinaryOp::Add, i32::MAX, 1, Code::E0721),
        (BinaryOp::Div, 1, 0, Code::E0722),
        (BinaryOp::Rem, i32::MIN, -1, Code::E0721),
        (BinaryOp::Shl, 1, 32, Code::E0723),
        (BinaryOp::Shr, 1, -1, Code::E0723),
    ];
    for (op, a, b, code) in cases {
        let (types, pointer) = types();
        let mut main = host("main");
        main.assign(TypeTable::I32, Rvalue::Binary(op, i32_const(a), i32_const(b)), at(9));
        let (outcome, _) = run(&module(types, pointer, main.finish()), &mut Fake::default());
        assert_eq!(codes(&outcome), [code], "{op:?}");
        assert_eq!(outcome.diagnostics[0].primary.span, at(9));
    }
}

#[test]
fn a_failed_assertion_has_its_message() {
    let (types, pointer) = types();
    let mut main = host("main");
    let text = "a == b".to_owned();
    let assert = StatementKind::Assert {
        condition: Const::bool(false).into(),
        text,
        format: "a = %d".to_owned(),
        args: vec![i32_const(3)],
    };
    main.push(assert, at(4));
    printf(&mut main, "never\n", vec![]);
    let (outcome, output) = run(&module(types, pointer, main.finish()), &mut Fake::default());
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(outcome.diagnostics[0].message, "assertion failed: a = 3");
    assert_eq!(output, "");
}

#[test]
fn an_error_that_nobody_looks_at_fails_the_run() {
    for looks in [false, true] {
        let (types, pointer) = types();
        let mut main = host("main");
        let x = buffer(&mut main, pointer, 1, at(1));
        let args = vec![x.into(), Const::bits(TypeTable::I8, 0).into(), Const::bits(TypeTable::I64, 0).into()];
        launch(&mut main, 0, args, None, at(3));
        if looks {
            let error = main.temporary(TypeTable::CUDA_ERROR, at(4));
            runtime(&mut main, RuntimeFn::GetLastError, Some(error), vec![], at(4));
            let name = main.temporary(TypeTable::STR, at(4));
            runtime(&mut main, RuntimeFn::GetErrorName, Some(name), vec![error.into()], at(4));
            printf(&mut main, "%s\n", vec![name.into()]);
            runtime(&mut main, RuntimeFn::GetLastError, Some(error), vec![], at(4));
            printf(&mut main, "%d\n", vec![error.into()]);
        }
        let mut device = Fake { launch_error: 9, ..Fake::default() };
        let (outcome, output) = run(&module(types, pointer, main.finish()), &mut device);
        if looks {
            assert!(outcome.is_ok());
            assert_eq!(output, "cudaErrorInvalidConfiguration\n0\n");
        } else {
            assert_eq!(codes(&outcome), [Code::E0732]);
            assert_eq!(outcome.diagnostics[0].message, "launch of `k` failed: invalid configuration argument");
            assert_eq!(outcome.status, Status::RuntimeError);
        }
    }
}

#[test]
fn a_fault_of_work_that_nobody_waited_for_fails_the_run() {
    let (types, pointer) = types();
    let mut device = Fake { synchronize_error: 700, ..Fake::default() };
    let (outcome, _) = run(&module(types, pointer, host("main").finish()), &mut device);
    assert_eq!(codes(&outcome), [Code::E0732]);
}

#[test]
fn runtime_calls_fill_host_variables() {
    let (mut types, pointer) = types();
    let out = types.pointer(Space::Local, TypeTable::STREAM, false);
    let mut main = host("main");
    let stream = main.variable("s", TypeTable::STREAM, at(1));
    let address = main.assign(out, Rvalue::AddressOf(Place::local(stream)), at(1));
    runtime(&mut main, RuntimeFn::StreamCreateWithFlags, None, vec![address.into(), Const::u32(1).into()], at(2));
    printf(&mut main, "%p\n", vec![stream.into()]);
    let (outcome, output) = run(&module(types, pointer, main.finish()), &mut Fake::default());
    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(output, "0x77\n");
}

#[test]
fn calls_nest_return_values_and_stop_at_a_limit() {
    // fn down(n: i32) -> i32 { return if n == 0 { 0 } else { n + down(n - 1) }; }
    for (depth, fine) in [(100, true), (20_000, false)] {
        let (types, pointer) = types();
        let mut down = FunctionBuilder::new("down".to_owned(), "down".to_owned(), FunctionKind::Plain, TypeTable::I32, at(0));
        let n = down.param("n", TypeTable::I32, false, at(0));
        let zero = down.assign(TypeTable::BOOL, Rvalue::Binary(BinaryOp::Eq, n.into(), i32_const(0)), at(1));
        let (then, otherwise) = (down.new_block(at(1)), down.new_block(at(1)));
        down.terminate(TerminatorKind::Branch { condition: zero.into(), then, otherwise }, at(1));
        down.switch_to(then);
        down.terminate(TerminatorKind::Return(Some(i32_const(0))), at(2));
        down.switch_to(otherwise);
        let less = down.assign(TypeTable::I32, Rvalue::Binary(BinaryOp::Sub, n.into(), i32_const(1)), at(3));
        let rest = down.temporary(TypeTable::I32, at(3));
        down.push(StatementKind::Call { dst: Some(rest), function: FunctionId(2), args: vec![less.into()] }, at(3));
        let sum = down.assign(TypeTable::I32, Rvalue::Binary(BinaryOp::Add, n.into(), rest.into()), at(3));
        down.terminate(TerminatorKind::Return(Some(sum.into())), at(3));
        let mut main = host("main");
        let value = main.temporary(TypeTable::I32, at(5));
        main.push(StatementKind::Call { dst: Some(value), function: FunctionId(2), args: vec![i32_const(depth)] }, at(5));
        printf(&mut main, "%d\n", vec![value.into()]);
        let mut module = module(types, pointer, main.finish());
        module.functions.push(down.finish());
        let (outcome, output) = run(&module, &mut Fake::default());
        if fine {
            assert_eq!(output, "5050\n");
        } else {
            assert_eq!(codes(&outcome), [Code::E0731]);
        }
    }
}

#[test]
fn an_array_in_a_local_is_indexed_and_checked() {
    for (index, expected) in [(2, Some("30\n")), (3, None), (-1, None)] {
        let (mut types, pointer) = types();
        let array = types.array(TypeTable::I32, 3);
        let mut main = host("main");
        let a = main.variable("a", array, at(1));
        let elements = vec![i32_const(10), i32_const(20), i32_const(30)];
        main.push(StatementKind::Assign { dst: a, value: Rvalue::Aggregate(elements) }, at(1));
        let i = main.variable("i", TypeTable::I32, at(1));
        main.push(StatementKind::Assign { dst: i, value: Rvalue::Use(i32_const(index)) }, at(1));
        let place = Place { base: PlaceBase::Local(a), path: vec![Projection::Index(i.into())] };
        let value = load(&mut main, TypeTable::I32, place, at(2));
        printf(&mut main, "%d\n", vec![value.into()]);
        let (outcome, output) = run(&module(types, pointer, main.finish()), &mut Fake::default());
        match expected {
            Some(expected) => assert_eq!(output, expected),
            None => assert_eq!(outcome.diagnostics[0].message, format!("index {index} is outside an array of 3 elements")),
        }
    }
}

#[test]
fn a_host_pointer_may_not_go_to_a_kernel() {
    let (types, pointer) = types();
    let mut main = host("main");
    let x = main.variable("x", TypeTable::I32, at(1));
    let address = main.assign(pointer, Rvalue::AddressOf(Place::local(x)), at(1));
    let args = vec![address.into(), Const::bits(TypeTable::I8, 0).into(), Const::bits(TypeTable::I64, 0).into()];
    launch(&mut main, 0, args, None, at(3));
    let (outcome, _) = run(&module(types, pointer, main.finish()), &mut Fake::default());
    assert_eq!(codes(&outcome), [Code::E0729]);
}

#[test]
fn steps_can_be_limited() {
    let (types, pointer) = types();
    let mut main = host("main");
    let again = main.new_block(at(6));
    main.terminate(TerminatorKind::Goto(again), at(6));
    main.switch_to(again);
    main.terminate(TerminatorKind::Goto(again), at(6));
    let module = module(types, pointer, main.finish());
    let program = Program::new(&module);
    let mut output = Vec::new();
    let options = Options { max_steps: Some(1000), ..Options::default() };
    let mut device = Fake::default();
    let outcome = HostProgram::new(&program, &mut device, &mut output, options).run_function("main").unwrap();
    assert_eq!(codes(&outcome), [Code::E0730]);
}
