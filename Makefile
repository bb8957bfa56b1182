# SPDX-License-Identifier: Apache-2.0
# Every target makes what it needs. `make` alone lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LAB    ?= lab
PYTEST := $(BIN)/pytest
export LAB

# The lab's programs run long: their byte code is worth writing.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

demo: venv ## lab up, operator on, a pool to Ready, a node drained, everything asserted (KEEP=1 leaves it up; TARGET=1: placed; IMAGE=1: in a container)
	$(BIN)/python tests/e2e/demo.py

test: lint sanity docs test-unit test-explorer test-plays test-versions test-chart test-image test-lab ## everything: checks, then the tests, fast ones first

# Two processes more than there are processors: some tests wait.
test-unit: venv ## the tests that need nothing but Python
	$(PYTEST) --numprocesses=$$(( $$(nproc) + 2 )) --dist=worksteal tests/unit

test-explorer: venv ## every order of more events in two and three pools than the unit tests have time for
	PYTHONPATH=collections:tests $(BIN)/python -m unit.explorer.several_pools 2 1 5
	PYTHONPATH=collections:tests $(BIN)/python -m unit.explorer.several_pools 2 2 4
	PYTHONPATH=collections:tests $(BIN)/python -m unit.explorer.several_pools 3 2 3

test-plays: venv ## the tests that run Ansible, and still need no cluster
	$(PYTEST) tests/plays

test-versions: venv ## the tests of plays again, with each release of ansible-core that the collection supports
	$(BIN)/python tools/ansible_versions.py

test-chart: venv ## the chart, linted and rendered by Helm, which is built at the first run
	$(PYTEST) tests/chart

test-image: venv ## the container image, built, looked into and run, and the demo with it, by an engine of its own or DOCKER_HOST's
	LAB= $(PYTEST) --durations=5 tests/image

test-molecule: venv ## each role by itself, and a whole pool, against a real Kubernetes and a real Nova
	$(BIN)/python tests/run_against_lab.py -- molecule test --all

test-lab: venv ## all tests against a real Kubernetes and a real Nova, Molecule's and the demo among them
	$(BIN)/python tests/run_against_lab.py

lint: venv ## formatting, lint, types, direction of imports, Ansible's own rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=operator:collections $(BIN)/lint-imports
	$(BIN)/yamllint --strict .
	$(BIN)/ansible-lint --offline

sanity: venv ## ansible-test's own rules and the units of the collection, on a copy of it, with each Python
	$(BIN)/python tools/sanity.py

docs: venv ## the documentation as a site in build/site; fails for a link that leads nowhere
	$(BIN)/mkdocs build --strict --quiet

reference: venv ## write the generated pages of the documentation anew
	$(BIN)/python docs/reference.py --write
	$(BIN)/python docs/conditions.py --write
	$(BIN)/python crds/reference.py --write

bench: venv ## what passes cost and what the operator keeps up with, in a lab of its own (PARTS=abcde, KEEP=1)
	LAB=bench $(BIN)/python tests/bench/bench.py

lab: venv ## bring the lab up: Kubernetes and OpenStack on this machine (TARGET=1: and a target cluster)
	$(BIN)/python lab/lab.py up $(if $(TARGET),--targets $(TARGET))

lab-down: venv ## take the lab away
	$(BIN)/python lab/lab.py down

wheel: venv ## the product as one wheel, in dist/
	$(BIN)/hatchling build --target wheel

image: ## the container image; needs docker. BASE=... builds on another Debian than the pinned one
	docker build $(BUILD_FLAGS) $(if $(BASE),--build-arg BASE=$(BASE)) --build-arg REVISION=$$(git rev-parse HEAD) \
	  --tag nova-compute-operator:$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) .

lock: $(BIN)/uv ## resolve the dependencies anew into requirements/
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' pyproject.toml -o requirements/product.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --extra dev pyproject.toml -o requirements/dev.txt
	echo hatchling | $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command 'make lock' --constraint requirements/dev.txt - -o requirements/build.txt

venv: $(VENV)/.done

$(BIN)/uv: requirements/uv.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	@touch $@

$(VENV)/.done: $(BIN)/uv requirements/dev.txt pyproject.toml
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes --compile-bytecode requirements/dev.txt requirements/uv.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

clean: ## forget the environment and every cache of this tree
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .ansible build dist

.PHONY: help demo test test-unit test-explorer test-plays test-versions test-chart test-image test-molecule test-lab lint sanity docs reference bench lab lab-down wheel image lock venv clean
