"""`make deploy`, `make key` and `make destroy` with the real gcloud and the real terraform."""

import json
import re
from typing import Any

import pytest

from tests.dev import run
from tests.fakes_wire.google.apis import PROJECT, failed
from tests.terraform.gcloud_operator import Operator, Scripts
from tests.terraform.workspace import ROOT

pytestmark = pytest.mark.slow

DEPLOY = (ROOT / "infra/deploy/deploy").read_text()
KEY = "projects/keys/locations/us-east1/keyRings/r/cryptoKeys/k"


def test_a_deployment_is_created_checked_gets_a_key_and_is_destroyed(operator: Operator) -> None:
    """The deployment is an environment with its own variables and key, and its state is in another bucket."""
    operator.environment["STATE_BUCKET"] = "acme-states"
    terraform = operator.clone / "terraform"
    (terraform / "terraform.tfvars").write_text('region = "us-central1"\nlabels = { team = "memory" }\n')
    own_variables = f'name = "stage"\nregion = "us-east1"\nkms_key = "{KEY}"\n'
    (terraform / "environments/staging.tfvars").write_text(own_variables)
    completed = operator.make("deploy", "ARGS=-auto-approve", "ENV=staging")
    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr[-2000:]
    apis = operator.apis
    (bucket,) = apis.buckets.known.values()
    assert (bucket.name, bucket.location, bucket.versioned) == ("acme-states", "US-EAST1", True)
    assert bucket.settings["encryption"] == {"defaultKmsKeyName": KEY}
    agent = "serviceAccount:service-123456789012@gs-project-accounts.iam.gserviceaccount.com"
    assert apis.key_grants == [{"role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "members": [agent]}]
    (check,) = apis.executions  # only the check; the migration is a job, which is run without gcloud
    assert "/locations/us-east1/workflows/stage-check/" in check
    assert 'The deployment works: SUCCEEDED\t{"mcp": {"status": "ok"}}' in completed.stderr
    ((name, state),) = bucket.objects.items()
    assert name == "stage/default.tfstate"
    outputs = {output: value["value"] for output, value in json.loads(state)["outputs"].items()}
    assert outputs["region"] == "us-east1"
    assert outputs["console_url"] + "mcp" == outputs["mcp_url"]
    assert b'"team": "memory"' in state  # terraform.tfvars is for all environments

    key = operator.make("key", "NAME=me", "ENV=staging")
    assert key.returncode == 0, key.stderr
    assert key.stdout.startswith("mnk_")
    ((action, arguments),) = operator.operations
    assert (action, arguments["name"]) == ("key_create", "me")
    assert key.stdout.split()[0].rpartition("_")[2] not in json.dumps(arguments)  # only the hash of the key is sent

    apis.peerings["stage"] = ["servicenetworking-googleapis-com"]
    destroyed = operator.make("destroy", "ARGS=-auto-approve", "ENV=staging", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert apis.peerings["stage"] == []
    assert json.loads(bucket.objects[name])["resources"] == []
    assert not (terraform / "modules/mnemosyne/allow_destroy_override.tf").exists()
    # Without the grants of Google's agents, other deployments of the project would stop.
    assert 'google_kms_crypto_key_iam_member.migrate["roles/cloudkms.viewer"]: Destroying' in destroyed.stdout
    assert not re.search(r"_iam_member\.agents\S+: Destroying", destroyed.stdout)


AGENTS = "module.mnemosyne.google_project_iam_member.agents"
DATABASE = "module.mnemosyne.google_sql_database_instance.this"
STATEFUL_TERRAFORM = f"""case "$2 $3" in
"state list") cat state ;;
"state rm") echo "$4" >> removed ;;
"apply -refresh-only") [ ! -e deleted ] || : > state ;;
apply*) echo "$5" >> applied; echo '{AGENTS}["pubsub"]' >> state ;;
esac"""


@pytest.fixture
def destroying(scripts: Scripts) -> Scripts:
    """Scripts with a fake terraform whose state has a database."""
    scripts.program("gcloud", "echo 123456789012")
    scripts.program("terraform", STATEFUL_TERRAFORM)
    (scripts.home / "state").write_text(f"{DATABASE}\n")
    return scripts


def _destroy(scripts: Scripts) -> None:
    completed = scripts.run("bash infra/deploy/destroy", answer=f"{PROJECT}\n")
    assert completed.returncode == 0, completed.stderr


def test_make_destroy_keeps_the_grants_that_its_own_apply_adds(destroying: Scripts) -> None:
    """The state of an earlier version lacks these grants, and the apply before the destroy adds them."""
    _destroy(destroying)
    assert (destroying.home / "removed").read_text() == f"{AGENTS}\n"


@pytest.mark.parametrize(
    ("file", "text", "applied"),
    [("state", f"{DATABASE}\n", True), ("deleted", "", False), ("state", "", False)],
    ids=["it exists", "somebody has deleted it", "it was never created"],
)
def test_make_destroy_does_not_create_a_database(destroying: Scripts, file: str, text: str, *, applied: bool) -> None:
    (destroying.home / file).write_text(text)
    _destroy(destroying)
    assert (destroying.home / "applied").exists() is applied


def test_the_next_command_removes_what_a_killed_destroy_left(scripts: Scripts) -> None:
    override = scripts.home / "terraform/modules/mnemosyne/allow_destroy_override.tf"
    override.touch()
    scripts.run("true")
    assert not override.exists()


def test_make_destroy_needs_the_project_s_name_as_confirmation(destroying: Scripts) -> None:
    completed = destroying.run("bash infra/deploy/destroy", answer="yes\n")
    assert completed.returncode != 0
    assert completed.stderr.endswith("Nothing was destroyed.\n")
    assert not (destroying.home / "applied").exists()


def _failure(deployment: str, timestamp: str, error: str) -> dict[str, Any]:
    """The log entry of a failed migration."""
    resource = {"type": "cloud_run_job", "labels": {"job_name": f"{deployment}-migrate"}}
    payload = {"event": "migration_failed", "error": error}
    return {"timestamp": timestamp, "resource": resource, "jsonPayload": payload, "insertId": timestamp}


def test_the_cause_of_a_failed_migration_is_that_of_the_deployment_s_last_run(checks: Scripts) -> None:
    checks.apis.log = [
        _failure("mnemosyne", "2000-01-01T00:00:00Z", "earlier"),
        _failure("mnemosyne", "2999-01-01T00:00:00Z", "42P07"),
        _failure("mnemosyne-2", "2999-01-01T00:00:01Z", "another deployment"),
    ]
    assert '|| {\n    status=$?\n    explain_failed_migration "$STARTED"\n    exit "$status"\n}' in DEPLOY
    completed = checks.run("explain_failed_migration 2026-01-01T00:00:00Z")
    assert completed.stderr == "The migration failed: 42P07\n"
    checks.apis.log = []  # the apply failed before the migration
    assert checks.run("explain_failed_migration 2026-01-01T00:00:00Z").stderr == ""


UNSOUND = 'RuntimeError: "These functions do not work: [\\"ingest\\"]"'


@pytest.mark.parametrize(
    ("workflows", "reason"),
    [
        ({"mnemosyne-check": lambda _: failed(UNSOUND, UNSOUND)}, "These functions do not work"),
        ({}, "The check cannot run."),
    ],
    ids=["a function does not work", "there is no workflow"],
)
def test_make_deploy_says_how_to_roll_back_if_the_deployment_does_not_work(
    checks: Scripts, workflows: dict[str, Any], reason: str
) -> None:
    checks.apis.workflows = workflows
    completed = checks.run("check_deployment")
    assert completed.returncode != 0
    assert "The new version does not work" in completed.stderr
    assert reason in completed.stderr
    command = f"update-traffic mnemosyne-mcp --to-revisions=REVISION=100 --region=europe-west1 --project={PROJECT}"
    assert command in completed.stderr


@pytest.mark.parametrize(("refused", "status"), [("", 0), ("a-auth", 1)])
def test_make_deploy_turns_off_the_invoker_check_of_each_function_of_open_commands(
    scripts: Scripts, refused: str, status: int
) -> None:
    scripts.program("terraform", """echo '["gcloud run services update a-mcp","gcloud run services update a-auth"]'""")
    scripts.program("gcloud", 'echo "$@"; [ "$4" != "$REFUSED" ]')
    assert DEPLOY.endswith("\nopen_functions\ncheck_deployment\n")
    completed = scripts.run("open_functions", REFUSED=refused)
    assert completed.returncode == status
    calls = completed.stderr.splitlines()
    assert calls[:2] == [f"run services update a-{name} --quiet" for name in ("mcp", "auth")]
    assert [f"failed: gcloud run services update {refused}. " in line for line in calls[2:]] == [True] * status


@pytest.mark.parametrize("disabled", ["true", "false"])
@pytest.mark.parametrize("mode", ["iam", "api_key"])
def test_make_deploy_turns_on_the_invoker_check_if_mcp_relies_on_it(scripts: Scripts, mode: str, disabled: str) -> None:
    service = {"metadata": {"annotations": {"run.googleapis.com/invoker-iam-disabled": disabled}}}
    scripts.program("gcloud", f"echo \"$3 $4 $7\" >> calls\necho '{json.dumps(service)}'")
    scripts.tfvars.write_text(f'auth_mode = "{mode}"\n')
    assert "\nturn_on_invoker_check\nSTARTED" in DEPLOY
    assert scripts.run("turn_on_invoker_check").returncode == 0
    calls = scripts.home / "calls"
    made = [line for line in calls.read_text().splitlines() if "update" in line] if calls.exists() else []
    assert made == ["update mnemosyne-mcp --invoker-iam-check"] * ((mode, disabled) == ("iam", "true"))


@pytest.mark.parametrize(
    ("state", "service", "refused"),
    [("", "mnemosyne-mcp", True), ("", "", False), ("random_id.database", "mnemosyne-mcp", False)],
)
def test_make_deploy_refuses_a_deployment_whose_state_is_missing(
    scripts: Scripts, state: str, service: str, *, refused: bool
) -> None:
    for program, answer in (("terraform", state), ("gcloud", service)):
        scripts.program(program, f'[ -n "{answer}" ] || exit 1\necho {answer}')
    assert "\nterraform_init\ncheck_state\n" in DEPLOY
    completed = scripts.run("check_state")
    assert completed.returncode == refused
    assert ("gs://my-project-terraform/mnemosyne has no state of it" in completed.stderr) == refused


@pytest.mark.parametrize(
    ("workflows", "messages"),
    [
        ({"mnemosyne-operate": lambda _: failed({"code": 403}, "permission denied")}, ["the deployment refused"]),
        (
            {},
            [
                "gcloud could not call the deployment",
                f"There is no deployment mnemosyne in europe-west1 of {PROJECT}: give --project, --region and",
            ],
        ),
    ],
    ids=["the workflow fails", "there is no workflow"],
)
def test_a_key_that_could_not_be_stored_is_not_shown(
    checks: Scripts, workflows: dict[str, Any], messages: list[str]
) -> None:
    checks.apis.workflows = workflows
    completed = run("keys", "create", "--project", PROJECT, "--name", "me", **checks.environment)
    assert completed.returncode != 0
    assert "mnk_" not in completed.stdout
    printed = " ".join(completed.stderr.split())
    assert [message for message in messages if message not in printed] == []
