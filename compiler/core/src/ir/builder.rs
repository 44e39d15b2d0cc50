//! Making a function block by block.

use super::{
    Block, BlockId, Function, FunctionKind, Inline, Local, LocalId, Rvalue, Statement, StatementKind, Terminator,
    TerminatorKind,
};
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

/// Appends statements to a current block. A block that is left without a terminator ends in `unreachable`.
#[derive(Debug)]
pub struct FunctionBuilder {
    function: Function,
    current: BlockId,
    ended: Vec<bool>,
}

impl FunctionBuilder {
    /// A function with an empty entry block, which is current.
    #[must_use]
    pub fn new(name: String, symbol: String, kind: FunctionKind, return_type: TypeId, span: Span) -> Self {
        let function = Function {
            name,
            symbol,
            kind,
            param_count: 0,
            return_type,
            locals: Vec::new(),
            blocks: Vec::new(),
            launch_bounds: None,
            cluster: None,
            inline: Inline::Auto,
            exported: false,
            span,
        };
        let mut builder = Self { function, current: BlockId(0), ended: Vec::new() };
        builder.new_block(span);
        builder
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The function so far, to set its attributes.
    pub fn function_mut(&mut self) -> &mut Function {
        &mut self.function
    }

    /// Adds a parameter; all parameters come before any other local.
    pub fn param(&mut self, name: &str, ty: TypeId, restrict: bool, span: Span) -> LocalId {
        self.function.param_count += 1;
        self.add_local(Local { name: name.to_owned(), ty, restrict, span })
    }

    /// Adds a named variable.
    pub fn variable(&mut self, name: &str, ty: TypeId, span: Span) -> LocalId {
        self.add_local(Local { name: name.to_owned(), ty, restrict: false, span })
    }

    /// Adds an unnamed local.
    pub fn temporary(&mut self, ty: TypeId, span: Span) -> LocalId {
        self.variable("", ty, span)
    }

    fn add_local(&mut self, local: Local) -> LocalId {
        self.function.locals.push(local);
        LocalId(u32::try_from(self.function.locals.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds an empty block; it is not made current.
    pub fn new_block(&mut self, span: Span) -> BlockId {
        let terminator = Terminator { kind: TerminatorKind::Unreachable, span };
        self.function.blocks.push(Block { statements: Vec::new(), terminator, unroll: None });
        self.ended.push(false);
        BlockId(u32::try_from(self.function.blocks.len() - 1).unwrap_or(u32::MAX))
    }

    /// Marks a loop's header with what `@unroll` asks for.
    pub fn set_unroll(&mut self, header: BlockId, unroll: Option<u32>) {
        if let Some(block) = self.function.blocks.get_mut(header.index()) {
            block.unroll = unroll;
        }
    }

    /// Statements go into this block from now on.
    pub fn switch_to(&mut self, block: BlockId) {
        self.current = block;
    }

    /// The current block.
    #[must_use]
    pub const fn current(&self) -> BlockId {
        self.current
    }

    /// Whether the current block has its terminator; what is pushed then is dropped as unreachable.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.ended.get(self.current.index()).copied().unwrap_or(true)
    }

    /// Appends a statement.
    pub fn push(&mut self, kind: StatementKind, span: Span) {
        if self.is_ended() {
            return;
        }
        if let Some(block) = self.function.blocks.get_mut(self.current.index()) {
            block.statements.push(Statement { kind, span });
        }
    }

    /// `dst = value` into a new temporary of this type.
    pub fn assign(&mut self, ty: TypeId, value: Rvalue, span: Span) -> LocalId {
        let dst = self.temporary(ty, span);
        self.push(StatementKind::Assign { dst, value }, span);
        dst
    }

    /// Ends the current block, unless it has ended.
    pub fn terminate(&mut self, kind: TerminatorKind, span: Span) {
        if self.is_ended() {
            return;
        }
        if let (Some(block), Some(ended)) =
            (self.function.blocks.get_mut(self.current.index()), self.ended.get_mut(self.current.index()))
        {
            block.terminator = Terminator { kind, span };
            *ended = true;
        }
    }

    /// The function. A body that runs off its end returns when the function has no result.
    #[must_use]
    pub fn finish(mut self) -> Function {
        if self.function.return_type == TypeTable::VOID {
            self.terminate(TerminatorKind::Return(None), self.function.span);
        }
        self.function
    }
}
