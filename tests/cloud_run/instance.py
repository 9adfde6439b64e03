"""One instance of a function, as Cloud Run runs it: https://cloud.google.com/run/docs/container-contract."""

import os
import signal
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.functions import free_port
from tests.forks import ForkedFunction

HOST = "127.0.0.1"
START_SECONDS = 240.0
"""Time for which the default start-up probe tries to connect to the port:
https://cloud.google.com/run/docs/configuring/healthchecks."""
GRACE_SECONDS = 10.0
"""Seconds that an instance has to end after SIGTERM. Then it gets SIGKILL."""
CLOCK = Path(__file__).parent / "clock"


def runtime_environment(service: str, target: str, port: int) -> dict[str, str]:
    """Environment variables that the runtime sets for a second-generation function.

    https://cloud.google.com/run/docs/container-contract#services-env-vars,
    https://cloud.google.com/functions/docs/configuring/env-var#runtime_environment_variables_set_automatically;
    LOG_EXECUTION_ID is set by Google on every function it deploys for Python.
    """
    return {
        "K_SERVICE": service,
        "K_REVISION": f"{service}-00001-abc",
        "K_CONFIGURATION": service,
        "PORT": str(port),
        "FUNCTION_TARGET": target,
        "FUNCTION_SIGNATURE_TYPE": "http",
        "LOG_EXECUTION_ID": "true",
    }


class Instance:
    """A process that is stopped while it has no request, because an instance has no CPU time between requests.

    https://cloud.google.com/run/docs/configuring/billing-settings: with request-based billing, background work runs
    only during a request. `clock` is a file with the number of seconds by which the instance's clocks are ahead.
    """

    def __init__(
        self, service: str, target: str, environment: Mapping[str, str], directory: DataDir, clock: Path | None
    ) -> None:
        self.port = free_port()
        shifted = {} if clock is None else {"CLOCK_AHEAD_FILE": str(clock), "PYTHONPATH": str(CLOCK)}
        self.environment = {**environment, **runtime_environment(service, target, self.port), **shifted}
        self._process = ForkedFunction(
            target, host=HOST, port=self.port, environment=self.environment, directory=directory
        )
        self._lock = threading.Lock()
        self.in_flight = 0
        self.ending = False

    def start(self) -> bool:
        """Start the process, and return whether its port opened.

        It has CPU time until its first request has ended, like an instance that is started for a request.
        """
        self._process.start()
        pause = threading.Event()
        for _ in range(int(START_SECONDS / 0.02)):
            if not self._process.running:
                return False
            with suppress(OSError), socket.create_connection((HOST, self.port), timeout=1):
                break
            pause.wait(0.02)
        return True

    @property
    def process(self) -> psutil.Process:
        """The process of the functions framework that was started. Its child, the worker, handles the requests."""
        return psutil.Process(self._process.pid)

    def enter(self) -> None:
        """Count a request that begins, and let the process continue if it was stopped."""
        with self._lock:
            self.in_flight += 1
            self._signal(signal.SIGCONT)

    def leave(self) -> None:
        """Count the end of a request. If no other request is running, stop the process."""
        with self._lock:
            self.in_flight -= 1
            if not self.in_flight and not self.ending:
                self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def end(self) -> bool:
        """Send SIGTERM. If the process has not ended after ten seconds, send SIGKILL.

        Return whether the process has ended after SIGTERM. It has CPU time during the ten seconds.
        """
        with self._lock:
            self.ending = True
            self._signal(signal.SIGCONT)
        self._process.ask_to_stop()
        ended = self._process.wait(GRACE_SECONDS)
        self._process.kill()
        return ended

    def crash(self) -> None:
        """Kill the process at once."""
        with self._lock:
            self.ending = True
        self._process.kill()
