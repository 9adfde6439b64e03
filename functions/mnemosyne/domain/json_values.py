"""How many values JSON holds, counted before any of them is built. Pure."""

from mnemosyne.errors import InvalidRequest

VALUES = 20_000
"""Values that a request may hold, those within others counted. Each takes some hundred bytes once it is parsed."""


def check_values(text: bytes, *, of: str) -> None:
    """Raise InvalidRequest if JSON has more than 20,000 values, before any of it is built."""
    if _signs(text) <= VALUES:
        return
    # Those within strings do not count. An escaped quote ends no string, and an escaped backslash escapes no quote.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    few_strings = plain.count(b'"') <= 4 * VALUES  # a member has two strings at most, its name and its value
    if not few_strings or _signs(b"".join(plain.split(b'"')[::2])) > VALUES:
        raise InvalidRequest(f"Parse error: {of} must hold at most {VALUES:,} values, those within others counted")


def _signs(text: bytes) -> int:
    """How many values the text may have: each but the first of an array or object stands behind a comma."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")
