# `make fuzz` and `make test` do all the set-up they need; the second time they start at once.
PYTHON ?= python3
SEED ?= 1
MINUTES ?= 1
CORPUS ?= corpus
BACKENDS ?= numpy jax jax-eager jax-pmean flax flax-slow-variance mxnet mxnet-scratch mxnet-gluon
VENV := .venv
BIN := $(VENV)/bin
TEST_JOBS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: env fuzz test lint clean

env: $(VENV)/main.ready mxnet

$(VENV)/main.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, this is {v[0]}.{v[1]}; set PYTHON=")'
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing bnfuzz, JAX, Flax, the plots and the test tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[flax,report,distributed,test]'
	@touch $@

# MXNet has an environment of its own. Where it cannot be made, the reason is shown and the rest runs.
.PHONY: mxnet
mxnet: $(VENV)/main.ready
	@$(BIN)/bnfuzz backends install mxnet || echo "going on without MXNet"

# Those of these backends take part that can run here; the rest is named with the reason.
fuzz: env
	$(BIN)/bnfuzz fuzz --minutes $(MINUTES) --seed $(SEED) --corpus $(CORPUS) $(addprefix --backend ,$(BACKENDS))

lint: $(VENV)/main.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: env lint
	$(BIN)/python -m pytest -n $(TEST_JOBS) --dist loadfile --no-loadscope-reorder

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
