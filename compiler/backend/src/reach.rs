//! What is emitted: what kernels and exported functions reach.

use cdp_core::builtins::BarrierOp;
use cdp_core::ir::{
    BlockId, Function, FunctionId, GlobalId, Module, Operand, PlaceBase, Rvalue, StatementKind, TerminatorKind,
};
use cdp_core::types::layout::{MAX_PARAM_ALIGN, PointerWidth};
use cdp_core::types::{Space, TypeTable};
use std::collections::BTreeSet;

/// What is emitted.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Kernels and functions, in the order of the module.
    pub functions: BTreeSet<FunctionId>,
    /// Variables, in the order of the module.
    pub globals: BTreeSet<GlobalId>,
    /// Whether somewhere a pointer to what may not be written becomes one to what may, so that `const` says nothing.
    pub casts_const_away: bool,
    /// Whether a block reaches the shared memory of others of its cluster.
    pub maps_shared: bool,
}

impl Plan {
    /// The kernels, in order.
    pub fn kernels<'m>(&'m self, module: &'m Module) -> impl Iterator<Item = &'m Function> {
        self.functions.iter().filter_map(|id| module.function(*id)).filter(|f| f.is_kernel() && !f.blocks.is_empty())
    }

    /// The lowest PTX version (major * 10 + minor) that the contents need: 8.1 for parameters of more than 4 KiB (PTX ISA, "Kernel
    /// Function Parameters"), 8.0 for arriving relaxed at the barrier of a cluster (`barrier.cluster`); 0 for any.
    pub fn ptx_version(&self, module: &Module, width: PointerWidth) -> u32 {
        let large = self.kernels(module).any(|kernel| module.types.params_layout(kernel.param_types(), width).size > 4096);
        let relaxed =
            |statement: &StatementKind| matches!(statement, StatementKind::Barrier { op: BarrierOp::ClusterArriveRelaxed, .. });
        let mut functions = self.functions.iter().filter_map(|id| module.function(*id));
        let relaxed = functions.any(|f| f.blocks.iter().flat_map(|block| &block.statements).any(|s| relaxed(&s.kind)));
        if large {
            81
        } else if relaxed {
            80
        } else {
            0
        }
    }
}

/// Everything that kernels and exported functions and variables reach.
pub fn plan(module: &Module) -> Plan {
    let mut plan = Plan::default();
    let mut queue: Vec<FunctionId> = module
        .functions()
        .filter(|(_, f)| !f.is_host() && !f.blocks.is_empty() && (f.is_kernel() || f.exported))
        .map(|(id, _)| id)
        .collect();
    for (index, global) in (0u32..).zip(&module.globals) {
        if global.exported && global.space != Space::Shared {
            plan.globals.insert(GlobalId(index));
        }
    }
    while let Some(id) = queue.pop() {
        if !plan.functions.insert(id) {
            continue;
        }
        let Some(function) = module.function(id) else { continue };
        let mut walk = Walk { module, function, plan: &mut plan, queue: &mut queue };
        for block in blocks(function) {
            if let Some(block) = function.blocks.get(block.index()) {
                for statement in &block.statements {
                    walk.statement(&statement.kind);
                }
                block.terminator.kind.each_operand(&mut |operand| walk.operand(operand));
            }
        }
    }
    plan
}

/// The blocks that control can reach, the entry first, in order; a branch on a constant goes one way.
pub fn blocks(function: &Function) -> BTreeSet<BlockId> {
    let mut seen = BTreeSet::new();
    let mut queue = vec![BlockId(0)];
    while let Some(id) = queue.pop() {
        let Some(block) = function.blocks.get(id.index()) else { continue };
        if seen.insert(id) {
            queue.extend(successors(&block.terminator.kind));
        }
    }
    seen
}

/// Where control can go.
pub fn successors(terminator: &TerminatorKind) -> Vec<BlockId> {
    match terminator {
        TerminatorKind::Goto(to) => vec![*to],
        TerminatorKind::Branch { condition: Operand::Const(condition), then, otherwise } => {
            vec![if condition.as_bits() == Some(0) { *otherwise } else { *then }]
        }
        TerminatorKind::Branch { then, otherwise, .. } => vec![*then, *otherwise],
        TerminatorKind::Switch { cases, default, .. } => {
            cases.iter().map(|(_, to)| *to).chain(std::iter::once(*default)).collect()
        }
        TerminatorKind::Return(_) | TerminatorKind::Unreachable => Vec::new(),
    }
}

struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    plan: &'a mut Plan,
    queue: &'a mut Vec<FunctionId>,
}

impl Walk<'_> {
    fn statement(&mut self, kind: &StatementKind) {
        if let StatementKind::Assign { dst, value } = kind {
            self.plan.maps_shared |= matches!(value, Rvalue::MapSharedRank(..));
            let to = self.module.types.pointee(self.function.local_type(*dst));
            if let (Rvalue::Cast(_, from), Some((_, _, false))) = (value, to) {
                let from = self.module.types.pointee(self.module.operand_type(self.function, from));
                if matches!(from, Some((_, _, true)) | None) {
                    self.plan.casts_const_away = true;
                }
            }
        }
        kind.each_operand(&mut |operand| self.operand(operand));
        kind.each_place(&mut |place| {
            if let PlaceBase::Global(global) = place.base {
                self.plan.globals.insert(global);
            }
        });
        if let StatementKind::Call { function, .. } = kind {
            self.queue.push(*function);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        if let Operand::Function(function) = operand {
            self.queue.push(*function);
        }
    }
}

/// The alignment that a kernel's parameter is declared with (cdp2 rule R32).
pub fn param_align(align: u32) -> u32 {
    align.min(MAX_PARAM_ALIGN)
}

/// Whether a function gives nothing back.
pub fn is_void(function: &Function) -> bool {
    function.return_type == TypeTable::VOID
}
