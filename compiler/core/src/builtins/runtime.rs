//! The CUDA runtime calls: what device code may call (CUDA programming guide 5.6.4) and what `host fn` and `test` may.
//!
//! Every call but the ones noted returns `cudaError_t`.

use super::{CudaEnum, NamedKind};
use crate::types::{Predeclared, TypeId, TypeTable};

/// Where a call may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Kernels and what they call.
    Device,
    /// `host fn`, `test` and what they call.
    Host,
    /// Either.
    Both,
    /// Made by launch lowering only; not callable from source.
    Internal,
}

/// Which dynamic parallelism device code is compiled for: the two have different symbols, and no driver runs both together (cdp2 rules R22, R27).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cdp {
    /// That of GPUs below sm_90: device code can wait for children, and has no tail and fire-and-forget streams.
    Cdp1,
    /// That of the CUDA programming guide 4.18.
    #[default]
    Cdp2,
}

/// What a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuntimeParam {
    /// A value of this type, converted as an assignment would.
    Value(TypeId),
    /// Flags, which are an integer of [`NamedKind::ty`]. Flags of another kind are refused.
    Flags(NamedKind),
    /// An address where the call writes a value of this type: `&s`.
    Out(TypeId),
    /// An address where the call writes a pointer: `&p`, of type `*T` to a pointer in the global space.
    OutPointer,
    /// A device address, of any pointee: generic or global.
    Address,
    /// A device address that is only read.
    ConstAddress,
    /// An address of any space.
    Memory,
    /// An address of any space that is only read.
    ConstMemory,
    /// A count of bytes or elements: `size_t`, 64 bits in source, as wide as a pointer in PTX.
    Size,
    /// A value of `dim3` by value.
    Dim3,
    /// A kernel's address; in source its name.
    Kernel,
    /// A structure of the runtime by value.
    Struct(Predeclared),
    /// An address where the call reads such a structure.
    InStruct(Predeclared),
    /// An address where the call writes such a structure.
    OutStruct(Predeclared),
    /// A structure that a call of host code reads: its address, as in CUDA, or the value itself. The call gets the value.
    Description(Predeclared),
}

macro_rules! runtime {
    ($($variant:ident $name:literal $side:ident ($($param:expr),*) -> $result:ident $doc:literal;)*) => {
        /// A call of the CUDA runtime.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum RuntimeFn {
            $(#[doc = $doc] $variant,)*
        }

        impl RuntimeFn {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// CUDA's name, as it is written in source. Symbols in PTX may carry a prefix: see [`RuntimeFn::symbol`].
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Where it may stand.
            #[must_use]
            pub const fn side(self) -> Side {
                match self { $(Self::$variant => Side::$side,)* }
            }

            /// What it takes.
            #[must_use]
            pub const fn params(self) -> &'static [RuntimeParam] {
                use RuntimeParam::*;
                match self { $(Self::$variant => const { &[$($param,)*] },)* }
            }

            /// What it returns.
            #[must_use]
            pub const fn result(self) -> TypeId {
                match self { $(Self::$variant => TypeTable::$result,)* }
            }

            /// One line for the reference and for hovers.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc,)* }
            }
        }
    };
}

const BOOL: RuntimeParam = RuntimeParam::Value(TypeTable::BOOL);
const I32: RuntimeParam = RuntimeParam::Value(TypeTable::I32);
const U32: RuntimeParam = RuntimeParam::Value(TypeTable::U32);
const U64: RuntimeParam = RuntimeParam::Value(TypeTable::U64);
const LIMIT: RuntimeParam = RuntimeParam::Value(CudaEnum::Limit.ty());
const ATTRIBUTE: RuntimeParam = RuntimeParam::Value(CudaEnum::DeviceAttr.ty());
const COPY_KIND: RuntimeParam = RuntimeParam::Value(CudaEnum::MemcpyKind.ty());
const STREAM_FLAGS: RuntimeParam = RuntimeParam::Flags(NamedKind::StreamFlag);
const EVENT_FLAGS: RuntimeParam = RuntimeParam::Flags(NamedKind::EventFlag);
const RECORD_FLAGS: RuntimeParam = RuntimeParam::Flags(NamedKind::RecordFlag);
const OCCUPANCY_FLAGS: RuntimeParam = RuntimeParam::Flags(NamedKind::OccupancyFlag);
const STREAM: RuntimeParam = RuntimeParam::Value(TypeTable::STREAM);
const EVENT: RuntimeParam = RuntimeParam::Value(TypeTable::EVENT);
const ERROR: RuntimeParam = RuntimeParam::Value(TypeTable::CUDA_ERROR);
const OUT_I32: RuntimeParam = RuntimeParam::Out(TypeTable::I32);
const OUT_CACHE: RuntimeParam = RuntimeParam::Out(CudaEnum::FuncCache.ty());
const OUT_U64: RuntimeParam = RuntimeParam::Out(TypeTable::U64);
const OUT_F32: RuntimeParam = RuntimeParam::Out(TypeTable::F32);
const OUT_STREAM: RuntimeParam = RuntimeParam::Out(TypeTable::STREAM);
const OUT_EVENT: RuntimeParam = RuntimeParam::Out(TypeTable::EVENT);
const PITCHED: RuntimeParam = RuntimeParam::Struct(Predeclared::PitchedPtr);
const EXTENT: RuntimeParam = RuntimeParam::Struct(Predeclared::Extent);
const PARMS_3D: RuntimeParam = RuntimeParam::InStruct(Predeclared::Memcpy3DParms);
const ARRAY: RuntimeParam = RuntimeParam::Value(TypeTable::CUDA_ARRAY);
const OUT_ARRAY: RuntimeParam = RuntimeParam::Out(TypeTable::CUDA_ARRAY);
const ARRAY_FLAGS: RuntimeParam = RuntimeParam::Flags(NamedKind::ArrayFlag);
const CHANNELS: RuntimeParam = RuntimeParam::Description(Predeclared::ChannelFormatDesc);
const OUT_CHANNELS: RuntimeParam = RuntimeParam::OutStruct(Predeclared::ChannelFormatDesc);
const RESOURCE: RuntimeParam = RuntimeParam::Description(Predeclared::ResourceDesc);
const SAMPLER: RuntimeParam = RuntimeParam::Description(Predeclared::TextureDesc);
const TEXTURE: RuntimeParam = RuntimeParam::Value(TypeTable::TEXTURE);
const OUT_TEXTURE: RuntimeParam = RuntimeParam::Out(TypeTable::TEXTURE);
const SURFACE: RuntimeParam = RuntimeParam::Value(TypeTable::SURFACE);
const OUT_SURFACE: RuntimeParam = RuntimeParam::Out(TypeTable::SURFACE);
const OUT_ATTRIBUTES: RuntimeParam = RuntimeParam::OutStruct(Predeclared::FuncAttributes);

runtime! {
    // both sides
    GetLastError "cudaGetLastError" Both () -> CUDA_ERROR "this thread's last error, which it clears";
    PeekAtLastError "cudaPeekAtLastError" Both () -> CUDA_ERROR "this thread's last error, which stays";
    GetErrorString "cudaGetErrorString" Both (ERROR) -> STR "what an error means";
    GetErrorName "cudaGetErrorName" Both (ERROR) -> STR "an error's name";
    StreamCreateWithFlags "cudaStreamCreateWithFlags" Both (OUT_STREAM, STREAM_FLAGS) -> CUDA_ERROR "makes a stream; on the device it needs cudaStreamNonBlocking";
    StreamDestroy "cudaStreamDestroy" Both (STREAM) -> CUDA_ERROR "gives a stream back once its work is done";
    StreamWaitEvent "cudaStreamWaitEvent" Both (STREAM, EVENT, U32) -> CUDA_ERROR "what follows in the stream waits for the event";
    EventCreateWithFlags "cudaEventCreateWithFlags" Both (OUT_EVENT, EVENT_FLAGS) -> CUDA_ERROR "makes an event; on the device it needs cudaEventDisableTiming";
    EventRecord "cudaEventRecord" Both (EVENT, STREAM) -> CUDA_ERROR "the event stands for all work in the stream so far";
    EventRecordWithFlags "cudaEventRecordWithFlags" Both (EVENT, STREAM, RECORD_FLAGS) -> CUDA_ERROR "the same with flags: `cudaEventRecordDefault`";
    EventDestroy "cudaEventDestroy" Both (EVENT) -> CUDA_ERROR "gives an event back";
    GetDevice "cudaGetDevice" Both (OUT_I32) -> CUDA_ERROR "the current device's ordinal";
    GetDeviceCount "cudaGetDeviceCount" Both (OUT_I32) -> CUDA_ERROR "how many devices there are";
    DeviceGetAttribute "cudaDeviceGetAttribute" Both (OUT_I32, ATTRIBUTE, I32) -> CUDA_ERROR "one attribute of a device";
    DeviceGetLimit "cudaDeviceGetLimit" Both (OUT_U64, LIMIT) -> CUDA_ERROR "a limit in force";
    DeviceGetCacheConfig "cudaDeviceGetCacheConfig" Both (OUT_CACHE) -> CUDA_ERROR "the preferred cache configuration";
    RuntimeGetVersion "cudaRuntimeGetVersion" Both (OUT_I32) -> CUDA_ERROR "the runtime's version; device code sees a constant (6000 seen on an H200)";
    Malloc "cudaMalloc" Both (OutPointer, Size) -> CUDA_ERROR "device memory; in device code from the heap of cudaLimitMallocHeapSize";
    Free "cudaFree" Both (Address) -> CUDA_ERROR "gives memory of cudaMalloc back";
    MemcpyAsync "cudaMemcpyAsync" Both (Address, ConstAddress, Size, COPY_KIND, STREAM) -> CUDA_ERROR "copies bytes within device memory";
    Memcpy2DAsync "cudaMemcpy2DAsync" Both (Address, Size, ConstAddress, Size, Size, Size, COPY_KIND, STREAM) -> CUDA_ERROR "copies rows of a width in bytes; each side has its pitch";
    Memcpy3DAsync "cudaMemcpy3DAsync" Both (PARMS_3D, STREAM) -> CUDA_ERROR "copies slices of rows between pitched pointers";
    MemsetAsync "cudaMemsetAsync" Both (Address, I32, Size, STREAM) -> CUDA_ERROR "fills bytes with the value's lowest one";
    Memset2DAsync "cudaMemset2DAsync" Both (Address, Size, I32, Size, Size, STREAM) -> CUDA_ERROR "fills rows: pitch, value, width in bytes, height";
    Memset3DAsync "cudaMemset3DAsync" Both (PITCHED, I32, EXTENT, STREAM) -> CUDA_ERROR "fills slices of rows of pitched memory";
    FuncGetAttributes "cudaFuncGetAttributes" Both (OUT_ATTRIBUTES, Kernel) -> CUDA_ERROR "what a kernel needs and may have";
    OccupancyMaxActiveBlocks "cudaOccupancyMaxActiveBlocksPerMultiprocessor" Both (OUT_I32, Kernel, I32, Size) -> CUDA_ERROR "how many blocks of so many threads and so much dynamic shared memory a multiprocessor runs at once";
    OccupancyMaxActiveBlocksWithFlags "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags" Both (OUT_I32, Kernel, I32, Size, OCCUPANCY_FLAGS) -> CUDA_ERROR "the same with flags: `cudaOccupancyDefault`";
    OccupancyMaxPotentialBlockSize "cudaOccupancyMaxPotentialBlockSize" Both (OUT_I32, OUT_I32, Kernel, Size, I32) -> CUDA_ERROR "the fewest blocks that fill the device, and the block size that does it; shared bytes and the largest block size may be left out";
    // device only
    DeviceMalloc "malloc" Device (Size) -> VOID_POINTER "memory from the device heap, null when there is none left";
    DeviceFree "free" Device (Address) -> VOID "gives memory of malloc back";
    DeviceSynchronize "cudaDeviceSynchronize" Both () -> CUDA_ERROR "waits for everything that was launched; device code has it with `--cdp=1` only, where it waits for what its block launched";
    MemoryCopy "memcpy" Device (Memory, ConstMemory, Size) -> VOID_POINTER "copies bytes, by this thread and at once; gives its first argument";
    MemoryMove "memmove" Device (Memory, ConstMemory, Size) -> VOID_POINTER "the same, where the two may overlap";
    MemorySet "memset" Device (Memory, I32, Size) -> VOID_POINTER "fills bytes with the value's lowest one, by this thread and at once; gives its first argument";
    Nanosleep "__nanosleep" Device (U32) -> VOID "waits for about so many nanoseconds, a million at most";
    Trap "__trap" Device () -> VOID "ends the kernel with an error";
    // either side
    Assume "__builtin_assume" Both (BOOL) -> VOID "says that a condition holds, for the optimiser";
    Unreachable "__builtin_unreachable" Both () -> VOID "says that control does not come here";
    // host only
    StreamCreate "cudaStreamCreate" Host (OUT_STREAM) -> CUDA_ERROR "makes a stream that waits for the NULL stream, and the NULL stream for it";
    StreamQuery "cudaStreamQuery" Host (STREAM) -> CUDA_ERROR "whether all work in the stream is done; `cudaErrorNotReady` where it is not";
    EventCreate "cudaEventCreate" Host (OUT_EVENT) -> CUDA_ERROR "makes an event that measures time";
    EventQuery "cudaEventQuery" Host (EVENT) -> CUDA_ERROR "whether what the event stands for is done; `cudaErrorNotReady` where it is not";
    MemGetInfo "cudaMemGetInfo" Host (OUT_U64, OUT_U64) -> CUDA_ERROR "bytes of device memory: how many are free, how many there are";
    MallocPitch "cudaMallocPitch" Host (OutPointer, OUT_U64, Size, Size) -> CUDA_ERROR "device memory for rows of a width in bytes, so many; the pitch from one row to the next is written, too";
    Memcpy "cudaMemcpy" Host (Address, ConstAddress, Size, COPY_KIND) -> CUDA_ERROR "copies bytes in the NULL stream, and waits";
    Memcpy2D "cudaMemcpy2D" Host (Address, Size, ConstAddress, Size, Size, Size, COPY_KIND) -> CUDA_ERROR "copies rows of a width in bytes in the NULL stream, and waits; each side has its pitch";
    Memcpy3D "cudaMemcpy3D" Host (PARMS_3D) -> CUDA_ERROR "copies slices of rows in the NULL stream, and waits";
    Memset "cudaMemset" Host (Address, I32, Size) -> CUDA_ERROR "fills bytes in the NULL stream";
    Memset2D "cudaMemset2D" Host (Address, Size, I32, Size, Size) -> CUDA_ERROR "fills rows in the NULL stream: pitch, value, width in bytes, height";
    Memset3D "cudaMemset3D" Host (PITCHED, I32, EXTENT) -> CUDA_ERROR "fills slices of rows in the NULL stream";
    DeviceSetLimit "cudaDeviceSetLimit" Host (LIMIT, U64) -> CUDA_ERROR "sets a limit; the launch pool's before the first kernel runs";
    DeviceReset "cudaDeviceReset" Host () -> CUDA_ERROR "waits and gives everything back";
    StreamSynchronize "cudaStreamSynchronize" Host (STREAM) -> CUDA_ERROR "waits for a stream";
    EventSynchronize "cudaEventSynchronize" Host (EVENT) -> CUDA_ERROR "waits for an event";
    EventElapsedTime "cudaEventElapsedTime" Host (OUT_F32, EVENT, EVENT) -> CUDA_ERROR "milliseconds between two events";
    MallocArray "cudaMallocArray" Host (OUT_ARRAY, CHANNELS, Size, Size, ARRAY_FLAGS) -> CUDA_ERROR "an array of width and height in elements, for textures and surfaces; height and flags may be left out";
    Malloc3DArray "cudaMalloc3DArray" Host (OUT_ARRAY, CHANNELS, EXTENT, ARRAY_FLAGS) -> CUDA_ERROR "an array of an extent in elements; with `cudaArrayLayered` the depth counts layers; flags may be left out";
    FreeArray "cudaFreeArray" Host (ARRAY) -> CUDA_ERROR "gives an array back";
    GetChannelDesc "cudaGetChannelDesc" Host (OUT_CHANNELS, ARRAY) -> CUDA_ERROR "what the elements of an array are";
    Memcpy2DToArray "cudaMemcpy2DToArray" Host (ARRAY, Size, Size, ConstAddress, Size, Size, Size, COPY_KIND) -> CUDA_ERROR "copies rows into an array: place as bytes and rows, source and its pitch, width in bytes, height; waits";
    Memcpy2DFromArray "cudaMemcpy2DFromArray" Host (Address, Size, ARRAY, Size, Size, Size, Size, COPY_KIND) -> CUDA_ERROR "copies rows out of an array: target and its pitch, place as bytes and rows, width in bytes, height; waits";
    Memcpy2DArrayToArray "cudaMemcpy2DArrayToArray" Host (ARRAY, Size, Size, ARRAY, Size, Size, Size, Size, COPY_KIND) -> CUDA_ERROR "copies rows from one array to another; the direction may be left out";
    Memcpy2DToArrayAsync "cudaMemcpy2DToArrayAsync" Host (ARRAY, Size, Size, ConstAddress, Size, Size, Size, COPY_KIND, STREAM) -> CUDA_ERROR "the same in a stream";
    Memcpy2DFromArrayAsync "cudaMemcpy2DFromArrayAsync" Host (Address, Size, ARRAY, Size, Size, Size, Size, COPY_KIND, STREAM) -> CUDA_ERROR "the same in a stream";
    CreateTextureObject "cudaCreateTextureObject" Host (OUT_TEXTURE, RESOURCE, SAMPLER) -> CUDA_ERROR "makes a texture object; how it is read may be left out";
    DestroyTextureObject "cudaDestroyTextureObject" Host (TEXTURE) -> CUDA_ERROR "gives a texture object back";
    CreateSurfaceObject "cudaCreateSurfaceObject" Host (OUT_SURFACE, RESOURCE) -> CUDA_ERROR "makes a surface object of an array with `cudaArraySurfaceLoadStore`";
    DestroySurfaceObject "cudaDestroySurfaceObject" Host (SURFACE) -> CUDA_ERROR "gives a surface object back";
    HostTime "seconds" Host () -> F64 "seconds since the program started";
    // made by launch lowering (guide 4.18.6)
    GetParameterBuffer "cudaGetParameterBuffer" Internal (Size, Size) -> VOID_POINTER "V1: a buffer by alignment and size";
    LaunchDevice "cudaLaunchDevice" Internal (Kernel, Address, Dim3, Dim3, U32, STREAM) -> CUDA_ERROR "V1: starts the kernel";
    GetParameterBufferV2 "cudaGetParameterBufferV2" Internal (Kernel, Dim3, Dim3, U32) -> VOID_POINTER "V2: a buffer for this launch, null when refused";
    LaunchDeviceV2 "cudaLaunchDeviceV2" Internal (Address, STREAM) -> CUDA_ERROR "V2: starts what the buffer describes";
}

impl RuntimeFn {
    /// The call with this name in source.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|call| call.name() == name && call.side() != Side::Internal)
    }

    /// Whether it is made of instructions, and no call of the device runtime or the driver.
    #[must_use]
    pub const fn is_inline(self) -> bool {
        matches!(
            self,
            Self::MemoryCopy
                | Self::MemoryMove
                | Self::MemorySet
                | Self::Nanosleep
                | Self::Trap
                | Self::Assume
                | Self::Unreachable
        )
    }

    /// Whether control does not come back.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Trap | Self::Unreachable)
    }

    /// The device runtime's symbol in PTX: CDP2's calls carry a prefix, so that they cannot be taken for CDP1's, which have plain names (cdp2
    /// rule R27); `malloc` and `free` are the driver's own.
    #[must_use]
    pub fn symbol(self, cdp: Cdp) -> String {
        let name = self.name();
        match (cdp, name.strip_prefix("cuda")) {
            (Cdp::Cdp2, Some(rest)) => format!("__cudaCDP2{rest}"),
            _ => name.to_owned(),
        }
    }
}
