"""Run the Cloud Run functions on this machine: one process of functions-framework for each entry point."""

import ctypes
import errno
import ipaddress
import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

import mnemosyne
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.errors import Misconfigured

SOURCE = Path(mnemosyne.__file__).resolve().parent / "app" / "functions.py"
"""The module with the functions that functions-framework serves. In the cloud, it serves `functions/main.py`."""
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 5.0
WITHOUT_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""TLS context for clients of http URLs. It avoids reading the certificates of public authorities, which takes 35 ms."""
# Load libc here, and not in `_die_with_parent`, which runs after a fork. After a fork in a process with threads, an
# import can wait forever for a lock.
LIBC = ctypes.CDLL(None)


def free_port(host: str = LOOPBACK) -> int:
    """Return a free port, and reserve it for a minute.

    The port number is lower than those that Linux uses for outgoing connections, so no outgoing connection can take it.
    """
    for _ in range(100):
        port = 20_000 + secrets.randbelow(12_000)
        with suppress(OSError):
            keep_port(host, port)
            return port
    raise Misconfigured(f"no port between 20,000 and 32,000 is free on {host}", next_step="end a program that uses one")


def keep_port(host: str, port: int) -> None:
    """Reserve a port for a minute.

    The function listens on the port, connects to it, and closes the server's end of the connection before the client's
    end. This leaves the port in the state TIME_WAIT (RFC 9293, section 3.6). In this state, only sockets with
    SO_REUSEADDR can bind to the port. Servers set this option, so a server can still use the reserved port.

    Raises OSError if a process already listens on the port, or if the port is reserved.
    """
    with socket.socket() as probe:
        probe.bind((host, port))
    with socket.socket() as listener, socket.socket() as client:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1)
        client.connect((host, port))
        listener.accept()[0].close()


def require_free(host: str, port: int, purpose: str) -> None:
    """Raise Misconfigured if a server cannot listen on the port. The error names the option to change.

    `purpose` says in the error what the port is for.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            return
        except OverflowError:
            reason = "does not exist"
        except (OSError, UnicodeError) as exc:
            cause = getattr(exc, "strerror", None) or exc
            if isinstance(exc, socket.gaierror | UnicodeError) or exc.errno == errno.EADDRNOTAVAIL:
                raise Misconfigured(f"--host must be a name or address of this machine, got {host} ({cause})") from exc
            reason = "is in use" if exc.errno == errno.EADDRINUSE else f"({cause})"
    raise Misconfigured(f"port {port} on {host}, for {purpose}, {reason}", next_step="choose another with --port")


def url(host: str, port: int) -> str:
    """Return a URL that this machine can open. For a wildcard host, the URL has the loopback address."""
    if is_wildcard(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{_bracket_ipv6(host)}:{port}"


def _bracket_ipv6(host: str) -> str:
    """Return the host for a URL with a port: an IPv6 address in brackets, any other host unchanged."""
    return f"[{host}]" if ":" in host else host


def other_urls(host: str, port: int) -> list[str]:
    """Return the URLs by which other machines reach a server on the host.

    The result is empty unless the host is a wildcard (all addresses of this machine).
    """
    if not is_wildcard(host):
        return []
    families = (socket.AF_INET, socket.AF_INET6) if ":" in host else (socket.AF_INET,)
    cards = psutil.net_if_addrs().values()
    addresses = [
        address.address
        for card in cards
        for address in card
        if address.family in families and "%" not in address.address
    ]
    return [url(address, port) for address in addresses if not ipaddress.ip_address(address).is_loopback]


def is_wildcard(host: str) -> bool:
    """Whether the host is 0.0.0.0 or ::, with which a server listens at every address of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


class FunctionProcess:
    """A process that runs one Cloud Run function with functions-framework. Its output is written to a log file."""

    def __init__(
        self, target: str, *, host: str, port: int, environment: Mapping[str, str], directory: DataDir
    ) -> None:
        self.target = target
        self._port = port
        self.url = url(host, port)
        self._log = directory.log(target)
        self._logged_before = 0
        self._command = [
            sys.executable, "-m", "functions_framework", "--source", str(SOURCE), "--target", target,
            "--host", _bracket_ipv6(host), "--port", str(port),
        ]  # fmt: skip
        # Set PYTHONSAFEPATH, so that modules in the current directory do not shadow the modules of Mnemosyne. Set
        # WORKERS, the number of processes, to 1, because each process would have its own rate limits and caches.
        fixed = {"PYTHONUNBUFFERED": "1", "PYTHONSAFEPATH": "1", "WORKERS": "1"}
        self._environment = {**os.environ, **environment, **fixed}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process in a new session, so that Ctrl-C in the terminal does not reach it."""
        with self._log.open("ab") as log:
            self._logged_before = log.tell()
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )

    def wait_ready(self) -> None:
        """Wait until the function answers. Raises Misconfigured if it exits or does not answer in time."""
        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(timeout=5, trust_env=False, verify=WITHOUT_AUTHORITIES) as client:
            while time.monotonic() < deadline:
                if not self.running:
                    break
                with suppress(httpx.HTTPError):
                    status = client.get(f"{self.url}/health").status_code
                    if status == httpx.codes.OK and self._listens():
                        return
                    if status == httpx.codes.INTERNAL_SERVER_ERROR and self._listens():
                        break  # the function is misconfigured, so waiting longer is useless
                time.sleep(0.02)
        raise Misconfigured(
            f"the function {self.target} did not start{self._reason()}", next_step=f"read its log {self._log}"
        )

    def _reason(self) -> str:
        """Return the error in the last line that the process has logged; empty if it has logged nothing.

        This line is a log event in JSON, or the last line of a traceback.
        """
        with self._log.open("rb") as log:
            log.seek(self._logged_before)
            lines = log.read().decode(errors="replace").split("\n")
        reason = next((line.strip() for line in reversed(lines) if line.strip()), "")
        with suppress(ValueError, AttributeError):
            event = json.loads(reason)
            reason = str(event.get("error") or event.get("message") or reason)
        return f": {reason[:500]}" if reason else ""

    def _listens(self) -> bool:
        """Whether the process or its child listens on the port. True if this user has no permission to check this."""
        try:
            own = psutil.Process(self.pid)
            return any(
                listening.status == psutil.CONN_LISTEN and listening.laddr.port == self._port
                for process in (own, *own.children(recursive=True))
                for listening in process.net_connections()
            )
        except psutil.AccessDenied:
            return True
        except psutil.NoSuchProcess:
            return False

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id; -1 if the process was never started."""
        return -1 if self._process is None else self._process.pid

    def ask_to_stop(self) -> None:
        """Ask the process to finish its requests and exit."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """Stop the process. If it still runs after STOP_SECONDS, kill it and its children."""
        if self._process is None:
            return
        self.ask_to_stop()
        if not self.wait(STOP_SECONDS):
            self.kill()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for the process to exit, and return whether it has exited."""
        with suppress(subprocess.TimeoutExpired):
            if self._process is not None:
                self._process.wait(seconds)
        return not self.running

    def kill(self) -> None:
        """Kill the process and its children, and wait until they have ended, so that the port is free."""
        if self._process is None:
            return
        workers = []
        with suppress(psutil.Error):
            workers = psutil.Process(self._process.pid).children(recursive=True)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        psutil.wait_procs(workers, timeout=STOP_SECONDS)


def _die_with_parent() -> None:
    """Ask the kernel to terminate this process when the thread that started this process ends."""
    pr_set_pdeathsig = 1
    LIBC.prctl(pr_set_pdeathsig, signal.SIGTERM)
