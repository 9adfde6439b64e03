"""`make deploy`, `make key` and `make destroy` with the real gcloud and the real terraform."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT, GoogleApis, failed
from tests.fakes_wire.google.environment import gcloud_environment
from tests.fakes_wire.google.errors import refused
from tests.terraform.gcloud_operator import BUCKET, Operator
from tests.terraform.workspace import ROOT

pytestmark = pytest.mark.slow


def migration_failure(deployment: str, timestamp: str, error: str) -> dict[str, Any]:
    """The log entry of a failed migration."""
    resource = {"type": "cloud_run_job", "labels": {"job_name": f"{deployment}-migrate"}}
    payload = {"event": "migration_failed", "error": error}
    return {"timestamp": timestamp, "resource": resource, "jsonPayload": payload, "insertId": timestamp}


UNSOUND = 'RuntimeError: "These functions do not work: [\\"ingest\\"]"'


def assert_says_how_to_roll_back(completed: subprocess.CompletedProcess[str]) -> None:
    """Assert that `make deploy` failed after the apply, because the deployment does not work."""
    assert completed.returncode != 0
    assert "The new version does not work" in completed.stderr
    assert f"update-traffic mnemosyne-mcp --to-revisions=REVISION=100 --region=europe-west1 --project={PROJECT}" in (
        completed.stderr
    )


def test_a_deployment_is_created_checked_gets_a_key_and_is_destroyed(operator: Operator) -> None:
    completed = operator.deploy()
    assert completed.returncode == 0, completed.stdout[-2000:] + completed.stderr[-2000:]
    apis = operator.apis
    bucket = apis.buckets.known[BUCKET]
    assert (bucket.location, bucket.versioned) == ("EUROPE-WEST1", True)
    (check,) = apis.executions  # only the check; the migration is a job, which is run without gcloud
    assert "/workflows/mnemosyne-check/" in check
    assert 'The deployment works: SUCCEEDED\t{"mcp": {"status": "ok"}}' in completed.stderr
    state = operator.state_of()
    assert state["resources"]
    assert state["outputs"]["console_url"]["value"] + "mcp" == state["outputs"]["mcp_url"]["value"]

    # If the policy is created after the grant to allUsers, the grant stays. So `make deploy` continues.
    apis.org_policies["iam.managed.allowedPolicyMembers"] = [{"enforce": True}]
    apis.workflows["mnemosyne-check"] = lambda argument: failed(UNSOUND, UNSOUND)
    again = operator.preflight()
    assert "No changes" in again.stdout, again.stdout[-2000:]
    assert_says_how_to_roll_back(again)
    assert "These functions do not work" in again.stderr

    key = operator.make("key", "NAME=me")
    assert key.returncode == 0, key.stderr
    assert key.stdout.startswith("mnk_")
    ((action, arguments),) = operator.operations
    assert (action, arguments["name"]) == ("key_create", "me")
    assert key.stdout.split()[0].rpartition("_")[2] not in json.dumps(arguments)  # only the hash of the key is sent

    apis.peerings["mnemosyne"] = ["servicenetworking-googleapis-com"]
    destroyed = operator.make("destroy", "ARGS=-auto-approve", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert apis.peerings["mnemosyne"] == []
    assert operator.state_of()["resources"] == []
    assert not (operator.clone / "terraform/modules/mnemosyne/allow_destroy_override.tf").exists()


@pytest.mark.nightly
def test_make_destroy_keeps_the_grants_of_google_s_agents_that_other_resources_use(operator: Operator) -> None:
    """Without the grants, other deployments of the project would stop."""
    key = "projects/keys/locations/europe-west1/keyRings/r/cryptoKeys/k"
    (operator.clone / "terraform/terraform.tfvars").write_text(f'kms_key = "{key}"\n')
    assert operator.deploy().returncode == 0
    destroyed = operator.make("destroy", "ARGS=-auto-approve", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert 'google_kms_crypto_key_iam_member.migrate["roles/cloudkms.viewer"]: Destroying' in destroyed.stdout
    assert not re.search(r"_iam_member\.agents\S+: Destroying", destroyed.stdout)
    assert operator.state_of()["resources"] == []


AGENTS = "module.mnemosyne.google_project_iam_member.agents"
DATABASE = "module.mnemosyne.google_sql_database_instance.this"
STATEFUL_TERRAFORM = f"""case "$2 $3" in
"state list") cat state ;;
"state rm") echo "$4" >> removed ;;
"apply -refresh-only") [ ! -e deleted ] || : > state ;;
apply*) echo "$5" >> applied; echo '{AGENTS}["pubsub"]' >> state ;;
esac"""


@pytest.fixture
def destroying(tmp_path: Path) -> Path:
    """A directory with a copy of `infra/deploy`, and with a fake terraform whose state has a database.

    `_destroy` runs the script `destroy` in it.
    """
    shutil.copytree(ROOT / "infra/deploy", tmp_path / "infra/deploy")
    (tmp_path / "terraform/modules/mnemosyne").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "state").write_text(f"{DATABASE}\n")
    for program, script in {"terraform": STATEFUL_TERRAFORM, "gcloud": "echo 123456789012"}.items():
        (tmp_path / "bin" / program).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / program).chmod(0o755)
    return tmp_path


def _destroy(directory: Path) -> None:
    subprocess.run(
        ["bash", "infra/deploy/destroy"],
        cwd=directory,
        env={"PATH": f"{directory}/bin:{os.environ['PATH']}", "PROJECT": PROJECT},
        input=f"{PROJECT}\n",
        text=True,
        check=True,
    )


def test_make_destroy_keeps_the_grants_that_its_own_apply_adds(destroying: Path) -> None:
    """The state of an earlier version lacks these grants, and the apply before the destroy adds them."""
    _destroy(destroying)
    assert (destroying / "removed").read_text() == f"{AGENTS}\n"


@pytest.mark.parametrize("deleted", [True, False])
def test_make_destroy_does_not_create_a_database_again_that_somebody_has_deleted(
    destroying: Path, *, deleted: bool
) -> None:
    if deleted:
        (destroying / "deleted").touch()
    _destroy(destroying)
    assert (destroying / "applied").exists() is not deleted


@pytest.mark.nightly
def test_two_deployments_in_a_project_have_separate_states_and_keys(operator: Operator) -> None:
    for name in ("operate", "check"):
        operator.apis.workflows[f"other-{name}"] = operator.apis.workflows[f"mnemosyne-{name}"]
    # The file has a label `name`, which must not be taken for the name of the deployment.
    (operator.clone / "terraform/terraform.tfvars").write_text('labels = {\n  name = "memory"\n  region = "emea"\n}\n')
    for name in ("mnemosyne", "other"):
        completed = operator.deploy(*([f"DEPLOYMENT={name}"] if name == "other" else []))
        assert completed.returncode == 0, completed.stderr
        assert operator.state_of(name)["outputs"]["name"]["value"] == name
    for name in ("mnemosyne", "other"):
        assert operator.make("key", f"DEPLOYMENT={name}").returncode == 0
        assert f"/workflows/{name}-operate/" in next(reversed(operator.apis.executions))


@pytest.mark.nightly  # by day, the check of the first deployment fails
def test_make_deploy_fails_without_a_check_and_prints_how_to_roll_back(operator: Operator) -> None:
    del operator.apis.workflows["mnemosyne-check"]
    completed = operator.preflight()
    assert_says_how_to_roll_back(completed)
    assert "These functions do not work" not in completed.stderr


def test_a_second_destroy_removes_what_a_killed_one_left(refused_operator: Operator) -> None:
    override = refused_operator.clone / "terraform/modules/mnemosyne/allow_destroy_override.tf"
    shutil.copy(refused_operator.clone / "infra/deploy/allow_destroy.tf.txt", override)
    refused_operator.apis.faults = lambda call: refused(403, "denied")
    assert refused_operator.deploy().returncode != 0
    assert not override.exists()


def test_the_variable_name_is_refused_in_a_place_where_it_would_be_ignored(refused_operator: Operator) -> None:
    (refused_operator.clone / "terraform/more.auto.tfvars").write_text('name = "other"\n')
    completed = refused_operator.deploy()
    assert completed.returncode != 0
    assert "more.auto.tfvars sets name or region" in completed.stderr
    assert refused_operator.apis.calls == []


def test_make_destroy_needs_the_project_s_name_as_confirmation(refused_operator: Operator) -> None:
    completed = refused_operator.make("destroy", answer="yes\n")
    assert completed.returncode != 0
    assert "Nothing was destroyed." in completed.stderr
    assert refused_operator.apis.calls == []


def test_the_cause_of_a_failed_migration_is_that_of_the_deployment_s_last_run(tmp_path: Path) -> None:
    script = (ROOT / "infra/deploy/deploy").read_text()
    function = re.search(r"^explain_failed_migration\(\) \{.*?^\}", script, re.MULTILINE | re.DOTALL)
    assert function
    with GoogleApis().serving() as apis:
        apis.log = [
            migration_failure("mnemosyne", "2000-01-01T00:00:00Z", "earlier"),
            migration_failure("mnemosyne", "2999-01-01T00:00:00Z", "42P07"),
            migration_failure("mnemosyne-2", "2999-01-01T00:00:01Z", "another deployment"),
        ]
        completed = subprocess.run(
            ["bash", "-c", f"{function[0]}\nexplain_failed_migration 2026-01-01T00:00:00Z"],
            env=gcloud_environment(apis.host, tmp_path) | {"PROJECT": PROJECT, "DEPLOYMENT": "mnemosyne"},
            capture_output=True,
            text=True,
            check=True,
        )
    assert completed.stderr == "The migration failed: 42P07\n"


STUBS = {
    "terraform": """echo '["gcloud run services update a-mcp","gcloud run services update a-auth"]'""",
    "gcloud": 'echo "$@"; [ "$4" != "$REFUSED" ]',
}


@pytest.mark.parametrize(("refused", "status"), [("", 0), ("a-auth", 1)])
def test_make_deploy_turns_off_the_invoker_check_of_each_function_of_open_commands(
    tmp_path: Path, refused: str, status: int
) -> None:
    for program, script in STUBS.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / program).chmod(0o755)
    script = (ROOT / "infra/deploy/deploy").read_text()
    assert script.endswith("\nopen_functions\ncheck_deployment\n")
    (function,) = re.findall(r"^open_functions\(\) \{.*?^\}", script, re.MULTILINE | re.DOTALL)
    completed = subprocess.run(
        ["bash", "-euc", f'fail() {{ echo "$*" >&2; exit 1; }}\n{function}\nopen_functions'],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "REFUSED": refused, "PROJECT": PROJECT},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == status
    calls = completed.stderr.splitlines()
    assert calls[:2] == [f"run services update a-{name} --quiet" for name in ("mcp", "auth")]
    assert [f"failed: gcloud run services update {refused}. " in line for line in calls[2:]] == [True] * status


@pytest.mark.parametrize("disabled", ["true", "false"])
@pytest.mark.parametrize("mode", ["iam", "api_key"])
def test_make_deploy_turns_on_the_invoker_check_if_mcp_relies_on_it(tmp_path: Path, mode: str, disabled: str) -> None:
    service = {"metadata": {"annotations": {"run.googleapis.com/invoker-iam-disabled": disabled}}}
    calls = tmp_path / "calls"
    gcloud = tmp_path / "gcloud"
    gcloud.write_text(f"#!/bin/sh\necho \"$3 $4 $7\" >> {calls}\necho '{json.dumps(service)}'\n")
    gcloud.chmod(0o755)
    (tmp_path / "terraform").mkdir()
    (tmp_path / "terraform/terraform.tfvars").write_text(f'auth_mode = "{mode}"\n')
    shutil.copytree(ROOT / "infra/deploy", tmp_path / "infra/deploy")
    assert "\nturn_on_invoker_check\nSTARTED" in (ROOT / "infra/deploy/deploy").read_text()
    subprocess.run(
        ["bash", "-c", ". infra/deploy/common.sh; . infra/deploy/preflight.sh; turn_on_invoker_check"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PROJECT": PROJECT},
        check=True,
    )
    made = [line for line in calls.read_text().splitlines() if "update" in line] if calls.exists() else []
    assert made == ["update mnemosyne-mcp --invoker-iam-check"] * ((mode, disabled) == ("iam", "true"))


@pytest.mark.parametrize(
    ("state", "service", "refused"),
    [("", "mnemosyne-mcp", True), ("", "", False), ("random_id.database", "mnemosyne-mcp", False)],
)
def test_make_deploy_refuses_a_deployment_whose_state_is_missing(
    tmp_path: Path, state: str, service: str, *, refused: bool
) -> None:
    for program, answer in (("terraform", state), ("gcloud", service)):
        (tmp_path / program).write_text(f'#!/bin/sh\n[ -n "{answer}" ] || exit 1\necho {answer}\n')
        (tmp_path / program).chmod(0o755)
    shutil.copytree(ROOT / "infra/deploy", tmp_path / "infra/deploy")
    assert "\nterraform_init\ncheck_state\n" in (ROOT / "infra/deploy/deploy").read_text()
    completed = subprocess.run(
        ["bash", "-c", ". infra/deploy/common.sh; . infra/deploy/preflight.sh; check_state"],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PROJECT": PROJECT},
        capture_output=True,
        text=True,
    )
    assert completed.returncode == refused
    assert ("gs://my-project-terraform/mnemosyne has no state of it" in completed.stderr) == refused


@pytest.mark.nightly  # test_migration.py tests such an apply without gcloud
def test_a_failed_migration_ends_the_apply_before_serving_functions_are_created(operator: Operator) -> None:
    operator.fail(google_cloud_run_v2_job="The execution of the job failed")
    operator.apis.log = [
        migration_failure("mnemosyne", "2000-01-01T00:00:00Z", "earlier"),
        migration_failure("mnemosyne", "2999-01-01T00:00:00Z", '0001.sql failed: 42P07 relation "a" already exists'),
        migration_failure("mnemosyne-2", "2999-01-01T00:00:01Z", "another deployment"),
    ]
    completed = operator.deploy()
    assert completed.returncode != 0
    assert "The execution of the job failed" in completed.stdout + completed.stderr
    (reason,) = [line for line in completed.stderr.splitlines() if line.startswith("The migration failed: ")]
    assert reason == 'The migration failed: 0001.sql failed: 42P07 relation "a" already exists'
    created = {f"{resource['type']}.{resource['name']}" for resource in operator.state_of()["resources"]}
    assert "google_cloudfunctions2_function.migrate" in created
    assert "google_cloudfunctions2_function.serving" not in created


@pytest.mark.nightly
def test_destroying_a_first_apply_that_failed_early_creates_no_resource(operator: Operator) -> None:
    operator.fail(google_project_service="SERVICE_DISABLED")
    completed = operator.deploy()
    assert completed.returncode != 0
    assert "SERVICE_DISABLED" in completed.stdout + completed.stderr
    assert "The migration failed" not in completed.stderr
    operator.fail()
    destroyed = operator.make("destroy", "ARGS=-auto-approve", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert "google_sql_database_instance" not in destroyed.stdout
    assert operator.state_of()["resources"] == []


@pytest.mark.parametrize(
    ("ending", "messages"),
    [
        (lambda argument: failed({"code": 403}, "permission denied"), ["the deployment refused"]),
        (
            None,
            [
                "gcloud could not call the deployment",
                f"There is no deployment mnemosyne in europe-west1 of {PROJECT}: give --project, --region and",
            ],
        ),
    ],
    ids=["the workflow fails", "there is no workflow"],
)
def test_a_key_that_could_not_be_stored_is_not_shown(
    refused_operator: Operator, ending: Any, messages: list[str]
) -> None:
    if ending is None:
        del refused_operator.apis.workflows["mnemosyne-operate"]
    else:
        refused_operator.apis.workflows["mnemosyne-operate"] = ending
    command = [str(ROOT / ".venv/bin/mnemosyne"), "keys", "create", "--project", PROJECT, "--name", "me"]
    completed = subprocess.run(
        command,
        env={**os.environ, **refused_operator.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert completed.returncode != 0
    assert "mnk_" not in completed.stdout
    printed = " ".join(completed.stderr.split())
    assert [message for message in messages if message not in printed] == []
