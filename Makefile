# Everything a developer or CI runs.  `make` alone lists the targets.

BIN := .venv/bin
BENCHMARKS := codec codec_fuzz ovs_diff world nice_table1 nice_table4 nice_table5 spin symbolic fuzz_speed forwarding fattree mocs sts_cases sts_retries parallel_minimize report_page flow_mods hostile kills mutated_sessions long_fuzz containment soundness

define LINT
$(BIN)/ruff check .
$(BIN)/ruff format --check .
$(BIN)/mypy
$(BIN)/lint-imports
endef

# `make setup PYTHON=python3.12` chooses the Python that .venv is made with; later calls keep to it.
export PYTHON

.PHONY: help setup demo quick test bench docs pictures clean

help:  ## list the targets
	@sed -n 's/^\([a-z]*\): .*## /make \1\t/p' Makefile

setup:  ## make .venv and install what the project and its tests need
	@tools/setup.sh all

demo:  ## install Penstock alone, and find three bugs in a learning switch
	@tools/setup.sh demo
	$(BIN)/penstock demo

quick:  ## lint, types, floors and the quick tests, in a minute
	$(LINT)
	$(BIN)/python -m pytest -n 2 -m "not slow and not measuring"

test: setup  ## lint, types, floors and all tests
	$(LINT)
	$(BIN)/python -m pytest -n auto

bench: setup  ## run every benchmark, one after another
	@set -e; for name in $(BENCHMARKS); do \
		echo "== bench.$$name"; \
		$(BIN)/python -m bench.$$name; \
	done

docs: setup  ## build the guide into docs/_build
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build
	@echo "The guide is in docs/_build/index.html"

pictures: setup  ## make README's pictures from the present code
	$(BIN)/python tools/screenshots.py

clean:  ## remove .venv and everything else that can be made again
	rm -rf .venv docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache src/*.egg-info
	find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +
