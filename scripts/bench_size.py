#!/usr/bin/env python3
"""How compile time and memory grow with the length of a program: source to PTX, whole processes.

Usage: bench_size.py CDPC [ROUNDS]. Programs of 1,000, 3,000 and 10,000 lines are generated: functions, structures, kernels with loops and
shared memory, each launched by another kernel. They take turns, so that a busy moment of the machine meets all of them alike; medians
are printed, and the most memory that a process held.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LENGTHS = [1_000, 3_000, 10_000]

# 40 lines; {n} is the number of the piece, {a} a small constant that depends on it
PIECE = """\
/// A range of piece {n}.
struct Range{n} {{ begin: i32, len: i32, scale: f32 }}

fn weight{n}(v: f32, k: i32) -> f32 {{
    var sum = v;
    for i in 0..k {{
        sum = sum * 0.{a}5 + i as f32;
    }}
    return if sum > 100.0 {{ sqrt(sum) }} else {{ sum }};
}}

kernel work{n}(x: *global f32, r: Range{n}) {{
    shared tile: [f32; 128];
    let t = threadIdx.x as i32;
    let i = (blockIdx.x * blockDim.x) as i32 + t;
    tile[t] = if i < r.len {{ x[r.begin + i] }} else {{ 0.0 }};
    __syncthreads();
    var step: i32 = 64;
    while step > 0 {{
        if t < step {{
            tile[t] += tile[t + step];
        }}
        __syncthreads();
        step /= 2;
    }}
    if i < r.len {{
        x[r.begin + i] = weight{n}(tile[0], {a}) * r.scale;
    }}
}}

kernel start{n}(x: *global f32, counts: *global const i32, rows: i32) {{
    let row = (blockIdx.x * blockDim.x + threadIdx.x) as i32;
    if row < rows && counts[row] > {a} {{
        let len = counts[row];
        let error = work{n}<<<(len as u32 + 127) / 128, 128, 0, cudaStreamFireAndForget>>>(x, Range{n}(row * 64, len, 1.5));
        if error != cudaSuccess {{
            printf("row %d: %s\\n", row, cudaGetErrorString(error));
        }}
    }}
}}
"""


def program(lines):
    piece_lines = PIECE.count("\n") + 1
    pieces = [PIECE.format(n=n, a=n % 7 + 2) for n in range(lines // piece_lines)]
    return "\n".join(pieces)


def run(command):
    """Runs a command; milliseconds, and the most memory that it held in MiB."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    spent = (time.perf_counter() - start) * 1000
    if status != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed")
    return spent, usage.ru_maxrss / 1024


def main():
    cdpc = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory(prefix="cdpc-bench-") as folder:
        sources = {}
        for lines in LENGTHS:
            source = Path(folder) / f"lines{lines}.cdp"
            source.write_text(program(lines))
            sources[lines] = source
        goals = {"check": ["check"], "PTX": ["build", "--emit=ptx", "-o", Path(folder) / "out.ptx"]}
        if len(sys.argv) > 3:
            goals["cubin"] = ["build", f"--cuda={sys.argv[3]}", "--emit=cubin", "-o", Path(folder) / "out.cubin"]
        times = {(goal, lines): [] for goal in goals for lines in LENGTHS}
        for number in range(rounds + 1):
            for (goal, lines), spent in times.items():
                measured = run([cdpc, *goals[goal], sources[lines]])
                # the first round warms the file cache
                if number > 0:
                    spent.append(measured)
        print(f"generated programs, whole processes, {rounds} rounds taken in turns\n")
        print(f"{'':8}{'lines':>8}{'ms':>10}{'us a line':>12}{'peak MiB':>10}")
        for (goal, lines), spent in times.items():
            median = statistics.median(ms for ms, _ in spent)
            exact = sources[lines].read_text().count("\n")
            print(f"{goal:8}{exact:8}{median:10.1f}{median * 1000 / exact:12.1f}{max(mib for _, mib in spent):10.0f}")


main()
