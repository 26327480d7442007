# Works with GNU make 3.81 and with BSD make: explicit rules only, no functions, no conditionals.
#
#   make test PYTHON=python3.13         use this interpreter for .venv
#   make test INSTALLER=pip             use pip although uv is there (or uv, and nothing else)
#   make test PYTEST_FLAGS='-k resume'  hand more flags to pytest
#   make lock LOCK_FLAGS=--upgrade      take the newest versions instead of keeping those that still fit

BIN = .venv/bin
SETUP_INPUTS = pyproject.toml requirements.lock scripts/setup

PYTEST_FLAGS =
BENCH_FLAGS =

.PHONY: help demo test bench docs lock clean
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' Makefile

demo: .venv/setup.done ## Set up and run the default scenarios in three modes, offline
	$(BIN)/ghx-bench run --repetitions 2 --max-concurrency 4

test: .venv/setup-dev.done ## Set up and run everything that must pass
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n logical --dist worksteal $(PYTEST_FLAGS)

bench: .venv/setup-bench.done ## Set up and measure the bench itself, next to its rivals
	@status=0; for each in benchmarks/[!_]*.py; do \
	    echo "== $$each"; $(BIN)/python "$$each" $(BENCH_FLAGS) || status=1; \
	done; exit $$status

docs: .venv/setup-docs.done ## Set up and build the documentation into site/; a broken link is an error
	$(BIN)/zensical build --clean --strict

lock: .venv/setup.done ## Compile requirements.lock anew from pyproject.toml
	scripts/lock $(LOCK_FLAGS)

clean: ## Remove .venv, caches and the built site; results and reports stay
	rm -rf .venv .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist site
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/setup.done: $(SETUP_INPUTS)
	@scripts/setup

.venv/setup-dev.done: $(SETUP_INPUTS)
	@scripts/setup dev

.venv/setup-bench.done: $(SETUP_INPUTS)
	@scripts/setup bench

.venv/setup-docs.done: $(SETUP_INPUTS)
	@scripts/setup docs
