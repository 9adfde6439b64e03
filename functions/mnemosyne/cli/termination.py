"""Handle the signals that end a command."""

import signal
from collections.abc import Callable
from types import FrameType


def on_termination(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call the handler on SIGTERM and, when the terminal is closed, on SIGHUP.

    If the parent process has made this process ignore a signal, as `nohup` does with SIGHUP, it stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
