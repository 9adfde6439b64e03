"""The migration in an apply: it runs before serving functions are changed, and again after a failure."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.terraform.conftest import FAILED_MIGRATION, MCP, Changed, FirstApply
from tests.terraform.test_operations import IMAGE, NEW_IMAGE, ROLLED_BACK
from tests.terraform.workspace import Workspace, write_program

pytestmark = pytest.mark.slow

SERVING = 'google_cloudfunctions2_function.serving["{}"]'
JOB = "google_cloud_run_v2_job.migrate[0]"
IN_ROOT = f"module.mnemosyne.{JOB}"


def _sources(own: Workspace) -> set[str]:
    """Return the names of the source archives that the serving functions use."""
    values = own.values()
    builds = [values[SERVING.format(name)]["build_config"][0] for name in ("mcp", "ingest", "dead-letter")]
    return {build["source"][0]["storage_source"][0]["object"] for build in builds}


def test_an_apply_needs_no_other_program_than_terraform(deployed: Workspace) -> None:
    assert list(Path(deployed.environment["PATH"]).iterdir()) == []
    assert SERVING.format("mcp") in deployed.values()


def test_the_job_has_the_image_and_settings_of_the_function_migrate(deployed: Workspace) -> None:
    values = deployed.values()
    job = values[JOB]
    (task,) = job["template"][0]["template"]
    (container,) = task["containers"]
    assert container["image"] == "europe-west1-docker.pkg.dev/my-project/images/mnemosyne-migrate:version_1"
    assert container["command"] + container["args"] == [
        "/cnb/lifecycle/launcher",
        *("--", "python3", "-m", "mnemosyne.app.migrate"),
    ]
    function = values["google_cloudfunctions2_function.migrate"]["service_config"][0]
    settings = {variable["name"]: variable["value"] for variable in container["env"] if not variable["value_source"]}
    assert settings.items() <= function["environment_variables"].items()
    (secret,) = [variable for variable in container["env"] if variable["value_source"]]
    (reference,) = secret["value_source"][0]["secret_key_ref"]
    (expected,) = function["secret_environment_variables"]
    assert secret["name"] == expected["key"]
    assert reference == {"secret": expected["secret"], "version": expected["version"]}
    assert task["service_account"] == function["service_account_email"]
    assert len(f"{job['name']}-{job['run_execution_token']}") < 63


def test_a_failed_migration_in_a_first_apply_leaves_no_serving_function(
    failed_first_apply: FirstApply, deployed: Workspace
) -> None:
    assert failed_first_apply.ended.status == 1
    assert "42P07" in failed_first_apply.ended.printed
    assert not [address for address in failed_first_apply.addresses if "function.serving" in address]
    assert SERVING.format("auth") not in deployed.values()
    assert SERVING.format("mcp") in deployed.values()


def test_an_upgrade_changes_functions_after_its_migration_and_keeps_a_rollback(deployed: Workspace) -> None:
    deployed.drift({**NEW_IMAGE, **ROLLED_BACK})
    before = _sources(deployed)
    deployed.change_source("a new version")
    deployed.fail(google_cloud_run_v2_job=FAILED_MIGRATION)
    assert deployed.try_apply("-refresh=false", keep_traffic=["mcp"]).status == 1
    assert _sources(deployed) == before
    deployed.fail()
    applied = deployed.apply("-refresh=false", keep_traffic=["mcp"])
    assert f"{IN_ROOT}: Creation complete" in applied.printed, "the migration runs again"
    assert not _sources(deployed) & before
    values = deployed.values()
    assert values[JOB]["template"][0]["template"][0]["containers"][0]["image"] == IMAGE
    services = [values[SERVING.format(name)]["service_config"][0] for name in ("mcp", "ingest")]
    assert [service["all_traffic_on_latest_revision"] for service in services] == [False, True]
    assert deployed.plan(keep_traffic=["mcp"]).status == 0


def test_the_migration_runs_again_when_the_embedding_model_changes(replaced: dict[str, list[str]]) -> None:
    assert set(replaced[IN_ROOT]) == {"delete", "create"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "variables",
    [
        {"owner_password_version": 2},
        {"embedding_location": "europe-west4"},
        {"auth_mode": "oauth", "oauth_client_id": "c", "oauth_client_secret": "s", "oauth_people": [{"who": "*"}]},
        {"python_runtime": "python314"},
    ],
    ids=",".join,
)
def test_the_migration_runs_again_when_another_input_changes(deployed: Workspace, variables: dict[str, Any]) -> None:
    deployed.plan("-refresh=false", **variables)
    assert set(deployed.changes()[IN_ROOT]) == {"delete", "create"}


def test_the_migration_does_not_run_for_other_changes(changed: Changed) -> None:
    assert changed.changes[MCP] == ["update"]
    assert IN_ROOT not in changed.changes


@pytest.mark.nightly  # by day, the test of an upgrade runs the job
def test_with_gcloud_the_workflow_migrates_and_runs_again_after_a_failure(
    deployed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, answer = tmp_path / "calls", tmp_path / "answer"
    write_program(tmp_path / "gcloud", f'echo "$@" >> {calls}\ncat {answer}')
    monkeypatch.setitem(deployed.environment, "PATH", f"{tmp_path}:/usr/bin:/bin")
    before = _sources(deployed)
    deployed.change_source("a new version")
    answer.write_text('{"state": "FAILED"}')
    assert deployed.try_apply(migrate_by="gcloud").status == 1
    assert _sources(deployed) == before
    answer.write_text('{"state": "SUCCEEDED"}')
    deployed.apply(migrate_by="gcloud")
    assert not _sources(deployed) & before
    assert deployed.plan(migrate_by="gcloud").status == 0
    assert JOB not in deployed.values()
    first, second = calls.read_text().splitlines()
    assert first == second
    assert "workflows run mnemosyne-operate" in first
    assert '"path": ""' in first


def test_the_url_of_migrate_for_operators_is_also_its_audience(deployed: Workspace) -> None:
    values = deployed.values()
    steps = yaml.safe_load(values["google_workflows_workflow.operate"]["source_contents"])
    call = steps["main"]["steps"][0]["call_migrate"]["try"]["args"]
    audience = call["auth"]["audience"]
    assert call["url"] == f'${{"{audience}/" + request.path}}'
    settings = values["google_cloudfunctions2_function.migrate"]["service_config"][0]["environment_variables"]
    assert settings["MNEMOSYNE_PUSH_AUDIENCE"] == audience
    (judge,) = steps["may_pass"]["steps"]
    tried_again = judge["judge"]["return"]
    assert {code for code in range(400, 600) if f"e.code == {code}" in tried_again} == {401, 403, 429, 503}
