# make demo and make test do all the set-up they need. Variables:
#   PYTHON=python3.12   interpreter to use      VENV=.venv         virtual environment
#   DURATION=20         seconds of the demo     PYTEST_ARGS='-x'   arguments of the tests
#   VIEW=1              the demo in a web browser, too
#   BENCH_ARGS='--only stacks'   arguments of the benchmark
#   MUTANTS='--since main'       arguments of the mutation tests
#   CLOCKS='2 1e9'      monotonic clocks [s] of the tests at other times
#   PROCESSORS=own,AVX2  settings for which docs runs the tutorials (test/support/processors.py)
#   ROS=kilted          distribution to take wheels of, where no ROS 2 is sourced (default: jazzy)
ROS ?=
VENV ?= .venv$(addprefix -,$(filter-out jazzy,$(ROS)))
PYTHON ?=
DURATION ?=
VIEW ?=
PYTEST_ARGS ?=
BENCH_ARGS ?=
MUTANTS ?=
CLOCKS ?=
PROCESSORS ?= own,AVX2
export VENV PYTHON ROS

# Nothing that is started here talks to other machines.
export ROS_AUTOMATIC_DISCOVERY_RANGE = LOCALHOST
ifeq ($(ROS_DISTRO),humble)
export ROS_LOCALHOST_ONLY = 1
endif

IN_VENV = . '$(VENV)/bin/activate' && exec
VISER = $(shell sed -n 's/^\(viser[^ ]*\).*/\1/p' requirements/develop.txt)

.PHONY: help demo test clocks aarch64 mutants coverage bench tables docs lint setup clean

help:
	@echo 'make demo    simulated arm, model state and wrench estimate, compared with the truth'
	@echo 'make test    the test suite; make docs tests the tutorials and the site'
	@echo 'make clocks  the tests that read clocks, with clocks that start at other times'
	@echo 'make aarch64 the tests of the core on an emulated 64-bit ARM processor'
	@echo 'make mutants which changes of the package its tests find (CONTRIBUTING.md)'
	@echo 'make coverage which lines and branches the tests run, into build/coverage'
	@echo 'make bench   speed against others and of the nodes, into benchmarks/results'
	@echo 'make tables  the tables of README.md and doc/ from benchmarks/results'
	@echo 'make docs    the site, into build/docs; runs the tutorials'
	@echo 'make lint    style and types'
	@echo 'make setup   only the set-up, which the others do by themselves'
	@echo 'make clean   remove everything that was made here'
	@sed -n '2,9s/^# */    /p' Makefile

demo:
	@tools/setup.sh run
	@$(if $(VIEW),$(IN_VENV) python -m pip install -q '$(VISER)')
	@$(IN_VENV) python -m screw_dynamics_ros demo $(if $(DURATION),--duration $(DURATION)) $(if $(VIEW),--view)

test:
	@tools/setup.sh all
	@$(IN_VENV) python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

clocks:
	@tools/setup.sh all
	@$(IN_VENV) python tools/clocks.py $(if $(CLOCKS),--clocks '$(CLOCKS)') $(PYTEST_ARGS)

# Takes hours without PYTEST_ARGS, such as test/core/robot/test_recorded_programs.py.
aarch64:
	@tools/setup.sh all
	@$(IN_VENV) python tools/aarch64.py -m pytest -q $(or $(PYTEST_ARGS),test/core)

mutants:
	@tools/setup.sh all
	@$(IN_VENV) python -m tools.mutants $(MUTANTS)

coverage:
	@tools/setup.sh all
	@$(IN_VENV) python -m tools.coverage_of_tests

bench:
	@tools/setup.sh all
	@$(IN_VENV) python benchmarks/run.py $(BENCH_ARGS)

# The tables of README.md and of pages in doc/, most of them from what bench has written.
tables:
	@tools/setup.sh all
	@$(IN_VENV) python tools/pages.py

# The site in build/docs, once the tutorials print what they show, here and with the settings of
# another processor; what has not changed since the
# last time is kept.
docs:
	@tools/setup.sh all
	@$(IN_VENV) env "PROCESSORS=$(PROCESSORS)" TUTORIALS=1 python -m pytest -q -n 2 --dist load test/doc/test_tutorials.py
	@($(IN_VENV) sphinx-build -q -j auto -W --keep-going -d build/doctrees doc build/docs) \
		|| { rm -rf build/doctrees; exit 1; }  # it would not repeat warnings
	@$(IN_VENV) env SITE=build/docs python -m pytest -q test/doc/test_site.py
	@echo 'build/docs/index.html'

lint:
	@tools/setup.sh all
	@$(IN_VENV) sh -c 'ruff check . && ruff format --check . && mypy'

setup:
	@tools/setup.sh all

# An environment that the set-up did not make is left alone.
clean:
	@if [ -d '$(VENV)/setup' ]; then rm -rf '$(VENV)' '$(VENV).lock'; fi
	rm -rf build install log dist results doc/gallery doc/reference/api *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path './.*' -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
