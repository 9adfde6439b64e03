"""A clock that stands still until it is turned on: on a slow machine, nothing comes back meanwhile."""

import pytest


class StoppedClock:
    """Seconds, of a module that asks `time.monotonic` alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Current time in seconds."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """The clock of the rate limits."""
    stopped = StoppedClock()
    monkeypatch.setattr("mnemosyne.http.common.rate_limit.time", stopped)
    return stopped
