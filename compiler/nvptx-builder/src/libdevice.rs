//! NVIDIA's mathematics library, linked by need (libdevice user's guide, NVVM IR specification).

#![allow(unsafe_code, reason = "inkwell reads bitcode whole; by need it is a tenth of the time")]

use crate::{Error, ModuleBuilder};
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use inkwell::llvm_sys::core::{
    LLVMCreateMemoryBufferWithMemoryRangeCopy, LLVMGetAsString, LLVMGetDataLayoutStr, LLVMGetFirstFunction, LLVMGetFirstUse,
    LLVMGetInitializer, LLVMGetLinkage, LLVMGetNextFunction, LLVMGetNextUse, LLVMGetOperand, LLVMGetUser,
    LLVMInstructionEraseFromParent, LLVMIsACallInst, LLVMIsAGlobalVariable, LLVMIsConstantString, LLVMIsDeclaration,
    LLVMReplaceAllUsesWith, LLVMSetDataLayout, LLVMSetLinkage, LLVMSetTarget,
};
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::module::Linkage;
use inkwell::values::AsValueRef;

/// What its functions' names start with.
const PREFIX: &str = "__nv_";

impl ModuleBuilder<'_> {
    /// Whether a function of libdevice is declared and not yet defined.
    #[must_use]
    pub fn needs_libdevice(&self) -> bool {
        self.module
            .get_functions()
            .any(|f| f.count_basic_blocks() == 0 && f.get_name().to_bytes().starts_with(PREFIX.as_bytes()))
    }

    /// Links the functions of libdevice that are declared here, with what they need, and makes them the module's own. Done before
    /// optimisation, so that they are inlined. `precise_roots` says whether their square roots of 32 bits are correctly rounded, as by
    /// nvcc's `-prec-sqrt`.
    ///
    /// # Errors
    /// [`Error::Bitcode`] when `bitcode` is none, cannot be linked, or does not define what is declared.
    pub fn link_libdevice(&self, bitcode: &[u8], precise_roots: bool) -> Result<(), Error> {
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
        self.answer_precise_roots(precise_roots);
        Ok(())
    }

    /// Libdevice asks `__nvvm_reflect("__CUDA_PREC_SQRT")`. LLVM answers its other questions, but this one always with no.
    fn answer_precise_roots(&self, precise: bool) {
        let Some(reflect) = self.module.get_function("__nvvm_reflect") else { return };
        let answer = self.context.i32_type().const_int(u64::from(precise), false);
        // SAFETY: every value is of this module. The next use is read before the call that is the present one is erased; a call uses the
        // function once. A string is read only of a constant that is one, with its length.
        unsafe {
            let mut used = LLVMGetFirstUse(reflect.as_value_ref());
            while !used.is_null() {
                let call = LLVMGetUser(used);
                used = LLVMGetNextUse(used);
                if LLVMIsACallInst(call).is_null() {
                    continue;
                }
                let question = LLVMIsAGlobalVariable(LLVMGetOperand(call, 0));
                if question.is_null() {
                    continue;
                }
                let text = LLVMGetInitializer(question);
                if text.is_null() || LLVMIsConstantString(text) == 0 {
                    continue;
                }
                let mut length = 0;
                let start = LLVMGetAsString(text, &raw mut length);
                if std::slice::from_raw_parts(start.cast::<u8>(), length) == b"__CUDA_PREC_SQRT\0" {
                    LLVMReplaceAllUsesWith(call, answer.as_value_ref());
                    LLVMInstructionEraseFromParent(call);
                }
            }
        }
    }
}
