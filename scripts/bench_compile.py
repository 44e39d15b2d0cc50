#!/usr/bin/env python3
"""Compares whole-process compile times with nvcc's: nested_hello to PTX, and to a linked cubin.

Usage: bench_compile.py CDPC [ROUNDS]. The contenders take turns, so that a busy moment of the machine meets all of them alike;
medians are printed, with the quickest and slowest run.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCH = "sm_90"
SOURCE = ROOT / "lang-tests/run/nested_hello.cdp"
CUDA_SOURCE = ROOT / "lang-tests/bench/nested_hello.cu"


def toolkit():
    """The folder of the toolkit that has nvcc: the same places, in the same order, as cdpc searches."""
    named = [os.environ.get(name) for name in ("CDPC_CUDA", "CUDA_HOME", "CUDA_PATH")]
    for root in [*filter(None, named), ROOT / ".cuda/nvidia/cu13", "/usr/local/cuda", "/opt/cuda"]:
        if (Path(root) / "bin/nvcc").exists():
            return Path(root)
    sys.exit("bench: there is no nvcc; `make setup` brings one")


def timed(commands):
    """Runs the commands one after another; milliseconds for all of them."""
    start = time.perf_counter()
    for command in commands:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(map(str, command))} failed:\n{done.stderr.decode(errors='replace')}")
    return (time.perf_counter() - start) * 1000


def main():
    cdpc = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    cuda = toolkit()
    nvcc = [cuda / "bin/nvcc", f"-arch={ARCH}", "-rdc=true"]
    library = next(folder for folder in ("lib64", "lib", "targets/x86_64-linux/lib") if (cuda / folder / "libcudadevrt.a").exists())
    device_runtime = ["-L", cuda / library, "-lcudadevrt"]
    out = Path(tempfile.mkdtemp(prefix="cdpc-bench-"))
    build = [cdpc, "build", f"--arch={ARCH}", f"--cuda={cuda}", SOURCE]
    contenders = {
        "PTX": {
            "cdpc": [[*build, "--emit=ptx", "-o", out / "ours.ptx"]],
            "nvcc -ptx": [[*nvcc, "-ptx", CUDA_SOURCE, "-o", out / "theirs.ptx"]],
        },
        "linked cubin": {
            "cdpc": [[*build, "--emit=cubin", "-o", out / "ours.cubin"]],
            # the same cubin, byte for byte of the same size, as the two commands below give
            "nvcc -dlink": [[*nvcc, "-dlink", "-cubin", CUDA_SOURCE, *device_runtime, "-o", out / "theirs.cubin"]],
            # a detour that spares nvcc the host's half of the source
            "nvcc -cubin, nvcc -dlink": [
                [*nvcc, "-cubin", CUDA_SOURCE, "-o", out / "theirs.o.cubin"],
                [*nvcc, "-dlink", "-cubin", out / "theirs.o.cubin", *device_runtime, "-o", out / "theirs.cubin"],
            ],
        },
    }
    times = {(goal, who): [] for goal, both in contenders.items() for who in both}
    for number in range(rounds + 1):
        for goal, both in contenders.items():
            for who, commands in both.items():
                spent = timed(commands)
                # the first round warms the file cache
                if number > 0:
                    times[goal, who].append(spent)
    print(f"nested_hello for {ARCH}, whole processes, {rounds} rounds taken in turns, milliseconds\n")
    print(f"{'':14}{'':26}{'median':>9}{'min':>9}{'max':>9}{'times cdpc':>12}")
    for goal, both in contenders.items():
        ours = statistics.median(times[goal, "cdpc"])
        for who in both:
            spent = times[goal, who]
            median = statistics.median(spent)
            name = goal if who == "cdpc" else ""
            print(f"{name:14}{who:26}{median:9.1f}{min(spent):9.1f}{max(spent):9.1f}{median / ours:12.1f}")
    shutil.rmtree(out)


main()
