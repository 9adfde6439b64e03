"""A deployment in an existing network of its project, with Private Service Connect."""

from typing import Any

import pytest

from tests.terraform.conftest import ONLY_DATABASE, PARTS, Applied
from tests.terraform.workspace import PROJECT, Workspace

pytestmark = pytest.mark.slow


def network(project: str, name: str) -> dict[str, str]:
    """The value of the variable `network`."""
    return {
        "network": f"projects/{project}/global/networks/{name}",
        "subnetwork": f"projects/{project}/regions/europe-west1/subnetworks/{name}",
    }


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
    complete: Applied, change: dict[str, object]
) -> None:
    variables = {name: value for name, value in (PARTS | change).items() if value is not None}
    refused = complete.restored().plan("-refresh=false", **variables)
    assert refused.status == 1
    assert "Instance cannot be destroyed" in " ".join(refused.printed.split())


def test_a_lost_database_gets_the_same_address_again(recovered: dict[str, list[str]]) -> None:
    assert recovered["google_sql_database_instance.this"] == ["create"]
    assert "google_compute_address.database[0]" not in recovered


def _allowed_projects(resources: list[dict[str, Any]]) -> list[str]:
    """Return the projects from whose networks Cloud SQL accepts connections."""
    (instance,) = [resource["values"] for resource in resources if resource["type"] == "google_sql_database_instance"]
    (psc_config,) = instance["settings"][0]["ip_configuration"][0]["psc_config"]
    return sorted(psc_config["allowed_consumer_projects"])


def _planned(plan: dict[str, Any]) -> list[dict[str, Any]]:
    (module,) = plan["planned_values"]["root_module"]["child_modules"]
    resources: list[dict[str, Any]] = module["resources"]
    return resources


def test_the_project_of_the_network_may_connect_to_the_database(
    empty: Workspace, empty_plan: dict[str, Any], complete: Applied
) -> None:
    assert _allowed_projects(_planned(empty_plan)) == [PROJECT]
    assert _allowed_projects(complete.restored().resources()) == [PROJECT]
    assert empty.plan(ONLY_DATABASE, psc=True, network=network("host", "office")).status == 2
    assert _allowed_projects(_planned(empty.planned())) == ["host", PROJECT]


def test_with_private_service_connect_the_database_needs_no_peering(complete: Applied) -> None:
    values = complete.restored().values()
    assert [address for address in values if "google_service_networking_connection" in address] == []
    assert "google_compute_forwarding_rule.database[0]" in values
    (ingest,) = values['google_cloudfunctions2_function.serving["ingest"]']["service_config"]
    assert ingest["environment_variables"]["MNEMOSYNE_DB_IP_TYPE"] == "PSC"
