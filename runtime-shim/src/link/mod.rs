//! PTX and the device runtime library in, a cubin out: nvJitLink in this process, no GPU needed.
//!
//! - [`Linker`]: an opened library; opening costs about 10 ms, so keep it, or open it with
//!   [`Linker::open_in_background`] before the PTX is made.
//! - [`LinkOptions`]: target, optimisation, line tables, whether the device runtime is linked in (it reserves memory on the GPU, so
//!   only where a kernel launches or calls it).
//! - [`log`]: what the assembler said, line by line.

mod api;
mod log;
mod registers;

use std::ffi::CString;
use std::path::{Path, PathBuf};

use crate::arch::{Arch, Version};
use crate::error::{Error, Result};
use crate::foreign::symbols::Table;
use crate::foreign::{self, Foreign};
use crate::toolkit::{Component, Search, Toolkit};
use api::{Api, Failure, Job, Kind};
pub use log::{Gravity, PtxProblem};
pub use registers::function_registers;

/// Something to link.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// PTX text.
    Ptx {
        /// How logs call it.
        name: &'a str,
        /// The text.
        text: &'a str,
    },
    /// A relocatable cubin.
    Cubin {
        /// How logs call it.
        name: &'a str,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// What another compiler made: an object, a library, a fatbin, a cubin, PTX.
    Foreign(&'a Foreign),
}

impl Input<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Ptx { name, .. } | Self::Cubin { name, .. } => name,
            Self::Foreign(foreign) => foreign.name(),
        }
    }
}

/// How to link.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// The target.
    pub arch: Arch,
    /// The assembler's optimisation, 0 to 3.
    pub level: u8,
    /// Line tables. What `.loc` directives the PTX has come through in any case; this gives PTX without them a table of its own lines.
    pub lineinfo: bool,
    /// Let the assembler fuse multiplications and additions. Off, because the PTX says itself where to fuse.
    pub fmad: bool,
    /// Link libcudadevrt.a in. Where there are several inputs, it is linked in also when one of them needs it.
    pub device_runtime: bool,
    /// Put register and stack use of every kernel into the log.
    pub verbose: bool,
    /// At most so many registers a thread.
    pub max_registers: Option<u32>,
    /// At most so many in functions that are called where they are defined; kernels that call them get at least as many as these take.
    pub function_registers: Option<u32>,
    /// Where to keep PTX that the assembler refuses; with `None` it is not kept.
    pub keep_refused_ptx: Option<PathBuf>,
}

impl LinkOptions {
    /// Level 3, no line tables, no fusing, no device runtime.
    #[must_use]
    pub const fn new(arch: Arch) -> Self {
        Self {
            arch,
            level: 3,
            lineinfo: false,
            fmad: false,
            device_runtime: false,
            verbose: false,
            max_registers: None,
            function_registers: None,
            keep_refused_ptx: None,
        }
    }

    fn arguments(&self) -> Vec<String> {
        // with its cache nvJitLink starts the driver first, where there is one: 100 ms on a machine with an H200, for nothing
        let mut list = vec![format!("-arch={}", self.arch), "-no-cache".to_owned()];
        // nvJitLink itself takes 0 and 3 only; the levels between go to the assembler
        match self.level {
            0 => list.push("-O0".to_owned()),
            1 | 2 => list.push(format!("-Xptxas=-O{}", self.level)),
            _ => list.push("-O3".to_owned()),
        }
        // nvJitLink's own `-fma=0` reaches link-time optimisation only, not the assembly of PTX
        list.push(format!("-Xptxas=--fmad={}", self.fmad));
        if self.lineinfo {
            list.push("-lineinfo".to_owned());
        }
        if self.verbose {
            list.push("-Xptxas=-v".to_owned());
        }
        if let Some(count) = self.max_registers {
            list.push(format!("-maxrregcount={count}"));
        }
        if let Some(count) = self.function_registers {
            list.push(format!("-Xptxas=--device-function-maxrregcount={count}"));
        }
        list
    }
}

/// A linked cubin.
#[derive(Clone)]
pub struct Cubin {
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// Warnings and, with [`LinkOptions::verbose`], statistics; empty when there is nothing to say.
    pub log: String,
}

impl std::fmt::Debug for Cubin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cubin").field("bytes", &self.bytes.len()).field("log", &self.log).finish()
    }
}

/// An opened nvJitLink.
pub struct Linker {
    api: Api,
    path: PathBuf,
    device_runtime: Option<PathBuf>,
    toolkit: Option<Toolkit>,
}

/// A linker on its way, from [`Linker::open_in_background`].
#[derive(Debug)]
pub struct Opening(Option<std::thread::JoinHandle<Result<Linker>>>);

impl Opening {
    /// The linker.
    ///
    /// # Errors
    /// As [`Linker::new`].
    pub fn wait(mut self) -> Result<Linker> {
        self.0.take().and_then(|thread| thread.join().ok()).unwrap_or_else(|| {
            Err(Error::ComponentUnusable {
                component: Component::NvJitLink,
                path: PathBuf::new(),
                reason: "the thread that opened it died".to_owned(),
            })
        })
    }
}

/// A process must not end while a library is being opened: its constructors would run beside the exit handlers. So whoever does not
/// want the linker after all still waits for it.
impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            drop(thread.join());
        }
    }
}

impl std::fmt::Debug for Linker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Linker").field("path", &self.path).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Linker {
    /// Opens the toolkit's nvJitLink. The device runtime library is asked for when a link first needs it.
    ///
    /// # Errors
    /// When nvJitLink is missing or unusable.
    pub fn new(toolkit: Toolkit) -> Result<Self> {
        let mut linker = Self::open(toolkit.require(Component::NvJitLink)?)?;
        linker.toolkit = Some(toolkit);
        Ok(linker)
    }

    /// Searches and opens on a thread of its own, so that the 10 ms it takes pass while the PTX is still being made.
    #[must_use]
    pub fn open_in_background(search: Search) -> Opening {
        Opening(Some(std::thread::spawn(move || Self::new(Toolkit::find_with(&search)))))
    }

    /// Opens the library at `path`.
    ///
    /// # Errors
    /// [`Error::ComponentUnusable`].
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { api: Api::open(path)?, path: path.to_path_buf(), device_runtime: None, toolkit: None })
    }

    /// Uses this device runtime library, whatever the toolkit has.
    #[must_use]
    pub fn with_device_runtime(mut self, library: PathBuf) -> Self {
        self.device_runtime = Some(library);
        self
    }

    /// The CUDA version the library belongs to.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.api.version()
    }

    /// The library's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The architectures it can build for.
    #[must_use]
    pub fn supported_archs(&self) -> Vec<Arch> {
        Arch::supported_by(self.version())
    }

    /// Links `inputs`.
    ///
    /// # Errors
    /// The assembler's and the linker's complaints, an unsupported target, a missing device runtime.
    pub fn link(&self, inputs: &[Input<'_>], options: &LinkOptions) -> Result<Cubin> {
        options.arch.check(self.version())?;
        let table = table(inputs, options.arch)?;
        table.check(options.arch)?;
        let lto = inputs.iter().any(|input| matches!(input, Input::Foreign(foreign) if foreign.needs_lto(options.arch)));
        // what LTO-IR needs cannot be seen
        let device_runtime = options.device_runtime || lto || table.needs_device_runtime();
        let options = &LinkOptions { device_runtime, ..options.clone() };
        // asked for before anything is assembled: a missing library should not cost a compilation
        let runtime = if options.device_runtime { Some(self.device_runtime_library()?) } else { None };
        let mut list = options.arguments();
        if lto {
            list.push("-lto".to_owned());
        }
        let arguments: Vec<CString> = list.iter().filter_map(|a| CString::new(a.as_str()).ok()).collect();
        let job = self.api.begin(&arguments).map_err(|failure| self.begin_error(failure, options))?;
        if let Some(library) = &runtime {
            job.add_file(Kind::Library, c_string(library)?)
                .map_err(|failure| runtime_error(&job, failure, options, library))?;
        }
        for input in inputs {
            add(&job, input).map_err(|failure| link_error(&job, failure, options, Some(input), &table))?;
        }
        job.complete().map_err(|failure| link_error(&job, failure, options, None, &table))?;
        let bytes = job.cubin().map_err(|failure| link_error(&job, failure, options, None, &table))?;
        let log = [job.error_log(), job.info_log()].iter().filter(|l| !l.is_empty()).cloned().collect::<Vec<_>>().join("\n");
        Ok(Cubin { bytes, log })
    }

    /// Links one PTX text that is called `module.ptx` in logs.
    ///
    /// # Errors
    /// As [`Linker::link`].
    pub fn link_ptx(&self, ptx: &str, options: &LinkOptions) -> Result<Cubin> {
        self.link(&[Input::Ptx { name: "module.ptx", text: ptx }], options)
    }

    fn device_runtime_library(&self) -> Result<PathBuf> {
        if let Some(library) = &self.device_runtime {
            return Ok(library.clone());
        }
        match &self.toolkit {
            Some(toolkit) => toolkit.require(Component::CudaDevRt).map(Path::to_path_buf),
            None => Err(Error::ComponentMissing { component: Component::CudaDevRt, looked_at: Vec::new() }),
        }
    }

    fn begin_error(&self, failure: Failure, options: &LinkOptions) -> Error {
        if matches!(failure.code, api::ERROR_UNRECOGNIZED_ARCH | api::ERROR_UNSUPPORTED_ARCH) {
            return Error::UnsupportedArch {
                asked: options.arch.to_string(),
                supported: self.supported_archs().iter().map(ToString::to_string).collect(),
                toolkit: Some(self.version()),
            };
        }
        let log = format!("options: {}", options.arguments().join(" "));
        Error::LinkFailed { call: failure.call, result: failure.name(), log }
    }
}

/// The symbols of all inputs; of a single one none, as nothing can clash with it.
fn table(inputs: &[Input<'_>], arch: Arch) -> Result<Table> {
    let mut table = Table::default();
    if let [_] = inputs
        && !matches!(inputs, [Input::Foreign(_)])
    {
        return Ok(table);
    }
    for input in inputs {
        match input {
            Input::Ptx { name, text } => table.add((*name).to_owned(), foreign::symbols_of_ptx(text), false),
            Input::Cubin { name, bytes } => table.add((*name).to_owned(), foreign::symbols_of_cubin(bytes), false),
            Input::Foreign(foreign) => {
                for part in foreign.parts(arch)? {
                    let member = if part.member.is_empty() { String::new() } else { format!("({})", part.member) };
                    let symbols = part.symbols.cloned().unwrap_or_default();
                    table.add(format!("{}{member}", foreign.name()), symbols, foreign.kind() == foreign::Kind::Library);
                }
            }
        }
    }
    Ok(table)
}

fn add(job: &Job<'_>, input: &Input<'_>) -> std::result::Result<(), Failure> {
    let name = c_name(input.name());
    match input {
        Input::Ptx { text, .. } => job.add_data(Kind::Ptx, &with_nul(text.as_bytes()), name),
        Input::Cubin { bytes, .. } => job.add_data(Kind::Cubin, bytes, name),
        Input::Foreign(foreign) => match foreign.kind() {
            foreign::Kind::Ptx => job.add_data(Kind::Ptx, &with_nul(foreign.bytes()), name),
            foreign::Kind::Cubin => job.add_data(Kind::Cubin, foreign.bytes(), name),
            foreign::Kind::Fatbin => job.add_data(Kind::Fatbin, foreign.bytes(), name),
            foreign::Kind::Object => job.add_data(Kind::Object, foreign.bytes(), name),
            foreign::Kind::Library => job.add_data(Kind::Library, foreign.bytes(), name),
        },
    }
}

/// The library wants a NUL behind PTX although it is told the length.
fn with_nul(text: &[u8]) -> Vec<u8> {
    let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let mut bytes = text.get(..end).unwrap_or_default().to_vec();
    bytes.push(0);
    bytes
}

fn runtime_error(job: &Job<'_>, failure: Failure, options: &LinkOptions, library: &Path) -> Error {
    // nvJitLink calls the library "bad input" when none of its cubins fits the target, and also when it is no library
    let readable = std::fs::read(library).is_ok_and(|bytes| bytes.starts_with(b"!<arch>\n"));
    match failure.code {
        api::ERROR_INVALID_INPUT if readable => {
            Error::NoDeviceRuntimeForArch { arch: options.arch, library: library.to_path_buf() }
        }
        api::ERROR_INVALID_INPUT | api::ERROR_INCORRECT_INPUT_TYPE => Error::ComponentUnusable {
            component: Component::CudaDevRt,
            path: library.to_path_buf(),
            reason: "it is no library archive".to_owned(),
        },
        _ => link_error(job, failure, options, None, &Table::default()),
    }
}

fn link_error(job: &Job<'_>, failure: Failure, options: &LinkOptions, input: Option<&Input<'_>>, table: &Table) -> Error {
    let log = job.error_log();
    let symbols = log::unresolved(&log);
    if !symbols.is_empty() {
        return Error::Unresolved { symbols: table.missing(symbols), device_runtime: options.device_runtime, log };
    }
    let text = match input {
        Some(Input::Ptx { text, .. }) => text,
        _ => "",
    };
    let problems = log::problems(&log, text);
    if failure.code == api::ERROR_PTX_COMPILE || !problems.is_empty() {
        if let Some(Input::Foreign(foreign)) = input {
            // not the compiler's fault
            return Error::Foreign { name: foreign.name().to_owned(), reason: format!("the assembler refuses its PTX\n{log}") };
        }
        let saved = options.keep_refused_ptx.as_ref().filter(|path| std::fs::write(path, text).is_ok()).cloned();
        return Error::Assembler { arch: options.arch, problems, log, saved };
    }
    Error::LinkFailed { call: failure.call, result: failure.name(), log }
}

/// A name for logs; NUL bytes, which C cannot hold, become spaces.
fn c_name(name: &str) -> CString {
    CString::new(name.replace('\0', " ")).unwrap_or_default()
}

fn c_string(path: &Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Io {
        action: "read",
        path: path.to_path_buf(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path contains a NUL byte"),
    })
}
