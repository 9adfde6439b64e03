"""Operations on a deployment: a rollback, the replacement of a lost database, and the variables of the examples."""

import re

import pytest

from tests.terraform.conftest import MCP
from tests.terraform.workspace import TERRAFORM, Workspace

pytestmark = pytest.mark.slow

ROLLED_BACK = {
    "google_cloudfunctions2_function mnemosyne-mcp": {"service_config": {"all_traffic_on_latest_revision": False}}
}
"""The fields that the API returns after `gcloud run services update-traffic mnemosyne-mcp --to-revisions=…=100`."""
IMAGE = "europe-west1-docker.pkg.dev/my-project/images/mnemosyne-migrate:version_2"
NEW_IMAGE: dict[str, object] = {
    "data.google_cloud_run_v2_service mnemosyne-migrate": {"template": {"containers": {"image": IMAGE}}}
}
"""The fields that the API returns after Google has built a new image of the same source."""


def test_a_rollback_without_keep_traffic_is_the_only_difference_that_the_next_apply_undoes(deployed: Workspace) -> None:
    """The plan does not contain the migration, although Google has built a new image of the same source."""
    deployed.drift({**NEW_IMAGE, **ROLLED_BACK})
    assert deployed.plan().status == 2
    assert deployed.changes() == {MCP: ["update"]}


@pytest.mark.nightly
def test_when_keep_traffic_is_removed_the_newest_revision_serves(deployed: Workspace) -> None:
    deployed.drift(ROLLED_BACK)
    deployed.apply(keep_traffic=["mcp"])
    deployed.apply()
    (mcp,) = deployed.values()['google_cloudfunctions2_function.serving["mcp"]']["service_config"]
    assert deployed.plan().status == 2  # the fake still returns the state after the rollback
    assert mcp["all_traffic_on_latest_revision"] is True


@pytest.mark.nightly  # by day, only a plan of the replacement is tested, by the next test
def test_a_lost_database_is_replaced_under_another_name_without_editing_the_state(deployed: Workspace) -> None:
    """A backup is then restored into the new instance, with its tables, users and passwords."""
    name = deployed.values()["google_sql_database_instance.this"]["name"]
    deployed.drift({f"google_sql_database_instance {name}": None})
    deployed.apply(database_instance_name="mnemosyne-restored")
    values = deployed.values()
    assert values["google_sql_database_instance.this"]["name"] == "mnemosyne-restored"
    users = [values[address] for address in values if address.startswith("google_sql_user.")]
    assert {user["instance"] for user in users} == {"mnemosyne-restored"}
    settings = values['google_cloudfunctions2_function.serving["mcp"]']["service_config"][0]["environment_variables"]
    assert settings["MNEMOSYNE_INSTANCE_CONNECTION_NAME"].endswith(":mnemosyne-restored")
    assert deployed.plan(database_instance_name="mnemosyne-restored").status == 0


OF_OWNER = (
    "google_sql_user.owner",
    "google_secret_manager_secret_version.owner_password",
    "google_cloud_run_v2_job.migrate[0]",
)


def test_the_secret_gets_the_password_of_an_owner_that_is_created_again(recovered: dict[str, list[str]]) -> None:
    """Otherwise the migration of the same apply would fail with "password authentication failed"."""
    assert [address for address in OF_OWNER if "create" not in recovered[address]] == []


@pytest.mark.nightly  # by day, the owner is lost with the database
def test_the_secret_gets_the_password_of_an_owner_that_was_deleted(deployed: Workspace) -> None:
    deployed.drift({"google_sql_user mnemosyne-owner": None})
    assert deployed.plan().status == 2
    changes = deployed.changes()
    assert [address for address in OF_OWNER if "create" not in changes[f"module.mnemosyne.{address}"]] == []


IAM = {"auth_mode": "iam", "invokers": ["user:ada@example.com"]}
UNCHECKED = {"data.google_cloud_run_v2_service mnemosyne-mcp": {"invoker_iam_disabled": True}}


def test_an_apply_fails_if_cloud_run_does_not_check_the_callers_of_mcp_with_auth_mode_iam(deployed: Workspace) -> None:
    """Commands of an earlier `open_by = "no_invoker_check"` have turned off Cloud Run's check of callers.

    With auth_mode iam, mcp would then accept forged tokens.
    """
    deployed.drift(UNCHECKED)
    refused = deployed.try_apply("-refresh=false", **IAM)
    assert refused.status == 1
    printed = " ".join(refused.printed.replace("│", " ").split())
    assert "gcloud run services update mnemosyne-mcp" in printed
    assert "--invoker-iam-check" in printed


@pytest.mark.nightly
def test_an_apply_succeeds_after_cloud_run_checks_the_callers_of_mcp_again(deployed: Workspace) -> None:
    deployed.drift(UNCHECKED)
    assert deployed.try_apply(**IAM).status == 1
    deployed.drift({})
    deployed.apply(**IAM)
    assert deployed.plan(**IAM).status == 0


EXAMPLES = pytest.mark.parametrize("example", [file.name for file in (TERRAFORM / "environments").glob("*.example")])


@EXAMPLES
def test_the_example_variables_of_an_environment_are_valid_and_name_another_deployment(
    only_variables: Workspace, example: str
) -> None:
    planned = only_variables.plan(_option(example, only_variables))
    assert planned.status == 0, planned.printed
    assert re.search(r'^name +=+ "(?!mnemosyne")', (TERRAFORM / "environments" / example).read_text(), re.MULTILINE)


@pytest.mark.nightly  # by day, only the variables are checked
@EXAMPLES
def test_the_example_variables_of_an_environment_can_be_planned(deployed: Workspace, example: str) -> None:
    planned = deployed.plan(_option(example, deployed), "-refresh=false", name="mnemosyne")
    assert planned.status == 2, planned.printed


def _option(example: str, own: Workspace) -> str:
    """Return the option of terraform that reads a copy of the file."""
    copy = own.directory / example.removesuffix(".example")
    copy.write_text((TERRAFORM / "environments" / example).read_text())
    return f"-var-file={copy}"
