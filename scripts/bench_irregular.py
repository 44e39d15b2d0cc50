#!/usr/bin/env python3
"""Measures launch merging: irregular programs with a child grid for each piece of work, by cdpc and by nvcc, and without device-side launches.

    bench_irregular.py build CDPC DIR      compiles lang-tests/bench/irregular with both into DIR; needs nvcc and a host compiler, no GPU
    bench_irregular.py run DIR [NAME...]   runs all programs, or those named, on a GPU
                                           writes DIR/irregular.txt and DIR/irregular.md
    bench_irregular.py table FILE          prints the table of what a run wrote
    bench_irregular.py all CDPC DIR        builds and runs

Each program computes its results on the CPU as well, and says of each variant whether it was right. Times are medians, in milliseconds.
A program is compiled for sm_90, or for $ARCH, and given $LIMIT seconds, or 120.
"""

import concurrent.futures
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench_flat import ROOT, toolkit

SOURCES = ROOT / "lang-tests/bench/irregular"
NAMES = ["rows", "mandelbrot", "quadrature", "bfs", "sssp", "triangles", "quicksort", "bezier", "quadtree", "forest", "idle"]


def fail(message):
    sys.exit(f"bench_irregular: {message}")


def build(cdpc, out):
    out.mkdir(parents=True, exist_ok=True)
    cuda = toolkit()
    arch = os.environ.get("ARCH", "sm_90")
    host = shutil.which("g++") or shutil.which("c++") or fail("nvcc needs a host compiler (g++)")
    ours = ["build", "--cuda", cuda, "--arch", arch, "--emit", "cubin", "-o"]
    libraries = [f"-L{cuda / folder}" for folder in ("lib64", "lib")]
    theirs = ["-ccbin", host, "-w", "-O3", "-std=c++20", f"-arch={arch}", "-rdc=true", "-o"]
    commands = []
    for name in NAMES:
        commands.append([cdpc, *ours, out / f"{name}.cubin", SOURCES / f"{name}.cdp"])
        commands.append([cuda / "bin/nvcc", *theirs, out / name, SOURCES / f"{name}.cu", *libraries, "-lcudadevrt"])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for command, done in zip(commands, pool.map(lambda c: subprocess.run(c, capture_output=True, text=True), commands)):
            if done.returncode != 0:
                fail(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def machine():
    """The GPU, its driver and the CUDA version."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True).stdout.strip().splitlines()
    except OSError:
        found = []
    return found[0] if found else "unknown"


def once(out, name, limit, more):
    """What one process prints."""
    process = subprocess.Popen([out / name, out], stdout=subprocess.PIPE, text=True, env={**os.environ, **more})
    try:
        text = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        text = process.communicate()[0] + f"failed\ttook more than {limit:g} seconds\n"
    if process.returncode not in (0, 1) and "failed\t" not in text:
        text += f"failed\texit status {process.returncode}\n"
    return text


def run(out, names):
    out = out.resolve()
    limit = float(os.environ.get("LIMIT", "120"))
    lines = [f"machine\t{machine()}"]
    print(lines[0], flush=True)
    for name in names:
        # naive launches need a large launch pool, with which tail launches take ten times as long
        text = once(out, name, limit, {"NAIVE": "1"}) + once(out, name, limit, {})
        for line in text.splitlines():
            lines.append(f"{name}\t{line}")
            print(lines[-1], flush=True)
        (out / "irregular.txt").write_text("\n".join(lines) + "\n")
    text, right = table(lines)
    (out / "irregular.md").write_text(text)
    print(text)
    return right


def table(lines):
    """A row for each input, and whether everything ran and was right. What has no device-side launches may belong to several rows."""
    times, failures, head = {}, [], "unknown"
    for line in lines:
        if line.startswith("#"):
            continue
        program, kind, *rest = line.split("\t")
        if program == "machine":
            head = kind
        elif kind == "time":
            bench, variant, ms, right, *more = rest
            if right == "right":
                times.setdefault((program, bench), {})[variant] = float(ms)
            else:
                failures.append(f"{bench}, {variant}: {' '.join(more)}")
        else:
            failures.append(f"{program}: {' '.join([kind, *rest])}")
    rows, ratios = [], {}
    for (program, bench), own in times.items():
        if "cdpc" not in own:
            continue
        all_of_it = dict(own)
        for (other, shorter), shared in times.items():
            if other == program and bench.startswith(shorter + ", "):
                all_of_it.update(shared)
        # of several ways without launches, or merged by hand, the fastest counts
        best = lambda start: min(((ms, v) for v, ms in all_of_it.items() if v.startswith(start)), default=None)
        cells, cdpc = [bench], own["cdpc"]
        for start in ("naive", "flat", "by hand"):
            found = best(start)
            extra = f" ({found[1][len(start):].strip(' ,')})" if found and found[1] != start else ""
            cells.append(f"{found[0]:.3f}{extra}" if found else "")
        cells.append(f"{cdpc:.3f}")
        for start in ("naive", "flat"):
            found = best(start)
            cells.append(f"{found[0] / cdpc:.2f}" if found else "")
            if found:
                ratios.setdefault(start, {}).setdefault(program, []).append(found[0] / cdpc)
        rows.append(f"| {' | '.join(cells)} |")
    text = [
        f"{head}; medians in milliseconds:",
        "",
        "| program | naive | flat | by hand | cdpc | naive / cdpc | flat / cdpc |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
    for start, found in ratios.items():
        inputs = [ratio for several in found.values() for ratio in several]
        text.append(
            f"Geometric mean of {start} / cdpc: {mean(inputs):.3f} over {len(inputs)} inputs, {mean(list(map(mean, found.values()))):.3f} "
            f"over {len(found)} programs (each the mean of its inputs); least {min(inputs):.3f}."
        )
    text += [f"Not right: {failure}" for failure in failures]
    return "\n".join(text) + "\n", not failures


def main():
    match sys.argv[1:]:
        case ["build", cdpc, out]:
            build(cdpc, Path(out))
        case ["run", out, *names]:
            sys.exit(0 if run(Path(out), names or NAMES) else 1)
        case ["table", file]:
            print(table(Path(file).read_text().splitlines())[0], end="")
        case ["all", cdpc, out]:
            build(cdpc, Path(out))
            sys.exit(0 if run(Path(out), NAMES) else 1)
        case _:
            fail(f"usage\n{__doc__}")


if __name__ == "__main__":
    main()
