//! The kernel that fills memory.

use super::code::{Code, number};
use crate::builtins::Register;
use crate::ir::{BinaryOp, CastKind, Function, FunctionBuilder, FunctionKind, Module, Operand, Rvalue};
use crate::source::Span;
use crate::types::{Int, Scalar, Space, Type, TypeTable};

/// The symbol of the kernel that fills memory. Modules that are linked together have the same kernel, and must be able to keep one of them.
pub const SYMBOL: &str = "cdpc$fill";
/// Threads of its blocks.
pub(super) const THREADS: u32 = 256;
/// Bytes that a thread writes at once.
pub(super) const CHUNK: u64 = 16;

const U64: crate::types::TypeId = TypeTable::U64;

/// `kernel fill(start: *global u8, word: u32, width: u64, rows: u64, height: u64, pitch: u64, slice: u64)`: fills `rows` rows of
/// `width` bytes with the four equal bytes of `word`. Row r starts at `start + r / height * slice + r % height * pitch`. Rows are spread
/// over the grid's y, what is in them over x; any grid of blocks that have at least 16 threads will do.
pub(super) fn kernel(module: &mut Module, span: Span) -> Function {
    let byte_pointer = module.types.pointer(Space::Global, TypeTable::U8, false);
    let vector = module.types.intern(Type::Vector { element: Scalar::Int(Int::U32), lanes: 4 });
    let vector_pointer = module.types.pointer(Space::Global, vector, false);
    let name = "cdpc$fill".to_owned();
    let mut builder = FunctionBuilder::new(name, SYMBOL.to_owned(), FunctionKind::Kernel, TypeTable::VOID, span);
    let mut param = |name: &str, ty| Operand::from(builder.param(name, ty, false, span));
    let start = param("start", byte_pointer);
    let word = param("word", TypeTable::U32);
    let [width, rows, height, pitch, slice] = ["width", "rows", "height", "pitch", "slice"].map(|name| param(name, U64));
    let row_variable = builder.variable("row", U64, span);
    let at_variable = builder.variable("at", U64, span);
    let (row, at) = (Operand::from(row_variable), Operand::from(at_variable));
    let mut code = Code { builder: &mut builder, span };

    let register = |code: &mut Code<'_>, register| {
        let narrow = code.value(TypeTable::U32, Rvalue::Register(register));
        code.cast(U64, CastKind::Int, &narrow)
    };
    let block_x = register(&mut code, Register::BlockIdxX);
    let threads = register(&mut code, Register::BlockDimX);
    let thread_x = register(&mut code, Register::ThreadIdxX);
    let blocks_x = register(&mut code, Register::GridDimX);
    let block_y = register(&mut code, Register::BlockIdxY);
    let blocks_y = register(&mut code, Register::GridDimY);
    let before = code.binary(U64, BinaryOp::Mul, &block_x, &threads);
    let thread = code.binary(U64, BinaryOp::Add, &before, &thread_x);
    let step = code.binary(U64, BinaryOp::Mul, &blocks_x, &threads);
    let byte = code.cast(TypeTable::U8, CastKind::Int, &word);
    let four = code.value(vector, Rvalue::Aggregate(vec![word; 4]));
    code.set(row_variable, block_y);
    let [each_row, in_row, each_chunk, chunk, first, head, last, tail, next, end] = [(); 10].map(|()| code.block());
    code.goto(each_row);

    code.go_on_in(each_row);
    let more = code.compare(BinaryOp::Lt, &row, &rows);
    code.branch(more, in_row, end);

    code.go_on_in(in_row);
    let slices = code.binary(U64, BinaryOp::Div, &row, &height);
    let lines = code.binary(U64, BinaryOp::Rem, &row, &height);
    let slices = code.binary(U64, BinaryOp::Mul, &slices, &slice);
    let lines = code.binary(U64, BinaryOp::Mul, &lines, &pitch);
    let offset = code.binary(U64, BinaryOp::Add, &slices, &lines);
    let place = code.value(byte_pointer, Rvalue::Offset(start, offset));
    let address = code.cast(U64, CastKind::PointerToInt, &place);
    // bytes before the first whole chunk, whole chunks, and where the last bytes start
    let negated = code.binary(U64, BinaryOp::Sub, &number(0), &address);
    let lead = code.binary(U64, BinaryOp::And, &negated, &number(CHUNK - 1));
    let lead = code.least(U64, &lead, &width);
    let rest = code.binary(U64, BinaryOp::Sub, &width, &lead);
    let whole = code.binary(U64, BinaryOp::And, &rest, &number(!(CHUNK - 1)));
    let end_of_whole = code.binary(U64, BinaryOp::Add, &lead, &whole);
    let first_chunk = code.binary(U64, BinaryOp::Mul, &thread, &number(CHUNK));
    let first_chunk = code.binary(U64, BinaryOp::Add, &first_chunk, &lead);
    let chunk_step = code.binary(U64, BinaryOp::Mul, &step, &number(CHUNK));
    code.set(at_variable, first_chunk);
    code.goto(each_chunk);

    code.go_on_in(each_chunk);
    let more = code.compare(BinaryOp::Lt, &at, &end_of_whole);
    code.branch(more, chunk, first);

    code.go_on_in(chunk);
    let target = code.value(byte_pointer, Rvalue::Offset(place.clone(), at.clone()));
    let target = code.cast(vector_pointer, CastKind::Pointer, &target);
    code.store(target, four);
    let further = code.binary(U64, BinaryOp::Add, &at, &chunk_step);
    code.set(at_variable, further);
    code.goto(each_chunk);

    code.go_on_in(first);
    let mine = code.compare(BinaryOp::Lt, &thread, &lead);
    code.branch(mine, head, last);

    code.go_on_in(head);
    let target = code.value(byte_pointer, Rvalue::Offset(place.clone(), thread.clone()));
    code.store(target, byte.clone());
    code.goto(last);

    code.go_on_in(last);
    let index = code.binary(U64, BinaryOp::Add, &end_of_whole, &thread);
    let mine = code.compare(BinaryOp::Lt, &index, &width);
    code.branch(mine, tail, next);

    code.go_on_in(tail);
    let target = code.value(byte_pointer, Rvalue::Offset(place, index));
    code.store(target, byte);
    code.goto(next);

    code.go_on_in(next);
    let further = code.binary(U64, BinaryOp::Add, &row, &blocks_y);
    code.set(row_variable, further);
    code.goto(each_row);

    code.go_on_in(end);
    code.give(None);
    let mut kernel = builder.finish();
    kernel.launch_bounds = Some((THREADS, 0));
    kernel
}
