#!/usr/bin/env bash
# fuzz.sh CDPC [TARGET…]: runs the fuzz targets of lang-tests/fuzz, all of them or those named.
# FUZZ_SECONDS (default 300) for each; FUZZ_RUNS ends a target after that many inputs. Inputs found useful stay in lang-tests/fuzz/corpus, inputs that
# break a promise in lang-tests/fuzz/artifacts.
set -euo pipefail
cdpc=$(realpath "$1")
shift
cd "$(dirname "$0")/.."

fuzz=lang-tests/fuzz
triple=$(rustc +nightly -vV | sed -n 's/^host: //p')
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

# words for libFuzzer to insert: what the sources of the suite are made of
words=$fuzz/corpus/words.txt
mkdir -p $fuzz/corpus
cat lang-tests/run/*.cdp lang-tests/check-fail/*/*.cdp | grep -oE '[A-Za-z_@][A-Za-z0-9_]*|[<>=&|!:.+*/%-]{2,3}|[0-9.]+[a-z0-9]*' | sort -u |
    awk 'length($0) < 40 { print "\"" $0 "\"" }' > $words

# the seeds: every source of the suite, and IR and cubins made of those that compile
mkdir -p $fuzz/corpus/source $fuzz/corpus/ir $fuzz/corpus/cubin
for source in $(find lang-tests/run lang-tests/check-pass lang-tests/check-fail lang-tests/fmt -name '*.cdp' -size -8k); do
    name=$(echo "${source#lang-tests/}" | tr / -)
    cp "$source" "$fuzz/corpus/source/$name"
done
for source in lang-tests/run/{nested_hello,quicksort,rows,order_tail,params_narrow,types_generics}.cdp; do
    name=$(basename "$source" .cdp)
    "$cdpc" build --emit=ir -o "$fuzz/corpus/ir/$name.ir" "$source"
done
# cubins with the device runtime in them are too large to be tried often
for source in lang-tests/bench/flat/{saxpy,histogram}.cdp; do
    "$cdpc" build --emit=cubin -o "$fuzz/corpus/cubin/$(basename "$source" .cdp).cubin" "$source"
done

cargo +nightly fuzz build --fuzz-dir $fuzz -s none --target "$triple"
for target in ${@:-lexer parser format checker ir_text cubin}; do
    mkdir -p $fuzz/corpus/$target
    seeds=($fuzz/corpus/source)
    # short inputs: many more are tried in the same time, and what is wrong is rarely long
    length=512
    dictionary=(-dict=$words)
    case $target in
        checker) length=2048 ;;
        ir_text) seeds=($fuzz/corpus/ir) length=4096 ;;
        cubin) seeds=() dictionary=() length=16384 ;;
    esac
    echo "== $target"
    cargo +nightly fuzz run --fuzz-dir $fuzz -s none --target "$triple" $target $fuzz/corpus/$target "${seeds[@]}" -- \
        -max_total_time="${FUZZ_SECONDS:-300}" -runs="${FUZZ_RUNS:--1}" -max_len="$length" -timeout=20 -rss_limit_mb=4096 "${dictionary[@]}" -print_final_stats=1
done
