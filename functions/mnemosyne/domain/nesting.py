"""Limit the nesting of JSON values, so that recursive functions can process them. Pure."""

from typing import Final

from mnemosyne.errors import InvalidRequest

LEVELS: Final = 100
"""Maximum levels of objects and arrays. Metadata may have fewer levels. Python's functions for JSON fail at about a
thousand."""


def is_too_deep(value: object) -> bool:
    """Whether a JSON value has more than LEVELS levels of objects and arrays."""
    level = [value]
    for _ in range(LEVELS + 1):
        level = [
            member
            for parent in level
            if isinstance(parent, dict | list)
            for member in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True


def check_depth(value: object, *, of: str) -> None:
    """Raise InvalidRequest if a JSON value is nested too deeply."""
    if is_too_deep(value):
        raise InvalidRequest(f"{of} must be JSON that is nested at most {LEVELS} levels deep")
