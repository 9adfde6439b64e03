"""Where one machine's memories live, and what is in there."""

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
    """One installation's directory: everything under it survives restarts, nothing outside it is written."""

    path: Path

    @classmethod
    def at(cls, chosen: str | None) -> "DataDir":
        """Return the chosen directory, else the user's own, made if missing.

        Raises Misconfigured where it cannot be.
        """
        path = _path(chosen)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            # Logs name namespaces and ids: for their owner alone, whoever may pass the directory itself.
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
        """Return the chosen directory, else the user's own, where a memory is kept in it.

        Raises Misconfigured where none is, naming those that are known.
        """
        if absence := cls.absence(chosen):
            raise Misconfigured(f"{absence}: name its directory with --data-dir, or start one with `mnemosyne dev`")
        return cls.at(chosen)

    @staticmethod
    def absence(chosen: str | None) -> str:
        """Return that no memory is kept in the chosen directory, and where there are some; empty where one is."""
        path = _path(chosen)
        if (path / "postgres" / "PG_VERSION").exists():
            return ""
        known = _known() - {path}
        others = f", there is one in {' and in '.join(sorted(map(str, known)))}" if known else ""
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
        """There while PostgreSQL's cluster is made."""
        return self.path / "making-cluster"

    @property
    def queue(self) -> Path:
        """Accepted requests that are not yet stored."""
        return self.path / "queue.db"

    @property
    def statistics(self) -> Path:
        """The offline embedder's token counts, a file for each namespace."""
        return self.path / "token-counts"

    @property
    def lock(self) -> Path:
        """Held by the one `mnemosyne dev` that runs on this directory."""
        return self.path / "dev.lock"

    @property
    def access(self) -> Path:
        """The settings by which the `mnemosyne dev` that runs on this directory lets callers in, as JSON."""
        return self.path / "access.json"

    @property
    def address(self) -> Path:
        """The address of the `mnemosyne dev` that runs on this directory."""
        return self.path / "address"

    @property
    def signing_keys(self) -> Path:
        """What the authorization server signs with."""
        return self.path / "signing-keys"

    @property
    def log_in_codes(self) -> Path:
        """The codes that people log in with at this machine, for its terminal."""
        return self.path / "log-in-codes"

    @property
    def starting(self) -> Path:
        """Held while PostgreSQL is started and its schema brought up to date."""
        return self.path / "starting.lock"

    @property
    def delivery_lock(self) -> Path:
        """Held by the one process that delivers from the queue, `dev` or `stdio`."""
        return self.path / "delivery.lock"

    def log(self, name: str) -> Path:
        """One process's log."""
        return self.path / "logs" / f"{name}.log"


def _path(chosen: str | None) -> Path:
    return Path(chosen or platformdirs.user_data_path("mnemosyne")).expanduser().absolute()


def _known() -> set[Path]:
    """Return where a memory is kept, as far as can be told: the user's own directory, and those being served."""
    own = _path(None)
    known = {own} if (own / "postgres" / "PG_VERSION").exists() else set()
    for process in psutil.process_iter(["cmdline"]):
        command = process.info["cmdline"] or []
        clusters = [Path(after) for option, after in pairwise(command) if option == "-D"]
        known |= {cluster.parent for cluster in clusters if (cluster.parent / "queue.db").exists()}
    return known


def is_root() -> bool:
    """Whether this process runs as root, which PostgreSQL refuses to."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
