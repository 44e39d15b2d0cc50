#!/usr/bin/env bash
# What `make demo` shows. Arguments: the compiler, a source file, a folder for the results, an architecture.
set -euo pipefail
cdpc=$1 source=$2 out=$3 arch=$4
name=$(basename "$source" .cdp)
mkdir -p "$out"

step() { printf '\n== %s\n\n' "$*"; }

step "the launch site and its PTX (cdpc inspect)"
"$cdpc" inspect --launches --arch "$arch" "$source"

step "PTX, and a cubin linked with the device runtime (cdpc build)"
"$cdpc" build --arch "$arch" --lineinfo --emit=ptx -o "$out/$name.ptx" "$source"
"$cdpc" build --arch "$arch" --lineinfo --emit=cubin -o "$out/$name.cubin" "$source"
ls -l "$out/$name.ptx" "$out/$name.cubin" | awk '{ print $NF ": " $5 " bytes" }'

step "where the parameters lie: ours and the cubin's (cdpc layout)"
"$cdpc" layout --arch "$arch" "$source"

step "running it (cdpc run)"
device=gpu
if ! "$cdpc" doctor --require gpu --quiet; then
    device=cpu
    echo "no GPU here: running it on the CPU executor"
fi
"$cdpc" run --device "$device" "$source" >"$out/$name.out"
# thousands of threads print a line each; the host's summary comes last
tail -n 7 "$out/$name.out"
printf '\nall %d lines of output are in %s\n' "$(wc -l <"$out/$name.out")" "$out/$name.out"
