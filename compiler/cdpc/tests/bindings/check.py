"""Compares a generated module with the manifest: `check.py MODULE`, in the folder of both."""

import ctypes
import importlib
import json
import struct
import sys
import types

sys.path.insert(0, ".")
name = sys.argv[1]
module = importlib.import_module(name)
with open(f"{name}.json") as file:
    manifest = json.load(file)

try:
    import numpy
except ImportError:
    numpy = None


def same(found, wanted, what):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, and not {wanted!r}")


# structures: in the order of the manifest, as ctypes and as NumPy has them
structures = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, ctypes.Structure)]
same(len(structures), len(manifest.get("structs", [])), "structures")
fields = 0
for structure, wanted in zip(structures, manifest.get("structs", [])):
    same(ctypes.sizeof(structure), wanted["size"], structure)
    own = [field for field, _ in structure._fields_ if not field.startswith("_gap")]
    same(len(own), len(wanted["fields"]), structure)
    for field, one in zip(own, wanted["fields"]):
        fields += 1
        descriptor = getattr(structure, field)
        same((descriptor.offset, descriptor.size), (one["offset"], one["size"]), f"{structure}.{field}")
        if numpy:
            dtype, offset = module.dtype(structure).fields[field]
            same((offset, dtype.itemsize), (one["offset"], one["size"]), f"{structure}.{field} in NumPy")
    if numpy:
        same(module.dtype(structure).itemsize, wanted["size"], structure)


class Driver(types.ModuleType):
    """As much of `cuda.bindings.driver` as the module uses: it keeps the bytes of each parameter at its offset."""

    class CUlimit:
        CU_LIMIT_STACK_SIZE = 0

    def __init__(self):
        super().__init__("driver")
        self.limits, self.launched, self.memory = {}, None, {}

    def cuInit(self, flags):
        return (0,)

    def cuCtxGetCurrent(self):
        return (0, 0)

    def cuDeviceGet(self, ordinal):
        return (0, ordinal)

    def cuDevicePrimaryCtxRetain(self, device):
        return (0, 7)

    def cuCtxSetCurrent(self, context):
        return (0 if context == 7 else 1,)

    def cuCtxGetLimit(self, limit):
        return (0, 1024)

    def cuCtxSetLimit(self, limit, value):
        self.limits[limit] = value
        return (0,)

    def cuModuleLoadData(self, image):
        return (0 if image == b"a cubin" else 200, 5)

    def cuModuleGetFunction(self, handle, symbol):
        found = [kernel for kernel in manifest["kernels"] if kernel["symbol"].encode() == symbol]
        return (0, found[0]) if handle == 5 and found else (500, None)

    def cuModuleGetGlobal(self, handle, symbol):
        found = [one for one in manifest["globals"] if one["symbol"].encode() == symbol]
        return (0, symbol, found[0]["size"]) if found else (500, None, 0)

    def cuMemcpyHtoD(self, symbol, data, size):
        self.memory[symbol] = data[:size]
        return (0,)

    def cuMemcpyDtoH(self, address, symbol, size):
        ctypes.memmove(address, self.memory[symbol], size)
        return (0,)

    def cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        same((extra, gx, gy, gz, bx, by, bz), (0, 3, 1, 1, 4, 2, 1), "extents")
        bytes_of = lambda index, size: ctypes.string_at(ctypes.c_void_p.from_address(params + 8 * index).value, size)
        self.launched = [bytes_of(index, param["size"]) for index, param in enumerate(function["params"])]
        return (0,)

    def cuGetErrorString(self, error):
        return (0, b"what the driver says")


driver = Driver()
sys.modules["cuda"] = types.ModuleType("cuda")
sys.modules["cuda.bindings"] = types.ModuleType("cuda.bindings")
sys.modules["cuda.bindings"].driver = driver


def refused(error, text, work):
    try:
        work()
    except error as found:
        if text not in str(found):
            sys.exit(f"{found!r} does not say `{text}`")
        return
    sys.exit(f"nothing was wrong with what should say `{text}`")


def value_of(kind, data):
    """A value that has these bytes."""
    what, *how = kind
    if what == "pointer":
        return int.from_bytes(data, "little")
    if what == "record":
        return data
    if what == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[2 * i : 2 * i + 2])[0] for i in range(how[0])]
    return list(struct.unpack(how[0], data))


refused(module.CudaError, "cuModuleLoadData: what the driver says (200)", lambda: module.Kernels(b"none"))
kernels = module.Kernels(b"a cubin")
wanted = manifest["limits"].get("stack")
same(driver.limits, {} if wanted is None else {0: wanted}, "limits")
launches = 0
for kernel, (method, (_, size, params)) in zip(manifest["kernels"], kernels._kernels.items()):
    same([param[0] for param in params], [param["offset"] for param in kernel["params"]], f"offsets of {method}")
    # small bytes, so that no float is not a number
    data = [bytes((7 * i + 3) % 61 for i in range(param["size"])) for param in kernel["params"]]
    data = [b"\1" if param["type"] == "bool" else one for param, one in zip(kernel["params"], data)]
    values = [value_of(param[3], one) for param, one in zip(params, data)]
    getattr(kernels, method)(3, (4, 2), *values)
    same(driver.launched, data, f"parameters of {method}")
    launches += 1

if name == "every":
    class Array:
        def __init__(self, typestr, read_only=False):
            self.__cuda_array_interface__ = {"data": (0x1234, read_only), "typestr": typestr, "shape": (1,), "version": 3}

    node = module.Node(count=3)
    rest = (1, node, [[1, 2], [3, 4], [5, 6]], module.Line(), 1.0, (1, 2, 3))
    launch = lambda x, rest=rest: kernels.scale(3, (4, 2), x, *rest)
    launch(Array("<f4"))
    same(driver.launched[0], struct.pack("<Q", 0x1234), "an array's address")
    same(driver.launched[2], bytes(node), "a structure by value")
    same(driver.launched[5:], [b"\x80\x3f", b"\0\x3c\0\x40\0\x42"], "halves")
    same([module._bf16(x) for x in (1.00390625, 1.01171875, 3.4e38, float("nan"), -0.0)], [0x3F80, 0x3F82, 0x7F80, 0x7FC0, 0x8000], "bf16")
    refused(TypeError, "scale: `x` is `*global f32`: its elements are `f4`, and the array's `f8`", lambda: launch(Array("<f8")))
    refused(TypeError, "the array is read-only", lambda: launch(Array("<f4", True)))
    refused(TypeError, "scale: `n` is `i32`:", lambda: launch(0, (2**31, *rest[1:])))
    refused(TypeError, "`node` is `Node`: it has 160 bytes, and the value 8", lambda: launch(0, (1, module.Row(), *rest[2:])))
    refused(TypeError, "`node` is `Node`", lambda: launch(0, (1, 160, *rest[2:])))
    refused(TypeError, "`def` is `[[f32; 2]; 3]`", lambda: launch(0, (1, node, [1, 2], *rest[3:])))
    refused(ValueError, "one to three numbers", lambda: kernels.unload((1, 2, 3, 4), 1))
    refused(TypeError, "", lambda: kernels.unload(1.5, 1))
    if numpy:
        refused(TypeError, "in the host's memory", lambda: launch(numpy.zeros(3, numpy.float32)))
        launch(0, (numpy.int32(1), numpy.zeros(1, module.dtype(module.Node))[0], numpy.ones((3, 2)), *rest[3:]))
    same(module.Signed.class_, 7, "an escaped member")
    kernels.write_calls(5)
    same(kernels.read_calls(), 5, "a variable")
    kernels.write_weights([[1, 2], [3, 4]])
    same([list(row) for row in kernels.read_weights()], [[1, 2], [3, 4]], "an array")

print(f"{len(structures)} structures, {fields} fields, {launches} kernels, {'with' if numpy else 'without'} NumPy")
