"""Wait on a condition instead of sleeping."""

import threading
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], expected: str, *, seconds: float = 120.0, pause: float = 0.02) -> None:
    """Wait until the condition is true.

    After `seconds`, fail with a message that has `expected`, the description of the condition.
    """
    pausing = threading.Event()
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain until {expected}")
        pausing.wait(pause)
