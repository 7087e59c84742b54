# Every target sets up what it needs in .venv; run any of them on a fresh clone.
# Another Python or another set of versions has a folder of its own: make test-core PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A test process per core: more threads in each would only compete for the same cores.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PYTEST := -m pytest -n auto --dist loadfile
# What other versions of Python and of the dependencies are tried on: imports, every method and its promises, the examples in
# docstrings, rows and files of every kind, estimators, pages and commands. The rest is mathematics that no version changes.
CORE := tests/rows tests/similarity tests/result tests/method tests/datasets tests/index tests/report tests/cli \
  tests/test_metrics.py tests/test_metrics_ranking.py tests/test_masks.py tests/test_masks_by_value.py tests/test_small_parts.py tests/test_architecture.py tests/estimators
OLDEST := VENV=.venv-oldest INSTALL='--constraint .ci/oldest.txt'

.PHONY: demo test docs wheel check bench bench-scale bench-track results paper coverage mutants test-core test-oldest hooks format clean fuzz faults hostile

demo: $(VENV)/.demo  ## complete the similarities of bundled digits and write a page about it
	$(BIN)/simcomplete demo
	@echo "Draw, hide and search in a browser: $(BIN)/simcomplete serve --demo, then open http://127.0.0.1:8080/"

test: $(VENV)/.test  ## run the tests
	$(ONE_THREAD) $(BIN)/python $(PYTEST) $(COVERAGE)

docs: $(VENV)/.docs  ## build the site into the folder site; it opens from disk: site/index.html
	rm -rf site docs/gallery docs/reference/generated
	$(ONE_THREAD) $(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html -d $(VENV)/doctrees docs site
	@echo "site/index.html"

wheel: $(BIN)/python  ## build the package into the folder dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls dist

coverage:  ## run the tests and print which lines they reach; fails below the floor in pyproject.toml
	$(MAKE) --no-print-directory test COVERAGE='--cov --cov-report=term:skip-covered'
	@echo "coverage: $$($(BIN)/coverage report --format=total) %"

mutants: $(VENV)/.test  ## change the numerical core on purpose and count the changes that the tests notice; takes a while
	$(ONE_THREAD) $(BIN)/python -m tests.mutants $(MUTANTS)

bench: $(VENV)/.test  ## ratios of speed, measured side by side; takes a while
	$(BIN)/python -m benchmarks

bench-scale: $(VENV)/.test  ## a million candidates by block; takes a while, and 4 GB in the temporary folder
	$(BIN)/python -m benchmarks.scale

bench-track: $(VENV)/.test  ## append ratios of speed to benchmarks/history.jsonl and draw them; red: a fifth worse than before
	$(ONE_THREAD) $(BIN)/python -m benchmarks.track $(TRACK)

results: $(VENV)/.test  ## accuracy on real data from SIMCOMPLETE_DATA, written to docs/results.md
	$(ONE_THREAD) $(BIN)/python -m benchmarks.results

paper: $(VENV)/.test  ## every table and figure of the paper, small, on bundled data; see docs/reproduction.md for the rest
	$(ONE_THREAD) $(BIN)/simcomplete paper run all --quick -o simcomplete-paper
	$(BIN)/simcomplete paper report all --quick -o simcomplete-paper

check: $(VENV)/.check  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.check  ## let ruff mend what it can, and renew the line numbers in CONTRIBUTING.md
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tests/test_contributing.py

test-core: $(VENV)/.test  ## run the core tests alone
	$(ONE_THREAD) $(BIN)/python $(PYTEST) $(CORE)

# Old versions of SciPy have failed in its optimisers, which the posterior uses most. The second line has a variable of its
# own because the tests that scikit-learn 1.6 comes with cannot be imported without it.
test-oldest:  ## run the core tests with the oldest versions of the dependencies that are promised
	$(MAKE) --no-print-directory test-core $(OLDEST) CORE='$(filter-out tests/estimators,$(CORE)) tests/posterior'
	SCIPY_ARRAY_API=1 $(MAKE) --no-print-directory test-core $(OLDEST) CORE=tests/estimators

hooks: $(VENV)/.check  ## check every commit as continuous integration does
	$(BIN)/pre-commit install

clean:
	rm -rf .venv .venv-*

fuzz: $(VENV)/.test  ## draw small problems for every method and look at the answers: make fuzz FUZZ="--minutes 60 --seed 7"
	$(ONE_THREAD) $(BIN)/python -m tests.fuzz $(FUZZ)

faults: $(VENV)/.test  ## kill, interrupt and starve what writes files, a hundred times, and see that nothing is lost; under 10 minutes
	$(ONE_THREAD) $(BIN)/python -m tests.faults $(FAULTS)

hostile: $(VENV)/.test  ## read files that were made to break their reader, with limits on time and memory; about five minutes
	$(ONE_THREAD) $(BIN)/python -m tests.hostile

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "simcomplete needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp is written only after a whole installation, so that an interrupted one is done again.
$(VENV)/.demo: EXTRAS = cli,serve
$(VENV)/.test: EXTRAS = test
$(VENV)/.check: EXTRAS = test,check
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.demo $(VENV)/.test $(VENV)/.check $(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(INSTALL) --editable '.[$(EXTRAS)]'
	@touch $@
