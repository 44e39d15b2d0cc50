#!/usr/bin/env python3
"""Compares the code of cdpc and nvcc for kernels that launch nothing: time on a GPU, instructions, registers, spills.

    bench_flat.py build CDPC DIR    compiles lang-tests/bench/flat with both into DIR; needs nvcc, no GPU
    bench_flat.py show DIR          prints instructions, registers and spills; needs nothing
    bench_flat.py run DIR           runs both on a GPU, checks results, times; needs libcuda only
                                    writes DIR/flat.json and DIR/flat.md

Both are compiled for sm_90, or for $ARCH. In a run both modules are loaded into one context and get the same buffers; results must be
equal to each other where arithmetic is exact, and to a computation here at sampled places. They take turns, each launch between two
events, after a warm-up; medians are compared. Memory-bound kernels work on several times the L2 cache.
"""

import array
import ctypes
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "lang-tests/bench/flat"
NAMES = ["saxpy", "reduction", "scan", "transpose", "matmul", "stencil", "nbody", "histogram", "spmv"]
CONTENDERS = ["cdpc", "nvcc"]
ROUNDS = 40
WARM_UP = 5
SAMPLES = 400


def fail(message):
    sys.exit(f"bench_flat: {message}")


# ---- building ---------------------------------------------------------------------------------------------------------------------


def toolkit():
    """The folder of the toolkit that has nvcc: the same places, in the same order, as cdpc searches."""
    named = [os.environ.get(name) for name in ("CDPC_CUDA", "CUDA_HOME", "CUDA_PATH")]
    for root in [*filter(None, named), ROOT / ".cuda/nvidia/cu13", "/usr/local/cuda", "/opt/cuda"]:
        if (Path(root) / "bin/nvcc").exists():
            return Path(root)
    fail("there is no nvcc; `make setup` brings one")


def output(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return done.stdout


def statics(bin_dir, cubin):
    """Instructions without padding, registers, stack and local memory in bytes, spilling instructions."""
    listing = output([bin_dir / "cuobjdump", "-sass", cubin])
    instructions = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", listing, re.MULTILINE)
    usage = output([bin_dir / "cuobjdump", "-res-usage", cubin])
    number = lambda key: int(re.search(rf"\b{key}:(\d+)", usage).group(1))
    return {
        "instructions": sum(name != "NOP" for name in instructions),
        "registers": number("REG"),
        "stack": number("STACK"),
        "local": number("LOCAL"),
        "spills": sum(name.split(".")[0] in ("STL", "LDL") for name in instructions),
    }


def build(cdpc, out):
    out.mkdir(parents=True, exist_ok=True)
    cuda = toolkit()
    arch = os.environ.get("ARCH", "sm_90")
    host = shutil.which("gcc") or shutil.which("cc") or fail("nvcc needs a host compiler (gcc)")
    table = {}
    for name in NAMES:
        ours, theirs = out / f"{name}.cdpc.cubin", out / f"{name}.nvcc.cubin"
        output([cdpc, "build", "--cuda", cuda, "--arch", arch, "--emit", "cubin", "-o", ours, SOURCES / f"{name}.cdp"])
        output([cuda / "bin/nvcc", "-ccbin", host, "-O3", "-cubin", f"-arch={arch}", "-o", theirs, SOURCES / f"{name}.cu"])
        table[name] = {"cdpc": statics(cuda / "bin", ours), "nvcc": statics(cuda / "bin", theirs)}
    (out / "statics.json").write_text(json.dumps({"arch": arch, "kernels": table}, indent=2) + "\n")


def show(out):
    table = json.loads((out / "statics.json").read_text())
    print(f"{table['arch']}      cdpc: instructions registers spills    nvcc: instructions registers spills")
    for name, both in table["kernels"].items():
        cells = ["{instructions:>18} {registers:>9} {spills:>6}".format(**both[c]) for c in CONTENDERS]
        print(f"{name:11}{cells[0]}  {cells[1]}")


# ---- the driver -------------------------------------------------------------------------------------------------------------------


class Driver:
    """The few calls of the CUDA driver API that are needed."""

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            fail(f"no CUDA driver: {error}")
        self.call("cuInit", ctypes.c_uint(0))
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, ctypes.c_int(256), device)
        self.name = name.value.decode()
        l2 = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(l2), ctypes.c_int(38), device)
        self.l2 = l2.value
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.events = [self.event(), self.event()]

    def call(self, name, *args):
        status = getattr(self.cuda, name)(*args)
        if status != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(ctypes.c_int(status), ctypes.byref(text))
            fail(f"{name} gave {status} ({(text.value or b'unknown').decode()})")

    def event(self):
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return event

    def function(self, cubin, name):
        image = cubin.read_bytes()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        self.call("cuMemsetD8_v2", pointer, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return pointer

    def upload(self, data):
        pointer = self.allocate(len(data) * data.itemsize)
        self.write(pointer, data)
        return pointer

    def write(self, pointer, data):
        address, length = data.buffer_info()
        self.call("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(address), ctypes.c_size_t(length * data.itemsize))

    def download(self, pointer, kind, count):
        data = array.array(kind, bytes(count * array.array(kind).itemsize))
        address, length = data.buffer_info()
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(address), pointer, ctypes.c_size_t(length * data.itemsize))
        return data

    def free(self, pointer):
        self.call("cuMemFree_v2", pointer)

    def launch(self, function, grid, block, args):
        values = (ctypes.c_void_p * len(args))(*(ctypes.addressof(arg) for arg in args))
        numbers = [ctypes.c_uint(n) for n in (*grid, *block, 0)]
        self.call("cuLaunchKernel", function, *numbers, None, values, None)

    def timed(self, function, grid, block, args):
        """Microseconds between two events around a launch."""
        start, stop = self.events
        self.call("cuEventRecord", start, None)
        self.launch(function, grid, block, args)
        self.call("cuEventRecord", stop, None)
        self.call("cuEventSynchronize", stop)
        elapsed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), start, stop)
        return elapsed.value * 1000


# ---- the kernels ------------------------------------------------------------------------------------------------------------------


def repeated(kind, count, value, period=9973):
    """`count` elements, element i being value(i % period)."""
    base = array.array(kind, [value(i) for i in range(period)])
    data = base * (count // period + 1)
    del data[count:]
    return data


def samples(count):
    return sorted({0, count - 1, *((i * 7919 * 104729 + 12345) % count for i in range(SAMPLES))})


class Case:
    """A kernel's launch, its input, and what it must give."""

    exact = True
    kind = "f"

    def __init__(self, driver):
        self.inputs = self.make()
        self.pointers = [driver.upload(data) for data in self.inputs]
        initial = self.initial()
        self.start = initial
        self.result = driver.upload(initial) if initial else driver.allocate(self.count * array.array(self.kind).itemsize)

    def initial(self):
        """What the result holds before every checked launch, where that matters."""
        return None

    def args(self):
        return [ctypes.c_int(self.n), *self.pointers, self.result]

    def check(self, result):
        for i in self.places():
            expected = self.expected(i)
            error = abs(result[i] - expected)
            if error > (0 if self.exact else 1e-3 * max(1.0, abs(expected))):
                return f"element {i} is {result[i]}, not {expected}"
        return None

    def places(self):
        return samples(self.count)


class Saxpy(Case):
    n = count = 1 << 26
    grid, block = ((1 << 26) // 256, 1, 1), (256, 1, 1)

    def make(self):
        return [repeated("f", self.n, lambda i: i % 64)]

    def initial(self):
        return repeated("f", self.n, lambda i: i % 100, 8191)

    def args(self):
        return [ctypes.c_int(self.n), ctypes.c_float(3.0), *self.pointers, self.result]

    def expected(self, i):
        return 3.0 * self.inputs[0][i] + self.start[i]


class Reduction(Case):
    n, count = 1 << 27, 2048
    grid, block = (2048, 1, 1), (256, 1, 1)

    def make(self):
        return [repeated("f", self.n, lambda i: i % 4)]

    def places(self):
        return [0, 1, 777, self.count - 1]

    def expected(self, i):
        stride = self.count * 256
        return float(sum(sum(self.inputs[0][at : at + 256]) for at in range(i * 256, self.n, stride)))


class Scan(Case):
    n = count = 1 << 26
    kind = "i"
    grid, block = ((1 << 26) // 256, 1, 1), (256, 1, 1)

    def make(self):
        return [repeated("i", self.n, lambda i: i % 11 - 3)]

    def expected(self, i):
        return sum(self.inputs[0][i // 256 * 256 : i + 1])


class Transpose(Case):
    n, count = 8192, 8192 * 8192
    grid, block = (256, 256, 1), (32, 8, 1)

    def make(self):
        return [repeated("f", self.count, float)]

    def expected(self, i):
        return self.inputs[0][i % self.n * self.n + i // self.n]


class Matmul(Case):
    n, count = 2048, 2048 * 2048
    grid, block = (64, 64, 1), (32, 32, 1)

    def make(self):
        return [repeated("f", self.count, lambda i: i % 7 - 3), repeated("f", self.count, lambda i: i % 5 - 2, 8191)]

    def expected(self, i):
        a, b = self.inputs
        row, column = divmod(i, self.n)
        return float(sum(x * y for x, y in zip(a[row * self.n : (row + 1) * self.n], b[column :: self.n])))

    def places(self):
        return samples(self.count)[::8]


class Stencil(Case):
    n, count = 8192, 8192 * 8192
    grid, block = (256, 1024, 1), (32, 8, 1)

    def make(self):
        return [repeated("f", self.count, lambda i: i % 128)]

    def expected(self, i):
        x, n = self.inputs[0], self.n
        row, column = divmod(i, n)
        if row in (0, n - 1) or column in (0, n - 1):
            return x[i]
        return 0.5 * x[i] + 0.125 * (x[i - 1] + x[i + 1] + x[i - n] + x[i + n])


class Nbody(Case):
    n, count = 1 << 15, 4 << 15
    exact = False
    grid, block = ((1 << 15) // 256, 1, 1), (256, 1, 1)

    def make(self):
        return [repeated("f", self.count, lambda i: (i * 37 % 997) / 997.0)]

    def places(self):
        return [0, 1, 2, 3, 4001, 77777, self.count - 2]

    def expected(self, i):
        b = self.inputs[0]
        body, axis = divmod(i, 4)
        if axis == 3:
            return 0.0
        me = b[4 * body : 4 * body + 3]
        total = 0.0
        for k in range(0, self.count, 4):
            d = [b[k + j] - me[j] for j in range(3)]
            total += b[k + 3] * d[axis] / math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01) ** 3
        return total


class Histogram(Case):
    n, count = 1 << 27, 256
    kind = "I"
    grid, block = (2048, 1, 1), (256, 1, 1)

    def make(self):
        self.period = 9973
        self.base = [(i * i + 31 * i) % 65521 for i in range(self.period)]
        return [repeated("I", self.n, lambda i: self.base[i], self.period)]

    def initial(self):
        return array.array("I", [0] * 256)

    def places(self):
        return range(256)

    def expected(self, i):
        whole, rest = divmod(self.n, self.period)
        hits = lambda values: sum(value & 255 == i for value in values)
        return whole * hits(self.base) + hits(self.base[:rest])


class Spmv(Case):
    rows = 1 << 20
    n = count = rows
    grid, block = ((1 << 20) // 256, 1, 1), (256, 1, 1)

    def make(self):
        # rows of 12 to 43 entries in groups of 4096 that repeat, near and far columns mixed
        group = 4096
        lengths = [12 + row * 7 % 32 for row in range(group)]
        start, at = array.array("i", [0]), 0
        for _ in range(self.rows // group):
            for length in lengths:
                at += length
                start.append(at)
        columns = array.array("i")
        for row, length in enumerate(lengths):
            columns.extend((row * 17 + k * (1 if k % 4 else 60013)) % self.rows for k in range(length))
        columns = columns * (self.rows // group)
        values = repeated("f", len(columns), lambda i: i % 5 - 2)
        return [start, columns, values, repeated("f", self.rows, lambda i: i % 9, 8191)]

    def expected(self, i):
        start, column, value, x = self.inputs
        return float(sum(value[k] * x[column[k]] for k in range(start[i], start[i + 1])))


CASES = dict(zip(NAMES, [Saxpy, Reduction, Scan, Transpose, Matmul, Stencil, Nbody, Histogram, Spmv]))


# ---- running ----------------------------------------------------------------------------------------------------------------------


def measure(driver, out, name):
    case = CASES[name](driver)
    functions = {who: driver.function(out / f"{name}.{who}.cubin", name) for who in CONTENDERS}
    results = {}
    for who, function in functions.items():
        if case.start:
            driver.write(case.result, case.start)
        driver.launch(function, case.grid, case.block, case.args())
        driver.call("cuCtxSynchronize")
        results[who] = driver.download(case.result, case.kind, case.count)
        wrong = case.check(results[who])
        if wrong:
            fail(f"{name} by {who}: {wrong}")
    if case.exact and results["cdpc"] != results["nvcc"]:
        fail(f"{name}: the two compilers' results differ")
    times = {who: [] for who in CONTENDERS}
    for turn in range(WARM_UP + ROUNDS):
        # who goes first alternates as well
        for who in CONTENDERS if turn % 2 else reversed(CONTENDERS):
            elapsed = driver.timed(functions[who], case.grid, case.block, case.args())
            if turn >= WARM_UP:
                times[who].append(elapsed)
    for pointer in [*case.pointers, case.result]:
        driver.free(pointer)
    return {who: {"median": statistics.median(t), "least": min(t), "most": max(t)} for who, t in times.items()}


def run(out):
    table = json.loads((out / "statics.json").read_text())
    driver = Driver()
    rows, ratios = [], []
    report = {"device": driver.name, "arch": table["arch"], "rounds": ROUNDS, "kernels": {}}
    for name in NAMES:
        times = measure(driver, out, name)
        ratio = times["cdpc"]["median"] / times["nvcc"]["median"]
        ratios.append(ratio)
        ours, theirs = table["kernels"][name]["cdpc"], table["kernels"][name]["nvcc"]
        report["kernels"][name] = {"microseconds": times, "ratio": ratio, "cdpc": ours, "nvcc": theirs}
        pair = lambda key: f"{ours[key]} / {theirs[key]}"
        rows.append(
            f"| {name} | {times['cdpc']['median']:.1f} | {times['nvcc']['median']:.1f} | {ratio:.3f} "
            f"| {pair('instructions')} | {pair('registers')} | {pair('spills')} |"
        )
        print(rows[-1], flush=True)
    mean = math.exp(statistics.fmean(map(math.log, ratios)))
    report["geometric_mean"], report["worst"] = mean, max(ratios)
    (out / "flat.json").write_text(json.dumps(report, indent=2) + "\n")
    head = [
        f"{driver.name}, {table['arch']}, medians of {ROUNDS} interleaved launches in microseconds, cdpc / nvcc -O3:",
        "",
        "| kernel | cdpc | nvcc | ratio | SASS instructions | registers | spill instructions |",
        "|---|---|---|---|---|---|---|",
    ]
    last = ["", f"Geometric mean of the ratios {mean:.3f}, the worst {max(ratios):.3f}."]
    (out / "flat.md").write_text("\n".join([*head, *rows, *last]) + "\n")
    print(f"geometric mean {mean:.3f}, worst {max(ratios):.3f}")


def main():
    match sys.argv[1:]:
        case ["build", cdpc, out]:
            build(cdpc, Path(out))
            show(Path(out))
        case ["show", out]:
            show(Path(out))
        case ["run", out]:
            run(Path(out))
        case _:
            fail(f"usage\n{__doc__}")


if __name__ == "__main__":
    main()
