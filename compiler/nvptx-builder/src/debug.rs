//! Line tables: `.file` and `.loc`, as `nvcc -lineinfo` gives them, so that profilers and `cuda-gdb` show the source.
//!
//! LLVM's C interface names only the kinds "full" and "line tables", which both add DWARF sections and turn `.target` into a debug one.
//! The third kind, directives only, has a number but no name there, so these few calls are made directly.

#![allow(unsafe_code, reason = "inkwell cannot ask for line directives without debug sections")]

use crate::{Body, Function, ModuleBuilder};
use inkwell::llvm_sys::core::LLVMSetCurrentDebugLocation2;
use inkwell::llvm_sys::debuginfo::{
    LLVMCreateDIBuilder, LLVMDIBuilderCreateDebugLocation, LLVMDIBuilderCreateFile, LLVMDIBuilderCreateFunction,
    LLVMDIBuilderCreateSubroutineType, LLVMDIBuilderFinalize, LLVMDIFlagZero, LLVMDisposeDIBuilder, LLVMSetSubprogram,
};
use inkwell::llvm_sys::prelude::{LLVMBool, LLVMDIBuilderRef, LLVMMetadataRef};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::AsValueRef;
use std::ffi::{c_char, c_uint};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// LLVM's C interface's number for C, the nearest language that debuggers know.
const LANGUAGE_C: c_uint = 1;
/// `DICompileUnit::DebugDirectivesOnly`
const DIRECTIVES_ONLY: c_uint = 3;

unsafe extern "C" {
    // the function of llvm-sys, with plain numbers for its two enumerations
    #[link_name = "LLVMDIBuilderCreateCompileUnit"]
    fn create_compile_unit(
        builder: LLVMDIBuilderRef,
        language: c_uint,
        file: LLVMMetadataRef,
        producer: *const c_char,
        producer_len: usize,
        is_optimised: LLVMBool,
        flags: *const c_char,
        flags_len: usize,
        runtime_version: c_uint,
        split_name: *const c_char,
        split_name_len: usize,
        kind: c_uint,
        dwo_id: c_uint,
        split_debug_inlining: LLVMBool,
        debug_info_for_profiling: LLVMBool,
        sys_root: *const c_char,
        sys_root_len: usize,
        sdk: *const c_char,
        sdk_len: usize,
    ) -> LLVMMetadataRef;
}

/// A module's line tables.
pub struct Lines<'c> {
    builder: LLVMDIBuilderRef,
    optimised: LLVMBool,
    context: PhantomData<&'c ()>,
}

/// A source file in the line tables.
#[derive(Clone, Copy, Debug)]
pub struct DebugFile<'c>(LLVMMetadataRef, PhantomData<&'c ()>);

/// A function in the line tables.
#[derive(Clone, Copy, Debug)]
pub struct DebugScope<'c>(LLVMMetadataRef, PhantomData<&'c ()>);

impl<'c> Lines<'c> {
    pub(crate) fn new(module: &Module<'c>, file: &str, optimised: bool) -> Self {
        let producer = "cdpc";
        let optimised = LLVMBool::from(optimised);
        let empty: *const c_char = c"".as_ptr();
        // SAFETY: the module lives, and every string is passed with its length.
        let builder = unsafe {
            let builder = LLVMCreateDIBuilder(module.as_mut_ptr());
            let file = LLVMDIBuilderCreateFile(builder, file.as_ptr().cast(), file.len(), empty, 0);
            create_compile_unit(
                builder,
                LANGUAGE_C,
                file,
                producer.as_ptr().cast(),
                producer.len(),
                optimised,
                empty,
                0,
                0,
                empty,
                0,
                DIRECTIVES_ONLY,
                0,
                1,
                0,
                empty,
                0,
                empty,
                0,
            );
            builder
        };
        let version = inkwell::debug_info::debug_metadata_version();
        let version = module.get_context().i32_type().const_int(u64::from(version), false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        Self { builder, optimised, context: PhantomData }
    }

    /// Nothing may be added afterwards.
    pub(crate) fn finish(&self) {
        // SAFETY: the module lives: it is this value's neighbour in `ModuleBuilder`, which drops it later.
        unsafe { LLVMDIBuilderFinalize(self.builder) };
    }
}

impl Drop for Lines<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder was made by `new` and is not used afterwards.
        unsafe { LLVMDisposeDIBuilder(self.builder) };
    }
}

impl<'c> ModuleBuilder<'c> {
    /// A source file, by the name to show; none when the module has no line tables.
    #[must_use]
    pub fn debug_file(&self, name: &str) -> Option<DebugFile<'c>> {
        let lines = self.lines.as_ref()?;
        // SAFETY: the builder lives, and the name is passed with its length.
        let file = unsafe { LLVMDIBuilderCreateFile(lines.builder, name.as_ptr().cast(), name.len(), c"".as_ptr(), 0) };
        Some(DebugFile(file, PhantomData))
    }

    /// Says where a function stands in the source. Every instruction that is built with a location then carries it.
    pub fn debug_function(&self, function: Function<'c>, name: &str, file: DebugFile<'c>, line: u32) -> Option<DebugScope<'c>> {
        let lines = self.lines.as_ref()?;
        let symbol = function.get_name();
        // SAFETY: builder, file and function are of one context, and every string is passed with its length.
        let scope = unsafe {
            let ty = LLVMDIBuilderCreateSubroutineType(lines.builder, file.0, null_mut(), 0, LLVMDIFlagZero);
            let scope = LLVMDIBuilderCreateFunction(
                lines.builder,
                file.0,
                name.as_ptr().cast(),
                name.len(),
                symbol.as_ptr(),
                symbol.to_bytes().len(),
                file.0,
                line,
                ty,
                0,
                1,
                line,
                LLVMDIFlagZero,
                lines.optimised,
            );
            LLVMSetSubprogram(function.as_value_ref(), scope);
            scope
        };
        Some(DebugScope(scope, PhantomData))
    }
}

impl<'c> Body<'_, 'c> {
    /// Instructions from now on come from this place; line and column count from 1.
    pub fn set_location(&self, scope: DebugScope<'c>, line: u32, column: u32) {
        let context = self.module.context.raw();
        // SAFETY: the builder's context is the scope's.
        unsafe {
            let location = LLVMDIBuilderCreateDebugLocation(context, line, column, scope.0, null_mut());
            LLVMSetCurrentDebugLocation2(self.builder.as_mut_ptr(), location);
        }
    }
}
