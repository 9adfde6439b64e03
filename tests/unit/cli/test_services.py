"""The function `dead_letter` of a local system runs only when it is needed."""

from typing import cast

import pytest

from mnemosyne.cli.local.functions import FunctionProcess
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


class Processes:
    """Creates fake processes, and keeps them in a list."""

    def __init__(self) -> None:
        self.made: list[FakeProcess] = []

    def __call__(self) -> FunctionProcess:
        self.made.append(FakeProcess(len(self.made)))
        return cast("FunctionProcess", self.made[-1])


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def function(processes: Processes) -> OnDemandFunction:
    return OnDemandFunction(processes)


def test_no_process_runs_before_the_url_is_needed(function: OnDemandFunction, processes: Processes) -> None:
    function.stop()
    assert processes.made == []


def test_one_process_serves_all_pushes(function: OnDemandFunction, processes: Processes) -> None:
    assert [function.url(), function.url()] == ["http://127.0.0.1:0"] * 2
    assert [process.running for process in processes.made] == [True]


def test_a_process_that_has_ended_is_replaced(function: OnDemandFunction, processes: Processes) -> None:
    function.url()
    processes.made[0].running = False
    assert function.url() == "http://127.0.0.1:1"


def test_no_process_starts_once_the_system_stops(function: OnDemandFunction, processes: Processes) -> None:
    function.url()
    function.ask_to_stop()
    with pytest.raises(Misconfigured, match="stopping"):
        function.url()
    assert [process.running for process in processes.made] == [False]
