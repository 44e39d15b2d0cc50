//! The errors that devices give, by the numbers of `cudaError_t`.

use crate::device::CudaError;

/// `cudaSuccess`
pub const SUCCESS: CudaError = 0;
/// `cudaErrorInvalidValue`
pub const INVALID_VALUE: CudaError = 1;
/// `cudaErrorMemoryAllocation`
pub const MEMORY_ALLOCATION: CudaError = 2;
/// `cudaErrorInvalidConfiguration`
pub const INVALID_CONFIGURATION: CudaError = 9;
/// `cudaErrorInvalidPitchValue`
pub const INVALID_PITCH: CudaError = 12;
/// `cudaErrorInvalidSymbol`
pub const INVALID_SYMBOL: CudaError = 13;
/// `cudaErrorInvalidChannelDescriptor`: elements that no array has.
pub const INVALID_CHANNEL_DESCRIPTOR: CudaError = 20;
/// `cudaErrorInvalidMemcpyDirection`
pub const INVALID_DIRECTION: CudaError = 21;
/// `cudaErrorInvalidFilterSetting`: integers cannot be interpolated.
pub const INVALID_FILTER_SETTING: CudaError = 26;
/// `cudaErrorInvalidNormSetting`: integers of 32 bits are not read as numbers up to 1.
pub const INVALID_NORM_SETTING: CudaError = 27;
/// `cudaErrorLaunchMaxDepthExceeded`, of CDP1
pub const LAUNCH_MAX_DEPTH_EXCEEDED: CudaError = 65;
/// `cudaErrorSyncDepthExceeded`, of CDP1
pub const SYNC_DEPTH_EXCEEDED: CudaError = 68;
/// `cudaErrorLaunchPendingCountExceeded`: the launch pool is full. The guide says 701 (`cudaErrorLaunchOutOfResources`); the H200 gives this
/// one (cdp2 rule R20).
pub const PENDING_COUNT_EXCEEDED: CudaError = 69;
/// `cudaErrorInvalidDeviceFunction`
pub const INVALID_DEVICE_FUNCTION: CudaError = 98;
/// `cudaErrorInvalidClusterSize`: a grid that is not made of whole clusters.
pub const INVALID_CLUSTER_SIZE: CudaError = 912;
/// `cudaErrorNoDevice`
pub const NO_DEVICE: CudaError = 100;
/// `cudaErrorInvalidDevice`
pub const INVALID_DEVICE: CudaError = 101;
/// `cudaErrorUnsupportedLimit`
pub const UNSUPPORTED_LIMIT: CudaError = 215;
/// `cudaErrorInvalidResourceHandle`
pub const INVALID_RESOURCE_HANDLE: CudaError = 400;
/// `cudaErrorNotReady`
pub const NOT_READY: CudaError = 600;
/// `cudaErrorNotSupported`
pub const NOT_SUPPORTED: CudaError = 801;
/// `cudaErrorUnknown`
pub const UNKNOWN: CudaError = 999;
