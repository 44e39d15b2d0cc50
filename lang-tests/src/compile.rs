//! A source through the front end: the same phases, in the same order, as the command line runs.

use cdp_core::builtins::Cdp;
use cdp_core::diag::Diagnostic;
use cdp_core::diag::render::{HumanOptions, human};
use cdp_core::ir::Module;
use cdp_core::lower::{self, LowerOptions};
use cdp_core::pass::{self, LaunchAbi, LaunchOptions};
use cdp_core::source::SourceMap;
use cdp_core::{imports, rules, sema, verify};
use std::path::Path;

/// What became of a source.
#[derive(Debug)]
pub struct Outcome {
    /// Its texts.
    pub sources: SourceMap,
    /// In order of place, without repetitions.
    pub diagnostics: Vec<Diagnostic>,
    /// Verified, launches whole; none after an error.
    pub module: Option<Module>,
}

impl Outcome {
    /// All diagnostics with their source, without colours.
    #[must_use]
    pub fn rendering(&self) -> String {
        human(&self.sources, &self.diagnostics, &HumanOptions::default())
    }
}

/// Parses, checks and lowers a source, and runs the passes before code generation on a copy. Imports are read relative to `folder`. A first line
/// `// options: --launch-abi=v1` chooses the launch interface, `--cdp=1` the dynamic parallelism.
///
/// # Errors
/// When the compiler made a module that its own verifier refuses.
pub fn compile(folder: &Path, name: &str, text: &str) -> Result<Outcome, String> {
    let options = CaseOptions::read(text)?;
    let mut sources = SourceMap::new();
    let file = sources.add(name, text);
    let mut read = |importer: &str, path: &str| read_import(folder, importer, path);
    let (trees, mut diagnostics) = imports::parse_all(&mut sources, file, &mut read);
    let (program, found) = sema::check(&trees, &sources, sema::Options { cdp: options.cdp, ..sema::Options::default() });
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return Ok(Outcome { sources, diagnostics: diagnostics.finish(), module: None });
    }
    let (module, found) = lower::lower(program, &LowerOptions::default());
    diagnostics.extend(found);
    if diagnostics.has_errors() {
        return Ok(Outcome { sources, diagnostics: diagnostics.finish(), module: None });
    }
    let module = verified(module)?;
    let mut levels = rules::Levels::new();
    trees.iter().for_each(|tree| levels.read(tree));
    diagnostics.extend(rules::check(&module, &levels, options.cdp));
    if diagnostics.has_errors() {
        return Ok(Outcome { sources, diagnostics: diagnostics.finish(), module: None });
    }
    let mut lowered = module.clone();
    pass::const_fold(&mut lowered);
    pass::simplify(&mut lowered);
    diagnostics.extend(pass::check_launch_hints(&lowered));
    let (_, found) = pass::lower_launches(&mut lowered, &LaunchOptions { abi: options.abi, ..LaunchOptions::default() });
    diagnostics.extend(found);
    verified(lowered)?;
    let module = (!diagnostics.has_errors()).then_some(module);
    Ok(Outcome { sources, diagnostics: diagnostics.finish(), module })
}

/// How a case is compiled, in the command line's words.
#[derive(Default)]
struct CaseOptions {
    abi: LaunchAbi,
    cdp: Cdp,
}

impl CaseOptions {
    fn read(text: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let words = text.lines().next().and_then(|line| line.strip_prefix("// options:")).unwrap_or_default();
        for word in words.split_whitespace() {
            match word {
                "--launch-abi=v1" => options.abi = LaunchAbi::V1,
                "--launch-abi=v2" => options.abi = LaunchAbi::V2,
                "--cdp=1" => options.cdp = Cdp::Cdp1,
                other => return Err(format!("`{other}` is no option of a case")),
            }
        }
        Ok(options)
    }
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

/// An import, by a name relative to `folder`, so that renderings are the same everywhere.
fn read_import(folder: &Path, importer: &str, path: &str) -> Result<imports::Found, String> {
    let mut parts: Vec<&str> = importer.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            // the same file must get the same name, whichever way leads there
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let name = parts.join("/");
    let text = std::fs::read_to_string(folder.join(&name)).map_err(|_| "there is no such file".to_owned())?;
    Ok(imports::Found { name, text })
}
