//! Outstanding children: which launches may have been made, and not be known to be over, when control comes to a statement.
//!
//! Nothing that a thread does ends a child (R3): a launch stays outstanding until the grid ends, but where its result says that it failed. Copies and
//! fills of the runtime, and calls of functions that launch, count as launches. A `cudaDeviceSynchronize` in device code, which only CDP1 has, ends
//! them all, itself or in a function that is called. Since one thread may wait for all of its block, a barrier of the block does so, too, in a
//! program that waits anywhere.

use super::constants::Constants;
use super::dataflow::{Bits, Meet, forward};
use super::effects::{Effect, Effects};
use super::provenance::Provenance;
use super::values::{Definition, Point, ValueId};
use super::{Body, Program};
use crate::builtins::{BarrierOp, RuntimeFn, STREAM_TAIL_LAUNCH};
use crate::ir::{BinaryOp, BlockId, Operand, Rvalue, StatementKind, TerminatorKind, UnaryOp};
use crate::source::Span;
use crate::types::TypeTable;
use std::collections::{HashMap, HashSet};

/// A statement that starts children, or operations in a stream.
#[derive(Clone, Debug)]
pub struct Start {
    /// Where.
    pub point: Point,
    /// The statement.
    pub span: Span,
    /// What it starts does this to memory.
    pub effects: Vec<Effect>,
    /// It starts only after the threads of the grid have ended: a launch into the tail stream.
    pub is_tail: bool,
    /// The error code that it gives.
    result: Option<ValueId>,
}

/// The outstanding children of one function.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    starts: Vec<Start>,
    /// By place: which of the starts is there.
    places: HashMap<Point, usize>,
    at: Vec<Bits>,
    /// Where all of them have ended.
    waits: HashSet<Point>,
}

/// Whether a statement waits for all children, or calls what does.
fn waits(program: &Program<'_>, statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Runtime { call: RuntimeFn::DeviceSynchronize, .. } => true,
        StatementKind::Call { function, .. } => program.waits.get(function.index()) == Some(&true),
        StatementKind::Barrier { op, .. } => *op != BarrierOp::Warp && program.waits.contains(&true),
        _ => false,
    }
}

impl Outstanding {
    /// Looks at a function.
    #[must_use]
    pub fn new(
        program: &Program<'_>,
        provenance: &Provenance,
        effects: &Effects,
        constants: &Constants,
        body: &Body<'_>,
    ) -> Self {
        let mut outstanding = Self::default();
        for (point, statement) in body.statements() {
            if waits(program, &statement.kind) {
                outstanding.waits.insert(point);
            }
            let is_start = match &statement.kind {
                StatementKind::Launch(_) => true,
                StatementKind::Call { .. } | StatementKind::Runtime { .. } => false,
                _ => continue,
            };
            let effects: Vec<Effect> =
                effects.at(program, provenance, body, point).into_iter().filter(|effect| effect.by_child).collect();
            if is_start || !effects.is_empty() {
                let is_tail = stream(&statement.kind)
                    .is_some_and(|stream| constants.operand(body, point, stream) == Some(u64::from(STREAM_TAIL_LAUNCH)));
                let result = body.values.made(point);
                outstanding.places.insert(point, outstanding.starts.len());
                outstanding.starts.push(Start { point, span: statement.span, effects, is_tail, result });
            }
        }
        outstanding.at = forward(
            body,
            outstanding.starts.len(),
            Meet::Any,
            |block, set| body.block_statements(block).for_each(|(point, _)| outstanding.step(point, set)),
            |block, edge, set| {
                for failed in outstanding.failed(body, block, edge) {
                    set.remove(failed);
                }
            },
        );
        outstanding
    }

    /// Every statement that starts something, in the order of blocks.
    #[must_use]
    pub fn starts(&self) -> &[Start] {
        &self.starts
    }

    /// Calls `see` for each statement of a block with what may be outstanding when control comes to it, itself not included: places in
    /// [`Outstanding::starts`].
    pub fn walk(&self, body: &Body<'_>, block: BlockId, mut see: impl FnMut(Point, &Bits)) {
        let mut set = self.at.get(block.index()).cloned().unwrap_or_default();
        for (point, _) in body.block_statements(block) {
            see(point, &set);
            self.step(point, &mut set);
        }
    }

    /// What may be outstanding when control comes to a point, itself not included.
    #[must_use]
    pub fn before(&self, body: &Body<'_>, point: Point) -> Vec<&Start> {
        let Some(mut set) = self.at.get(point.block.index()).cloned() else { return Vec::new() };
        for (earlier, _) in body.block_statements(point.block).take(point.statement) {
            self.step(earlier, &mut set);
        }
        set.iter().filter_map(|member| self.starts.get(member)).collect()
    }

    fn step(&self, point: Point, set: &mut Bits) {
        if self.waits.contains(&point) {
            set.clear();
        }
        if let Some(member) = self.places.get(&point) {
            set.insert(*member);
        }
    }

    /// The launches that have failed where a branch goes this way.
    fn failed(&self, body: &Body<'_>, block: BlockId, edge: usize) -> Vec<usize> {
        let Some((point, terminator)) = body.terminator(block) else { return Vec::new() };
        let TerminatorKind::Branch { condition, .. } = &terminator.kind else { return Vec::new() };
        let Some(error) = failure(body, point, condition, edge == 0) else { return Vec::new() };
        // the error is that of one of several calls: all of them that were made last have failed
        let mut found = Vec::new();
        let mut work = vec![error];
        let mut seen = Vec::new();
        while let Some(value) = work.pop() {
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            found.extend(
                self.starts.iter().enumerate().filter(|(_, start)| start.result == Some(value)).map(|(member, _)| member),
            );
            match body.values.definition(value) {
                Some(Definition::Merge { inputs, .. }) => work.extend(inputs.iter().map(|(_, input)| *input)),
                Some(Definition::Statement(at)) => {
                    if let Some(StatementKind::Assign { value: Rvalue::Use(operand), .. }) =
                        body.statement(*at).map(|s| &s.kind)
                    {
                        work.extend(body.read(*at, operand));
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// The stream that a statement starts something in.
#[must_use]
pub fn stream(statement: &StatementKind) -> Option<&Operand> {
    match statement {
        StatementKind::Launch(launch) => Some(&launch.stream),
        StatementKind::Runtime {
            call:
                RuntimeFn::MemcpyAsync
                | RuntimeFn::Memcpy2DAsync
                | RuntimeFn::Memcpy3DAsync
                | RuntimeFn::MemsetAsync
                | RuntimeFn::Memset2DAsync
                | RuntimeFn::Memset3DAsync,
            args,
            ..
        } => args.last(),
        _ => None,
    }
}

/// The error code that is no success where a condition is `holds`.
#[must_use]
pub fn failure(body: &Body<'_>, mut at: Point, condition: &Operand, mut holds: bool) -> Option<ValueId> {
    let mut operand = condition.clone();
    for _ in 0..body.values.len().saturating_add(1) {
        let (point, statement) = body.values.statement(body.function, body.read(at, &operand)?)?;
        at = point;
        let StatementKind::Assign { value, .. } = &statement.kind else { return None };
        match value {
            Rvalue::Use(inner) => operand = inner.clone(),
            Rvalue::Unary(UnaryOp::Not, inner) => {
                holds = !holds;
                operand = inner.clone();
            }
            Rvalue::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                let error = match (a.as_bits(), b.as_bits()) {
                    (None, Some(0)) => a,
                    (Some(0), None) => b,
                    _ => return None,
                };
                let is_error =
                    matches!(error, Operand::Local(local) if body.function.local_type(*local) == TypeTable::CUDA_ERROR);
                let fails = (*op == BinaryOp::Ne) == holds;
                return if fails && is_error { body.read(point, error) } else { None };
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::module;

    /// How many launches are outstanding at each call of `see`, in order of the source.
    fn outstanding(text: &str) -> Vec<usize> {
        let module = module(
            &format!(
            "// --cdp=1\n@noinline fn settle() {{ SETTLE }} kernel c(x: *global i32) {{ x[0] = 1; }} @noinline fn see() {{}}
             fn start(x: *global i32) -> cudaError_t {{ return c<<<1, 1>>>(x); }}
             kernel k(x: *global i32, n: i32) {{ {text} }}"
        )
            .replace("SETTLE", if text.contains("settle()") { "cudaDeviceSynchronize();" } else { "" }),
        );
        let program = Program::new(&module);
        let provenance = Provenance::new(&program);
        let effects = Effects::new(&program, &provenance);
        let body = program.bodies.iter().find(|body| body.function.name == "k").unwrap();
        let constants = Constants::new(&module, body);
        let outstanding = Outstanding::new(&program, &provenance, &effects, &constants, body);
        let see = module.functions().find(|(_, f)| f.name == "see").unwrap().0;
        let mut list: Vec<(u32, usize)> = body
            .statements()
            .filter(|(_, s)| matches!(s.kind, StatementKind::Call { function, .. } if function == see))
            .map(|(point, s)| (s.span.start, outstanding.before(body, point).len()))
            .collect();
        list.sort_unstable();
        list.into_iter().map(|(_, count)| count).collect()
    }

    #[test]
    fn nothing_but_failure_ends_a_child() {
        assert_eq!(outstanding("see(); c<<<1, 1>>>(x); see(); c<<<1, 1>>>(x); __syncthreads(); see();"), [0, 1, 2]);
        assert_eq!(
            outstanding("if c<<<1, 1>>>(x) != cudaSuccess { see(); return; } see();"),
            [0, 1],
            "where the launch has failed there is no child"
        );
        assert_eq!(
            outstanding("var e = cudaSuccess; if n > 3 { e = c<<<1, 1>>>(x); } if e == cudaSuccess { see(); } else { see(); }"),
            [1, 0]
        );
    }

    #[test]
    fn a_loop_s_child_is_there_in_the_next_round() {
        assert_eq!(outstanding("for i in 0..n { see(); c<<<1, 1>>>(x); } see();"), [1, 1]);
    }

    #[test]
    fn waiting_ends_them() {
        assert_eq!(outstanding("c<<<1, 1>>>(x); see(); cudaDeviceSynchronize(); see(); c<<<1, 1>>>(x); see();"), [1, 0, 1]);
        assert_eq!(outstanding("c<<<1, 1>>>(x); if n > 3 { cudaDeviceSynchronize(); } see(); __syncthreads(); see();"), [1, 0]);
        assert_eq!(outstanding("c<<<1, 1>>>(x); settle(); see();"), [0]);
    }

    #[test]
    fn helpers_and_copies_start_something_too() {
        assert_eq!(outstanding("start(x); see(); cudaMemsetAsync(x, 0, 4, 0); see();"), [1, 2]);
        assert_eq!(outstanding("if start(x) != cudaSuccess { see(); }"), [0]);
    }
}
