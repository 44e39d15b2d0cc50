//! What `@merge` asks for: a stream's order given up, and an error where merging cannot be.

use super::facts::Facts;
use super::plan::Plan;
use super::{MergeOptions, Obstacle};
use crate::builtins::STREAM_FIRE_AND_FORGET;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::ir::{Const, FunctionId, Launch, Module, StatementKind};
use crate::pass::in_place;
use crate::pass::launch::stream::{StreamKind, Streams};
use crate::source::Span;
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

/// Reports launches with attributes that ask for what cannot be (E0420, E0421). For a module that `const_fold` and `simplify` went over.
#[must_use]
pub fn check_launch_hints(module: &Module) -> Diagnostics {
    let mut found = Diagnostics::new();
    let hinted = |launch: &Launch| asks(launch) || launch.hints.inline_below.is_some();
    if !module.functions.iter().flat_map(|function| launches(&function.blocks)).any(hinted) {
        return found;
    }
    let mut module = module.clone();
    give_up_order(&mut module);
    let facts = Facts::new(&module);
    let plan = Plan::new(&mut module, &facts, &MergeOptions::default());
    for site in plan.sites.iter().filter(|site| site.asked) {
        let Err(obstacle) = &site.result else { continue };
        let message = format!("this launch of `{}` cannot be merged", name(&module, site.kernel));
        let diagnostic = impossible(Code::E0420, message, site.span, obstacle);
        found.push(diagnostic.help("without the attribute the launch is made as it is"));
    }
    for site in in_place::sites(&module, &facts, 0) {
        let Err(obstacle) = &site.below else { continue };
        let message = format!("`{}` cannot be run in place", name(&module, site.kernel));
        let diagnostic = impossible(Code::E0421, message, site.span, obstacle);
        found.push(diagnostic.help("without `@inline_below` the launch is made, or merged"));
    }
    found
}

fn name(module: &Module, kernel: FunctionId) -> &str {
    module.function(kernel).map_or("", |kernel| &kernel.name)
}

fn impossible(code: Code, message: String, span: Span, obstacle: &Obstacle) -> Diagnostic {
    let diagnostic = Diagnostic::new(code, span, format!("{message}: {}", obstacle.why));
    if obstacle.span == span { diagnostic } else { diagnostic.also(obstacle.span, "this stands in the way") }
}

fn asks(launch: &Launch) -> bool {
    launch.hints.asks_to_merge()
}

fn launches(blocks: &[crate::ir::Block]) -> impl Iterator<Item = &Launch> {
    blocks.iter().flat_map(|block| &block.statements).filter_map(|statement| match &statement.kind {
        StatementKind::Launch(launch) => Some(&**launch),
        _ => None,
    })
}
