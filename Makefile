# Every target makes the virtual environment it needs; a fresh machine needs only Python and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench docs clean

demo: $(VENV)/installed
	@$(BIN)/manners demo

test: $(VENV)/tested
	$(BIN)/python -m pytest -n auto

check: $(VENV)/checked
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --quiet
	$(MAKE) --no-print-directory test

bench: $(VENV)/tested
	$(BIN)/python -m benchmarks.engine

docs: $(VENV)/checked
	$(BIN)/mkdocs serve

clean:
	rm -rf $(VENV) build dist site *.egg-info src/*.egg-info

# The stamps say what is installed; a changed pyproject.toml installs again.
$(VENV)/installed: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/checked: $(VENV)/tested
	$(BIN)/python -m pip install --quiet --group check
	@touch $@
