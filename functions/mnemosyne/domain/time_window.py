"""What the contract names: `resolve` turns words into a TimeWindow. It lives in `domain/time`."""

from mnemosyne.domain.time.window import TimeWindow, resolve

__all__ = ["TimeWindow", "resolve"]
