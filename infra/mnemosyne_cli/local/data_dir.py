"""Where one machine's memories live, and what is in there."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

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
        path = Path(chosen or platformdirs.user_data_path("mnemosyne")).expanduser().absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            # Logs name namespaces and ids: for their owner alone, whoever may pass the directory itself.
            (path / "logs").mkdir(mode=0o700, exist_ok=True)
            (path / "logs").chmod(0o700)
            for name in ("mcp", "ingest", "dead_letter", "import_object", "delivery", "stdio"):
                (path / "logs" / f"{name}.log").touch(mode=0o600)
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise Misconfigured(
                f"the data directory {path} cannot be written ({reason}): choose another with --data-dir"
            ) from exc
        return cls(path)

    @property
    def postgres(self) -> Path:
        """PostgreSQL's cluster."""
        return self.path / "postgres"

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


def is_root() -> bool:
    """Whether this process runs as root, which PostgreSQL refuses to."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
