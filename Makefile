# Every target makes the virtual environment it needs; a fresh machine needs only Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check soak asan fuzz bench docs pictures browser clean

demo: $(VENV)/installed
	@$(BIN)/manners demo
	@echo "The command is in $(BIN): type $(BIN)/manners."

# The plain engine first, which says what is right; then everything with the kernel, if it is built.
test: $(VENV)/tested
	MANNERS_PURE=1 $(BIN)/python -m pytest -n auto --quiet tests/robots tests/conformance tests/compat/test_arrow.py
	$(BIN)/python -m pytest -n auto

check: $(VENV)/checked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(MAKE) --no-print-directory fuzz SECONDS=20 SEED=1
	$(MAKE) --no-print-directory test

# The long forms: every fault in every profile, twenty times; ten thousand origins; long fuzzing.
soak: $(VENV)/tested
	$(BIN)/python -m pytest -n auto -m soak

# The kernel under AddressSanitizer and UBSan; needs gcc.
asan: $(VENV)/tested
	$(BIN)/python -m tests.memory.asan

# Coverage-guided fuzzing for SECONDS each: the plain engine against the kernel; sitemaps and links.
# `make check` begins with the same SEED each time, so that a change is not blamed for what chance
# finds; other runs try something new.
SECONDS ?= 600
SEED ?= 0
fuzz: $(VENV)/checked
	$(BIN)/python -m tests.memory.fuzz -max_total_time=$(SECONDS) -seed=$(SEED)
	$(BIN)/python -m tests.sitemaps.fuzz -max_total_time=$(SECONDS) -seed=$(SEED)

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

docs: $(VENV)/checked
	$(BIN)/mkdocs serve

# The pictures in README.md and docs; they change only if what they show does.
pictures: $(VENV)/tested browser
	$(BIN)/python -m tests.pictures

# Chromium, for tests of the report and for its picture; they are skipped where there is none.
browser:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null \
	    && apt-get update --quiet && apt-get install --quiet --yes chromium; } \
	    || { echo "Install Chromium with the packages of your system."; exit 1; }

clean:
	rm -rf $(VENV) build dist site *.egg-info src/*.egg-info

# The stamps say what is installed; a changed pyproject.toml installs again.
$(VENV)/installed: pyproject.toml setup.py src/manners/robots/_kernel.pyx src/manners/robots/_arrow.pxi
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
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
