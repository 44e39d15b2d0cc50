//! Optimisation and PTX.

use crate::{Error, ModuleBuilder};
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::FileType;

impl ModuleBuilder<'_> {
    /// Closes the line tables and runs LLVM's verifier.
    ///
    /// # Errors
    /// [`Error::Verify`] with its report.
    pub fn verify(&self) -> Result<(), Error> {
        if let Some(lines) = &self.lines {
            lines.finish();
        }
        self.module.verify().map_err(|report| Error::Verify(report.to_string()))
    }

    /// Runs the pipeline of `opt -O<level>` with the target's own passes, by the module's level.
    ///
    /// # Errors
    /// [`Error::Llvm`] when LLVM refuses.
    pub fn optimise(&self) -> Result<(), Error> {
        let pipeline = format!("default<O{}>", self.options.optimise.min(3));
        let options = PassBuilderOptions::create();
        // identical kernels must stay two, each with its name
        options.set_merge_functions(false);
        // pairs of halves and of floats, and wide accesses to memory
        options.set_loop_slp_vectorization(self.options.optimise >= 2);
        self.module.run_passes(&pipeline, &self.machine, options).map_err(|report| Error::Llvm(report.to_string()))
    }

    /// The module's PTX, without LLVM's own comments and the empty section that it adds to line directives.
    ///
    /// # Errors
    /// [`Error::Llvm`] when LLVM cannot generate code.
    pub fn ptx(&self) -> Result<String, Error> {
        self.machine.set_asm_verbosity(false);
        let buffer = self
            .machine
            .write_to_memory_buffer(&self.module, FileType::Assembly)
            .map_err(|report| Error::Llvm(report.to_string()))?;
        let text = String::from_utf8_lossy(buffer.as_slice());
        let mut ptx = String::with_capacity(text.len());
        let body = text.trim_end_matches('\0').lines().skip_while(|line| line.is_empty() || line.starts_with("//"));
        let is_noise = |line: &&str| line.trim_start().starts_with("// .globl") || line.contains(".debug_macinfo");
        for line in body.filter(|line| !is_noise(line)) {
            ptx.push_str(line.trim_end());
            ptx.push('\n');
        }
        Ok(ptx)
    }
}
