//! NVIDIA's mathematics library, linked by need (libdevice user's guide, NVVM IR specification).

#![allow(unsafe_code, reason = "inkwell reads bitcode whole; by need it is a tenth of the time")]

use crate::{Error, ModuleBuilder};
use inkwell::llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use inkwell::llvm_sys::core::{
    LLVMCreateMemoryBufferWithMemoryRangeCopy, LLVMGetDataLayoutStr, LLVMGetFirstFunction, LLVMGetLinkage, LLVMGetNextFunction, LLVMIsDeclaration,
    LLVMSetDataLayout, LLVMSetLinkage, LLVMSetTarget,
};
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::module::Linkage;

/// What its functions' names start with.
const PREFIX: &str = "__nv_";

impl ModuleBuilder<'_> {
    /// Whether a function of libdevice is declared and not yet defined.
    #[must_use]
    pub fn needs_libdevice(&self) -> bool {
        self.module.get_functions().any(|f| f.count_basic_blocks() == 0 && f.get_name().to_bytes().starts_with(PREFIX.as_bytes()))
    }

    /// Links the functions of libdevice that are declared here, with what they need, and makes them the module's own. Done before
    /// optimisation, so that they are inlined.
    ///
    /// # Errors
    /// [`Error::Bitcode`] when `bitcode` is none, cannot be linked, or does not define what is declared.
    pub fn link_libdevice(&self, bitcode: &[u8]) -> Result<(), Error> {
        let known: Vec<_> = self.module.get_functions().map(|f| f.get_name().to_owned()).collect();
        let mut library = std::ptr::null_mut();
        let name = c"libdevice";
        // SAFETY: the buffer is copied, and the module owns the copy; the library is used only when it was read.
        let failed = unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode.as_ptr().cast(), bitcode.len(), name.as_ptr());
            LLVMGetBitcodeModuleInContext2(self.context.raw(), buffer, &raw mut library)
        };
        if failed != 0 {
            return Err(Error::Bitcode("libdevice is not LLVM bitcode".to_owned()));
        }
        // SAFETY: the library is a module of this context until LLVMLinkModules2 consumes it. What may be discarded is linked only when
        // it is needed, and only then is its body read. Its layout and triple are those of the same machine under older names.
        let failed = unsafe {
            let mut function = LLVMGetFirstFunction(library);
            while !function.is_null() {
                if LLVMIsDeclaration(function) == 0 && matches!(LLVMGetLinkage(function), LLVMLinkage::LLVMExternalLinkage) {
                    LLVMSetLinkage(function, LLVMLinkage::LLVMLinkOnceODRLinkage);
                }
                function = LLVMGetNextFunction(function);
            }
            LLVMSetDataLayout(library, LLVMGetDataLayoutStr(self.module.as_mut_ptr()));
            LLVMSetTarget(library, self.module.get_triple().as_ptr());
            LLVMLinkModules2(self.module.as_mut_ptr(), library)
        };
        if failed != 0 {
            return Err(Error::Bitcode("libdevice does not fit the module".to_owned()));
        }
        for function in self.module.get_functions() {
            let name = function.get_name();
            if function.count_basic_blocks() == 0 {
                if name.to_bytes().starts_with(PREFIX.as_bytes()) {
                    return Err(Error::Bitcode(format!("libdevice has no `{}`", name.to_string_lossy())));
                }
                continue;
            }
            let is_new = name.to_bytes().starts_with(PREFIX.as_bytes()) || !known.iter().any(|known| known.as_c_str() == name);
            if is_new {
                function.set_linkage(Linkage::Internal);
                self.function_attributes(function);
            }
        }
        Ok(())
    }
}
