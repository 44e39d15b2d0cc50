//! The grid that runs a loop, and launches of it in the place of those of the kernel.

use super::super::facts::Facts;
use super::super::graft::{Naming, graft};
use super::super::push::store;
use super::super::rewrite::{Fields, read, run};
use super::super::runtime::{NO_CONTEXT, Runtime, compile, declaration};
use super::super::variant::given;
use super::super::{MergeMode, MergeOptions};
use super::{Loop, Round, is_again};
use crate::builtins::{Register, RuntimeFn, STREAM_FIRE_AND_FORGET};
use crate::ir::{
    BinaryOp, BlockId, CastKind, Const, Function, FunctionBuilder, FunctionId, FunctionKind, Inline, Launch, LaunchHints,
    LocalId, Module, Operand, Rvalue, StatementKind, TerminatorKind,
};
use crate::pass::launch::NO_ROOM;
use crate::pass::runtime::code::Code;
use crate::pass::runtime::site::Site;
use crate::source::Span;
use crate::types::layout::round_up;
use crate::types::{Space, TypeId, TypeTable};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

const U32: TypeId = TypeTable::U32;
const LOOP: &str = include_str!("loop.cdp");
const OF_LOOP: &str = include_str!("of_loop.cdp");
/// Where nothing is merged.
const ALL_TOLD: &str =
    "@inline\nfn direct_launches() -> u32 { return 0; }\n@inline\nfn has_launched(direct: u32) -> bool { return false; }\n";
const MERGED: &str = "extern fn direct_launches() -> u32;\nextern fn has_launched(direct: u32) -> bool;\n";
/// The largest alignment of a record in bytes.
pub(super) const ALIGN: u32 = 256;
/// A record's place is a multiple of this many bytes.
const USUAL_ALIGN: u32 = 16;

/// Writes all loops. `runtime` is that of merged launches, where there are some.
pub(in super::super) fn write(
    module: &mut Module,
    facts: &Facts,
    loops: &[Loop],
    runtime: Option<&Runtime>,
    options: &MergeOptions,
) {
    let Some(first) = loops.first() else { return };
    let span = first.body.span;
    let mut given = HashMap::new();
    if let Some(runtime) = runtime {
        given.insert("direct_launches".to_owned(), runtime.direct_launches);
        given.insert("has_launched".to_owned(), runtime.has_launched);
    }
    let mut declared = Vec::new();
    for (index, found) in loops.iter().enumerate() {
        for (number, round) in found.rounds.iter().enumerate() {
            let name = format!("run_{index}_{number}");
            let function = declaration(module, &name, Space::Global, round.span);
            let id = module.add_function(function);
            given.insert(name, id);
            let direct = direct(module, round, &format!("direct_{index}_{number}"));
            let direct = module.add_function(direct);
            given.insert(format!("direct_{index}_{number}"), direct);
            declared.push(id);
        }
    }
    let Some(part) = compile(&text(module, loops, runtime.is_some(), options)) else { return };
    let owner = first.body.symbol.clone();
    let symbol = |name: &str| format!("cdpc$merge$loop${owner}${}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let Some(names) = graft(module, part, &Naming { symbol: &symbol, given: &given, span }) else { return };
    let named = |name: &str| names.get(name).copied().unwrap_or(FunctionId(u32::MAX));
    let ours = module.functions.len();
    let mut variants = Variants::default();
    let mut declared = declared.into_iter();
    for (index, found) in loops.iter().enumerate() {
        let mut pushes = Vec::new();
        for (number, round) in found.rounds.iter().enumerate() {
            let push = push(module, found, round, number, &named);
            pushes.push(module.add_function(push));
        }
        let kernel = variants.kernel(module, facts, found, &pushes);
        for (round, id) in found.rounds.iter().zip(declared.by_ref()) {
            let again = found.is_again(round);
            let variant = if again { kernel } else { variants.child(module, facts, round.queue.kernel) };
            let looks = facts.all(round.queue.kernel).last_error.is_some();
            let Some(declared) = module.function(id).cloned() else { continue };
            let function = run(module, &round.queue, &declared, Space::Global, variant, looks);
            if let Some(slot) = module.functions.get_mut(id.index()) {
                *slot = function;
            }
        }
        let functions = (enter(module, found, index, true, &named), enter(module, found, index, false, &named));
        if let (Some(enter), Some(start)) = functions {
            let [enter, start] = [enter, start].map(|function| module.add_function(function));
            launches(module, facts, found, enter, ours);
            begin(module, found, start);
        }
    }
}

/// Functions as loops run them.
#[derive(Default)]
struct Variants {
    children: BTreeMap<FunctionId, FunctionId>,
    kernels: usize,
}

impl Variants {
    /// A child kernel that is given its block; its launches are pushes already.
    fn child(&mut self, module: &mut Module, facts: &Facts, kernel: FunctionId) -> FunctionId {
        let asks = |id: &FunctionId| *id == kernel || facts.all(*id).block_place.is_some();
        let mut added = Vec::new();
        for id in facts.reached(kernel).into_iter().filter(asks) {
            let Some(function) = module.function(id).filter(|_| !self.children.contains_key(&id)).cloned() else { continue };
            let variant = module.add_function(function);
            self.children.insert(id, variant);
            added.push(variant);
        }
        for id in added {
            if let Some(function) = module.functions.get_mut(id.index()) {
                function.inline = if function.is_kernel() { Inline::Always } else { function.inline };
                function.symbol = format!("cdpc$loop${}", function.symbol);
                given(function, Some("number"), MergeMode::Blocks, |id| self.children.get(&id).copied());
            }
        }
        self.children.get(&kernel).copied().unwrap_or(kernel)
    }

    /// The kernel that is a loop, whose launches are noted.
    fn kernel(&mut self, module: &mut Module, facts: &Facts, found: &Loop, pushes: &[FunctionId]) -> FunctionId {
        let asks = |id: &FunctionId| facts.all(*id).block_place.is_some() || facts.all(*id).thread_place.is_some();
        let mut variants = BTreeMap::new();
        for id in facts.reached(found.kernel).into_iter().filter(asks).filter(|id| *id != found.kernel) {
            let Some(function) = module.function(id).cloned() else { continue };
            variants.insert(id, module.add_function(function));
        }
        let id = module.add_function(found.body.clone());
        self.kernels += 1;
        for variant in variants.values().chain([&id]) {
            let Some(function) = module.functions.get_mut(variant.index()) else { continue };
            function.inline = if function.is_kernel() { Inline::Always } else { function.inline };
            function.symbol = format!("cdpc$loop${}${}", self.kernels, function.symbol);
            let number = given(function, Some("number"), MergeMode::Threads, |id| variants.get(&id).copied());
            if *variant != id {
                continue;
            }
            let statements = function.blocks.iter_mut().flat_map(|block| &mut block.statements);
            let launches = statements.filter(|statement| matches!(statement.kind, StatementKind::Launch(_)));
            for (statement, push) in launches.zip(pushes) {
                let StatementKind::Launch(launch) = &statement.kind else { continue };
                let values = launch.grid.iter().chain(&launch.args).cloned();
                let args = std::iter::once(number.into()).chain(values).collect();
                statement.kind = StatementKind::Call { dst: launch.dst, function: *push, args };
            }
        }
        id
    }
}

/// Launches of the kernel into a tail stream start the loop instead, but not what stands in functions from `ours` on.
fn launches(module: &mut Module, facts: &Facts, found: &Loop, enter: FunctionId, ours: usize) {
    let ids = (0u32..).map(FunctionId);
    let functions = ids.zip(&mut module.functions).take(ours).filter(|(id, _)| !facts.info.is_on_host(*id));
    for statement in functions.flat_map(|(_, function)| &mut function.blocks).flat_map(|block| &mut block.statements) {
        if let StatementKind::Launch(launch) = &statement.kind
            && launch.kernel == found.kernel
            && is_again(launch)
        {
            statement.kind = StatementKind::Call { dst: launch.dst, function: enter, args: launch.args.clone() };
        }
    }
}

fn text(module: &Module, loops: &[Loop], merges: bool, options: &MergeOptions) -> String {
    let mut text = String::new();
    let rounds = || loops.iter().flat_map(|found| &found.rounds);
    let words = rounds().map(|round| {
        let layout = module.types.layout(round.queue.record.ty, options.width);
        round_up(layout.size, layout.align.max(USUAL_ALIGN)) / 8
    });
    let most = loops.iter().map(|found| found.rounds.len()).max().unwrap_or(1);
    let _ = writeln!(text, "const LAUNCHES: u32 = {most};\nconst WORDS: u32 = {};", words.max().unwrap_or(2));
    text.push_str(if merges { MERGED } else { ALL_TOLD });
    text.push_str(LOOP);
    for (index, found) in loops.iter().enumerate() {
        let cases = |again: bool, of: &dyn Fn(usize) -> String| {
            let mut cases = String::new();
            for (number, _) in found.rounds.iter().enumerate().filter(|(_, round)| found.is_again(round) == again) {
                let _ = write!(cases, "case {number} {{ {} }} ", of(number));
            }
            cases
        };
        for number in 0..found.rounds.len() {
            let _ = writeln!(text, "extern fn run_{index}_{number}(record: *global const u8, unit: u32, next: u32);");
            let _ = writeln!(text, "extern fn direct_{index}_{number}(record: *global const u8) -> cudaError_t;");
        }
        let run = |unit: &'static str| {
            move |number: usize| format!("run_{index}_{number}(record(number, {number}), {unit}, number);")
        };
        let direct = |number: usize| format!("error = direct_{index}_{number}(record(number, {number}));");
        let [x, y, z] = found.block;
        let threads: u32 = found.block.iter().product();
        let one = found.rounds.iter().all(|round| found.is_again(round));
        let grid = if one { 1 } else { (options.loop_threads / threads.max(1)).max(1) };
        let text_of_loop = OF_LOOP
            .replace("AGAIN", &cases(true, &run("0")))
            .replace("RUNS", &cases(false, &run("unit as u32")))
            .replace("DIRECT", &cases(false, &direct))
            .replace("GRID", &grid.to_string())
            .replace("SIZE", &format!("{x}, {y}, {z}"))
            .replace("THREADS", &threads.to_string())
            .replace("LOOP", &index.to_string());
        text.push_str(&text_of_loop);
    }
    text
}

/// The record at a pointer to bytes.
fn record_at(module: &mut Module, code: &mut Code<'_>, round: &Round, bytes: &Operand) -> Operand {
    let pointer = module.types.pointer(Space::Global, round.queue.record.ty, false);
    code.cast(pointer, CastKind::Pointer, bytes)
}

/// `fn(record: *global const u8) -> cudaError_t`: launches a grid as it is.
fn direct(module: &mut Module, round: &Round, name: &str) -> Function {
    let span = round.span;
    let (name, symbol) = (format!("cdpc${name}"), format!("cdpc$merge$loop${name}"));
    let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::CUDA_ERROR, span);
    builder.function_mut().inline = Inline::Always;
    let bytes = module.types.pointer(Space::Global, TypeTable::U8, true);
    let bytes = builder.param("record", bytes, false, span).into();
    let error = builder.variable("error", TypeTable::CUDA_ERROR, span);
    let mut code = Code { builder: &mut builder, span };
    let record = record_at(module, &mut code, round, &bytes);
    let Fields { grid, block, args } = read(module, &mut code, &round.queue, &record);
    let stream = Const::bits(TypeTable::STREAM, u64::from(STREAM_FIRE_AND_FORGET)).into();
    let hints = LaunchHints::default();
    let launch = Launch { dst: Some(error), grid, block, stream, args, hints, ..round.launch.clone() };
    code.builder.push(StatementKind::Launch(Box::new(launch)), span);
    code.give(Some(error.into()));
    builder.finish()
}

/// Fills the record of a launch of a loop.
fn keep(
    module: &mut Module,
    code: &mut Code<'_>,
    round: &Round,
    [number, launch]: [&Operand; 2],
    (grid, args): (&[Operand; 3], &[Operand]),
    named: &dyn Fn(&str) -> FunctionId,
) {
    let bytes = module.types.pointer(Space::Global, TypeTable::U8, false);
    let place = code.call(bytes, named("record"), vec![number.clone(), launch.clone()]);
    let record = record_at(module, code, round, &place);
    store(code, &round.queue, &record, [grid, &round.launch.block], args);
}

fn parameters(module: &Module, round: &Round) -> Vec<TypeId> {
    module.function(round.queue.kernel).map(|kernel| kernel.param_types().collect()).unwrap_or_default()
}

/// `fn(number: u32, x: u32, y: u32, z: u32, arguments) -> cudaError_t`: notes a launch of a loop's kernel, in the place of it.
fn push(module: &mut Module, found: &Loop, round: &Round, number: usize, named: &dyn Fn(&str) -> FunctionId) -> Function {
    let span = round.span;
    let owner = &found.body.symbol;
    let (name, symbol) = (format!("cdpc$note_{number}"), format!("cdpc$merge$loop${owner}$note_{number}"));
    let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::CUDA_ERROR, span);
    builder.function_mut().inline = Inline::Always;
    let loop_number = Operand::from(builder.param("number", U32, false, span));
    let grid = ["x", "y", "z"].map(|name| Operand::from(builder.param(name, U32, false, span)));
    let args: Vec<Operand> =
        parameters(module, round).into_iter().map(|ty| builder.param("", ty, false, span).into()).collect();
    let error = builder.variable("error", TypeTable::CUDA_ERROR, span);
    let mut code = Code { builder: &mut builder, span };
    let valid = code.call(TypeTable::BOOL, named("is_valid"), grid.to_vec());
    let [refused, noted] = [(); 2].map(|()| code.block());
    code.branch(valid, noted, refused);
    // it will give the error
    code.go_on_in(refused);
    let launch = Launch {
        dst: Some(error),
        grid: grid.clone(),
        args: args.clone(),
        hints: LaunchHints::default(),
        ..round.launch.clone()
    };
    code.builder.push(StatementKind::Launch(Box::new(launch)), span);
    code.give(Some(error.into()));
    code.go_on_in(noted);
    let launch = Operand::from(Const::u32(u32::try_from(number).unwrap_or(u32::MAX)));
    keep(module, &mut code, round, [&loop_number, &launch], (&grid, &args), named);
    // the kernel itself has no blocks
    let blocks = if found.is_again(round) { [(); 3].map(|()| Const::u32(0).into()) } else { grid };
    let values = [loop_number, launch, Const::bool(round.tail).into()].into_iter().chain(blocks).collect();
    code.builder.push(StatementKind::Call { dst: None, function: named("note"), args: values }, span);
    code.give(Some(Const::bits(TypeTable::CUDA_ERROR, 0).into()));
    builder.finish()
}

/// `fn(arguments) -> cudaError_t`: launches the loop into the tail stream. Where too many loops run, the kernel is launched, or nothing and it
/// is an error.
fn enter(
    module: &mut Module,
    found: &Loop,
    index: usize,
    kernel_when_full: bool,
    named: &dyn Fn(&str) -> FunctionId,
) -> Option<Function> {
    let span: Span = found.body.span;
    let (number, round) = found.rounds.iter().enumerate().find(|(_, round)| found.is_again(round))?;
    let owner = &found.body.symbol;
    let word = if kernel_when_full { "enter" } else { "instead" };
    let (name, symbol) = (format!("cdpc${word}_{index}"), format!("cdpc$merge$loop${owner}${word}"));
    let mut builder = FunctionBuilder::new(name, symbol, FunctionKind::Plain, TypeTable::CUDA_ERROR, span);
    builder.function_mut().inline = Inline::Never;
    let args: Vec<Operand> =
        parameters(module, round).into_iter().map(|ty| builder.param("", ty, false, span).into()).collect();
    let error = builder.variable("error", TypeTable::CUDA_ERROR, span);
    let mut code = Code { builder: &mut builder, span };
    let taken = code.call(U32, named("take"), Vec::new());
    let [none, some] = [(); 2].map(|()| code.block());
    let is_none = code.compare(BinaryOp::Eq, &taken, &Const::u32(NO_CONTEXT).into());
    code.branch(is_none, none, some);
    code.go_on_in(none);
    if kernel_when_full {
        let (args, hints) = (args.clone(), LaunchHints::default());
        let launch = Launch { dst: Some(error), args, hints, ..round.launch.clone() };
        code.builder.push(StatementKind::Launch(Box::new(launch)), span);
        code.give(Some(error.into()));
    } else {
        code.give(Some(Const::bits(TypeTable::CUDA_ERROR, NO_ROOM).into()));
    }
    code.go_on_in(some);
    let launch = Operand::from(Const::u32(u32::try_from(number).unwrap_or(u32::MAX)));
    keep(module, &mut code, round, [&taken, &launch], (&round.launch.grid, &args), named);
    let result = code.call(TypeTable::CUDA_ERROR, named(&format!("enter_{index}")), vec![taken, launch]);
    code.give(Some(result));
    Some(builder.finish())
}

/// The kernel starts the loop, and does nothing itself, where it is a grid of one thread and there is room for a loop.
fn begin(module: &mut Module, found: &Loop, begin: FunctionId) {
    let Some(kernel) = module.functions.get_mut(found.kernel.index()) else { return };
    let span = kernel.span;
    let mut kernel = std::mem::replace(kernel, found.body.clone());
    // what was the entry becomes a block like any other
    let site = &mut Site { module: &mut *module, function: &mut kernel, current: BlockId(0), span };
    let [check, start, over, body] = [(); 4].map(|()| site.block());
    for block in &mut site.function.blocks {
        block.terminator.kind.map_successors(|id| if id == BlockId(0) { body } else { id });
    }
    site.function.blocks.swap(0, body.index());
    let one = |site: &mut Site<'_>, register: Register| {
        let extent = site.assign(U32, Rvalue::Register(register));
        site.compare(BinaryOp::Eq, &extent, &Const::u32(1).into())
    };
    let extents = [
        Register::GridDimX,
        Register::GridDimY,
        Register::GridDimZ,
        Register::BlockDimX,
        Register::BlockDimY,
        Register::BlockDimZ,
    ];
    site.current = BlockId(0);
    site.terminate(TerminatorKind::Goto(check));
    site.current = check;
    let mut all = Operand::from(Const::bool(true));
    for register in extents {
        let one = one(site, register);
        all = site.binary(TypeTable::BOOL, BinaryOp::And, &all, &one);
    }
    site.terminate(TerminatorKind::Branch { condition: all, then: start, otherwise: body });
    site.current = start;
    let args = (0..site.function.param_count).map(|param| Operand::Local(LocalId(param))).collect();
    let error = site.call(TypeTable::CUDA_ERROR, begin, args);
    let started = site.compare(BinaryOp::Eq, &error, &Const::bits(TypeTable::CUDA_ERROR, 0).into());
    let failed = site.block();
    site.terminate(TerminatorKind::Branch { condition: started, then: over, otherwise: failed });
    site.current = failed;
    // the program does not know of it
    site.push(StatementKind::Runtime { dst: None, call: RuntimeFn::GetLastError, args: Vec::new() });
    site.terminate(TerminatorKind::Goto(body));
    site.current = over;
    site.terminate(TerminatorKind::Return(None));
    if let Some(slot) = module.functions.get_mut(found.kernel.index()) {
        *slot = kernel;
    }
}
