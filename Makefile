# Everything a developer runs. Each target makes what it needs, starting with `.venv`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ifeq ($(origin PYTHON),command line)
# An environment of another version of Python than the one that was asked for begins anew.
STALE := $(shell test ! -x $(BIN)/python || test "$$($(BIN)/python -V)" = "$$($(PYTHON) -V)" || rm -rf $(VENV))
endif
# What `make pythons` tests: every interpreter from 3.11 on that is on the path, or that pyenv has.
PYTHONS ?= $(shell for minor in 11 12 13 14 15; do command -v python3.$$minor; done; \
  ls -d $(HOME)/.pyenv/versions/3.1[1-9].*/bin/python 2>/dev/null)

# The rooms without I/O, whose own tests must cover them together (branches counted) to this share.
# What each room must be covered to is in tests/floors/rooms.py.
PURE_ROOMS := learners classes littlestone mechanisms budget
PURE_COVERAGE_PERCENT_MIN := 97
# Tests that run the learners millions of times; measured, they would take three times as long.
LAW_TESTS := $(addprefix tests/daemon/learners/,online/test_laws.py \
  online/test_transcripts.py online/test_user_laws.py prediction/test_audit.py \
  prediction/test_answer_laws.py batch/test_laws.py)
PURE_TESTS := $(filter-out $(LAW_TESTS), \
  $(shell find $(addprefix tests/daemon/,$(PURE_ROOMS)) -name 'test_*.py'))

# Rooms that are measured in the process of the test, and those whose tests start processes.
ROOMS := protocol daemon/engine daemon/auditing daemon/laboratory daemon/programs daemon/store
PROCESS_ROOMS := clients daemon/cli daemon/groups daemon/planner daemon/service daemon/configuration
ROOM_TESTS := $(addprefix tests/,$(ROOMS))
PROCESS_ROOM_TESTS := $(addprefix tests/,$(PROCESS_ROOMS))

# Tests run in so many processes, one for each core, and one more where many wait for daemons; each
# part is stopped at its limit, which a machine half as fast as the usual one does not reach.
TEST_PROCESSES := 2
OTHER_TEST_PROCESSES := 3
PURE_TEST_SECONDS ?= 1200
ROOM_TEST_SECONDS ?= 1500
OTHER_TEST_SECONDS ?= 1800
LONG_TEST_SECONDS ?= 2700
PROCESS_TEST_SECONDS ?= 3600
CLUSTER_TEST_SECONDS ?= 1500
SLOWEST_TESTS := 15
limit = $(if $(shell command -v timeout),timeout --foreground --signal=INT --kill-after=15 $(1))
PYTEST_OPTIONS := --durations=$(SLOWEST_TESTS) --durations-min=0.5 --dist=worksteal
# `make test` leaves out what takes seconds: an eighth of the tests, and more than half of the time.
QUICK := -m "not long and not campaign and not cluster"
LONG := -m "long and not campaign and not cluster"

# What `make benchmarks` runs, and the service after them.
BENCHMARKS := addresses batch engine evasion feeding groups journal learning marks moving postgres prediction real registers retrain rows separation sources streams tables users values

# Tests start many processes: what these import is compiled once, even where the environment says not
# to keep it. An empty value counts as none.
pure-tests other-tests coverage test-long test-cluster floors campaign: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help venv demo test lint types docs pure-tests other-tests coverage test-long test-cluster floors campaign pythons mutants benchmarks dist sbom audit-dependencies test-container clean

help:
	@echo "make demo        a daemon on a real stream, in a temporary folder"
	@echo "make test        lint, types, most tests (lint, types, docs, pure-tests, other-tests)"
	@echo "make test-long   the tests that take seconds each: laws, tutorials, whole programs"
	@echo "make lint        ruff: rules and format"
	@echo "make types       mypy, strict"
	@echo "make docs        the pages as a site, in build/site; ends where a link or a name is wrong"
	@echo "make pure-tests  tests of the rooms without I/O that are not long"
	@echo "make other-tests every other test that is not long"
	@echo "make coverage    tests that need no process of their own once more, with a floor on the coverage of each room"
	@echo "make test-cluster  tests that need servers of their own, such as etcd; says which are missing"
	@echo "make floors      the floors of all rooms, also where tests start processes; takes longest"
	@echo "make campaign    the long runs, hours; goes on where it was killed; CAMPAIGNS='simulation=500 tests'"
	@echo "make pythons     make test and test-long with every Python from 3.11 on that is found here"
	@echo "make mutants     plants faults in a copy, one by one, and shows which test notices each"
	@echo "make benchmarks  every benchmark, one after the other"
	@echo "make sbom        dist/littled.cdx.json: what an installation consists of, as CycloneDX"
	@echo "make audit-dependencies  known vulnerabilities of what is installed, where the data can be reached"
	@echo "make test-container  the image, the compose file and the manifest, run and killed; as root, with buildah and podman"
	@echo "make dist        source archive, wheel and SHA256SUMS in dist/, the same bytes wherever they are made"
	@echo "make venv        .venv with everything installed; PYTHON=... chooses the interpreter"
	@echo "make clean       removes everything that was made"

venv: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is not Python 3.11 or later; name one with make PYTHON=python3.x" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[audit,demo,docs,gallery,parquet,test]'
	@touch $@

demo: venv
	$(BIN)/littled demo

# What runs no tests needs one core, so two such are done side by side. Types take the longest where
# nothing is cached; beside them are then tests that ask no clock.
test:
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target types lint docs pure-tests
	$(MAKE) --no-print-directory other-tests

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: venv
	$(BIN)/mypy

docs: venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pure-tests: venv
	$(call limit,$(PURE_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) \
	  --numprocesses=$(TEST_PROCESSES) $(QUICK) $(PURE_TESTS)

other-tests: venv
	$(call limit,$(OTHER_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) \
	  --numprocesses=$(OTHER_TEST_PROCESSES) $(QUICK) $(addprefix --ignore=,$(PURE_TESTS))

# The same tests take twice as long when they are measured, so `make test` does not measure.
coverage: venv
	$(call limit,$(PURE_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) \
	  --numprocesses=$(TEST_PROCESSES) $(QUICK) --cov --cov-report=term \
	  --cov-report=json:.coverage.pure.json --cov-fail-under=$(PURE_COVERAGE_PERCENT_MIN) $(PURE_TESTS)
	PYTHONPATH=tests $(BIN)/python -m floors pure
	$(call limit,$(ROOM_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) \
	  --numprocesses=$(TEST_PROCESSES) $(QUICK) --cov --cov-config=tests/floors/rooms.ini \
	  --cov-report=json $(ROOM_TESTS)
	PYTHONPATH=tests $(BIN)/python -m floors rooms

# Half a minute each on two busy cores; a slower machine needs several times as long.
test-long: venv
	$(call limit,$(LONG_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) $(LONG) \
	  --timeout=300 --numprocesses=$(OTHER_TEST_PROCESSES) tests

test-cluster: venv
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cluster]'
	$(BIN)/python tests/support/servers.py check
	$(call limit,$(CLUSTER_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) -m cluster -rs \
	  --numprocesses=$(TEST_PROCESSES) tests

# Measured, tests take longer, so each has ten times its time; and some that hold the program to times
# fail. Whether a test passes is for the other targets to say, so here only the floors count.
floors: coverage
	rm -f .coverage.processes*
	-$(call limit,$(PROCESS_TEST_SECONDS)) $(BIN)/python -m pytest $(PYTEST_OPTIONS) \
	  --numprocesses=$(TEST_PROCESSES) --timeout=900 -o faulthandler_timeout=1000 \
	  --cov --cov-config=tests/floors/processes.ini --cov-report=json $(PROCESS_ROOM_TESTS)
	PYTHONPATH=tests $(BIN)/python -m floors processes

# Without atheris or the packages of a cluster their campaigns fail, and say why.
campaign: venv
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cluster,fuzz]'
	PYTHONPATH=tests $(BIN)/python -m campaigns $(CAMPAIGNS)

pythons:
	@seen=; for python in $(PYTHONS); do \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue; \
	  case " $$seen " in *" $$version "*) continue;; esac; seen="$$seen $$version"; \
	  echo "== $$python, Python $$version"; \
	  $(MAKE) test test-long PYTHON="$$python" VENV=".pythons/$$version" || exit 1; \
	done

mutants: venv
	PYTHONPATH=tests $(BIN)/python -m mutants

benchmarks: venv
	@for benchmark in $(BENCHMARKS); do \
	  echo "== benchmarks.$$benchmark"; $(BIN)/python -m benchmarks.$$benchmark || exit 1; \
	done
	@echo "== benchmarks.service"; $(BIN)/python -m benchmarks.service --quiet

# Dates and permissions in the archives are fixed, so they say nothing of who built them and when.
dist: venv
	@test -z "$$(git status --porcelain)" || \
	  { echo "make dist: commit or remove first what git status shows" >&2; exit 1; }
	rm -rf dist
	env -u SOURCE_DATE_EPOCH $(BIN)/python -m build --no-isolation --outdir dist .
	cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

# An environment of what users install, and nothing else.
build/runtime: pyproject.toml | venv
	rm -rf build/runtime
	$(BIN)/python -m venv --without-pip build/runtime
	$(BIN)/python -m pip --python build/runtime/bin/python install --quiet --disable-pip-version-check .

sbom: build/runtime
	mkdir -p dist
	env -u SOURCE_DATE_EPOCH $(BIN)/cyclonedx-py environment --pyproject pyproject.toml \
	  --output-reproducible --validate --output-file dist/littled.cdx.json build/runtime

# Fails on findings. Data that cannot be reached say nothing, and fail nothing.
audit-dependencies: build/runtime
	@rm -f build/audit.json; \
	$(BIN)/pip-audit --timeout 15 --progress-spinner off --format json --output build/audit.json \
	  --path build/runtime/lib/python*/site-packages 2> build/audit.txt; status=$$?; \
	if ! grep -qs '"vulns"' build/audit.json; then \
	  echo "make audit-dependencies: data on vulnerabilities cannot be reached, so nothing was checked" >&2; \
	else cat build/audit.txt >&2; exit $$status; fi

test-container: venv
	LITTLED_CONTAINER=1 $(BIN)/python -m pytest -m campaign -o faulthandler_timeout=1900 tests/test_container.py

clean:
	rm -rf .venv .pythons build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find benchmarks clients daemon protocol tests -name __pycache__ -type d -prune -exec rm -rf {} +
