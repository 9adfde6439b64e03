"""How commands end when they are told to: through every clean-up."""

import signal
from collections.abc import Callable
from types import FrameType


def on_termination(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have the handler called when the process is to end: by SIGTERM, or because its terminal has gone.

    What whoever started us has us ignore, as `nohup` does, stays ignored.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
