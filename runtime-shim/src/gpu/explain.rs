//! CUDA's errors: number, name, and what usually causes them here.
//!
//! The driver's CUresult and the runtime's cudaError_t share their numbers, but for some small ones: a driver call returns 1 where a
//! runtime launch returns 9. Device code sees cudaError_t, so both are in the table.

use std::fmt;

/// An error number with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaError {
    /// CUDA's number.
    pub number: u32,
    /// The name, for example `cudaErrorIllegalAddress`, or the driver's `CUDA_ERROR_…`.
    pub name: String,
    /// One sentence about it.
    pub text: String,
}

impl CudaError {
    /// From the number; where the table does not know it, `name` and `text` are what the driver says.
    #[must_use]
    pub fn new(number: u32, name: Option<&str>, text: Option<&str>) -> Self {
        let entry = explain(number);
        Self {
            number,
            name: name.or(entry.map(|e| e.name)).unwrap_or("unknown error").to_owned(),
            text: entry.map(|e| e.text).or(text).unwrap_or("no explanation is known").to_owned(),
        }
    }

    /// What usually causes it in programs that launch from the device; may be empty.
    #[must_use]
    pub fn causes(&self) -> Vec<&'static str> {
        explain(self.number).map(|e| e.causes.to_vec()).unwrap_or_default()
    }

    /// Whether the context is lost: every later call fails, and only a new process helps.
    #[must_use]
    pub const fn is_sticky(&self) -> bool {
        matches!(self.number, 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 999)
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}, {}: {}", self.number, self.name, self.text)
    }
}

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// CUDA's number.
    pub number: u32,
    /// The runtime's name of it.
    pub name: &'static str,
    /// What it means, in a few words.
    pub text: &'static str,
    /// What usually causes it.
    pub causes: &'static [&'static str],
}

/// The table's entry for a number.
#[must_use]
pub fn explain(number: u32) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.number == number)
}

const fn entry(number: u32, name: &'static str, text: &'static str, causes: &'static [&'static str]) -> Entry {
    Entry { number, name, text, causes }
}

/// Every error that programs here meet.
pub const TABLE: &[Entry] = &[
    entry(
        1,
        "cudaErrorInvalidValue",
        "an argument is out of range",
        &[
            "a grid or block dimension that is zero or too large, or a pointer or size that names no allocation",
            "on the device: a V1 launch into the tail or fire-and-forget stream, an event without `cudaEventDisableTiming`, a garbage stream handle",
        ],
    ),
    entry(
        2,
        "cudaErrorMemoryAllocation",
        "out of memory",
        &[
            "the pool of pending launches is reserved at the first launch: 262,144 launches take 1.8 GB",
            "on the device: `malloc` beyond cudaLimitMallocHeapSize (8 MB by default), or more events than twice the launch pool",
        ],
    ),
    entry(
        3,
        "cudaErrorInitializationError",
        "the driver is not initialised",
        &["a process that was forked after CUDA was used"],
    ),
    entry(4, "cudaErrorCudartUnloading", "the driver is shutting down", &[]),
    entry(
        9,
        "cudaErrorInvalidConfiguration",
        "no grid of this shape can be launched",
        &[
            "a zero grid or block dimension; a block over 1024 threads, or over 64 in z; a grid over 65535 in y or z",
            "a block larger than the kernel's launch bounds, or more shared memory than a block may have",
            "over 48 KiB of dynamic shared memory from the device: the host must raise the kernel's limit first",
        ],
    ),
    entry(
        34,
        "cudaErrorStubLibrary",
        "the driver library is a stub for linking",
        &["the toolkit's `lib64/stubs` is in LD_LIBRARY_PATH in front of the driver"],
    ),
    entry(35, "cudaErrorInsufficientDriver", "the driver is older than the CUDA version in use", &["update the driver"]),
    entry(
        46,
        "cudaErrorDevicesUnavailable",
        "the GPU is busy or may not be used",
        &["another process holds it in exclusive mode"],
    ),
    entry(
        65,
        "cudaErrorLaunchMaxDepthExceeded",
        "launches are nested too deeply",
        &["CDP1 only; with CDP2 the pool of pending launches is the limit"],
    ),
    entry(
        69,
        "cudaErrorLaunchPendingCountExceeded",
        "the pool of pending launches is full",
        &[
            "2048 launches may wait or run at a time unless the host sets cudaLimitDevRuntimePendingLaunchCount before any kernel runs",
            "a grid that waits for its children holds a place, so this is also the end of nesting",
        ],
    ),
    entry(
        98,
        "cudaErrorInvalidDeviceFunction",
        "this is no kernel of the running module",
        &["the code is for another architecture"],
    ),
    entry(
        100,
        "cudaErrorNoDevice",
        "the driver sees no GPU",
        &["CUDA_VISIBLE_DEVICES hides it, or the container was started without it"],
    ),
    entry(101, "cudaErrorInvalidDevice", "there is no GPU with this number", &[]),
    entry(
        200,
        "cudaErrorInvalidKernelImage",
        "the module is damaged, or no cubin",
        &["it was made by a newer toolkit than the driver knows"],
    ),
    entry(201, "cudaErrorDeviceUninitialized", "no context is current", &["the context was destroyed after a fault"]),
    entry(
        209,
        "cudaErrorNoKernelImageForDevice",
        "the module has no code for this GPU",
        &["it was built for another architecture: a cubin for sm_90 runs on compute capability 9.x only"],
    ),
    entry(214, "cudaErrorECCUncorrectable", "the GPU's memory failed", &["a hardware fault: the GPU must be reset"]),
    entry(
        215,
        "cudaErrorUnsupportedLimit",
        "the GPU has no such limit",
        &["cudaLimitDevRuntimeSyncDepth belongs to CDP1 and does not exist with CDP2"],
    ),
    entry(
        218,
        "cudaErrorInvalidPtx",
        "the driver refused the PTX",
        &["PTX that calls the device runtime must be linked, not loaded"],
    ),
    entry(
        221,
        "cudaErrorJitCompilerNotFound",
        "the driver has no PTX compiler",
        &["libnvidia-ptxjitcompiler is not installed"],
    ),
    entry(222, "cudaErrorUnsupportedPtxVersion", "the PTX is newer than the driver", &["update the driver, or load a cubin"]),
    entry(
        225,
        "cudaErrorUnsupportedDevSideSync",
        "device code waits for its children",
        &["`cudaDeviceSynchronize` in device code is gone since CDP2: use a tail launch"],
    ),
    entry(226, "cudaErrorContained", "the GPU contained an error", &["a hardware fault: start the process anew"]),
    entry(300, "cudaErrorInvalidSource", "the module's source is not valid", &[]),
    entry(302, "cudaErrorSharedObjectSymbolNotFound", "a library lacks a symbol", &["the driver and the toolkit do not fit"]),
    entry(
        304,
        "cudaErrorOperatingSystem",
        "the operating system refused something",
        &["the GPU's device files may not be opened"],
    ),
    entry(
        400,
        "cudaErrorInvalidResourceHandle",
        "the stream, event or module handle is not valid",
        &["it was made in another context"],
    ),
    entry(401, "cudaErrorIllegalState", "a resource is in a state that forbids this", &[]),
    entry(
        500,
        "cudaErrorSymbolNotFound",
        "the module has no such name",
        &["a kernel keeps its name; other symbols may be renamed"],
    ),
    entry(600, "cudaErrorNotReady", "the work is not finished", &[]),
    entry(
        700,
        "cudaErrorIllegalAddress",
        "a kernel read or wrote an address that is not mapped",
        &[
            "an index out of range, or a host pointer used on the device",
            "a child that reads its parameters elsewhere than its parent wrote them",
        ],
    ),
    entry(
        701,
        "cudaErrorLaunchOutOfResources",
        "a launch needs more registers or memory than there are",
        &[
            "a block with more threads than the kernel's registers allow: give it `@launch_bounds`",
            "the pool of pending launches is full, in the words of the guide (the device itself answers 69)",
        ],
    ),
    entry(
        702,
        "cudaErrorLaunchTimeout",
        "a kernel ran longer than allowed",
        &["a parent that waits for its child in a loop never ends"],
    ),
    entry(709, "cudaErrorContextIsDestroyed", "the context was destroyed", &[]),
    entry(710, "cudaErrorAssert", "an `assert` in device code failed", &["its message is in the output above"]),
    entry(
        714,
        "cudaErrorHardwareStackError",
        "the call stack is damaged or overran",
        &["recursion deeper than cudaLimitStackSize (1024 bytes a thread by default) allows"],
    ),
    entry(715, "cudaErrorIllegalInstruction", "a kernel ran into an invalid instruction", &["a `trap`, or damaged code"]),
    entry(
        716,
        "cudaErrorMisalignedAddress",
        "an address is no multiple of the access's size",
        &["a pointer cast to a type with a larger alignment"],
    ),
    entry(
        717,
        "cudaErrorInvalidAddressSpace",
        "an instruction met an address of another address space",
        &["a pointer to shared or local memory was given to a child: its launch returns 0, and the child dies"],
    ),
    entry(718, "cudaErrorInvalidPc", "the program counter left the code", &["a damaged function pointer or stack"]),
    entry(
        719,
        "cudaErrorLaunchFailure",
        "a kernel failed",
        &["a `trap`, an access to shared memory out of range, or a stack overrun"],
    ),
    entry(
        720,
        "cudaErrorCooperativeLaunchTooLarge",
        "a cooperative grid does not fit at once",
        &["cooperative launches and device launches exclude each other"],
    ),
    entry(800, "cudaErrorNotPermitted", "this is not allowed", &[]),
    entry(801, "cudaErrorNotSupported", "this GPU or driver cannot do it", &[]),
    entry(802, "cudaErrorSystemNotReady", "the system is not ready", &["the fabric manager is not running"]),
    entry(
        803,
        "cudaErrorSystemDriverMismatch",
        "the driver's parts have different versions",
        &["restart after the update of the driver"],
    ),
    entry(
        804,
        "cudaErrorCompatNotSupportedOnDevice",
        "this GPU does not support forward compatibility",
        &["`cuda-compat` is in LD_LIBRARY_PATH"],
    ),
    entry(811, "cudaErrorCdpNotSupported", "device launches are not supported here", &["the process runs under MPS"]),
    entry(
        812,
        "cudaErrorCdpVersionMismatch",
        "CDP1 and CDP2 are mixed in one call graph",
        &["a module that calls `cudaLaunchDevice` was linked with one that calls `__cudaCDP2LaunchDevice`"],
    ),
    entry(
        912,
        "cudaErrorInvalidClusterSize",
        "a grid is not made of clusters of this size, or the GPU holds none of it",
        &["a grid that is no multiple of its kernel's `@cluster`, along x, y and z each"],
    ),
    entry(999, "cudaErrorUnknown", "the driver does not know what happened", &["start the process anew"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_names_are_cudas() {
        assert!(TABLE.windows(2).all(|pair| pair[0].number < pair[1].number));
        assert!(TABLE.iter().all(|e| e.name.starts_with("cudaError") && !e.text.ends_with('.')));
    }

    #[test]
    fn every_number_has_words() {
        for number in [0, 1, 9, 69, 700, 717, 812, 12345] {
            let error = CudaError::new(number, None, None);
            assert!(error.to_string().contains(&number.to_string()) && !error.text.is_empty());
        }
        assert!(CudaError::new(717, None, None).is_sticky());
        assert!(!CudaError::new(2, None, None).is_sticky());
        assert_eq!(CudaError::new(12345, Some("CUDA_ERROR_NEW"), Some("x")).name, "CUDA_ERROR_NEW");
    }
}
