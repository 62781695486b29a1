# Every target makes the virtual environment it needs; a fresh machine needs only Python and make.

# `make test PYTHON=python3.13` makes the environment anew if another Python has made it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start many processes: what they load is compiled once.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo quick test check style types package long soak asan fuzz bench changelog site docs pictures tester browser cluster replay clean FORCE

demo: $(VENV)/installed
	@$(BIN)/manners demo
	@echo "The command is in $(BIN): type $(BIN)/manners."

# An answer within a minute: engines, parsers, rules and numbers, settings, and the documentation's
# examples in docstrings.
QUICK := src tests/robots tests/conformance tests/retrieval tests/sitemaps tests/politeness/test_schedule.py
quick: $(VENV)/tested
	$(PYTEST) --quiet $(QUICK)

# Every promise, at a small size. The plain engine first, which says what is right; then everything
# with the kernel, if it is built.
test: $(VENV)/tested
	MANNERS_PURE=1 $(PYTEST) --quiet tests/robots tests/conformance tests/compat/test_arrow.py
	$(PYTEST)

# What has to pass before a change goes in; `.ci/run` is this.
check: $(VENV)/checked
	$(MAKE) --no-print-directory --jobs 2 --output-sync style types site package fuzz RUNS=5000 SECONDS=0 SEED=1
	$(MAKE) --no-print-directory test
	$(MAKE) --no-print-directory long

style: $(VENV)/checked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(VENV)/checked
	$(BIN)/mypy

# The sdist and the wheel, each installed into an environment that has nothing else.
package: $(VENV)/checked
	$(BIN)/python -m tests.package

# The long forms of tests, short and long: `tests/sizes.py` has both sizes, and how to set them.
long soak: $(VENV)/tested
	TEST_SIZE=$(patsubst long,check,$@) $(PYTEST) --quiet -m 'long or soak'

# The kernel under AddressSanitizer and UBSan; needs gcc.
asan: $(VENV)/tested
	$(BIN)/python -m tests.memory.asan

# Coverage-guided fuzzing for SECONDS each: the plain engine against the kernel; sitemaps and links;
# the linter; usage signals.
# `make check` tries the same RUNS from the same SEED each time, however fast the machine is, so that a
# change is not blamed for what chance finds; other runs try something new.
SECONDS ?= 600
RUNS ?= -1
SEED ?= 0
FUZZING := -max_total_time=$(SECONDS) -runs=$(RUNS) -seed=$(SEED)
fuzz: export PYTHONHASHSEED := $(SEED)
fuzz: $(VENV)/checked
	$(BIN)/python -m tests.memory.fuzz $(FUZZING)
	$(BIN)/python -m tests.sitemaps.fuzz $(FUZZING)
	$(BIN)/python -m tests.lint.fuzz $(FUZZING)
	$(BIN)/python -m tests.signals.fuzz $(FUZZING)

bench: $(VENV)/measured
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.dropins
	$(BIN)/python -m benchmarks.retrieval
	$(BIN)/python -m benchmarks.cache
	$(BIN)/python -m benchmarks.client
	$(BIN)/python -m benchmarks.politeness
	$(BIN)/python -m benchmarks.evidence
	$(BIN)/python -m benchmarks.discovery
	$(BIN)/python -m benchmarks.crawl
	$(BIN)/python -m benchmarks.fairness
	$(BIN)/python -m benchmarks.fleet
	$(BIN)/python -m benchmarks.bulk
	$(BIN)/python -m benchmarks.impact
	$(BIN)/python -m benchmarks.lint
	$(BIN)/python -m benchmarks.web

# The fragments in changes/ become a section of CHANGELOG.md: make changelog VERSION=0.3.0
changelog: $(VENV)/checked
	$(BIN)/towncrier build --yes --version $(VERSION)

# The documentation, in site/; `make docs` shows it while you write.
site: $(VENV)/checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs: $(VENV)/checked
	$(BIN)/mkdocs serve

# The pictures in README.md and docs; they change only if what they show does.
pictures: $(VENV)/tested browser
	$(BIN)/python -m tests.pictures

# The tester as one HTML file, in build/; the documentation shows it if it is there. It has a Python
# for browsers in it, which npm downloads.
SINGLE := $(BIN)/python -c 'import sys, manners.web.single as single; print(getattr(single, sys.argv[1]))'
tester: $(VENV)/installed
	@command -v npm >/dev/null || { echo "Install npm with the packages of your system."; exit 1; }
	@mkdir -p build
	@test -e build/$$($(SINGLE) PYODIDE) || $$($(SINGLE) NPM_PACK) --silent --pack-destination build
	@$(BIN)/manners tester --pyodide build/$$($(SINGLE) PYODIDE) --output build/tester.html --force

# Chromium, for tests and pictures of pages; the tests are skipped where there is none.
browser:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null \
	    && apt-get update --quiet && apt-get install --quiet --yes chromium; } \
	    || { echo "Install Chromium with the packages of your system."; exit 1; }

# Spark, Ray and Dask, for tests on clusters; they are skipped where these are not installed.
cluster: $(VENV)/clustered
	@command -v java >/dev/null || { command -v apt-get >/dev/null \
	    && apt-get update --quiet && apt-get install --quiet --yes default-jre-headless; } \
	    || { echo "Install Java 17 or later with the packages of your system."; exit 1; }

# pywb, for tests that replay archives; it needs other versions of libraries than we do, so it has an
# environment of its own. They are skipped where it is not installed.
replay: $(VENV)/tested
	$(BIN)/python -m venv $(VENV)/replay
	$(VENV)/replay/bin/python -m pip install --quiet 'pywb>=2.9'
	$(PYTEST) tests/warc

clean:
	rm -rf $(VENV) build dist site *.egg-info src/*.egg-info

# The stamps say what is installed; a changed pyproject.toml installs again. Without PYTHON= an
# environment stays, whoever has made it; with it, one that another Python has made is made anew.
WHO := -c 'import sys; print(sys.base_prefix, sys.version)'
$(VENV)/made: $(if $(filter file,$(origin PYTHON)),,FORCE)
	@asked=$$($(PYTHON) $(WHO)) || { echo "PYTHON=$(PYTHON) does not run."; exit 1; }; \
	found=$$($(BIN)/python $(WHO) 2>/dev/null); \
	if test -z "$$found" || { test "$(origin PYTHON)" != file && test "$$found" != "$$asked"; }; then \
	    echo "Making $(VENV) with $$asked"; \
	    rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) && touch $@; \
	elif test ! -e $@; then touch $@; fi

$(VENV)/installed: $(VENV)/made pyproject.toml setup.py $(wildcard src/manners/robots/*.pyx src/manners/robots/*.pxi)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[crawl]'
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group test
	@touch $@

$(VENV)/measured: $(VENV)/tested
	$(BIN)/python -m pip install --quiet --group bench
	@touch $@

$(VENV)/checked: $(VENV)/tested
	$(BIN)/python -m pip install --quiet --group check
	@touch $@

$(VENV)/clustered: $(VENV)/tested
	$(BIN)/python -m pip install --quiet --group cluster
	@touch $@
