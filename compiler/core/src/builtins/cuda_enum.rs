//! The enumerations of the CUDA runtime. Names and numbers are those of `driver_types.h`, `texture_types.h` and `surface_types.h` of CUDA 13.0.

use crate::types::{EnumDef, EnumId, Int, TypeId, TypeTable};

macro_rules! cuda_enums {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal [$($member:literal = $value:expr,)*])*) => {
        /// An enumeration of the CUDA runtime: a type of the language, which every program has. Its members are seen without its name, too,
        /// as in C.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CudaEnum {
            $($(#[doc = $doc])* $variant,)*
        }

        impl CudaEnum {
            /// All of them, in the order of their [`EnumId`]s.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// CUDA's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Names and values.
            #[must_use]
            pub const fn members(self) -> &'static [(&'static str, u32)] {
                match self { $(Self::$variant => const { &[$(($member, $value),)*] },)* }
            }
        }
    };
}

cuda_enums! {
    /// `cudaDeviceGetLimit`, `cudaDeviceSetLimit`.
    Limit "cudaLimit" [
        "cudaLimitStackSize" = 0,
        "cudaLimitPrintfFifoSize" = 1,
        "cudaLimitMallocHeapSize" = 2,
        "cudaLimitDevRuntimeSyncDepth" = 3,
        "cudaLimitDevRuntimePendingLaunchCount" = 4,
        "cudaLimitMaxL2FetchGranularity" = 5,
        "cudaLimitPersistingL2CacheSize" = 6,
    ]
    /// Where a copy goes from and to.
    MemcpyKind "cudaMemcpyKind" [
        "cudaMemcpyHostToHost" = 0,
        "cudaMemcpyHostToDevice" = 1,
        "cudaMemcpyDeviceToHost" = 2,
        "cudaMemcpyDeviceToDevice" = 3,
        "cudaMemcpyDefault" = 4,
    ]
    /// How much of the memory of a multiprocessor is cache: `cudaDeviceGetCacheConfig`.
    FuncCache "cudaFuncCache" [
        "cudaFuncCachePreferNone" = 0,
        "cudaFuncCachePreferShared" = 1,
        "cudaFuncCachePreferL1" = 2,
        "cudaFuncCachePreferEqual" = 3,
    ]
    /// What `cudaDeviceGetAttribute` tells.
    DeviceAttr "cudaDeviceAttr" [
        "cudaDevAttrMaxThreadsPerBlock" = 1,
        "cudaDevAttrMaxBlockDimX" = 2,
        "cudaDevAttrMaxBlockDimY" = 3,
        "cudaDevAttrMaxBlockDimZ" = 4,
        "cudaDevAttrMaxGridDimX" = 5,
        "cudaDevAttrMaxGridDimY" = 6,
        "cudaDevAttrMaxGridDimZ" = 7,
        "cudaDevAttrMaxSharedMemoryPerBlock" = 8,
        "cudaDevAttrTotalConstantMemory" = 9,
        "cudaDevAttrWarpSize" = 10,
        "cudaDevAttrMaxPitch" = 11,
        "cudaDevAttrMaxRegistersPerBlock" = 12,
        "cudaDevAttrClockRate" = 13,
        "cudaDevAttrTextureAlignment" = 14,
        "cudaDevAttrGpuOverlap" = 15,
        "cudaDevAttrMultiProcessorCount" = 16,
        "cudaDevAttrKernelExecTimeout" = 17,
        "cudaDevAttrIntegrated" = 18,
        "cudaDevAttrCanMapHostMemory" = 19,
        "cudaDevAttrComputeMode" = 20,
        "cudaDevAttrMaxTexture1DWidth" = 21,
        "cudaDevAttrMaxTexture2DWidth" = 22,
        "cudaDevAttrMaxTexture2DHeight" = 23,
        "cudaDevAttrMaxTexture3DWidth" = 24,
        "cudaDevAttrMaxTexture3DHeight" = 25,
        "cudaDevAttrMaxTexture3DDepth" = 26,
        "cudaDevAttrMaxTexture2DLayeredWidth" = 27,
        "cudaDevAttrMaxTexture2DLayeredHeight" = 28,
        "cudaDevAttrMaxTexture2DLayeredLayers" = 29,
        "cudaDevAttrSurfaceAlignment" = 30,
        "cudaDevAttrConcurrentKernels" = 31,
        "cudaDevAttrEccEnabled" = 32,
        "cudaDevAttrPciBusId" = 33,
        "cudaDevAttrPciDeviceId" = 34,
        "cudaDevAttrTccDriver" = 35,
        "cudaDevAttrMemoryClockRate" = 36,
        "cudaDevAttrGlobalMemoryBusWidth" = 37,
        "cudaDevAttrL2CacheSize" = 38,
        "cudaDevAttrMaxThreadsPerMultiProcessor" = 39,
        "cudaDevAttrAsyncEngineCount" = 40,
        "cudaDevAttrUnifiedAddressing" = 41,
        "cudaDevAttrMaxTexture1DLayeredWidth" = 42,
        "cudaDevAttrMaxTexture1DLayeredLayers" = 43,
        "cudaDevAttrMaxTexture2DGatherWidth" = 45,
        "cudaDevAttrMaxTexture2DGatherHeight" = 46,
        "cudaDevAttrMaxTexture3DWidthAlt" = 47,
        "cudaDevAttrMaxTexture3DHeightAlt" = 48,
        "cudaDevAttrMaxTexture3DDepthAlt" = 49,
        "cudaDevAttrPciDomainId" = 50,
        "cudaDevAttrTexturePitchAlignment" = 51,
        "cudaDevAttrMaxTextureCubemapWidth" = 52,
        "cudaDevAttrMaxTextureCubemapLayeredWidth" = 53,
        "cudaDevAttrMaxTextureCubemapLayeredLayers" = 54,
        "cudaDevAttrMaxSurface1DWidth" = 55,
        "cudaDevAttrMaxSurface2DWidth" = 56,
        "cudaDevAttrMaxSurface2DHeight" = 57,
        "cudaDevAttrMaxSurface3DWidth" = 58,
        "cudaDevAttrMaxSurface3DHeight" = 59,
        "cudaDevAttrMaxSurface3DDepth" = 60,
        "cudaDevAttrMaxSurface1DLayeredWidth" = 61,
        "cudaDevAttrMaxSurface1DLayeredLayers" = 62,
        "cudaDevAttrMaxSurface2DLayeredWidth" = 63,
        "cudaDevAttrMaxSurface2DLayeredHeight" = 64,
        "cudaDevAttrMaxSurface2DLayeredLayers" = 65,
        "cudaDevAttrMaxSurfaceCubemapWidth" = 66,
        "cudaDevAttrMaxSurfaceCubemapLayeredWidth" = 67,
        "cudaDevAttrMaxSurfaceCubemapLayeredLayers" = 68,
        "cudaDevAttrMaxTexture1DLinearWidth" = 69,
        "cudaDevAttrMaxTexture2DLinearWidth" = 70,
        "cudaDevAttrMaxTexture2DLinearHeight" = 71,
        "cudaDevAttrMaxTexture2DLinearPitch" = 72,
        "cudaDevAttrMaxTexture2DMipmappedWidth" = 73,
        "cudaDevAttrMaxTexture2DMipmappedHeight" = 74,
        "cudaDevAttrComputeCapabilityMajor" = 75,
        "cudaDevAttrComputeCapabilityMinor" = 76,
        "cudaDevAttrMaxTexture1DMipmappedWidth" = 77,
        "cudaDevAttrStreamPrioritiesSupported" = 78,
        "cudaDevAttrGlobalL1CacheSupported" = 79,
        "cudaDevAttrLocalL1CacheSupported" = 80,
        "cudaDevAttrMaxSharedMemoryPerMultiprocessor" = 81,
        "cudaDevAttrMaxRegistersPerMultiprocessor" = 82,
        "cudaDevAttrManagedMemory" = 83,
        "cudaDevAttrIsMultiGpuBoard" = 84,
        "cudaDevAttrMultiGpuBoardGroupID" = 85,
        "cudaDevAttrHostNativeAtomicSupported" = 86,
        "cudaDevAttrSingleToDoublePrecisionPerfRatio" = 87,
        "cudaDevAttrPageableMemoryAccess" = 88,
        "cudaDevAttrConcurrentManagedAccess" = 89,
        "cudaDevAttrComputePreemptionSupported" = 90,
        "cudaDevAttrCanUseHostPointerForRegisteredMem" = 91,
        "cudaDevAttrCooperativeLaunch" = 95,
        "cudaDevAttrMaxSharedMemoryPerBlockOptin" = 97,
        "cudaDevAttrCanFlushRemoteWrites" = 98,
        "cudaDevAttrHostRegisterSupported" = 99,
        "cudaDevAttrPageableMemoryAccessUsesHostPageTables" = 100,
        "cudaDevAttrDirectManagedMemAccessFromHost" = 101,
        "cudaDevAttrMaxBlocksPerMultiprocessor" = 106,
        "cudaDevAttrMaxPersistingL2CacheSize" = 108,
        "cudaDevAttrMaxAccessPolicyWindowSize" = 109,
        "cudaDevAttrSparseCudaArraySupported" = 112,
        "cudaDevAttrHostRegisterReadOnlySupported" = 113,
        "cudaDevAttrTimelineSemaphoreInteropSupported" = 114,
        "cudaDevAttrMemoryPoolsSupported" = 115,
        "cudaDevAttrGPUDirectRDMASupported" = 116,
        "cudaDevAttrGPUDirectRDMAFlushWritesOptions" = 117,
        "cudaDevAttrGPUDirectRDMAWritesOrdering" = 118,
        "cudaDevAttrMemoryPoolSupportedHandleTypes" = 119,
        "cudaDevAttrClusterLaunch" = 120,
        "cudaDevAttrDeferredMappingCudaArraySupported" = 121,
        "cudaDevAttrIpcEventSupport" = 125,
        "cudaDevAttrMemSyncDomainCount" = 126,
        "cudaDevAttrNumaConfig" = 130,
        "cudaDevAttrNumaId" = 131,
        "cudaDevAttrMpsEnabled" = 133,
        "cudaDevAttrHostNumaId" = 134,
        "cudaDevAttrD3D12CigSupported" = 135,
        "cudaDevAttrVulkanCigSupported" = 138,
        "cudaDevAttrGpuPciDeviceId" = 139,
        "cudaDevAttrGpuPciSubsystemId" = 140,
        "cudaDevAttrHostNumaMemoryPoolsSupported" = 142,
        "cudaDevAttrHostNumaMultinodeIpcSupported" = 143,
        "cudaDevAttrHostMemoryPoolsSupported" = 144,
        "cudaDevAttrOnlyPartialHostNativeAtomicSupported" = 147,
    ]
    /// What the channels of an element are.
    ChannelFormatKind "cudaChannelFormatKind" [
        "cudaChannelFormatKindSigned" = 0,
        "cudaChannelFormatKindUnsigned" = 1,
        "cudaChannelFormatKindFloat" = 2,
    ]
    /// What a texture is made of.
    ResourceType "cudaResourceType" [
        "cudaResourceTypeArray" = 0,
        "cudaResourceTypeLinear" = 2,
        "cudaResourceTypePitch2D" = 3,
    ]
    /// What a texture gives outside of itself.
    TextureAddressMode "cudaTextureAddressMode" [
        "cudaAddressModeWrap" = 0,
        "cudaAddressModeClamp" = 1,
        "cudaAddressModeMirror" = 2,
        "cudaAddressModeBorder" = 3,
    ]
    /// Whether a texture interpolates.
    TextureFilterMode "cudaTextureFilterMode" [
        "cudaFilterModePoint" = 0,
        "cudaFilterModeLinear" = 1,
    ]
    /// Whether a texture gives integers as they are or as numbers up to 1.
    TextureReadMode "cudaTextureReadMode" [
        "cudaReadModeElementType" = 0,
        "cudaReadModeNormalizedFloat" = 1,
    ]
    /// What an access outside of a surface does.
    SurfaceBoundaryMode "cudaSurfaceBoundaryMode" [
        "cudaBoundaryModeZero" = BOUNDARY_ZERO,
        "cudaBoundaryModeClamp" = BOUNDARY_CLAMP,
        "cudaBoundaryModeTrap" = BOUNDARY_TRAP,
    ]
}

/// `cudaBoundaryModeZero`: outside of a surface reads give zero and writes do nothing.
pub const BOUNDARY_ZERO: u32 = 0;
/// `cudaBoundaryModeClamp`: outside of a surface the nearest element is meant.
pub const BOUNDARY_CLAMP: u32 = 1;
/// `cudaBoundaryModeTrap`: outside of a surface the grid ends with an error.
pub const BOUNDARY_TRAP: u32 = 2;

impl CudaEnum {
    /// The enumeration with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|found| found.name() == name)
    }

    /// Its place among the enumerations of every [`TypeTable`].
    #[must_use]
    pub const fn id(self) -> EnumId {
        EnumId(self as u32)
    }

    /// Its type in every [`TypeTable`].
    #[must_use]
    pub const fn ty(self) -> TypeId {
        TypeId(TypeTable::CUDA_ENUMS.0 + self as u32)
    }

    /// The enumeration with this place.
    #[must_use]
    pub fn from_id(id: EnumId) -> Option<Self> {
        Self::ALL.get(id.0 as usize).copied()
    }

    /// The definition that type tables hold.
    #[must_use]
    pub fn definition(self) -> EnumDef {
        let variants = self.members().iter().map(|(name, value)| ((*name).to_owned(), u64::from(*value))).collect();
        EnumDef { name: self.name().to_owned(), repr: Int::I32, variants, span: crate::source::Span::default() }
    }
}
