"""Limit the nesting of JSON values, so that recursive functions can process them. Pure."""

from typing import Final

from mnemosyne.errors import InvalidRequest

LEVELS: Final = 100
"""Maximum levels of objects and arrays. Metadata may have fewer levels. Python's functions for JSON fail at about a
thousand."""


def is_too_deep(value: object, levels: int = LEVELS) -> bool:
    """Whether a JSON value has more than the given number of levels of objects and arrays."""
    parents = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        parents = [
            member
            for parent in parents
            for member in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(member, dict | list)
        ]
        if not parents:
            return False
    return True


def check_depth(value: object, *, of: str) -> None:
    """Raise InvalidRequest if a JSON value is nested too deeply."""
    if is_too_deep(value):
        raise InvalidRequest(f"{of} must be JSON that is nested at most {LEVELS} levels deep")
