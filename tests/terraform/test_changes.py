"""A deployment that is there: planned again, changed in each variable, upgraded, and never made anew."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terraform.workspace import (
    LOWER_BOUND,
    MODULE,
    NEWEST,
    ROOT,
    TERRAFORM,
    Workspace,
    without_gcloud,
    workspace,
)

HOLDS_DATA = (
    "google_sql_database_instance.this",
    "google_sql_database.this",
    "google_pubsub_topic.ingest",
    "google_pubsub_topic.dead_letter",
    "google_pubsub_subscription.ingest",
    "google_pubsub_subscription.dead_letter",
    "google_secret_manager_secret.owner_password",
)
FIXED = "cannot be changed after the first apply"
KEY = "projects/my-project/locations/europe-west1/keyRings/r/cryptoKeys/k"
NETWORK = {"network": "projects/h/global/networks/n", "subnetwork": "projects/h/regions/europe-west1/subnetworks/s"}

# Each variable, changed: what else it needs, and the sentence it is refused with, if it is.
FLIPS: dict[str, tuple[dict[str, object], str]] = {
    "alert_emails": ({"alert_emails": ["ada@example.com"]}, ""),
    "auth_mode": ({"auth_mode": "iam", "invokers": ["user:ada@example.com"]}, ""),
    "availability_type": ({"availability_type": "REGIONAL"}, ""),
    "billing_account": ({"billing_account": "000000-000000-000000"}, ""),
    "budget": ({"billing_account": "000000-000000-000000", "budget": 50}, ""),
    "database_instance_name": ({"database_instance_name": "restored"}, "prevent_destroy"),
    "deletion_protection": ({"deletion_protection": False}, ""),
    "disk_limit_gb": ({"disk_limit_gb": 0}, ""),
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
    "owner_password_version": ({"owner_password_version": 2}, ""),
    "pool_size": ({"pool_size": {"mcp": 4, "ingest": 4, "dead_letter": 2}}, ""),
    "postgres_version": ({"postgres_version": "POSTGRES_18"}, ""),
    "project": ({"project": "other-project"}, FIXED),
    "psc": ({"psc": True}, FIXED),
    "python_runtime": ({"python_runtime": "python314"}, ""),
    "rate_limit_per_minute": ({"rate_limit_per_minute": 10}, ""),
    "region": ({"region": "europe-west3"}, FIXED),
    "sql_edition": ({"sql_edition": "ENTERPRISE_PLUS"}, ""),
    "sql_tier": ({"sql_tier": "db-custom-2-8192"}, ""),
    "subnetwork_cidr": ({"subnetwork_cidr": "10.10.0.0/22"}, ""),
    "vertex_location": ({"vertex_location": "global"}, ""),
}


def _names(file: Path) -> set[str]:
    return set(re.findall(r'^variable "(\w+)"', file.read_text(), re.MULTILINE))


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


@pytest.mark.parametrize("variable", sorted(FLIPS))
def test_no_variable_makes_anew_what_holds_data(deployed: Workspace, variable: str) -> None:
    given, refusal = FLIPS[variable]
    planned = deployed.plan(**given)
    printed = " ".join(planned.printed.split())
    if refusal:
        assert planned.status == 1
        assert refusal in printed
        return
    assert planned.status == 2, printed[-2000:]
    assert not _made_anew(deployed)


def _made_anew(planned: Workspace) -> list[str]:
    return [
        address
        for address, actions in planned.changes().items()
        if "delete" in actions and address.removeprefix("module.mnemosyne.") in HOLDS_DATA
    ]


def test_a_narrower_subnetwork_is_made_anew_and_the_checker_knows(deployed: Workspace) -> None:
    """The rule itself at work: a range that does not hold the old one replaces, a wider one does not."""
    address = "module.mnemosyne.google_compute_subnetwork.functions[0]"
    deployed.plan(subnetwork_cidr="10.20.0.0/24")
    assert deployed.changes()[address] == ["delete", "create"]
    deployed.plan(subnetwork_cidr="10.10.0.0/22")
    assert deployed.changes()[address] == ["update"]


def test_another_domain_has_its_certificate_before_the_old_one_goes(deployed: Workspace, tmp_path: Path) -> None:
    with workspace(environment=without_gcloud(tmp_path)) as own:
        own.apply(domain="memory.example.com")
        own.plan(domain="other.example.com")
        changed = {address: actions for address, actions in own.changes().items() if "certificate" in address}
        assert list(changed.values()) == [["create", "delete"]]


@pytest.fixture(scope="module")
def before() -> Iterator[tuple[Workspace, str]]:
    """A deployment by the release before the module was one, and its state; skips loudly where that is not at hand."""
    commit = "cf70f4d"
    archive = subprocess.run(
        ["git", "archive", commit, "terraform", "functions", "infra"], cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        pytest.skip(f"NOT TESTED: the commit {commit} is not in this clone's history")
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(["tar", "-x", "-C", home], input=archive.stdout, check=True)
        (Path(home) / "bin").mkdir()
        with workspace(Path(home) / "terraform", environment=without_gcloud(Path(home) / "bin")) as made:
            made.apply()
            yield made, (made.directory / "terraform.tfstate").read_text()


def test_an_upgrade_takes_over_what_is_there(before: tuple[Workspace, str], tmp_path: Path) -> None:
    with workspace(environment=without_gcloud(tmp_path)) as now:
        (now.directory / "terraform.tfstate").write_text(before[1])
        planned = now.plan()
        assert planned.status == 2, planned.printed
        assert not _made_anew(now)
        gone = [address for address, actions in now.changes().items() if "delete" in actions]
        # Rights of the build account that were wider than needed, and the archive, which is another.
        assert {re.sub(r"\[.*", "", address) for address in gone} <= {
            "module.mnemosyne.google_project_iam_member.build",
            "module.mnemosyne.google_storage_bucket_object.source",
            "module.mnemosyne.terraform_data.migrated",
        }
        now.apply()
        assert now.plan().status == 0


def test_going_back_makes_nothing_anew_either(before: tuple[Workspace, str]) -> None:
    """An upgrade that was not applied to its end: the release before plans on its own state as ever."""
    planned = before[0].plan()
    assert not [actions for actions in before[0].changes().values() if actions == ["delete"]]
    assert planned.status in (0, 2)


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


def test_a_clone_that_was_imported_is_gone_on_with(tmp_path: Path) -> None:
    """As docs/deployment.md says under Restore."""
    users = {name: f"{name}@my-project.iam" for name in ("mcp", "ingest", "dead-letter")}
    imports = {
        "sql_database_instance.this": "projects/my-project/instances/clone",
        "sql_database.this": "projects/my-project/instances/clone/databases/mnemosyne",
        "sql_user.owner": "my-project/clone/mnemosyne-owner",
        **{f'sql_user.functions["{name}"]': f"my-project/clone/mnemosyne-{user}" for name, user in users.items()},
    }
    cloud = tmp_path / "cloud.json"
    with workspace(environment=without_gcloud(tmp_path) | {"TFCHECK_CLOUD": str(cloud)}) as own:
        own.apply()
        shown = json.loads(own.run("show", "-json").printed)
        (module,) = shown["values"]["root_module"]["child_modules"]
        values = {one["address"].removeprefix("module.mnemosyne.google_"): one["values"] for one in module["resources"]}
        cloned = {identity: values[address] | {"instance": "clone"} for address, identity in imports.items()}
        cloned[imports["sql_database_instance.this"]] |= {"name": "clone", "deletion_protection": True}
        cloud.write_text(json.dumps(cloned))
        own.run("state", "rm", *(f"module.mnemosyne.google_{address}" for address in imports))
        named = ("-var=project=my-project", "-var=database_instance_name=clone")
        for address, identity in imports.items():
            own.run("import", "-input=false", *named, f"module.mnemosyne.google_{address}", identity)
        planned = own.plan(database_instance_name="clone")
        assert planned.status == 2, planned.printed[-3000:]
        assert not [address for address, actions in own.changes().items() if "sql" in address and "delete" in actions]


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
