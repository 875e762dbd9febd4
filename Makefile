# Every target sets up what it needs; a second run does no set-up work.
PYTHON ?= python3
STACK ?= h100-prod
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready

.PHONY: setup preview test test-long lint bench accuracy mutate schema lock clean
.DEFAULT_GOAL := setup

# A checkout that was copied or moved holds an environment that still points to the old place.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
endif

setup: $(READY)

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is older than 3.11; install Python 3.11 or name one: make PYTHON=python3.11" >&2; exit 2; }
	@rm -f $@
	$(PYTHON) -m venv --clear $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@printf '%s' '$(CURDIR)' > $@

preview: $(READY)
	@$(RUN) -m berth preview --offline --stack $(STACK)

# The programs first, with their progress in sight; without them the tests that need one say so.
test: $(READY)
	-@$(RUN) -m berth tools
	@$(RUN) -m pytest

# What takes too long for every change: `up` interrupted at twenty points.
test-long: $(READY)
	-@$(RUN) -m berth tools
	@BERTH_INTERRUPTIONS=20 $(RUN) -m pytest tests/cluster/test_interrupted_up.py

lint: $(READY)
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy
	@$(VENV)/bin/lint-imports
	@$(RUN) -m berth schema --check
	@$(RUN) -m berth policies docs --check

bench: $(READY)
	@$(RUN) -m tests.bench

# How right the planner is, against logs and figures from outside.
accuracy: $(READY)
	@$(RUN) -m tests.accuracy

# Flips each comparison and boolean of the rules; names those that no test notices.
mutate: $(READY)
	@$(RUN) -m tests.mutation

schema: $(READY)
	@$(RUN) -m berth schema
	@$(RUN) -m berth policies docs

# Pins and hashes anew, without the address of any index.
lock: $(READY)
	$(PYTHON) -m venv .berth/lock
	.berth/lock/bin/pip install --quiet pip-tools
	.berth/lock/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --all-extras \
	  --no-header --no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
	  --output-file requirements.txt pyproject.toml

clean:
	rm -rf $(VENV) .berth build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
