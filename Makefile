PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# neighbours, which `make smoke` plays at once, share few kernels: both would compile them
FIGURES := linucb_time price_experts fig1 heavy_central linucb_exact price_sphere heavy_local linucb_plain_dp price_cube \
  bounded_private linucb_dimension price_linear_bandit fig1_equal_privacy linucb_rho price_collapse frontier \
  price_linear_scaling heavy_very price_scaling bounded_without_nu price_noisy heavy_scaling price_bandit \
  price_bandit_scaling state_of_the_art

.DEFAULT_GOAL := help
.PHONY: help install test test-slow browser report check lint types fig1 figures audit smoke check-claims bench bench-keep schema clean

help:  ## say what can be made
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

install: $(READY)  ## create .venv and install privbandits with its development tools

test: $(READY)  ## run the tests, a file at a time on every core: the tests of one share their compiled kernels
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m 'not slow'

test-slow: $(READY)  ## and those that start clusters, kill runs at every moment, fill disks, compile mutants
	$(BIN)/python -m pytest -n auto --dist loadfile -m slow

browser: $(READY)  ## the pages of reports in a headless Chromium, where one is installed
	$(BIN)/python -m pytest -rs tests/report/test_browser.py

report: $(READY)  ## a page, Markdown and a LaTeX table of each experiment: results/index.html
	$(BIN)/privbandits report results

lint: $(READY)  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## check types
	$(BIN)/mypy

check: lint types test test-slow check-claims  ## style, types, all tests, claims: with `make smoke` all that CI runs

fig1: $(READY)  ## Figure 1 of Tossou & Dimitrakakis 2017 at the paper's scale: results/fig1
	$(BIN)/privbandits run configs/fig1.yaml

figures: $(READY)  ## every figure at full scale: three and a half hours on two cores
	for config in $(FIGURES); do $(BIN)/privbandits run configs/$$config.yaml || exit; done

audit: $(READY)  ## the auditor against deliberately broken algorithms
	$(BIN)/privbandits audit --mutants

check-claims: $(READY)  ## what the papers claim against results/: fails where results/CLAIMS.md says otherwise
	$(BIN)/privbandits check results --recorded

smoke: $(READY)  ## every figure and every game, small: one a core, as most of their time is no playing
	(printf 'configs/%s.yaml\n' smoke smoke_linear; printf 'configs/%s.yaml --smoke\n' $(FIGURES)) | \
	  xargs -P $$(getconf _NPROCESSORS_ONLN) -L 1 $(BIN)/privbandits run -q -j 1

bench: $(READY)  ## nanoseconds per round; fails where one is 1.5 times as slow as results/bench.csv says
	$(BIN)/python -m tests.bench

bench-keep: $(READY)  ## measure results/bench.csv anew
	$(BIN)/python -m tests.bench --keep

schema: $(READY)  ## renew the JSON schema that editors read
	$(BIN)/privbandits schema > configs/experiment.schema.json

clean:  ## remove the environment, caches and played trials; figures and CSVs stay
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis results/*/chunks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
