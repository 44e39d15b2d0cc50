//! From source text to what a run came to.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod trees;

use cdp_core::builtins::Cdp;
use cdp_core::diag::render::{HumanOptions, human};
use cdp_core::ir::Module;
use cdp_core::lower::{LowerOptions, lower};
use cdp_core::source::SourceMap;
use cdp_core::{sema, syntax, verify};
use cdp_executor::{CpuDevice, CpuOptions, HostProgram, Options, Outcome, Program, Schedule, Status};
use std::path::Path;
use std::sync::Arc;

/// A program with its texts.
pub struct Compiled {
    pub sources: SourceMap,
    pub module: Module,
    pub program: Arc<Program>,
    pub cdp: Cdp,
}

/// What a run came to.
pub struct Ran {
    pub outcome: Outcome,
    pub output: String,
    pub rendering: String,
    pub steps: u64,
}

/// Compiles a text that must be right; one that starts with `// options: --cdp=1` for CDP1.
pub fn compile(text: &str) -> Compiled {
    compile_files(&[("test.cdp".to_owned(), text.to_owned())]).unwrap_or_else(|rendering| panic!("{rendering}"))
}

/// Compiles a file with what it imports; or what is wrong with it.
pub fn compile_file(path: &Path) -> Result<Compiled, String> {
    let mut files = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        let name = path.display().to_string();
        if files.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            if let Some(import) = line.strip_prefix("import \"").and_then(|rest| rest.split('"').next()) {
                pending.push(path.parent().unwrap().join(import));
            }
        }
        files.push((name, text));
    }
    compile_files(&files)
}

fn compile_files(files: &[(String, String)]) -> Result<Compiled, String> {
    let mut sources = SourceMap::new();
    let mut diagnostics = cdp_core::diag::Diagnostics::new();
    let mut trees = Vec::new();
    for (name, text) in files {
        let file = sources.add(name, text);
        let (tree, found) = syntax::parse(file, text);
        diagnostics.extend(found);
        trees.push(tree);
    }
    let cdp1 = files.first().is_some_and(|(_, text)| text.starts_with("// options: --cdp=1"));
    let cdp = if cdp1 { Cdp::Cdp1 } else { Cdp::Cdp2 };
    let (program, found) = sema::check(&trees, &sources, sema::Options { cdp, ..sema::Options::default() });
    diagnostics.extend(found);
    let lowered = (!diagnostics.has_errors()).then(|| lower(program, &LowerOptions::default()));
    let module = match lowered {
        Some((module, found)) => {
            diagnostics.extend(found);
            module
        }
        None => Module::default(),
    };
    let failed = diagnostics.has_errors();
    let rendering = human(&sources, &diagnostics.finish(), &HumanOptions::default());
    if failed {
        return Err(rendering);
    }
    verify::verify(&module).unwrap();
    let program = Arc::new(Program::new(&module));
    Ok(Compiled { sources, module, program, cdp })
}

impl Compiled {
    /// Runs `main`, or the test of this name.
    pub fn run(&self, entry: &str, max_steps: Option<u64>) -> Ran {
        self.run_scheduled(entry, max_steps, Schedule::Late, false)
    }

    /// The same in another order.
    pub fn run_scheduled(&self, entry: &str, max_steps: Option<u64>, schedule: Schedule, races: bool) -> Ran {
        let mut device = CpuDevice::new(
            Arc::clone(&self.program),
            CpuOptions { max_steps, schedule, races, cdp: self.cdp, ..CpuOptions::default() },
        );
        let mut output = Vec::new();
        let mut host = HostProgram::new(&self.program, &mut device, &mut output, Options::default());
        let test = self.program.tests().find(|(_, name)| *name == entry).map(|(id, _)| id);
        let outcome = match test {
            Some(id) => host.run_test(id),
            None => host.run_function(entry),
        };
        let outcome = outcome.unwrap();
        let rendering = human(&self.sources, &outcome.diagnostics, &HumanOptions::default());
        Ran { outcome, output: String::from_utf8_lossy(&output).into_owned(), rendering, steps: device.steps() }
    }

    /// `main`, if there is one, and every test.
    pub fn entries(&self) -> Vec<String> {
        let main = self.program.host_function("main").map(|_| "main".to_owned());
        main.into_iter().chain(self.program.tests().map(|(_, name)| name.to_owned())).collect()
    }
}

/// Runs `main` of a text.
pub fn run(text: &str) -> Ran {
    compile(text).run("main", Some(50_000_000))
}

/// What a text prints that must run without a fault.
pub fn printed(text: &str) -> String {
    let ran = run(text);
    assert_eq!(ran.outcome.status, Status::Ok, "{}", ran.rendering);
    ran.output
}

/// The codes of a run's diagnostics, each with its line and the source under it: `E0724@3 x[12]`.
pub fn found(text: &str) -> Vec<String> {
    let compiled = compile(text);
    let ran = compiled.run("main", Some(50_000_000));
    let place = |span| format!("{} {}", compiled.sources.line_column(span).line, compiled.sources.text(span));
    ran.outcome.diagnostics.iter().map(|d| format!("{}@{}", d.code.id(), place(d.primary.span))).collect()
}

/// What is found where races are looked for, alike under every schedule: codes, each with the two lines it is between, earlier first in the text.
pub fn races(text: &str) -> Vec<(&'static str, u32, u32)> {
    let compiled = compile(text);
    let line = |span| compiled.sources.line_column(span).line;
    let mut all: Option<Vec<(&'static str, u32, u32)>> = None;
    for schedule in [Schedule::Late, Schedule::Eager, Schedule::Random { seed: 1 }, Schedule::Random { seed: 2 }] {
        let ran = compiled.run_scheduled("main", Some(50_000_000), schedule, true);
        let sides = ran.outcome.diagnostics.iter().map(|d| (d.code.id(), line(d.primary.span), line(d.secondary[0].span)));
        let mut found: Vec<_> = sides.map(|(code, a, b)| (code, a.min(b), a.max(b))).collect();
        found.sort_unstable();
        found.dedup();
        match &all {
            Some(all) => assert_eq!(*all, found, "{schedule:?}\n{}", ran.rendering),
            None => all = Some(found),
        }
    }
    all.unwrap_or_default()
}
