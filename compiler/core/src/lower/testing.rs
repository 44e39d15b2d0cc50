//! Helpers for the tests of lowering and of the passes: from source text to a verified module.

use super::{LowerOptions, lower};
use crate::builtins::Cdp;
use crate::diag::Diagnostics;
use crate::ir::{Function, Module, Rvalue, StatementKind};
use crate::sema;
use crate::source::SourceMap;
use crate::syntax::parse;

/// The module of a source text, for CDP1 where its first line says `// --cdp=1`, and what lowering reports; or why the front end refuses the text.
fn front_end(text: &str, fmad: bool) -> Result<(Module, Diagnostics), String> {
    let mut sources = SourceMap::new();
    let file = sources.add("test.cdp", text);
    let (tree, mut diagnostics) = parse(file, text);
    let cdp = if text.starts_with("// --cdp=1\n") { Cdp::Cdp1 } else { Cdp::Cdp2 };
    let (program, checked) = sema::check(&[tree], &sources, sema::Options { fmad, cdp });
    diagnostics.extend(checked);
    if diagnostics.has_errors() {
        let shown = diagnostics.finish().into_iter().map(|d| format!("{} {} at {:?}", d.code.id(), d.message, d.primary.span));
        return Err(shown.collect::<Vec<_>>().join("\n"));
    }
    Ok(lower(program, &LowerOptions { fmad }))
}

/// The module of a source text that must parse and check, and what lowering reports.
pub(crate) fn lowered(text: &str, fmad: bool) -> (Module, Diagnostics) {
    front_end(text, fmad).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The verified module of a source text without any error.
pub(crate) fn module(text: &str) -> Module {
    let (module, diagnostics) = lowered(text, true);
    assert!(!diagnostics.has_errors(), "{:#?}", diagnostics.finish());
    check(&module);
    module
}

/// Fails with the rules that a module breaks.
pub(crate) fn check(module: &Module) {
    if let Err(errors) = crate::verify::verify(module) {
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}\n{}", shown.join("\n"), crate::ir::print(module));
    }
}

/// The function with this source name.
pub(crate) fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    module.functions.iter().find(|function| function.name == name).unwrap()
}

/// Every statement of a function.
pub(crate) fn statements(function: &Function) -> Vec<&StatementKind> {
    function.blocks.iter().flat_map(|block| &block.statements).map(|statement| &statement.kind).collect()
}

/// Every computed value of a function.
pub(crate) fn rvalues(function: &Function) -> Vec<&Rvalue> {
    let values = statements(function).into_iter().filter_map(|statement| match statement {
        StatementKind::Assign { value, .. } => Some(value),
        _ => None,
    });
    values.collect()
}

/// The module of every program of the conformance suite that stands alone, by file name, and what lowering reports. That the front end
/// takes them all is for the suite itself to say.
pub(crate) fn programs() -> Vec<(String, Module, Diagnostics)> {
    let suite = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lang-tests");
    let mut paths: Vec<_> = ["run", "check-pass"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(suite.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cdp"))
        .collect();
    paths.sort();
    let mut programs = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match front_end(&std::fs::read_to_string(&path).unwrap(), true) {
            Ok((module, diagnostics)) => programs.push((name, module, diagnostics)),
            Err(errors) => println!("{name}: {errors}"),
        }
    }
    assert!(programs.len() >= 40, "only {} programs of the conformance suite are usable", programs.len());
    programs
}
