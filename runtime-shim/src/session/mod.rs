//! The short way: PTX and manifest in, checked launches out.
//!
//! ```no_run
//! use cdp_runtime::{LaunchConfig, LoadOptions, Manifest, Runtime};
//!
//! # fn main() -> cdp_runtime::Result<()> {
//! # let (ptx, json) = ("", "{}");
//! let runtime = Runtime::new()?;
//! let module = runtime.load_ptx(ptx, &Manifest::from_json(json)?, &LoadOptions::default())?;
//! let out = runtime.alloc(4 * 32)?;
//! module.launch("parent", &LaunchConfig::new(1, 32), &[&out, &7_i32])?;
//! runtime.synchronize()?;
//! let bytes = out.to_vec()?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Runtime`]: one GPU, one linker.
//! - [`Module`]: a loaded module with its manifest; launches by the source's names.
//! - [`arg`]: what can be an argument, and its check against the kernel's parameters.
//! - [`value`]: values as they lie in the GPU's memory; [`vector`]: those that Rust has no type for.

pub mod arg;
mod module;
pub mod value;
pub mod vector;

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::arch::Arch;
use crate::cubin::CubinInfo;
use crate::error::Result;
use crate::gpu::{Context, DeviceBuffer};
use crate::layout_check;
use crate::link::{LinkOptions, Linker, function_registers};
use crate::manifest::{Limits, Manifest};
use crate::toolkit::{Search, Toolkit};
pub use module::Module;
use value::Value;

/// Which GPU and toolkit to use.
#[derive(Clone, Debug, Default)]
pub struct RuntimeOptions {
    /// The GPU's number.
    pub device: i32,
    /// The toolkit's folder; `None` searches (see [`crate::toolkit`]).
    pub toolkit: Option<PathBuf>,
    /// Limits to set at once; each module's manifest may want more.
    pub limits: Limits,
}

/// How a module is linked and loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Anything about the link; `None` is level 3 for the GPU at hand. Whether the device runtime is linked in is the manifest's say.
    pub link: Option<LinkOptions>,
    /// Limits beyond the manifest's.
    pub limits: Limits,
}

/// One GPU, and the linker once it is needed.
#[derive(Debug)]
pub struct Runtime {
    context: Context,
    toolkit: Option<PathBuf>,
    linker: OnceLock<Linker>,
}

impl Runtime {
    /// GPU 0, the toolkit wherever it is.
    ///
    /// # Errors
    /// No driver, no GPU.
    pub fn new() -> Result<Self> {
        Self::with_options(&RuntimeOptions::default())
    }

    /// As described.
    ///
    /// # Errors
    /// No driver, no such GPU, a limit that cannot be set.
    pub fn with_options(options: &RuntimeOptions) -> Result<Self> {
        let context = Context::new(options.device)?;
        context.set_limits(&options.limits)?;
        Ok(Self { context, toolkit: options.toolkit.clone(), linker: OnceLock::new() })
    }

    /// The GPU.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The architecture to build for.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.context.device().arch()
    }

    /// The linker; found and opened at the first call.
    ///
    /// # Errors
    /// nvJitLink is missing or unusable.
    pub fn linker(&self) -> Result<&Linker> {
        if let Some(linker) = self.linker.get() {
            return Ok(linker);
        }
        let search = Search::from_environment().with_explicit(self.toolkit.clone());
        let linker = Linker::new(Toolkit::find_with(&search))?;
        Ok(self.linker.get_or_init(|| linker))
    }

    /// Links PTX for this GPU and loads it.
    ///
    /// # Errors
    /// Of the link, and those of [`Runtime::load_cubin`].
    pub fn load_ptx(&self, ptx: &str, manifest: &Manifest, options: &LoadOptions) -> Result<Module> {
        let mut link = options.link.clone().unwrap_or_else(|| LinkOptions::new(self.arch()));
        link.device_runtime |= manifest.needs_device_runtime;
        link.function_registers = link.function_registers.or_else(|| function_registers(ptx));
        let cubin = self.linker()?.link_ptx(ptx, &link)?;
        self.load_cubin(&cubin.bytes, manifest, options)
    }

    /// Checks a cubin's layout against the manifest, sets the limits, loads it.
    ///
    /// # Errors
    /// [`crate::Error::LayoutDiffers`], [`crate::Error::WrongGpu`], [`crate::Error::DriverTooOld`], [`crate::Error::Limit`], [`crate::Error::Cuda`].
    pub fn load_cubin(&self, cubin: &[u8], manifest: &Manifest, options: &LoadOptions) -> Result<Module> {
        let info = CubinInfo::parse(cubin)?;
        layout_check::check(manifest, &info)?;
        self.context.check_runs(&info)?;
        // before the module is loaded: loading may already reserve what the limits size
        self.context.set_limits(&manifest.limits.at_least(options.limits))?;
        let loaded = self.context.load(cubin)?;
        Ok(Module::new(loaded, manifest.clone(), info))
    }

    /// `size` zeroed bytes on the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] with 2 when memory is out.
    pub fn alloc(&self, size: usize) -> Result<DeviceBuffer> {
        self.context.alloc(size)
    }

    /// Values one after the other on the GPU.
    ///
    /// # Errors
    /// [`crate::Error::Cuda`] with 2 when memory is out.
    pub fn alloc_values<T: Value>(&self, values: &[T]) -> Result<DeviceBuffer> {
        self.context.alloc_with(&value::to_bytes(values))
    }

    /// Waits for everything; device `printf` appears on the standard output.
    ///
    /// # Errors
    /// [`crate::Error::DeviceFault`].
    pub fn synchronize(&self) -> Result<()> {
        self.context.synchronize()
    }
}
