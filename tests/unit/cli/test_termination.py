"""Being told to end, and being told not to listen."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from mnemosyne.cli.termination import on_termination


def _handler(number: int, frame: FrameType | None) -> None:
    """Does nothing; it is only looked for."""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which is ignored if the tests were started with nohup
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_terminal_that_goes_ends_a_command() -> None:
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.getsignal(signal.SIGTERM) is _handler


def test_what_nohup_has_us_ignore_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is _handler
