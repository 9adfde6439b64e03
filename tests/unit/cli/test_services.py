"""The function `dead_letter` of a local system runs only when it is needed."""

from typing import Any

import pytest

from mnemosyne.cli.local.services import OnDemandFunction
from mnemosyne.errors import Misconfigured


class FakeProcess:
    """A process that answers as soon as it is started."""

    def __init__(self, number: int) -> None:
        self.url = f"http://127.0.0.1:{number}"
        self.running = False

    def start(self) -> None:
        self.running = True

    def wait_ready(self) -> None:
        if not self.running:
            raise Misconfigured("the function dead_letter did not start")

    def stop(self) -> None:
        self.running = False

    ask_to_stop = stop


@pytest.fixture
def processes() -> list[FakeProcess]:
    return []


@pytest.fixture
def function(processes: list[FakeProcess]) -> OnDemandFunction:
    """A function whose processes are appended to `processes`."""

    def make() -> Any:
        processes.append(FakeProcess(len(processes)))
        return processes[-1]

    return OnDemandFunction(make)


def test_no_process_runs_before_the_url_is_needed(function: OnDemandFunction, processes: list[FakeProcess]) -> None:
    function.stop()
    assert processes == []


def test_one_process_serves_all_pushes(function: OnDemandFunction, processes: list[FakeProcess]) -> None:
    assert [function.url(), function.url()] == ["http://127.0.0.1:0"] * 2
    assert [process.running for process in processes] == [True]


def test_a_process_that_has_ended_is_replaced(function: OnDemandFunction, processes: list[FakeProcess]) -> None:
    function.url()
    processes[0].running = False
    assert function.url() == "http://127.0.0.1:1"


def test_no_process_starts_once_the_system_stops(function: OnDemandFunction, processes: list[FakeProcess]) -> None:
    function.url()
    function.ask_to_stop()
    with pytest.raises(Misconfigured, match="stopping"):
        function.url()
    assert [process.running for process in processes] == [False]
