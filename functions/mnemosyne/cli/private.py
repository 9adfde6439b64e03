"""Private files of the user, and the lock of the journals of imports.

Other users can neither read nor replace a private file, and cannot redirect it with a link.
"""

import errno
import fcntl
import hashlib
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from mnemosyne.cli.terminal import plain
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import FAILURE

SUFFIX_BYTES = 32
"""Maximum bytes of a suffix of a private file. SQLite's `.0123abcd.import-journal-journal` is the longest suffix."""


def private(path: Path, *, follow: bool = True) -> TextIO:
    """Open an empty text file that only the user may read. Line breaks are written unchanged.

    An existing file is emptied. Raises OSError if the file cannot be written. If `follow` is false, a symbolic link
    also raises OSError.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")


@contextmanager
def replacement(path: Path) -> Iterator[TextIO]:
    """Yield a private temporary file, which replaces the file at `path` when the `with` block ends.

    If the `with` block fails, the old file stays. If `path` is a symbolic link, the link is replaced, and nothing is
    written to its target.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with private(part, follow=False) as stream:
            yield stream
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def private_path(path: Path, suffix: str) -> Path:
    """Return the path of a private file for the file or folder at `path`, such as the journal of its import.

    The private file is in the same directory as `path`. If this directory belongs to another user, is read-only or can
    be written by everybody (such as /tmp), the private file is in the user's state directory, with a different name for
    each path. A name that would be too long for the file system is shortened, and begins with a hash of the whole name.
    Raises InvalidRequest if neither directory can be written.
    """
    adjacent = path.parent / f"{_short_name(path.name, path.parent)}{suffix}"
    directory = path.parent.stat()
    if directory.st_uid == os.getuid() and not directory.st_mode & stat.S_IWOTH and os.access(path.parent, os.W_OK):
        return adjacent
    import platformdirs  # imported here, because only the extra `local` installs platformdirs

    state_dir = Path(platformdirs.user_state_dir("mnemosyne")) / "imports"
    try:
        state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise InvalidRequest(
            f"the journal and the list of failures cannot be written next to {plain(path)}, nor to {plain(state_dir)} "
            f"({(exc.strerror or str(exc)).lower()}): set XDG_STATE_HOME to a directory of yours, or import a copy"
        ) from exc
    digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    return state_dir / f"{_short_name(f'{digest}-{path.name[:100]}', state_dir)}{suffix}"


def _short_name(name: str, directory: Path) -> str:
    """Return the file name, shortened if it is too long for the file system of the directory.

    The caller can add a suffix of up to SUFFIX_BYTES. A shortened name begins with a hash of the whole name.
    """
    longest, name_bytes = os.pathconf(directory, "PC_NAME_MAX") - SUFFIX_BYTES, os.fsencode(name)
    if len(name_bytes) <= longest:
        return name
    digest = hashlib.sha256(name_bytes).hexdigest()[:16]
    return f"{digest}-{name_bytes[: longest - len(digest) - 1].decode(errors='ignore')}"


def require_own(path: Path, label: str) -> None:
    """Raise InvalidRequest if the path exists and is not a file of this user alone.

    A file of the user alone is a regular file that belongs to the user and has a single hard link. `label` names the
    file in the error.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_nlink != 1:
        kind = "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a file of yours alone"
        raise InvalidRequest(
            f"{label} would be {plain(path)}, which is {kind}: move it away, and run the command again"
        )


def create_own(path: Path, label: str) -> None:
    """Create a file that only the user may read. If the file exists, remove the rights of other users to it.

    Raises InvalidRequest if `require_own` refuses the existing file, or if the file cannot be written.
    """
    require_own(path, label)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            raise InvalidRequest(f"{label} would be {plain(path)}, which is a symbolic link: move it away") from exc
        raise InvalidRequest(f"{label} {plain(path)} cannot be written: {exc.strerror}") from exc
    with os.fdopen(descriptor, "rb"):
        os.fchmod(descriptor, 0o600)


def lock_journal(journal: Path, source: Path) -> None:
    """Lock a journal until this process ends. Raises InvalidRequest if another process has locked it.

    `source` is the imported file or folder. All journals of a user share a lock file, in which each journal locks one
    byte. With a separate lock file for each journal, an import of many files would need too many open files.
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
    except (FileNotFoundError, InvalidRequest) as exc:  # for example, the file belongs to another user
        raise InvalidRequest(f"{exc}; or set TMPDIR to a directory of yours") from exc
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW)


class FailuresFile:
    """The file of records that an import could not store, one JSON object per line."""

    def __init__(self, source: Path) -> None:
        self.path = private_path(source, ".failures.jsonl")

    def check(self) -> None:
        """Raise InvalidRequest if the path exists and is not the failures file of an earlier run."""
        require_own(self.path, "the list of failures")
        if self.path.exists() and not _is_list_of_failures(self.path):
            raise InvalidRequest(
                f"the list of failures would be {plain(self.path)}, which holds something else: move it away, and run "
                "the command again"
            )

    def write(self, failures: Iterable[Mapping[str, Any]]) -> int:
        """Write the failures to the file, in place of its old contents, and return their number.

        If there are no failures, delete the file.
        """
        self.check()
        count = 0
        try:
            with replacement(self.path) as file:
                for failure in failures:
                    file.write(_to_json_line(failure))
                    count += 1
            if not count:
                self.path.unlink(missing_ok=True)
        except OSError as exc:
            raise InvalidRequest(f"the list of failures {plain(self.path)} cannot be written: {exc.strerror}") from exc
        return count


def _to_json_line(failure: Mapping[str, Any]) -> str:
    """Return a failure as a line of JSON.

    Non-ASCII characters are written unescaped, so that people can read them. If the failure contains a lone
    surrogate, which UTF-8 cannot encode, all non-ASCII characters are escaped.
    """
    readable = json.dumps(failure, ensure_ascii=False)
    try:
        readable.encode()
    except UnicodeEncodeError:
        return json.dumps(failure) + "\n"
    return readable + "\n"


def _is_list_of_failures(path: Path) -> bool:
    with path.open("rb") as file:
        line = file.readline()
    if not line:
        return True
    try:
        first = json.loads(line)
    except ValueError:
        return False
    return isinstance(first, dict) and FAILURE in first
