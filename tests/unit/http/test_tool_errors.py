"""Each tool error has a code in `_meta`, in both protocol versions. The command line decides by this code."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from mnemosyne import errors
from mnemosyne.cli import tool_client
from mnemosyne.mcp.tool_errors import ERROR_META
from tests.fakes import FakeServices
from tests.mcp_app import MODERN, mcp_app
from tests.mcp_client import tool_call

MEMORY_ID = "01a1fcf1-643f-7f9f-8bdd-01b104fff04f"
ERAS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "handshake": ({}, {}),
    "2026-07-28": (
        {"_meta": MODERN},
        {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "get_memory"},
    ),
}
UNAVAILABLE = {"code": "unavailable", "retryable": True}
OPERATOR_NEEDED = {"code": "operator_needed", "retryable": False}
MISCONFIGURED = {"code": "misconfigured", "retryable": False}
INVALID_REQUEST = {"code": "invalid_request", "retryable": False}
UNCERTAIN = {"code": "uncertain", "retryable": False}
INTERNAL_ERROR = {"code": "internal_error", "retryable": False}
CASES: list[tuple[Exception, dict[str, Any], type[Exception]]] = [
    (errors.MnemosyneError("x"), INTERNAL_ERROR, errors.InvalidRequest),
    (errors.InvalidRequest("limit must be 1"), INVALID_REQUEST, errors.InvalidRequest),
    (errors.TextTooLong("x"), INVALID_REQUEST, errors.InvalidRequest),
    (errors.NotFound("x"), {"code": "not_found", "retryable": False}, errors.NotFound),
    (errors.OverQuota("x"), {"code": "over_quota", "retryable": False}, errors.OverQuota),
    (errors.OverBudget("x", 7), {"code": "rate_limited", "retryable": True, "retry_after": 7}, errors.Unavailable),
    (errors.Conflict("x"), {"code": "conflict", "retryable": False}, errors.Conflict),
    (errors.Unauthorized("x"), {"code": "unauthorized", "retryable": False}, errors.Unauthorized),
    (errors.EndedToken("x"), {"code": "unauthorized", "retryable": False}, errors.Unauthorized),
    (errors.ServiceError("x"), UNAVAILABLE, errors.Unavailable),
    (errors.Unavailable("the database is not responding"), UNAVAILABLE, errors.Unavailable),
    (errors.StatementTimeout("x"), UNAVAILABLE, errors.Unavailable),
    (errors.ItemUnavailable("x"), UNAVAILABLE, errors.Unavailable),
    (errors.UncertainPublication("x"), UNAVAILABLE, errors.Unavailable),
    (errors.EmbeddingModelChanged("x"), UNAVAILABLE, errors.Unavailable),
    (errors.Broken("the disk is full"), OPERATOR_NEEDED, errors.Broken),
    (errors.UncertainCommit("x"), UNCERTAIN, errors.UncertainCommit),
    (errors.PartialChange("x", errors.ServiceError("y")), UNCERTAIN, errors.UncertainCommit),
    (errors.Misconfigured("x"), MISCONFIGURED, errors.Misconfigured),
    (errors.MigrationFailed("0001.sql", "42P01", "x"), MISCONFIGURED, errors.Misconfigured),
    (RuntimeError("temporarily unavailable"), INTERNAL_ERROR, errors.InvalidRequest),
    (errors.InvalidRequest("temporarily unavailable, says the title"), INVALID_REQUEST, errors.InvalidRequest),
]
BY_CLASS = pytest.mark.parametrize(
    ("error", "code", "raised"), CASES, ids=[f"{type(error).__name__}: {error}"[:50] for error, _, _ in CASES]
)


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    with TestClient(mcp_app(services)) as opened:
        yield opened


def _raise_from_every_read(services: FakeServices, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> None:
        raise error

    for name in ("fetch", "read", "get", "search", "list_memories"):
        monkeypatch.setattr(type(services.memories), name, read, raising=False)


def _call(client: TestClient, tool: str, arguments: dict[str, Any], era: str) -> dict[str, Any]:
    params, headers = ERAS[era]
    body = tool_call(tool, arguments)
    body["params"] |= params
    answer = client.post("/mcp", json=body, headers=headers | ({"Mcp-Name": tool} if headers else {}))
    result: dict[str, Any] = answer.json()["result"]
    return result


def _subclasses(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*map(_subclasses, kind.__subclasses__()))


def test_every_error_class_has_a_case() -> None:
    own = {kind for kind in _subclasses(errors.MnemosyneError) if kind.__module__ == errors.__name__}
    assert own <= {type(error) for error, _, _ in CASES}


@BY_CLASS
@pytest.mark.parametrize("era", ERAS)
def test_an_error_has_its_code_in_both_protocol_versions(
    client: TestClient, services: FakeServices, monkeypatch: pytest.MonkeyPatch,
    error: Exception, code: dict[str, Any], raised: type[Exception], era: str,
) -> None:  # fmt: skip
    _raise_from_every_read(services, error, monkeypatch)
    result = _call(client, "get_memory", {"id": MEMORY_ID}, era)
    assert result["isError"] is True
    assert result["_meta"][ERROR_META] == code


@BY_CLASS
def test_the_command_line_raises_the_error_of_the_code_whatever_the_message(
    client: TestClient, services: FakeServices, monkeypatch: pytest.MonkeyPatch,
    error: Exception, code: dict[str, Any], raised: type[Exception],
) -> None:  # fmt: skip
    _raise_from_every_read(services, error, monkeypatch)

    def answer(http_request: httpx2.Request) -> httpx2.Response:
        body = client.post("/mcp", json=json.loads(http_request.content)).content
        return httpx2.Response(200, content=body)

    command = tool_client.ToolClient("http://testserver/mcp")
    monkeypatch.setattr(command, "_client", httpx2.Client(transport=httpx2.MockTransport(answer)))
    with pytest.raises(raised) as failed:
        command.call("get_memory", {"id": MEMORY_ID})
    assert type(failed.value) is raised


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_memory", {"id": "no id"}, "invalid_request"),
        ("ingest_memory", {}, "invalid_request"),
        ("ingest_memory", {"content": "a", "colour": "red"}, "invalid_request"),
        ("delete_memory", {"id": MEMORY_ID}, "not_found"),
        ("memory_search", {"limit": 0, "query": "a"}, "invalid_request"),
    ],
)
def test_an_argument_error_has_its_code(
    client: TestClient, tool: str, arguments: dict[str, Any], code: str, era: str
) -> None:
    result = _call(client, tool, arguments, era)
    assert result["_meta"][ERROR_META] == {"code": code, "retryable": False}


@pytest.mark.parametrize("era", ERAS)
def test_an_error_of_a_deprecated_tool_name_has_its_code_and_the_deprecation_note(client: TestClient, era: str) -> None:
    result = _call(client, "retrieve_memory", {"query": ""}, era)
    assert result["_meta"][ERROR_META]["code"] == "invalid_request"
    assert "memory_search" in result["_meta"]["mnemosyne/deprecated"]


def test_a_success_has_no_error_code(client: TestClient) -> None:
    assert ERROR_META not in _call(client, "memory_stats", {}, "handshake").get("_meta", {})


def test_server_and_command_line_use_the_same_key_in_meta() -> None:
    assert tool_client.ERROR_META == ERROR_META
