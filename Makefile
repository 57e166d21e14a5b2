# uv installs in seconds; without it, pip installs. PYTHON=python3.13 takes another Python for a new environment.
# RESOLUTION=lowest-direct, for uv only, installs the oldest versions that pyproject.toml allows, in a second one.
UV := $(shell command -v uv 2>/dev/null)
VENV := .venv$(addprefix -,$(RESOLUTION))
BIN := $(VENV)/bin
# What is installed: what a run needs, also the development tools, also what the site needs.
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
# Only the end of a process gives back the memory of compiled kernels. So the halves of `make test` have processes of
# their own, and so have the rooms of `make test-all`, where processes share files that take longer than all others.
ROOMS := $(sort $(dir $(wildcard tests/*/test_*.py)))
# A file's tests share compiled kernels, so one process runs them all.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder
# `make smoke` runs neighbours at the same time; in this order they share few kernels, which both would have to compile.
FIGURES := linucb_time price_experts fig1 heavy_central linucb_exact price_sphere heavy_local linucb_plain_dp price_cube \
  bounded_private linucb_dimension price_linear_bandit fig1_equal_privacy linucb_rho price_collapse frontier \
  price_linear_scaling heavy_very price_scaling bounded_without_nu price_noisy heavy_scaling price_bandit uneven_noise \
  robust_central robust_local price_bandit_scaling state_of_the_art zcdp_price trust stochastic_time best_of_both \
  stochastic_tail near_bound worst_trials thompson_private state_of_the_art_stochastic one_axis best_arm_confidence \
  best_arm_thresholds best_arm_stuck best_arm_budget experts_private experts_dynamic people patients gope_price \
  less_trust oracle_iris oracle_wine oracle_breast_cancer oracle_digits oracle_sphere

.DEFAULT_GOAL := help
.NOTPARALLEL:  # each target uses all cores by itself
.PHONY: help install test test-all test-touched browser report check lint types fig1 figures \
  counters ope plan tables wins audit smoke check-claims docs reproducibility bench bench-keep schema clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

ifneq ($(UV),)
CREATE := uv venv --quiet --clear --seed $(if $(PYTHON),--python '$(PYTHON)') $(VENV)
INSTALL := uv pip install --quiet --python $(BIN)/python $(addprefix --resolution ,$(RESOLUTION))
else
CREATE := $(or $(PYTHON),python3) -m venv --clear $(VENV)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(if $(RESOLUTION),$(error RESOLUTION needs uv))
endif

$(DEV): EXTRAS := [dev]
$(DOCS): EXTRAS := [docs]
# Only the end of an installation writes .run: after an interrupted one, the environment is made anew.
$(RUN) $(DEV) $(DOCS): pyproject.toml $(BIN)/python
	@{ test -e $(RUN) && $(BIN)/python -V; } >/dev/null 2>&1 || $(CREATE)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	rm -f $(RUN)
	$(INSTALL) -e '.$(EXTRAS)'
	touch $(RUN) $@

$(BIN)/python:  # where it is missing, or was linked to a Python that is gone, the rule above makes it

install: $(DEV)  ## create .venv and install privbandits with its development tools

test: $(DEV)  ## run the tests that a commit needs, on every core
	for half in 'tests/a*' '--ignore-glob=tests/a*'; do $(PYTEST) -m 'not slow' $$half || failed=yes; done; test -z "$$failed"

test-all: $(DEV)  ## run all tests; if nothing is uncommitted, the commit is recorded in .ci/tested
	for room in $(ROOMS) '$(wildcard tests/test_*.py)'; do \
	  $(PYTEST) --dist worksteal $$room || failed="$$failed $$room"; done; \
	  test -z "$$failed" || { echo "failed:$$failed"; exit 1; }
	test -n "$$(git status --porcelain 2>&1)" || git rev-parse HEAD > .ci/tested

test-touched: $(DEV)  ## run the slow tests of what has changed since the commit $$CI_BASE, or that in .ci/tested
	rooms=$$($(BIN)/python -m tests.touched) && echo "$$rooms" | while read -r room; do \
	  test -z "$$room" || $(PYTEST) -m slow $$room </dev/null || test $$? -eq 5 || exit 1; done

browser: docs $(DEV)  ## test the report pages and the site in a headless Chromium, if one is installed
	$(BIN)/python -m pytest -rs tests/report/test_browser.py tests/docs/test_browser.py

report: $(RUN)  ## write the report pages and tables of all results: results/index.html
	$(BIN)/privbandits report results

lint: $(DEV)  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## check types
	$(BIN)/mypy

check: lint types test-all check-claims  ## check style, types, all tests and claims

fig1: $(RUN)  ## run Figure 1 of Tossou & Dimitrakakis 2017 at the paper's scale: results/fig1
	$(BIN)/privbandits run configs/fig1.yaml

figures: $(RUN)  ## run every figure at full scale: some hours on two cores
	for config in $(FIGURES); do $(BIN)/privbandits run configs/$$config.yaml || exit; done

counters: $(RUN)  ## compute the noise of fourteen counters: results/counters.png
	$(BIN)/python configs/counters.py

ope: $(RUN)  ## count how often the intervals of off-policy estimates hold the truth: results/ope.png
	$(BIN)/python configs/ope.py

plan: $(RUN)  ## count the users of studies by four designs, over ε: results/best_arm_plan.png
	$(BIN)/python configs/best_arm_plan.py

tables: $(RUN)  ## write the tables of Agarwal & Singh 2017 with measured rates: results/price_tables.md
	$(BIN)/python configs/price_tables.py

wins: $(RUN)  ## count the win rates of private contextual bandits on four tables: results/wins.png
	$(BIN)/python configs/wins.py

audit: $(DEV)  ## run the auditor on correct and on deliberately broken algorithms
	$(PYTEST) -k 'mutant or correct' tests/audit

check-claims: $(RUN)  ## check the papers' claims against results/; fails if results/CLAIMS.md differs
	$(BIN)/privbandits check results --recorded

smoke: $(RUN)  ## run every figure and every game, small; one per core, because little of the time is spent simulating
	(printf 'configs/%s.yaml\n' smoke smoke_linear; printf 'configs/%s.yaml --smoke\n' $(FIGURES)) | \
	  xargs -P $$(getconf _NPROCESSORS_ONLN) -L 1 $(BIN)/privbandits run -q -j 1

docs: $(DOCS)  ## build the documentation site and execute its tutorials: docs/_build/html/index.html
	rm -rf docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n -q -d docs/_build/doctrees docs docs/_build/html

reproducibility: $(RUN)  ## write REPRODUCIBILITY.md and results/LEADERBOARD.md, from results/ and the claims in configs/
	$(BIN)/python -m docs._generate.reproducibility
	PYTHONPATH=docs $(BIN)/python -m _generate.leaderboard

bench: $(DEV)  ## measure nanoseconds per round; fails if one is 1.5 times as slow as in results/bench.csv
	$(BIN)/python -m tests.bench

bench-keep: $(DEV)  ## measure what has no row in results/bench.csv, and add its row
	$(BIN)/python -m tests.bench --keep

schema: $(RUN)  ## write the JSON schema that editors read
	$(BIN)/privbandits schema > configs/experiment.schema.json

clean:  ## remove the environment, caches, the built site and chunks of trials; keep figures and CSVs
	rm -rf .venv .venv-* build docs/_build docs/_generated docs/algorithms docs/adversaries docs/mechanisms \
	  *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis results/*/chunks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
