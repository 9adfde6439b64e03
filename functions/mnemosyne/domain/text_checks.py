"""Validate texts: a function `check_...` returns its argument, or raises ValueError with the reason. Pure."""

import json
import re
import unicodedata
from itertools import takewhile

from mnemosyne.domain.memory import CONTENT_LIMIT
from mnemosyne.domain.visible import first_invisible, is_visible

NORMAL_LIMIT = 2 * CONTENT_LIMIT
"""Maximum characters of a content in the Unicode normal form NFKC, in which the database indexes it. NFKC makes few
texts longer, but one character, such as U+FDFA, can become eighteen."""

EXCERPT_CHARACTERS = 80
MOST_MARKS = 100
"""Maximum combining marks in a row. Unicode's normal forms sort the marks in a row, and the time of Python's and
PostgreSQL's implementations is quadratic in their number."""
# Characters that searches by words and names remove from a text before they normalize it. So combining marks on both
# sides of such a character count as marks in a row.
_REMOVED = re.compile("[\u00ad\u034f\u0640\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def storable(text: str) -> str:
    """Return the text unchanged. Raises ValueError if it has NUL, a lone surrogate or too many marks in a row.

    PostgreSQL cannot store NUL and lone surrogates.
    """
    if (at := text.find("\x00")) >= 0:
        raise ValueError(f"must not contain NUL (U+0000), found at character {at}")
    if not text.isascii() and (problem := surrogate_problem(text) or marks_problem(text)):
        raise ValueError(problem)
    return text


def surrogate_problem(text: str) -> str:
    """Return an error message about the first lone surrogate in the text; empty if there is no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        code = ord(text[exc.start])
        # The error handler surrogateescape replaces an invalid byte by U+DC00 plus the byte, so the error can name the
        # byte.
        byte = f", probably the byte 0x{code - 0xDC00:02x} of a text that is not UTF-8: save it as UTF-8"
        fix = byte if 0xDC80 <= code <= 0xDCFF else ""
        return f"must be valid Unicode, found the lone surrogate U+{code:04X} at character {exc.start}{fix}"
    return ""


def marks_problem(text: str) -> str:
    """Return an error message if the text has more than MOST_MARKS combining marks in a row; else an empty text."""
    text = _REMOVED.sub("", text)
    # Look only at every 101st character. Each run of marks that is too long contains one of these characters.
    for at in range(MOST_MARKS, len(text), MOST_MARKS + 1):
        start = at - sum(1 for _ in takewhile(_is_mark, reversed(text[at - MOST_MARKS : at])))
        if all(map(_is_mark, text[at : start + MOST_MARKS + 1])) and start + MOST_MARKS < len(text):
            return f"must have at most {MOST_MARKS} combining marks in a row"
    return ""


def _is_mark(character: str) -> bool:
    """Whether the character is a combining mark that Unicode's normal forms sort.

    For example, they do not sort the vowel signs of most Indic scripts.
    """
    return unicodedata.combining(unicodedata.normalize("NFKD", character)[0]) > 0


def check_not_blank(text: str) -> str:
    """Return the text unchanged. Raises ValueError if it contains only white space."""
    if not text.strip():
        raise ValueError("must contain at least one character that is not white space")
    return text


def check_normal_form(text: str) -> str:
    """Return the text unchanged. Raises ValueError if its normal form has more than NORMAL_LIMIT characters."""
    if len(text) * 18 > NORMAL_LIMIT and not text.isascii():
        length = len(unicodedata.normalize("NFKC", text))
        if length > NORMAL_LIMIT:
            raise ValueError(f"must have at most {NORMAL_LIMIT:,} characters in Unicode form NFKC, got {length:,}")
    return text


def check_visible_line(text: str) -> str:
    """Return the text unchanged. Raises ValueError if the text is not one line of visible characters."""
    if problem := first_invisible(storable(text)):
        raise ValueError(f"must contain visible characters on one line, found {problem}")
    return check_not_blank(text)


def check_not_empty(tag: str) -> str:
    """Return the tag unchanged. Raises ValueError if it is empty or contains only white space."""
    if not tag.strip():
        raise ValueError("must not be empty")
    return tag


def excerpt(value: object) -> str:
    """Return the value as JSON for an error message, truncated to 80 characters.

    Invisible characters, and white space other than spaces, are escaped.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    text = text[: EXCERPT_CHARACTERS + 1]
    if not (text.isascii() and text.isprintable()):
        text = "".join(
            character if is_visible(text, at) and not _is_odd_space(character) else _escape(character)
            for at, character in enumerate(text)
        )
    return text if len(text) <= EXCERPT_CHARACTERS else text[:EXCERPT_CHARACTERS] + "…"


def _escape(character: str) -> str:
    # JSON does not escape the control character U+007F.
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def _is_odd_space(character: str) -> bool:
    return character.isspace() and character != " "
