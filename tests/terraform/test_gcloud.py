"""`make deploy`, `make key` and `make destroy` with the real gcloud and the real terraform, on a fake of Google's APIs.

gcloud and terraform's state backend speak to one server on loopback; terraform's provider is the checker's.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT, GoogleApis, failed, succeeded
from tests.fakes_wire.google.base import Call
from tests.fakes_wire.google.environment import gcloud_environment
from tests.fakes_wire.google.errors import Answer, enabling_denied, refused, service_disabled
from tests.terraform.workspace import ROOT, workspace, write_small_source

BUCKET = f"{PROJECT}-terraform"


class Operator:
    """Somebody at a clone of the repository, logged in with gcloud."""

    def __init__(self, home: Path, apis: GoogleApis) -> None:
        self.apis = apis
        self.clone = home / "clone"
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "functions", "tests", ".terraform", "__pycache__", ".*_cache"
        )
        shutil.copytree(ROOT, self.clone, ignore=ignored, symlinks=True)
        write_small_source(self.clone / "functions", "small")
        (self.clone / ".venv").symlink_to(ROOT / ".venv")
        with workspace() as made:  # for the mirror of providers that it lays out
            self._mirror = home / "mirror"
            shutil.copytree(Path(made.environment["TFCHECK_ROOT"]), self._mirror, symlinks=True)
            settings = Path(made.environment["TF_CLI_CONFIG_FILE"]).read_text()
            settings = settings.replace(made.environment["TFCHECK_ROOT"], str(self._mirror))
            (home / "cli.tfrc").write_text(settings)
            plain = {name: made.environment[name] for name in ("TF_DISABLE_PLUGIN_TLS", "CHECKPOINT_DISABLE")}
        self.environment = {
            **gcloud_environment(apis.host, home),
            **plain,
            "TF_CLI_CONFIG_FILE": str(home / "cli.tfrc"),
            "TF_IN_AUTOMATION": "1",
            "GOOGLE_OAUTH_ACCESS_TOKEN": "a-token",
            "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT": f"{apis.url}/storage/v1/",
        }

    def make(self, target: str, *variables: str, answer: str = "") -> subprocess.CompletedProcess[str]:
        """Type `make TARGET PROJECT=my-project …`, and the answer to what it asks."""
        command = ["make", target, f"PROJECT={PROJECT}", *variables]
        return subprocess.run(
            command, cwd=self.clone, env=self.environment, input=answer, capture_output=True, text=True, timeout=1800
        )

    def deploy(self, *variables: str) -> subprocess.CompletedProcess[str]:
        """`make deploy`, without being asked."""
        return self.make("deploy", "ARGS=-auto-approve", *variables)

    def state_of(self, deployment: str = "mnemosyne") -> dict[str, Any]:
        """Terraform's state in the bucket."""
        state: dict[str, Any] = json.loads(self.apis.buckets.known[BUCKET].objects[f"{deployment}/default.tfstate"])
        return state


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    for program in ("gcloud", "terraform"):
        if shutil.which(program) is None:
            pytest.skip(f"NOT TESTED: {program} is not installed")
    with GoogleApis().serving() as apis:
        apis.workflows["mnemosyne-migrate"] = lambda argument: succeeded({"applied": ["0001 memories"]})
        apis.workflows["mnemosyne-keys"] = lambda argument: succeeded({"id": json.loads(argument or "{}")["id"]})
        yield Operator(tmp_path, apis)


def test_a_deployment_is_made_given_a_key_and_destroyed(operator: Operator) -> None:
    done = operator.deploy()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    apis = operator.apis
    bucket = apis.buckets.known[BUCKET]
    assert (bucket.location, bucket.versioned) == ("EUROPE-WEST1", True)
    assert apis.identities == {"pubsub.googleapis.com", "workflows.googleapis.com"}
    assert len(apis.executions) == 1  # the migration
    state = operator.state_of()
    assert state["resources"]
    assert state["outputs"]["console_url"]["value"] + "mcp" == state["outputs"]["mcp_url"]["value"]

    again = operator.deploy()
    assert "No changes" in again.stdout, again.stdout[-2000:]

    key = operator.make("key", "NAME=me")
    assert key.returncode == 0, key.stderr
    assert key.stdout.startswith("mnk_")
    asked = json.loads(next(reversed(apis.executions.values()))["argument"])
    assert (asked["action"], asked["name"]) == ("create", "me")
    assert key.stdout.split()[0].rpartition("_")[2] not in json.dumps(asked)  # its hash alone has left the machine

    apis.peerings["mnemosyne"] = ["servicenetworking-googleapis-com"]
    destroyed = operator.make("destroy", "ARGS=-auto-approve", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert apis.peerings["mnemosyne"] == []
    assert operator.state_of()["resources"] == []
    assert not (operator.clone / "terraform/modules/mnemosyne/allow_destroy_override.tf").exists()


def test_two_deployments_of_a_project_have_a_state_and_keys_each(operator: Operator) -> None:
    for part in ("migrate", "keys"):
        operator.apis.workflows[f"other-{part}"] = operator.apis.workflows[f"mnemosyne-{part}"]
    # A label of that name is not the deployment's.
    (operator.clone / "terraform/terraform.tfvars").write_text('labels = {\n  name = "memory"\n  region = "emea"\n}\n')
    for name in ("mnemosyne", "other"):
        done = operator.deploy(*([f"DEPLOYMENT={name}"] if name == "other" else []))
        assert done.returncode == 0, done.stderr
        assert operator.state_of(name)["outputs"]["name"]["value"] == name
    for name in ("mnemosyne", "other"):
        assert operator.make("key", f"DEPLOYMENT={name}").returncode == 0
        assert f"/workflows/{name}-keys/" in next(reversed(operator.apis.executions))


def test_what_a_killed_destroy_left_is_removed(operator: Operator) -> None:
    left = operator.clone / "terraform/modules/mnemosyne/allow_destroy_override.tf"
    shutil.copy(operator.clone / "infra/deploy/allow_destroy.tf.txt", left)
    operator.apis.org_policies["iam.allowedPolicyMemberDomains"] = ["C0123abcd"]
    assert operator.deploy().returncode != 0
    assert not left.exists()


def test_a_name_where_it_would_not_be_read_is_refused(operator: Operator) -> None:
    (operator.clone / "terraform/more.auto.tfvars").write_text('name = "other"\n')
    done = operator.deploy()
    assert done.returncode != 0
    assert "more.auto.tfvars sets name or region" in done.stderr
    assert operator.apis.calls == []


def test_a_state_from_where_all_were_kept_is_pointed_out(operator: Operator) -> None:
    operator.apis.workflows["other-migrate"] = operator.apis.workflows["mnemosyne-migrate"]
    assert operator.deploy("DEPLOYMENT=other").returncode == 0
    objects = operator.apis.buckets.known[BUCKET].objects
    operator.apis.buckets.known[BUCKET].put("mnemosyne/default.tfstate", objects.pop("other/default.tfstate"))
    done = operator.deploy("DEPLOYMENT=other")
    assert done.returncode != 0
    assert f"gcloud storage mv gs://{BUCKET}/mnemosyne/default.tfstate" in done.stderr


def test_nothing_is_destroyed_without_the_project_s_name(operator: Operator) -> None:
    done = operator.make("destroy", answer="yes\n")
    assert done.returncode != 0
    assert "Nothing was destroyed." in done.stderr
    assert operator.apis.calls == []


def test_apis_that_may_not_be_enabled_are_said_with_the_role_that_is_missing(operator: Operator) -> None:
    operator.apis.faults = lambda call: (
        enabling_denied("cloudresourcemanager.googleapis.com") if "batchEnable" in call.path else None
    )
    done = operator.deploy()
    assert done.returncode != 0
    assert "roles/serviceusage.serviceUsageAdmin" in done.stderr
    assert not operator.apis.buckets.known


def test_a_bucket_that_may_not_be_made_is_said_with_the_role_that_is_missing(operator: Operator) -> None:
    def refuse(call: Call) -> Answer | None:
        return (
            refused(403, "storage.buckets.create denied")
            if (call.method, call.path) == ("POST", "/storage/v1/b")
            else None
        )

    operator.apis.faults = refuse
    done = operator.deploy()
    assert done.returncode != 0
    assert "roles/storage.admin" in done.stderr


def test_an_organisation_that_admits_its_own_members_alone_is_noticed_before_anything_is_built(
    operator: Operator,
) -> None:
    operator.apis.org_policies["iam.allowedPolicyMemberDomains"] = ["C0123abcd"]
    done = operator.deploy()
    assert done.returncode != 0
    assert 'Set auth_mode = "iam" and invokers' in done.stderr
    assert f"{BUCKET}" in operator.apis.buckets.known
    assert operator.state_of()["resources"] == []

    (operator.clone / "terraform/terraform.tfvars").write_text(
        'auth_mode = "iam"\ninvokers  = ["user:ada@example.com"]\n'
    )
    assert operator.deploy().returncode == 0


def test_a_policy_that_may_not_be_seen_stops_nothing(operator: Operator) -> None:
    operator.apis.faults = lambda call: refused(403, "denied") if "OrgPolicy" in call.path else None
    done = operator.deploy()
    assert done.returncode == 0, done.stderr
    assert "cannot be seen" in done.stderr


def test_a_migration_that_fails_ends_the_apply_before_a_function_that_serves_is_made(operator: Operator) -> None:
    operator.apis.workflows["mnemosyne-migrate"] = lambda argument: failed(
        {"body": {"error": "role does not exist"}}, "HTTP server responded with error code 500"
    )
    done = operator.deploy()
    assert done.returncode != 0
    assert "The migration failed; the functions stay as they were." in done.stdout + done.stderr
    made = {(one["type"], one["name"]) for one in operator.state_of()["resources"]}
    assert ("google_cloudfunctions2_function", "migrate") in made
    assert ("google_cloudfunctions2_function", "mcp") not in made

    # Half applied: it is gone on with, and it is taken away.
    operator.apis.workflows["mnemosyne-migrate"] = lambda argument: succeeded({"applied": []})
    assert operator.deploy().returncode == 0


def test_a_first_apply_that_failed_early_is_destroyed_without_making_anything(operator: Operator) -> None:
    operator.apis.faults = lambda call: (
        service_disabled("serviceusage.googleapis.com", PROJECT) if "generateService" in call.path else None
    )
    done = operator.deploy()
    assert done.returncode != 0
    assert "SERVICE_DISABLED" in done.stdout + done.stderr
    operator.apis.faults = lambda call: None
    destroyed = operator.make("destroy", "ARGS=-auto-approve", answer=f"{PROJECT}\n")
    assert destroyed.returncode == 0, destroyed.stdout[-2000:] + destroyed.stderr[-2000:]
    assert "google_sql_database_instance" not in destroyed.stdout
    assert operator.state_of()["resources"] == []


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (lambda argument: failed({"code": 403}, "permission denied"), "the deployment refused"),
        (None, "gcloud could not ask the deployment"),
    ],
    ids=["the workflow fails", "there is no workflow"],
)
def test_a_key_that_could_not_be_kept_is_not_shown(operator: Operator, ending: Any, said: str) -> None:
    if ending is None:
        del operator.apis.workflows["mnemosyne-keys"]
    else:
        operator.apis.workflows["mnemosyne-keys"] = ending
    command = [str(ROOT / ".venv/bin/mnemosyne"), "keys", "create", "--project", PROJECT, "--name", "me"]
    done = subprocess.run(
        command, env={**os.environ, **operator.environment}, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode != 0
    assert "mnk_" not in done.stdout
    assert said in done.stderr
