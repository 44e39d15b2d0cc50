//! CUDA's named values. Names and numbers are those of the CUDA 13.0 headers.

use super::CudaEnum;
use crate::types::{TypeId, TypeTable};
use NamedKind::{ArrayFlag, EventFlag, OccupancyFlag, RecordFlag, StreamFlag};

/// What a named value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NamedKind {
    /// A `cudaError_t`.
    Error,
    /// A stream: the block's NULL stream, the tail and the fire-and-forget stream (cdp2 rules R6 to R8).
    Stream,
    /// A flag of `cudaStreamCreateWithFlags`.
    StreamFlag,
    /// A flag of `cudaEventCreateWithFlags`.
    EventFlag,
    /// A flag of `cudaEventRecordWithFlags`.
    RecordFlag,
    /// A flag of `cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    OccupancyFlag,
    /// A flag of `cudaMallocArray`.
    ArrayFlag,
    /// A member of an enumeration.
    Enum(CudaEnum),
}

/// A name, what it is for, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamedConstant {
    /// CUDA's name.
    pub name: &'static str,
    /// What it is for.
    pub kind: NamedKind,
    /// Its value.
    pub value: u32,
}

impl NamedConstant {
    /// The type that it has in source.
    #[must_use]
    pub const fn ty(&self) -> TypeId {
        self.kind.ty()
    }
}

impl NamedKind {
    /// The type that such values have in source. Flags are macros in CUDA's headers and have no type of their own there.
    #[must_use]
    pub const fn ty(self) -> TypeId {
        match self {
            Self::Error => TypeTable::CUDA_ERROR,
            Self::Stream => TypeTable::STREAM,
            StreamFlag | EventFlag | RecordFlag | OccupancyFlag | ArrayFlag => TypeTable::U32,
            Self::Enum(found) => found.ty(),
        }
    }

    /// In words, for messages and tables: "a flag of streams", "a `cudaLimit`".
    #[must_use]
    pub fn describe(self) -> String {
        let text = match self {
            Self::Error => "an error",
            Self::Stream => "a stream",
            StreamFlag => "a flag of streams",
            EventFlag => "a flag of events",
            RecordFlag => "a flag of `cudaEventRecordWithFlags`",
            OccupancyFlag => "a flag of occupancy calls",
            ArrayFlag => "a flag of arrays",
            Self::Enum(found) => return format!("a `{}`", found.name()),
        };
        text.to_owned()
    }
}

/// The handle of the NULL stream.
pub const STREAM_DEFAULT: u32 = 0;
/// The handle of the tail stream (R8).
pub const STREAM_TAIL_LAUNCH: u32 = 3;
/// The handle of the fire-and-forget stream (R7).
pub const STREAM_FIRE_AND_FORGET: u32 = 4;

/// The value with this name.
#[must_use]
pub fn named_constant(name: &str) -> Option<NamedConstant> {
    named_constants().find(|constant| constant.name == name)
}

/// Every named value.
pub fn named_constants() -> impl Iterator<Item = NamedConstant> {
    let errors = ERRORS.iter().map(|(name, value)| NamedConstant { name, kind: NamedKind::Error, value: *value });
    let others = OTHERS.iter().map(|(name, kind, value)| NamedConstant { name, kind: *kind, value: *value });
    let members = CudaEnum::ALL.iter().flat_map(|found| {
        found.members().iter().map(|(name, value)| NamedConstant { name, kind: NamedKind::Enum(*found), value: *value })
    });
    errors.chain(others).chain(members)
}

/// `"cudaErrorInvalidConfiguration"` for 9; `"unrecognized error code"` for a number that CUDA does not name.
#[must_use]
pub fn cuda_error_name(value: i32) -> &'static str {
    ERRORS.iter().find(|(_, number)| i64::from(*number) == i64::from(value)).map_or("unrecognized error code", |(name, _)| name)
}

/// What an error means, as `cudaGetErrorString` says it: `"invalid configuration argument"` for 9, `"no error"` for 0. Errors that no device here
/// gives have words made from their names.
#[must_use]
pub fn cuda_error_text(value: i32) -> String {
    if let Some((_, text)) = ERROR_TEXTS.iter().find(|(number, _)| *number == value) {
        return (*text).to_owned();
    }
    let name = cuda_error_name(value);
    let Some(stem) = name.strip_prefix("cudaError") else { return name.to_owned() };
    let mut text = String::new();
    let mut after_lower = false;
    for character in stem.chars() {
        if character.is_ascii_uppercase() && after_lower {
            text.push(' ');
        }
        after_lower = character.is_ascii_lowercase();
        text.push(character.to_ascii_lowercase());
    }
    text
}

const OTHERS: &[(&str, NamedKind, u32)] = &[
    ("cudaStreamDefault", NamedKind::Stream, STREAM_DEFAULT),
    ("cudaStreamTailLaunch", NamedKind::Stream, STREAM_TAIL_LAUNCH),
    ("cudaStreamFireAndForget", NamedKind::Stream, STREAM_FIRE_AND_FORGET),
    ("cudaStreamNonBlocking", StreamFlag, 1),
    ("cudaEventDefault", EventFlag, 0),
    ("cudaEventBlockingSync", EventFlag, 1),
    ("cudaEventDisableTiming", EventFlag, 2),
    ("cudaEventInterprocess", EventFlag, 4),
    ("cudaEventRecordDefault", RecordFlag, 0),
    ("cudaEventRecordExternal", RecordFlag, 1),
    ("cudaOccupancyDefault", OccupancyFlag, 0),
    ("cudaOccupancyDisableCachingOverride", OccupancyFlag, 1),
    ("cudaArrayDefault", ArrayFlag, 0),
    ("cudaArrayLayered", ArrayFlag, 1),
    ("cudaArraySurfaceLoadStore", ArrayFlag, 2),
    ("cudaArrayTextureGather", ArrayFlag, 8),
];

/// The words of CUDA's runtime for the errors that the reference executor gives.
const ERROR_TEXTS: &[(i32, &str)] = &[
    (0, "no error"),
    (1, "invalid argument"),
    (2, "out of memory"),
    (9, "invalid configuration argument"),
    (12, "invalid pitch argument"),
    (13, "invalid device symbol"),
    (20, "invalid channel descriptor"),
    (21, "invalid copy direction for memcpy"),
    (26, "linear filtering not supported for non-float type"),
    (27, "read as normalized float not supported for data type"),
    (65, "launch would exceed maximum depth of nested launches"),
    (68, "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    (69, "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    (98, "invalid device function"),
    (100, "no CUDA-capable device is detected"),
    (101, "invalid device ordinal"),
    (215, "limit is not supported on this architecture"),
    (400, "invalid resource handle"),
    (600, "device not ready"),
    (801, "operation not supported"),
    (912, "a kernel launch error has occurred due to cluster misconfiguration"),
    (999, "unknown error"),
];

const ERRORS: &[(&str, u32)] = &[
    ("cudaSuccess", 0),
    ("cudaErrorInvalidValue", 1),
    ("cudaErrorMemoryAllocation", 2),
    ("cudaErrorInitializationError", 3),
    ("cudaErrorCudartUnloading", 4),
    ("cudaErrorProfilerDisabled", 5),
    ("cudaErrorProfilerNotInitialized", 6),
    ("cudaErrorProfilerAlreadyStarted", 7),
    ("cudaErrorProfilerAlreadyStopped", 8),
    ("cudaErrorInvalidConfiguration", 9),
    ("cudaErrorInvalidPitchValue", 12),
    ("cudaErrorInvalidSymbol", 13),
    ("cudaErrorInvalidHostPointer", 16),
    ("cudaErrorInvalidDevicePointer", 17),
    ("cudaErrorInvalidTexture", 18),
    ("cudaErrorInvalidTextureBinding", 19),
    ("cudaErrorInvalidChannelDescriptor", 20),
    ("cudaErrorInvalidMemcpyDirection", 21),
    ("cudaErrorAddressOfConstant", 22),
    ("cudaErrorTextureFetchFailed", 23),
    ("cudaErrorTextureNotBound", 24),
    ("cudaErrorSynchronizationError", 25),
    ("cudaErrorInvalidFilterSetting", 26),
    ("cudaErrorInvalidNormSetting", 27),
    ("cudaErrorMixedDeviceExecution", 28),
    ("cudaErrorNotYetImplemented", 31),
    ("cudaErrorMemoryValueTooLarge", 32),
    ("cudaErrorStubLibrary", 34),
    ("cudaErrorInsufficientDriver", 35),
    ("cudaErrorCallRequiresNewerDriver", 36),
    ("cudaErrorInvalidSurface", 37),
    ("cudaErrorDuplicateVariableName", 43),
    ("cudaErrorDuplicateTextureName", 44),
    ("cudaErrorDuplicateSurfaceName", 45),
    ("cudaErrorDevicesUnavailable", 46),
    ("cudaErrorIncompatibleDriverContext", 49),
    ("cudaErrorMissingConfiguration", 52),
    ("cudaErrorPriorLaunchFailure", 53),
    ("cudaErrorLaunchMaxDepthExceeded", 65),
    ("cudaErrorLaunchFileScopedTex", 66),
    ("cudaErrorLaunchFileScopedSurf", 67),
    ("cudaErrorSyncDepthExceeded", 68),
    ("cudaErrorLaunchPendingCountExceeded", 69),
    ("cudaErrorInvalidDeviceFunction", 98),
    ("cudaErrorNoDevice", 100),
    ("cudaErrorInvalidDevice", 101),
    ("cudaErrorDeviceNotLicensed", 102),
    ("cudaErrorSoftwareValidityNotEstablished", 103),
    ("cudaErrorStartupFailure", 127),
    ("cudaErrorInvalidKernelImage", 200),
    ("cudaErrorDeviceUninitialized", 201),
    ("cudaErrorMapBufferObjectFailed", 205),
    ("cudaErrorUnmapBufferObjectFailed", 206),
    ("cudaErrorArrayIsMapped", 207),
    ("cudaErrorAlreadyMapped", 208),
    ("cudaErrorNoKernelImageForDevice", 209),
    ("cudaErrorAlreadyAcquired", 210),
    ("cudaErrorNotMapped", 211),
    ("cudaErrorNotMappedAsArray", 212),
    ("cudaErrorNotMappedAsPointer", 213),
    ("cudaErrorECCUncorrectable", 214),
    ("cudaErrorUnsupportedLimit", 215),
    ("cudaErrorDeviceAlreadyInUse", 216),
    ("cudaErrorPeerAccessUnsupported", 217),
    ("cudaErrorInvalidPtx", 218),
    ("cudaErrorInvalidGraphicsContext", 219),
    ("cudaErrorNvlinkUncorrectable", 220),
    ("cudaErrorJitCompilerNotFound", 221),
    ("cudaErrorUnsupportedPtxVersion", 222),
    ("cudaErrorJitCompilationDisabled", 223),
    ("cudaErrorUnsupportedExecAffinity", 224),
    ("cudaErrorUnsupportedDevSideSync", 225),
    ("cudaErrorContained", 226),
    ("cudaErrorInvalidSource", 300),
    ("cudaErrorFileNotFound", 301),
    ("cudaErrorSharedObjectSymbolNotFound", 302),
    ("cudaErrorSharedObjectInitFailed", 303),
    ("cudaErrorOperatingSystem", 304),
    ("cudaErrorInvalidResourceHandle", 400),
    ("cudaErrorIllegalState", 401),
    ("cudaErrorLossyQuery", 402),
    ("cudaErrorSymbolNotFound", 500),
    ("cudaErrorNotReady", 600),
    ("cudaErrorIllegalAddress", 700),
    ("cudaErrorLaunchOutOfResources", 701),
    ("cudaErrorLaunchTimeout", 702),
    ("cudaErrorLaunchIncompatibleTexturing", 703),
    ("cudaErrorPeerAccessAlreadyEnabled", 704),
    ("cudaErrorPeerAccessNotEnabled", 705),
    ("cudaErrorSetOnActiveProcess", 708),
    ("cudaErrorContextIsDestroyed", 709),
    ("cudaErrorAssert", 710),
    ("cudaErrorTooManyPeers", 711),
    ("cudaErrorHostMemoryAlreadyRegistered", 712),
    ("cudaErrorHostMemoryNotRegistered", 713),
    ("cudaErrorHardwareStackError", 714),
    ("cudaErrorIllegalInstruction", 715),
    ("cudaErrorMisalignedAddress", 716),
    ("cudaErrorInvalidAddressSpace", 717),
    ("cudaErrorInvalidPc", 718),
    ("cudaErrorLaunchFailure", 719),
    ("cudaErrorCooperativeLaunchTooLarge", 720),
    ("cudaErrorTensorMemoryLeak", 721),
    ("cudaErrorNotPermitted", 800),
    ("cudaErrorNotSupported", 801),
    ("cudaErrorSystemNotReady", 802),
    ("cudaErrorSystemDriverMismatch", 803),
    ("cudaErrorCompatNotSupportedOnDevice", 804),
    ("cudaErrorMpsConnectionFailed", 805),
    ("cudaErrorMpsRpcFailure", 806),
    ("cudaErrorMpsServerNotReady", 807),
    ("cudaErrorMpsMaxClientsReached", 808),
    ("cudaErrorMpsMaxConnectionsReached", 809),
    ("cudaErrorMpsClientTerminated", 810),
    ("cudaErrorCdpNotSupported", 811),
    ("cudaErrorCdpVersionMismatch", 812),
    ("cudaErrorStreamCaptureUnsupported", 900),
    ("cudaErrorStreamCaptureInvalidated", 901),
    ("cudaErrorStreamCaptureMerge", 902),
    ("cudaErrorStreamCaptureUnmatched", 903),
    ("cudaErrorStreamCaptureUnjoined", 904),
    ("cudaErrorStreamCaptureIsolation", 905),
    ("cudaErrorStreamCaptureImplicit", 906),
    ("cudaErrorCapturedEvent", 907),
    ("cudaErrorStreamCaptureWrongThread", 908),
    ("cudaErrorTimeout", 909),
    ("cudaErrorGraphExecUpdateFailure", 910),
    ("cudaErrorExternalDevice", 911),
    ("cudaErrorInvalidClusterSize", 912),
    ("cudaErrorFunctionNotLoaded", 913),
    ("cudaErrorInvalidResourceType", 914),
    ("cudaErrorInvalidResourceConfiguration", 915),
    ("cudaErrorUnknown", 999),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_words_of_the_runtime() {
        assert_eq!(cuda_error_text(9), "invalid configuration argument");
        assert_eq!(cuda_error_text(65), "launch would exceed maximum depth of nested launches");
        assert_eq!(cuda_error_text(912), "a kernel launch error has occurred due to cluster misconfiguration");
        // no device here gives it: words made from the name
        assert_eq!(cuda_error_text(700), "illegal address");
        assert_eq!(cuda_error_text(-1), "unrecognized error code");
    }
}
