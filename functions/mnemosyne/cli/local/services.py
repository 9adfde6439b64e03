"""Start the services of a local system, and push the messages of its queue to them."""

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack

import fasteners

from mnemosyne.adapters.queues.local import LocalQueue
from mnemosyne.cli.local import emulator, functions, postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.delivery import Delivery
from mnemosyne.cli.local.functions import FunctionProcess
from mnemosyne.errors import Misconfigured, Unavailable


class OnDemandFunction:
    """A function whose process starts when its URL is first needed. Thread-safe.

    It is used for `dead_letter`: most systems never push to this function, and starting its process takes a second of
    CPU time and 90 MB.
    """

    def __init__(self, make: Callable[[], FunctionProcess]) -> None:
        """`make` is a function that returns a new process, which is not started yet."""
        self._make = make
        self._lock = threading.Lock()
        self._process: FunctionProcess | None = None
        self._is_stopping = False

    def url(self) -> str:
        """Return the URL, once the function answers. Start a process if none runs.

        Raises Misconfigured if the function does not start, or was asked to stop.
        """
        with self._lock:
            if self._is_stopping:
                raise Misconfigured("the system is stopping")
            if self._process is None or not self._process.running:
                self._process = self._make()
                self._process.start()
            process = self._process
        process.wait_ready()
        return process.url

    def ask_to_stop(self) -> None:
        """Ask the process to finish its requests and exit. Start no further process."""
        with self._lock:
            self._is_stopping = True
            if self._process is not None:
                self._process.ask_to_stop()

    def stop(self) -> None:
        """Stop the running process, if there is one. Start no further process."""
        self.ask_to_stop()
        if self._process is not None:
            self._process.stop()


def login(function: str, database: postgres.EmbeddedPostgres) -> dict[str, str]:
    """Return the setting with the database URL of a function. Each function has its own database user and rights."""
    return {"MNEMOSYNE_DATABASE_URL": database.url(function)}


def new_process(
    target: str, directory: DataDir, settings: dict[str, str], database: postgres.EmbeddedPostgres
) -> FunctionProcess:
    """Return a process that will serve the function `target` at a free port. The caller must start the process."""
    own_settings = settings | login(target, database)
    return FunctionProcess(
        target, host=functions.LOOPBACK, port=functions.free_port(), environment=own_settings, directory=directory
    )


def serve(
    directory: DataDir,
    settings: dict[str, str],
    database: postgres.EmbeddedPostgres,
    exits: ExitStack,
    *others: FunctionProcess,
) -> tuple[FunctionProcess, ...]:
    """Start the function `ingest` and the functions `others`. Then begin to push messages of the queue to `ingest`.

    Returns the started processes. The function `dead_letter` starts when the first message is pushed to it. With the
    Pub/Sub emulator, which pushes messages itself, `dead_letter` starts at once.

    When the ExitStack `exits` is closed, no further pushes start. Then the functions finish their requests and exit.
    Then the delivery waits for its last pushes, and ends.
    """
    ingest = new_process("ingest", directory, settings, database)
    if emulator_host := os.environ.get("PUBSUB_EMULATOR_HOST"):
        dead_letter = new_process("dead_letter", directory, settings, database)
        started = (*others, ingest, dead_letter)
        start(started, exits)
        emulator.prepare(emulator_host, ingest.url, dead_letter.url)
        return started
    on_demand = OnDemandFunction(lambda: new_process("dead_letter", directory, settings, database))
    delivery = _delivery(directory, ingest, on_demand, settings)
    exits.callback(delivery.stop)
    exits.callback(on_demand.stop)
    started = (*others, ingest)
    start(started, exits)
    exits.callback(on_demand.ask_to_stop)
    exits.callback(delivery.ask_to_stop)
    delivery.start()
    return started


def may_wait(directory: DataDir) -> bool:
    """Whether messages wait in the directory's queue, or possibly wait there.

    The result is also true if the queue's file cannot be read, and with the Pub/Sub emulator, whose queue cannot be
    read either.
    """
    if os.environ.get("PUBSUB_EMULATOR_HOST"):
        return True
    queue = LocalQueue(directory.queue)
    try:
        return queue.waiting() > 0
    except Unavailable:  # `serve` will report why the queue cannot be read
        return True
    finally:
        queue.close()


def start(processes: tuple[FunctionProcess, ...], exits: ExitStack) -> None:
    """Start the processes of functions, and wait until all answer. When `exits` is closed, they are stopped."""
    for function in processes:
        exits.callback(function.stop)
        function.start()
    for function in processes:
        exits.callback(function.ask_to_stop)
        function.wait_ready()


def _delivery(
    directory: DataDir, ingest: FunctionProcess, dead_letter: OnDemandFunction, settings: dict[str, str]
) -> Delivery:
    """Return the Delivery that pushes the queue's messages to the functions.

    Raises Misconfigured if the queue's file cannot be read.
    """
    queue = LocalQueue(directory.queue)
    try:
        queue.check()
    except Unavailable as exc:
        unused = "close the program that uses it, free space, or move the file away; its messages are not stored yet"
        raise Misconfigured(str(exc), next_step=unused) from exc
    lock, secret = fasteners.InterProcessLock(directory.delivery_lock), settings["MNEMOSYNE_PUSH_SECRET"]
    return Delivery(queue, ingest.url, dead_letter.url, delivery_lock=lock, secret=secret)
