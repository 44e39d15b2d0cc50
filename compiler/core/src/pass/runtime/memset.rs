//! Fills become launches of the fill kernel.

use super::fill;
use super::site::{Site, replace_first};
use crate::builtins::RuntimeFn;
use crate::ir::{
    BinaryOp, BlockId, CastKind, Const, FunctionId, Launch, LaunchHints, LocalId, Module, Operand, Rvalue, StatementKind,
    TerminatorKind,
};
use crate::types::{Space, Type, TypeId, TypeTable};

/// `cudaErrorInvalidPitchValue`
const INVALID_PITCH: u64 = 12;
/// Blocks of the fill kernel along a row, and along the rows, at most; its threads go on where these end.
const MAX_BLOCKS_X: u64 = 4096;
const MAX_BLOCKS_Y: u64 = 65_535;

const U64: TypeId = TypeTable::U64;
const U32: TypeId = TypeTable::U32;

/// Whether the device runtime does not do this right: every fill but one of plain bytes with a constant zero.
pub(super) fn needs_kernel(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Runtime { call: RuntimeFn::MemsetAsync, args, .. } => {
            !matches!(args.get(1), Some(Operand::Const(value)) if value.as_bits().is_some_and(|bits| bits & 0xff == 0))
        }
        StatementKind::Runtime { call: RuntimeFn::Memset2DAsync | RuntimeFn::Memset3DAsync, .. } => true,
        _ => false,
    }
}

/// Adds the kernel, and launches it wherever memory is filled.
pub(super) fn lower(module: &mut Module, on_device: impl Fn(usize) -> bool) {
    let first = module.functions.iter().enumerate().filter(|(index, _)| on_device(*index)).find_map(|(_, function)| {
        let mut statements = function.blocks.iter().flat_map(|block| &block.statements);
        statements.find(|statement| needs_kernel(&statement.kind)).map(|statement| statement.span)
    });
    let kernel = fill::kernel(module, first.unwrap_or_default());
    let kernel_id = FunctionId(u32::try_from(module.functions.len()).unwrap_or(u32::MAX));
    // functions are taken out one by one, because their types are looked up in the module
    let mut functions = std::mem::take(&mut module.functions);
    for (_, function) in functions.iter_mut().enumerate().filter(|(index, _)| on_device(*index)) {
        let mut block = 0;
        while block < function.blocks.len() {
            replace_first(module, function, block, needs_kernel, |site, statement, end| {
                let StatementKind::Runtime { dst, call, args } = statement else { return };
                if let Some(fill) = site.fill(dst, call, args) {
                    site.emit(fill, kernel_id, end);
                }
            });
            // what followed a fill is in a block of its own behind these
            block += 1;
        }
    }
    functions.push(kernel);
    module.functions = functions;
}

/// What is filled: rows of a width in bytes.
struct Fill {
    dst: Option<LocalId>,
    start: Operand,
    value: Operand,
    width: Operand,
    height: Operand,
    depth: Operand,
    pitch: Operand,
    slice: Operand,
    stream: Operand,
    /// Whether there is but one row, so that the pitch says nothing.
    plain: bool,
}

impl Site<'_> {
    fn fill(&mut self, dst: Option<LocalId>, call: RuntimeFn, args: Vec<Operand>) -> Option<Fill> {
        let one = || Operand::from(Const::u64(1));
        if let (RuntimeFn::MemsetAsync, [start, value, width, stream]) = (call, args.as_slice()) {
            let [start, value, width, stream] = [start, value, width, stream].map(Clone::clone);
            let (pitch, slice) = (width.clone(), width.clone());
            return Some(Fill { dst, start, value, width, height: one(), depth: one(), pitch, slice, stream, plain: true });
        }
        if let (RuntimeFn::Memset2DAsync, [start, pitch, value, width, height, stream]) = (call, args.as_slice()) {
            let [start, pitch, value, width, height, stream] = [start, pitch, value, width, height, stream].map(Clone::clone);
            let slice = pitch.clone();
            return Some(Fill { dst, start, value, width, height, depth: one(), pitch, slice, stream, plain: false });
        }
        let [pitched, value, extent, stream] = args.as_slice() else { return None };
        let part = |site: &mut Self, whole: &Operand, index: u32, ty| site.assign(ty, Rvalue::Extract(whole.clone(), index));
        let start = part(self, pitched, 0, TypeTable::VOID_POINTER);
        let pitch = part(self, pitched, 1, U64);
        let lines = part(self, pitched, 3, U64);
        let [width, height, depth] = [0, 1, 2].map(|index| part(self, extent, index, U64));
        let slice = self.binary(U64, BinaryOp::Mul, &pitch, &lines);
        let (value, stream) = (value.clone(), stream.clone());
        Some(Fill { dst, start, value, width, height, depth, pitch, slice, stream, plain: false })
    }

    /// Goes to `end` with the result: of the launch, or without one where nothing is to be filled or the rows would overlap.
    fn emit(&mut self, fill: Fill, kernel: FunctionId, end: BlockId) {
        let rows = self.binary(U64, BinaryOp::Mul, &fill.height, &fill.depth);
        let zero = Operand::from(Const::u64(0));
        let bytes = self.binary(U64, BinaryOp::Mul, &rows, &fill.width);
        let mut idle = self.compare(BinaryOp::Eq, &bytes, &zero);
        let success = Operand::from(Const::bits(TypeTable::CUDA_ERROR, 0));
        let mut refusal = success.clone();
        if !fill.plain {
            let narrow = self.compare(BinaryOp::Lt, &fill.pitch, &fill.width);
            let several = self.compare(BinaryOp::Gt, &rows, &Const::u64(1).into());
            let overlap = self.binary(TypeTable::BOOL, BinaryOp::And, &narrow, &several);
            let invalid = Operand::from(Const::bits(TypeTable::CUDA_ERROR, INVALID_PITCH));
            refusal = self.assign(TypeTable::CUDA_ERROR, Rvalue::Select(overlap.clone(), invalid, success));
            idle = self.binary(TypeTable::BOOL, BinaryOp::Or, &idle, &overlap);
        }
        let nothing = if fill.dst.is_some() { self.block() } else { end };
        let filled = self.block();
        self.terminate(TerminatorKind::Branch { condition: idle, then: nothing, otherwise: filled });
        if let Some(dst) = fill.dst {
            self.current = nothing;
            self.push(StatementKind::Assign { dst, value: Rvalue::Use(refusal) });
            self.terminate(TerminatorKind::Goto(end));
        }
        self.current = filled;
        let launch = self.launch(fill, kernel, rows);
        self.push(StatementKind::Launch(Box::new(launch)));
        self.terminate(TerminatorKind::Goto(end));
    }

    fn launch(&mut self, fill: Fill, kernel: FunctionId, rows: Operand) -> Launch {
        let start = self.global_bytes(&fill.start);
        let byte = self.assign(TypeTable::U8, Rvalue::Cast(CastKind::Int, fill.value));
        let byte = self.assign(U32, Rvalue::Cast(CastKind::Int, byte));
        let word = self.binary(U32, BinaryOp::Mul, &byte, &Const::u32(0x0101_0101).into());
        // one chunk a thread: that many blocks, rounded up without overflow
        let of_block = Operand::from(Const::u64(fill::CHUNK * u64::from(fill::THREADS)));
        let before = self.binary(U64, BinaryOp::Sub, &fill.width, &Const::u64(1).into());
        let before = self.binary(U64, BinaryOp::Div, &before, &of_block);
        let blocks = self.binary(U64, BinaryOp::Add, &before, &Const::u64(1).into());
        let x = self.at_most(&blocks, MAX_BLOCKS_X);
        let y = self.at_most(&rows, MAX_BLOCKS_Y);
        let one = || Operand::from(Const::u32(1));
        Launch {
            dst: fill.dst,
            kernel,
            grid: [x, y, one()],
            block: [Const::u32(fill::THREADS).into(), one(), one()],
            shared: Const::u32(0).into(),
            stream: fill.stream,
            args: vec![start, word, fill.width, rows, fill.height, fill.pitch, fill.slice],
            hints: LaunchHints::default(),
        }
    }

    /// A `u64` cut to what a grid may have, as `u32`.
    fn at_most(&mut self, value: &Operand, most: u64) -> Operand {
        let most = Operand::from(Const::u64(most));
        let less = self.compare(BinaryOp::Lt, value, &most);
        let least = self.assign(U64, Rvalue::Select(less, value.clone(), most));
        self.assign(U32, Rvalue::Cast(CastKind::Int, least))
    }

    /// The start as `*global u8`.
    fn global_bytes(&mut self, start: &Operand) -> Operand {
        let from = self.module.operand_type(self.function, start);
        let to = self.module.types.pointer(Space::Global, TypeTable::U8, false);
        let kind = match self.module.types.get(from) {
            Type::Pointer { space: Space::Generic, .. } => CastKind::FromGeneric,
            _ => CastKind::Pointer,
        };
        if from == to { start.clone() } else { self.assign(to, Rvalue::Cast(kind, start.clone())) }
    }
}
