//! CUDA's named values. Names and numbers are those of the CUDA 13.0 headers.

use crate::types::{TypeId, TypeTable};
use NamedKind::{
    AddressMode, ArrayFlag, Attribute, BoundaryMode, Cache, ChannelKind, CopyKind, EventFlag, FilterMode, Limit, OccupancyFlag,
    ReadMode, RecordFlag, ResourceType, StreamFlag,
};

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
    /// A limit of `cudaDeviceSetLimit`.
    Limit,
    /// A direction of `cudaMemcpyAsync`.
    CopyKind,
    /// A preference of `cudaDeviceGetCacheConfig`.
    Cache,
    /// An attribute of `cudaDeviceGetAttribute`.
    Attribute,
    /// A flag of `cudaMallocArray`.
    ArrayFlag,
    /// What the channels of an element are: `cudaChannelFormatKind`.
    ChannelKind,
    /// What a texture is made of: `cudaResourceType`.
    ResourceType,
    /// What a texture gives outside of itself: `cudaTextureAddressMode`.
    AddressMode,
    /// `cudaTextureFilterMode`
    FilterMode,
    /// `cudaTextureReadMode`
    ReadMode,
    /// What an access outside of a surface does: `cudaSurfaceBoundaryMode`.
    BoundaryMode,
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
    /// The type that such values have in source.
    #[must_use]
    pub const fn ty(self) -> TypeId {
        match self {
            Self::Error => TypeTable::CUDA_ERROR,
            Self::Stream => TypeTable::STREAM,
            StreamFlag | EventFlag | RecordFlag | OccupancyFlag | ArrayFlag => TypeTable::U32,
            Limit | CopyKind | Cache | Attribute => TypeTable::I32,
            ChannelKind | ResourceType | AddressMode | FilterMode | ReadMode | BoundaryMode => TypeTable::I32,
        }
    }

    /// In words, for messages and tables.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Error => "an error",
            Self::Stream => "a stream",
            StreamFlag => "a flag of streams",
            EventFlag => "a flag of events",
            RecordFlag => "a flag of `cudaEventRecordWithFlags`",
            OccupancyFlag => "a flag of occupancy calls",
            Limit => "a limit",
            CopyKind => "a direction of copies",
            Cache => "a cache configuration",
            Attribute => "an attribute of devices",
            ArrayFlag => "a flag of arrays",
            ChannelKind => "a kind of channels",
            ResourceType => "a type of resources",
            AddressMode => "an address mode of textures",
            FilterMode => "a filter mode of textures",
            ReadMode => "a read mode of textures",
            BoundaryMode => "a boundary mode of surfaces",
        }
    }

    /// CUDA's type.
    #[must_use]
    pub const fn cuda_type(self) -> &'static str {
        match self {
            Self::Error => "cudaError_t",
            Self::Stream => "cudaStream_t",
            StreamFlag | EventFlag | RecordFlag | OccupancyFlag | ArrayFlag => "flags",
            Limit => "cudaLimit",
            CopyKind => "cudaMemcpyKind",
            Cache => "cudaFuncCache",
            Attribute => "cudaDeviceAttr",
            ChannelKind => "cudaChannelFormatKind",
            ResourceType => "cudaResourceType",
            AddressMode => "cudaTextureAddressMode",
            FilterMode => "cudaTextureFilterMode",
            ReadMode => "cudaTextureReadMode",
            BoundaryMode => "cudaSurfaceBoundaryMode",
        }
    }
}

/// The handle of the NULL stream.
pub const STREAM_DEFAULT: u32 = 0;
/// The handle of the tail stream (R8).
pub const STREAM_TAIL_LAUNCH: u32 = 3;
/// The handle of the fire-and-forget stream (R7).
pub const STREAM_FIRE_AND_FORGET: u32 = 4;

/// `cudaBoundaryModeZero`: outside of a surface reads give zero and writes do nothing.
pub const BOUNDARY_ZERO: u32 = 0;
/// `cudaBoundaryModeClamp`: outside of a surface the nearest element is meant.
pub const BOUNDARY_CLAMP: u32 = 1;
/// `cudaBoundaryModeTrap`: outside of a surface the grid ends with an error.
pub const BOUNDARY_TRAP: u32 = 2;

/// The value with this name.
#[must_use]
pub fn named_constant(name: &str) -> Option<NamedConstant> {
    named_constants().find(|constant| constant.name == name)
}

/// Every named value.
pub fn named_constants() -> impl Iterator<Item = NamedConstant> {
    let errors = ERRORS.iter().map(|(name, value)| NamedConstant { name, kind: NamedKind::Error, value: *value });
    let others = OTHERS.iter().map(|(name, kind, value)| NamedConstant { name, kind: *kind, value: *value });
    errors.chain(others)
}

/// `"cudaErrorInvalidConfiguration"` for 9; `"unrecognized error code"` for a number that CUDA does not name.
#[must_use]
pub fn cuda_error_name(value: i32) -> &'static str {
    ERRORS.iter().find(|(_, number)| i64::from(*number) == i64::from(value)).map_or("unrecognized error code", |(name, _)| name)
}

/// What an error means, in words made from its name: `"invalid configuration"` for 9, `"no error"` for 0.
#[must_use]
pub fn cuda_error_text(value: i32) -> String {
    let name = cuda_error_name(value);
    let Some(stem) = name.strip_prefix("cudaError") else {
        return if value == 0 { "no error".to_owned() } else { name.to_owned() };
    };
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
    ("cudaLimitStackSize", Limit, 0),
    ("cudaLimitPrintfFifoSize", Limit, 1),
    ("cudaLimitMallocHeapSize", Limit, 2),
    ("cudaLimitDevRuntimeSyncDepth", Limit, 3),
    ("cudaLimitDevRuntimePendingLaunchCount", Limit, 4),
    ("cudaLimitMaxL2FetchGranularity", Limit, 5),
    ("cudaLimitPersistingL2CacheSize", Limit, 6),
    ("cudaMemcpyHostToHost", CopyKind, 0),
    ("cudaMemcpyHostToDevice", CopyKind, 1),
    ("cudaMemcpyDeviceToHost", CopyKind, 2),
    ("cudaMemcpyDeviceToDevice", CopyKind, 3),
    ("cudaMemcpyDefault", CopyKind, 4),
    ("cudaFuncCachePreferNone", Cache, 0),
    ("cudaFuncCachePreferShared", Cache, 1),
    ("cudaFuncCachePreferL1", Cache, 2),
    ("cudaFuncCachePreferEqual", Cache, 3),
    ("cudaArrayDefault", ArrayFlag, 0),
    ("cudaArrayLayered", ArrayFlag, 1),
    ("cudaArraySurfaceLoadStore", ArrayFlag, 2),
    ("cudaArrayTextureGather", ArrayFlag, 8),
    ("cudaChannelFormatKindSigned", ChannelKind, 0),
    ("cudaChannelFormatKindUnsigned", ChannelKind, 1),
    ("cudaChannelFormatKindFloat", ChannelKind, 2),
    ("cudaResourceTypeArray", ResourceType, 0),
    ("cudaResourceTypeLinear", ResourceType, 2),
    ("cudaResourceTypePitch2D", ResourceType, 3),
    ("cudaAddressModeWrap", AddressMode, 0),
    ("cudaAddressModeClamp", AddressMode, 1),
    ("cudaAddressModeMirror", AddressMode, 2),
    ("cudaAddressModeBorder", AddressMode, 3),
    ("cudaFilterModePoint", FilterMode, 0),
    ("cudaFilterModeLinear", FilterMode, 1),
    ("cudaReadModeElementType", ReadMode, 0),
    ("cudaReadModeNormalizedFloat", ReadMode, 1),
    ("cudaBoundaryModeZero", BoundaryMode, BOUNDARY_ZERO),
    ("cudaBoundaryModeClamp", BoundaryMode, BOUNDARY_CLAMP),
    ("cudaBoundaryModeTrap", BoundaryMode, BOUNDARY_TRAP),
    ("cudaDevAttrMaxThreadsPerBlock", Attribute, 1),
    ("cudaDevAttrMaxBlockDimX", Attribute, 2),
    ("cudaDevAttrMaxBlockDimY", Attribute, 3),
    ("cudaDevAttrMaxBlockDimZ", Attribute, 4),
    ("cudaDevAttrMaxGridDimX", Attribute, 5),
    ("cudaDevAttrMaxGridDimY", Attribute, 6),
    ("cudaDevAttrMaxGridDimZ", Attribute, 7),
    ("cudaDevAttrMaxSharedMemoryPerBlock", Attribute, 8),
    ("cudaDevAttrTotalConstantMemory", Attribute, 9),
    ("cudaDevAttrWarpSize", Attribute, 10),
    ("cudaDevAttrMaxPitch", Attribute, 11),
    ("cudaDevAttrMaxRegistersPerBlock", Attribute, 12),
    ("cudaDevAttrClockRate", Attribute, 13),
    ("cudaDevAttrTextureAlignment", Attribute, 14),
    ("cudaDevAttrGpuOverlap", Attribute, 15),
    ("cudaDevAttrMultiProcessorCount", Attribute, 16),
    ("cudaDevAttrKernelExecTimeout", Attribute, 17),
    ("cudaDevAttrIntegrated", Attribute, 18),
    ("cudaDevAttrCanMapHostMemory", Attribute, 19),
    ("cudaDevAttrComputeMode", Attribute, 20),
    ("cudaDevAttrMaxTexture1DWidth", Attribute, 21),
    ("cudaDevAttrMaxTexture2DWidth", Attribute, 22),
    ("cudaDevAttrMaxTexture2DHeight", Attribute, 23),
    ("cudaDevAttrMaxTexture3DWidth", Attribute, 24),
    ("cudaDevAttrMaxTexture3DHeight", Attribute, 25),
    ("cudaDevAttrMaxTexture3DDepth", Attribute, 26),
    ("cudaDevAttrMaxTexture2DLayeredWidth", Attribute, 27),
    ("cudaDevAttrMaxTexture2DLayeredHeight", Attribute, 28),
    ("cudaDevAttrMaxTexture2DLayeredLayers", Attribute, 29),
    ("cudaDevAttrSurfaceAlignment", Attribute, 30),
    ("cudaDevAttrConcurrentKernels", Attribute, 31),
    ("cudaDevAttrEccEnabled", Attribute, 32),
    ("cudaDevAttrPciBusId", Attribute, 33),
    ("cudaDevAttrPciDeviceId", Attribute, 34),
    ("cudaDevAttrTccDriver", Attribute, 35),
    ("cudaDevAttrMemoryClockRate", Attribute, 36),
    ("cudaDevAttrGlobalMemoryBusWidth", Attribute, 37),
    ("cudaDevAttrL2CacheSize", Attribute, 38),
    ("cudaDevAttrMaxThreadsPerMultiProcessor", Attribute, 39),
    ("cudaDevAttrAsyncEngineCount", Attribute, 40),
    ("cudaDevAttrUnifiedAddressing", Attribute, 41),
    ("cudaDevAttrMaxTexture1DLayeredWidth", Attribute, 42),
    ("cudaDevAttrMaxTexture1DLayeredLayers", Attribute, 43),
    ("cudaDevAttrMaxTexture2DGatherWidth", Attribute, 45),
    ("cudaDevAttrMaxTexture2DGatherHeight", Attribute, 46),
    ("cudaDevAttrMaxTexture3DWidthAlt", Attribute, 47),
    ("cudaDevAttrMaxTexture3DHeightAlt", Attribute, 48),
    ("cudaDevAttrMaxTexture3DDepthAlt", Attribute, 49),
    ("cudaDevAttrPciDomainId", Attribute, 50),
    ("cudaDevAttrTexturePitchAlignment", Attribute, 51),
    ("cudaDevAttrMaxTextureCubemapWidth", Attribute, 52),
    ("cudaDevAttrMaxTextureCubemapLayeredWidth", Attribute, 53),
    ("cudaDevAttrMaxTextureCubemapLayeredLayers", Attribute, 54),
    ("cudaDevAttrMaxSurface1DWidth", Attribute, 55),
    ("cudaDevAttrMaxSurface2DWidth", Attribute, 56),
    ("cudaDevAttrMaxSurface2DHeight", Attribute, 57),
    ("cudaDevAttrMaxSurface3DWidth", Attribute, 58),
    ("cudaDevAttrMaxSurface3DHeight", Attribute, 59),
    ("cudaDevAttrMaxSurface3DDepth", Attribute, 60),
    ("cudaDevAttrMaxSurface1DLayeredWidth", Attribute, 61),
    ("cudaDevAttrMaxSurface1DLayeredLayers", Attribute, 62),
    ("cudaDevAttrMaxSurface2DLayeredWidth", Attribute, 63),
    ("cudaDevAttrMaxSurface2DLayeredHeight", Attribute, 64),
    ("cudaDevAttrMaxSurface2DLayeredLayers", Attribute, 65),
    ("cudaDevAttrMaxSurfaceCubemapWidth", Attribute, 66),
    ("cudaDevAttrMaxSurfaceCubemapLayeredWidth", Attribute, 67),
    ("cudaDevAttrMaxSurfaceCubemapLayeredLayers", Attribute, 68),
    ("cudaDevAttrMaxTexture1DLinearWidth", Attribute, 69),
    ("cudaDevAttrMaxTexture2DLinearWidth", Attribute, 70),
    ("cudaDevAttrMaxTexture2DLinearHeight", Attribute, 71),
    ("cudaDevAttrMaxTexture2DLinearPitch", Attribute, 72),
    ("cudaDevAttrMaxTexture2DMipmappedWidth", Attribute, 73),
    ("cudaDevAttrMaxTexture2DMipmappedHeight", Attribute, 74),
    ("cudaDevAttrComputeCapabilityMajor", Attribute, 75),
    ("cudaDevAttrComputeCapabilityMinor", Attribute, 76),
    ("cudaDevAttrMaxTexture1DMipmappedWidth", Attribute, 77),
    ("cudaDevAttrStreamPrioritiesSupported", Attribute, 78),
    ("cudaDevAttrGlobalL1CacheSupported", Attribute, 79),
    ("cudaDevAttrLocalL1CacheSupported", Attribute, 80),
    ("cudaDevAttrMaxSharedMemoryPerMultiprocessor", Attribute, 81),
    ("cudaDevAttrMaxRegistersPerMultiprocessor", Attribute, 82),
    ("cudaDevAttrManagedMemory", Attribute, 83),
    ("cudaDevAttrIsMultiGpuBoard", Attribute, 84),
    ("cudaDevAttrMultiGpuBoardGroupID", Attribute, 85),
    ("cudaDevAttrHostNativeAtomicSupported", Attribute, 86),
    ("cudaDevAttrSingleToDoublePrecisionPerfRatio", Attribute, 87),
    ("cudaDevAttrPageableMemoryAccess", Attribute, 88),
    ("cudaDevAttrConcurrentManagedAccess", Attribute, 89),
    ("cudaDevAttrComputePreemptionSupported", Attribute, 90),
    ("cudaDevAttrCanUseHostPointerForRegisteredMem", Attribute, 91),
    ("cudaDevAttrCooperativeLaunch", Attribute, 95),
    ("cudaDevAttrMaxSharedMemoryPerBlockOptin", Attribute, 97),
    ("cudaDevAttrCanFlushRemoteWrites", Attribute, 98),
    ("cudaDevAttrHostRegisterSupported", Attribute, 99),
    ("cudaDevAttrPageableMemoryAccessUsesHostPageTables", Attribute, 100),
    ("cudaDevAttrDirectManagedMemAccessFromHost", Attribute, 101),
    ("cudaDevAttrMaxBlocksPerMultiprocessor", Attribute, 106),
    ("cudaDevAttrMaxPersistingL2CacheSize", Attribute, 108),
    ("cudaDevAttrMaxAccessPolicyWindowSize", Attribute, 109),
    ("cudaDevAttrSparseCudaArraySupported", Attribute, 112),
    ("cudaDevAttrHostRegisterReadOnlySupported", Attribute, 113),
    ("cudaDevAttrTimelineSemaphoreInteropSupported", Attribute, 114),
    ("cudaDevAttrMemoryPoolsSupported", Attribute, 115),
    ("cudaDevAttrGPUDirectRDMASupported", Attribute, 116),
    ("cudaDevAttrGPUDirectRDMAFlushWritesOptions", Attribute, 117),
    ("cudaDevAttrGPUDirectRDMAWritesOrdering", Attribute, 118),
    ("cudaDevAttrMemoryPoolSupportedHandleTypes", Attribute, 119),
    ("cudaDevAttrClusterLaunch", Attribute, 120),
    ("cudaDevAttrDeferredMappingCudaArraySupported", Attribute, 121),
    ("cudaDevAttrIpcEventSupport", Attribute, 125),
    ("cudaDevAttrMemSyncDomainCount", Attribute, 126),
    ("cudaDevAttrNumaConfig", Attribute, 130),
    ("cudaDevAttrNumaId", Attribute, 131),
    ("cudaDevAttrMpsEnabled", Attribute, 133),
    ("cudaDevAttrHostNumaId", Attribute, 134),
    ("cudaDevAttrD3D12CigSupported", Attribute, 135),
    ("cudaDevAttrVulkanCigSupported", Attribute, 138),
    ("cudaDevAttrGpuPciDeviceId", Attribute, 139),
    ("cudaDevAttrGpuPciSubsystemId", Attribute, 140),
    ("cudaDevAttrHostNumaMemoryPoolsSupported", Attribute, 142),
    ("cudaDevAttrHostNumaMultinodeIpcSupported", Attribute, 143),
    ("cudaDevAttrHostMemoryPoolsSupported", Attribute, 144),
    ("cudaDevAttrOnlyPartialHostNativeAtomicSupported", Attribute, 147),
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
