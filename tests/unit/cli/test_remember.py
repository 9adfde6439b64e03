"""`mnemosyne remember` prints hints; it and `search` refuse text that is not UTF-8, with the reason."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from mnemosyne.cli.remember import remember, search
from mnemosyne.errors import InvalidRequest

URL = ("--url", "http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", "found the byte 0xe9 at position 3"),
        (b"\x80", "found the byte 0x80 at position 0"),
        (b"cut off \xe2\x82", "found the byte 0xe2 at position 8"),
    ],
)
def test_bytes_that_are_not_utf_8_are_named_in_the_error(data: bytes, message: str) -> None:
    result = CliRunner().invoke(remember, ["-", *URL], input=data)
    assert isinstance(result.exception, InvalidRequest)
    assert message in str(result.exception)


@pytest.mark.parametrize("command", [remember, search])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["caf\udce9"], " must be text in UTF-8, found the byte 0xe9"),
        (["tea", "--tag", "caf\udce9"], "--tag must be text in UTF-8, found the byte 0xe9"),
        (["\udcff", "cup"], " must be text in UTF-8, found the byte 0xff"),
    ],
)
def test_arguments_that_are_not_utf_8_are_refused(command: click.Command, arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(command, [*arguments, *URL])
    assert isinstance(result.exception, InvalidRequest)
    assert message in str(result.exception)


def _remembered(monkeypatch: pytest.MonkeyPatch, outcome: dict[str, Any]) -> Result:
    client = SimpleNamespace(call=lambda tool, arguments: outcome)
    monkeypatch.setattr("mnemosyne.cli.remember.tool_client", lambda *target, **options: nullcontext(client))
    return CliRunner().invoke(remember, ["The oolong is on shelf 9.", *URL])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_standard_input_is_read_in_each_unicode_encoding(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    sent: list[dict[str, Any]] = []

    def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        sent.append(arguments)
        return {"status": "stored", "memory_id": "9"}

    client = SimpleNamespace(call=call)
    monkeypatch.setattr("mnemosyne.cli.remember.tool_client", lambda *target, **options: nullcontext(client))
    CliRunner().invoke(remember, ["-", *URL], input="Grüße aus Wien\r\n".encode(encoding), catch_exceptions=False)
    assert sent[0]["content"] == "Grüße aus Wien"


def test_memories_that_the_new_one_may_replace_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = {"status": "stored", "memory_id": "9", "may_replace": [{"id": "7", "title": "On shelf\x1b[31m 7"}]}
    printed = _remembered(monkeypatch, outcome).output.splitlines()
    assert printed[0] == "Stored as 9."
    assert printed[1].startswith("May replace: 7  On shelf")
    assert "\x1b" not in printed[1]


@pytest.mark.parametrize("state", ["failed", "dead_lettered", "deleted"])
def test_a_memory_that_is_not_stored_is_an_error_with_the_reason(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = _remembered(monkeypatch, {"status": state, "error": "it had expired at 2026-01-01T00:00:00Z"})
    assert isinstance(result.exception, InvalidRequest)
    assert str(result.exception) == f"{state}: it had expired at 2026-01-01T00:00:00Z"


def test_labels_that_a_stored_memory_did_not_take_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = {"status": "duplicate", "memory_id": "9", "note": "these values of the request were not stored: tags"}
    result = _remembered(monkeypatch, outcome)
    assert result.output.splitlines() == [
        "Already stored as 9.",
        "Note: these values of the request were not stored: tags",
    ]
