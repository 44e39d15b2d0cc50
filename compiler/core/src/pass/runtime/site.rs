//! Rewriting one call in place.

use crate::ir::{
    BinaryOp, Block, BlockId, Function, FunctionId, Local, LocalId, Module, Operand, Rvalue, Statement, StatementKind,
    Terminator, TerminatorKind,
};
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

/// Where the code that replaces a call goes.
pub(in crate::pass) struct Site<'a> {
    pub module: &'a mut Module,
    pub function: &'a mut Function,
    /// The block that grows.
    pub current: BlockId,
    pub span: Span,
}

/// Takes the first statement of a kind out of a block, and has `emit` write code in its place, which goes on in the block that it is given:
/// there, behind all others, is what followed the statement.
pub(in crate::pass) fn replace_first(
    module: &mut Module,
    function: &mut Function,
    block: usize,
    wanted: impl Fn(&StatementKind) -> bool,
    emit: impl FnOnce(&mut Site<'_>, StatementKind, BlockId),
) {
    let Some(data) = function.blocks.get_mut(block) else { return };
    let Some(position) = data.statements.iter().position(|statement| wanted(&statement.kind)) else { return };
    let mut rest = data.statements.split_off(position);
    let Statement { kind, span } = rest.remove(0);
    let terminator = std::mem::replace(&mut data.terminator, Terminator { kind: TerminatorKind::Unreachable, span });
    let current = BlockId(u32::try_from(block).unwrap_or(u32::MAX));
    let mut site = Site { module, function, current, span };
    let end = site.block();
    emit(&mut site, kind, end);
    if let Some(data) = site.function.blocks.get_mut(end.index()) {
        data.statements = rest;
        data.terminator = terminator;
    }
}

impl Site<'_> {
    pub(in crate::pass) fn binary(&mut self, ty: TypeId, op: BinaryOp, a: &Operand, b: &Operand) -> Operand {
        self.assign(ty, Rvalue::Binary(op, a.clone(), b.clone()))
    }

    pub(in crate::pass) fn compare(&mut self, op: BinaryOp, a: &Operand, b: &Operand) -> Operand {
        self.binary(TypeTable::BOOL, op, a, b)
    }

    pub(in crate::pass) fn assign(&mut self, ty: TypeId, value: Rvalue) -> Operand {
        let dst = self.local(ty);
        self.push(StatementKind::Assign { dst, value });
        dst.into()
    }

    pub(in crate::pass) fn call(&mut self, ty: TypeId, function: FunctionId, args: Vec<Operand>) -> Operand {
        let dst = self.local(ty);
        self.push(StatementKind::Call { dst: Some(dst), function, args });
        dst.into()
    }

    /// A new temporary.
    pub(in crate::pass) fn local(&mut self, ty: TypeId) -> LocalId {
        self.function.locals.push(Local { name: String::new(), ty, restrict: false, span: self.span });
        LocalId(u32::try_from(self.function.locals.len() - 1).unwrap_or(u32::MAX))
    }

    pub(in crate::pass) fn push(&mut self, kind: StatementKind) {
        if let Some(block) = self.function.blocks.get_mut(self.current.index()) {
            block.statements.push(Statement { kind, span: self.span });
        }
    }

    pub(in crate::pass) fn block(&mut self) -> BlockId {
        let terminator = Terminator { kind: TerminatorKind::Unreachable, span: self.span };
        self.function.blocks.push(Block { statements: Vec::new(), terminator, unroll: None });
        BlockId(u32::try_from(self.function.blocks.len() - 1).unwrap_or(u32::MAX))
    }

    pub(in crate::pass) fn terminate(&mut self, kind: TerminatorKind) {
        if let Some(block) = self.function.blocks.get_mut(self.current.index()) {
            block.terminator = Terminator { kind, span: self.span };
        }
    }
}
