"""Result of a health check. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """Name and result of a check, with the remedy if it failed."""

    name: str
    seen: str
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the check passed."""
        return self.remedy is None
