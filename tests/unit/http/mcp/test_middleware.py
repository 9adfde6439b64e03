"""Requests that the MCP middleware rejects, with status and message."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import mcp_types
import pytest
from starlette.testclient import TestClient

from mnemosyne.domain.health import Check
from mnemosyne.observability import current_trace
from tests.fakes import FakeServices
from tests.mcp_app import LIST, MODERN, ByName, mcp_app, post
from tests.mcp_client import tool_call

ASKED = "accept, authorization, baggage, mcp-method, user-agent, x-api-version"


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    with TestClient(mcp_app(services, origins=("https://good.example",))) as opened:
        yield opened


def test_a_request_for_subscriptions_is_answered_method_not_found(client: TestClient) -> None:
    params = {"notifications": {"toolsListChanged": True}, "_meta": MODERN}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
    response = post(client, listen, **headers)
    assert response.status_code == 404
    assert response.json()["error"]["code"] == mcp_types.METHOD_NOT_FOUND


def test_a_session_id_is_ignored_and_none_is_returned(client: TestClient) -> None:
    response = post(client, LIST, **{"Mcp-Session-Id": "gone-long-ago"})
    assert (response.status_code, response.headers.get("mcp-session-id")) == (200, None)


def test_an_accept_header_may_be_absent_and_a_content_type_may_have_a_charset(client: TestClient) -> None:
    del client.headers["accept"]
    assert post(client, LIST, **{"Content-Type": "application/json; charset=utf-8"}).status_code == 200


def test_a_body_that_is_too_large_gets_413_with_size_and_limit_also_without_content_length(client: TestClient) -> None:
    response = post(client, b" " * 5_000_000)
    assert (response.status_code, "at most 4,194,304 bytes, got 5,000,000" in response.text) == (413, True)
    chunks = (b" " * 1_000_000 for _ in range(5))
    assert client.post("/mcp", content=chunks, headers={"Content-Type": "application/json"}).status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"nope", b'{"a": "\xff"}', b"[" * 100_000], ids=["empty", "text", "no UTF-8", "["]
)
def test_invalid_json_gets_400_parse_error(client: TestClient, body: bytes) -> None:
    response = post(client, body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32700


@pytest.mark.parametrize("meta", [{}, {"_meta": {"progressToken": 1}}], ids=["json", "stream"])
@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_the_error_about_many_digits_names_the_argument(client: TestClient, meta: dict[str, Any], batch: bool) -> None:
    params = {"name": "memory_search", "arguments": {"query": "tea", "limit": "DIGITS"}, **meta}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    body = json.dumps([call] if batch else call).replace('"DIGITS"', "9" * 5_000)
    response = post(client, body.encode(), Accept="application/json, text/event-stream")
    assert response.status_code == 200 and '"id":7' in response.text
    assert "limit must be an integer between 1 and 100, got Infinity" in response.text


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_an_id_with_a_fraction_of_zero_is_answered(client: TestClient, accept: str, batch: bool) -> None:
    request = {**LIST, "id": 7.0}
    response = post(client, [request] if batch else request, Accept=accept)
    assert response.status_code == 200 and '"id":7,' in response.text


@pytest.mark.parametrize(
    "body",
    [5, None, {}, {"jsonrpc": "1.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 1}, {**LIST, "id": 1.5}],
)
def test_json_that_is_not_a_request_gets_400_invalid_request(client: TestClient, body: Any) -> None:
    response = post(client, body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32600


@pytest.mark.parametrize(
    ("id_", "answered", "message"),
    [("7", 7, "found the lone surrogate U+D800"), ('"\\ud800"', None, "id must be a string or an integer")],
)
def test_a_request_with_a_lone_surrogate_is_refused(
    client: TestClient, id_: str, answered: int | None, message: str
) -> None:
    body = f'{{"jsonrpc": "2.0", "id": {id_}, "method": "tools/call", "params": {{"name": "x\\ud800"}}}}'
    response = post(client, body.encode())
    assert (response.status_code, response.json()["id"]) == (400, answered)
    assert message in response.json()["error"]["message"]


def test_an_unknown_tool_is_a_protocol_error_that_names_the_tools(client: TestClient) -> None:
    body = tool_call("nope", {})
    error = post(client, body).json()["error"]
    assert error["code"] == -32602
    assert "memory_search" in error["message"]


def test_a_batch_is_answered_only_in_protocol_revisions_with_batches(client: TestClient) -> None:
    without_id = {"jsonrpc": "2.0", "method": "tools/list"}
    batch = [LIST, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 2}, without_id]
    listed, invalid, refused = post(client, batch, **{"MCP-Protocol-Version": "2025-03-26"}).json()
    assert (listed["id"], invalid["id"], refused["id"]) == (1, 2, None)
    assert "result" in listed and "error" in invalid and "id is required" in refused["error"]["message"]
    response = post(client, batch, **{"MCP-Protocol-Version": "2025-06-18"})
    assert (response.status_code, "revision 2025-06-18 has no batches" in response.text) == (400, True)


METADATA = "/.well-known/oauth-protected-resource/mcp"


def _preflight(client: TestClient, path: str, origin: str, method: str) -> httpx2.Response:
    """Ask as a browser does whether a page may send these headers.

    User-Agent is among them, because Firefox asks whether a page may replace it.
    """
    wanted = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": ASKED}
    return client.options(path, headers={"Origin": origin, **wanted})


@pytest.mark.parametrize(
    ("origin", "path", "method"),
    [
        ("https://good.example", "/mcp", "POST"),
        # Clients open a stream with GET, and end a session with DELETE. If they can read the 405, they go on without.
        ("https://good.example", "/mcp", "GET"),
        ("https://good.example", "/mcp", "DELETE"),
        ("https://any.example", METADATA, "GET"),
    ],
)
def test_a_page_may_send_its_headers_with_each_method(client: TestClient, origin: str, path: str, method: str) -> None:
    preflight = _preflight(client, path, origin, method)
    assert (preflight.status_code, preflight.headers["access-control-allow-headers"]) == (200, ASKED)
    assert method in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-origin"] in (origin, "*")


@pytest.mark.parametrize(("method", "status"), [("POST", 200), ("GET", 405), ("DELETE", 405), ("PUT", 405)])
def test_a_page_of_an_allowed_origin_can_read_the_answer(client: TestClient, method: str, status: int) -> None:
    headers = {"Origin": "https://good.example", "Content-Type": "application/json"}
    response = client.request(method, "/mcp", json=LIST, headers=headers)
    assert (response.status_code, response.headers.get("allow", "POST")) == (status, "POST")
    assert response.headers["access-control-allow-origin"] == "https://good.example"
    assert "WWW-Authenticate" in response.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in response.headers, "the server uses no cookies"


@pytest.mark.parametrize("origin", ["https://evil.example", "https://good.example.evil", "null"])
def test_another_origin_gets_no_cors_headers(client: TestClient, origin: str) -> None:
    preflight = _preflight(client, "/mcp", origin, "POST")
    assert (preflight.status_code, preflight.headers.get("access-control-allow-origin")) == (400, None)


def test_pages_of_any_origin_may_read_the_oauth_metadata(client: TestClient) -> None:
    answer = client.get(METADATA, headers={"Origin": "https://any.example"})
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_cursor_of_a_list_without_pages_is_refused(client: TestClient) -> None:
    error = post(client, {**LIST, "params": {"cursor": "x"}}).json()["error"]
    assert error["code"] == mcp_types.INVALID_PARAMS
    assert error["message"].startswith("cursor must be left out")


def test_a_call_uses_the_trace_id_of_its_meta_field(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = []
    monkeypatch.setattr("mnemosyne.mcp.dispatch.log.info", lambda event, **fields: traces.append(current_trace()))
    call = tool_call("memory_stats", {})
    call["params"]["_meta"] = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    post(client, call)
    assert [trace and trace.trace_id for trace in traces] == ["0af7651916cd43dd8448eb211c80319c"]


def test_trailing_white_space_in_headers_is_accepted(client: TestClient) -> None:
    body = {**LIST, "params": {"_meta": MODERN}}
    headers = {"MCP-Protocol-Version": "2026-07-28 ", "Mcp-Method": "tools/list "}
    response = post(client, body, **headers)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize("remedy", [None, "run `mnemosyne migrate`"])
@pytest.mark.parametrize("token", ["reader", "admin"])
def test_deep_health_shows_its_findings_to_operators_only(
    services: FakeServices, remedy: str | None, token: str
) -> None:
    checks = [Check("schema", "seen", remedy)]
    with TestClient(mcp_app(services, ByName(), examine=lambda: checks)) as client:
        response = client.get("/healthz?deep=1", headers={"Authorization": f"Bearer {token}"})
    findings = {"seen": "seen", "remedy": remedy} if token == "admin" else {}
    assert response.status_code == (503 if remedy else 200)
    assert response.json()["checks"] == [{"name": "schema", "ok": remedy is None, **findings}]


def test_concurrent_requests_for_deep_health_share_one_check() -> None:
    """If each request made its own check, one principal could use up all database connections."""
    runs: list[None] = []

    def examine() -> list[Check]:
        runs.append(None)
        time.sleep(0.1)
        return [Check("schema", "seen")]

    with TestClient(mcp_app(FakeServices(), examine=examine)) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/health?deep=1"), range(8)))
    assert {(answer.status_code, answer.json()["status"]) for answer in answers} == {(200, "ok")}
    assert len(runs) == 1


@pytest.mark.parametrize(("depth", "status"), [(28, 200), (29, 400), (970, 400), (1_000, 400), (5_000, 400)])
@pytest.mark.parametrize("innermost", [b"", b"1"])
def test_json_above_thirty_levels_is_refused(client: TestClient, depth: int, status: int, innermost: bytes) -> None:
    start = b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"b": [], "a": '
    response = post(client, start + b"[" * depth + innermost + b"]" * depth + b"}}")
    assert response.status_code == status
    assert depth >= 970 or response.json()["id"] == 7  # the id can be read if Python can parse the text
    assert ("nested" in response.text) is (status == 400)


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200), ("http://testserver", 200), ("https://testserver", 200), ("https://good.example", 200),
        ("http://testserver:3000", 403), ("http://localhost", 403), ("http://[::1]:8080", 403),
        ("https://good.example:8443", 403), ("https://good.example.evil", 403), ("null", 403), ("", 403),
    ],
)  # fmt: skip
def test_only_the_own_and_configured_origins_are_served(client: TestClient, origin: str | None, status: int) -> None:
    """Programs that are not browsers send no Origin. A page on another port of the same machine has another origin."""
    assert post(client, LIST, **({} if origin is None else {"Origin": origin})).status_code == status
