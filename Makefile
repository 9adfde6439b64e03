# Everything runs in .venv, made from python3 and the pinned requirements.lock.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
PYTEST_ARGS ?=

.PHONY: install dev test lint format bench lock schema clean deploy destroy key require-project

install: .venv/installed

.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Mnemosyne needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make install PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

dev: install
	@exec $(BIN)/mnemosyne dev $(ARGS)

test: install
	$(BIN)/pytest -n 2 --dist loadfile $(PYTEST_ARGS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy functions infra tests $(wildcard benchmarks)

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	@for benchmark in benchmarks/[a-z]*.py; do $(BIN)/python $$benchmark || exit 1; done

# Resolve anew: requirements.lock for development, functions/requirements.txt for the deployed archive.
lock:
	$(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --extra local --extra dev pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate --constraint requirements.lock pyproject.toml --output-file functions/requirements.txt

# The sum of the migrations, for reading.
schema: install
	$(BIN)/python -m infra.local.schema > infra/schema.sql.new && mv infra/schema.sql.new infra/schema.sql

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache

TERRAFORM := terraform -chdir=terraform
require-project:
	@test -n "$(PROJECT)" || { echo "Say which project: make $(firstword $(MAKECMDGOALS)) PROJECT=my-project-id" >&2; exit 1; }

# The deployment, from this machine.
deploy: require-project
	gcloud services enable cloudresourcemanager.googleapis.com serviceusage.googleapis.com --project="$(PROJECT)"
	gcloud storage buckets describe "gs://$(PROJECT)-terraform" >/dev/null 2>&1 || gcloud storage buckets create "gs://$(PROJECT)-terraform" --project="$(PROJECT)" --uniform-bucket-level-access --public-access-prevention
	$(TERRAFORM) init -input=false -reconfigure -backend-config="bucket=$(PROJECT)-terraform"
	$(TERRAFORM) apply -var="project=$(PROJECT)" $(ARGS)

# An API key for the deployment; only its hash leaves this machine.
key: require-project install
	@$(BIN)/mnemosyne keys create --project "$(PROJECT)" --region "$$($(TERRAFORM) output -raw region)" --deployment "$$($(TERRAFORM) output -raw name)" --name "$(or $(NAME),$(shell whoami))" $(ARGS)

destroy: require-project
	@printf 'This destroys every memory in $(PROJECT). Type the project to go on: ' && read answer && test "$$answer" = "$(PROJECT)"
	$(TERRAFORM) init -input=false -reconfigure -backend-config="bucket=$(PROJECT)-terraform"
	$(TERRAFORM) apply -var="project=$(PROJECT)" -var="deletion_protection=false" -target=google_sql_database_instance.this
	$(TERRAFORM) destroy -var="project=$(PROJECT)" -var="deletion_protection=false"
