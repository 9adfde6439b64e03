"""Read title and tags out of a memory's text. Pure; the text itself is stored verbatim.

A chronicle is the customary format: a block of `TS:`, `TITLE:`, `TAGS:` and `BODY:` lines.
"""

import re
from collections.abc import Iterable

TITLE_LENGTH = 50
_TITLE_LINE = re.compile(r"^[ \t]*TITLE:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_TAGS_LINE = re.compile(r"^[ \t]*TAGS:[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def title_of(content: str) -> str:
    """The text of the first `TITLE:` line, else the first 50 characters; control characters become spaces."""
    match = _TITLE_LINE.search(content)
    title = match[1] if match and match[1] else content[:TITLE_LENGTH]
    return one_line(title)


def tags_of(content: str) -> tuple[str, ...]:
    """The tags of the first `TAGS:` line, split on commas and trimmed; empty where there is none."""
    match = _TAGS_LINE.search(content)
    return tuple(tag for part in match[1].split(",") if (tag := part.strip())) if match else ()


def unite_tags(*groups: Iterable[str]) -> tuple[str, ...]:
    """All tags once, in order of appearance; tags that differ only in case are one, as first written."""
    united: dict[str, str] = {}
    for group in groups:
        for tag in group:
            written = one_line(tag).strip()
            if written:
                united.setdefault(tag_key(written), written)
    return tuple(united.values())


def tag_key(tag: str) -> str:
    """The form under which a tag is compared: case does not matter."""
    return tag.strip().casefold()


def one_line(text: str) -> str:
    """The text with every control character and line break turned into a space."""
    return _CONTROL.sub(" ", text)
