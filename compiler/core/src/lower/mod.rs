//! From the typed tree to the IR: mechanical, one function at a time.
//!
//! - this file: [`lower`], and what a function's lowering needs to know
//! - `statement`: statements; `control`: loops, branches and `switch`; `expression`: values; `effect`: calls, launches and other
//!   expressions that do something; `place`: places
//! - `parts`: functions with several results
//! - `fma`: which products are fused into additions
//! - `address_taken`: which variables live in memory
//! - `assigned`, `returns`: the two diagnostics that need the control-flow graph
//!
//! **Order of evaluation** is from left to right. A variable whose address is never taken is a register, which no expression can
//! change (assignments are statements), so it is read where it is used; everything else is loaded into a temporary in its turn.
//! `place op= value` evaluates the place, then the value, then reads, computes and writes.
//!
//! Code that control cannot reach is left out, but its variables stay.

mod address_taken;
mod assigned;
mod control;
mod effect;
mod expression;
mod fma;
mod parts;
mod place;
mod returns;
mod statement;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

use crate::diag::Diagnostics;
use crate::ir::{BlockId, Function, FunctionBuilder, LocalId, Module, StatementKind, TerminatorKind};
use crate::pass;
use crate::typed::{self, VariableId};
use crate::types::{TypeId, TypeTable};

/// What the user may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerOptions {
    /// Whether `a * b + c` within one expression is fused (`--fmad`); on unless switched off.
    pub fmad: bool,
}

impl Default for LowerOptions {
    fn default() -> Self {
        Self { fmad: true }
    }
}

/// Turns a program without errors into a module, and reports variables that are used before they are assigned (E0215) and functions
/// with a path that returns nothing (E0216). The module is well-formed also when there are such errors.
#[must_use]
pub fn lower(program: typed::Program, options: &LowerOptions) -> (Module, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let functions =
        program.functions.iter().map(|function| lower_function(&program.types, function, *options, &mut diagnostics)).collect();
    let module = Module { types: program.types, functions, globals: program.globals };
    (module, diagnostics)
}

/// A loop that `break` and `continue` may leave.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// Where `continue` goes.
    next: BlockId,
    /// Where `break` goes.
    exit: BlockId,
}

/// One function on its way.
struct Lowering<'a> {
    types: &'a TypeTable,
    function: &'a typed::Function,
    options: LowerOptions,
    builder: FunctionBuilder,
    /// By variable: its address is taken.
    in_memory: Vec<bool>,
    /// Innermost last.
    loops: Vec<Loop>,
    /// What happens to variables that were declared without a value.
    assignments: assigned::Tracker,
}

fn lower_function(
    types: &TypeTable,
    source: &typed::Function,
    options: LowerOptions,
    diagnostics: &mut Diagnostics,
) -> Function {
    let builder =
        FunctionBuilder::new(source.name.clone(), source.symbol.clone(), source.kind.clone(), source.return_type, source.span);
    let mut lowering = Lowering {
        types,
        function: source,
        options,
        builder,
        in_memory: address_taken::variables(source),
        loops: Vec::new(),
        assignments: assigned::Tracker::default(),
    };
    lowering.declare();
    let Some(body) = &source.body else {
        let mut function = lowering.builder.finish();
        function.blocks.clear();
        return function;
    };
    lowering.statements(body);
    let fell_off = lowering.builder.current();
    let open = !lowering.builder.is_ended();
    if source.return_type == TypeTable::VOID {
        lowering.builder.terminate(TerminatorKind::Return(None), source.end);
    }
    let Lowering { builder, assignments, .. } = lowering;
    let mut function = builder.finish();
    diagnostics.extend(assigned::check(types, source, &function, &assignments));
    let unproved = assigned::unproved(types, source, &function, &assignments);
    for block in &mut function.blocks {
        block.statements.retain(|statement| match &statement.kind {
            StatementKind::Deinit { local } => unproved.contains(&VariableId(local.0)),
            _ => true,
        });
    }
    if open && source.return_type != TypeTable::VOID {
        diagnostics.extend(returns::check(types, source, &function, fell_off));
    }
    pass::remove_unreachable(&mut function);
    function
}

impl Lowering<'_> {
    /// Makes the locals: variable n becomes local n.
    fn declare(&mut self) {
        for (index, variable) in self.function.variables.iter().enumerate() {
            if index < self.function.param_count as usize {
                self.builder.param(&variable.name, variable.ty, variable.restrict, variable.span);
            } else {
                self.builder.variable(&variable.name, variable.ty, variable.span);
            }
        }
        let attributes = self.builder.function_mut();
        attributes.launch_bounds = self.function.launch_bounds;
        attributes.cluster = self.function.cluster;
        attributes.inline = self.function.inline;
        attributes.exported = self.function.exported;
    }

    /// The local of a variable.
    const fn local(variable: VariableId) -> LocalId {
        LocalId(variable.0)
    }

    fn is_in_memory(&self, variable: VariableId) -> bool {
        self.in_memory.get(variable.0 as usize).copied().unwrap_or(true)
    }

    fn variable_type(&self, variable: VariableId) -> TypeId {
        self.function.variables.get(variable.0 as usize).map_or(TypeTable::POISON, |variable| variable.ty)
    }
}
