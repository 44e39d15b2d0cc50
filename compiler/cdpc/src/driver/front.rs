//! From a source to IR, and the passes before code generation.

use cdp_core::diag::{Diagnostic, Diagnostics};
use cdp_core::ir::{Module, PlaceBase};
use cdp_core::lower::{self, LowerOptions};
use cdp_core::pass::{self, LaunchOptions, LaunchSite, MergeOptions, Merged};
use cdp_core::source::{FileId, SourceMap};
use cdp_core::syntax::ast;
use cdp_core::typed::Program;
use cdp_core::types::Space;
use cdp_core::{imports, rules, sema, syntax, verify};

use crate::failure::{Failure, Result};
use crate::input::{self, Source};
use crate::manifest::Used;
use crate::options::Meaning;
use crate::report::Reporter;

/// A source without errors, as IR.
#[derive(Debug)]
pub struct Front {
    /// The texts.
    pub sources: SourceMap,
    /// The source's file; others are those that it imports.
    pub file: FileId,
    /// How many of the texts, from the first, are files; the others are definitions.
    pub read: usize,
    /// The trees, the source's first.
    pub trees: Vec<ast::File>,
    /// The IR, launches whole, as it is run on the executor.
    pub module: Module,
    /// What is shown after the back end's part of the checks.
    warnings: Diagnostics,
}

/// A source that is parsed and checked, with or without errors.
#[derive(Debug)]
pub struct Checked {
    /// The texts.
    pub sources: SourceMap,
    /// The source's file; others are those that it imports.
    pub file: FileId,
    /// How many of the texts, from the first, are files; the others are definitions.
    pub read: usize,
    /// The trees, the source's first.
    pub trees: Vec<ast::File>,
    /// What the phases so far have found.
    pub found: Diagnostics,
}

/// A source with errors.
#[derive(Debug)]
pub struct Wrong {
    /// The texts.
    pub sources: SourceMap,
    /// What is wrong with them.
    pub found: Vec<Diagnostic>,
}

/// The IR as it is compiled.
#[derive(Debug)]
pub struct Lowered {
    /// Launches are calls; variables that host code uses are visible to it.
    pub module: Module,
    /// What they were.
    pub launches: Vec<LaunchSite>,
    /// Whether it prints, and counts how often.
    pub counts_prints: bool,
    /// What became of the program's own launches; empty where merging is off.
    pub merged: Merged,
    /// What it needs of others.
    pub used: Used,
}

impl Checked {
    /// Parses a source and what it imports, and checks names and types. The program is there as far as it got.
    pub fn new(source: Source, meaning: &Meaning, import: &mut imports::Reader<'_>) -> (Self, Program) {
        let mut sources = SourceMap::new();
        let file = sources.add(source.name, source.text);
        let (mut trees, mut found) = imports::parse_all(&mut sources, file, import);
        let read = sources.files().count();
        found.extend(imports::define(&mut sources, &mut trees, &meaning.defines()));
        let (program, more) = sema::check(&trees, &sources, sema::Options { fmad: meaning.fmad, cdp: meaning.cdp.into() });
        found.extend(more);
        (Self { sources, file, read, trees, found }, program)
    }

    /// Lowers the program and looks at what flow decides. `None` where there are errors.
    ///
    /// # Errors
    /// A fault of the compiler.
    pub fn lower(&mut self, program: Program, meaning: &Meaning) -> Result<Option<Module>> {
        if self.found.has_errors() {
            return Ok(None);
        }
        let (module, found) = lower::lower(program, &LowerOptions { fmad: meaning.fmad });
        self.found.extend(found);
        if self.found.has_errors() {
            return Ok(None);
        }
        verified(&module, "lowering")?;
        let mut levels = meaning.lints.levels();
        self.trees.iter().for_each(|tree| levels.read(tree));
        self.found.extend(rules::check(&module, &levels, meaning.cdp.into()));
        Ok((!self.found.has_errors()).then_some(module))
    }
}

/// What is found when launches are lowered.
pub fn at_launches(module: Module) -> Diagnostics {
    let mut module = simplified(module);
    let mut found = pass::check_launch_hints(&module);
    found.extend(pass::lower_launches(&mut module, &LaunchOptions::default()).1);
    found
}

/// Smaller, and without launches that never happen.
fn simplified(mut module: Module) -> Module {
    pass::const_fold(&mut module);
    pass::simplify(&mut module);
    module
}

impl Front {
    /// Parses, checks and lowers.
    ///
    /// # Errors
    /// The source's errors, all of them shown.
    pub fn new(source: Source, meaning: &Meaning, reporter: &Reporter) -> Result<Self> {
        Self::open(source, meaning)?.map_err(|Wrong { sources, found }| {
            let shown = reporter.diagnostics(&sources, &found);
            shown.err().unwrap_or_else(|| Failure::bug("an error was found and not shown"))
        })
    }

    /// The same, with the source's errors for the caller to show.
    ///
    /// # Errors
    /// A fault of the compiler.
    pub fn open(source: Source, meaning: &Meaning) -> Result<std::result::Result<Self, Wrong>> {
        let (mut checked, program) = Checked::new(source, meaning, &mut input::import);
        let module = checked.lower(program, meaning)?;
        let Checked { sources, file, read, trees, found } = checked;
        Ok(match module {
            Some(module) => Ok(Self { sources, file, read, trees, module, warnings: found }),
            None => Err(Wrong { sources, found: found.finish() }),
        })
    }

    /// Folds constants and lowers the launches. Shows what was found up to here.
    pub(super) fn lower_launches(
        &self,
        options: &LaunchOptions,
        merging: Option<&MergeOptions>,
        count: bool,
        reporter: &Reporter,
    ) -> Result<Lowered> {
        let mut module = self.module.clone();
        show_to_host(&mut module);
        module = simplified(module);
        let mut found = pass::check_launch_hints(&module);
        let merged = merging.map(|options| pass::merge_launches(&mut module, options)).unwrap_or_default();
        let (launches, more) = pass::lower_launches(&mut module, options);
        found.extend(more);
        // before host code loses its bodies
        let used = Used::of(&module);
        let counts_prints = count && pass::count_prints(&mut module);
        let mut all = self.warnings.clone();
        all.extend(found);
        reporter.diagnostics(&self.sources, &all.finish())?;
        verified(&module, "the lowering of launches")?;
        Ok(Lowered { module, launches, merged, counts_prints, used })
    }

    /// Everything that is found in the source, the checks that go with code generation included.
    pub fn findings(&self) -> Vec<Diagnostic> {
        let mut all = self.warnings.clone();
        all.extend(at_launches(self.module.clone()));
        all.finish()
    }

    /// The checks that go with code generation, for whoever generates none.
    ///
    /// # Errors
    /// The source's errors, all of them shown.
    pub fn check(&self, reporter: &Reporter) -> Result<()> {
        self.lower_launches(&LaunchOptions::default(), None, false, reporter).map(|_| ())
    }

    /// The module as the executor runs it with launches merged.
    ///
    /// # Errors
    /// Faults of ours.
    pub fn merged(&self, options: &MergeOptions) -> Result<Module> {
        let mut module = simplified(self.module.clone());
        pass::merge_launches(&mut module, options);
        verified(&module, "the merging of launches")?;
        Ok(module)
    }
}

/// Makes the variables that host code names visible to the driver, which finds them by their symbols.
fn show_to_host(module: &mut Module) {
    let info = verify::ModuleInfo::new(module);
    let mut used = Vec::new();
    for (_, function) in module.functions().filter(|(id, _)| info.is_on_host(*id)) {
        for statement in function.blocks.iter().flat_map(|block| &block.statements) {
            statement.kind.each_place(&mut |place| {
                if let PlaceBase::Global(id) = place.base {
                    used.push(id);
                }
            });
        }
    }
    for id in used {
        if let Some(global) = module.globals.get_mut(id.index()) {
            global.exported |= global.space != Space::Shared;
        }
    }
}

/// A module that breaks the IR's rules is a fault of the stage that made it.
fn verified(module: &Module, stage: &str) -> Result<()> {
    verify::verify(module).map(|_| ()).map_err(|errors| {
        let list: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::bug(format!("{stage} made a module that breaks the rules of the IR")).note(list.join("\n"))
    })
}

/// The formatted text.
///
/// # Errors
/// The source's syntax errors, shown.
pub fn format(source: Source, reporter: &Reporter) -> Result<String> {
    let mut sources = SourceMap::new();
    let file = sources.add(source.name, source.text.clone());
    match syntax::format(file, &source.text) {
        Ok(text) => Ok(text),
        Err(found) => {
            reporter.diagnostics(&sources, &found.finish())?;
            Err(Failure::bug("an error was found and not shown"))
        }
    }
}
