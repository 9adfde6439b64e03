"""A deployment in an existing network of its project, with Private Service Connect."""

from collections.abc import Iterator

import pytest

from tests.terraform.conftest import Applied
from tests.terraform.workspace import PROJECT, Workspace, workspace


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
