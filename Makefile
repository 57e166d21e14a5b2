PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
# `make smoke` runs neighbours at the same time; in this order they share few kernels, which both would have to compile.
FIGURES := linucb_time price_experts fig1 heavy_central linucb_exact price_sphere heavy_local linucb_plain_dp price_cube \
  bounded_private linucb_dimension price_linear_bandit fig1_equal_privacy linucb_rho price_collapse frontier \
  price_linear_scaling heavy_very price_scaling bounded_without_nu price_noisy heavy_scaling price_bandit \
  price_bandit_scaling state_of_the_art zcdp_price trust stochastic_time best_of_both stochastic_tail thompson_private \
  state_of_the_art_stochastic oracle_iris oracle_wine oracle_breast_cancer oracle_digits oracle_sphere

.DEFAULT_GOAL := help
.PHONY: help install test test-slow test-long browser report check lint types fig1 figures wins audit smoke check-claims docs reproducibility bench bench-keep schema clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

install: $(READY)  ## create .venv and install privbandits with its development tools

test: $(READY)  ## run the fast tests on every core, file by file, because the tests of a file share compiled kernels
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m 'not slow and not long'

test-slow: $(READY)  ## run the tests that start clusters, kill runs at every moment or fill disks
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'slow and not long'

test-long: $(READY)  ## run every mutant, every setting at the ends and every reference value: half an hour on two cores
	$(BIN)/python -m pytest -n auto --dist loadfile -m long

browser: docs  ## test the report pages and the site in a headless Chromium, if one is installed
	$(BIN)/python -m pytest -rs tests/report/test_browser.py tests/docs/test_browser.py

report: $(READY)  ## write the report pages and tables of all results: results/index.html
	$(BIN)/privbandits report results

lint: $(READY)  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## check types
	$(BIN)/mypy

check: lint types test test-slow test-long check-claims  ## check style, types, all tests and claims

fig1: $(READY)  ## run Figure 1 of Tossou & Dimitrakakis 2017 at the paper's scale: results/fig1
	$(BIN)/privbandits run configs/fig1.yaml

figures: $(READY)  ## run every figure at full scale: about an hour on two cores
	for config in $(FIGURES); do $(BIN)/privbandits run configs/$$config.yaml || exit; done

wins: $(READY)  ## count the win rates of private contextual bandits on four tables: results/wins.png
	$(BIN)/privbandits wins $(addprefix results/oracle_,iris wine breast_cancer digits) --out results

audit: $(READY)  ## run the auditor on deliberately broken algorithms
	$(BIN)/privbandits audit --mutants

check-claims: $(READY)  ## check the papers' claims against results/; fails if results/CLAIMS.md differs
	$(BIN)/privbandits check results --recorded

smoke: $(READY)  ## run every figure and every game, small; one per core, because little of the time is spent simulating
	(printf 'configs/%s.yaml\n' smoke smoke_linear; printf 'configs/%s.yaml --smoke\n' $(FIGURES)) | \
	  xargs -P $$(getconf _NPROCESSORS_ONLN) -L 1 $(BIN)/privbandits run -q -j 1

docs: $(DOCS_READY)  ## build the documentation site and execute its tutorials: docs/_build/html/index.html
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

reproducibility: $(READY)  ## write REPRODUCIBILITY.md from the manifests in results/ and the claims in configs/
	$(BIN)/python -m docs._generate.reproducibility

bench: $(READY)  ## measure nanoseconds per round; fails if one is 1.5 times as slow as in results/bench.csv
	$(BIN)/python -m tests.bench

bench-keep: $(READY)  ## measure and write results/bench.csv
	$(BIN)/python -m tests.bench --keep

schema: $(READY)  ## write the JSON schema that editors read
	$(BIN)/privbandits schema > configs/experiment.schema.json

clean:  ## remove the environment, caches, the built site and chunks of trials; keep figures and CSVs
	rm -rf $(VENV) build docs/_build docs/_generated docs/algorithms docs/adversaries docs/mechanisms *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis results/*/chunks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
