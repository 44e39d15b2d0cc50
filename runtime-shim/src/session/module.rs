//! A loaded module with what the compiler said of it.
#![allow(unsafe_code)] // `launch` passes bytes that were just checked against the kernel's layout

use crate::cubin::CubinInfo;
use crate::error::{Error, Result};
use crate::gpu::{Function, LaunchConfig, LoadedModule};
use crate::manifest::{Kernel, Manifest};
use crate::session::arg::{self, Arg};

/// A module on the GPU.
#[derive(Debug)]
pub struct Module {
    loaded: LoadedModule,
    manifest: Manifest,
    cubin: CubinInfo,
}

impl Module {
    pub(super) const fn new(loaded: LoadedModule, manifest: Manifest, cubin: CubinInfo) -> Self {
        Self { loaded, manifest, cubin }
    }

    /// What the compiler said.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What the assembler said.
    #[must_use]
    pub const fn cubin(&self) -> &CubinInfo {
        &self.cubin
    }

    /// The module without the manifest.
    #[must_use]
    pub const fn loaded(&self) -> &LoadedModule {
        &self.loaded
    }

    /// The kernel, for its attributes.
    ///
    /// # Errors
    /// [`Error::UnknownSymbol`], [`Error::Cuda`].
    pub fn function(&self, kernel: &str) -> Result<Function> {
        self.loaded.function(&self.kernel(kernel)?.symbol)
    }

    /// Launches a kernel by the source's name. The arguments are checked against the manifest, in number, size and kind.
    ///
    /// # Errors
    /// [`Error::UnknownSymbol`], [`Error::Arguments`], [`Error::Configuration`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn launch(&self, kernel: &str, config: &LaunchConfig<'_>, args: &[&dyn Arg]) -> Result<()> {
        let kernel = self.kernel(kernel)?;
        let params = arg::pack(kernel, args)?;
        self.launch_bytes(kernel, config, &params)
    }

    /// Launches with the parameters as bytes, each at its offset of the manifest.
    ///
    /// # Errors
    /// As [`Module::launch`]; [`Error::Arguments`] when the number of bytes is not the kernel's.
    pub fn launch_raw(&self, kernel: &str, config: &LaunchConfig<'_>, params: &[u8]) -> Result<()> {
        self.launch_bytes(self.kernel(kernel)?, config, params)
    }

    fn launch_bytes(&self, kernel: &Kernel, config: &LaunchConfig<'_>, params: &[u8]) -> Result<()> {
        let size = kernel.param_size();
        if u32::try_from(params.len()).ok() != Some(size) {
            return Err(arg::mismatch(kernel, format!("{} bytes, and it takes {size}", params.len())));
        }
        let function = self.loaded.function(&kernel.symbol)?;
        // SAFETY: the length is the kernel's, and `layout_check` found the manifest's layout in the cubin before it was loaded.
        unsafe { function.launch(config, params) }
    }

    /// The bytes of a variable, by the source's name.
    ///
    /// # Errors
    /// [`Error::UnknownSymbol`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn read_global(&self, name: &str) -> Result<Vec<u8>> {
        self.loaded.read_global(self.global(name)?)
    }

    /// Sets a variable's first bytes, by the source's name.
    ///
    /// # Errors
    /// [`Error::UnknownSymbol`], [`Error::OutOfBounds`], [`Error::Cuda`], or the fault of an earlier kernel.
    pub fn write_global(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.loaded.write_global(self.global(name)?, bytes)
    }

    fn kernel(&self, name: &str) -> Result<&Kernel> {
        self.manifest.kernel(name).ok_or_else(|| Error::UnknownSymbol {
            kind: "kernel",
            name: name.to_owned(),
            known: self.manifest.kernels.iter().map(|k| format!("`{}`", k.name)).collect(),
        })
    }

    fn global(&self, name: &str) -> Result<&str> {
        self.manifest.global(name).map(|g| g.symbol.as_str()).ok_or_else(|| Error::UnknownSymbol {
            kind: "global variable",
            name: name.to_owned(),
            known: self.manifest.globals.iter().map(|g| format!("`{}`", g.name)).collect(),
        })
    }
}
