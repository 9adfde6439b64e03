"""Fixtures with the real terraform binary and the provider's schema and rules, offline."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.terraform.gcloud_operator import operator
from tests.terraform.monitoring import ENTRIES, NOTIFIED, Monitoring
from tests.terraform.workspace import ROOT, TERRAFORM, Workspace, workspace

__all__ = ["ROOT", "TERRAFORM", "Plan", "operator"]


EVERYTHING = {
    "project_number": "123456789012",
    "auth_mode": "oauth",
    "oauth_client_id": "upstream-client",
    "oauth_client_secret": "upstream-secret",
    "oauth_people": [{"who": "@example.com", "namespace": "team", "scopes": ["read"]}, {"who": "*"}],
    "outcomes": True,
    "reranking_model": "semantic-ranker-fast-004",
    "publishers": {"crm": {"namespace": "support", "members": ["group:crm@example.com"]}},
    "buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}},
}
"""Variables that create every function and every grant, with addresses that the plan shows."""


class Plan:
    """Terraform's plan for an empty project, and the source archive that Terraform built."""

    def __init__(self, text: str, archive: Path) -> None:
        self.text = text
        self.archive = archive


def planned(variables: Mapping[str, object], *options: str, small: bool = True) -> Iterator[Plan]:
    """Plan with the variables and Terraform's options, until the generator is closed."""
    with workspace(small=small) as own:
        done = own.plan(*options, **variables)
        assert done.status in (0, 2), done.printed
        text = done.printed.replace("module.mnemosyne.", "")
        yield Plan(text, own.directory / ".terraform" / "mnemosyne-functions.zip")


@pytest.fixture(scope="package")
def plan() -> Iterator[Plan]:
    """A plan with every part and a small source, which takes a third of the time of the real one."""
    yield from planned(EVERYTHING)


@pytest.fixture(scope="session")
def empty() -> Iterator[Workspace]:
    """A project without a deployment, for tests that only plan."""
    with workspace() as new_workspace:
        yield new_workspace


@pytest.fixture(scope="session")
def _applied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, bytes]]:
    """A deployment, and its state. It was applied without another program than terraform."""
    with workspace(environment={"PATH": str(tmp_path_factory.mktemp("no_programs"))}) as new_workspace:
        new_workspace.apply()
        yield new_workspace, (new_workspace.directory / "terraform.tfstate").read_bytes()


@pytest.fixture
def deployed(_applied: tuple[Workspace, bytes]) -> Workspace:
    """A deployment with the default of every variable, in the state after its first apply."""
    new_workspace, state = _applied
    new_workspace.restore(state)
    return new_workspace


@pytest.fixture(scope="session")
def monitoring() -> Monitoring:
    """A deployment named `mem` that notifies somebody, with a publisher and a bucket."""
    with workspace() as new_workspace:
        new_workspace.apply(name="mem", **NOTIFIED, **ENTRIES)
        return Monitoring(new_workspace.shown())
