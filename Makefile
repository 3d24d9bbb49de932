# Needs make, bash and a python3 of 3.11 or later with venv; everything else is installed below .venv and ~/.cache.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help venv binaries jobset test test-operators test-oldest browser monitoring lint types compiled words generated demo prove mutants chaos bench image release cluster cluster-down e2e clean

# The tests start hundreds of processes: each would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
WORKERS ?= 4
BIN := .venv/bin

help:
	@echo 'make test      lint, types and all tests on a real control plane (WORKERS=4)'
	@echo 'make test-operators  governed kinds with their real operators, each built once from its Go module'
	@echo 'make test-oldest     behaviour on the oldest Kubernetes supported (1.30), built once from its Go module'
	@echo 'make browser   the dashboard in a real browser (Chromium); PICTURES=1 makes the pictures of docs/ again'
	@echo 'make monitoring  alerts and the Grafana dashboard with a real Prometheus (on PATH, or unpacked from Debian)'
	@echo 'make demo      the whole path on a simulated cluster; KEEP=1 leaves it running'
	@echo 'make lint      ruff, import contracts        make types   mypy --strict'
	@echo 'make words     words, links, citations, rooms and unused code: before a commit'
	@echo 'make generated CRDs, presets and README of the chart, docs/rules.md and the classes of docs/glossary.md, from the code'
	@echo 'make prove     random worlds against the reference engine'
	@echo 'make mutants   small changes of the engine, and whether the pure tests notice them (NUMBER=300, SEED=1)'
	@echo 'make chaos     processes killed and frozen while work goes on'
	@echo 'make bench     measures the figures of docs/benchmarks.md again, 45 minutes, and writes that page'
	@echo 'make image     the container image, with or without a container engine (TAG=, ENGINE=, BASE=, REFRESH=1)'
	@echo 'make release   dist/: image, chart, manifests, wheel, plugin, package lists, checksums, provenance (URL=, KEY=, BUILDER=)'
	@echo 'make cluster   one real node on this machine with Quotree installed (root); make cluster-down removes it'
	@echo 'make e2e       Quotree on that real node, from install to uninstall (root)'
	@echo 'make venv      .venv from requirements.lock  make binaries   the control plane, built once'
	@echo 'make clean     removes .venv and tool caches; not the control plane in ~/.cache/quotree'

venv:
	@bash dev/controlplane/venv.sh '$(PYTHON)'

binaries: venv
	@$(BIN)/python -m dev.controlplane build

# The operator whose kind the large suite governs; the others are built by test-operators.
jobset: binaries
	@$(BIN)/python -m dev.operators build jobset

lint: venv
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: venv
	$(BIN)/mypy --strict

words: venv
	$(BIN)/pytest -n 0 $(addprefix tests/project/test_,words.py documentation_links.py citations.py glossary.py architecture.py dead_code.py moments.py)

generated: venv
	@for each in dev.generate.{crds,presets,rules,glossary,chart_readme} benchmarks.results.pages; do $(BIN)/python -m $$each; done

# Compiled beside mypy, which computes on one core: each worker would compile all of the tests for itself.
compiled: venv
	@said=$$($(BIN)/pytest -n 0 --collect-only -qq 2>&1) || { echo "$$said"; exit 1; }

test: jobset
	@$(MAKE) -j3 --output-sync=target lint types compiled
	$(BIN)/pytest -n $(WORKERS) --dist=worksteal

test-operators: binaries
	@$(BIN)/python -m dev.operators build
	$(BIN)/pytest tests/operators -n 2 --dist=loadfile --timeout=300

test-oldest: jobset
	@folder=$$($(BIN)/python -m dev.controlplane oldest); \
	KUBEBUILDER_ASSETS="$$folder" $(BIN)/pytest -n $(WORKERS) --dist=worksteal \
		tests/reconciler/live tests/webhook/live tests/e2e tests/jobset

browser: binaries
	QUOTREE_PICTURES='$(PICTURES)' $(BIN)/pytest tests/browser -n 0 --timeout=600

demo: venv
	@$(BIN)/python -m demo $(if $(KEEP),--keep)

monitoring: binaries
	@$(BIN)/python -m dev.prometheus || true
	$(BIN)/pytest tests/monitoring -n 0 --timeout=400

prove: venv
	@$(BIN)/python -m tests.prove

NUMBER ?= 300
SEED ?= 1
mutants: venv
	@$(BIN)/python -m dev.mutants --number $(NUMBER) --seed $(SEED)

chaos: binaries
	@$(BIN)/python -m tests.chaos
	@$(BIN)/python -m tests.chaos.frozen_api_server

# Within 45 minutes; what failed is named, and the page is made of what was measured all the same.
bench: binaries
	@$(BIN)/python -m benchmarks; code=$$?; $(BIN)/python -m benchmarks.results.pages && exit $$code

image: venv
	@$(BIN)/python -m dev.image $(if $(TAG),--tag=$(TAG)) $(if $(REFRESH),--refresh)

release: venv
	@$(BIN)/python -m dev.release $(if $(TAG),--tag=$(TAG)) $(if $(URL),--url=$(URL)) $(if $(KEY),--key=$(KEY)) $(if $(BUILDER),--builder=$(BUILDER))

# APT=1 installs absent Debian packages. USE_KUBECONFIG=1 IMAGE=... installs into the cluster of KUBECONFIG instead.
cluster: venv
	@$(BIN)/python -m dev.node up $(if $(APT),--apt)

cluster-down: venv
	@$(BIN)/python -m dev.node down

e2e: venv
	@$(BIN)/python -m dev.node check $(if $(APT),--apt)
	@$(BIN)/python -m dev.controlplane build --node
	$(BIN)/pytest tests/e2e_node -n 0 --timeout=600

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
