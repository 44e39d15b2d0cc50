//! `cudaOccupancyMaxPotentialBlockSize` becomes a function for each kernel that it is asked of.
//!
//! It does what CUDA's header says the call does: block sizes are tried from the largest downwards, in steps of a warp; the first that
//! gives the most threads at once on a multiprocessor is the answer, with as many blocks as fill all multiprocessors.

use super::code::Code;
use crate::builtins::{CudaEnum, RuntimeFn, named_constant};
use crate::ir::{
    BinaryOp, Const, Function, FunctionBuilder, FunctionId, FunctionKind, LocalId, Module, Operand, Place, Projection, Rvalue,
    StatementKind,
};
use crate::source::Span;
use crate::types::{Predeclared, Space, TypeId, TypeTable};
use std::collections::BTreeMap;

const I32: TypeId = TypeTable::I32;
/// The field `maxThreadsPerBlock` of `cudaFuncAttributes`.
const MAX_THREADS: u32 = 3;

pub(super) fn is_potential(statement: &StatementKind) -> bool {
    matches!(statement, StatementKind::Runtime { call: RuntimeFn::OccupancyMaxPotentialBlockSize, .. })
}

/// Adds the functions, and calls them.
pub(super) fn lower(module: &mut Module, on_device: impl Fn(usize) -> bool) {
    let mut made: BTreeMap<FunctionId, FunctionId> = BTreeMap::new();
    let mut functions = std::mem::take(&mut module.functions);
    let mut added = Vec::new();
    let known = functions.len();
    for (_, function) in functions.iter_mut().enumerate().filter(|(index, _)| on_device(*index)) {
        for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
            let StatementKind::Runtime { dst, call: RuntimeFn::OccupancyMaxPotentialBlockSize, args } = &mut statement.kind
            else {
                continue;
            };
            let [grid, block, Operand::Function(kernel), shared, limit] = args.as_slice() else { continue };
            let types = [grid, block].map(|pointer| match pointer {
                Operand::Local(local) => function.locals.get(local.index()).map_or(TypeTable::POISON, |local| local.ty),
                Operand::Const(constant) => constant.ty,
                Operand::Function(_) => TypeTable::POISON,
            });
            // each is asked for with pointers of one kind as a rule: generic ones, which is what the checker makes of all
            let helper = *made.entry(*kernel).or_insert_with(|| {
                let id = FunctionId(u32::try_from(known + added.len()).unwrap_or(u32::MAX));
                added.push(potential(module, *kernel, types, statement.span));
                id
            });
            let args = vec![grid.clone(), block.clone(), shared.clone(), limit.clone()];
            statement.kind = StatementKind::Call { dst: *dst, function: helper, args };
        }
    }
    functions.append(&mut added);
    module.functions = functions;
}

struct Helper<'a> {
    code: Code<'a>,
    /// The address of a variable that calls write.
    slot: Operand,
    place: Place,
}

/// `fn(min_grid, block_size, shared, limit) -> cudaError_t` for a kernel.
fn potential(module: &mut Module, kernel: FunctionId, outs: [TypeId; 2], span: Span) -> Function {
    let name = format!("cdpc$potential_block_size${}", kernel.0);
    let mut builder = FunctionBuilder::new(name.clone(), name, FunctionKind::Plain, TypeTable::CUDA_ERROR, span);
    let [grid_type, block_type] = outs;
    let grid_out = Operand::from(builder.param("min_grid", grid_type, false, span));
    let block_out = Operand::from(builder.param("block_size", block_type, false, span));
    let shared = Operand::from(builder.param("shared", TypeTable::U64, false, span));
    let asked = Operand::from(builder.param("limit", I32, false, span));
    let slot = builder.variable("value", I32, span);
    let attributes_type = module.types.predeclared(Predeclared::FuncAttributes);
    let attributes = builder.variable("attributes", attributes_type, span);
    let slot_type = module.types.pointer(Space::Local, I32, false);
    let attributes_pointer = module.types.pointer(Space::Local, attributes_type, false);
    let [best_size, best_blocks, best_threads, aligned] =
        ["best_size", "best_blocks", "best_threads", "aligned"].map(|name| builder.variable(name, I32, span));
    let zero = Operand::from(Const::bits(I32, 0));
    let mut code = Code { builder: &mut builder, span };
    let address = code.value(slot_type, Rvalue::AddressOf(Place::local(slot)));
    let attributes_address = code.value(attributes_pointer, Rvalue::AddressOf(Place::local(attributes)));
    let mut helper = Helper { code, slot: address, place: Place::local(slot) };

    helper.call(RuntimeFn::GetDevice, vec![helper.slot.clone()]);
    let device = helper.answer();
    let most_threads = helper.attribute("cudaDevAttrMaxThreadsPerMultiProcessor", &device);
    let warp = helper.attribute("cudaDevAttrWarpSize", &device);
    let device_limit = helper.attribute("cudaDevAttrMaxThreadsPerBlock", &device);
    let multiprocessors = helper.attribute("cudaDevAttrMultiProcessorCount", &device);
    helper.call(RuntimeFn::FuncGetAttributes, vec![attributes_address, Operand::Function(kernel)]);
    let mut place = Place::local(attributes);
    place.path.push(Projection::Field(MAX_THREADS));
    let kernel_limit = helper.code.load(I32, place);

    let code = &mut helper.code;
    let unasked = code.compare(BinaryOp::Eq, &asked, &zero);
    let limit = code.value(I32, Rvalue::Select(unasked, device_limit.clone(), asked));
    let limit = code.least(I32, &limit, &device_limit);
    let limit = code.least(I32, &limit, &kernel_limit);
    let one = Operand::from(Const::bits(I32, 1));
    let less = code.binary(I32, BinaryOp::Sub, &warp, &one);
    let up = code.binary(I32, BinaryOp::Add, &limit, &less);
    let warps = code.binary(I32, BinaryOp::Div, &up, &warp);
    let start = code.binary(I32, BinaryOp::Mul, &warps, &warp);
    for local in [best_size, best_blocks, best_threads] {
        code.set(local, zero.clone());
    }
    code.set(aligned, start);
    let [each, attempt, better, judge, next, end] = [(); 6].map(|()| code.block());
    code.goto(each);

    code.go_on_in(each);
    let more = code.compare(BinaryOp::Gt, &aligned.into(), &zero);
    code.branch(more, attempt, end);

    code.go_on_in(attempt);
    let size = code.least(I32, &limit, &aligned.into());
    let args = vec![helper.slot.clone(), Operand::Function(kernel), size.clone(), shared];
    helper.call(RuntimeFn::OccupancyMaxActiveBlocks, args);
    let blocks = helper.answer();
    let code = &mut helper.code;
    let threads = code.binary(I32, BinaryOp::Mul, &blocks, &size);
    let improved = code.compare(BinaryOp::Gt, &threads, &best_threads.into());
    code.branch(improved, better, judge);

    code.go_on_in(better);
    code.set(best_size, size);
    code.set(best_blocks, blocks);
    code.set(best_threads, threads);
    code.goto(judge);

    code.go_on_in(judge);
    let full = code.compare(BinaryOp::Eq, &best_threads.into(), &most_threads);
    code.branch(full, end, next);

    code.go_on_in(next);
    let smaller = code.binary(I32, BinaryOp::Sub, &aligned.into(), &warp);
    code.set(aligned, smaller);
    code.goto(each);

    code.go_on_in(end);
    let grid = code.binary(I32, BinaryOp::Mul, &best_blocks.into(), &multiprocessors);
    code.store(grid_out, grid);
    code.store(block_out, best_size.into());
    code.give(Some(Const::bits(TypeTable::CUDA_ERROR, 0).into()));
    builder.finish()
}

impl Helper<'_> {
    /// A runtime call whose error ends the function.
    fn call(&mut self, call: RuntimeFn, args: Vec<Operand>) {
        let status: LocalId = self.code.builder.temporary(TypeTable::CUDA_ERROR, self.code.span);
        self.code.builder.push(StatementKind::Runtime { dst: Some(status), call, args }, self.code.span);
        let success = Operand::from(Const::bits(TypeTable::CUDA_ERROR, 0));
        let fine = self.code.compare(BinaryOp::Eq, &status.into(), &success);
        let [failed, on] = [(); 2].map(|()| self.code.block());
        self.code.branch(fine, on, failed);
        self.code.go_on_in(failed);
        self.code.give(Some(status.into()));
        self.code.go_on_in(on);
    }

    /// What the last call wrote.
    fn answer(&mut self) -> Operand {
        self.code.load(I32, self.place.clone())
    }

    fn attribute(&mut self, name: &str, device: &Operand) -> Operand {
        let value = named_constant(name).map_or(0, |constant| constant.value);
        let which = Operand::from(Const::bits(CudaEnum::DeviceAttr.ty(), u64::from(value)));
        self.call(RuntimeFn::DeviceGetAttribute, vec![self.slot.clone(), which, device.clone()]);
        self.answer()
    }
}
