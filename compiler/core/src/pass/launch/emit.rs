//! The calls that a launch becomes.

use super::SiteAbi;
use crate::builtins::RuntimeFn;
use crate::ir::{
    Access, BinaryOp, Block, BlockId, CastKind, Const, Function, Launch, Local, LocalId, Module, Operand, Place, Projection,
    Rvalue, Statement, StatementKind, Terminator, TerminatorKind,
};
use crate::source::Span;
use crate::types::layout::{MAX_PARAM_ALIGN, ParamsLayout, PointerWidth};
use crate::types::{Space, Type, TypeId, TypeTable};

/// `cudaErrorLaunchPendingCountExceeded`
pub(in crate::pass) const NO_ROOM: u64 = 69;

/// The first launch of a block.
pub(super) fn find(function: &Function, block: BlockId) -> Option<(usize, Launch, Span)> {
    let statements = &function.blocks.get(block.index())?.statements;
    statements.iter().enumerate().find_map(|(position, statement)| match &statement.kind {
        StatementKind::Launch(launch) => Some((position, (**launch).clone(), statement.span)),
        _ => None,
    })
}

/// Replaces the launch at `position` of a block. What followed it is in the block that is returned.
#[allow(clippy::too_many_arguments, reason = "all of them are read, none belongs together")]
pub(super) fn lower(
    module: &mut Module,
    function: &mut Function,
    block: BlockId,
    position: usize,
    launch: &Launch,
    params: &ParamsLayout,
    abi: SiteAbi,
    width: PointerWidth,
) -> BlockId {
    let Some((rest, terminator)) = cut(function, block, position) else { return block };
    let mut emitter = Emitter { module, function, current: block, span: terminator.1, width };
    let (rest_statements, rest_terminator) = (rest, terminator.0);
    let end = emitter.new_block();
    emitter.launch(launch, params, abi, end);
    if let Some(data) = emitter.function.blocks.get_mut(end.index()) {
        data.statements = rest_statements;
        data.terminator = rest_terminator;
    }
    end
}

/// Ends a block before a launch; gives what followed the launch, and the launch's span.
fn cut(function: &mut Function, block: BlockId, position: usize) -> Option<(Vec<Statement>, (Terminator, Span))> {
    let data = function.blocks.get_mut(block.index())?;
    let mut rest = data.statements.split_off(position.min(data.statements.len()));
    let span = rest.first()?.span;
    rest.remove(0);
    let placeholder = Terminator { kind: TerminatorKind::Unreachable, span };
    Some((rest, (std::mem::replace(&mut data.terminator, placeholder), span)))
}

struct Emitter<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    current: BlockId,
    span: Span,
    width: PointerWidth,
}

impl Emitter<'_> {
    fn launch(&mut self, launch: &Launch, params: &ParamsLayout, abi: SiteAbi, end: BlockId) {
        let kernel = Operand::Function(launch.kernel);
        let grid = self.assign(TypeTable::DIM3, Rvalue::Aggregate(launch.grid.to_vec()));
        let block = self.assign(TypeTable::DIM3, Rvalue::Aggregate(launch.block.to_vec()));
        let (grid, block, shared, stream) = (grid.into(), block.into(), launch.shared.clone(), launch.stream.clone());
        match abi {
            SiteAbi::V1 if params.size == 0 => {
                let no_buffer = Const::zero(TypeTable::VOID_POINTER).into();
                self.call(launch.dst, RuntimeFn::LaunchDevice, vec![kernel, no_buffer, grid, block, shared, stream]);
            }
            SiteAbi::V1 => {
                let align = Const::u64(u64::from(params.align)).into();
                let buffer = self.buffer(RuntimeFn::GetParameterBuffer, vec![align, Const::u64(params.size).into()]);
                self.fill(launch, buffer, params, end);
                let args = vec![kernel, buffer.into(), grid, block, shared, stream];
                self.call(launch.dst, RuntimeFn::LaunchDevice, args);
            }
            SiteAbi::V2 => {
                let buffer = self.buffer(RuntimeFn::GetParameterBufferV2, vec![kernel, grid, block, shared]);
                self.fill(launch, buffer, params, end);
                self.call(launch.dst, RuntimeFn::LaunchDeviceV2, vec![buffer.into(), stream]);
            }
        }
        self.terminate(TerminatorKind::Goto(end));
    }

    fn buffer(&mut self, call: RuntimeFn, args: Vec<Operand>) -> LocalId {
        let buffer = self.temporary(TypeTable::VOID_POINTER);
        self.call(Some(buffer), call, args);
        buffer
    }

    /// Goes to `end` with the error when there is no buffer; else stores the arguments and goes on.
    fn fill(&mut self, launch: &Launch, buffer: LocalId, params: &ParamsLayout, end: BlockId) {
        let null = Const::zero(TypeTable::VOID_POINTER).into();
        let is_null = self.assign(TypeTable::BOOL, Rvalue::Binary(BinaryOp::Eq, buffer.into(), null));
        let filled = self.new_block();
        let refused = if launch.dst.is_some() { self.new_block() } else { end };
        self.terminate(TerminatorKind::Branch { condition: is_null.into(), then: refused, otherwise: filled });
        if let Some(dst) = launch.dst {
            self.current = refused;
            self.refusal(dst);
            self.terminate(TerminatorKind::Goto(end));
        }
        self.current = filled;
        if launch.args.is_empty() {
            return;
        }
        let bytes = self.module.types.pointer(Space::Generic, TypeTable::U8, false);
        let start = self.assign(bytes, Rvalue::Cast(CastKind::Pointer, buffer.into()));
        for (arg, param) in launch.args.iter().zip(&params.params) {
            let ty = self.module.operand_type(self.function, arg);
            self.store_argument(start, bytes, param.offset, ty, arg);
        }
    }

    /// The result of a launch that got no buffer: the last error, or the lack of room when there is none.
    fn refusal(&mut self, dst: LocalId) {
        let last = self.temporary(TypeTable::CUDA_ERROR);
        self.call(Some(last), RuntimeFn::PeekAtLastError, Vec::new());
        let success = Const::bits(TypeTable::CUDA_ERROR, 0).into();
        let silent = self.assign(TypeTable::BOOL, Rvalue::Binary(BinaryOp::Eq, last.into(), success));
        let no_room = Const::bits(TypeTable::CUDA_ERROR, NO_ROOM).into();
        self.push(StatementKind::Assign { dst, value: Rvalue::Select(silent.into(), no_room, last.into()) });
    }

    /// One store; but a type that asks for more alignment than the buffer has goes part by part (R32).
    fn store_argument(&mut self, start: LocalId, bytes: TypeId, offset: u64, ty: TypeId, value: &Operand) {
        let layout = self.module.types.layout(ty, self.width);
        if layout.size == 0 {
            return;
        }
        if layout.align > MAX_PARAM_ALIGN {
            let whole = self.assign(ty, Rvalue::Use(value.clone()));
            return self.store_parts(start, bytes, offset, ty, Place::local(whole));
        }
        let at = if offset == 0 { start } else { self.assign(bytes, Rvalue::Offset(start.into(), Const::u64(offset).into())) };
        let pointer = self.module.types.pointer(Space::Generic, ty, false);
        let pointer = self.assign(pointer, Rvalue::Cast(CastKind::Pointer, at.into()));
        let place = Place::deref(pointer.into());
        self.push(StatementKind::Store { place, value: value.clone(), access: Access::Plain });
    }

    fn store_parts(&mut self, start: LocalId, bytes: TypeId, offset: u64, ty: TypeId, place: Place) {
        let count = match self.module.types.get(ty) {
            Type::Struct(id) => self.module.types.struct_def(*id).map_or(0, |def| def.fields.len() as u64),
            Type::Array { len, .. } => *len,
            _ => 0,
        };
        for index in 0..count {
            let small = u32::try_from(index).unwrap_or(u32::MAX);
            let types = &self.module.types;
            let (Some(element), Some(distance)) = (types.element(ty, small), types.element_offset(ty, index, self.width))
            else {
                return;
            };
            let mut part = place.clone();
            part.path.push(match types.get(ty) {
                Type::Array { .. } => Projection::Index(Const::u64(index).into()),
                _ => Projection::Field(small),
            });
            let offset = offset.saturating_add(distance);
            if types.layout(element, self.width).align > MAX_PARAM_ALIGN {
                self.store_parts(start, bytes, offset, element, part);
            } else {
                let value = self.temporary(element);
                self.push(StatementKind::Load { dst: value, place: part, access: Access::Plain });
                self.store_argument(start, bytes, offset, element, &value.into());
            }
        }
    }

    fn call(&mut self, dst: Option<LocalId>, call: RuntimeFn, args: Vec<Operand>) {
        self.push(StatementKind::Runtime { dst, call, args });
    }

    fn push(&mut self, kind: StatementKind) {
        if let Some(block) = self.function.blocks.get_mut(self.current.index()) {
            block.statements.push(Statement { kind, span: self.span });
        }
    }

    fn assign(&mut self, ty: TypeId, value: Rvalue) -> LocalId {
        let dst = self.temporary(ty);
        self.push(StatementKind::Assign { dst, value });
        dst
    }

    fn temporary(&mut self, ty: TypeId) -> LocalId {
        self.function.locals.push(Local { name: String::new(), ty, restrict: false, span: self.span });
        LocalId(u32::try_from(self.function.locals.len() - 1).unwrap_or(u32::MAX))
    }

    fn new_block(&mut self) -> BlockId {
        let terminator = Terminator { kind: TerminatorKind::Unreachable, span: self.span };
        self.function.blocks.push(Block { statements: Vec::new(), terminator, unroll: None });
        BlockId(u32::try_from(self.function.blocks.len() - 1).unwrap_or(u32::MAX))
    }

    fn terminate(&mut self, kind: TerminatorKind) {
        if let Some(block) = self.function.blocks.get_mut(self.current.index()) {
            block.terminator = Terminator { kind, span: self.span };
        }
    }
}
