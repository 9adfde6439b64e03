"""The errors if PostgreSQL does not start name the cause and the fix."""

import errno
from pathlib import Path

import pytest

from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Misconfigured


def _error(directory: DataDir, fault: Exception) -> str:
    with pytest.raises(Misconfigured) as raised, postgres._start_errors(directory):
        raise fault
    return str(raised.value)


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError('initdb ended with 1: FATAL:  could not write file "base/1/1255": wrote only 4096 of 8192 bytes'),
        RuntimeError("pg_ctl ended with 1: PANIC:  could not write to file: No space left on device"),
        OSError(errno.ENOSPC, "No space left on device", "/data/making-cluster"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
    ],
)
def test_a_full_disk_is_named(tmp_path: Path, fault: Exception) -> None:
    error = _error(DataDir(tmp_path), fault)
    assert error == (
        f"PostgreSQL did not start, because the disk of {tmp_path} is full: free some space, then run the command "
        f"again ({fault})"
    )


@pytest.mark.parametrize("has_log", [False, True])
def test_the_error_names_the_log_only_if_it_exists(tmp_path: Path, has_log: bool) -> None:
    directory = DataDir(tmp_path)
    log = directory.postgres / "log"
    if has_log:
        directory.postgres.mkdir()
        log.touch()
    error = _error(directory, RuntimeError("initdb ended with 1"))
    assert error == f"PostgreSQL did not start: initdb ended with 1{f': read its log {log}' if has_log else ''}"


@pytest.mark.parametrize("written", [b"", b"\x00\x00\x00", b"\xff16", b"15\n"])
def test_a_cluster_of_another_or_unknown_version_is_an_error_with_advice(tmp_path: Path, written: bytes) -> None:
    directory = DataDir(tmp_path)
    directory.postgres.mkdir()
    (directory.postgres / "PG_VERSION").write_bytes(written)
    with pytest.raises(Misconfigured, match=r"PG_VERSION must contain 16.* restore the directory from a backup"):
        postgres.start(directory)


@pytest.mark.parametrize("written", [None, b"16\n"])
def test_a_new_directory_and_a_cluster_of_this_version_are_accepted(tmp_path: Path, written: bytes | None) -> None:
    directory = DataDir(tmp_path)
    directory.postgres.mkdir()
    if written:
        (directory.postgres / "PG_VERSION").write_bytes(written)
    directory.check_version(postgres.VERSION)
