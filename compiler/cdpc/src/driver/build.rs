//! From IR to PTX and a cubin.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use cdp_backend::Libdevice;
use cdp_core::ir::{self, Module};
use cdp_core::pass::{Extent, InPlaceSite, LaunchAbi, LaunchOptions, LoopSite, MergeMode, MergeSite, Merged, Obstacle, Runner};
use cdp_core::source::{FileId, SourceMap, Span};
use cdp_core::syntax::ast;
use cdp_runtime::link::{Opening, function_registers};
use cdp_runtime::manifest::Manifest;
use cdp_runtime::{Arch, Component, CubinInfo, Foreign, Input, LinkOptions, Linker, Toolkit, layout_check};

use super::front::Front;
use super::linked;
use crate::failure::{Failure, Message, Result};
use crate::input;
use crate::manifest;
use crate::options::{self, Compile};
use crate::report::Reporter;

/// A source, and what compiling it further needs.
pub struct Build<'a> {
    front: Front,
    reporter: &'a Reporter,
    arch: Arch,
    toolkit: OnceCell<Toolkit>,
    compile: &'a Compile,
    /// On its way while the source is compiled; `None` when no cubin is wanted, or once it is there.
    opening: RefCell<Option<Opening>>,
    linker: OnceCell<Linker>,
    /// What is linked in.
    objects: Vec<Foreign>,
    path: PathBuf,
}

/// What the back end made.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The IR it was made from, as text.
    pub lowered_ir: String,
    /// LLVM's representation after optimisation; empty unless it was asked for.
    pub llvm_ir: String,
    /// PTX.
    pub ptx: String,
    /// Kernels, parameters, launch sites.
    pub manifest: Manifest,
    /// Whether it prints, and counts how often.
    pub counts_prints: bool,
    /// What became of launches of the source itself: the line and the words. Empty unless launches are merged.
    pub merging: Vec<(u32, String)>,
}

/// A cubin whose layout is the compiler's.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The ELF file.
    pub cubin: Vec<u8>,
    /// What it says of itself.
    pub info: CubinInfo,
}

impl<'a> Build<'a> {
    /// Reads and checks the source among the files, while the linker is opened if a cubin is wanted. The others are what it is linked with.
    ///
    /// # Errors
    /// An unknown architecture, an unreadable file, one that cannot be linked, the source's errors.
    pub fn begin(files: &[PathBuf], compile: &'a Compile, reporter: &'a Reporter, cubin: bool) -> Result<Self> {
        let arch = compile.arch()?;
        if compile.meaning.cdp == options::Cdp::One && compile.launch_merging == Some(options::Switch::On) {
            return Err(Failure::usage("`--launch-merging=on` does not go with `--cdp=1`")
                .note("merged launches are run by tail grids, which CDP1 has not"));
        }
        let opening = cubin.then(|| Linker::open_in_background(compile.toolkit.search()));
        let (source, objects) = input::program(files)?;
        let front = Front::new(input::read(&source)?, &compile.meaning, reporter)?;
        let objects = if cubin {
            objects.iter().map(|path| Foreign::read(path)).collect::<cdp_runtime::Result<_>>()?
        } else {
            Vec::new()
        };
        let (toolkit, linker) = (OnceCell::new(), OnceCell::new());
        Ok(Self { front, reporter, arch, compile, toolkit, opening: RefCell::new(opening), linker, objects, path: source })
    }

    /// The IR, launches whole.
    pub const fn module(&self) -> &Module {
        &self.front.module
    }

    /// The same, for changes before code is generated.
    pub(super) const fn module_mut(&mut self) -> &mut Module {
        &mut self.front.module
    }

    /// The source's tree.
    pub(super) fn tree(&self) -> Option<&ast::File> {
        self.front.trees.first()
    }

    /// The source's text.
    pub fn source_text(&self) -> &str {
        self.front.sources.get(self.front.file).map_or("", |file| &file.text)
    }

    /// The source's file among the texts.
    pub const fn file(&self) -> FileId {
        self.front.file
    }

    /// The IR as the executor runs it: with launches merged where that is wanted.
    ///
    /// # Errors
    /// Faults of ours.
    pub fn runnable(&self) -> Result<Cow<'_, Module>> {
        match self.compile.merging_on_executor() {
            Some(options) => self.front.merged(&options).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&self.front.module)),
        }
    }

    /// The texts.
    pub const fn sources(&self) -> &SourceMap {
        &self.front.sources
    }

    /// The toolkit; searched at the first call.
    pub fn toolkit(&self) -> &Toolkit {
        self.toolkit.get_or_init(|| Toolkit::find_with(&self.compile.toolkit.search()))
    }

    /// The source, as it was named.
    pub fn source_path(&self) -> &Path {
        &self.path
    }

    /// The source's name.
    pub fn source_name(&self) -> &str {
        self.front.sources.name(self.front.file)
    }

    /// The names of all files, the source's first.
    pub fn file_names(&self) -> Vec<&str> {
        self.front.sources.files().take(self.front.read).map(|(_, file)| file.name.as_str()).collect()
    }

    /// The source's lines.
    pub fn source_lines(&self) -> Vec<&str> {
        self.front.sources.get(self.front.file).map(|file| file.text.lines().collect()).unwrap_or_default()
    }

    /// The trees as text.
    pub fn ast_text(&self) -> String {
        self.front.trees.iter().map(|tree| format!("{tree:#?}\n")).collect()
    }

    /// The IR as text, launches whole.
    pub fn ir_text(&self) -> String {
        ir::print(&self.front.module)
    }

    /// Shows the source's warnings, for commands that generate no code.
    ///
    /// # Errors
    /// What only code generation checks.
    pub fn check(&self) -> Result<()> {
        self.front.check(self.reporter)
    }

    /// Lowers the launches and generates code.
    ///
    /// # Errors
    /// What the launch interface or the GPU cannot do, a missing libdevice, faults of ours.
    pub fn generate(&self, texts: bool) -> Result<Generated> {
        self.generate_for(texts, false)
    }

    /// The same for code that `cdpc` runs itself: it counts what it prints, so that lost output is noticed.
    ///
    /// # Errors
    /// Those of [`Build::generate`].
    pub fn generate_to_run(&self) -> Result<Generated> {
        self.generate_for(false, true)
    }

    fn generate_for(&self, texts: bool, count_prints: bool) -> Result<Generated> {
        let abi = match self.compile.launch_abi {
            options::LaunchAbi::Auto => LaunchAbi::Auto,
            options::LaunchAbi::V1 => LaunchAbi::V1,
            options::LaunchAbi::V2 => LaunchAbi::V2,
        };
        let launch = LaunchOptions { abi, max_param_bytes: self.compile.max_param_bytes.into(), ..LaunchOptions::default() };
        let lowered = self.front.lower_launches(&launch, self.compile.merging().as_ref(), count_prints, self.reporter)?;
        let options = self.backend_options(texts)?;
        let output =
            cdp_backend::compile(&lowered.module, &self.front.sources, &options).map_err(|error| self.refused(&error))?;
        let manifest = manifest::of(&self.front, &lowered, &output, self.arch)?;
        let lowered_ir = if texts { ir::print(&lowered.module) } else { String::new() };
        let merging = self.merging(&lowered.merged);
        Ok(Generated {
            lowered_ir,
            llvm_ir: output.llvm_ir_optimised,
            ptx: output.ptx,
            manifest,
            merging,
            counts_prints: lowered.counts_prints,
        })
    }

    /// What became of the launches in the source's own file, each once.
    fn merging(&self, merged: &Merged) -> Vec<(u32, String)> {
        let sources = &self.front.sources;
        let because = |why: &Obstacle, site: Span| {
            if why.span == site {
                return why.why.clone();
            }
            let at = sources.line_column(why.span);
            format!("{} ({}:{}:{}, `{}`)", why.why, sources.name(why.span.file), at.line, at.column, sources.text(why.span))
        };
        let text = |site: &MergeSite| match &site.result {
            Ok(MergeMode::Blocks) => format!("merged, block by block{}", in_buckets(&site.buckets)),
            Ok(MergeMode::Threads) => format!("merged, thread by thread in full blocks{}", in_buckets(&site.buckets)),
            Err(obstacle) => format!("launched as it is: {}", because(obstacle, site.span)),
        };
        let in_place = |site: &InPlaceSite| match &site.below {
            Ok(below) => {
                let by =
                    if site.by == Runner::Thread { "the thread that launches them" } else { "the lanes that launch together" };
                match site.extent {
                    Extent::All if site.asked || site.by == Runner::Thread => {
                        format!("grids of fewer than {below} threads are run in place, by {by}; others:")
                    }
                    Extent::All => format!("always run in place, by {by}"),
                    Extent::Warp => format!("run in place by {by}, where that takes them few rounds; others:"),
                    Extent::Block => {
                        format!("run in place by {by}, or at its end by their block, where that takes few rounds; others:")
                    }
                }
            }
            Err(obstacle) => format!("not run in place: {}", because(obstacle, site.span)),
        };
        let of_loop = |site: &LoopSite| match &site.result {
            Ok(()) if site.again => "a loop: one grid runs this kernel and what it launches, round after round".to_owned(),
            Ok(()) => "a round of the loop that its kernel is".to_owned(),
            Err(obstacle) => format!("not a loop: {}", because(obstacle, site.span)),
        };
        let own = |span: Span| (span.file == self.front.file).then(|| sources.line_column(span).line);
        let mut lines: Vec<(u32, String)> =
            merged.in_place.iter().filter_map(|site| Some((own(site.span)?, in_place(site)))).collect();
        lines.extend(merged.loops.iter().filter_map(|site| Some((own(site.span)?, of_loop(site)))));
        // in a loop it is a round, and nothing else becomes of it
        let in_loop = |site: &MergeSite| merged.loops.iter().any(|other| other.span == site.span && other.result.is_ok());
        let others = merged.sites.iter().filter(|site| !in_loop(site));
        lines.extend(others.filter_map(|site| Some((own(site.span)?, text(site)))));
        let mut seen = HashSet::new();
        lines.retain(|line| seen.insert(line.clone()));
        lines
    }

    fn backend_options(&self, texts: bool) -> Result<cdp_backend::Options> {
        let target = cdp_backend::Target::new(&self.arch.to_string())
            .map_err(|error| Failure::usage(format!("the code generator does not know {}: {error}", self.arch)))?;
        let libdevice =
            self.toolkit().get(Component::Libdevice).map_or(Libdevice::Missing, |found| Libdevice::File(found.path.clone()));
        Ok(cdp_backend::Options {
            opt_level: self.compile.level,
            lineinfo: self.compile.lineinfo,
            ftz: self.compile.ftz,
            fast_math: self.compile.fast_math,
            cdp: self.compile.meaning.cdp.into(),
            libdevice,
            emit_llvm_ir: texts,
            ..cdp_backend::Options::new(target, self.source_name().to_owned())
        })
    }

    /// What the back end refuses, as the user sees it.
    fn refused(&self, error: &cdp_backend::Error) -> Failure {
        use cdp_backend::Error;
        if let Some(diagnostic) = error.diagnostic() {
            let shown = self.reporter.diagnostics(&self.front.sources, &[diagnostic]);
            return shown.err().unwrap_or_else(|| Failure::bug("an error was found and not shown"));
        }
        let place = error.span().map(|span| {
            let at = self.front.sources.line_column(span);
            format!("asked for at {}:{}:{}", self.front.sources.name(span.file), at.line, at.column)
        });
        let failure = match error {
            Error::Libdevice { function, .. } => match self.toolkit().require(Component::Libdevice) {
                Err(missing) => Failure::from(missing).note(format!("`{function}` is one of its functions")),
                Ok(_) => Failure::usage(error.to_string()),
            },
            _ if error.is_bug() => Failure::bug(error.to_string()),
            _ => Failure::program(error.to_string()),
        };
        match place {
            Some(place) => failure.note(place),
            None => failure,
        }
    }

    /// The target.
    pub(super) const fn arch(&self) -> Arch {
        self.arch
    }

    /// `-O0` to `-O3`.
    pub(super) const fn level(&self) -> u8 {
        self.compile.level
    }

    /// Whether line tables are wanted.
    pub(super) const fn lineinfo(&self) -> bool {
        self.compile.lineinfo
    }

    /// Compares a relocatable cubin's layout with the compiler's; of what is linked in later nothing is known yet.
    pub(super) fn check_layout(&self, code: &Generated, info: &CubinInfo) -> Result<()> {
        let mut own = code.manifest.clone();
        own.kernels.retain(|kernel| !kernel.external);
        own.globals.retain(|global| !global.external);
        let is_own = |symbol: &str| own.kernels.iter().any(|kernel| kernel.symbol == symbol);
        let launch_sites = own.launch_sites.iter().filter(|site| is_own(&site.kernel)).cloned().collect();
        Ok(layout_check::check(&Manifest { launch_sites, ..own }, info)?)
    }

    /// Links PTX to a cubin, and compares its parameter layout with the compiler's.
    ///
    /// # Errors
    /// A missing toolkit, the assembler's or the linker's complaints, a layout that differs.
    pub fn link(&self, code: &Generated) -> Result<Linked> {
        let linker = self.linker()?;
        let options = LinkOptions {
            level: self.compile.level,
            lineinfo: self.compile.lineinfo,
            device_runtime: code.manifest.needs_device_runtime,
            function_registers: function_registers(&code.ptx).filter(|_| self.objects.is_empty()),
            keep_refused_ptx: Some(std::env::temp_dir().join(format!("cdpc-refused-{}.ptx", std::process::id()))),
            ..LinkOptions::new(self.arch)
        };
        let own = Input::Ptx { name: self.source_name(), text: &code.ptx };
        let inputs: Vec<Input<'_>> = std::iter::once(own).chain(self.objects.iter().map(Input::Foreign)).collect();
        let located = |error| linked::located(error, &self.front, &self.objects, self.arch, self.reporter);
        layout_check::check_variables(&code.manifest, &self.objects, self.arch).map_err(located)?;
        let cubin = linker.link(&inputs, &options).map_err(located)?;
        let said = worth_saying(&cubin.log);
        if !said.is_empty() {
            let message =
                Message { text: "the linker has something to say".to_owned(), notes: vec![said], ..Message::default() };
            self.reporter.message("warning", &message);
        }
        let info = CubinInfo::parse(&cubin.bytes)?;
        layout_check::check(&code.manifest, &info).map_err(located)?;
        Ok(Linked { cubin: cubin.bytes, info })
    }

    fn linker(&self) -> Result<&Linker> {
        if let Some(linker) = self.linker.get() {
            return Ok(linker);
        }
        let opened = match self.opening.take() {
            Some(opening) => opening.wait()?,
            None => Linker::new(self.toolkit().clone())?,
        };
        Ok(self.linker.get_or_init(|| opened))
    }
}

/// To follow how a launch is merged.
fn in_buckets(blocks: &[u32]) -> String {
    if blocks.is_empty() {
        return String::new();
    }
    let blocks: Vec<String> = blocks.iter().map(u32::to_string).collect();
    format!(", in buckets of {} blocks", blocks.join(" or "))
}

/// A linker's log without repetitions, and without what recursion is told about: the stack that it needs is set by the manifest.
fn worth_saying(log: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in log.lines().map(str::trim).filter(|line| !line.is_empty() && !line.contains("cannot be statically determined"))
    {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_is_no_news() {
        let log = "warning : Stack size for entry function 'k' cannot be statically determined\nodd\n\nodd\n";
        assert_eq!(worth_saying(log), "odd");
        assert_eq!(worth_saying(""), "");
    }
}
