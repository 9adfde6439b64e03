"""What operators do to a deployment: roll back, replace a lost database, use an example's variables."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terraform.workspace import TERRAFORM, Workspace, workspace

MCP = 'module.mnemosyne.google_cloudfunctions2_function.serving["mcp"]'
ROLLED_BACK = {
    "google_cloudfunctions2_function mnemosyne-mcp": {"service_config": {"all_traffic_on_latest_revision": False}}
}
"""The API's answer after `gcloud run services update-traffic mnemosyne-mcp --to-revisions=…=100`."""


@pytest.fixture(scope="module")
def applied() -> Iterator[tuple[Workspace, bytes]]:
    """A deployment, and its state."""
    with workspace() as made:
        made.apply()
        yield made, (made.directory / "terraform.tfstate").read_bytes()


@pytest.fixture
def own(applied: tuple[Workspace, bytes]) -> Workspace:
    """The deployment in the state after its first apply."""
    made, state = applied
    (made.directory / "terraform.tfstate").write_bytes(state)
    made.drift({})
    made.change_source(str(TERRAFORM))
    return made


def test_a_rollback_without_keep_traffic_is_undone_by_the_next_apply(own: Workspace) -> None:
    own.drift(ROLLED_BACK)
    assert own.plan().status == 2
    assert own.changes() == {MCP: ["update"]}


def test_with_keep_traffic_a_rollback_is_kept_with_and_without_a_new_source(own: Workspace) -> None:
    own.drift(ROLLED_BACK)
    assert own.plan(keep_traffic=["mcp"]).status == 0
    own.change_source("a new version")
    own.apply(keep_traffic=["mcp"])
    (mcp,) = own.values()['google_cloudfunctions2_function.serving["mcp"]']["service_config"]
    (ingest,) = own.values()['google_cloudfunctions2_function.serving["ingest"]']["service_config"]
    assert mcp["all_traffic_on_latest_revision"] is False
    assert ingest["all_traffic_on_latest_revision"] is True


@pytest.mark.nightly
def test_when_keep_traffic_is_removed_the_newest_revision_serves(own: Workspace) -> None:
    own.drift(ROLLED_BACK)
    own.apply(keep_traffic=["mcp"])
    own.apply()
    (mcp,) = own.values()['google_cloudfunctions2_function.serving["mcp"]']["service_config"]
    assert own.plan().status == 2  # the fake still returns the state after the rollback
    assert mcp["all_traffic_on_latest_revision"] is True


def test_a_lost_database_is_replaced_under_another_name_without_editing_the_state(own: Workspace) -> None:
    """A backup is then restored into the new instance, with its tables, users and passwords."""
    lost = own.values()["google_sql_database_instance.this"]["name"]
    own.drift({f"google_sql_database_instance {lost}": None})
    own.apply(database_instance_name="mnemosyne-restored")
    values = own.values()
    assert values["google_sql_database_instance.this"]["name"] == "mnemosyne-restored"
    users = [values[address] for address in values if address.startswith("google_sql_user.")]
    assert {user["instance"] for user in users} == {"mnemosyne-restored"}
    settings = values['google_cloudfunctions2_function.serving["mcp"]']["service_config"][0]["environment_variables"]
    assert settings["MNEMOSYNE_INSTANCE_CONNECTION_NAME"].endswith(":mnemosyne-restored")
    assert own.plan(database_instance_name="mnemosyne-restored").status == 0


def test_a_change_of_the_name_variable_does_not_replace_the_existing_database(own: Workspace) -> None:
    refused = own.plan(database_instance_name="mnemosyne-restored")
    assert refused.status == 1
    assert "Instance cannot be destroyed" in refused.printed


@pytest.mark.parametrize("example", sorted(file.name for file in (TERRAFORM / "environments").glob("*.example")))
def test_the_example_variables_of_an_environment_can_be_planned(deployed: Workspace, example: str) -> None:
    file = TERRAFORM / "environments" / example
    name = json.loads(file.read_text().partition("name ")[2].partition("=")[2].partition("\n")[0])
    planned = deployed.plan(f"-var-file={_as_tfvars(file, deployed.directory)}", "-refresh=false", name="mnemosyne")
    assert planned.status == 2, planned.printed
    assert name != "mnemosyne"


def _as_tfvars(file: Path, directory: Path) -> Path:
    copy = directory / file.name.removesuffix(".example")
    copy.write_text(file.read_text())
    return copy
