"""A deployment in an existing network of its project, with Private Service Connect."""

import pytest

from tests.terraform.conftest import PARTS, Applied
from tests.terraform.workspace import PROJECT, Workspace

pytestmark = pytest.mark.slow


def network(project: str, name: str) -> dict[str, str]:
    """The value of the variable `network`."""
    return {
        "network": f"projects/{project}/global/networks/{name}",
        "subnetwork": f"projects/{project}/regions/europe-west1/subnetworks/{name}",
    }


@pytest.fixture
def connected(complete: Applied) -> Workspace:
    """A deployment in an existing network of its project, with Private Service Connect."""
    return complete.restored()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"psc": False}, id="no endpoint"),
        pytest.param({"network": network(PROJECT, "home")}, id="another network", marks=pytest.mark.nightly),
        pytest.param({"network": network("host", "office")}, id="another project", marks=pytest.mark.nightly),
        pytest.param({"network": None}, id="a new network", marks=pytest.mark.nightly),
    ],
)
def test_a_plan_that_removes_the_endpoint_through_which_the_functions_reach_the_database_is_refused(
    connected: Workspace, change: dict[str, object]
) -> None:
    variables = {name: value for name, value in (PARTS | change).items() if value is not None}
    refused = connected.plan("-refresh=false", **variables)
    assert refused.status == 1
    assert "Instance cannot be destroyed" in " ".join(refused.printed.split())


def test_a_lost_database_gets_the_same_address_again(recovered: dict[str, list[str]]) -> None:
    assert recovered["google_sql_database_instance.this"] == ["create"]
    assert "google_compute_address.database[0]" not in recovered


@pytest.mark.parametrize(
    ("variables", "projects"),
    [
        pytest.param({}, [PROJECT], id="a new network"),
        pytest.param({"network": network("host", "office")}, [PROJECT, "host"], id="a Shared VPC"),
    ],
)
def test_the_project_of_the_network_may_connect_to_the_database(
    empty: Workspace, variables: dict[str, object], projects: list[str]
) -> None:
    """Cloud SQL accepts connections from the networks of these projects."""
    assert empty.plan(psc=True, **variables).status == 2
    (module,) = empty.planned()["planned_values"]["root_module"]["child_modules"]
    (instance,) = [one["values"] for one in module["resources"] if one["type"] == "google_sql_database_instance"]
    (psc_config,) = instance["settings"][0]["ip_configuration"][0]["psc_config"]
    assert sorted(psc_config["allowed_consumer_projects"]) == sorted(projects)
