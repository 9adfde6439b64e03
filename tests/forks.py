"""Start commands and functions as forks of `fork_server`, which has imported Mnemosyne."""

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mnemosyne.cli.local.functions import FunctionProcess

REAL = Path(sys.executable).with_name("mnemosyne")
"""The installed command, which runs without a fork. Tests use it if they need the process id or the command line of the
command, or another interpreter."""
ADDRESS = "TEST_FORK_SERVER"
"""Environment variable with the path of the fork server's socket. If it is not set, the command that `command` returns
runs the installed command, without a fork.

pytest's workers inherit the variable from the process that starts them. They therefore share one fork server.
"""
FORKS = sys.platform == "linux"
"""Whether processes are forked. On other systems than Linux, a fork that does not start a new program is not safe."""
_CLIENT = '''#!{python} -ISE
"""`mnemosyne`, as a fork of the tests' server."""
import array, json, os, signal, socket, sys
if {address!r} not in os.environ:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect(os.environ[{address!r}])
request = {{"program": "command", "arguments": sys.argv[1:], "environment": dict(os.environ), "directory": os.getcwd(),
            "session": False}}
'''
_GCLOUD = '''#!{python} -ISE
"""gcloud's Python, which runs its program as a fork of the tests' server."""
import array, json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
program = next(n for n, word in enumerate(sys.argv) if word.endswith("/gcloud.py"))
request = {{"program": "gcloud", "arguments": sys.argv[program + 1:], "environment": dict(os.environ),
            "directory": os.getcwd(), "session": False}}
'''
_RUN = """data = json.dumps(request).encode() + b"\\n"
sent = server.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
if sent < len(data):  # sendall would also send nothing, and fail if the program has ended already
    server.sendall(data[sent:])
answers = server.makefile()
pid = int(answers.readline())
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, frame: os.kill(pid, number))
for number in (0, 1, 2):
    os.close(number)
code = int(answers.readline())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class ForkServer:
    """A fork server that this test process has started. The server ends when the test process ends."""

    def __init__(self, python: Path, module: str, paths: Sequence[str]) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="forks-"))
        self.address = str(self._home / "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [python, "-m", module, str(listener.fileno()), str(self._home), " " * 8192],
                stdin=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        atexit.register(self._end)

    def write_client(self, name: str, request: str) -> Path:
        """Write a client program that sends a request and waits for the child, and return the path of the program.

        `request` is the code that makes the request.
        """
        client = self._home / name
        client.write_text(request + _RUN)
        client.chmod(0o755)
        return client

    def _end(self) -> None:
        with self._process as process:
            assert process.stdin
            process.stdin.close()


class Forked:
    """The process of a function, forked by the server. The class has the methods of Popen that FunctionProcess uses."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str], log: int) -> None:
        self.returncode: int | None = None
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(os.environ[ADDRESS])
        request = {
            "program": "function",
            "arguments": arguments,
            "environment": dict(environment),
            "directory": str(Path.cwd()),
            "session": True,
        }
        data = json.dumps(request).encode() + b"\n"
        with Path(os.devnull).open() as nothing:
            sent = socket.send_fds(self._server, [data], [nothing.fileno(), log, log])
        if sent < len(data):
            self._server.sendall(data[sent:])
        self._answers = self._server.makefile()
        self.pid = int(self._answers.readline())

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended, and return its exit code. Raises TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("function", timeout or 0)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # the process may end between the two calls
                os.kill(self.pid, number)

    def _ended(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self._server], [], [], seconds)[0]:
            self.returncode = int(self._answers.readline() or -signal.SIGKILL)
            self._answers.close()
            self._server.close()
        return self.returncode


_start = FunctionProcess.start


def fork_function(function: FunctionProcess) -> None:
    """Start the process of a function: as a fork if there is a fork server, otherwise as a new program.

    This function replaces the method FunctionProcess.start in tests.
    """
    if ADDRESS not in os.environ:
        _start(function)
        return
    with function._log.open("ab") as log:
        function._logged_before = log.tell()
        arguments = function._command[function._command.index("--source") :]
        function._process = Forked(arguments, function._environment, log.fileno())  # type: ignore[assignment]


class ForkedFunction(FunctionProcess):
    """A function whose process is forked."""

    def start(self) -> None:
        """Start the process in a new session."""
        command()
        fork_function(self)


@lru_cache(maxsize=1)
def command() -> Path:
    """Return the path of a command `mnemosyne` that runs as a fork. Start the fork server if there is none."""
    if not FORKS:
        return REAL
    if ADDRESS in os.environ:
        return Path(os.environ[ADDRESS]).with_name(REAL.name)
    server = ForkServer(Path(sys.executable), "tests.fork_server", sys.path)
    os.environ[ADDRESS] = server.address
    return server.write_client(REAL.name, _CLIENT.format(python=sys.executable, real=str(REAL), address=ADDRESS))


@lru_cache(maxsize=1)
def forked_gcloud() -> Mapping[str, str]:
    """Return the environment variables that make the installed gcloud run each command as a fork.

    The result is empty if the installed gcloud includes no Python.
    """
    script = shutil.which("gcloud")
    if script is None or not FORKS:
        return {}
    python = Path(script).resolve().parents[1] / "platform" / "bundledpythonunix" / "bin" / "python3"
    if not python.exists():
        return {}
    server = ForkServer(python, "tests.gcloud_server", [str(Path(__file__).parents[1])])
    client = server.write_client("python", _GCLOUD.format(python=sys.executable, address=server.address))
    return {"CLOUDSDK_PYTHON": str(client), "CLOUDSDK_PYTHON_SITEPACKAGES": "1"}
