//! `cdpc inspect`: each source line with the PTX and the machine code that it became.

use std::fmt::Write as _;
use std::path::PathBuf;

use cdp_runtime::Component;
use cdp_runtime::manifest::{LaunchSite, Manifest};

use crate::artefact::{self, Artefact, Target};
use crate::driver;
use crate::failure::Result;
use crate::listing::html::Page;
use crate::listing::{Function, ir, ptx, sass};
use crate::options::Compile;
use crate::report::Reporter;
use crate::style::Style;
use crate::terminal;

/// The widest PTX column; longer instructions push their neighbour to the right.
const PTX_COLUMN: usize = 64;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, `-` for standard input; with it objects, libraries, fatbins, cubins and PTX to link it with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only the lines that launch kernels
    #[arg(long)]
    launches: bool,
    /// Only this line; may be given several times
    #[arg(long, value_name = "LINE")]
    line: Vec<u32>,
    /// Only this kernel or function; may be given several times
    #[arg(long, value_name = "NAME")]
    function: Vec<String>,
    /// Only PTX, which needs no CUDA toolkit
    #[arg(long)]
    no_sass: bool,
    /// Write one self-contained page instead: source, IR, PTX and machine code side by side, launches drawn to scale; `-` for standard output
    #[arg(long, value_name = "PAGE", conflicts_with_all = ["launches", "line", "function"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    compile: Compile,
}

/// # Errors
/// Those of the source, and of the toolkit unless `--no-sass` is given.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    // the line tables are what aligns the columns
    let compile = Compile { lineinfo: true, ..args.compile.clone() };
    let build = driver::Build::begin(&args.files, &compile, reporter, !args.no_sass)?;
    let code = build.generate(false)?;
    let machine = if args.no_sass {
        Vec::new()
    } else {
        let linked = build.link(&code)?;
        let toolkit = build.toolkit();
        sass::functions(&sass::disassemble(toolkit.require(Component::Nvdisasm)?, &linked.cubin)?, build.source_name())
    };
    let assembly = ptx::functions(&code.ptx);
    if let Some(path) = &args.html {
        // those of the device runtime are of no interest
        let machine =
            machine.into_iter().filter(|function| assembly.iter().any(|ours| ours.symbol == function.symbol)).collect();
        let page = Page {
            file: build.source_name(),
            options: format!("{} · -O{}", code.manifest.arch, compile.level),
            source: build.source_lines(),
            columns: [
                ("IR", ir::functions(&build.ir_text(), build.sources(), build.file())),
                ("PTX", assembly),
                ("machine code", machine),
            ],
            manifest: &code.manifest,
        };
        return artefact::write_all(&[Artefact { target: Target::named(path), bytes: page.text().into_bytes() }]);
    }
    let listing = Listing {
        args,
        manifest: &code.manifest,
        merging: &code.merging,
        source: build.source_lines(),
        file: build.source_name(),
        style: reporter.style_out(),
    };
    terminal::print(listing.text(&assembly, &machine))
}

struct Listing<'a> {
    args: &'a Args,
    manifest: &'a Manifest,
    /// By line, what launch merging did.
    merging: &'a [(u32, String)],
    source: Vec<&'a str>,
    file: &'a str,
    style: Style,
}

impl Listing<'_> {
    fn text(&self, ptx: &[Function], machine: &[Function]) -> String {
        let mut out = String::new();
        for function in ptx {
            let wanted = &self.args.function;
            // what merging adds has the places of launches, and says nothing of its own about them
            let ours =
                ["cdpc$", "cdpc_merge_", "cdpc_in_place", "cdpc_warp_"].iter().any(|start| function.symbol.starts_with(start));
            let ours = ours && self.args.launches && function.symbol.contains('$');
            let shown = if wanted.is_empty() { !ours } else { wanted.contains(&function.symbol) };
            if !shown {
                continue;
            }
            let machine = machine.iter().find(|other| other.symbol == function.symbol);
            self.function(&mut out, function, machine);
        }
        if out.is_empty() {
            out.push_str(if self.args.launches { "nothing is launched here\n" } else { "no code comes from these lines\n" });
        }
        out
    }

    fn function(&self, out: &mut String, ptx: &Function, machine: Option<&Function>) {
        let instructions = ptx.instructions.iter().chain(machine.into_iter().flat_map(|function| &function.instructions));
        let mut lines: Vec<u32> = instructions.map(|instruction| instruction.line).filter(|line| self.shows(*line)).collect();
        lines.sort_unstable();
        lines.dedup();
        if lines.is_empty() {
            return;
        }
        let kind = if self.manifest.kernels.iter().any(|kernel| kernel.symbol == ptx.symbol) { "kernel" } else { "function" };
        let _ = writeln!(out, "{kind} {} in {}\n", self.style.bold(&ptx.symbol), self.file);
        for line in lines {
            self.line(out, line, ptx, machine);
        }
    }

    fn shows(&self, line: u32) -> bool {
        line != 0
            && (self.args.line.is_empty() || self.args.line.contains(&line))
            && (!self.args.launches || self.has_launch(line))
    }

    /// Of merged launches that go the same way only one is left, in what pushes them.
    fn has_launch(&self, line: u32) -> bool {
        self.launches(line).next().is_some() || self.merging.iter().any(|(at, _)| *at == line)
    }

    fn launches(&self, line: u32) -> impl Iterator<Item = &LaunchSite> {
        // those of merged grids are ours, and stand nowhere in the source
        let own = |site: &&LaunchSite| !site.kernel.starts_with("cdpc$merge$");
        self.manifest.launch_sites.iter().filter(move |site| site.line == line && site.file == self.file).filter(own)
    }

    fn line(&self, out: &mut String, line: u32, ptx: &Function, machine: Option<&Function>) {
        let source = self.source.get(line as usize - 1).copied().unwrap_or("").trim_end();
        let shown = if self.has_launch(line) { self.style.mark(source) } else { self.style.bold(source) };
        let _ = writeln!(out, "{line:5} | {shown}");
        let mut described: Vec<String> = self.launches(line).map(describe).collect();
        // merged grids run functions of their own, with the same launches
        described.dedup();
        for text in described {
            let _ = writeln!(out, "      | {}", self.style.mark(&text));
        }
        for (_, what) in self.merging.iter().filter(|(at, _)| *at == line) {
            let _ = writeln!(out, "      | {}", self.style.mark(&format!("^ {what}")));
        }
        let left: Vec<&str> = ptx.of_line(line).collect();
        let right: Vec<&str> = machine.into_iter().flat_map(|function| function.of_line(line)).collect();
        let width = left.iter().map(|text| text.len()).max().unwrap_or(0).min(PTX_COLUMN);
        for row in 0..left.len().max(right.len()) {
            let (ptx, sass) = (left.get(row).copied().unwrap_or(""), right.get(row).copied().unwrap_or(""));
            let text = format!("      |     {ptx:width$}  {sass}");
            let _ = writeln!(out, "{}", text.trim_end());
        }
        out.push('\n');
    }
}

fn describe(site: &LaunchSite) -> String {
    let calls = site.abi.calls().join(", ");
    let stores: Vec<String> = site.stores.iter().map(|store| format!("{} +{}", store.offset, store.size)).collect();
    let stored = if stores.is_empty() { "no parameters".to_owned() } else { format!("parameters at {}", stores.join(", ")) };
    format!("^ launches `{}`: {calls}; {stored}", site.kernel)
}
