"""Access to the MCP endpoint: 401, 403, 429, tools listed per scope, and OAuth metadata."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anyio
import httpx
import pytest
from mcp.server.lowlevel.server import Server
from starlette.testclient import TestClient

from mnemosyne.domain.health import Check
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.rate_limit import TokenBucket
from mnemosyne.errors import Unavailable
from mnemosyne.http.common import rate_limit
from mnemosyne.http.common.rate_limit import Budgets
from mnemosyne.http.mcp.access import Access
from mnemosyne.http.mcp.exchange import Exchanges
from mnemosyne.http.mcp.middleware import McpMiddleware
from mnemosyne.http.mcp.streams import wants_stream
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from mnemosyne.mcp.tools import TOOLS
from mnemosyne.service.authenticate import ApiKeyAuthenticator, NoAuthenticator
from tests.clock import StoppedClock
from tests.fakes import NOW, FakeServices
from tests.mcp_app import LIST, ByName, mcp_app, post
from tests.mcp_client import request, tool_call

INGEST = {"content": "tea", "timestamp": "2026-05-20T12:00:00Z"}


@pytest.fixture
def opened(services: FakeServices) -> Iterator[Callable[..., TestClient]]:
    """Function that builds a client of an app with the given access settings."""
    with ExitStack() as clients:

        def make(*, authenticator: Any = None, issuer: str = "https://issuer.example", **settings: Any) -> TestClient:
            app = mcp_app(
                services,
                authenticator or ByName(),
                issuer=issuer,
                examine=lambda: [Check("schema", "fine")],
                **settings,
            )
            return clients.enter_context(TestClient(app))

        yield make


def _call(client: TestClient, token: str | None, tool: str, arguments: Any) -> Any:
    return post(client, tool_call(tool, arguments), token=token)


def test_the_refusal_of_a_request_without_a_credential_names_where_to_get_one(
    opened: Callable[..., TestClient],
) -> None:
    response = post(opened(), LIST)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == (
        'Bearer scope="read write", resource_metadata="http://testserver/.well-known/oauth-protected-resource/mcp"'
    )


def test_an_invalid_credential_and_a_missing_one_have_different_errors(opened: Callable[..., TestClient]) -> None:
    response = post(opened(), LIST, token="mallory")
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]


def test_with_api_keys_the_server_names_no_authorization_server(opened: Callable[..., TestClient]) -> None:
    client = opened(issuer="")
    assert "resource_metadata" not in post(client, LIST).headers["www-authenticate"]
    assert client.get("/.well-known/oauth-protected-resource").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("GET", "/.well-known/openid-configuration/mcp"),
        ("POST", "/register"),
        ("POST", "/token"),
    ],
)
def test_with_api_keys_the_oauth_endpoints_answer_that_a_key_is_needed(
    opened: Callable[..., TestClient], method: str, path: str
) -> None:
    keys = ApiKeyAuthenticator(lambda key_id: None, lambda: NOW)
    response = opened(issuer="", authenticator=keys).request(method, path)
    assert response.status_code == 404
    assert response.json()["error"] == "invalid_request"
    assert "an API key as `Authorization: Bearer mnk_…`" in response.json()["error_description"]


@pytest.mark.parametrize("path", ["", "/", "/mcp"])
def test_the_oauth_metadata_names_the_resource_and_the_issuer(opened: Callable[..., TestClient], path: str) -> None:
    metadata = (
        opened().get(f"/.well-known/oauth-protected-resource{path}", headers={"X-Forwarded-Proto": "https"}).json()
    )
    assert metadata["resource"] == "https://testserver/mcp"
    assert metadata["authorization_servers"] == ["https://issuer.example"]


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_metadata_of_the_called_url_name_this_url_as_the_resource(
    opened: Callable[..., TestClient], slash: str
) -> None:
    """RFC 9728, section 3.3. VS Code refuses metadata with another resource, even if only a slash differs."""
    client, url = opened(), f"http://testserver/mcp{slash}"
    refused = post(client, LIST, path=f"/mcp{slash}")
    lacking = post(client, tool_call("ingest_memory", INGEST), path=f"/mcp{slash}", token="reader")
    assert (refused.status_code, lacking.status_code) == (401, 403)
    for response in (refused, lacking):
        metadata_url = re.findall(r'resource_metadata="([^"]+)"', response.headers["www-authenticate"])[0]
        assert client.get(metadata_url).json()["resource"] == url


@pytest.mark.parametrize("host", ["testserver:443", "TestServer", "TESTSERVER:443"])
def test_the_resource_of_the_oauth_metadata_has_the_usual_spelling_of_the_host(
    opened: Callable[..., TestClient], host: str
) -> None:
    """Clients compare the resource with their own URL, from which they have removed the default port."""
    client, headers = opened(), {"Host": host, "X-Forwarded-Proto": "https"}
    path = "/.well-known/oauth-protected-resource/mcp"
    assert client.get(path, headers=headers).json()["resource"] == "https://testserver/mcp"
    assert f'"https://testserver{path}"' in post(client, LIST, **headers).headers["www-authenticate"]


def test_the_oauth_metadata_does_not_repeat_an_unknown_host(opened: Callable[..., TestClient]) -> None:
    client = opened()
    response = client.get("/.well-known/oauth-protected-resource", headers={"Host": "evil.example"})
    assert response.status_code == 404
    assert "MNEMOSYNE_ALLOWED_HOSTS" in response.json()["error_description"], "the operator learns the cause"
    assert "evil" not in response.text
    assert "evil" not in post(client, LIST, Host="evil.example").headers["www-authenticate"]


def test_a_key_that_cannot_be_checked_gets_503_and_not_401(opened: Callable[..., TestClient]) -> None:
    response = post(opened(), LIST, token="away")
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize(
    ("token", "tool", "arguments"),
    [
        ("reader", "ingest_memory", INGEST),
        ("reader", "delete_memory", {"id": "01a1fd98-820d-74ac-bf32-ad3eec4e3d5f"}),
        ("writer", "memory_search", {"query": "tea"}),
        ("writer", "recall_memory", {"query": "tea"}),
        ("nobody", "memory_stats", {}),
    ],
)
def test_a_missing_scope_is_403_with_a_challenge_for_it_and_the_present_scopes(
    opened: Callable[..., TestClient], services: FakeServices, token: str, tool: str, arguments: Any
) -> None:
    # The challenge must also name the scopes that the token has, because clients then request only the scopes of the
    # challenge: RFC 6750, section 3.1.
    response = _call(opened(), token, tool, arguments)
    assert response.status_code == 403
    assert 'Bearer scope="read write"' in response.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in response.headers["www-authenticate"]
    assert services.queue.published == []


@pytest.mark.parametrize("token", ["reader", "writer", "admin"])
def test_who_am_i_answers_callers_with_any_scope(opened: Callable[..., TestClient], token: str) -> None:
    listing = request("tools/list", {"_meta": {"mnemosyne/console": True}})
    assert "who_am_i" in {tool["name"] for tool in post(opened(), listing, token=token).json()["result"]["tools"]}
    answer = _call(opened(), token, "who_am_i", {}).json()["result"]["structuredContent"]
    assert answer["name"] == token


READ_RESOURCE = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "memory://recent"}}


def test_a_resource_can_be_read_with_the_read_scope(opened: Callable[..., TestClient]) -> None:
    assert "result" in post(opened(), READ_RESOURCE, token="reader").json()
    refused = post(opened(), READ_RESOURCE, token="writer")
    assert (refused.status_code, "read" in refused.headers["www-authenticate"]) == (403, True)


def test_a_resource_that_is_temporarily_unavailable_is_not_reported_as_missing(
    opened: Callable[..., TestClient], services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*arguments: Any, **named: Any) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(type(services.memories), "list", away)
    for method in ("resources/read", "resources/list"):
        error = post(opened(), READ_RESOURCE | {"method": method}, token="reader").json()["error"]
        assert error["code"] == -32603
        assert "temporarily unavailable" in error["message"]


def test_a_caller_without_the_read_scope_can_connect_and_has_no_resources(opened: Callable[..., TestClient]) -> None:
    listed = post(opened(), {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, token="writer")
    assert listed.json()["result"]["resources"] == []


def test_a_batch_needs_the_scopes_of_all_its_calls(opened: Callable[..., TestClient], services: FakeServices) -> None:
    call = tool_call("ingest_memory", INGEST, id_=2)
    assert post(opened(), [LIST, call], token="reader").status_code == 403
    assert services.queue.published == []


@pytest.mark.parametrize(
    ("token", "expected", "none_of"),
    [
        ("reader", {"memory_search", "get_memory", "memory_stats"}, {"ingest_memory", "delete_memory"}),
        ("writer", {"ingest_memory", "update_memory", "delete_memory"}, {"memory_search", "get_memory"}),
    ],
)
def test_only_tools_that_the_caller_s_scopes_allow_are_listed(
    opened: Callable[..., TestClient], token: str, expected: set[str], none_of: set[str]
) -> None:
    listed = {tool["name"] for tool in post(opened(), LIST, token=token).json()["result"]["tools"]}
    assert expected <= listed
    assert not none_of & listed


def test_a_caller_without_scopes_gets_403_with_the_scopes_to_request(opened: Callable[..., TestClient]) -> None:
    for posted in (LIST, [LIST], {"jsonrpc": "2.0", "id": 1, "method": "ping"}):
        response = post(opened(), posted, token="nobody")
        assert response.status_code == 403
        assert 'Bearer scope="read write"' in response.headers["www-authenticate"]
        assert 'error="insufficient_scope"' in response.headers["www-authenticate"]


@pytest.mark.parametrize("token", ["ada", "admin"])
def test_a_caller_with_all_scopes_sees_all_tools(opened: Callable[..., TestClient], token: str) -> None:
    listed = [tool["name"] for tool in post(opened(), LIST, token=token).json()["result"]["tools"]]
    assert listed == [tool.name for tool in TOOLS]


def test_a_memory_is_stored_in_the_caller_s_namespace_whatever_the_arguments_say(
    opened: Callable[..., TestClient], services: FakeServices
) -> None:
    client = opened()
    assert _call(client, "ada", "ingest_memory", INGEST).json()["result"]["structuredContent"]["status"] == "queued"
    ((namespace, _),) = services.queue.published
    assert namespace == "ada"
    refused = _call(client, "ada", "ingest_memory", {**INGEST, "namespace": "bob"}).json()["result"]
    assert refused["isError"] is True


@pytest.mark.usefixtures("clock")
def test_a_caller_over_the_rate_limit_gets_retry_after_and_other_callers_are_served(
    opened: Callable[..., TestClient],
) -> None:
    client = opened(per_minute=3)
    statuses = [post(client, LIST, token="ada").status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert 1 <= int(post(client, LIST, token="ada").headers["retry-after"]) <= 20
    assert post(client, LIST, token="admin").status_code == 200


@pytest.mark.usefixtures("clock")
def test_a_batch_counts_as_the_number_of_its_requests(opened: Callable[..., TestClient]) -> None:
    client = opened(per_minute=3)
    assert post(client, [LIST, LIST, LIST], token="ada").status_code == 200
    assert post(client, LIST, token="ada").status_code == 429


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


def test_deep_health_needs_a_credential(opened: Callable[..., TestClient]) -> None:
    client = opened()
    assert client.get("/healthz").status_code == 200
    assert client.get("/healthz?deep=1").status_code == 401
    assert client.get("/healthz?deep=1", headers={"Authorization": "Bearer reader"}).status_code == 200


def test_without_authentication_only_loopback_addresses_are_served(opened: Callable[..., TestClient]) -> None:
    client = opened(authenticator=NoAuthenticator())
    assert post(client, LIST).status_code == 200
    foreign = TestClient(client.app, base_url="http://192.0.2.1")
    assert foreign.post("/mcp", json=LIST).status_code == 403


def test_a_body_that_arrives_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemosyne.http.mcp.middleware.BODY_SECONDS", 0.05)
    access = Access(NoAuthenticator(), per_minute=0, issuer="", allowed_hosts=("localhost",))
    messages: list[Any] = []

    async def never_called(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the protocol's server must not see it")

    async def drip() -> Any:
        await anyio.sleep(0.02)
        return {"type": "http.request", "body": b" ", "more_body": True}

    async def send(message: Any) -> None:
        messages.append(message)

    headers = [(b"content-type", b"application/json"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "server": ("127.0.0.1", 1)}
    middleware = McpMiddleware(
        never_called,
        exchanges=Exchanges(Server("unused")),
        transport=never_called,
        access=access,
        database=ThreadLimiter(1),
        streams=wants_stream,
    )
    anyio.run(middleware, scope, drip, send)
    assert messages[0]["status"] == 408


def test_a_request_with_two_credentials_is_refused(opened: Callable[..., TestClient]) -> None:
    client = opened()
    twice = [
        (b"authorization", b"Bearer ada"),
        (b"authorization", b"Bearer admin"),
        (b"content-type", b"application/json"),
    ]
    assert client.post("/mcp", content=json.dumps(LIST), headers=httpx.Headers(twice)).status_code == 401


@pytest.mark.parametrize(("only_authorization", "status"), [(True, 401), (False, 200)], ids=["iam", "behind a proxy"])
def test_x_serverless_authorization_is_refused_only_if_cloud_run_checks_the_caller(
    opened: Callable[..., TestClient], only_authorization: bool, status: int
) -> None:
    """Otherwise the header must be accepted, because Identity-Aware Proxy sets it on every request."""
    door = ByName()
    door.only_authorization = only_authorization
    headers = {"X-Serverless-Authorization": "Bearer mine"}
    assert post(opened(authenticator=door), LIST, token="ada", **headers).status_code == status


def test_an_error_during_authentication_gets_503_without_details(opened: Callable[..., TestClient]) -> None:
    class Broken:
        only_authorization = False

        def authenticate(self, authorization: str | None) -> Principal:
            raise KeyError("inside")

    response = post(opened(authenticator=Broken()), LIST, token="ada")
    assert response.status_code == 503
    assert "inside" not in response.text


@pytest.mark.usefixtures("clock")
def test_deep_health_checks_the_host_and_has_a_rate_limit(opened: Callable[..., TestClient]) -> None:
    client = opened(per_minute=2)
    headers = {"Authorization": "Bearer reader"}
    assert client.get("/healthz?deep=1", headers={**headers, "Host": "evil.example"}).status_code == 421
    statuses = [client.get("/healthz?deep=1", headers=headers).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


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
