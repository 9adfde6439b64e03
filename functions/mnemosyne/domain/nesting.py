"""Limit how deeply JSON values are nested, and how many values a JSON text has. Pure."""

from typing import Final

from mnemosyne.errors import InvalidRequest

LEVELS: Final = 100
"""Maximum levels of nested objects and arrays. The limit for metadata is lower. Python's JSON functions fail at about a
thousand levels."""


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


VALUES = 20_000
"""Maximum values in a request, including nested values. A parsed value needs a few hundred bytes of memory."""


def check_values(text: bytes, *, of: str) -> None:
    """Raise InvalidRequest if the JSON text has more than 20,000 values.

    The values are counted before the text is parsed, because parsed values need much memory.
    """
    if max_values(text) <= VALUES:
        return
    # Strings may contain commas and brackets, so count again without strings. First remove escaped backslashes and
    # quotes, so that the remaining quotes delimit strings.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    few_strings = plain.count(b'"') <= 4 * VALUES  # a value and the name of its field have at most two quotes each
    if not few_strings or max_values(b"".join(plain.split(b'"')[::2])) > VALUES:
        raise InvalidRequest(f"Parse error: {of} must contain at most {VALUES:,} values, including nested values")


def max_values(text: bytes) -> int:
    """Return an upper bound of the number of values in the arrays and objects of a JSON text.

    The bound is the number of commas, opening brackets and opening braces, because each value in an array, and each
    name of a field in an object, follows one of these characters.
    """
    return text.count(b",") + text.count(b"[") + text.count(b"{")
