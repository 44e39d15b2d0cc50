//! `cdpc build`: artefacts from a source.

use std::path::{Path, PathBuf};

use cdp_runtime::Component;

use crate::artefact::{self, Artefact, Target};
use crate::bindings;
use crate::driver::{Build, Generated, Linked};
use crate::failure::{Failure, Result};
use crate::input;
use crate::listing::{ptx, sass};
use crate::options::Compile;
use crate::report::Reporter;

/// Arguments.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The source, `-` for standard input; with it objects, libraries, fatbins, cubins and PTX to link it with
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write, `-` for standard output; with several kinds, a folder or a name that gets each kind's ending
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// What to write, one or more of these
    #[arg(long, value_name = "KIND", value_delimiter = ',', default_value = "cubin")]
    emit: Vec<Emit>,
    /// Compile and do not link: an object as `nvcc -dc` makes, the same as `--emit=object`
    #[arg(short = 'c', long, conflicts_with = "emit")]
    compile_only: bool,
    #[command(flatten)]
    compile: Compile,
}

/// A kind of artefact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    /// The syntax tree
    Ast,
    /// The intermediate representation, launches whole
    Ir,
    /// The same with launches turned into runtime calls, as it is compiled
    LoweredIr,
    /// LLVM's representation, optimised
    LlvmIr,
    /// PTX; needs no CUDA toolkit
    Ptx,
    /// Machine code, linked and ready to load
    Cubin,
    /// A host object with relocatable device code, as `nvcc -dc` makes
    Object,
    /// The relocatable device code by itself, a cubin for nvlink and `nvcc -dlink`
    Rdc,
    /// Disassembled machine code
    Sass,
    /// The manifest: kernels, parameters, launch sites, as JSON
    Layout,
    /// A header for C and C++ hosts: types, launches
    Header,
    /// A module for Rust hosts
    Rust,
    /// A module for Python hosts
    Python,
    /// A Makefile rule
    DepInfo,
}

impl Emit {
    const fn ending(self) -> &'static str {
        match self {
            Self::Ast => "ast",
            Self::Ir => "ir",
            Self::LoweredIr => "lowered.ir",
            Self::LlvmIr => "ll",
            Self::Ptx => "ptx",
            Self::Cubin => "cubin",
            Self::Object => "o",
            Self::Rdc => "rdc.cubin",
            Self::Sass => "sass",
            Self::Layout => "json",
            Self::Header => "h",
            Self::Rust => "rs",
            Self::Python => "py",
            Self::DepInfo => "d",
        }
    }

    const fn needs_code(self) -> bool {
        !matches!(self, Self::Ast | Self::Ir | Self::DepInfo)
    }

    const fn needs_cubin(self) -> bool {
        matches!(self, Self::Cubin | Self::Sass)
    }
}

/// # Errors
/// Those of the source, the toolkit and the disk. After one, nothing is written.
pub fn run(args: &Args, reporter: &Reporter) -> Result<()> {
    let mut kinds: Vec<Emit> = Vec::new();
    let asked = if args.compile_only { &[Emit::Object][..] } else { &args.emit };
    for kind in asked {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    let (source, objects) = input::program(&args.files)?;
    let stem = stem(&source);
    let targets = targets(args, &source, &stem, &kinds)?;
    let links = kinds.iter().any(|kind| kind.needs_cubin());
    if let (false, Some(object)) = (links, objects.first()) {
        let wrong = Failure::usage(format!("nothing is linked here, so `{}` has no use", object.display()));
        return Err(wrong.help("leave it out, or make a cubin: `--emit=cubin`"));
    }
    let build = Build::begin(&args.files, &args.compile, reporter, links)?;
    let texts = kinds.iter().any(|kind| matches!(kind, Emit::LoweredIr | Emit::LlvmIr));
    let code = if kinds.iter().any(|kind| kind.needs_code()) { Some(build.generate(texts)?) } else { None };
    let linked = match &code {
        Some(code) if links => Some(build.link(code)?),
        _ => None,
    };
    if code.is_none() {
        build.check()?;
    }
    let mut artefacts = Vec::new();
    for (kind, target) in kinds.iter().zip(&targets) {
        let bytes = match kind {
            Emit::DepInfo => rule(&kinds, &targets, &source, &build.file_names(), &objects).into_bytes(),
            _ => bytes(*kind, &build, code.as_ref(), linked.as_ref(), &stem)?,
        };
        artefacts.push(Artefact { target: target.clone(), bytes });
    }
    artefact::write_all(&artefacts)
}

fn bytes(kind: Emit, build: &Build<'_>, code: Option<&Generated>, linked: Option<&Linked>, stem: &Path) -> Result<Vec<u8>> {
    let missing = || Failure::bug("a stage that is needed did not run");
    let code = || code.ok_or_else(missing);
    let linked_code = || linked.ok_or_else(missing);
    Ok(match kind {
        Emit::Ast => build.ast_text().into_bytes(),
        Emit::Ir => build.ir_text().into_bytes(),
        Emit::LoweredIr => code()?.lowered_ir.clone().into_bytes(),
        Emit::LlvmIr => code()?.llvm_ir.clone().into_bytes(),
        Emit::Ptx => code()?.ptx.clone().into_bytes(),
        Emit::Cubin => linked_code()?.cubin.clone(),
        Emit::Object => build.object(code()?)?,
        Emit::Rdc => build.relocatable(code()?)?,
        Emit::Sass => {
            let listing = sass::disassemble(build.toolkit().require(Component::Nvdisasm)?, &linked_code()?.cubin)?;
            let ours = ptx::functions(&code()?.ptx);
            sass::only(&listing, |symbol| ours.iter().any(|function| function.symbol == symbol)).into_bytes()
        }
        Emit::Layout => code()?.manifest.to_json()?.into_bytes(),
        Emit::Header => bindings::header(&code()?.manifest, &stem.to_string_lossy())?.into_bytes(),
        Emit::Rust => bindings::rust(&code()?.manifest)?.into_bytes(),
        Emit::Python => bindings::python(&code()?.manifest)?.into_bytes(),
        Emit::DepInfo => Vec::new(),
    })
}

/// The source's name without folder and ending.
fn stem(file: &Path) -> PathBuf {
    if file == Path::new("-") { PathBuf::from("a") } else { file.file_stem().map(PathBuf::from).unwrap_or_default() }
}

/// Where each kind goes.
fn targets(args: &Args, source: &Path, stem: &Path, kinds: &[Emit]) -> Result<Vec<Target>> {
    let stdin = source == Path::new("-");
    let named = |base: &Path, kind: Emit| {
        let mut name = base.as_os_str().to_owned();
        name.push(".");
        name.push(kind.ending());
        Target::File(PathBuf::from(name))
    };
    match (&args.output, kinds) {
        (Some(output), [_]) if output == Path::new("-") => Ok(vec![Target::Stdout]),
        (Some(output), _) if output == Path::new("-") => {
            Err(Failure::usage("`-o -` takes one kind of artefact").help("give `--emit` one kind, or `-o` a folder"))
        }
        (Some(output), _) if output.is_dir() => Ok(kinds.iter().map(|kind| named(&output.join(stem), *kind)).collect()),
        (Some(output), [_]) => Ok(vec![Target::File(output.clone())]),
        (Some(output), _) => Ok(kinds.iter().map(|kind| named(output, *kind)).collect()),
        // a filter: source in, text out
        (None, [kind]) if stdin && !matches!(kind, Emit::Cubin | Emit::Object | Emit::Rdc) => Ok(vec![Target::Stdout]),
        (None, _) => Ok(kinds.iter().map(|kind| named(stem, *kind)).collect()),
    }
}

/// A rule that says what the other artefacts are made from.
fn rule(kinds: &[Emit], targets: &[Target], source: &Path, files: &[&str], objects: &[PathBuf]) -> String {
    let escape = |path: &Path| path.display().to_string().replace('$', "$$").replace('#', "\\#").replace(' ', "\\ ");
    let made = kinds.iter().zip(targets).filter_map(|(kind, target)| match target {
        Target::File(path) if *kind != Emit::DepInfo => Some(escape(path)),
        _ => None,
    });
    let mut made: Vec<String> = made.collect();
    if made.is_empty() {
        made.push(escape(Path::new(source.file_stem().unwrap_or_default())) + ".cubin");
    }
    // standard input is no file that make could look at
    let files = files.iter().filter(|file| **file != input::STDIN).map(Path::new);
    let files: Vec<String> = files.chain(objects.iter().map(PathBuf::as_path)).map(escape).collect();
    // the rules without a recipe keep make going when a file is renamed
    let renamed: String = files.iter().map(|file| format!("\n{file}:\n")).collect();
    format!("{}: {}\n{renamed}", made.join(" "), files.join(" "))
}
