"""Start the processes of functions by forks of `fork_server`, which has imported them."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from mnemosyne.cli.local.functions import FunctionProcess

FORKS = sys.platform == "linux"
"""Elsewhere each function is a new process: pidfd_open and PR_SET_PDEATHSIG are of Linux."""


class Forked:
    """A process that `fork_server` has forked, with the methods of Popen that FunctionProcess uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._ended = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended = -1

    def poll(self) -> int | None:
        """Return None while the process runs, and then 0: the kernel does not keep its exit code."""
        return 0 if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended. Raises TimeoutExpired."""
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired("function", timeout or 0)
        return 0

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if not self._has_ended(0):
            signal.pidfd_send_signal(self._ended, number)

    def _has_ended(self, seconds: float | None) -> bool:
        if self._ended != -1 and select.select([self._ended], [], [], seconds)[0]:
            os.close(self._ended)
            self._ended = -1
        return self._ended == -1


class ForkServer:
    """The server of this test process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cloud_run.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )

    def fork(self, arguments: list[str], environment: Mapping[str, str], log: Path) -> Forked:
        """Start a function."""
        assert self._process.stdin
        assert self._process.stdout
        request = {"arguments": arguments, "environment": dict(environment), "log": str(log)}
        with self._lock:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            return Forked(int(self._process.stdout.readline()))


@lru_cache(maxsize=1)
def fork_server() -> ForkServer:
    """Return the server, started at the first call. It ends with this process."""
    return ForkServer()


class ForkedFunction(FunctionProcess):
    """A function whose process is forked."""

    def start(self) -> None:
        """Start the process in a new session."""
        if not FORKS:
            return super().start()
        self._log.touch()
        self._logged_before = self._log.stat().st_size
        arguments = self._command[self._command.index("--source") :]
        self._process = fork_server().fork(arguments, self._environment, self._log)  # type: ignore[assignment]
