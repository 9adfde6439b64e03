"""Python imports this module at start. It sets the clocks of the process ahead by the number of seconds in a file.

The file is read each time that the process asks for the time. So if a test writes 3600 to the file while an instance is
stopped, an hour has passed for this instance when it continues. The wall clock and the monotonic clock are both moved.
"""

import os
import time
from pathlib import Path

import time_machine

AHEAD = Path(os.environ["CLOCK_AHEAD_FILE"])
_monotonic = time.monotonic
real_time_ns = time_machine.escape_hatch.time.time_ns


def ahead() -> float:
    """Return the seconds by which the clocks are ahead."""
    return float(AHEAD.read_text() or 0)


class _Ahead(time_machine.Traveller):
    def time_ns(self) -> int:
        return real_time_ns() + int(ahead() * 1e9)


time_machine.travel(0).start()
time_machine.traveller_stack[-1] = _Ahead(0, None, tick=True)
time.monotonic = lambda: _monotonic() + ahead()
