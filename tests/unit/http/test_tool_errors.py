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
CASES: list[tuple[Exception, str, type[Exception]]] = [
    (errors.MnemosyneError("x"), "internal_error", errors.InvalidRequest),
    (errors.InvalidRequest("temporarily unavailable, says the title"), "invalid_request", errors.InvalidRequest),
    (errors.TextTooLong("x"), "invalid_request", errors.InvalidRequest),
    (errors.NotFound("x"), "not_found", errors.NotFound),
    (errors.OverQuota("x"), "over_quota", errors.OverQuota),
    (errors.OverBudget("x", 7), "rate_limited", errors.Unavailable),
    (errors.Conflict("x"), "conflict", errors.Conflict),
    (errors.Unauthorized("x"), "unauthorized", errors.Unauthorized),
    (errors.EndedToken("x"), "unauthorized", errors.Unauthorized),
    (errors.ServiceError("x"), "unavailable", errors.Unavailable),
    (errors.Unavailable("the database is not responding"), "unavailable", errors.Unavailable),
    (errors.StatementTimeout("x"), "unavailable", errors.Unavailable),
    (errors.ItemUnavailable("x"), "unavailable", errors.Unavailable),
    (errors.UncertainPublication("x"), "unavailable", errors.Unavailable),
    (errors.EmbeddingModelChanged("x"), "unavailable", errors.Unavailable),
    (errors.Broken("the disk is full"), "operator_needed", errors.Broken),
    (errors.UncertainCommit("x"), "uncertain", errors.UncertainCommit),
    (errors.PartialChange("x", errors.ServiceError("y")), "uncertain", errors.UncertainCommit),
    (errors.Misconfigured("x"), "misconfigured", errors.Misconfigured),
    (errors.MigrationFailed("0001.sql", "42P01", "x"), "misconfigured", errors.Misconfigured),
    (RuntimeError("temporarily unavailable"), "internal_error", errors.InvalidRequest),
]
RETRYABLE = ("unavailable", "rate_limited")


@pytest.fixture
def client(services: FakeServices) -> Iterator[TestClient]:
    with TestClient(mcp_app(services)) as opened:
        yield opened


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


@pytest.mark.parametrize(
    ("error", "code", "raised"), CASES, ids=[f"{type(error).__name__}: {error}"[:50] for error, _, _ in CASES]
)
def test_an_error_has_its_code_in_both_protocol_versions_and_the_command_line_decides_by_it(
    client: TestClient, services: FakeServices, monkeypatch: pytest.MonkeyPatch,
    error: Exception, code: str, raised: type[Exception],
) -> None:  # fmt: skip
    def read(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(type(services.memories), "fetch", read)
    retry_after = {"retry_after": error.seconds} if isinstance(error, errors.OverBudget) else {}
    for era in ERAS:
        result = _call(client, "get_memory", {"id": MEMORY_ID}, era)
        assert result["isError"] is True
        assert result["_meta"][ERROR_META] == {"code": code, "retryable": code in RETRYABLE} | retry_after

    def answer(http_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=client.post("/mcp", json=json.loads(http_request.content)).content)

    command = tool_client.ToolClient("http://testserver/mcp")
    monkeypatch.setattr(command, "_client", httpx2.Client(transport=httpx2.MockTransport(answer)))
    with pytest.raises(raised) as failed:
        command.call("get_memory", {"id": MEMORY_ID})
    assert type(failed.value) is raised


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("ingest_memory", {"content": "a", "colour": "red"}, "invalid_request"),
        ("delete_memory", {"id": MEMORY_ID}, "not_found"),
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
