//! Control flow: branches, loops, `switch`, short circuits.

use super::{Loop, Lowering};
use crate::builtins::Intrinsic;
use crate::ir::{BinaryOp, BlockId, CastKind, Const, LocalId, Operand, Rvalue, TerminatorKind, UnaryOp};
use crate::source::Span;
use crate::typed::{Expr, ExprKind, Stmt, VariableId};
use crate::types::{Int, Type, TypeId, TypeTable};

/// The bounds of a `for`.
pub(super) struct Range<'a> {
    /// The first value.
    pub from: &'a Expr,
    /// One past the last.
    pub to: &'a Expr,
    /// None for 1.
    pub step: Option<&'a Expr>,
}

impl Lowering<'_> {
    /// Ends the block: to `then` when the condition holds, else to `otherwise`. `&&`, `||` and `!` become control flow.
    pub(super) fn branch(&mut self, condition: &Expr, then: BlockId, otherwise: BlockId) {
        match &condition.kind {
            ExprKind::And(a, b) => {
                let more = self.builder.new_block(b.span);
                self.branch(a, more, otherwise);
                self.builder.switch_to(more);
                self.branch(b, then, otherwise);
            }
            ExprKind::Or(a, b) => {
                let more = self.builder.new_block(b.span);
                self.branch(a, then, more);
                self.builder.switch_to(more);
                self.branch(b, then, otherwise);
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.branch(a, otherwise, then),
            _ => {
                let operand = self.value(condition);
                self.builder.terminate(TerminatorKind::Branch { condition: operand, then, otherwise }, condition.span);
            }
        }
    }

    /// `dst = a || b` when `is_or`, else `dst = a && b`.
    pub(super) fn short_circuit(&mut self, dst: LocalId, a: &Expr, b: &Expr, is_or: bool, span: Span) {
        let known = self.builder.new_block(span);
        let more = self.builder.new_block(b.span);
        let end = self.builder.new_block(span);
        let (then, otherwise) = if is_or { (known, more) } else { (more, known) };
        self.branch(a, then, otherwise);
        self.builder.switch_to(known);
        self.set(dst, Rvalue::Use(Const::bool(is_or).into()), span);
        self.builder.terminate(TerminatorKind::Goto(end), span);
        self.builder.switch_to(more);
        self.assign_to(dst, b);
        self.builder.terminate(TerminatorKind::Goto(end), span);
        self.builder.switch_to(end);
    }

    /// `if` as an expression; without a destination, for its effect.
    pub(super) fn if_expression(&mut self, dst: Option<LocalId>, condition: &Expr, then: &Expr, otherwise: &Expr, span: Span) {
        if let Some(dst) = dst
            && self.is_free(then)
            && self.is_free(otherwise)
        {
            let condition = self.value(condition);
            let then = self.value(then);
            let value = Rvalue::Select(condition, then, self.value(otherwise));
            return self.set(dst, value, span);
        }
        let arms = [then, otherwise].map(|arm| (arm, self.builder.new_block(arm.span)));
        let end = self.builder.new_block(span);
        let [(_, then_block), (_, else_block)] = arms;
        self.branch(condition, then_block, else_block);
        for (arm, block) in arms {
            self.builder.switch_to(block);
            match dst {
                Some(dst) => self.assign_to(dst, arm),
                None => self.effect(arm),
            }
            self.builder.terminate(TerminatorKind::Goto(end), span);
        }
        self.builder.switch_to(end);
    }

    /// A scalar that costs nothing to have: a constant or a register.
    fn is_free(&self, expression: &Expr) -> bool {
        let scalar = !matches!(self.types.get(expression.ty), Type::Struct(_) | Type::Array { .. } | Type::Str | Type::Void);
        scalar
            && match &expression.kind {
                ExprKind::Const(_) => true,
                ExprKind::Read(place, _) => self.register(place).is_some(),
                _ => false,
            }
    }

    pub(super) fn if_statement(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt], span: Span) {
        let then_block = self.builder.new_block(span);
        let end = self.builder.new_block(span);
        let else_block = if otherwise.is_empty() { end } else { self.builder.new_block(span) };
        self.branch(condition, then_block, else_block);
        self.arm(then_block, then, end, span);
        if !otherwise.is_empty() {
            self.arm(else_block, otherwise, end, span);
        }
        self.builder.switch_to(end);
    }

    fn arm(&mut self, block: BlockId, body: &[Stmt], end: BlockId, span: Span) {
        self.builder.switch_to(block);
        self.statements(body);
        self.builder.terminate(TerminatorKind::Goto(end), span);
    }

    pub(super) fn switch(&mut self, value: &Expr, cases: &[(Vec<u64>, Vec<Stmt>)], default: &[Stmt], span: Span) {
        let operand = self.value(value);
        let end = self.builder.new_block(span);
        let otherwise = if default.is_empty() { end } else { self.builder.new_block(span) };
        let mut targets = Vec::new();
        let mut blocks = Vec::new();
        for (patterns, _) in cases {
            let block = self.builder.new_block(span);
            blocks.push(block);
            targets.extend(patterns.iter().map(|pattern| (*pattern, block)));
        }
        self.builder.terminate(TerminatorKind::Switch { value: operand, cases: targets, default: otherwise }, value.span);
        for ((_, body), block) in cases.iter().zip(blocks) {
            self.arm(block, body, end, span);
        }
        if !default.is_empty() {
            self.arm(otherwise, default, end, span);
        }
        self.builder.switch_to(end);
    }

    pub(super) fn while_loop(&mut self, condition: &Expr, body: &[Stmt], unroll: Option<u32>, span: Span) {
        let header = self.builder.new_block(span);
        self.builder.set_unroll(header, unroll);
        let body_block = self.builder.new_block(span);
        let exit = self.builder.new_block(span);
        self.builder.terminate(TerminatorKind::Goto(header), span);
        self.builder.switch_to(header);
        if matches!(&condition.kind, ExprKind::Const(constant) if constant.as_bits() == Some(1)) {
            // `loop`: no way out but `break`, which is what the checks for returns and assignments must see
            self.builder.terminate(TerminatorKind::Goto(body_block), condition.span);
        } else {
            self.branch(condition, body_block, exit);
        }
        self.loop_body(body_block, body, Loop { next: header, exit }, span);
        self.builder.switch_to(exit);
    }

    fn loop_body(&mut self, block: BlockId, body: &[Stmt], around: Loop, span: Span) {
        self.builder.switch_to(block);
        self.loops.push(around);
        self.statements(body);
        self.loops.pop();
        self.builder.terminate(TerminatorKind::Goto(around.next), span);
    }

    /// Nothing overflows at the end of the range: `v + 1` is only computed when `v < to`, and `v + step` only when more than `step`
    /// is left to the end.
    pub(super) fn for_loop(&mut self, variable: VariableId, range: &Range<'_>, body: &[Stmt], unroll: Option<u32>, span: Span) {
        let ty = self.variable_type(variable);
        let in_memory = self.is_in_memory(variable);
        // a variable whose address is taken gets its value from a counter that no one else can reach
        let counter = if in_memory { self.builder.temporary(ty, span) } else { Self::local(variable) };
        let start = self.value(range.from);
        let to = self.kept(range.to);
        let step = range.step.map(|step| self.kept(step));
        self.set(counter, Rvalue::Use(start), range.from.span);

        let body_block = self.builder.new_block(span);
        let next = self.builder.new_block(span);
        let exit = self.builder.new_block(span);
        let plain = match &step {
            None => true,
            Some(step) => self.types.as_int(ty).is_some_and(|int| cannot_overflow(int, &to, step)),
        };
        let step = step.unwrap_or_else(|| Const::bits(ty, 1).into());
        if plain {
            let header = self.builder.new_block(span);
            self.builder.set_unroll(header, unroll);
            self.builder.terminate(TerminatorKind::Goto(header), span);
            self.builder.switch_to(header);
            self.branch_if(BinaryOp::Lt, counter.into(), to, body_block, exit, range.to.span);
            self.builder.switch_to(next);
            self.advance(counter, step, header, span);
        } else if !matches!(step, Operand::Const(_)) {
            self.counted((counter, ty), to, step, Loop { next, exit }, body_block, unroll, span);
        } else {
            self.builder.set_unroll(body_block, unroll);
            let unsigned = self.types.as_int(ty).map_or(ty, |int| TypeTable::int(unsigned(int)));
            let wide_step = self.cast_int(step.clone(), ty, unsigned, span);
            self.branch_if(BinaryOp::Lt, counter.into(), to.clone(), body_block, exit, range.to.span);
            self.builder.switch_to(next);
            let left = Rvalue::Intrinsic(Intrinsic::WrappingSub, vec![to, counter.into()]);
            let left = self.builder.assign(ty, left, span);
            let left = self.cast_int(left.into(), ty, unsigned, span);
            let more = self.builder.new_block(span);
            self.branch_if(BinaryOp::Gt, left, wide_step, more, exit, span);
            self.builder.switch_to(more);
            self.advance(counter, step, body_block, span);
        }
        self.builder.switch_to(body_block);
        if in_memory {
            self.store_variable(variable, counter.into(), span);
        }
        self.loop_body(body_block, body, Loop { next, exit }, span);
        self.builder.switch_to(exit);
    }

    /// A loop whose step is a variable: how often it goes on is computed before it, so that back ends can unroll it, as they do not
    /// know that the step is positive.
    #[allow(clippy::too_many_arguments, reason = "all of them are the loop")]
    fn counted(
        &mut self,
        (counter, ty): (LocalId, TypeId),
        to: Operand,
        step: Operand,
        around: Loop,
        body: BlockId,
        unroll: Option<u32>,
        span: Span,
    ) {
        let unsigned = self.types.as_int(ty).map_or(ty, |int| TypeTable::int(unsigned(int)));
        let one: Operand = Const::bits(unsigned, 1).into();
        let before = self.builder.new_block(span);
        self.branch_if(BinaryOp::Lt, counter.into(), to.clone(), before, around.exit, span);
        self.builder.switch_to(before);
        let left = self.builder.assign(ty, Rvalue::Intrinsic(Intrinsic::WrappingSub, vec![to, counter.into()]), span);
        let left = self.cast_int(left.into(), ty, unsigned, span);
        let left = self.builder.assign(unsigned, Rvalue::Binary(BinaryOp::Sub, left, one.clone()), span);
        let wide_step = self.cast_int(step.clone(), ty, unsigned, span);
        let more = self.builder.temporary(unsigned, span);
        self.set(more, Rvalue::Binary(BinaryOp::Div, left.into(), wide_step), span);
        self.builder.set_unroll(body, unroll);
        self.builder.terminate(TerminatorKind::Goto(body), span);

        self.builder.switch_to(around.next);
        let on = self.builder.new_block(span);
        self.branch_if(BinaryOp::Ne, more.into(), Const::bits(unsigned, 0).into(), on, around.exit, span);
        self.builder.switch_to(on);
        self.set(more, Rvalue::Binary(BinaryOp::Sub, more.into(), one), span);
        self.advance(counter, step, body, span);
    }

    /// A value that stays what it is while variables change.
    fn kept(&mut self, expression: &Expr) -> Operand {
        match &expression.kind {
            ExprKind::Const(constant) => constant.clone().into(),
            _ => self.value_in_temporary(expression),
        }
    }

    fn advance(&mut self, counter: LocalId, step: Operand, to: BlockId, span: Span) {
        self.set(counter, Rvalue::Binary(BinaryOp::Add, counter.into(), step), span);
        self.builder.terminate(TerminatorKind::Goto(to), span);
    }

    fn branch_if(&mut self, op: BinaryOp, a: Operand, b: Operand, then: BlockId, otherwise: BlockId, span: Span) {
        let condition = self.builder.assign(TypeTable::BOOL, Rvalue::Binary(op, a, b), span).into();
        self.builder.terminate(TerminatorKind::Branch { condition, then, otherwise }, span);
    }

    fn cast_int(&mut self, value: Operand, from: TypeId, to: TypeId, span: Span) -> Operand {
        if from == to { value } else { self.builder.assign(to, Rvalue::Cast(CastKind::Int, value), span).into() }
    }
}

/// Whether the last value before a constant bound, plus the constant step, is still of the type.
fn cannot_overflow(int: Int, to: &Operand, step: &Operand) -> bool {
    let value = |operand: &Operand| operand.as_bits().map(|bits| int.value(bits));
    match (value(to), value(step)) {
        (Some(to), Some(step)) => step > 0 && to - 1 + step <= int.range().1,
        _ => false,
    }
}

const fn unsigned(int: Int) -> Int {
    match int {
        Int::I8 | Int::U8 => Int::U8,
        Int::I16 | Int::U16 => Int::U16,
        Int::I32 | Int::U32 => Int::U32,
        Int::I64 | Int::U64 => Int::U64,
    }
}
