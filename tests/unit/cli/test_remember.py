"""`mnemosyne remember` prints hints; it and `search` refuse text that is not UTF-8, with the reason."""

from contextlib import nullcontext
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from mnemosyne.cli.remember import remember, search
from mnemosyne.errors import InvalidRequest

URL = ("--url", "http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", "found the byte 0xe9 at position 3"),
        ("Grüße".encode("utf-16"), "found the byte 0xff at position 0"),
        (b"\x80", "found the byte 0x80 at position 0"),
        (b"cut off \xe2\x82", "found the byte 0xe2 at position 8"),
    ],
)
def test_bytes_that_are_not_utf_8_are_named_in_the_error(data: bytes, message: str) -> None:
    result = CliRunner().invoke(remember, ["-", "--url", "http://127.0.0.1:9/mcp"], input=data)
    assert isinstance(result.exception, InvalidRequest)
    assert message in str(result.exception)


@pytest.mark.parametrize("command", [remember, search])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["caf\udce9"], " must be text in UTF-8, found the byte 0xe9"),
        (["tea", "--tag", "caf\udce9"], "tags must be text in UTF-8, found the byte 0xe9"),
        (["\udcff", "cup"], " must be text in UTF-8, found the byte 0xff"),
    ],
)
def test_arguments_that_are_not_utf_8_are_not_reported_as_a_missing_server(
    command: click.Command, arguments: list[str], message: str
) -> None:
    result = CliRunner().invoke(command, [*arguments, "--url", "http://127.0.0.1:9/mcp"])
    assert isinstance(result.exception, InvalidRequest)
    assert message in str(result.exception)


def test_memories_that_the_new_one_may_replace_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = {"status": "stored", "memory_id": "9", "may_replace": [{"id": "7", "title": "On shelf\x1b[31m 7"}]}
    client = SimpleNamespace(call=lambda tool, arguments: outcome)
    monkeypatch.setattr("mnemosyne.cli.remember.tool_client", lambda *target, **options: nullcontext(client))
    printed = CliRunner().invoke(remember, ["The oolong is on shelf 9.", *URL]).output.splitlines()
    assert printed[0] == "Stored as 9."
    assert printed[1].startswith("May replace: 7  On shelf")
    assert "\x1b" not in printed[1]
