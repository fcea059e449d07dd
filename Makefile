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
PORT ?= 8000
# Not compiled at once: most modules of the frameworks are never imported, and Python compiles the others
# when they are. It must keep what it compiles, whatever the environment says: a worker of the tests or
# of Ray imports torch in a third of the time then.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
# What can be installed with dynhp: an extra for each integration, and those of the core.
INTEGRATIONS := $(notdir $(wildcard integrations/*))
EMPTY :=
# Not that of xgboost, which brings 700 MB for GPUs: the tests use xgboost-cpu, the same module.
EXTRAS := $(subst $(EMPTY) $(EMPTY),$(COMMA),$(filter-out xgboost,$(INTEGRATIONS)) rich plots igraph)
# Frameworks are tested in a process each, so that none hides what another one lacks.
FRAMEWORKS := $(filter-out pyg ray torch,$(INTEGRATIONS))
# glibc gives large blocks back to the system after every step; keeping them makes training faster.
FAST_MALLOC := MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
# Tests run side by side: threads of their own would only get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1
# A worker that dies ends the step: the tests that it leaves behind would be waited for without end.
TWO_WORKERS := -n 2 --max-worker-restart 0
BENCH_RAY = $(BIN)/python -m pip install --quiet --constraint constraints.txt ray && \
	$(BIN)/python benchmarks/bench_executors_ray.py
ARENA = $(ONE_THREAD) $(BIN)/python -m benchmarks.arena $(if $(DYNHP_DATA),--data $(DYNHP_DATA))
# The optimisers and the population training that others have written: the tests do not need them.
ARENA_READY := $(VENV)/.ready-arena
# The paper's reproduction has igraph's communities, and writes its report with jinja2.
PAPER = $(BIN)/python -m benchmarks.paper $(if $(PART),--part $(PART)) $(if $(PROTOCOL),--protocol $(PROTOCOL))
PAPER_READY := $(if $(wildcard $(READY)),$(READY),$(VENV)/.ready-paper)
# Tests that start, kill and outlive processes, or write many files, come after the quick ones.
WITH_PROCESSES := tests/executors tests/storage tests/campaign

.PHONY: help setup demo docs docs-serve test lint types imports pytest $(FRAMEWORKS:%=test-%) test-ray test-report test-oldest format bench-core bench-luck bench-report bench-executors bench-executors-ray bench-linkpred quality reproduce arena arena-full arena-save arena-again arena-advice mutants torture torture-campaign interrupts messages count-code golden clean

help:
	@echo "make demo            set up what it needs and train with adaptation on bundled data"
	@echo "make test            set up, then lint, types, import rules, all tests with coverage"
	@echo "make docs            the documentation as a site, in build/site; every warning is an error"
	@echo "make docs-serve      the same, and shown at http://127.0.0.1:8000 (PORT=8000)"
	@echo "make test-ray        the tests of the integration of Ray alone; so test-keras, test-optuna, ..."
	@echo "make test-report     the page of a report in a headless Chromium, which must be installed"
	@echo "make test-oldest     the core's tests with the oldest numpy, on each Python that is here;"
	@echo "                     with ONLY=\"jax keras\", those of integrations with their oldest frameworks"
	@echo "make count-code      how simple the code is, before (BASE=revision) and now; LIST=1 names what is counted"
	@echo "make bench-core      overhead, memory, import time and size of the core; with BASE=revision,"
	@echo "                     its times beside those of that version"
	@echo "make bench-luck      how often the luck report is wrong, on noise and on real effects"
	@echo "make bench-report    time and size of a report's page, of 500 and 5,000 rounds"
	@echo "make bench-executors tries in other processes and on Ray against tries in turn"
	@echo "make bench-executors-ray  those on Ray alone"
	@echo "make bench-linkpred  link prediction against an ordinary PyTorch Geometric loop"
	@echo "make quality         the AUC that link prediction must reach, by protocol and sampler"
	@echo "make reproduce       the tables of the AdaGrid paper, published and ours: PART=quick in a minute; headline,"
	@echo "                     variants, fair, tables in hours; PROTOCOL=paper, OPTIONS=--help"
	@echo "make arena           ways to set a learning rate: three tasks, five methods, three seeds"
	@echo "make arena-full      all of them, in the background; the same command goes on with it"
	@echo "make arena-save      commit what has ended: its ledger, from which a fresh clone goes on, and report"
	@echo "make arena-again     some of these runs again: do they still come to the same?"
	@echo "make arena-advice    whether runs know when their choices were luck"
	@echo "make torture         kill and resume runs a hundred times"
	@echo "make interrupts      interrupt runs at thousands of random lines of the library, and let them go on"
	@echo "make torture-campaign  kill and resume campaigns a hundred times"
	@echo "make golden          the same runs with this version and an earlier commit, to the bit; BASE=commit,"
	@echo "                     ONLY=\"rounds killed-loops\": these kinds alone"
	@echo "make mutants         mutation testing of the algorithm; ONLY=\"dynhp/adapter.py\": of these files"
	@echo "make messages        write each tests/messages.json anew, with the messages of today; ONLY=\"tests ray\""
	@echo "make format          format the code"
	@echo "TORCH_INDEX=...      with any of them: the address of torch's CPU builds, see README.md"

setup: $(READY)

define ENVIRONMENT
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --upgrade pip
	$(PIP_INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch hatchling editables
endef

$(READY): pyproject.toml constraints.txt hatch_build.py
	$(ENVIRONMENT)
	$(PIP_INSTALL) --no-build-isolation --editable ".[$(EXTRAS)]" --group test --group lint --group docs
	@touch $@

# "make test" completes this environment.
$(VENV)/.ready-demo: pyproject.toml constraints.txt hatch_build.py
	$(ENVIRONMENT)
	$(PIP_INSTALL) --no-build-isolation --editable ".[pyg]"
	@touch $@

$(VENV)/.ready-paper: $(DEMO_READY)
	$(PIP_INSTALL) --no-build-isolation --editable ".[pyg,igraph]" --group paper
	@touch $@

demo: $(DEMO_READY)
	$(FAST_MALLOC) OMP_WAIT_POLICY=PASSIVE $(BIN)/dynhp linkpred train --dataset cora \
		--split 80/10/10 --negatives uniform --method adagrid --adapt-every 10 --try-for 1 \
		--seeds 3 --out out/cora

# Anew each time (-E): a page that is gone, or a docstring that changed, must be noticed.
docs: $(READY)
	$(ONE_THREAD) $(BIN)/python -m sphinx -b html -E -q --fail-on-warning --keep-going \
		-c scripts/site -d build/doctrees docs build/site
	@echo "the site is in build/site: open build/site/index.html, or make docs-serve"

docs-serve: docs
	@echo "http://127.0.0.1:$(PORT), until Ctrl-C"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory build/site

test: lint imports pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

# The core first, by itself: fast, and every branch of it covered. The tests of the repository import every
# framework, some of which do not stand a fork, so they run by themselves. Tests of very many cases come
# after, without the measure of coverage, which would make them three times as long. Pages of the docs share
# names from block to block, so each file stays with one worker. The types are checked and the site is
# built beside the frameworks, which take one core each. Ray comes last, and in turn: see test-ray.
pytest: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest tests dynhp --doctest-modules $(TWO_WORKERS) -m "not many" \
		--cov --cov-report= $(WITH_PROCESSES:%=--ignore=%) --ignore=tests/repository
	$(ONE_THREAD) $(BIN)/python -m pytest $(WITH_PROCESSES) $(TWO_WORKERS) -m "not many" \
		--cov --cov-append --cov-report=
	$(ONE_THREAD) $(BIN)/python -m pytest tests/repository $(TWO_WORKERS) \
		--cov --cov-append --cov-report=term --cov-fail-under=100
	$(ONE_THREAD) $(BIN)/python -m pytest tests $(TWO_WORKERS) -m many --ignore=tests/repository
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/torch integrations/pyg docs README.md \
		--doctest-modules $(TWO_WORKERS) --dist loadfile --ignore=docs/cluster.md $(FRAMEWORKS:%=--ignore=docs/%.md)
	$(ONE_THREAD) $(BIN)/python -m pytest benchmarks/paper --doctest-modules $(TWO_WORKERS) --dist loadfile
	$(ONE_THREAD) $(BIN)/python -m pytest benchmarks/arena $(TWO_WORKERS)
	$(MAKE) --jobs 2 --output-sync=target types docs $(FRAMEWORKS:%=test-%)
	$(MAKE) test-ray

# One framework: its integration and its page.
$(FRAMEWORKS:%=test-%): test-%: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/$* $(wildcard docs/$*.md) --doctest-modules -q

# Ray's integration and the guide to clusters, on one local Ray. Not side by side: two Rays that start
# at once on a small machine keep each other waiting.
test-ray: $(READY)
	$(ONE_THREAD) $(BIN)/python -m pytest integrations/ray docs/cluster.md --doctest-modules

# A real browser looks at pages: BROWSER= names another one than Debian's. Nothing is installed.
BROWSER ?= chromium
test-report: $(READY)
	@command -v $(BROWSER) >/dev/null || { echo "test-report needs a Chromium: apt-get install chromium, or \
	BROWSER=its name" >&2; exit 1; }
	DYNHP_BROWSER=$(BROWSER) $(BIN)/python -m pytest tests/report/test_page_in_browser.py tests/report/test_page_on_paper.py -q

# Environments of their own, in build/oldest. ONLY="3.12 3.13" takes these versions of Python alone, and
# ONLY="jax keras" the oldest versions that these integrations declare.
test-oldest:
	$(if $(TORCH_INDEX),TORCH_INDEX=$(TORCH_INDEX)) $(PYTHON) scripts/test_oldest.py $(ONLY)

# The texts of messages that the tests compare with, written anew: look at what has changed. ONLY="ray torch"
# writes those of these integrations alone, ONLY=tests those of the core.
MESSAGES := tests $(INTEGRATIONS) arena paper
messages: $(READY)
	for folder in $(foreach name,$(or $(ONLY),$(MESSAGES)),$(wildcard $(name) integrations/$(name)/tests benchmarks/$(name)/tests)); do \
		rm -f $$folder/messages.json; \
		case $$folder in tests) others="--ignore tests/repository $(TWO_WORKERS)";; *) others=;; esac; \
		MESSAGES=write $(ONE_THREAD) $(BIN)/python -m pytest -q $$folder $$others || exit 1; \
	done
	$(if $(filter tests,$(or $(ONLY),tests)),MESSAGES=write $(ONE_THREAD) $(BIN)/python -m pytest -q tests/repository $(TWO_WORKERS))

format: $(READY)
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench-luck: $(READY)
	$(BIN)/python benchmarks/luck.py

bench-report: $(READY)
	$(BIN)/python benchmarks/bench_report.py

# BASE=revision: the version to compare with.
count-code: $(READY)
	$(BIN)/python benchmarks/count_code.py $(if $(BASE),--base $(BASE)) $(if $(LIST),--list)

bench-core: $(READY)
	$(BIN)/python benchmarks/bench_core.py $(if $(BASE),--base $(BASE))

# Both always run, and either may fail it.
bench-executors: $(READY)
	$(BIN)/python benchmarks/bench_executors.py; status=$$?; $(BENCH_RAY) && exit $$status

bench-executors-ray: $(READY)
	$(BENCH_RAY)

bench-linkpred: $(READY)
	$(FAST_MALLOC) $(BIN)/python benchmarks/bench_linkpred.py $(if $(DYNHP_DATA),--data $(DYNHP_DATA))

quality: $(READY)
	$(BIN)/python benchmarks/quality_linkpred.py

# It says what it costs, goes on where it was stopped, and trains nothing twice: parts share their runs.
reproduce: $(PAPER_READY)
	$(strip $(PAPER) $(OPTIONS))

# Small enough to wait for, with nothing beside what the tests need.
arena: $(READY)
	$(ARENA) --folder out/arena-small --report docs/results/arena/small --seeds 3 \
		--tasks links-cora regression-mlp cartpole \
		--arms preset-schedule constant wsd plateau adagrid

# Hours. It says what it costs and goes to the background; whatever stops it, the same command goes on,
# also in a fresh clone: the runs of earlier sittings are in ARENA_LEDGER. "make arena-save" brings that
# file and the report up to date with what has ended. Confirmation comes first, with few seeds first.
ARENA_LEDGER := docs/results/arena/results.jsonl.gz
ARENA_WHOLE = $(ARENA) --folder out/arena --ledger $(ARENA_LEDGER)
ARENA_CONFIRMED = $(ARENA_WHOLE) --half confirmation --report docs/results/arena/confirmation
ARENA_FIRST := preset-schedule constant wsd search scan range-test prodigy tpe schedule-free plateau
ARENA_DEVELOPED = $(ARENA_WHOLE) --half development --report docs/results/arena/development
arena-full: $(ARENA_READY)
	@mkdir -p out
	$(ARENA_WHOLE) --plan
	nohup sh -c '$(ARENA_CONFIRMED) --arms $(ARENA_FIRST) && $(ARENA_CONFIRMED) && $(ARENA_DEVELOPED)' \
		> out/arena.log 2>&1 & echo "process $$!; how far it is: tail -1 out/arena.log"

arena-save: $(READY)
	$(ARENA_CONFIRMED) --report-only

# After a change, or on another machine: some of the runs once more, which must come to the same.
arena-again: $(ARENA_READY)
	$(ARENA_WHOLE) --again 20

arena-advice: $(READY)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.arena.advice --folder out/arena-advice \
		--report docs/results/arena/advice $(if $(DYNHP_DATA),--data $(DYNHP_DATA))

$(ARENA_READY): $(READY)
	$(PIP_INSTALL) --group arena
	@touch $@

torture: $(READY)
	$(BIN)/python benchmarks/torture.py

# Ctrl-C at a random line of the library, thousands of times.
interrupts: $(READY)
	$(BIN)/python benchmarks/interrupts.py

torture-campaign: $(READY)
	$(ONE_THREAD) $(BIN)/python benchmarks/torture_campaign.py

# BASE= names the commit to compare with; the program has one of its own.
golden: $(READY)
	$(BIN)/python benchmarks/golden $(if $(BASE),--base $(BASE)) $(ONLY:%=--only %)

# Goes on where an earlier run was ended. ONLY="dynhp/engine/tries.py" takes these files alone.
FATES ?= build/mutant_fates.jsonl
mutants: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group mutants
	$(BIN)/python -m pytest -q tests/repository/test_mutation_testing.py
	$(BIN)/python scripts/mutants.py --fates $(FATES) $(ONLY)

clean:
	rm -rf $(VENV) build dist mutants .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
