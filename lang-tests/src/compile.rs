//! A source through the front end: the same phases, in the same order, as the command line runs.

use cdp_core::diag::render::{HumanOptions, human};
use cdp_core::diag::{Diagnostic, Diagnostics};
use cdp_core::ir::Module;
use cdp_core::lower::{self, LowerOptions};
use cdp_core::source::SourceMap;
use cdp_core::{sema, syntax, verify};

/// What became of a source.
#[derive(Debug)]
pub struct Outcome {
    /// Its texts.
    pub sources: SourceMap,
    /// In order of place, without repetitions.
    pub diagnostics: Vec<Diagnostic>,
    /// Verified; none after an error.
    pub module: Option<Module>,
}

impl Outcome {
    /// All diagnostics with their source, without colours.
    #[must_use]
    pub fn rendering(&self) -> String {
        human(&self.sources, &self.diagnostics, &HumanOptions::default())
    }
}

/// Parses, checks and lowers a source.
///
/// # Errors
/// When the compiler made a module that its own verifier refuses.
pub fn compile(name: &str, text: &str) -> Result<Outcome, String> {
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let (tree, mut diagnostics) = syntax::parse(file, text);
    let (program, found) = sema::check(&[tree], &sources, sema::Options::default());
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return Ok(Outcome { sources, diagnostics: diagnostics.finish(), module: None });
    }
    let (module, found) = lower::lower(program, &LowerOptions::default());
    diagnostics.extend(found);
    let module = if diagnostics.has_errors() { None } else { Some(verified(module)?) };
    Ok(Outcome { sources, diagnostics: Diagnostics::finish(diagnostics), module })
}

fn verified(module: Module) -> Result<Module, String> {
    match verify::verify(&module) {
        Ok(_) => Ok(module),
        Err(errors) => {
            let list: Vec<String> = errors.iter().map(|error| format!("  {error:?}")).collect();
            Err(format!("the verifier refuses what the compiler made:\n{}", list.join("\n")))
        }
    }
}
