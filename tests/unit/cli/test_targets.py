"""Each command takes its target (the system that it uses) from the same options and environment variables."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psutil
import pytest

from mnemosyne.cli.main import cli
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.errors import Unavailable
from mnemosyne.settings import PREFIX
from tests.unit.cli.conftest import invoke

WITHOUT_TARGET = ("dev", "stdio", "receipt verify")  # they start a system instead of using one, or work offline
TARGETS = {"--url": "http://127.0.0.1:9/mcp", "--data-dir": "/proc/nowhere", "--project": "some-project"}
REACHED = {
    "--url": "called http://127.0.0.1:9/mcp",
    "--data-dir": "there is no local system in /proc/nowhere",
    "--project": "gcloud could not call the deployment",
}
"""A part of a command's output that shows which target the command has used, by the target's option."""
SETTINGS = {"MNEMOSYNE_DATABASE_URL": "no-address", "MNEMOSYNE_TOPIC": "file:///nowhere"}
ONE_SETTING = {"MNEMOSYNE_TOPIC": "file:///nowhere"}
NOTE = Path(__file__).parents[3] / "README.md"
ARGUMENTS = {
    "search": "tea", "access": "--key abcdefghijkl", "dead-letters drop": "--all --yes", "forget": "--all",
    "holds place": "--all", "grants revoke": "--person ada@example.com", "quota set": "--memories 1",
    "retention set": "--default 1d", "reembed": "--model m --dimension 128",
}  # fmt: skip
"""The arguments that a command needs in addition to the required ones."""


def _commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path}{name} ")
        elif path + name not in WITHOUT_TARGET:
            yield path + name, command


COMMANDS = dict(_commands(cli))
each_command = pytest.mark.parametrize("command", COMMANDS)


def _value(parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    return str(NOTE) if parameter.name == "files" else "0198c5f2-0000-7000-8000-000000000000"


def _run(command: str, *arguments: str) -> tuple[int, str]:
    """Run a command with its required arguments and these. Return its exit code and what it prints, on one line."""
    required = [
        f"{param.opts[0] if isinstance(param, click.Option) else ''} {_value(param)}"
        for param in COMMANDS[command].params
        if param.required
    ]
    result = invoke(f"{command} {' '.join(required)} {ARGUMENTS.get(command, '')}", *arguments)
    return result.exit_code, " ".join(f"{result.output} {result.exception or ''}".split())


def _targets_in_help(command: str) -> list[str]:
    """Return the targets in the command's help."""
    options = {param.opts[0]: param.hidden for param in COMMANDS[command].params if isinstance(param, click.Option)}
    return [option for option in TARGETS if not options[option]]


def _takes_settings(command: str) -> bool:
    return command not in ("remember", "search")


def _set(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without a local system, no settings in the environment, and no server or gcloud to call."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.setenv("XDG_DATA_HOME", str(directory / "data"))
    monkeypatch.setenv("PATH", str(directory))

    def call(client: ToolClient, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise Unavailable(f"called {client.url}")

    monkeypatch.setattr(ToolClient, "call", call)
    # Let the machine have no processes. A command would spend most of its time on reading the arguments of all
    # processes.
    monkeypatch.setattr(psutil, "process_iter", lambda attributes: iter(()))
    return directory


@pytest.mark.parametrize(
    ("command", "settings"), [("search", {}), *((command, {"MNEMOSYNE_TOKEN": "mnk_x"}) for command in COMMANDS)]
)
def test_a_command_without_a_target_uses_the_local_system_and_does_not_create_one(
    command: str, settings: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, settings)
    code, output = _run(command)
    options = _targets_in_help(command)
    assert code == 1
    assert "no target is named" in output
    assert all(option in output for option in options)
    assert ("a deployment's settings in the environment" in output) == _takes_settings(command)
    if "--data-dir" in options:
        assert f"there is no local system in {home}/data/mnemosyne" in output
        assert "start one with `mnemosyne dev`" in output
        assert ("MNEMOSYNE_TOKEN is set" in output) == (bool(settings) and "--url" in options)
    assert list(home.iterdir()) == []


@each_command
@pytest.mark.parametrize("option", TARGETS)
def test_an_option_for_the_target_overrides_the_environment(
    command: str, option: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, SETTINGS)
    code, output = _run(command, option, TARGETS[option])
    if option in _targets_in_help(command):
        assert (code, REACHED[option] in output) == (1, True), output
    else:
        assert code == 2
        assert f"`{cli.name} {command}` does not work with {option}: use " in output
        assert all(usable in output for usable in _targets_in_help(command))
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "settings"),
    [*((command, SETTINGS) for command in COMMANDS), ("import", ONE_SETTING), ("search", ONE_SETTING)],
)
def test_without_an_option_the_settings_name_the_target(
    command: str, settings: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _set(monkeypatch, settings)
    code, output = _run(command)
    assert "no local system" not in output and "unknown settings" not in output
    if _takes_settings(command):
        assert (code, "MNEMOSYNE_DATABASE_URL" in output) == (1, True), output
    else:
        assert code == 2
        assert "does not work with a deployment's settings in the environment, and " in output
        assert all(name in output for name in settings)
    assert list(home.iterdir()) == []


@each_command
def test_a_misspelt_setting_is_named_unless_an_option_names_the_target(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("MNEMOSYNE_DATABSE_URL", "MNEMOSYNE_TOPICS", "MNEMOSYNE_TOKEN", "MNEMOSYNE_LOG_LEVEL")
    _set(monkeypatch, dict.fromkeys(names, "x"))
    note = "Note: unknown settings in the environment: MNEMOSYNE_DATABSE_URL, MNEMOSYNE_TOPICS. Correct or remove them."
    _, output = _run(command)
    assert output.startswith(note) and output.count(note) == 1
    option = _targets_in_help(command)[0]
    assert "unknown settings" not in _run(command, option, TARGETS[option])[1]


def test_an_import_via_mcp_with_a_deployment_s_settings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _set(monkeypatch, SETTINGS)
    code, output = _run("import", "--via", "mcp")
    assert code == 2
    assert "--via mcp does not work with a deployment's settings in the environment: use --url URL" in output


@each_command
def test_two_targets_are_refused_and_both_are_named(command: str) -> None:
    for pair in itertools.combinations(TARGETS, 2):
        code, output = _run(command, *(word for option in pair for word in (option, TARGETS[option])))
        assert code == 2
        assert f"give only one of --url, --data-dir and --project, got {pair[0]} and {pair[1]}" in output


@each_command
def test_an_empty_target_is_refused(command: str) -> None:
    for option in _targets_in_help(command):
        code, output = _run(command, option, "")
        assert code == 2
        assert f"{option} must not be empty" in output


@pytest.mark.parametrize("command", ["", "dev", "stdio", *COMMANDS])
def test_no_line_of_help_is_cut_off(command: str) -> None:
    ended = invoke(command, "--help")
    assert ended.exit_code == 0
    lines = ended.output.splitlines()
    assert not [line for line in lines if line.rstrip().endswith(("...", "…")) and not line.startswith("Usage")]


@pytest.mark.parametrize("group", ["", "dead-letters", "grants", "keys", "lockouts", "quota", "retention"])
def test_each_command_is_listed_with_a_whole_sentence(group: str) -> None:
    output = " ".join(invoke(group, "--help").output.split())
    listed = cli.commands[group] if group else cli
    assert isinstance(listed, click.Group)
    for command in listed.commands.values():
        sentence = command.get_short_help_str(1_000)
        assert sentence in output and sentence[-1:].isalnum() | (sentence[-1:] in ".)`")
