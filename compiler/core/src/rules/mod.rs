//! Rules that flow decides: what chapter 4.18 of the CUDA programming guide forbids, or makes slow or doubtful, and a compiler can see.
//!
//! - `lint`: the table of lints; `levels`: which of them the program and the command line want
//! - `facts`: the analyses that rules look at
//! - one file a rule or a few that look at the same: `private` (R14), `visibility` (R11), `after_launch` (R12, R13), `cached` (R16), `constant`
//!   (R15), `handles` (R9, R23), `barrier`, `cluster`, `errors` (R18), `redundant`, `tiny`, `serial` (R6), `spin` (R2), `arithmetic`, `bounds`
//!
//! Errors are reported where something is wrong whatever path is taken. Lints are warnings, and stay silent where there is doubt: a rule that
//! cries too often is not heard.

mod after_launch;
mod arithmetic;
mod barrier;
mod bounds;
mod cached;
mod cluster;
mod constant;
mod errors;
mod facts;
mod handles;
mod levels;
mod lint;
mod private;
mod redundant;
mod serial;
mod spin;
#[cfg(test)]
mod tests;
mod tiny;
mod visibility;

pub use levels::{Level, Levels};
pub use lint::{Lint, all as lints};

use crate::builtins::Cdp;
use crate::diag::Diagnostics;
use crate::ir::Module;
use facts::Facts;

type Rule = fn(&Facts<'_>, &mut Diagnostics);

const RULES: &[Rule] = &[
    after_launch::check,
    arithmetic::check,
    barrier::check,
    bounds::check,
    cached::check,
    cluster::check,
    constant::check,
    errors::check,
    handles::check,
    private::check,
    redundant::check,
    serial::check,
    spin::check,
    tiny::check,
    visibility::check,
];

/// What the rules find in a verified module whose launches are whole; `cdp` is what it is compiled for.
#[must_use]
pub fn check(module: &Module, levels: &Levels, cdp: Cdp) -> Diagnostics {
    let mut module = module.clone();
    // nothing is said of code that a constant switches off
    crate::pass::simplify(&mut module);
    let facts = Facts::new(&module, cdp);
    let mut found = Diagnostics::new();
    for rule in RULES {
        rule(&facts, &mut found);
    }
    levels.apply(found)
}
