"""Wait on a condition instead of sleeping."""

import threading
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], expected: str, *, seconds: float = 120.0, pause: float = 0.05) -> None:
    """Wait until the condition is true. If it is not true after `seconds`, fail with the description `expected`.

    The pause grows to a tenth of the time that has passed, at most to 0.1 seconds, because a condition may take
    hundredths of a second of CPU time: in a browser it reads a page, and in a client it calls a server.
    """
    pausing = threading.Event()
    started = time.monotonic()
    while not condition():
        passed = time.monotonic() - started
        if passed > seconds:
            raise AssertionError(f"waited {seconds:.0f} s in vain until {expected}")
        pausing.wait(max(pause, min(passed / 10, 0.1)))
