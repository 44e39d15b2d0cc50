import ctypes
import enum
import operator
import os
import struct


class CudaError(RuntimeError):
    """A call of the CUDA driver that failed; `code` is its number."""

    def __init__(self, call, code, text):
        super().__init__(f"{call}: {text} ({code})")
        self.code = code


def dtype(structure):
    """The NumPy dtype of one of the structures below: the same names, offsets and size. `bf16` is there as its bits."""
    try:
        import numpy
    except ImportError:
        raise ImportError("NumPy dtypes need NumPy: `pip install numpy`; the structures themselves are ctypes and do not") from None

    def one(form):
        if isinstance(form, tuple):
            return (one(form[0]), form[1])
        return dtype(form) if isinstance(form, type) else form

    names, formats, offsets, size = structure._cdp_
    return numpy.dtype({"names": names, "formats": [one(form) for form in formats], "offsets": offsets, "itemsize": size})


def _check(structure):
    """The layout that ctypes made is the compiler's."""
    names, _, offsets, size = structure._cdp_
    found = ([getattr(structure, name).offset for name in names], ctypes.sizeof(structure))
    if found != (offsets, size):
        raise ImportError(f"{structure.__name__}: ctypes has {found}, the compiler {(offsets, size)}")


def _driver():
    try:
        from cuda.bindings import driver
    except ImportError:
        raise ImportError("launching kernels from Python needs cuda-bindings: `pip install cuda-bindings`") from None
    return driver


def call(name, *arguments):
    """A driver function; its results without the error, which is raised."""
    driver = _driver()
    error, *results = getattr(driver, name)(*arguments)
    if int(error) != 0:
        _, text = driver.cuGetErrorString(error)
        raise CudaError(name, int(error), text.decode() if isinstance(text, bytes) else str(error))
    return results[0] if len(results) == 1 else tuple(results)


def _context(device):
    """Makes a context current: the one that is, or the device's primary one, which CuPy and PyTorch use, too."""
    try:
        call("cuInit", 0)
    except CudaError:
        raise
    except RuntimeError as error:
        raise ImportError(f"there is no CUDA driver: {error}") from None
    if int(call("cuCtxGetCurrent")) == 0:
        call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", device)))


def _raise_limits(limits):
    kinds = _driver().CUlimit
    for name, value in limits.items():
        if call("cuCtxGetLimit", getattr(kinds, name)) < value:
            call("cuCtxSetLimit", getattr(kinds, name), value)


def _extent(of):
    """Three numbers of one, two or three."""
    given = tuple(of) if isinstance(of, (tuple, list)) else (of,)
    if not 1 <= len(given) <= 3:
        raise ValueError(f"{of!r} is no extent: one to three numbers are")
    return tuple(operator.index(number) for number in given) + (1,) * (3 - len(given))


def _stream(stream):
    """The handle of a stream: a number, CuPy's, PyTorch's, cuda.core's or the bindings'."""
    if stream is None:
        return 0
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return int(stream)


def _address(value, elements, constant):
    """The address of an array in the GPU's memory, or a number that is one."""
    if value is None:
        return 0
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        address, read_only = interface["data"]
        found = interface["typestr"].lstrip("<|=")
        if elements is not None and found not in (elements, "u1"):
            raise TypeError(f"its elements are `{elements}`, and the array's `{found}`")
        if read_only and not constant:
            raise TypeError("it is written through, and the array is read-only")
        return address
    if hasattr(value, "__array_interface__"):
        raise TypeError("the array is in the host's memory")
    if not hasattr(value, "__index__") and hasattr(value, "ptr"):
        return int(value.ptr)
    return int(value)


def _flat(value):
    """The numbers in nested sequences, in order."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (tuple, list, ctypes.Array)):
        return [number for part in value for number in _flat(part)]
    return [value]


def _bf16(value):
    """The bits of the nearest bfloat16, ties to even."""
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _bytes(kind, value):
    """A value as it lies in the GPU's memory."""
    what, *how = kind
    if what == "pointer":
        return struct.pack("<Q", _address(value, *how))
    (form,) = how
    if what == "record":
        data = memoryview(value).tobytes()
        if len(data) != form:
            raise TypeError(f"it has {form} bytes, and the value {len(data)}")
        return data
    numbers = _flat(value)
    if what == "bf16":
        if len(numbers) != form:
            raise TypeError(f"it has {form} elements, and the value {len(numbers)}")
        return struct.pack(f"<{form}H", *map(_bf16, numbers))
    return struct.pack(form, *numbers)


class _Module:
    """A loaded cubin, and what launching its kernels takes."""

    _kernels = {}
    _limits = {}

    def __init__(self, cubin=None, device=0):
        """Loads a cubin: its path, its bytes, or without either the file beside this one with the ending `.cubin`."""
        if cubin is None:
            cubin = os.path.splitext(__file__)[0] + ".cubin"
        if not isinstance(cubin, (bytes, bytearray, memoryview)):
            with open(cubin, "rb") as file:
                cubin = file.read()
        _context(device)
        _raise_limits(self._limits)
        self._module = call("cuModuleLoadData", bytes(cubin))
        self._functions = {
            name: call("cuModuleGetFunction", self._module, symbol.encode()) for name, (symbol, _, _) in self._kernels.items()
        }

    def synchronize(self):
        """Waits for everything that was launched, and raises the fault of a kernel that had one."""
        call("cuCtxSynchronize")

    def _launch(self, name, grid, block, shared, stream, cluster, *values):
        _, size, params = self._kernels[name]
        block_of_bytes = ctypes.create_string_buffer(max(size, 1))
        pointers = (ctypes.c_void_p * max(len(params), 1))()
        for index, ((offset, param, written, kind), value) in enumerate(zip(params, values)):
            try:
                data = _bytes(kind, value)
            except (TypeError, ValueError, OverflowError, struct.error) as error:
                raise TypeError(f"{name}: `{param}` is `{written}`: {error}") from None
            ctypes.memmove(ctypes.addressof(block_of_bytes) + offset, data, len(data))
            pointers[index] = ctypes.addressof(block_of_bytes) + offset
        function, addresses = self._functions[name], ctypes.addressof(pointers) if params else 0
        driver = _driver()
        if shared > 48 * 1024:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, attribute, shared)
        if cluster is None:
            return call("cuLaunchKernel", function, *_extent(grid), *_extent(block), shared, _stream(stream), addresses, 0)
        config, attribute = driver.CUlaunchConfig(), driver.CUlaunchAttribute()
        config.gridDimX, config.gridDimY, config.gridDimZ = _extent(grid)
        config.blockDimX, config.blockDimY, config.blockDimZ = _extent(block)
        config.sharedMemBytes, config.hStream = shared, _stream(stream)
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        dimensions = attribute.value.clusterDim
        dimensions.x, dimensions.y, dimensions.z = _extent(cluster)
        config.attrs, config.numAttrs = [attribute], 1
        return call("cuLaunchKernelEx", config, function, addresses, 0)

    def _variable(self, symbol):
        address, _ = call("cuModuleGetGlobal", self._module, symbol.encode())
        return address

    def _read(self, symbol, ctype):
        value = ctype()
        call("cuMemcpyDtoH", ctypes.addressof(value), self._variable(symbol), ctypes.sizeof(value))
        return getattr(value, "value", value)

    def _write(self, symbol, written, kind, value):
        try:
            data = _bytes(kind, value)
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            raise TypeError(f"`{symbol}` is `{written}`: {error}") from None
        call("cuMemcpyHtoD", self._variable(symbol), data, len(data))
