//! Symbols that cannot collide.
//!
//! A kernel, and what is exported, keeps its name, so that hosts and other modules find it. Everything else gets a name with a `$`, which
//! no source name has: functions `name$f`, variables `name$v`, string literals `str$0`. PTX accepts its own keywords as names but for
//! `WARP_SZ` and `_` (measured with ptxas 13.0), so only few names are refused.

use crate::Error;
use crate::reach::Plan;
use cdp_core::builtins::{RuntimeFn, Side};
use cdp_core::ir::{FunctionId, GlobalId, Module};
use std::collections::{HashMap, HashSet};

/// The symbol of everything that is emitted.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Of kernels and functions.
    pub functions: HashMap<FunctionId, String>,
    /// Of variables.
    pub globals: HashMap<GlobalId, String>,
}

/// Gives everything its symbol.
pub fn assign(module: &Module, plan: &Plan) -> Result<Symbols, Error> {
    let mut symbols = Symbols::default();
    let mut used = HashSet::new();
    for id in &plan.functions {
        let Some(function) = module.function(*id) else { continue };
        if function.is_kernel() || function.exported || function.blocks.is_empty() {
            check(&function.symbol)
                .or_else(|| params_collide(module, plan, &function.symbol))
                .map_or(Ok(()), |reason| Err(Error::Name { name: function.symbol.clone(), span: function.span, reason }))?;
            symbols.functions.insert(*id, function.symbol.clone());
            used.insert(function.symbol.clone());
        }
    }
    for id in &plan.globals {
        let Some(global) = module.global(*id) else { continue };
        if global.exported {
            check(&global.symbol)
                .map_or(Ok(()), |reason| Err(Error::Name { name: global.symbol.clone(), span: global.span, reason }))?;
            symbols.globals.insert(*id, global.symbol.clone());
            used.insert(global.symbol.clone());
        }
    }
    for id in &plan.functions {
        if let (Some(function), false) = (module.function(*id), symbols.functions.contains_key(id)) {
            let name = unique(&function.symbol, "f", &mut used);
            symbols.functions.insert(*id, name);
        }
    }
    for id in &plan.globals {
        if let (Some(global), false) = (module.global(*id), symbols.globals.contains_key(id)) {
            let name = unique(&global.symbol, "v", &mut used);
            symbols.globals.insert(*id, name);
        }
    }
    Ok(symbols)
}

/// A name with a `$`, which has no other.
fn unique(name: &str, kind: &str, used: &mut HashSet<String>) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let mut symbol = format!("{plain}${kind}");
    let mut number = 1;
    while !used.insert(symbol.clone()) {
        number += 1;
        symbol = format!("{plain}${kind}{number}");
    }
    symbol
}

/// Why a symbol cannot be kept.
fn check(name: &str) -> Option<String> {
    let mut characters = name.chars();
    let first = characters.next();
    let starts = first.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '$'));
    let follows = characters.clone().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'));
    let alone = characters.next().is_none() && !first.is_some_and(|c| c.is_ascii_alphabetic());
    if !starts || !follows || alone {
        return Some("PTX names are letters, digits, `_` and `$`, and do not start with a digit".to_owned());
    }
    if name == "WARP_SZ" {
        return Some("PTX has a constant of that name".to_owned());
    }
    if name.starts_with("__nv_") {
        return Some("names that start with `__nv_` are libdevice's".to_owned());
    }
    let runtime = RuntimeFn::ALL.iter().any(|call| call.side() != Side::Host && !call.is_inline() && call.name() == name);
    if runtime
        || name.starts_with("__cuda")
        || (name.starts_with("cuda") && name.chars().nth(4).is_some_and(char::is_uppercase))
    {
        return Some("the device runtime has a function of that name".to_owned());
    }
    if matches!(name, "vprintf" | "__assertfail") {
        return Some("the driver has a function of that name".to_owned());
    }
    let numbered = |stem: &str| name.strip_prefix(stem).is_some_and(is_number);
    if numbered("param") || numbered("retval") || numbered("func_retval") {
        return Some("PTX code uses that name for the arguments of calls".to_owned());
    }
    None
}

/// LLVM calls a function's parameters `<function>_param_<number>`, and a name inside a function hides the same one outside.
fn params_collide(module: &Module, plan: &Plan, name: &str) -> Option<String> {
    let (stem, number) = name.rsplit_once("_param_")?;
    let hidden = is_number(number) && plan.functions.iter().filter_map(|id| module.function(*id)).any(|f| f.symbol == stem);
    hidden.then(|| format!("the parameters of `{stem}` have such names in PTX"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
