"""An existing deployment: planned again, and changed in each variable without losing data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.conftest import ONLY_DATABASE, PARTS, REPLACED, Applied, Changed
from tests.terraform.workspace import MODULE, ROOT, SCHEMA, TERRAFORM, Done, Workspace, workspace

pytestmark = pytest.mark.slow

UNCHANGED = "No changes"
FIXED = "Instance cannot be destroyed"
KEY = "projects/my-project/locations/europe-west1/keyRings/r/cryptoKeys/k"
NETWORK = {"network": "projects/h/global/networks/n", "subnetwork": "projects/h/regions/europe-west1/subnetworks/s"}
HOLDS_DATA = (
    "google_sql_database_instance.this",
    "google_sql_database.this",
    "google_pubsub_topic.ingest",
    "google_pubsub_topic.dead_letter",
    "google_pubsub_subscription.ingest",
    "google_pubsub_subscription.dead_letter",
    "google_secret_manager_secret.owner_password",
)
"""Resources whose replacement would lose data."""

VALUES: dict[str, object] = {
    "alert_emails": ["ada@example.com"],
    "audit_days": 90,
    "audit_reads": 0.1,
    "auth_mode": "iam",
    "availability_type": "REGIONAL",
    "backup_location": "eu",
    "billing_account": "000000-000000-000000",
    "buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}},
    "budget": 50,
    "database_instance_name": "restored",
    "deletion_protection": False,
    "disk_limit_gb": 500,
    "domain": "memory.example.com",
    "domain_only": True,
    "embedding_dimension": 1536,
    "embedding_location": "global",
    "embedding_model": "gemini-embedding-001",
    "final_backup_days": 0,
    "gemini_api_key_secret": "key",
    "gemini_api_key_version": "2",
    "iap": True,
    "iap_clients": ["123456789012-abc.apps.googleusercontent.com"],
    "immutable_sources": ["crm"],
    "invokers": ["user:ada@example.com"],
    "keep_traffic": ["mcp"],
    "kms_key": KEY,
    "kms_protection_level": "HSM",
    "labels": {"team": "memory"},
    "max_connections": 90,
    "max_delivery_attempts": 50,
    "max_instances": {"mcp": 4, "ingest": 4, "dead_letter": 1},
    "mcp_min_instances": 1,
    "message_storage_regions": ["europe-west1"],
    "migrate_by": "gcloud",
    "name": "other",
    "network": NETWORK,
    "notification_channels": ["projects/my-project/notificationChannels/1"],
    "oauth_access_token_seconds": 3600,
    "oauth_client_id": "another",
    "oauth_client_secret": "another",
    "oauth_client_secret_version": 2,
    "oauth_people": [{"who": "@example.com", "namespace": "team"}],
    "oauth_upstream_issuer": "https://login.example.com",
    "oidc_audience": "https://m.example.com",
    "oidc_issuer": "https://other.example.com",
    "oidc_namespace_claim": "tenant",
    "open_by": "no_invoker_check",
    "otlp_endpoint": "https://collector.example.com",
    "outcomes": True,
    "owner_password_version": 2,
    "pool_size": {"mcp": 4, "ingest": 4, "dead_letter": 2},
    "postgres_version": "POSTGRES_18",
    "project": "other-project",
    "project_number": "123456789012",
    "psc": True,
    "publishers": {"crm": {"namespace": "support", "members": ["group:crm@example.com"]}},
    "python_runtime": "python314",
    "rate_limit_per_minute": 10,
    "region": "europe-west3",
    "reranking_model": "semantic-ranker-fast-004",
    "source_dir": ".",
    "sql_edition": "ENTERPRISE_PLUS",
    "sql_tier": "db-custom-2-8192",
    "subnetwork_cidr": "10.10.0.0/22",
    "vpc_egress": "ALL_TRAFFIC",
}
"""A value of each variable that changes the deployment."""
DOMAIN: dict[str, object] = {"domain": "memory.example.com"}
OAUTH: dict[str, object] = {
    "auth_mode": "oauth",
    "oauth_client_id": "c",
    "oauth_client_secret": "s",
    "oauth_people": [{"who": "*"}],
}
OIDC: dict[str, object] = {
    "auth_mode": "oidc",
    "oidc_issuer": "https://login.example.com",
    "oidc_audience": "https://m.example.com",
}
NEEDED: dict[str, dict[str, object]] = {
    "auth_mode": {"invokers": ["user:ada@example.com"]},
    "budget": {"billing_account": "000000-000000-000000"},
    "domain_only": DOMAIN,
    "gemini_api_key_version": {"gemini_api_key_secret": "key"},
    "iap": DOMAIN,
    "iap_clients": {**DOMAIN, "iap": True},
    "invokers": {**DOMAIN, "iap": True},
    "sql_edition": {"sql_tier": "db-perf-optimized-N-2"},
    **{name: OAUTH for name in VALUES if name.startswith("oauth_")},
    **{name: OIDC for name in VALUES if name.startswith("oidc_")},
}
"""The other variables that a variable needs."""
REFUSALS = {
    "domain_only": "has no address yet",
    "project_number": UNCHANGED,
    **dict.fromkeys(("database_instance_name", "kms_key", "name", "network", "project", "psc", "region"), FIXED),
}
"""The sentence with which a plan refuses a change. All other changes are accepted."""


def _names(file: Path) -> set[str]:
    files = file.parent.glob("variables*.tf")
    return {name for file in files for name in re.findall(r'^variable "(\w+)"', file.read_text(), re.MULTILINE)}


def test_each_variable_is_changed_in_these_tests() -> None:
    assert set(VALUES) == _names(TERRAFORM / "variables.tf")


def test_the_root_module_passes_each_variable_to_the_module() -> None:
    assert _names(TERRAFORM / "variables.tf") == _names(MODULE / "variables.tf")
    passed = re.findall(r"^  (\w+)\s+= var\.(\w+)$", (TERRAFORM / "main.tf").read_text(), re.MULTILINE)
    assert {name for pair in passed for name in pair} == _names(TERRAFORM / "variables.tf")


def _group(variable: str) -> str:
    """Return the name of a variable's group. All variables of a group are changed in one plan.

    A variable whose change is refused has its own group.
    """
    values = {**NEEDED.get(variable, {}), variable: VALUES[variable]}
    if variable in REFUSALS or values.keys() & {"sql_edition", "embedding_location"}:
        return variable
    if "auth_mode" in values:
        mode = str(values["auth_mode"])
        return mode if mode in ("oauth", "oidc") else variable
    return "iap" if "iap" in values else "all others at once"


GROUPS = {_group(name): [other for other in sorted(VALUES) if _group(other) == _group(name)] for name in sorted(VALUES)}


BY_DAY = {"all others at once", "name"}
"""Groups that are also tested by day: one whose change is refused, and one whose change is not. All other groups are
tested only at night."""


def made_anew(planned: Done) -> list[str]:
    """Return the resources with data that a plan would delete or replace. The plan was printed with `-json`."""
    messages = [json.loads(line) for line in planned.printed.splitlines() if line.startswith("{")]
    changes = [message["change"] for message in messages if message["type"] == "planned_change"]
    assert changes
    return [
        change["resource"]["addr"]
        for change in changes
        if change["action"] in ("delete", "replace") and change["resource"]["resource"] in HOLDS_DATA
    ]


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param(variables, id=group, marks=[] if group in BY_DAY else [pytest.mark.nightly])
        for group, variables in GROUPS.items()
    ],
)
def test_no_change_of_a_variable_replaces_a_resource_with_data(deployed: Workspace, variables: list[str]) -> None:
    values = {name: value for variable in variables for name, value in NEEDED.get(variable, {}).items()}
    values |= {variable: VALUES[variable] for variable in variables}
    if "source_dir" in values:
        values["source_dir"] = str(deployed.directory.parent)
    refusal = REFUSALS.get(variables[0], "")
    options = [ONLY_DATABASE] if refusal == FIXED else []
    planned = deployed.plan("-refresh=false", "-json", *options, **values)
    printed = " ".join(planned.printed.split())
    if refusal == UNCHANGED:
        assert planned.status == 0
        return
    if refusal:
        assert planned.status == 1
        assert refusal in printed
        return
    assert planned.status == 2, printed[-2000:]
    assert not made_anew(planned)


def test_each_group_that_is_changed_by_day_exists() -> None:
    assert GROUPS.keys() >= BY_DAY


@pytest.mark.parametrize("cidr", [pytest.param("10.20.0.0/24", marks=pytest.mark.nightly), "10.10.0.0/25"])
def test_a_subnetwork_in_use_can_only_be_widened(deployed: Workspace, cidr: str) -> None:
    subnetwork = "-target=module.mnemosyne.google_compute_subnetwork.functions"
    refused = deployed.plan("-refresh=false", subnetwork, subnetwork_cidr=cidr)
    assert refused.status == 1
    assert FIXED in " ".join(refused.printed.split())


def test_the_certificate_of_a_new_domain_is_created_before_the_old_one_is_deleted(
    recovered: dict[str, list[str]],
) -> None:
    assert [actions for address, actions in recovered.items() if "certificate" in address] == [["create", "delete"]]


@pytest.mark.nightly  # takes long, because it applies everything twice
def test_another_protection_level_creates_keys_in_new_key_rings_before_the_old_keys_are_destroyed(
    complete: Applied,
) -> None:
    """New names are needed: a key ring keeps the names of deleted keys, and Google keeps the names of key rings."""
    own = complete.restored()
    own.apply(**PARTS | {"kms_protection_level": "HSM"})
    rings = {name: own.values()[f"google_kms_key_ring.{name}"]["name"] for name in ("receipts", "tokens[0]")}
    (template,) = own.values()["google_kms_crypto_key.receipts"]["version_template"]
    assert template["protection_level"] == "HSM"
    own.plan("-refresh=false", **PARTS)
    changed = {address.removeprefix("module.mnemosyne."): actions for address, actions in own.changes().items()}
    for name in rings:
        assert changed[f"google_kms_crypto_key.{name}"] == ["create", "delete"]
        assert changed[f"google_kms_key_ring.{name}"] == ["create", "delete"]
    assert all(actions == ["create", "delete"] for address, actions in changed.items() if "crypto_key_iam" in address)
    own.apply(**PARTS)
    assert not {name for name, ring in rings.items() if own.values()[f"google_kms_key_ring.{name}"]["name"] == ring}


def test_a_second_plan_with_each_optional_part_is_empty_and_needs_no_client_secret(complete: Applied) -> None:
    """Like the real API, the fake omits zeros, adds variables and returns short names. The plan ignores this.

    In deployments of earlier versions, the random names of the key rings have no `keepers`. The default protection
    level must not change such names.
    """
    own = complete.restored()
    state = json.loads(own.state.read_text())
    random_ids = [
        instance
        for resource in state["resources"]
        if resource["type"] == "random_id"
        for instance in resource["instances"]
    ]
    assert len(random_ids) == 3
    for instance in random_ids:
        instance["attributes"]["keepers"] = None
    own.state.write_text(json.dumps(state))
    planned = own.plan(**{name: value for name, value in PARTS.items() if name != "oauth_client_secret"})
    assert planned.status == 0, planned.printed


ENCRYPTED = tuple(
    f"google_{name}."
    for name in (
        "artifact_registry_repository", "cloud_run_v2_job", "cloudfunctions2_function", "pubsub_topic",
        "secret_manager_secret", "sql_database_instance", "storage_bucket", "workflows_workflow",
    )
)  # fmt: skip
"""Types of resources that store data or copies of the source."""


def test_the_key_of_the_deployment_encrypts_each_resource_that_stores_data(complete: Applied) -> None:
    resources = complete.restored().values()
    stores = {address: json.dumps(resources[address]) for address in resources if address.startswith(ENCRYPTED)}
    assert len(stores) > 15
    assert [address for address, text in stores.items() if str(PARTS["kms_key"]) not in text] == []


def test_the_provider_version_may_be_the_tested_one_or_a_later_one_of_the_same_major_version() -> None:
    examples = [example / "main.tf" for example in (TERRAFORM / "examples").iterdir()]
    for file in (TERRAFORM / "versions.tf", MODULE / "versions.tf", *examples):
        ranges = re.findall(r'source  = "hashicorp/google(?:-beta)?"\n +version = "(.*)"', file.read_text())
        assert set(ranges) == {f"~> {SCHEMA.rsplit('.', 1)[0]}"}


def test_a_subnetwork_is_widened_in_place(changed: Changed) -> None:
    assert changed.changes["module.mnemosyne.google_compute_subnetwork.functions[0]"] == ["update"]


def test_each_resource_names_the_project(changed: Changed) -> None:
    """Without `project`, Terraform creates a resource in the provider's project, which may differ from the module's."""
    module = changed.plan["configuration"]["root_module"]["module_calls"]["mnemosyne"]["module"]
    schemas = changed.schemas
    unnamed = [
        resource["address"]
        for resource in module["resources"]
        if "project" in schemas[resource["mode"]].get(resource["type"], ()) and "project" not in resource["expressions"]
    ]
    assert len(module["resources"]) > 50
    assert unnamed == []


def test_the_project_number_is_known_in_a_plan_that_enables_another_api(changed: Changed) -> None:
    """If the project number were unknown in the plan, Terraform would replace each grant whose member contains it."""
    replaced = [address for address, actions in changed.changes.items() if set(actions) == {"create", "delete"}]
    assert [address for address in replaced if "time_sleep" not in address] == []


def test_a_new_project_is_read_after_its_api_was_enabled(empty_plan: dict[str, Any]) -> None:
    address = "module.mnemosyne.data.google_project.this"
    (read,) = [change for change in empty_plan["resource_changes"] if change["address"] == address]
    assert read["change"]["actions"] == ["read"]  # read in the plan, not during the apply


EXAMPLES = sorted(example.name for example in (TERRAFORM / "examples").iterdir() if example.name != "pipeline")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_is_valid(example: str) -> None:
    with workspace(TERRAFORM / "examples" / example) as own:
        own.run("validate")


@pytest.mark.nightly
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_plans_and_applies(example: str) -> None:
    with workspace(TERRAFORM / "examples" / example) as own:
        own.apply(host_project="host-project")
        assert own.plan(host_project="host-project").status == 0
        assert "module.memory.google_compute_network.this[0]" not in own.addresses()
        assert 'module.memory.google_kms_crypto_key_iam_member.agents["sqladmin"]' in own.addresses()


def test_each_resource_type_with_labels_has_labels(empty_plan: dict[str, Any]) -> None:
    unlabelled = []
    for change in empty_plan["resource_changes"]:
        after = change["change"]["after"] or {}
        labels = [after[name] for name in ("labels", "user_labels") if name in after]
        labels += [block["user_labels"] for block in after.get("settings") or [] if "user_labels" in block]
        if labels and not any((hit or {}).get("team") == "memory" for hit in labels):
            unlabelled.append(change["address"])
    assert unlabelled == []


def test_the_invokers_of_a_replaced_function_are_granted_again(replaced: dict[str, list[str]]) -> None:
    grant = "google_cloud_run_v2_service_iam_member"
    for address in (*REPLACED, f'{grant}.mcp["allUsers"]', f'{grant}.push["ingest"]', f'{grant}.check["ingest"]'):
        assert set(replaced[f"module.mnemosyne.{address}"]) == {"delete", "create"}


@pytest.mark.nightly  # by day, other functions are replaced
def test_the_invokers_of_migrate_and_auth_are_granted_again_after_their_replacement(complete: Applied) -> None:
    deployed = complete.restored()
    replacements = [
        f"-replace=module.mnemosyne.google_cloudfunctions2_function.{name}" for name in ("migrate", 'serving["auth"]')
    ]
    deployed.plan("-refresh=false", *replacements, **PARTS)
    changes = deployed.changes()
    for grant in ("migrate", 'auth["allUsers"]'):
        actions = changes[f"module.mnemosyne.google_cloud_run_v2_service_iam_member.{grant}"]
        assert set(actions) == {"delete", "create"}


def test_functions_use_secret_versions_by_number_and_a_repository_with_clean_up(deployed: Workspace) -> None:
    """If a function used the alias `latest`, an instance would keep the version that was the latest at its start."""
    values = deployed.values()
    (password,) = values["google_cloudfunctions2_function.migrate"]["service_config"][0]["secret_environment_variables"]
    assert password["version"] == values["google_secret_manager_secret_version.owner_password"]["version"] != "latest"
    builds = [values[address]["build_config"][0] for address in values if "cloudfunctions2" in address]
    assert len(builds) == 4
    for build in builds:
        assert build["docker_repository"] == values["google_artifact_registry_repository.images"]["id"]


def test_the_budget_is_created_with_the_deployment_s_quota_project(changed: Changed) -> None:
    """The API of budgets needs a quota project, and a person's credentials have none."""
    provider = changed.plan["configuration"]["provider_config"]["google"]["expressions"]
    assert provider["billing_project"]["references"] == ["local.quota_project"]
    assert provider["user_project_override"]["references"] == ["local.quota_project"]


def test_make_destroy_removes_exactly_the_deletion_protections_that_exist() -> None:
    types = set()
    for file in MODULE.glob("*.tf"):
        for block in re.findall(r'(?ms)^resource "\w+" "\w+" \{.*?^\}', file.read_text()):
            if "prevent_destroy = true" in block:
                types.add(".".join(re.findall(r'"(\w+)"', block.splitlines()[0])))
    lifted = (ROOT / "infra" / "deploy" / "allow_destroy.tf.txt").read_text()
    assert types == {".".join(pair) for pair in re.findall(r'^resource "(\w+)" "(\w+)"', lifted, re.MULTILINE)}
    assert types >= {resource_type for resource_type in HOLDS_DATA if resource_type != "google_sql_database.this"}
