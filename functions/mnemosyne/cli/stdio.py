"""`mnemosyne stdio`: the same tools for a local client, over standard input and output."""

import os
from concurrent.futures import Future
from threading import Event, Thread
from types import FrameType
from typing import TYPE_CHECKING

import anyio
import click

from mnemosyne.app import entry_points
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.termination import on_termination
from mnemosyne.domain.quota import Quota
from mnemosyne.observability import EventLog, configure_logging
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.memories import MemoryStore
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.ports.services import Clock

if TYPE_CHECKING:  # what the extra `local` brings is imported where it is used
    from mnemosyne.cli.local.data_dir import DataDir

events = EventLog("mnemosyne.stdio")


@click.command()
@click.option("--data-dir", metavar="DIR", help="Where memories are kept [default: the user's data directory].")
def stdio(data_dir: str | None) -> None:
    """Serve the tools over standard input and output, on the same memories as `dev`, also while it runs."""
    from mnemosyne.cli.local.data_dir import DataDir

    directory = DataDir.at(data_dir)
    with directory.log("stdio").open("a") as log:
        configure_logging("INFO", log)  # standard output is the protocol's
        starting = _Starting(directory)
        on_termination(starting.leave)
        code = 1
        try:
            anyio.run(entry_points.serve_stdio, starting)
            code = 0
        except BaseException as exc:  # noqa: BLE001 - the client has gone, or Ctrl-C; whatever else, the log has it
            events.warning("stdio_ended", error=repr(exc))
        starting.stop()
        # Past the read of standard input that may still be under way, and would be waited for.
        os._exit(code)


class _Starting:
    """Services that come up in the background, so that the client's handshake does not wait for PostgreSQL."""

    def __init__(self, directory: "DataDir") -> None:
        self._directory = directory
        self._services: Future[ConfiguredServices] = Future()
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="stack", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        from mnemosyne.cli.local import stack

        try:
            with stack.ingest_stack(self._directory) as settings:
                services = ConfiguredServices(settings)
                services.warm()
                self._services.set_result(services)
                self._stopping.wait()
        except BaseException as exc:
            if self._services.done():
                raise
            self._services.set_exception(exc)  # every tool call then says so

    def stop(self) -> None:
        """End what was started."""
        self._stopping.set()
        self._thread.join()

    def leave(self, number: int, frame: FrameType | None) -> None:
        """End what was started, and the process: a read of standard input under way cannot be interrupted."""
        self.stop()
        os._exit(0)

    @property
    def queue(self) -> IngestQueue:
        """Where accepted requests go."""
        return self._services.result().queue

    @property
    def memories(self) -> MemoryStore:
        """Where memories are."""
        return self._services.result().memories

    def known_quota(self, namespace: str) -> Quota | None:
        """Return what is known of a namespace's quota."""
        return self._services.result().known_quota(namespace)

    @property
    def embedder(self) -> Embedder:
        """What turns text into vectors."""
        return self._services.result().embedder

    @property
    def reranker(self) -> Reranker | None:
        """What orders anew what is found, where the settings name it."""
        return self._services.result().reranker

    @property
    def clock(self) -> Clock:
        """What time it is."""
        return self._services.result().clock
