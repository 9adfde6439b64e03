"""The complete production path behind Cloud Run's front end: from the topic into PostgreSQL, and back through `mcp`."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from mnemosyne.adapters.database.connections import TRUSTED_SECONDS
from tests.cloud_run.identity import ALL_USERS, SIGNATURE_REMOVED, without_signature
from tests.cloud_run.production import SPACE, USER, Production
from tests.cloud_run.service import Service, deterministic_url
from tests.directories import server_directory
from tests.mcp_client import tool_call
from tests.waiting import wait_until

pytestmark = pytest.mark.exhaustive  # each takes seconds to minutes, because processes are killed and frozen

UPTIME = "service-123456789012@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
WORKFLOW = "mnemosyne-workflow@test-project.iam.gserviceaccount.com"


@pytest.fixture(scope="module")
def production(emulator: str) -> Iterator[Production]:
    with server_directory() as home:
        new_production = Production(home, emulator)
        try:
            yield new_production
        finally:
            new_production.close()
            for target in ("mcp", "ingest"):
                print(target, new_production.printed(target)[-3500:])


@pytest.mark.parametrize(
    ("mode", "iap"),
    [
        pytest.param("iam", False, id="iam"),
        pytest.param("oidc", False, id="oidc"),
        pytest.param("api_key", False, id="api_key"),
        pytest.param("oidc", True, id="oidc behind iap", marks=pytest.mark.nightly),
        pytest.param("api_key", True, id="api_key behind iap"),
    ],
)
def test_a_published_memory_is_found_by_a_search(production: Production, mode: str, iap: bool) -> None:
    client = production.client(mode, iap=iap)
    memory_id = client.remember(f"Ada prefers tea to coffee, says {mode} {iap}.")
    result = client.call("memory_search", {"query": "does Ada prefer tea", "mode": "hybrid"})
    assert memory_id in [hit["id"] for hit in result["memories"]]
    assert "degraded" not in result
    stats = client.call("memory_stats", {})
    assert (stats["embedding_model"], stats["embedding_dimension"]) == (SPACE.model, SPACE.dimension)


def test_a_push_is_accepted_with_its_signature(production: Production) -> None:
    """In the other tests, Cloud Run removes the signature."""
    production.ingest.strips_signatures = False
    production.ingest.signatures.clear()
    try:
        production.client().remember("stored with the signature")
    finally:
        production.ingest.strips_signatures = True
    assert production.ingest.signatures and SIGNATURE_REMOVED not in production.ingest.signatures
    assert not [status for status, _ in production.ingest.answers if status == 401]


def test_a_push_from_another_service_account_is_refused_by_cloud_run(production: Production) -> None:
    token = production.google.identity_token(USER, deterministic_url("ingest"))
    answer = httpx.post(production.ingest.url, json={}, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    assert answer.status_code == 403
    assert production.ingest.answers[403, True]


def test_an_unchecked_authorization_header_does_not_identify_the_caller(production: Production) -> None:
    """If a request has two headers with tokens, Cloud Run checks only one, and forwards the other unchecked."""
    mine = production.google.identity_token(USER, deterministic_url("mcp"))
    forged = without_signature(production.google.identity_token("eve@example.com", deterministic_url("mcp")))
    headers = {"X-Serverless-Authorization": f"Bearer {mine}", "Authorization": f"Bearer {forged}"}
    assert production.client("iam").post(tool_call("memory_stats", {}), **headers).status_code == 401


def test_paths_that_end_in_z_are_answered_by_cloud_run_itself(production: Production) -> None:
    service = production.mcp("api_key")
    assert httpx.get(f"{service.url}/healthz").status_code == 404
    assert httpx.get(f"{service.url}/health", timeout=60).json() == {"status": "ok"}


def test_each_logger_writes_although_the_functions_framework_reconfigures_logging(production: Production) -> None:
    production.client().remember("this is said to the log")
    for target, event in (("mcp", "tool_called"), ("ingest", "push_handled"), ("ingest", "ingest_outcome")):
        assert f'"event":"{event}"' in production.printed(target), (target, event)


def test_no_read_fails_during_a_failover_of_the_database(production: Production) -> None:
    client = production.client()
    client.remember("before the failover")
    production.as_owner(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE '%@test-project.iam'"
    )
    killed = time.monotonic()
    wait_until(lambda: time.monotonic() > killed + TRUSTED_SECONDS, "idle connections are asked before they are used")
    client.call("memory_search", {"query": "failover"})
    client.remember("after the failover")


def test_after_an_hour_without_cpu_time_the_next_search_and_push_succeed(production: Production) -> None:
    client = production.client()
    client.remember("before the hour")
    counted = production.collector.count("mnemosyne.events", event="tool_called")
    production.an_hour_passes()
    assert client.call("memory_search", {"query": "hour"})["memories"]
    client.remember("after the hour")
    # The instance sends all counts to the collector as soon as it has CPU time, that is, during the next call.
    wait_until(
        lambda: (
            bool(client.call("memory_stats", {}))
            and production.collector.count("mnemosyne.events", event="tool_called") > counted
        ),
        "the collector is told",
    )


def test_each_of_many_memories_is_stored_once_while_instances_start_and_stop(production: Production) -> None:
    client = production.client()
    production.ingest.answers.clear()
    client.service.answers.clear()

    def instances_come_and_go() -> list[bool]:
        clean = []
        for service in (production.ingest, client.service):
            service.add_instance()
            clean.append(service.end_instance())
        return clean

    def ingested(batch: int) -> list[str]:
        contents = [f"memory {batch * 25 + n} of many" for n in range(25)]
        memories = [{"content": content, "timestamp": "2026-05-20T12:00:00Z"} for content in contents]
        return list(client.call("ingest_memories", {"memories": memories})["request_ids"])

    with ThreadPoolExecutor(5) as pool:
        churning = pool.submit(instances_come_and_go)
        request_ids = [request_id for batch in pool.map(ingested, range(4)) for request_id in batch]
        clean = churning.result()
    states = [status["state"] for status in client.outcomes(request_ids, seconds=120)]
    assert states == ["stored"] * 100
    rows = production.as_owner("SELECT count(*), count(DISTINCT content) FROM memories WHERE content LIKE '%of many'")
    assert [int(count) for count in rows[0]] == [100, 100]
    assert all(clean)  # every instance ended within its ten seconds
    # No request of the client has failed.
    assert {status for status, _ in client.service.answers} == {200}
    assert {status for status, _ in production.ingest.answers} <= {204, 429, 503}
    assert not [answer for answer in production.ingest.answers if answer[0] == 503 and answer[1]]


@pytest.fixture(scope="module")
def canary_service(production: Production) -> Service:
    """`mcp` with the settings that Terraform gives it."""
    settings = {
        "MNEMOSYNE_AUTH_MODE": "api_key",
        "MNEMOSYNE_ALLOWED_HOSTS": deterministic_url("mcp").removeprefix("https://"),
        "MNEMOSYNE_PUSH_ISSUER": production.google.url,
        "MNEMOSYNE_PUSH_AUDIENCE": deterministic_url("mcp"),
        "MNEMOSYNE_PUSH_SERVICE_ACCOUNT": f"{WORKFLOW},{UPTIME}",
    }
    return production.service("mcp", settings, [ALL_USERS])


def canary(canary_service: Service, token: str) -> httpx.Response:
    return httpx.post(f"{canary_service.url}/canary", headers={"Authorization": f"Bearer {token}"}, timeout=60)


def test_a_memory_is_stored_found_and_deleted(production: Production, canary_service: Service) -> None:
    answer = canary(canary_service, production.google.identity_token(UPTIME, deterministic_url("mcp")))
    assert answer.status_code == 200, answer.text
    (check,) = [listed_check for listed_check in answer.json()["checks"] if listed_check["name"] == "canary"]
    assert "found and deleted" in check["seen"]
    assert production.as_owner("SELECT count(*) FROM memories WHERE namespace = 'mnemosyne-canary'") == [[0]]


def test_other_callers_may_not_request_the_canary(production: Production, canary_service: Service) -> None:
    token = production.google.identity_token
    mine = deterministic_url("mcp")
    for refused in (
        token("eve@example.com", mine),
        token(UPTIME, "https://another.example"),
        token(UPTIME, mine, email_verified=False),
        without_signature(token(UPTIME, mine)),  # Cloud Run checks no signature if all users may invoke the service
    ):
        assert canary(canary_service, refused).status_code == 401
