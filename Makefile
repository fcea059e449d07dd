# Everything sets itself up: a virtual environment in .venv with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
COMMA := ,
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# The demo needs less than the tests: no Ray, no tools. What is all there serves it too.
DEMO_READY := $(if $(wildcard $(READY)),$(READY),$(VENV)/.ready-demo)
# On a machine with PyPI alone, torch for Linux brings gigabytes of CUDA libraries. Torch's own page has
# the address of its CPU builds: make demo TORCH_INDEX=address
TORCH_INDEX ?=
PIP_INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# What can be installed with dynhp: an extra for each integration, and those of the core.
INTEGRATIONS := $(notdir $(wildcard integrations/*))
EMPTY :=
# Not that of xgboost, which brings 700 MB for GPUs: the tests use xgboost-cpu, the same module.
EXTRAS := $(subst $(EMPTY) $(EMPTY),$(COMMA),$(filter-out xgboost,$(INTEGRATIONS)) rich igraph)
# Frameworks are tested in a process each, so that none hides what another one lacks.
FRAMEWORKS := $(filter-out pyg ray torch,$(INTEGRATIONS))
# glibc gives large blocks back to the system after every step; keeping them makes training faster.
FAST_MALLOC := MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
# Tests run side by side: threads of their own would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1
BENCH_RAY = $(BIN)/python -m pip install --quiet --constraint constraints.txt ray && \
	$(BIN)/python benchmarks/bench_executors_ray.py
# Tests that start, kill and outlive processes, or write many files, come after the quick ones.
WITH_PROCESSES := tests/executors tests/storage tests/campaign

.PHONY: help setup demo test lint types imports pytest $(FRAMEWORKS:%=test-%) test-ray test-oldest format bench-core bench-luck bench-executors bench-executors-ray bench-linkpred quality mutants torture torture-campaign clean

help:
	@echo "make demo            set up what it needs and train with adaptation on bundled data"
	@echo "make test            set up, then lint, types, import rules, all tests with coverage"
	@echo "make test-ray        the tests of the integration of Ray alone; so test-keras, test-optuna, ..."
	@echo "make test-oldest     the core's tests with the oldest numpy, on each Python that is here"
	@echo "make bench-core      overhead, memory, import time and wheel size of the core"
	@echo "make bench-luck      how often the luck report is wrong, on noise and on real effects"
	@echo "make bench-executors tries in other processes and on Ray against tries in turn"
	@echo "make bench-executors-ray  those on Ray alone"
	@echo "make bench-linkpred  link prediction against an ordinary PyTorch Geometric loop"
	@echo "make quality         the AUC that link prediction must reach, by protocol and sampler"
	@echo "make torture         kill and resume runs a hundred times"
	@echo "make torture-campaign  kill and resume campaigns a hundred times"
	@echo "make mutants         mutation testing of the algorithm"
	@echo "make format          format the code"
	@echo "TORCH_INDEX=...      with any of them: the address of torch's CPU builds, see README.md"

setup: $(READY)

define BASE
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --upgrade pip
	$(PIP_INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch hatchling editables
endef

$(READY): pyproject.toml constraints.txt hatch_build.py
	$(BASE)
	$(PIP_INSTALL) --no-build-isolation --editable ".[$(EXTRAS)]" --group test --group lint
	@touch $@

# "make test" completes this environment.
$(VENV)/.ready-demo: pyproject.toml constraints.txt hatch_build.py
	$(BASE)
	$(PIP_INSTALL) --no-build-isolation --editable ".[pyg]"
	@touch $@

demo: $(DEMO_READY)
	$(FAST_MALLOC) OMP_WAIT_POLICY=PASSIVE $(BIN)/dynhp linkpred train --dataset cora \
		--split 80/10/10 --negatives uniform --method adagrid --adapt-every 10 --try-for 1 \
		--seeds 3 --out out/cora

test: lint types imports pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

# The core first, by itself: fast, and every branch of it covered. The tests of the repository import every
# framework, some of which do not stand a fork, so they run by themselves. Pages of the docs share names from
# block to block, so each file stays with one worker. Ray comes last, and in turn: see test-ray.
pytest: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest tests dynhp --doctest-modules -n 2 --cov --cov-report= \
		$(WITH_PROCESSES:%=--ignore=%) --ignore=tests/repository
	$(ONE_THREAD) $(BIN)/python -m pytest $(WITH_PROCESSES) -n 2 --cov --cov-append --cov-report=
	$(ONE_THREAD) $(BIN)/python -m pytest tests/repository -n 2 \
		--cov --cov-append --cov-report=term --cov-fail-under=100
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/torch integrations/pyg docs README.md \
		--doctest-modules -n 2 --dist loadfile --ignore=docs/cluster.md $(FRAMEWORKS:%=--ignore=docs/%.md)
	$(MAKE) --jobs 2 --output-sync=target $(FRAMEWORKS:%=test-%)
	$(MAKE) test-ray

# One framework: its integration and its page.
$(FRAMEWORKS:%=test-%): test-%: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/$* $(wildcard docs/$*.md) --doctest-modules -q

# Ray's integration and the guide to clusters, on one local Ray. Not side by side: two Rays that start
# at once on a small machine keep each other waiting.
test-ray: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/ray docs/cluster.md --doctest-modules

# Environments of their own, in build/oldest; ONLY="3.12 3.13" takes these versions of Python alone.
test-oldest:
	$(PYTHON) scripts/test_oldest.py $(ONLY)

format: $(READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench-luck: $(READY)
	$(BIN)/python benchmarks/luck.py

bench-core: $(READY)
	$(BIN)/python benchmarks/bench_core.py

# Both always run, and either may fail it.
bench-executors: $(READY)
	$(BIN)/python benchmarks/bench_executors.py; status=$$?; $(BENCH_RAY) && exit $$status

bench-executors-ray: $(READY)
	$(BENCH_RAY)

bench-linkpred: $(READY)
	$(FAST_MALLOC) $(BIN)/python benchmarks/bench_linkpred.py $(if $(DYNHP_DATA),--data $(DYNHP_DATA))

quality: $(READY)
	$(BIN)/python benchmarks/quality_linkpred.py

torture: $(READY)
	$(BIN)/python benchmarks/torture.py

torture-campaign: $(READY)
	$(ONE_THREAD) $(BIN)/python benchmarks/torture_campaign.py

mutants: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group mutants
	$(BIN)/python -m pytest -q tests/repository/test_mutation_testing.py
	$(BIN)/python scripts/mutants.py

clean:
	rm -rf $(VENV) build dist mutants .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
