"""Unusual but harmless requests are served; each refusal is JSON that says what to change."""

import gzip
import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from tests.fakes import FakeServices
from tests.mcp_app import mcp_app, post

LIST = {"jsonrpc": "2.0", "id": "list-1", "method": "tools/list"}
JSON = "application/json"


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    with TestClient(mcp_app(services, origins=("https://good.example",))) as opened:
        yield opened


@pytest.mark.parametrize("method", ["ping", "tools/list", "resources/templates/list"])
@pytest.mark.parametrize("params", [None, {"_meta": {"progressToken": None}}], ids=["params", "progressToken"])
def test_null_is_treated_as_absent(client: TestClient, method: str, params: dict[str, object] | None) -> None:
    answer = post(client, LIST | {"method": method, "params": params}).json()
    assert (answer["id"], "result" in answer) == ("list-1", True)


@pytest.mark.parametrize("listed", ["tools", "prompts", "resources", "resources/templates"])
def test_an_empty_cursor_is_the_first_page(client: TestClient, listed: str) -> None:
    first, empty = (
        post(client, {"jsonrpc": "2.0", "id": 1, "method": f"{listed}/list", "params": params}).json()["result"]
        for params in ({}, {"cursor": ""})
    )
    assert empty == first


@pytest.mark.parametrize("name", ["initialized", "cancelled", "roots/list_changed"])
def test_null_params_of_a_notification_are_treated_as_absent(client: TestClient, name: str) -> None:
    assert post(client, {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": None}).status_code == 202


def test_a_byte_order_mark_is_ignored(client: TestClient) -> None:
    """Windows PowerShell writes a byte order mark into files, which users then send with curl."""
    assert "result" in post(client, b"\xef\xbb\xbf" + json.dumps(LIST).encode()).json()


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "ping", "nope", "initialize"])
def test_a_request_without_an_id_is_refused_instead_of_ignored(client: TestClient, method: str, revision: str) -> None:
    params = {"name": "ingest_memory", "arguments": {"content": "tea"}, "protocolVersion": revision}
    request = {"jsonrpc": "2.0", "method": method, "params": params}
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": "ingest_memory"}
    response = post(client, request, **headers)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)
    assert "id is required" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    "accept",
    [
        "text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream, text/html", "text/*",
        "application/json;q=0, text/event-stream", "application/json; q=0.000, */*;q=0.1, text/event-stream;q=0.1",
    ],
)  # fmt: skip
def test_a_client_that_accepts_only_an_event_stream_gets_one(client: TestClient, accept: str) -> None:
    response = post(client, LIST, Accept=accept)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    data = next(line for line in response.text.splitlines() if line.startswith("data: {"))
    assert json.loads(data.removeprefix("data: "))["id"] == "list-1"


@pytest.mark.parametrize(
    ("accept", "meta"),
    [
        ("*/*", {}),
        ("text/event-stream, */*", {}),
        ("application/*", {}),
        ("text/html, *; q=.2, */*; q=.2", {}),
        ("application/json;q=0.1, text/event-stream;q=0.9", {}),
        # a client that refuses streams, although it asks for progress
        ("application/json, text/event-stream;q=0", {"progressToken": 1}),
        ("text/event-stream; Q=0.0, */*", {"progressToken": 1}),
    ],
)
def test_a_client_that_accepts_json_gets_json(client: TestClient, accept: str, meta: dict[str, int]) -> None:
    answer = post(client, LIST | {"params": {"_meta": meta}}, Accept=accept)
    assert (answer.status_code, answer.headers["content-type"]) == (200, JSON)


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "text/event-stream;q=0, text/html", "image/*"])
def test_the_error_about_the_accepted_types_has_the_id_and_the_header(client: TestClient, accept: str) -> None:
    answer = post(client, LIST, Accept=accept)
    assert (answer.status_code, answer.json()["id"]) == (406, "list-1")
    assert f"application/json or text/event-stream, got '{accept}'" in answer.json()["error"]["message"]


@pytest.mark.parametrize("first", ["text/html", "text/event-stream"])
def test_every_line_of_a_repeated_accept_header_counts(client: TestClient, first: str) -> None:
    del client.headers["accept"]
    headers = [("Content-Type", JSON), ("Accept", first), ("Accept", JSON)]
    response = client.post("/mcp", json=LIST, headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (200, JSON)


@pytest.mark.parametrize("accept", ["text/event-stream", "text/event-stream, text/html"])
def test_a_batch_gets_json_even_if_its_client_accepts_only_an_event_stream(client: TestClient, accept: str) -> None:
    """Only clients of older revisions send batches. The answers to a batch are one JSON array."""
    batch = [LIST, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    (answer,) = post(client, batch, Accept=accept).json()
    assert (answer["id"], "result" in answer) == ("list-1", True)


UNNAMED: list[tuple[str, object, str]] = [
    ("tools/list", [], "params must be an object"),
    ("tools/list", False, "params must be an object"),
    ("resources/read", {"uri": 5}, "params.uri must be the URI of a resource"),
    ("tools/call", {}, "params.name must be the name of a tool"),
    ("prompts/get", {}, "params.name must be the name of a prompt"),
    ("prompts/get", {"name": "recall", "arguments": []}, "params.arguments must be an object, got []"),
    ("prompts/get", {"name": "review", "arguments": {"time": 2025}}, "params.arguments.time must be a string"),
    ("tools/call", {"name": "who_am_i", "arguments": "{}"}, 'params.arguments must be an object, got "{}"'),
    ("initialize", {"protocolVersion": 1}, "params.protocolVersion must be a protocol revision"),
]


@pytest.mark.parametrize(("method", "params", "message"), UNNAMED)
def test_an_error_names_the_wrong_parameter(client: TestClient, method: str, params: object, message: str) -> None:
    response = post(client, LIST | {"method": method, "params": params})
    assert (response.status_code, response.json()["id"]) == (400, "list-1")
    assert message in response.json()["error"]["message"]


PARAMS: dict[str, object] = {"protocolVersion": "2025-06-18", "name": "who_am_i"}
"""The parameters of `initialize` and `tools/call`. Each method ignores those of other methods."""


@pytest.mark.parametrize("accept", [JSON, "text/event-stream"])
@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("initialize", {"capabilities": []}, "params.capabilities must be an object, got []"),
        ("initialize", {"clientInfo": "x"}, 'params.clientInfo must be an object, got "x"'),
        ("initialize", {"clientInfo": {"version": 1}}, "params.clientInfo.version must be a string, got 1"),
        ("tools/list", {"cursor": 5}, "params.cursor must be a string, got 5"),
        ("tools/call", {"_meta": []}, "params._meta must be an object, got []"),
        ("tools/call", {"_meta": {"progressToken": 1.5}}, "params._meta.progressToken must be a string or an integer"),
        ("tools/call", {"task": "x"}, 'params.task must be an object, got "x"'),
    ],
)
def test_the_error_about_a_parameter_that_the_sdk_rejects_names_it(
    client: TestClient, method: str, params: dict[str, object], message: str, accept: str
) -> None:
    response = post(client, LIST | {"method": method, "params": PARAMS | params}, Accept=accept)
    error = json.loads(response.text[response.text.index("{") :])["error"]
    assert error["code"] == -32602
    assert message in error["message"]


@pytest.mark.parametrize(
    "params",
    [{}, {"capabilities": None, "clientInfo": None}, {"clientInfo": {"name": "a script", "version": None}}],
)
def test_initialize_needs_no_complete_description_of_the_client(client: TestClient, params: dict[str, object]) -> None:
    response = post(client, LIST | {"method": "initialize", "params": {"protocolVersion": "2025-06-18", **params}})
    assert response.json()["result"]["protocolVersion"] == "2025-06-18"


def test_the_icons_have_only_fields_whose_type_is_the_same_in_all_sdks(client: TestClient) -> None:
    answer = post(client, LIST | {"method": "initialize", "params": PARAMS}).json()["result"]
    assert [set(icon) for icon in answer["serverInfo"]["icons"]] == [{"src", "mimeType"}] * 2


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        # Upper and lower case are equal in host names (RFC 9110, section 4.2.3). Programs send a name as it was typed.
        ("TestServer", None, 200),
        ("TESTSERVER", "http://testserver", 200),
        # Go's HTTP client sends the default port if its URL has it. nginx sends it with `$host:$server_port`.
        ("testserver:443", None, 200),
        ("testserver:443", "https://testserver", 200),
        ("testserver:80", None, 421),
        ("testserver:4430", None, 421),
    ],
)
def test_the_case_and_the_default_port_of_https_in_the_host_are_ignored(
    client: TestClient, host: str, origin: str | None, status: int
) -> None:
    assert post(client, LIST, Host=host, **({"Origin": origin} if origin else {})).status_code == status


REFUSED: list[tuple[str, dict[str, str], int, str]] = [
    ("/mcp", {"Host": "evil.example"}, 421, "MNEMOSYNE_ALLOWED_HOSTS, got 'evil.example'"),
    ("/mcp", {"Host": "testserver.evil.example:80"}, 421, "MNEMOSYNE_ALLOWED_HOSTS"),
    ("/mcp", {"Host": "a b"}, 421, "Host must be a name and at most a port"),
    ("/mcp", {"Origin": "https://evil.example"}, 403, "MNEMOSYNE_ALLOWED_ORIGINS, got 'https://evil.example'"),
    ("/mcp", {"Content-Encoding": "deflate, gzip"}, 415, "send the body uncompressed, got 'deflate, gzip'"),
    ("/mcp", {"Content-Type": "text/plain"}, 415, "Content-Type must be application/json"),
    ("/", {}, 405, "the MCP endpoint is POST /mcp"),
    ("/sse", {}, 404, "the MCP endpoint is POST /mcp"),
    ("/mcp/messages", {}, 404, "the MCP endpoint is POST /mcp"),
    ("/health?deep=1", {}, 405, "the MCP endpoint is POST /mcp"),
]


@pytest.mark.parametrize(("path", "headers", "status", "message"), REFUSED)
def test_a_refusal_is_json_and_says_what_to_change(
    client: TestClient, path: str, headers: dict[str, str], status: int, message: str
) -> None:
    response = post(client, gzip.compress(json.dumps(LIST).encode()), path, **headers)
    assert (response.status_code, response.headers["content-type"]) == (status, JSON)
    assert message in response.json()["error"]["message"]


def test_an_unknown_protocol_revision_is_answered_with_the_supported_ones(client: TestClient) -> None:
    response = post(client, LIST, **{"MCP-Protocol-Version": "2099-01-01"})
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["data"]["requested"]) == (400, -32022, "2099-01-01")
    assert "2026-07-28, got '2099-01-01'" in error["message"]
    assert "2025-06-18" in error["data"]["supported"]


@pytest.mark.parametrize("host", ["nas.local:8080", "192.168.1.7", "[fe80::1]:8080", "anything"])
def test_an_asterisk_in_the_allowed_hosts_allows_every_host(host: str) -> None:
    with TestClient(mcp_app(FakeServices(), hosts=("*",))) as client:
        assert post(client, LIST, Host=host).status_code == 200
