# Every target sets up what it needs in .venv; all it takes is Python 3.11 or newer, cargo and make.

PYTHON ?= python3
SCALE ?= full
ROUNDS ?= 5
VENV := .venv
BIN := $(VENV)/bin
# Most modules of the packages are never imported: those that are, are compiled then.
LOUD_PIP := $(BIN)/python -m pip install --no-compile
PIP := $(LOUD_PIP) --quiet
STAMPS := $(VENV)/.stamps
RUST := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock

DEMO_full := examples/dragonfly16k.toml
DEMO_smoke := examples/dragonfly_smoke.toml
DEMO := $(DEMO_$(SCALE))
# What is drawn while a large network is still being simulated.
FIRST_full := $(DEMO_smoke)

.DEFAULT_GOAL := help
.PHONY: hooks help build attributes demo figure test test-rust test-python test-times test-crate test-cluster test-infiniband test-mpi wheels test-wheel identical soak fuzz validate lint bench bench-threads bench-sweeps bench-counts bench-workloads schema docs clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: | known-scale $(STAMPS)/build ## Simulate a Dragonfly of 16,512 endpoints, plot it (SCALE=smoke: 72 endpoints)
	@echo "==> Simulate and plot"
	@for experiment in $(FIRST_$(SCALE)) $(DEMO); do \
		$(BIN)/phit sweep $$experiment --out out/$$(basename $$experiment .toml) --plot || exit; \
	done

.PHONY: known-scale
known-scale:
	@test -n "$(DEMO)" || { echo "make demo: SCALE=$(SCALE): expected full or smoke" >&2; exit 2; }
	@echo "Three steps: install Python packages, compile the engine, simulate and plot"

figure: $(STAMPS)/build ## Reproduce a paper's figure with 16,512 endpoints, and judge its claims (5 minutes; resumes)
	@$(BIN)/phit reproduce contention --figure 5b --scale paper --warmup 2500 --cycles 3500 --seeds 1 --output out/contention

build: $(STAMPS)/build ## Build the package and the command `phit` into .venv

attributes: $(STAMPS)/build ## Write the typed attributes of results anew, from what the engine declares
	$(BIN)/python -m phit._attributes

test: test-rust test-python ## Run all fast tests, Rust and Python

# The same random cases each time: what fails then was changed. Other cases are `make soak`'s. Cargo tells what it compiles.
test-rust: ## Run the Rust tests
	PROPTEST_RNG_SEED=1 cargo test --workspace --tests -- --quiet

# They run the engine that the Rust tests have compiled (tests/engine.py); the user's extension stays as it is. Modules are
# compiled once, also where the environment says that no byte code be written beside them: it is kept in .venv.
PYTEST := PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(CURDIR)/$(VENV)/bytecode $(BIN)/pytest -q
test-python: $(STAMPS)/packages ## Run the Python tests, on all cores
	$(PYTEST) --hypothesis-profile=ci --numprocesses=auto --dist=worksteal

.PHONY: test-browser
test-browser: $(STAMPS)/browser ## Open the report in headless Chromium (installs Debian's if there is none)
	$(PYTEST) tests/test_browser.py

# Times of single tests are an unstable option of Rust's test harness, which this switches on for the tests, not the compiler.
TIMED := --config 'target."cfg(all())".runner = ["env", "RUSTC_BOOTSTRAP=1"]'
test-times: $(STAMPS)/packages ## List the tests that take longest, one after another
	@PROPTEST_RNG_SEED=1 cargo test --workspace $(TIMED) -- -Z unstable-options --report-time --test-threads=1 \
		| sed -nE 's/^test (.*) \.\.\. ok <([0-9.]+)s>$$/\2s \1/p' | sort -rn | head -n 20
	@$(PYTEST) --hypothesis-profile=ci --durations=20

# Of the test binaries that `make test` builds, the one that compares digests of results with those recorded.
identical: ## Run over 500 small scenarios, name every result that has changed (RECORD=1: record anew)
	PHIT_RECORD_DIGESTS=$(RECORD) cargo test --workspace --quiet --test identical -- --nocapture

soak: $(STAMPS)/packages ## Run all fast tests with random cases that differ, ROUNDS times (5; about 4 minutes each)
	@for round in $$(seq $(ROUNDS)); do \
		seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
		echo "round $$round of $(ROUNDS), seed $$seed"; \
		PROPTEST_RNG_SEED=$$seed PHIT_FUZZ_SEED=$$seed PHIT_FUZZ_CASES=4000 cargo test --workspace --quiet || exit 1; \
		PHIT_SOAK=1 $(PYTEST) --timeout=600 --hypothesis-seed=$$seed || exit 1; \
	done

RUNS ?= 200
.PHONY: coverage
coverage: $(STAMPS)/build ## Count how many intervals of short runs hold, RUNS of each network and load (200), on all cores; writes the table of docs/measuring.md
	$(BIN)/python benches/coverage.py docs/measuring.md --runs $(RUNS)

MINUTES ?= 10
fuzz: $(STAMPS)/packages ## Answer random scenarios, programs, networks, folders, traces for MINUTES (10); SEED=n: those of before
	PHIT_FUZZ_MINUTES=$(MINUTES) PHIT_FUZZ_SEED=$(SEED) cargo test -p phit-tests --test fuzz --test oracles -- --nocapture
	PHIT_MORE=$(MINUTES) $(PYTEST) $(addprefix tests/test_trust_, documents.py networks.py pages.py paths.py texts.py traces.py)

.PHONY: test-site
test-site: $(STAMPS)/browser ## Look at every page of site/, which `make docs` builds, in headless Chromium; follow links, search
	PHIT_SITE=1 $(PYTEST) tests/test_site.py

# Debian's packages; daemons run in the foreground, on the loopback, and end with the tests.
test-cluster: $(STAMPS)/packages ## Run sweeps on a Dask cluster and on a Slurm of one node, which it installs (root)
	command -v slurmctld munged > /dev/null || apt-get install --yes --quiet --no-install-recommends slurm-wlm munge
	$(PIP) 'submitit>=1.5'
	PHIT_CLUSTER=1 $(PYTEST) tests/test_clusters.py

# Debian's packages; a fabric is simulated, and its programs talk to one another alone.
test-infiniband: $(STAMPS)/packages ## Read the fabrics of ibsim as OpenSM routes them now, both of which it installs (root)
	command -v ibsim opensm dump_fts > /dev/null || \
		apt-get install --yes --quiet --no-install-recommends ibsim-utils opensm infiniband-diags
	$(PYTEST) tests/test_infiniband.py tests/test_opensm.py

# Debian's package; all processes are on this machine.
test-mpi: $(STAMPS)/packages ## Simulate one network by several processes of MPI, which it installs (root)
	command -v mpirun > /dev/null || apt-get install --yes --quiet --no-install-recommends openmpi-bin libopenmpi-dev
	$(PIP) 'mpi4py>=4'
	PHIT_MPI=1 $(PYTEST) tests/test_mpi.py

# Zig links against the symbols of an old C library, so that the wheel runs on old systems, too.
PROFILE ?= dist
WHEEL := PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build --profile $(PROFILE) --locked --zig --compatibility manylinux2014 --out dist
wheels: $(STAMPS)/packages ## Build the wheel for users without Rust, and the source distribution, in dist/ (PROFILE=release: sooner, slower)
	rm -rf dist
	$(PIP) 'ziglang>=0.13'
	$(COMMIT)
	$(WHEEL) --sdist

# With the standard library of Rust for that processor; zig has all the rest.
.PHONY: wheel-aarch64
wheel-aarch64: $(STAMPS)/packages ## Build the wheel for 64-bit ARM on another processor, in dist/ beside what is there
	rustup target add aarch64-unknown-linux-gnu
	$(PIP) 'ziglang>=0.13'
	$(COMMIT)
	$(WHEEL) --target aarch64-unknown-linux-gnu

test-wheel: $(STAMPS)/packages ## Install the wheel of dist/ where there is no Rust, and run scenarios with it
	PHIT_WHEEL=1 $(PYTEST) tests/test_wheel.py

.PHONY: fidelity
fidelity: $(STAMPS)/build ## Measure the error of the fluid network, some minutes; writes docs/fluid-fidelity.md
	$(BIN)/python -m phit.studies.validation.fidelity_matrix

validate: $(STAMPS)/build ## Compare with other simulators, 4,600 runs, some hours; goes on where it stopped; writes docs/validation.md
	$(BIN)/phit validate --results out/validation

# The engine once more, in a workspace of its own: some minutes. What is compiled is kept in target/crate.
test-crate: $(STAMPS)/packages ## Build the crate that `phit new-mechanism` writes and run its tests, some minutes
	PHIT_BUILD_CRATE=1 PHIT_CRATE_TARGET=$(CURDIR)/target/crate $(PYTEST) tests/test_crates.py

hooks: $(STAMPS)/packages ## Format what you commit from now on (opt-in; `git config --unset core.hooksPath` ends it)
	git config core.hooksPath .github/hooks

lint: lint-rust lint-python ## Check formatting, lints and types

.PHONY: lint-rust lint-python
lint-rust:
	cargo fmt --all --check
	@! LC_ALL=C.UTF-8 grep -rnE --include='*.rs' '^.{121,}' crates || { echo 'lines of more than 120 columns' >&2; exit 1; }
	cargo clippy --workspace --exclude phit-units --all-targets --quiet -- -D warnings

lint-python: $(STAMPS)/packages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(STAMPS)/build ## Measure speed and memory, write docs/performance.md (8 minutes; leave the machine alone)
	$(PYTHON) benches/measure.py
	$(BIN)/python benches/curves.py endpoints load

bench-threads: $(STAMPS)/build ## Measure one thread to as many as there are cores, as a plot (3 minutes; leave the machine alone)
	$(BIN)/python benches/curves.py threads

bench-sweeps: $(STAMPS)/build ## Time sweeps of a thousand short runs (a minute; leave the machine alone)
	$(BIN)/python benches/sweeps.py

bench-counts: ## Count instructions and cache misses for docs/performance.md (half an hour, on any machine with valgrind and LLVM)
	$(PYTHON) benches/measure.py --counts
	$(PYTHON) benches/stages.py

ONLY ?=
.PHONY: bench-cliffs
bench-cliffs: $(STAMPS)/build ## Count instructions a hop of some 470 settings (half an hour with QEMU, else three; goes on where it stopped; ONLY="torus.*1.0": of some)
	$(BIN)/python benches/cliffs.py --only '$(ONLY)'

bench-workloads: $(STAMPS)/build ## Compare programs with drawn traffic, read one of 10^7 operations and traces of 200 MB, time a step of 8,192 accelerators (ten minutes)
	$(BIN)/python benches/workloads.py
	$(BIN)/python benches/chakra.py
	$(BIN)/python benches/training.py

schema: $(STAMPS)/build ## Write the schema of scenarios for editors and the pages of the reference, both in docs/
	$(BIN)/phit schema > docs/phit.schema.json
	$(BIN)/python docs/model_reference.py

# Not `--quiet`, which hides the warnings from `--strict`, too.
docs: $(STAMPS)/build $(STAMPS)/docs ## Build the user guide (site/) and the Rust documentation, warnings as errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	cp -r target/doc site/api

.PHONY: papers
papers: $(STAMPS)/build ## Write the drafts for ReScience C from the published studies, in paper/rescience
	$(BIN)/python paper/rescience.py

clean: ## Remove everything that was built (results in out/ stay)
	rm -rf $(VENV) target dist site python/phit/_phit*.so python/phit/_commit.txt .pytest_cache .ruff_cache .mypy_cache .hypothesis

# What the package needs, and what builds it; users need no more.
$(STAMPS)/needed: pyproject.toml
	@echo "==> Install Python packages in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@$(BIN)/python -c 'import tomllib; of = tomllib.load(open("pyproject.toml", "rb")); \
		print(*of["project"]["dependencies"], *of["build-system"]["requires"], sep="\n")' > $(STAMPS)/dependencies
	$(LOUD_PIP) --requirement $(STAMPS)/dependencies
	@touch $@

# pip of Python 3.11 knows no dependency groups; a newer one is installed first.
$(STAMPS)/packages: $(STAMPS)/needed
	$(PIP) --upgrade 'pip>=25.1'
	$(PIP) --group dev --requirement $(STAMPS)/dependencies
	@touch $@

$(STAMPS)/docs: $(STAMPS)/packages
	$(PIP) --group docs
	@touch $@

$(STAMPS)/browser: $(STAMPS)/packages
	@command -v chromium > /dev/null || apt-get install --yes --no-install-recommends chromium
	$(PIP) --group browser
	@touch $@

# What `phit --version` says: the commit from which the engine was built.
COMMIT := git describe --always --dirty --abbrev=12 --exclude '*' > python/phit/_commit.txt 2> /dev/null || rm -f python/phit/_commit.txt

# Not `maturin develop`, which installs the group of developers' tools as well.
$(STAMPS)/build: $(STAMPS)/needed $(RUST)
	@echo "==> Compile the engine: of the packages that cargo lists, phit-engine takes longest"
	PATH=$(CURDIR)/$(BIN):$$PATH $(LOUD_PIP) --verbose --no-build-isolation --no-deps --editable .
	$(COMMIT)
	@touch $@
