"""A deployment in an existing network of its project, with Private Service Connect."""

from collections.abc import Iterator

import pytest

from tests.terraform.conftest import Applied
from tests.terraform.workspace import PROJECT, Workspace, workspace

pytestmark = pytest.mark.slow


def network(project: str, name: str) -> dict[str, str]:
    """The value of the variable `network`."""
    return {
        "network": f"projects/{project}/global/networks/{name}",
        "subnetwork": f"projects/{project}/regions/europe-west1/subnetworks/{name}",
    }


VARIABLES = {"network": network(PROJECT, "office"), "psc": True}


@pytest.fixture(scope="module")
def _applied() -> Iterator[Applied]:
    with workspace() as own:
        yield Applied(own, **VARIABLES)


@pytest.fixture
def connected(_applied: Applied) -> Workspace:
    """A deployment in an existing network of its project, with Private Service Connect."""
    return _applied.restored()


def test_a_second_plan_is_empty(connected: Workspace) -> None:
    """The API returns the short names of a network of the same project."""
    again = connected.plan(**VARIABLES)
    assert again.status == 0, again.printed


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"psc": False}, id="no endpoint"),
        pytest.param({"network": network(PROJECT, "home")}, id="another network", marks=pytest.mark.nightly),
        pytest.param({"network": network("host", "office")}, id="another project", marks=pytest.mark.nightly),
        pytest.param({"network": None}, id="a new network"),
    ],
)
def test_a_plan_that_removes_the_endpoint_through_which_the_functions_reach_the_database_is_refused(
    connected: Workspace, change: dict[str, object]
) -> None:
    variables = {name: value for name, value in (VARIABLES | change).items() if value is not None}
    refused = connected.plan("-refresh=false", **variables)
    assert refused.status == 1
    assert "Instance cannot be destroyed" in " ".join(refused.printed.split())


def test_a_lost_database_gets_the_same_address_again(connected: Workspace) -> None:
    name = connected.values()["google_sql_database_instance.this"]["name"]
    connected.drift({f"google_sql_database_instance {name}": None})
    planned = connected.plan(**VARIABLES, database_instance_name="restored")
    assert planned.status == 2, planned.printed
    changes = connected.changes()
    assert changes["module.mnemosyne.google_sql_database_instance.this"] == ["create"]
    assert "module.mnemosyne.google_compute_address.database[0]" not in changes
