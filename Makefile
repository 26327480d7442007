# Works with GNU make 3.81 and with BSD make: explicit rules only, no functions, no conditionals.
#
#   make test PYTHON=python3.13         use this interpreter for .venv
#   make test INSTALLER=pip             use pip although uv is there (or uv, and nothing else)
#   make test PYTEST_FLAGS='-k resume'  hand more flags to pytest, as for `make check`
#   make test PACKAGE=twin              run the tests of one package: base, twin, tools, profiler, bench
#   make lock LOCK_FLAGS=--upgrade      take the newest versions instead of keeping those that still fit

BIN = .venv/bin
SETUP_INPUTS = pyproject.toml requirements.lock scripts/setup

PACKAGE =
PYTEST_FLAGS =
PROVE_FLAGS =
BENCH_FLAGS =

# Tests start hundreds of processes: without cached bytecode, which containers like to forbid, each compiles 800 modules.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist worksteal
# One worker more than processors: many tests wait for other programs.
WORKERS = $$(( $$(getconf _NPROCESSORS_ONLN) + 1 ))
AGENTS = --install claude --install codex --install gemini --install goose --install opencode --install qwen
# Tools of modes that come from npm: two small packages, which tests install by themselves where these are not there.
TOOLS = --install gh-axi --install npm-mcp
QUICK = not process and not client and not browser and not slow

.PHONY: help demo check test test-nightly test-packages mutants wheels prove test-agents bench docs lock clean
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile

demo: .venv/setup.done ## Set up, run the default scenarios in three modes, and measure these tool sets, offline
	$(BIN)/ghx-bench run --repetitions 2 --max-concurrency 4
	@echo
	$(BIN)/ghx-bench surface --brief baseline ghx ghx-mcp

# The type checker has one thread, so tests go on beside it, here and in `test`; what it found is shown at the end.
check: .venv/setup-dev.done ## Set up, then lint, types, layers and the tests that start no program: about two minutes
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python scripts/shape.py
	@mkdir -p .cache; $(BIN)/basedpyright >.cache/types.txt 2>&1 & types=$$!; status=0; \
	$(BIN)/lint-imports --no-logo || status=1; \
	$(PYTEST) -n logical -q --hypothesis-profile quick -m "$(QUICK)" $(PACKAGE:%=packages/%/tests) $(PYTEST_FLAGS) || status=1; \
	wait $$types || status=1; cat .cache/types.txt; exit $$status

test: .venv/setup-dev.done ## Set up and run everything that must pass (PACKAGE=twin: the tests of one package)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/python scripts/shape.py
	@mkdir -p .cache; $(BIN)/basedpyright >.cache/types.txt 2>&1 & types=$$!; status=0; \
	$(BIN)/lint-imports --no-logo || status=1; \
	$(PYTEST) -n $(WORKERS) $(PACKAGE:%=packages/%/tests) $(PYTEST_FLAGS) || status=1; \
	wait $$types || status=1; cat .cache/types.txt; exit $$status

# What `test` leaves out (see `nightly` in conftest.py), and all that is drawn at random, from another seed each time,
# which is printed, and with more examples. GHX_BENCH_TEST_SEED=5 makes the draws of a night that failed again.
test-nightly: .venv/setup-dev.done ## Set up and run the variations that `test` leaves out, and random tests drawing freely: long
	GHX_BENCH_TEST_SEED=$${GHX_BENCH_TEST_SEED:-free} GHX_BENCH_FULL_SET=1 $(PYTEST) -n $(WORKERS) --hypothesis-profile nightly \
	    -m "nightly or hypothesis" $(PACKAGE:%=packages/%/tests) $(PYTEST_FLAGS)

# In an empty folder: in one with a project, that is what is proved.
prove: .venv/setup-dev.done ## Set up and prove every built-in scenario, and the rings: minutes
	@bin=$$(pwd)/$(BIN); folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; trap 'exit 130' HUP INT TERM; \
	cd "$$folder" && PYTHONDONTWRITEBYTECODE= "$$bin/ghx-bench" check --solve $(PROVE_FLAGS)

mutants: .venv/setup-dev.done ## Set up, break one promise at a time in a copy of the tree, and report which test notices
	$(BIN)/python scripts/mutants.py

test-packages: .venv/setup-dev.done ## Set up, then test each package where only it and what it requires is installed
	scripts/test-packages $(PACKAGE)

wheels: .venv/setup-dev.done ## Set up and build a wheel of each package into dist/, and one of all together
	for each in packages/* .; do $(BIN)/uv build --quiet --wheel --build-constraints requirements.lock --out-dir dist/$$(basename $$each) $$each || exit 1; done

# Agents first, so that a registry that is not reached is said once, and not by every test. Two workers, however many
# processors there are: each has two sessions at work at once, which take up to 2 GB each.
test-agents: .venv/setup-dev.done ## Set up, install real agents into .cache, run them with scripted models, and test slow installs
	@$(BIN)/ghx-bench doctor $(AGENTS) $(TOOLS)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --agents -n 2 --dist worksteal tests/real_agents \
	    packages/bench/tests/test_rival_modes.py packages/bench/tests/toolsets/test_real_tools.py tests/project/test_install_lines.py $(PYTEST_FLAGS)

# What one benchmark deletes slows down the next (see `workplace` in benchmarks/_processes.py): all is removed at the end.
bench: .venv/setup-bench.done ## Set up and measure the bench itself, next to its rivals
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; trap 'exit 130' HUP INT TERM; status=0; \
	for each in benchmarks/[!_]*.py; do \
	    echo "== $$each"; \
	    TMPDIR=$$folder KEEP_BENCHMARK_FILES=1 $(BIN)/python "$$each" $(BENCH_FLAGS) || status=1; \
	done; exit $$status

docs: .venv/setup-docs.done ## Set up and build the documentation into site/; a broken link is an error
	for each in capability_docs code_map python_docs twin_support; do $(BIN)/python scripts/$$each.py || exit 1; done
	$(BIN)/zensical build --clean --strict

lock: .venv/setup.done ## Compile requirements.lock anew from pyproject.toml
	scripts/lock $(LOCK_FLAGS)

clean: ## Remove .venv, caches and the built site; results and reports stay
	rm -rf .venv .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist site
	find packages tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/setup.done: $(SETUP_INPUTS)
	@scripts/setup

.venv/setup-dev.done: $(SETUP_INPUTS)
	@scripts/setup dev

.venv/setup-bench.done: $(SETUP_INPUTS)
	@scripts/setup bench

.venv/setup-docs.done: $(SETUP_INPUTS)
	@scripts/setup docs
