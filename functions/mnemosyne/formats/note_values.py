"""Parse the values of a note's title, tags and aliases, and find tags in its text, such as `#idea`. Pure."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from mnemosyne.domain.chronicle import TAG_LIMIT
from mnemosyne.domain.visible import one_line

WIKI_LINK = re.compile(r"!?\[\[([^\[\]\n|#^]{1,300})(?:[#^][^\[\]\n|]{0,300})?(?:\|([^\[\]\n]{0,300}))?\]\]")
LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\(([^()\s]{1,500})\)")
_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
# Matches text in which `#` does not begin a tag: code, the targets of links such as `[Plan](#plan)` and
# `[[Note #plan]]`, attributes of kramdown and Pandoc such as `{: #plan}`, and HTML elements with attributes.
# The possessive quantifier `*+` and `\Z` make the time linear in the length of the text.
_WITHOUT_TAGS = re.compile(
    r"^[ \t>*+-]*+(```|~~~).*?(?:^[ \t>*+-]*+\1|\Z)|`[^`\n]+`|\]\([^()\n]*\)|(?<!#)\[\[[^\[\]\n]*\]\]"
    r"|\{[:.][^{}\n]*+\}"
    r"|<[A-Za-z][\w:-]*+(?:\s++[\w:@.-]++(?:\s*+=\s*+(?:\"[^\"<\n]*+\"|'[^'<\n]*+'|[^\s\"'<>]++))?+)++\s*+/?>",
    re.DOTALL | re.MULTILINE,
)
# A tag ends at white space and at punctuation, except `-`, `_` and `/`. The Japanese marks 々, 〆 and 〇 and the
# joiners of Persian words and emoji are within tags.
_TAG = re.compile(
    r"(?<![^\s(])#(?:\[\[([^\[\]\n]{1,300})\]\]"
    r"|([^\s!-,.:-@\[-^`{-~¡§«¶»¿\u0589\u05be\u05c3\u060c\u060d\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u104a\u104b"
    r"\u1362-\u1368\u17d4-\u17d6\u2000-\u200b\u200e-\u206f\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20"
    r"\uff5b-\uff64]++))"
)


def has_text(body: str) -> bool:
    """Whether a note has text. If a user opens a new page in Logseq, Logseq creates a note with only an empty
    bullet."""
    return re.fullmatch(r"[\s*+-]*+", body) is None


def split_tags(value: Any) -> Iterator[str]:
    """Yield tags without `#` from a list, or from text separated by commas or `#`. Objects in a list are left out."""
    if isinstance(value, Mapping):
        value = list(value)
    if isinstance(value, list):
        for element in value:
            if element is not None and not isinstance(element, Mapping):
                yield from split_tags(element if isinstance(element, list) else _to_text(element))
        return
    for part in re.split(r",|(?<!\s)\s++(?=#)", _clean_list(value)):
        if tag := one_line(part).strip().strip("\"'").lstrip("#").strip():
            yield tag


def inline_tags(body: str, path: str) -> Iterator[str]:
    """Yield the tags in the text of a note: `#home/kitchen`, and Logseq's `#[[two words]]`.

    Code, targets of links, attributes and numbers (`#42`) are not tags. Yields nothing for a file without an extension
    of Markdown, such as `.md`.
    """
    if PurePosixPath(path.lower()).suffix not in _MARKDOWN:
        return
    # Keep the `>` of an element. Otherwise the text after it, such as `<a href="…">#b</a>`, would begin with a tag.
    text = _WITHOUT_TAGS.sub(lambda match: ">" if match[0].startswith("<") else " ", body)
    for match in _TAG.finditer(text):
        tag = (match[1] or match[2]).strip().strip("-/")
        if tag and len(tag) <= TAG_LIMIT and not tag.isdecimal():
            yield tag


def clean(text: str) -> str:
    """Remove Markdown from a line: replace links by their text, and drop heading marks."""
    text = WIKI_LINK.sub(lambda match: (match[2] or match[1]).strip(), text)
    return re.sub(r"^#{1,6}[ \t]+", "", LINK.sub(lambda match: match[1], text))


def title_text(value: Any) -> str:
    """Return the value of a note's title property as text; empty if it is an object or a list of several values."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return _to_text(value) if isinstance(value, str | int | float) and is_text(str(value)) else ""


def parse_aliases(value: Any) -> list[str]:
    """Return the aliases of a note. Their property is a list, or a text with commas between the aliases."""
    if isinstance(value, Mapping):
        return []
    parts = value if isinstance(value, list) else _clean_list(value).split(",") if value is not None else []
    return [
        one_line(clean(text))
        for part in parts
        if isinstance(part, str | int | float) and (text := _to_text(part).strip().strip("\"'")) and is_text(text)
    ]


def _to_text(value: object) -> str:
    """Return a value as text, with booleans as YAML writes them."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clean_list(value: object) -> str:
    """Return the text of a property that has a list as text, without Markdown and without brackets around the list."""
    text = clean(_to_text(value)).strip()
    match = re.fullmatch(r"\[([^\[\]]*)\]", text)
    return match[1] if match else text


def is_text(text: str) -> bool:
    """Whether PostgreSQL can store the text."""
    return re.search(r"[\x00\ud800-\udfff]", text) is None
