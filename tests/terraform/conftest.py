"""Fixtures with the real terraform binary and the provider's schema and rules, offline."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.gcloud_operator import operator
from tests.terraform.monitoring import ENTRIES, NOTIFIED, Monitoring
from tests.terraform.workspace import ROOT, TERRAFORM, Done, Workspace, workspace

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
    "kms_key": "projects/my-project/locations/europe-west1/keyRings/r/cryptoKeys/k",
}
"""Variables that create every function and every grant, with addresses that the plan shows."""
RECIPIENTS = [f"{name}@example.com" for name in ("ada", "bob", "cy", "dee", "eve", "fay")]
PARTS: dict[str, object] = {
    "domain": "memory.example.com",
    "alert_emails": RECIPIENTS,
    "billing_account": "000000-000000-000000",
    "message_storage_regions": ["europe-west1"],
    "backup_location": "eu",
    **{name: value for name, value in EVERYTHING.items() if name != "project_number"},
}
"""Variables of a deployment with each optional part."""
FAILED_MIGRATION = "Error waiting to create Job: The execution failed: 42P07 relation already exists"


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
def only_variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A configuration of the variables without resources, which is planned in a tenth of the time."""
    directory = tmp_path_factory.mktemp("variables")
    for file in (*TERRAFORM.glob("variables*.tf"), TERRAFORM / "regions.tf"):
        shutil.copy(file, directory)
    with workspace(directory) as new_workspace:
        yield new_workspace


@pytest.fixture(scope="session")
def empty() -> Iterator[Workspace]:
    """A project without a deployment, for tests that only plan."""
    with workspace() as new_workspace:
        yield new_workspace


class Applied:
    """A deployment, and its state after the apply with these variables."""

    def __init__(self, own: Workspace, **variables: object) -> None:
        own.apply(**variables)
        self._workspace = own
        self._state = own.state.read_bytes()

    def restored(self) -> Workspace:
        """Return to the state after the apply."""
        self._workspace.restore(self._state)
        return self._workspace


@pytest.fixture(scope="session")
def empty_plan(empty: Workspace) -> dict[str, Any]:
    """A plan of the first apply, as JSON."""
    assert empty.plan(labels={"team": "memory"}).status == 2
    return empty.planned()


@dataclass(frozen=True)
class FirstApply:
    """A first apply whose migration failed, and the addresses that it left."""

    ended: Done
    addresses: set[str]


@pytest.fixture(scope="session")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A project in which terraform finds no other program."""
    with workspace(environment={"PATH": str(tmp_path_factory.mktemp("no_programs"))}) as own:
        yield own


@pytest.fixture(scope="session")
def failed_first_apply(_first: Workspace) -> FirstApply:
    """The default deployment before its migration succeeded."""
    _first.fail(google_cloud_run_v2_job=FAILED_MIGRATION)
    ended = _first.try_apply()
    _first.fail()
    return FirstApply(ended, _first.addresses())


@pytest.fixture(scope="session")
def applied(_first: Workspace, failed_first_apply: FirstApply) -> Applied:
    """The default deployment, applied after the failed first apply."""
    return Applied(_first)


@pytest.fixture
def deployed(applied: Applied) -> Workspace:
    """A deployment with the default of every variable, in the state after its first apply."""
    return applied.restored()


@pytest.fixture(scope="session")
def complete() -> Iterator[Applied]:
    """A deployment with each optional part."""
    with workspace() as own:
        yield Applied(own, **PARTS)


@pytest.fixture(scope="session")
def monitoring() -> Monitoring:
    """A deployment named `mem` that notifies somebody, with a publisher and a bucket."""
    with workspace() as new_workspace:
        new_workspace.apply(name="mem", **NOTIFIED, **ENTRIES)
        return Monitoring(new_workspace.shown())
