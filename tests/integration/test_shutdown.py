"""Shutdown of a function under load: every request that the server accepts is answered."""

import http.client
import json
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.cli.local.functions import FunctionProcess, free_port
from tests.forks import ForkedFunction
from tests.mcp_client import request
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

HOST = "127.0.0.1"
BODY = json.dumps(request("tools/list"))
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
GRACE_SECONDS = 10.0
"""Seconds that Cloud Run waits between SIGTERM and SIGKILL."""
CALLERS = 4
RUNS = 30


class Caller:
    """Client that calls the server continuously until it refuses connections, and counts the outcomes."""

    def __init__(self, port: int, *, keeps_alive: bool) -> None:
        self.outcomes: Counter[str] = Counter()
        self._port = port
        self._keeps_alive = keeps_alive

    def call_until_refused(self) -> "Counter[str]":
        connection, reused = self._new(), False
        while True:
            if not reused:
                try:
                    connection.connect()
                except OSError:
                    return self.outcomes
            outcome = self._outcome(connection)
            # If a reused connection is closed before the response, clients repeat the request: RFC 9112, section 9.3.1.
            self.outcomes["closed while idle" if reused and outcome == "no answer" else outcome] += 1
            reused = self._keeps_alive and connection.sock is not None and outcome != "no answer"
            if not reused:
                connection.close()
                connection = self._new()

    def _new(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self._port, timeout=GRACE_SECONDS)

    def _outcome(self, connection: http.client.HTTPConnection) -> str:
        try:
            connection.request("POST", "/mcp", BODY, HEADERS)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return "no answer"
        return str(response.status)


@pytest.fixture
def server() -> Iterator[FunctionProcess]:
    """The `mcp` function in a separate process that has answered a request."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-shutdown-") as home:
        process = _started(DataDir.at(home))
        try:
            yield process
        finally:
            process.kill()


def _started(directory: DataDir, host: str = HOST) -> FunctionProcess:
    environment = {
        "MNEMOSYNE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "MNEMOSYNE_TOPIC": f"file://{directory.path}/queue",
        "MNEMOSYNE_EMBEDDER": "gemini",
        "MNEMOSYNE_AUTH_MODE": "none",
        "MNEMOSYNE_RATE_LIMIT_PER_MINUTE": "0",
    }
    process = ForkedFunction("mcp", host=host, port=free_port(HOST), environment=environment, directory=directory)
    process.start()
    process.wait_ready()
    return process


def _shut_down_under_load(process: FunctionProcess) -> "Counter[str]":
    """End the process while four clients call it, and return the sum of their outcomes."""
    port = int(process.url.rpartition(":")[2])
    callers = [Caller(port, keeps_alive=number % 2 == 0) for number in range(CALLERS)]
    with ThreadPoolExecutor(CALLERS) as threads:
        running = [threads.submit(caller.call_until_refused) for caller in callers]
        wait_until(lambda: all(caller.outcomes["200"] >= 5 for caller in callers), "all callers are served")
        process.ask_to_stop()
        outcomes = sum((call_result.result() for call_result in running), Counter[str]())
    assert process.wait(GRACE_SECONDS), "the process did not end in time"
    return outcomes


def _refuses(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return True
    return False


def test_a_function_is_one_process_although_the_shell_has_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKERS", "3")
    process = _started(DataDir.at(str(tmp_path)))
    try:
        assert len(psutil.Process(process.pid).children()) == 1
    finally:
        process.kill()


@pytest.mark.parametrize("host", ["localhost", "::1", "::"])
def test_a_function_answers_on_each_kind_of_host(host: str, tmp_path: Path) -> None:
    _started(DataDir.at(str(tmp_path)), host).kill()


def test_a_request_whose_body_arrives_after_the_listener_closed_is_answered(server: FunctionProcess) -> None:
    port = int(server.url.rpartition(":")[2])
    connection = http.client.HTTPConnection(HOST, port, timeout=GRACE_SECONDS)
    connection.putrequest("POST", "/mcp")
    for name, value in (HEADERS | {"Content-Length": str(len(BODY))}).items():
        connection.putheader(name, value)
    connection.endheaders()
    server.ask_to_stop()
    wait_until(lambda: _refuses(port), "the listener is closed")
    connection.send(BODY.encode())
    response = connection.getresponse()
    assert (response.status, response.headers["Connection"]) == (200, "close")
    assert "ingest_memory" in response.read().decode()
    assert server.wait(GRACE_SECONDS)


def test_each_request_is_answered_during_a_shutdown_under_load(server: FunctionProcess) -> None:
    outcomes = _shut_down_under_load(server)
    assert set(outcomes) <= {"200", "closed while idle"}, outcomes


@pytest.mark.exhaustive
@pytest.mark.nightly
def test_each_request_is_answered_during_thirty_shutdowns_under_load() -> None:
    total: Counter[str] = Counter()
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="mnemosyne-shutdown-") as home:
            process = _started(DataDir.at(home))
            try:
                outcomes = _shut_down_under_load(process)
            finally:
                process.kill()
        total += outcomes
    assert set(total) <= {"200", "closed while idle"}, total
