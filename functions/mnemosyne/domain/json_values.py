"""Limit the number of values in JSON before it is parsed. Pure."""

from mnemosyne.errors import InvalidRequest

VALUES = 20_000
"""Maximum values in a request, including nested values. A parsed value needs a few hundred bytes of memory."""


def check_values(text: bytes, *, of: str) -> None:
    """Raise InvalidRequest if the JSON text has more than 20,000 values. The text is not parsed."""
    if _signs(text) <= VALUES:
        return
    # Count again without strings. Escaped backslashes and quotes are removed first, so that quotes delimit strings.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    few_strings = plain.count(b'"') <= 4 * VALUES  # an object's member has at most two strings: name and value
    if not few_strings or _signs(b"".join(plain.split(b'"')[::2])) > VALUES:
        raise InvalidRequest(f"Parse error: {of} must hold at most {VALUES:,} values, those within others counted")


def _signs(text: bytes) -> int:
    """Return an upper bound of the number of values: every value follows a comma or an opening bracket."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")
