"""Lock the journal of an import, so that only one process uses it at a time."""

import fcntl
import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path

from mnemosyne.cli.private import create_own
from mnemosyne.cli.terminal import plain
from mnemosyne.errors import InvalidRequest


def lock_journal(journal: Path, source: Path) -> None:
    """Lock a journal until this process ends. Raises InvalidRequest if another process has locked it.

    `source` is the imported file or folder. All journals of a user share a lock file, in which each journal has a byte,
    because a lock file for each journal would need too many open files.
    """
    digest = hashlib.sha256(os.fsencode(journal.resolve())).digest()
    try:
        fcntl.lockf(_lock_file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int.from_bytes(digest[:7], "big"))
    except (BlockingIOError, PermissionError) as exc:
        raise InvalidRequest(
            f"another import of {plain(source)} into the same system is running: wait until it ends, or stop it and "
            "run the command again, which then continues the import"
        ) from exc


@cache
def _lock_file() -> int:
    """Open the lock file. Returns its descriptor, which stays open until the process ends."""
    try:
        path = Path(tempfile.gettempdir()) / f"mnemosyne-imports-{os.getuid()}.lock"
        create_own(path, "the lock of imports")
    except (FileNotFoundError, InvalidRequest) as exc:  # such as a file that another user has made
        raise InvalidRequest(f"{exc}; or set TMPDIR to a directory of yours") from exc
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
