"""Each resource is created after its prerequisites exist and have taken effect."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.terraform.conftest import PARTS, RECIPIENTS, Applied
from tests.terraform.workspace import Workspace

pytestmark = pytest.mark.slow

Resources = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def resources(empty_plan: dict[str, Any]) -> Resources:
    """The module's resources as they are configured, by address."""
    module = empty_plan["configuration"]["root_module"]["module_calls"]["mnemosyne"]["module"]
    return {resource["address"]: resource for resource in module["resources"]}


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from item if key in ("references", "depends_on") else _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def _before(address: str, resources: Resources) -> set[str]:
    """Return the addresses of the resources that Terraform completes before it begins with the resource `address`."""
    addresses: set[str] = set()
    waiting = [address]
    while waiting:
        for reference in _references(resources[waiting.pop()]):
            parts = reference.partition("[")[0].split(".")
            name = ".".join(parts[: 3 if parts[0] == "data" else 2])
            if name in resources and name not in addresses:
                addresses.add(name)
                waiting.append(name)
    return addresses


def test_each_resource_encrypted_with_the_key_waits_until_the_grants_on_the_key_have_taken_effect(
    resources: Resources,
) -> None:
    encrypted = [
        address
        for address, resource in resources.items()
        if "var.kms_key" in _references(resource["expressions"]) and resource["type"].startswith("google_")
    ]
    grants = "google_kms_crypto_key_iam_member.agents"
    encrypted.remove(grants)
    assert len(encrypted) > 8
    for address in encrypted:
        assert {"time_sleep.key_grants", grants} <= _before(address, resources), address


@pytest.mark.parametrize(
    ("address", "earlier"),
    [
        ("google_storage_notification.object", ["time_sleep.notifies", "google_pubsub_topic_iam_member.notifies"]),
        ("data.google_project.this", ["time_sleep.resource_manager", "google_project_service.resource_manager"]),
        ("google_pubsub_topic_iam_member.agent_forwards", ["google_project_service_identity.agents"]),
        ("google_workflows_workflow.operate", ["google_project_iam_member.agents", "time_sleep.services"]),
        ("google_workflows_workflow.check", ["google_project_iam_member.agents"]),
        ("google_cloud_scheduler_job.migrate", ["google_project_iam_member.agents"]),
        ("google_cloudfunctions2_function.migrate", ["google_project_iam_member.agents"]),
        ("google_artifact_registry_repository.images", ["google_project_iam_member.agents"]),
        ("google_sql_database_instance.this", ["google_project_iam_member.agents"]),
        ("google_project_iam_member.agents", ["google_project_service_identity.agents"]),
        ("google_cloudfunctions2_function.migrate", ["time_sleep.build_grants", "google_sql_user.owner"]),
        (
            "google_cloudfunctions2_function.serving",
            ["google_cloud_run_v2_job.migrate", "terraform_data.migrated"],
        ),
        ("google_cloud_run_v2_job.migrate", ["google_cloudfunctions2_function.migrate"]),
        ("google_pubsub_subscription.ingest", ["google_cloudfunctions2_function.serving"]),
    ],
)
def test_a_resource_waits_for_its_prerequisites(address: str, earlier: list[str], resources: Resources) -> None:
    assert set(earlier) <= _before(address, resources)


def test_grants_on_serving_functions_are_made_after_the_migration(resources: Resources) -> None:
    """A grant lets callers call a function. If the schema did not exist yet, their requests would fail."""
    for address in ("mcp", "auth", "push"):
        before = _before(f"google_cloud_run_v2_service_iam_member.{address}", resources)
        assert "google_cloud_run_v2_job.migrate" in before


@dataclass(frozen=True)
class Reduced:
    """A deployment from which parts are removed.

    `addresses` has the addresses of its resources after an apply whose migration failed, and after the next apply.
    """

    own: Workspace
    addresses: list[set[str]]
    printed: list[str]
    variables: dict[str, object]

    def lines(self, *parts: str) -> list[int]:
        """Return the numbers of the lines that contain all these parts, in the output of the last apply."""
        return [number for number, line in enumerate(self.printed) if all(part in line for part in parts)]


@pytest.fixture(scope="module")
def reduced(complete: Applied) -> Reduced:
    own, added = complete.restored(), {"gemini_api_key_secret": "gemini", "alert_emails": RECIPIENTS[1:]}
    variables = {name: value for name, value in PARTS.items() if name not in ("outcomes", "reranking_model")} | added
    own.fail(google_cloud_run_v2_job="The migration failed.")
    assert own.try_apply(**variables).status == 1
    addresses = own.addresses()
    own.fail()
    printed = own.apply(**variables).printed.splitlines()
    return Reduced(own, [addresses, own.addresses()], printed, variables)


@pytest.mark.nightly  # takes long, because everything is applied several times
def test_alerts_no_longer_use_a_channel_or_an_uptime_check_that_is_deleted(reduced: Reduced) -> None:
    """Google refuses to delete a channel or a check that an alert uses."""
    (deleted,) = reduced.lines("Destroying", 'notification_channel.email["ada@example.com"]')
    changed = reduced.lines("alert_policy", "complete")
    assert len(changed) > 15
    assert max(changed) < deleted
    # The check's host name contains the number of the project, so another number replaces the check.
    reduced.own.plan("-refresh=false", **reduced.variables, project_number="42")
    changes = reduced.own.changes()
    for address in ("google_monitoring_uptime_check_config.mcp[0]", 'google_monitoring_alert_policy.this["canary"]'):
        assert changes[f"module.mnemosyne.{address}"] == ["delete", "create"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "address",
    [
        "google_pubsub_topic.outcomes[0]",
        'google_pubsub_topic_iam_member.publishes["ingest outcomes"]',
        'google_project_iam_member.functions["ingest aiplatform.user"]',
        'google_project_iam_member.functions["mcp aiplatform.user"]',
        'google_project_iam_member.functions["mcp discoveryengine.viewer"]',
    ],
)
def test_functions_keep_their_topics_and_rights_until_they_no_longer_use_them(reduced: Reduced, address: str) -> None:
    """If the migration fails, the functions keep their settings, so they still need their topics and rights."""
    full = f"module.mnemosyne.{address}"
    assert [full in addresses for addresses in reduced.addresses] == [True, False]
    changed = reduced.lines("function.serving", "complete")
    assert len(changed) == 4
    assert max(changed) < min(reduced.lines(full, "Destroying"))


# https://cloud.google.com/iam/docs/service-agents
AGENTS = {
    "artifactregistry": ("gcp-sa-artifactregistry", "artifactregistry"),
    "cloudfunctions": ("gcf-admin-robot", "cloudfunctions"),
    "cloudscheduler": ("gcp-sa-cloudscheduler", "cloudscheduler"),
    "pubsub": ("gcp-sa-pubsub", "pubsub"),
    "run": ("serverless-robot-prod", "run"),
    "secretmanager": ("gcp-sa-secretmanager", None),
    "sqladmin": ("gcp-sa-cloud-sql", "cloudsql"),
    "workflows": ("gcp-sa-workflows", "workflows"),
}
"""The account and the role of each service agent, by service; the agent of Secret Manager has no role."""


def test_each_service_agent_that_is_created_gets_its_role(complete: Applied) -> None:
    """If Terraform creates a service agent, it must also give it its role.

    Google does this only for agents that it creates.
    """
    values = complete.restored().values()
    beginning = "google_project_service_identity.agents["
    created = {resource["service"] for address, resource in values.items() if address.startswith(beginning)}
    assert created == {f"{service}.googleapis.com" for service in AGENTS}
    for service, (account, role) in AGENTS.items():
        grant = values.get(f'google_project_iam_member.agents["{service}"]')
        expected = role and (
            f"roles/{role}.serviceAgent",
            f"serviceAccount:service-1@{account}.iam.gserviceaccount.com",
        )
        assert (grant and (grant["role"], re.sub(r"service-\d+@", "service-1@", grant["member"]))) == expected


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("variable", "secret", "function"),
    [
        ("oauth_client_secret_version", "oauth_client[0]", 'serving["auth"]'),
        ("owner_password_version", "owner_password", "migrate"),
    ],
)
def test_the_version_of_a_secret_is_destroyed_after_a_function_uses_the_next_version(
    complete: Applied, variable: str, secret: str, function: str
) -> None:
    """Google can refuse the next version, for example if the run has no client secret. Then the old one is needed."""
    own, version = complete.restored(), f"google_secret_manager_secret_version.{secret}"
    own.fail(google_secret_manager_secret_version="Secret Payload cannot be empty")
    refused = own.try_apply(**PARTS | {variable: 2}).printed
    assert "Secret Payload cannot be empty" in refused
    assert not re.search(rf"{re.escape(version)}.*: Destroying", refused)
    printed = complete.restored().apply(**PARTS | {variable: 2}).printed.splitlines()
    created, used, destroyed = (
        [number for number, line in enumerate(printed) if re.search(pattern, line)]
        for pattern in (
            rf"{re.escape(version)}: Creation complete",
            rf"function\.{re.escape(function)}: Modifications complete",
            rf"{re.escape(version)} .*: Destroying",
        )
    )
    assert created < used < destroyed
