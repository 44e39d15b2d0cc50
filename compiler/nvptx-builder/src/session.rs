//! Running LLVM so that its fatal errors are values.
//!
//! LLVM ends the process on what it calls a fatal error (`report_fatal_error`), for example an instruction that it cannot select. Work
//! runs on a thread of its own, with a stack for LLVM's recursive passes; a fatal error is sent to the caller and its thread never
//! continues, so no frame of LLVM's is unwound and nothing of it is used again. What that thread held is lost: a few megabytes, once
//! for each such bug.

#![allow(unsafe_code, reason = "LLVM's handlers are C functions")]

use crate::Error;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};

/// In bytes. Deep expression trees recurse in LLVM's passes.
const STACK: usize = 64 << 20;

/// Takes a fatal error's message to whoever waits for the work.
type Report = Box<dyn Fn(String)>;

thread_local! {
    /// Where this thread sends a fatal error, while work runs.
    static FATAL: RefCell<Option<Report>> = const { RefCell::new(None) };
    /// What LLVM reported as an error on this thread, without ending.
    static REPORTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` with a fresh context.
///
/// # Errors
/// What `work` gives; [`Error::Llvm`] when LLVM reports an error of its own, fatal or not, or when `work` ends without a result.
pub fn run<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce(&Context) -> Result<T, E> + Send,
) -> Result<T, E> {
    static ONCE: Once = Once::new();
    // SAFETY: the handler is a function with LLVM's signature and lives as long as the program.
    ONCE.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal)) });
    let (sender, receiver) = channel();
    // scoped threads are joined, which a parked one never can be: so the thread is a free one
    let task = move || {
        let fatal: Sender<Result<T, E>> = sender.clone();
        FATAL.with(|slot| slot.replace(Some(Box::new(move |message| drop(fatal.send(Err(E::from(Error::Llvm(message)))))))));
        let context = Context::create();
        // SAFETY: the context is alive, and the handler has LLVM's signature and needs no data.
        unsafe { LLVMContextSetDiagnosticHandler(context.raw(), Some(on_diagnostic), std::ptr::null_mut()) };
        let result = work(&context);
        let reports = REPORTS.take();
        drop(context);
        FATAL.with(|slot| drop(slot.take()));
        let result =
            if reports.is_empty() { result } else { result.and_then(|_| Err(E::from(Error::Llvm(reports.join("; "))))) };
        drop(sender.send(result));
    };
    let task: Box<dyn FnOnce() + Send + '_> = Box::new(task);
    // SAFETY: this function does not return before the thread has sent its result as the last thing that it does with what `work`
    // borrows, or has parked for ever in `on_fatal`, or has unwound, which drops the sender.
    let task: Box<dyn FnOnce() + Send + 'static> = unsafe { std::mem::transmute(task) };
    let spawned = std::thread::Builder::new().name("llvm".to_owned()).stack_size(STACK).spawn(task);
    match spawned {
        Err(error) => Err(E::from(Error::Llvm(format!("cannot start a thread: {error}")))),
        Ok(thread) => match receiver.recv() {
            Ok(result) => {
                // a parked thread never ends; any other is about to
                if result.is_ok() {
                    drop(thread.join());
                }
                result
            }
            Err(_) => Err(E::from(Error::Llvm("code generation ended without a result".to_owned()))),
        },
    }
}

/// Sends the message to the caller of [`run`] and never returns: LLVM would end the process.
extern "C" fn on_fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a string that ends in zero.
    let message = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    let sent = FATAL.with(|slot| slot.try_borrow().is_ok_and(|report| report.as_ref().map(|send| send(message)).is_some()));
    if sent {
        loop {
            std::thread::park();
        }
    }
}

extern "C" fn on_diagnostic(info: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM passes a diagnostic that lives during this call; the description is ours to dispose of.
    let (is_error, text) = unsafe {
        let severity = LLVMGetDiagInfoSeverity(info);
        let description = LLVMGetDiagInfoDescription(info);
        let text = CStr::from_ptr(description).to_string_lossy().into_owned();
        LLVMDisposeMessage(description);
        (matches!(severity, LLVMDiagnosticSeverity::LLVMDSError), text)
    };
    if is_error {
        REPORTS.with(|reports| reports.borrow_mut().push(text));
    }
}
