"""Properties (names and values) at the beginning of a note. Pure."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Properties:
    """Names and values of properties, with notices about those that could not be read."""

    values: dict[str, Any] = field(default_factory=dict)
    """Values as JSON types."""
    lines: dict[str, int] = field(default_factory=dict)
    """Line number of each name in the file."""
    notices: list[str] = field(default_factory=list)
    """Notices of properties that could not be read, each with the line and the reason."""
