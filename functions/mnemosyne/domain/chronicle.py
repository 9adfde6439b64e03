"""Extract title and tags from a memory's content. The content itself is stored unchanged. Pure.

A content may be a chronicle: a block of `TS:`, `TITLE:`, `TAGS:` and `BODY:` lines.
"""

import re
import unicodedata
from collections.abc import Iterable

from mnemosyne.domain.visible import one_line

TITLE_LENGTH = 50
UNTITLED = "untitled"
"""Title of a memory without a visible character in a `TITLE:` line or in the first 50 characters."""
TITLE_LIMIT = 500
"""Maximum characters of a title. A longer title in a `TITLE:` line of the content is cut to this length."""
TAG_LIMIT = 100
"""Maximum characters of a tag. A longer tag in a `TAGS:` line of the content is ignored."""
TAG_COUNT = 50
# The matched value includes the spaces around it. A pattern that left out these spaces would need quadratic time for a
# line that consists of spaces.
_TITLE_LINE = re.compile(r"^[ \t]*TITLE:(.*)$", re.MULTILINE)
_TAGS_LINE = re.compile(r"^[ \t]*TAGS:(.*)$", re.MULTILINE)


def title_of(content: str) -> str:
    """Return the title of a content.

    The title is the text of the first `TITLE:` line. If there is no such text, the title is the first 50 characters of
    the content. Control characters become spaces.
    """
    match = _TITLE_LINE.search(content)
    title = match[1].strip(" \t\r") if match else ""
    return one_line(title[:TITLE_LIMIT]) or one_line(content[:TITLE_LENGTH]) or UNTITLED


def tags_of(content: str) -> tuple[str, ...]:
    """Return the comma-separated tags of the first `TAGS:` line, trimmed."""
    match = _TAGS_LINE.search(content)
    parts = match[1].split(",") if match else []
    return tuple(tag for part in parts if (tag := part.strip()) and len(tag) <= TAG_LIMIT)


def unite_tags(*groups: Iterable[str]) -> tuple[str, ...]:
    """Merge groups of tags in order, without duplicates.

    The result has at most the first 50 tags. Tags that differ only in case are duplicates.
    """
    tags: dict[str, str] = {}
    for group in groups:
        for tag in group:
            line = one_line(tag).strip()
            if line:
                tags.setdefault(tag_key(line), line)
    return tuple(tags.values())[:TAG_COUNT]


def tag_key(tag: str) -> str:
    """Return the tag in the form used for comparison: case-folded, in Unicode NFC.

    The Turkish letter İ becomes a plain i, as in lower-case Turkish. Unicode's case folding would add a second dot.
    """
    folded = unicodedata.normalize("NFC", one_line(tag).strip()).casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", folded)
