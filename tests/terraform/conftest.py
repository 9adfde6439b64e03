"""Fixtures with the real terraform binary and the provider's schema and rules, offline."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.gcloud_operator import checks, operator, scripts
from tests.terraform.monitoring import ENTRIES, NOTIFIED, Monitoring
from tests.terraform.workspace import PROJECT, ROOT, TERRAFORM, Done, Workspace, changes_of, workspace

__all__ = ["ROOT", "TERRAFORM", "Plan", "checks", "operator", "scripts"]


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
IN_NETWORK: dict[str, object] = {
    "network": {
        "network": f"projects/{PROJECT}/global/networks/office",
        "subnetwork": f"projects/{PROJECT}/regions/europe-west1/subnetworks/office",
    },
    "psc": True,
}
"""Variables of a deployment in an existing network of its project, with Private Service Connect."""
PARTS: dict[str, object] = {
    **IN_NETWORK,
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
    """Terraform's plan for an empty project, and the archive of the functions' source that Terraform has built."""

    def __init__(self, text: str, archive: Path) -> None:
        self.text = text
        self.archive = archive


def planned(variables: Mapping[str, object], *options: str, small: bool = True) -> Iterator[Plan]:
    """Make a plan with the variables and Terraform's options, and yield it.

    Its files exist until the generator is closed.
    """
    with workspace(small=small) as own:
        done = own.plan(*options, **variables)
        assert done.status in (0, 2), done.printed
        text = done.printed.replace("module.mnemosyne.", "")
        yield Plan(text, own.directory / ".terraform" / "mnemosyne-functions.zip")


@pytest.fixture(scope="package")
def plan() -> Iterator[Plan]:
    """A plan with every part of a deployment, and with a small source.

    The real source would take three times as long.
    """
    yield from planned(EVERYTHING)


@pytest.fixture(scope="session")
def only_variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A configuration that has only the module's variables and no resources. Its plan takes a tenth of the time."""
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
    """A deployment after an apply with the given variables, and Terraform's state at that time."""

    def __init__(self, own: Workspace, **variables: object) -> None:
        own.apply(**variables)
        self._workspace = own
        self._state = own.state.read_bytes()

    def restored(self) -> Workspace:
        """Set the deployment back to its state after the apply, and return its working directory."""
        self._workspace.restore(self._state)
        return self._workspace


@pytest.fixture(scope="session")
def empty_plan(empty: Workspace) -> dict[str, Any]:
    """The plan of a first apply, as JSON.

    Members of Google Cloud call the deployment, each function has at most one instance, the disk has no limit, and
    the functions reach the database by Private Service Connect in a new network.
    """
    private = {"auth_mode": "iam", "invokers": ["user:ada@example.com"]}
    one_instance = {"max_instances": {"mcp": 1, "ingest": 1, "dead_letter": 1}}
    assert empty.plan(labels={"team": "memory"}, psc=True, **NOTIFIED, **private, **one_instance).status == 2
    return empty.planned()


@dataclass(frozen=True)
class FirstApply:
    """The result of a first apply whose migration failed, and the addresses of the resources that exist afterwards."""

    ended: Done
    addresses: set[str]


@pytest.fixture(scope="session")
def _first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A project without a deployment. Its PATH has no programs, so terraform cannot run any."""
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


@dataclass(frozen=True)
class Changed:
    """A plan that adds several parts to a deployment at once, as JSON, and the changes in the plan."""

    plan: dict[str, Any]
    changes: dict[str, list[str]]
    schemas: dict[str, dict[str, set[str]]]


@pytest.fixture(scope="session")
def changed(applied: Applied) -> Changed:
    """A plan that adds a domain, a budget, a wider subnetwork and a minimum of instances to the default deployment."""
    deployed = applied.restored()
    parts = {"domain": "memory.example.com", "iap": True, "billing_account": "000000-000000-000000"}
    deployed.plan("-refresh=false", **parts, subnetwork_cidr="10.10.0.0/22", mcp_min_instances=1, disk_limit_gb=50)
    plan = deployed.planned()
    return Changed(plan, changes_of(plan), deployed.schemas())


MCP = 'module.mnemosyne.google_cloudfunctions2_function.serving["mcp"]'
ONLY_DATABASE = "-target=module.mnemosyne.google_sql_database_instance.this"
"""The option for a plan of the database without the other resources, which takes less time."""


REPLACED = [f'google_cloudfunctions2_function.serving["{name}"]' for name in ("mcp", "ingest")]
"""Not all functions: if a plan replaces all of them, Terraform 1.11 replaces only one of their grants."""


@pytest.fixture(scope="session")
def replaced(applied: Applied) -> dict[str, list[str]]:
    """The changes of a plan that replaces the functions of REPLACED and changes the embedding model, by address."""
    deployed = applied.restored()
    replacements = [f"-replace=module.mnemosyne.{address}" for address in REPLACED]
    deployed.plan("-refresh=false", *replacements, embedding_model="gemini-embedding-001")
    return deployed.changes()


@pytest.fixture(scope="session")
def complete() -> Iterator[Applied]:
    """A deployment with each optional part."""
    with workspace() as own:
        yield Applied(own, **PARTS)


def _as_if_domain_only(directory: Path) -> None:
    """Change the configuration, so that the alert on the certificate also exists without `domain_only`.

    With `domain_only`, Terraform would refuse the first apply, because the domain has no address yet.
    """
    file = directory / "modules" / "mnemosyne" / "alerts.tf"
    text = file.read_text()
    assert " && var.domain_only" in text
    file.write_text(text.replace(" && var.domain_only", ""))


@pytest.fixture(scope="session")
def recovered(complete: Applied) -> dict[str, list[str]]:
    """The changes of a plan after a loss of the database, by the resource's address.

    The plan creates the database under another name, and sets another domain.
    """
    own = complete.restored()
    own.drift({f"google_sql_database_instance {own.values()['google_sql_database_instance.this']['name']}": None})
    own.plan(**PARTS | {"database_instance_name": "restored", "domain": "other.example.com"})
    return {address.removeprefix("module.mnemosyne."): actions for address, actions in own.changes().items()}


@pytest.fixture(scope="session")
def monitoring() -> Monitoring:
    """A deployment named `mem` that notifies somebody, with a publisher, a bucket, a budget and each alert."""
    with workspace() as new_workspace:
        _as_if_domain_only(new_workspace.directory)
        new_workspace.apply(name="mem", outcomes=True, **NOTIFIED, **ENTRIES, billing_account="000000-000000-000000")
        return Monitoring(new_workspace.resources())
