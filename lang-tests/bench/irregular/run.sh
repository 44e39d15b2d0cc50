#!/usr/bin/env bash
# Builds the benchmarks and runs them: needs cdpc, nvcc and a GPU. CDPC and NVCC name the compilers.
set -euo pipefail
cd "$(dirname "$0")"
out=$(mktemp -d)
for name in rows mandelbrot quadrature; do
    "${CDPC:-cdpc}" build "$name.cdp" --launch-merging=on -o "$out/$name.cubin"
    "${NVCC:-nvcc}" -w -O3 -std=c++17 -arch=sm_90 -rdc=true "$name.cu" -o "$out/$name" -lcudadevrt -lcuda
    "$out/$name" "$out"
done
rm -r "$out"
