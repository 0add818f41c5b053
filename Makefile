# The two commands that a new user needs: `make run` and `make test`. Everything else: `make help`.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3.11
VENV ?= .venv
TORCH_INDEX ?=# PyTorch's own CPU index, where pip would otherwise take a CUDA build
PIP_FLAGS := --disable-pip-version-check --quiet $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
INSTALLED := $(VENV)/.installed
BENCH_INSTALLED := $(VENV)/.bench-installed
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
export DO_NOT_TRACK := 1
export DVC_SITE_CACHE_DIR ?= $(CURDIR)/.stemma/dvc# the default is a world-writable folder with pickles in it
unexport PYTHONPATH

.PHONY: help
help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

.PHONY: run
run: install ## run the whole pipeline (Prefect flow) on params.yaml
	@python -m flows.pipeline

.PHONY: repro
repro: install ## the same graph with DVC alone
	@dvc repro

.PHONY: release
release: install ## register the fine-tuned models and promote those that the gate lets through
	@python -m flows.release

.PHONY: serve
serve: install ## start the Prefect and MLflow servers on loopback, and serve the scheduled deployments
	@python -m flows.deploy

.PHONY: test
test: install ## run the tests
	@python -m pytest -n 2 --dist loadgroup --durations 15 $(TESTS)

.PHONY: bench
bench: install $(BENCH_INSTALLED) ## compare with what a user would pick instead, on an idle machine: BENCH="pretraining …"
	@python -m benchmarks $(BENCH)

.PHONY: reference
reference: install $(BENCH_INSTALLED) ## fine-tune real pretrained weights with our code and with a Trainer: DATA=folder of data sets, OUT=results
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps -r benchmarks/reference.lock
	@python -m benchmarks.reference $(or $(OUT),.stemma/reference) --data $(DATA)

.PHONY: check
check: install ## lint, types, layers
	@ruff check .
	@ruff format --check .
	@mypy
	@lint-imports

.PHONY: format
format: install ## format, and mend what can be mended
	@ruff check --fix .
	@ruff format .

.PHONY: deps
deps: install ## write each stage's code deps into dvc.yaml
	@python scripts/write_deps.py

.PHONY: docs
docs: install ## write the parts of README.md that the code knows better
	@python scripts/write_docs.py

.PHONY: lock
lock: ## resolve pyproject.toml anew into requirements.lock
	$(PYTHON) scripts/lock.py

.PHONY: install
install: $(INSTALLED)

$(INSTALLED): requirements.lock pyproject.toml
	@echo "Installing the locked dependencies into $(VENV): once, a few minutes"
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) -r requirements.lock
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps --no-build-isolation --editable .
	@$(VENV)/bin/python -m compileall -qq -j 0 $(VENV)/lib || true # where bytecode is not written, imports take three times as long
	@touch $@

$(BENCH_INSTALLED): benchmarks/requirements.lock $(INSTALLED)
	@$(VENV)/bin/python -m pip install $(PIP_FLAGS) -r benchmarks/requirements.lock
	@touch $@

.PHONY: clean
clean: ## remove caches and this machine's scratch, not results
	@rm -rf .mypy_cache .ruff_cache .pytest_cache .stemma/scratch build
