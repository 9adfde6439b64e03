"""The client of a server's tools: answers of other servers, rate limits, proxies and certificates."""

import json
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemosyne.cli.tool_client import ERROR_META, PATIENCE_SECONDS, ToolClient
from mnemosyne.errors import InvalidRequest, Misconfigured, MnemosyneError, NotFound, Unauthorized, Unavailable

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _own_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the proxies and the certificates of this machine."""
    for name in (*PROXIES, *map(str.lower, PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def _client(monkeypatch: pytest.MonkeyPatch, status: int, body: object, **headers: str) -> ToolClient:
    """Return a client of a server that gives the same answer to each call."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, content=content, headers=headers))
    client = ToolClient("http://127.0.0.1:9/mcp")
    monkeypatch.setattr(client, "_client", httpx2.Client(transport=transport))
    return client


KEY, OTHER, URL = "MNEMOSYNE_TOKEN", "another MCP server.*change --url", "^http://127.0.0.1:9/mcp"


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        (401, {"error": "invalid_token"}, Unauthorized, f"memory_stats: invalid_token; .*{KEY}"),
        (401, {"error": None}, Unauthorized, KEY),
        (401, {"error": {"message": "unknown key"}}, Unauthorized, f"memory_stats: unknown key; .*{KEY}"),
        (401, {"error": {"code": 3}}, Unauthorized, f"code.*{KEY}"),
        (401, {}, Unauthorized, KEY),
        (401, ["invalid_token"], Unauthorized, KEY),
        (403, {"error": "insufficient_scope"}, Unauthorized, f"insufficient_scope; .*{KEY}"),
        (403, "forbidden", Unauthorized, KEY),
        (500, {"error": "internal"}, Unavailable, "memory_stats: internal"),
        (502, [{"error": "bad gateway"}], Unavailable, "502 .*try again"),
        (503, {"error": {"message": ["busy"]}}, Unavailable, "busy"),
        (404, {"error": "no such path"}, InvalidRequest, "memory_stats: no such path"),
        (200, {"error": {}}, InvalidRequest, "memory_stats: "),
        (200, None, Unavailable, "not an MCP endpoint"),
        (200, b"[" * 100_000, Unavailable, "not an MCP endpoint"),
        (200, {}, Unavailable, f"{URL} answered 200 OK and no MCP answer; .*change --url"),
        (404, {"detail": "Not found"}, Unavailable, f"{URL} answered 404 Not Found and no MCP answer; .*change --url"),
        (403, {"detail": "Forbidden"}, Unauthorized, f"{URL} answered 403 Forbidden and no MCP answer; .*{KEY}"),
        (503, {"message": "no backend"}, Unavailable, f"{URL} answered 503 .*try again"),
        (200, {"result": "ok"}, InvalidRequest, "memory_stats: "),
        (200, {"result": {"structuredContent": ["ok"]}}, InvalidRequest, OTHER),
    ],
)
def test_an_answer_of_another_form_is_an_error_of_the_right_kind(
    monkeypatch: pytest.MonkeyPatch, status: int, body: object, kind: type[MnemosyneError], message: str
) -> None:
    with pytest.raises(kind, match=message) as failed:
        _client(monkeypatch, status, body).call("memory_stats", {})
    assert type(failed.value) is kind


@pytest.mark.parametrize(
    ("status", "body", "location", "address"),
    [
        (301, b"", "https://memory.example/mcp", "https://memory.example/mcp"),
        (302, b'{"error": "moved"}', "/mcp/", "http://127.0.0.1:9/mcp/"),
        (307, b"<html>", "v2", "http://127.0.0.1:9/v2"),
        (308, b'{"result": {}}', "//a.example/mcp", "http://a.example/mcp"),
    ],
)
def test_a_redirect_with_any_body_names_the_new_address(
    monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, location: str, address: str
) -> None:
    with pytest.raises(Unavailable, match=f"redirects to {address}: give this address with --url"):
        _client(monkeypatch, status, body, location=location).call("memory_stats", {})


TEXT = {"type": "text", "text": "no memory has this id"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
NO_REASON = "the server gives no reason"


@pytest.mark.parametrize(
    ("content", "text", "meta", "kind"),
    [
        ([TEXT], TEXT["text"], None, InvalidRequest),
        ([IMAGE, TEXT], TEXT["text"], "meta", InvalidRequest),
        ([None, "text", {"text": 7}, TEXT], TEXT["text"], {ERROR_META: None}, InvalidRequest),
        ([], NO_REASON, {ERROR_META: "not_found"}, InvalidRequest),
        ([IMAGE], NO_REASON, {ERROR_META: {"code": ["not_found"]}}, InvalidRequest),
        (None, NO_REASON, {ERROR_META: {"code": "not_found"}}, NotFound),
        ("no", NO_REASON, {ERROR_META: {"code": "new_code", "retryable": True}}, Unavailable),
        ({"text": "no"}, NO_REASON, {ERROR_META: {"code": "new_code", "retryable": False}}, InvalidRequest),
    ],
)
def test_an_error_of_a_tool_has_its_first_text_and_the_kind_of_its_code(
    monkeypatch: pytest.MonkeyPatch, content: object, text: str, meta: object, kind: type[MnemosyneError]
) -> None:
    result = {"isError": True, "content": content, "_meta": meta}
    with pytest.raises(kind) as failed:
        _client(monkeypatch, 200, {"result": result}).call("get_memory", {})
    assert (type(failed.value), str(failed.value)) == (kind, f"get_memory: {text}")


MEMORY = {"id": "7", "timestamp": "2026-05-20T00:00:00Z", "content": "tea", "tags": []}
STATUS = {"request_id": "7", "state": "stored", "attempts": 1, "error": None}
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "get_memory": [{"content_hash": "a"}],
    "ingest_memory": [{"status": "queued", "request_id": "7"}],
    "ingest_status": [{"requests": []}, {"requests": [STATUS]}],
    "memory_search": [{"memories": []}, {"memories": [MEMORY, MEMORY]}],
}


@pytest.mark.parametrize(("tool", "answers"), ANSWERS.items())
def test_the_answers_of_mnemosyne_are_returned(
    monkeypatch: pytest.MonkeyPatch, tool: str, answers: list[dict[str, Any]]
) -> None:
    for answer in answers:
        client = _client(monkeypatch, 200, {"result": {"structuredContent": answer}})
        assert client.call(tool, {}) == answer


@pytest.mark.parametrize("tool", ANSWERS)
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"result": "ok"},
        {"memories": "tea", "requests": "7"},
        {"memories": {"7": MEMORY}, "requests": {"7": STATUS}},
        {"memories": ["tea"], "requests": ["7"]},
        {"memories": [MEMORY, {"id": "7", "memory": "tea"}], "requests": [STATUS, {"id": "7", "done": True}]},
        {"memories": None, "requests": None},
    ],
)
def test_the_answer_of_another_server_with_a_tool_of_the_same_name_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tool: str, answer: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest, match=f"http://127.0.0.1:9/mcp is another MCP server: .*{tool}.*change --url"):
        _client(monkeypatch, 200, {"result": {"structuredContent": answer}}).call(tool, {})


@pytest.mark.parametrize("retry_after", ["1", "60"])
def test_a_rate_limit_that_does_not_end_is_an_error_after_two_minutes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], retry_after: str
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("mnemosyne.cli.tool_client.time.sleep", waits.append)
    client = _client(monkeypatch, 429, b"<html>", **{"retry-after": retry_after})
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"429 Too Many Requests.*try again later"):
            client.call("memory_stats", {})
        assert PATIENCE_SECONDS < sum(waits) <= 2 * PATIENCE_SECONDS
        waits.clear()
    note = "http://127.0.0.1:9/mcp answered 429 Too Many Requests: waiting. Ctrl-C stops the command.\n"
    assert capsys.readouterr().err == note


@pytest.mark.parametrize(
    ("name", "proxy"),
    [
        ("ALL_PROXY", "socks5://user:secret@127.0.0.1:9"),
        ("all_proxy", "ftp://127.0.0.1:9"),
        ("HTTPS_PROXY", "http://127.0.0.1:port"),
        ("http_proxy", "socks5://user:secret@127.0.0.1:9"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_an_error_with_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, proxy: str
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv(name, proxy)
    for url in ("http://127.0.0.1:9/mcp", "http://LOCALHOST:9/mcp", "http://[::1]:9/mcp", "https://localhost/mcp"):
        ToolClient(url)
    with pytest.raises(Misconfigured, match=f"^{name} must be the address of an HTTP proxy") as failed:
        ToolClient("http://memory.example/mcp")
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_of_certificates_that_cannot_be_read_is_an_error_with_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "authorities.pem"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(Misconfigured, match=f"SSL_CERT_FILE must be a file with certificates, got '{file}'"):
        ToolClient("https://127.0.0.1:9/mcp")
    ToolClient("http://memory.example/mcp")
