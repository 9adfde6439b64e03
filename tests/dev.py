"""Drive `mnemosyne dev` as a subprocess, and call its tools through Cloud Run's front end."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import fasteners
import httpx

from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.functions import free_port, keep_port
from tests import forks
from tests.cloud_run.attached import FrontEnd
from tests.cloud_run.identity import Google
from tests.cloud_run.service import Deployment
from tests.directories import server_directory
from tests.mcp_client import ToolClient
from tests.waiting import wait_until

COMMAND = forks.command()


class DevServer(ToolClient):
    """A running `mnemosyne dev` with its own directory and port."""

    def __init__(
        self,
        directory: Path,
        *,
        environment: dict[str, str] | None = None,
        command: Path = COMMAND,
        cwd: Path | None = None,
    ) -> None:
        self._command = command
        self._cwd = cwd
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.output = directory / "terminal.txt"
        self.environment = {**os.environ, **(environment or {})}
        self.arguments: tuple[str, ...] = ()
        self.process: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(timeout=30)
        self._serving = ExitStack()
        self._fronted = ""

    def start(self) -> None:
        """Start `mnemosyne dev` and return once it is ready.

        The data directory is first filled with a copy of a new database. If `mnemosyne dev` is started as the installed
        command, or with its own data directory or embedder, it creates its database itself.
        """
        if self._command == COMMAND and not {"--data-dir", "--embedder"} & set(self.arguments):
            fill(self.directory / "data")
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    self._command,
                    "dev",
                    "--port",
                    str(self.port),
                    "--data-dir",
                    self.directory / "data",
                    *self.arguments,
                ],
                stdout=output,
                stderr=output,
                env=self.environment,
                cwd=self._cwd,
                start_new_session=True,
            )
        # Wait also for the addresses, because `mnemosyne dev` prints them after "Ready", in a separate write.
        wait_until(lambda: "/mcp" in self.printed().partition("Ready")[2] or not self.alive, "mnemosyne dev is ready")
        assert self.alive, self.printed()

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def printed(self) -> str:
        """Return the output of the process."""
        return self.output.read_text() if self.output.exists() else ""

    def stop(self) -> None:
        """Send SIGINT, as Ctrl-C does, and wait until `mnemosyne dev` has exited."""
        if self.process is not None and self.alive:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill_everything()  # or its functions and its database would run on
                raise
            with suppress(OSError):  # the exit code is kept
                keep_port("127.0.0.1", self.port)

    def close(self) -> None:
        """Stop `mnemosyne dev` and the front end, and close the connections to them."""
        with closing(self.client), self._serving:
            self.stop()

    def kill_everything(self) -> None:
        """Kill all processes that use the server's directory with SIGKILL, including PostgreSQL."""
        assert self.process is not None
        for pid in (self.process.pid, *self.processes()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        wait_until(lambda: not self.processes(), "all processes are gone")

    def processes(self) -> list[int]:
        """Return the ids of the running processes of this `mnemosyne dev`."""
        return processes_of(self.directory)

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """POST JSON to the endpoint through Cloud Run's front end."""
        if not self._fronted:
            google = self._serving.enter_context(Google().serving())
            deployment = Deployment("mcp", {}, DataDir.at(str(self.directory)), google, host=f"127.0.0.1:{self.port}")
            self._fronted = self._serving.enter_context(FrontEnd(deployment, self.port).serving()).url
        return self.client.post(f"{self._fronted}/mcp", json=body, headers=headers)


def fill(directory: Path) -> None:
    """Copy a new database into a data directory that has none. This takes a third as long as creating a database.

    The database that is copied is created once for all of pytest's workers.
    """
    from mnemosyne.cli.local import stack

    if forks.ADDRESS not in os.environ or (directory / "postgres").exists():
        return
    home = Path(os.environ[forks.ADDRESS]).parent
    with fasteners.InterProcessLock(home / "filling.lock"):
        if not (home / "filled").exists():
            with stack.database(DataDir.at(str(home / "data"))):
                pass
            (home / "filled").touch()
    subprocess.run(["cp", "-a", home / "data" / "postgres", DataDir.at(str(directory)).postgres], check=True)


def processes_of(directory: Path) -> list[int]:
    """Return the ids of the running processes whose command line or environment contains the directory."""
    name = str(directory).encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if name in words and state != "Z":
                pids.append(int(entry.name))
    return pids


@contextmanager
def serving(*arguments: str, command: Path = COMMAND) -> Iterator[DevServer]:
    """Run `mnemosyne dev` with these arguments in a new directory, until the `with` block ends."""
    with server_directory() as directory:
        server = DevServer(directory, command=command)
        server.arguments = arguments
        try:
            server.start()
            yield server
        finally:
            server.close()


def run(*arguments: str | Path, stdin_text: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command `mnemosyne` with these arguments, standard input and additional environment variables."""
    return subprocess.run(
        [COMMAND, *arguments],
        input=stdin_text,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
