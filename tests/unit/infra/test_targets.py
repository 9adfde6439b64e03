"""Every command takes its target by the same three options, under the same rules."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from mnemosyne_cli.main import cli

SERVERS = ("dev", "stdio")  # they are the system, and work on none
TARGETS = {"--url": "http://127.0.0.1:9/mcp", "--data-dir": "nowhere", "--project": "some-project"}


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        elif name not in SERVERS:
            yield (*path, name), command


COMMANDS = dict(_commands(cli))


def _arguments(command: click.Command) -> list[str]:
    """Return the arguments that the command cannot do without."""
    values = [
        ([one.opts[0]] if isinstance(one, click.Option) else [])
        + ["0198c5f2-0000-7000-8000-000000000000" if one.name != "files" else __file__]
        for one in command.params
        if one.required
    ]
    return [word for value in values for word in value]


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments)
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("pair", [("--url", "--data-dir"), ("--data-dir", "--project"), ("--url", "--project")])
def test_two_targets_are_refused_by_name(path: tuple[str, ...], pair: tuple[str, str]) -> None:
    given = [word for option in pair for word in (option, TARGETS[option])]
    code, output = _run(*path, *_arguments(COMMANDS[path]), *given)
    assert code == 2
    assert f"give only one of --url, --data-dir and --project, got {pair[0]} and {pair[1]}" in output


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_target_that_a_command_cannot_work_on_is_answered_with_those_that_it_can(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    options = {one.opts[0]: one.hidden for one in command.params if isinstance(one, click.Option)}
    assert options.keys() >= TARGETS.keys()
    shown = [option for option in TARGETS if not options[option]]
    for option in set(TARGETS) - set(shown):
        code, output = _run(*path, *_arguments(command), option, TARGETS[option])
        assert code == 2
        assert f"`{cli.name} {' '.join(path)}` does not work with {option}: use " in output
        assert all(usable in output for usable in shown)


@pytest.mark.parametrize("path", [(), ("dev",), ("stdio",), *COMMANDS], ids=" ".join)
def test_no_line_of_help_is_cut_off(path: tuple[str, ...]) -> None:
    code, _ = _run(*path, "--help")
    assert code == 0
    lines = CliRunner().invoke(cli, [*path, "--help"]).output.splitlines()
    assert not [line for line in lines if line.rstrip().endswith(("...", "…")) and not line.startswith("Usage")]


@pytest.mark.parametrize("group", ["", "dead-letters", "grants", "keys", "quota"])
def test_each_command_is_listed_with_a_whole_sentence(group: str) -> None:
    output = _run(*group.split(), "--help")[1]
    listed = cli.commands[group] if group else cli
    assert isinstance(listed, click.Group)
    for command in listed.commands.values():
        sentence = command.get_short_help_str(1_000)
        assert sentence in output and sentence[-1:].isalnum() | (sentence[-1:] in ".)`")
