"""Read title and tags out of a memory's text. Pure; the text itself is stored verbatim.

A chronicle is the customary format: a block of `TS:`, `TITLE:`, `TAGS:` and `BODY:` lines.
"""

import re
import unicodedata
from collections.abc import Iterable

from mnemosyne.domain.visible import one_line

TITLE_LENGTH = 50
UNTITLED = "untitled"
"""The title of a text whose beginning shows nothing."""
TITLE_LIMIT = 500
"""Characters of a title, at most; one found in the text is cut there."""
TAG_LIMIT = 100
"""Characters of a tag, at most; a longer one found in the text is no tag."""
TAG_COUNT = 50
# Trimmed afterwards: a pattern that trims takes quadratic time on a line of spaces.
_TITLE_LINE = re.compile(r"^[ \t]*TITLE:(.*)$", re.MULTILINE)
_TAGS_LINE = re.compile(r"^[ \t]*TAGS:(.*)$", re.MULTILINE)


def title_of(content: str) -> str:
    """Return the text of the first `TITLE:` line, else the first 50 characters; control characters become spaces."""
    match = _TITLE_LINE.search(content)
    found = match[1].strip(" \t\r") if match else ""
    return one_line(found[:TITLE_LIMIT]) or one_line(content[:TITLE_LENGTH]) or UNTITLED


def tags_of(content: str) -> tuple[str, ...]:
    """Return the tags of the first `TAGS:` line, split on commas and trimmed; empty where there is none."""
    match = _TAGS_LINE.search(content)
    parts = match[1].split(",") if match else []
    return tuple(tag for part in parts if (tag := part.strip()) and len(tag) <= TAG_LIMIT)


def unite_tags(*groups: Iterable[str]) -> tuple[str, ...]:
    """All tags once, in order of appearance, at most 50; tags that differ only in case are one, as first written."""
    united: dict[str, str] = {}
    for group in groups:
        for tag in group:
            written = one_line(tag).strip()
            if written:
                united.setdefault(tag_key(written), written)
    return tuple(united.values())[:TAG_COUNT]


def tag_key(tag: str) -> str:
    """Return the form under which a tag is compared: neither case nor the way its letters are composed matters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", one_line(tag).strip()).casefold())
