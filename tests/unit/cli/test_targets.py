"""Each command takes its target (the system that it uses) from the same options and environment variables."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psutil
import pytest
from click.testing import CliRunner

from mnemosyne.cli.main import cli
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.errors import Unavailable
from mnemosyne.settings import PREFIX

SERVERS = ("dev", "stdio")  # these commands start a system instead of using one
OFFLINE = (("receipt", "verify"),)
TARGETS = {"--url": "http://127.0.0.1:9/mcp", "--data-dir": "/proc/nowhere", "--project": "some-project"}
REACHED = {
    "--url": "called http://127.0.0.1:9/mcp",
    "--data-dir": "there is no local system in /proc/nowhere",
    "--project": "gcloud could not call the deployment",
}
"""A part of a command's output that shows which target the command has used, by the target's option."""
SETTINGS = {"MNEMOSYNE_DATABASE_URL": "no-address", "MNEMOSYNE_TOPIC": "file:///nowhere"}
NOTE = Path(__file__).parents[3] / "README.md"
SETTINGS_READ = "MNEMOSYNE_DATABASE_URL"
MORE_ARGUMENTS = {
    ("search",): ["tea"],
    ("access",): ["--key", "abcdefghijkl"],
    ("dead-letters", "drop"): ["--all", "--yes"],
    ("forget",): ["--all"],
    ("holds", "place"): ["--all"],
    ("grants", "revoke"): ["--person", "ada@example.com"],
    ("quota", "set"): ["--memories", "1"],
    ("retention", "set"): ["--default", "1d"],
    ("reembed",): ["--model", "m", "--dimension", "128"],
}


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        elif name not in SERVERS and (*path, name) not in OFFLINE:
            yield (*path, name), command


COMMANDS = dict(_commands(cli))


def _value(parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Choice):
        return str(parameter.type.choices[0])
    return str(NOTE) if parameter.name == "files" else "0198c5f2-0000-7000-8000-000000000000"


def _arguments(path: tuple[str, ...]) -> list[str]:
    """Return the required arguments of the command."""
    values = [
        ([param.opts[0]] if isinstance(param, click.Option) else []) + [_value(param)]
        for param in COMMANDS[path].params
        if param.required
    ]
    return [word for value in values for word in value] + MORE_ARGUMENTS.get(path, [])


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments)
    return result.exit_code, " ".join(f"{result.output} {result.exception or ''}".split())


def _targets_in_help(path: tuple[str, ...]) -> list[str]:
    """Return the targets in the command's help."""
    options = {param.opts[0]: param.hidden for param in COMMANDS[path].params if isinstance(param, click.Option)}
    return [option for option in TARGETS if not options[option]]


def _takes_settings(path: tuple[str, ...]) -> bool:
    return path not in {("remember",), ("search",)}


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


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("environment", [{}, {"MNEMOSYNE_TOKEN": "mnk_x"}], ids=["nothing set", "token set"])
def test_a_command_without_a_target_uses_the_local_system_and_does_not_create_one(
    path: tuple[str, ...], environment: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, output = _run(*path, *_arguments(path))
    options = _targets_in_help(path)
    assert code == 1
    assert "no target is named" in output
    assert all(option in output for option in options)
    assert ("a deployment's settings in the environment" in output) == _takes_settings(path)
    if "--data-dir" in options:
        assert f"there is no local system in {home}/data/mnemosyne" in output
        assert "start one with `mnemosyne dev`" in output
        assert ("MNEMOSYNE_TOKEN is set" in output) == (bool(environment) and "--url" in options)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("option", TARGETS)
def test_an_option_for_the_target_overrides_the_environment(
    path: tuple[str, ...], option: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    code, output = _run(*path, *_arguments(path), option, TARGETS[option])
    if option in _targets_in_help(path):
        assert (code, REACHED[option] in output) == (1, True), output
    else:
        assert code == 2
        assert f"`{cli.name} {' '.join(path)}` does not work with {option}: use " in output
        assert all(usable in output for usable in _targets_in_help(path))
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("settings", [SETTINGS, {"MNEMOSYNE_TOPIC": "file:///nowhere"}], ids=["all", "not all"])
def test_without_an_option_the_settings_name_the_target(
    path: tuple[str, ...], settings: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    code, output = _run(*path, *_arguments(path))
    assert "no local system" not in output
    if _takes_settings(path):
        assert (code, SETTINGS_READ in output) == (1, True), output
    else:
        assert code == 2
        assert "does not work with a deployment's settings in the environment, and " in output
        assert all(name in output for name in settings)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_misspelt_setting_is_named_without_an_option(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MNEMOSYNE_DATABSE_URL", "MNEMOSYNE_TOPICS", "MNEMOSYNE_TOKEN", "MNEMOSYNE_LOG_LEVEL"):
        monkeypatch.setenv(name, "x")
    note = (
        "Note: unknown settings in the environment: MNEMOSYNE_DATABSE_URL, MNEMOSYNE_TOPICS. Correct or remove them.\n"
    )
    without = CliRunner().invoke(cli, [*path, *_arguments(path)])
    assert without.stderr.startswith(note) and without.output.count(note) == 1
    option = _targets_in_help(path)[0]
    assert "unknown settings" not in _run(*path, *_arguments(path), option, TARGETS[option])[1]
    for name in ("MNEMOSYNE_DATABSE_URL", "MNEMOSYNE_TOPICS"):
        monkeypatch.delenv(name)
    assert "unknown settings" not in _run(*path, *_arguments(path))[1]


def test_an_import_via_mcp_with_a_deployment_s_settings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    code, output = _run("import", str(NOTE), "--via", "mcp")
    assert code == 2
    assert "--via mcp does not work with a deployment's settings in the environment: use --url URL" in output


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_two_targets_are_refused_and_both_are_named(path: tuple[str, ...]) -> None:
    for pair in itertools.combinations(TARGETS, 2):
        code, output = _run(*path, *_arguments(path), *(word for option in pair for word in (option, TARGETS[option])))
        assert code == 2
        assert f"give only one of --url, --data-dir and --project, got {pair[0]} and {pair[1]}" in output


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_an_empty_target_is_refused(path: tuple[str, ...]) -> None:
    for option in _targets_in_help(path):
        code, output = _run(*path, *_arguments(path), option, "")
        assert code == 2
        assert f"{option} must not be empty" in output


@pytest.mark.parametrize("path", [(), ("dev",), ("stdio",), *COMMANDS], ids=" ".join)
def test_no_line_of_help_is_cut_off(path: tuple[str, ...]) -> None:
    ended = CliRunner().invoke(cli, [*path, "--help"])
    assert ended.exit_code == 0
    lines = ended.output.splitlines()
    assert not [line for line in lines if line.rstrip().endswith(("...", "…")) and not line.startswith("Usage")]


@pytest.mark.parametrize("group", ["", "dead-letters", "grants", "keys", "lockouts", "quota", "retention"])
def test_each_command_is_listed_with_a_whole_sentence(group: str) -> None:
    output = _run(*group.split(), "--help")[1]
    listed = cli.commands[group] if group else cli
    assert isinstance(listed, click.Group)
    for command in listed.commands.values():
        sentence = command.get_short_help_str(1_000)
        assert sentence in output and sentence[-1:].isalnum() | (sentence[-1:] in ".)`")
