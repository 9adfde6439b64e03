"""Signals that end a command, and signals that stay ignored."""

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from mnemosyne.cli.terminal import on_termination


def _handler(number: int, frame: FrameType | None) -> None:
    """Signal handler that does nothing. Tests check whether it is installed."""


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have set it to SIG_IGN
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_closed_terminal_ends_a_command() -> None:
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.getsignal(signal.SIGTERM) is _handler


def test_a_hangup_signal_ignored_by_nohup_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    on_termination(_handler)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTERM) is _handler
