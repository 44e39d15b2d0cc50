//! Which threads of a block come to a block of code: all, one, or some.

use super::Body;
use super::control::Decision;
use super::index::Indices;
use super::values::Point;
use crate::ir::{BinaryOp, BlockId, Module, Operand, Rvalue, StatementKind, TerminatorKind, UnaryOp};

/// The threads of a block that come somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comers {
    /// Nothing that varies with the thread keeps any away.
    All,
    /// Some.
    Some,
    /// One a block, along x: a comparison with the thread's number lets one through.
    One,
}

/// By block of code, who comes there.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    list: Vec<Comers>,
}

impl Guards {
    /// Looks at the comparisons on which blocks depend. A helper function is looked at by itself: its caller's guards count, too, where it is called.
    #[must_use]
    pub fn new(module: &Module, body: &Body<'_>, indices: &Indices) -> Self {
        let size = body.function.blocks.len();
        let mut list = vec![Comers::All; size];
        let mut decided: Vec<Vec<Comers>> = Vec::with_capacity(size);
        for block in 0..size {
            let block = BlockId(u32::try_from(block).unwrap_or(u32::MAX));
            let edges = body.control.successors.get(block.index()).map_or(0, Vec::len);
            let edges = u32::try_from(edges).unwrap_or(0);
            decided.push((0..edges).map(|edge| decision(module, body, indices, Decision { block, edge })).collect());
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in &body.control.order {
                let decisions = body.control.decisions.get(block.index()).map_or(&[][..], Vec::as_slice);
                // who comes to a loop is decided before its first round
                let outside = |d: &&Decision| !(body.control.is_header(*block) && body.control.is_in_loop(d.block, *block));
                let found = decisions.iter().filter(outside).map(|d| {
                    let own = decided.get(d.block.index()).and_then(|edges| edges.get(d.edge as usize)).copied();
                    let around = list.get(d.block.index()).copied();
                    own.max(around).unwrap_or(Comers::All)
                });
                // a block that several decisions lead to runs when any of them does
                let found = found.min().unwrap_or(Comers::All);
                if let Some(entry) = list.get_mut(block.index())
                    && *entry < found
                {
                    *entry = found;
                    changed = true;
                }
            }
        }
        Self { list }
    }

    /// Who comes to a block.
    #[must_use]
    pub fn of(&self, block: BlockId) -> Comers {
        self.list.get(block.index()).copied().unwrap_or(Comers::All)
    }
}

/// Whom one way out of a branch lets through.
fn decision(module: &Module, body: &Body<'_>, indices: &Indices, decision: Decision) -> Comers {
    let Some((point, terminator)) = body.terminator(decision.block) else { return Comers::All };
    match &terminator.kind {
        TerminatorKind::Branch { condition, .. } => condition_lets(module, body, indices, point, condition, decision.edge == 0),
        TerminatorKind::Switch { value, cases, .. } => {
            let index = indices.operand(module, body, point, value);
            if !index.varies_by_thread() {
                Comers::All
            } else if index.is_distinct() && (decision.edge as usize) < cases.len() {
                Comers::One
            } else {
                Comers::Some
            }
        }
        _ => Comers::All,
    }
}

/// Whom a condition lets through where it is `holds`.
fn condition_lets(
    module: &Module,
    body: &Body<'_>,
    indices: &Indices,
    mut at: Point,
    condition: &Operand,
    mut holds: bool,
) -> Comers {
    let mut operand = condition.clone();
    // through names and negations, of which there are no more than values
    for _ in 0..body.values.len().saturating_add(1) {
        let Some((point, statement)) = body.read(at, &operand).and_then(|v| body.values.statement(body.function, v)) else {
            return Comers::All;
        };
        at = point;
        let StatementKind::Assign { value, .. } = &statement.kind else { return Comers::All };
        match value {
            Rvalue::Use(inner) => operand = inner.clone(),
            Rvalue::Unary(UnaryOp::Not, inner) => {
                holds = !holds;
                operand = inner.clone();
            }
            Rvalue::Binary(op, a, b) => {
                let (a, b) = (indices.operand(module, body, point, a), indices.operand(module, body, point, b));
                if !a.varies_by_thread() && !b.varies_by_thread() {
                    return Comers::All;
                }
                let equal = matches!((op, holds), (BinaryOp::Eq, true) | (BinaryOp::Ne, false));
                let difference = a.plus(b.negated());
                return if equal && difference.is_distinct() { Comers::One } else { Comers::Some };
            }
            _ => return Comers::All,
        }
    }
    Comers::All
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Program;
    use crate::analysis::constants::Constants;
    use crate::lower::testing::module;

    /// Who comes to each store through `x`, in order.
    fn comers(body: &str) -> Vec<Comers> {
        let module = module(&format!("kernel k(x: *global i32, n: i32) {{ let t = threadIdx.x as i32; {body} }}"));
        let program = Program::new(&module);
        let body = &program.bodies[0];
        let constants = Constants::new(&module, body);
        let indices = Indices::new(&module, body, &constants);
        let guards = Guards::new(&module, body, &indices);
        let is_store = |kind: &StatementKind| matches!(kind, StatementKind::Store { .. });
        let mut points: Vec<(u32, Comers)> =
            body.statements().filter(|(_, s)| is_store(&s.kind)).map(|(p, s)| (s.span.start, guards.of(p.block))).collect();
        points.sort_by_key(|(start, _)| *start);
        points.into_iter().map(|(_, comers)| comers).collect()
    }

    #[test]
    fn one_thread_is_chosen_by_its_number() {
        use Comers::{All, One, Some};
        assert_eq!(comers("if t == 0 { x[0] = 1; } else { x[1] = 1; } x[2] = 1;"), [One, Some, All]);
        assert_eq!(comers("if t == 0 && n > 3 { x[0] = 1; }"), [One]);
        assert_eq!(comers("if t != 0 { return; } x[0] = 1;"), [One]);
        assert_eq!(comers("let first = t == n; if !first { x[0] = 1; } else { x[1] = 1; }"), [Some, One]);
        assert_eq!(comers("if t % 32 == 0 { x[0] = 1; } if t < n { x[1] = 1; } if n > 3 { x[2] = 1; }"), [Some, Some, All]);
        assert_eq!(comers("for i in 0..n { if i == t { x[i] = 1; } }"), [One]);
    }
}
