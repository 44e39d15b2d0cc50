//! Expressions that do something: calls, launches, atomics, barriers, runtime calls.

use super::Lowering;
use crate::ir::{Access, Const, Launch, LocalId, Operand, Rvalue, StatementKind, TerminatorKind};
use crate::source::Span;
use crate::typed::{self, Expr, ExprKind};
use crate::types::TypeTable;

impl Lowering<'_> {
    /// Evaluates an expression for its effect.
    pub(super) fn effect(&mut self, expression: &Expr) {
        let span = expression.span;
        match &expression.kind {
            ExprKind::If(condition, then, otherwise) => self.if_expression(None, condition, then, otherwise, span),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let more = self.builder.new_block(b.span);
                let end = self.builder.new_block(span);
                let is_and = matches!(expression.kind, ExprKind::And(..));
                let (then, otherwise) = if is_and { (more, end) } else { (end, more) };
                self.branch(a, then, otherwise);
                self.builder.switch_to(more);
                self.effect(b);
                self.builder.terminate(TerminatorKind::Goto(end), span);
                self.builder.switch_to(end);
            }
            kind if kind.is_action() => self.perform(None, expression),
            _ => {
                self.value(expression);
            }
        }
    }

    /// One statement for an expression that is one, with a place for its result where someone wants it.
    pub(super) fn perform(&mut self, dst: Option<LocalId>, expression: &Expr) {
        let span = expression.span;
        let kind = match &expression.kind {
            ExprKind::Call(function, args) => StatementKind::Call { dst, function: *function, args: self.values(args) },
            ExprKind::Launch(launch) => StatementKind::Launch(Box::new(self.launch(dst, launch))),
            ExprKind::Atomic(op, scope, args) => {
                let mut operands = self.values(args).into_iter();
                let Some(pointer) = operands.next() else { return };
                StatementKind::Atomic { dst, op: *op, scope: *scope, pointer, operands: operands.collect() }
            }
            ExprKind::Barrier(op, operand) => {
                let operand = operand.as_ref().map(|operand| self.value(operand));
                StatementKind::Barrier { dst, op: *op, operand }
            }
            ExprKind::Store(hint, target, value) => {
                let place = self.place(target);
                let value = self.value(value);
                StatementKind::Store { place, value, access: Access::Hinted(*hint) }
            }
            ExprKind::Fence(scope) => StatementKind::Fence { scope: *scope },
            ExprKind::Warp(op, args) => StatementKind::Warp { dst, op: *op, args: self.values(args) },
            ExprKind::Texture(op, args) => {
                let mut args = self.values(args);
                if op.is_write() {
                    // the value stands behind the coordinates in the IR
                    let places = args.len().min(2 + op.coordinates());
                    if let Some(before) = args.get_mut(..places) {
                        before.rotate_left(1);
                    }
                }
                // a read has a result even where no one wants it
                let dst =
                    if op.is_write() { None } else { Some(dst.unwrap_or_else(|| self.builder.temporary(expression.ty, span))) };
                StatementKind::Texture { dst, op: *op, args }
            }
            ExprKind::Parts(function, args) => return self.parts(dst, *function, args, span),
            ExprKind::Runtime(call, args) if call.is_end() => {
                let args = self.values(args);
                self.builder.push(StatementKind::Runtime { dst, call: *call, args }, span);
                return self.builder.terminate(TerminatorKind::Unreachable, span);
            }
            ExprKind::Runtime(call, args) => StatementKind::Runtime { dst, call: *call, args: self.values(args) },
            ExprKind::Printf(format, args) => StatementKind::Printf { dst, format: format.clone(), args: self.values(args) },
            ExprKind::Assert { condition, text, format, args } => {
                return self.assert(condition, text, format, args, span);
            }
            ExprKind::HostAllocate(element, count) => {
                let count = self.value(count);
                let dst = dst.unwrap_or_else(|| self.builder.temporary(expression.ty, span));
                StatementKind::HostAllocate { dst, element: *element, count }
            }
            // everything else is a value, which `assign_to` knows how to compute
            _ => return,
        };
        self.builder.push(kind, span);
    }

    /// The message's arguments are evaluated only when the assertion fails.
    fn assert(&mut self, condition: &Expr, text: &str, format: &str, args: &[Expr], span: Span) {
        let (text, format) = (text.to_owned(), format.to_owned());
        if args.is_empty() {
            let condition = self.value(condition);
            self.builder.push(StatementKind::Assert { condition, text, format, args: Vec::new() }, span);
            return;
        }
        let failed = self.builder.new_block(span);
        let end = self.builder.new_block(span);
        self.branch(condition, end, failed);
        self.builder.switch_to(failed);
        let args = self.values(args);
        self.builder.push(StatementKind::Assert { condition: Const::bool(false).into(), text, format, args }, span);
        self.builder.terminate(TerminatorKind::Goto(end), span);
        self.builder.switch_to(end);
    }

    fn launch(&mut self, dst: Option<LocalId>, launch: &typed::Launch) -> Launch {
        let grid = self.extent(&launch.grid);
        let block = self.extent(&launch.block);
        let shared = launch.shared.as_ref().map_or_else(|| Const::u32(0).into(), |shared| self.value(shared));
        let null = || Const::bits(TypeTable::STREAM, u64::from(crate::builtins::STREAM_DEFAULT)).into();
        let stream = launch.stream.as_ref().map_or_else(null, |stream| self.value(stream));
        Launch { dst, kernel: launch.kernel, grid, block, shared, stream, args: self.values(&launch.args), hints: launch.hints }
    }

    /// x, y and z of a grid or block; a number is x, with 1 for the others.
    fn extent(&mut self, extent: &Expr) -> [Operand; 3] {
        let one = || Operand::Const(Const::u32(1));
        if extent.ty != TypeTable::DIM3 {
            return [self.value(extent), one(), one()];
        }
        if let ExprKind::Aggregate(elements, order) = &extent.kind
            && let Ok(values) = <[Operand; 3]>::try_from(self.elements(elements, order))
        {
            return values;
        }
        let value = self.value(extent);
        if let Operand::Const(constant) = &value
            && let Some(lanes) = constant_lanes(constant)
        {
            return lanes;
        }
        [0, 1, 2].map(|lane| {
            let extract = Rvalue::Extract(value.clone(), lane);
            self.builder.assign(TypeTable::U32, extract, extent.span).into()
        })
    }
}

/// The three numbers of a constant `dim3`.
fn constant_lanes(constant: &Const) -> Option<[Operand; 3]> {
    use crate::ir::ConstValue;
    let lane = |value: &ConstValue| Operand::Const(Const { ty: TypeTable::U32, value: value.clone() });
    match &constant.value {
        ConstValue::Zero => Some([lane(&ConstValue::Bits(0)), lane(&ConstValue::Bits(0)), lane(&ConstValue::Bits(0))]),
        ConstValue::Aggregate(values) => match values.as_slice() {
            [x, y, z] => Some([lane(x), lane(y), lane(z)]),
            _ => None,
        },
        _ => None,
    }
}
