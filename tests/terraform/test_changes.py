"""A deployment that is there: planned again, changed in each variable, and never made anew."""

import json
import re
from pathlib import Path

import pytest

from tests.terraform.workspace import (
    HOLDS_DATA,
    LOWER_BOUND,
    MODULE,
    NEWEST,
    ROOT,
    TERRAFORM,
    Workspace,
    made_anew,
    without_gcloud,
    workspace,
)

FIXED = "cannot be changed after the first apply"
KEY = "projects/my-project/locations/europe-west1/keyRings/r/cryptoKeys/k"
NETWORK = {"network": "projects/h/global/networks/n", "subnetwork": "projects/h/regions/europe-west1/subnetworks/s"}

OAUTH = {"auth_mode": "oauth", "oauth_client_id": "c", "oauth_client_secret": "s", "oauth_people": [{"who": "*"}]}

# Each variable, changed: what else it needs, and the sentence it is refused with, if it is.
FLIPS: dict[str, tuple[dict[str, object], str]] = {
    "alert_emails": ({"alert_emails": ["ada@example.com"]}, ""),
    "auth_mode": ({"auth_mode": "iam", "invokers": ["user:ada@example.com"]}, ""),
    "availability_type": ({"availability_type": "REGIONAL"}, ""),
    "billing_account": ({"billing_account": "000000-000000-000000"}, ""),
    "buckets": ({"buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}}}, ""),
    "budget": ({"billing_account": "000000-000000-000000", "budget": 50}, ""),
    "database_instance_name": ({"database_instance_name": "restored"}, "prevent_destroy"),
    "deletion_protection": ({"deletion_protection": False}, ""),
    "disk_limit_gb": ({"disk_limit_gb": 500}, ""),
    "domain": ({"domain": "memory.example.com"}, ""),
    "domain_only": ({"domain": "memory.example.com", "domain_only": True}, "has no address yet"),
    "embedding_dimension": ({"embedding_dimension": 1536}, ""),
    "embedding_model": ({"embedding_model": "gemini-embedding-2"}, ""),
    "gemini_api_key_secret": ({"gemini_api_key_secret": "key"}, ""),
    "gemini_api_key_version": ({"gemini_api_key_secret": "key", "gemini_api_key_version": "2"}, ""),
    "iap": ({"domain": "memory.example.com", "iap": True}, ""),
    "invokers": ({"domain": "memory.example.com", "iap": True, "invokers": ["user:ada@example.com"]}, ""),
    "kms_key": ({"kms_key": KEY}, FIXED),
    "labels": ({"labels": {"team": "memory"}}, ""),
    "max_connections": ({"max_connections": 90}, ""),
    "max_delivery_attempts": ({"max_delivery_attempts": 50}, ""),
    "max_instances": ({"max_instances": {"mcp": 4, "ingest": 4, "dead_letter": 1}}, ""),
    "mcp_min_instances": ({"mcp_min_instances": 1}, ""),
    "name": ({"name": "other"}, FIXED),
    "network": ({"network": NETWORK}, FIXED),
    "notification_channels": ({"notification_channels": ["projects/my-project/notificationChannels/1"]}, ""),
    "oauth_client_id": ({**OAUTH, "oauth_client_id": "another"}, ""),
    "oauth_client_secret": ({**OAUTH, "oauth_client_secret": "another"}, ""),
    "oauth_client_secret_version": ({**OAUTH, "oauth_client_secret_version": 2}, ""),
    "oauth_people": ({**OAUTH, "oauth_people": [{"who": "@example.com", "namespace": "team"}]}, ""),
    "oauth_upstream_issuer": ({**OAUTH, "oauth_upstream_issuer": "https://login.example.com"}, ""),
    "oidc_audience": (
        {"auth_mode": "oidc", "oidc_issuer": "https://login.example.com", "oidc_audience": "https://m.example.com"},
        "",
    ),
    "oidc_issuer": (
        {"auth_mode": "oidc", "oidc_issuer": "https://other.example.com", "oidc_audience": "https://m.example.com"},
        "",
    ),
    "oidc_namespace_claim": (
        {
            "auth_mode": "oidc",
            "oidc_issuer": "https://login.example.com",
            "oidc_audience": "https://m.example.com",
            "oidc_namespace_claim": "tenant",
        },
        "",
    ),
    "otlp_endpoint": ({"otlp_endpoint": "https://collector.example.com"}, ""),
    "outcomes": ({"outcomes": True}, ""),
    "owner_password_version": ({"owner_password_version": 2}, ""),
    "pool_size": ({"pool_size": {"mcp": 4, "ingest": 4, "dead_letter": 2}}, ""),
    "postgres_version": ({"postgres_version": "POSTGRES_18"}, ""),
    "project": ({"project": "other-project"}, FIXED),
    "psc": ({"psc": True}, FIXED),
    "publishers": ({"publishers": {"crm": {"namespace": "support", "members": ["group:crm@example.com"]}}}, ""),
    "python_runtime": ({"python_runtime": "python314"}, ""),
    "rate_limit_per_minute": ({"rate_limit_per_minute": 10}, ""),
    "region": ({"region": "europe-west3"}, FIXED),
    "reranking_model": ({"reranking_model": "semantic-ranker-fast-004"}, ""),
    "sql_edition": ({"sql_edition": "ENTERPRISE_PLUS", "sql_tier": "db-perf-optimized-N-2"}, ""),
    "sql_tier": ({"sql_tier": "db-custom-2-8192"}, ""),
    "subnetwork_cidr": ({"subnetwork_cidr": "10.10.0.0/22"}, ""),
    "vertex_location": ({"vertex_location": "global"}, ""),
}


def _names(file: Path) -> set[str]:
    files = file.parent.glob("variables*.tf")
    return {name for one in files for name in re.findall(r'^variable "(\w+)"', one.read_text(), re.MULTILINE)}


def test_each_variable_is_changed_in_these_tests() -> None:
    assert set(FLIPS) == _names(TERRAFORM / "variables.tf")


def test_the_root_passes_each_variable_of_the_module_on() -> None:
    assert _names(TERRAFORM / "variables.tf") == _names(MODULE / "variables.tf") - {"source_dir"}
    passed = re.findall(r"^  (\w+)\s+= var\.(\w+)$", (TERRAFORM / "main.tf").read_text(), re.MULTILINE)
    assert {one for pair in passed for one in pair} == _names(TERRAFORM / "variables.tf")


def test_a_second_plan_is_empty(deployed: Workspace) -> None:
    """Though the API leaves zeros out, adds variables of its own, and answers short names."""
    again = deployed.plan()
    assert again.status == 0, again.printed


def _alone(variable: str) -> bool:
    """Whether it is refused, or refuses others beside it."""
    given, refusal = FLIPS[variable]
    return bool(refusal) or bool(given.keys() & {"auth_mode", "iap", "sql_edition", "vertex_location"})


@pytest.mark.parametrize(
    "variables",
    [*([one] for one in sorted(FLIPS) if _alone(one)), [one for one in sorted(FLIPS) if not _alone(one)]],
    ids=lambda variables: variables[0] if len(variables) == 1 else "all others at once",
)
def test_no_variable_makes_anew_what_holds_data(deployed: Workspace, variables: list[str]) -> None:
    given = {name: value for variable in variables for name, value in FLIPS[variable][0].items()}
    planned = deployed.plan("-refresh=false", "-json", **given)
    printed = " ".join(planned.printed.split())
    if refusal := FLIPS[variables[0]][1]:
        assert planned.status == 1
        assert refusal in printed
        return
    assert planned.status == 2, printed[-2000:]
    assert not made_anew(planned)


@pytest.mark.parametrize("cidr", ["10.20.0.0/24", "10.10.0.0/25"], ids=["another", "narrower"])
def test_a_subnetwork_in_use_is_widened_and_nothing_else(deployed: Workspace, cidr: str) -> None:
    refused = deployed.plan(subnetwork_cidr=cidr)
    assert refused.status == 1
    assert "subnetwork_cidr can only be widened" in " ".join(refused.printed.split())
    deployed.plan(subnetwork_cidr="10.10.0.0/22")
    assert deployed.changes()["module.mnemosyne.google_compute_subnetwork.functions[0]"] == ["update"]


def test_another_domain_has_its_certificate_before_the_old_one_goes(deployed: Workspace, tmp_path: Path) -> None:
    with workspace(environment=without_gcloud(tmp_path)) as own:
        own.apply(domain="memory.example.com")
        own.plan(domain="other.example.com")
        changed = {address: actions for address, actions in own.changes().items() if "certificate" in address}
        assert list(changed.values()) == [["create", "delete"]]


@pytest.mark.parametrize("schema", [LOWER_BOUND, NEWEST])
def test_it_is_valid_and_plans_twice_at_both_ends_of_the_provider_s_range(schema: str, tmp_path: Path) -> None:
    with workspace(schema=schema, environment=without_gcloud(tmp_path)) as own:
        own.run("validate")
        own.apply(domain="memory.example.com", alert_emails=["ada@example.com"], billing_account="0-0-0")
        assert (
            own.plan(domain="memory.example.com", alert_emails=["ada@example.com"], billing_account="0-0-0").status == 0
        )


def test_the_lower_bound_is_the_oldest_schema_tested() -> None:
    for file in (TERRAFORM / "versions.tf", MODULE / "versions.tf"):
        assert f'">= {LOWER_BOUND.rsplit(".", 1)[0]}, < 9.0"' in file.read_text()


@pytest.mark.parametrize("example", sorted(one.name for one in (TERRAFORM / "examples").iterdir()))
def test_the_example_plans_and_applies(example: str, tmp_path: Path) -> None:
    with workspace(TERRAFORM / "examples" / example, environment=without_gcloud(tmp_path)) as own:
        own.apply(host_project="host-project")
        assert own.plan(host_project="host-project").status == 0
        assert "module.memory.google_compute_network.this[0]" not in own.addresses()
        assert 'module.memory.google_kms_crypto_key_iam_member.agents["sqladmin"]' in own.addresses()


def test_everything_that_can_have_labels_has_them(deployed: Workspace) -> None:
    deployed.plan(labels={"team": "memory"})
    shown = json.loads(deployed.run("show", "-json", str(deployed.directory / "plan")).printed)
    unlabelled = []
    for change in shown["resource_changes"]:
        after = change["change"]["after"] or {}
        found = [after[name] for name in ("labels", "user_labels") if name in after]
        found += [block["user_labels"] for block in after.get("settings") or [] if "user_labels" in block]
        if found and not any((one or {}).get("team") == "memory" for one in found):
            unlabelled.append(change["address"])
    assert unlabelled == []


@pytest.mark.parametrize(
    ("function", "member"),
    [
        ("mcp", 'google_cloud_run_v2_service_iam_member.mcp["allUsers"]'),
        ("ingest", 'google_cloud_run_v2_service_iam_member.push["ingest"]'),
        ("dead_letter", 'google_cloud_run_v2_service_iam_member.push["dead_letter"]'),
        ("migrate", "google_cloud_run_v2_service_iam_member.migrate"),
    ],
)
def test_a_function_that_is_made_anew_is_given_its_callers_anew(
    deployed: Workspace, function: str, member: str
) -> None:
    address = f"module.mnemosyne.google_cloudfunctions2_function.{function}"
    deployed.run("plan", "-input=false", "-lock=false", "-var=project=my-project", f"-replace={address}",
                 f"-out={deployed.directory / 'plan'}")  # fmt: skip
    changes = deployed.changes()
    assert set(changes[address]) == {"delete", "create"}
    assert set(changes[f"module.mnemosyne.{member}"]) == {"delete", "create"}


def test_secrets_are_named_by_their_version_and_images_go_where_they_are_cleaned_up(deployed: Workspace) -> None:
    """A warm instance keeps what `latest` was when it started."""
    shown = json.loads(deployed.run("show", "-json").printed)
    (module,) = shown["values"]["root_module"]["child_modules"]
    values = {one["address"].removeprefix("module.mnemosyne."): one["values"] for one in module["resources"]}
    (password,) = values["google_cloudfunctions2_function.migrate"]["service_config"][0]["secret_environment_variables"]
    assert password["version"] == values["google_secret_manager_secret_version.owner_password"]["version"] != "latest"
    for function in ("mcp", "ingest", "dead_letter", "migrate"):
        build = values[f"google_cloudfunctions2_function.{function}"]["build_config"][0]
        assert build["docker_repository"] == values["google_artifact_registry_repository.images"]["id"]


def test_a_budget_is_asked_for_under_a_project_of_ours(deployed: Workspace) -> None:
    """A person's own credentials have no quota project, which the budgets' API asks for."""
    deployed.plan(billing_account="000000-000000-000000")
    shown = json.loads(deployed.run("show", "-json", str(deployed.directory / "plan")).printed)
    provider = shown["configuration"]["provider_config"]["google"]["expressions"]
    assert provider["billing_project"]["references"] == ["var.billing_account", "var.project"]
    assert provider["user_project_override"]["references"] == ["var.billing_account"]


def test_whatever_refuses_to_be_destroyed_is_what_make_destroy_lifts() -> None:
    held = set()
    for file in MODULE.glob("*.tf"):
        for block in re.findall(r'(?ms)^resource "\w+" "\w+" \{.*?^\}', file.read_text()):
            if "prevent_destroy = true" in block:
                held.add(".".join(re.findall(r'"(\w+)"', block.splitlines()[0])))
    lifted = (ROOT / "infra" / "deploy" / "allow_destroy.tf.txt").read_text()
    assert held == {".".join(pair) for pair in re.findall(r'^resource "(\w+)" "(\w+)"', lifted, re.MULTILINE)}
    assert held >= {one for one in HOLDS_DATA if one != "google_sql_database.this"}
