#!/usr/bin/env bash
# fuzz.sh CDPC [TARGET…]: runs the fuzz targets of lang-tests/fuzz, all of them or those named.
# FUZZ_SECONDS (default 300) for each; FUZZ_RUNS ends a target after that many inputs. Inputs found useful stay in lang-tests/fuzz/corpus, inputs that
# break a promise in lang-tests/fuzz/artifacts. FUZZ_KEEP=1 then makes lang-tests/fuzz/kept/TARGET.tar.gz anew: the fewest inputs that come to every
# part of the code that one of the corpus comes to. They are seeds of the next run, and the suite tries them (lang-tests/tests/kept.rs).
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
mkdir -p $fuzz/corpus/source $fuzz/corpus/ir $fuzz/corpus/cubins
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
    "$cdpc" build --emit=cubin -o "$fuzz/corpus/cubins/$(basename "$source" .cdp).cubin" "$source"
done

# without a look at every comparison texts are tried twice as fast or more, and the words make up for it; a cubin has no words
build() { cargo +nightly fuzz build --fuzz-dir $fuzz -s none --target "$triple" "$@" && cp "$built/$triple/release/${!#}" $fuzz/corpus/bin/; }
built=${CARGO_TARGET_DIR:-$fuzz/target}
mkdir -p $fuzz/corpus/bin

# keep TARGET LENGTH SEEDS…: the archive of at most 200 KB, the shortest inputs first where there are too many
keep() {
    local target=$1 length=$2 fewest count
    fewest=$(mktemp -d)
    $fuzz/corpus/bin/$target -set_cover_merge=1 -use_counters=0 -max_len="$length" -timeout=20 "$fewest" $fuzz/corpus/$target "${@:3}" 2>&1 | grep -a MERGE-OUTER
    mkdir -p $fuzz/kept
    count=$(ls "$fewest" | wc -l)
    while
        (cd "$fewest" && ls -Sr | head -n "$count" | sort | tar -c --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 -T -) | gzip -9n > $fuzz/kept/$target.tar.gz
        (($(stat -c %s $fuzz/kept/$target.tar.gz) > 200000))
    do
        count=$((count * 9 / 10))
    done
    rm -r "$fewest"
    echo "kept: $count inputs"
}

for target in ${@:-lexer parser format checker ir_text cubin}; do
    # short inputs: many more are tried in the same time, and what is wrong is rarely long
    length=512
    seeds=($fuzz/corpus/source)
    options=(-dict=$words)
    flags=(--no-trace-compares)
    case $target in
        checker) length=2048 ;;
        ir_text) length=4096 seeds=($fuzz/corpus/ir) ;;
        cubin) length=16384 seeds=($fuzz/corpus/cubins) options=() flags=() ;;
    esac
    echo "== $target"
    build "${flags[@]}" $target
    mkdir -p $fuzz/corpus/$target $fuzz/artifacts/$target
    [[ ! -e $fuzz/kept/$target.tar.gz ]] || tar -xzf $fuzz/kept/$target.tar.gz -C $fuzz/corpus/$target
    $fuzz/corpus/bin/$target $fuzz/corpus/$target "${seeds[@]}" -max_total_time="${FUZZ_SECONDS:-300}" -runs="${FUZZ_RUNS:--1}" -max_len="$length" \
        -timeout=20 -rss_limit_mb=4096 "${options[@]}" -artifact_prefix=$fuzz/artifacts/$target/ -print_final_stats=1
    [[ -z ${FUZZ_KEEP:-} ]] || keep $target "$length" "${seeds[@]}"
done
