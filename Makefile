# Two commands do everything: `make run` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/pytest -n 2
# Integers overflow on purpose in randomness.py.
INTERPRETED := NUMBA_DISABLE_JIT=1 $(PYTEST) -W ignore::RuntimeWarning
# What the source of a test has that is not compiled in `make test`; conftest.py marks docstrings with the last two.
MARKED := costly|interpreted|pairing|check_algorithm|check_rule
CHROMIUM := chromium chromium-driver
# Bytecode is kept: many tests start a process.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test lint types check lowest interpreted warm browser screenshots slow bench docs release mutants lock clean

run: $(READY)            ## write out/report.html: a reproduced table, AutoTD, and a real data stream
	@echo "About two minutes; the first run compiles for some of them"
	@$(BIN)/tdlambda demo --out out/report.html
	@echo "Next: README.md, docs/, .venv/bin/tdlambda run --list"

test:                    ## everything CI runs
	@$(MAKE) --no-print-directory -j 2 browser lint interpreted types warm
	$(PYTEST) -n 3  # on two cores: many tests wait, for a browser or for other processes

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(READY)
	$(BIN)/mypy

interpreted: $(READY)    ## tests of more models than can be compiled, without the compiler; other files are not collected
	$(INTERPRETED) $$(grep -rlE --include=*.py "$(MARKED)" src tests) -m "(interpreted or costly) and not slow"

warm: $(READY)           ## compile the large kernels, once for all processes of the tests
	TDLAMBDA_QUIET=1 $(BIN)/python tools/warm.py

check: $(READY) browser interpreted warm
	$(PYTEST)

lowest: PYTHON = python3.11
lowest:                  ## every test with the lowest allowed versions of Python and the dependencies, in .venv-lowest
	@$(MAKE) --no-print-directory check VENV=.venv-lowest PYTHON=$(PYTHON)

browser:                 ## Chromium for the page's tests, if it is not here
	@if command -v chromedriver && { command -v chromium || command -v google-chrome; }; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get; then echo "installing Chromium for the page's tests" >&2; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(CHROMIUM); \
	else echo "The page's tests need Chromium and its driver: sudo apt-get install $(CHROMIUM)" >&2; exit 1; fi >/dev/null

screenshots: run browser  ## pictures of the page and of each of its figures: light, dark, on a phone
	$(BIN)/python tools/screenshots.py out/report.html out/screenshots

slow: $(READY) browser warm  ## long statistical checks, and Hypothesis at random with ten times the examples
	$(INTERPRETED) -m "interpreted and (slow or hypothesis)" --hypothesis-profile=search
	$(PYTEST) -m "(slow or costly or hypothesis) and not interpreted" --hypothesis-profile=search

bench: $(READY)          ## ratios against a peer or a bound, measured in one run
	$(BIN)/python benchmarks/solve.py
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/c.py
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/control.py
	$(BIN)/python benchmarks/action_values.py

docs: $(READY)           ## the documentation as a site that works offline; a warning is an error
	@$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -d out/doctrees docs out/docs
	@echo "Look at out/docs/index.html"

release: $(READY)        ## build, check the wheel in fresh environments, tag; uploads nothing
	$(BIN)/python tools/release.py

mutants: $(READY)        ## break each kernel on purpose; the tests must notice (some minutes)
	$(BIN)/python tools/mutate.py

.venv/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tdlambda needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv-lowest/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	$(BIN)/pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --resolution lowest-direct -e ".[dev]"
	@touch $@

lock:                    ## requirements.lock from the dependencies in pyproject.toml; UPGRADE=1 for the newest versions
	@tools=$$(mktemp -d); trap 'rm -rf "$$tools"' EXIT; \
	$(PYTHON) -m venv "$$tools" && "$$tools/bin/pip" install --quiet --disable-pip-version-check uv && \
	"$$tools/bin/uv" pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
	  --no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) --quiet -o requirements.lock

clean:
	rm -rf .venv .venv-lowest .mypy_cache .ruff_cache .hypothesis build
