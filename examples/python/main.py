"""Launches the kernels of ../rows.cdp from Python:

    pip install cuda-bindings numpy
    cdpc build --emit=python,cubin -o examples/python/rows examples/rows.cdp
    python examples/python/main.py

It exits with 0 when every value is right, with 1 when one is not, and with 2 when there is no GPU or something is not installed.
With CuPy, arrays are `cupy.asarray(…)` and go into the launch as they are.
"""

import sys

try:
    import numpy
    from cuda.bindings import driver

    import rows
except ImportError as error:
    print(error, __doc__, sep="\n", file=sys.stderr)
    sys.exit(2)


class DeviceArray:
    """A NumPy array's copy on the GPU, with the protocol by which CuPy, PyTorch and Numba show theirs."""

    def __init__(self, array):
        self.array = numpy.ascontiguousarray(array)
        self.address = int(rows.call("cuMemAlloc", max(self.array.nbytes, 1)))
        rows.call("cuMemcpyHtoD", self.address, self.array.ctypes.data, self.array.nbytes)

    @property
    def __cuda_array_interface__(self):
        array = self.array
        return {"shape": array.shape, "typestr": array.dtype.str, "data": (self.address, False), "version": 3}

    def get(self):
        result = numpy.empty_like(self.array)
        rows.call("cuMemcpyDtoH", result.ctypes.data, self.address, result.nbytes)
        return result


def main():
    kernels = rows.Kernels()
    # rows of 1, 8, 15 … values
    counts = 1 + 7 * numpy.arange(200)
    table = numpy.zeros(len(counts), rows.dtype(rows.Row))
    table["count"] = counts
    table["first"] = numpy.cumsum(counts) - counts
    values = (numpy.arange(counts.sum()) % 1000).astype(numpy.float64)
    how = rows.Scaling(factor=0.5, offset=(1, 2, 4), long=64)

    device_table, device_values = DeviceArray(table), DeviceArray(values)
    failed = DeviceArray(numpy.zeros(1, numpy.uint32))
    blocks = (len(table) + 127) // 128
    kernels.scale_rows(blocks, 128, device_table, len(table), how, device_values, failed)
    kernels.synchronize()

    place = numpy.concatenate([numpy.arange(count) for count in counts])
    expected = values * how.factor + numpy.array(how.offset)[place % 3]
    wrong = int((device_values.get() != expected).sum())
    launched, refused = kernels.read_launched(), int(failed.get()[0])
    print(f"{len(table)} rows, {launched} child grids, {refused} refused, {wrong} of {len(values)} values wrong")
    return 0 if wrong == 0 and refused == 0 and launched == (counts >= how.long).sum() else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except rows.CudaError as error:
        # no device, or a cubin for another one
        print(error, file=sys.stderr)
        sys.exit(2 if error.code in (100, 101, 209) else 1)
