"""Find the tags in the text of a Markdown note, such as `#idea`. Pure."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from mnemosyne.domain.chronicle import TAG_LIMIT

_MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
# Matches text in which `#` begins no tag: code, and the targets of links, such as `[Plan](#plan)` and `[[Note #plan]]`.
# The possessive quantifier `*+` and `\Z` keep the time linear in the length of the text.
_WITHOUT_TAGS = re.compile(
    r"^[ \t>*+-]*+(```|~~~).*?(?:^[ \t>*+-]*+\1|\Z)|`[^`\n]+`|\]\([^()\n]*\)|(?<!#)\[\[[^\[\]\n]*\]\]",
    re.DOTALL | re.MULTILINE,
)
# A tag ends at white space and at punctuation, except `-`, `_` and `/`.
_TAG = re.compile(
    r"(?<![^\s(])#(?:\[\[([^\[\]\n]{1,300})\]\]"
    r"|([^\s!-,.:-@\[-^`{-~\u0964\u0965\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]++))"
)


def inline_tags(body: str, path: str) -> Iterator[str]:
    """Yield the tags in the text of a note: `#home/kitchen`, and Logseq's `#[[two words]]`.

    Code, targets of links and numbers (`#42`) are not tags. Yields nothing for a file without an extension of
    Markdown, such as `.md`.
    """
    if PurePosixPath(path.lower()).suffix not in _MARKDOWN:
        return
    for match in _TAG.finditer(_WITHOUT_TAGS.sub(" ", body)):
        tag = (match[1] or match[2]).strip().strip("-/")
        if tag and len(tag) <= TAG_LIMIT and not tag.isdecimal():
            yield tag
