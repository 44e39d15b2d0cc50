#!/usr/bin/env bash
# Builds everything here in the folder OUT: build.sh CDPC NVCC ARCH OUT. Needs no GPU.
#   OUT/interop     a program of nvcc with an object of cdpc in it; on a GPU it prints PASS
#   OUT/all.cubin   both halves, linked by cdpc
#   OUT/theirs.o    nvcc's half, for `cdpc test --device gpu interop.cdp OUT/theirs.o`
set -euo pipefail
cdpc=$(realpath "$1") nvcc=$2 arch=$3 out=$(mkdir -p "$4" && realpath "$4")
cd "$(dirname "$0")"
# the wheels have the libraries in lib, where nvcc does not look by itself
root=$(dirname "$(dirname "$(command -v "$nvcc")")")
libraries=()
[[ -d $root/lib ]] && libraries=(-L "$root/lib")

# an object of each half; nvcc links them
"$cdpc" build -c --arch="$arch" interop.cdp -o "$out/ours.o"
"$nvcc" -arch="$arch" -dc theirs.cu -o "$out/theirs.o"
"$nvcc" -arch="$arch" -rdc=true main.cu "$out/theirs.o" "$out/ours.o" "${libraries[@]}" -lcudadevrt -o "$out/interop"

# the device half alone, linked in two steps by nvcc
"$cdpc" build --emit=rdc --arch="$arch" interop.cdp -o "$out/ours.rdc.cubin"
"$nvcc" -arch="$arch" -dlink "$out/theirs.o" "$out/ours.rdc.cubin" "${libraries[@]}" -lcudadevrt -cubin -o "$out/dlink.cubin"

# and linked by cdpc
"$cdpc" build --arch="$arch" interop.cdp "$out/theirs.o" -o "$out/all.cubin"
"$cdpc" layout --arch="$arch" interop.cdp "$out/theirs.o" > "$out/layout.txt"
