# Two commands do everything: `make demo` shows the system at work, `make test` proves it.
# Every target sets up .venv by itself when it is missing or when setup.py has changed.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
READY  := $(VENV)/.ready
# The demo needs Spark, the system and TPC-H data: a third of the packages that the tests need.
DEMO_READY := $(VENV)/.ready-demo
SF     ?= 0.1
# Most tests are many small Spark jobs, which keep half a core busy whatever Spark is given: three sessions use two.
JOBS   ?= 3
# Files go to the processes in the order that tests/conftest.py gives them, the longest first.
PYTEST := $(PY) -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --max-worker-restart 3
# Versions for test-spark; the newest patch of each is installed.
SPARK     ?= 3.5 4.0 4.1 4.2 4.3
# What was said of SPARK; test-lakes has a version of its own, if nothing was.
SAID_SPARK := $(if $(filter file,$(origin SPARK)),,$(SPARK))
# One of its suites by name; all, if empty.
SUITE     ?=
BENCH_SF  ?= 0.1,1
BENCH_OUT ?= bench_report

# Compiled modules are kept, whatever the shell says: the tests start sixty programs, which would each compile all of ours.
export PYTHONDONTWRITEBYTECODE :=
# PySpark starts its workers with this interpreter; without it they would take whatever `python3` is.
export PYSPARK_PYTHON := $(abspath $(PY))
export PYSPARK_DRIVER_PYTHON := $(PYSPARK_PYTHON)

.PHONY: help setup demo test test-quick test-long test-cluster test-spark test-lakes test-newcomer check docs format bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo        the paper's store example and a TPC-H query, with their lineage (SF=$(SF))"
	@echo "make test        the tests of a day    make test-quick  under two minutes"
	@echo "make test-long   hours: the cases that make test leaves out, thousands of random queries, scale factor 1, twenty kills"
	@echo "make test-spark  tests under each version of Spark in an environment of its own (SPARK=\"$(SPARK)\")"
	@echo "make test-cluster  a standalone cluster on this machine, what dies on it, half an hour"
	@echo "make test-lakes  Delta, Iceberg, OpenLineage's agent and Comet, which Maven fetches (SPARK=4.1), half an hour"
	@echo "make test-newcomer  pages typed in, from the wheel, in empty environments, fifteen minutes"
	@echo "make check       formatter, linter, types, spelling, long sentences, the pages' links"
	@echo "make docs        the pages as a site, in site/; its search needs a server: python -m http.server -d site"
	@echo "make bench       the paper's experiments and a report on them, hours (BENCH_SF=$(BENCH_SF))"
	@echo "make clean       remove .venv, .venvs and generated data"

setup: $(READY)

$(READY): setup.py pyproject.toml
	@$(call install,.[dev])
	@touch $(DEMO_READY) $@

$(DEMO_READY): setup.py pyproject.toml
	@$(call install,.[tpch])
	@touch $@

# Bytecode is made when a module is first used: half of what is installed never is.
define install
{ $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
  || { echo "forward_lineage needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }; } \
&& { test -x $(PY) || $(PYTHON) -m venv $(VENV); } \
&& echo "installing into $(VENV) …" \
&& $(PY) -m pip install --quiet --disable-pip-version-check --no-compile -e '$(1)'
endef

demo: $(DEMO_READY)
	@$(PY) -m forward_lineage demo --scale $(SF)

test: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m tests.browser
	@$(PYTEST) -m "not long"

# Few of these wait for Spark, and each process reads all tests first: two are done before three.
test-quick: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PYTEST) -n 2 -m "not long and not slow"

# A master, two workers and a driver at a time, 5 GB; test-long has it, too.
test-cluster: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m pytest -n 1 tests/cluster

# Stopped and called again, the first of these goes on where it was.
test-long: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m tests.oracle --queries 5000 --laws 200
	@$(PYTEST) -m long

# What it starts has other interpreters, and other environments are its own.
test-spark: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@JOBS=$(JOBS) $(PY) -m tests.spark_versions $(SPARK) $(if $(SUITE),--suite "$(SUITE)")

# Delta's and Iceberg's own engines, OpenLineage's agent and Comet, fetched with Maven, with each Spark that is named.
test-lakes: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m tests.lakes --tests $(SAID_SPARK)

# From the package index, as somebody who is new has it: each page has an environment of its own, with a PySpark of its own.
test-newcomer: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m tests.newcomer

check: $(READY)
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/typos --format brief
	@$(PY) -m tests.prose
	@$(MAKE) --no-print-directory docs

# Links, anchors and the navigation are checked: a page that leads nowhere fails.
docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

format: $(READY)
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

bench: $(READY)
	@$(PY) -m forward_lineage.spark.java
	@$(PY) -m forward_lineage bench --scale $(BENCH_SF) --output $(BENCH_OUT)

clean:
	rm -rf $(VENV) .venvs .data bench_report site .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
