"""The addresses that `mnemosyne dev` prints can be opened, and the commands can be pasted into another terminal."""

import ipaddress
import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mnemosyne.cli.clients import command, how_to_connect
from mnemosyne.cli.local.functions import other_urls, url
from mnemosyne.errors import Misconfigured
from tests.unit.cli.conftest import invoke


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("localhost", "http://localhost:80"),
        ("::1", "http://[::1]:80"),
        ("nas.local", "http://nas.local:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
    ],
)
def test_the_address_of_a_server_can_be_opened(host: str, printed: str) -> None:
    assert url(host, 80) == printed


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_addresses_for_other_machines_are_neither_loopback_nor_unspecified(host: str) -> None:
    for other in other_urls(host, 80):
        address = ipaddress.ip_address(urlsplit(other).hostname or "")
        assert not (address.is_loopback or address.is_unspecified)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nas.local"])
def test_a_server_on_one_address_has_no_others(host: str) -> None:
    assert other_urls(host, 80) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0:0:0:0:0:0:0:0"])
def test_log_in_is_refused_on_a_host_that_no_client_can_connect_to(host: str) -> None:
    error = invoke(f"dev --host {host} --auth-mode oauth").exception
    assert isinstance(error, Misconfigured)
    assert f"got {host}" in str(error)


FOLDERS = ["bin", ".venv/bin", "My Programs/bin", "it's (new)/$HOME", 'Größe & "Co"']


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `mnemosyne` in a folder of the working directory. It is not in PATH."""
    program = tmp_path / str(request.param) / "mnemosyne"
    program.parent.mkdir(parents=True)
    program.touch(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    return program


@pytest.mark.parametrize("program", FOLDERS, indirect=True)
@pytest.mark.parametrize("is_relative", [False, True], ids=["absolute", "relative"])
def test_the_command_is_one_absolute_path_for_a_shell(
    program: Path, is_relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(program.relative_to(tmp_path) if is_relative else program), "dev"])
    assert shlex.split(command()) == [str(program)]
    lines = how_to_connect("http://127.0.0.1:8080/mcp", "/data").splitlines()
    (line,) = (line for line in lines if " remember " in line)
    assert shlex.split(line)[:2] == [str(program), "remember"]


@pytest.mark.parametrize("program", FOLDERS, indirect=True)
def test_a_program_in_path_is_called_by_its_name(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(program), "dev"])
    monkeypatch.setenv("PATH", str(program.parent))
    assert command() == "mnemosyne"
    monkeypatch.setattr(sys, "argv", ["/elsewhere/__main__.py", "dev"])
    assert command() == "mnemosyne"
