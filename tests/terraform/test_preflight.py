"""Checks of `make deploy` before it builds anything, with the real gcloud on a fake of Google's APIs."""

import re
import subprocess
from typing import Any

import pytest

from tests.fakes_wire.google.apis import PROJECT
from tests.fakes_wire.google.base import Call
from tests.fakes_wire.google.buckets import Bucket
from tests.fakes_wire.google.errors import Answer, enabling_denied, refused, refused_of_old
from tests.fakes_wire.google.organization import ORGANIZATION
from tests.terraform.gcloud_operator import Scripts
from tests.terraform.workspace import ROOT

pytestmark = pytest.mark.slow

MANAGED = {
    "iam.managed.allowedPolicyMembers": [
        {
            "enforce": True,
            "parameters": {"allowedPrincipalSets": ["//cloudresourcemanager.googleapis.com/organizations/1"]},
        }
    ]
}
"""The effective policy of a managed constraint that refuses allUsers."""
OF_NETWORKS = {
    "name": f"organizations/{ORGANIZATION}/customConstraints/custom.networks",
    "resourceTypes": ["compute.googleapis.com/Network"],
    "methodTypes": ["CREATE"],
    "actionType": "DENY",
    "condition": "resource.autoCreateSubnetworks == true",
}


def custom_constraint(name: str) -> dict[str, Any]:
    """A constraint on IAM policies: https://cloud.google.com/iam/docs/org-policy-custom-constraints."""
    member = "MemberSubjectMatches(member, ['allUsers', 'allAuthenticatedUsers'])"
    return {
        "name": f"organizations/{ORGANIZATION}/customConstraints/{name}",
        "resourceTypes": ["iam.googleapis.com/AllowPolicy"],
        "methodTypes": ["CREATE", "UPDATE"],
        "actionType": "DENY",
        "condition": f"resource.bindings.exists(binding, binding.members.exists(member, {member}))",
    }


def test_a_project_id_with_the_domain_of_an_organization_is_refused(checks: Scripts) -> None:
    completed = checks.run("true", PROJECT="example.com:memory")
    assert completed.returncode != 0
    assert "PROJECT must be a project id without the domain of an organization" in completed.stderr


def test_if_apis_cannot_be_enabled_the_error_names_the_missing_role(checks: Scripts) -> None:
    checks.apis.faults = lambda call: (
        enabling_denied("cloudresourcemanager.googleapis.com") if "batchEnable" in call.path else None
    )
    completed = checks.run("enable_apis")
    assert completed.returncode != 0
    assert "roles/serviceusage.serviceUsageAdmin" in completed.stderr


@pytest.mark.parametrize(
    ("status", "message", "advice"),
    [
        (403, "storage.buckets.create denied", "You need roles/storage.admin in my-project."),
        (409, "The requested bucket name is not available.", "STATE_BUCKET=another-name make deploy"),
        (
            412,
            "'europe-west1' violates constraint 'constraints/gcp.resourceLocations'",
            "Set region or kms_key in terraform/terraform.tfvars",
        ),
        (403, "Permission denied on Cloud KMS key.", "run make deploy again"),
    ],
)
def test_if_the_state_bucket_cannot_be_created_the_error_says_what_to_do(
    checks: Scripts, status: int, message: str, advice: str
) -> None:
    def refuse(call: Call) -> Answer | None:
        created = (call.method, call.path) == ("POST", "/storage/v1/b")
        return refused_of_old(status, message, "refused") if created else None

    checks.apis.faults = refuse
    completed = checks.run("create_state_bucket")
    assert completed.returncode != 0
    assert message in completed.stderr
    assert advice in completed.stderr
    others = {"roles/storage.admin", "STATE_BUCKET", "Set region", "run make deploy again"}
    assert [other for other in others if other in completed.stderr and other not in advice] == []


def test_each_script_checks_the_owner_of_the_state_and_deploy_checks_policies_and_region_first() -> None:
    """The owner is checked before the bucket is changed or terraform runs, and the others before the apply."""
    changing = re.compile(r"terraform_init|(\S.*)?terraform -chdir|gcloud storage buckets update")
    for name in ("deploy", "key", "destroy"):
        lines = (ROOT / "infra" / "deploy" / name).read_text().splitlines()
        # Indented lines do not count, because they are the bodies of functions, which run later.
        runs = [number for number, line in enumerate(lines) if changing.match(line)]
        assert lines.index("check_owner_of_state") < runs[0]
        checks_of_deploy = ("check_public_access", "check_ingress", "check_scheduler_region")
        assert name != "deploy" or max(lines.index(check) for check in checks_of_deploy) < runs[-1]


def _check_public_access(checks: Scripts, policies: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    checks.apis.org_policies |= policies
    checks.apis.custom_constraints = [custom_constraint("custom.noPublicIam"), OF_NETWORKS]
    return checks.run("check_public_access")


@pytest.mark.parametrize(
    "domains",
    [{"values": {"allowedValues": ["C0123abcd"]}}, {"denyAll": True}],
    ids=["members of one domain are allowed", "all members are denied"],
)
def test_all_policies_against_public_access_are_named_in_one_error_with_the_possible_fixes(
    checks: Scripts, domains: dict[str, Any]
) -> None:
    policies = {"iam.allowedPolicyMemberDomains": [domains], **MANAGED, "custom.noPublicIam": [{"enforce": True}]}
    completed = _check_public_access(checks, policies)
    assert completed.returncode != 0
    named = "iam.allowedPolicyMemberDomains, iam.managed.allowedPolicyMembers, custom.noPublicIam"
    assert f"An organization policy refuses allUsers in {PROJECT}: {named}." in completed.stderr
    assert 'auth_mode = "iam" and invokers' in completed.stderr
    assert 'open_by = "no_invoker_check"' in completed.stderr


def test_disabling_the_invoker_check_is_not_suggested_if_a_policy_requires_the_check(checks: Scripts) -> None:
    completed = _check_public_access(checks, MANAGED | {"run.managed.requireInvokerIam": [{"enforce": True}]})
    assert 'auth_mode = "iam" and invokers' in completed.stderr
    assert "no_invoker_check" not in completed.stderr


def test_a_policy_that_is_newer_than_the_grant_to_all_users_does_not_stop_the_deployment(checks: Scripts) -> None:
    checks.program("terraform", """echo 'google_cloud_run_v2_service_iam_member.mcp["allUsers"]'""")
    completed = _check_public_access(checks, MANAGED)
    assert (completed.returncode, completed.stderr) == (0, "")


HARMLESS: dict[str, dict[str, Any]] = {
    "a managed constraint that allows everybody, and a custom one on other resources": {
        "iam.managed.allowedPolicyMembers": [{"enforce": True, "parameters": {"allowedMemberSubjects": ["allUsers"]}}],
        "custom.networks": [{"enforce": True}],
    },
    "a managed and a custom constraint that are not enforced": {
        "iam.managed.allowedPolicyMembers": [{"enforce": False}],
        "custom.noPublicIam": [{"enforce": False}],
    },
}


@pytest.mark.parametrize("policies", HARMLESS.values(), ids=HARMLESS)
def test_a_policy_that_allows_public_access_does_not_stop_the_deployment(
    checks: Scripts, policies: dict[str, Any]
) -> None:
    completed = _check_public_access(checks, policies)
    assert (completed.returncode, completed.stderr) == (0, "")


def test_a_project_without_an_organization_has_no_custom_constraints(checks: Scripts) -> None:
    checks.apis.in_organization = False
    completed = checks.run("check_public_access")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert not any("customConstraints" in call.path for call in checks.apis.calls)


@pytest.mark.parametrize("variable", ['auth_mode = "iam"\n', 'open_by   = "no_invoker_check"\n'])
def test_a_deployment_without_public_access_does_not_read_policies(checks: Scripts, variable: str) -> None:
    checks.tfvars.write_text(variable)
    assert checks.run("check_public_access").returncode == 0
    assert checks.apis.calls == []


def test_an_operator_can_skip_the_check_of_policies(checks: Scripts) -> None:
    assert checks.run("check_public_access", SKIP_POLICY_CHECK="1").returncode == 0
    assert checks.apis.calls == []


INTERNAL = {"run.allowedIngress": [{"values": {"allowedValues": ["is:internal"]}}]}
BALANCED = {"run.allowedIngress": [{"values": {"allowedValues": ["internal", "internal-and-cloud-load-balancing"]}}]}
NOT_ALL = {"cloudfunctions.allowedIngressSettings": [{"values": {"deniedValues": ["ALLOW_ALL"]}}]}
NOTHING = {"cloudfunctions.allowedIngressSettings": [{"denyAll": True}]}
NOT_INTERNAL = {"run.allowedIngress": [{"values": {"allowedValues": ["all", "internal-and-cloud-load-balancing"]}}]}
ONLY_BALANCED = {"cloudfunctions.allowedIngressSettings": [{"values": {"allowedValues": ["ALLOW_INTERNAL_AND_GCLB"]}}]}
BOTH_LISTS = {
    "run.allowedIngress": [{"values": {"allowedValues": ["all", "internal"], "deniedValues": ["is:internal"]}}],
    "cloudfunctions.allowedIngressSettings": [
        {"values": {"allowedValues": ["ALLOW_ALL", "ALLOW_INTERNAL_ONLY"], "deniedValues": ["ALLOW_INTERNAL_AND_GCLB"]}}
    ],
}
OAUTH = 'auth_mode = "oauth"\niap = true\n'


@pytest.mark.parametrize(
    ("policies", "variables", "sentence"),
    [
        (INTERNAL, "", "run.allowedIngress, which does not allow all. Set domain with domain_only = true"),
        (BALANCED, OAUTH, 'does not allow all. With auth_mode = "oauth", the function auth needs'),
        (NOT_ALL, "", "cloudfunctions.allowedIngressSettings, which does not allow ALLOW_ALL. Set domain"),
        *(
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (
                (
                    INTERNAL,
                    "iap = true\n",
                    "which does not allow internal-and-cloud-load-balancing. Ask for an exception",
                ),
                (BALANCED, "domain_only = true\n", ""),
                (BOTH_LISTS, "", "in my-project: run.allowedIngress, which does not allow internal. Ask for"),
                (BALANCED, "iap = true\n", ""),
                (NOT_ALL, "iap = true\n", ""),
                (NOTHING, "iap = true\n", "which does not allow ALLOW_INTERNAL_AND_GCLB. Ask for an exception"),
                (NOT_INTERNAL, "", "which does not allow internal. Ask for an exception that also allows"),
                (ONLY_BALANCED, "iap = true\n", "which does not allow ALLOW_INTERNAL_ONLY. Ask for an exception"),
            )
        ),
        ({}, "", ""),
    ],
)
def test_a_policy_that_refuses_the_ingress_of_a_function_stops_the_deployment(
    checks: Scripts, policies: dict[str, Any], variables: str, sentence: str
) -> None:
    checks.apis.org_policies |= policies
    checks.tfvars.write_text(variables)
    completed = checks.run("check_ingress")
    assert (completed.returncode != 0) is bool(sentence)
    assert sentence in completed.stderr


def test_an_operator_can_skip_the_check_of_the_ingress(checks: Scripts) -> None:
    checks.apis.org_policies |= INTERNAL
    assert checks.run("check_ingress", SKIP_POLICY_CHECK="1").returncode == 0


def test_a_region_without_cloud_scheduler_is_refused_with_the_regions_that_have_it(checks: Scripts) -> None:
    refused_region = checks.run("check_scheduler_region", REGION="europe-west")
    assert "one of these regions before the first apply: europe-west1, us-central1, us-east1." in refused_region.stderr
    assert refused_region.returncode != 0
    assert checks.run("check_scheduler_region", REGION="us-central1").returncode == 0


def test_unreadable_regions_of_cloud_scheduler_do_not_stop_the_deployment(checks: Scripts) -> None:
    checks.apis.faults = lambda call: refused(403, "denied") if call.path.endswith("/locations") else None
    completed = checks.run("check_scheduler_region")
    assert completed.returncode == 0
    assert "The regions of Cloud Scheduler cannot be read. Continuing." in completed.stderr


@pytest.mark.parametrize(
    "part",
    [
        "getEffectivePolicy",
        *(pytest.param(part, marks=pytest.mark.nightly) for part in ("getAncestry", "customConstraints")),
    ],
)
def test_an_unreadable_policy_does_not_stop_the_deployment(checks: Scripts, part: str) -> None:
    checks.apis.faults = lambda call: refused(403, "denied") if part in call.path else None
    completed = checks.run("check_public_access")
    assert completed.returncode == 0, completed.stderr
    assert "roles/orgpolicy.policyViewer" in completed.stderr


def test_a_state_bucket_of_another_project_is_refused(checks: Scripts) -> None:
    """Bucket names are global, so another person may have created a public bucket with this name."""
    bucket = f"{PROJECT}-terraform"
    checks.apis.buckets.known[bucket] = Bucket(bucket, "EUROPE-WEST1", {"projectNumber": "999"})
    completed = checks.run("check_owner_of_state")
    assert completed.returncode != 0
    assert f"gs://{bucket} belongs to project number 999, not to {PROJECT}" in completed.stderr


@pytest.mark.parametrize(("region", "noted"), [("europe-west1", False), ("europe-west3", True), ("us-east4", True)])
def test_a_note_is_printed_for_a_region_in_which_google_may_restrict_builds(
    checks: Scripts, region: str, noted: bool
) -> None:
    completed = checks.run("check_build_region", REGION=region)
    assert completed.returncode == 0, completed.stderr
    assert (f"ask Google's support for builds in {region}" in completed.stderr) is noted


@pytest.mark.parametrize(
    ("file", "message"), [(None, "does not exist"), ('region = "us-east1"\n', "does not set name")]
)
def test_an_environment_without_a_file_or_a_name_is_refused(scripts: Scripts, file: str | None, message: str) -> None:
    """Otherwise it would change the deployment of another environment in the same project."""
    if file is not None:
        (scripts.tfvars.parent / "environments").mkdir()
        (scripts.tfvars.parent / "environments/staging.tfvars").write_text(file)
    completed = scripts.run("true", ENVIRONMENT="staging")
    assert completed.returncode != 0
    assert f"terraform/environments/staging.tfvars {message}" in completed.stderr
