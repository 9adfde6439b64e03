"""Errors about the arguments of tools and operations name the options of the command."""

from typing import Any

import pytest

from mnemosyne.app.operations.operation import Operation
from mnemosyne.errors import InvalidRequest, NotFound
from tests.fakes import FakeServices
from tests.tools import call_tool, text_of
from tests.unit.cli.conftest import UseServer, UseSystem, invoke, refusal

LONG = "x" * 3_000


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("search tea --when floop", "--when 'floop' is not understood; try: yesterday"),
        (f"search tea --tag {LONG}", "--tag must have at most 100 characters, got 3,000"),
        (f"search {'x' * 20_000}", "QUERY must have at most 10,000 characters, got 20,000"),
        ("remember ''", "TEXT must have at least 1 character, got 0"),
        ("remember tea --ttl 30y", "--ttl must be a number of seconds, or a duration such as 90m"),
    ],
    ids=lambda text: text[:30],
)
def test_errors_of_tools_name_the_command_s_options(
    services: FakeServices, use_server: UseServer, command: str, message: str
) -> None:
    def call(tool: str, values: dict[str, Any]) -> dict[str, Any]:
        result = call_tool(services, tool, **values)
        assert result.is_error
        raise InvalidRequest(f"{tool}: {text_of(result)}")

    use_server(call)
    error = invoke(f"{command} --url http://127.0.0.1:9/mcp").exception
    assert isinstance(error, InvalidRequest)
    assert str(error).startswith(message)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"forget --tag {LONG}", "--tag must have at most 100 characters, got 3,000"),
        ("forget --after floop", "--after must be YYYY-MM-DD"),
        ("forget --after 2026-05-02 --before 2026-05-01", "--after must not be later than --before, got --after '2026"),
        (f"holds place --all --reason {LONG}", "--reason must have at most 500 characters, got 3,000"),
        (
            f"audit --key {LONG} --client {LONG} --action {LONG}",
            "--key must have at most 1,000 characters, got 3,000; --client must have at most 1,000 characters, got "
            "3,000; --action must have at most 1,000 characters",
        ),
        (f"lockouts add person {LONG}", "WHO must have at most 1,000 characters, got 3,000"),
        (f"keys revoke {LONG}", "KEY_ID must have at most 100 characters, got 3,000"),
    ],
    ids=lambda text: text[:30],
)
def test_errors_of_operations_name_the_command_s_options(use_system: UseSystem, command: str, message: str) -> None:
    use_system(lambda operation: None)
    error = invoke(f"{command} --project ours").exception
    assert isinstance(error, InvalidRequest)
    assert str(error).startswith(message)


@pytest.mark.parametrize("error", [NotFound("id must exist"), InvalidRequest("notes.md must be empty or new")])
def test_other_errors_are_unchanged(use_system: UseSystem, error: InvalidRequest) -> None:
    def run(operation: Operation) -> dict[str, Any]:
        raise error

    use_system(run)
    assert invoke("keys revoke k --project ours").exception is error
    assert error.__cause__ is None


@pytest.mark.parametrize("url", ["127.0.0.1:9471", "ftp://x", "localhost/mcp"])
def test_a_url_without_http_is_a_usage_error(url: str) -> None:
    assert f"--url must begin with http:// or https://, got '{url}'" in refusal(f"search tea --url {url}")
