"""A clock that tests move, so that rate limits do not refill during a slow test."""

import pytest


class StoppedClock:
    """Clock that replaces `time.monotonic` and stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Return the current time of this clock in seconds."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """Replace the clock of the rate limits by a stopped clock, and return it."""
    stopped = StoppedClock()
    monkeypatch.setattr("mnemosyne.http.common.rate_limit.time", stopped)
    return stopped
