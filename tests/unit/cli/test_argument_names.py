"""Errors about the arguments of tools and operations name the options of the command."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli import access, forget, holds, keys, lockouts, remember
from mnemosyne.errors import InvalidRequest, NotFound
from tests.fakes import FakeServices
from tests.tools import call_tool, text_of

LONG = "x" * 3_000
ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (remember.search, ["tea", "--when", "floop"], "--when 'floop' is not understood; try: yesterday"),
        (remember.search, ["tea", "--tag", LONG], "--tag must have at most 100 characters, got 3,000"),
        (remember.search, ["x" * 20_000], "QUERY must have at most 10,000 characters, got 20,000"),
        (remember.remember, [""], "TEXT must have at least 1 character, got 0"),
        (remember.remember, ["tea", "--ttl", "30y"], "--ttl must be a number of seconds, or a duration such as 90m"),
    ],
)
def test_errors_of_tools_name_the_command_s_options(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch, command: click.Command, arguments: list[str], message: str
) -> None:
    def call(tool: str, values: dict[str, Any]) -> dict[str, Any]:
        result = call_tool(services, tool, **values)
        assert result.is_error
        raise InvalidRequest(f"{tool}: {text_of(result)}")

    client = SimpleNamespace(call=call)
    monkeypatch.setattr(remember, "tool_client", lambda *_, **__: nullcontext(client))
    error = CliRunner().invoke(command, [*arguments, "--url", "http://127.0.0.1:9/mcp"]).exception
    assert isinstance(error, InvalidRequest)
    assert str(error).startswith(message)


@pytest.mark.parametrize(
    ("module", "command", "arguments", "message"),
    [
        (forget, forget.forget, ["--tag", LONG], "--tag must have at most 100 characters, got 3,000"),
        (forget, forget.forget, ["--after", "floop"], "--after must be YYYY-MM-DD"),
        (
            forget,
            forget.forget,
            ["--after", "2026-05-02", "--before", "2026-05-01"],
            "--after must not be later than --before, got --after '2026-05-02'",
        ),
        (holds, holds.place_, ["--all", "--reason", LONG], "--reason must have at most 500 characters, got 3,000"),
        (access, access.audit, ["--action", LONG], "--action must have at most 1,000 characters, got 3,000"),
        (
            access,
            access.audit,
            ["--key", LONG, "--client", LONG, "--action", LONG],
            "--key must have at most 1,000 characters, got 3,000; --client must have at most 1,000 characters, got "
            "3,000; --action must have at most 1,000 characters",
        ),
        (lockouts, lockouts.add, ["person", LONG], "WHO must have at most 1,000 characters, got 3,000"),
        (keys, keys.revoke, [LONG], "KEY_ID must have at most 100 characters, got 3,000"),
    ],
)
def test_errors_of_operations_name_the_command_s_options(
    monkeypatch: pytest.MonkeyPatch, module: Any, command: click.Command, arguments: list[str], message: str
) -> None:
    for name in ("owners_system", "memory_system"):
        monkeypatch.setattr(module, name, lambda **_: nullcontext(SimpleNamespace(run=None)), raising=False)
    error = CliRunner().invoke(command, [*arguments, "--project", "ours"]).exception
    assert isinstance(error, InvalidRequest)
    assert str(error).startswith(message)


@pytest.mark.parametrize("error", [NotFound("id must exist"), InvalidRequest("notes.md must be empty or new")])
def test_other_errors_are_unchanged(monkeypatch: pytest.MonkeyPatch, error: InvalidRequest) -> None:
    def run(operation: Operation) -> dict[str, Any]:
        raise error

    monkeypatch.setattr(keys, "owners_system", lambda **_: nullcontext(SimpleNamespace(run=run)))
    assert CliRunner().invoke(keys.revoke, ["k", "--project", "ours"]).exception is error
    assert error.__cause__ is None


@pytest.mark.parametrize("url", ["127.0.0.1:9471", "ftp://x", "localhost/mcp"])
def test_a_url_without_http_is_a_usage_error(url: str) -> None:
    result = CliRunner().invoke(remember.search, ["tea", "--url", url])
    assert result.exit_code == 2
    assert f"--url must begin with http:// or https://, got '{url}'" in result.stderr
