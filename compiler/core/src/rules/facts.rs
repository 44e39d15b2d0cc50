//! What rules look at: the analyses of a module, made once.

use crate::analysis::address::{Address, Root};
use crate::analysis::barriers::Barriers;
use crate::analysis::constants::Constants;
use crate::analysis::effects::{Effect, Effects};
use crate::analysis::extent::Threads;
use crate::analysis::guards::{Comers, Guards};
use crate::analysis::outstanding::Outstanding;
use crate::analysis::provenance::{Parts, Provenance};
use crate::analysis::uniformity::Uniformity;
use crate::analysis::values::{Point, ValueId};
use crate::analysis::{Body, Program};
use crate::builtins::{Cdp, Register};
use crate::ir::{FunctionId, Launch, Module, Operand, Rvalue, StatementKind};
use crate::source::Span;
use crate::types::Space;

/// The analyses of a module.
pub(super) struct Facts<'m> {
    /// What device code is compiled for: how it can go on with what children write.
    pub(super) cdp: Cdp,
    pub(super) program: Program<'m>,
    pub(super) uniformity: Uniformity,
    pub(super) provenance: Provenance,
    pub(super) effects: Effects,
    pub(super) barriers: Barriers,
    guards: Vec<Guards>,
    outstanding: Vec<Outstanding>,
    /// By function: whether it asks for the number of its thread.
    reads_numbers: Vec<bool>,
    none: Constants,
}

fn reads_number(kind: &StatementKind) -> bool {
    use Register::{LaneId, ThreadIdxX, ThreadIdxY, ThreadIdxZ};
    matches!(kind, StatementKind::Assign { value: Rvalue::Register(ThreadIdxX | ThreadIdxY | ThreadIdxZ | LaneId), .. })
}

impl<'m> Facts<'m> {
    pub(super) fn new(module: &'m Module, cdp: Cdp) -> Self {
        let program = Program::new(module);
        let provenance = Provenance::new(&program);
        let effects = Effects::new(&program, &provenance);
        let mut guards = Vec::with_capacity(program.bodies.len());
        let mut outstanding = Vec::with_capacity(program.bodies.len());
        for body in &program.bodies {
            let facts = provenance.of(body.id).filter(|_| program.info.is_on_device(body.id));
            guards.push(facts.map_or_else(Guards::default, |facts| Guards::new(module, body, &facts.indices)));
            outstanding.push(facts.map_or_else(Outstanding::default, |facts| {
                Outstanding::new(&program, &provenance, &effects, &facts.constants, body)
            }));
        }
        let reads = |body: &Body<'_>| body.statements().any(|(_, statement)| reads_number(&statement.kind));
        let reads_numbers = program.bodies.iter().map(reads).collect();
        let (uniformity, barriers) = (Uniformity::new(&program), Barriers::new(&program));
        Self {
            cdp,
            program,
            uniformity,
            provenance,
            effects,
            barriers,
            guards,
            outstanding,
            reads_numbers,
            none: Constants::default(),
        }
    }

    pub(super) fn module(&self) -> &'m Module {
        self.program.module
    }

    /// Who of a block comes to a point.
    pub(super) fn comers(&self, body: &Body<'_>, point: Point) -> Comers {
        self.guards.get(body.id.index()).map_or(Comers::All, |guards| guards.of(point.block))
    }

    pub(super) fn outstanding(&self, body: &Body<'_>) -> Option<&Outstanding> {
        self.outstanding.get(body.id.index())
    }

    pub(super) fn constants(&self, body: &Body<'_>) -> &Constants {
        self.provenance.of(body.id).map_or(&self.none, |facts| &facts.constants)
    }

    pub(super) fn effects_at(&self, body: &Body<'_>, point: Point) -> Vec<Effect> {
        self.effects.at(&self.program, &self.provenance, body, point)
    }

    pub(super) fn parts(&self, body: &Body<'_>, point: Point, operand: &Operand) -> Parts {
        self.provenance.operand(&self.program, body, point, operand)
    }

    /// Every launch of device code, with its function.
    pub(super) fn launches(&self) -> impl Iterator<Item = (&Body<'m>, Point, Span, &'m Launch)> {
        self.program.device_bodies().flat_map(|body| {
            body.statements().filter_map(move |(point, statement)| match &statement.kind {
                StatementKind::Launch(launch) => Some((body, point, statement.span, &**launch)),
                _ => None,
            })
        })
    }

    /// Whether there is evidence that several threads of a block run a function: a launch with more, or its own use of their numbers.
    pub(super) fn has_many_threads(&self, body: &Body<'_>) -> bool {
        let extent = self.program.extents.of(body.id);
        let reads_numbers = self.reads_numbers.get(body.id.index()) == Some(&true);
        !self.uniformity.is_alone(body.id) && (extent.surely_many || (extent.threads != Threads::One && reads_numbers))
    }

    /// What a piece of memory is called, in backticks.
    pub(super) fn name(&self, body: &Body<'_>, address: &Address) -> String {
        match self.variable(body, address.origin.root).filter(|(name, _)| !name.is_empty()) {
            Some((name, _)) => format!("`{name}`"),
            None => "this memory".to_owned(),
        }
    }

    /// The name of a variable, and where it is declared; none for other memory.
    pub(super) fn variable<'a>(&'a self, body: &'a Body<'_>, root: Root) -> Option<(&'a str, Span)> {
        match root {
            Root::Param(local) | Root::Local(local) => {
                body.function.locals.get(local.index()).map(|local| (local.name.as_str(), local.span))
            }
            Root::Global(global) => self.module().global(global).map(|global| (global.name.as_str(), global.span)),
            _ => None,
        }
    }

    /// The space of a variable of the module.
    pub(super) fn space(&self, address: &Address) -> Option<Space> {
        match address.origin.root {
            Root::Global(global) if !address.origin.loaded => self.module().global(global).map(|global| global.space),
            _ => None,
        }
    }

    pub(super) fn function_name(&self, function: FunctionId) -> &'m str {
        self.module().function(function).map_or("", |function| function.name.as_str())
    }

    /// By value of a function: whether anything reads it.
    pub(super) fn used(body: &Body<'_>) -> Vec<bool> {
        let mut used = vec![false; body.values.len()];
        let mut mark = |value: Option<ValueId>| {
            if let Some(flag) = value.and_then(|value| used.get_mut(value.index())) {
                *flag = true;
            }
        };
        for (point, statement) in body.statements() {
            statement.kind.each_operand(&mut |operand| mark(body.read(point, operand)));
        }
        for block in &body.control.order {
            if let Some((point, terminator)) = body.terminator(*block) {
                terminator.kind.each_operand(&mut |operand| mark(body.read(point, operand)));
            }
            for merge in body.values.merges_at(*block) {
                if let Some(crate::analysis::values::Definition::Merge { inputs, .. }) = body.values.definition(*merge) {
                    inputs.iter().for_each(|(_, input)| mark(Some(*input)));
                }
            }
        }
        used
    }
}
