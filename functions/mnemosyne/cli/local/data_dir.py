"""The data directory of a local system, and the files in it."""

import os
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import platformdirs
import psutil

from mnemosyne.errors import Misconfigured


@dataclass(frozen=True)
class DataDir:
    """The data directory of a local system.

    The directory contains all files of the system, which survive restarts.
    """

    path: Path

    @classmethod
    def at(cls, chosen: str | None) -> "DataDir":
        """Return the chosen directory, else the user's data directory, creating it if it is missing.

        Raises Misconfigured if it cannot be created or written.
        """
        path = _path(chosen)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            # Logs contain namespaces and ids, so only their owner may read them, even if others can enter.
            (path / "logs").mkdir(mode=0o700, exist_ok=True)
            (path / "logs").chmod(0o700)
            for name in ("mcp", "ingest", "dead_letter", "import_object", "auth", "delivery", "stdio"):
                (path / "logs" / f"{name}.log").touch(mode=0o600)
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise Misconfigured(
                f"the data directory {path} cannot be written ({reason}): choose another with --data-dir"
            ) from exc
        return cls(path)

    @classmethod
    def existing(cls, chosen: str | None) -> "DataDir":
        """Return the chosen directory, else the user's data directory, if it holds a local system.

        Raises Misconfigured otherwise, with the directories of other local systems.
        """
        if absence := cls.absence(chosen):
            raise Misconfigured(f"{absence}: name its directory with --data-dir, or start one with `mnemosyne dev`")
        return cls.at(chosen)

    @staticmethod
    def absence(chosen: str | None) -> str:
        """Return an error message if the directory holds no local system, else an empty string."""
        path = _path(chosen)
        if (path / "postgres" / "PG_VERSION").exists():
            return ""
        systems = _local_systems() - {path}
        others = f", there is one in {' and in '.join(sorted(map(str, systems)))}" if systems else ""
        return f"no memory is kept in {path}{others}"

    @property
    def is_default(self) -> bool:
        """Whether commands without a target work on this directory."""
        return self.path == _path(None)

    @property
    def postgres(self) -> Path:
        """PostgreSQL's cluster."""
        return self.path / "postgres"

    @property
    def making_cluster(self) -> Path:
        """Marker file that exists while PostgreSQL's cluster is created, to detect an interruption."""
        return self.path / "making-cluster"

    @property
    def queue(self) -> Path:
        """The queue's file: requests that are accepted and not yet stored."""
        return self.path / "queue.db"

    @property
    def statistics(self) -> Path:
        """The offline embedder's token counts, in one file for each namespace."""
        return self.path / "token-counts"

    @property
    def lock(self) -> Path:
        """Lock that the running `mnemosyne dev` of this directory holds."""
        return self.path / "dev.lock"

    @property
    def access(self) -> Path:
        """The authentication settings of the running `mnemosyne dev`, as JSON."""
        return self.path / "access.json"

    @property
    def address(self) -> Path:
        """A file with the URL of the running `mnemosyne dev`."""
        return self.path / "address"

    @property
    def signing_keys(self) -> Path:
        """The authorization server's signing keys."""
        return self.path / "signing-keys"

    @property
    def receipt_keys(self) -> Path:
        """The keys that sign receipts of forgettings (deletions of selected memories)."""
        return self.path / "receipt-keys"

    @property
    def log_in_codes(self) -> Path:
        """The log-in codes that `mnemosyne dev` prints to its terminal."""
        return self.path / "log-in-codes"

    @property
    def starting(self) -> Path:
        """Lock that a process holds while it starts and migrates PostgreSQL."""
        return self.path / "starting.lock"

    @property
    def delivery_lock(self) -> Path:
        """Lock of the process that pushes the queue's messages to the functions, `dev` or `stdio`."""
        return self.path / "delivery.lock"

    def log(self, name: str) -> Path:
        """Return the path of a process's log."""
        return self.path / "logs" / f"{name}.log"


def _path(chosen: str | None) -> Path:
    return Path(chosen or platformdirs.user_data_path("mnemosyne")).expanduser().absolute()


def _local_systems() -> set[Path]:
    """Return the known local systems: the user's data directory, and those whose PostgreSQL runs."""
    own = _path(None)
    systems = {own} if (own / "postgres" / "PG_VERSION").exists() else set()
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        clusters = [Path(after) for option, after in pairwise(command) if option == "-D"]
        systems |= {cluster.parent for cluster in clusters if (cluster.parent / "queue.db").exists()}
    return systems


def is_root() -> bool:
    """Whether this process runs as root, which PostgreSQL refuses to."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
