//! What can go wrong, as data. Every kind has a stable code (`E06xx` toolkit and link, `E07xx` run time); the codes are explained by
//! `cdpc explain CODE`. [`Error::message`] is one line, [`Error::notes`] is the evidence, [`Error::helps`] are ways out; `Display` gives all three.

use std::fmt;
use std::path::PathBuf;

use crate::arch::{Arch, Version};
use crate::foreign::symbols::{CdpUse, Clash, Missing, is_device_runtime};
use crate::gpu::explain::CudaError;
use crate::layout_check::Difference;
use crate::link::PtxProblem;
use crate::toolkit::Component;

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// One failure, with the evidence.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A component of the CUDA toolkit is in none of the places. `E0620`
    ComponentMissing {
        /// What was searched.
        component: Component,
        /// Every path that was tried, in order.
        looked_at: Vec<PathBuf>,
    },
    /// A path the user gave, by argument or environment variable, holds no toolkit. `E0621`
    ToolkitPathWrong {
        /// `CUDA_PATH`, or how the argument is called.
        given_by: String,
        /// What it says.
        path: PathBuf,
        /// The component that was wanted.
        component: Component,
        /// Every path that was tried, in order.
        looked_at: Vec<PathBuf>,
        /// Where one is that would have been taken, had the user named nothing.
        found: Option<PathBuf>,
    },
    /// No such target, or this toolkit cannot build for it. `E0622`
    UnsupportedArch {
        /// As the user wrote it.
        asked: String,
        /// The names that would be accepted.
        supported: Vec<String>,
        /// The nvJitLink that was asked, where one was.
        toolkit: Option<Version>,
    },
    /// A component is there and cannot be used: not loadable, a function is missing. `E0623`
    ComponentUnusable {
        /// Which one.
        component: Component,
        /// Where it is.
        path: PathBuf,
        /// What the loader says.
        reason: String,
    },
    /// The assembler refused the PTX. `E0624`
    Assembler {
        /// The target.
        arch: Arch,
        /// Its complaints, in order, each with its line and the text of that line.
        problems: Vec<PtxProblem>,
        /// The whole log.
        log: String,
        /// Where the refused PTX was kept.
        saved: Option<PathBuf>,
    },
    /// Symbols that no input defines. `E0625`
    Unresolved {
        /// Their names, and who needs them.
        symbols: Vec<Missing>,
        /// Whether the device runtime library was part of the link.
        device_runtime: bool,
        /// The whole log.
        log: String,
    },
    /// Any other failure of the linker. `E0626`
    LinkFailed {
        /// The nvJitLink call.
        call: &'static str,
        /// Its result, for example `NVJITLINK_ERROR_INTERNAL`.
        result: &'static str,
        /// The log.
        log: String,
    },
    /// libcudadevrt has no code that the target accepts. `E0627`
    NoDeviceRuntimeForArch {
        /// The target.
        arch: Arch,
        /// The library.
        library: PathBuf,
    },
    /// Not a cubin, or a damaged one. `E0628`
    Cubin {
        /// What is wrong with it.
        reason: String,
    },
    /// The assembler placed parameters elsewhere than the compiler. `E0629`
    LayoutDiffers {
        /// One entry for each kernel or launch site.
        differences: Vec<Difference>,
    },
    /// The manifest cannot be read. `E0630`
    Manifest {
        /// What the reader says.
        reason: String,
    },
    /// A file cannot be read or written. `E0631`
    Io {
        /// "read", "write", "start".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Symbols that several inputs define. `E0632`
    Duplicate {
        /// Each with its inputs.
        clashes: Vec<Clash>,
    },
    /// An input has no code for the target. `E0633`
    ForeignArch {
        /// The input.
        name: String,
        /// The target.
        arch: Arch,
        /// What it has: "machine code for sm_80".
        has: Vec<String>,
    },
    /// What is linked in is not as the program declares it. `E0634`
    DeclarationDiffers {
        /// One entry for each declaration.
        differences: Vec<Difference>,
    },
    /// Code for both versions of dynamic parallelism, which no driver runs together. `E0635`
    MixedCdp {
        /// The first input with CDP1.
        cdp1: CdpUse,
        /// The first input with CDP2.
        cdp2: CdpUse,
        /// The target.
        arch: Arch,
    },
    /// The target has no CDP1. `E0636`
    Cdp1Arch {
        /// The target.
        arch: Arch,
    },
    /// A file that cannot be linked. `E0637`
    Foreign {
        /// The file.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The host's C compiler is not there or refuses the host half of an object. `E0638`
    HostCompiler {
        /// As it was called.
        program: String,
        /// What it, or the system, says.
        reason: String,
    },
    /// libcuda is not installed. `E0701`
    NoDriver,
    /// The driver is there, but no GPU is. `E0702`
    NoDevice {
        /// The driver's CUDA version, where it answered.
        driver: Option<Version>,
        /// What the driver says.
        reason: String,
    },
    /// The driver is older than the code. `E0703`
    DriverTooOld {
        /// The newest CUDA version the driver knows.
        driver: Version,
        /// The CUDA version the code was built with.
        needed: Version,
    },
    /// The code was built for another GPU. `E0704`
    WrongGpu {
        /// The GPU's name.
        gpu: String,
        /// What it is.
        gpu_arch: Arch,
        /// What the code is for.
        code_arch: Arch,
    },
    /// The arguments of a host launch do not fit the kernel's parameters. `E0705`
    Arguments {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        problem: String,
        /// The kernel's parameters, one a line.
        expected: Vec<String>,
    },
    /// No kernel or global variable has this name. `E0706`
    UnknownSymbol {
        /// "kernel" or "global variable".
        kind: &'static str,
        /// As the caller wrote it.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A CUDA call failed; the context is still usable. `E0707`
    Cuda {
        /// The driver call.
        call: &'static str,
        /// What it returned.
        error: CudaError,
    },
    /// A kernel faulted; the context is lost and nothing later runs in this process. `E0708`
    DeviceFault {
        /// The driver call that reported it: the first after the fault, seldom the cause.
        call: &'static str,
        /// What it returned.
        error: CudaError,
    },
    /// A limit cannot be set, or does not hold what was asked. `E0709`
    Limit {
        /// CUDA's name of it.
        limit: &'static str,
        /// What was asked.
        asked: usize,
        /// What the driver holds after the attempt.
        got: Option<usize>,
        /// Why, where the driver said so.
        error: Option<CudaError>,
    },
    /// A grid or block that no GPU, or not this kernel, accepts. `E0710`
    Configuration {
        /// The kernel.
        kernel: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An access outside a device buffer, asked for by the host. `E0712`
    OutOfBounds {
        /// First byte asked for.
        offset: usize,
        /// Bytes asked for.
        len: usize,
        /// Bytes there are.
        size: usize,
    },
}

impl Error {
    /// The entry in the error index.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ComponentMissing { .. } => "E0620",
            Self::ToolkitPathWrong { .. } => "E0621",
            Self::UnsupportedArch { .. } => "E0622",
            Self::ComponentUnusable { .. } => "E0623",
            Self::Assembler { .. } => "E0624",
            Self::Unresolved { .. } => "E0625",
            Self::LinkFailed { .. } => "E0626",
            Self::NoDeviceRuntimeForArch { .. } => "E0627",
            Self::Cubin { .. } => "E0628",
            Self::LayoutDiffers { .. } => "E0629",
            Self::Manifest { .. } => "E0630",
            Self::Io { .. } => "E0631",
            Self::Duplicate { .. } => "E0632",
            Self::ForeignArch { .. } => "E0633",
            Self::DeclarationDiffers { .. } => "E0634",
            Self::MixedCdp { .. } => "E0635",
            Self::Cdp1Arch { .. } => "E0636",
            Self::Foreign { .. } => "E0637",
            Self::HostCompiler { .. } => "E0638",
            Self::NoDriver => "E0701",
            Self::NoDevice { .. } => "E0702",
            Self::DriverTooOld { .. } => "E0703",
            Self::WrongGpu { .. } => "E0704",
            Self::Arguments { .. } => "E0705",
            Self::UnknownSymbol { .. } => "E0706",
            Self::Cuda { .. } => "E0707",
            Self::DeviceFault { .. } => "E0708",
            Self::Limit { .. } => "E0709",
            Self::Configuration { .. } => "E0710",
            Self::OutOfBounds { .. } => "E0712",
        }
    }

    /// Whether the machine is at fault (exit code 2) rather than the program (exit code 1) or the compiler (exit code 101).
    #[must_use]
    pub const fn is_environment(&self) -> bool {
        matches!(
            self,
            Self::ComponentMissing { .. }
                | Self::ToolkitPathWrong { .. }
                | Self::UnsupportedArch { .. }
                | Self::ComponentUnusable { .. }
                | Self::NoDeviceRuntimeForArch { .. }
                | Self::Cdp1Arch { .. }
                | Self::Io { .. }
                | Self::HostCompiler { .. }
                | Self::NoDriver
                | Self::NoDevice { .. }
                | Self::DriverTooOld { .. }
                | Self::WrongGpu { .. }
        )
    }

    /// Whether only a fault of the compiler can cause it: it wrote PTX that the assembler refuses or computed another layout.
    #[must_use]
    pub const fn is_compiler_bug(&self) -> bool {
        matches!(self, Self::Assembler { .. } | Self::LayoutDiffers { .. })
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::ComponentMissing { component, .. } => {
                format!("{} is not to be found; {}", component.name(), component.purpose())
            }
            Self::ToolkitPathWrong { given_by, path, component, .. } => {
                format!("{given_by} is `{}`, and {} is not there", path.display(), component.name())
            }
            Self::UnsupportedArch { asked, .. } => format!("`{asked}` is not a GPU architecture that can be built for"),
            Self::ComponentUnusable { component, path, .. } => {
                format!("{} at `{}` cannot be used", component.name(), path.display())
            }
            Self::Assembler { arch, problems, .. } => match problems.first() {
                Some(first) => format!("the assembler refused the PTX for {arch}: {}", first.text),
                None => format!("the assembler refused the PTX for {arch}"),
            },
            Self::Unresolved { symbols, .. } => {
                let names: Vec<String> = symbols.iter().map(|missing| format!("`{}`", missing.symbol)).collect();
                format!("nothing defines {}", names.join(", "))
            }
            Self::LinkFailed { call, result, .. } => format!("the linker failed: `{call}` returned {result}"),
            Self::NoDeviceRuntimeForArch { arch, .. } => {
                format!("the device runtime library has no code for {arch}, so kernels cannot launch kernels there")
            }
            Self::Cubin { reason } => format!("this is not a usable cubin: {reason}"),
            Self::LayoutDiffers { differences } => {
                let first = differences.first().map_or_else(String::new, |d| format!(": {}", d.what));
                format!("the assembler's parameter layout is not the compiler's{first}")
            }
            Self::Manifest { reason } => format!("the manifest cannot be read: {reason}"),
            Self::Duplicate { clashes } => {
                let names: Vec<String> = clashes.iter().map(|clash| format!("`{}`", clash.symbol)).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                format!("{} {verb} defined more than once", names.join(", "))
            }
            Self::ForeignArch { name, arch, .. } => format!("`{name}` has no code for {arch}"),
            Self::DeclarationDiffers { differences } => {
                let first = differences.first().map_or_else(String::new, |d| format!(": {}", d.what));
                format!("what is linked in is not as it is declared{first}")
            }
            Self::MixedCdp { cdp1, cdp2, .. } => {
                format!("`{}` is compiled for CDP1 and `{}` for CDP2, and no driver runs both together", cdp1.input, cdp2.input)
            }
            Self::Cdp1Arch { arch } => format!("{arch} has no CDP1"),
            Self::HostCompiler { program, .. } => {
                format!("`{program}`, the host's C compiler, cannot compile the host half of the object")
            }
            Self::Foreign { name, reason } => format!("`{name}` cannot be linked: {reason}"),
            Self::Io { action, path, source } => format!("cannot {action} `{}`: {source}", path.display()),
            Self::NoDriver => "no CUDA driver is installed: `libcuda.so.1` is not to be found".to_owned(),
            Self::NoDevice { .. } => "no CUDA GPU can be used here".to_owned(),
            Self::DriverTooOld { driver, needed } => {
                format!("the driver knows CUDA up to {driver}, and this code needs CUDA {needed}")
            }
            Self::WrongGpu { gpu, gpu_arch, code_arch } => {
                format!("the code is for {code_arch}, and the GPU `{gpu}` is {gpu_arch}")
            }
            Self::Arguments { kernel, problem, .. } => format!("the arguments do not fit kernel `{kernel}`: {problem}"),
            Self::UnknownSymbol { kind, name, .. } => format!("there is no {kind} `{name}` in the module"),
            Self::Cuda { call, error } => format!("`{call}` failed: {error}"),
            Self::DeviceFault { call, error } => format!("a kernel faulted, as `{call}` reports: {error}"),
            Self::Limit { limit, asked, got, .. } => match got {
                Some(got) => format!("`{limit}` was set to {asked}, but the driver holds {got}"),
                None => format!("`{limit}` cannot be set to {asked}"),
            },
            Self::Configuration { kernel, problem } => format!("kernel `{kernel}` cannot be launched so: {problem}"),
            Self::OutOfBounds { offset, len, size } => {
                format!("bytes {offset}..{} of a device buffer of {size} bytes", offset.saturating_add(*len))
            }
        }
    }

    /// The evidence, one entry a line or block.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::ComponentMissing { looked_at, .. } | Self::ToolkitPathWrong { looked_at, .. } => {
                let mut text = "looked at".to_owned();
                for path in looked_at {
                    text.push_str(&format!("\n    {}", path.display()));
                }
                match self {
                    Self::ToolkitPathWrong { found: Some(found), given_by, .. } => {
                        vec![text, format!("one is at `{}`, but {given_by} asks for another", found.display())]
                    }
                    _ => vec![text],
                }
            }
            Self::UnsupportedArch { supported, toolkit, .. } => {
                let by = toolkit.map_or_else(|| "the supported ones are".to_owned(), |v| format!("nvJitLink {v} supports"));
                vec![format!("{by} {}", supported.join(", "))]
            }
            Self::HostCompiler { reason, .. } | Self::ComponentUnusable { reason, .. } | Self::NoDevice { reason, .. } => {
                vec![reason.clone()]
            }
            Self::Assembler { problems, log, saved, .. } => {
                let mut notes: Vec<String> = problems.iter().map(PtxProblem::with_context).collect();
                notes.push(format!("the assembler's log\n{}", indented(log)));
                if let Some(path) = saved {
                    notes.push(format!("the PTX is in `{}`", path.display()));
                }
                notes
            }
            Self::Unresolved { symbols, log, .. } => {
                let needed = symbols.iter().filter(|missing| !missing.needed_by.is_empty());
                let mut notes: Vec<String> =
                    needed.map(|m| format!("`{}` is needed by {}", m.symbol, listed(&m.needed_by))).collect();
                if !log.is_empty() {
                    notes.push(format!("the linker's log\n{}", indented(log)));
                }
                notes
            }
            Self::LinkFailed { log, .. } if !log.is_empty() => vec![format!("the linker's log\n{}", indented(log))],
            Self::Duplicate { clashes } => {
                clashes.iter().map(|clash| format!("`{}` is defined in {}", clash.symbol, listed(&clash.inputs))).collect()
            }
            Self::ForeignArch { has, .. } if has.is_empty() => vec!["it has no device code at all".to_owned()],
            Self::ForeignArch { has, .. } => vec![format!("it has {}", has.join(", "))],
            Self::MixedCdp { cdp1, cdp2, arch } => {
                let one =
                    |cdp: &CdpUse, of: &str| format!("`{}` needs `{}`, a function of {of} on {arch}", cdp.input, cdp.symbol);
                let rule = "loading them together fails with cudaErrorCdpVersionMismatch (812)".to_owned();
                vec![one(cdp1, "CDP1"), one(cdp2, "CDP2"), rule]
            }
            Self::Cdp1Arch { .. } => {
                vec!["`--cdp=1` is for sm_70 to sm_89; from sm_90 on no driver loads a module with CDP1".to_owned()]
            }
            Self::NoDeviceRuntimeForArch { library, .. } => vec![format!("the library is `{}`", library.display())],
            Self::LayoutDiffers { differences } | Self::DeclarationDiffers { differences } => {
                differences.iter().map(Difference::table).collect()
            }
            Self::Arguments { expected, .. } if expected.is_empty() => vec!["the kernel takes no parameters".to_owned()],
            Self::Arguments { expected, .. } => vec![format!("the kernel takes\n{}", indented(&expected.join("\n")))],
            Self::UnknownSymbol { kind, known, .. } if known.is_empty() => vec![format!("it has no {kind} at all")],
            Self::UnknownSymbol { known, .. } => vec![format!("there are {}", known.join(", "))],
            Self::Cuda { error, .. } | Self::DeviceFault { error, .. } | Self::Limit { error: Some(error), .. } => {
                error.causes().into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Ways out.
    #[must_use]
    pub fn helps(&self) -> Vec<String> {
        let help = match self {
            Self::UnsupportedArch { asked, toolkit: Some(_), .. } if matches!(asked.as_str(), "sm_70" | "sm_72") => {
                "CUDA 12 is the last that has it: name such a toolkit with `--cuda DIR` or CDPC_CUDA (`make setup-cuda12` fetches one into .cuda/cu12), or stop at PTX, `--emit=ptx`"
            }
            Self::ComponentMissing { .. } => {
                "install a CUDA toolkit, run `make setup`, or name its folder with `--cuda DIR` or CDPC_CUDA; `cdpc doctor` shows the search"
            }
            Self::ToolkitPathWrong { .. } => "correct or unset it; `cdpc doctor` shows where a toolkit is found",
            Self::Unresolved { device_runtime: false, symbols, .. }
                if symbols.iter().any(|missing| is_device_runtime(&missing.symbol)) =>
            {
                "link the device runtime library in: these are its functions"
            }
            Self::Unresolved { .. } => "link the object that defines them, or correct the name",
            Self::Duplicate { .. } => "leave one of them out, or rename or hide (`static`) one of the definitions",
            Self::ForeignArch { arch, .. } => {
                return vec![format!(
                    "compile it for {arch} (`nvcc -arch={arch} -dc`), or with PTX, or choose another `--arch`"
                )];
            }
            Self::HostCompiler { .. } => {
                "install gcc or clang, or name a C compiler with CC; `--emit=rdc` makes relocatable device code without one"
            }
            Self::DeclarationDiffers { .. } => "declare it as it is defined",
            Self::MixedCdp { .. } => {
                "compile both for CDP2: leave `--cdp=1` out, and `-DCUDA_FORCE_CDP1_IF_SUPPORTED` out of nvcc's command; or both for CDP1, with both"
            }
            Self::Cdp1Arch { .. } => {
                "leave `--cdp=1` out, or choose one of those with `--arch`; `cdpc run --device cpu` needs no GPU"
            }
            Self::NoDeviceRuntimeForArch { .. } => "choose another architecture, or a toolkit whose libcudadevrt.a covers it",
            Self::LayoutDiffers { .. } | Self::Assembler { .. } => {
                "this is a fault of the compiler: please report it with the PTX"
            }
            Self::NoDriver => "install the NVIDIA driver; compiling needs none",
            Self::NoDevice { .. } => "`nvidia-smi` shows what the driver sees; CUDA_VISIBLE_DEVICES can hide GPUs",
            Self::DriverTooOld { .. } => "update the driver, or link with an older toolkit (`--cuda DIR`)",
            Self::WrongGpu { gpu_arch, .. } => return vec![format!("build with `--arch={gpu_arch}`")],
            Self::DeviceFault { .. } => {
                "run it under `compute-sanitizer` to see the statement; the process must be started anew"
            }
            _ => return Vec::new(),
        };
        vec![help.to_owned()]
    }
}

/// `a`, `b`
fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code(), self.message())?;
        for note in self.notes() {
            write!(f, "\n  note: {note}")?;
        }
        for help in self.helps() {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
