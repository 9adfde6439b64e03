"""Normalize contents, to find near-duplicates: contents that differ only in white space or a full stop. Pure."""

import hashlib
import re
import unicodedata
from typing import Final
from uuid import UUID

WORDS_ACROSS_SESSIONS: Final = 4
"""Minimum number of words of contents that are compared across sessions. Shorter contents are compared only within
their session, because a text such as "Yes, I did." has another meaning in another session."""
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FULL_STOPS = frozenset(".。．｡।۔։።។။")
"""Full stops of several scripts, which are ignored at the end of a content. Other final punctuation is compared,
because it changes the meaning: "5!" is not "5"."""
_BEFORE_A_FULL_STOP = frozenset(")]}\"'’”»%")


def wording(content: str) -> str:
    """Return the content in Unicode NFC, with collapsed white space and without a full stop at the end.

    Indentation is kept, because it is the structure of code and outlines.
    """
    lines = (line.rstrip() for line in _LINE_ENDS.split(unicodedata.normalize("NFC", content).strip()))
    text = "".join(_collapse_white_space(line) for line in lines if line).strip(" ")
    return text[:-1] if _ends_a_sentence(text) else text


def _ends_a_sentence(text: str) -> bool:
    """Whether the text ends with a full stop after a word. In "cd ." and "s/." the dot does not end a sentence."""
    if len(text) < len("a.") or text[-1] not in _FULL_STOPS:
        return False
    before = text[-2]
    return before in _BEFORE_A_FULL_STOP or unicodedata.category(before)[0] in "LMN"


def _collapse_white_space(line: str) -> str:
    """Replace each run of white space in a line by one space.

    The result begins with the text that separates the line from the previous one: a space or, if the line is indented,
    a line break and the indentation.
    """
    bare = line.lstrip()
    indentation = line[: len(line) - len(bare)]
    return (f"\n{indentation}" if indentation else " ") + _SPACES.sub(" ", bare)


def wording_id(content: str, session: str | None) -> UUID:
    """Return a digest of the normalized content.

    Contents with the same digest are near-duplicates. The digest of a content of fewer than four words also depends on
    the session, because a text such as "Yes, I did." has another meaning in another session.
    """
    text = wording(content)
    is_long = len(text.split(maxsplit=WORDS_ACROSS_SESSIONS)) >= WORDS_ACROSS_SESSIONS
    place = "" if session is None or is_long else f"\x00{session}"
    return UUID(bytes=hashlib.sha256(f"{text}{place}".encode()).digest()[:16])
