"""Access to the MCP endpoint: 401, 403, 429, tools listed per scope, and OAuth metadata."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from mnemosyne.domain.health import Check
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.rate_limit import TokenBucket
from mnemosyne.errors import Unavailable
from mnemosyne.http.common import rate_limit
from mnemosyne.http.common.rate_limit import Budgets
from mnemosyne.mcp.tools import TOOLS
from mnemosyne.service.authenticate import ApiKeyAuthenticator, NoAuthenticator
from tests.clock import StoppedClock
from tests.fakes import NOW, FakeServices
from tests.mcp_app import CALLERS, LIST, ByName, mcp_app, post
from tests.mcp_client import request, tool_call

Open = Callable[..., TestClient]
INGEST = {"content": "tea", "timestamp": "2026-05-20T12:00:00Z"}
METADATA = "/.well-known/oauth-protected-resource"
CHALLENGE = f'Bearer scope="read write", resource_metadata="http://testserver{METADATA}/mcp"'


@pytest.fixture
def opened(services: FakeServices) -> Iterator[Open]:
    """Function that builds a client of an app with the given access settings."""
    with ExitStack() as clients:

        def make(*, authenticator: Any = None, issuer: str = "https://issuer.example", **settings: Any) -> TestClient:
            checks = [Check("schema", "fine")]
            app = mcp_app(services, authenticator or ByName(), issuer=issuer, examine=lambda: checks, **settings)
            return clients.enter_context(TestClient(app))

        yield make


@pytest.mark.parametrize(("token", "error"), [(None, ""), ("mallory", ', error="invalid_token"')])
def test_a_refusal_of_a_credential_names_where_to_get_one(opened: Open, token: str | None, error: str) -> None:
    response = post(opened(), LIST, token=token)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == f"{CHALLENGE}{error}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{METADATA}/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/openid-configuration/mcp"),
        ("POST", "/register"),
        ("POST", "/token"),
    ],
)
def test_with_api_keys_the_oauth_endpoints_answer_that_a_key_is_needed(opened: Open, method: str, path: str) -> None:
    client = opened(issuer="", authenticator=ApiKeyAuthenticator(lambda key_id: None, lambda: NOW))
    response = client.request(method, path)
    assert (response.status_code, response.json()["error"]) == (404, "invalid_request")
    assert "an API key as `Authorization: Bearer mnk_…`" in response.json()["error_description"]
    assert "resource_metadata" not in post(client, LIST).headers["www-authenticate"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_metadata_of_the_called_url_name_this_url_as_the_resource(opened: Open, slash: str) -> None:
    """RFC 9728, section 3.3. VS Code refuses metadata with another resource, even if only a slash differs."""
    client, url = opened(), f"http://testserver/mcp{slash}"
    refused = post(client, LIST, path=f"/mcp{slash}")
    lacking = post(client, tool_call("ingest_memory", INGEST), path=f"/mcp{slash}", token="reader")
    assert (refused.status_code, lacking.status_code) == (401, 403)
    for response in (refused, lacking):
        metadata_url = re.findall(r'resource_metadata="([^"]+)"', response.headers["www-authenticate"])[0]
        assert client.get(metadata_url).json()["resource"] == url


@pytest.mark.parametrize(("host", "path"), [("testserver:443", "/mcp"), ("TestServer", ""), ("TESTSERVER:443", "/")])
def test_oauth_metadata_have_the_usual_spelling_of_the_host(opened: Open, host: str, path: str) -> None:
    """Clients compare the resource with their own URL, from which they have removed the default port."""
    client, headers = opened(), {"Host": host, "X-Forwarded-Proto": "https"}
    metadata = client.get(f"{METADATA}{path}", headers=headers).json()
    assert metadata["resource"] == "https://testserver/mcp"
    assert metadata["authorization_servers"] == ["https://issuer.example"]
    assert f'"https://testserver{METADATA}/mcp"' in post(client, LIST, **headers).headers["www-authenticate"]


def test_the_oauth_metadata_does_not_repeat_an_unknown_host(opened: Open) -> None:
    client = opened()
    response = client.get(METADATA, headers={"Host": "evil.example"})
    assert response.status_code == 404
    assert "MNEMOSYNE_ALLOWED_HOSTS" in response.json()["error_description"], "the operator learns the cause"
    assert "evil" not in response.text
    assert "evil" not in post(client, LIST, Host="evil.example").headers["www-authenticate"]


def test_a_key_that_cannot_be_checked_gets_503_and_not_401(opened: Open) -> None:
    response = post(opened(), LIST, token="away")
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize(
    ("token", "posted"),
    [
        ("reader", tool_call("ingest_memory", INGEST)),
        ("reader", [LIST, tool_call("ingest_memory", INGEST, id_=2)]),
        ("writer", tool_call("memory_search", {"query": "tea"})),
        ("writer", tool_call("recall_memory", {"query": "tea"})),
        ("nobody", LIST),
        ("nobody", [LIST]),
        ("nobody", request("ping")),
    ],
)
def test_a_missing_scope_is_403_with_a_challenge(opened: Open, services: FakeServices, token: str, posted: Any) -> None:
    # The challenge must name the missing scope and the scopes that the token has, because clients then request only
    # the scopes of the challenge: RFC 6750, section 3.1.
    response = post(opened(), posted, token=token)
    assert response.status_code == 403
    assert response.headers["www-authenticate"].startswith(f'{CHALLENGE}, error="insufficient_scope"')
    assert services.queue.published == []


@pytest.mark.parametrize("token", ["reader", "writer", "admin"])
def test_who_am_i_answers_callers_with_any_scope(opened: Open, token: str) -> None:
    client, listing = opened(), request("tools/list", {"_meta": {"mnemosyne/console": True}})
    assert "who_am_i" in {tool["name"] for tool in post(client, listing, token=token).json()["result"]["tools"]}
    answer = post(client, tool_call("who_am_i", {}), token=token).json()["result"]["structuredContent"]
    assert answer["name"] == token


READ = request("resources/read", {"uri": "memory://recent"})
LIST_RESOURCES = request("resources/list")


def test_a_resource_can_be_read_with_the_read_scope_and_listed_with_another(opened: Open) -> None:
    client = opened()
    assert "result" in post(client, READ, token="reader").json()
    refused = post(client, READ, token="writer")
    assert (refused.status_code, "read" in refused.headers["www-authenticate"]) == (403, True)
    assert post(client, LIST_RESOURCES, token="writer").json()["result"]["resources"] == []


def test_a_resource_that_is_temporarily_unavailable_is_not_reported_as_missing(
    opened: Open, services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*arguments: Any, **named: Any) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(type(services.memories), "list", away)
    for posted in (READ, LIST_RESOURCES):
        error = post(opened(), posted, token="reader").json()["error"]
        assert error["code"] == -32603
        assert "temporarily unavailable" in error["message"]


@pytest.mark.parametrize("token", ["reader", "writer", "ada", "admin"])
def test_exactly_the_tools_that_the_caller_s_scopes_allow_are_listed(opened: Open, token: str) -> None:
    listed = [tool["name"] for tool in post(opened(), LIST, token=token).json()["result"]["tools"]]
    assert listed == [tool.name for tool in TOOLS if CALLERS[token].may(tool.scope)]
    assert ("memory_search" in listed, "ingest_memory" in listed) == (token != "writer", token != "reader")


@pytest.mark.usefixtures("clock")
def test_a_caller_over_the_rate_limit_gets_retry_after_and_other_callers_are_served(opened: Open) -> None:
    client = opened(per_minute=3)
    statuses = [post(client, posted, token="ada").status_code for posted in (LIST, [LIST, LIST], LIST)]
    assert statuses == [200, 200, 429]
    assert 1 <= int(post(client, LIST, token="ada").headers["retry-after"]) <= 20
    assert post(client, LIST, token="admin").status_code == 200


def test_a_token_bucket_refills_at_its_rate() -> None:
    bucket, early = TokenBucket.full(60, 0.0).take(0.0, 60)
    assert early == 0.0
    bucket, early = bucket.take(0.5)
    assert early == pytest.approx(0.5)
    bucket, early = bucket.take(1.0)
    assert early == 0.0


def test_a_request_that_costs_more_than_the_budget_is_served_only_when_the_budget_is_full(clock: StoppedClock) -> None:
    """The test spends units in the order of the middleware: for the request, its bytes, and its tool calls."""
    budgets = Budgets(600)

    def served(after: float) -> int:
        clock.now += after
        paid = 0.0
        for units in (1.0, 250.0, 426.0):
            if early := budgets.spend("ada", units, paid):
                return early
            paid += units
        return 0

    assert served(0) == 0
    wait = served(30)  # the budget is negative
    assert wait > 0
    while wait:  # a retry after Retry-After succeeds eventually
        before, wait = wait, served(wait)
        assert wait < 120, before
    assert clock.now < 400


@pytest.mark.usefixtures("clock")
def test_deep_health_needs_a_credential_and_a_served_host_and_has_a_rate_limit(opened: Open) -> None:
    client = opened(per_minute=2)
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/healthz?deep=1").status_code == 401
    headers = {"Authorization": "Bearer reader"}
    assert client.get("/healthz?deep=1", headers={**headers, "Host": "evil.example"}).status_code == 421
    statuses = [client.get("/healthz?deep=1", headers=headers).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_without_authentication_only_loopback_addresses_are_served(opened: Open) -> None:
    client = opened(authenticator=NoAuthenticator())
    assert post(client, LIST).status_code == 200
    foreign = TestClient(client.app, base_url="http://192.0.2.1")
    assert foreign.post("/mcp", json=LIST).status_code == 403


def test_a_body_that_arrives_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemosyne.http.mcp.middleware.BODY_SECONDS", 0.05)
    app = mcp_app(FakeServices())

    async def drip() -> Message:
        await anyio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, drip, send)

    assert post(TestClient(slow), LIST).status_code == 408


def test_a_request_with_two_credentials_is_refused(opened: Open) -> None:
    client = opened()
    twice = [("Authorization", "Bearer ada"), ("Authorization", "Bearer admin")]
    assert client.post("/mcp", json=LIST, headers=twice).status_code == 401


@pytest.mark.parametrize(("only_authorization", "status"), [(True, 401), (False, 200)], ids=["iam", "behind a proxy"])
def test_x_serverless_authorization_is_refused_with_iam(opened: Open, only_authorization: bool, status: int) -> None:
    """Otherwise the header must be accepted, because Identity-Aware Proxy sets it on every request."""
    door = ByName()
    door.only_authorization = only_authorization
    headers = {"X-Serverless-Authorization": "Bearer mine"}
    assert post(opened(authenticator=door), LIST, token="ada", **headers).status_code == status


def test_an_error_during_authentication_gets_503_without_details(opened: Open) -> None:
    class Broken:
        only_authorization = False

        def authenticate(self, authorization: str | None) -> Principal:
            raise KeyError("inside")

    response = post(opened(authenticator=Broken()), LIST, token="ada")
    assert response.status_code == 503
    assert "inside" not in response.text


def test_the_least_recently_used_budget_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_BUCKETS", 2)
    budgets = Budgets(1)
    for principal in ("ada", "bob"):
        assert not budgets.spend(principal, 1)
    assert budgets.retry_after("ada")
    assert not budgets.spend("eve", 1)
    assert not budgets.retry_after("bob")
    assert budgets.retry_after("ada")
    assert budgets.retry_after("eve")
