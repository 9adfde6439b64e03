"""Each command refuses an empty value, because it is probably an unset shell variable.

With an empty value, a command might select more than the person has meant.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mnemosyne.cli.main import cli
from tests.unit.cli.conftest import refusal

ALLOWED = {
    ("dead-letters", "list", "--namespace"),  # an empty value selects messages without a namespace
    ("dead-letters", "show", "--namespace"),
    ("dead-letters", "drop", "--namespace"),
    ("redrive", "--namespace"),
    ("remember", "text"),  # the server refuses an empty text
    ("search", "query"),  # a search may have no query
    ("lockouts", "add", "who"),  # is the second argument, which another test below tries
    ("lockouts", "remove", "who"),
}
TARGETS = ("--url", "--data-dir", "--project")  # tests/unit/cli/test_targets.py


def _parameters(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield, for each parameter that takes a value, the words of its command and the name of the option or argument."""
    if isinstance(command, click.Group):
        for name, member in command.commands.items():
            yield from _parameters(member, (*path, name))
        return
    for parameter in command.params:
        is_flag = isinstance(parameter, click.Option) and parameter.is_flag
        if not is_flag and (parameter.opts[0] not in TARGETS or path[0] in ("dev", "stdio")):
            yield *path, parameter.opts[0]


def _parse(words: tuple[str, ...], *values: str) -> click.Context:
    *path, name = words
    command: click.Command = cli
    for word in path:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    is_option = name.startswith("-")
    arguments = [word for value in values for word in ((name, value) if is_option else (value,))]
    return command.make_context(path[-1], arguments)


PARAMETERS = [words for words in _parameters(cli) if words not in ALLOWED]


@pytest.mark.parametrize("words", PARAMETERS, ids=" ".join)
def test_a_command_refuses_an_empty_value(words: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter) as refused:
        _parse(words, "")
    assert refused.value.param and refused.value.param.opts[0] == words[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("forget", "--tag"),
        ("forget", "--metadata"),
        ("holds", "place", "--tag"),
        ("search", "--tag"),
        ("redrive", "--message-id"),
        ("dead-letters", "drop", "message_ids"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("values", [("a=b", ""), ("", "a=b")])
def test_one_of_several_values_must_not_be_empty(words: tuple[str, ...], values: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter, match="must not be empty"):
        _parse(words, *values)


@pytest.mark.parametrize("tags", [",", " , ", " "])
def test_a_search_with_a_tag_option_without_a_tag_is_refused(tags: str) -> None:
    printed = refusal("search tea --url http://127.0.0.1:9/mcp --tag", tags)
    assert "'--tag': must not be empty: leave the option out" in printed


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("forget --tag x --session '' --dry-run", "'--session': must not be empty: leave the option out"),
        ("export --format markdown --output ''", "'--output': must not be empty: leave the option out"),
        ("holds place --all --reason ''", "'--reason': must not be empty"),
        ("retention clear --namespace ''", "'--namespace': must not be empty: leave the option out for all namespaces"),
        ("keys revoke ''", "'KEY_ID': must not be empty"),
        ("lockouts add person ''", "'WHO': must not be empty"),
    ],
)
def test_the_error_about_an_empty_value_says_what_to_change(command: str, message: str) -> None:
    assert refusal(command).endswith(message)


def test_the_working_directory_is_no_empty_value() -> None:
    assert _parse(("export", "--output"), ".").params["output"] == Path()
