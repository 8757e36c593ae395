# Everything a person types. Each target installs what it needs into .venv, at the versions of requirements.lock.

PYTHON ?= python3
BIN := .venv/bin
PEERS := .venv-peers/bin
# At these sizes one BLAS thread is faster, and the same bits come out every time.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1

.PHONY: install serve test check chaos sdk-check bench bench-record bench-endurance bench-peers bench-peers-quick bench-peers-record demo openapi lock lock-peers clean

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	@command -v $(PYTHON) > /dev/null || { echo "$(PYTHON) is not there. Say which Python: make PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Holdfast needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Say which: make PYTHON=..."; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# In ./data, unless the environment names another database.
serve: export HOLDFAST_DATABASE_URL ?= sqlite:///data/holdfast.db
serve: install
	@mkdir -p data
	$(BIN)/holdfast serve

# A file of tests on each core at a time; schemathesis gives its tests one name, of which xdist would run one. Then a
# glance at the comparison with the peers, in their own environment: half a minute, and two more the first time.
test: check
	$(BIN)/pytest -n 2 --dist loadfile --ignore tests/acceptance/test_openapi.py
	$(BIN)/pytest tests/acceptance/test_openapi.py
	$(MAKE) bench-peers-quick

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# kill -9 under load, 100 times on each database, then every other fault five times; about twelve minutes; exit code 1
# if anything was lost.
chaos: install
	$(BIN)/python -m tests.chaos

# The SDK's wheel alone in a fresh environment; then 5,000 decisions and rewards through a bad network and a kill -9. Two minutes.
sdk-check: install
	$(BIN)/python -m tests.client.fresh_install
	$(BIN)/python -m tests.client.delivery

bench: install
	$(BIN)/python -m tests.benchmarks all

# The same, written into BENCHMARKS.md and the README.
bench-record: install
	$(BIN)/python -m tests.benchmarks all --record

# A million decisions through one host: memory, and recovery from snapshot and from the log; about five minutes.
bench-endurance: install
	$(BIN)/python -m tests.benchmarks endurance

# Holdfast beside other libraries, which live in an environment of their own; under half an hour. The page: data/peers.
bench-peers: .venv-peers/installed
	$(PEERS)/python -m tests.benchmarks.peers

# The wrappers' tests with the libraries in them, then few rounds of everything, in under three minutes: shows that it
# runs, not what it says.
bench-peers-quick: .venv-peers/installed
	$(PEERS)/pytest tests/benchmarks/peers/test_peers.py -k "not everything_runs"
	$(PEERS)/python -m tests.benchmarks.peers --quick

# The same as bench-peers, written into PEERS.md and the README.
bench-peers-record: .venv-peers/installed
	$(PEERS)/python -m tests.benchmarks.peers --record

PEER_LOCKS := $(addprefix tests/benchmarks/peers/,requirements.lock requirements-built.lock requirements-sessions.lock)
.venv-peers/installed: requirements.lock pyproject.toml $(PEER_LOCKS)
	$(PYTHON) -m venv .venv-peers
	$(PEERS)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(PEERS)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@missing=; for lock in $(PEER_LOCKS); do \
		$(PEERS)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --require-hashes -r $$lock \
			|| { missing=yes; echo "NOT INSTALLED: $$lock. The tables will say who is missing; the next make tries again."; }; \
	done; [ $$missing ] || touch $@

# A cold-item attack over HTTP on an uninsured and an insured learner; a minute or so, page and pictures in data/demo.
demo: install
	$(BIN)/holdfast simulate demo

# The committed OpenAPI document, after a change of the contract.
openapi: install
	$(BIN)/holdfast openapi > openapi.json

# Needs uv. The second is the part of the first that the container image needs. Names, versions and hashes only, for every platform and Python the project supports.
lock:
	uv pip compile pyproject.toml --extra dev --universal --fork-strategy fewest --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-annotate --no-header --output-file requirements.lock
	uv pip compile pyproject.toml deploy/build.in --extra service --constraint requirements.lock --python-platform linux --python-version 3.12 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		--output-file requirements-service.lock

# Needs uv. What the peers need beyond Holdfast's own lock, which settles the versions they share.
LOCK_PEERS := uv pip compile --constraint requirements.lock --python-version 3.11 --python-platform linux --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header
lock-peers:
	$(LOCK_PEERS) tests/benchmarks/peers/requirements.in --output-file tests/benchmarks/peers/requirements.lock
	$(LOCK_PEERS) tests/benchmarks/peers/requirements-built.in --no-deps --output-file tests/benchmarks/peers/requirements-built.lock
	$(LOCK_PEERS) tests/benchmarks/peers/requirements-sessions.in --constraint tests/benchmarks/peers/requirements.lock \
		--override tests/benchmarks/peers/overrides.txt --output-file tests/benchmarks/peers/requirements-sessions.lock

clean:
	rm -rf .venv .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis
