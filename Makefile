# Everything here does the set-up that it needs; from a clean clone `make demo` or `make test` is all there is to type.

CARGO ?= cargo
HELLO := lang-tests/run/nested_hello.cdp
BUILT := $(or $(CARGO_TARGET_DIR),target)
DEMO  := $(BUILT)/demo
# one architecture for the demonstration's files; `make demo ARCH=sm_80` for another
ARCH  ?= sm_90

# cargo-nextest runs the tests of all crates in parallel; plain cargo does as well
TEST  := $(shell $(CARGO) nextest --version >/dev/null 2>&1 && echo nextest run || echo test)

.DEFAULT_GOAL := help
.PHONY: help setup setup-cuda12 build demo test bless check book bench-compile bench-size bench-flat bench-irregular nightly-layout nightly-trees fuzz clean

help: ## show this list
	@echo 'cdpc, a compiler for GPU kernels that launch kernels'
	@echo
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 24
	@echo
	@echo '  demo and test each install what they need first (see scripts/setup.sh)'

setup: ## install LLVM 22 and the CUDA 13 parts, where they are missing
	@scripts/setup.sh

setup-cuda12: ## fetch the parts of CUDA 12 that cubins for sm_70 need
	@scripts/setup.sh cuda12

build: setup ## build the compiler (target/release/cdpc)
	$(CARGO) build --release --package cdpc

demo: build ## compile, show, link and run lang-tests/run/nested_hello.cdp
	@scripts/demo.sh $(BUILT)/release/cdpc $(HELLO) $(DEMO) $(ARCH)

test: ## run every test
	@scripts/setup.sh tests
	INSTA_UPDATE=no $(CARGO) $(TEST) --workspace --no-fail-fast
	$(CARGO) test --quiet --workspace --doc

bless: setup ## take the present output as the expected one: golden PTX and blessed diagnostics; then read the diff
	INSTA_UPDATE=always INSTA_FORCE_PASS=1 CDPC_BLESS=1 $(CARGO) $(TEST) --workspace
	@git status --short -- lang-tests ptx-golden compiler

check: setup ## formatting and lints, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

book: ## make web pages of docs/, in target/book (needs mdbook: cargo install mdbook)
	@command -v mdbook >/dev/null || { echo 'book: mdbook is missing; cargo install mdbook brings it' >&2; exit 2; }
	mdbook build docs

bench-compile: build ## compare compile times with nvcc's, whole process, in one run
	@python3 scripts/bench_compile.py $(BUILT)/release/cdpc

bench-size: build ## show how compile time and memory grow with a program's length
	@python3 scripts/bench_size.py $(BUILT)/release/cdpc

bench-flat: build ## compare the code of flat kernels with that of nvcc (scripts/bench_flat.py times it on a GPU)
	@python3 scripts/bench_flat.py build $(BUILT)/release/cdpc $(BUILT)/flat

bench-irregular: build ## build the benchmarks of launch merging (scripts/bench_irregular.py runs them on a GPU)
	@python3 scripts/bench_irregular.py build $(BUILT)/release/cdpc $(BUILT)/irregular

nightly-layout: setup ## compare 2,000 random kernel signatures with nvcc, clang and the assembler
	CDPC_LAYOUT_CASES=2000 $(CARGO) test --package cdpc --test layout -- --nocapture

fuzz: build ## look for input that breaks a promise, 5 minutes for each target (FUZZ_SECONDS; needs a nightly compiler; FUZZ_KEEP=1 keeps the best inputs)
	@scripts/fuzz.sh $(BUILT)/release/cdpc

nightly-trees: ## run 1,000 random launch trees in five orders, and 500 without one edge, on the reference executor
	CDP_TREES=1000 CDP_BROKEN_TREES=500 $(CARGO) test --package cdp-executor --test trees -- --nocapture

clean: ## remove what was built; the toolkit in .cuda stays
	$(CARGO) clean
