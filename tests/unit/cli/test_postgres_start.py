"""The error if PostgreSQL does not start names the cause, and only a log that exists."""

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
