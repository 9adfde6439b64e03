"""The properties that a note begins with. Pure."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Properties:
    """Names and values, and what could not be read of them."""

    values: dict[str, Any] = field(default_factory=dict)
    """In JSON's terms."""
    lines: dict[str, int] = field(default_factory=dict)
    """The line of each name, counted from the beginning of the file."""
    notices: list[str] = field(default_factory=list)
    """What was left out, with its line and the reason."""
