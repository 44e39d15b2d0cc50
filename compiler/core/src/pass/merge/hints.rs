//! What `@merge` asks for: a stream's order given up, and an error where merging cannot be.

use super::MergeOptions;
use super::facts::Facts;
use super::plan::Plan;
use crate::builtins::STREAM_FIRE_AND_FORGET;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Const, Launch, Merge, Module, StatementKind};
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::types::TypeTable;

/// Makes launches with `@merge(grid)` into the NULL stream or a named one launches into the fire-and-forget stream, which is what that means.
pub(super) fn give_up_order(module: &mut Module) {
    for function in &mut module.functions {
        if !launches(&function.blocks).any(asks) {
            continue;
        }
        let streams = Streams::new(function);
        for statement in function.blocks.iter_mut().flat_map(|block| &mut block.statements) {
            if let StatementKind::Launch(launch) = &mut statement.kind
                && asks(launch)
                && streams.kind(&launch.stream) == StreamKind::Ordinary
            {
                launch.stream = Const::bits(TypeTable::STREAM, u64::from(STREAM_FIRE_AND_FORGET)).into();
            }
        }
    }
}

/// Reports launches with attributes that ask for what cannot be (E0420). For a module that `const_fold` and `simplify` went over.
#[must_use]
pub fn check_launch_hints(module: &Module) -> Diagnostics {
    let mut found = Diagnostics::new();
    if !module.functions.iter().flat_map(|function| launches(&function.blocks)).any(asks) {
        return found;
    }
    let mut module = module.clone();
    give_up_order(&mut module);
    let facts = Facts::new(&module);
    let plan = Plan::new(&mut module, &facts, &MergeOptions::default());
    for site in plan.sites.iter().filter(|site| site.asked) {
        let Err(obstacle) = &site.result else { continue };
        let name = module.function(site.kernel).map_or("", |kernel| &kernel.name);
        let message = format!("this launch of `{name}` cannot be merged: {}", obstacle.why);
        let mut diagnostic = Diagnostic::new(Code::E0420, site.span, message);
        if obstacle.span != site.span {
            diagnostic = diagnostic.also(obstacle.span, "this stands in the way");
        }
        found.push(diagnostic.help("without `@merge(grid)` the launch is made as it is"));
    }
    found
}

fn asks(launch: &Launch) -> bool {
    launch.hints.merge == Some(Merge::Grid)
}

fn launches(blocks: &[crate::ir::Block]) -> impl Iterator<Item = &Launch> {
    blocks.iter().flat_map(|block| &block.statements).filter_map(|statement| match &statement.kind {
        StatementKind::Launch(launch) => Some(&**launch),
        _ => None,
    })
}
