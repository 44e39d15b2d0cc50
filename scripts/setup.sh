#!/usr/bin/env bash
# Installs what building and testing cdpc need, and nothing that is there already:
#   - Debian packages: LLVM 22 as static libraries, and what it links with
#   - the CUDA 13 toolkit's parts: an installed toolkit when there is one, else wheels unpacked into .cuda/
#   - with `tests` as argument: a browser for the tests of pages, Chromium unless CDPC_BROWSER names one; and what `cuda12` gets
#   - with `cuda12` as argument: nvJitLink and libcudadevrt.a of CUDA 12, for cubins for sm_70, unpacked into .cuda/cu12
# CDPC_SETUP_CUDA=wheels takes the wheels even where a toolkit is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
goal=${1:-build}

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 2; }

need_rust() {
    command -v cargo >/dev/null || fail "cargo is not to be found; install Rust 1.95 or newer (rustup, or Debian's rustup package)"
}

debian_packages() {
    command -v dpkg-query >/dev/null || { other_system; return; }
    local wanted=(llvm-22-dev libpolly-22-dev libzstd-dev zlib1g-dev g++ python3)
    python3 -m pip --version >/dev/null 2>&1 || wanted+=(python3-pip)
    [[ $goal != tests ]] || command -v script >/dev/null || wanted+=(bsdutils)
    if [[ $goal == tests && -z ${CDPC_BROWSER:-} ]]; then
        command -v chromium >/dev/null || command -v google-chrome >/dev/null || wanted+=(chromium)
    fi
    local missing=()
    for package in "${wanted[@]}"; do
        # the state may be "hold" as well as "install"
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    local command=(env DEBIAN_FRONTEND=noninteractive apt-get)
    if [[ $(id -u) != 0 ]]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null ||
            fail "these Debian packages are missing, and installing them needs root: apt-get install ${missing[*]}"
        command=(sudo -n "${command[@]}")
    fi
    say "installing ${missing[*]}"
    "${command[@]}" update -qq
    "${command[@]}" install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

other_system() {
    [[ -x ${LLVM_SYS_221_PREFIX:-/usr/lib/llvm-22}/bin/llvm-config ]] ||
        fail "this is no Debian: install LLVM 22 with its static libraries and set LLVM_SYS_221_PREFIX to its folder"
}

# A toolkit of CUDA 13 with everything that compiling and testing use.
is_toolkit() {
    local root=$1 lib
    for lib in lib64 lib targets/x86_64-linux/lib; do
        [[ -e $root/$lib/libnvJitLink.so.13 && -e $root/$lib/libcudadevrt.a ]] && break
        [[ $lib != targets* ]] || return 1
    done
    [[ -e $root/nvvm/libdevice/libdevice.10.bc && -x $root/bin/ptxas && -x $root/bin/nvdisasm && -x $root/bin/cuobjdump ]]
}

cuda() {
    local list=scripts/cuda-13.0.txt stamp=.cuda/stamp root
    if [[ ${CDPC_SETUP_CUDA:-} != wheels ]]; then
        for root in "${CDPC_CUDA:-}" "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda; do
            if [[ -n $root ]] && is_toolkit "$root"; then
                say "using the CUDA toolkit in $root"
                return
            fi
        done
    fi
    cmp -s "$list" "$stamp" && return
    say "fetching the CUDA 13.0 toolkit's parts into .cuda (about 150 MB)"
    rm -rf .cuda
    mkdir -p .cuda/wheels
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: -d .cuda/wheels -r "$list"
    for wheel in .cuda/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" .cuda
    done
    rm -rf .cuda/wheels .cuda/*.dist-info
    # the zip module drops the executable bit
    find .cuda/nvidia/cu13/bin .cuda/nvidia/cu13/nvvm/bin -type f -exec chmod +x {} +
    cp "$list" "$stamp"
}

# The last toolkit with sm_70, beside the other one.
cuda12() {
    local list=scripts/cuda-12.9.txt stamp=.cuda/cu12/stamp
    cmp -s "$list" "$stamp" && return
    say "fetching nvJitLink and the device runtime of CUDA 12.9 into .cuda/cu12 (about 43 MB)"
    rm -rf .cuda/cu12
    mkdir -p .cuda/cu12/wheels
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: -d .cuda/cu12/wheels -r "$list"
    for wheel in .cuda/cu12/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" .cuda/cu12
    done
    rm -rf .cuda/cu12/wheels .cuda/cu12/*.dist-info
    cp "$list" "$stamp"
}

need_rust
debian_packages
cuda
[[ $goal == build ]] || cuda12
