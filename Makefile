# Every target sets up what it needs in .venv; run any of them on a fresh clone.
# Another Python or another set of versions has a folder of its own: make test-core PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A test process per core: more threads in each would only compete for the same cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PYTEST := -m pytest -n auto --dist loadfile
# What other versions of Python and of the dependencies are tried on: every method and its promises, the examples in
# docstrings, file formats, array libraries and commands. The rest is mathematics that no version changes. Old versions of
# SciPy have failed in its optimisers, so `test-oldest` adds the package that uses most of them.
CORE := tests/rows tests/similarity tests/result tests/method tests/cli tests/test_metrics.py tests/test_masks.py \
  tests/test_small_parts.py tests/test_architecture.py

.PHONY: demo test check bench bench-scale results paper coverage mutants test-core test-oldest hooks format clean

demo: $(VENV)/.demo  ## complete the similarities of bundled digits and write a page about it
	$(BIN)/simcomplete demo

test: $(VENV)/.test  ## run the tests
	$(ONE_THREAD) $(BIN)/python $(PYTEST)

coverage: $(VENV)/.test  ## run the tests and print which lines they reach
	$(ONE_THREAD) $(BIN)/python $(PYTEST) --cov --cov-report=term:skip-covered

mutants: $(VENV)/.test  ## change the numerical core on purpose and count the changes that the tests notice; takes a while
	$(ONE_THREAD) $(BIN)/python -m tests.mutants $(MUTANTS)

bench: $(VENV)/.test  ## ratios of speed, measured side by side; takes a while
	$(BIN)/python -m benchmarks

bench-scale: $(VENV)/.test  ## a million candidates by block; takes a while, and 4 GB in the temporary folder
	$(BIN)/python -m benchmarks.scale

results: $(VENV)/.test  ## accuracy on real data from SIMCOMPLETE_DATA, written to docs/results.md
	$(ONE_THREAD) $(BIN)/python -m benchmarks.results

paper: $(VENV)/.test  ## every table and figure of the paper, small, on bundled data; see docs/reproduction.md for the rest
	$(ONE_THREAD) $(BIN)/simcomplete paper run all --quick -o simcomplete-paper
	$(BIN)/simcomplete paper report all --quick -o simcomplete-paper

check: $(VENV)/.check  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.check  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test-core: $(VENV)/.test  ## run the core tests alone
	$(ONE_THREAD) $(BIN)/python $(PYTEST) $(CORE) $(MORE)

test-oldest:  ## run the core tests with the oldest versions of the dependencies that are promised
	$(MAKE) --no-print-directory test-core VENV=.venv-oldest INSTALL='--constraint .ci/oldest.txt' MORE=tests/posterior

hooks: $(VENV)/.check  ## check every commit as continuous integration does
	$(BIN)/pre-commit install

clean:
	rm -rf .venv .venv-*

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "simcomplete needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp is written only after a whole installation, so that an interrupted one is done again.
$(VENV)/.demo: EXTRAS = cli
$(VENV)/.test: EXTRAS = test
$(VENV)/.check: EXTRAS = test,check
$(VENV)/.demo $(VENV)/.test $(VENV)/.check: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(INSTALL) --editable '.[$(EXTRAS)]'
	@touch $@
