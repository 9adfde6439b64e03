"""The release before this one, out of the history, and this one: each serves functions on the same database."""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fasteners
import httpx
import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne_cli.local import functions, postgres, stack
from mnemosyne_cli.local.data_dir import DataDir
from mnemosyne_cli.local.delivery import Delivery
from mnemosyne_cli.local.functions import FunctionProcess, free_port
from tests.mcp_client import ToolClient

ROOT = Path(__file__).parents[2]
PREVIOUS = "v0.2.0"
"""The window: what it publishes is read here, and what is published here is read there."""
COMMIT = "eac2bbc88f7eb88b3c510167fb674b045cea5272"
"""Of that tag, for clones without tags."""


@dataclass(frozen=True)
class Release:
    """One version's code."""

    name: str
    functions: Path

    @contextmanager
    def serving(self, target: str, system: "System") -> Iterator[FunctionProcess]:
        """The function, ready to serve."""
        environment = system.settings | stack.login(target, system.database) | {"PYTHONPATH": str(self.functions)}
        process = FunctionProcess(
            target,
            host=stack.LOOPBACK,
            port=free_port(),
            environment=environment,
            directory=system.directory,
            source=self.functions / "main.py",
        )
        process.start()
        try:
            process.wait_ready()
            yield process
        finally:
            process.stop()


THIS = Release("this one", functions.SOURCE.parent)


def previous(directory: Path) -> Release:
    """The release before this one, unpacked there; skips loudly where the history does not reach so far."""
    for revision in (PREVIOUS, COMMIT):
        with tempfile.TemporaryFile() as packed:
            archived = subprocess.run(
                ["git", "archive", revision, "functions", "infra"], cwd=ROOT, stdout=packed, check=False
            )
            if archived.returncode == 0:
                packed.seek(0)
                with tarfile.open(fileobj=packed) as archive:
                    archive.extractall(directory, filter="data")
                return Release(PREVIOUS, directory / "functions")
    pytest.skip(f"NOT TESTED: this clone has neither the tag {PREVIOUS} nor its commit (git fetch --tags --unshallow)")


class Client(ToolClient):
    """Calls the tools of one release's `mcp`."""

    def __init__(self, process: FunctionProcess) -> None:
        self._url = f"{process.url}/mcp"

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """Post JSON to the endpoint."""
        return httpx.post(self._url, json=body, headers=headers, timeout=60)


class System:
    """A database with today's schema, a queue, and functions of either release on them."""

    def __init__(self, directory: Path, exits: ExitStack) -> None:
        self.directory = DataDir.at(str(directory))
        self.database = exits.enter_context(stack.database(self.directory))
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PUBSUB_EMULATOR_HOST", raising=False)
            self.settings = stack.environment(self.directory, self.database)
        self.queue = LocalQueue(self.directory.queue)
        self._exits = exits
        self._clients: dict[str, Client] = {}

    def client(self, release: Release) -> Client:
        """Whoever calls that release's `mcp`."""
        if release.name not in self._clients:
            self._clients[release.name] = Client(self._exits.enter_context(release.serving("mcp", self)))
        return self._clients[release.name]

    @contextmanager
    def ingesting(self, release: Release) -> Iterator[None]:
        """That release's `ingest` and `dead_letter` take what the queue delivers."""
        with release.serving("ingest", self) as ingest, release.serving("dead_letter", self) as dead_letter:
            delivery = Delivery(
                self.queue,
                ingest.url,
                dead_letter.url,
                delivery_lock=fasteners.InterProcessLock(self.directory.delivery_lock),
                secret=self.settings["MNEMOSYNE_PUSH_SECRET"],
            )
            delivery.start()
            try:
                yield
            finally:
                delivery.stop()

    def as_owner(self, statement: str) -> list[list[Any]]:
        """Run a statement as the schema's owner."""
        connection = connection_factory(self.database.url(postgres.OWNER))()
        try:
            return connection.script(statement)
        finally:
            connection.close()


def run_in(release: Release, program: str, *arguments: str) -> str:
    """What a program prints that runs with that release's code."""
    environment = {**os.environ, "PYTHONPATH": str(release.functions)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
