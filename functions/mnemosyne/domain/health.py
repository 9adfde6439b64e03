"""Results of health checks. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A health check: its name and result, and the remedy if the check failed or gave a warning."""

    name: str
    seen: str
    remedy: str | None = None
    is_warning: bool = False
    """Whether the result is a warning: the system works, but not as well as it could."""

    @property
    def ok(self) -> bool:
        """Whether the check passed, perhaps with a warning."""
        return self.remedy is None or self.is_warning
