"""Compare the wording of contents: two with the same wording say the same, character by character. Pure."""

import hashlib
import re
import unicodedata
from typing import Final
from uuid import UUID

SHORT: Final = 4
"""Words. The meaning of a shorter content depends on its session: "Yes, I did." answers a different question there."""
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FULL_STOPS = frozenset(".。．｡।۔։።។။")
"""In several scripts. Nothing else at the end is ignored: a question mark makes a question of a statement, and the
factorial 5! is not 5."""
_BEFORE_A_FULL_STOP = frozenset(")]}\"'’”»%")


def wording(content: str) -> str:
    """Return the content without what carries no meaning: the amount of white space, and one final full stop.

    Canonically equivalent characters are one (Unicode NFC). The indentation of a line counts: in code and in outlines
    it carries the structure.
    """
    lines = (line.rstrip() for line in _LINE_ENDS.split(unicodedata.normalize("NFC", content).strip()))
    text = "".join(_joined(line) for line in lines if line).strip(" ")
    return text[:-1] if _ends_a_sentence(text) else text


def _ends_a_sentence(text: str) -> bool:
    """Return whether the last character is a full stop. Behind a sign it belongs to that: "…", "cd .", "s/."."""
    if len(text) < len("a.") or text[-1] not in _FULL_STOPS:
        return False
    before = text[-2]
    return before in _BEFORE_A_FULL_STOP or unicodedata.category(before)[0] in "LMN"


def _joined(line: str) -> str:
    """Return the line to be put behind others: an indented one begins with its indentation."""
    bare = line.lstrip()
    indentation = line[: len(line) - len(bare)]
    return (f"\n{indentation}" if indentation else " ") + _SPACES.sub(" ", bare)


def wording_id(content: str, session: str | None) -> UUID:
    """Return a digest of the wording; a short content's includes its session."""
    text = wording(content)
    place = "" if session is None or len(text.split(maxsplit=SHORT)) >= SHORT else f"\x00{session}"
    return UUID(bytes=hashlib.sha256(f"{text}{place}".encode()).digest()[:16])
