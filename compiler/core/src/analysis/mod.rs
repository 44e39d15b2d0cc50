//! What is known of a program without running it: facts about the IR that rules report on and passes rely on.
//!
//! - `graph`: strongly connected components of calls and launches
//! - `control`: dominators, control dependence and loops of one function; `values`: its values in static single assignment form
//! - `extent`: with how many threads a block kernels are launched
//! - `uniformity`: which values and blocks are the same for all threads of a block
//! - `index`: an integer as an affine function of the thread; `constants`: values that are known
//! - `provenance`: which memory pointers point to
//! - `effects`: what a function reads and writes, itself or through its children
//! - `outstanding`: which children may be running at a statement
//! - `dataflow`: sets that flow forwards over blocks; `address`: addresses as the others see them
//! - `barriers`: writes that no barrier separates from a statement
//! - `guards`: which threads come to a block
//!
//! All of them run on a verified module before the launches are lowered. They follow calls and launches by summaries, callees before callers, and
//! iterate within a cycle until nothing changes; every fact has a small, fixed height, so that this ends soon. Nothing recurses on the
//! depth of a program.
//!
//! A fact says on which side it errs. Passes need one that is never wrong; a lint needs evidence before it speaks: see [`uniformity::Level`].

pub mod address;
pub mod barriers;
pub mod constants;
pub mod control;
pub mod dataflow;
pub mod effects;
pub mod extent;
pub mod graph;
pub mod guards;
pub mod index;
pub mod outstanding;
pub mod provenance;
#[cfg(test)]
pub(crate) mod testing;
pub mod uniformity;
pub mod values;

use crate::builtins::RuntimeFn;
use crate::ir::{BlockId, Function, FunctionId, Module, Operand, Statement, StatementKind, Terminator};
use crate::verify::ModuleInfo;
use control::Control;
use extent::Extents;
use graph::{Components, call_graph, components};
use values::{Point, ValueId, Values};

/// A function with its control flow and its values.
#[derive(Clone, Debug)]
pub struct Body<'m> {
    /// Its id.
    pub id: FunctionId,
    /// The function.
    pub function: &'m Function,
    /// Its control flow.
    pub control: Control,
    /// Its values.
    pub values: Values,
}

/// A module with what every analysis needs of it.
#[derive(Clone, Debug)]
pub struct Program<'m> {
    /// The module.
    pub module: &'m Module,
    /// Who calls, launches and needs what.
    pub info: ModuleInfo,
    /// By function.
    pub bodies: Vec<Body<'m>>,
    /// Functions by calls, callees first.
    pub calls: Components,
    /// Functions by calls and launches, callees and children first.
    pub descent: Components,
    /// How kernels are launched.
    pub extents: Extents,
    /// By function, whether it is device code that waits for children (`cudaDeviceSynchronize`, of CDP1), or calls such code.
    pub waits: Vec<bool>,
}

impl<'m> Program<'m> {
    /// Looks at a verified module.
    #[must_use]
    pub fn new(module: &'m Module) -> Self {
        let bodies = module
            .functions()
            .map(|(id, function)| {
                let control = Control::new(function);
                let values = Values::new(function, &control);
                Body { id, function, control, values }
            })
            .collect();
        let mut program = Self {
            module,
            info: ModuleInfo::new(module),
            bodies,
            calls: components(&call_graph(module, false)),
            descent: components(&call_graph(module, true)),
            extents: Extents::new(module),
            waits: Vec::new(),
        };
        program.waits = program.leading_to(|body, statement| {
            matches!(statement, StatementKind::Runtime { call: RuntimeFn::DeviceSynchronize, .. })
                && program.info.is_on_device(body.id)
        });
        program
    }

    /// By function, whether such a statement stands in it, or in what it calls.
    pub fn leading_to(&self, is_such: impl Fn(&Body<'_>, &StatementKind) -> bool) -> Vec<bool> {
        let mut leads = vec![false; self.bodies.len()];
        // callees come first; of functions that call each other all do where one does
        for component in &self.calls.order {
            let mut bodies = component.iter().filter_map(|index| self.bodies.get(*index));
            let found = bodies.any(|body| {
                body.statements().any(|(_, statement)| match &statement.kind {
                    StatementKind::Call { function, .. } => leads.get(function.index()) == Some(&true),
                    kind => is_such(body, kind),
                })
            });
            for index in component {
                if let Some(flag) = leads.get_mut(*index) {
                    *flag = found;
                }
            }
        }
        leads
    }

    /// A function with its facts; none for a foreign id.
    #[must_use]
    pub fn body(&self, id: FunctionId) -> Option<&Body<'m>> {
        self.bodies.get(id.index())
    }

    /// Functions that are compiled for the device, by id.
    pub fn device_bodies(&self) -> impl Iterator<Item = &Body<'m>> {
        self.bodies.iter().filter(|body| self.info.is_on_device(body.id))
    }
}

impl<'m> Body<'m> {
    /// Every statement that control can reach, with its place, blocks in their order.
    pub fn statements(&self) -> impl Iterator<Item = (Point, &'m Statement)> + '_ {
        self.control.order.iter().flat_map(move |block| self.block_statements(*block))
    }

    /// The statements of one block, with their places.
    pub fn block_statements(&self, block: BlockId) -> impl Iterator<Item = (Point, &'m Statement)> + use<'m> {
        let statements = self.function.blocks.get(block.index()).map_or(&[][..], |block| block.statements.as_slice());
        statements.iter().enumerate().map(move |(statement, data)| (Point { block, statement }, data))
    }

    /// The terminator of a block, with its place.
    #[must_use]
    pub fn terminator(&self, block: BlockId) -> Option<(Point, &'m Terminator)> {
        let data = self.function.blocks.get(block.index())?;
        Some((Point { block, statement: data.statements.len() }, &data.terminator))
    }

    /// The statement at a point; none for a terminator.
    #[must_use]
    pub fn statement(&self, point: Point) -> Option<&'m Statement> {
        self.function.blocks.get(point.block.index())?.statements.get(point.statement)
    }

    /// The value of an operand, when it is a local.
    #[must_use]
    pub fn read(&self, point: Point, operand: &Operand) -> Option<ValueId> {
        self.values.read(point, operand)
    }
}

#[cfg(test)]
mod tests {
    use super::effects::Effects;
    use super::provenance::Provenance;
    use super::uniformity::Uniformity;
    use super::*;

    #[test]
    fn every_program_of_the_suite_is_analysed_and_every_value_read_is_one() {
        for (name, module, _) in crate::lower::testing::programs() {
            let program = Program::new(&module);
            let _ = Uniformity::new(&program);
            let provenance = Provenance::new(&program);
            let _ = Effects::new(&program, &provenance);
            for body in &program.bodies {
                for (point, statement) in body.statements() {
                    statement.kind.each_operand(&mut |operand| {
                        let Operand::Local(local) = operand else { return };
                        let found = body.read(point, operand).is_some() || body.values.is_memory(*local);
                        assert!(found, "{name}: {}: {point:?} reads {local:?}", body.function.name);
                    });
                }
            }
        }
    }
}
