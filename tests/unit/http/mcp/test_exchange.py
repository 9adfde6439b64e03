"""A single request and its response (an exchange) get the same answer as with the SDK's own transport."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.testclient import TestClient

from mnemosyne.domain.principal import LOCAL
from mnemosyne.http.mcp.exchange import Exchanges
from mnemosyne.mcp.server import build_server
from mnemosyne.mcp.thread_limiter import ThreadLimiter
from tests.fakes import FakeServices
from tests.mcp_app import mcp_app

Clients = tuple[TestClient, TestClient]
REVISIONS = (None, *HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
CLIENT = {"name": "test", "version": "0"}
HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
REQUESTS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "handshake": ("initialize", HANDSHAKE),
    "ping": ("ping", None),
    "list": ("tools/list", {}),
    "invalid cursor": ("tools/list", {"cursor": 5}),
    "refused cursor": ("tools/list", {"cursor": "x"}),
    "call": ("tools/call", {"name": "who_am_i", "arguments": {}}),
    "call with null": ("tools/call", {"name": "who_am_i", "arguments": {"unknown": None}}),
    "call without arguments": ("tools/call", {"name": "who_am_i"}),
    "tool error": ("tools/call", {"name": "get_memory", "arguments": {"id": "\u00fc"}}),
    "unknown tool": ("tools/call", {"name": "nope"}),
    "unknown resource": ("resources/read", {"uri": "memory://nope"}),
    "unknown prompt": ("prompts/get", {"name": "nope"}),
    "unknown method": ("nope/nope", {"x": 1}),
    "discovery": ("server/discover", {}),
    "subscription": ("subscriptions/listen", {"notifications": {}}),
    "invalid log level": ("tools/list", {"_meta": {"io.modelcontextprotocol/logLevel": "x"}}),
}


def _headers(revision: str | None, method: str, params: dict[str, Any]) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Mcp-Method": method}
    named = params.get("uri" if method == "resources/read" else "name")
    return headers | ({"MCP-Protocol-Version": revision} if revision else {}) | ({"Mcp-Name": named} if named else {})


def _meta(revision: str) -> dict[str, Any]:
    return {PROTOCOL_VERSION_META_KEY: revision, CLIENT_CAPABILITIES_META_KEY: {}, CLIENT_INFO_META_KEY: CLIENT}


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    services = FakeServices()
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = build_server(services, database=ThreadLimiter(2), principal=LOCAL)
    sdk = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
    with TestClient(mcp_app(services)) as first, TestClient(sdk) as second:
        yield first, second


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_response_is_the_sdk_s(
    clients: Clients, revision: str | None, request_: tuple[str, dict[str, Any] | None]
) -> None:
    method, params = request_
    if revision in MODERN_PROTOCOL_VERSIONS:
        params = {**(params or {}), "_meta": _meta(str(revision)) | (params or {}).get("_meta", {})}
    posted = {"jsonrpc": "2.0", "id": "\u00fc", "method": method} | ({} if params is None else {"params": params})
    headers = _headers(revision, method, params or {})
    ours, theirs = (client.post("/mcp", json=posted, headers=headers) for client in clients)
    assert (ours.status_code, ours.headers.get("content-type")) == (
        theirs.status_code,
        theirs.headers.get("content-type"),
    )
    assert (ours.content and ours.json()) == (theirs.content and theirs.json())


@pytest.mark.parametrize(
    "fault", [{"Mcp-Method": "ping"}, {"Mcp-Name": "nope"}, {"MCP-Protocol-Version": "2099-01-01"}]
)
def test_headers_that_contradict_the_request_are_refused_as_by_the_sdk(clients: Clients, fault: dict[str, str]) -> None:
    params = {"name": "who_am_i", "_meta": _meta("2026-07-28")}
    posted = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = _headers("2026-07-28", "tools/call", params) | fault
    ours, theirs = (client.post("/mcp", json=posted, headers=headers) for client in clients)
    assert ours.status_code == 400
    assert (ours.status_code, ours.json()) == (theirs.status_code, theirs.json())


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("header", [None, "2025-03-26"])
@pytest.mark.parametrize("version", ["2026-07-28", "2099-01-01", None, 20260728])
def test_a_request_in_another_revision_than_its_header_is_rejected(
    clients: Clients, header: str | None, version: str | int | None, accept: str, batch: bool
) -> None:
    # In earlier versions, such a request was served in the revision of the header. A deletion then did not ask the
    # user.
    meta = _meta("2026-07-28") | {PROTOCOL_VERSION_META_KEY: version}
    params = {"name": "delete_memory", "arguments": {"id": "x"}, "_meta": meta}
    posted = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    headers = _headers(header, "tools/call", params) | {"Accept": accept}
    response = clients[0].post("/mcp", json=[posted] if batch else posted, headers=headers)
    error = response.json()["error"]
    assert (response.status_code, error["code"], response.json()["id"]) == (400, -32020, None if batch else 7)
    assert json.dumps(version) in error["message"]
    named = header or "no header" if isinstance(version, str) else PROTOCOL_VERSION_META_KEY
    assert named in error["message"]


def test_an_argument_without_its_header_is_rejected() -> None:
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    server = build_server(FakeServices(), database=ThreadLimiter(1), principal=LOCAL)
    server.get_tool_input_schema = {"who_am_i": schema}.get
    params = {"name": "who_am_i", "arguments": {"region": "eu"}, "_meta": _meta("2026-07-28")}
    posted = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {name.lower(): value for name, value in _headers("2026-07-28", "tools/call", params).items()}
    exchanges = Exchanges(server)
    assert exchanges.client(posted, headers) is None
    assert exchanges.client(posted, headers | {"mcp-param-region": "eu"}) is not None


@pytest.mark.parametrize("response", ["null", "{}", '{"action": "maybe"}'])
def test_the_error_about_an_invalid_answer_of_the_user_names_the_answer(clients: Clients, response: str) -> None:
    params = {"name": "who_am_i", "inputResponses": {"confirm": json.loads(response)}, "_meta": _meta("2026-07-28")}
    posted = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    error = clients[0].post("/mcp", json=posted, headers=_headers("2026-07-28", "tools/call", params)).json()["error"]
    expected = "CreateMessageResult, ListRootsResult or ElicitResult"
    assert error["message"] == f"Invalid request: params.inputResponses.confirm must be {expected}, got {response}"
