"""One thing that must be right for the system to work, and whether it is. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """What was looked at and what was seen; where it is wrong, what mends it."""

    name: str
    seen: str
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it is right."""
        return self.remedy is None
