"""The pipeline as a Terraform module: triggers, accounts, rights, and the federation with GitHub."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from tests.terraform.conftest import Plan
from tests.terraform.test_pipeline import DEPLOY, TEST
from tests.terraform.workspace import ROOT, TERRAFORM, Workspace, workspace

EXAMPLE = TERRAFORM / "examples" / "pipeline"
REPOSITORY = "acme/memory"
WORKFLOW = ROOT / "infra" / "deploy" / "github_actions.yaml"
Resources = dict[str, list[dict[str, Any]]]
CREATED_BY = {
    "artifact_registry": "artifactregistry.admin",
    "cloud_run": "run.admin",
    "cloud_scheduler": "cloudscheduler.admin",
    "cloudfunctions2": "cloudfunctions.admin",
    "compute": "compute.networkAdmin",
    "kms": "cloudkms.admin",
    "logging": "logging.configWriter",
    "monitoring": "monitoring.admin",
    "project_service": "serviceusage.serviceUsageAdmin",
    "pubsub": "pubsub.admin",
    "secret_manager": "secretmanager.admin",
    "service_account": "iam.serviceAccountAdmin",
    "service_networking": "compute.networkAdmin",
    "sql": "cloudsql.admin",
    "workflows": "workflows.admin",
}
"""The role that is needed to create a resource, by the beginning of the resource's type."""
CREATED_OTHERWISE = ("billing", "dns", "iap", "project_iam", "storage")
"""Beginnings of the types of other resources. They need roles of an optional feature, a role with a condition, or roles
on single buckets."""


@pytest.fixture(scope="module")
def example() -> Iterator[Workspace]:
    with workspace(EXAMPLE) as new_workspace:
        yield new_workspace


def _applied(example: Workspace, **variables: object) -> Resources:
    """Apply the example in a project without a pipeline, and return the resources by type."""
    example.state.unlink(missing_ok=True)
    example.apply(repository=REPOSITORY, **variables)
    assert example.plan(repository=REPOSITORY, **variables).status == 0
    by_type: Resources = {}
    for resource in example.resources():
        by_type.setdefault(resource["type"], []).append(resource["values"])
    return by_type


@pytest.fixture(scope="module")
def cloud_build(example: Workspace) -> Resources:
    return _applied(example)


@pytest.fixture(scope="module")
def github(example: Workspace) -> Resources:
    return _applied(example, runner="github_actions")


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Workspace]:
    """The pipeline's module after an apply. The tests that use it only make plans."""
    with workspace(TERRAFORM / "modules" / "pipeline") as new_workspace:
        new_workspace.apply(repository=REPOSITORY)
        yield new_workspace


def _planned(pipeline: Workspace, **variables: object) -> list[dict[str, Any]]:
    """The resources of a plan with other variables."""
    assert pipeline.plan("-refresh=false", repository=REPOSITORY, **variables).status == 2
    resources: list[dict[str, Any]] = pipeline.planned()["planned_values"]["root_module"]["resources"]
    return resources


def _triggers(resources: Resources) -> dict[str, dict[str, Any]]:
    return {trigger["name"]: trigger for trigger in resources["google_cloudbuild_trigger"]}


def test_each_trigger_runs_its_build_file_with_its_own_account(cloud_build: Resources) -> None:
    triggers = _triggers(cloud_build)
    accounts = {account["account_id"]: account["id"] for account in cloud_build["google_service_account"]}
    assert triggers["mnemosyne-test"]["service_account"] == accounts["mnemosyne-test"]
    assert triggers["mnemosyne-deploy"]["service_account"] == accounts["mnemosyne-deploy"]
    assert triggers["mnemosyne-test"]["filename"] == TEST.name
    assert triggers["mnemosyne-deploy"]["git_file_source"][0]["path"] == str(DEPLOY.relative_to(ROOT))


def test_a_second_pipeline_of_a_project_creates_nothing_of_the_first(
    cloud_build: Resources, pipeline: Workspace
) -> None:
    resources = _planned(pipeline, deployment="other", create_topic=False)
    named = {"name", "account_id", "secret_id"}
    names = {(kind, one[key]) for kind, some in cloud_build.items() for one in some for key in named & one.keys()}
    created = {(one["type"], one["values"][key]) for one in resources for key in named & one["values"].keys()}
    assert {name for name in names & created if "projects/" not in str(name)} == set()
    (topic,) = {
        one["values"]["pubsub_config"][0]["topic"]
        for one in resources
        if one["type"] == "google_cloudbuild_trigger" and one["values"]["pubsub_config"]
    }
    assert topic == "projects/my-project/topics/cloud-builds"


def test_the_triggers_set_the_substitutions_of_their_files(cloud_build: Resources) -> None:
    triggers = _triggers(cloud_build)
    for file, name in ((TEST, "mnemosyne-test"), (DEPLOY, "mnemosyne-deploy")):
        declared = set(yaml.safe_load(file.read_text())["substitutions"])
        used_by_filter = set(re.findall(r"\b_[A-Z_]+\b", triggers[name]["filter"] or ""))
        assert set(triggers[name]["substitutions"]) == declared | used_by_filter


def test_a_deployment_starts_only_after_tests_that_succeeded(cloud_build: Resources) -> None:
    triggers = _triggers(cloud_build)
    deploy = triggers["mnemosyne-deploy"]
    tests = triggers["mnemosyne-test"]["trigger_id"]
    assert deploy["filter"] == f'_STATUS == "SUCCESS" && _TRIGGER == "{tests}"'
    assert deploy["substitutions"]["_TEST_TRIGGER"] == tests
    message = {name: value for name, value in deploy["substitutions"].items() if value.startswith("$(")}
    assert message == {
        "_BUILD": "$(body.message.data.id)",
        "_STATUS": "$(body.message.data.status)",
        "_TRIGGER": "$(body.message.data.buildTriggerId)",
    }
    (topic,) = cloud_build["google_pubsub_topic"]
    assert topic["name"] == "cloud-builds"  # Cloud Build publishes to this topic only
    assert deploy["pubsub_config"][0]["topic"] == topic["id"]


def _project_roles(resources: Resources, account: str) -> set[str]:
    return {grant["role"] for grant in resources["google_project_iam_member"] if f"{account}@" in grant["member"]}


def test_the_account_of_the_tests_writes_its_log_and_nothing_else(cloud_build: Resources) -> None:
    assert _project_roles(cloud_build, "mnemosyne-test") == {"roles/logging.logWriter"}
    grants = [grant for kind, resources in cloud_build.items() if kind.endswith("_iam_member") for grant in resources]
    assert len([grant for grant in grants if "mnemosyne-test@" in grant["member"]]) == 1


def test_the_account_that_deploys_has_no_role_on_all_buckets_and_no_primitive_role(cloud_build: Resources) -> None:
    roles = _project_roles(cloud_build, "mnemosyne-deploy")
    assert len(roles) > 10
    assert not {role for role in roles if role.startswith("roles/storage.")}
    assert not roles & {"roles/owner", "roles/editor", "roles/viewer"}
    buckets = {(grant["bucket"], grant["role"]) for grant in cloud_build["google_storage_bucket_iam_member"]}
    assert buckets == {
        ("my-project-terraform", "roles/storage.objectUser"),
        ("my-project-terraform", "roles/storage.objectViewer"),
        ("my-project-mnemosyne-source", "roles/storage.admin"),
    }


ROLES_ON_STATE = {
    "mnemosyne/default.tfstate": {"roles/storage.objectUser"},
    "mnemosyne.tfvars": {"roles/storage.objectViewer"},
    "mnemosyne-us.tfvars": set(),
    "mnemosyne_pipeline/default.tfstate": set(),
    "mnemosyne-us/default.tfstate": set(),
}


@pytest.mark.parametrize("name", ROLES_ON_STATE)
def test_the_account_that_deploys_may_change_the_state_of_its_deployment_only(
    cloud_build: Resources, name: str
) -> None:
    object_name, roles = f"projects/_/buckets/my-project-terraform/objects/{name}", set()
    for grant in cloud_build["google_storage_bucket_iam_member"]:
        expression = grant["condition"][0]["expression"] if grant["condition"] else ""
        beginnings = re.findall(r'resource\.name\.startsWith\("([^"]+)"\)', expression)
        if f'resource.name == "{object_name}"' in expression or object_name.startswith(tuple(beginnings)):
            roles.add(grant["role"])
    assert roles == ROLES_ON_STATE[name]


def test_no_deployment_can_have_the_name_under_which_the_state_of_a_pipeline_is_stored() -> None:
    """Otherwise the deployment would replace the pipeline's state, and its account could change it."""
    variables = (TERRAFORM / "modules/pipeline/variables.tf").read_text()
    (name,) = re.findall(r'regex\("(.+)", var\.deployment\)', variables)
    (prefix,) = re.findall(r'"prefix=(\w+)"', (EXAMPLE / "main.tf").read_text())
    guide = (ROOT / "docs/deployment.md").read_text()
    assert re.findall(r'examples/pipeline init .* -backend-config="prefix=(\w+)"', guide) == [prefix]
    assert not re.fullmatch(name, prefix)


def test_the_account_that_deploys_may_create_each_resource_of_a_deployment(cloud_build: Resources) -> None:
    text = "".join(file.read_text() for file in (TERRAFORM / "modules" / "mnemosyne").glob("*.tf"))
    types = set(re.findall(r'^resource "google_(\w+)"', text, re.MULTILINE))
    needed = {role for kind in types for beginning, role in CREATED_BY.items() if kind.startswith(beginning)}
    assert {f"roles/{role}" for role in needed} <= _project_roles(cloud_build, "mnemosyne-deploy")
    assert {kind for kind in types if not kind.startswith((*CREATED_BY, *CREATED_OTHERWISE))} == set()


def test_the_account_that_deploys_may_grant_exactly_the_roles_of_a_deployment(
    cloud_build: Resources, plan: Plan
) -> None:
    (grant,) = [
        member for member in cloud_build["google_project_iam_member"] if member["role"].endswith("projectIamAdmin")
    ]
    alternatives = grant["condition"][0]["expression"].split(" || ")
    lists = [re.findall(r"roles/[\w.]+", alternative) for alternative in alternatives]
    # Google refuses a longer list: https://cloud.google.com/iam/docs/linting-policies
    assert all(0 < len(roles) <= 10 for roles in lists)
    allowed = {role for roles in lists for role in roles}
    granted = r'# google_project_iam_member\.[^\n]+ will be created.*?\+ role\s+= "([^"]+)"'
    assert allowed == set(re.findall(granted, plan.text, re.DOTALL))


def test_with_github_no_cloud_build_resources_and_no_keys_are_created(github: Resources) -> None:
    for kind in ("google_cloudbuild_trigger", "google_pubsub_topic", "google_service_account_key"):
        assert kind not in github
    (account,) = github["google_service_account"]
    (grant,) = github["google_service_account_iam_member"]
    assert grant["role"] == "roles/iam.workloadIdentityUser"
    assert grant["service_account_id"] == account["name"]
    assert grant["member"].endswith(f"/attribute.repository/{REPOSITORY}")


TOKEN = {
    "repository": REPOSITORY,
    "workflow_ref": f"{REPOSITORY}/.github/workflows/deploy.yaml@refs/heads/main",
    "event_name": "workflow_run",
}


FORKED = "mallory/memory/.github/workflows/deploy.yaml@refs/heads/main"


def _admits(condition: str, token: Mapping[str, str]) -> bool:
    """Evaluate a condition of `==` and `in`, joined by `&&`, on the claims of a token."""
    for term in condition.split(" && "):
        parsed = re.fullmatch(r"assertion\.(\w+) (==|in) (.+)", term)
        assert parsed, term
        expected = ast.literal_eval(parsed[3])
        claim = token.get(parsed[1])
        if not (claim == expected if parsed[2] == "==" else claim in expected):
            return False
    return True


@pytest.mark.parametrize(
    ("claims", "admitted"),
    [
        ({}, True),
        ({"event_name": "workflow_dispatch"}, True),
        ({"repository": "acme/memory-fork"}, False),
        ({"repository": "mallory/memory", "workflow_ref": FORKED}, False),
        ({"workflow_ref": f"{REPOSITORY}/.github/workflows/deploy.yaml@refs/heads/feature"}, False),
        ({"workflow_ref": f"{REPOSITORY}/.github/workflows/ci.yaml@refs/heads/main"}, False),
        ({"event_name": "pull_request_target"}, False),
        ({"event_name": "push"}, False),
    ],
)  # fmt: skip
def test_only_the_deploy_workflow_of_the_branch_is_admitted(
    github: Resources, claims: dict[str, str], admitted: bool
) -> None:
    (provider,) = github["google_iam_workload_identity_pool_provider"]
    assert _admits(provider["attribute_condition"], TOKEN | claims) is admitted
    assert provider["oidc"][0]["issuer_uri"] == "https://token.actions.githubusercontent.com"


def test_a_pipeline_that_is_created_again_has_another_pool(github: Resources) -> None:
    """The pool gets another id, because Google refuses the id of a deleted pool for 30 days."""
    (pool,), (chosen,) = github["google_iam_workload_identity_pool"], github["random_id"]
    assert pool["workload_identity_pool_id"] == f"mnemosyne-github-{chosen['hex']}"
    assert len(pool["workload_identity_pool_id"].replace("mnemosyne", "sixteen-letters1")) <= 32


def test_the_workflow_runs_on_the_events_that_are_admitted(github: Resources) -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    (provider,) = github["google_iam_workload_identity_pool_provider"]
    events = workflow[True]  # YAML reads `on` as a boolean
    assert all(_admits(provider["attribute_condition"], TOKEN | {"event_name": event}) for event in events)
    assert events["workflow_run"]["workflows"] == [
        yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())["name"]
    ]


def test_null_selects_the_default_of_a_variable(pipeline: Workspace) -> None:
    nulls = pipeline.nulls(TERRAFORM / "modules" / "pipeline")
    assert pipeline.plan(nulls, repository=REPOSITORY).status == 0


def test_the_repository_of_a_managed_user_of_github_is_accepted(pipeline: Workspace) -> None:
    """GitHub adds an underscore and the short code of the enterprise to the names of managed users."""
    assert pipeline.plan(repository="ada_acme/memory").status == 2


def test_a_long_subject_of_github_is_shortened(github: Resources) -> None:
    """Google refuses a token whose google.subject has more than 127 bytes."""
    (provider,) = github["google_iam_workload_identity_pool_provider"]
    assert provider["attribute_mapping"]["google.subject"] == (
        "size(assertion.sub) <= 127 ? assertion.sub : 'repository ' + assertion.repository_id"
    )


def test_only_the_job_that_applies_gets_a_token_for_google(github: Resources) -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {"apply"}
    assert "workflow_run.event == 'push'" in jobs["apply"]["if"]


def test_the_repository_s_number_is_checked_so_that_a_new_owner_of_its_name_is_refused(pipeline: Workspace) -> None:
    (condition,) = [
        resource["values"]["attribute_condition"]
        for resource in _planned(pipeline, runner="github_actions", repository_id="42")
        if resource["type"] == "google_iam_workload_identity_pool_provider"
    ]
    assert _admits(condition, TOKEN | {"repository_id": "42"})
    assert not _admits(condition, TOKEN | {"repository_id": "43"})


@pytest.mark.parametrize(
    ("features", "roles"),
    [
        pytest.param(
            ["domain"],
            {"roles/compute.loadBalancerAdmin", "roles/compute.securityAdmin"},
            marks=pytest.mark.nightly,
        ),
        (
            ["domain", "iap"],
            {
                "roles/compute.loadBalancerAdmin",
                "roles/compute.securityAdmin",
                "roles/iap.admin",
                "roles/iap.settingsAdmin",
            },
        ),
        (["psc"], {"roles/dns.admin"}),
    ],
)
def test_a_feature_adds_the_roles_that_it_needs(pipeline: Workspace, features: list[str], roles: set[str]) -> None:
    pipeline.plan("-refresh=false", repository=REPOSITORY, features=features)
    added = {re.sub(r'.*\["(.*)"\]', r"\1", address) for address in pipeline.changes()}
    assert added == roles


def test_the_builds_run_in_the_location_that_the_organization_allows(
    cloud_build: Resources, pipeline: Workspace
) -> None:
    resources = _planned(pipeline, location="us-east1")
    triggers = [one["values"] for one in resources if one["type"] == "google_cloudbuild_trigger"]
    assert [trigger["location"] for trigger in triggers] == ["us-east1"] * 2
    (location,) = [one["substitutions"]["_LOCATION"] for one in triggers if "_LOCATION" in one["substitutions"]]
    assert location == "us-east1"
    assert {trigger["location"] for trigger in _triggers(cloud_build).values()} == {"global"}


def test_the_secret_and_the_topic_are_in_the_region_and_encrypted_with_the_key_of_the_deployment(
    pipeline: Workspace,
) -> None:
    """An organization can forbid other regions (gcp.resourceLocations), and keys that Google manages."""
    key = "projects/keys/locations/europe-west3/keyRings/r/cryptoKeys/k"
    values = {one["address"]: one["values"] for one in _planned(pipeline, region="europe-west3", kms_key=key)}
    refused = pipeline.plan("-refresh=false", repository=REPOSITORY, kms_key=key)
    (replica,) = values["google_secret_manager_secret.smoke_key[0]"]["replication"][0]["user_managed"][0]["replicas"]
    assert replica["location"] == "europe-west3"
    assert replica["customer_managed_encryption"][0]["kms_key_name"] == key
    assert values["google_pubsub_topic.builds[0]"]["kms_key_name"] == key
    assert f"the region of kms_key, which is {key}, got europe-west1" in " ".join(refused.printed.split())


BAD_VALUES = {
    "project": ("example.com:memory", "got example.com:memory: an id with the domain of an organization"),
    "location": ("eu", "location must be global or a region, such as europe-west1, got eu"),
    "runner": ("jenkins", "runner must be cloud_build or github_actions, got jenkins"),
    "repository": ("https://github.com/acme/memory", "repository must be OWNER/REPOSITORY, got https://"),
    "state_bucket": ("gs://acme-states", "must be the name of a bucket, without gs://, got gs://acme-states"),
}


def test_a_bad_variable_is_refused_with_its_value(pipeline: Workspace) -> None:
    planned = pipeline.plan(**{name: value for name, (value, _) in BAD_VALUES.items()})
    assert planned.status == 1
    printed = " ".join(planned.printed.split())
    assert [sentence for _, sentence in BAD_VALUES.values() if sentence not in printed] == []
