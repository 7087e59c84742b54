# Every target sets up what it needs in .venv; run any of them on a fresh clone.
PYTHON ?= python3
BIN := .venv/bin
# A test process per core: more threads in each would only stand in each other's way.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: demo test check bench bench-scale results paper format clean

demo: .venv/.demo  ## complete the similarities of bundled digits and write a page about it
	$(BIN)/simcomplete demo

test: .venv/.test  ## run the tests
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --dist loadfile

bench: .venv/.test  ## ratios of speed, measured side by side; takes a while
	$(BIN)/python -m benchmarks

bench-scale: .venv/.test  ## a million candidates by block; takes a while, and 4 GB in the temporary folder
	$(BIN)/python -m benchmarks.scale

results: .venv/.test  ## accuracy on real data from SIMCOMPLETE_DATA, written to docs/results.md
	$(ONE_THREAD) $(BIN)/python -m benchmarks.results

paper: .venv/.test  ## every table and figure of the paper, small, on bundled data; see docs/reproduction.md for the rest
	$(ONE_THREAD) $(BIN)/simcomplete paper run all --quick -o simcomplete-paper
	$(BIN)/simcomplete paper report all --quick -o simcomplete-paper

check: .venv/.check  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.check  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "simcomplete needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

# A stamp is written only after a whole installation, so that an interrupted one is done again.
.venv/.demo: EXTRAS = cli
.venv/.test: EXTRAS = test
.venv/.check: EXTRAS = test,check
.venv/.demo .venv/.test .venv/.check: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@
