//! The launches of a source that attributes can be tried on.

use std::collections::BTreeMap;

use cdp_core::builtins::STREAM_FIRE_AND_FORGET;
use cdp_core::ir::{Launch, LaunchHints, Module, StatementKind};
use cdp_core::source::Span;
use cdp_core::syntax::ast;
use cdp_core::verify::ModuleInfo;

use super::build::Build;
use super::front;

/// A launch into the fire-and-forget stream, which says nothing yet of how it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// The launch.
    pub launch: Span,
    /// Where its statement starts, in bytes: attributes stand there.
    pub statement: u32,
}

impl Build<'_> {
    /// The launches in device code of the source itself that are alone in a statement which may have their attributes, in the order of the source.
    pub fn tunable_launches(&self) -> Vec<Tunable> {
        let module = self.module();
        let info = ModuleInfo::new(module);
        let mut by_statement: BTreeMap<u32, Vec<Option<Span>>> = BTreeMap::new();
        for (_, function) in module.functions().filter(|(id, _)| info.is_on_device(*id)) {
            for statement in function.blocks.iter().flat_map(|block| &block.statements) {
                let StatementKind::Launch(launch) = &statement.kind else { continue };
                let start = self.tree().and_then(|tree| statement_start(tree, statement.span));
                let Some(start) = start else { continue };
                let forgets = launch.stream.as_bits() == Some(u64::from(STREAM_FIRE_AND_FORGET));
                let free = forgets && launch.hints == LaunchHints::default();
                let entry = by_statement.entry(start).or_default();
                let found = free.then_some(statement.span);
                // instances of one generic function have the same launch
                if !entry.contains(&found) {
                    entry.push(found);
                }
            }
        }
        let alone = by_statement.into_iter().filter_map(|(statement, launches)| match launches.as_slice() {
            [Some(launch)] => Some(Tunable { launch: *launch, statement }),
            _ => None,
        });
        alone.collect()
    }

    /// Has the launch of the statement that starts here treated as if it had these attributes.
    pub fn set_hints(&mut self, statement: u32, hints: LaunchHints) {
        let file = self.file();
        let Some(tree) = self.tree().cloned() else { return };
        each_launch(self.module_mut(), |span, launch| {
            if span.file == file && statement_start(&tree, span) == Some(statement) {
                launch.hints = hints;
            }
        });
    }

    /// Whether everything that attributes ask for can be.
    pub fn hints_hold(&self) -> bool {
        !front::at_launches(self.module().clone()).has_errors()
    }
}

fn each_launch(module: &mut Module, mut change: impl FnMut(Span, &mut Launch)) {
    let blocks = module.functions.iter_mut().flat_map(|function| &mut function.blocks);
    for statement in blocks.flat_map(|block| &mut block.statements) {
        if let StatementKind::Launch(launch) = &mut statement.kind {
            change(statement.span, launch);
        }
    }
}

/// Where the innermost statement starts that a launch stands in, unless that is a loop.
fn statement_start(file: &ast::File, launch: Span) -> Option<u32> {
    let around = |span: Span| span.file == launch.file && span.start <= launch.start && launch.end <= span.end;
    let item = file.items.iter().find(|item| around(item.span))?;
    let ast::ItemKind::Function(decl) = &item.kind else { return None };
    let mut block = decl.body.as_ref()?;
    loop {
        let statement = block.stmts.iter().find(|statement| around(statement.span))?;
        match statement.kind.blocks().into_iter().find(|inner| around(inner.span)) {
            Some(inner) => block = inner,
            None if matches!(statement.kind, ast::StmtKind::While { .. } | ast::StmtKind::For { .. }) => return None,
            None => return Some(statement.span.start),
        }
    }
}
