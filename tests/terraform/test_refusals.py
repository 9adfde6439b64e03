"""A plan refuses variables that cannot work, with a sentence that says what to do."""

import json
import re

import pytest

from tests.terraform.workspace import MODULE, ROOT, Workspace

pytestmark = pytest.mark.slow


def people(**rule: object) -> dict[str, object]:
    """The variables of a deployment with one log-in rule."""
    return {"auth_mode": "oauth", "oauth_client_id": "client", "oauth_people": [rule]}


def bucket_entries(number: int) -> dict[str, dict[str, str]]:
    """Entries of the variable `buckets` for one bucket."""
    return {f"e{one}": {"bucket": "acme", "namespace": "n", "prefix": f"{one}/"} for one in range(number)}


def iam(*invokers: str) -> dict[str, object]:
    """Return the variables of a deployment whose callers Cloud Run checks (auth_mode iam)."""
    return {"auth_mode": "iam", "invokers": list(invokers)}


OIDC = {"auth_mode": "oidc", "oidc_issuer": "https://issuer.example.com"}
DOMAIN = {"domain": "memory.example.com", "domain_only": True}
LONG_PROJECT = "a-project-id-of-thirty-letters"
NETWORK_ELSEWHERE = {
    "network": "projects/h/global/networks/n",
    "subnetwork": "projects/h/regions/us-east1/subnetworks/s",
}
ASKED = "https://dns.google/resolve?type=A&name=memory.example.com"


AT_LIMITS = pytest.mark.parametrize(
    "values",
    [
        {
            "project": "short1",
            "name": "sixteen-letters1",
            "postgres_version": "POSTGRES_18",
            "embedding_dimension": 3072,
            "embedding_model": "gemini-embedding-001",
            "publishers": {"crm": {"namespace": "support", "members": ["user:ada@example.com"] * 2}},
            "sql_tier": "db-custom-1-3840",
            "subnetwork_cidr": "172.16.0.0/16",
            "backup_location": "europe-west4",
            "domain": "memory.xn--e1afmkfd.xn--p1ai",
            "alert_emails": [f"ada+{number}@example.com" for number in range(16)],
        },
        {
            "project": LONG_PROJECT,
            "name": "fourteen-chars",
            "embedding_dimension": 128,
            "auth_mode": "iam",
            "invokers": [
                "user:ada@example.com",
                "group:memory-users@example.com",
                "serviceAccount:agent@my-project.iam.gserviceaccount.com",
                "serviceAccount:my-project.svc.id.goog[agents/crm]",
                "domain:example.com",
                "principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/s",
                "principalSet://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/*",
            ],
            "labels": {f"label{number}": "" for number in range(61)},
            "domain": f"{'m' * 51}.example.com",
            "buckets": {
                "exports": {"bucket": "exports.acme.example.com", "namespace": "archive"},
                "short": {"bucket": "x.example.com", "namespace": "archive"},
                **bucket_entries(10),
            },
            "keep_traffic": ["import-object"],
        },
    ],
    ids=lambda values: ",".join(values),
)


@AT_LIMITS
def test_variables_at_their_limits_are_accepted(only_variables: Workspace, values: dict[str, object]) -> None:
    planned = only_variables.plan(**values)
    assert planned.status == 0, planned.printed


@pytest.mark.nightly  # takes long, because everything is planned
@AT_LIMITS
def test_a_deployment_with_variables_at_their_limits_is_planned(empty: Workspace, values: dict[str, object]) -> None:
    assert empty.plan(**values).status == 2


def test_null_selects_the_default_of_a_variable(only_variables: Workspace) -> None:
    """If another module passes one of its own unset variables to this module, this module gets null."""
    assert only_variables.plan(only_variables.nulls(MODULE)).status == 0


BAD_VALUES: list[tuple[str, object, str]] = [
    ("region", "europe-west7", "europe-west7 is not in the list of such regions"),
    ("domain", "https://memory.example.com/mcp", "without scheme, path and port"),
    ("domain", "memory", "a public domain name"),
    ("domain", "память.рф", "in its ASCII form, which has labels that begin with xn--"),
    ("domain", "memory.example.xn--", "a public domain name"),
    ("subnetwork_cidr", "10.0.0.0/28", "of /26 or wider"),
    ("subnetwork_cidr", "10.10.0.5/24", "begins with its first address, such as 10.10.0.0/24, got 10.10.0.5/24"),
    ("subnetwork_cidr", "fd20::/20", "a range of IPv4 addresses"),
    ("subnetwork_cidr", "192.168.0.0/22", "must not overlap 192.168.1.0/24 or 172.17.0.0/16, got 192.168.0.0/22"),
    ("subnetwork_cidr", "172.17.3.0/24", "must not overlap 192.168.1.0/24 or 172.17.0.0/16, got 172.17.3.0/24"),
    ("sql_tier", "db-custom-2-8", "at least 3840 MB"),
    ("sql_tier", "db-custom-2-8000", "a multiple of 256 MB"),
    ("sql_tier", "db-custom-3-8192", "1 or an even number of up to 96 CPUs"),
    ("sql_tier", "db-custom-98-637952", "1 or an even number of up to 96 CPUs"),
    ("sql_tier", "db-custom-2-8192-x", "must be db-f1-micro"),
    ("sql_tier", "db-perf-optimized-N-3", "db-perf-optimized-N-CPUS with 2 to 128 CPUs"),
    ("sql_tier", "db-custom-2-16384", "0.9 to 6.5 GB for each CPU"),
    ("name", "goog-memory", "must not begin with goog or contain google, got goog-memory"),
    ("name", "my-google", "Pub/Sub and Cloud Storage refuse such names"),
    ("name", "mem-publisher", "the word publisher or bucket after a hyphen, got mem-publisher"),
    ("name", "mem-bucket-eu", "the word publisher or bucket after a hyphen, got mem-bucket-eu"),
    ("backup_location", "Europe", "must be a region, or asia, eu or us, got Europe"),
    ("disk_limit_gb", 10.5, "a whole number of at least 10, got 10.5"),
    ("oauth_client_secret_version", 0, "a whole number of at least 1, got 0"),
    ("labels", {"Team": "x"}, "lower-case letters"),
    ("labels", {"team": "x", "deployment": "crm"}, "labels must not contain app or deployment"),
    ("postgres_version", "POSTGRES_15", "must be POSTGRES_16, POSTGRES_17 or POSTGRES_18, got POSTGRES_15"),
    ("embedding_dimension", 127, "a whole number between 128 and 3072"),
    ("embedding_dimension", 3073, "a whole number between 128 and 3072"),
    ("embedding_dimension", 768.5, "a whole number between 128 and 3072"),
    ("embedding_model", "text-embedding-005", "must be gemini-embedding-2 or gemini-embedding-001"),
    ("embedding_location", "Europe", "must be eu, us, global or a region, got Europe"),
    ("migrate_by", "make", "migrate_by must be job or gcloud, got make"),
    ("open_by", "allUsers", "open_by must be all_users or no_invoker_check"),
    ("vpc_egress", "all", "must be PRIVATE_RANGES_ONLY or ALL_TRAFFIC, got all"),
    ("message_storage_regions", ["eu"], "must contain regions, such as europe-west1"),
    ("rate_limit_per_minute", 0.5, "a whole number of at least 0, got 0.5"),
    ("pool_size", {"mcp": 2.5, "ingest": 4, "dead_letter": 2}, "whole numbers between 1 and 50"),
    ("max_instances", {"mcp": 5, "ingest": 5, "dead_letter": 1.5}, "whole numbers between 1 and 100"),
    ("max_connections", 99.5, "a whole number between 25 and 1000, got 99.5"),
    ("final_backup_days", 400, "between 0 and 365, got 400"),
    ("billing_account", "billingAccounts/012345-6789AB-CDEF01", "without billingAccounts/"),
    ("budget", 0.5, "budget must be at least 1"),
    ("buckets", {"exports": {"bucket": "gs://acme-exports", "namespace": "archive"}}, "without gs://"),
    (
        "buckets",
        bucket_entries(11),
        "at most 10 notifications of new objects for a bucket, got 11 of acme.",
    ),
    ("max_delivery_attempts", 20.5, "a whole number between 5 and 100"),
    (
        "publishers",
        {"crm": {"namespace": "crm", "members": ["x@p.iam.gserviceaccount.com"]}},
        "members with their kind",
    ),
    (
        "alert_emails",
        ["ada@example.com", "Bob <bob@example.com>"],
        "alone, such as ada@example.com, got ada@example.com,",
    ),
    ("alert_emails", ["ada@localhost"], "an e-mail address alone, such as ada@example.com, got ada@localhost"),
    (
        "labels",
        {"goog-team": "x"},
        "labels must not begin with goog, the beginning of Google's own labels, got goog-team",
    ),
    ("labels", {f"label{number}": "" for number in range(62)}, "at most 61 entries, because a resource has at most 64"),
    (
        "domain",
        f"{'m' * 60}.example.com",
        "at most 63 characters, because Google makes no certificates for longer names",
    ),
    ("backup_location", "europe-west99", "must be a region, or asia, eu or us, got europe-west99"),
    ("embedding_location", "us-east99", "must be eu, us, global or a region, got us-east99"),
    ("message_storage_regions", ["europe-west1", "us-east99"], "such as europe-west1, got europe-west1, us-east99"),
    ("billing_account", "0123-6789AB-CDEF01", "without billingAccounts/, got 0123-6789AB-CDEF01"),
    ("database_instance_name", "d" * 90, "database_instance_name and project must have at most 97 characters together"),
    ("sql_tier", "db-n1-standard-1", "or db-perf-optimized-N-CPUS with 2 to 128 CPUs, got db-n1-standard-1"),
    ("subnetwork_cidr", "169.254.0.0/24", "169.254.0.0/16, 199.36.153.0/28 or 224.0.0.0/4, which Google Cloud refuses"),
    ("buckets", {"exports": {"bucket": "b" * 64, "namespace": "archive"}}, f"without gs://, got {'b' * 64}"),
    ("buckets", {"exports": {"bucket": "acme-", "namespace": "archive"}}, "without gs://, got acme-"),
    ("kms_protection_level", "EXTERNAL", "SOFTWARE or HSM, got EXTERNAL"),
    ("notification_channels", ["notificationChannels/1"], "projects/P/notificationChannels/ID"),
    ("notification_channels", ["projects/p/notificationChannels/x"], "projects/P/notificationChannels/ID"),
    ("audit_days", 0, "a whole number from 1 to 36500, got 0"),
    ("audit_days", 36501, "a whole number from 1 to 36500, got 36501"),
    ("audit_reads", -0.1, "from 0 to 1, got -0.1"),
    ("audit_reads", 1.1, "from 0 to 1, got 1.1"),
    (
        "publishers",
        {"crm": {"namespace": "crm", "members": ["allAuthenticatedUsers"]}},
        "they would let everybody write",
    ),
    ("otlp_endpoint", "http://", "starts with http:// or https://, got http://"),
    ("oauth_upstream_issuer", "accounts.google.com", "starts with https://, got accounts.google.com"),
]
"""Values that are refused whatever the other variables are: the variable, the value, and a part of the error. One plan
contains bad values of many variables, and reports all of them."""


TERRAFORM_FILES = sorted((ROOT / "terraform").glob("modules/*/variables*.tf"))


def test_the_error_of_each_validation_shows_the_value() -> None:
    """Four errors are left out: three forbid one certain value, which they name, and one is about a secret."""
    named = (
        "must not contain allUsers",
        "domain_only needs domain",
        "iap needs domain",
        "oauth_client_secret must not",
    )
    messages = [
        message
        for file in TERRAFORM_FILES
        for message in re.findall(r'error_message = "(.*)"$', file.read_text(), re.MULTILINE)
        if not any(words in message for words in named)
    ]
    assert len(messages) > 60
    assert [message for message in messages if "${" not in message] == []


def _plans() -> list[dict[str, tuple[object, str]]]:
    """Return the variables of each plan, with the bad value and the expected sentence of each variable.

    notification_channels and alert_emails are never bad in the same plan. Terraform does not check a variable if its
    validation names another variable that is invalid.
    """
    together = {"alert_emails", "notification_channels"}
    plans: list[dict[str, tuple[object, str]]] = []
    for variable, value, sentence in BAD_VALUES:
        taken = together if variable in together else {variable}
        plan = next((possible_plan for possible_plan in plans if not taken & possible_plan.keys()), None)
        if plan is None:
            plans.append(plan := {})
        plan[variable] = (value, sentence)
    return plans


@pytest.mark.parametrize("bad", _plans(), ids=lambda bad: f"{len(bad)} variables")
def test_invalid_values_are_refused_with_the_fix(only_variables: Workspace, bad: dict[str, tuple[object, str]]) -> None:
    planned = only_variables.plan(**{variable: value for variable, (value, _) in bad.items()})
    assert planned.status == 1
    printed = " ".join(planned.printed.split())
    assert [sentence for _, sentence in bad.values() if sentence not in printed] == []
    assert printed.count("Error: Invalid value for variable") == len(bad)


CONTRADICTIONS: list[list[tuple[dict[str, object], str]]] = [
    [
        ({"mcp_min_instances": 6}, "between 0 and max_instances.mcp (5), got 6"),
        ({"domain_only": True}, "domain_only needs domain"),
        (iam("ada@example.com"), "invokers must be members with their kind (user:, group:,"),
        ({"oidc_audience": ","}, 'must be set with auth_mode oidc, and only then, got ","'),
        ({"kms_key": "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k"}, "a key in europe-west1"),
        (
            {
                "alert_emails": [f"ada+{number}@example.com" for number in range(16)],
                "notification_channels": ["projects/my-project/notificationChannels/1"],
            },
            "at most 16 entries together, because an alert has at most 16 notification channels, got 17",
        ),
        ({"iap_clients": ["a-b.apps.googleusercontent.com"]}, "only with iap, got a-b.apps.googleusercontent.com."),
        ({"keep_traffic": ["dead_letter"]}, "keep_traffic must be from mcp, ingest, dead-letter"),
        ({"sql_edition": "ENTERPRISE_PLUS"}, "sql_edition ENTERPRISE_PLUS does not have db-g1-small"),
        ({"project": "example.com:memory"}, "got example.com:memory: an id with the domain of an organization"),
        ({"embedding_location": "eu", "gemini_api_key_secret": "key"}, "set one of them"),
        ({"network": NETWORK_ELSEWHERE}, "must be in europe-west1, the region of the functions"),
    ],
    [
        (iam("user:ada@example.com", "user:ada"), "got user:ada@example.com, user:ada."),
        (
            {"keep_traffic": ["auth"]},
            "auth, which exists only with auth_mode oauth, got auth: remove auth from the list",
        ),
        ({"project": LONG_PROJECT, "name": "sixteen-letters1"}, "at most 44 characters together, got 46"),
        ({"gemini_api_key_secret": "projects/p/secrets/gemini"}, "the name of a secret in this project"),
    ],
    [
        (iam("allUsers"), "invokers must not contain allUsers"),
        (
            {"keep_traffic": ["import-object"]},
            "which exists only with buckets, got import-object: remove import-object",
        ),
        ({"project": LONG_PROJECT, "name": "fifteen-letters"}, "the 63 characters of PostgreSQL"),
    ],
    [
        (
            {"invokers": ["user:ada@example.com"]},
            "only with auth_mode iam or with iap, got user:ada@example.com with auth_mode api_key",
        )
    ],
    [
        ({**OIDC, "oidc_audience": ","}, 'must be set with auth_mode oidc, and only then, got ","'),
        ({"iap": True}, "iap needs domain"),
    ],
    [
        ({**OIDC, "oidc_audience": " "}, 'must be set with auth_mode oidc, and only then, got " "'),
        (
            {"domain": "memory.example.com", "iap": True, "iap_clients": ["123456789012"]},
            "such as 123456789012-abc.apps.googleusercontent.com, got 123456789012.",
        ),
    ],
    [(iam("allAuthenticatedUsers"), "invokers must not contain allUsers or allAuthenticatedUsers")],
    [(people(who="*", scopes=[]), "one or more of read, write and operate")],
    [(people(who="*", scopes=["read", "read"]), "each once")],
    [(people(who="*", namespace="user:1077"), "not begin with user:")],
    [(people(who="*", namespace="team "), "no spaces at its ends, and not begin with user:, the beginning")],
]
"""Contradictory variables, and the sentences with which a plan refuses them. One plan has all contradictions of a list,
which are about different variables."""


@pytest.mark.parametrize("contradictions", CONTRADICTIONS, ids=lambda some: f"{len(some)} contradictions")
def test_contradictory_variables_are_refused_with_the_fix(
    only_variables: Workspace, contradictions: list[tuple[dict[str, object], str]]
) -> None:
    planned = only_variables.plan(**{name: value for values, _ in contradictions for name, value in values.items()})
    assert planned.status == 1
    printed = " ".join(planned.printed.split())
    assert [sentence for _, sentence in contradictions if sentence not in printed] == []
    assert printed.count("Error: ") == len(contradictions)


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        (
            {
                **DOMAIN,
                "sql_tier": "db-f1-micro",
                "max_connections": 60,
                "subnetwork_cidr": "10.0.0.0/26",
                "max_instances": {"mcp": 40, "ingest": 5, "dead_letter": 1},
            },
            [
                "has no address yet",
                "A db-f1-micro has memory for about 38 connections",
                "can hold 355 connections, and max_connections is 60",
                "need 196 addresses, four each in blocks of sixteen",
            ],
        ),
        pytest.param(
            {"max_connections": 400},
            ["A db-g1-small has memory for about 108 connections"],
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            {
                **people(who="*"),
                "subnetwork_cidr": "10.0.0.0/26",
                "max_instances": {"mcp": 15, "ingest": 5, "dead_letter": 1},
                "pool_size": {"mcp": 1, "ingest": 1, "dead_letter": 1},
                "buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}},
            },
            ["Up to 26 instances need 116 addresses"],
            marks=pytest.mark.nightly,
        ),
    ],
    ids=lambda values: ",".join(values) if isinstance(values, dict) else "",
)
def test_a_deployment_that_cannot_work_is_refused_with_the_fix(
    empty: Workspace, values: dict[str, object], sentences: list[str]
) -> None:
    planned = empty.plan(**values)
    assert planned.status == 1
    printed = " ".join(planned.printed.replace("│", " ").split())
    assert [sentence for sentence in sentences if sentence not in printed] == []


@pytest.mark.nightly  # by day, a domain without an address is refused
def test_domain_only_is_refused_until_the_domain_resolves_to_the_load_balancer(deployed: Workspace) -> None:
    deployed.answer({ASKED: json.dumps({"Status": 0, "Answer": [{"data": "192.0.2.1"}]})})
    deployed.apply(domain="memory.example.com")
    planned = deployed.plan("-refresh=false", **DOMAIN)
    assert planned.status == 1
    assert "resolves to 192.0.2.1, not to the load balancer" in " ".join(planned.printed.split())
    address = deployed.run("output", "-raw", "domain_address").printed
    deployed.answer({ASKED: json.dumps({"Status": 0, "Answer": [{"data": address}]})})
    assert deployed.plan("-refresh=false", **DOMAIN).status == 2
    assert deployed.changes() == {
        'module.mnemosyne.google_cloudfunctions2_function.serving["mcp"]': ["update"],
        "module.mnemosyne.google_workflows_workflow.check": ["update"],  # the check calls mcp at its domain
        "module.mnemosyne.terraform_data.canary_host": ["update"],  # as the uptime check does, if there are alerts
    }
