"""`mnemosyne remember` prints hints; it and `search` refuse text that is not UTF-8, with the reason."""

from typing import Any

import pytest

from mnemosyne.errors import InvalidRequest
from tests.unit.cli.conftest import UseServer, invoke

URL = "--url http://127.0.0.1:9/mcp"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", "found the byte 0xe9 at position 3"),
        (b"\x80", "found the byte 0x80 at position 0"),
        (b"cut off \xe2\x82", "found the byte 0xe2 at position 8"),
    ],
)
def test_bytes_that_are_not_utf_8_are_named_in_the_error(data: bytes, message: str) -> None:
    error = invoke(f"remember - {URL}", answer=data).exception
    assert isinstance(error, InvalidRequest) and message in str(error)


@pytest.mark.parametrize("command", ["remember", "search"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["caf\udce9"], " must be text in UTF-8, found the byte 0xe9"),
        (["tea", "--tag", "caf\udce9"], "--tag must be text in UTF-8, found the byte 0xe9"),
        (["\udcff", "cup"], " must be text in UTF-8, found the byte 0xff"),
    ],
)
def test_arguments_that_are_not_utf_8_are_refused(command: str, arguments: list[str], message: str) -> None:
    error = invoke(f"{command} {URL}", *arguments).exception
    assert isinstance(error, InvalidRequest) and message in str(error)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_standard_input_is_read_in_each_unicode_encoding(use_server: UseServer, encoding: str) -> None:
    sent: list[dict[str, Any]] = []

    def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        sent.append(arguments)
        return {"status": "stored", "memory_id": "9"}

    use_server(call)
    assert invoke(f"remember - {URL}", answer="Grüße aus Wien\r\n".encode(encoding)).exit_code == 0
    assert sent[0]["content"] == "Grüße aus Wien"


def test_memories_that_the_new_one_may_replace_are_printed(use_server: UseServer) -> None:
    may_replace = [{"id": "7", "title": "On shelf\x1b[31m 7"}]
    use_server(lambda tool, arguments: {"status": "stored", "memory_id": "9", "may_replace": may_replace})
    stored, replaced = invoke(f"remember tea {URL}").output.splitlines()
    assert stored == "Stored as 9."
    assert replaced.startswith("May replace: 7  On shelf") and "\x1b" not in replaced


@pytest.mark.parametrize("state", ["failed", "dead_lettered", "deleted"])
def test_a_memory_that_is_not_stored_is_an_error_with_the_reason(use_server: UseServer, state: str) -> None:
    use_server(lambda tool, arguments: {"status": state, "error": "it had expired at 2026-01-01T00:00:00Z"})
    error = invoke(f"remember tea {URL}").exception
    assert isinstance(error, InvalidRequest)
    assert str(error) == f"{state}: it had expired at 2026-01-01T00:00:00Z"


def test_labels_that_a_stored_memory_did_not_take_are_printed(use_server: UseServer) -> None:
    note = "these values of the request were not stored: tags"
    use_server(lambda tool, arguments: {"status": "duplicate", "memory_id": "9", "note": note})
    assert invoke(f"remember tea {URL}").output == f"Already stored as 9.\nNote: {note}\n"
