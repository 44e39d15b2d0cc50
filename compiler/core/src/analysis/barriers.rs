//! Writes from which no barrier of the block separates a statement: what other threads of the block wrote there, a thread need not see.

use super::dataflow::{Bits, Meet, forward};
use super::effects::{Effect, Effects};
use super::provenance::Provenance;
use super::values::Point;
use super::{Body, Program};
use crate::builtins::BarrierOp;
use crate::ir::{FunctionId, StatementKind};
use std::collections::HashMap;

/// Functions in which a barrier stands, or which call such a function.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    has: Vec<bool>,
}

impl Barriers {
    /// Looks at all functions.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        Self { has: program.leading_to(|_, statement| is_own(statement)) }
    }

    /// Whether a function has a barrier, itself or in what it calls.
    #[must_use]
    pub fn has(&self, function: FunctionId) -> bool {
        self.has.get(function.index()).copied().unwrap_or(false)
    }

    /// Whether a statement is, or may lead to, a barrier of the block.
    #[must_use]
    pub fn is_barrier(&self, statement: &StatementKind) -> bool {
        match statement {
            StatementKind::Call { function, .. } => self.has(*function),
            _ => is_own(statement),
        }
    }
}

/// Whether a statement is itself a barrier of the block. One of the warp counts: a block may be no larger. One of the cluster does, where it
/// waits.
const fn is_own(statement: &StatementKind) -> bool {
    use BarrierOp::{Block, BlockAnd, BlockCount, BlockOr, ClusterWait, Warp};
    matches!(statement, StatementKind::Barrier { op: Block | BlockCount | BlockAnd | BlockOr | Warp | ClusterWait, .. })
}

/// A write with its place.
#[derive(Clone, Debug)]
pub struct Write {
    /// The statement.
    pub point: Point,
    /// What it does.
    pub effect: Effect,
}

/// The writes of one function that may come before a point without a barrier between.
#[derive(Clone, Debug, Default)]
pub struct Unseparated {
    writes: Vec<Write>,
    /// By place: which of the writes are there.
    places: HashMap<Point, Vec<usize>>,
    starts: Vec<Bits>,
}

impl Unseparated {
    /// Looks at a function.
    #[must_use]
    pub fn new(
        program: &Program<'_>,
        provenance: &Provenance,
        effects: &Effects,
        barriers: &Barriers,
        body: &Body<'_>,
    ) -> Self {
        let mut unseparated = Self::default();
        for (point, _) in body.statements() {
            for effect in effects.at(program, provenance, body, point) {
                if effect.kind.writes() && !effect.by_child {
                    unseparated.places.entry(point).or_default().push(unseparated.writes.len());
                    unseparated.writes.push(Write { point, effect });
                }
            }
        }
        let count = unseparated.writes.len();
        unseparated.starts = forward(
            body,
            count,
            Meet::Any,
            |block, set| {
                for (point, _) in body.block_statements(block) {
                    unseparated.step(barriers, body, point, set);
                }
            },
            |_, _, _| {},
        );
        unseparated
    }

    fn step(&self, barriers: &Barriers, body: &Body<'_>, point: Point, set: &mut Bits) {
        if body.statement(point).is_some_and(|statement| barriers.is_barrier(&statement.kind)) {
            set.clear();
        }
        self.places.get(&point).into_iter().flatten().for_each(|member| set.insert(*member));
    }

    /// The writes before a point.
    #[must_use]
    pub fn before(&self, barriers: &Barriers, body: &Body<'_>, point: Point) -> Vec<&Write> {
        let Some(mut set) = self.starts.get(point.block.index()).cloned() else { return Vec::new() };
        for (earlier, _) in body.block_statements(point.block).take(point.statement) {
            self.step(barriers, body, earlier, &mut set);
        }
        set.iter().filter_map(|member| self.writes.get(member)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::testing::module;

    /// How many writes come unseparated before the first launch.
    fn before_launch(text: &str) -> usize {
        let module = module(&format!(
            "kernel c() {{}} fn wait() {{ __syncthreads(); }}
             fn inner(n: i32) {{ __syncthreads(); if n > 0 {{ middle(n - 1); }} }}
             fn middle(n: i32) {{ if n > 9 {{ outer(n - 1); }} inner(n); }}
             fn outer(n: i32) {{ if n > 0 {{ middle(n - 1); }} }}
             kernel k(x: *global i32, n: i32) {{ {text} }}"
        ));
        let program = Program::new(&module);
        let provenance = Provenance::new(&program);
        let effects = Effects::new(&program, &provenance);
        let barriers = Barriers::new(&program);
        let body = program.bodies.iter().find(|body| body.function.name == "k").unwrap();
        let unseparated = Unseparated::new(&program, &provenance, &effects, &barriers, body);
        let launch = body.statements().find(|(_, s)| matches!(s.kind, StatementKind::Launch(_))).unwrap().0;
        unseparated.before(&barriers, body, launch).len()
    }

    #[test]
    fn a_barrier_separates() {
        assert_eq!(before_launch("x[0] = 1; c<<<1, 1>>>();"), 1);
        assert_eq!(before_launch("x[0] = 1; __syncthreads(); c<<<1, 1>>>();"), 0);
        assert_eq!(before_launch("x[0] = 1; wait(); x[1] = 1; c<<<1, 1>>>();"), 1);
        assert_eq!(before_launch("x[0] = 1; outer(n); c<<<1, 1>>>();"), 0, "through functions that call each other");
    }

    #[test]
    fn one_way_without_a_barrier_is_enough() {
        assert_eq!(before_launch("x[0] = 1; if n > 3 { __syncthreads(); } c<<<1, 1>>>();"), 1);
        assert_eq!(before_launch("for i in 0..n { c<<<1, 1>>>(); x[i] = 1; }"), 1);
        assert_eq!(before_launch("for i in 0..n { c<<<1, 1>>>(); x[i] = 1; __syncthreads(); }"), 0);
    }
}
