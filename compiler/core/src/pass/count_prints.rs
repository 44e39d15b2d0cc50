//! Counting `printf` of device code. Its output waits in a ring that overwrites the oldest in silence, and the driver cannot tell (programming
//! guide, "Formatted Output", "Limitations"). So every call is counted before it is made, and what it prints begins with a mark: whoever reads
//! the output counts the marks, and knows how many calls are missing.

use crate::builtins::{AtomicOp, MemoryScope};
use crate::ir::{
    Block, Const, Function, Global, GlobalId, Local, LocalId, Module, Operand, Place, PlaceBase, Rvalue, Statement,
    StatementKind, Terminator, TerminatorKind,
};
use crate::source::Span;
use crate::types::{Space, TypeId, TypeTable};
use crate::verify::ModuleInfo;

/// The symbol of the `u64` in device memory that counts the calls.
pub const PRINT_COUNTER: &str = "cdpc$printed";
/// What the output of each call begins with: control characters that no text has next to each other.
pub const PRINT_MARK: &str = "\u{1e}\u{1f}";

/// Has every `printf` of device code counted and marked; whether there is one. The text of a failed `assert` is left alone: it ends the
/// context, and the counter with it.
///
/// Host code loses its bodies: what it calls too would else count on the host, which cannot. It is for a module that becomes device code and
/// nothing else.
pub fn count_prints(module: &mut Module) -> bool {
    let info = ModuleInfo::new(module);
    let counter = GlobalId(u32::try_from(module.globals.len()).unwrap_or(u32::MAX));
    let pointer = module.types.pointer(Space::Global, TypeTable::U64, false);
    let mut found = false;
    module.functions.iter_mut().filter(|function| function.is_host()).for_each(empty);
    for (function, info) in module.functions.iter_mut().zip(&info.functions) {
        if info.on_device {
            found |= count_in(function, counter, pointer);
        }
    }
    if found {
        module.globals.push(Global {
            name: PRINT_COUNTER.to_owned(),
            symbol: PRINT_COUNTER.to_owned(),
            space: Space::Global,
            ty: TypeTable::U64,
            init: None,
            align: 0,
            exported: true,
            external: false,
            span: Span::default(),
        });
    }
    found
}

fn empty(function: &mut Function) {
    let terminator = Terminator { kind: TerminatorKind::Unreachable, span: function.span };
    function.blocks = vec![Block { statements: Vec::new(), terminator, unroll: None }];
}

fn count_in(function: &mut Function, counter: GlobalId, pointer: TypeId) -> bool {
    let is_print = |statement: &Statement| matches!(statement.kind, StatementKind::Printf { .. });
    let prints = function.blocks.iter().flat_map(|block| &block.statements).any(is_print);
    if !prints {
        return false;
    }
    let address = LocalId(u32::try_from(function.locals.len()).unwrap_or(u32::MAX));
    function.locals.push(Local { name: String::new(), ty: pointer, restrict: false, span: function.span });
    for block in &mut function.blocks {
        let statements = std::mem::take(&mut block.statements);
        for mut statement in statements {
            if let StatementKind::Printf { format, .. } = &mut statement.kind {
                format.insert_str(0, PRINT_MARK);
                block.statements.extend(count(address, counter, statement.span));
            }
            block.statements.push(statement);
        }
    }
    true
}

/// `address = &counter; atomicAdd(address, 1)`
fn count(address: LocalId, counter: GlobalId, span: Span) -> [Statement; 2] {
    let place = Place { base: PlaceBase::Global(counter), path: Vec::new() };
    let one = Operand::Const(Const::bits(TypeTable::U64, 1));
    [
        StatementKind::Assign { dst: address, value: Rvalue::AddressOf(place) },
        StatementKind::Atomic {
            dst: None,
            op: AtomicOp::Add,
            scope: MemoryScope::Device,
            pointer: Operand::Local(address),
            operands: vec![one],
        },
    ]
    .map(|kind| Statement { kind, span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::print;
    use crate::lower::testing::{check, module};

    #[test]
    fn device_calls_are_counted_and_marked() {
        let mut module = module(
            "fn both(n: i32) { printf(\"both %d\\n\", n); }
             kernel k(n: i32) {
                both(n);
                if n > 3 { let count = printf(\"a\"); printf(\"%d\\n\", count); }
                assert(n > 0, \"n is %d\", n);
             }
             kernel silent() {}
             host fn main() { printf(\"host\\n\"); both(1); k<<<1, 1>>>(1); }",
        );
        assert!(count_prints(&mut module));
        check(&module);
        let text = print(&module);
        let counted = module.functions.iter().flat_map(|f| &f.blocks).flat_map(|b| &b.statements);
        let atomics = counted.filter(|s| matches!(s.kind, StatementKind::Atomic { .. })).count();
        assert_eq!((atomics, text.matches("\\u{1e}\\u{1f}").count()), (3, 3), "{text}");
    }

    #[test]
    fn a_program_that_prints_nothing_stays_as_it_is() {
        let mut module = module("kernel k() {} host fn main() { printf(\"host\\n\"); }");
        let before = module.clone();
        assert!(!count_prints(&mut module));
        check(&module);
        assert_eq!((module.functions.first(), module.globals), (before.functions.first(), before.globals));
    }
}
