"""Imported by Python itself before all else: set this process's clocks ahead by the seconds that a file says.

The file is read at every look at the clock, so that an instance that was stopped finds an hour gone when it goes on.
Both clocks are moved, the wall's and the one that only counts: a stopped process misses both.
"""

import os
import time
from pathlib import Path

import time_machine

AHEAD = Path(os.environ["CLOCK_AHEAD_FILE"])
_monotonic = time.monotonic
real_time_ns = time_machine.escape_hatch.time.time_ns


def ahead() -> float:
    """Seconds that the clocks are ahead by."""
    return float(AHEAD.read_text() or 0)


class _Ahead(time_machine.Traveller):
    def time_ns(self) -> int:
        return real_time_ns() + int(ahead() * 1e9)


time_machine.travel(0).start()
time_machine.traveller_stack[-1] = _Ahead(0, None, tick=True)
time.monotonic = lambda: _monotonic() + ahead()
