"""`mnemosyne stdio`: serve the tools to a local client over standard input and output."""

import os
from concurrent.futures import Future
from threading import Event, Thread
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import anyio
import click

from mnemosyne.adapters.database.audit_trail import AuditTrail
from mnemosyne.app import entry_points
from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.options import DIRECTORY
from mnemosyne.cli.terminal import on_termination, say
from mnemosyne.errors import MnemosyneError
from mnemosyne.observability import EventLog, configure_logging
from mnemosyne.ports.services import Services

if TYPE_CHECKING:  # at run time, `cli.local` is imported inside functions, because the extra `local` is optional
    from mnemosyne.cli.local.data_dir import DataDir

events = EventLog("mnemosyne.stdio")


@click.command()
@DIRECTORY
def stdio(data_dir: str | None) -> None:
    """Serve the tools over standard input and output, on the same memories as `mnemosyne dev`.

    `stdio` and `dev` can run at the same time.
    """
    from mnemosyne.cli.local.data_dir import DataDir

    directory = DataDir.at(data_dir)
    with directory.log("stdio").open("a") as log:
        configure_logging("INFO", log)  # log to a file, because standard output carries the protocol
        services = _BackgroundServices(directory)
        on_termination(services.exit_on_signal)
        code = 1
        try:
            anyio.run(entry_points.serve_stdio, cast("Services", services))
            code = 0
        except BaseException as exc:  # noqa: BLE001 - the client closed the pipe, Ctrl-C, or a fault: all are logged
            events.warning("stdio_ended", error=repr(exc))
        services.stop()
        # Use os._exit, because a normal exit would wait for the thread that reads standard input, possibly forever.
        os._exit(code)


class _BackgroundServices:
    """Services that start in the background, so that the client's handshake does not wait for PostgreSQL."""

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
                trail = AuditTrail(lambda: services.pool)
                trail.start()
                self._services.set_result(services)
                self._stopping.wait()
                trail.flush()
        except BaseException as exc:
            if self._services.done():
                raise
            if isinstance(exc, MnemosyneError):
                say(f"mnemosyne: {exc}", err=True)  # clients log what their servers write to standard error
            self._services.set_exception(exc)  # every later tool call fails with this error

    def stop(self) -> None:
        """Stop the local system and wait until it has stopped."""
        self._stopping.set()
        self._thread.join()

    def exit_on_signal(self, number: int, frame: FrameType | None) -> None:
        """Stop the local system, and exit without waiting for the thread that reads standard input.

        This thread would not end, because a blocking read cannot be interrupted.
        """
        self.stop()
        os._exit(0)

    def __getattr__(self, name: str) -> Any:
        """Wait until the services have started, and return their attribute `name`."""
        return getattr(self._services.result(), name)
