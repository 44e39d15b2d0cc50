//! Modules that break every rule are decoded and run without a panic: what makes no sense is reported, or does something harmless.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod support;

use cdp_core::ir::{BinaryOp, BlockId, Const, LocalId, Module, Operand, Rvalue, StatementKind, TerminatorKind};
use cdp_core::types::TypeId;
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Program, Schedule};
use std::sync::Arc;
use support::trees::Draw;

const TEXT: &str = "
struct Pair { a: i32, b: f64, c: [u8; 5] }
global var total: i64 = 3;
constant table: [i32; 4] = [1, 2, 3, 4];
fn sum(p: *global i32, n: i32) -> i32 { var s = 0; for i in 0..n { s += p[i]; } return s; }
kernel leaf(x: *global i32, pair: Pair, v: f32x4) {
    shared s: [i32; 32];
    let t = threadIdx.x as i32;
    s[t] = pair.a + pair.c[2] as i32 + v.y as i32;
    __syncthreads();
    x[t] = s[31 - t] + __shfl_sync(0xffffffff, t, 3) + table[t % 4];
    atomicAdd(&x[t], sum(x, 2));
    printf(\"%d %f %s\\n\", t, pair.b, cudaGetErrorName(cudaSuccess));
}
kernel root(x: *global i32, n: i32) {
    var stream: cudaStream_t;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    var pair = Pair(a: n, b: 0.5, c: [1, 2, 3, 4, 5]);
    pair.c[n % 5] = 7;
    let e = leaf<<<1, 32, 0, stream>>>(x, pair, f32x4(1.0, 2.0, 3.0, 4.0));
    if e != cudaSuccess { return; }
    switch n { case 1 { x[0] = 1; } case 2 { x[1] = 2; } default { x[2] = (n << 2) / 3 % 5; } }
    let p = malloc(64) as *global i32;
    p[0] = 1;
    free(p as *void);
    cudaMemcpyAsync(x, x + 16, 16, cudaMemcpyDeviceToDevice, 0);
}
host fn main() {
    let x = device(i32, 64);
    for i in 0..64 { x[i] = i; }
    root<<<2, 3>>>(x, 2);
    cudaDeviceSynchronize();
    total = total + x[3] as i64;
    assert(sum(x, 3) != 12345, \"%d\", x[0]);
}
";

/// Changes one thing somewhere, whether or not it makes sense.
fn break_something(module: &mut Module, draw: &mut Draw) {
    let types = module.types.len();
    let functions = module.functions.len();
    let function = &mut module.functions[draw.below(functions)];
    let locals = function.locals.len();
    let blocks = function.blocks.len();
    if locals == 0 || blocks == 0 {
        return;
    }
    let kind = draw.below(8);
    if kind == 0 {
        let local = draw.below(locals);
        function.locals[local].ty = TypeId(draw.below(types + 1) as u32);
        return;
    }
    let block = &mut function.blocks[draw.below(blocks)];
    if kind == 1 {
        let target = BlockId(draw.below(blocks + 2) as u32);
        match &mut block.terminator.kind {
            TerminatorKind::Goto(to) => *to = target,
            TerminatorKind::Branch { then, .. } => *then = target,
            other => *other = TerminatorKind::Goto(target),
        }
        return;
    }
    if block.statements.is_empty() {
        return;
    }
    let count = block.statements.len();
    let place = draw.below(count);
    if kind == 2 {
        let other = draw.below(count);
        block.statements.swap(place, other);
        return;
    }
    let statement = &mut block.statements[place].kind;
    if kind == 3
        && let StatementKind::Assign { value: Rvalue::Binary(op, ..), .. } = statement
    {
        *op = [BinaryOp::Shl, BinaryOp::Div, BinaryOp::Mul, BinaryOp::Rem, BinaryOp::Lt][draw.below(5)];
        return;
    }
    let mut left = draw.below(4);
    let replacement = match draw.below(3) {
        0 => Operand::Local(LocalId(draw.below(locals + 2) as u32)),
        1 => Const::bits(TypeId(draw.below(types) as u32), [0, 1, u64::MAX, 1 << 63, 1 << 31, 12345][draw.below(6)]).into(),
        _ => Const::zero(TypeId(draw.below(types) as u32)).into(),
    };
    statement.each_operand_mut(&mut |operand| {
        if left == 0 {
            *operand = replacement.clone();
        }
        left = left.wrapping_sub(1);
    });
}

#[test]
fn broken_modules_do_not_panic() {
    let module = support::compile(TEXT).module;
    let mut draw = Draw(42);
    let mut faults = 0;
    let rounds = std::env::var("CDP_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    for round in 0..rounds {
        let mut broken = module.clone();
        for _ in 0..1 + draw.below(3) {
            break_something(&mut broken, &mut draw);
        }
        let start = std::time::Instant::now();
        let program = Arc::new(Program::new(&broken));
        let schedule = if round % 2 == 0 { Schedule::Late } else { Schedule::Random { seed: round } };
        let options = CpuOptions {
            max_steps: Some(200_000),
            schedule,
            races: round % 3 == 0,
            memory: Some(64 << 20),
            ..CpuOptions::default()
        };
        let mut device = CpuDevice::new(Arc::clone(&program), options);
        let mut output = Vec::new();
        let options = Options { max_steps: Some(200_000), ..Options::default() };
        let outcome = HostProgram::new(&program, &mut device, &mut output, options).run_function("main");
        if std::env::var_os("CDP_TIMES").is_some() && start.elapsed().as_millis() > 100 {
            println!("round {round}: {:?}, {} bytes printed, {:?}", start.elapsed(), output.len(), outcome);
        }
        faults += u64::from(outcome.is_some_and(|outcome| !outcome.is_ok()));
    }
    assert!(faults > rounds / 4, "{faults} of {rounds} broke");
}
