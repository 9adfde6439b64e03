"""Lock files of PostgreSQL: a server that is starting is waited for, and files without a server are removed."""

import subprocess
from pathlib import Path

import pytest

from mnemosyne.cli.local import lock_files
from mnemosyne.errors import Misconfigured


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def _leave_locks(cluster: Path, name: str, *, of: Path) -> Path:
    """Write lock files into `cluster`, as a killed server of the cluster `of` leaves them.

    Return the lock file of the server's socket.
    """
    sockets = cluster.parent / name
    sockets.mkdir()
    (cluster / "postmaster.pid").write_text(f"1\n{of}\n0\n5432\n{sockets}\n\n\nready\n")
    (sockets / ".s.PGSQL.5432.lock").touch()
    return sockets / ".s.PGSQL.5432.lock"


@pytest.mark.parametrize("name", ["postgres", "pg_ctl"])
def test_a_server_without_a_lock_file_is_waited_for(cluster: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(lock_files, "PATIENCE_SECONDS", 0.0)
    program = cluster.parent / name
    program.write_text("#!/bin/sh\necho started\nread line\n")
    program.chmod(0o755)
    with subprocess.Popen([program, "-D", cluster], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        with pytest.raises(Misconfigured, match="still starting"):
            lock_files.remove_stale_locks(cluster)
        server.communicate(b"\n")
    lock_files.remove_stale_locks(cluster)


def test_a_stale_socket_lock_is_removed_although_postmaster_pid_is_missing(cluster: Path) -> None:
    lock = cluster / ".s.PGSQL.5432.lock"
    lock.touch()
    lock_files.remove_stale_locks(cluster)
    assert not lock.exists()


def test_the_socket_of_the_server_of_a_copied_directory_keeps_its_lock_file(cluster: Path) -> None:
    lock = _leave_locks(cluster, "original", of=cluster.parent / "original")
    lock_files.remove_stale_locks(cluster)
    assert lock.exists()
    assert not (cluster / "postmaster.pid").exists()


def test_the_lock_file_of_a_socket_in_another_directory_is_removed(cluster: Path) -> None:
    lock = _leave_locks(cluster, "sockets", of=cluster.resolve())
    lock_files.remove_stale_locks(cluster)
    assert not lock.exists()
