"""Protection from other users of the same machine."""

import multiprocessing
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir, is_root
from mnemosyne.cli.local.functions import free_port
from mnemosyne.cli.local.traversal import grant_traversal
from mnemosyne.errors import Misconfigured
from tests.fakes_wire.http import JsonServer
from tests.forks import ForkedFunction

pytestmark = pytest.mark.slow

NOBODY = 65534


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[float | None]]:
    """Start PostgreSQL for the first time, in a data directory whose parent directory is private.

    Return the parent directory, and the timeouts with which PostgreSQL's commands were run.
    """
    private, allowed = tmp_path_factory.mktemp("parent") / "private", set[float | None]()
    private.mkdir(mode=0o700)

    def run(command: Sequence[str], **options: Any) -> Any:
        allowed.add(options.get("timeout"))
        return really_run(command, **options)

    really_run = subprocess.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", run)
        postgres.start(DataDir.at(str(private / "data"))).stop()
    return private, allowed


@pytest.mark.skipif(not is_root(), reason="only as root does the server run as another user")
def test_a_server_started_as_root_does_not_open_parent_directories_to_others(
    first_start: tuple[Path, set[float | None]],
) -> None:
    mode = first_start[0].stat().st_mode
    assert mode & stat.S_IRWXO == 0
    assert not mode & stat.S_IRGRP


def test_a_start_may_take_longer_than_ten_seconds(first_start: tuple[Path, set[float | None]]) -> None:
    assert first_start[1] == {None}, "the package's limit of ten seconds is too short for a busy machine"


@pytest.mark.skipif(not is_root(), reason="only root makes users")
def test_concurrent_first_starts_on_a_machine_all_find_the_server_s_user() -> None:
    name, context = f"mnemosyne-{os.getpid()}", multiprocessing.get_context("fork")
    barrier = context.Barrier(6)

    def start() -> None:
        barrier.wait()
        postgres.make_server_user(name)

    try:
        starting = [context.Process(target=start) for _ in range(6)]
        for process in starting:
            process.start()
        for process in starting:
            process.join()
        assert [process.exitcode for process in starting] == [0] * 6
    finally:
        subprocess.run(["userdel", name], check=True)


def test_a_killed_first_start_does_not_prevent_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If `initdb` is killed, it leaves an incomplete database cluster, which the next start must replace."""
    directory = DataDir.at(str(tmp_path))

    def killed(command: Sequence[str], **options: Any) -> Any:
        (directory.postgres / "PG_VERSION").write_text("16\n")
        return subprocess.CompletedProcess(command, -signal.SIGKILL)

    with monkeypatch.context() as patched, pytest.raises(Misconfigured, match="initdb ended with -9"):
        patched.setattr(subprocess, "run", killed)
        postgres.start(directory)
    postgres.start(directory).stop()


def test_if_postgresql_does_not_start_the_error_has_its_message(tmp_path: Path) -> None:
    directory = DataDir.at(str(tmp_path))
    directory.postgres.mkdir()
    (directory.postgres / "somebody-elses").touch()
    with pytest.raises(Misconfigured, match="exists but is not empty"):
        postgres.start(directory)


class _AnotherProgram(JsonServer):
    """HTTP server that answers 200 to each request."""

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        return 200, {"status": "ok"}


def test_another_program_on_the_port_is_not_mistaken_for_the_function(tmp_path: Path) -> None:
    with _AnotherProgram().serving() as other:
        host, port = other.host.split(":")
        directory = DataDir.at(str(tmp_path))
        function = ForkedFunction("mcp", host=host, port=int(port), environment={}, directory=directory)
        function.start()
        try:
            with pytest.raises(Misconfigured, match="mcp did not start"):
                function.wait_ready()
        finally:
            function.stop()


def test_a_reserved_port_cannot_be_bound_by_other_programs() -> None:
    port = free_port()
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)) as server:  # with SO_REUSEADDR, as our servers
        assert server.getsockname()[1] == port


@pytest.mark.skipif(not is_root(), reason="only root may change whom it is")
def test_only_the_server_s_user_may_enter_the_data_directory(tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / "data").mkdir(parents=True)
    (private / "data" / "file").write_text("x")
    private.chmod(0o700)
    grant_traversal(NOBODY, private / "data" / "file")
    assert _reads(NOBODY, private / "data" / "file")
    assert not _reads(NOBODY - 1, private / "data" / "file")


@pytest.mark.skipif(not is_root(), reason="only root may change whom it is")
def test_users_removed_from_a_directory_s_access_list_stay_excluded(tmp_path: Path) -> None:
    private = tmp_path / "private"
    (private / "data").mkdir(parents=True)
    (private / "data" / "file").write_text("x")
    grant_traversal(NOBODY - 2, private / "data")  # an earlier call that gave this user access
    private.chmod(0o700)  # excludes all other users, because it empties the mask of the access list
    grant_traversal(NOBODY, private / "data")
    assert _reads(NOBODY, private / "data" / "file")
    assert not _reads(NOBODY - 2, private / "data" / "file")


def _reads(user: int, path: Path) -> bool:
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            path.read_text()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def test_if_access_cannot_be_granted_the_error_suggests_another_data_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any) -> None:
        raise OSError(95, "Operation not supported")

    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setattr(os, "setxattr", refused)
    with pytest.raises(Misconfigured, match=r"may not enter .*choose a --data-dir under .*/var/lib/mnemosyne"):
        grant_traversal(NOBODY, closed / "data")


def test_logs_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    directory = DataDir.at(str(tmp_path / "data"))
    assert (directory.path / "logs").stat().st_mode & 0o077 == 0
    assert all(log.stat().st_mode & 0o077 == 0 for log in (directory.path / "logs").iterdir())
