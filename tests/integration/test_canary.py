"""The canary check behind Cloud Run's front end: only Google's uptime check and the workflow may request it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cloud_run.identity import ALL_USERS, without_signature
from tests.cloud_run.production import Production
from tests.cloud_run.service import Service, deterministic_url

pytestmark = pytest.mark.exhaustive  # the whole production path starts

UPTIME = "service-123456789012@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
WORKFLOW = "mnemosyne-workflow@test-project.iam.gserviceaccount.com"


@pytest.fixture(scope="module")
def production(emulator: str) -> Iterator[Production]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-canary-") as home:
        new_production = Production(Path(home), emulator)
        try:
            yield new_production
        finally:
            new_production.close()


@pytest.fixture(scope="module")
def mcp(production: Production) -> Service:
    """`mcp` with the settings that Terraform gives it."""
    settings = {
        "MNEMOSYNE_AUTH_MODE": "api_key",
        "MNEMOSYNE_ALLOWED_HOSTS": deterministic_url("mcp").removeprefix("https://"),
        "MNEMOSYNE_PUSH_ISSUER": production.google.url,
        "MNEMOSYNE_PUSH_AUDIENCE": deterministic_url("mcp"),
        "MNEMOSYNE_PUSH_SERVICE_ACCOUNT": f"{WORKFLOW},{UPTIME}",
    }
    return production.service("mcp", settings, [ALL_USERS])


def canary(mcp: Service, token: str) -> httpx.Response:
    return httpx.post(f"{mcp.url}/canary", headers={"Authorization": f"Bearer {token}"}, timeout=60)


@pytest.mark.parametrize("account", [UPTIME, WORKFLOW])
def test_a_memory_is_stored_found_and_deleted(production: Production, mcp: Service, account: str) -> None:
    answer = canary(mcp, production.google.identity_token(account, deterministic_url("mcp")))
    assert answer.status_code == 200, answer.text
    (check,) = [listed_check for listed_check in answer.json()["checks"] if listed_check["name"] == "canary"]
    assert "found and deleted" in check["seen"]
    assert production.as_owner("SELECT count(*) FROM memories WHERE namespace = 'mnemosyne-canary'") == [[0]]


def test_other_callers_may_not_request_the_canary(production: Production, mcp: Service) -> None:
    token = production.google.identity_token
    mine = deterministic_url("mcp")
    for refused in (
        token("eve@example.com", mine),
        token(UPTIME, "https://another.example"),
        token(UPTIME, mine, email_verified=False),
        without_signature(token(UPTIME, mine)),  # Cloud Run checks no signature if all users may invoke the service
    ):
        assert canary(mcp, refused).status_code == 401
